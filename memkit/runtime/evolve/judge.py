"""Call a fitness on programs, each once, remember the best, and record the origin of each."""

from __future__ import annotations

import json
import math
import pickle
import sys
from collections import Counter
from collections.abc import Callable, Generator, Mapping, Sequence
from concurrent.futures import BrokenExecutor, Executor, Future
from dataclasses import dataclass, replace
from hashlib import blake2b
from typing import Any

from .interface import (
    JSON,
    EvolveError,
    Genome,
    Individual,
    Program,
    RefusedProgram,
    Score,
    Species,
    UndefinedValue,
    is_score,
)

_LONGEST_REASON = 500
_LONGEST_ARTIFACT = 8000
COMBINED = "combined_score"


def score_of(fitness: Callable[[Any], Any], program: Program, *, minimize: bool) -> Score:
    """Return the score of ``program`` by ``fitness``; anything but a finite number is a score that does not count.

    Raises:
        EvolveError: The task itself is wrong, for every program.
    """
    try:
        answer = fitness(program)
    except (RefusedProgram, UndefinedValue) as problem:
        return Score(None, str(problem))
    except EvolveError:
        raise
    except (Exception, SystemExit) as problem:  # noqa: BLE001 - what the caller's function raises is this program's score
        return Score(None, told(problem))
    return read_score(answer, minimize=minimize)


def told(problem: BaseException) -> str:
    """Return an exception as one line of limited length."""
    try:
        text = " ".join(str(problem).split())
    except Exception:  # noqa: BLE001 - the exception is the caller's
        text = "it cannot say why"
    return f"{type(problem).__name__}: {text}"[:_LONGEST_REASON]


def read_score(answer: Any, *, minimize: bool) -> Score:
    """Return the answer of a fitness as a score."""
    if isinstance(answer, Score):
        value, reason = (None, answer.reason) if answer.value is None else _number(answer.value)
        return Score(value, (reason or answer.reason)[:_LONGEST_REASON], _metrics(answer.metrics), _texts(answer))
    if isinstance(answer, Mapping):
        if minimize:
            raise EvolveError("The fitness returns metrics, where higher is better: say `minimize=False`.")
        return Score(*_combined(answer), metrics=_metrics(answer))
    return Score(*_number(answer))


def _combined(metrics: Mapping[Any, Any]) -> tuple[float | None, str]:
    """Return the combined score in ``metrics``, or the mean of their numbers if there is none."""
    if COMBINED in metrics:
        return _number(metrics[COMBINED])
    numbers = [value for value in metrics.values() if not _is_truth(value) and isinstance(value, int | float)]
    if not numbers:
        return None, "the metrics contain no number"
    try:
        return _number(math.fsum(numbers) / len(numbers))
    except (OverflowError, ValueError):
        return None, "the mean of the metrics is not a finite number"


def _number(value: Any) -> tuple[float | None, str]:
    """Return ``value`` as a finite number, or why it is not one."""
    if _is_truth(value):
        return None, "the fitness is a boolean"
    if not isinstance(value, int | float) and (not hasattr(value, "__float__") or hasattr(value, "__len__")):
        return None, f"the fitness is {_shown(value)}, not a number"
    try:
        number = float(value)  # including the numbers of numerical libraries
    except Exception as problem:  # noqa: BLE001 - the value is the caller's
        return None, f"the fitness is not a number: {told(problem)}"
    return (number, "") if is_score(number) else (None, f"the fitness is {number}, not a finite number")


def _is_truth(value: Any) -> bool:
    """Return whether ``value`` is true or false, either Python's own or numpy's."""
    return type(value).__name__ in ("bool", "bool_")


def _shown(value: Any) -> str:
    try:
        return f"{value!r:.40}"
    except Exception:  # noqa: BLE001 - the value is the caller's
        return f"of type {type(value).__name__}"


