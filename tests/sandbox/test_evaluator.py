"""What an evaluator sees of a confined program, and what becomes of an evaluator that misbehaves."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from memkit.errors import UsageError
from memkit.sandbox import Evaluation, Evaluator, Grants, Sandbox, SandboxLimits

IMPORT = """
import importlib.util, os, subprocess, sys, time

def load(path):
    spec = importlib.util.spec_from_file_location("program", path)
    program = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(program)
    return program

"""
Judge = Callable[..., Evaluation]


@pytest.fixture
def judge(sandbox: Sandbox, tmp_path: Path) -> Iterator[Judge]:
    """Yield a function that writes an evaluator of the given body and lets it judge a program."""
    opened: list[Evaluator] = []

    def judged(body: str, program: str, timeout: float = 20.0, **how: Any) -> Evaluation:
        file = tmp_path / f"evaluator{len(opened)}.py"
        indented = "".join(f"    {line}\n" for line in body.splitlines())
        file.write_text(f"{IMPORT}def evaluate(path):\n{indented}", encoding="utf-8")
        opened.append(Evaluator(file, sandbox))
        return opened[-1].evaluate(program, timeout=timeout, **how)

    yield judged
    for evaluator in opened:
        evaluator.close()


SQUARE = "def square(x):\n    return x * x\nRATE = 2\nclass Solver: pass\n"


def test_an_evaluator_of_the_usual_form_runs_as_it_is(judge: Judge) -> None:
    """It imports a path, calls functions and reads constants; nothing in it knows of a sandbox."""
    found = judge("p = load(path)\nreturn {'combined_score': p.square(3) * p.RATE, 'has': hasattr(p, 'other')}", SQUARE)

    assert found.failure is None
    assert found.metrics == {"combined_score": 18, "has": False}
    assert found.events == ()
    assert judge("return load(path).square(3)", SQUARE).metrics == {"combined_score": 9}


def test_a_process_of_the_evaluators_own_imports_the_program_as_well(judge: Judge) -> None:
    """Evaluators that put a program into a subprocess, by path, find the same functions there."""
    body = (
        "code = 'import importlib.util as u; s = u.spec_from_file_location(\"p\", ' + repr(path) + ');'\n"
        "code += 'm = u.module_from_spec(s); s.loader.exec_module(m); print(m.square(4))'\n"
        "done = subprocess.run([sys.executable, '-c', code], capture_output=True, text=True, check=True)\n"
        "return {'score': int(done.stdout)}"
    )

    assert judge(body, SQUARE).metrics == {"score": 16}


@pytest.mark.parametrize("where", ["{}, found", "found", "found, found", "{'__name__': 'x'}, found"])
def test_a_program_may_be_executed_as_text(judge: Judge, where: str) -> None:
    """Evaluators that read the file and execute it find the functions where Python would put them."""
    body = f"found = {{}}\nexec(open(path).read(), {where})\nreturn {{'score': found['square'](5)}}"

    judged = judge(body, SQUARE)

    assert judged.failure is None and judged.metrics == {"score": 25}


def test_a_program_may_be_run_as_a_script(judge: Judge) -> None:
    """Its output is what it printed, bounded."""
    body = (
        "done = subprocess.run([sys.executable, path], capture_output=True, text=True, check=True)\n"
        "return {'score': int(done.stdout)}"
    )

    assert judge(body, "if __name__ == '__main__':\n    print(6 * 7)\n").metrics == {"score": 42}


def test_the_program_does_not_run_in_the_evaluators_process(judge: Judge) -> None:
    """Module globals, loaded modules and frames of the evaluator are not there to be found."""
    program = (
        "import gc, sys\n"
        "def steal():\n"
        "    frames = sys._getframe()\n    names = set()\n"
        "    while frames:\n        names |= set(frames.f_globals)\n        frames = frames.f_back\n"
        "    objects = [o for o in gc.get_objects() if isinstance(o, dict) and 'TARGET' in o]\n"
        "    return ['evaluation_module' in sys.modules, 'TARGET' in names, len(objects)]\n"
    )

    found = judge("global TARGET\nTARGET = 'secret'\nreturn {'found': load(path).steal()}", program)

    assert found.metrics == {"found": [False, False, 0]}


def test_what_cannot_be_forwarded_is_named_also_where_the_evaluator_shrugs_it_off(judge: Judge) -> None:
    """An evaluator that catches everything scores nothing, and its caller still learns why."""
    body = (
        "p = load(path)\nseen = []\n"
        "for use in (lambda: p.Solver, lambda: p.square(len), lambda: p.make()):\n"
        "    try: use()\n    except Exception as error: seen.append(str(error))\n"
        "return {'seen': seen}"
    )

    found = judge(body, SQUARE + "def make(): return Solver()\n")

    assert found.metrics is not None
    assert [event.kind for event in found.events] == ["refused"] * 3
    for text, said in zip(("class Solver", "function len", "a Solver"), found.metrics["seen"], strict=True):
        assert text in said


def test_exceptions_arrive_as_the_class_that_evaluators_catch(judge: Judge) -> None:
    """A ``ValueError`` is caught as one, and a time-out as a ``TimeoutError``; the reason travels along."""
    program = "def bad(): raise ValueError('no good')\ndef slow():\n    while True: pass\n"
    body = (
        "p = load(path)\nseen = []\n"
        "try: p.bad()\nexcept ValueError as error: seen.append(str(error))\n"
        "try: p.slow()\nexcept TimeoutError as error: seen.append('late')\n"
        "return {'seen': seen}"
    )

    found = judge(body, program)

    assert found.metrics == {"seen": ["ValueError: no good", "late"]}
    assert [event.kind for event in found.events] == ["exception", "time"]


@pytest.mark.parametrize(
    ("program", "kind"),
    [
        ("def square(:", "syntax"),
        ("def square(x): return 1 / 0", "exception"),
        ("def square(x):\n    while True: pass", "time"),
        ("import os\ndef square(x): os._exit(0)", "crash"),
        ("def square(x): return [0] * 10**11", "memory"),
        ("def square(x): return 'x' * 10**7", "output"),
        ("def cube(x): return x", "evaluator"),
    ],
)
def test_what_a_program_does_wrong_is_the_reason_of_its_evaluation(judge: Judge, program: str, kind: str) -> None:
    """An evaluator that lets the exception through gives no metrics, and the kind is the program's."""
    found = judge("return {'score': load(path).square(3)}", program)

    assert found.metrics is None
    assert found.failure is not None
    assert found.failure.kind == kind


