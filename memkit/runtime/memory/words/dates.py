"""Dates as words of a text, so that "in March 2026", "on 7 May" and "yesterday" match the day something was said.

A day is four words: its year, month, week and day (``d_2026``, ``d_2026_03``, ``d_2026_w11``, ``d_2026_03_14``). A
statement has all four of its day; a phrase that names a day, a week, a month or a year has the one it names.
"""

import re
from collections.abc import Callable
from datetime import date, timedelta
from functools import cache
from typing import NamedTuple

from .text import MONTHS, NUMBERS, WEEKDAYS, WHICH, day_word, may_name_a_date, month_word, regex, week_word

FEW, COUPLE = 3, 2


class Dated(NamedTuple):
    """The words of the dates that a text names, and the text without the phrases that name them but for weekdays."""

    words: tuple[str, ...]
    rest: str


def dated(text: str, today: date, *, ahead: int = 0) -> Dated:
    """Return the dates named by ``text``, said ``today``.

    A month without a year is the latest that has begun, or with ``ahead`` one that begins within that many months.

    >>> dated("what did I buy yesterday", date(2026, 3, 14)).words
    ('d_2026_03_13',)
    >>> dated("the trip in March 2026", date(2026, 11, 21))
    Dated(words=('d_2026_03',), rest='the trip  ')
    """
    if not may_name_a_date(text):
        return Dated((), text)
    found: list[str] = []

    def take(match: re.Match[str]) -> str:
        word = _read(match, today, ahead)
        if word is None:
            return match[0]
        found.append(word)
        weekday = (match["weekday"] or match["what"] or "").lower()
        return f" {weekday}" if weekday in WEEKDAYS else " "  # by its name it is also asked for every week

    rest = _PHRASES.sub(take, text)
    return Dated(tuple(dict.fromkeys(found)), rest)


def _phrases() -> str:
    """Return an expression for all phrases that name a date, whose named groups distinguish them."""
    months = "|".join(f"{name[:3]}(?:{name[3:]})?" for name in MONTHS if name not in ("may", "march")) + "|sept"
    month, year, day = rf"(?:{months}|may|mar(?:ch)?)\.?", r"(?:19|20)\d\d", r"(?:3[01]|[12]\d|0?[1-9])(?:st|nd|rd|th)?"
    weekday, count = "|".join(WEEKDAYS), rf"\d{{1,3}}|an?|{'|'.join(NUMBERS[1:])}|(?:a\ )?(?:few|couple(?:\ of)?)"
    prep = r"(?:(?:in|on|since|during|until|before|after|of|by|from|early|late|mid|the)[ -])"
    return rf"""\b{prep}*(?:
          (?P<iso>{year}[-/](?:0[1-9]|1[0-2])[-/](?:0[1-9]|[12]\d|3[01]))(?!\d)
        | (?P<iso_month>{year}-(?:0[1-9]|1[0-2]))(?![-\d])
        | (?P<day_first>{day}\ (?:of\ )?{month}(?:,?\ (?:of\ )?{year})?)(?!\w)
        | (?P<month_first>{month}\ (?:the\ )?{day}(?:,?\ {year})?)(?![\w:])
        | (?P<month_year>{month},?\ (?:of\ )?{year})(?!\w)
        | (?P<ago>(?P<count>{count})\ (?P<unit>day|week|month|year)s?\ ago)\b
        | (?P<near>(?P<which>{"|".join(sorted(WHICH))})\ (?P<what>weekend|week|month|year|{weekday}))\b
        | (?P<side>day\ before\ yesterday|day\ after\ tomorrow|yesterday|today|tonight|tomorrow)\b
        )
        | \b(?:on\ )(?P<weekday>{weekday})\b
        | \b(?:{prep}|last\ |this\ |next\ )+(?P<month>{months}|may|march)(?![\w'])(?!\.?\ \d)
        | \b(?:in|since|during|until|of|by|from)\ (?P<year>{year})(?![\w:/.-])
        """


_PHRASES = regex(_phrases(), re.IGNORECASE | re.VERBOSE)


def _read(match: re.Match[str], today: date, ahead: int) -> str | None:
    """Return the word for what a phrase names; None for an impossible date."""
    kind = next(name for name in READERS if match[name])
    try:
        return READERS[kind](match, today, ahead)
    except (ValueError, OverflowError):
        return None


