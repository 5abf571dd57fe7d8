"""Start a new policy."""

from __future__ import annotations

from pathlib import Path

from memkit.policies.files import FOLDER, new_policy_text
from memkit.store.change import change_file
from memkit.store.layout import checked_name
from memkit.store.schema_files import schema_comment


def draft_policy(root: Path, name: str) -> Path:
    """Write ``policies/<name>.yaml`` with an example to edit, commit it, and return its path; never overwrites."""
    path = f"{FOLDER}/{checked_name(name, 'policy')}.yaml"
    text = schema_comment(root, "policy") + new_policy_text(name)
    change_file(root, path, text, f"Add the policy {name}", new=True)
    return root / path