def _metrics(given: Mapping[Any, Any]) -> dict[str, float]:
    read = {str(label): _number(value)[0] for label, value in given.items()}
    return {label: value for label, value in read.items() if value is not None}


def _texts(score: Score) -> dict[str, str]:
    return {str(label): str(value)[:_LONGEST_ARTIFACT] for label, value in score.artifacts.items()}


Evaluate = Callable[[Program], Score]
"""Scores one program; the function and its argument are sent to the workers."""


class Workers:
    """Owns the executor of a run; without one, programs are evaluated in this process."""

    def __init__(self, evaluate: Evaluate, executor: Executor | Callable[[], Executor] | None = None) -> None:
        self._evaluate = evaluate
        self._renewed = callable(executor)
        self._make: Callable[[], Executor] | None = None
        self._executor: Executor | None = None
        if isinstance(executor, Executor):
            self._executor = executor
            self._make = _like(executor) if _has_processes(executor) else None
        elif executor is not None:
            if not callable(executor):
                raise EvolveError(
                    "The executor must be a concurrent.futures.Executor, or a function that makes one, not "
                    f"{executor!r:.60}."
                )
            self._make = executor
            self._executor = executor()
        if _has_processes(self._executor):
            _check_travels(evaluate)

    def scores(self, programs: Sequence[Program]) -> list[Score]:
        """Return a score for each of ``programs``; if a worker dies, its program gets a score that does not count."""
        if self._executor is None:
            return [self._evaluate(program) for program in programs]
        found: dict[int, Score] = {}
        suspects = self._round(dict(enumerate(programs)), found)
        for index in suspects:  # one of them broke the executor; alone, it will do so again
            if self._round({index: programs[index]}, found):
                found[index] = Score(None, "the worker that evaluated it died")
        return [found[index] for index in range(len(programs))]

    def close(self) -> None:
        """Stop the executor, if it was created here."""
        if self._renewed and self._executor is not None:
            self._executor.shutdown(cancel_futures=True)
            self._executor = None

    def _round(self, programs: Mapping[int, Program], found: dict[int, Score]) -> list[int]:
        """Evaluate ``programs`` in parallel into ``found``; return those left over because the executor broke."""
        futures: dict[int, Future[Score]] = {}
        left: list[int] = []
        try:
            for index, program in programs.items():
                try:
                    assert self._executor is not None
                    futures[index] = self._executor.submit(self._evaluate, program)
                except BrokenExecutor:
                    left.append(index)
            for index, future in futures.items():
                try:
                    found[index] = future.result()
                except BrokenExecutor:
                    left.append(index)
                except EvolveError:
                    raise
                except Exception as problem:  # noqa: BLE001 - whatever a worker of any kind fails with
                    found[index] = Score(None, f"the worker failed: {told(problem)}")
        except BaseException:
            for future in futures.values():
                future.cancel()
            raise
        if left:
            self._renew()
        return sorted(left)

    def _renew(self) -> None:
        """Replace the broken executor by a new one."""
        assert self._executor is not None
        if self._make is None:
            raise EvolveError(
                f"The {type(self._executor).__name__} broke and takes no more work. Pass a function that makes "
                "executors, so that it can be replaced."
            )
        self._executor.shutdown(wait=False, cancel_futures=True)
        self._executor = self._make()
        self._renewed = True


def _has_processes(executor: Executor | None) -> bool:
    """Return whether ``executor`` is the standard library's process pool, without importing it needlessly."""
    module = sys.modules.get("concurrent.futures.process")
    return module is not None and isinstance(executor, module.ProcessPoolExecutor)


def _like(executor: Executor) -> Callable[[], Executor]:
    """Return a function that makes another pool with as many processes, started in the same way."""
    workers = getattr(executor, "_max_workers", None)
    context = getattr(executor, "_mp_context", None)
    return lambda: type(executor)(workers, context)  # type: ignore[call-arg]


