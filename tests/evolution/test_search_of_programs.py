"""Program text searched in the sandbox: that it gets better, that a run repeats itself, and what models do to it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from memkit.evolution.answers import open_proposers
from memkit.evolution.judging import Judging
from memkit.evolution.task import find_task
from memkit.runtime.evolve.core import EvolutionarySearcher
from memkit.runtime.evolve.source.parsed import read_blocks
from memkit.sandbox import Grants, Sandbox
from tests.evolve import tasks

JOBS = """\
def order(jobs):
    # EVOLVE-BLOCK-START
    return sorted(jobs, key=lambda job: job[0])  # shortest first
    # EVOLVE-BLOCK-END
"""
COSTS = """\
import importlib.util, random

def cost(jobs):
    time = total = 0
    for length, weight in jobs:
        time += length
        total += time * weight
    return total

def evaluate(path):
    spec = importlib.util.spec_from_file_location("program", path)
    program = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(program)
    found = best = 0
    for _ in range(10):
        jobs = [[random.randint(1, 20), random.randint(1, 9)] for _ in range(12)]
        ordered = program.order(jobs)
        if sorted(map(list, ordered)) != sorted(jobs):
            raise ValueError("jobs were lost")
        found += cost(ordered)
        best += cost(sorted(jobs, key=lambda job: job[0] / job[1]))
    return {"combined_score": best / found}
"""
USUAL = """\
import concurrent.futures, importlib.util, time
import numpy as np

def timed(function, seconds=5):
    with concurrent.futures.ThreadPoolExecutor(max_workers=1) as executor:
        return executor.submit(function).result(timeout=seconds)

def evaluate(path):
    try:
        spec = importlib.util.spec_from_file_location("program", path)
        program = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(program)
        if not hasattr(program, "run_search"):
            return {"combined_score": 0.0, "error": "Missing run_search function"}
        started = time.time()
        x, y = timed(program.run_search)
        speed = min(1 / (time.time() - started), 1.0)
        return {"distance": np.sqrt(x**2 + y**2), "combined_score": float(0.9 / (1 + np.hypot(x, y)) + 0.1 * speed)}
    except Exception as error:
        return {"combined_score": 0.0, "error": str(error)}

def evaluate_stage1(path):
    return {"runs": 1.0, "found": evaluate(path)["combined_score"]}

def evaluate_stage2(path):
    return evaluate(path)
"""
SEARCHING = """\
# EVOLVE-BLOCK-START
import numpy as np

def search(iterations=50):
    best = np.random.uniform(-5, 5, 2)
    for _ in range(iterations):
        point = np.random.uniform(-5, 5, 2)
        if value(*point) < value(*best):
            best = point
    return best
# EVOLVE-BLOCK-END

def value(x, y):
    return x**2 + y**2

def run_search():
    x, y = search()
    return x, y
"""


def folder(at: Path, program: str, evaluator: str, settings: str = "") -> Path:
    """Write a task folder and return it."""
    at.mkdir(exist_ok=True)
    (at / "initial_program.py").write_text(program)
    (at / "evaluator.py").write_text(evaluator)
    (at / "config.yaml").write_text(settings)
    return at


@pytest.fixture
def judging(tmp_path: Path) -> Iterator[Judging]:
    """Yield the judging of jobs to put into order."""
    task = find_task(folder(tmp_path / "jobs", JOBS, COSTS))
    with Sandbox() as sandbox, Judging(task, sandbox, seed=3) as opened:
        yield opened


def search(judging: Judging, **given: Any) -> EvolutionarySearcher:
    """Return a search of the programs that ``judging`` judges."""
    fields: dict[str, Any] = {"population_size": 12, "seed": 1, **given}
    own = {"species": judging.task.species(), "confirm": judging.confirm}
    return tasks.searcher(fitness_fn=judging, minimize=False, **own, **fields)


def test_the_best_order_of_jobs_is_found(judging: Judging) -> None:
    """From "shortest first" to Smith's rule, by changes of the syntax tree alone; comments stay."""
    judging.begin()

    searcher = search(judging, population_size=30, target_fitness=1.0)
    best = searcher.run(25)

    assert searcher.stopped == "target"
    assert "job[0] / job[" in best and "# shortest first" in best
    assert read_blocks(best).fixed == read_blocks(JOBS).fixed


