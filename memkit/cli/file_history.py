"""Shared by the commands that follow skills, policies and domains in git: their options and their output."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from memkit.cli.output import Diagnostic, Front, KnownName, SuggestingChoice, memkit_command
from memkit.runtime.host.terminal import one_line

if TYPE_CHECKING:
    from memkit.review.interface import SubjectChange
    from memkit.store.file_history import RolledBack
    from memkit.use_cases.files import Committed, Trace

NO_HOOKS = (
    "Committed without git's hooks ({}), because this store is not trusted as it is now: 'memkit trust' lets them run."
)
SHALLOW = "This clone is shallow: history before its oldest commit is missing. 'git fetch --unshallow' gets it."

bump_option = click.option(
    "--bump",
    type=SuggestingChoice(["major", "minor", "patch"]),
    help="Increment this part of the version (default: minor).",
)
note_option = click.option("-m", "--note", metavar="TEXT", help="The commit message (default: what changed).")


def history_command(noun: str) -> click.Command:
    """Return the command that shows the commits of a ``skill``, a ``policy`` or a ``domain``."""

    @memkit_command("history", help=f"Show the commits that changed the {noun} NAME, newest first.")
    @click.argument("name", type=KnownName(noun))
    def history(front: Front, name: str) -> None:
        from memkit.use_cases.files import WRITTEN, trace_file

        answer_trace(front, name, trace_file(front.root, WRITTEN[noun], name))

    return history


def answer_trace(front: Front, name: str, trace: Trace) -> None:
    """Print the commits that touched a file, newest first."""
    from memkit.cli.display import ListCell, ListRow

    rows = [
        {key: value for key, value in asdict(revision).items() if key != "text"}  # git can show the file itself
        for revision in trace.revisions
    ]
    lines = [
        ListRow(
            ListCell(each.commit[:10], "id", each.commit[:10]),
            ListCell(each.at[:10], "time", each.at),
            ListCell(each.version or "-", "name"),
            ListCell(one_line(each.subject, 80)),
            plain=f"{each.commit[:10]}  {each.at[:10]}  {each.version or '-':8} {one_line(each.subject, 80)}",
        )
        for each in trace.revisions
    ]
    findings = front.remark("shallow", SHALLOW) if trace.is_shallow else []
    front.answer({"name": name, "history": rows}, lines, diagnostics=findings)


def answer_rollback(front: Front, root: Path, done: RolledBack) -> None:
    """Print the result of a rollback."""
    said = f"as commit {done.commit[:10]}" if done.commit else "already, so nothing was committed"
    findings = commit_findings(front, root) if done.commit else []
    front.answer(asdict(done), f"{done.name} is at {done.version or done.source[:10]} {said}.", diagnostics=findings)


def answer_commit(front: Front, root: Path, done: Committed) -> None:
    """Print what was committed of a file, by meaning."""
    what = f"is commit {done.commit[:10]}" if done.commit else "has nothing to commit"
    lines = [" ".join(filter(None, (done.name, done.version, what)))]
    lines += [f" {'!' if change.attention else ' '} {change.message}" for change in done.changes]
    findings = commit_findings(front, root) if done.commit else []
    front.answer(asdict(done) | {"changes": change_rows(done.changes)}, lines, diagnostics=findings, signs=True)


def change_rows(changes: Iterable[SubjectChange]) -> list[dict[str, Any]]:
    """Return the changes in a file as data."""
    return [{key: value for key, value in asdict(change).items() if key != "id"} for change in changes]


def commit_findings(front: Front, root: Path) -> list[Diagnostic]:
    """Print what a person should know about a commit just made, and return it as findings."""
    from memkit.store.git import DETACHED, Git, hooks_of
    from memkit.store.trust import Trust

    git = Git(root)
    findings = []
    if git.head_branch() is None and git.is_repository():
        findings += front.remark("detached", DETACHED)
    if (left_out := hooks_of(git)) and not Trust(root).holds():
        findings += front.remark("hooks_not_run", NO_HOOKS.format(", ".join(left_out)))
    return findings
