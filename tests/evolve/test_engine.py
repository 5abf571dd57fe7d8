"""The engine: the same run whatever evaluates it, saved and gone on with, and what it writes down."""

from __future__ import annotations

import json
import math
import os
import random
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memkit.runtime.evolve.core import (
    BadCheckpoint,
    EvolutionarySearcher,
    EvolveError,
    Individual,
    ProposalRequest,
    ProposedChange,
    Score,
    SearchSettings,
    fitness_mean_squared_error,
    read_program,
)
from tests.evolve import tasks
from tests.evolve.tasks import deadly, roughness

SEED = "lambda x: x * 2"
SPACE = {"rate": (0.0, 1.0), "size": (1, 64), "mode": ["slow", "fast"]}


def search(fitness: Callable[[Any], Any] = roughness, seed_program: Any = SEED, **options: Any) -> EvolutionarySearcher:
    """Return a small search."""
    return tasks.searcher(seed_program, fitness, **{"seed": 5, "functions": ["abs", "sqrt"], **options})


def told(searcher: EvolutionarySearcher, generations: int) -> tuple[Any, ...]:
    """Return everything that a search tells about ``generations`` generations."""
    for _ in range(generations):
        searcher.generation()
    return searcher.history, searcher.drain(), searcher.archive, searcher.reasons, searcher.state()


@contextmanager
def threads(count: int) -> Iterator[Executor]:
    """Offer threads."""
    with ThreadPoolExecutor(count) as pool:
        yield pool


@contextmanager
def processes(count: int) -> Iterator[Executor]:
    """Offer processes."""
    with ProcessPoolExecutor(count) as pool:
        yield pool


