"""The search: what it finds, that it repeats itself, what it costs, and what it makes of a fitness that misbehaves."""

from __future__ import annotations

import ast
import itertools
import math
import random
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import memkit.runtime.evolve
from memkit.runtime.evolve.core import (
    EvolutionarySearcher,
    EvolveError,
    NothingScored,
    RefusedProgram,
    SearchSettings,
    fitness_mean_squared_error,
    read_program,
)
from tests.evolve import tasks

PACKAGE = Path(memkit.runtime.evolve.__file__).parent


def error_against(target: Callable[..., float]) -> Callable[[str], float]:
    """Return the squared error against ``target``."""
    return partial(fitness_mean_squared_error, target=target)


def polynomial(coefficients: Sequence[int]) -> Callable[[float], float]:
    """Return the polynomial with the given coefficients, the constant first."""
    return lambda x: sum(factor * x**degree for degree, factor in enumerate(coefficients))


def toy(**options: Any) -> EvolutionarySearcher:
    """Return the search for x² + 2x + 1 that the documents show."""
    given = {"seed_program": "lambda x: x * 2", "fitness_fn": error_against(polynomial([1, 2, 1]))}
    return tasks.searcher(**{**given, "mutation_rate": 0.2, "population_size": 30, **options})


@pytest.mark.parametrize("seed", range(20))
def test_the_square_is_found_from_every_seed(seed: int) -> None:
    """From x * 2 to x² + 2x + 1, exactly, within 30 programs and 50 generations."""
    searcher = toy(seed=seed)

    best = searcher.run(generations=50)

    assert [read_program(best)(x) for x in range(-9, 10)] == [x * x + 2 * x + 1 for x in range(-9, 10)]
    assert searcher.best_fitness == 0 and searcher.stopped == "target" and searcher.evaluations <= 1500


def test_polynomials_of_degree_four_are_found_nearly_always() -> None:
    """Of random polynomials with whole coefficients from -5 to 5, at most one in thirty is missed."""
    chance = random.Random(0)
    missed = []
    for seed in range(30):
        coefficients = [chance.randint(-5, 5) for _ in range(chance.randint(1, 5))]
        searcher = EvolutionarySearcher("lambda x: x * 2", error_against(polynomial(coefficients)), seed=seed)
        searcher.run(generations=50)
        if searcher.best_fitness is None or searcher.best_fitness >= 1e-6:
            missed.append(coefficients)

    assert len(missed) <= 1, missed


@pytest.mark.parametrize(
    "fitness",
    [
        lambda program: fitness_mean_squared_error(program, target=polynomial([1, 2, 1])),
        lambda program: sum((read_program(program)(x) - (x + 1) ** 2) ** 2 for x in range(-5, 6)),
        lambda program: max(abs(read_program(program)(x) - (x + 1) ** 2) for x in range(-5, 6)),
    ],
    ids=["lambda", "own squared error", "largest error"],
)
def test_any_function_of_a_program_can_judge(fitness: Callable[[str], float]) -> None:
    """A fitness that the room knows nothing about finds the square as well."""
    searcher = EvolutionarySearcher("lambda x: x * 2", fitness=fitness, settings=SearchSettings(target_fitness=1e-9))

    searcher.run(generations=50)

    assert searcher.best_fitness is not None and searcher.best_fitness < 1e-9


def test_a_higher_score_is_better_when_asked_for() -> None:
    """``minimize=False`` turns the direction, the target and the best score round."""

    def score(program: str) -> float:
        return 1 / (1 + fitness_mean_squared_error(program, target=polynomial([1, 2, 1])))

    searcher = EvolutionarySearcher(
        "lambda x: x * 2", score, minimize=False, settings=SearchSettings(target_fitness=1.0)
    )
    searcher.run(generations=50)

    assert searcher.best_fitness == 1.0 and searcher.stopped == "target"
    assert [entry.best_fitness for entry in searcher.history] == sorted(
        entry.best_fitness or 0 for entry in searcher.history
    )


def test_a_seed_program_may_be_left_out() -> None:
    """The parameters come from the target, from trying the fitness, or from the caller."""
    plane = error_against(lambda a, b: a * b + 2)

    assert EvolutionarySearcher(fitness=plane).run(50).startswith("lambda x, y: ")
    assert EvolutionarySearcher(fitness=lambda program: plane(program)).run(50).startswith("lambda x, y: ")
    assert EvolutionarySearcher(fitness=plane, settings=SearchSettings(parameters=["width", "height"])).run(50) in (
        "lambda width, height: width * height + 2",
        "lambda width, height: height * width + 2",
        "lambda width, height: 2 + width * height",
        "lambda width, height: 2 + height * width",
    )


