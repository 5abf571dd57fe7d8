"""The room's interface: species that can be varied, a fitness that judges them, and a record of the results.

A run proceeds by generations, and its result depends only on its arguments, its seed and the answers of the fitness
and the proposers; not on how many workers answered, nor in which order::

    searcher = EvolutionarySearcher(seed, fitness, executor=ProcessPoolExecutor(4), seed=7)
    for _ in range(50):
        generation = searcher.generation()  # one Generation: number, best_fitness, evaluations, best_program
        save(searcher.drain(), searcher.state())  # new Individuals, oldest first; plain JSON data
        if searcher.stopped:  # "target", "patience", "exhausted" or "unscored"; None: go on
            break

    again = EvolutionarySearcher(seed, fitness, seed=7)  # the same arguments, then:
    again.restore(json.loads(saved))  # goes on as if it had never stopped

``run(n)`` is that loop without saving. ``state()`` and ``restore()`` work only between generations.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Any, Protocol


class EvolveError(Exception):
    """Report what the search cannot do, and what would enable it.

    >>> try:
    ...     EvolutionarySearcher("lambda x: x", lambda program: 0.0, population_size=0)
    ... except EvolveError as error:
    ...     error.exit_code, str(error)
    (2, '`population_size` is 0; it must be a whole number from 2 to 100000.')
    """

    exit_code = 2
    code = "evolve"


class RefusedProgram(EvolveError):
    """Report source text that is not run in process, and the part of it that is not allowed.

    >>> read_program("lambda x: open(x)")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
        ...
    memkit.runtime.evolve.interface.RefusedProgram: The program is refused at column 11: the Call of 'open' ...
    """

    code = "refused_program"


class DoesNotApply(EvolveError):
    """Report a proposed change that cannot be made to its program, and why.

    >>> class Chatty:
    ...     name = "chatty"
    ...
    ...     def propose(self, requests):
    ...         return [ProposedChange("I would double it.") for _ in requests]
    >>> settings = SearchSettings(proposers=[Chatty()])
    >>> searcher = EvolutionarySearcher("lambda x: x", lambda program: len(program), settings=settings)
    >>> _ = searcher.generation(), searcher.generation()
    >>> next(each.score.reason for each in searcher.drain() if each.program is None)  # the error's words
    "The program is not a Python expression: invalid syntax ('I would double it.')."
    """

    code = "does_not_apply"


class BadCheckpoint(EvolveError):
    """Report saved data from which no run can continue: of a newer version or another run, damaged or truncated.

    >>> EvolutionarySearcher("lambda x: x", lambda program: 0.0).restore({"format": 1})  # doctest: +ELLIPSIS
    Traceback (most recent call last):
        ...
    memkit.runtime.evolve.interface.BadCheckpoint: The checkpoint is damaged or truncated: 'settings' is ...
    """

    code = "bad_checkpoint"


class BrokenMarkers(EvolveError):
    """Report a program whose EVOLVE-BLOCK markers are ambiguous, and on which line."""

    code = "broken_markers"


class UndefinedValue(EvolveError):
    """Report that a program has no finite value for the given arguments.

    >>> read_program("lambda x: 1 / x")(0)  # doctest: +ELLIPSIS
    Traceback (most recent call last):
        ...
    memkit.runtime.evolve.interface.UndefinedValue: The program has no value there: division by zero in 1 / ...
    """

    exit_code = 1
    code = "undefined_value"


class NothingScored(EvolveError):
    """Report a run in which no program ever got a valid score.

    >>> EvolutionarySearcher("lambda x: x", lambda program: float("nan")).run()  # doctest: +ELLIPSIS
    Traceback (most recent call last):
        ...
    memkit.runtime.evolve.interface.NothingScored: None of 94 programs has a score that counts. Most often: ...
    """

    exit_code = 1
    code = "nothing_scored"


JSON = Any

Genome = Any
"""What is varied and selected: an immutable, hashable value such as a syntax tree."""

Program = Any
"""The input of a fitness function: source text, or a configuration as a dictionary."""

Fitness = Callable[[Any], Any]
"""Judges one program by a finite number, a mapping of metrics (higher is better), or a ``Score``.

>>> def far_from_ten(program: str) -> float:
...     return abs(read_program(program)(3) - 10)
>>> fitness: Fitness = far_from_ten
>>> EvolutionarySearcher("lambda x: x + 1", fitness).run(generations=20)
'lambda x: 3 * x + 1'
"""


@dataclass(frozen=True)
class Score:
    """The evaluation of one program.

    >>> def judged(program: str) -> Score:
    ...     if "/" in program:
    ...         return Score(None, reason="may divide by nothing")
    ...     return Score(abs(read_program(program)(3) - 10), metrics={"length": len(program)})
    >>> EvolutionarySearcher("lambda x: x + 1", judged, settings=SearchSettings(target_fitness=0)).run(generations=50)
    'lambda x: 3 * x + 1'
    """

    value: float | None
    """The fitness's own value; None if it does not count."""
    reason: str = ""
    """Why it does not count."""
    metrics: Mapping[str, float] = field(default_factory=dict)
    """Other numbers from the evaluation, by which an archive can distinguish programs."""
    artifacts: Mapping[str, str] = field(default_factory=dict)
    """Text from the evaluation, such as the program's output, which proposers are shown."""