def _check_travels(evaluate: Evaluate) -> None:
    """Reject a fitness that cannot be sent to another process."""
    try:
        pickle.dumps(evaluate)
    except Exception as problem:
        raise EvolveError(
            f"The fitness cannot be sent to other processes ({told(problem)}). Define it at the top of a module, or "
            "use a ThreadPoolExecutor."
        ) from problem


Scores = Callable[[Sequence[Genome]], list[Score]]
Confirm = Callable[[Program], Any]


def digest(data: str) -> str:
    """Return a digest of ``data`` with sixteen characters."""
    return blake2b(data.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()


class ProgramJudge:
    """Owns the scores of a run. Internally, lower is always better; a score that does not count is infinity."""

    def __init__(self, species: Species, scores: Scores, *, minimize: bool, confirm: Confirm | None = None) -> None:
        self._species = species
        self._scores = scores
        self._sign = 1.0 if minimize else -1.0
        self.minimize = minimize
        self._confirm = confirm
        self._values: dict[str, float | None] = {}
        self._behaviours: set[str] = set()
        self.reasons: Counter[str] = Counter()
        self.best: Member | None = None
        self._log: list[Individual] = []

    @property
    def evaluations(self) -> int:
        """Return how many programs were judged."""
        return len(self._values)

    @property
    def best_loss(self) -> float:
        """Return the loss of the best program."""
        return math.inf if self.best is None else self.best.loss

    def id_of(self, genome: Genome) -> str:
        """Return the digest that identifies ``genome``."""
        return digest(json.dumps(self._species.encoded(genome), sort_keys=True))

    def claim(self, genome: Genome) -> bool:
        """Return whether no program with the behaviour of ``genome`` was judged or claimed, and claim it."""
        behaviour = digest(repr(self._species.behaviour(genome)))
        if behaviour in self._behaviours:
            return False
        self._behaviours.add(behaviour)
        return True

    def judge(self, births: Sequence[tuple[int, Birth]], generation: int) -> list[Member]:
        """Judge what the islands ask for, and return it in the order of asking."""
        ids = [self.id_of(birth.genome) for _, birth in births]
        new: dict[str, tuple[int, Birth]] = {}
        for key, asked in zip(ids, births, strict=True):
            if key not in self._values and (key not in new or new[key][1].operation == TUNE):
                new[key] = asked  # requests to keep a program precede mere requests for its score
        scores = self._scores([birth.genome for _, birth in new.values()])
        judged = {
            key: self._noted(key, birth, island, generation, score)
            for (key, (island, birth)), score in zip(new.items(), scores, strict=True)
        }
        return [
            judged.get(key) or self.member(key, birth.genome, Score(self._values[key]))
            for key, (_, birth) in zip(ids, births, strict=True)
        ]

    def _noted(self, key: str, birth: Birth, island: int, generation: int, score: Score) -> Member:
        member = self.member(key, birth.genome, score)
        if self._beats(member):
            score = self._confirmed(birth.genome, score)
            member = self.member(key, birth.genome, score)
        self._values[key] = score.value
        self._behaviours.add(digest(repr(self._species.behaviour(birth.genome))))
        if score.value is None:
            self.reasons[score.reason] += 1
        program = self._species.program(birth.genome)
        self._log.append(
            Individual(key, program, birth.parents, island, generation, birth.operation, score, birth.answer)
        )
        if self._beats(member):
            self.best = member
        return member

    def _confirmed(self, genome: Genome, score: Score) -> Score:
        """Return the score of a potential best program after judging it again: the worse of both scores."""
        if self._confirm is None:
            return score
        second = score_of(self._confirm, self._species.program(genome), minimize=self.minimize)
        if second.value is None or score.value is None:
            return replace(score, value=None, reason=f"not confirmed: {second.reason}")
        return replace(score, value=self._sign * max(self._sign * score.value, self._sign * second.value))

    def is_known(self, genome: Genome) -> bool:
        """Return whether ``genome`` was judged."""
        return self.id_of(genome) in self._values

    def member(self, key: str, genome: Genome, score: Score) -> Member:
        """Return ``genome`` with its score."""
        loss = math.inf if score.value is None else self._sign * score.value
        return Member(key, genome, loss, self._species.size(genome), score)

    def refuse(self, birth: Birth, island: int, generation: int, reason: str) -> None:
        """Record a proposal that did not lead to a new program."""
        self.reasons[reason] += 1
        key = digest(birth.answer or "")
        self._log.append(
            Individual(key, None, birth.parents, island, generation, birth.operation, Score(None, reason), birth.answer)
        )

    def move(self, member: Member, island: int, generation: int) -> None:
        """Record that a program migrated to another island."""
        program = self._species.program(member.genome)
        self._log.append(Individual(member.id, program, (member.id,), island, generation, "migrate", member.score))

    def prefer(self, member: Member) -> bool:
        """Make ``member``, a simpler form of the best program, the best if it is no worse and no larger."""
        best = self.best
        if best is None or not self._ties(member.loss) or member.size > best.size:
            return False
        if best.id != member.id:
            worth = self.member(member.id, member.genome, self._confirmed(member.genome, member.score))
            best = self.best = worth if self._ties(worth.loss) else best
        return best.id == member.id

    def _ties(self, loss: float) -> bool:
        """Return whether ``loss`` equals the best loss, up to rounding."""
        return abs(loss - self.best_loss) <= 1e-12 * max(1.0, abs(self.best_loss))

    def _beats(self, member: Member) -> bool:
        """Return whether ``member`` is better than the best so far, or equal up to rounding and smaller."""
        if member.loss == math.inf or self.best is None:
            return member.loss < math.inf
        if self._ties(member.loss):
            return (member.size, member.loss) < (self.best.size, self.best.loss)
        return member.loss < self.best.loss

    def take_log(self) -> list[Individual]:
        """Return the events since the last call, oldest first."""
        log, self._log = self._log, []
        return log

    def better(self, individuals: Sequence[Individual]) -> dict[str, bool]:
        """Return for each of ``individuals`` whether it is better than all of its parents."""
        return {
            item.id: self._loss_of(item.id) < min(map(self._loss_of, item.parents), default=math.inf)
            for item in individuals
        }

    def _loss_of(self, key: str) -> float:
        value = self._values.get(key)
        return math.inf if value is None else self._sign * value

    def state(self) -> dict[str, JSON]:
        """Return the judged programs and their scores, as plain data."""
        return {
            "values": dict(self._values),
            "behaviours": sorted(self._behaviours),
            "reasons": dict(self.reasons),
            "best": None if self.best is None else self.best.id,
        }

    def restore(self, data: Mapping[str, Any], members: Mapping[str, Member]) -> None:
        """Restore what ``state`` returned."""
        self._values = dict(data["values"])
        self._behaviours = set(data["behaviours"])
        self.reasons = Counter(data["reasons"])
        self.best = None if data["best"] is None else members[data["best"]]
        self._log = []


SEED, START = "seed", "start"
"""The operations of the seed program, and of the other programs that a search starts with."""
TUNE = "tune"
"""The operation of programs that are judged to find out how numbers matter."""


@dataclass(frozen=True)
class Birth:
    """A program to be judged, with its origin."""

    genome: Genome
    operation: str
    parents: tuple[str, ...] = ()
    """The ids of its parents."""
    answer: str | None = None
    """The model's answer that proposed it."""


@dataclass(frozen=True)
class Member:
    """One program of a population."""

    id: str
    genome: Genome
    loss: float
    """Lower is better, whatever the direction of the fitness; infinity if the score does not count."""
    size: int
    score: Score

    @property
    def rank(self) -> tuple[float, int]:
        """Return the key by which members are compared: loss, then size."""
        return self.loss, self.size


Asking = Generator[list[Birth], list[Member], None]
"""Yields programs to be judged, and receives the results in the order of asking."""
