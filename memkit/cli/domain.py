"""``memkit domain``: domain files, what proves them, and what was learned for them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from memkit.cli.display import ListCell, ListRow
from memkit.cli.file_history import answer_commit, answer_rollback, bump_option, history_command, note_option
from memkit.cli.output import FILE, Diagnostic, Front, KnownName, diagnostic, memkit_command
from memkit.cli.store import store_if_any
from memkit.errors import UsageError
from memkit.runtime.host.terminal import counted, one_line, tainted

if TYPE_CHECKING:
    from memkit.domains.proofs import DomainProof, MethodJudgement, ProblemProof
    from memkit.drawing.interface import Form
    from memkit.runtime.htn.core import Domain, Method, Operator, When
    from memkit.store.yaml_edit import Part
    from memkit.use_cases.domains import ListedDomain
    from memkit.use_cases.lessons import Listed


@memkit_command("new")
@click.argument("name")
def new(front: Front, name: str) -> None:
    """Start the domain NAME from an example, with a first problem that tests it; neither is committed yet."""
    from memkit.use_cases.domains import draft_domain

    path, problem = draft_domain(front.root, name)
    told = [
        f"Wrote {path} and {problem}.",
        f"Edit them, then: memkit domain check {name}; memkit domain test {name}; memkit domain commit {name}",
    ]
    front.answer({"name": name, "path": str(path), "problem": str(problem)}, told)


@memkit_command("list")
def list_command(front: Front) -> None:
    """List the store's planning domains."""
    from memkit.use_cases.domains import list_domains

    found = list_domains(front.root)
    lines: list[str] = [_line(each) for each in found]
    lines = lines or ["No domains yet: domains/ is empty. 'memkit domain new' starts one."]
    front.answer({"domains": [_summary(each) for each in found]}, lines)


@memkit_command("show")
@click.argument("name", type=KnownName("domain"), metavar="FILE|NAME")
def show(front: Front, name: str) -> None:
    """Show a domain: its tasks with the methods that accomplish them, and its steps."""
    from memkit.use_cases.domains import show_domain

    found = show_domain(name, store_if_any(front))
    front.answer(_summary(found) | {"domain": found.domain.to_data()}, _lines(found))


def _summary(found: ListedDomain) -> dict[str, Any]:
    domain = found.domain
    return {
        "name": domain.name,
        "description": domain.description,
        "path": found.path,
        "tasks": list(_tasks(domain)),
        "methods": len(domain.methods),
        "operators": len(domain.operators),
        "problems": found.problems,
        "learned": found.learned,
        "version": found.version,
        "deprecated": bool(found.deprecated),
    }


def _line(found: ListedDomain) -> ListRow:
    domain = found.domain
    counted = f"{len(domain.methods)} methods, {len(domain.operators)} operators, {found.problems} problems"
    learned = f", {found.learned} learned" if found.learned else ""
    marks = f" {found.version}" if found.version else ""
    marks += " (deprecated)" if found.deprecated else ""
    about = one_line(domain.description, 90)
    return ListRow(
        ListCell(f"{domain.name}{marks}", "name"),
        ListCell(f"{counted}{learned}", "aside"),
        *([ListCell(about, exact=one_line(domain.description))] if about else []),
    )


def _tasks(domain: Domain) -> dict[str, list[Method]]:
    """Return the methods of each task; a task that is only declared has none."""
    found: dict[str, list[Method]] = {}
    for method in domain.methods:
        found.setdefault(method.task, []).append(method)
    return found | {name: [] for name in domain.tasks if name not in found}


def _lines(found: ListedDomain) -> Iterator[str]:
    from memkit.runtime.htn.language.data import head_text

    domain = found.domain
    yield f"{domain.name} ({found.path})" + (f": {domain.description}" if domain.description else "")
    for name, methods in _tasks(domain).items():
        declared = domain.tasks.get(name)
        yield f"task {head_text(methods[0].head) if methods else _declared(domain, name)}"
        if declared and declared.effects:
            yield f"  ends with {_listed(declared.effects)}"
        for method in methods:
            yield from _method_lines(method)
        if not methods:
            yield "  no method does it"
    for operator in domain.operators:
        yield from _operator_lines(operator)


