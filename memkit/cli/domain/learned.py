"""``memkit domain learned``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import click

from memkit.cli.output import Front, MemkitCommand
from memkit.terminal import counted
from memkit.use_cases.list_lessons import Listed, list_lessons


@click.command("learned", cls=MemkitCommand)
@click.argument("domain", required=False)
@click.pass_obj
def learned(front: Front, domain: str | None) -> None:
    """List the learned methods of DOMAIN, or of all: where each comes from, and what it would do."""
    found = list_lessons(front.root, domain)
    lines = [line for each in found for line in _lines(each)]
    front.answer({"domains": [dict(vars(each)) for each in found]}, lines or ["No learned methods."])


def _lines(listed: Listed) -> Iterator[str]:
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
    for condition in entry.get("preconditions") or ():
        yield f"    if {condition}"
    for number, subtask in enumerate(entry.get("subtasks") or (), 1):
        yield f"    {number}. {subtask}"