def test_a_fork_of_the_evaluator_gets_a_program_of_its_own(judge: Judge) -> None:
    """Two processes that call at the same time do not read each other's answers."""
    body = (
        "from concurrent.futures import ProcessPoolExecutor\n"
        "import multiprocessing\n"
        "p = load(path)\nsys.modules['program'] = p\n"
        "with ProcessPoolExecutor(3, multiprocessing.get_context('fork')) as pool:\n"
        "    return {'all': list(pool.map(p.square, range(30)))}"
    )

    assert judge(body, SQUARE).metrics == {"all": [x * x for x in range(30)]}


def test_threads_of_the_evaluator_take_turns(judge: Judge) -> None:
    """A program is called from many threads, one call after the other."""
    body = (
        "from concurrent.futures import ThreadPoolExecutor\n"
        "p = load(path)\n"
        "with ThreadPoolExecutor(4) as pool:\n    return {'all': list(pool.map(p.square, range(40)))}"
    )

    assert judge(body, SQUARE).metrics == {"all": [x * x for x in range(40)]}


def test_results_with_artifacts_are_read_without_openevolve(judge: Judge) -> None:
    """The class that such evaluators import is there; artifacts are bounded, whatever they are."""
    body = (
        "from openevolve.evaluation_result import EvaluationResult\n"
        "return EvaluationResult(metrics={'score': 1.0}, artifacts={'log': 'x' * 10**6, 'odd': object(), 'n': [1]})"
    )

    found = judge(body, SQUARE)

    assert found.metrics == {"score": 1.0}
    assert found.artifacts["n"] == [1]
    assert len(found.artifacts["log"]) == 64 * 1024
    assert "object" in found.artifacts["odd"]


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("return 'good'", "returned str, not metrics"),
        ("return None", "returned NoneType, not metrics"),
        ("return True", "returned bool, not metrics"),
        ("return {'score': object()}", "an object cannot be forwarded"),
        ("raise KeyError('gone')", "KeyError: 'gone'"),
        ("raise SystemExit(3)", "SystemExit: 3"),
        ("raise type('Odd', (Exception,), {'__str__': lambda self: 1 / 0})()", "Odd"),
        ("os._exit(7)", "exit code 7"),
        ("os.kill(os.getpid(), 11)", "killed by signal 11"),
        ("os.kill(os.getppid(), 9); time.sleep(5)", "ended the process that it was started from"),
    ],
)
def test_an_evaluator_that_fails_is_told_apart_from_a_program_that_does(judge: Judge, body: str, said: str) -> None:
    """The kind is ``evaluator`` and the reason says what it did."""
    found = judge(body, SQUARE)

    assert found.metrics is None
    assert found.failure is not None
    assert found.failure.kind == "evaluator"
    assert said in found.failure.reason


