"""Every attack comes to nothing: it is refused or ends its own process, and the next program notices none of it."""

from __future__ import annotations

import ast
import contextlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from textwrap import indent
from typing import Any

import pytest

import memkit
from memkit.sandbox import Evaluator, Failure, Grants, Sandbox, SandboxLimits, SandboxUnavailable, Scratch, available
from memkit.sandbox.bare import seccomp

BRIEF = SandboxLimits(wall=1.5, cpu=2, memory=128 << 20, output=1 << 20)
"""Limits that hostile programs reach soon."""
X86 = pytest.mark.skipif(os.uname().machine != "x86_64", reason="the attacks name system calls of x86-64")


PRELUDE, *GROUPS = re.split(r"^## (.+)\n", (Path(__file__).parent / "attacks.txt").read_text("utf-8"), flags=re.M)
GROUP_OF = {name: GROUPS[place + 1] for place, name in enumerate(GROUPS) if place % 2 == 0}


@dataclass(frozen=True)
class Attack:
    """A program and what must come of it."""

    group: str
    name: str
    expected: Any
    body: str

    @property
    def source(self) -> str:
        """Return the whole program."""
        return f"{PRELUDE}\ndef attack():\n{indent(self.body.strip(), '    ')}\n"


def attacks() -> Iterator[Attack]:
    """Yield every attack of the library."""
    for group, text in GROUP_OF.items():
        for name, expected, body in re.findall(r"^=== (.+) => (.+)\n((?:(?!===).*\n?)*)", text, flags=re.M):
            word = re.fullmatch(r"kind:\w+|[A-Z]\w+(?<!True)", expected)
            yield Attack(group, name, expected if word else ast.literal_eval(expected), body)


ATTACKS = list(attacks())


def outcome(sandbox: Sandbox, attack: Attack) -> Any:
    """Return what came of an attack in the words that attacks expect it in."""
    numbers = " ".join(str(number) for number in seccomp.MACHINES["x86_64"].numbers.values())
    with sandbox.open(f"ALLOWED = {numbers!r}\n{attack.source}") as program:
        assert program.failure is None, program.failure
        answer = program.call("attack")
        if not isinstance(answer, Failure):
            return answer
        exact = str(attack.expected).startswith("kind:")
        return f"kind:{answer.kind}" if exact or answer.kind != "exception" else answer.raised


def test_the_library_of_attacks_is_read_whole() -> None:
    """No attack is skipped because its heading was misread."""
    assert len(ATTACKS) == sum(text.count("\n=== ") for text in GROUP_OF.values()) > 90


@X86
@pytest.mark.parametrize("attack", ATTACKS, ids=lambda attack: attack.name)
def test_an_attack_comes_to_nothing(sandbox: Sandbox, attack: Attack) -> None:
    """It has the outcome written beside it, and the next program runs as if nothing had been."""
    before = _probes()

    found = outcome(sandbox, attack)

    assert found == attack.expected
    assert _probes() == before
    with sandbox.open("def ok(): return len('ok')") as program:
        assert program.call("ok") == 2


def _probes() -> list[str]:
    """Return files that attacks would have left."""
    return [str(path) for folder in ("/", "/tmp", "/dev/shm") for path in Path(folder).glob("*memkit-probe*")]


WITHOUT_NAMESPACES = (
    "import sys; sys.path.append({folder!r})\nimport bare.jail\n"
    "def refuse(): raise PermissionError(1, 'not here')\nbare.jail.separate = refuse\n"
    "from bare.nursery import main; main({listener}, {control})"
)
KERNEL_ONLY = [
    attack for attack in ATTACKS if attack.group in {"files", "processes", "signals", "network", "reaching", "kernel"}
]


