"""Bring a store's files from an older format to the one that this version writes, a format at a time."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from memkit.store.config import FORMAT
from memkit.store.manifest import change_manifest

UNSTATED = 0
"""The format of a store whose ``memkit.yaml`` states none, as one written by hand may; it is read as format 1."""


@dataclass(frozen=True)
class MigrationStep:
    """What turns a store of one format into one of the next."""

    words: str
    apply: Callable[[Path], str | None]
    """Does it to the store at a path in one commit, and returns the commit's id; None where there is no repository."""


def _state_the_format(root: Path) -> str | None:
    return change_manifest(root, "format", 1, "State the format of the store")


STEPS: Mapping[int, MigrationStep] = {UNSTATED: MigrationStep("state the format in memkit.yaml", _state_the_format)}
"""By the format that each begins from; together they lead to ``FORMAT``."""


def steps_from(stated: int) -> list[MigrationStep]:
    """Return what leads from a format to the one that this version writes, in order; nothing from that one itself."""
    return [STEPS[number] for number in range(stated, FORMAT)]
