"""Measure how well each search mode finds the evidence in a conversation benchmark."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from memkit.bench import MEANING, MODES, Dialogue, Measurement, load_dataset, measure, ranker
from memkit.errors import UsageError
from memkit.runtime.embeddings.interface import Embedder

FAR = 5
"""If k is more than one in so many candidates, chance alone finds much."""


@dataclass(frozen=True)
class RetrievalBenchmark:
    """The figures, and the file they belong to."""

    format: str
    sha256: str
    measured: Measurement
    warnings: tuple[str, ...]


def bench_retrieval(
    path: Path,
    *,
    modes: Sequence[str] = (),
    ks: Sequence[int] = (5, 10),
    model: Path | None = None,
    progress: Callable[[int], None] | None = None,
) -> RetrievalBenchmark:
    """Return recall@k and MRR on the benchmark in ``path``, per mode, granularity and type of question.

    Raises:
        UsageError: The file is not a benchmark, is malformed, or has no question with an answer in it.
        EnvironmentFault: The folder holds no model, or the library that reads it is not installed.
    """
    dataset = load_dataset(path)
    offered = MODES if model is not None else [mode for mode in MODES if mode not in MEANING]
    chosen = [mode for mode in MODES if mode in (modes or offered)]
    make = partial(ranker, embedder=_embedder(model))
    measured = measure(_counted(dataset.dialogues, progress), chosen, sorted(set(ks)), make)
    if not measured.questions:
        raise UsageError(f"{path} has no question with a stated answer, so there is nothing to recall.", path=str(path))
    warnings = [
        f"k={k} of {count} candidate {granularity}s: with so few to choose from, recall@{k} says little."
        for granularity, count in measured.candidates.items()
        for k in ks
        if k * FAR > count
    ]
    return RetrievalBenchmark(dataset.format, dataset.sha256, measured, tuple(warnings))


def _embedder(model: Path | None) -> Embedder | None:
    if model is None:
        return None
    from memkit.runtime.embeddings.local import LocalEmbedder

    return LocalEmbedder(model)


def _counted(dialogues: Iterable[Dialogue], progress: Callable[[int], None] | None) -> Iterator[Dialogue]:
    for number, dialogue in enumerate(dialogues, 1):
        yield dialogue
        if progress is not None:
            progress(number)
