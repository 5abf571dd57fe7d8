"""List the policies of a store."""

from __future__ import annotations

from pathlib import Path

from memkit.policies.files import FOLDER, PolicyFile, load_policies


def list_policies(root: Path) -> list[PolicyFile]:
    """Return the policies of the store at ``root``, by name."""
    return load_policies(root / FOLDER)
