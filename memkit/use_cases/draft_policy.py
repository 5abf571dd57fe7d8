"""Start a new policy."""

from __future__ import annotations

import os
from pathlib import Path

from memkit.errors import EnvironmentFault, UsageError
from memkit.policies import FOLDER, new_policy_text
from memkit.store.git import Git
from memkit.store.layout import checked_name


def draft_policy(root: Path, name: str) -> Path:
    """Write ``policies/<name>.yaml`` with an example to edit, commit it, and return its path; never overwrites."""
    path = root / FOLDER / f"{checked_name(name, 'policy')}.yaml"
    try:
        path.parent.mkdir(exist_ok=True)
        with path.open("x", encoding="utf-8") as file:
            file.write(new_policy_text(name))
            file.flush()
            os.fsync(file.fileno())
    except FileExistsError:
        raise UsageError(f"{FOLDER}/{path.name} exists already. Edit it, or choose another name.") from None
    except OSError as error:
        raise EnvironmentFault(f"{path} cannot be written: {error.strerror or error}.") from error
    git = Git(root)
    if git.top() is not None:
        git.commit(f"Add the policy {name}", [f"{FOLDER}/{path.name}"])
    return path
