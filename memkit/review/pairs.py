"""Which file of one side is which of the other: by its path, or, where it was renamed, by its content."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from difflib import SequenceMatcher

MOST_COMPARED = 400
"""Pairs of a file that is gone and one that is new whose content is compared; of more, only equal ones are found."""
ALIKE = 0.6
"""Two files that share at least this much are one that was renamed."""


@dataclass(frozen=True)
class Pair:
    """A file on both sides; None where it is not."""

    before: str | None
    after: str | None


def paired(gone: Mapping[str, bytes], new: Mapping[str, bytes], changed: Iterable[str]) -> list[Pair]:
    """Return the pairs of files of one kind.

    Args:
        gone: The content of the files that only the earlier side has, by path.
        new: That of those that only the later side has.
        changed: The paths that both have.
    """
    pairs = [Pair(path, path) for path in changed]
    renamed = _renamed(gone, new)
    pairs += [Pair(one, other) for one, other in renamed.items()]
    pairs += [Pair(path, None) for path in gone if path not in renamed]
    pairs += [Pair(None, path) for path in new if path not in renamed.values()]
    return sorted(pairs, key=lambda pair: pair.after or pair.before or "")


def _renamed(gone: Mapping[str, bytes], new: Mapping[str, bytes]) -> dict[str, str]:
    bodies = {path: _lines(content) for path, content in (*gone.items(), *new.items())}
    found: dict[str, str] = {}
    by_body = {tuple(bodies[path]): path for path in new if bodies[path]}
    for path in gone:
        other = by_body.pop(tuple(bodies[path]), None)
        if other is not None:
            found[path] = other
    rest, others = ([path for path in side if path not in {*found, *found.values()}] for side in (gone, new))
    if len(rest) * len(others) > MOST_COMPARED:
        return found
    ratios = sorted(((_likeness(bodies[one], bodies[two]), one, two) for one in rest for two in others), reverse=True)
    for ratio, one, two in ratios:
        if ratio >= ALIKE and one not in found and two not in found.values():
            found[one] = two
    return found


def _lines(content: bytes) -> list[bytes]:
    """Return the lines that say something, without the name, which changes with the file."""
    lines = (line.strip() for line in content[: 1024 * 1024].splitlines())
    return [line for line in lines if line and not line.startswith((b"name:", b"#"))]


def _likeness(one: list[bytes], other: list[bytes]) -> float:
    if not one or not other or max(len(one), len(other)) > 4 * min(len(one), len(other)):
        return 0.0
    return SequenceMatcher(None, one[:500], other[:500], autojunk=False).ratio()
