"""Count the version of a skill or policy up, in its text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

from memkit.store.yaml_edit import edited

Part = Literal["major", "minor", "patch"]
PARTS: tuple[Part, ...] = ("major", "minor", "patch")


def next_version(version: str | None, part: Part) -> str:
    """Return the version that follows; the first one is 0.1.0.

    >>> next_version("1.2.3", "major"), next_version("1.2.3", "minor"), next_version("1.2.3", "patch")
    ('2.0.0', '1.3.0', '1.2.4')
    """
    if version is None:
        return "0.1.0"
    numbers = [int(number) for number in version.split(".")]
    place = PARTS.index(part)
    return ".".join(str(number) for number in [*numbers[:place], numbers[place] + 1, *[0] * (2 - place)])


def bumped(text: str, version: str, changes: Sequence[str]) -> str:
    """Return the text of a file with ``version`` and, newest first, an entry for it in the change log."""
    from ruamel.yaml.scalarstring import DoubleQuotedScalarString as Quoted

    def change(document: Any) -> None:
        document["version"] = Quoted(version)
        entry = {"version": Quoted(version), "changes": changes[0] if len(changes) == 1 else list(changes)}
        document.setdefault("changelog", []).insert(0, entry)

    return edited(text, change)
