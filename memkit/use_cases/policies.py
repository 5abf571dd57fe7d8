"""Policies: list, show, find, draft, check a call, roll back, export, count their verdicts."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Protocol

from memkit.errors import EnvironmentFault, NegativeAnswer, NotFound, UsageError
from memkit.policies.files import (
    FOLDER,
    POLICY,
    PolicyFile,
    get_policy,
    load_guard,
    load_policies,
)
from memkit.runtime.guard.core import Call, Verdict
from memkit.runtime.host.terminal import listed, one_line
from memkit.store.layout import checked_name

if TYPE_CHECKING:
    from memkit.policies.export import Export, PolicyData
    from memkit.policies.overview import Usage
    from memkit.policies.proving import TableCase
    from memkit.runtime.guard.core import Guard, Policy
    from memkit.runtime.guard.interface import MatchedPolicy
    from memkit.runtime.guard.proof import Ground
    from memkit.store.yaml import Document
    from memkit.store.yaml_edit import Part
    from memkit.use_cases.files import Committed
    from memkit.workspace import Workspace


def list_policies(root: Path) -> list[tuple[PolicyFile, str | None]]:
    """Return the policies of the store at ``root``, by name, each with its version."""
    from memkit.store.file_history import present_versions

    policies = load_policies(root / FOLDER)
    versions = present_versions(root, POLICY, [found.name for found in policies if "version" not in found.data])
    return [(found, found.data.get("version") or versions.get(found.name)) for found in policies]


def show_policy(root: Path, name: str) -> PolicyFile:
    """Return the policy ``name`` of the store at ``root``; raise ``NotFound`` with the nearest name."""
    return get_policy(load_policies(root / FOLDER), name)


def find_policies(root: Path, query: str, limit: int = 5) -> list[tuple[PolicyFile, float]]:
    """Return the policies of the store at ``root`` that share words with ``query`` and their scores, best first."""
    from memkit.policies.overview import search_policies

    if not query.strip():
        raise UsageError("An empty query finds nothing. Give some words of the rule, or a tool's name.")
    return search_policies(load_policies(root / FOLDER), query, limit)


def commit_policy(root: Path, name: str, *, bump: Part | None = None, note: str | None = None) -> Committed:
    """Commit the changes to the policy ``name`` and its tables, if it passes the tests of both.

    Raises as ``commit_file`` does.
    """
    from memkit.policies.proving import TABLES, load_tables
    from memkit.use_cases.files import commit_file

    rows = [row for row in load_tables(root) if row.policy == name]
    tables = {row.path for row in rows}
    tables |= {path.relative_to(root).as_posix() for path in (root / TABLES).glob(f"{name}.*")}

    def accept(document: Document) -> None:
        accept_policy(document, rows)

    return commit_file(root, POLICY, name, bump=bump, note=note, beside=sorted(tables), accept=accept)


def accept_policy(document: Document, rows: Sequence[TableCase] = ()) -> None:
    """Return if the policy in ``document``, which is valid, passes all its own tests and those of tables.

    Raises:
        NegativeAnswer: It fails one; the message says which and what it decided.
    """
    from memkit.runtime.guard.proof import guard_of_one, prove

    alone = guard_of_one(document.data)
    own = [("its own test", result) for result in prove(document.data).results]
    for where, result in [*own, *((f"{row.path}:{row.line}", row.case.decided_by(alone)) for row in rows)]:
        if not result.passed:
            expected, decided = result.expected, result.verdict.decision
            raise NegativeAnswer(
                f"{document.path} fails {where} {result.name!r} today: expected {expected}, decided {decided}. Change "
                "the rule or the test; 'memkit policy test' lists all failures."
            )


class PlacedGround(NamedTuple):
    """A condition that a verdict rests on, with its place."""

    policy: str
    ground: Ground
    path: str
    line: int
    column: int


class CheckedCall(NamedTuple):
    """A verdict with everything that it rests on."""

    verdict: Verdict
    grounds: tuple[PlacedGround, ...]
    hint: str = ""
    """The name under which policies would apply, if none does: a server's tool, or a tool with a similar name."""

    def of(self, policy: str) -> list[PlacedGround]:
        """Return the conditions that one policy's finding rests on."""
        return [placed for placed in self.grounds if placed.policy == policy]