def _declared(domain: Domain, name: str) -> str:
    from memkit.runtime.htn.language.terms import parameters_text

    return f"{name} {parameters_text(domain.tasks[name].parameters)}".rstrip()


def _method_lines(method: Method) -> Iterator[str]:
    from memkit.runtime.htn.core import term_text

    yield f"  {method.name}" + (f", if {_listed(method.preconditions)}" if method.preconditions else "")
    steps = [term_text(step) for step in method.steps]
    if method.ordering is not None:
        pairs = [f"{steps[one]} before {steps[other]}" for one, other in method.ordering]
        yield f"    in any order{' with ' if pairs else ''}{', '.join(pairs)}: {', '.join(steps)}"
        return
    yield from (f"    {number}. {step}" for number, step in enumerate(steps, 1))
    if not steps:
        yield "    nothing is left to do"


def _operator_lines(operator: Operator) -> Iterator[str]:
    from memkit.runtime.htn.core import When, term_text

    tool = f", by the tool {operator.tool}" if operator.tool else ""
    yield f"step {term_text((operator.name,))} {_parameters(operator)}".rstrip() + tool
    if operator.preconditions:
        yield f"  if {_listed(operator.preconditions)}"
    if operator.effects_add:
        yield f"  then {_listed(map(term_text, operator.effects_add))}"
    if operator.effects_remove:
        yield f"  no longer {_listed(map(term_text, operator.effects_remove))}"
    for effect in operator.effects_more:
        yield f"  {_effect_text(effect) if isinstance(effect, When) else effect}"


def _parameters(operator: Operator) -> str:
    from memkit.runtime.htn.language.terms import ROOT_TYPE, parameters_text

    untyped = all(parameter.type == ROOT_TYPE for parameter in operator.parameters)
    return " ".join(each.name for each in operator.parameters) if untyped else parameters_text(operator.parameters)


def _effect_text(effect: When) -> str:
    from memkit.runtime.htn.core import term_text
    from memkit.runtime.htn.language.terms import parameters_text

    parts: Sequence[tuple[str, Iterable[object]]] = (
        ("then", map(term_text, effect.add)),
        ("no longer", map(term_text, effect.remove)),
        ("and", effect.changes),
    )
    happens = "; ".join(f"{word} {said}" for word, items in parts if (said := _listed(items)))
    every = f"for all {parameters_text(effect.parameters)}: " if effect.parameters else ""
    return f"{every}when {effect.condition}: {happens}"


def _listed(items: Iterable[object]) -> str:
    return ", ".join(str(item) for item in items)


@memkit_command("check")
@click.argument("name", type=KnownName("domain"), metavar="[FILE|NAME]", required=False)
def check(front: Front, name: str | None) -> None:
    """Check a domain, its problems and what was learned for it, or all of the store, with lint's rules (MKD)."""
    from memkit.cli.lint import finding_diagnostic
    from memkit.lint.reports import text_report
    from memkit.use_cases.domains import check_domain

    report = check_domain(name, root=store_if_any(front))
    found = [finding_diagnostic(finding, report) for finding in report.findings]
    data: dict[str, Any] = {
        "files": [report.shown(path) for path in report.files],
        "findings": [{**each, "column": finding.column} for each, finding in zip(found, report.findings, strict=True)],
    }
    front.answer(data, text_report(report), ok=not found, diagnostics=found)


@memkit_command("commit")
@click.argument("name", type=KnownName("domain"))
@bump_option
@note_option
def commit(front: Front, name: str, bump: Part | None, note: str | None) -> None:
    """Commit your changes to the domain NAME and its problems, if the problems pass; the message says what changed."""
    from memkit.use_cases.domains import commit_domain

    root = front.root
    answer_commit(front, root, commit_domain(root, name, bump=bump, note=note))


