"""Promote a learned method: a person takes it over into the domain's own file."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from memkit.domains.files import FOLDER, PROBLEMS, domain_findings, load_domain, load_problem, problem_files
from memkit.domains.learned import Entry, LearnedMethods, plain, read_method
from memkit.domains.proofs import BUDGET, MethodJudgement, RecordedProblem, faults, judge, prove_domain
from memkit.errors import NegativeAnswer, NotFound, UsageError
from memkit.runtime.htn.core import Domain, HtnError, Problem
from memkit.runtime.htn.language.data import method_to_data
from memkit.runtime.htn.language.domain import declared_effects
from memkit.store.change import change_files
from memkit.store.layout import checked_name
from memkit.store.yaml import load_yaml
from memkit.store.yaml_edit import edited


@dataclass(frozen=True)
class Promotion:
    """What a promotion did, or would do."""

    name: str
    """The method's name in the domain."""
    path: str
    judgements: tuple[MethodJudgement, ...]
    commit: str | None
    """None for a trial, and in a store that is no repository."""


def promote_lesson(
    root: Path, domain: str, name: str, *, new_name: str | None = None, unverified: bool = False, dry_run: bool = False
) -> Promotion:
    """Move a learned method into the domain's file, if the domain's recorded problems stay solved, as one commit.

    The problem that it was learned from goes to ``domains/problems/<domain>/``, where it is asked again at every
    later promotion, beside whatever problems people put there.

    Args:
        root: The store.
        domain: The domain, whose file lies in the store.
        name: The learned method.
        new_name: What it is called from now on; the same without it.
        unverified: Whether to take over a method of a task whose effects nobody declared.
        dry_run: Whether only to look.

    Raises:
        NotFound: There is no such domain in the store, or no such learned method.
        NegativeAnswer: The task declares no effects, or a recorded problem speaks against the method.
        UsageError: A file makes no sense, or the domain has a method of that name.
    """
    shelf = LearnedMethods.of_store(root, domain)
    path = f"{FOLDER}/{checked_name(domain, 'domain')}.yaml"
    in_hddl = path.removesuffix(".yaml") + ".hddl"
    if not (root / path).is_file() and (root / in_hddl).is_file():
        raise UsageError(
            f"{in_hddl} is HDDL, which takes no promotions. Turn it into {path} first: "
            f"memkit domain convert {in_hddl} {path}"
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
            raise Refused(f"{name} is not promoted. " + "; ".join(against), judgements)
        if dry_run:
            return Promotion(taken_over, path, judgements, None)
        files = {path: text, shelf.shown: shelf.without(name)}
        own = next((each.problem for each in recorded if each.own), None)
        if own is not None:
            files[f"{PROBLEMS}/{domain}/{taken_over}.yaml"] = _problem_text(own, domain, taken_over)
        commit = change_files(root, files, _message(domain, entry, taken_over))
        return Promotion(taken_over, path, judgements, commit)


class Refused(NegativeAnswer):
    """Say why a method was not promoted, with what each problem says."""

    code = "not_promoted"

    def __init__(self, message: str, judgements: tuple[MethodJudgement, ...]) -> None:
        super().__init__(message)
        self.judgements = judgements


def recorded_problems(root: Path, domain: Domain, shelf: LearnedMethods, name: str) -> Iterator[RecordedProblem]:
    """Yield the problems of a domain: those recorded with learned methods, and its files under ``domains/problems``."""
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
    """Yield what problem files expect, as ``memkit domain test`` reads them, and with the method get no longer."""
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
        raise UsageError(f"{shown}: the problem recorded with {entry['name']} does not fit: {error}") from None


def _require_verified(entry: Entry, domain: Domain, path: str, unverified: bool) -> None:
    method = read_method(entry)
    if unverified or declared_effects(domain, (method.head.name, *method.head.args)):
        return
    task = method.head.name
    raise NegativeAnswer(
        f"{path} does not declare what holds once {task} is done, so nobody can say that {entry['name']} does it. "
        f"Declare it ('tasks: {{{task}: {{parameters: …, effects: […]}}}}'), or add --unverified."
    )


def _with_method(root: Path, path: str, entry: Entry, name: str) -> str:
    method = method_to_data(read_method(entry))
    method.pop("learned")
    content = (root / path).read_bytes().decode("utf-8")

    def change(data: Any) -> None:
        if any(known.get("name") == name for known in data.get("methods") or ()):
            raise UsageError(f"{path} has a method {name} already. Give this one another name with --as NAME.")
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
