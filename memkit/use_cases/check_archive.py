"""Check every line of the archive and what sessions left, and repair what can be repaired."""

from __future__ import annotations

from dataclasses import dataclass

from memkit.runtime.memory.interface import ShardProblem
from memkit.store.session_repair import damaged_sessions, set_damaged_aside
from memkit.store.shard_repair import find_problems, repair
from memkit.workspace import Workspace


@dataclass(frozen=True)
class ArchiveReport:
    """What was found in an archive."""

    records: int
    """Live records of all users."""
    fixed: tuple[ShardProblem, ...]
    problems: tuple[ShardProblem, ...]
    """What remains."""
    warnings: tuple[ShardProblem, ...]
    sealed: int = 0
    """Lines whose text is sealed."""
    unreadable: int = 0
    """Those of them whose key is not here, which is no damage."""


def check_archive(workspace: Workspace, *, fix: bool = False) -> ArchiveReport:
    """Return what is wrong with the archive; with ``fix`` after repairing what needs no person to decide.

    Raises:
        EnvironmentFault: With ``fix``, when a shard cannot be written.
    """
    log = workspace.archive.log
    fixed: list[ShardProblem] = []
    if fix:
        fixed = repair(workspace.root, log, workspace.git, workspace.clock()) + set_damaged_aside(workspace.root)
        if fixed:
            codes = ", ".join(sorted({problem.code for problem in fixed}))
            workspace.audit.append({"event": "repair", "actor": "person", "reason": f"{len(fixed)} fixed: {codes}"})
    findings = find_problems(workspace.root, log, workspace.git)
    seals = workspace.archive.seals()
    records = len(workspace.archive.records(user_id=None, sealed=True))
    remaining = {(problem.code, problem.path, problem.message) for problem in findings.problems}
    done = [problem for problem in fixed if (problem.code, problem.path, problem.message) not in remaining]
    problems = (*findings.problems, *seals.problems, *damaged_sessions(workspace.root))
    return ArchiveReport(records, tuple(done), problems, findings.warnings, seals.lines, seals.unreadable)