def _calendar_day(match: re.Match[str], today: date, ahead: int) -> str:
    phrase = match["day_first"] or match["month_first"]
    month = _month_number(next(word for word in re.findall(r"[a-z]+", phrase.lower()) if word[:3] in _short_months()))
    numbers = [int(number) for number in re.findall(r"\d+", phrase)]
    years = [number for number in numbers if number > 31]
    day = next(number for number in numbers if number <= 31)
    return day_word(date(years[0], month, day) if years else _last_begun(month, day, today, ahead))


def _month_year(match: re.Match[str], today: date, ahead: int) -> str:
    name, year = re.findall(r"[a-z]+|\d{4}", match["month_year"].lower().replace(" of ", " "))
    return f"d_{year}_{_month_number(name):02}"


def _ago(match: re.Match[str], today: date, ahead: int) -> str:
    count, unit = _number(match["count"].lower()), match["unit"].lower()
    if unit == "day":
        return day_word(today - timedelta(days=count))
    if unit == "week":
        return week_word(today - timedelta(weeks=count))
    return month_word(_months_on(today, -count)) if unit == "month" else f"d_{today.year - count:04}"


def _near(match: re.Match[str], today: date, ahead: int) -> str:
    step = {"this": 0, "next": 1, "coming": 1}.get(match["which"].lower(), -1)
    what = match["what"].lower()
    if what in WEEKDAYS:
        return day_word(_weekday(what, today, step))
    if what in ("week", "weekend"):
        return week_word(today + timedelta(weeks=step))
    return month_word(_months_on(today, step)) if what == "month" else f"d_{today.year + step:04}"


def _side(match: re.Match[str], today: date, ahead: int) -> str:
    phrase = " ".join(match["side"].lower().split())
    steps = {"day before yesterday": -2, "yesterday": -1, "tomorrow": 1, "day after tomorrow": 2}
    return day_word(today + timedelta(days=steps.get(phrase, 0)))


def _bare_weekday(match: re.Match[str], today: date, ahead: int) -> str:
    return day_word(_weekday(match["weekday"].lower(), today, 1 if ahead else -1))


def _bare_month(match: re.Match[str], today: date, ahead: int) -> str:
    follows = " next " in f" {match[0].lower()} "
    return month_word(_last_begun(_month_number(match["month"]), 1, today, 12 if follows else ahead))


READERS: dict[str, Callable[[re.Match[str], date, int], str]] = {
    "iso": lambda match, *_: day_word(date.fromisoformat(match["iso"].replace("/", "-"))),
    "iso_month": lambda match, *_: "d_" + match["iso_month"].replace("-", "_"),
    "day_first": _calendar_day, "month_first": _calendar_day,
    "month_year": _month_year, "ago": _ago, "near": _near, "side": _side, "weekday": _bare_weekday,
    "month": _bare_month,
    "year": lambda match, *_: f"d_{match['year']}",
}  # fmt: skip


@cache
def _short_months() -> tuple[str, ...]:
    return tuple(name[:3] for name in MONTHS)


def _month_number(name: str) -> int:
    return _short_months().index(name.lower()[:3]) + 1


def _number(word: str) -> int:
    if word.isdigit():
        return int(word)
    if word in NUMBERS:
        return NUMBERS.index(word)
    return FEW if "few" in word else COUPLE if "couple" in word else 1


def _months_on(day: date, months: int) -> date:
    place = day.year * 12 + day.month - 1 + months
    return date(place // 12, place % 12 + 1, 1)


def _last_begun(month: int, day: int, today: date, ahead: int) -> date:
    """Return the latest such day that is no more than ``ahead`` months after today."""
    year = _months_on(today, ahead).year
    while date(year, month, 1) > _months_on(today, ahead):
        year -= 1
    return date(year, month, day)


def _weekday(name: str, today: date, step: int) -> date:
    """Return the nearest such weekday before, in the week of, or after today."""
    wanted = WEEKDAYS.index(name)
    if step == 0:
        return today + timedelta(days=wanted - today.weekday())
    distance = (today.weekday() - wanted) % 7 if step < 0 else (wanted - today.weekday()) % 7
    return today + timedelta(days=step * (distance or 7))
