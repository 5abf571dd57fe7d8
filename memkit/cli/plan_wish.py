"""What ``memkit plan`` takes where plans are carried out: ``--run``, ``--dry-run``, ``--resume``, and how."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import update_wrapper
from pathlib import Path
from typing import Any

import click

from memkit.cli.memory.options import user_option
from memkit.cli.output import Choice
from memkit.cli.pairs import read_pairs
from memkit.errors import UsageError


@dataclass(frozen=True)
class Wish:
    """What was asked for on the command line beyond a plan."""

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
        """Return whether more is wanted than a plan."""
        return self.run or self.dry_run or self.resume is not None

    def refuse_contradictions(self) -> None:
        """Raise ``UsageError`` where two of the ways are asked for at once."""
        if sum((self.run, self.dry_run, self.resume is not None)) > 1:
            raise UsageError("Give one of --run, --dry-run and --resume RUN.")
        if self.assume and self.resume is None:
            raise UsageError("--assume says what became of a step that was cut off: it goes with --resume RUN.")


def execution_options(command: Callable[..., None]) -> Callable[..., None]:
    """Add the options of carrying a plan out; the command gets them as ``wish``."""
    options = [
        click.option("--run", is_flag=True, help="Carry the plan out, step by step, under the policies of the store."),
        click.option("--dry-run", is_flag=True, help="Show steps, verdicts and changes of the state; run nothing."),
        click.option("--resume", metavar="RUN", help="Go on with a run; no step that was done is done again."),
        click.option("--max-replans", type=click.IntRange(min=0), default=5, help="Plan anew at most so often (5)."),
        click.option("--observe", metavar="TOOL", help="A tool of memkit.yaml that says what holds after each step."),
        click.option(
            "--manual", type=Choice(["ask", "done"]), default="ask", help="Steps without a tool: ask, or take as done."
        ),
        click.option(
            "--assume", type=Choice(["done", "failed"]), help="What became of the step in which the run was cut off."
        ),
        click.option(
            "--run-dir", type=click.Path(file_okay=False, path_type=Path), metavar="DIR", help="Where runs are kept."
        ),
        click.option(
            "--jsonl", is_flag=True, help="Print every event as a line of JSON, and the envelope as the last."
        ),
        click.option("--context", "pairs", multiple=True, metavar="K=V", help="A fact for the policies, set by you."),
        user_option,
    ]

    def gathered(
        *args: Any, run: bool, dry_run: bool, resume: str | None, max_replans: int, observe: str | None,
        run_dir: Path | None, assume: str | None, manual: str, jsonl: bool, pairs: tuple[str, ...], user: str | None,
        **more: Any,
    ) -> None:  # fmt: skip
        context = read_pairs(pairs, "--context")
        wish = Wish(run, dry_run, resume, max_replans, observe, run_dir, assume, manual, jsonl, user, context)
        wish.refuse_contradictions()
        command(*args, wish=wish, **more)

    wrapped: Callable[..., None] = update_wrapper(gathered, command)
    for option in reversed(options):
        wrapped = option(wrapped)
    return wrapped
