"""Methods proposed by a model: keep, list, promote, reject."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from memkit import __version__
from memkit.domains.files import FOLDER as DOMAINS
from memkit.domains.files import (
    PROBLEMS,
    StoreDomain,
    domain_file,
    domain_findings,
    find_domain,
    load_domain,
    load_problem,
    problem_files,
)
from memkit.domains.gaps import entries
from memkit.domains.learned import FOLDER, Entry, LearnedMethods, plain, read_method
from memkit.domains.proofs import BUDGET, MethodJudgement, RecordedProblem, faults, judge, prove_domain
from memkit.errors import EnvironmentFault, MemkitError, NegativeAnswer, NotFound, UsageError
from memkit.runtime.htn.core import Domain, HtnError, Problem
from memkit.runtime.htn.language.data import method_to_data
from memkit.runtime.htn.language.domain import declared_effects
from memkit.runtime.htn.learning.learned import LearnedMethod
from memkit.runtime.htn.planner import HTNPlanner
from memkit.runtime.loop.planner import HybridPlanner, Proposals
from memkit.store.change import change_file, change_files
from memkit.store.config import load_settings
from memkit.store.layout import checked_name
from memkit.store.yaml import load_yaml
from memkit.store.yaml_edit import edited


@dataclass(frozen=True)
class Listed:
    """The learned methods of one domain."""

    domain: str
    path: str
    methods: tuple[Mapping[str, Any], ...]
    """The methods as stored in the file."""
    left_out: tuple[str, ...]
    """Why some of them are not used."""
    rejected: tuple[Mapping[str, Any], ...]
    refused: Mapping[str, int]
    """Number of proposals refused on this machine, by task."""


def list_lessons(root: Path, domain: str | None = None) -> list[Listed]:
    """Return what was learned for one domain, or for every domain that has anything.

    Raises:
        NotFound: There is neither such a domain, nor anything learned for one of that name.
        UsageError: A file of learned methods is broken.
    """
    if domain and not LearnedMethods.of_store(root, domain).path.exists():
        domain_file(domain, root)
    names = [domain] if domain else sorted(path.stem for path in (root / FOLDER).glob("*.yaml"))
    return [_listed(root, name) for name in names]


def _listed(root: Path, name: str) -> Listed:
    shelf = LearnedMethods.of_store(root, name)
    left_out: list[str] = []
    try:
        shelf.methods(find_domain(name, root), left_out.append)
    except MemkitError as error:
        left_out.append(str(error))
    refused = Counter(entry["task"] for entry in entries(shelf.gaps))
    return Listed(name, shelf.shown, tuple(shelf.entries()), tuple(left_out), tuple(shelf.rejected()), dict(refused))


@dataclass(frozen=True)
class ProposedBy:
    """Who made a proposal, and for what."""

    provider: str
    model: str | None
    problem: Problem
    at: datetime
    taint: tuple[str, ...] = ()
    """What may have steered it; if anything, nothing uses it before a person promotes it."""


def keep_lessons(
    shelf: LearnedMethods,
    lessons: Sequence[LearnedMethod],
    source: ProposedBy,
    *,
    root: Path | None,
    notice: Callable[[str], None],
) -> list[str]:
    """Write the learned methods that are new to the shelf's file, and return their names.

    In a store this is a commit of its own, or, with ``git.commit: manual``, left to ``memkit commit``. A failing
    commit is reported and loses nothing.

    Args:
        shelf: The shelf of the domain's learned methods.
        lessons: What was learned.
        source: Who proposed it.
        root: The store that the shelf is in; None outside a store.
        notice: Called with a message about a commit that failed.
    """
    if not lessons:
        return []
    with shelf.changing():
        text, names = shelf.with_methods([(lesson.method, provenance(lesson, source)) for lesson in lessons])
        if not names:
            return []
        if root is None or load_settings(root)["git.commit"] == "manual":
            shelf.write(text)
            return names
        subject = f"Learn {', '.join(names)} in the domain {shelf.domain}"
        try:
            change_file(root, shelf.shown, text, f"{subject}\n\n{_body(lessons, source)}")
        except EnvironmentFault as error:
            shelf.write(text)
            notice(f"{shelf.shown} is written but not committed: {error}")
        return names


def keep_proposal(
    root: Path,
    domains: Mapping[str, StoreDomain],
    proposed: Mapping[str, Any],
    by: ProposedBy,
    notice: Callable[[str], None],
) -> str | None:
    """Store a proposal ``{task, subtasks, state?, objects?, domain?}`` that does its task; return its method's name.

    The conversation's planners never see it.
    """
    task, proposals = str(proposed["task"]), Proposals()
    proposals.add(task, proposed["subtasks"])
    planners = {
        name: HTNPlanner(domain=known.domain, llm_decompose=proposals, learned=known.learned)
        for name, known in domains.items()
    }
    hybrid = HybridPlanner(htn=planners, proposals=proposals)
    hybrid.pursue(task, proposed.get("state"), proposed.get("objects"), domain=proposed.get("domain"))
    for name, planner in planners.items():
        if planner.learned_here:
            problem = planner.problem(task, proposed.get("state"), objects=proposed.get("objects"))
            shelf = LearnedMethods.of_store(root, name)
            told = replace(by, problem=problem)
            return next(iter(keep_lessons(shelf, planner.learned_here, told, root=root, notice=notice)), None)
    return None


def provenance(lesson: LearnedMethod, source: ProposedBy) -> dict[str, Any]:
    """Return the origin of a learned method, as stored in the file."""
    accepted = lesson.source
    return {
        "task": accepted.gap.task,
        "provider": source.provider,
        "model": source.model,
        "at": source.at.isoformat(timespec="seconds").replace("+00:00", "Z"),
        "memkit": __version__,
        "goal": "verified" if accepted.verified else "not verified",
        "state": f"sha256:{accepted.gap.state}",
        "proposal": f"sha256:{accepted.proposal}",
        **({"notes": list(lesson.notes)} if lesson.notes else {}),
        **({"taint": list(source.taint)} if source.taint else {}),
        "problem": source.problem.to_data(),
    }


def _body(lessons: Sequence[LearnedMethod], source: ProposedBy) -> str:
    asked = source.provider + (f", {source.model}" if source.model else "")
    tasks = ", ".join(f"'{lesson.source.gap.task}'" for lesson in lessons)
    return f"Proposed by {asked} for {tasks}. Read the conditions before promoting it.\n"


@dataclass(frozen=True)
class Promotion:
    """What a promotion did, or would do."""

    name: str
    """The method's name in the domain."""
    path: str
    judgements: tuple[MethodJudgement, ...]
    commit: str | None
    """None for a dry run, and in a store without a repository."""