def test_a_bare_expression_stays_one() -> None:
    """The best program is written as the seed program was."""
    assert EvolutionarySearcher("x * 2", error_against(lambda x: 3 * x + 7)).run(50) == "3 * x + 7"


def test_a_program_without_parameters_is_a_number_to_be_found() -> None:
    """It is the same at every point, so one is enough to tell programs apart."""
    searcher = EvolutionarySearcher("lambda: 1", lambda program: abs(read_program(program)() - 7.25))

    assert searcher.run(generations=10) == "lambda: 7.25"


def test_functions_may_be_offered() -> None:
    """Programs call what the caller offers; constants inside a function are fitted as well."""
    searcher = EvolutionarySearcher(
        "lambda x: x", error_against(lambda x: 2 * math.sin(x) + 1), settings=SearchSettings(functions=["sin", "exp"])
    )

    searcher.run(generations=50)

    assert searcher.best_fitness is not None and searcher.best_fitness < 1e-6


def run_in_a_process(hash_seed: str) -> str:
    """Return what a search in a new process finds, and how."""
    code = (
        "from functools import partial\n"
        "from memkit.runtime.evolve.core import EvolutionarySearcher, SearchSettings, fitness_mean_squared_error\n"
        "pairs = [(x, (x ** 3 * 7 + 11) % 13) for x in range(-6, 7)]\n"
        "fitness = partial(fitness_mean_squared_error, target=pairs)\n"
        "settings = SearchSettings(functions=['abs', 'exp'])\n"
        "searcher = EvolutionarySearcher('lambda x: x * 2', fitness, seed=3, settings=settings)\n"
        "print(searcher.run(12), searcher.history, searcher.reasons)\n"
    )
    environment = {"PYTHONHASHSEED": hash_seed, "PYTHONPATH": str(PACKAGE.parents[2])}
    return subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment
    ).stdout


def test_the_same_seed_gives_the_same_run_in_every_process() -> None:
    """Neither the process nor the seed of Python's hashes changes a single generation."""
    first, second = run_in_a_process("1"), run_in_a_process("2")

    assert first == second and "Generation(number=12" in first


@settings(max_examples=10, deadline=None)
@given(st.integers(0, 2**64), st.sampled_from([2, 5, 30]), st.floats(0, 1))
def test_a_run_repeats_itself(seed: int, population: int, rate: float) -> None:
    """Two searchers with the same arguments go through the same generations."""
    runs = [toy(seed=seed, population_size=population, mutation_rate=rate) for _ in range(2)]

    results = [searcher.run(4) for searcher in runs]

    assert results[0] == results[1] and runs[0].history == runs[1].history


def test_different_seeds_search_differently() -> None:
    """The seed is what chance starts from."""
    bent = error_against(lambda x: abs(x) ** 0.7)

    assert len({EvolutionarySearcher("lambda x: x", bent, seed=seed).run(2) for seed in range(8)}) > 1


def test_running_on_equals_one_long_run() -> None:
    """A search that stopped after some generations goes on as if it had not."""
    target = error_against(lambda x: abs(x) ** 0.7)
    once, twice = (EvolutionarySearcher("lambda x: x", target, seed=4) for _ in range(2))

    once.run(12)
    twice.run(5)
    twice.run(7)

    assert once.history == twice.history and once.best_program == twice.best_program


@settings(max_examples=12, deadline=None)
@given(
    st.integers(0, 1000),
    st.sampled_from([2, 3, 7, 30, 64]),
    st.sampled_from([1, 5, 12, 40]),
    st.sampled_from([0, 0.2, 1]),
)
def test_what_is_judged_is_new_allowed_bounded_and_within_the_budget(
    seed: int, population: int, size: int, rate: float
) -> None:
    """No program is judged twice, every one is in the language and small enough, and no generation costs more."""
    judged: list[str] = []

    def fitness(program: str) -> float:
        judged.append(program)
        return abs(len(program) - 60) + read_program(program)(0.3) % 1

    settings = SearchSettings(max_size=size, functions=["sin", "exp", "max"])
    breeding = {"population_size": population, "mutation_rate": rate}
    searcher = EvolutionarySearcher("lambda x: x", fitness, seed=seed, **breeding, settings=settings)
    searcher.run(generations=6)

    programs = judged[1:]  # the first call shows whether the fitness is a squared error
    assert len(programs) == len(set(programs)) == searcher.evaluations <= population * 6
    assert all(read_program(program).body.size <= size for program in programs)
    spent = [0, *(entry.evaluations for entry in searcher.history)]
    assert all(after - before <= population for before, after in itertools.pairwise(spent))


