"""``memkit update``: bring a generated project to the installed templates."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from memkit.cli.output import Front, MemkitCommand, diagnostic
from memkit.errors import UsageError
from memkit.terminal import shell_word

if TYPE_CHECKING:
    from memkit.generate.update.merging import FileAction
    from memkit.use_cases.update_project import Update


@click.command("update", cls=MemkitCommand)
@click.argument("folder", required=False, metavar="[DIR]", type=click.Path(path_type=Path))
@click.option("--dry-run", is_flag=True, help="Say what would be done, and touch nothing.")
@click.option("--check", is_flag=True, help="Like --dry-run, and exit 1 when there is an update.")
@click.option("--undo", is_flag=True, help="Take back the last update.")
@click.pass_obj
def update(front: Front, folder: Path | None, dry_run: bool, check: bool, undo: bool) -> None:
    """Bring the generated project in DIR (default: the nearest one) to the installed templates; your edits stay.

    With --store, skills, policies, domains and settings come from that store as it is now; without it they stay as they
    were rendered. Files that you and the template both changed are merged; what cannot be is marked, and the exit code
    is 1.
    """
    if dry_run + check + undo > 1:
        raise UsageError("--dry-run, --check and --undo exclude each other.")
    if undo:
        _undo(front, folder)
    from memkit.use_cases.update_project import update_project

    done = update_project(folder, store=front.store, write=not (dry_run or check))
    if done.taken_back is not None:
        front.note("An update that was cut off was taken back first.")
        for path in done.taken_back:
            front.note(
                f"{path} was edited since then and stayed as it is; updates/ in the project's state has what was there "
                "before."
            )
    data = {
        "from": done.before,
        "to": done.after,
        "files": [_file(action) for action in done.actions],
        "conflicts": [action.path for action in done.conflicts],
    }
    diagnostics = [diagnostic("conflict", f"{each.path}: {each.reason}.", path=each.path) for each in done.conflicts]
    ok = not done.conflicts and not (check and done.due)
    front.answer(data, list(_lines(done)), ok=ok, diagnostics=diagnostics)


def _undo(front: Front, folder: Path | None) -> None:
    from memkit.use_cases.undo_update import undo_update

    done = undo_update(folder)
    after, before = done.journal.versions
    steps = done.journal.steps
    files = [{"path": step.path, "action": "delete" if step.before is None else "restore"} for step in steps]
    data = {"from": before, "to": after, "files": files, "conflicts": []}
    front.answer(data, f"The last update of {done.project} was taken back ({len(steps)} files).")


def _file(action: FileAction) -> dict[str, Any]:
    data = {"path": action.path, "action": action.action}
    return data if action.before is None else data | {"from": action.before}


def _lines(done: Update) -> Iterator[str]:
    if not done.due:
        yield f"{done.project} is up to date (template {done.after})."
        return
    yield f"{done.project}: template {done.before} → {done.after}"
    for action in done.actions:
        moved = f"{action.before} → {action.path}" if action.before else action.path
        yield f"  {action.action:<9} {moved}" + (f"  ({action.reason})" if action.reason else "")
    if done.saved is None:
        yield "Nothing was written."
        return
    if done.conflicts:
        aside = done.saved / "theirs"
        unmarked = f" What could not be marked in a file lies in {aside}." if aside.is_dir() else ""
        yield f"Conflicts: {len(done.conflicts)}.{unmarked}"
    yield f"Take it back: memkit update {shell_word(str(done.project))} --undo"