history = history_command("domain")


@memkit_command("rollback")
@click.argument("name", type=KnownName("domain"))
@click.argument("version")
def rollback(front: Front, name: str, version: str) -> None:
    """Restore the domain NAME as of VERSION (or a commit), as a new commit, if its problems pass."""
    from memkit.domains.files import DOMAIN
    from memkit.store.file_history import roll_back
    from memkit.use_cases.domains import accept_domain

    root = front.root
    answer_rollback(front, root, roll_back(root, DOMAIN, name, version, accept=partial(accept_domain, root)))


_DRAWING = click.Path(dir_okay=False, path_type=Path, allow_dash=True)


@memkit_command("convert")
@click.argument("source", metavar="FILE|NAME")
@click.argument("target", type=FILE)
@click.option(
    "--domain", type=KnownName("domain"), metavar="FILE|NAME", help="Convert a file with a problem of this domain."
)
@click.option("--force", is_flag=True, help="Replace TARGET if it exists.")
def convert(front: Front, source: str, target: Path, domain: str | None, force: bool) -> None:
    """Write a domain to TARGET, in HDDL if its name ends in .hddl, else in YAML; nothing is lost."""
    from memkit.use_cases.convert_domain import convert_domain

    notes = convert_domain(source, target, domain=domain, root=store_if_any(front), force=force)
    for note in notes:
        front.note(note)
    front.answer({"target": str(target), "notes": notes}, f"Written: {target}")


@memkit_command("graph")
@click.argument("name", type=KnownName("domain"), metavar="FILE|NAME")
@click.option("--svg", type=_DRAWING, metavar="FILE", help="Draw it as SVG.")
@click.option("--dot", type=_DRAWING, metavar="FILE", help="Draw it in Graphviz' DOT language.")
@click.option("--mermaid", type=_DRAWING, metavar="FILE", help="Draw it in Mermaid's language, for Markdown pages.")
def graph(front: Front, name: str, svg: Path | None, dot: Path | None, mermaid: Path | None) -> None:
    """Draw the task network of a domain: its tasks, the methods that accomplish them, and their parts."""
    from memkit.use_cases.domains import draw_domain

    asked: dict[Form, Path | None] = {"svg": svg, "dot": dot, "mermaid": mermaid}
    files = {form: path for form, path in asked.items() if path is not None}
    if not files:
        raise UsageError("Nothing to draw. Name a file, or - to print it: --svg FILE, --dot FILE or --mermaid FILE.")
    printed = [form for form, path in files.items() if str(path) == "-"]
    if len(printed) > 1 or (printed and front.json):
        raise UsageError("Only one drawing can be printed, and none with --json. Name a file for the others.")
    drawings = draw_domain(name, files, root=store_if_any(front))
    rows = [
        {"form": form, "path": str(files[form]), "shown": drawing.shown, "nodes": drawing.nodes}
        for form, drawing in drawings.items()
    ]
    told = [
        f"Drew {files[form]}. {drawing.folded}".rstrip() for form, drawing in drawings.items() if form not in printed
    ]
    for line in told if printed else ():
        front.note(line)
    lines = drawings[printed[0]].text.rstrip("\n").split("\n") if printed else told
    front.answer({"name": name, "drawings": rows}, lines)


