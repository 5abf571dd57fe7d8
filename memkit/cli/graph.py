"""``memkit graph``: the people and things in memory, and their relations."""

from __future__ import annotations

import click

from memkit.cli.output import Date, Front, MemkitGroup, User, words_argument
from memkit.errors import UsageError
from memkit.use_cases.relations import GraphQuestion, look_at_relations, relation_drawing, relation_lines

user_option = click.option("--user", type=User(), help="Whose memory (default: the store's user, else everybody's).")
as_of_option = click.option("--as-of", type=Date(), metavar="DATE", help="What was true on this date.")
svg_option = click.option("--svg", is_flag=True, help="Print it as an SVG drawing.")
mermaid_option = click.option("--mermaid", is_flag=True, help="Print it in Mermaid's language, for Markdown pages.")


@click.group("graph", cls=MemkitGroup)
def graph() -> None:
    """Show how the people and things in memory are related."""


@graph.command("show")
@user_option
@as_of_option
@svg_option
@mermaid_option
def show(front: Front, user: str | None, as_of: str | None, svg: bool, mermaid: bool) -> None:
    """Show every relation in memory: between whom, of which kind, from when to when, and in which record."""
    _answer(front, user, GraphQuestion(as_of=as_of), svg=svg, mermaid=mermaid)


@graph.command("around")
@words_argument("name")
@click.option("--steps", type=click.IntRange(1, 2), default=1, show_default=True, help="How far away.")
@user_option
@as_of_option
@svg_option
@mermaid_option
def around(front: Front, name: str, steps: int, user: str | None, as_of: str | None, svg: bool, mermaid: bool) -> None:
    """Show what is related to NAME, such as Anna or "my sister"."""
    _answer(front, user, GraphQuestion(around=name, steps=steps, as_of=as_of), svg=svg, mermaid=mermaid)


@graph.command("path")
@click.argument("start", metavar="NAME")
@click.argument("goal", metavar="NAME")
@user_option
@as_of_option
@svg_option
@mermaid_option
def path(front: Front, start: str, goal: str, user: str | None, as_of: str | None, svg: bool, mermaid: bool) -> None:
    """Show the shortest path from one NAME to another."""
    _answer(front, user, GraphQuestion(between=(start, goal), as_of=as_of), svg=svg, mermaid=mermaid)


def _answer(front: Front, user: str | None, question: GraphQuestion, *, svg: bool, mermaid: bool) -> None:
    if svg and mermaid:
        raise UsageError("Only one drawing can be printed: give --svg or --mermaid.")
    if (svg or mermaid) and front.json:
        raise UsageError("A drawing cannot be printed with --json: leave out one of them.")
    found = look_at_relations(front.workspace, front.workspace.user_if_named(user), question)
    if not found.nodes:
        nothing = "No path leads from one to the other." if question.between else "No record contains a relation."
        front.answer(found.to_data(), nothing, ok=False)
    if svg or mermaid:
        from memkit.drawing.interface import draw

        drawing = draw(relation_drawing(found, question.title), "svg" if svg else "mermaid")
        if drawing.folded:
            front.note(drawing.folded)
        front.answer(found.to_data(), drawing.text.rstrip("\n"))
        return
    front.answer(found.to_data(), relation_lines(found))
