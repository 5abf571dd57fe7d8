"""Start a new skill."""

from __future__ import annotations

import os
from pathlib import Path

from memkit.errors import EnvironmentFault, UsageError
from memkit.skills.skill import FOLDER
from memkit.store.git import Git
from memkit.store.layout import checked_name

_TEMPLATE = """\
name: {name}
description: Say in one sentence what the skill does; an agent chooses by it.
when_to_use:
  - Name a situation in which to reach for it.
steps:
  - Say what to do first.
  - Say what to do next, and how to see that it worked.
required_tools: []
safety_checks:
  - Say what to make sure of before anything is changed.
examples:
  - input: A request as a person would write it.
    approach: How the skill handles it.
version: "0.1.0"
changelog:
  - version: "0.1.0"
    changes: First draft.
"""


def draft_skill(root: Path, name: str) -> Path:
    """Write ``skills/<name>.yaml`` with an example to edit, commit it, and return its path; never overwrites."""
    path = root / FOLDER / f"{checked_name(name, 'skill')}.yaml"
    try:
        path.parent.mkdir(exist_ok=True)
        with path.open("x", encoding="utf-8") as file:
            file.write(_TEMPLATE.format(name=name))
            file.flush()
            os.fsync(file.fileno())
    except FileExistsError:
        raise UsageError(f"{FOLDER}/{path.name} exists already. Edit it, or choose another name.") from None
    except OSError as error:
        raise EnvironmentFault(f"{path} cannot be written: {error.strerror or error}.") from error
    git = Git(root)
    if git.top() is not None:
        git.commit(f"Add the skill {name}", [f"{FOLDER}/{path.name}"])
    return path
