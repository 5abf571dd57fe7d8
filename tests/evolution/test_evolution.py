"""A run survives being ended at any moment, and goes on as if nothing had happened."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import asdict
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from test_run_files import RECORD

from memkit.evolution.account import account_of
from memkit.evolution.answers import RecordedAnswers, RecordingProposer
from memkit.evolution.carrying import GENERATIONS, INTERRUPTED, Audience, Evolution
from memkit.evolution.folder import RunFolder
from memkit.evolution.record import EvolutionSettings
from memkit.runtime.evolve.core import (
    EvolutionarySearcher,
    ProposalRequest,
    ProposedChange,
    SearchSettings,
    fitness_mean_squared_error,
)
from memkit.runtime.evolve.source.species import Programs
from tests.evolve import tasks

TOY = partial(fitness_mean_squared_error, target=lambda x: x * x + 2 * x + 1)
GENERATIONS_OF_TOY = 6
KILLED = 9
CALLS = ("fsync", "replace", "link", "ftruncate", "pwrite", "open", "unlink")


def toy(**settings: Any) -> EvolutionarySearcher:
    """Return a search that takes milliseconds and never ends early."""
    return tasks.searcher("lambda x: x * 2", lambda program: TOY(program) + 1, population_size=16, seed=3, **settings)


def begin(path: Path) -> RunFolder:
    """Return the folder of a new run."""
    folder = RunFolder(path)
    folder.begin(RECORD, {"program.py": b"lambda x: x * 2"})
    return folder


def work(
    path: Path,
    searcher: EvolutionarySearcher | None = None,
    generations: int = GENERATIONS_OF_TOY,
    stop_after: int | None = None,
) -> str:
    """Carry a run on in this process, from whatever its folder holds."""
    folder, told = RunFolder(path), list[int]()
    audience = Audience(
        tell=lambda progress: told.append(progress.generation),
        is_interrupted=lambda: stop_after is not None and len(told) >= stop_after,
    )
    settings, answers = EvolutionSettings(generations=generations), RecordedAnswers(path)
    evolution = Evolution(folder, searcher or toy(), settings, answers, audience, lambda: "2026-01-02T03:04:05Z")
    checkpoint = folder.newest().checkpoint
    if checkpoint is not None:
        evolution.restore(checkpoint)
    return evolution.run()


def told(path: Path) -> dict[str, Any]:
    """Return everything that a run has come to, but for the time that it took."""
    account = account_of(RunFolder(path))
    assert account.checkpoint is not None
    checkpoint = {name: value for name, value in asdict(account.checkpoint).items() if name != "seconds"}
    return {"checkpoint": checkpoint, "judged": account.judged, "texts": dict(account.texts)}


def die_at(number: int) -> Callable[[], None]:
    """Return what makes this process die at the given call to the kernel; a write is cut in the middle."""
    calls = count(1)

    def arm() -> None:
        for name in CALLS:
            real = getattr(os, name)

            def dying(*arguments: Any, _real: Any = real, _name: str = name, **named: Any) -> Any:
                if next(calls) == number:
                    if _name == "pwrite":
                        _real(arguments[0], bytes(arguments[1])[: len(arguments[1]) // 2], arguments[2])
                    os._exit(KILLED)
                return _real(*arguments, **named)

            setattr(os, name, dying)

    return arm


def in_a_child(work: Callable[[], object]) -> int:
    """Run something in a process of its own and return how that ended."""
    child = os.fork()
    if child == 0:
        try:
            work()
        except BaseException:  # noqa: BLE001 - the child must not go on with the tests of its parent
            os._exit(1)
        os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def test_a_run_that_is_killed_anywhere_ends_like_one_that_was_not(tmp_path: Path) -> None:
    """At every call that changes the disk: the run goes on from the generation before, and nothing differs."""
    begin(tmp_path / "straight")
    work(tmp_path / "straight")
    expected = told(tmp_path / "straight")
    killed, lost = 0, 0

    for number in count(1):
        path = tmp_path / f"run-{number}"
        begin(path)
        arm = die_at(number)
        done = in_a_child(lambda: (arm(), work(path)))  # noqa: B023 - it runs before the next turn
        if done == 0:
            break
        assert done == KILLED
        killed += 1
        checkpoint = RunFolder(path).newest().checkpoint
        lost += checkpoint is None
        assert work(path) == GENERATIONS
        assert told(path) == expected, f"killed at call {number}"

    assert killed > 6 * GENERATIONS_OF_TOY
    assert lost < killed / (GENERATIONS_OF_TOY - 1), "only who is killed in the first generation begins again"


def test_stopping_and_going_on_is_the_straight_run(tmp_path: Path) -> None:
    """After each generation, and with more generations than were asked for at first."""
    begin(tmp_path / "straight")
    work(tmp_path / "straight")
    begin(tmp_path / "halting")

    for _ in range(GENERATIONS_OF_TOY - 1):
        assert work(tmp_path / "halting", stop_after=1) == INTERRUPTED
    assert work(tmp_path / "halting") == GENERATIONS
    begin(tmp_path / "longer")
    assert work(tmp_path / "longer", generations=2) == GENERATIONS
    assert work(tmp_path / "longer") == GENERATIONS

    assert told(tmp_path / "halting") == told(tmp_path / "straight") == told(tmp_path / "longer")


def test_a_checkpoint_that_was_cut_short_costs_one_generation_and_no_difference(tmp_path: Path) -> None:
    """The journal is cut back with it."""
    begin(tmp_path / "straight")
    work(tmp_path / "straight")
    begin(tmp_path / "cut")
    work(tmp_path / "cut", generations=4)
    file = tmp_path / "cut" / "checkpoint.json"
    file.write_bytes(file.read_bytes()[:1000])

    found = RunFolder(tmp_path / "cut").newest()
    assert found.checkpoint is not None and found.checkpoint.generation == 3 and found.notes
    work(tmp_path / "cut")

    assert told(tmp_path / "cut") == told(tmp_path / "straight")


def test_a_run_whose_task_is_done_does_nothing_more(tmp_path: Path) -> None:
    """Asked to go on, it says why it ended and leaves every file as it is."""
    begin(tmp_path / "run")
    work(tmp_path / "run", generations=2)
    before = {path.name: path.read_bytes() for path in (tmp_path / "run").iterdir() if path.is_file()}

    assert work(tmp_path / "run", generations=2) == GENERATIONS

    assert {path.name: path.read_bytes() for path in (tmp_path / "run").iterdir() if path.is_file()} == before


SEED = "# EVOLVE-BLOCK-START\ndef f(x):\n    return 1.0\n# EVOLVE-BLOCK-END\n"


class Model:
    """A model that answers with a number that grows, and counts how often it was asked."""

    name = "counting"

    def __init__(self) -> None:
        self.asked = 0

    def propose(self, requests: list[ProposalRequest]) -> list[ProposedChange | None]:
        """Return a rewrite for each request."""
        self.asked += len(requests)
        return [
            ProposedChange(
                f"```python\n{SEED.replace('1.0', str(float(len(each.id) + each.generation)))}```",
                {"input_tokens": 90, "output_tokens": 10},
            )
            for each in requests
        ]


def search_with(model: Model, folder: Path, budget: dict[str, float]) -> tuple[EvolutionarySearcher, RecordedAnswers]:
    """Return a search in which a model proposes half of the programs."""
    answers = RecordedAnswers(folder)
    searcher = EvolutionarySearcher(
        fitness=lambda program: float(program.count("1")),
        minimize=False,
        population_size=8,
        settings=SearchSettings(species=Programs(SEED), proposers=[RecordingProposer(model, answers, budget)]),
    )
    return searcher, answers


def test_no_answer_of_a_model_is_paid_for_twice(tmp_path: Path) -> None:
    """A generation that is repeated after a kill takes the answers that are there already."""
    begin(tmp_path / "straight")
    first = Model()
    work(tmp_path / "straight", search_with(first, tmp_path / "straight", {})[0], 7)
    begin(tmp_path / "killed")
    work(tmp_path / "killed", search_with(Model(), tmp_path / "killed", {})[0], 3)
    shorter = Model()
    file = tmp_path / "killed" / "checkpoint.json"
    file.write_bytes(b"")  # as if the third generation had been judged and never written down

    work(tmp_path / "killed", search_with(shorter, tmp_path / "killed", {})[0], 7)

    assert told(tmp_path / "killed") == told(tmp_path / "straight")
    assert 0 < shorter.asked < first.asked
    assert RecordedAnswers(tmp_path / "killed").spent == {"tokens": 100 * first.asked}


def test_a_model_is_asked_nothing_more_when_its_budget_is_used_up(tmp_path: Path) -> None:
    """At most one answer goes over it, and the run stops with that as the reason."""
    begin(tmp_path / "run")
    model = Model()
    searcher, answers = search_with(model, tmp_path / "run", {"tokens": 250})
    settings = EvolutionSettings(generations=9, budget={"tokens": 250})

    stopped = Evolution(RunFolder(tmp_path / "run"), searcher, settings, answers, Audience()).run()

    assert stopped == "tokens" and model.asked == 3
    checkpoint = RunFolder(tmp_path / "run").newest().checkpoint
    assert checkpoint is not None and checkpoint.stopped == "tokens"


@pytest.mark.parametrize("full_at", ["pwrite", "fsync", "replace"])
def test_a_full_disk_ends_the_run_with_the_generation_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, full_at: str
) -> None:
    """The error says what to do, and with room again the run ends like any other."""
    begin(tmp_path / "straight")
    work(tmp_path / "straight")
    begin(tmp_path / "full")
    work(tmp_path / "full", generations=3)
    before = told(tmp_path / "full")

    def full(*_arguments: object, **_named: object) -> None:
        raise OSError(28, "No space left on device", "")

    with monkeypatch.context() as patch:
        patch.setattr(os, full_at, full)
        with pytest.raises(Exception, match="No space left on device") as caught:
            work(tmp_path / "full")
    assert getattr(caught.value, "exit_code", None) == 3

    assert told(tmp_path / "full") == before
    work(tmp_path / "full")
    assert told(tmp_path / "full") == told(tmp_path / "straight")
