"""What a confined program is to its caller: functions and constants, called with plain data."""

from __future__ import annotations

import math
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import memkit.sandbox.sandbox as sandbox_module
from memkit.errors import UsageError
from memkit.sandbox import (
    Failure,
    Grants,
    Sandbox,
    SandboxedProgram,
    SandboxLimits,
    SandboxUnavailable,
    Scratch,
    available,
)

ECHO = "def echo(*args, **kwargs): return [list(args), kwargs]\n"


def kind(answer: Any) -> str:
    """Return the kind of a failure; anything else fails the test."""
    assert isinstance(answer, Failure), answer
    return answer.kind


def test_a_function_is_called_with_plain_data_and_answers_in_kind(sandbox: Sandbox) -> None:
    """What goes in comes out: nested, exact, with NaN and infinities, tuples as tuples."""
    data = [None, True, 7, -(10**40), 0.1, math.inf, "é", b"\x00", [1, 2], [0.5], (1, "a"), {"k": {1: [()]}}]
    with sandbox.open(ECHO) as program:
        args, kwargs = program.call("echo", data, {"x": math.nan})

    assert args == data
    assert [type(item) for item in args] == [type(item) for item in data]
    assert math.isnan(kwargs["x"])


def test_a_program_says_what_it_offers(sandbox: Sandbox) -> None:
    """Functions by name, constants by value, and for everything else why it cannot be forwarded."""
    source = (
        "import math\nfrom math import sqrt\nRATE = 0.5\nclass Solver: pass\ndef solve(): return 1\nitems = iter([])\n"
    )
    with sandbox.open(source) as program:
        assert program.failure is None
        assert program.functions == ("sqrt", "solve")
        assert program.constants == {"RATE": 0.5}
        assert "class Solver" in program.others["Solver"]
        assert set(program.others) == {"Solver", "items"}


def test_state_lasts_between_calls_and_not_between_programs(sandbox: Sandbox) -> None:
    """A program is a module: it remembers; another one of the same text starts anew."""
    source = "seen = []\ndef note(x):\n    seen.append(x)\n    return list(seen)\n"
    with sandbox.open(source) as first, sandbox.open(source) as second:
        assert first.call("note", [1]) == [1]
        assert first.call("note", [2]) == [1, 2]
        assert second.call("note", [3]) == [3]


def test_an_exception_is_an_answer_with_its_place(sandbox: Sandbox) -> None:
    """The caller learns class, text and line, and can go on calling."""
    with sandbox.open("def half(x):\n    return 1 / x\n") as program:
        failed = program.call("half", [0])

        assert failed == Failure("exception", "ZeroDivisionError: division by zero", failed.detail, "ZeroDivisionError")
        assert "line 2, in half" in failed.detail
        assert program.call("half", [2]) == 0.5


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("def broken(:\n", "syntax"),
        ("x = '\x00'", "syntax"),
        ("raise ValueError('no')", "exception"),
        ("import numpy", "exception"),
        ("raise SystemExit", "exception"),
        ("while True: pass", "time"),
    ],
)
def test_a_program_that_does_not_load_fails_each_call_alike(sandbox: Sandbox, source: str, expected: str) -> None:
    """There is an object to ask all the same, and it says why there is no program."""
    with sandbox.open(source) as program:
        assert program.failure is not None
        assert program.failure.kind == expected
        assert program.call("anything") == program.failure


@pytest.mark.parametrize("value", [len, int, object(), {1.5: 2}, {(1,): 2}, {1}, 3j, iter([]), 10**3000, "\ud800"])
def test_what_is_not_plain_is_named_and_refused_on_its_way_in(sandbox: Sandbox, value: object) -> None:
    """Callables, classes, generators and objects stay outside, and the program is none the worse."""
    with sandbox.open(ECHO) as program:
        refused = program.call("echo", [[value]])

        assert kind(refused) == "refused"
        assert "cannot be forwarded" in refused.reason
        assert program.call("echo") == [[], {}]


