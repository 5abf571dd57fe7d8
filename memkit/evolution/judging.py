"""Convert an evaluator's result to the number that ranks a program."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Any

from memkit.errors import UsageError
from memkit.evolution.elsewhere import RemoteEvaluator
from memkit.evolution.task import EvolutionTask
from memkit.runtime.evolve.interface import Score
from memkit.sandbox import Evaluation, Evaluator, Sandbox

COMBINED = "combined_score"
_NO_METRIC = ("error",)
"""Names that evaluators give to errors; their numbers say nothing about the program."""


def measured(metrics: Mapping[str, Any]) -> tuple[float | None, str]:
    """Return the number that ranks a program: its combined score, else the mean of its numbers; or why there is none.

    >>> measured({"combined_score": 0.5, "time": 3})
    (0.5, '')
    >>> measured({"combined_score": True})
    (None, 'combined_score is True, a boolean, not a number')
    """
    if COMBINED in metrics:
        value, reason = _read(COMBINED, metrics[COMBINED])
        said = _said(metrics) if value == 0 else ""
        return (None, said) if said else (value, reason)
    numbers = {name: value for name, value in metrics.items() if _is_number(value) and name not in _NO_METRIC}
    if not numbers:
        return None, "the evaluator returned no number"
    for name, value in numbers.items():
        if not _is_finite(value):
            return _read(name, value)
    return math.fsum(value / len(numbers) for value in numbers.values()), ""


def _said(metrics: Mapping[str, Any]) -> str:
    """Return the failure that an evaluator reports beside a score of 0, which may be the best score elsewhere."""
    error = metrics.get("error")
    if isinstance(error, str) and error.strip():
        return f"the evaluator says: {error.strip()[:300]}"
    return "the evaluator timed out" if metrics.get("timeout") is True else ""


def _read(name: str, value: Any) -> tuple[float | None, str]:
    """Return a metric as a finite number, or why it is not one."""
    if isinstance(value, bool):
        return None, f"{name} is {value}, a boolean, not a number"
    if not _is_number(value):
        return None, f"{name} is {value!r:.60}, not a number"
    if not _is_finite(value):
        shown = "a whole number beyond every float" if isinstance(value, int) else repr(value)
        return None, f"{name} is {shown}, not a finite number"
    return float(value), ""


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_finite(value: float) -> bool:
    try:
        return math.isfinite(value)
    except OverflowError:  # a whole number too large for a float
        return False


def finite(metrics: Mapping[str, Any]) -> dict[str, float]:
    """Return the metrics that are finite numbers, as JSON can represent them."""
    return {str(name): float(value) for name, value in metrics.items() if _is_number(value) and _is_finite(value)}


WHOLE, HELD_BACK, FIRST_STAGE = "evaluate", "evaluate_holdout", "evaluate_stage1"
STAGES = (FIRST_STAGE, "evaluate_stage2", "evaluate_stage3")
_PLACE = re.compile(r"/[^\s\"']*/memkit-[^\s\"'/]*/programs/")
_NUMBERED = re.compile(r"\bprogram_[0-9]+\b")
_SAME = 1e-13
"""Tolerated relative difference of two scores of one program: sums over threads differ in the last bits."""
_LONGEST = 8_000
"""The most characters of one artifact that are stored."""


@dataclass(frozen=True)
class Judged:
    """The result of one pass through the stages."""

    score: Score
    constant: frozenset[str] = frozenset()
    """Functions that gave the same answer to everything."""
    varied: frozenset[str] = frozenset()
    refused: str = ""
    """Parts of the program that the evaluator uses and no proxy can offer, in words."""


@dataclass
class Judging(AbstractContextManager["Judging"]):
    """Judges the programs of one task: a fitness for the search, and the check of any new best program.

    Threads may share one. Use as a context::

        with Sandbox() as sandbox, Judging(task, sandbox, seed=7, timeout=10) as judging:
            first = judging.begin()
            searcher = EvolutionarySearcher(species=task.species(), fitness_fn=judging, confirm=judging.confirm, …)
    """

    task: EvolutionTask
    sandbox: Sandbox | None
    """Where programs run. None runs them in the evaluator's process: the choice of a caller who names it unsafe."""
    seed: int = 0
    timeout: float = 10.0
    """Time limit in seconds of one evaluation, or one stage of it."""
    minimize: bool = False
    """Whether a lower score is better; a task of the common form states that a higher one is."""
    there: RemoteEvaluator | None = None
    """The workers that evaluate; None for evaluation here."""
    _first: dict[str, float | None] = field(default_factory=dict, init=False)
    """Digest of a program → the score of its first evaluation."""
    _varied: frozenset[str] = field(default=frozenset(), init=False)

    def __post_init__(self) -> None:
        self._evaluator = self.there or Evaluator(self.task.evaluator, self.sandbox)
        if not {WHOLE, FIRST_STAGE} & set(self._evaluator.stages):
            self._evaluator.close()
            raise UsageError(
                f"{self.task.evaluator} has no function evaluate(path), so it is not an evaluator.",
                path=str(self.task.evaluator),
            )

    @property
    def stages(self) -> tuple[str, ...]:
        """Return the functions of the evaluator that judge every program, in order."""
        offered = self._evaluator.stages
        if FIRST_STAGE not in offered or (WHOLE in offered and not self.task.settings.stages):
            return (WHOLE,)
        return tuple(name for at, name in enumerate(STAGES) if set(STAGES[: at + 1]) <= set(offered))

    @property
    def holds_back(self) -> bool:
        """Return whether the evaluator has inputs that only a new best program is tested with."""
        return HELD_BACK in self._evaluator.stages

    def begin(self) -> Score:
        """Return the score of the initial program, after testing that the task can be judged at all.

        Call it before the search, and before resuming one: the answers of the initial program's functions show later
        which of them must not answer everything alike.

        Raises:
            UsageError: The same program gets different scores, or the evaluator uses what no proxy can offer.
        """
        first, second = self._judged(self.task.seed, self.seed), self._judged(self.task.seed, self.seed)
        if first.refused:
            raise UsageError(_not_offered(self.task.evaluator, first.refused), path=str(self.task.evaluator))
        if not _same(first.score.value, second.score.value):
            shown = " and then ".join(_shown(item.score) for item in (first, second))
            raise UsageError(_not_deterministic(self.task, shown), path=str(self.task.evaluator))
        self._varied = first.varied
        return first.score

    def __call__(self, program: str) -> Score:
        """Return the score of ``program``."""
        judged = self._judged(program, self.seed)
        self._first[_digest(program)] = judged.score.value
        return self._without_constants(judged)

    def confirm(self, program: str) -> Score:
        """Return the final score of a possible new best program: the least of its results.

        It is evaluated as before, with another seed, and on the inputs that the evaluator holds back, if any.
        """
        known = _digest(program) in self._first
        again = self._judged(program, self.seed)
        before = self._first[_digest(program)] if known else self._judged(program, self.seed).score.value
        if not _same(before, again.score.value):
            shown = f"{_number(before)} and then {_shown(again.score)}"
            return _without_value(again.score, f"changes between runs: {shown}, with the same seed")
        scores = [self._without_constants(again)]
        for where, stages in self._other_inputs():
            if scores[-1].value is None:
                break
            found = self._judged(program, self.seed + 1, stages).score
            reason = f"does not hold {where}: {found.reason}" if found.value is None else ""
            scores.append(Score(found.value, reason, found.metrics, found.artifacts))
        return self._least(scores)

    def _other_inputs(self) -> Iterator[tuple[str, tuple[str, ...]]]:
        """Yield the further tests of a new best program, in words and by functions of the evaluator."""
        yield "with another seed", self.stages
        if self.holds_back:
            yield "on held-back inputs", (HELD_BACK,)

    def close(self) -> None:
        """End the evaluator."""
        self._evaluator.close()

    def __exit__(self, *_exception: object) -> None:
        self.close()

    def _least(self, scores: list[Score]) -> Score:
        """Return the first invalid score, else the worst one, with the metrics of the first."""
        if scores[-1].value is None:
            return _without_value(scores[0], scores[-1].reason)
        values = [score.value for score in scores if score.value is not None]
        return Score(max(values) if self.minimize else min(values), "", scores[0].metrics, scores[0].artifacts)

    def _without_constants(self, judged: Judged) -> Score:
        """Return the score, which is invalid if a function stopped depending on its arguments."""
        cheats = sorted(judged.constant & self._varied)
        if not cheats or self.task.settings.constant_answers or judged.score.value is None:
            return judged.score
        return _without_value(judged.score, f"constant: {', '.join(cheats)} gives the same answer to every input")

    def _judged(self, program: str, seed: int, stages: tuple[str, ...] = ()) -> Judged:
        """Return the results of the stages, up to the first that the program does not pass."""
        metrics, artifacts = dict[str, Any](), dict[str, str]()
        constant, varied, refused = set[str](), set[str](), ""
        chosen = stages or self.stages
        for number, stage in enumerate(chosen):
            found = self._evaluator.evaluate(program, stage=stage, timeout=self.timeout, seed=seed)
            artifacts |= _artifacts(found)
            constant, varied = constant | set(found.constant), varied | set(found.varied)
            refused = refused or next((event.reason for event in found.events if event.kind == "refused"), "")
            if found.metrics is None:
                why = _everywhere_alike(str(found.failure))
                score = Score(None, why if len(chosen) == 1 else f"{stage}: {why}", finite(metrics), artifacts)
                break
            metrics |= found.metrics
            value, reason = measured(metrics)
            score = Score(value, reason, finite(metrics), artifacts)
            stopped = self._stopped(value, number, chosen)
            if stopped:
                artifacts["stopped"] = stopped
                break
        return Judged(score, frozenset(constant - varied), frozenset(varied), refused)

    def _stopped(self, value: float | None, stage: int, stages: tuple[str, ...]) -> str:
        """Return why a program with ``value`` so far enters no further stage, if it does not."""
        thresholds = self.task.settings.thresholds
        if value is None or stage + 1 == len(stages):
            return "" if value is not None else "no score"
        if stage >= len(thresholds):
            return f"{stages[stage]} has no threshold, so nothing comes after it"
        return (
            "" if value >= thresholds[stage] else f"{value:.6g} after {stages[stage]}; {thresholds[stage]:g} is needed"
        )