@dataclass(frozen=True)
class Generation:
    """The state of the search after one generation.

    >>> def far_from_ten(program: str) -> float:
    ...     return abs(read_program(program)(3) - 10)
    >>> searcher = EvolutionarySearcher("lambda x: x + 1", far_from_ten, population_size=10)
    >>> searcher.generation()
    Generation(number=1, best_fitness=1.0, evaluations=8, best_program='lambda x: x * x')
    """

    number: int
    best_fitness: float | None
    evaluations: int
    """Programs judged so far, including all earlier generations."""
    best_program: Program


@dataclass(frozen=True)
class Individual:
    """One line of a run's family tree: a program that was judged or migrated, or a failed proposal.

    >>> def far_from_ten(program: str) -> float:
    ...     return abs(read_program(program)(3) - 10)
    >>> searcher = EvolutionarySearcher("lambda x: x + 1", far_from_ten)
    >>> _ = searcher.generation()
    >>> born = searcher.drain()
    >>> born[0].operation, born[0].program, born[0].score.value, born[0].parents
    ('seed', 'lambda x: x + 1', 6.0, ())
    """

    id: str
    """A digest of the program, or of the answer if a proposal led to no program."""
    program: Program | None
    """None if a proposal led to no program; ``score.reason`` says why, and it used up one evaluation."""
    parents: tuple[str, ...]
    """Ids of programs that are or were on the same island (for "migrate": its own id)."""
    island: int
    generation: int
    operation: str
    """``seed``, ``mutate``, ``cross``, ``tune``, ``tidy``, ``migrate`` or ``model:<name>``.

    All but "migrate" and proposals without a program count as an evaluation.
    """
    score: Score
    answer: str | None = None
    """The model's answer that proposed this, recorded so that it can be replayed."""


@dataclass(frozen=True)
class NumberOpening:
    """Adjustable numbers inside a program, with the program for every choice of them."""

    values: tuple[float, ...]
    steps: tuple[float, ...]
    """How far to move each number to find out how the fitness reacts."""
    build: Callable[[Sequence[float]], Genome]


@dataclass(frozen=True)
class ProposalRequest:
    """A request to a model to improve one program.

    >>> from functools import partial
    >>> class Asked:
    ...     name = "asked"
    ...
    ...     def propose(self, requests):
    ...         print(requests[0].id, requests[0].program, requests[0].score.value)
    ...         return [None for _ in requests]
    >>> settings = SearchSettings(proposers=[Asked()], islands=1)
    >>> fitness = partial(fitness_mean_squared_error, target=[(3, 10), (4, 13)])
    >>> searcher = EvolutionarySearcher("lambda x: x + 1", fitness, settings=settings)
    >>> _ = searcher.generation(), searcher.generation()
    1.0.0 lambda x: x + 1 50.0
    """

    id: str
    """``<generation>.<island>.<number>``; unique in a run, and the same when the run is repeated."""
    program: Program
    score: Score
    inspirations: tuple[tuple[Program, Score], ...]
    """Other programs of the island, the best first, then some of the most different."""
    generation: int
    island: int
    minimize: bool
    failures: tuple[str, ...] = ()
    """Why this proposer's latest proposals failed, the newest last."""


@dataclass(frozen=True)
class ProposedChange:
    """A model's answer as received, which the species turns into a program (``Species.applied``).

    >>> from functools import partial
    >>> class Oracle:
    ...     name = "oracle"
    ...
    ...     def propose(self, requests):
    ...         return [ProposedChange("lambda x: x * 3 + 1", usage={"tokens": 9}) for _ in requests]
    >>> settings = SearchSettings(proposers=[Oracle()], target_fitness=0)
    >>> fitness = partial(fitness_mean_squared_error, target=[(3, 10), (4, 13)])
    >>> searcher = EvolutionarySearcher("lambda x: x", fitness, settings=settings)
    >>> searcher.run(generations=10), searcher.usage["oracle"]["tokens"] > 0
    ('lambda x: 3 * x + 1', True)
    """

    text: str
    usage: Mapping[str, float] = field(default_factory=dict)
    """Its cost, such as ``{"input_tokens": 900, "cost": 0.002}``; ``searcher.usage`` adds it up by proposer."""


