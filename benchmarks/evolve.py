"""Measure the evolutionary search: how often it finds a function, against DEAP and gplearn with the same evaluations.

``python benchmarks/evolve.py --json`` prints one row per case: ``{case, ours, peer, ratio, …}``, and one for all cases
of a kind. ``ours``, ``peer`` (DEAP) and ``gplearn`` are hits, of ``runs`` runs with different seeds; a hit is a mean
squared error below 1e-6 for polynomials, and a largest error below 0.01 for the Nguyen functions, which ``--nguyen``
adds. Each side may use the same number of evaluations and stops early at the same mean squared error. Seconds are
processor time, all sides in one process, one after another. A peer that is not installed is left out.

An evaluation judges one candidate. Ours computes the weights of a candidate's terms before it is judged
(linear least squares), which costs time and no evaluation.
"""

from __future__ import annotations

import argparse
import json
import math
import operator
import random
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from importlib.util import find_spec
from typing import Any

from memkit.runtime.evolve.core import EvolutionarySearcher, SearchSettings, fitness_mean_squared_error, read_program

Points = Sequence[tuple[float, ...]]
LINE: Points = tuple((index / 2,) for index in range(-10, 11))


@dataclass(frozen=True)
class Case:
    """One function to find."""

    name: str
    target: Callable[..., float]
    points: Points
    population: int
    generations: int
    enough: float
    """The mean squared error at which every side stops."""
    functions: tuple[str, ...] = ()
    deap_population: int | None = None
    gplearn_population: int | None = None
    """Set if a peer does better with another population; its generations follow from the budget."""
    is_hit: Callable[[Sequence[float]], bool] = lambda errors: sum(error**2 for error in errors) / len(errors) < 1e-6


@dataclass(frozen=True)
class Row:
    """The results of one case."""

    case: str
    ours: int
    peer: int | None
    ratio: float | None
    runs: int
    evaluations: int
    """Evaluations that each side may use in a run."""
    ours_spent: float
    """Average evaluations that ours used."""
    ours_seconds: float
    peer_seconds: float | None
    gplearn: int | None
    gplearn_seconds: float | None


def polynomial(coefficients: Sequence[int]) -> Callable[[float], float]:
    """Return the polynomial with the given coefficients, the constant first."""
    return lambda x: float(sum(factor * x**degree for degree, factor in enumerate(coefficients)))


def toy_cases(count: int) -> Iterator[Case]:
    """Yield polynomials at a budget of 30 programs and 50 generations: three known ones and ``count`` random ones."""
    named = {"x^2+2x+1": [1, 2, 1], "3x+7": [7, 3], "x^3-x+5": [5, -1, 0, 1]}
    for name, coefficients in named.items():
        yield Case(name, polynomial(coefficients), LINE, 30, 50, 1e-12)
    chance = random.Random(1)
    for index in range(count):
        coefficients = [chance.randint(-5, 5) for _ in range(5)]
        yield Case(f"degree 4, {index + 1}: {coefficients}", polynomial(coefficients), LINE, 30, 50, 1e-12)


def nguyen_cases() -> Iterator[Case]:
    """Yield the Nguyen functions at 20,000 evaluations."""
    plane = [(chance.random(), chance.random()) for chance in [random.Random(2)] for _ in range(20)]

    def line(low: float, high: float) -> Points:
        return [(low + (high - low) * index / 19,) for index in range(20)]

    functions: dict[str, tuple[Callable[..., float], Points]] = {
        "1": (lambda x: x**3 + x**2 + x, line(-1, 1)),
        "2": (lambda x: x**4 + x**3 + x**2 + x, line(-1, 1)),
        "3": (lambda x: x**5 + x**4 + x**3 + x**2 + x, line(-1, 1)),
        "5": (lambda x: math.sin(x * x) * math.cos(x) - 1, line(-1, 1)),
        "7": (lambda x: math.log(x + 1) + math.log(x * x + 1), line(0, 2)),
        "8": (math.sqrt, line(0, 4)),
        "11": (operator.pow, plane),
        "12": (lambda x, y: x**4 - x**3 + y * y / 2 - y, plane),
    }
    calls = ("sin", "cos", "exp", "log")
    for number, (target, points) in functions.items():
        yield Case(
            f"Nguyen {number}",
            target,
            points,
            200,
            100,
            1e-6,
            calls,
            500,
            1000,
            lambda e: max(map(abs, e)) < 0.01,
        )


