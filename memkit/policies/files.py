"""Policy files, read into data and compiled to a guard: once, or again between the turns of an agent.

A set loads as a whole or not at all: one broken file gives a guard that denies every call and says why.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from memkit.errors import EnvironmentFault, NotFound, UsageError
from memkit.runtime.guard.interface import JSON, Advice, PolicySetError, Verdict
from memkit.store.layout import NAME, Kind, entries_of, known_git_folder, parsed, require_inside

if TYPE_CHECKING:
    from memkit.runtime.guard.core import Guard
    from memkit.store.files import LastGood
    from memkit.store.git import Git
    from memkit.store.schema import SchemaFinding
    from memkit.store.yaml import Document

FOLDER = "policies"
COMPILED = "agent/compiled/policies.json"


class PolicyFile(NamedTuple):
    """A valid policy, with its document."""

    name: str
    data: Mapping[str, Any]
    document: Document


def load_guard(folder: Path) -> Guard:
    """Return the guard of the policies in ``folder``; a set that fails to load gives one that denies every call."""
    from memkit.runtime.guard.core import Guard

    try:
        return Guard(list(policy_data(folder).values()))
    except (UsageError, PolicySetError) as error:
        return Guard.broken(str(error))


def policy_data(folder: Path) -> dict[str, Any]:
    """Return the data of the policies in ``folder``, by name; raise ``UsageError`` as ``load_policies`` does."""
    require_whole(folder)
    files = {path.stem: path for path in policy_paths(folder)}
    return parsed(folder.parent, FOLDER, files, lambda name: _load_of_folder(files[name]).data)


def require_whole(folder: Path) -> None:
    """Raise ``UsageError`` if policies that apply here are not in ``folder``.

    Those of a generated project are in no folder, and a sparse checkout leaves some out that are part of the store.
    """
    if are_compiled(folder):
        raise UsageError(
            f"{folder.parent} is a generated project: its agent uses {COMPILED}. Policies are read in the store it "
            "was generated from."
        )
    git = known_git_folder(folder.parent)
    if git is None or not (git.own / "info" / "sparse-checkout").is_file():
        return
    from memkit.store.git import Git

    listed = Git(folder.parent).run("ls-files", "-t", "-z", "--", FOLDER).split("\0")
    left_out = [path for mark, _, path in (line.partition(" ") for line in listed) if mark == "S"]
    if missing := [path for path in left_out if path.endswith(".yaml") and path.count("/") == 1]:
        raise UsageError(
            f"{missing[0]} is left out by a sparse checkout, and may forbid a call: 'git sparse-checkout add {FOLDER}' "
            "brings it.",
            path=missing[0],
        )


def are_compiled(folder: Path) -> bool:
    """Return whether the policies that belong to ``folder`` are those compiled into a generated project."""
    return not folder.exists() and (folder.parent / COMPILED).is_file()


def load_policies(folder: Path) -> list[PolicyFile]:
    """Return the policies in ``folder`` by name, or raise ``UsageError`` with the place of the first fault."""
    require_whole(folder)
    return [_load_of_folder(path) for path in policy_paths(folder)]


def policy_paths(folder: Path) -> list[Path]:
    """Return the policy files in ``folder``; raise ``UsageError`` if there can be none, or they are elsewhere."""
    paths = [path for path in entries_of(folder) if path.suffix == ".yaml" and not path.name.startswith(".")]
    for path in paths:
        require_inside(folder.parent, path, f"{FOLDER}/{path.name}")
    return paths


def _load_of_folder(path: Path) -> PolicyFile:
    return load_policy(path, name=f"{FOLDER}/{path.name}")


def load_policy(path: Path, *, name: str | None = None) -> PolicyFile:
    """Return the policy in a file, or raise ``UsageError`` with line and column of the first fault."""
    from memkit.store.yaml import load_yaml

    return _valid(load_yaml(path, name=name), path.stem)


def read_policy(content: bytes, *, name: str, path: str) -> PolicyFile:
    """Return the policy in the bytes of the file at ``path``; raise ``UsageError`` as ``load_policy`` does."""
    from memkit.store.yaml import load_yaml

    return _valid(load_yaml(content, name=name), Path(path).stem)


def _valid(document: Document, stem: str) -> PolicyFile:
    for finding in policy_findings(document, stem):
        line, column = finding.position(document)
        raise UsageError(f"{document.path}:{line}:{column}: {finding.message}", path=document.path, line=line)
    return PolicyFile(document.data["name"], document.data, document)


def get_policy(policies: list[PolicyFile], name: str) -> PolicyFile:
    """Return one policy; raise ``NotFound`` with the nearest name."""
    known = {policy.name: policy for policy in policies}
    if name not in known:
        from memkit.store.schema import suggestion

        near = suggestion(name, list(known)) or " 'memkit policy list' lists all."
        raise NotFound(f"There is no policy {name!r}.{near}")
    return known[name]


def policy_findings(document: Document, stem: str) -> list[SchemaFinding]:
    """Return the faults that keep a document from being the policy ``stem``.

    The kinds are those of the schema, ``name`` for a name unlike the file's, and ``condition`` for a match that
    does not compile.
    """
    from memkit.runtime.guard.core import policy_faults
    from memkit.store.schema import SchemaFinding, check, load_schema

    findings = check(document.data, load_schema("policy"))
    name = document.data.get("name") if isinstance(document.data, dict) else None
    if isinstance(name, str) and name != stem and NAME.fullmatch(name):
        message = f"The policy is named {name!r}, but its file {stem!r}. Give both the same name."
        findings.append(SchemaFinding("name", ("name",), message))
    faults = {fault.path: _sentence(fault.message) for fault in policy_faults(document.data)}
    if not findings:
        return [SchemaFinding("condition", path, message) for path, message in faults.items()]
    return [_plainer(finding, faults) for finding in findings]


POLICY = Kind("policy", FOLDER, policy_findings)


def _plainer(finding: SchemaFinding, faults: Mapping[tuple[str | int, ...], str]) -> SchemaFinding:
    """Return a finding about a match in the guard's words, which name the language and not the schema's patterns."""
    if finding.path[:1] in (("match",), ("exceptions",)) and finding.path in faults:
        return finding._replace(message=faults[finding.path])
    return finding


def _sentence(message: str) -> str:
    capital = f"{message[:1].upper()}{message[1:]}"
    return capital if capital.endswith((".", "?")) else f"{capital}."


# The policies of a running agent: those of the files, adopted between turns as a whole or not at all.


class PoliciesInForce:
    """Policies as in their files; most turns call nothing, so they are compiled for the first call to judge."""

    def __init__(self, policies: Sequence[Mapping[str, JSON]] = ()) -> None:
        self.policies = policies
        self.spelled = repr(policies)  # in which true and 1 differ, as they do in a condition
        self._guard: Guard | None = None

    def guard(self, former: PoliciesInForce | None) -> Guard:
        """Return the compiled set, reusing what ``former`` has compiled of the same policies."""
        if self._guard is None:
            from memkit.runtime.guard.core import Guard

            try:
                self._guard = Guard(self.policies, former._guard if former else None)
            except PolicySetError as error:
                self._guard = Guard.broken(str(error))
        return self._guard


class LiveGuard:
    """A judge whose policies may change between turns, and never within one.

    A changed set replaces the old one when all of it loads; until then the old one holds. If none has
    loaded yet, every call is denied.
    """

    def __init__(self, folder: Path, *, tell: Callable[[str], None], taken: Callable[[PoliciesInForce], None]) -> None:
        """Load the policies in ``folder``.

        Args:
            folder: The folder of the policies.
            tell: Called about a set that does not load, and about the next one that does.
            taken: Called with each set that replaces another.
        """
        self._folder = folder
        self._tell = tell
        self._taken = taken
        self._missed = False
        self._files: LastGood[PoliciesInForce] | None = None
        self._read = self._in_force = PoliciesInForce()
        self._compiled: PoliciesInForce | None = None
        self.fault: str | None = None
        """Why every call is denied, if no set of policies has loaded."""
        self._look()

    def begin_turn(self) -> None:
        """Adopt what people changed since the last turn, if it is valid as a whole."""
        before = self._in_force, self.fault
        self._look()
        if (self._in_force, self.fault) != before and self.fault is None:
            self._taken(self._in_force)

    def decide(self, tool: str, args: Mapping[str, JSON], context: Mapping[str, JSON]) -> Verdict:
        """Return the verdict on one call, according to the policies of this turn."""
        if self.fault is not None:
            from memkit.runtime.guard.core import Guard

            return Guard.broken(self.fault).decide(tool, args, context)
        guard = self._in_force.guard(self._compiled)
        self._compiled = self._in_force
        return guard.decide(tool, args, context)

    def advice(self) -> list[Advice]:
        """Return the rule text of every active policy of this turn."""
        return [Advice(one["name"], one["rule"]) for one in self._in_force.policies if one.get("active", True)]

    def _look(self) -> None:
        if self._is_gone():
            return
        try:
            if self._files is None:
                from memkit.store.files import LastGood

                self._files = LastGood(self._folder, self._load, what="policies", tell=self._tell)
            self._in_force, self.fault = self._files.current(), None
        except UsageError as error:  # the first set: there is no good one to fall back on
            if self.fault != str(error):
                self._tell(f"Every action is denied until the policies load. {error}")
            self.fault = str(error)

    def _is_gone(self) -> bool:
        """Return whether the policies in force lost their folder: moving it away must not lift them all."""
        gone = bool(self._in_force.policies) and not self._folder.is_dir()
        if gone and not self._missed:
            self._tell(
                f"Keeping the policies as they were, because {self._folder.name}/ is gone. To have none, leave it "
                "empty."
            )
        self._missed = gone
        return gone

    def _load(self) -> PoliciesInForce:
        policies = PoliciesInForce(list(policy_data(self._folder).values()))
        if policies.spelled != self._read.spelled:  # else read again because a file was young
            self._read = policies
        return self._read


def name_set(held: PoliciesInForce, git: Git) -> str:
    """Return which policies are in force, for the audit log: how many, of which commit, and whether that is all."""
    count = f"{len(held.policies)} policies"
    try:
        commit = git.run("rev-parse", "--short", "HEAD", check=False).strip()
        changed = git.status("policies")
    except EnvironmentFault:
        return count
    return f"{count} of commit {commit or 'none'}{', with uncommitted changes' if changed else ''}"