def test_an_evaluator_that_killed_its_parent_evaluates_the_next_program(sandbox: Sandbox, tmp_path: Path) -> None:
    """The process is started anew."""
    file = tmp_path / "evaluator.py"
    file.write_text(
        IMPORT
        + "def evaluate(path):\n    if load(path).die():\n        os.kill(os.getppid(), 9)\n        time.sleep(9)\n"
        "    return {'score': 5}\n",
        encoding="utf-8",
    )
    with Evaluator(file, sandbox) as evaluator:
        first = evaluator.evaluate("def die(): return True")
        second = evaluator.evaluate("def die(): return False")

    assert first.failure is not None
    assert second.metrics == {"score": 5}


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="children are found through /proc")
def test_a_process_killed_while_it_waits_for_its_program_is_replaced(tmp_path: Path) -> None:
    """Neither the evaluator's nor the program's process is missed when the next program comes."""
    file = tmp_path / "evaluator.py"
    file.write_text(f"{IMPORT}def evaluate(path):\n    return {{'score': load(path).square(3)}}\n", encoding="utf-8")
    others = set(descendants(os.getpid()))
    with Sandbox() as sandbox, Evaluator(file, sandbox) as evaluator:
        assert evaluator.evaluate(SQUARE).metrics == {"score": 9}
        while len(killed := waiting(others)) != 2:  # the first program's processes may still be ending
            time.sleep(0.01)
        for child in killed:
            os.kill(child, signal.SIGKILL)
        while killed & waiting(others):  # what is handed to a process that is dying is lost with it
            time.sleep(0.01)
        after = evaluator.evaluate(SQUARE)

    assert after.metrics == {"score": 9}


def waiting(others: set[int]) -> set[int]:
    """Return the processes below this one that have none below them, besides ``others``."""
    return {child for child in set(descendants(os.getpid())) - others if not descendants(child)}


def descendants(process: int) -> list[int]:
    """Return the ids of all processes below one."""
    try:
        told = Path(f"/proc/{process}/task/{process}/children").read_text(encoding="ascii")
    except FileNotFoundError:  # it has just ended
        return []
    return [below for child in map(int, told.split()) for below in (child, *descendants(child))]


def test_an_evaluator_that_hangs_is_ended_with_all_that_it_started(judge: Judge, tmp_path: Path) -> None:
    """Time is the whole group's: a child that would go on is gone."""
    body = (
        f"child = subprocess.Popen(['sleep', '3600'])\nopen({str(tmp_path / 'pid')!r}, 'w').write(str(child.pid))\n"
        "print('waiting', flush=True)\ntime.sleep(3600)"
    )

    found = judge(body, SQUARE, timeout=1.0)

    assert found.failure is not None
    assert found.failure.kind == "time"
    assert found.printed == "waiting\n"
    assert _is_gone(int((tmp_path / "pid").read_text()))


