"""``memkit diff``: what changed between two commits, or since one, by meaning."""

from __future__ import annotations

import click

from memkit.cli.output import Diagnostic, Front, MemkitCommand, diagnostic
from memkit.review.interface import Difference
from memkit.review.text import difference_data, difference_lines
from memkit.store.layout import find_store
from memkit.use_cases.compare_commits import compare_commits

SHOWN = 40
"""Changes of one skill, policy or user that a person is shown."""


@click.command("diff", cls=MemkitCommand)
@click.argument("span", metavar="[A..B|A]", required=False)
@click.option("--limit", type=click.IntRange(min=1), metavar="N", help="Show N changes of each file or user.")
@click.pass_obj
def diff(front: Front, span: str | None, limit: int | None) -> None:
    """Say by meaning what changed in skills, policies, domains, settings, tools and memory.

    A and B are branches, tags or ids of commits; A...B is what B did since it parted from A, A alone compares with the
    work tree, and nothing at all is what is in no commit yet. "!" marks what needs a second look.
    """
    found = compare_commits(find_store(front.store), span)
    front.answer(
        difference_data(found, limit), difference_lines(found, limit or SHOWN), diagnostics=warnings(front, found)
    )


def warnings(front: Front, found: Difference) -> list[Diagnostic]:
    """Say to the person what to know about the comparison, and return it as findings."""
    if not front.json:
        for note in found.notes:
            front.note(note.message)
    return [diagnostic(note.code, note.message, severity="warning") for note in found.notes]
