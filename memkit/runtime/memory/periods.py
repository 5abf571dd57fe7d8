"""From when until when a statement holds, and by when a goal is due, read from its wording and the day it was said."""

import re
from calendar import monthrange
from datetime import date, timedelta
from typing import NamedTuple

from .dates import NUMBERS, WEEKDAYS, dated

LONGEST = 600
"""Characters of a statement in which dates are looked for."""
NEXT_YEAR = 12
"""Months ahead: what is due in May is due in the next May."""
PHRASE = r"(?P<phrase>(?:(?:the|of|on)\s+){0,3}[\w./-]+(?:,?\s+[\w./-]+){0,3})"
UNTIL = re.compile(rf"\b(?:until|till|through)\s+{PHRASE}", re.IGNORECASE)
SINCE = re.compile(rf"\b(?:since|starting|as\s+of|from(?=\s+(?:[\w./-]+\s+){{1,3}}on\b))\s+{PHRASE}", re.IGNORECASE)
DUE = re.compile(
    rf"\b(?:by|before|until|till|due(?:\s+(?:on|by))?|deadline(?:\s+(?:is|on))?|no\s+later\s+than)\s+{PHRASE}",
    re.IGNORECASE,
)
WEEKDAY = re.compile(rf"\b(?P<next>next\s+)?(?P<day>{'|'.join(WEEKDAYS)})\b", re.IGNORECASE)
IN_DAYS = re.compile(
    rf"\bin\s+(?P<count>\d{{1,3}}|an?|{'|'.join(NUMBERS[1:])})\s+(?P<unit>day|week|month)s?\b", re.IGNORECASE
)
END_OF = re.compile(r"\bend\s+of\s+(?:the|this)?\s*(?P<unit>day|week|month|year)\b", re.IGNORECASE)
DAYS = {"day": 1, "week": 7, "month": 30}
PARTS = re.compile(r"d_(?P<year>\d{4})(?:_w(?P<week>\d\d)|_(?P<month>\d\d)(?:_(?P<day>\d\d))?)?")


class Period(NamedTuple):
    """Days as a record keeps them: bare dates, or None where the wording names none."""

    valid_from: str | None = None
    valid_until: str | None = None
    due: str | None = None


def read_period(text: str, type: str, today: date) -> Period:
    """Return what ``text``, said ``today``, says about when it holds, or for a goal by when it is due.

    A statement about what ended before today is true for ever, so only an end that lies ahead limits it.

    >>> read_period("I need to file my taxes by Friday", "goal", date(2026, 11, 22)).due
    '2026-11-27'
    >>> read_period("I am in Rome until 3 December", "fact", date(2026, 11, 22)).valid_until
    '2026-12-03'
    """
    said = text[:LONGEST]
    if type == "goal":
        by = DUE.search(said)
        return Period(due=_written(_last_day(by["phrase"], today) if by else None) or _written(_last_day(said, today)))
    until, since = UNTIL.search(said), SINCE.search(said)
    end = _last_day(until["phrase"], today) if until else None
    start = _first_day(since["phrase"], today) if since else None
    return Period(
        valid_from=_written(start) if start and start != today else None,
        valid_until=_written(end) if end and end >= today else None,
    )


def _written(day: date | None) -> str | None:
    return day.isoformat() if day else None


def _last_day(phrase: str, today: date) -> date | None:
    """Return the last day of what ``phrase`` names, looking ahead."""
    if end := END_OF.search(phrase):
        return _end_of(end["unit"].lower(), today)
    if some := IN_DAYS.search(phrase):
        return today + timedelta(days=_count(some["count"]) * DAYS[some["unit"].lower()])
    if named := WEEKDAY.search(phrase):
        ahead = (WEEKDAYS.index(named["day"].lower()) - today.weekday()) % 7
        return today + timedelta(days=ahead or (7 if named["next"] else 0))
    found = _named_days(phrase, today, NEXT_YEAR)
    return found[1] if found else None


def _first_day(phrase: str, today: date) -> date | None:
    """Return the first day of what ``phrase`` names: a weekday ahead, anything else as it last began."""
    if WEEKDAY.search(phrase):
        return _last_day(phrase, today)
    found = _named_days(phrase, today, 0)
    return found[0] if found else None


def _named_days(phrase: str, today: date, ahead: int) -> tuple[date, date] | None:
    """Return the first and the last day of the day, week, month or year that ``phrase`` names."""
    words = dated(f"in {phrase}", today, ahead=ahead).words
    parts = PARTS.fullmatch(words[0]) if words else None
    if parts is None:
        return None
    year, month, day = int(parts["year"]), int(parts["month"] or 0), int(parts["day"] or 0)
    if parts["week"]:
        monday = date.fromisocalendar(year, int(parts["week"]), 1)
        return monday, monday + timedelta(days=6)
    if not day:
        return date(year, month or 1, 1), date(year, month or 12, monthrange(year, month or 12)[1])
    if ahead and not re.search(r"\d{4}", phrase) and (month, day) >= (today.month, today.day):
        year = today.year  # looking a year ahead passes over the one that has begun
    return date(year, month, day), date(year, month, day)


def _end_of(unit: str, today: date) -> date:
    if unit == "week":
        return today + timedelta(days=6 - today.weekday())
    month = {"month": today.month, "year": 12}.get(unit)
    return date(today.year, month, monthrange(today.year, month)[1]) if month else today


def _count(word: str) -> int:
    word = word.lower()
    return NUMBERS.index(word) if word in NUMBERS else int(word) if word.isdigit() else 1