def test_what_an_evaluator_started_and_left_behind_is_ended(judge: Judge, tmp_path: Path) -> None:
    """Also where it returned in good time."""
    note = str(tmp_path / "pid")
    body = f"child = subprocess.Popen(['sleep', '60'])\nopen({note!r}, 'w').write(str(child.pid))\nreturn {{}}"

    assert judge(body, SQUARE).metrics == {}
    assert _is_gone(int((tmp_path / "pid").read_text()))


def _is_gone(process: int) -> bool:
    """Return whether a process has ended, or does so within a moment."""
    for _ in range(3000):
        try:
            state = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]
        except OSError:
            return True
        if state == "Z":
            return True
        time.sleep(0.02)
    return False


def test_an_evaluator_that_prints_without_end_costs_no_memory(judge: Judge) -> None:
    """The beginning and the end are kept."""
    body = "for _ in range(300): os.write(1, b'x' * 100_000)\nprint('end')\nreturn {'score': 1}"

    found = judge(body, SQUARE)

    assert found.metrics == {"score": 1}
    assert len(found.printed) < 70_000
    assert found.printed.startswith("xxx")
    assert found.printed.endswith("end\n")


def test_evaluations_do_not_change_the_evaluator(sandbox: Sandbox, tmp_path: Path) -> None:
    """Each starts from what importing left, with the same chance."""
    file = tmp_path / "evaluator.py"
    body = "    seen.append(1)\n    return {'n': len(seen), 'r': random.random()}\n"
    file.write_text(f"import random\nseen = []\ndef evaluate(path):\n{body}", encoding="utf-8")
    with Evaluator(file, sandbox) as evaluator:
        first, second = evaluator.evaluate(SQUARE), evaluator.evaluate(SQUARE)
        other = evaluator.evaluate(SQUARE, seed=1)

    assert first.metrics == second.metrics
    assert first.metrics is not None and other.metrics is not None
    assert first.metrics["n"] == 1
    assert first.metrics["r"] != other.metrics["r"]


def test_many_evaluations_run_at_a_time(sandbox: Sandbox, tmp_path: Path) -> None:
    """Threads share an evaluator, and each gets the answer to its own program."""
    file = tmp_path / "evaluator.py"
    file.write_text(IMPORT + "def evaluate(path): return {'score': load(path).f()}\n", encoding="utf-8")
    with Evaluator(file, sandbox) as evaluator, ThreadPoolExecutor(6) as pool:
        found = list(pool.map(lambda n: evaluator.evaluate(f"def f(): return {n}").metrics, range(24)))

    assert found == [{"score": number} for number in range(24)]


def test_stages_are_asked_for_by_name(sandbox: Sandbox, tmp_path: Path) -> None:
    """A stage that is not there is bad usage that names those that are."""
    file = tmp_path / "evaluator.py"
    file.write_text(
        "def evaluate(path): return {'a': 1}\ndef evaluate_stage1(path): return {'b': 1}\n", encoding="utf-8"
    )
    with Evaluator(file, sandbox) as evaluator:
        assert evaluator.stages == ("evaluate", "evaluate_stage1")
        assert evaluator.evaluate(SQUARE, stage="evaluate_stage1").metrics == {"b": 1}
        with pytest.raises(UsageError, match="no function evaluate_stage2"):
            evaluator.evaluate(SQUARE, stage="evaluate_stage2")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("def evaluate(:", "SyntaxError"),
        ("import no_such_module_here", "ModuleNotFoundError"),
        ("x = 1", "no function evaluate"),
        ("import os; os._exit(0)", "importing it ends the process"),
        ("import time; time.sleep(3600)", "importing it takes more than 1 s"),
    ],
)
def test_a_file_that_is_no_evaluator_is_bad_usage(sandbox: Sandbox, tmp_path: Path, text: str, said: str) -> None:
    """It is said before anything is evaluated."""
    file = tmp_path / "evaluator.py"
    file.write_text(text, encoding="utf-8")

    with pytest.raises(UsageError, match=said):
        Evaluator(file, sandbox, start=1.0 if "3600" in text else 60.0)


