"""Say which calls two sets of policies decide differently."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from memkit.errors import UsageError
from memkit.policies.files import FOLDER
from memkit.policies.verdict_diff import (
    PolicySet,
    Replay,
    VerdictComparison,
    compare_verdicts,
    policies_at,
    policies_in,
    policies_where_parted,
    replay,
)
from memkit.store.audit import AuditLog
from memkit.store.git import Git
from memkit.store.layout import state_folder
from memkit.workspace import utc_now


@dataclass(frozen=True)
class PolicyComparison:
    """Two sets of policies, and what changes from one to the other."""

    before: PolicySet
    after: PolicySet
    verdicts: VerdictComparison
    replay: Replay | None
    """``None`` where no replay was asked for."""

    @property
    def weakens_hard(self) -> bool:
        """Return whether a decision of a hard policy gives way to a weaker one."""
        recorded = self.replay.changes if self.replay else ()
        return any(change.weakens_hard for change in (*self.verdicts.changes, *recorded))


def compare_policies(root: Path, span: str | None = None, *, replayed: bool = False) -> PolicyComparison:
    """Return the calls whose verdict changes over ``span`` in the store at ``root``.

    A span is ``A..B`` with any names of commits, or ``A...B`` for what B did since it parted from A. A missing end, or
    one name alone, compares with the work tree; a missing beginning, or no span, starts from the last commit.

    Raises:
        EnvironmentFault: The store lies in no repository.
        UsageError: The span names no commit, or a policy on one side is broken.
    """
    before, after = _sides(root, span or "HEAD")
    recorded = replay(before, after, _events(root)) if replayed else None
    return PolicyComparison(before, after, compare_verdicts(before, after), recorded)


def compare_policy_folders(before: Path, after: Path) -> PolicyComparison:
    """Return the calls whose verdict changes between two folders of policy files; neither need be in a repository."""
    sets = []
    for folder in (before, after):
        if not folder.is_dir():
            raise UsageError(f"There is no folder {folder}.")
        sets.append(policies_in(folder, str(folder)))
    return PolicyComparison(sets[0], sets[1], compare_verdicts(*sets), None)


def _sides(root: Path, span: str) -> tuple[PolicySet, PolicySet]:
    git = Git(root)
    if "..." in span:
        start, _, end = span.partition("...")
        start, end = start or "HEAD", end or "HEAD"
        return policies_where_parted(git, start, end), policies_at(git, end)
    start, _, end = span.partition("..")
    return policies_at(git, start or "HEAD"), policies_at(git, end) if end else policies_in(root / FOLDER)


def _events(root: Path) -> list[dict[str, object]]:
    log = AuditLog(state_folder(root) / "audit", utc_now)
    return [dict(event) for event in log.events(event="policy")]
