"""Honest fitness: what counts as a score, what does not and why, and what a new best has to show."""

from __future__ import annotations

import re
import socket
import textwrap
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from memkit.errors import UsageError
from memkit.evolution.judging import Judging, measured
from memkit.evolution.task import find_task
from memkit.sandbox import Grants, Sandbox, SandboxLimits

LOAD = """\
import importlib.util, math, os, random, signal, subprocess, sys, time

def load(path):
    spec = importlib.util.spec_from_file_location("program", path)
    program = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(program)
    return program

"""
SQUARES = "p = load(path)\nreturn {'combined_score': -sum((p.f(x) - x * x) ** 2 for x in range(10))}"
SEED = "def f(x):\n    return x\n"
Judge = Callable[..., Judging]


@pytest.fixture(scope="module")
def sandbox() -> Iterator[Sandbox]:
    """Yield a sandbox for all tests of this file."""
    with Sandbox(SandboxLimits(wall=2.0, cpu=2, memory=128 << 20)) as opened:
        yield opened


@pytest.fixture
def judge(sandbox: Sandbox, tmp_path: Path) -> Iterator[Judge]:
    """Yield a function that opens the judging of a task, given the bodies of its evaluator's functions."""
    opened: list[Judging] = []

    def judging(
        seed: str = SEED, settings: str = "", unsafe: bool = False, timeout: float = 3.0, **bodies: str
    ) -> Judging:
        functions = "\n".join(f"def {name}(path):\n{textwrap.indent(body, '    ')}" for name, body in bodies.items())
        (tmp_path / "evaluator.py").write_text(LOAD + functions, encoding="utf-8")
        (tmp_path / "initial_program.py").write_text(seed, encoding="utf-8")
        (tmp_path / "config.yaml").write_text(settings, encoding="utf-8")
        opened.append(Judging(find_task(tmp_path), None if unsafe else sandbox, timeout=timeout))
        return opened[-1]

    yield judging
    for each in opened:
        each.close()


@pytest.mark.parametrize(
    ("metrics", "value", "reason"),
    [
        ({"combined_score": 2, "time": 9.0}, 2.0, ""),
        ({"a": 1, "b": 3.0, "note": "fast", "ok": True}, 2.0, ""),
        ({"a": 1, "error": 0.0}, 1.0, ""),
        ({"error": 0.0}, None, "returned no number"),
        ({}, None, "returned no number"),
        ({"timeout": True}, None, "returned no number"),
        ({"combined_score": True}, None, "True, a boolean"),
        ({"combined_score": 0.0, "error": "All trials failed"}, None, "the evaluator says: All trials failed"),
        ({"combined_score": 0.0, "timeout": True}, None, "the evaluator timed out"),
        ({"combined_score": 0.7, "error": "3 of 10 failed"}, 0.7, ""),
        ({"combined_score": 0.0, "error": ""}, 0.0, ""),
        ({"combined_score": "0.9"}, None, "'0.9', not a number"),
        ({"combined_score": None}, None, "None, not a number"),
        ({"combined_score": float("nan")}, None, "combined_score is nan"),
        ({"combined_score": float("inf")}, None, "combined_score is inf"),
        ({"combined_score": 10**400}, None, "beyond every float"),
        ({"a": 1, "b": float("nan")}, None, "b is nan"),
        ({"a": 1e308, "b": 1e308}, 1e308, ""),
    ],
)
def test_only_a_finite_number_ranks(metrics: dict[str, Any], value: float | None, reason: str) -> None:
    """The combined score, else the mean of the numbers; truth values are none."""
    found = measured(metrics)

    assert found[0] == value and reason in found[1] and bool(found[1]) == (value is None)


def test_a_program_is_judged_by_its_evaluator(judge: Judge) -> None:
    """Score, metrics and what there is to read, the same in each thread."""
    body = "p = load(path)\nprint('saw', p.f(3))\nreturn {'combined_score': p.f(3), 'odd': math.nan, 'n': 2}"
    judging = judge(evaluate=body)

    with ThreadPoolExecutor(4) as pool:
        scores = list(pool.map(judging, [f"def f(x): return x * {number}" for number in range(8)]))

    assert [score.value for score in scores] == [3.0 * number for number in range(8)]
    assert scores[1].metrics == {"combined_score": 3.0, "n": 2.0}
    assert scores[1].artifacts == {"printed": "saw 3\n"}