def promote_lesson(
    root: Path, domain: str, name: str, *, new_name: str | None = None, unverified: bool = False, dry_run: bool = False
) -> Promotion:
    """Move a learned method into the domain's file, as one commit, if the domain's recorded problems stay solved.

    The problem that it was learned from goes to ``domains/problems/<domain>/``, where every later promotion solves it
    again, beside the problems that people put there.

    Args:
        root: The store.
        domain: The domain, whose file is in the store.
        name: The learned method.
        new_name: The method's new name; unchanged by default.
        unverified: Whether to accept a method of a task without declared effects.
        dry_run: Whether only to check.

    Raises:
        NotFound: There is no such domain in the store, or no such learned method.
        NegativeAnswer: The task declares no effects, or a recorded problem speaks against the method.
        UsageError: A file is invalid, or the domain has a method of that name.
    """
    shelf = LearnedMethods.of_store(root, domain)
    path = f"{DOMAINS}/{checked_name(domain, 'domain')}.yaml"
    in_hddl = path.removesuffix(".yaml") + ".hddl"
    if not (root / path).is_file() and (root / in_hddl).is_file():
        raise UsageError(
            f"{in_hddl} is HDDL, which cannot take promotions. Convert it first: memkit domain convert {in_hddl} {path}"
        )
    if not (root / path).is_file():
        raise NotFound(f"There is no {path} in this store to promote into. Copy the domain there first.")
    with shelf.changing():
        entry, before = shelf.find(name), load_domain(root / path, name=path, stem=domain)
        taken_over = name if new_name is None else checked_name(new_name, "method")
        _require_verified(entry, before, path, unverified)
        text = _with_method(root, path, entry, taken_over)
        after = _checked(text, path, domain)
        recorded = list(recorded_problems(root, before, shelf, name))
        others = [each for each in shelf.methods(before, lambda reason: None) if each.name not in (name, taken_over)]
        judgements = tuple(judge(before, after, taken_over, recorded, others))
        if against := [*faults(judgements), *_broken(root, before, after, path, judgements)]:
            raise NotPromoted(f"{name} is not promoted. " + "; ".join(against), judgements)
        if dry_run:
            return Promotion(taken_over, path, judgements, None)
        files = {path: text, shelf.shown: shelf.without(name)}
        own = next((each.problem for each in recorded if each.own), None)
        if own is not None:
            files[f"{PROBLEMS}/{domain}/{taken_over}.yaml"] = _problem_text(own, domain, taken_over)
        commit = change_files(root, files, _message(domain, entry, taken_over))
        return Promotion(taken_over, path, judgements, commit)


class NotPromoted(NegativeAnswer):
    """Report that a method was not promoted, with the result of each problem."""

    code = "not_promoted"

    def __init__(self, message: str, judgements: tuple[MethodJudgement, ...]) -> None:
        super().__init__(message)
        self.judgements = judgements