@pytest.fixture(scope="module")
def plain() -> Iterator[Sandbox]:
    """Yield a sandbox of a kernel that offers no namespaces: Landlock, seccomp and limits alone."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("memkit.sandbox.sandbox._BOOT", WITHOUT_NAMESPACES)
        opened = Sandbox(BRIEF)
    with opened as sandbox:
        assert {layer.name: layer.holds for layer in sandbox.report.layers}["root"] is False
        yield sandbox


@X86
@pytest.mark.parametrize("attack", KERNEL_ONLY, ids=lambda attack: attack.name)
def test_it_comes_to_nothing_without_namespaces_too(plain: Sandbox, attack: Attack) -> None:
    """What is needed holds by itself; namespaces come on top."""
    found = outcome(plain, attack)

    if attack.name == "links and devices":  # Landlock does not keep a process from changing its folder; nothing follows
        found = [entry for entry in found if entry[1] != "None"]
    assert found == attack.expected


def test_without_namespaces_the_library_can_still_be_imported(plain: Sandbox) -> None:
    """Reading the interpreter's own library is what is granted, and installed packages beside it are not."""
    source = (
        "def use():\n    import statistics, dataclasses\n    return statistics.mean([1, 3])\ndef other(): import pip\n"
    )
    with plain.open(source) as program:
        assert program.call("use") == 2
        assert program.call("other").raised == "ModuleNotFoundError"


def test_scratch_space_is_refused_where_it_cannot_be_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """A grant that the kernel cannot hold is no grant, and the reason names what is missing."""
    monkeypatch.setattr("memkit.sandbox.sandbox._BOOT", WITHOUT_NAMESPACES)

    with pytest.raises(SandboxUnavailable, match="a bounded folder needs mount namespaces"):
        Sandbox(grants=Grants(scratch=Scratch("work")))


@pytest.mark.parametrize(
    ("broken", "missing"),
    [
        ("bare.landlock.version = lambda: 0", "landlock: not offered by this kernel"),
        ("bare.seccomp.machine = lambda: None", "seccomp: system calls of .* are not known here"),
        (
            "bare.landlock.RuleSet.take_on = lambda self: None\nbare.jail.separate = refuse",
            "it could list the root folder",
        ),
        ("bare.seccomp.Filter.take_on = lambda self: None", "it could make a socket"),
        ("bare.seccomp.Filter.take_on = refuse", "it could not be applied"),
        ("bare.nursery.os.fork = refuse", "no process could be started to try it"),
    ],
)
def test_a_kernel_that_lacks_a_means_is_refused_by_name(
    monkeypatch: pytest.MonkeyPatch, broken: str, missing: str
) -> None:
    """Nothing runs half confined: what is needed is tried before the first program."""
    boot = (
        "import sys; sys.path.append({folder!r})\nimport bare.jail, bare.landlock, bare.seccomp, bare.nursery\n"
        "def refuse(*_): raise PermissionError(1, 'not here')\n"
        f"{broken}\nbare.nursery.main({{listener}}, {{control}})"
    )
    monkeypatch.setattr("memkit.sandbox.sandbox._BOOT", boot)

    with pytest.raises(SandboxUnavailable, match=missing) as caught:
        Sandbox()

    assert caught.value.exit_code == 3
    report = available()
    assert not report.ok
    assert len(report.missing) >= 1


def test_processor_time_is_bounded_over_all_calls() -> None:
    """Many short calls add up, also where the program ignores the kernel's warning."""
    source = (
        "import signal, time\nsignal.signal(signal.SIGXCPU, signal.SIG_IGN)\n"
        "def burn():\n    end = time.process_time() + 0.3\n    while time.process_time() < end: pass\n"
    )
    with Sandbox(SandboxLimits(wall=20, cpu=1)) as sandbox, sandbox.open(source) as program:
        answers = [program.call("burn") for _ in range(8)]

    failures = [answer.kind for answer in answers if answer is not None]
    assert failures and set(failures) == {"cpu"}