@pytest.mark.parametrize("value", ["len", "object", "(x for x in ())", "{1}", "3j", "10**3000", "'\\ud800'", "open"])
def test_what_is_not_plain_is_named_and_refused_on_its_way_out(sandbox: Sandbox, value: str) -> None:
    """The same holds for what a program returns."""
    with sandbox.open(f"def give(): return {value}\ndef fine(): return 1\n") as program:
        assert kind(program.call("give")) == "refused"
        assert program.call("fine") == 1


def test_chance_is_the_same_for_the_same_seed(sandbox: Sandbox) -> None:
    """A program that draws from ``random``, or depends on the order of a set, repeats itself."""
    source = "import random\ndef draw(): return [random.random(), list({'a', 'b', 'c', 'd'})]\n"

    def drawn(seed: int) -> Any:
        with sandbox.open(source, seed=seed) as program:
            return program.call("draw")

    assert drawn(1) == drawn(1)
    assert drawn(-5) == drawn(-5)
    assert drawn(1)[0] != drawn(2)[0]


def test_what_is_printed_comes_with_the_answer_and_is_bounded(sandbox: Sandbox) -> None:
    """Printing is no error and no channel without end."""
    source = "def talk(n):\n    print('x' * n)\n    return n\n"
    with sandbox.open(source) as program:
        assert (program.call("talk", [3]), program.printed) == (3, "xxx\n")
        assert program.call("talk", [10_000_000]) == 10_000_000
        assert len(program.printed) <= 64 * 1024


def test_numpy_is_there_only_where_it_is_granted() -> None:
    """A granted module is read and imported; arrays go both ways as they are."""
    numpy = pytest.importorskip("numpy")
    source = (
        "import numpy as np\ndef scale(a, k): return np.asarray(a) * k, np.float64(1.5), np.linalg.det(np.eye(3))\n"
    )
    with Sandbox(SandboxLimits(), Grants(modules=("numpy",))) as sandbox, sandbox.open(source) as program:
        array, number, determinant = program.call("scale", [numpy.arange(6, dtype="i2").reshape(2, 3), 2])

    assert array.dtype == numpy.dtype("i2") and array.tolist() == [[0, 2, 4], [6, 8, 10]]
    assert (number, determinant) == (1.5, 1.0)


def test_a_granted_file_can_be_read_and_nothing_beside_it(tmp_path: Path) -> None:
    """A grant is a path, not its folder."""
    granted, beside = tmp_path / "data.csv", tmp_path / "secret.csv"
    granted.write_text("1,2", encoding="utf-8")
    beside.write_text("3,4", encoding="utf-8")
    with (
        Sandbox(grants=Grants(read=(granted,))) as sandbox,
        sandbox.open("def read(p): return open(p).read()") as program,
    ):
        assert program.call("read", [str(granted)]) == "1,2"
        assert program.call("read", [str(beside)]).raised in {"PermissionError", "FileNotFoundError"}


@pytest.fixture(scope="module")
def roomy() -> Iterator[Sandbox]:
    """Yield a sandbox whose programs have a small scratch folder."""
    if not any(layer.name == "root" and layer.holds for layer in available().layers):
        pytest.skip("no mount namespaces here")
    with Sandbox(grants=Grants(scratch=Scratch("work", size=1 << 20, files=20))) as sandbox:
        yield sandbox


def test_scratch_space_is_the_programs_own_and_ends_with_it(roomy: Sandbox) -> None:
    """It is where the program stands, nobody else sees it, and the next program finds it empty."""
    source = (
        "import os\ndef write(n):\n    open('a.txt', 'w').write('x' * n)\n    return os.path.getsize('a.txt')\n"
        "def look(): return os.getcwd(), os.listdir('.')\n"
    )
    with roomy.open(source) as first, roomy.open(source) as second:
        assert first.call("write", [1000]) == 1000
        assert first.call("look") == ("/scratch/work", ["a.txt"])
        assert second.call("look") == ("/scratch/work", [])


