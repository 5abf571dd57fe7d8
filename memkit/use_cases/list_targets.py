"""Tell which kinds of projects memkit renders."""

from __future__ import annotations

from memkit.generate.targets import Target, load_targets


def list_targets() -> list[Target]:
    """Return every target, in alphabetical order."""
    return list(load_targets().values())
