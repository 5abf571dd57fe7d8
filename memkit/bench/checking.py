"""Read values out of a benchmark file and say where one is wrong."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import date, datetime
from pathlib import Path
from typing import Any

from memkit.errors import UsageError

DAY_FORMATS = ("%I:%M %p on %d %B, %Y", "%d %B, %Y", "%d %B %Y")


@dataclass(frozen=True)
class Place:
    """Where in a file a value stands: the line of its dialogue or entry, and the way to it from there."""

    path: Path
    line: int
    way: str = ""

    def __truediv__(self, step: str | int) -> Place:
        """Return the place of a part of this value."""
        return Place(self.path, self.line, f"{self.way}[{step}]" if isinstance(step, int) else f"{self.way}.{step}")

    def wrong(self, message: str) -> UsageError:
        """Return the error that says what is wrong here."""
        where = f" {self.way.lstrip('.')}:" if self.way else ""
        return UsageError(f"{self.path}:{self.line}:{where} {message}", path=str(self.path), line=self.line)


def mapping(value: Any, place: Place) -> Mapping[str, Any]:
    """Return ``value``, which must be an object."""
    if not isinstance(value, dict):
        raise place.wrong(f"expected an object, not {value!r:.40}.")
    return value


def items(value: Any, place: Place) -> Iterator[tuple[Any, Place]]:
    """Yield the elements of ``value``, which must be a list, with their places."""
    if not isinstance(value, list):
        raise place.wrong(f"expected a list, not {value!r:.40}.")
    yield from ((element, place / number) for number, element in enumerate(value))


def text(data: Mapping[str, Any], key: str, place: Place, default: str | None = None) -> str:
    """Return the text under ``key``; without a default it must be there."""
    value = data.get(key, default)
    if value is None and default is not None:
        return default
    if not isinstance(value, str):
        raise (place / key).wrong("expected a text." if key in data else "it is missing.")
    return value


def day(value: Any, place: Place) -> date | None:
    """Return the day that a benchmark's date names, None for none."""
    if value in (None, ""):
        return None
    if not isinstance(value, str):
        raise place.wrong(f"expected a date, not {value!r:.40}.")
    stated = re.match(r"(\d{4})[-/](\d{2})[-/](\d{2})(?!\d)", value)
    try:
        if stated:
            return date(*map(int, stated.groups()))
    except ValueError:
        raise place.wrong(f"{value!r:.40} is no day of the calendar.") from None
    for form in DAY_FORMATS:
        try:
            return datetime.strptime(value.strip(), form).date()
        except ValueError:
            continue
    raise place.wrong(f"{value!r:.40} is no date that memkit can read. Write 2026-11-21.")