@contextmanager
def dask(count: int) -> Iterator[Executor]:
    """Offer a Dask cluster within this process, on the loopback address."""
    distributed = pytest.importorskip("distributed")
    with (
        distributed.LocalCluster(
            n_workers=count,
            threads_per_worker=1,
            processes=False,
            dashboard_address=None,
            protocol="tcp",
            host="127.0.0.1",
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client.get_executor()


@pytest.mark.parametrize("workers", [threads, processes, dask])
@pytest.mark.parametrize("count", [1, 4])
def test_the_run_is_the_same_whatever_evaluates_it(workers: Callable[..., Any], count: int) -> None:
    """One worker or four, threads, processes or a cluster: same generations, same family tree, same archive."""
    here = told(search(), 4)

    with workers(count) as executor:
        there = told(search(executor=executor), 4)

    assert there == here and len(here[1]) > 80


class Shuffled(Executor):
    """Finishes work in an order of chance, long after it was handed in."""

    def __init__(self, chance: random.Random) -> None:
        self._chance = chance
        self._pool = ThreadPoolExecutor(8)

    def submit(self, function: Callable[..., Any], /, *args: Any, **named: Any) -> Future[Any]:
        """Run ``function`` after a moment of chance."""
        delay = self._chance.random() / 500
        return self._pool.submit(lambda: (time.sleep(delay), function(*args, **named))[1])


@settings(max_examples=5, deadline=None)
@given(st.integers(0, 10**6))
def test_the_order_in_which_workers_finish_decides_nothing(seed: int) -> None:
    """Whoever is slow, the archive and the family tree are the same."""
    assert told(search(executor=Shuffled(random.Random(seed))), 2) == told(search(), 2)


def test_a_worker_that_dies_is_a_score_with_a_reason() -> None:
    """The one program that kills its process gets no score, its neighbours keep theirs, and the search goes on."""
    with ProcessPoolExecutor(2) as pool:
        searcher = search(deadly, executor=pool)
        history, individuals, *_ = told(searcher, 3)

    dead = [item for item in individuals if item.score.reason == "the worker that evaluated it died"]
    assert dead and all("3 * x" in item.program or "x * 3" in item.program for item in dead)
    assert all(item.score.value == roughness(item.program) for item in individuals if item.score.value is not None)
    assert len(history) == 3 and searcher.reasons["the worker that evaluated it died"] == len(dead)
    searcher.close()


def test_an_executor_may_be_made_by_a_function() -> None:
    """The search makes it, replaces it when it breaks, and stops it when it is closed."""
    made: list[ProcessPoolExecutor] = []

    def make() -> ProcessPoolExecutor:
        made.append(ProcessPoolExecutor(2))
        return made[-1]

    searcher = search(deadly, executor=make)
    searcher.run(3)
    searcher.close()

    assert len(made) > 1
    with pytest.raises(RuntimeError):
        made[-1].submit(print)


class Failing(Executor):
    """Fails for some programs as a cluster does that lost a worker."""

    def submit(self, function: Callable[..., Any], /, *args: Any, **named: Any) -> Future[Any]:
        """Return a failure for programs of even length."""
        future: Future[Any] = Future()
        if len(args[0]) % 2:
            future.set_result(function(*args, **named))
        else:
            future.set_exception(ConnectionError("the worker is gone"))
        return future


def test_a_cluster_that_loses_work_costs_those_programs() -> None:
    """Whatever a worker fails with is the reason of that program's missing score."""
    searcher = search(executor=Failing())

    searcher.run(2)

    assert searcher.reasons["the worker failed: ConnectionError: the worker is gone"] > 5
    assert len(searcher.best_program) % 2


def test_a_fitness_that_cannot_travel_is_refused_at_once() -> None:
    """Before anything is judged, the error says what to do."""
    with ProcessPoolExecutor(1) as pool, pytest.raises(EvolveError, match="top of a module"):
        search(lambda program: 1.0, executor=pool)


def bumpy(program: dict[str, Any]) -> dict[str, float]:
    """Return metrics of a configuration."""
    return {"combined_score": -((program["rate"] - 0.3) ** 2) - abs(program["size"] - 17), "cost": program["size"]}


@pytest.mark.parametrize("name", ["expression", "configuration", "metrics"])
@settings(max_examples=6, deadline=None)
@given(stops=st.lists(st.integers(1, 8), max_size=3), seed=st.integers(0, 1000))
def test_stop_and_restore_equals_the_straight_run(name: str, stops: list[int], seed: int) -> None:
    """Saved as JSON text and restored after any generations, the search does what it would have done."""

    def new() -> EvolutionarySearcher:
        if name == "expression":
            return search(seed=seed)
        if name == "configuration":
            fitness = lambda program: (program["rate"] - 0.3) ** 2 + program["size"]  # noqa: E731
            return EvolutionarySearcher(fitness=fitness, seed=seed, settings=SearchSettings(space=SPACE))
        return EvolutionarySearcher(
            fitness=bumpy,
            minimize=False,
            seed=seed,
            settings=SearchSettings(space=SPACE, features={"cost": 8.0}, proposers=[Halving()]),
        )

    straight, broken, individuals = new(), new(), []
    for generation in range(9):
        straight.generation()
        broken.generation()
        individuals += broken.drain()
        if generation in stops:
            saved = json.dumps(broken.state())
            broken = new()
            broken.restore(json.loads(saved))

    assert broken.state() == straight.state() and broken.history == straight.history
    assert individuals == straight.drain() and broken.archive == straight.archive


def test_the_weights_of_a_sum_are_those_of_the_straight_run() -> None:
    """What an earlier sum of the same terms in another order looked like is no part of a saved search."""
    fitness = partial(fitness_mean_squared_error, target=math.cosh, points=[index / 7 for index in range(-7, 14)])
    straight, broken = (search(fitness, functions=(), population_size=20) for _ in range(2))
    for _ in range(3):
        straight.generation()
        broken.generation()
        resumed = search(fitness, functions=(), population_size=20)
        resumed.restore(broken.state())
        broken = resumed

    assert broken.state() == straight.state()


@pytest.mark.parametrize(
    ("damage", "reason"),
    [
        (lambda saved: saved[: len(saved) // 2], "truncated"),
        (lambda saved: json.dumps({**json.loads(saved), "format": 99}), "format 99"),
        (lambda saved: json.dumps({**json.loads(saved), "islands": []}), "damaged"),
        (lambda saved: json.dumps({**json.loads(saved), "programs": {}}), "damaged"),
        (lambda saved: json.dumps({**json.loads(saved), "random": [[3, [1, 2], None]] * 2}), "damaged"),
        (
            lambda saved: json.dumps({key: value for key, value in json.loads(saved).items() if key != "judge"}),
            "'judge'",
        ),
        (lambda saved: saved.replace("lambda x: ", "lambda x: 1 + "), "does not match its id"),
        (lambda saved: saved.replace('"random": [[3, [', '"random": [[3, [-'), "truncated"),
        (lambda saved: "[]", "not a checkpoint"),
        (lambda saved: "null", "not a checkpoint"),
    ],
)
def test_a_checkpoint_that_cannot_be_gone_on_from_is_refused(damage: Callable[[str], str], reason: str) -> None:
    """Newer, damaged, truncated: the error says so, and exit code 2 comes with it."""
    searcher = search()
    searcher.run(2)
    damaged = damage(json.dumps(searcher.state()))

    with pytest.raises(BadCheckpoint) as caught:
        search().restore(damaged)

    assert reason in str(caught.value) and caught.value.exit_code == 2


@pytest.mark.parametrize(
    "other", [{"seed": 6}, {"population_size": 31}, {"mutation_rate": 0.3}, {"features": {"size": 1.0}}]
)
def test_a_checkpoint_of_another_run_is_refused(other: dict[str, Any]) -> None:
    """The error names the setting that differs."""
    searcher = search()
    searcher.run(1)

    with pytest.raises(BadCheckpoint, match=next(iter(other))):
        search(**other).restore(searcher.state())


def test_a_search_interrupted_within_a_generation_goes_on_from_a_state() -> None:
    """Ctrl-C leaves nothing half done: the searcher asks for a state, and with it the run is the straight one."""
    straight = search()
    told(straight, 3)
    calls = 0

    def interrupted(program: str) -> float:
        nonlocal calls
        calls += 1
        if calls == 80:
            raise KeyboardInterrupt
        return roughness(program)

    searcher = search(interrupted)
    states = [searcher.state()]
    with pytest.raises(KeyboardInterrupt):
        while True:
            searcher.generation()
            states.append(searcher.state())
    with pytest.raises(EvolveError, match="interrupted"):
        searcher.generation()
    with pytest.raises(EvolveError, match="interrupted"):
        searcher.state()
    searcher.restore(states[-1])
    while len(searcher.history) < 3:
        searcher.generation()

    assert searcher.state() == straight.state() and len(states) > 2


def test_the_family_tree_is_whole() -> None:
    """Every parent was judged before, lived on the island of its child, and no program is judged twice."""
    searcher = search(population_size=40)
    individuals = []
    for _ in range(12):
        searcher.generation()
        individuals += searcher.drain()

    places: dict[str, set[int]] = {}
    born: set[str] = set()
    for item in individuals:
        if item.operation == "migrate":
            assert item.parents == (item.id,) and item.id in born and item.island not in places[item.id]
        else:
            assert item.id not in born
            born.add(item.id)
        for parent in item.parents if item.operation not in ("migrate", "tidy") else ():
            assert item.island in places[parent] or parent == individuals[0].id
        places.setdefault(item.id, set()).add(item.island)
    assert len(born) == searcher.evaluations
    assert {item.operation for item in individuals} >= {"start", "mutate", "cross", "tune", "migrate"}
    assert [item.operation for item in individuals].index("seed") == 0
    assert sum(item.operation == "seed" for item in individuals) == 1
    assert {item.island for item in individuals} == {0, 1, 2, 3}
    assert [item.generation for item in individuals] == sorted(item.generation for item in individuals)


def test_the_archive_holds_the_best_of_each_kind() -> None:
    """No program that was bred is better than the one in its cell; probes for fitting numbers are not kept."""
    searcher = search(features={"size": 4, "depth": 2})
    individuals = told(searcher, 6)[1]

    archive = searcher.archive
    for item in individuals:
        if item.score.value is not None and item.operation in ("seed", "start", "mutate", "cross"):
            body = read_program(item.program).body
            kept = archive[(body.size // 4, body.depth // 2)]
            assert kept.score.value is not None and kept.score.value <= item.score.value
    assert len(archive) > 4


def test_metrics_span_an_archive_as_well() -> None:
    """A metric of the fitness tells programs apart; bad programs that differ in nothing are not kept."""

    def fitness(program: str) -> dict[str, float]:
        return {"combined_score": -roughness(program), "letters": len(program), "finite": 1.0, "flag": True}

    searcher = search(fitness, minimize=False, features={"letters": 5})
    searcher.run(3)

    assert all(len(item.program) // 5 == cell for (cell,), item in searcher.archive.items())
    assert len(searcher.archive) > 3
    assert all(set(item.score.metrics) == {"combined_score", "letters", "finite"} for item in searcher.archive.values())


@pytest.mark.parametrize(
    ("features", "reason"),
    [({"score": 1.0}, "is the score"), ({"combined_score": 1}, "is the score"), ({"size": 0}, "above 0"),
     ({"size": math.nan}, "above 0"), ({"size": True}, "above 0")],
)  # fmt: skip
def test_features_that_make_no_sense_are_refused(features: dict[str, Any], reason: str) -> None:
    """The score is no feature, and a cell has a width."""
    with pytest.raises(EvolveError, match=reason):
        search(features=features)


@pytest.mark.parametrize(
    ("answer", "value", "reason"),
    [
        ({"combined_score": 0.5, "other": 9}, 0.5, ""),
        ({"a": 1.0, "b": 2, "note": "text", "flag": True}, 1.5, ""),
        ({"combined_score": True}, None, "a boolean"),
        ({"combined_score": math.nan, "a": 1.0}, None, "not a finite number"),
        ({"a": math.inf, "b": 1.0}, None, "not a finite number"),
        ({"a": math.inf, "b": -math.inf}, None, "not a finite number"),
        ({"flag": True, "error": "text"}, None, "no number"),
        ({}, None, "no number"),
        (Score(0.25, metrics={"a": 1, "b": math.nan, "c": True}), 0.25, ""),
        (Score(math.nan), None, "not a finite number"),
        (Score(None, "out of time"), None, "out of time"),
    ],
)
def test_metrics_and_scores_are_read(answer: Any, value: float | None, reason: str) -> None:
    """The combined score counts, else the mean of the numbers; what is not finite or a truth value never does."""
    searcher = search(lambda program: answer, minimize=False)
    searcher.generation()

    scores = [item.score for item in searcher.drain()]
    assert {score.value for score in scores} == {value} and all(reason in score.reason for score in scores)
    assert all(math.isfinite(number) for score in scores for number in score.metrics.values())


def test_metrics_need_the_direction_said() -> None:
    """Of metrics, higher is better; a search for the lowest says so instead of going the wrong way."""
    with pytest.raises(EvolveError, match="minimize=False"):
        search(lambda program: {"combined_score": 1.0}).run(1)


@pytest.mark.parametrize("bad", [SystemExit, MemoryError, RecursionError])
def test_a_fitness_that_ends_the_program_is_a_score(bad: type[BaseException]) -> None:
    """A program that makes the fitness leave costs itself."""

    def fitness(program: str) -> float:
        if "*" in program:
            raise bad
        return float(len(program))

    assert "*" not in search(fitness).run(2)


def test_a_best_that_is_not_confirmed_is_none() -> None:
    """Whatever wins is judged once more; one that fails there has no score, with the reason."""
    asked: list[str] = []

    def confirm(program: str) -> Score:
        asked.append(program)
        return Score(None, "constant on other inputs") if "x" not in program.partition(":")[2] else Score(1.0)

    searcher = search(lambda program: float(len(program)), confirm=confirm)
    best = searcher.run(5)

    assert "x" in best.partition(":")[2] and best in asked
    assert searcher.reasons["not confirmed: constant on other inputs"] >= 1


def test_a_best_is_worth_the_worse_of_both_scores() -> None:
    """A program that shines on the inputs it was bred on counts as what it is elsewhere."""

    def confirm(program: str) -> Score:
        return Score(100.0 if "*" in program else 50.0)

    searcher = search(lambda program: float(len(program)), confirm=confirm)
    best = searcher.run(5)

    assert searcher.best_fitness == 50.0 and "*" not in best
    assert {each.score.value for each in searcher.drain() if each.program == best and each.operation != "migrate"} == {
        50.0
    }


def test_a_confirmation_that_fails_is_a_doubt() -> None:
    """What the second judge raises is the reason; nothing that it cannot judge becomes the best."""

    def confirm(program: str) -> float:
        if "*" in program:
            raise OSError("held-back inputs are gone")
        return 1.0

    searcher = search(lambda program: -float(len(program)), confirm=confirm)

    assert "*" not in searcher.run(3)
    assert searcher.reasons["not confirmed: OSError: held-back inputs are gone"] > 0


class Scripted:
    """Answers with one text."""

    def __init__(self, name: str, *texts: str | None) -> None:
        self.name = name
        self.requests: list[ProposalRequest] = []
        self._texts = texts

    def propose(self, requests: Sequence[ProposalRequest]) -> list[ProposedChange | None]:
        """Return the texts in turn."""
        start = len(self.requests)
        self.requests += requests
        texts = [self._texts[(start + index) % len(self._texts)] for index in range(len(requests))]
        return [None if text is None else ProposedChange(text, {"tokens": 2}) for text in texts]


class Halving:
    """Proposes configurations of half the size, and now and then nonsense."""

    name = "halving"

    def propose(self, requests: Sequence[ProposalRequest]) -> list[ProposedChange | None]:
        """Return a change for each request, whatever was asked before."""
        return [ProposedChange(json.dumps({"size": item.program["size"] // 2}), {"tokens": 3}) for item in requests]


class Raising(Scripted):
    """Is out of order."""

    def propose(self, requests: Sequence[ProposalRequest]) -> list[ProposedChange | None]:
        """Fail."""
        raise ConnectionError("no network")


def of_model(individuals: Sequence[Individual], name: str) -> list[Individual]:
    """Return what one proposer came to."""
    return [item for item in individuals if item.operation == f"model:{name}"]


def test_models_propose_and_the_best_of_them_is_asked_most() -> None:
    """What helps is taken up; who contributes is asked more often; both stand in the family tree."""
    good = Scripted("good", *[f"lambda x: {step / 40} * abs(x) + sqrt(abs(x))" for step in range(40)])
    bad = Scripted("bad", *[f"lambda x: {step + 9} * x * x * x" for step in range(400)])
    searcher = search(proposers=[bad, good])

    individuals = told(searcher, 8)[1]

    tried = {name: len(of_model(individuals, name)) for name in ("good", "bad")}
    stood = searcher.state()["proposers"]
    assert tried == {name: each["tries"] for name, each in stood.items()}
    assert stood["good"]["wins"] > stood["bad"]["wins"] and min(tried.values()) > 0
    assert searcher.usage["bad"]["tokens"] == 2 * tried["bad"]
    assert all(item.answer for item in of_model(individuals, "good"))
    request = good.requests[0]
    assert request.program != SEED or request.score.value is not None
    assert len({item.id for item in good.requests + bad.requests}) == len(good.requests + bad.requests)


def test_models_are_asked_about_the_seed_program_first() -> None:
    """A change written for the program as it is given applies, before anything has bettered that program away."""
    proposer = Scripted("m", "lambda x: x * 3")
    searcher = search(proposers=[proposer])

    searcher.generation()
    first = {request.program for request in proposer.requests}
    individuals = searcher.drain()
    searcher.generation()

    assert first == {SEED} and len({request.program for request in proposer.requests}) > 1
    assert "lambda x: x * 3" in {item.program for item in of_model(individuals, "m")}
    assert len(individuals) <= 30


@pytest.mark.parametrize(
    ("proposer", "reason"),
    [
        (Scripted("m", "lambda x: import os"), "not a Python expression"),
        (Scripted("m", "lambda x: __import__('os')"), "Call of"),
        (Scripted("m", "lambda a, b: a"), "parameters"),
        (Scripted("m", SEED), "does what an earlier one did"),
        (Raising("m", "1"), "m failed: ConnectionError: no network"),
    ],
)
def test_a_proposal_that_does_not_apply_costs_a_try(proposer: Scripted, reason: str) -> None:
    """It is written down without a program and with its reason, takes an evaluation's place, and is never a copy."""
    searcher = search(proposers=[proposer], proposals=1.0)

    individuals = told(searcher, 3)[1]

    failed = of_model(individuals, "m")
    assert failed and all(item.program is None and item.score.value is None for item in failed)
    assert any(reason in item.score.reason for item in failed)
    assert len([item for item in individuals if item.operation != "migrate"]) <= 3 * 30
    assert any(reason in text for text, _ in searcher.reasons.items())


def test_proposers_hear_why_they_failed() -> None:
    """The next request to a proposer carries the reasons of its last failures."""
    proposer = Scripted("m", "lambda x: import os")
    search(proposers=[proposer]).run(3)

    assert proposer.requests[0].failures == () and "not a Python expression" in proposer.requests[-1].failures[-1]


def test_a_proposer_without_a_proposal_leaves_the_place_to_mutation() -> None:
    """None is no failure: the generation is as full as without models."""
    searcher = search(proposers=[Scripted("m", None)], proposals=1.0)
    individuals = told(searcher, 3)[1]

    assert not of_model(individuals, "m") and searcher.evaluations > 60


def test_two_proposers_of_one_name_are_refused() -> None:
    """What each contributes could not be told apart."""
    with pytest.raises(EvolveError, match="same name"):
        search(proposers=[Scripted("m", "1"), Scripted("m", "2")])


def test_the_state_is_plain_and_holds_nothing_of_the_run() -> None:
    """It survives JSON unchanged, and changing it changes nothing in the search."""
    searcher = search()
    searcher.run(2)
    state = searcher.state()

    assert json.loads(json.dumps(state, allow_nan=False)) == state and state["format"] == 1
    state["islands"].clear()
    assert searcher.state()["islands"]
    assert os.getpid() and len(json.dumps(state)) < 200_000


@pytest.mark.parametrize("islands", [1, 2, 5, 10])
def test_as_many_islands_breed_apart_as_the_caller_says(islands: int) -> None:
    """Each has programs of its own, and a state is of a search with as many."""
    searcher = search(islands=islands, population_size=20)
    individuals = told(searcher, 3)[1]

    assert {each.island for each in individuals} == set(range(islands))
    with pytest.raises(BadCheckpoint, match="islands"):
        search(islands=islands - 1 or 2, population_size=20).restore(searcher.state())


@pytest.mark.parametrize("islands", [0, 11, 1.5, True])
def test_a_number_of_islands_that_makes_no_sense_is_refused(islands: Any) -> None:
    """An island needs two programs at least."""
    with pytest.raises(EvolveError, match="islands"):
        search(islands=islands, population_size=20)