HOSTILE_PROGRAMS = {
    "a hang": ("def f(x):\n    while True: pass\n", "time:|cpu:"),
    "a gigabyte": ("def f(x):\n    return 'x' * 10**9\n", "memory|output"),
    "printing": ("def f(x):\n    for _ in range(10**7): print('x' * 100)\n", "time:|cpu:|no number|exception"),
    "a fork": ("import os\ndef f(x):\n    return os.fork()\n", "PermissionError"),
    "a socket": ("import socket\ndef f(x):\n    return socket.socket().fileno()\n", "PermissionError"),
    "a file": (
        "def f(x):\n    return open('/tmp/memkit-escaped', 'w').write('x')\n",
        "PermissionError|No such file|FileNot",
    ),
    "a kill": (
        "import os\ndef f(x):\n    os.kill(os.getppid(), 9)\n    return 1\n",
        "PermissionError|ProcessLookup|crash",
    ),
    "an exit": ("import os\ndef f(x):\n    os._exit(0)\n", "crash"),
    "a text": ("def f(x):\n    return 'nine'\n", "TypeError"),
    "not a number": ("def f(x):\n    return float('nan')\n", "combined_score is nan"),
    "too large": ("def f(x):\n    return 10.0 ** 200\n", "OverflowError|combined_score is -inf"),
    "nothing there": ("y = 1\n", "no attribute 'f'"),
    "no program": ("def f(:\n", "syntax: line 1"),
    "a deep recursion": ("def f(x):\n    return f(x)\n", "RecursionError"),
    "the evaluator's module": ("import evaluator\ndef f(x):\n    return 1\n", "ModuleNotFoundError"),
}


@pytest.mark.parametrize("name", HOSTILE_PROGRAMS)
def test_a_program_that_misbehaves_scores_worst_with_a_reason(judge: Judge, name: str) -> None:
    """And the next one is judged as ever."""
    program, reason = HOSTILE_PROGRAMS[name]
    judging = judge(evaluate=SQUARES)

    score = judging(program)

    assert score.value is None and re.search(reason, score.reason), score
    assert judging("def f(x): return x * x").value == 0
    assert not Path("/tmp/memkit-escaped").exists()


def test_a_program_cannot_read_what_judges_it(judge: Judge, tmp_path: Path) -> None:
    """Neither the evaluator nor its targets, by path or through the interpreter."""
    (tmp_path / "targets.txt").write_text("81")
    judging = judge(evaluate="p = load(path)\nreturn {'combined_score': float(p.f(9) == 81)}")
    reading = f"def f(x):\n    return int(open({str(tmp_path / 'targets.txt')!r}).read())\n"
    looking = (
        "import gc, sys\ndef f(x):\n"
        "    found = [o for o in gc.get_objects() if getattr(o, '__name__', '') in ('evaluate', 'evaluation_module')]\n"
        "    return 81 if found or 'evaluation_module' in sys.modules else 0\n"
    )

    assert judging(reading).value is None
    assert judging(looking).value == 0.0


HOSTILE_EVALUATORS = {
    "hangs": ("time.sleep(3600)", "did not return within 3 s"),
    "prints a gigabyte": ("for _ in range(1 << 14): print('x' * (1 << 16))\nreturn {}", "no number|did not return"),
    "returns text": ("return 'good'", "returned str, not metrics"),
    "returns nothing": ("load(path)", "returned NoneType, not metrics"),
    "returns NaN": ("return {'combined_score': math.nan}", "combined_score is nan"),
    "returns infinity": ("return {'combined_score': math.inf}", "combined_score is inf"),
    "returns true": ("return {'combined_score': True}", "a boolean"),
    "raises": ("raise KeyError('gone')", "KeyError: 'gone'"),
    "kills its parent": ("os.kill(os.getppid(), signal.SIGKILL)\ntime.sleep(5)", "evaluator"),
    "ends": ("os._exit(3)", "ended its process, with exit code 3"),
}


@pytest.mark.parametrize("name", HOSTILE_EVALUATORS)
def test_an_evaluator_that_misbehaves_scores_nothing_with_a_reason(judge: Judge, name: str) -> None:
    """Each time, in time, and without harm to who asks."""
    body, reason = HOSTILE_EVALUATORS[name]
    judging = judge(evaluate=body)

    scores = [judging(SEED), judging(SEED)]

    for score in scores:
        assert score.value is None and re.search(reason, score.reason), score


def test_an_evaluator_that_forks_is_ended_with_its_children(judge: Judge, tmp_path: Path) -> None:
    """What it leaves behind in its group does not live on."""
    alive = tmp_path / "alive"
    child = f"    time.sleep(1.5)\n    open({str(alive)!r}, 'w').close()\n    os._exit(0)\n"
    body = f"if os.fork() == 0:\n{child}return {{'a': 1}}"

    assert judge(evaluate=body)(SEED).value == 1.0
    time.sleep(2)
    assert not alive.exists()


