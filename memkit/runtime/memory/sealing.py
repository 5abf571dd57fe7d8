"""Text that lies sealed on the disk: what of a line is hidden, and what is asked of whoever holds the keys.

A sealed line keeps what merging, ordering and isolation need in clear (``CLEAR``) and holds everything else under
``sealed``. The keys lie outside of the store, so this room only knows the promise; without its key a sealed line is
still a line, whose text nobody can read.
"""

from collections.abc import Iterator, Mapping
from typing import NamedTuple, Protocol

from .errors import InvalidRecord
from .interface import Problem
from .lines import decode_line
from .log import Log
from .record import JSON, is_sealed

CLEAR = frozenset(
    {
        "id", "user_id", "scope", "created_at", "type", "trust", "actor", "op", "target", "at", "session_id", "turn_id",
        "agent_id", "confidence", "importance", "source", "valid_from", "valid_until", "supersedes",
    }
)  # fmt: skip
NEVER_SEALED = ("consent", "tombstone")
"""Events that have to be readable without any key."""
NO_KEY = "none"
"""The state of a user whose key is not here."""


class SealDamaged(InvalidRecord):
    """Say that a sealed line was changed after it was written: its key is here and does not open it."""


class Sealer(Protocol):
    """Hides and shows what is about one user, with keys that the store does not hold."""

    def seal(self, data: Mapping[str, JSON]) -> Mapping[str, JSON]:
        """Return ``data`` as it is to be written: sealed where the store seals, as it is where nothing is to hide."""

    def open(self, data: Mapping[str, JSON]) -> Mapping[str, JSON]:
        """Return what was given to ``seal``, or ``data`` as it is when its key is not here; raises SealDamaged."""

    def state(self, user_id: str) -> str:
        """Return a text that changes when the key of a user comes, goes or is replaced."""


class NoSealer:
    """Seals nothing and opens nothing: a store without keys."""

    def seal(self, data: Mapping[str, JSON]) -> Mapping[str, JSON]:
        """Return ``data`` as it is."""
        return data

    def open(self, data: Mapping[str, JSON]) -> Mapping[str, JSON]:
        """Return ``data`` as it is."""
        return data

    def state(self, user_id: str) -> str:
        """Return that there is no key."""
        return NO_KEY


class Sealed(NamedTuple):
    """How many lines of a log are sealed, and what is wrong with them."""

    lines: int
    unreadable: int
    """Those whose key is not here; that is no damage."""
    problems: tuple[Problem, ...]


def shown(data: Mapping[str, JSON], sealer: Sealer) -> Mapping[str, JSON]:
    """Return a line opened as far as it can be; one that was tampered with stays sealed and ``examined`` names it."""
    if not is_sealed(data):
        return data
    try:
        return sealer.open(data)
    except SealDamaged:
        return data


def is_to_hide(data: Mapping[str, JSON]) -> bool:
    """Return whether a line belongs to one user and holds something that is not said in clear."""
    return data.get("scope") != "shared" and _says_something(data)


def is_in_clear(data: Mapping[str, JSON]) -> bool:
    """Return whether anybody can read what a line says, shared or not."""
    return not is_sealed(data) and _says_something(data)


def _says_something(data: Mapping[str, JSON]) -> bool:
    return data.get("op") not in NEVER_SEALED and not data.keys() <= CLEAR


def examined(log: Log, sealer: Sealer) -> Sealed:
    """Return how the sealed lines of a log stand, each damaged one by file and line."""
    lines, unreadable, problems = 0, 0, []
    for path, number, data in _sealed_lines(log):
        lines += 1
        try:
            unreadable += is_sealed(sealer.open(data))
        except SealDamaged as error:
            problems.append(Problem("sealed-damaged", path, number, str(error)))
    return Sealed(lines, unreadable, tuple(problems))


def clear_lines(log: Log) -> int:
    """Return how many lines of a log hold text of one user in clear."""
    return sum(is_to_hide(data) and not is_sealed(data) for _, _, data in _lines(log, b""))


def _sealed_lines(log: Log) -> Iterator[tuple[str, int, Mapping[str, JSON]]]:
    return (item for item in _lines(log, b'"sealed"') if is_sealed(item[2]))


def _lines(log: Log, holding: bytes) -> Iterator[tuple[str, int, Mapping[str, JSON]]]:
    """Yield the lines that hold some bytes and can be parsed, with file and number."""
    for shard in sorted(log.shards()):
        data = log.read(shard)
        for number, line in enumerate(data.split(b"\n") if holding in data else (), start=1):
            if line.strip() and holding in line:
                try:
                    yield f"archive/{shard}", number, decode_line(line)
                except InvalidRecord:
                    continue  # ``check`` names it
