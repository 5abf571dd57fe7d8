"""``memkit evolve``: search for a better program, resume a run, and inspect runs."""

from __future__ import annotations

import shutil
import signal
import sys
import threading
import time
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from types import FrameType
from typing import Any, ClassVar, Self, TextIO

import click
from click.core import ParameterSource

from memkit.cli.display import ListCell, ListRow, Meaning
from memkit.cli.first_words import FirstWordsCommand
from memkit.cli.output import (
    FILE,
    FOLDER,
    PLACE,
    POSITIVE,
    Diagnostic,
    Front,
    diagnostic,
    memkit_command,
    suggestion,
    with_trust,
)
from memkit.cli.store import store_if_any
from memkit.errors import UsageError
from memkit.evolution.account import SHORT, EvolutionAccount, Status, status_of
from memkit.evolution.carrying import INTERRUPTED, Audience, Evolved, Progress
from memkit.evolution.files import LineageStep
from memkit.evolution.folder import LATEST
from memkit.runtime.host.terminal import counted, is_able_terminal, one_line, shell_word
from memkit.sandbox import RUNTIMES
from memkit.store.files import write_whole
from memkit.use_cases.evolution import (
    EvolutionRequest,
    evolve_program,
    read_evolution,
    report_evolution,
    resume_evolution,
)

RUN_OPTION_HINT = f"its name, its folder, or '{LATEST}'"
_REASONS = 10
_run = click.argument("run", default=LATEST)


@memkit_command("status")
@_run
def status(front: Front, run: str) -> None:
    """Show the state of RUN (the latest, unless named)."""
    account = read_evolution(run, root=store_if_any(front))
    found = status_of(account)
    front.answer(
        {**vars(found), "spent": account.spent}, _status_lines(found, account.spent), diagnostics=_notes(account)
    )


@memkit_command("best")
@_run
@click.option("--out", type=FILE, help="Also write the program there.")
def best(front: Front, run: str, out: Path | None) -> None:
    """Print the best program of RUN (the latest, unless named)."""
    account = read_evolution(run, root=store_if_any(front))
    id = account.best
    judged, text = account.known[id], account.text(id)
    if out is not None:
        write_whole(out, text.encode("utf-8", "surrogatepass"))
    data = {"id": id, "program": text, "score": judged.score, "metrics": dict(judged.metrics), "out": out and str(out)}
    front.answer(data, _printed(text), diagnostics=_notes(account))


@memkit_command("diff")
@_run
@click.argument("before", default="seed")
@click.argument("after", default="best")
def diff(front: Front, run: str, before: str, after: str) -> None:
    """Show what changed in RUN from the seed to the best program, or from program BEFORE to program AFTER."""
    account = read_evolution(run, root=store_if_any(front))
    first, second = account.find(before), account.find(after)
    lines = account.diff(first.id, second.id)
    data = {"before": first.id, "after": second.id, "diff": "".join(f"{line}\n" for line in lines)}
    front.answer(data, lines or "No difference: it is the same program.", diagnostics=_notes(account))


@memkit_command("lineage")
@_run
@click.argument("id", default="best")
def lineage(front: Front, run: str, id: str) -> None:
    """Show the ancestry of the best program of RUN, or of program ID."""
    account = read_evolution(run, root=store_if_any(front))
    program = account.find(id).id
    steps = account.ancestry(program)
    front.answer(
        {"id": program, "ancestors": [_step(each) for each in steps]}, _table(steps), diagnostics=_notes(account)
    )


@memkit_command("report")
@_run
@click.option("--out", type=FILE, help="Where to write it (default: report.html in the run's folder).")
def report(front: Front, run: str, out: Path | None) -> None:
    """Write RUN (the latest, unless named) as one self-contained HTML page."""
    path = report_evolution(run, out, root=store_if_any(front))
    front.answer({"out": str(path)}, f"Wrote {path}.")


def _notes(account: EvolutionAccount) -> list[Diagnostic]:
    return [diagnostic("run", note, severity="warning") for note in account.notes]


def _status_lines(found: Status, spent: Mapping[str, float]) -> list[str]:
    lines = [f"{found.run}: {found.state}" + (f" ({found.stopped})" if found.stopped else "")]
    judged = counted(found.evaluations, "program")
    lines.append(f"generation {found.generation} of {found.generations}, {judged} judged")
    if found.rate:
        lines[-1] += f", {found.rate:g} in a second"
    if found.best is not None:
        lines.append(f"best score {found.best['score']:.10g}: program {found.best['id'][:SHORT]}")
    else:
        lines.append("no program has a score that counts yet")
    lines.append(f"confined by {found.sandbox}")
    lines += [
        f"model {each['name']}: asked {counted(each['asked'], 'time')}, {each['better']} better than what they change"
        for each in found.models
    ]
    if found.models:
        cost = f", cost {spent['cost']:g}" if "cost" in spent else ""
        lines.append(f"models used {spent['tokens']:,.0f} tokens{cost}")
    reasons = list(found.failures.items())
    lines += [f"{number} without a score: {reason}" for reason, number in reasons[:_REASONS]]
    lines += [f"… {len(reasons) - _REASONS} more reasons"] if len(reasons) > _REASONS else []
    return [*lines, *found.notes]


