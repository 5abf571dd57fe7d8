"""Start a new skill."""

from __future__ import annotations

from pathlib import Path

from memkit.skills.skill import FOLDER
from memkit.store.change import change_file
from memkit.store.layout import checked_name
from memkit.store.schema_files import schema_comment

_TEMPLATE = """\
name: {name}
description: Say in one sentence what is made or changed, and what comes out; an agent chooses by it.
when_to_use:
  - Name a situation in which to reach for it.
steps:
  - Say what to do first.
  - Say what to do next, and how to see that it worked.
required_tools: []
safety_checks:
  - Say what to make sure of before anything is changed.
examples:
  - input: Do the {name} (here, a request as a person would write it).
    approach: How the skill handles it.
version: "0.1.0"
changelog:
  - version: "0.1.0"
    changes: First draft.
"""


def draft_skill(root: Path, name: str) -> Path:
    """Write ``skills/<name>.yaml`` with an example to edit, commit it, and return its path; never overwrites."""
    path = f"{FOLDER}/{checked_name(name, 'skill')}.yaml"
    text = schema_comment(root, "skill") + _TEMPLATE.format(name=name)
    change_file(root, path, text, f"Add the skill {name}", new=True)
    return root / path