def failing(program: str) -> float:
    """Raise for every program."""
    raise LookupError(f"no {len(program) and 'score'} here")


@pytest.mark.parametrize(
    ("fitness", "reason"),
    [
        (failing, "LookupError: no score here"),
        (lambda program: math.nan, "nan"),
        (lambda program: math.inf, "inf"),
        (lambda program: -math.inf, "-inf"),
        (lambda program: True, "a boolean"),
        (lambda program: None, "None"),
        (lambda program: "1", "'1'"),
        (lambda program: 10**5000, "too large"),
    ],
)
def test_what_is_no_finite_number_never_scores(fitness: Callable[[str], Any], reason: str) -> None:
    """A run in which nothing scored says so, with the reason, instead of returning a program."""
    searcher = EvolutionarySearcher("lambda x: x", fitness)

    with pytest.raises(NothingScored) as caught:
        searcher.run(generations=2)

    assert reason in str(caught.value) and caught.value.exit_code == 1
    assert searcher.best_fitness is None and searcher.best_program is None
    assert sum(searcher.reasons.values()) == searcher.evaluations > 0


@pytest.mark.parametrize("bad", [math.nan, -math.inf, True, None])
def test_one_bad_score_never_wins(bad: Any) -> None:
    """A NaN, an infinity or a bool passes no comparison, in either direction."""
    for minimize in (True, False):

        def fitness(program: str) -> Any:
            return bad if "*" in program else float(len(program))

        searcher = EvolutionarySearcher("lambda x: x + 1", fitness, minimize=minimize)
        assert "*" not in searcher.run(generations=4)


def test_a_fitness_with_steps_is_climbed_too() -> None:
    """Where nothing can be fitted exactly, because the score moves in steps, the search still gets there."""

    def steps(program: str) -> float:
        function = read_program(program)
        return sum(int(abs(function(x) - (x * x + 3))) for x in range(-6, 7))

    searcher = EvolutionarySearcher("lambda x: x", steps, settings=SearchSettings(target_fitness=0))
    searcher.run(generations=50)

    assert searcher.stopped == "target"


def test_patience_ends_a_search_that_stands_still() -> None:
    """After so many generations without a better program the run ends and says why."""
    searcher = EvolutionarySearcher("lambda x: x", lambda program: 1.0, settings=SearchSettings(patience=3))

    searcher.run(generations=50)

    assert searcher.stopped == "patience" and len(searcher.history) == 4


class Speechless(Exception):
    """Cannot be printed."""

    def __str__(self) -> str:
        raise RuntimeError("no words")


@pytest.mark.parametrize(
    ("problem", "reason"),
    [(Speechless(), "Speechless: it cannot say why"), (ValueError("a\nb\n"), "ValueError: a b")],
)
def test_whatever_a_fitness_raises_is_one_line(problem: Exception, reason: str) -> None:
    """An exception that cannot be printed ends nothing, and one of several lines is told in one."""

    def raising(program: str) -> float:
        raise problem

    searcher = EvolutionarySearcher("lambda x: x", raising, population_size=4)
    with pytest.raises(NothingScored):
        searcher.run(1)

    assert set(searcher.reasons) == {reason}


def test_a_search_ends_when_the_fitness_is_broken_from_the_start() -> None:
    """A fitness that never gives a score is not asked for all of fifty generations; the error says what it gave."""
    searcher = EvolutionarySearcher("lambda x: x", lambda program: math.nan, population_size=4)

    with pytest.raises(NothingScored, match="nan"):
        searcher.run(generations=50)

    assert searcher.stopped == "unscored" and len(searcher.history) == 5


def test_a_search_ends_when_the_fitness_breaks_on_the_way_and_can_go_on() -> None:
    """A hundred programs in a row without a score are no bad luck; once the fitness works again the search goes on."""
    asked = Counter[str]()

    def breaking(program: str) -> float:
        asked["all"] += 1
        return math.nan if 30 < asked["all"] <= 30 + 100 + 20 else read_program(program)(3.0)

    searcher = EvolutionarySearcher("lambda x: x", breaking, population_size=10, minimize=False)
    searcher.run(generations=50)

    assert searcher.stopped == "unscored" and 100 <= searcher.evaluations - 30 < 130
    resumed = EvolutionarySearcher("lambda x: x", breaking, population_size=10, minimize=False)
    resumed.restore(searcher.state())
    resumed.run(generations=1)
    assert resumed.stopped == "unscored"
    asked["all"] = 1000
    resumed.run(generations=2)
    assert resumed.stopped == "generations" and resumed.history[-1].best_fitness is not None