def test_a_task_that_gives_two_scores_for_one_program_is_refused(judge: Judge) -> None:
    """With what to do about it."""
    for body in ("return {'score': time.time()}", "return {'score': int.from_bytes(os.urandom(4), 'big')}"):
        with pytest.raises(UsageError, match=r"different scores in two evaluations with the same seed.*count steps"):
            judge(evaluate=body).begin()


def test_chance_that_is_seeded_is_no_reason_to_refuse(judge: Judge) -> None:
    """The evaluator and the program may draw from ``random``."""
    seed = "import random\ndef f(x):\n    return x + random.random()\n"
    judging = judge(seed, evaluate="p = load(path)\nreturn {'score': p.f(random.random())}")

    first = judging.begin()

    assert first.value is not None and judging.begin() == first == judging(seed)


def test_what_no_proxy_offers_is_named_and_refused(judge: Judge) -> None:
    """Instead of a run in which nothing scores."""
    body = "p = load(path)\ntry:\n    return {'score': p.Solver().run()}\nexcept Exception:\n    return {'score': 0.0}"
    seed = "class Solver:\n    def run(self):\n        return 4\n"

    with pytest.raises(UsageError, match=r"cannot be forwarded: Solver.*--unsafe"):
        judge(seed, evaluate=body).begin()
    assert judge(seed, unsafe=True, evaluate=body).begin().value == 4


def test_a_score_that_changes_between_runs_is_not_confirmed(judge: Judge, sandbox: Sandbox) -> None:
    """A program found a source of chance that is not seeded."""
    judging = judge(evaluate="p = load(path)\nreturn {'score': p.f(1)}")
    judging.begin()
    lucky = "import os\ndef f(x):\n    return int.from_bytes(os.urandom(6), 'big')\n"

    assert judging(lucky).value is not None
    confirmed = judging.confirm(lucky)

    assert confirmed.value is None and confirmed.reason.startswith("changes between runs: ")


def test_a_new_best_is_worth_the_least_that_it_shows(judge: Judge) -> None:
    """A program that knows the points of one seed is worth what it is worth at others."""
    points = "xs = [random.randint(2, 10**6) for _ in range(9)]\n"
    body = f"p = load(path)\n{points}return {{'score': sum(p.f(x) == x * x for x in xs)}}"
    judging = judge(evaluate=body)
    judging.begin()
    known = f"import random\nrandom.seed(0)\n{points}KNOWN = {{x: x * x for x in xs}}\n"
    learned = known + "def f(x):\n    return KNOWN.get(x, 0)\n"

    assert judging(learned).value == 9.0
    assert judging.confirm(learned).value == 0.0
    assert judging.confirm("def f(x): return x * x").value == 9.0


def test_held_back_inputs_are_met_by_a_new_best_only(judge: Judge) -> None:
    """``evaluate_holdout`` judges on inputs that no other evaluation shows."""

    def on(numbers: str) -> str:
        return f"p = load(path)\nreturn {{'score': sum(p.f(x) == x * x for x in {numbers}) / 8}}"

    judging = judge(evaluate=on("range(8)"), evaluate_holdout=on("range(100, 108)"))
    table = "def f(x):\n    return [0, 1, 4, 9, 16, 25, 36, 49][x] if x < 8 else 0\n"
    broken = "def f(x):\n    return [0, 1, 4, 9, 16, 25, 36, 49][x]\n"
    judging.begin()

    assert judging.holds_back and judging.stages == ("evaluate",)
    assert judging(table).value == judging(broken).value == 1.0
    assert judging.confirm(table).value == 0.0
    assert judging.confirm(broken).reason.startswith("does not hold on held-back inputs: exception: IndexError")
    assert judging.confirm("def f(x): return x * x").value == 1.0


def test_where_less_is_better_the_most_counts(judge: Judge, sandbox: Sandbox, tmp_path: Path) -> None:
    """The least that a program shows is its largest error."""
    judge(evaluate="return {'error_of': 1.0}", evaluate_holdout="return {'error_of': 5.0}")
    with Judging(find_task(tmp_path), sandbox, minimize=True) as judging:
        judging.begin()
        assert judging.confirm(SEED).value == 5.0


CALLS = "p = load(path)\nreturn {'score': sum(p.f(x) > 3 for x in range(20))}"


def test_an_answer_that_is_always_the_same_is_a_cheat_where_the_first_program_looks(judge: Judge) -> None:
    """The reason names the function."""
    judging = judge(evaluate=CALLS)
    judging.begin()

    score = judging("def f(x): return 9")

    assert score.value is None and score.reason == "constant: f gives the same answer to every input"
    assert judging("def f(x): return x * 2").value == 18.0


