"""The rules that are handed to the kernel, checked where the kernel at hand is of one architecture and version only."""

from __future__ import annotations

import errno
import struct
from collections.abc import Iterator, Sequence
from itertools import pairwise

import pytest

from memkit.sandbox import Failure, Sandbox, SandboxLimits
from memkit.sandbox.bare import landlock, seccomp

ALLOW, KILL = 0x7FFF0000, 0x80000000
FAIL = 0x00050000


def verdict(code: bytes, number: int, arguments: Sequence[int] = (), audit: int | None = None) -> int:
    """Run a filter as the kernel does, on one system call."""
    padded = [*arguments, 0, 0, 0, 0, 0, 0][:6]
    data = struct.pack("<iIQ6Q", number, audit or 0, 0, *(argument & (1 << 64) - 1 for argument in padded))
    steps = list(struct.iter_unpack("<HBBI", code))
    place = loaded = 0
    while True:
        operation, if_true, if_false, value = steps[place]
        place += 1
        match operation:
            case 0x20:
                (loaded,) = struct.unpack_from("<I", data, value)
            case 0x15:
                place += if_true if loaded == value else if_false
            case 0x35:
                place += if_true if loaded >= value else if_false
            case 0x45:
                place += if_true if loaded & value else if_false
            case 0x06:
                return int(value)


@pytest.fixture(params=[(name, scratch) for name in seccomp.MACHINES for scratch in (False, True)], ids=str)
def rules(request: pytest.FixtureRequest) -> Iterator[tuple[seccomp.Machine, bytes, bool]]:
    """Yield each architecture with its filter, without and with scratch space."""
    name, scratch = request.param
    target = seccomp.MACHINES[name]
    yield target, seccomp.assembled(target, scratch=scratch), scratch


def test_only_what_is_listed_is_allowed(rules: tuple[seccomp.Machine, bytes, bool]) -> None:
    """Whatever has no name in the table fails; names that make or change files need scratch space."""
    target, code, scratch = rules
    names = {number: name for name, number in target.numbers.items()}
    changing = {"mkdirat", "unlinkat", "renameat", "renameat2", "ftruncate", "pwrite64", "fsync", "fdatasync"}
    for number in range(700):
        found = verdict(code, number, audit=target.audit)
        name = names.get(number)
        if name is None or name in {"seccomp", "clone3"} or (name == "fcntl"):
            assert found & 0xFFFF0000 == FAIL, (number, name)
        elif name in changing or name in {"mkdir", "rmdir", "unlink", "rename"}:
            assert found == (ALLOW if scratch else FAIL | errno.EPERM), name
        else:
            assert found == ALLOW, name


def test_other_architectures_and_numberings_are_killed(rules: tuple[seccomp.Machine, bytes, bool]) -> None:
    """The same number means another call there."""
    target, code, _ = rules
    for audit in (0x40000003, 0x40000028, 0):
        assert verdict(code, target.numbers["read"], audit=audit) == KILL
    if target.has_x32:
        assert verdict(code, 0x40000000 | target.numbers["read"], audit=target.audit) == KILL


def test_arguments_decide_where_a_call_can_do_harm(rules: tuple[seccomp.Machine, bytes, bool]) -> None:
    """Reading one's own limits, asking a descriptor's flags and opening for reading pass; their siblings do not."""
    target, code, scratch = rules

    def passes(name: str, *arguments: int) -> bool:
        return verdict(code, target.numbers[name], arguments, audit=target.audit) == ALLOW

    assert passes("prlimit64", 0, 7, 0, 0x7FFF0000)
    assert not passes("prlimit64", 0, 7, 0x7FFF0000, 0)
    assert not passes("prlimit64", 0, 7, 0x7FFF << 32, 0)
    assert not passes("prlimit64", 1, 7, 0, 0x7FFF0000)
    assert [command for command in range(1100) if passes("fcntl", 3, command)] == [1, 2, 3, 1030]
    for flags in (0, 0o2000000, 0o200000, 0o400000):
        assert passes("openat", -100, 1, flags)
    for flags in (1, 2, 0o100, 0o1000, 0o1002, 0o20200002):
        assert passes("openat", -100, 1, flags) == scratch


def test_each_version_of_landlock_is_asked_for_all_that_it_knows() -> None:
    """Later versions forbid more and never less; no right is left unnamed up to the seventh."""
    known = [landlock.handled(abi) for abi in range(1, 8)]

    for earlier, later in pairwise(known):
        assert earlier.files & ~later.files == 0
        assert earlier.network & ~later.network == 0
        assert earlier.scope & ~later.scope == 0
    assert known[0].files == (1 << 13) - 1
    assert known[-1].files == (1 << 16) - 1
    assert [rights.network for rights in known] == [0, 0, 0, 3, 3, 3, 3]
    assert [rights.scope for rights in known] == [0, 0, 0, 0, 0, 3, 3]


@pytest.mark.parametrize("abi", [1, 2, 3, 4, 5, 6])
def test_an_older_landlock_holds_for_files_as_well(sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch, abi: int) -> None:
    """With the rights of an older version, and without namespaces, nothing outside is read and nothing is changed."""
    if abi > landlock.version():
        pytest.skip("the kernel's Landlock is older")
    boot = (
        "import sys; sys.path.append({folder!r})\nimport bare.jail, bare.landlock, bare.nursery\n"
        "def refuse(): raise PermissionError(1, 'not here')\nbare.jail.separate = refuse\n"
        f"bare.landlock.version = lambda: {abi}\nbare.nursery.main({{listener}}, {{control}})"
    )
    monkeypatch.setattr("memkit.sandbox.sandbox._BOOT", boot)
    source = (
        "import os\nlibrary = os.path.dirname(os.__file__) + '/this.py'\n"
        "def attack():\n    done = []\n"
        "    for use in (lambda: open('/etc/passwd'), lambda: os.listdir('/etc'), lambda: os.truncate(library, 0),\n"
        "                lambda: os.open(library, os.O_RDONLY | os.O_TRUNC), lambda: open(library, 'r+'),\n"
        "                lambda: os.rename(library, library + '~'), lambda: os.link(library, '/tmp/memkit-probe'),\n"
        "                lambda: open('/tmp/memkit-probe', 'w'), lambda: os.mkdir('/tmp/memkit-probe')):\n"
        "        try: done.append(str(use()))\n        except OSError: pass\n    return done\n"
    )
    with Sandbox(SandboxLimits(wall=5.0)) as older, older.open(source) as program:
        answer = program.call("attack")

    assert not isinstance(answer, Failure)
    assert answer == []
