"""Options and output of ``memkit plan``: drawings, obstacles to a plan, and execution."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, fields
from functools import update_wrapper
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

import click

from memkit.cli.output import FILE, FOLDER, Diagnostic, Front, SuggestingChoice, diagnostic, read_pairs, user_option
from memkit.drawing.interface import Form
from memkit.errors import UsageError
from memkit.runtime.htn.core import Reason, Result

if TYPE_CHECKING:
    from memkit.use_cases.plans import Planned

# The options and messages for drawing plans: ``--svg``, ``--dot``, ``--mermaid``.

Drawings = dict[Form, Path]
"""The requested files, by form."""

_HELP: Mapping[Form, str] = {
    "svg": "Draw the decomposition tree as SVG.",
    "dot": "Draw it in Graphviz' DOT language.",
    "mermaid": "Draw it in Mermaid's language, for Markdown pages.",
}


def drawing_options(command: Callable[..., None]) -> Callable[..., None]:
    """Add the options for drawing a plan; the command receives them as ``drawings``."""

    def with_drawings(*args: Any, **options: Any) -> None:
        files = {form: options.pop(form) for form in get_args(Form)}
        command(*args, **options, drawings={form: file for form, file in files.items() if file is not None})

    given: Callable[..., None] = update_wrapper(with_drawings, command)
    for form in reversed(get_args(Form)):
        given = click.option(f"--{form}", type=FILE, metavar="FILE", help=_HELP[form])(given)
    return given


def draw(front: Front, drawings: Drawings, result: Result, title: str) -> None:
    """Write the requested drawings, and report what they leave out."""
    if not drawings:
        return
    if not result.found:
        front.note("Nothing was drawn, because there is no plan.")
        return
    from memkit.use_cases.plans import draw_plan

    for form, file in drawings.items():
        drawing = draw_plan(result, title, form, file)
        front.note(f"Drew {file}." + (f" {drawing.folded}" if drawing.folded else ""))


# Output of ``memkit plan`` about a plan, or the obstacles to one, and the additions of ``--explain``.


def explanation_data(planned: Planned) -> list[dict[str, Any]]:
    """Return how far each method came, or for each node of the tree which methods were passed over, and why."""
    if planned.obstacles is not None:
        return [obstacle.to_data() for obstacle in planned.obstacles]
    passed_over = (planned.passed_over or {}).items()
    return [{"id": id, "passed_over": [each.to_data() for each in found]} for id, found in passed_over if found]


def reason_findings(reasons: Iterable[Reason]) -> list[Diagnostic]:
    """Return the reasons of a negative answer as diagnostics."""
    return [diagnostic(reason.code, str(reason)) for reason in reasons]


# The options for carrying plans out: ``--run``, ``--dry-run``, ``--resume``, and how.


@dataclass(frozen=True)
class Wish:
    """The command line's requests beyond a plan."""

    run: bool
    dry_run: bool
    resume: str | None
    max_replans: int
    observe: str | None
    run_dir: Path | None
    assume: str | None
    manual: str
    jsonl: bool
    user: str | None
    context: Mapping[str, Any]

    @property
    def executes(self) -> bool:
        """Return whether more is requested than a plan."""
        return self.run or self.dry_run or self.resume is not None

    def refuse_contradictions(self) -> None:
        """Raise ``UsageError`` if two exclusive requests are made at once."""
        if sum((self.run, self.dry_run, self.resume is not None)) > 1:
            raise UsageError("Give one of --run, --dry-run and --resume RUN.")
        if self.assume and self.resume is None:
            raise UsageError("--assume says how an interrupted step ended: it requires --resume RUN.")


def execution_options(command: Callable[..., None]) -> Callable[..., None]:
    """Add the options for carrying a plan out; the command receives them as ``wish``."""
    options = [
        click.option("--run", is_flag=True, help="Carry the plan out, step by step, under the policies of the store."),
        click.option("--dry-run", is_flag=True, help="Show steps, verdicts and changes of the state; run nothing."),
        click.option("--resume", metavar="RUN", help="Continue a run; completed steps are not repeated."),
        click.option("--max-replans", type=click.IntRange(min=0), default=5, help="Replan at most this often (5)."),
        click.option("--observe", metavar="TOOL", help="A tool of memkit.yaml that reports the facts after each step."),
        click.option(
            "--manual",
            type=SuggestingChoice(["ask", "done"]),
            default="ask",
            help="Steps without a tool: ask, or assume done.",
        ),
        click.option(
            "--assume",
            type=SuggestingChoice(["done", "failed"]),
            help="The outcome of the step at which the run was cut off.",
        ),
        click.option("--run-dir", type=FOLDER, metavar="DIR", help="The folder of runs."),
        click.option(
            "--jsonl", is_flag=True, help="Print every event as a line of JSON, and the envelope as the last."
        ),
        click.option("--context", "pairs", multiple=True, metavar="K=V", help="A fact for the policies, set by you."),
        user_option,
    ]

    def gathered(*args: Any, pairs: tuple[str, ...], **given: Any) -> None:
        asked = {one.name: given.pop(one.name) for one in fields(Wish) if one.name != "context"}
        wish = Wish(**asked, context=read_pairs(pairs, "--context"))
        wish.refuse_contradictions()
        command(*args, wish=wish, **given)

    wrapped: Callable[..., None] = update_wrapper(gathered, command)
    for option in reversed(options):
        wrapped = option(wrapped)
    return wrapped