def test_workers_and_a_stop_change_nothing(judging: Judging) -> None:
    """One worker, four, and a search that goes on from what was saved come to the same state."""
    judging.begin()
    straight = search(judging)
    straight.run(4)
    with ThreadPoolExecutor(4) as pool:
        wide = search(judging, executor=pool)
        wide.run(2)
        saved = json.loads(json.dumps(wide.state()))
    again = search(judging)
    again.restore(saved)
    again.run(2)

    assert json.dumps(again.state(), sort_keys=True) == json.dumps(straight.state(), sort_keys=True)


def test_an_evaluator_with_threads_stages_numpy_and_time_runs_as_it_is(tmp_path: Path) -> None:
    """The shape of most folders that are around; time is measured, but weighs in only where a program is slow."""
    pytest.importorskip("numpy")
    task = find_task(
        folder(tmp_path / "usual", SEARCHING, USUAL, "max_iterations: 20\nevaluator: {cascade_thresholds: [0.51]}\n")
    )

    with Sandbox(grants=Grants(modules=task.modules)) as sandbox, Judging(task, sandbox, timeout=900) as judging:
        first = judging.begin()
        searcher = search(judging, population_size=8)
        searcher.run(3)

        assert judging.stages == ("evaluate_stage1", "evaluate_stage2")
        assert first.value is not None and {"runs", "found", "distance"} < set(first.metrics)
        without = judging(SEARCHING.replace("def run_search", "def other"))
        assert without.value == 0.5 and "0.51" in without.artifacts["stopped"]
    assert searcher.best_fitness is not None


def test_answers_of_models_become_programs_or_reasons(judging: Judging, tmp_path: Path) -> None:
    """A good one wins; what does not apply, breaks out of the block or does not run is told, and changes nothing."""
    line = "    return sorted(jobs, key=lambda job: job[0])  # shortest first"

    def part(search: str, replacement: str) -> str:
        return f"<<<<<<< SEARCH\n{search}\n=======\n{replacement}\n>>>>>>> REPLACE\n"

    def whole(replacement: str) -> str:
        return f"Better:\n```python\n{JOBS.replace(line, replacement)}```\n"

    texts = [
        "I would rather not.",
        part("def order(jobs):", "    return jobs"),
        part("not there", "    return jobs"),
        whole("    return (jobs"),
        whole("    # EVOLVE-BLOCK-END\n    return jobs\n    # EVOLVE-BLOCK-START"),
        whole("    return open('evaluator.py').read()"),
        whole("    import os\n    os._exit(0)"),
        whole("    return sorted(jobs, key=lambda job: job[0] / job[1])"),
    ]
    (tmp_path / "answers.json").write_text(json.dumps([{"text": text} for text in texts * 12]))
    [model] = open_proposers(["scripted:answers.json"], judging.task, folder=tmp_path)
    prompts = list[str]()
    asking = model.ask
    heard = type(model)(model.name, lambda prompt: (prompts.append(prompt.user), asking(prompt))[1])
    judging.begin()

    searcher = search(judging, proposers=[heard], proposals=1.0, population_size=16)
    best = searcher.run(5)
    told = searcher.drain()

    assert searcher.best_fitness == 1.0 and "job[0] / job[1]" in best
    refused = {each.score.reason for each in told if each.operation.startswith("model:") and each.program is None}
    for reason in ("neither SEARCH/REPLACE", "is outside", "does not occur", "does not parse", "has 1 EVOLVE-BLOCKs"):
        assert any(reason in text for text in refused), (reason, refused)
    assert any("Why your last answers came to nothing" in prompt for prompt in prompts)
    for each in told:
        assert each.program is None or read_blocks(each.program).fixed == read_blocks(JOBS).fixed