def _step(step: LineageStep) -> dict[str, Any]:
    judged = step.judged
    return {
        "id": judged.id,
        "parents": list(judged.parents),
        "operation": judged.operation,
        "generation": judged.generation,
        "island": judged.island,
        "score": judged.score,
        "change": step.change,
    }


def _table(steps: list[LineageStep]) -> list[ListRow]:
    rows = [("generation", "program", "operation", "score", "change")]
    for step in steps:
        judged = step.judged
        score = "-" if judged.score is None else f"{judged.score:.6g}"
        change = "" if step.change is None else f"{step.change:+.3g}"
        rows.append((str(judged.generation), judged.id[:SHORT], judged.operation, score, change))
    widths = [max(len(row[column]) for row in rows) for column in range(5)]
    meanings: tuple[Meaning, ...] = ("number", "id", "aside", "number", "number")
    return [
        ListRow(
            *(ListCell(text, meaning, text) for text, meaning in zip(row, meanings, strict=True)),
            plain="  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip(),
        )
        for row in rows
    ]


_CHANGEABLE = ("generations", "workers", "executor", "target", "patience", "price")
"""Settings that may differ when a stopped run is resumed, because existing results do not depend on them."""
_SETTINGS = (
    *_CHANGEABLE, "population", "seed", "islands", "minimize", "timeout", "memory", "modules", "scratch", "unsafe",
    "container", "providers", "model",
)  # fmt: skip
_AT_RESUME = {"resume", *_CHANGEABLE, "max_tokens", "max_cost", "accept_changes"}
_COMMON = {"as_json", "json", "store", "no_input", "debug"}
_SHOWN = 40
"""The most lines of a program that are printed."""


class EvolveCommand(FirstWordsCommand):
    """``evolve`` with its subcommands for inspecting runs."""

    words: ClassVar = {
        "status": ("memkit.cli.evolve:status", "How a run stands: generation, best, failures by reason."),
        "best": ("memkit.cli.evolve:best", "The best program of a run."),
        "diff": ("memkit.cli.evolve:diff", "What changed from the seed to the best, or between two programs."),
        "lineage": ("memkit.cli.evolve:lineage", "The ancestors of the best, and what each step brought."),
        "report": ("memkit.cli.evolve:report", "One HTML page that needs nothing else."),
    }


class Price(click.ParamType[tuple[float, float]]):
    """The cost of a million tokens, read and written."""

    name = "IN,OUT"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[float, float]:
        """Return the two prices."""
        try:
            read, written = (float(each) for each in str(value).split(","))
        except ValueError:
            self.fail(f"{value!r} is not two prices, such as 3,15.", param, ctx)
        if not (0 <= read < float("inf") and 0 <= written < float("inf")):
            self.fail("A price is 0 or more.", param, ctx)
        return read, written


