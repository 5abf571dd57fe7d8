"""What can be proved about a set of policies: its tests, its conflicts, and what a change of it permits."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from memkit.errors import EnvironmentFault, UsageError
from memkit.policies.analysis.conflicts import KINDS, Analysis, DangerousTool, PolicyConflict, find_conflicts
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
from memkit.resources import resource
from memkit.runtime.guard.core import Guard
from memkit.runtime.guard.interface import EFFECTS, as_list, contribution, strength
from memkit.store.config import load_settings
from memkit.store.git import Git
from memkit.workspace import Workspace


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


def mutate_policies(proof: SetProof) -> list[MutationReport]:
    """Return, for each policy of a proof, the small changes that no test notices."""
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
class AcceptedConflict:
    """A finding that people accept."""

    kind: str
    policies: tuple[str, ...] | None
    """The policies concerned; ``None`` if the file of one of them accepts it with any others."""
    reason: str
    path: str
    owner: str | None = None
    """The policy whose file accepts it."""
    tool: str | None = None
    """The tool of a gap, which no policy is about."""

    def covers(self, conflict: PolicyConflict) -> bool:
        """Return whether this acceptance applies to a finding."""
        if conflict.kind == "gap":
            return self.kind == "gap" and conflict.witness is not None and self.tool == conflict.witness.tool
        if self.kind != conflict.kind or (self.owner and self.owner not in conflict.policies):
            return False
        named = {*(self.policies or ()), *([self.owner] if self.owner else [])}
        return self.policies is None or named == set(conflict.policies)


@dataclass(frozen=True)
class PolicyConflicts:
    """The policies of a store with the findings about them."""

    policies: tuple[PolicyFile, ...]
    analysis: Analysis
    """The findings that nobody accepted."""
    accepted: tuple[tuple[PolicyConflict, AcceptedConflict], ...] = ()
    unused: tuple[AcceptedConflict, ...] = ()
    """Accepted findings that do not occur (any more)."""


def find_policy_conflicts(root: Path, baseline: Path | None = None) -> PolicyConflicts:
    """Return the contradictions, coverings and impossible conditions in the policies of the store at ``root``.

    Args:
        root: The store.
        baseline: A YAML or JSON file with a list of accepted findings, each ``{kind, policies, reason}``, and
            ``{kind: gap, tool, reason}`` for a tool.

    Raises:
        UsageError: A policy or the baseline is broken; the message names file, line and column.
    """
    policies = load_policies(root / FOLDER)
    tools = [
        DangerousTool(tool["name"], _sample(tool.get("parameters", {})))
        for tool in load_settings(root)["tools"]
        if tool.get("dangerous", False)
    ]
    accepting = [*_accepted_in(policies), *(_baseline(baseline) if baseline else ())]
    analysis = find_conflicts([policy.data for policy in policies], tools)
    told = [
        (conflict, next((one for one in accepting if one.covers(conflict)), None)) for conflict in analysis.conflicts
    ]
    left = tuple(conflict for conflict, by in told if by is None)
    accepted = tuple((conflict, by) for conflict, by in told if by is not None)
    used = [by for _, by in accepted]
    unused = tuple(one for one in accepting if one not in used)
    return PolicyConflicts(tuple(policies), Analysis(left, analysis.unknown), accepted, unused)


def _accepted_in(policies: Sequence[PolicyFile]) -> Iterator[AcceptedConflict]:
    for policy in policies:
        for item in policy.data.get("accepted", ()):
            others = tuple(item["policies"]) if "policies" in item else None
            yield AcceptedConflict(item["kind"], others, item["reason"], policy.document.path, policy.name)


def _baseline(path: Path) -> Iterator[AcceptedConflict]:
    from memkit.store.yaml import load_yaml

    if not path.is_file():
        raise UsageError(f"There is no baseline {path}. Write a list of findings, each with kind, policies and reason.")
    document = load_yaml(path)
    items = document.data if isinstance(document.data, list) else [document.data]
    for number, item in enumerate(items):
        kind = item.get("kind") if isinstance(item, Mapping) else None
        wanted = _OF_GAP if kind == "gap" else _OF_BASELINE
        complete = kind in KINDS and all(isinstance(item.get(key), of) and item[key] for key, of in wanted.items())
        if not complete:
            line = document.position((number,))[0] if isinstance(document.data, list) else 1
            told = f"kind ({', '.join(KINDS)}), policies (a list; for a gap tool, its name) and reason"
            raise UsageError(f"{path}:{line}: An accepted finding needs {told}.", path=str(path), line=line)
        names = tuple(map(str, item.get("policies", ())))
        yield AcceptedConflict(str(kind), names, item["reason"], str(path), tool=item.get("tool"))


_OF_BASELINE: Mapping[str, type] = {"kind": str, "policies": list, "reason": str}
_OF_GAP: Mapping[str, type] = {"kind": str, "tool": str, "reason": str}


@dataclass(frozen=True)
class CoveredCall:
    """One line of a corpus with the decision about it."""

    line: int
    decision: str
    policies: tuple[str, ...]
    """The policies that decided it."""
    category: str
    expected: tuple[str, ...]
    """The acceptable decisions; empty for any."""
    opaque: bool

    @property
    def as_expected(self) -> bool:
        """Return whether the decision is one that the line expects."""
        return not self.expected or self.decision in self.expected


def cover_corpus(root: Path, corpus: Path | None = None) -> Iterator[CoveredCall]:
    """Yield what the policies of the store at ``root`` decide about each line of a corpus, one line at a time.

    A line is a JSON object ``{tool, args, context?, category?, expect?}``; without a file it is the corpus that memkit
    ships.

    Raises:
        UsageError: A policy is broken, the file cannot be read, or a line of it is not a call.
        EnvironmentFault: The file has no calls; nothing to check is not success.
    """
    guard = Guard([policy.data for policy in load_policies(root / FOLDER)])
    return cover_calls(guard, corpus)


def cover_calls(guard: Guard, corpus: Path | None = None) -> Iterator[CoveredCall]:
    """Yield what a guard decides about each line of a corpus, as ``cover_corpus`` does."""
    number = found = 0
    path: Any = corpus or resource("policy-corpus.jsonl")
    try:
        with path.open(encoding="utf-8-sig") as lines:
            for number, line in enumerate(lines, 1):
                if line.strip():
                    found += 1
                    yield _covered(guard, line, number, f"{corpus or path.name}")
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        where = f" after line {number}" if number else ""
        raise UsageError(f"{path}: The corpus cannot be read{where}: {why}.") from error
    if not found:
        raise EnvironmentFault(f"{path} has no calls. Write one JSON object per line: {{tool, args}}.")


def _covered(guard: Guard, line: str, number: int, name: str) -> CoveredCall:
    try:
        data = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{name}:{number}: This is not JSON: {error}.", path=name, line=number) from None
    fault = _fault_of_call(data)
    if fault:
        raise UsageError(f"{name}:{number}: {fault}", path=name, line=number)
    verdict = guard.decide(data["tool"], data.get("args", {}), data.get("context", {}))
    carrying = tuple(finding.name for finding in verdict.policies if finding.decides)
    opaque = any(finding.decides and finding.opaque for finding in verdict.policies)
    expected = tuple(as_list(data["expect"])) if "expect" in data else ()
    return CoveredCall(number, verdict.decision, carrying, str(data.get("category", "")), expected, opaque)


def _fault_of_call(data: Any) -> str:
    if not isinstance(data, Mapping) or not isinstance(data.get("tool"), str):
        return "A call must be a JSON object with tool (a string) and args."
    for key in ("args", "context"):
        if not isinstance(data.get(key, {}), Mapping):
            return f"{key} must be a map of names to values."
    if any(effect not in EFFECTS for effect in as_list(data.get("expect", []))):
        return f"expect must be one of {', '.join(EFFECTS)}, or a list of them."
    return ""


def _sample(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return arguments that satisfy a tool's schema, as far as it is valid."""
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