def errors_of(case: Case, function: Callable[..., float]) -> list[float]:
    """Return the error at each point, infinity if ``function`` has no value."""
    errors = []
    for point in case.points:
        try:
            errors.append(function(*point) - case.target(*point))
        except (ArithmeticError, ValueError):
            errors.append(math.inf)
    return errors


def ours(case: Case, seed: int) -> tuple[bool, int]:
    """Return whether one run finds the function, and the evaluations it took."""
    pairs = [(point, case.target(*point)) for point in case.points]
    parameters = ("x", "y")[: len(case.points[0])]
    searcher = EvolutionarySearcher(
        seed_program=f"lambda {', '.join(parameters)}: x * 2",
        fitness_fn=partial(fitness_mean_squared_error, target=pairs),
        population_size=case.population,
        seed=seed,
        settings=SearchSettings(functions=case.functions, target_fitness=case.enough),
    )
    best = searcher.run(generations=case.generations)
    return case.is_hit(errors_of(case, read_program(best))), searcher.evaluations


def primitives(case: Case) -> Any:
    """Return DEAP's primitives for ``case``, as its symbolic regression example has them."""
    from deap import gp

    chosen = gp.PrimitiveSet("MAIN", len(case.points[0]))
    for function in (operator.add, operator.sub, operator.mul, divided):
        chosen.addPrimitive(function, 2)
    for name in case.functions:
        chosen.addPrimitive({"log": logarithm}.get(name) or getattr(math, name), 1)
    chosen.addEphemeralConstant("number", partial(random.randint, -5, 5))
    return chosen


def divided(left: float, right: float) -> float:
    """Return the quotient, 1 if there is none."""
    return left / right if right else 1.0


def logarithm(value: float) -> float:
    """Return the logarithm of the absolute value, 0 for 0."""
    return math.log(abs(value)) if value else 0.0


def peer(case: Case, seed: int) -> bool:
    """Return whether one run of DEAP finds the function within the same number of evaluations."""
    from deap import algorithms, base, creator, gp, tools

    random.seed(seed)
    if not hasattr(creator, "Individual"):
        creator.create("FitnessMin", base.Fitness, weights=(-1.0,))
        creator.create("Individual", gp.PrimitiveTree, fitness=creator.FitnessMin)
    chosen = primitives(case)

    def evaluate(individual: Any) -> tuple[float]:
        try:
            errors = errors_of(case, gp.compile(individual, chosen))
            error = sum(error**2 for error in errors) / len(errors)
        except OverflowError:
            return (math.inf,)
        return (error if math.isfinite(error) else math.inf,)

    box = base.Toolbox()
    box.register("expr", gp.genHalfAndHalf, pset=chosen, min_=1, max_=2)
    box.register("individual", tools.initIterate, creator.Individual, box.expr)
    box.register("evaluate", evaluate)
    box.register("select", tools.selTournament, tournsize=3)
    box.register("mate", gp.cxOnePoint)
    box.register("expr_mut", gp.genFull, min_=0, max_=2)
    box.register("mutate", gp.mutUniform, expr=box.expr_mut, pset=chosen)
    for name in ("mate", "mutate"):
        box.decorate(name, gp.staticLimit(key=operator.attrgetter("height"), max_value=17))
    population = [box.individual() for _ in range(case.deap_population or case.population)]
    best = tools.HallOfFame(1)
    spent = 0
    while spent < case.population * case.generations and not (best and best[0].fitness.values[0] <= case.enough):
        fresh = [individual for individual in population if not individual.fitness.valid]
        for individual in fresh:
            individual.fitness.values = evaluate(individual)
        spent += len(fresh)
        best.update(population)
        parents = [box.clone(parent) for parent in box.select(population, len(population) - 1)]
        population = [box.clone(best[0]), *algorithms.varAnd(parents, box, cxpb=0.5, mutpb=0.3)]
    return case.is_hit(errors_of(case, gp.compile(best[0], chosen)))