@memkit_command("evolve", cls=EvolveCommand)
@click.argument("program", required=False, type=PLACE, metavar="[PROGRAM|TASK_FOLDER]")
@click.option("--evaluator", type=FILE, help="File with evaluate(path); evaluator.py in a task folder.")
@click.option("--generations", type=click.IntRange(1, 1_000_000), help="Generations of the whole run (50).")
@click.option("--population", type=click.IntRange(2, 100_000), help="Programs evaluated per generation (30).")
@click.option("--seed", type=click.IntRange(0, 2**63 - 1), help="Seed of the random numbers (0).")
@click.option("--minimize/--maximize", default=False, help="Whether a lower score is better (higher is).")
@click.option("--target", type=float, help="Stop as soon as the score is this good.")
@click.option(
    "--patience", type=click.IntRange(1), metavar="N", help="Stop after N generations without a better program."
)
@click.option("--islands", type=click.IntRange(1, 1000), help="Populations that evolve apart (by size, up to 4).")
@click.option("--workers", type=click.IntRange(1, 256), help="Programs judged in parallel (1); same result.")
@click.option("--executor", metavar="dask://HOST:PORT", help="Judge on the workers of this scheduler; same result.")
@click.option("--timeout", type=POSITIVE, help="Seconds for one evaluation (10).")
@click.option("--memory", type=click.IntRange(16, 1 << 20), metavar="MB", help="Memory for one program (512).")
@click.option(
    "--grant-module",
    "modules",
    multiple=True,
    metavar="NAME",
    help="Installed module that programs may import, such as numpy.",
)
@click.option("--scratch", metavar="NAME", help="Give each program an empty folder to write in.")
@click.option("--unsafe", is_flag=True, help="Run programs unconfined, with your rights. The run says so.")
@click.option(
    "--container",
    type=click.Choice(["auto", *RUNTIMES]),
    help="Also put programs in a container, started by this runtime.",
)
@click.option(
    "--provider", "providers", multiple=True, metavar="P", help="Model that proposes changes, such as scripted:FILE."
)
@click.option("--model", help="Name of the model, for providers that serve several.")
@click.option(
    "--max-tokens", type=click.IntRange(1), metavar="N", help="Stop once models have read and written N tokens."
)
@click.option("--max-cost", type=POSITIVE, metavar="X", help="Stop once models have cost this much; needs --price.")
@click.option("--price", type=Price(), help="Cost of a million tokens, read and written.")
@click.option(
    "--out",
    type=FOLDER,
    metavar="DIR",
    help="The run's folder (default: evolve/ in this clone's state, else memkit-runs/).",
)
@click.option("--resume", metavar="RUN", help=f"Continue a run: {RUN_OPTION_HINT}.")
@click.option("--accept-changes", is_flag=True, help="Resume although program or evaluator changed.")
def evolve(front: Front, /, program: Path | None, resume: str | None, **given: Any) -> None:
    """Evolve PROGRAM in a sandbox, judged by its evaluator alone.

    A TASK_FOLDER holds initial_program.py and evaluator.py. A run survives being stopped at any moment: Ctrl-C ends it
    after the generation, and 'memkit evolve --resume RUN' continues as if nothing had happened.
    """
    context, root = click.get_current_context(), store_if_any(front)
    progress = GenerationProgress(front, sys.stderr)
    with Stopping(front) as stopping, progress:
        audience = Audience(progress, stopping)
        if resume is not None:
            _require_fitting(context, program)
            changes = {name: given[name] for name in _CHANGEABLE if _is_given(context, name)}
            evolving = partial(
                resume_evolution,
                resume,
                {**changes, "budget": _budget(given)},
                accept_changes=given["accept_changes"],
                root=root,
                audience=audience,
            )
        else:
            evolving = partial(evolve_program, _request(context, program, given), root=root, audience=audience)
        found = with_trust(front, evolving)
    for note in found.notes:
        front.note(note)
    interrupted = found.stopped == INTERRUPTED
    if interrupted:
        front.note(f"Interrupted. Continue with: memkit evolve --resume {shell_word(str(found.run))}")
    front.answer(
        found.to_data(),
        _lines(found),
        ok=found.scored and not interrupted,
        diagnostics=_diagnostics(found),
        code=130 if interrupted else None,
    )


def _request(context: click.Context, program: Path | None, given: dict[str, Any]) -> EvolutionRequest:
    if program is None:
        raise UsageError("Name a PROGRAM with --evaluator FILE, or a TASK_FOLDER that contains both.")
    if not program.exists():
        raise UsageError(
            f"There is no program or task folder {program}.{suggestion(str(program), EvolveCommand.words)}"
        )
    if given["accept_changes"]:
        raise UsageError("--accept-changes is for --resume RUN.")
    settings = {name: given[name] for name in _SETTINGS if _is_given(context, name)}
    settings["budget"] = _budget(given)
    return EvolutionRequest(program, given["evaluator"], settings, given["out"], _command_line(context))


def _budget(given: dict[str, Any]) -> dict[str, float]:
    """Return the limits on models' use."""
    named = {"tokens": given["max_tokens"], "cost": given["max_cost"]}
    return {name: float(value) for name, value in named.items() if value is not None}


def _is_given(context: click.Context, name: str) -> bool:
    return context.get_parameter_source(name) is ParameterSource.COMMANDLINE


def _require_fitting(context: click.Context, program: Path | None) -> None:
    """Raise if an option contradicts how the run began."""
    if program is not None:
        raise UsageError(f"--resume continues with the program of the run; leave {program} out.")
    for parameter in context.command.params:
        name = str(parameter.name)
        if _is_given(context, name) and name not in _AT_RESUME | _COMMON:
            raise UsageError(f"A run keeps its original options: {parameter.opts[0]} cannot be used with --resume.")


