"""Start a new policy."""

from __future__ import annotations

from pathlib import Path

from memkit.policies.files import FOLDER, new_policy_text
from memkit.store.change import change_file
from memkit.store.layout import checked_name


def draft_policy(root: Path, name: str) -> Path:
    """Write ``policies/<name>.yaml`` with an example to edit, commit it, and return its path; never overwrites."""
    path = f"{FOLDER}/{checked_name(name, 'policy')}.yaml"
    change_file(root, path, new_policy_text(name), f"Add the policy {name}", new=True)
    return root / path