@X86
def test_an_answer_given_twice_spoils_the_next_call(sandbox: Sandbox) -> None:
    """A program that reads its ticket and answers twice has answered once; the rest is held against it."""
    source = """
import gc, os, struct
def attack():
    import sys
    frame = sys._getframe()
    while 'ticket' not in frame.f_locals:
        frame = frame.f_back
    ticket = frame.f_locals['ticket']
    def text(value): return b's' + struct.pack('<I', len(value)) + value
    body = b'l' + struct.pack('<I', 4) + b'b' + struct.pack('<I', 16) + ticket
    body += text(b'value') + text(b'forged') + text(b'')
    os.write(3, struct.pack('<Q', len(body)) + body)
    return 'true'
"""
    with sandbox.open(source) as program:
        assert program.call("attack") == "forged", "its own answer is its own to choose"
        second = program.call("attack")

    assert isinstance(second, Failure)
    assert second.kind == "protocol"


@pytest.mark.parametrize("name", ["__file__", "__builtins__", "__path__", "a b", "", 7])
def test_an_offer_cannot_name_what_importers_rely_on(sandbox: Sandbox, name: object) -> None:
    """A program that forges what it offers cannot lay a value over the path or the builtins of its proxy."""
    source = f"""
import os, sys
frame = sys._getframe()
while 'request' not in frame.f_locals:
    frame = frame.f_back
framed = next(module for label, module in sys.modules.items() if label.endswith('.codec')).framed
offer = {{'functions': [], 'constants': {{{name!r}: '/etc/passwd'}}, 'others': {{}}}}
os.write(3, framed([frame.f_locals['request']['ticket'], 'value', offer, '']))
"""
    with sandbox.open(source) as program:
        assert program.failure is not None
        assert program.failure.kind == "protocol"
        assert program.constants == {}


def test_neither_evaluator_nor_targets_can_be_found(sandbox: Sandbox, tmp_path: Path) -> None:
    """The evaluator's file, its folder and its process do not exist for the program that it judges."""
    file = tmp_path / "evaluator.py"
    (tmp_path / "targets.json").write_text("[1, 4, 9]", encoding="utf-8")
    file.write_text(
        "import importlib.util, os\nTARGETS = [1, 4, 9]\n"
        "def evaluate(path):\n"
        "    spec = importlib.util.spec_from_file_location('program', path)\n"
        "    program = importlib.util.module_from_spec(spec)\n    spec.loader.exec_module(program)\n"
        "    here = os.path.dirname(__file__)\n"
        "    mine = [here, __file__, here + '/targets.json', path, f'/proc/{os.getpid()}/environ']\n"
        "    return {'seen': program.look(mine)}\n",
        encoding="utf-8",
    )
    program = (
        "import os\ndef look(paths):\n    seen = []\n    for path in paths:\n"
        "        for use in (os.stat, open, os.listdir):\n"
        "            try: use(path); seen.append(path)\n            except OSError: pass\n    return seen\n"
    )
    with Evaluator(file, sandbox) as evaluator:
        found = evaluator.evaluate(program)

    assert found.failure is None
    rooted = any(layer.name == "root" and layer.holds for layer in sandbox.report.layers)
    assert not rooted or found.metrics == {"seen": []}


def test_programs_that_live_at_the_same_time_do_not_meet(sandbox: Sandbox) -> None:
    """One cannot signal, debug, read or stop another whose number it was told."""
    victim_source = "import os\ndef number(): return os.getpid()\n"
    attacker_source = (
        "import ctypes, os\nlibc = ctypes.CDLL(None)\n"
        "def reach(pid):\n    done = []\n"
        "    for use in (lambda: os.kill(pid, 9), lambda: open(f'/proc/{pid}/mem', 'rb+'),\n"
        "                lambda: os.sched_setaffinity(pid, {0}), lambda: os.setpriority(0, pid, 19)):\n"
        "        try: use(); done.append(1)\n        except OSError: pass\n"
        "    done += [n for n in (101, 310, 311, 434, 302) if libc.syscall(n, pid, pid, 0, 0, 0, 0) >= 0]\n"
        "    return done\n"
    )
    with sandbox.open(victim_source) as victim, sandbox.open(attacker_source) as attacker:
        number = victim.call("number")

        assert attacker.call("reach", [number]) == []
        assert victim.call("number") == number


