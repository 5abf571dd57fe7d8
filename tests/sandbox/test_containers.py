"""Programs in a container: everything holds as it does without, also where Landlock is missing, and nothing is left."""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from test_hostile_programs import BRIEF, KERNEL_ONLY, X86, Attack, outcome, unprivileged

import memkit
from memkit.cli.main import run
from memkit.errors import UsageError
from memkit.sandbox import (
    RUNTIMES,
    ContainerRuntime,
    Evaluator,
    Grants,
    Sandbox,
    SandboxLimits,
    SandboxUnavailable,
    Scratch,
    usable_runtime,
)

PATCHED = (
    "import sys; sys.path.append({{folder!r}})\nimport bare.jail, bare.landlock\n"
    "def refuse(*_): raise PermissionError(1, 'not here')\n"
    "{broken}\nfrom bare.nursery import main; main({{listener}}, {{control}})"
)
NO_LANDLOCK, NO_NAMESPACES = "bare.landlock.version = lambda: 0", "bare.jail.separate = refuse"
SKELETON = {"etc", "proc", "dev", "memkit", "lib", "lib64", "usr", "opt", "root", "home", "self", "thread-self"}
"""Names that lead to what programs may read; they can be listed where there is no Landlock."""


def installed() -> list[str]:
    """Return the runtimes that are installed here."""
    return [name for name in RUNTIMES if shutil.which(name, path=f"{os.environ['PATH']}:/usr/sbin")]


@pytest.fixture(scope="session")
def runtime() -> ContainerRuntime:
    """Return a runtime that can start containers here."""
    if not installed():
        pytest.skip(f"no container runtime is installed ({', '.join(RUNTIMES)})")
    try:
        return usable_runtime()
    except SandboxUnavailable as error:
        return pytest.skip(f"this kernel does not let its user start a container: {error}")


def broken(monkeypatch: pytest.MonkeyPatch, *lines: str) -> None:
    """Have the fork servers of this test miss what ``lines`` take from them."""
    monkeypatch.setattr("memkit.sandbox.sandbox._BOOT", PATCHED.format(broken="\n".join(lines)))


@pytest.fixture(scope="module", params=[(), (NO_LANDLOCK, NO_NAMESPACES)], ids=["all", "bare"])
def contained(request: pytest.FixtureRequest, runtime: ContainerRuntime) -> Iterator[Sandbox]:
    """Yield a sandbox in a container: with all other means, and without Landlock and namespaces of its own."""
    with pytest.MonkeyPatch.context() as patch:
        broken(patch, *request.param)
        opened = Sandbox(replace(BRIEF, wall=0.5), container=runtime.name)
    others = set() if request.param else {"landlock", "namespaces", "root"}
    with opened as sandbox:
        assert {layer.name for layer in sandbox.report.layers if layer.holds} == {
            "container", "seccomp", "limits", *others
        }  # fmt: skip
        yield sandbox


@X86
@pytest.mark.parametrize("attack", KERNEL_ONLY, ids=lambda attack: attack.name)
def test_an_attack_comes_to_nothing_in_a_container(contained: Sandbox, attack: Attack) -> None:
    """What others means would keep from it, the container does: nothing of the machine is there."""
    found = outcome(contained, attack)

    held = {layer.name for layer in contained.report.layers if layer.holds}
    if attack.name == "links and devices" and "landlock" not in held:  # as in test_hostile_programs: nothing follows
        found = [entry for entry in found if entry[1] != "None"]
    if attack.name == "list folders" and "landlock" not in held:
        found = [entry for entry in found if not _leads_to_the_library(entry[1])]
    if attack.name in {"read files of the system", "read other processes"} and not held & {"landlock", "root"}:
        return  # a test of its own, below
    assert found == attack.expected


def _leads_to_the_library(listed: str) -> bool:
    names = set(re.findall(r"'([^']*)'", listed))
    return all(name in SKELETON or name in os.__file__ or name == "ld.so.cache" or name.isdigit() for name in names)