def _command_line(context: click.Context) -> tuple[str, ...]:
    """Return the command line in canonical form: the given options, in the order of the help."""
    words = ["memkit", "evolve"]
    for parameter in context.command.params:
        value = context.params.get(str(parameter.name))
        if parameter.name in _COMMON or not _is_given(context, str(parameter.name)) or value is None:
            continue
        if isinstance(parameter, click.Argument):
            words.append(str(value))
        elif isinstance(parameter, click.Option) and parameter.is_flag:
            words.append((parameter.opts if value else parameter.secondary_opts)[0])
        elif parameter.multiple:
            words += [word for each in value for word in (parameter.opts[0], str(each))]
        else:
            words += [parameter.opts[0], ",".join(map(str, value)) if isinstance(value, tuple) else str(value)]
    return tuple(words)


def _printed(program: str) -> str:
    """Return a program as it is printed: line ends of Windows would be escapes, and what is copied no program."""
    return program.replace("\r\n", "\n").rstrip("\n")


def _lines(found: Evolved) -> list[str]:
    done = f"{counted(found.generations, 'generation')}, {counted(found.evaluations, 'program')} judged"
    if not found.scored:
        reasons = [f"- {reason} ({number})" for reason, number in list(found.failures.items())[:5]]
        return [f"No program has a score that counts: {done} ({found.stopped}).", *reasons, *_hint(found)]
    text = _printed(found.program).split("\n")
    whole = f"… {len(text) - _SHOWN} more lines: memkit evolve best {shell_word(str(found.run))}"
    more = [whole] if len(text) > _SHOWN else []
    return [
        f"Best score {found.score:.10g} after {done} ({found.stopped}).",
        *text[:_SHOWN],
        *more,
        *_hint(found),
    ]


def _hint(found: Evolved) -> list[str]:
    """Return where the run is stored, after advice if it ended for lack of scores."""
    why = "Stopped early, because nothing has scored for a while: is the evaluator broken, or --timeout too short?"
    return [*([why] if found.stopped == "unscored" else []), f"Run: {found.run}"]


def _diagnostics(found: Evolved) -> list[Diagnostic]:
    notes = [diagnostic("run", note, severity="warning") for note in found.notes]
    if found.scored:
        return notes
    return [*notes, *(diagnostic("no-score", f"{reason} ({number})") for reason, number in found.failures.items())]


# Display of long work: the progress of an evolution run, and Ctrl-C that stops at a good moment.


_EVERY = 5.0
"""Seconds between two lines while the best program stays the same."""
_BAR = 24


class GenerationProgress:
    """Displays each generation; as a context manager, it leaves the terminal clean."""

    def __init__(self, front: Front, stream: TextIO) -> None:
        self._front, self._stream = front, stream
        self._is_terminal = is_able_terminal(stream)
        self._last = time.monotonic()
        self._is_drawn = False

    def __call__(self, progress: Progress) -> None:
        """Display the state of the run."""
        if self._is_terminal:
            width = shutil.get_terminal_size().columns
            self._stream.write(f"\r\x1b[K{one_line(f'{_bar(progress)} {_words(progress)}', width - 1)}")
            self._stream.flush()
            self._is_drawn = True
            return
        now = time.monotonic()
        if progress.improved or now - self._last >= _EVERY:
            self._last = now
            self._front.note(_words(progress))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_exception: object) -> None:
        if self._is_drawn:
            self._stream.write("\r\x1b[K")
            self._stream.flush()


def _bar(progress: Progress) -> str:
    done = round(_BAR * min(1.0, progress.generation / progress.generations))
    return f"[{'#' * done}{'.' * (_BAR - done)}]"


def _words(progress: Progress) -> str:
    best = "nothing scored yet" if progress.best is None else f"best {progress.best:.6g}"
    rate = f", {progress.evaluations / progress.seconds:.0f}/s" if progress.seconds else ""
    spent = "".join(f", {value:g} {name}" for name, value in progress.spent.items() if value)
    done = f"generation {progress.generation} of {progress.generations}"
    return f"{done}: {best}, {progress.evaluations} judged{rate}{spent}"


# Ctrl-C during work that stops at a good moment: the first requests a stop, the second ends at once.

_SIGNALS = (signal.SIGINT, signal.SIGTERM)


class Stopping:
    """Returns, when called, whether a stop was requested; handles the signals for the duration of a block."""

    def __init__(self, front: Front) -> None:
        self._front = front
        self._asked = False
        self._before: dict[signal.Signals, object] = {}

    def __call__(self) -> bool:
        """Return whether to stop."""
        return self._asked

    def _take(self, _number: int, _frame: FrameType | None) -> None:
        if self._asked:
            raise KeyboardInterrupt
        self._asked = True
        self._front.note("Stopping after this generation; Ctrl-C again stops at once and repeats it on resume.")

    def __enter__(self) -> Self:
        if threading.current_thread() is threading.main_thread():
            self._before = {number: signal.signal(number, self._take) for number in _SIGNALS}
        return self

    def __exit__(self, *_exception: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)  # type: ignore[arg-type]
