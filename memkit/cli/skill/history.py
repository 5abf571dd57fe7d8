"""``memkit skill history`` and ``diff``."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

import click

from memkit.cli.file_history import answer_trace
from memkit.cli.output import Front, MemkitCommand
from memkit.skills.skill import SKILL
from memkit.use_cases.compare_skill import Comparison, Side, compare_skill
from memkit.use_cases.trace_file import trace_file


@click.command("history", cls=MemkitCommand)
@click.argument("name")
@click.pass_obj
def history(front: Front, name: str) -> None:
    """Show the commits that changed the skill NAME, newest first."""
    answer_trace(front, name, trace_file(front.root, SKILL, name))


@click.command("diff", cls=MemkitCommand)
@click.argument("name")
@click.argument("span", metavar="[V1..V2]", required=False)
@click.pass_obj
def diff(front: Front, name: str, span: str | None) -> None:
    """Say what changed in the skill NAME, by meaning.

    V1 and V2 are versions of the skill, or branches, tags and ids of commits. Without V2 it is the work tree; without
    both, what is in no commit yet, or else the last change. "!" marks what needs a second look.
    """
    found = compare_skill(front.root, name, span)
    data = {
        "name": name,
        "from": _side(found.before),
        "to": _side(found.after),
        "changes": [asdict(change) for change in found.changes],
    }
    front.answer(data, _lines(found))


def _side(side: Side) -> dict[str, Any]:
    return {"name": side.name, "commit": side.commit, "version": side.version}


def _lines(found: Comparison) -> Iterator[str]:
    yield f"{found.name}: from {_named(found.before)} to {_named(found.after)}"
    yield from (f" {'!' if change.attention else ' '} {change.message}" for change in found.changes)
    if not found.changes:
        same = found.before.text == found.after.text
        yield "   no change" if same else "   no change of meaning: only comments, order or spelling of the YAML"


def _named(side: Side) -> str:
    return f"{side.name} ({side.version})" if side.version not in (None, side.name) else side.name
