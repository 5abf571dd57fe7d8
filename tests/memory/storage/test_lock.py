"""The lock between processes is given in the order in which it was asked for, and never twice."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path
from threading import Thread

import pytest

from memkit.runtime.memory.log.shards import locked, take
from memkit.runtime.memory.record.lines import StoreLocked

ONE = """
import os, sys
from pathlib import Path
from memkit.runtime.memory.log.shards import locked
lock, told, name, turns = Path(sys.argv[1]), sys.argv[2], sys.argv[3], int(sys.argv[4])
for _ in range(turns):
    with locked(lock, timeout=60):
        with open(told, "a") as file:
            file.write(name)
"""


def start(lock: Path, told: Path, name: str, turns: int = 1) -> subprocess.Popen[bytes]:
    """Start a process that takes the lock so many times, and says its name each time."""
    return subprocess.Popen([sys.executable, "-c", ONE, str(lock), str(told), name, str(turns)])


def waiting(lock: Path) -> int:
    """Return how many wait for a lock on the file, as the kernel tells it."""
    inode = f":{lock.stat().st_ino} "
    return sum("->" in line and inode in line for line in Path("/proc/locks").read_text().splitlines())


def until_waiting(lock: Path, number: int) -> None:
    """Wait until so many wait for the file."""
    while waiting(lock) < number:
        time.sleep(0.01)


linux = pytest.mark.skipif(not Path("/proc/locks").exists(), reason="only Linux tells who waits")


@linux
def test_who_asked_first_is_served_first(tmp_path: Path) -> None:
    """Eight processes that wait get it one after the other, in their order."""
    lock, told = tmp_path / "lock", tmp_path / "told"
    with locked(lock, timeout=1):
        waiters = []
        for place, name in enumerate("abcdefgh", start=1):
            waiters.append(start(lock, told, name))
            until_waiting(lock, place)
    for process in waiters:
        assert process.wait() == 0

    assert told.read_text() == "abcdefgh"


@linux
def test_a_writer_in_a_loop_keeps_nobody_out(tmp_path: Path) -> None:
    """Whoever waits gets in after the turn that is under way, however soon the loop asks again."""
    lock, told = tmp_path / "lock", tmp_path / "told"
    with locked(lock, timeout=1):
        first = start(lock, told, "x", turns=2000)
        until_waiting(lock, 1)
        second = start(lock, told, "o", turns=20)
        until_waiting(lock, 2)
    assert (first.wait(), second.wait()) == (0, 0)
    turns = told.read_text()

    assert turns.count("x") == 2000
    # On a busy machine the one that was woken may be late at its turn, but not for long.
    assert turns.rindex("o") < 1000, turns[:400]


def test_a_wait_that_was_given_up_takes_nothing(tmp_path: Path) -> None:
    """The lock is free once its holder is done, whoever waited for it in vain."""
    lock = tmp_path / "lock"
    with locked(lock, timeout=1):
        for timeout in (0.0, 0.05, 1.1):
            with pytest.raises(StoreLocked, match="held"), locked(lock, timeout=timeout):
                pass

    with locked(lock, timeout=10):
        pass


def test_an_interrupt_ends_a_wait(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """And leaves the lock to others."""

    def interrupted(*_: object) -> bool:
        raise KeyboardInterrupt

    lock = tmp_path / "lock"
    with locked(lock, timeout=1), monkeypatch.context() as patch:
        patch.setattr("memkit.runtime.memory.log.shards.Event.wait", interrupted)
        descriptor = os.open(lock, os.O_RDWR)
        with pytest.raises(KeyboardInterrupt):
            take(descriptor, 10)
        os.close(descriptor)

    with locked(lock, timeout=10):
        pass


def test_threads_exclude_each_other(tmp_path: Path) -> None:
    """What is read and written under the lock is not torn."""
    lock, number = tmp_path / "lock", tmp_path / "number"
    number.write_text("0")

    def count() -> None:
        for _ in range(25):
            with locked(lock, timeout=60):
                number.write_text(str(int(number.read_text()) + 1))

    threads = [Thread(target=count) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert number.read_text() == "200"


def test_a_holder_that_is_killed_leaves_it(tmp_path: Path) -> None:
    """The lock ends with its process, and those who wait go on."""
    lock, told = tmp_path / "lock", tmp_path / "told"
    code = (
        "import sys, time; from pathlib import Path; from memkit.runtime.memory.log.shards import locked\n"
        "with locked(Path(sys.argv[1]), timeout=1): print('held', flush=True); time.sleep(600)"
    )
    with subprocess.Popen([sys.executable, "-c", code, str(lock)], stdout=subprocess.PIPE) as holder:
        assert holder.stdout is not None and holder.stdout.readline() == b"held\n"
        waiter = start(lock, told, "a")
        holder.kill()

    assert waiter.wait() == 0
    assert told.read_text() == "a"
