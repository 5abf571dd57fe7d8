"""``memkit evolve status | best | diff | lineage | report``: look at a run, also while it is at work."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from memkit.cli.output import Diagnostic, Front, MemkitCommand, diagnostic
from memkit.cli.store import store_if_any
from memkit.evolution.runs.account import SHORT, Account
from memkit.evolution.runs.folder import LATEST
from memkit.evolution.runs.lineage import Step
from memkit.evolution.runs.status import Status, status_of
from memkit.store.files import write_whole
from memkit.terminal import counted
from memkit.use_cases.evolution import read_evolution, report_evolution

RUN_OPTION_HINT = f"its name, its folder, or '{LATEST}'"
_FILE = click.Path(dir_okay=False, path_type=Path)
_REASONS = 10
_run = click.argument("run", default=LATEST)


@click.command("status", cls=MemkitCommand)
@_run
@click.pass_obj
def status(front: Front, run: str) -> None:
    """Say how RUN stands (the latest, unless named)."""
    account = read_evolution(run, root=store_if_any(front))
    found = status_of(account)
    front.answer(
        {**vars(found), "spent": account.spent}, _status_lines(found, account.spent), diagnostics=_notes(account)
    )


@click.command("best", cls=MemkitCommand)
@_run
@click.option("--out", type=_FILE, help="Write the program there as well.")
@click.pass_obj
def best(front: Front, run: str, out: Path | None) -> None:
    """Print the best program of RUN (the latest, unless named)."""
    account = read_evolution(run, root=store_if_any(front))
    id = account.best
    judged, text = account.known[id], account.text(id)
    if out is not None:
        write_whole(out, text.encode("utf-8", "surrogatepass"))
    data = {"id": id, "program": text, "score": judged.score, "metrics": dict(judged.metrics), "out": out and str(out)}
    front.answer(data, text.rstrip("\n"), diagnostics=_notes(account))


@click.command("diff", cls=MemkitCommand)
@_run
@click.argument("before", default="seed")
@click.argument("after", default="best")
@click.pass_obj
def diff(front: Front, run: str, before: str, after: str) -> None:
    """Show what changed in RUN from the seed to the best program, or from program BEFORE to program AFTER."""
    account = read_evolution(run, root=store_if_any(front))
    first, second = account.find(before), account.find(after)
    lines = account.diff(first.id, second.id)
    data = {"before": first.id, "after": second.id, "diff": "".join(f"{line}\n" for line in lines)}
    front.answer(data, lines or "No difference: it is the same program.", diagnostics=_notes(account))


@click.command("lineage", cls=MemkitCommand)
@_run
@click.argument("id", default="best")
@click.pass_obj
def lineage(front: Front, run: str, id: str) -> None:
    """Show where the best program of RUN, or program ID, comes from."""
    account = read_evolution(run, root=store_if_any(front))
    program = account.find(id).id
    steps = account.ancestry(program)
    front.answer(
        {"id": program, "ancestors": [_step(each) for each in steps]}, _table(steps), diagnostics=_notes(account)
    )


@click.command("report", cls=MemkitCommand)
@_run
@click.option("--out", type=_FILE, help="Where to write it (default: report.html in the run's folder).")
@click.pass_obj
def report(front: Front, run: str, out: Path | None) -> None:
    """Write RUN (the latest, unless named) as one HTML page that needs nothing else."""
    path = report_evolution(run, out, root=store_if_any(front))
    front.answer({"out": str(path)}, f"Wrote {path}.")


def _notes(account: Account) -> list[Diagnostic]:
    return [diagnostic("run", note, severity="warning") for note in account.notes]


def _status_lines(found: Status, spent: Mapping[str, float]) -> list[str]:
    lines = [f"{found.run}: {found.state}" + (f" ({found.stopped})" if found.stopped else "")]
    lines.append(f"generation {found.generation} of {found.generations}, {found.evaluations} programs judged")
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


def _step(step: Step) -> dict[str, Any]:
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


def _table(steps: list[Step]) -> list[str]:
    rows = [("generation", "program", "operation", "score", "change")]
    for step in steps:
        judged = step.judged
        score = "-" if judged.score is None else f"{judged.score:.6g}"
        change = "" if step.change is None else f"{step.change:+.3g}"
        rows.append((str(judged.generation), judged.id[:SHORT], judged.operation, score, change))
    widths = [max(len(row[column]) for row in rows) for column in range(5)]
    return ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