def test_scratch_space_is_bounded_in_bytes_and_in_files(roomy: Sandbox) -> None:
    """One large file, many files and many empty files meet an end; so do links, devices and pipes."""
    source = (
        "import os\n"
        "def large(): open('a', 'wb').write(b'x' * (2 << 20))\n"
        "def many():\n    for i in range(5): open(f'b{i}', 'wb').write(b'x' * (300 << 10))\n"
        "def empty():\n    for i in range(100): open(f'c{i}', 'w').close()\n"
        "def link(): os.symlink('/etc/passwd', 'd')\n"
        "def hard(): open('e', 'w').close(); os.link('e', 'f')\n"
        "def fifo(): os.mkfifo('g')\n"
        "def mode(): open('h', 'w').close(); os.chmod('h', 0o777)\n"
    )
    for attempt in ("large", "many", "empty", "link", "hard", "fifo", "mode"):
        with roomy.open(source) as program:
            assert kind(program.call(attempt)) == "exception", attempt


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: SandboxLimits(wall=0),
        lambda: SandboxLimits(cpu=1.5),  # type: ignore[arg-type]
        lambda: SandboxLimits(memory=-1),
        lambda: SandboxLimits(wall=math.nan),
        lambda: Scratch("../up"),
        lambda: Scratch("work", size=0),
        lambda: Grants(modules=("os; import evil",)),
        lambda: Sandbox(grants=Grants(modules=("no_such_module_here",))),
        lambda: Sandbox(grants=Grants(modules=("json",))),
        lambda: Sandbox(grants=Grants(read=(Path("/no/such/file"),))),
    ],
)
def test_what_cannot_be_granted_is_refused_before_anything_runs(wrong: Any) -> None:
    """A wrong limit or grant is bad usage, said in one line."""
    with pytest.raises(UsageError):
        wrong()


def test_the_machine_is_reported_by_layer() -> None:
    """What is needed was tried and holds, or is named as missing."""
    report = available()

    assert {"landlock", "seccomp", "limits"} <= {layer.name for layer in report.layers if layer.needed} or not report.ok
    assert report.ok == (not report.missing)


def test_another_system_is_refused_with_what_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where there is no Landlock nothing is run."""
    monkeypatch.setattr(sys, "platform", "darwin")

    with pytest.raises(SandboxUnavailable, match="Landlock and seccomp need Linux; this is darwin") as caught:
        Sandbox()

    assert caught.value.exit_code == 3
    assert not available().ok


def test_closing_ends_every_process_and_leaves_no_file() -> None:
    """Programs that still run are killed, and asking them says so."""
    sandbox = Sandbox(SandboxLimits(wall=30))
    folder = Path(sandbox.address.path).parent
    program = sandbox.open("def spin():\n    while True: pass\n")
    answers: list[Any] = []
    caller = threading.Thread(target=lambda: answers.append(program.call("spin")))
    caller.start()
    sandbox.close()
    caller.join(10)

    assert [kind(answer) for answer in answers] == ["unavailable"]
    assert not folder.exists()
    assert kind(sandbox.open("x = 1").failure) == "unavailable"


def test_programs_end_with_the_process_that_opened_the_sandbox() -> None:
    """Killed without warning, it leaves no process behind."""
    script = (
        "import os, sys; from memkit.sandbox import Sandbox\n"
        "s = Sandbox(); c = s.open('def f(): return 1'); c.call('f')\n"
        "print(s._server.pid, flush=True); sys.stdin.read()\n"
    )
    process = subprocess.Popen([sys.executable, "-c", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert process.stdout is not None and process.stdin is not None
    server = int(process.stdout.readline())
    process.kill()
    process.communicate()

    for _ in range(200):
        if not Path(f"/proc/{server}").exists():
            break
        threading.Event().wait(0.02)
    assert not Path(f"/proc/{server}").exists()


def test_many_threads_use_one_sandbox(sandbox: Sandbox) -> None:
    """Calls from several threads go to programs of their own and do not mix."""
    answers: dict[int, Any] = {}

    def work(number: int) -> None:
        with sandbox.open(f"def f(x): return x + {number}") as program:
            answers[number] = [program.call("f", [step]) for step in range(20)]

    threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert answers == {number: [number + step for step in range(20)] for number in range(8)}


def test_more_programs_than_are_let_live_wait_for_their_turn() -> None:
    """The bound on programs delays; it does not fail."""
    with Sandbox(SandboxLimits(programs=1)) as sandbox:
        first: SandboxedProgram = sandbox.open("def f(): return 1")
        threading.Timer(0.2, first.close).start()
        with sandbox.open("def f(): return 2") as second:
            assert second.call("f") == 2


def test_a_program_sees_no_variable_of_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keys of the caller are not inherited."""
    monkeypatch.setenv("SECRET_API_KEY", "sk-1234")
    with Sandbox() as sandbox, sandbox.open("import os\ndef env(): return dict(os.environ)") as program:
        seen = program.call("env")

    assert "SECRET_API_KEY" in os.environ
    assert not {name for name in seen if "KEY" in name}


