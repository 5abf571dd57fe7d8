"""Measure how well each way to search finds what a conversation benchmark asks for."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from memkit.bench.datasets import load_dataset
from memkit.bench.interface import Dialogue
from memkit.bench.measure import Measurement, measure
from memkit.bench.modes import MODES, ranker
from memkit.errors import UsageError

FAR = 5
"""Where k is more than one in so many of the candidates, chance alone finds much."""


@dataclass(frozen=True)
class RetrievalBenchmark:
    """The figures, and the file they are of."""

    format: str
    sha256: str
    measured: Measurement
    warnings: tuple[str, ...]


def bench_retrieval(
    path: Path, *, modes: Sequence[str] = (), ks: Sequence[int] = (5, 10), progress: Callable[[int], None] | None = None
) -> RetrievalBenchmark:
    """Return recall@k and MRR on the benchmark in ``path``, per mode, granularity and type of question.

    Raises:
        UsageError: The file is no benchmark, is malformed, or asks nothing that has an answer in it.
    """
    dataset = load_dataset(path)
    chosen = [mode for mode in MODES if mode in modes or not modes]
    measured = measure(_counted(dataset.dialogues, progress), chosen, sorted(set(ks)), ranker)
    if not measured.questions:
        raise UsageError(f"{path} asks nothing whose answer it names, so there is nothing to recall.", path=str(path))
    warnings = [
        f"k={k} of {count} candidate {granularity}s: with so few to choose from, recall@{k} says little."
        for granularity, count in measured.candidates.items()
        for k in ks
        if k * FAR > count
    ]
    return RetrievalBenchmark(dataset.format, dataset.sha256, measured, tuple(warnings))


def _counted(dialogues: Iterable[Dialogue], progress: Callable[[int], None] | None) -> Iterator[Dialogue]:
    for number, dialogue in enumerate(dialogues, 1):
        yield dialogue
        if progress is not None:
            progress(number)
