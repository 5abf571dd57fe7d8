"""Generated projects: ``memkit gen``, ``update`` and ``targets``."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from memkit import __version__
from memkit.cli.output import PLACE, Front, KnownName, SuggestingChoice, diagnostic, memkit_command, with_trust
from memkit.errors import UsageError
from memkit.runtime.host.terminal import shell_word

if TYPE_CHECKING:
    from memkit.generate.targets import Target
    from memkit.generate.update.merging import FileAction
    from memkit.use_cases.update_project import Update


_SKILLS = ("virtual-memory", "hybrid-planner")
_KEY = re.compile(r"[a-z_][a-z0-9_]*")


@memkit_command("gen")
@click.argument("skill", required=False, type=SuggestingChoice(_SKILLS), metavar="[virtual-memory|hybrid-planner]")
@click.option(
    "--target",
    type=KnownName("target"),
    required=True,
    metavar="T",
    help="The SDK to render for; 'memkit targets' lists them.",
)
@click.option("--out", type=PLACE, metavar="DIR", help="A new or empty folder (default: outputs/T of the store).")
@click.option(
    "--data", "data", multiple=True, metavar="K=V", help="Answer a question of the template, such as model=NAME."
)
def gen(front: Front, skill: str | None, target: str, out: Path | None, data: tuple[str, ...]) -> None:
    """Render the agent into a project that you own; unless a skill is named, all that the target supports are wired."""
    from memkit.use_cases.generate_project import generate_project

    answers = dict(_pair(text) for text in data)
    made = generate_project(front.store, target, skill=skill, out=out, answers=answers)
    if made.repository is not None:
        front.note(
            f"The project is inside the git repository {made.repository} and becomes part of it once you add it."
        )
    for note in made.notes:
        front.note(f"note: {note}")
    lines = [
        f"Rendered {made.target} into {made.out} ({len(made.files)} files).",
        "Next:",
        f"  cd {shell_word(str(made.out))}",
        "  pip install -r requirements.txt && pytest",
        "  cp .env.example .env   # then set the key, the server and the model",
        "  python -m agent --user ada",
    ]
    findings = [diagnostic("target", note, severity="warning") for note in made.notes]
    if made.ignored:
        findings.append(diagnostic("ignored", _swallowed(made.ignored), path=str(made.out)))
        lines[:0] = [_swallowed(made.ignored)]
    data_shown = {"target": made.target, "out": str(made.out), "files": list(made.files)}
    front.answer(data_shown, lines, ok=not made.ignored, diagnostics=findings)


def _swallowed(files: Sequence[str]) -> str:
    """Return the warning about files that the next clone would lack."""
    return (
        f"A .gitignore above ignores {', '.join(files)}, without which a clone does not run. Remove the pattern, or "
        "add the project with 'git add --force'."
    )


def _pair(text: str) -> tuple[str, str]:
    key, separator, value = text.partition("=")
    if not separator or not _KEY.fullmatch(key):
        raise UsageError(f"--data {text!r} is not KEY=VALUE.")
    return key, value


@memkit_command("update")
@click.argument("folder", required=False, metavar="[DIR]", type=PLACE)
@click.option("--dry-run", is_flag=True, help="Say what would be done, and change nothing.")
@click.option("--check", is_flag=True, help="Like --dry-run, and exit 1 if anything is outdated.")
@click.option("--undo", is_flag=True, help="Undo the last update.")
def update(front: Front, folder: Path | None, dry_run: bool, check: bool, undo: bool) -> None:
    """Update the generated project in DIR (default: the nearest one) to this memkit and to its store; edits stay.

    Templates and runtime come from this memkit; skills, policies, domains and settings from the store that the project
    was rendered from, or --store. Files that you and the template both changed are merged; conflicts are marked,
    and the exit code is 1.
    """
    if dry_run + check + undo > 1:
        raise UsageError("--dry-run, --check and --undo exclude each other.")
    if undo:
        _undo(front, folder)
    from memkit.use_cases.update_project import update_project

    updating = partial(update_project, folder, store=front.store, write=not (dry_run or check))
    done = with_trust(front, updating)
    if done.taken_back is not None:
        front.note("An interrupted update was undone first.")
        for path in done.taken_back:
            front.note(
                f"{path} was edited since and was left unchanged; updates/ in the project's state has the earlier "
                "version."
            )
    data = {
        "from": done.before,
        "to": done.after,
        "files": [_file(action) for action in done.actions],
        "conflicts": [action.path for action in done.conflicts],
        "behind": list(done.behind),
    }
    diagnostics = [diagnostic("conflict", f"{each.path}: {each.reason}.", path=each.path) for each in done.conflicts]
    if done.missing_store:
        diagnostics.append(diagnostic("store", done.missing_store, severity="warning"))
        front.note(done.missing_store)
    ok = not done.conflicts and not (check and (done.due or done.missing_store))
    front.answer(data, list(_lines(done)), ok=ok, diagnostics=diagnostics)


def _undo(front: Front, folder: Path | None) -> None:
    from memkit.use_cases.update_project import undo_update

    project, journal = undo_update(folder)
    after, before = journal.versions
    steps = journal.steps
    files = [{"path": step.path, "action": "delete" if step.before is None else "restore"} for step in steps]
    data = {"from": before, "to": after, "files": files, "conflicts": []}
    front.answer(data, f"The last update of {project} was undone ({len(steps)} files).")


def _file(action: FileAction) -> dict[str, Any]:
    data = {"path": action.path, "action": action.action}
    return data if action.before is None else data | {"from": action.before}


def _lines(done: Update) -> Iterator[str]:
    if not done.due:
        known = "has the installed templates and runtime" if done.missing_store else "is up to date"
        yield f"{done.project} {known} (templates {done.after})."
        return
    yield f"{done.project}: templates {done.before} → {done.after}"
    for words in done.behind:
        yield f"  behind: {words}"
    for action in done.actions:
        moved = f"{action.before} → {action.path}" if action.before else action.path
        yield f"  {action.action:<9} {moved}" + (f"  ({action.reason})" if action.reason else "")
    if done.saved is None:
        yield "Nothing was written."
        return
    if done.conflicts:
        aside = done.saved / "theirs"
        unmarked = f" What could not be marked in a file is in {aside}." if aside.is_dir() else ""
        yield f"Conflicts: {len(done.conflicts)}.{unmarked}"
    yield f"Undo: memkit update {shell_word(str(done.project))} --undo"


OWN = "memkit-agent"


@memkit_command("targets")
def targets(front: Front) -> None:
    """List the targets of gen, where each comes from and what it needs. No store is needed."""
    from memkit.use_cases.generate_project import list_targets

    found, problems = list_targets()
    for problem in problems if not front.json else ():
        front.note(f"memkit: {problem.message}")
    diagnostics = [diagnostic("plugin", problem.message, severity="warning") for problem in problems]
    lines = [line for target in found for line in _target_lines(target)]
    front.answer({"targets": [_data(target) for target in found]}, lines, diagnostics=diagnostics)


def _data(target: Target) -> dict[str, Any]:
    return {
        "name": target.name,
        "title": target.title,
        "description": target.description,
        "from": dict(zip(("distribution", "version"), _origin(target), strict=True)),
        "requires": list(target.requires),
        "environment": [{"name": each.name, "about": each.about} for each in target.environment],
        "wires": list(target.wires),
        "skills": list(target.skills),
        "data": {key: question.get("help", "") for key, question in target.questions.items()},
    }


def _target_lines(target: Target) -> list[str]:
    return [
        f"{target.name}: {target.title}",
        f"  {target.description}",
        f"  from:        {' '.join(_origin(target))}",
        f"  packages:    {', '.join(target.requires) or 'none'}",
        f"  environment: {', '.join(variable.name for variable in target.environment)}",
        f"  wires:       {', '.join(target.wires)}",
        f"  skills:      {', '.join(target.skills)}",
        f"  data:        {', '.join(target.questions)}",
    ]


def _origin(target: Target) -> tuple[str, str]:
    """Return name and version of the distribution that provides a target."""
    return (OWN, __version__) if target.origin is None else (target.origin.distribution, target.origin.version)


@memkit_command("eject")
@click.argument("folder", required=False, metavar="[DIR]", type=PLACE)
def eject(front: Front, folder: Path | None) -> None:
    """Put the runtime's sources into the generated project in DIR (default: the nearest one), instead of its wheel.

    They are imported by the same names, are yours to change, and updates leave them alone from then on. To undo it:
    memkit update --undo.
    """
    from memkit.use_cases.update_project import eject_runtime

    done = eject_runtime(folder)
    data = {"project": str(done.project), "runtime": done.version, "files": list(done.files)}
    front.answer(
        data, f"{done.project / 'memkit_runtime'} now contains the runtime {done.version}, and is yours to change."
    )
