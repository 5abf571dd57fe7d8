"""What somebody else put into a store: one of everything that could run or be asked."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

Ask = Callable[..., dict[str, Any]]
TOOLS = """\
  - {name: mark, description: Leave a mark., run: [sh, tools/mark.sh]}
  - {name: note, description: Leave a note., run: "tools.note:note"}
provider: scripted:answers.yaml
"""
CHECKED = """\
name: walk
description: Walks the dog when it wants to.
steps: [Find the lead]
version: "1.0.0"
changelog: [{version: "1.0.0", changes: First version.}]
checks: [{name: marks, run: [sh, tools/mark.sh]}]
"""
DOMAIN = """\
name: marking
predicates: {marked: []}
operators: [{name: mark_it, add: [marked], tool: mark}]
methods: [{name: just_do, task: be_marked, subtasks: [mark_it]}]
"""
EVALUATOR = "import pathlib\npathlib.Path({mark!r}).write_text('evaluator')\ndef evaluate(path):\n    return 1.0\n"


def git(root: Path, *words: str) -> str:
    """Run plain git."""
    return subprocess.run(["git", *words], cwd=root, check=True, capture_output=True, text=True).stdout


def commit(root: Path, message: str = "Change") -> None:
    """Commit everything in a store."""
    git(root, "add", "-A")
    git(root, "commit", "-q", "-m", message)
