"""When a record holds: between its own dates, and up to where a record that took its place begins."""

from datetime import datetime

from .record import Draft, Record, replaced_by
from .times import normal_time


def is_valid(record: Record, moment: datetime) -> bool:
    """Return whether the dates of a record let it hold at a moment."""
    at = normal_time(moment)
    begun = not record.valid_from or normal_time(record.valid_from) <= at
    return begun and (not record.valid_until or at <= normal_time(record.valid_until))


def can_meet(one: Record | Draft, other: Record | Draft) -> bool:
    """Return whether the dates of two statements leave a moment at which both may hold."""
    return not (_is_over_before(one, other) or _is_over_before(other, one))


def _is_over_before(one: Record | Draft, other: Record | Draft) -> bool:
    ended = one.valid_until and other.valid_from and normal_time(one.valid_until) < normal_time(other.valid_from)
    return bool(ended)


def was_true(record: Record, moment: datetime) -> bool:
    """Return whether a record was true at a moment, as far as it says itself.

    What took another record's place was not true before it did. Anything else without a date counts as true always:
    memory knows when it was told, and not since when it holds.
    """
    return is_valid(record, moment) and (not replaced_by(record) or begins(record) <= normal_time(moment))


def begins(record: Record) -> str:
    """Return since when a record that took another's place is true, in the form that sorts as text."""
    return normal_time(record.valid_from or record.created_at)
