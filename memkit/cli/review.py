"""``memkit review``: what a reviewer of a change should know, as text, Markdown or a page."""

from __future__ import annotations

from pathlib import Path

import click

from memkit.cli.output import FILE, Diagnostic, Front, diagnostic, memkit_command
from memkit.errors import UsageError
from memkit.review.interface import Difference, Review
from memkit.review.text import difference_data, difference_lines, markdown, page, review_data, review_lines
from memkit.store.files import write_whole
from memkit.store.layout import find_store

SHOWN = 40
"""The most changes of one skill, policy or user that are printed."""


@memkit_command("diff")
@click.argument("span", metavar="[A..B|A]", required=False)
@click.option("--limit", type=click.IntRange(min=1), metavar="N", help="Show N changes of each file or user.")
def diff(front: Front, span: str | None, limit: int | None) -> None:
    """Show by meaning what changed in skills, policies, domains, settings, tools and memory.

    A and B are branches, tags or ids of commits; A...B is what B changed since it branched from A, A alone compares
    with the work tree, and no argument shows what is not committed yet. "!" marks what needs a second look.
    """
    from memkit.use_cases.review import compare_commits

    found = compare_commits(find_store(front.store), span)
    data, lines = difference_data(found, limit) if front.json else None, difference_lines(found, limit or SHOWN)
    front.answer(data, lines, diagnostics=warnings(front, found), signs=True)


def warnings(front: Front, found: Difference) -> list[Diagnostic]:
    """Print what to know about the comparison, and return it as findings."""
    return [finding for note in found.notes for finding in front.remark(note.code, note.message)]


SHOWN_ON_PAGE = 200
"""The most changes of one skill, policy or user on the page."""


@memkit_command("review")
@click.argument("span", metavar="[A..B|A]", required=False)
@click.option("--markdown", "as_markdown", is_flag=True, help="Print Markdown for a comment on a pull request.")
@click.option("--html", type=FILE, metavar="FILE", help="Write one page to FILE.")
@click.option("--limit", type=click.IntRange(min=1), metavar="N", help="Show N changes of each file or user.")
def review(front: Front, span: str | None, as_markdown: bool, html: Path | None, limit: int | None) -> None:
    """Show what to look at first in a change: changed verdicts and lint findings, and everything by meaning.

    A..B, A...B and A are as in 'memkit diff'. Exit code 1 means stop: a call that a hard policy decided comes out
    weaker, the policies do not load, lines of the archive were taken out, edited or forged, or lint has new errors.
    """
    from memkit.use_cases.review import review_commits

    if as_markdown and front.json:
        raise UsageError("Give one of --markdown and --json.")
    found = review_commits(find_store(front.store), span)
    if html is not None:
        write_whole(html.expanduser().absolute(), page(found, limit or SHOWN_ON_PAGE).encode())
        if not front.json:
            front.note(f"The page is in {html}.")
    lines = markdown(found, limit or SHOWN) if as_markdown else review_lines(found, limit or SHOWN)
    diagnostics = [*warnings(front, found.difference), *_findings(found)]
    data, ok = review_data(found, limit) if front.json else None, found.assessment.level != "stop"
    front.answer(data, lines, ok=ok, diagnostics=diagnostics, signs=not as_markdown)


def _findings(found: Review) -> list[Diagnostic]:
    severities = {"stop": "error", "look": "warning"}
    return [
        diagnostic(reason.level, reason.message, severity=severities[reason.level])
        for reason in found.assessment.reasons
    ]