def test_a_program_that_is_let_go_does_not_live_on(sandbox: Sandbox) -> None:
    """Closing kills, whatever the program is doing; places for others are free again."""
    for _ in range(3):
        spinning = [sandbox.open("def spin():\n    while True: pass\n") for _ in range(4)]
        for program in spinning:
            program.close()
    with sandbox.open("def f(): return 1") as program:
        assert program.call("f") == 1


def unprivileged() -> tuple[str, dict[str, Any]]:
    """Return an interpreter, and how to start it as a user without rights: as this one, or for root as nobody."""
    if os.geteuid() != 0:
        return sys.executable, {}
    nobody = {"user": 65534, "group": 65534, "extra_groups": ()}
    for interpreter in (os.path.realpath(sys.executable), "/usr/bin/python3", "/usr/local/bin/python3"):
        asked = "import sys; sys.exit(sys.version_info < (3, 11))"
        with contextlib.suppress(OSError):
            if subprocess.run([interpreter, "-c", asked], **nobody, capture_output=True, check=False).returncode == 0:
                return interpreter, nobody
    return pytest.skip("no Python that the user nobody may run")


def test_it_holds_for_a_user_without_rights() -> None:
    """Nothing of it needs root."""
    package, (interpreter, user) = Path(memkit.__file__).parent, unprivileged()
    place = Path(tempfile.mkdtemp(prefix="memkit-test-", dir="/tmp"))
    script = (
        "from memkit.sandbox import Sandbox\n"
        "with Sandbox() as s, s.open('import os\\ndef f(p): return open(p).read()\\ndef g(): os.fork()') as c:\n"
        "    print(s.report.ok, c.call('f', ['/etc/passwd']).raised, c.call('g').raised)\n"
    )
    try:
        place.chmod(0o755)
        (place / "memkit").mkdir()
        terminal = ("runtime/__init__.py", "runtime/host/__init__.py", "runtime/host/terminal.py")
        for name in ("__init__.py", "errors.py", *terminal):
            (place / "memkit" / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(package / name, place / "memkit" / name)
        shutil.copytree(package / "sandbox", place / "memkit" / "sandbox")
        done = subprocess.run(
            [interpreter, "-c", script], **user, cwd=place, capture_output=True, text=True, check=False
        )
    finally:
        shutil.rmtree(place)

    assert done.stderr == ""
    ok, reading, forking = done.stdout.split()
    assert (ok, forking) == ("True", "PermissionError")
    assert reading in {"PermissionError", "FileNotFoundError"}


def test_namespaces_without_mounts_are_taken_for_what_they_are(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where a kernel lets a user have namespaces and mount nothing in them, the rest holds and the report says so."""
    boot = (
        "import sys; sys.path.append({folder!r})\nimport bare.jail, bare.nursery\n"
        "def refuse(*_): raise PermissionError(13, 'not here')\nbare.jail.move_in = refuse\n"
        "bare.nursery.main({listener}, {control})"
    )
    monkeypatch.setattr("memkit.sandbox.sandbox._BOOT", boot)
    source = (
        "import statistics\ndef mean(x): return statistics.mean(x)\ndef read(): return open('/etc/passwd').read()\n"
    )
    with Sandbox() as sandbox, sandbox.open(source) as program:
        assert "no root: [Errno 13] not here" in str(sandbox.report)
        assert program.call("mean", [[1, 3]]) == 2
        assert program.call("read").raised == "PermissionError"


def test_the_tables_of_system_calls_are_those_of_the_kernel() -> None:
    """Each number is what the kernel's own headers say, where they are installed."""
    found = {}
    for header in ("/usr/include/x86_64-linux-gnu/asm/unistd_64.h", "/usr/include/asm/unistd_64.h"):
        if Path(header).exists():
            found = dict(re.findall(r"__NR_(\w+) (\d+)", Path(header).read_text()))
    if not found:
        pytest.skip("no kernel headers for x86-64 here")

    assert {name: int(found[name]) for name in seccomp.MACHINES["x86_64"].numbers} == seccomp.MACHINES["x86_64"].numbers