@memkit_command("test")
@click.argument("names", type=KnownName("domain"), nargs=-1)
@click.option("--require-coverage", is_flag=True, help="Also fail if no problem uses a method or an operator.")
@click.option("--timeout", type=click.FloatRange(min=0), default=15.0, help="Seconds for each problem (15).")
def test(front: Front, names: tuple[str, ...], require_coverage: bool, timeout: float) -> None:
    """Solve the problems recorded for the domains (or those NAMED), and say what no problem uses.

    They are in domains/problems/NAME/. Every plan is verified by code independent of the search. Learned methods take
    no part until they are promoted.
    """
    from memkit.use_cases.domains import prove_domains

    proofs = prove_domains(front.root, names, seconds=timeout)
    gaps = [finding for proof in proofs for finding in _gaps(proof, strict=require_coverage)]
    failed = [finding for proof in proofs for finding in _failures(proof)]
    ok = not failed and not (require_coverage and gaps)
    front.answer(_data(proofs), _proof_lines(proofs), ok=ok, diagnostics=[*failed, *gaps])


def _data(proofs: Sequence[DomainProof]) -> dict[str, Any]:
    passed = [each.passed for proof in proofs for each in proof.problems]
    return {
        "passed": sum(passed),
        "failed": len(passed) - sum(passed),
        "domains": [
            {
                "name": proof.domain.name,
                "path": proof.path,
                "problems": [_problem_data(each) for each in proof.problems],
                "coverage": {kind: _counts(used) for kind, used in proof.coverage().items()},
            }
            for proof in proofs
        ],
    }


def _problem_data(problem: ProblemProof) -> dict[str, Any]:
    return {
        "name": problem.name,
        "path": problem.path,
        "ok": problem.passed,
        "expected": problem.expected,
        "outcome": problem.outcome,
        "plan": None if problem.plan is None else [step.to_data() for step in problem.plan],
        "faults": list(problem.faults),
    }


def _counts(used: Mapping[str, bool]) -> dict[str, Any]:
    return {"total": len(used), "used": sum(used.values()), "unused": _unused(used)}


def _unused(used: Mapping[str, bool]) -> list[str]:
    return [name for name, is_used in used.items() if not is_used]


def _proof_lines(proofs: Sequence[DomainProof]) -> Iterator[str]:
    from memkit.domains.files import PROBLEMS

    if not proofs:
        yield "No domains yet: domains/ is empty. 'memkit domain new' starts one."
    for proof in proofs:
        if not proof.problems:
            yield f"{proof.domain.name}: no problems yet; put them in {PROBLEMS}/{proof.domain.name}/"
            continue
        passed = sum(each.passed for each in proof.problems)
        coverage = proof.coverage()
        used = ", ".join(f"{sum(used.values())} of {len(used)} {kind}" for kind, used in coverage.items())
        yield f"{proof.domain.name}: {passed} of {len(proof.problems)} problems pass; used: {used}"
        for each in proof.problems:
            yield f"  {'ok  ' if each.passed else 'FAIL'} {each.name}: {_outcome(each)}"
            yield from (f"       {one_line(fault)}" for fault in each.faults)
        for kind, found in coverage.items():
            if unused := _unused(found):
                yield f"  no problem uses the {kind} {', '.join(unused)}"


def _outcome(problem: ProblemProof) -> str:
    if problem.plan is None:
        return problem.outcome.replace("_", " ")
    return counted(len(problem.plan), "step")


def _failures(proof: DomainProof) -> Iterator[Diagnostic]:
    for problem in proof.problems:
        for fault in problem.faults:
            yield diagnostic("domain-test", f"{problem.name}: {fault}", path=problem.path, line=problem.line)


def _gaps(proof: DomainProof, *, strict: bool) -> Iterator[Diagnostic]:
    for kind, used in proof.coverage().items():
        for name in _unused(used):
            message = f"No problem uses the {kind[:-1]} {name}."
            yield diagnostic("domain-coverage", message, severity="error" if strict else "note", path=proof.path)


@memkit_command("learned")
@click.argument("domain", type=KnownName("domain"), required=False)
def learned(front: Front, domain: str | None) -> None:
    """List the learned methods of DOMAIN, or of all: where each comes from, and what it would do."""
    from memkit.use_cases.lessons import list_lessons

    found = list_lessons(front.root, domain)
    lines = [line for each in found for line in _listed_lines(each)]
    front.answer({"domains": [dict(vars(each)) for each in found]}, lines or ["No learned methods."])


