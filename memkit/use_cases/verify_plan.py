"""Verify a plan against its domain and problem."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from memkit.domains.files import find_domain, problem_in_domain
from memkit.domains.learned import LearnedMethods
from memkit.errors import UsageError
from memkit.hddl.plans import holds_plan, read_steps, spelled_as
from memkit.runtime.htn.core import GAVE_UP, Budget, Reason, Step, read_plan, verify
from memkit.store.yaml import load_yaml

_NUMBERED = re.compile(r"\d+[.:]\s+|\d+\.\d+:\s*(?=\()")
"""A number or a time before a step."""
_LASTS = re.compile(r"(?<=\))\s*\[[\d.]+\]$")
"""How long a step takes, as planners with times print it behind the step."""
_NO_STEP = (";", "#", "//")
"""How lines begin that say something of the plan."""


@dataclass(frozen=True)
class Verdict:
    """What is wrong with a plan; nothing, when it is a solution."""

    steps: Sequence[Step]
    reasons: Sequence[Reason]

    @property
    def valid(self) -> bool:
        """Return whether the plan is a solution."""
        return not self.reasons

    @property
    def outcome(self) -> str:
        """Return ``valid``, ``invalid``, or ``gave_up`` where time was up and the plan may be either."""
        if self.valid:
            return "valid"
        return GAVE_UP if any(reason.code == "budget" for reason in self.reasons) else "invalid"


def verify_plan(
    domain: str,
    problem: Path,
    plan: Path,
    *,
    root: Path | None = None,
    learned: Path | None = None,
    promoted_only: bool = False,
    seconds: float | None = None,
) -> Verdict:
    """Return what is wrong with the plan in a file; raises ``UsageError`` for files that make no sense.

    Tasks may be decomposed by the learned methods of the domain too, which lie in the store or in the file ``learned``,
    unless it is ``promoted_only``. After so many ``seconds`` the question is given up.
    """
    asked, known = problem_in_domain(problem, find_domain(domain, root))
    if not asked.tasks:
        raise UsageError(f"{problem} names no tasks, so there is nothing that the plan could do. Add 'tasks: [...]'.")
    steps = spelled_as(read_plan(_plan_data(plan)), known, asked)
    shelf = None if promoted_only else LearnedMethods.of_domain(known.name, domain, root, learned)
    extra = () if shelf is None else shelf.methods(known, lambda reason: None)
    return Verdict(steps, verify(known, asked, steps, extra=extra, budget=Budget(nodes=None, seconds=seconds)))


def _plan_data(path: Path) -> Any:
    """Return the data of a plan file.

    It is JSON as ``memkit plan --json`` prints it, a YAML list, a plan as competition planners print it, or a step a
    line.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{path} cannot be read: {error}") from None
    if holds_plan(text):
        return read_steps(text, name=str(path))
    if text.lstrip().startswith("{"):
        try:
            data = json.loads(text)
        except ValueError as error:
            raise UsageError(f"{path} is not JSON: {error}") from None
        return data.get("data") or data
    if text.lstrip().startswith(("-", "[", "plan:")):
        return load_yaml(path).data
    lines = (line.strip() for line in text.splitlines())
    return [_plain_step(line) for line in lines if line and not line.startswith(_NO_STEP)]


def _plain_step(line: str) -> str:
    """Return the step of a line such as ``2. go home shop``, ``0: (go home shop)`` or ``0.0: (go home shop) [1.0]``."""
    numbered = _NUMBERED.match(line)
    return _LASTS.sub("", line[numbered.end() :] if numbered else line)
