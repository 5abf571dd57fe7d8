"""Runs made by hand, with everything that a page and a lineage can show."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from memkit.evolution.files import JudgedProgram
from memkit.evolution.folder import RunFolder
from memkit.evolution.record import Checkpoint, EvolutionSettings, RunRecord

HOSTILE = "x = '</pre><script>document.title=\"owned\"</script><img src=x onerror=alert(1)>'  # \x1b[31m \u202e"


def line(
    id: str, generation: int, score: float | None, *parents: str, operation: str = "", reason: str = ""
) -> JudgedProgram:
    """Return a line of a journal; what has no parents is a seed."""
    kind = operation or ("mutate" if parents else "seed")
    return JudgedProgram(id, parents, kind, 0, generation, score, reason, {"combined_score": score or 0.0})


FAMILY = (
    line("aaaa0001", 1, 1.0),
    line("aaaa0002", 1, None, "aaaa0001", reason="time: no answer within 10 s"),
    line("aaaa0003", 2, 2.0, "aaaa0001"),
    line("aaaa0004", 2, 1.5, "aaaa0001", operation="model:<b>clever</b>"),
    line("aaaa0005", 3, None, "aaaa0003", reason="<script>alert(1)</script>"),
    line("aaaa0006", 4, 4.5, "aaaa0003", "aaaa0004", operation="cross"),
)


def make_run(
    path: Path, judged: Sequence[JudgedProgram] = FAMILY, texts: Mapping[str, str] | None = None, **settings: object
) -> RunFolder:
    """Write a run that has ended, and return its folder."""
    folder = RunFolder(path)
    record = RunRecord(
        path.name, "2026-01-02T03:04:05Z", ("memkit", "evolve", "<i>toy</i>.py"), "/", "/toy.py", "/evaluator.py", None,
        {"program.py": "0" * 64}, EvolutionSettings(generations=4, **settings), {"memkit": "1"}, "landlock, seccomp",
    )  # fmt: skip
    folder.begin(record, {"program.py": b"x = 1\n"})
    known = {each.id: (texts or {}).get(each.id, f"# the same\nx = '{each.id}'\n") for each in judged}
    for generation in sorted({each.generation for each in judged}):
        folder.texts.write(generation, {each.id: known[each.id] for each in judged if each.generation == generation})
    size = folder.individuals.append(judged, at=0)
    counted = [each for each in judged if each.score is not None]
    choose = min if settings.get("minimize") else max
    best = choose(counted, key=lambda each: each.score or 0.0, default=None)
    shown = best and {"id": best.id, "program": known[best.id], "score": best.score, "metrics": dict(best.metrics)}
    cells = [
        {"place": [number % 3, number // 3], "id": each.id, "score": each.score} for number, each in enumerate(counted)
    ]
    last = max((each.generation for each in judged), default=0)
    folder.checkpoints.write(
        Checkpoint(
            last,
            "2026-01-02T03:05:05Z",
            size,
            shown,
            len(judged),
            {},
            2.0,
            "generations",
            {},
            {"features": ["size", "depth"], "cells": cells},
        )
    )
    return folder
