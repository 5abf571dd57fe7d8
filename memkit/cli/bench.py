"""``memkit bench`` and ``memkit eval``: measure memkit on your own data, and ask your own memory."""

from __future__ import annotations

import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

from memkit.cli.output import (
    FILE,
    PLACE,
    READABLE_FILE,
    Front,
    MemkitGroup,
    SuggestingChoice,
    User,
    diagnostic,
    memkit_command,
)
from memkit.runtime.host.terminal import is_able_terminal, one_line

MODES = (
    "rank_bm25", "words", "stop-words", "stems", "dates", "neighbours", "speaker", "captions", "sessions", "default",
    "records", "vectors", "hybrid", "records-hybrid",
)  # fmt: skip
"""The benchmark's search modes, repeated here so that help and completion import nothing."""
MOST = 10_000


class Sizes(click.ParamType[tuple[int, ...]]):
    """Numbers separated by commas."""

    name = "K,K"

    def convert(
        self, value: str | tuple[int, ...], param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[int, ...]:
        """Return the numbers; anything else is bad usage."""
        if isinstance(value, tuple):
            return value
        sizes = [int(part) if part.strip().isdecimal() else 0 for part in value.split(",")]
        if not all(0 < size <= MOST for size in sizes):
            self.fail(f"{value!r} is not a list of numbers from 1 to {MOST:,}, such as 5,10.", param, ctx)
        return tuple(sizes)


@click.group("bench", cls=MemkitGroup)
def bench() -> None:
    """Measure memkit on your own data."""


@bench.command("retrieval")
@click.argument("file", type=READABLE_FILE)
@click.option("--mode", "modes", type=SuggestingChoice(MODES), multiple=True, help="Only this mode; may be repeated.")
@click.option("--k", "ks", type=Sizes(), default=(5, 10), show_default="5,10", help="How many results count as found.")
@click.option("--vectors", "model", type=PLACE, metavar="FOLDER", help="Also by this local model.")
def retrieval(front: Front, file: Path, modes: tuple[str, ...], ks: tuple[int, ...], model: Path | None) -> None:
    """Report recall@k and MRR of each search mode on FILE: LoCoMo, LongMemEval, or JSON lines of your own."""
    from memkit.use_cases.bench_retrieval import bench_retrieval

    def show(number: int) -> None:
        click.echo(f"\r{number} dialogues", nl=False, err=True)

    watched = is_able_terminal(sys.stderr) and not front.json
    result = bench_retrieval(file, modes=modes, ks=ks, model=model, progress=show if watched else None)
    if watched:
        click.echo(err=True)
    measured = result.measured
    rows: list[dict[str, Any]] = [
        {
            "mode": row.mode, "granularity": row.granularity, "type": row.kind, "questions": row.questions,
            "recall": {str(k): round(share, 4) for k, share in row.recall.items()}, "mrr": round(row.mrr, 4),
        }
        for row in measured.rows
    ]  # fmt: skip
    data = {
        "file": str(file), "format": result.format, "sha256": result.sha256, "dialogues": measured.dialogues,
        "questions": measured.questions, "skipped": measured.skipped, "k": sorted(set(ks)),
        "candidates": measured.candidates, "rows": rows,
    }  # fmt: skip
    findings = [diagnostic("few_candidates", warning, severity="warning") for warning in result.warnings]
    front.answer(data, [*_lines(data), *(f"warning: {warning}" for warning in result.warnings)], diagnostics=findings)


def _lines(data: dict[str, Any]) -> list[str]:
    pools = ", ".join(f"{count} {granularity}s" for granularity, count in data["candidates"].items())
    lines = [
        f"{data['file']} ({data['format']}, sha256 {data['sha256']})",
        f"{data['dialogues']} dialogues, {data['questions']} questions, {data['skipped']} without evidence skipped; "
        f"candidates per question: {pools}",
        "",
        f"{'by':<9}{'mode':<12}{'type':<28}{'questions':>9}"
        + "".join(f"{f'R@{k}':>8}" for k in data["k"])
        + f"{'MRR':>8}",
    ]
    for row in data["rows"]:
        figures = [*row["recall"].values(), row["mrr"]]
        lines.append(
            f"{row['granularity']:<9}{row['mode']:<12}{row['type']:<28}{row['questions']:>9}"
            + "".join(f"{figure:>8.3f}" for figure in figures)
        )
    return lines


@memkit_command("eval")
@click.argument("file", type=READABLE_FILE)
@click.option("-k", "count", type=click.IntRange(1, 1000), default=5, show_default=True, help="Results that count.")
@click.option("--user", type=User(), help="Whose memory a line searches that names no user.")
@click.option("--course", type=FILE, help="Append the score here and show its history.")
def evaluate(front: Front, file: Path, count: int, user: str | None, course: Path | None) -> None:
    """Ask memory the questions of FILE and say which of the expected records it finds; exit 1 if any is missing.

    FILE has one JSON object per line, {"question": …, "user": …, "expect": [id or words of a record]}; an empty
    expectation means that nothing relevant should be found. It does not count as a recall.
    """
    from memkit.use_cases.health import evaluate_memory, note_evaluation, read_questions, score_of

    cases = evaluate_memory(front.workspace, read_questions(file, user), count=count)
    score, found = score_of(cases), sum(case.found for case in cases)
    lines: list[str] = []
    for case in cases:
        verdict = "found" if case.found else "NOT empty" if case.unexpected else "NOT found"
        lines.append(f"{verdict:<9}  {case.rank or '-':>4}  {one_line(case.question, 100)}")
        lines += [
            f"           found {one_line(id)} although nothing should be: {one_line(text, 100)}"
            for id, text in case.unexpected
        ]
    lines += ["", f"{found} of {len(cases)} found among the first {count}; score {score:.3f}"]
    data = {"cases": [case.to_data() for case in cases], "score": score}
    if course is not None:
        runs = note_evaluation(course, cases, front.workspace.clock())
        data["course"] = [asdict(one) for one in runs]
        lines += ["", *(f"{one.at}  {one.found:>6} of {one.of:<6}  {one.score:.3f}" for one in runs[-20:])]
    front.answer(data, lines, ok=found == len(cases))
