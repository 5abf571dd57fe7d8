"""Measure the evolutionary search: how often it finds a function, against DEAP's trees with the same evaluations.

``python benchmarks/evolve.py --json`` prints one row a case: ``{case, ours, peer, ratio, …}``. ``ours`` and ``peer``
are hits, of ``runs`` runs with different seeds; a hit is a mean squared error below 1e-6 (for the Nguyen functions,
which ``--nguyen`` adds: a largest error below 0.01). DEAP is left out where it is not installed.
"""

from __future__ import annotations

import argparse
import json
import math
import operator
import random
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from importlib.util import find_spec
from typing import Any

from memkit.evolve.core import EvolutionarySearcher, fitness_mean_squared_error, read_program

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
    functions: tuple[str, ...] = ()
    is_hit: Callable[[Sequence[float]], bool] = lambda errors: sum(error**2 for error in errors) / len(errors) < 1e-6


@dataclass(frozen=True)
class Row:
    """What one case measured."""

    case: str
    ours: int
    peer: int | None
    ratio: float | None
    runs: int
    evaluations: int
    """Evaluations that both sides may spend in a run."""
    ours_spent: float
    """Evaluations that ours spent on average."""
    ours_seconds: float
    peer_seconds: float | None


def polynomial(coefficients: Sequence[int]) -> Callable[[float], float]:
    """Return the polynomial with the given coefficients, the constant first."""
    return lambda x: float(sum(factor * x**degree for degree, factor in enumerate(coefficients)))


def toy_cases(count: int) -> Iterator[Case]:
    """Yield polynomials at a budget of 30 programs and 50 generations: three known ones and ``count`` random ones."""
    named = {"x^2+2x+1": [1, 2, 1], "3x+7": [7, 3], "x^3-x+5": [5, -1, 0, 1]}
    for name, coefficients in named.items():
        yield Case(name, polynomial(coefficients), LINE, 30, 50)
    chance = random.Random(1)
    for index in range(count):
        coefficients = [chance.randint(-5, 5) for _ in range(5)]
        yield Case(f"degree 4, {index + 1}: {coefficients}", polynomial(coefficients), LINE, 30, 50)


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
            calls,
            lambda e: max(map(abs, e)) < 0.01,
        )


def errors_of(case: Case, function: Callable[..., float]) -> list[float]:
    """Return the error at each point, infinity where ``function`` has no value."""
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
        functions=case.functions,
        seed=seed,
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
    """Return the quotient, 1 where there is none."""
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
    population = [box.individual() for _ in range(case.population)]
    best = tools.HallOfFame(1)
    spent = 0
    while spent < case.population * case.generations:
        fresh = [individual for individual in population if not individual.fitness.valid]
        for individual in fresh:
            individual.fitness.values = evaluate(individual)
        spent += len(fresh)
        best.update(population)
        parents = [box.clone(parent) for parent in box.select(population, len(population) - 1)]
        population = [box.clone(best[0]), *algorithms.varAnd(parents, box, cxpb=0.5, mutpb=0.3)]
    return case.is_hit(errors_of(case, gp.compile(best[0], chosen)))


def measured(case: Case, runs: int) -> Row:
    """Return the row of one case."""
    started = time.perf_counter()
    results = [ours(case, seed) for seed in range(runs)]
    between = time.perf_counter()
    hits = sum(hit for hit, _ in results)
    spent = sum(count for _, count in results) / runs
    budget = case.population * case.generations
    if find_spec("deap") is None:
        return Row(case.name, hits, None, None, runs, budget, spent, between - started, None)
    others = sum(peer(case, seed) for seed in range(runs))
    ratio = hits / others if others else None
    return Row(case.name, hits, others, ratio, runs, budget, spent, between - started, time.perf_counter() - between)


def main() -> None:
    """Print one row a case."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true", help="one JSON object a line")
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--random", type=int, default=5, help="how many random polynomials of degree 4")
    parser.add_argument("--nguyen", action="store_true", help="the Nguyen functions, three seeds each")
    options = parser.parse_args()
    planned = [(case, options.seeds) for case in toy_cases(options.random)]
    planned += [(case, 3) for case in nguyen_cases()] if options.nguyen else []
    for case, runs in planned:
        row = measured(case, runs)
        if options.json:
            print(json.dumps(asdict(row)), flush=True)
        else:
            other = "not installed" if row.peer is None else f"{row.peer} in {row.peer_seconds:.1f} s"
            print(f"{row.case}: {row.ours} of {runs} in {row.ours_seconds:.1f} s; DEAP {other}", flush=True)


if __name__ == "__main__":
    main()
