"""Run the checks that a skill carries."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from memkit.runtime.guard.core import Guard
from memkit.runtime.loop.bound import ToolFailure, run_declared
from memkit.runtime.loop.interface import DeclaredTool
from memkit.skills.skill import FOLDER, Skill, SkillCheck
from memkit.store.trust import Trust
from memkit.terminal import one_line

SECONDS = 60.0
"""How long one command may take."""


@dataclass(frozen=True)
class CheckResult:
    """What one check came to."""

    name: str
    passed: bool
    detail: str
    """What was printed or decided."""


def run_checks(skill: Skill, root: Path, guard: Guard) -> Iterator[CheckResult]:
    """Yield what each check of ``skill`` comes to in the store at ``root``.

    A command runs in the store as a declared tool does: bounded in time and output, with its children, and with the
    skill's name, version and path as JSON on its standard input.

    Raises:
        NotTrusted: A check is a command, and nobody trusted the store.
    """
    for check in skill.checks:
        yield _command(check, skill, root) if check.call is None else _decision(check, guard)


def _command(check: SkillCheck, skill: Skill, root: Path) -> CheckResult:
    Trust(root).require_command(check.run, f"The check {check.name!r:.80} of the skill {skill.name} is a command")
    about = {"skill": skill.name, "version": skill.version, "path": f"{FOLDER}/{skill.name}.yaml"}
    tool = DeclaredTool(f"the check {check.name!r}", "", run=check.run, timeout=SECONDS)
    try:
        printed = run_declared(tool, about, root)
    except ToolFailure as failure:
        return CheckResult(check.name, False, one_line(str(failure), 400))
    return CheckResult(check.name, True, one_line(printed, 400))


def _decision(check: SkillCheck, guard: Guard) -> CheckResult:
    call = check.call or {}
    verdict = guard.decide(call["tool"], call.get("args", {}), call.get("context", {}))
    passed = verdict.decision == check.expect
    reason = f" ({verdict.deciding.name}: {one_line(verdict.deciding.reason, 200)})" if verdict.deciding else ""
    wanted = "" if passed else f", expected {check.expect}"
    return CheckResult(check.name, passed, f"the policies decide {verdict.decision}{wanted}{reason}")