def check_policy(root: Path, tool: str, args: Mapping[str, Any], context: Mapping[str, Any]) -> CheckedCall:
    """Return what the policies of the store at ``root`` decide about a call and why, without running anything."""
    guard = load_guard(root / FOLDER)
    verdict = guard.decide(tool, args, context)
    found = [finding.name for finding in (*verdict.policies, *verdict.exempted)]
    if not found or guard.fault is not None:
        hint = _other_names(guard, tool, lambda other: guard.decide(other, args, context)) if not found else ""
        return CheckedCall(verdict, (), hint)
    files = {policy.name: policy.document for policy in load_policies(root / FOLDER)}
    compiled = {policy.name: policy for policy in guard.policies}
    call = Call(tool, args, context)
    return CheckedCall(verdict, tuple(each for name in found for each in _placed(compiled[name], files[name], call)))


_SERVERS = "mcp__"
"""Prefix of the names of tools from an MCP server; the server's name, ``__`` and the tool's own name follow."""


def _other_names(guard: Guard, tool: str, decide: Callable[[str], Verdict]) -> str:
    """Return another name of a tool that policies know: without its server, with one, or spelt differently."""
    from memkit.runtime.guard.kinds import SAMPLE_NAMES

    own = tool.rpartition("__")[2]
    if tool.startswith(_SERVERS) and decide(own).policies:
        return f"Policies apply to {own!r} without its server. To match both names, use the glob '*{own}' for the tool."
    named = {name for policy in guard.policies for name in policy.names() or ()}
    served = [name for name in sorted(named) if name.startswith(_SERVERS) and name.endswith(f"__{tool}")]
    if served:
        return f"Policies name {listed(served, most=3)}: a server's tool has that prefix."
    plain = {name for names in SAMPLE_NAMES.values() for name in names if "*" not in name}
    if tool in named | plain:
        return ""
    from memkit.store.schema import suggestion

    return suggestion(tool, sorted(named | plain)).strip()


def _placed(policy: Policy, document: Document, call: Call) -> list[PlacedGround]:
    from memkit.runtime.guard.proof import find_grounds

    return [
        PlacedGround(policy.name, ground, document.path, *document.position(ground.path))
        for ground in find_grounds(policy, call)
    ]


_HOLDS = {True: "yes", False: "no ", None: "?  "}


def checked_data(checked: CheckedCall) -> dict[str, Any]:
    """Return a verdict and what it rests on as ``--json`` prints it."""
    verdict = checked.verdict
    return {
        "decision": verdict.decision,
        "policies": [_finding_data(checked, finding) for finding in verdict.policies],
        "exempted": [_finding_data(checked, finding) for finding in verdict.exempted],
        "grounds": [_ground_data(placed) for placed in checked.grounds],
    }


def _finding_data(checked: CheckedCall, finding: MatchedPolicy) -> dict[str, Any]:
    """Return a finding whose reason names the places that it rests on."""
    places = [_place(placed) for placed in checked.of(finding.name) if placed.ground.holds is not False]
    reason = f"{finding.reason} ({'; '.join(places)})" if places else finding.reason
    return asdict(finding) | {"reason": reason}


def _ground_data(placed: PlacedGround) -> dict[str, Any]:
    return {
        "policy": placed.policy,
        "place": placed.ground.place,
        "holds": placed.ground.holds,
        "text": placed.ground.text,
        "path": placed.path,
        "line": placed.line,
        "column": placed.column,
    }


def _place(placed: PlacedGround) -> str:
    return f"{placed.path}:{placed.line}:{placed.column} {placed.ground.place}"


