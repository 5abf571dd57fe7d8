"""Times as the archive writes them: UTC, RFC 3339, microseconds, so that they sort as text."""

import re
from datetime import UTC, datetime

from .errors import InvalidRecord

DATE = r"\d{4}-\d{2}-\d{2}"
DURATION = r"(\d+(?:\.\d+)?)\s*([smhdw])"
SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86400, "w": 604800}


def utc_now() -> datetime:
    """Return the present moment, aware of being UTC."""
    return datetime.now(UTC)


def to_text(moment: datetime) -> str:
    """Return ``moment`` as the archive writes it; a time without a zone is taken as UTC."""
    aware = moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
    return aware.strftime("%Y-%m-%dT%H:%M:%S.%fZ") if aware.year >= 1000 else aware.isoformat()


def parse_time(value: str | datetime) -> datetime:
    """Return the moment that ``value`` names; a bare date means its end."""
    if isinstance(value, datetime):
        return value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)
    try:
        if re.fullmatch(DATE, value):
            return datetime.fromisoformat(value).replace(hour=23, minute=59, second=59, microsecond=999_999, tzinfo=UTC)
        return parse_time(datetime.fromisoformat(value))
    except (ValueError, OverflowError):
        raise InvalidRecord(
            f"{value!r:.60} is not a time. Write an RFC 3339 time such as 2026-11-21T09:00:00Z, or a date."
        ) from None


def normal_time(value: str | datetime) -> str:
    """Return ``value`` in the form that sorts as text."""
    return to_text(parse_time(value))


def parse_duration(value: str | int | float) -> float:
    """Return the seconds that ``7d``, ``1h`` or a bare number of seconds mean."""
    if isinstance(value, int | float):
        return float(value)
    match = re.fullmatch(DURATION, value.strip())
    if match is None:
        raise InvalidRecord(f"{value!r:.60} is not a duration. Write a number and one of s, m, h, d, w, such as 7d.")
    return float(match[1]) * SECONDS[match[2]]