def test_without_any_other_wall_a_program_sees_itself_and_no_other_process(
    runtime: ContainerRuntime, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The container alone shows a program the devices that hold nothing, and the numbers of its own process."""
    broken(monkeypatch, NO_LANDLOCK, NO_NAMESPACES)
    look = (
        "import os\ndef look():\n    seen = []\n"
        "    for pid in [str(n) for n in range(1, 200)] + os.listdir('/proc'):\n"
        "        for name in ('environ', 'cmdline', 'maps', 'mem', 'status'):\n"
        "            try: open(f'/proc/{pid}/{name}', 'rb').close(); seen.append(pid)\n"
        "            except OSError: pass\n"
        "    return sorted(set(seen) - {'self', 'thread-self', str(os.getpid())})\n"
        "def files():\n    return [f for f in ('/etc/passwd', '/etc/hostname', '/root', '/tmp', '/bin/sh', '/home')"
        " if os.path.exists(f)]\n"
    )
    with Sandbox(BRIEF, container=runtime.name) as sandbox, sandbox.open("x = 1"), sandbox.open(look) as program:
        assert program.call("look") == []
        assert set(program.call("files")) <= {"/root"}, "the way to the interpreter's library, and nothing on it"


def test_time_memory_and_the_life_of_a_program_are_bounded_in_a_container(runtime: ContainerRuntime) -> None:
    """The limits are those of the sandbox, and the next program notices nothing."""
    source = (
        "def spin():\n    while True: pass\ndef fill():\n    return len(bytearray(1 << 30))\n"
        "import os\ndef leave(): os._exit(3)\n"
    )
    with Sandbox(SandboxLimits(wall=0.4, memory=64 << 20), container=runtime.name) as sandbox:
        kinds = []
        for name in ("spin", "fill", "leave"):
            with sandbox.open(source) as program:
                kinds.append(program.call(name).kind)
        with sandbox.open("def ok(): return 2") as program:
            assert program.call("ok") == 2

    assert kinds == ["time", "memory", "crash"]


def test_what_is_granted_is_there_in_a_container_and_nothing_beside_it(
    runtime: ContainerRuntime, tmp_path: Path
) -> None:
    """A module with its libraries, a file at its own path, and scratch space; no variable of the environment."""
    pytest.importorskip("numpy")
    (tmp_path / "data.csv").write_text("1,2")
    (tmp_path / "secret.csv").write_text("3,4")
    source = (
        "import os\nimport numpy.polynomial\n"
        "def read(path): return open(path).read()\n"
        "def solve(): return float(numpy.linalg.det(numpy.eye(3)))\n"
        "def write():\n    open('note', 'w').write('kept')\n    return os.getcwd(), open('note').read()\n"
        "def environment(): return sorted(os.environ)\n"
    )
    grants = Grants(modules=("numpy",), read=(tmp_path / "data.csv",), scratch=Scratch("work"))
    with Sandbox(grants=grants, container=runtime.name) as sandbox, sandbox.open(source) as program:
        assert program.call("read", [str(tmp_path / "data.csv")]) == "1,2"
        assert program.call("read", [str(tmp_path / "secret.csv")]).raised == "FileNotFoundError"
        assert program.call("solve") == 1.0
        assert program.call("write") == ("/scratch/work", "kept")
        environment = [name for name in program.call("environment") if not name.endswith("_NUM_THREADS")]
        assert environment == ["LC_ALL", "PYTHONHASHSEED"]


def test_what_cannot_be_granted_in_a_container_is_refused(runtime: ContainerRuntime) -> None:
    """A container that holds the whole machine would be none."""
    with pytest.raises(UsageError, match="cannot grant /"):
        Sandbox(grants=Grants(read=(Path("/"),)), container=runtime.name)


def test_an_evaluator_judges_programs_in_a_container(runtime: ContainerRuntime, tmp_path: Path) -> None:
    """Evaluators notice nothing of it: programs are reached by the same socket."""
    file = tmp_path / "evaluator.py"
    file.write_text(
        "import importlib.util\ndef evaluate(path):\n"
        "    spec = importlib.util.spec_from_file_location('program', path)\n"
        "    program = importlib.util.module_from_spec(spec)\n    spec.loader.exec_module(program)\n"
        "    return {'combined_score': program.f(20)}\n"
    )
    with Sandbox(container=runtime.name) as sandbox, Evaluator(file, sandbox) as evaluator:
        assert evaluator.evaluate("def f(x): return x + 1").metrics == {"combined_score": 21}


def gone(*things: str) -> bool:
    """Wait until no process and no file of these names is there."""
    for _ in range(250):
        if not any(Path(thing).exists() for thing in things):
            return True
        time.sleep(0.02)
    return False


def started(runtime: ContainerRuntime, script: str) -> tuple[subprocess.Popen[bytes], Path]:
    """Run a script that opens a sandbox in a container; return it and the sandbox's folder, once that is known."""
    opening = (
        f"import sys, memkit.sandbox.sandbox as s\nfrom memkit.sandbox import *\nRUNTIME = {runtime.name!r}\n"
        "made = s.private_folder\ndef told():\n    folder = made()\n    print(folder, flush=True)\n    return folder\n"
        f"s.private_folder = told\n{script}\nprint('open', flush=True); sys.stdin.read()"
    )
    process = subprocess.Popen([sys.executable, "-c", opening], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert process.stdout is not None
    return process, Path(process.stdout.readline().decode().strip())


def number_of(runtime: ContainerRuntime, folder: Path) -> int:
    """Return the number of the container's first process, once it runs."""
    for _ in range(500):
        command = [runtime.path, "--root", str(folder / "state"), "state", folder.name]
        done = subprocess.run(command, capture_output=True, check=False)
        with contextlib.suppress(ValueError, KeyError):
            found = json.loads(done.stdout)
            if found["status"] == "running":
                return int(found["pid"])
        time.sleep(0.02)
    raise AssertionError("no container was started")


def test_no_container_outlives_the_process_that_opened_it(runtime: ContainerRuntime) -> None:
    """Killed without warning, it leaves no process, no container and no folder behind."""
    process, folder = started(
        runtime, "sandbox = Sandbox(container=RUNTIME)\nprogram = sandbox.open('def f(): return 1')"
    )
    assert process.stdout is not None
    process.stdout.readline()
    first = number_of(runtime, folder)
    process.kill()
    process.communicate()

    assert gone(f"/proc/{first}", str(folder))


def test_no_container_outlives_it_while_a_granted_module_never_comes_to_an_end(
    runtime: ContainerRuntime, tmp_path: Path
) -> None:
    """A fork server that does not listen yet is ended by force."""
    (tmp_path / "endless.py").write_text("import os, time\nos.path.exists('/memkit/bare') and time.sleep(90)\n")
    process, folder = started(
        runtime,
        f"sys.path.append({str(tmp_path)!r})\nsandbox = Sandbox(grants=Grants(('endless',)), container=RUNTIME)",
    )
    first = number_of(runtime, folder)
    process.kill()
    process.communicate()

    assert gone(f"/proc/{first}", str(folder))


def test_closing_ends_the_container_and_removes_its_folder(runtime: ContainerRuntime) -> None:
    """Whatever its programs are doing."""
    sandbox = Sandbox(container=runtime.name)
    folder = Path(sandbox.address.path).parent
    program = sandbox.open("x = 1")
    first = number_of(runtime, folder)

    sandbox.close()

    assert not Path(f"/proc/{first}").exists()
    assert not folder.exists()
    answer = program.call("f")
    assert answer.kind == "unavailable"


def fake_runtime(folder: Path, name: str, code: str) -> None:
    """Put a runtime on the search path that does nothing but what ``code`` says."""
    (folder / name).write_text(f"#!/bin/sh\n{code}\n")
    (folder / name).chmod(0o755)


@pytest.fixture
def no_runtimes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Stand on a machine whose runtimes are those in the folder that is returned."""
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr("memkit.sandbox.container._PLACES", ())
    return tmp_path


def test_a_runtime_that_is_missing_or_cannot_start_is_said_to_be(
    no_runtimes: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Exit code 3, with what is missing, or with the runtime's own words; nothing is left of the attempt."""
    place = tempfile.mkdtemp()  # short enough for a socket, which tmp_path is not
    monkeypatch.setattr(tempfile, "tempdir", place)
    with pytest.raises(SandboxUnavailable, match="container runtime runc is not installed") as caught:
        Sandbox(container="runc")
    assert caught.value.exit_code == 3

    fake_runtime(
        no_runtimes, "runc", '[ "$1" = --version ] && echo runc version 9.9 || { echo no cgroups >&2; exit 1; }'
    )
    with pytest.raises(SandboxUnavailable, match=r"the container of runc 9\.9 did not start: no cgroups"):
        Sandbox(container="runc")
    with pytest.raises(SandboxUnavailable, match=r"no cgroups.*crun is not installed"):
        usable_runtime()

    fake_runtime(no_runtimes, "crun", "exit 5")
    with pytest.raises(SandboxUnavailable, match=r"crun cannot be run: .*exit status 5"):
        Sandbox(container="crun")
    Path(place).rmdir()  # which it could not if anything were left


def test_a_runtime_that_memkit_does_not_know_is_bad_usage() -> None:
    """A name is no command to run."""
    with pytest.raises(UsageError, match="it starts runc and crun"):
        Sandbox(container="/bin/sh")


def test_where_landlock_is_missing_the_refusal_says_that_a_container_would_do(
    runtime: ContainerRuntime, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And only then: on a machine that cannot start one either, it would be bad advice."""
    broken(monkeypatch, NO_LANDLOCK)
    with pytest.raises(SandboxUnavailable, match=f"landlock: .* --container {runtime.name}"):
        Sandbox()

    monkeypatch.setenv("PATH", "")
    monkeypatch.setattr("memkit.sandbox.container._PLACES", ())
    with pytest.raises(SandboxUnavailable) as caught:
        Sandbox()
    assert "--container" not in str(caught.value)


@pytest.mark.parametrize(
    ("lines", "missing"),
    [
        (("import bare.seccomp", "bare.seccomp.machine = lambda: None"), "seccomp: .* not known here"),
        (("import bare.seccomp", "bare.seccomp.Filter.take_on = lambda self: None"), "it could make a socket"),
    ],
)
def test_a_container_does_not_replace_what_it_cannot(
    runtime: ContainerRuntime, monkeypatch: pytest.MonkeyPatch, lines: tuple[str, ...], missing: str
) -> None:
    """A container keeps no program from starting others or from talking to those beside it; the filter does."""
    broken(monkeypatch, *lines)

    with pytest.raises(SandboxUnavailable, match=missing):
        Sandbox(container=runtime.name)


def test_a_container_that_shows_the_machine_is_not_taken_for_one(
    runtime: ContainerRuntime, monkeypatch: pytest.MonkeyPatch
) -> None:
    """That the machine's files are out of sight is tried as well, where nothing else hides them."""
    broken(monkeypatch, NO_LANDLOCK, NO_NAMESPACES, "import os", "os.stat = lambda path: path")

    with pytest.raises(SandboxUnavailable, match="it could see files of the machine"):
        Sandbox(container=runtime.name)


SCRIPT = (
    "import sys\nfrom memkit.sandbox import Sandbox\n"
    "with Sandbox(container=sys.argv[1]) as s, s.open('def f(p): return open(p).read()\\ndef g(): return 7') as c:\n"
    "    print(next(iter(s.report.layers)).detail, c.call('f', ['/etc/passwd']).raised, c.call('g'), sep='|')\n"
)


def test_a_container_needs_no_rights(runtime: ContainerRuntime) -> None:
    """A user without any starts one as well."""
    interpreter, user = unprivileged()
    if subprocess.run(["unshare", "--user", "true"], **user, check=False, capture_output=True).returncode != 0:
        pytest.skip("this kernel does not let its user make a namespace")
    package, place = Path(memkit.__file__).parent, Path(f"/tmp/memkit-test-{os.getpid()}")
    try:
        (place / "memkit").mkdir(parents=True)
        terminal = ("runtime/__init__.py", "runtime/host/__init__.py", "runtime/host/terminal.py")
        for name in ("__init__.py", "errors.py", *terminal):
            (place / "memkit" / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(package / name, place / "memkit" / name)
        shutil.copytree(package / "sandbox", place / "memkit" / "sandbox")
        command = [interpreter, "-c", SCRIPT, runtime.name]
        done = subprocess.run(command, **user, cwd=place, capture_output=True, text=True, check=False)
    finally:
        shutil.rmtree(place)

    assert (done.stdout, done.stderr) == (f"{runtime}|FileNotFoundError|7\n", "")


def test_each_runtime_starts_a_container() -> None:
    """Those that want a machine with one hierarchy of control groups are shown one, where this is another."""
    if set(installed()) != set(RUNTIMES):
        pytest.skip(f"not all container runtimes are installed: {', '.join(RUNTIMES)}")
    if os.geteuid() != 0:
        pytest.skip("this kernel does not let its user change what is mounted")
    unified = 'umount --lazy /sys/fs/cgroup; mount -t cgroup2 none /sys/fs/cgroup && exec "$@"'
    for name in RUNTIMES:
        command = ["unshare", "--mount", "sh", "-c", unified, "sh", sys.executable, "-c", SCRIPT, name]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if "mount:" in done.stderr:
            pytest.skip(f"this kernel does not let its user mount control groups: {done.stderr}")
        assert done.stdout.startswith(f"{name} "), done.stderr
        assert done.stdout.endswith("|FileNotFoundError|7\n")


def test_doctor_names_the_runtime(runtime: ContainerRuntime, capsys: pytest.CaptureFixture[str]) -> None:
    """What can be asked for can be looked up."""
    run(["doctor", "--deep", "--json"])
    data = json.loads(capsys.readouterr().out)["data"]

    assert {"name": "container", "ok": True, "detail": str(runtime)} in data["checks"]


def test_doctor_says_why_there_is_none(no_runtimes: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Nothing is wrong with a machine that has none."""
    run(["doctor", "--deep", "--json"])
    checks: list[dict[str, Any]] = json.loads(capsys.readouterr().out)["data"]["checks"]

    [found] = [check for check in checks if check["name"] == "container"]
    assert found["ok"] is True
    assert "'memkit evolve --container' needs one" in found["detail"]
    assert "crun is not installed" in found["detail"]