def test_a_task_cannot_grant_programs_their_evaluator(tmp_path: Path) -> None:
    """A folder that is granted must not hold the file that judges."""
    file = tmp_path / "evaluator.py"
    file.write_text("def evaluate(path): return {}\n", encoding="utf-8")
    with Sandbox(grants=Grants(read=(tmp_path,))) as sandbox, pytest.raises(UsageError, match="how it judges"):
        Evaluator(file, sandbox)


def test_a_program_that_is_a_file_keeps_its_name(tmp_path: Path) -> None:
    """An evaluator may look at what the path is called."""
    file, program = tmp_path / "evaluator.py", tmp_path / "initial_program.py"
    file.write_text(IMPORT + "def evaluate(path): return {'score': load(path).f(), 'name': os.path.basename(path)}\n")
    program.write_text("def f(): return 3\n", encoding="utf-8")

    with Sandbox(SandboxLimits(wall=60)) as sandbox, Evaluator(file, sandbox) as evaluator:
        found = evaluator.evaluate(program)

    assert found.metrics == {"score": 3, "name": "initial_program_1.py"}
    assert found.seconds > 0


def test_without_a_sandbox_the_program_runs_where_the_evaluator_does(tmp_path: Path) -> None:
    """That is the caller's explicit choice; time and output stay bounded."""
    file = tmp_path / "evaluator.py"
    file.write_text(IMPORT + "def evaluate(path): return {'same': load(path).pid() == os.getpid()}\n", encoding="utf-8")
    with Evaluator(file, None) as evaluator:
        assert evaluator.evaluate("import os\ndef pid(): return os.getpid()\n").metrics == {"same": True}