def test_an_answer_that_is_always_the_same_is_none_where_the_first_program_gives_one_too(judge: Judge) -> None:
    """Or where the task says so."""
    stub = judge("def f(x):\n    return 0\n", evaluate=CALLS)
    stub.begin()
    allowed = judge(settings="memkit: {constant_answers: true}\n", evaluate=CALLS)
    allowed.begin()

    assert stub("def f(x): return 9").value == allowed("def f(x): return 9").value == 20.0


STAGES = {
    "evaluate_stage1": "p = load(path)\nreturn {'combined_score': p.f(1), 'one': 1.0}",
    "evaluate_stage2": "p = load(path)\nreturn {'combined_score': p.f(2), 'two': 1.0}",
    "evaluate_stage3": "p = load(path)\nif p.f(3) > 90: raise ValueError('much')\nreturn {'combined_score': p.f(3)}",
    "evaluate": "return {'combined_score': -1}",
}


@pytest.mark.parametrize(
    ("program", "value", "metrics"),
    [
        ("def f(x): return 0.1 * x", 0.1, {"one"}),
        ("def f(x): return 0.6", 0.6, {"one", "two"}),
        ("def f(x): return float(x)", 3.0, {"one", "two"}),
        ("def f(x): return 40.0 * x", None, {"one", "two"}),
        ("def f(x): return [0.7][x - 1]", None, {"one"}),
    ],
)
def test_stages_judge_one_after_the_other(judge: Judge, program: str, value: float | None, metrics: set[str]) -> None:
    """Up to the first whose threshold is not reached; a failure in any is a failure."""
    score = judge(settings="evaluator: {cascade_thresholds: [0.5, 0.75]}\n", **STAGES)(program)

    assert score.value == value
    assert set(score.metrics) - {"combined_score"} == metrics
    if value is None:
        assert "evaluate_stage" in score.reason
    elif value < 0.7:
        assert score.artifacts["stopped"].endswith("is needed")


def test_stages_can_be_turned_off(judge: Judge) -> None:
    """As OpenEvolve's setting says."""
    judging = judge(settings="evaluator: {cascade_evaluation: false}\n", **STAGES)

    assert judging.stages == ("evaluate",) and judging(SEED).value == -1


def test_an_evaluator_of_openevolves_class_brings_artifacts(judge: Judge) -> None:
    """Whether or not OpenEvolve is installed."""
    body = (
        "from openevolve.evaluation_result import EvaluationResult\n"
        "return EvaluationResult(metrics={'combined_score': 0.5}, artifacts={'advice': 'x' * 9000, 'raw': b'a'})"
    )

    score = judge(evaluate=body, timeout=900)(SEED)  # importing OpenEvolve takes its time

    assert score.value == 0.5 and score.artifacts["raw"] == "a"
    assert score.artifacts["advice"].startswith("xxx") and len(score.artifacts["advice"]) < 8100


def test_nothing_of_a_score_tells_one_evaluation_from_the_next(judge: Judge) -> None:
    """Paths and numbers of evaluations are left out, so that a run can be repeated to the byte."""
    judging = judge(evaluate="print(path)\np = load(path)\nreturn {'combined_score': p.f(path)}")
    raising = "def f(x):\n    raise ValueError(x)\n"

    assert judging(raising) == judging(raising)
    assert "program.py" in judging(raising).artifacts["traceback"]


def test_the_evaluators_own_lines_are_not_told(judge: Judge) -> None:
    """A model that is shown the artifacts does not read how programs are judged."""
    score = judge(evaluate="secret_target = 42\nreturn {'combined_score': load(path).f(1) + None}")(SEED)

    assert score.value is None and "TypeError" in score.reason
    assert "secret_target" not in repr(score) and "load(path)" not in repr(score)


def test_numpy_is_granted_to_a_program_that_imports_it(judge: Judge, tmp_path: Path) -> None:
    """The task's owner has written the import."""
    pytest.importorskip("numpy")
    judge("import numpy as np\ndef f(x):\n    return float(np.sqrt(x))\n", evaluate=SQUARES)
    task = find_task(tmp_path)

    with Sandbox(SandboxLimits(), Grants(modules=task.modules)) as sandbox, Judging(task, sandbox) as judging:
        assert judging.begin().value is not None


def test_an_evaluator_without_evaluate_is_refused(judge: Judge) -> None:
    """A held-back part alone judges nothing."""
    with pytest.raises(UsageError, match=r"no function evaluate\(path\)"):
        judge(evaluate_holdout="return {}")


def test_the_network_is_out_of_reach_of_a_program(judge: Judge) -> None:
    """Also where somebody listens."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        program = (
            "import socket\ndef f(x):\n"
            f"    socket.create_connection(('127.0.0.1', {listener.getsockname()[1]}))\n    return x * x\n"
        )
        assert judge(evaluate=SQUARES)(program).value is None
