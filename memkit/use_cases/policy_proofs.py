"""What can be shown of a set of policies: its tests, its conflicts, what a change of it lets through."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from memkit.errors import EnvironmentFault, UsageError
from memkit.policies.analysis.conflicts import Analysis, DangerousTool, find_conflicts
from memkit.policies.files import FOLDER, PolicyFile, get_policy, load_policies
from memkit.policies.junit import junit_xml
from memkit.policies.mutation import MutationReport, mutate
from memkit.policies.proving import TABLES, SetProof, TableCase, TableResult, load_tables, prove_set
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
from memkit.runtime.guard.interface import contribution, strength
from memkit.store.config import load_settings
from memkit.store.git import Git
from memkit.workspace import Workspace

# Run the tests of policies.


def prove_policies(root: Path, names: Sequence[str] = ()) -> SetProof:
    """Return what the tests of the store at ``root`` show about its policies, or about those named.

    Raises:
        EnvironmentFault: There is no test to run; nothing to check is not success.
    """
    policies = load_policies(root / FOLDER)
    chosen = [get_policy(policies, name) for name in dict.fromkeys(names)] if names else None
    proof = prove_set(policies, load_tables(root), chosen)
    if not proof.results:
        which = f"none of {', '.join(names)}" if names else f"no policy in {root / FOLDER}"
        raise EnvironmentFault(f"There is no test to run: {which} has 'tests:', and {TABLES}/ has no row for it.")
    return proof


# Change policies a little and see whether their tests notice.


def mutate_policies(proof: SetProof) -> list[MutationReport]:
    """Return for each policy of a proof which small changes of it no test notices."""
    return [_of_one(policy, proof.rows) for policy, _ in proof.policies]


def _of_one(policy: PolicyFile, results: tuple[TableResult, ...]) -> MutationReport:
    about = [result for result in results if result.row.policy in (None, policy.name)]
    rows: list[TableCase] = [result.row for result in about]
    return mutate(policy, rows, [_others(policy.name, result) for result in about])


def _others(name: str, result: TableResult) -> str:
    """Return what the rest of the set decides about the call of a row."""
    findings = [finding for finding in result.result.verdict.policies if finding.name != name]
    effects = [contribution(finding.effect, finding.enforcement) for finding in findings]
    return max(effects, key=strength, default="allow")


# Find what in the policies of a store cannot be as it was meant.

_SAMPLES: Mapping[str, Any] = {
    "string": "x",
    "integer": 1,
    "number": 1,
    "boolean": True,
    "array": [],
    "object": {},
    "null": None,
}


@dataclass(frozen=True)
class PolicyConflicts:
    """The policies of a store with what was found in them."""

    policies: tuple[PolicyFile, ...]
    analysis: Analysis


def find_policy_conflicts(root: Path) -> PolicyConflicts:
    """Return what contradicts, covers or never happens in the policies of the store at ``root``.

    Raises:
        UsageError: A policy is broken; the message names file, line and column.
    """
    policies = load_policies(root / FOLDER)
    tools = [
        DangerousTool(tool["name"], _sample(tool.get("parameters", {})))
        for tool in load_settings(root)["tools"]
        if tool.get("dangerous", False)
    ]
    return PolicyConflicts(tuple(policies), find_conflicts([policy.data for policy in policies], tools))


def _sample(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return arguments that a tool's schema asks for, as far as it is one."""
    required, properties = schema.get("required"), schema.get("properties")
    rules = properties if isinstance(properties, Mapping) else {}
    return {str(name): _value(rules.get(name)) for name in (required if isinstance(required, list) else ())}


def _value(rule: Any) -> Any:
    if not isinstance(rule, Mapping):
        return _SAMPLES["string"]
    choices, kind = rule.get("enum"), rule.get("type")
    if isinstance(choices, list) and choices:
        return choices[0]
    return _SAMPLES.get(kind if isinstance(kind, str) else "string", _SAMPLES["string"])


# Say which calls two sets of policies decide differently.


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
    with Workspace(root) as workspace:
        return [dict(event) for event in workspace.audit.events(event="policy")]


# Write what policy tests show as JUnit XML.


def write_junit(path: Path, proof: SetProof, mutations: Sequence[MutationReport] = ()) -> None:
    """Write the report to ``path``; raises ``UsageError`` where that is no place for a file."""
    try:
        path.write_text(junit_xml(proof, mutations), encoding="utf-8")
    except OSError as error:
        raise UsageError(f"The JUnit report cannot be written to {path}: {error.strerror or error}.") from error