def checked_lines(checked: CheckedCall) -> Iterator[str]:
    """Yield a verdict and what it rests on as lines for a person."""
    verdict = checked.verdict
    yield verdict.decision if verdict.policies else f"{verdict.decision}  (no policy applies)"
    if checked.hint:
        yield checked.hint
    for finding in verdict.policies:
        yield from _finding_lines("*" if finding.decides else " ", finding, checked)
    for finding in verdict.exempted:
        yield from _finding_lines("-", finding, checked)


def _finding_lines(mark: str, finding: MatchedPolicy, checked: CheckedCall) -> Iterator[str]:
    yield f" {mark} {finding.name} ({finding.enforcement} {finding.effect}): {one_line(finding.reason)}"
    for placed in checked.of(finding.name):
        yield f"     {_HOLDS[placed.ground.holds]} {_place(placed)}: {one_line(placed.ground.text)}"


def count_verdicts(workspace: Workspace, name: str | None = None) -> list[Usage]:
    """Return how often one policy or each of them matched, including deleted policies that were used.

    This covers what the audit log of this machine still holds.

    Raises:
        NotFound: There is no policy ``name``, and none ever matched.
    """
    from memkit.policies.overview import usages
    from memkit.store.schema import suggestion

    present = [path.stem for path in (workspace.root / FOLDER).glob("*.yaml")]
    found = usages(present, workspace.audit.events(event="policy"))
    if name is None:
        return found
    checked_name(name, "policy")
    named = [usage for usage in found if usage.name == name]
    if not named:
        hint = suggestion(name, [usage.name for usage in found])
        raise NotFound(f"There is no policy {name!r}, and none matched a call.{hint}")
    return named


Losses = Literal["report", "refuse", "tighten"]
LOSSES: tuple[Losses, ...] = ("report", "refuse", "tighten")


class Exporter(Protocol):
    """Writes policies in another language."""

    def __call__(self, policies: Sequence[PolicyData], *, tighten: bool = False) -> Export:
        """Return the text, and what became of each policy."""


FORMATS: Mapping[str, str] = {
    "claude-code": "memkit.policies.export.claude_code:to_claude_code",
    "cedar": "memkit.policies.export.cedar:to_cedar",
}
"""Format → the location of its ``Exporter``."""


class ExportedPolicies(NamedTuple):
    """The result of an export."""

    export: Export
    path: Path | None
    """Where it was written; None if it was not."""
    refused: bool
    """Whether nothing was written, because it would stop less than memkit does."""


def export_policies(
    root: Path, form: str, *, out: Path | None = None, losses: Losses = "report", force: bool = False
) -> ExportedPolicies:
    """Return the policies of the store at ``root`` in the format ``form``, and write them to ``out`` if given.

    Args:
        root: The store.
        form: A key of ``FORMATS``.
        out: The file.
        losses: What to do where the export would permit what memkit stops: only report it, refuse, or forbid
            more than memkit does.
        force: Whether to replace a file that holds another text.

    Raises:
        UsageError: A policy is broken, or the file holds another text.
        NotFound: The store has no policies.
        EnvironmentFault: The file cannot be read or written.
    """
    policies = [policy.data for policy in load_policies(root / FOLDER)]
    if not policies:
        raise NotFound(f"There is nothing to export: {root / FOLDER} contains no *.yaml.")
    module, _, attribute = FORMATS[form].partition(":")
    exporter: Exporter = getattr(import_module(module), attribute)
    export = exporter(policies, tighten=losses == "tighten")
    if losses == "refuse" and export.weaker:
        return ExportedPolicies(export, None, True)
    if out is not None:
        _write(out, export.content.encode(), force)
    return ExportedPolicies(export, out, False)


def _write(out: Path, content: bytes, force: bool) -> None:
    from memkit.store.files import write_whole

    try:
        other = out.exists() and (not out.is_file() or out.read_bytes() != content)
    except OSError as error:
        raise EnvironmentFault(f"{out} cannot be read: {error.strerror or error}.") from error
    if other and (not force or not out.is_file()):
        raise UsageError(f"{out} has different content. Add --force to replace it.")
    write_whole(out, content)
