"""Say by meaning what changed in a store between two commits, or since one."""

from __future__ import annotations

from pathlib import Path

from memkit.errors import MemkitError
from memkit.privacy.keys import KeyRing
from memkit.privacy.sealer import KeySealer
from memkit.review.difference import difference
from memkit.review.interface import Difference
from memkit.review.sides import sides_of
from memkit.runtime.memory.record.lines import NoSealer, Sealer
from memkit.store.config import read_manifest


def compare_commits(root: Path, span: str | None = None) -> Difference:
    """Return what changed over ``span`` in the store at ``root``; broken files are described and not fatal.

    Raises:
        EnvironmentFault: The store lies in no repository, or a file of a commit was not fetched.
        UsageError: The span cannot be read, or names no commit.
    """
    return difference(sides_of(root, span), opener(root))


def opener(root: Path) -> Sealer:
    """Return what opens sealed text with the keys of this machine; with a broken ``memkit.yaml`` it opens nothing."""
    try:
        has_keys = read_manifest(root).get("privacy", {}).get("key_id") is not None
    except MemkitError:
        return NoSealer()
    return KeySealer(lambda: KeyRing(root), seals=False) if has_keys else NoSealer()