def test_the_history_never_gets_worse() -> None:
    """Each generation is written down, with the best so far and what it has cost."""
    searcher = toy(seed=1, target_fitness=None)
    searcher.run(generations=3)

    assert [entry.number for entry in searcher.history] == list(range(1, len(searcher.history) + 1))
    best = [entry.best_fitness for entry in searcher.history if entry.best_fitness is not None]
    assert best == sorted(best, reverse=True)
    assert searcher.history[-1].best_program == searcher.best_program


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"fitness_fn": None}, "one fitness"),
        ({"fitness": len}, "one fitness"),
        ({"fitness_fn": 5}, "must be a function"),
        ({"fitness_fn": fitness_mean_squared_error}, "needs a target"),
        ({"fitness_fn": error_against(lambda a, b: a)}, "takes 1 arguments"),
        ({"population_size": 1}, "population_size"),
        ({"population_size": 2.5}, "population_size"),
        ({"population_size": True}, "population_size"),
        ({"mutation_rate": 1.5}, "mutation_rate"),
        ({"mutation_rate": math.nan}, "mutation_rate"),
        ({"patience": 0}, "patience"),
        ({"seed": None}, "`seed` is None"),
        ({"fitness_fn": len, "executor": 4}, "not 4"),
        ({"max_size": 0}, "max_size"),
        ({"target_fitness": math.nan}, "target_fitness"),
        ({"functions": ["sin", "eval"]}, "Unknown functions: eval"),
        ({"parameters": ["x"]}, "leave out `parameters`"),
        ({"seed_program": None, "parameters": ["if"]}, "'if'"),
        ({"seed_program": {"x": 1}}, "needs a `space`"),
        ({"seed_program": abs}, "is source text"),
    ],
)
def test_wrong_settings_are_refused_before_the_search(options: dict[str, Any], reason: str) -> None:
    """The error names the setting."""
    with pytest.raises(EvolveError) as caught:
        toy(**options)

    assert reason in str(caught.value) and caught.value.exit_code == 2


def test_a_hostile_seed_program_is_refused() -> None:
    """What is not in the language is refused before it is judged."""
    with pytest.raises(RefusedProgram, match="Call of Attribute"):
        toy(seed_program="lambda x: __import__('os').getpid()")


def test_generations_are_at_least_one() -> None:
    """A run without generations is a mistake."""
    with pytest.raises(EvolveError, match="generations"):
        toy().run(generations=0)


def test_the_room_works_copied_under_its_short_name(tmp_path: Path) -> None:
    """Copied as ``evolve`` it imports nothing but the standard library and itself, and finds the same program."""
    shutil.copytree(PACKAGE, tmp_path / "evolve")
    code = (
        f"import sys; sys.path.insert(0, {str(tmp_path)!r})\n"
        "from evolve.core import EvolutionarySearcher, SearchSettings, fitness_mean_squared_error\n"
        "def fitness(program): return fitness_mean_squared_error(program, target=lambda x: x**2 + 2*x + 1)\n"
        "print(EvolutionarySearcher(seed_program='lambda x: x * 2', fitness_fn=fitness).run(generations=50))\n"
        "strange = {name.split('.')[0] for name in sys.modules} - set(sys.stdlib_module_names)\n"
        "assert strange <= {'evolve', '__main__'}, strange\n"
    )

    done = subprocess.run([sys.executable, "-I", "-S", "-c", code], capture_output=True, text=True, check=True)

    assert done.stdout.strip() == toy().run(generations=50)


def test_nothing_in_the_room_can_run_text() -> None:
    """The room's own source calls neither eval nor exec, and what it compiles is dropped at once."""
    for path in PACKAGE.rglob("*.py"):
        nodes = list(ast.walk(ast.parse(path.read_text("utf-8"))))
        dropped = {
            id(node.value.func) for node in nodes if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call)
        }
        names = {
            node.id
            for node in nodes
            if isinstance(node, ast.Name) and not (node.id == "compile" and id(node) in dropped)
        }
        assert not names & {"eval", "exec", "compile", "__import__"}, path