@dataclass(frozen=True)
class PolicyComparison:
    """Two sets of policies, and the changes from one to the other."""

    before: PolicySet
    after: PolicySet
    verdicts: VerdictComparison
    replay: Replay | None
    """``None`` if no replay was requested."""

    @property
    def weakens_hard(self) -> bool:
        """Return whether a decision of a hard policy is replaced by a weaker one."""
        recorded = self.replay.changes if self.replay else ()
        return any(change.weakens_hard for change in (*self.verdicts.changes, *recorded))


def compare_policies(root: Path, span: str | None = None, *, replayed: bool = False) -> PolicyComparison:
    """Return the calls whose verdict changes over ``span`` in the store at ``root``.

    A span is ``A..B`` with any names of commits, or ``A...B`` for what B changed since it branched from A. A missing
    end, or one name alone, compares with the work tree; a missing beginning, or no span, starts from the last commit.

    Raises:
        EnvironmentFault: The store is not in a repository.
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


def write_junit(path: Path, proof: SetProof, mutations: Sequence[MutationReport] = ()) -> None:
    """Write the report to ``path``; raise ``UsageError`` if no file can be written there."""
    try:
        path.write_text(junit_xml(proof, mutations), encoding="utf-8")
    except OSError as error:
        raise UsageError(f"The JUnit report cannot be written to {path}: {error.strerror or error}.") from error
