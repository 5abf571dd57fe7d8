"""The runtime that projects have plans, learns, carries out and evolves exactly as memkit does."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from projects import unpacked_runtime

ROOT = Path(__file__).parents[2]
SCRIPT = """
import json, sys
from functools import partial
from random import Random
{imports}

def domain(problem):
    stops = [f"s{{n}}" for n in range(problem)]
    return {{
        "name": "rounds",
        "types": {{"place": "object"}},
        "predicates": {{"at": ["place"], "road": ["place", "place"], "seen": ["place"], "told": []}},
        "functions": {{"fuel": []}},
        "operators": [
            {{"name": "drive", "parameters": "?x ?y - place", "preconditions": ["at ?x", "road ?x ?y", ">= (fuel) 1"],
              "effects": ["at ?y", "not at ?x", "decrease (fuel) 1", {{"when": ["not seen ?y"], "add": ["seen ?y"]}}]}},
            {{"name": "leap", "parameters": "?x ?y - place", "preconditions": ["at ?x", {{"not": "road ?x ?y"}}],
              "add": ["at ?y", "seen ?y"], "remove": ["at ?x"]}},
            {{"name": "tell", "preconditions": [{{"forall": "?p - place", "holds": ["seen ?p"]}}], "parameters": "",
              "add": ["told"]}},
        ],
        "tasks": {{"visit": {{"parameters": "?p - place", "effects": ["seen ?p"]}}}},
        "methods": [
            {{"name": "all", "task": "round", "preconditions": ["not told"],
              "subtasks": [*(f"visit {{stop}}" for stop in stops), "tell"]}},
            {{"name": "been", "task": "visit ?p - place", "preconditions": ["seen ?p"], "subtasks": []}},
            {{"name": "near", "task": "visit ?p - place", "preconditions": ["at ?x", "road ?x ?p"],
              "subtasks": ["drive ?x ?p"]}},
        ],
        "objects": dict.fromkeys(stops, "place"),
        "state": ["at s0", "seen s0", "= (fuel) 9", *(f"road s{{n}} s{{n + 1}}" for n in range(problem - 2))],
    }}

def proposal(task, state, reasons):
    here = next(fact.split()[1] for fact in sorted(state) if fact.startswith("at "))
    return [f"{{'leap' if any('fly' in reason for reason in reasons) else 'fly'}} {{here}} {{task.args[0]}}"]

told = []
for size in (3, 4, 6):
    known = Domain.from_data(domain(size))
    planner = HTNPlanner(domain=known, llm_decompose=proposal)
    result = planner.solve("round")
    told.append([result.to_data(), dict(result.proposals), [method.name for method in planner.learned]])
    run = Executor(planner, lambda action: Answer(str(action.step))).run(planner.problem("round"))
    told.append(run.to_data())

fitness = partial(fitness_mean_squared_error, target=lambda x: x**3 - 2 * x + 4)
searcher = EvolutionarySearcher(seed_program="lambda x: x * 2", fitness_fn=fitness, population_size=30, seed=5)
told.append([searcher.run(generations=12), searcher.evaluations, json.dumps(searcher.state(), sort_keys=True)])
lines = ["# EVOLVE-BLOCK-START", "def f(x):", "    if x > 3:", "        return x - 1", "    return 2 * x"]
programs = Programs("\\n".join([*lines, "# EVOLVE-BLOCK-END", ""]))
source, chance = programs.first(Random(1), 1)[0], Random(2)
for _ in range(20):
    source = programs.mutate(source, chance)
    told.append(programs.program(source))
print(json.dumps(told, sort_keys=True))
"""
IMPORTS = """
from {rooms}htn.core import Answer, Domain, Executor, HTNPlanner
from {rooms}evolve.core import EvolutionarySearcher, fitness_mean_squared_error
from {rooms}evolve.source.species import Programs
"""


def told(folder: Path, rooms: str) -> str:
    """Return what the script prints in a process of its own, started in ``folder``."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    script = SCRIPT.format(imports=IMPORTS.format(rooms=rooms))
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=folder, env=environment, capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout


def test_plans_lessons_runs_and_programs_are_those_of_memkit(tmp_path: Path) -> None:
    """Decompositions with numbers and quantifiers, proposals, executions, and evolution by one seed."""
    ours = told(ROOT, "memkit.runtime.")

    assert told(unpacked_runtime(tmp_path), "memkit_runtime.") == ours
    assert all(word in ours for word in ('"learned_visit_1"', '"outcome": "done"', "proposal rejected", "x * x * x"))