def gplearn(case: Case, seed: int) -> bool:
    """Return whether one run of gplearn finds the function within the same number of evaluations."""
    import numpy
    from gplearn.functions import make_function
    from gplearn.genetic import SymbolicRegressor

    def exponential(values: Any) -> Any:
        with numpy.errstate(over="ignore"):
            return numpy.exp(numpy.minimum(values, 100.0))

    made = {"exp": make_function(function=exponential, name="exp", arity=1)}
    population = case.gplearn_population or case.population
    regressor = SymbolicRegressor(
        population_size=population,
        generations=case.population * case.generations // population,
        function_set=["add", "sub", "mul", "div", *(made.get(name, name) for name in case.functions)],
        metric="mse",
        const_range=(-5.0, 5.0),
        stopping_criteria=case.enough,
        random_state=seed,
    )
    points = numpy.array(case.points)
    wanted = numpy.array([case.target(*point) for point in case.points])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        regressor.fit(points, wanted)
        return bool(case.is_hit(list(regressor.predict(points) - wanted)))


def timed(runs: int, run: Callable[[int], Any]) -> tuple[list[Any], float]:
    """Return the result of ``run`` for each seed, and the total processor time."""
    started = time.process_time()
    return [run(seed) for seed in range(runs)], time.process_time() - started


def measured(case: Case, runs: int) -> Row:
    """Return the row of one case."""
    results, seconds = timed(runs, partial(ours, case))
    hits = sum(hit for hit, _ in results)
    spent = sum(count for _, count in results) / runs
    others: list[tuple[int | None, float | None]] = []
    for name, side in (("deap", peer), ("gplearn", gplearn)):
        found, taken = timed(runs, partial(side, case)) if find_spec(name) else (None, None)
        others.append((None if found is None else sum(found), taken))
    (deap_hits, deap_seconds), (gplearn_hits, gplearn_seconds) = others
    ratio = hits / deap_hits if deap_hits else None
    budget = case.population * case.generations
    return Row(
        case.name, hits, deap_hits, ratio, runs, budget, spent, seconds, deap_seconds, gplearn_hits, gplearn_seconds
    )


def total(name: str, rows: Sequence[Row]) -> Row:
    """Return one row for several cases."""

    def added(label: str) -> Any:
        values = [getattr(row, label) for row in rows]
        return None if None in values else sum(values)

    hits, deap_hits, runs = added("ours"), added("peer"), added("runs")
    return Row(
        name,
        hits,
        deap_hits,
        hits / deap_hits if deap_hits else None,
        runs,
        max(row.evaluations for row in rows),
        sum(row.ours_spent * row.runs for row in rows) / runs,
        added("ours_seconds"),
        added("peer_seconds"),
        added("gplearn"),
        added("gplearn_seconds"),
    )


def shown(row: Row) -> str:
    """Return a row as a line for people."""
    sides = [("DEAP", row.peer, row.peer_seconds), ("gplearn", row.gplearn, row.gplearn_seconds)]
    others = [f"{name} {hits} in {seconds:.1f} s" for name, hits, seconds in sides if seconds is not None]
    return "; ".join([f"{row.case}: {row.ours} of {row.runs} in {row.ours_seconds:.1f} s", *others])


def main() -> None:
    """Print one row per case, and one for all of a kind."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true", help="one JSON object a line")
    parser.add_argument("--seeds", type=int, default=20, help="runs of each polynomial")
    parser.add_argument("--random", type=int, default=5, help="how many random polynomials of degree 4")
    parser.add_argument("--nguyen", action="store_true", help="the Nguyen functions, three seeds each")
    options = parser.parse_args()
    kinds = [("polynomials, all", list(toy_cases(options.random)), options.seeds)]
    kinds += [("Nguyen, all", list(nguyen_cases()), 3)] if options.nguyen else []
    for kind, cases, runs in kinds:
        rows = []
        for case in cases if runs else []:
            rows.append(measured(case, runs))
            print(json.dumps(asdict(rows[-1])) if options.json else shown(rows[-1]), flush=True)
        if rows:
            row = total(kind, rows)
            print(json.dumps(asdict(row)) if options.json else shown(row), flush=True)


if __name__ == "__main__":
    main()