def test_nothing_is_left_on_disk(sandbox: Sandbox, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The files of evaluations go with them, and the folder with the evaluator."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    file = tmp_path / "evaluator.py"
    file.write_text("def evaluate(path): return {'a': 1}\n", encoding="utf-8")
    with Evaluator(file, sandbox) as evaluator:
        evaluator.evaluate(SQUARE)
        assert [path for path in tmp_path.rglob("*program*") if path.is_file()] == []

    assert [path.name for path in tmp_path.iterdir() if path.name != "__pycache__"] == ["evaluator.py"]


def test_the_evaluator_of_a_packing_task_runs_unchanged(tmp_path: Path) -> None:
    """A script in a process of its own imports the program, pickles arrays for the evaluator, and draws nothing."""
    pytest.importorskip("numpy")
    file = tmp_path / "evaluator.py"
    file.write_text(
        """
import os, pickle, subprocess, sys, tempfile
import numpy as np

def run_with_timeout(program_path, timeout_seconds):
    with tempfile.NamedTemporaryFile(suffix=".py", delete=False) as script:
        script.write(f'''
import sys, os, pickle
import numpy as np
sys.path.insert(0, os.path.dirname({program_path!r}))
spec = __import__("importlib.util").util.spec_from_file_location("program", {program_path!r})
program = __import__("importlib.util").util.module_from_spec(spec)
spec.loader.exec_module(program)
centers, radii, total = program.run_packing()
with open({script.name!r} + ".results", "wb") as out:
    pickle.dump(dict(centers=centers, radii=radii, total=total), out)
'''.encode())
    try:
        done = subprocess.run([sys.executable, script.name], capture_output=True, timeout=timeout_seconds)
        if done.returncode:
            raise RuntimeError(done.stderr.decode()[-300:])
        with open(script.name + ".results", "rb") as results:
            return pickle.load(results)
    finally:
        for name in (script.name, script.name + ".results"):
            if os.path.exists(name):
                os.unlink(name)

def evaluate(program_path):
    found = run_with_timeout(program_path, 20)
    valid = isinstance(found["centers"], np.ndarray) and found["centers"].shape == (26, 2)
    return {"combined_score": float(found["radii"].sum()), "validity": float(valid), "total": float(found["total"])}
""",
        encoding="utf-8",
    )
    program = """
import numpy as np
# EVOLVE-BLOCK-START
def construct_packing():
    centers = np.array([[i / 26, 0.5] for i in range(26)])
    return centers, np.full(26, 0.01), 0.26
# EVOLVE-BLOCK-END
def run_packing():
    return construct_packing()
"""
    with Sandbox(grants=Grants(modules=("numpy",))) as sandbox, Evaluator(file, sandbox) as evaluator:
        found = evaluator.evaluate(program)

    assert found.failure is None
    assert found.metrics == {"combined_score": pytest.approx(0.26), "validity": 1.0, "total": 0.26}


def test_evaluations_end_with_who_asked_for_them(tmp_path: Path) -> None:
    """Killed without warning in the middle of an evaluation, it leaves no process and no folder."""
    file, note = tmp_path / "evaluator.py", tmp_path / "pid"
    file.write_text(
        "import subprocess, time\ndef evaluate(path):\n    child = subprocess.Popen(['sleep', '60'])\n"
        f"    open({str(note)!r}, 'w').write(f'{{child.pid}}\\n')\n    time.sleep(60)\n",
        encoding="utf-8",
    )
    script = (
        "from pathlib import Path; from memkit.sandbox import Evaluator, Sandbox\n"
        f"import tempfile; tempfile.tempdir = {str(tmp_path)!r}\n"
        f"Evaluator(Path({str(file)!r}), Sandbox()).evaluate('x = 1')\n"
    )
    process = subprocess.Popen([sys.executable, "-c", script])
    while True:
        if note.exists() and note.read_text().endswith("\n"):
            break
        time.sleep(0.02)
    process.kill()
    process.wait()

    assert _is_gone(int(note.read_text()))
    for _ in range(3000):
        if not list(tmp_path.glob("memkit-*")):
            break
        time.sleep(0.02)
    assert list(tmp_path.glob("memkit-*")) == []


@pytest.mark.parametrize(
    ("program", "said"),
    [
        (Path("/no/such/program.py"), "cannot be read"),
        (Path("/dev"), "cannot be read"),
        ("x = '\ud800'", "not UTF-8 text"),
    ],
)
def test_a_program_that_is_no_text_is_bad_usage(sandbox: Sandbox, tmp_path: Path, program: Any, said: str) -> None:
    """It is said before a process is started, by sandbox and evaluator alike."""
    file = tmp_path / "evaluator.py"
    file.write_text("def evaluate(path): return {}\n", encoding="utf-8")
    with Evaluator(file, sandbox) as evaluator, pytest.raises(UsageError, match=said):
        evaluator.evaluate(program)
    with pytest.raises(UsageError, match=said):
        sandbox.open(program)


@pytest.mark.parametrize("timeout", [0, -1, float("nan")])
def test_a_time_that_is_none_is_bad_usage(sandbox: Sandbox, tmp_path: Path, timeout: float) -> None:
    """An evaluation needs time."""
    file = tmp_path / "evaluator.py"
    file.write_text("def evaluate(path): return {}\n", encoding="utf-8")
    with Evaluator(file, sandbox) as evaluator, pytest.raises(UsageError, match="above 0"):
        evaluator.evaluate("x = 1", timeout=timeout)


def test_a_function_that_answers_everything_alike_is_named(judge: Judge) -> None:
    """After some different questions; a repeated question, or one function of several, says nothing of the others."""
    body = "p = load(path)\nfor x in range(20): p.same(x), p.square(x), p.once(1), p.late(x)\nreturn {'score': 1}"
    program = (
        "def same(x): return 1\ndef square(x): return x * x\ndef once(x): return 2\ndef late(x): return x > 12\n"
        "def unasked(x): return 3\n"
    )

    found = judge(body, program)

    assert found.constant == ("same",) and found.varied == ("late", "square")