def test_a_program_that_is_dropped_does_not_live_on(sandbox: Sandbox) -> None:
    """Losing the last reference is closing: an evaluator that imports in a loop does not fill the house."""
    descriptors = sum(1 for _ in Path("/proc/self/fd").iterdir())
    for _ in range(40):
        assert sandbox.open("def f(): return 1").call("f") == 1

    assert sum(1 for _ in Path("/proc/self/fd").iterdir()) == descriptors


def test_closing_from_another_thread_ends_the_call(sandbox: Sandbox) -> None:
    """Who waits for an answer learns that there will be none."""
    program = sandbox.open("def spin():\n    while True: pass\n")
    threading.Timer(0.2, program.close).start()

    assert kind(program.call("spin")) in {"unavailable", "crash", "memory"}


def test_the_common_parts_of_the_standard_library_can_be_imported(sandbox: Sandbox) -> None:
    """Also those that need a library of the system, as far as they are loaded before the first program."""
    names = "base64 bz2 csv dataclasses datetime decimal enum fractions hashlib inspect lzma secrets statistics zlib"
    source = "import importlib\ndef load(names):\n    for name in names: importlib.import_module(name)\n"
    with sandbox.open(source) as program:
        assert program.call("load", [names.split()]) is None


def test_what_a_program_says_of_itself_can_be_shown(sandbox: Sandbox) -> None:
    """A reason has one line, a length, and no character that a terminal obeys; the same goes for the trace."""
    source = "def f\u00e9(): raise ValueError('\\x1b]0;gone\\x07\\n\\u202e' + 'x' * 9999)\n"
    with sandbox.open(source, name="pro\x1bgram") as program:
        failed = program.call("f\u00e9")

    assert failed.reason.startswith("ValueError: \\x1b]0;gone\\x07\\n\\u202ex")
    assert len(failed.reason) < 600
    assert failed.reason.isprintable()
    assert all(line.isprintable() for line in failed.detail.split("\n"))
    assert "in f\u00e9" in failed.detail


def test_a_module_is_granted_that_lies_in_a_folder_which_is_not(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Packages installed beside the standard library are hidden, and one of them can be granted nevertheless."""
    library, site = tmp_path / "lib", tmp_path / "lib" / "site-packages"
    (site / "granted" / "part").mkdir(parents=True)
    (site / "hidden").mkdir()
    for file in (site / "granted", site / "granted" / "part", site / "hidden"):
        (file / "__init__.py").write_text("VALUE = 7\n")
    known = sandbox_module._library()
    monkeypatch.setattr(sandbox_module, "_library", lambda: ([*known[0], str(library)], [*known[1], str(site)]))
    monkeypatch.syspath_prepend(str(site))
    look = (
        "import os\ndef look(folder):\n    import granted.part\n"
        "    return granted.part.VALUE, [os.path.exists(f'{folder}/{name}') for name in ('granted', 'hidden')]\n"
    )
    with Sandbox(grants=Grants(modules=("granted",))) as sandbox, sandbox.open(look) as program:
        value, (is_granted, is_hidden_there) = program.call("look", [str(site)])

    rooted = any(layer.name == "root" and layer.holds for layer in sandbox.report.layers)
    assert (value, is_granted) == (7, True)
    assert is_hidden_there is not rooted


def test_no_further_process_is_no_sandbox(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A user whose processes are used up is told so, and nothing is left behind."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))

    def refuse(*_given: object) -> None:
        raise BlockingIOError(11, "Resource temporarily unavailable")

    monkeypatch.setattr("memkit.sandbox.sandbox._started", refuse)

    with pytest.raises(SandboxUnavailable, match="this user may not start another process"):
        Sandbox()

    assert list(tmp_path.iterdir()) == []