def recorded_problems(root: Path, domain: Domain, shelf: LearnedMethods, name: str) -> Iterator[RecordedProblem]:
    """Yield the problems of a domain: those recorded with learned methods, and its files in ``domains/problems``."""
    for entry in shelf.entries():
        problem = _recorded(entry, domain, shelf.shown)
        if problem is not None:
            yield RecordedProblem(str(entry["name"]), problem, own=entry["name"] == name, from_lesson=True)
    for path in problem_files(root, shelf.domain):
        shown = f"{PROBLEMS}/{shelf.domain}/{path.name}"
        yield RecordedProblem(shown, load_problem(path, domain, name=shown))


def _broken(
    root: Path, before: Domain, after: Domain, path: str, judgements: tuple[MethodJudgement, ...]
) -> Iterator[str]:
    """Yield the expectations of problem files, as ``memkit domain test`` reads them, that the method breaks."""
    told = {each.name for each in judgements if each.fault is not None}
    old, new = (prove_domain(root, Path(path).stem, each, path, BUDGET).problems for each in (before, after))
    for was, proof in zip(old, new, strict=True):
        if was.passed and not proof.passed and proof.path not in told:
            yield f"{proof.path}: {proof.faults[0]}"


def _recorded(entry: Entry, domain: Domain, shown: str) -> Problem | None:
    data = (entry.get("provenance") or {}).get("problem")
    if data is None:
        return None
    try:
        return Problem.from_data(data, domain)
    except HtnError as error:
        raise UsageError(f"{shown}: the problem recorded with {entry['name']} is not valid: {error}") from None


def _require_verified(entry: Entry, domain: Domain, path: str, unverified: bool) -> None:
    method = read_method(entry)
    if unverified or declared_effects(domain, (method.head.name, *method.head.args)):
        return
    task = method.head.name
    raise NegativeAnswer(
        f"{path} does not declare the effects of {task}, so {entry['name']} cannot be checked. Declare them ('tasks: "
        f"{{{task}: {{parameters: …, effects: […]}}}}'), or add --unverified."
    )


def _with_method(root: Path, path: str, entry: Entry, name: str) -> str:
    method = method_to_data(read_method(entry))
    method.pop("learned")
    content = (root / path).read_bytes().decode("utf-8")

    def change(data: Any) -> None:
        if any(known.get("name") == name for known in data.get("methods") or ()):
            raise UsageError(f"{path} already has a method {name}. Name this one with --as NAME.")
        data.setdefault("methods", [])
        data["methods"].append(plain({**method, "name": name}))

    return edited(content, change)


def _checked(text: str, path: str, stem: str) -> Domain:
    document = load_yaml(text, name=path)
    for finding in domain_findings(document, stem):
        line, column = finding.position(document)
        raise UsageError(f"{path}:{line}:{column}: With the method the domain is wrong: {finding.message}")
    return Domain.from_data(document.data)


def _problem_text(problem: Problem, domain: str, method: str) -> str:
    head = f"# What {method} was learned from; promotions of other methods are checked against it.\ndomain: {domain}\n"
    data = plain(replace(problem, name=method).to_data())
    return edited(head, lambda document: document.update(data))


def _message(domain: str, entry: Entry, name: str) -> str:
    source = entry.get("provenance") or {}
    asked = " ".join(filter(None, [source.get("provider"), source.get("model")]))
    renamed = f" as {name}" if name != entry["name"] else ""
    origin = f"Proposed by {asked or 'a model'} for '{source.get('task')}' on {source.get('at')}."
    return f"Promote {entry['name']}{renamed} in the domain {domain}\n\n{origin}\n"


def reject_lesson(
    root: Path, domain: str, name: str, reason: str, *, clock: Callable[[], datetime] = lambda: datetime.now(UTC)
) -> str | None:
    """Remove a method from the shelf, record its content and the reason, and return the commit's id.

    Raises:
        UsageError: The reason is empty.
        NotFound: There is no such learned method.
        EnvironmentFault: Git cannot commit now; nothing changed.
    """
    if not reason.strip():
        raise UsageError("Give a reason: whoever proposes this next will see it.")
    shelf = LearnedMethods.of_store(root, domain)
    with shelf.changing():
        entry = shelf.find(name)
        kept: dict[str, Any] = {key: entry[key] for key in ("name", "task", "subtasks") if key in entry}
        at = clock().isoformat(timespec="seconds").replace("+00:00", "Z")
        text = shelf.without(name, {**kept, "reason": reason, "at": at})
        return change_file(root, shelf.shown, text, f"Reject {name} in the domain {domain}\n\n{reason}\n")