def _artifacts(found: Evaluation) -> dict[str, str]:
    """Return the texts about an evaluation."""
    texts = {
        str(name): value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)
        for name, value in found.artifacts.items()
    }
    if found.printed.strip():
        texts["printed"] = found.printed
    if found.failure is not None and found.failure.kind != "evaluator":  # models must not read how it judges
        texts |= {"traceback": found.failure.detail} if found.failure.detail else {}
    if found.events:
        texts["went wrong"] = "\n".join(dict.fromkeys(str(event) for event in found.events))
    texts = {name: _everywhere_alike(text) for name, text in texts.items()}
    return {name: text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…" for name, text in texts.items()}


def _everywhere_alike(text: str) -> str:
    """Return a text without the path that an evaluation was given, which is different each time."""
    return _NUMBERED.sub("program", _PLACE.sub("", text))


def _same(one: float | None, other: float | None) -> bool:
    if one is None or other is None:
        return one is other
    return math.isclose(one, other, rel_tol=_SAME)


def _without_value(score: Score, reason: str) -> Score:
    return Score(None, reason, score.metrics, score.artifacts)


def _digest(program: str) -> str:
    return sha256(program.encode("utf-8", "surrogatepass")).hexdigest()


def _number(value: float | None) -> str:
    return "no score" if value is None else f"{value:.12g}"


def _shown(score: Score) -> str:
    return _number(score.value) + (f" ({score.reason})" if score.reason else "")


def _not_deterministic(task: EvolutionTask, shown: str) -> str:
    return (
        f"{task.evaluator.name} gives {task.program.name} different scores in two evaluations with the same seed: "
        f"{shown}. Evolution would chase that noise. Draw from random or numpy.random, which memkit seeds, not from "
        "default_rng() without a seed or os.urandom; and do not score by measured time: count steps instead."
    )


def _not_offered(evaluator: Path, refused: str) -> str:
    return (
        f"{evaluator.name} uses something of the program that cannot be forwarded: {refused}. Programs run confined: "
        "call functions of the module with plain data, or run them unconfined, with your rights: --unsafe."
    )