class Proposer(Protocol):
    """Proposes changes, for example a language model; the room itself never calls one.

    >>> from functools import partial
    >>> class Doubling:
    ...     name = "doubling"
    ...
    ...     def propose(self, requests):
    ...         return [ProposedChange(request.program + " * 2") for request in requests]
    >>> proposer: Proposer = Doubling()
    >>> settings = SearchSettings(proposers=[proposer], target_fitness=0)
    >>> fitness = partial(fitness_mean_squared_error, target=[(1, 8), (2, 16), (3, 24)])
    >>> searcher = EvolutionarySearcher("lambda x: x", fitness, settings=settings)
    >>> searcher.run(generations=20)
    'lambda x: 8 * x'
    """

    name: str

    def propose(self, requests: Sequence[ProposalRequest]) -> Sequence[ProposedChange | None]:
        """Answer each request, in order; called once per generation, possibly from a separate thread.

        None means that there is no proposal (for example, the budget is spent): the species then varies the program.
        An exception is a failed proposal for each of ``requests``, with its text as the reason.
        """


class Species(Protocol):
    """One kind of program and the ways to vary it; the ``random`` argument is the only source of randomness.

    >>> class Letters(Species):
    ...     def first(self, random, count):
    ...         return ["aaaa"]
    ...
    ...     def mutate(self, genome, random):
    ...         place = random.randrange(4)
    ...         return genome[:place] + random.choice("adeklmnt") + genome[place + 1 :]
    ...
    ...     def cross(self, genome, other, random):
    ...         return genome[:2] + other[2:]
    ...
    ...     def applied(self, genome, text):
    ...         if len(text) != 4:
    ...             raise DoesNotApply(f"{text!r} has not four letters.")
    ...         return text
    ...
    ...     def openings(self, genome, random, most):
    ...         return []  # there are no numbers to fit
    ...
    ...     def tidied(self, genome):
    ...         return []
    ...
    ...     def size(self, genome):
    ...         return len(set(genome))
    ...
    ...     def features(self, genome):
    ...         return {"size": self.size(genome)}
    ...
    ...     def grid(self):
    ...         return {"size": 1}
    ...
    ...     def behaviour(self, genome):
    ...         return genome
    ...
    ...     program = encoded = decoded = behaviour
    >>> def wrong_letters(word: str) -> float:
    ...     return sum(one != other for one, other in zip(word, "kelt"))
    >>> settings = SearchSettings(species=Letters(), target_fitness=0)
    >>> EvolutionarySearcher(fitness=wrong_letters, settings=settings).run(generations=100)
    'kelt'
    """

    def first(self, random: Random, count: int) -> list[Genome]:
        """Return about ``count`` initial programs, the seed program first."""

    def mutate(self, genome: Genome, random: Random) -> Genome:
        """Return ``genome`` with one change."""

    def cross(self, genome: Genome, other: Genome, random: Random) -> Genome:
        """Return ``genome`` with a part of ``other``."""

    def applied(self, genome: Genome, text: str) -> Genome:
        """Return ``genome`` with the change that a model wrote as ``text``.

        Raises:
            DoesNotApply: ``text`` is not a change of ``genome``; the error says why.
        """

    def directions(self, genome: Genome, random: Random) -> NumberOpening | None:
        """Return ``genome`` with a new part of weight zero, or None if that makes no sense."""

    def openings(self, genome: Genome, random: Random, most: int) -> list[NumberOpening]:
        """Return sets of at most ``most`` numbers of ``genome`` that are worth fitting together."""

    def tidied(self, genome: Genome) -> list[Genome]:
        """Return simpler forms of ``genome``, the simplest first."""

    def size(self, genome: Genome) -> int:
        """Return the size of ``genome``; of two programs with the same score the smaller is better."""

    def behaviour(self, genome: Genome) -> Hashable:
        """Return what ``genome`` does, with the same ``repr`` in every process; equal behaviour is not judged twice."""

    def features(self, genome: Genome) -> Mapping[str, float]:
        """Return properties by which an archive can distinguish ``genome``, such as its size; never its score."""

    def grid(self) -> Mapping[str, float]:
        """Return the default features of the archive, each with the width of a cell."""

    def program(self, genome: Genome) -> Program:
        """Return ``genome`` in the form passed to the fitness function."""

    def encoded(self, genome: Genome) -> JSON:
        """Return ``genome`` as plain JSON data, from which ``decoded`` makes an equal one; its digest is its id."""

    def decoded(self, data: JSON) -> Genome:
        """Return the genome that ``encoded`` wrote; raise ``ValueError`` or ``EvolveError`` if it is invalid."""


def is_score(value: Any) -> bool:
    """Return whether ``value`` is a finite number; a bool is not."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    return isinstance(value, int) or math.isfinite(value)
