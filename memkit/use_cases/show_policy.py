"""Show one policy."""

from __future__ import annotations

from pathlib import Path

from memkit.policies.files import FOLDER, PolicyFile, get_policy, load_policies


def show_policy(root: Path, name: str) -> PolicyFile:
    """Return the policy ``name`` of the store at ``root``; raises ``NotFound`` with the nearest name."""
    return get_policy(load_policies(root / FOLDER), name)