def _listed_lines(listed: Listed) -> Iterator[str]:
    yield f"{listed.domain} ({listed.path})"
    for entry in listed.methods:
        yield from _entry_lines(entry)
    for entry in listed.rejected:
        yield f"  rejected: {entry['name']}: {entry.get('reason', '')}"
    for reason in listed.left_out:
        yield f"  not used: {reason}"
    for task, count in listed.refused.items():
        yield f"  refused here: {counted(count, 'proposal')} for '{task}'"


def _entry_lines(entry: Mapping[str, Any]) -> Iterator[str]:
    source = entry.get("provenance") or {}
    asked = " ".join(filter(None, [source.get("provider"), source.get("model")])) or "unknown"
    yield f"  {entry['name']}: {entry.get('task')}"
    yield f"    from {asked}, {source.get('at', 'no date')}, goal {source.get('goal', 'not verified')}"
    if source.get("taint"):
        yield f"    not used before its promotion: {tainted(tuple(map(str, source['taint'])))}"
    for condition in entry.get("preconditions") or ():
        yield f"    if {condition}"
    for number, subtask in enumerate(entry.get("subtasks") or (), 1):
        yield f"    {number}. {subtask}"


@memkit_command("promote")
@click.argument("domain", type=KnownName("domain"))
@click.argument("method")
@click.option("--as", "new_name", metavar="NAME", help="The method's new name.")
@click.option("--unverified", is_flag=True, help="Also if nothing is declared to hold once the task is done.")
@click.option("--dry-run", is_flag=True, help="Only report the results of the recorded problems.")
def promote(front: Front, domain: str, method: str, new_name: str | None, unverified: bool, dry_run: bool) -> None:
    """Move METHOD into DOMAIN's own file, if every recorded problem of the domain is solved as before."""
    from memkit.use_cases.lessons import NotPromoted, promote_lesson

    root = front.root
    try:
        made = promote_lesson(root, domain, method, new_name=new_name, unverified=unverified, dry_run=dry_run)
    except NotPromoted as refused:
        found = [diagnostic(refused.code, str(refused))]
        lines = [*_judgement_lines(refused.judgements), str(refused)]
        front.answer(_promotion_data(new_name or method, refused.judgements), lines, ok=False, diagnostics=found)
        return
    data = _promotion_data(made.name, made.judgements) | {"path": made.path, "commit": made.commit}
    done = "Could be promoted" if dry_run else "Promoted"
    commit = f", commit {made.commit[:12]}" if made.commit else ""
    front.answer(data, [*_judgement_lines(made.judgements), f"{done}: {made.name} in {made.path}{commit}."])


def _promotion_data(name: str, judgements: Sequence[MethodJudgement]) -> dict[str, Any]:
    return {"name": name, "path": None, "commit": None, "problems": [each.to_data() for each in judgements]}


def _judgement_lines(judgements: Sequence[MethodJudgement]) -> list[str]:
    return [f"{each.name}: {_side(each.before, each.steps_before)} → {_side(each.after, each.steps_after)}"
            for each in judgements]  # fmt: skip


def _side(outcome: str, steps: int | None) -> str:
    return outcome if steps is None else counted(steps, "step")


@memkit_command("reject")
@click.argument("domain", type=KnownName("domain"))
@click.argument("method")
@click.option("--reason", required=True, help="Why; reported to a model that proposes the same again.")
def reject(front: Front, domain: str, method: str, reason: str) -> None:
    """Discard METHOD: it is no longer used, and the same proposal is refused from now on."""
    from memkit.use_cases.lessons import reject_lesson

    commit = reject_lesson(front.root, domain, method, reason)
    said = f", commit {commit[:12]}" if commit else ""
    front.answer({"name": method, "reason": reason, "commit": commit}, f"Rejected: {method}{said}.")
