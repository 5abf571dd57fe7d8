"""Verify a plan against its domain and problem."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from memkit.domains import find_domain, load_problem
from memkit.errors import UsageError
from memkit.htn.core import Reason, Step, read_plan, verify
from memkit.store.yaml import load_yaml


@dataclass(frozen=True)
class Verdict:
    """What is wrong with a plan; nothing, when it is a solution."""

    steps: Sequence[Step]
    reasons: Sequence[Reason]

    @property
    def valid(self) -> bool:
        """Return whether the plan is a solution."""
        return not self.reasons


def verify_plan(domain: str, problem: Path, plan: Path, *, root: Path | None = None) -> Verdict:
    """Return what is wrong with the plan in a file; raises ``UsageError`` for files that make no sense."""
    known = find_domain(domain, root)
    asked = load_problem(problem, known)
    if not asked.tasks:
        raise UsageError(f"{problem} names no tasks, so there is nothing that the plan could do. Add 'tasks: [...]'.")
    steps = read_plan(_plan_data(plan))
    return Verdict(steps, verify(known, asked, steps))


def _plan_data(path: Path) -> Any:
    """Return the data of a plan file: JSON as ``memkit plan --json`` prints it, a YAML list, or a step a line."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{path} cannot be read: {error}") from None
    if text.lstrip().startswith("{"):
        try:
            data = json.loads(text)
        except ValueError as error:
            raise UsageError(f"{path} is not JSON: {error}") from None
        return data.get("data") or data
    if text.lstrip().startswith(("-", "[", "plan:")):
        return load_yaml(path).data
    return [_unnumbered(line) for line in text.splitlines() if line.strip()]


def _unnumbered(line: str) -> str:
    """Return the step of a line such as ``2. go home shop``."""
    number, dot, rest = line.strip().partition(".")
    return rest.strip() if dot and number.isdigit() else line.strip()
