"""Power failures, full disks and wrong clocks: what the suite rebuilds is legal, and twins that are wrong are seen."""

from __future__ import annotations

import os
import random
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from closure.power import Answered, Made, Recording, Synced, Wrote, held, put, record
from closure.runner import FAIL, PASS, Cell
from closure.subject import Subject
from closure.suites.crash import NEW
from closure.suites.crash import _struck as struck
from closure.systems import System
from tests.proof.enclosure import is_possible

Answers = Callable[..., dict[str, Cell]]
needs_strace = pytest.mark.skipif(not shutil.which("strace"), reason="needs strace (apt-get install strace)")
needs_disk = pytest.mark.skipif(not is_possible(), reason="needs unshare and ip (apt-get install util-linux iproute2)")
needs_clock = pytest.mark.skipif(
    not list(Path("/usr/lib").glob("*/faketime/libfaketimeMT.so.1")), reason="needs apt-get install faketime"
)


def twin(adapter: str) -> System:
    """Return a memory of ``broken.py``."""
    return System(name=adapter.lower(), adapter=f"tests.closure.broken:{adapter}", about="for a test", part=0.02)


@needs_strace
@pytest.mark.parametrize(
    ("adapter", "result"), [("Unsynced", FAIL), ("Renamed", FAIL), ("Safe", PASS), ("GrepFiles", PASS)]
)
def test_a_memory_that_acknowledges_before_the_disk_has_it_fails_the_power_loss(
    answers: Answers, adapter: str, result: str
) -> None:
    """Without ``fsync`` of the file, or of the directory after a rename, the answer came too early."""
    cell = answers(twin(adapter), "crash/power-loss", share=1.0)["crash/power-loss"]

    assert cell.result == result, cell.reason
    assert "seed 1" in cell.reason


@needs_strace
def test_an_injected_fault_strikes_or_is_not_counted() -> None:
    """A kill kills, an error is met, and one at a call that is never made is no fault that was survived."""
    with Subject("closure.adapters.plain:GrepFiles", Path(sys.executable)) as subject:
        subject.call("remember", user="ada", text="Ada keeps a base in the barn")
        subject.restart()

        assert struck(subject, "fsync:signal=SIGKILL:when=1") == ""
        assert NEW in subject.call("export", user="ada")  # it was killed behind its write, and acknowledged nothing
        subject.restart()
        assert struck(subject, "fsync:error=EIO:when=1") == ""
        assert struck(subject, "fsync:signal=SIGKILL:when=99") is None


@needs_strace
def test_all_that_was_recorded_rebuilds_the_folder(tmp_path: Path) -> None:
    """Every way to write that Python and git have is followed: with nothing lost the folder is what it became."""
    folder = tmp_path / "memory"
    folder.mkdir()
    (folder / "old").write_text("old\n")
    program = (
        "import os, shutil, sqlite3, subprocess, sys\n"
        "sys.stdin.read()\n"
        "with open('old', 'a') as file: file.write('more\\n')\n"
        "with open('old', 'r+') as file: file.seek(1); file.write('LD')\n"
        "os.makedirs('deep/er'); shutil.copyfile('old', 'deep/er/copy'); os.rename('deep', 'moved')\n"
        "os.link('old', 'linked'); os.symlink('old', 'points'); os.truncate('moved/er/copy', 3)\n"
        "base = sqlite3.connect('base.db'); base.execute('CREATE TABLE t(x)')\n"
        "base.execute('INSERT INTO t VALUES (1)'); base.commit(); base.close()\n"
        "os.remove('linked'); os.mkdir('gone'); os.rmdir('gone')\n"
        "subprocess.run(['git', 'init', '-q', 'r'], check=True)\n"
        "subprocess.run('git add -A . && git -c user.name=a -c user.email=a@b commit -qm one', shell=True, cwd='r')\n"
    )
    recording = record([sys.executable, "-c", program], "", folder, dict(os.environ), tmp_path / "trace")
    became = held(folder)

    put(folder, *recording_at_its_end(recording))

    assert recording.unseen == []
    assert held(folder) == became


def recording_at_its_end(recording: Recording) -> tuple[dict[str, str | tuple[str, str]], dict[str, bytes]]:
    """Return names and contents when everything reached the disk: made to last at the very end."""
    files = {event.file for event in recording.events if isinstance(event, Wrote)}
    folders = {parent for event in recording.events if isinstance(event, Made) for parent in event.parents()}
    everything = [*recording.events, *(Synced(what) for what in [*files, *folders])]
    whole = Recording(recording.folder, recording.names, recording.contents, everything)
    return whole.state(len(everything), None)


def test_what_was_made_to_last_is_in_every_state_and_the_rest_may_be_missing() -> None:
    """A synced write and a synced name are always there; others are there in some states and not in others."""
    folder = Path("/m")
    events = [
        Made("/m/a", "new 0"), Wrote("new 0", 0, b"kept"), Synced("new 0"), Synced("/m"), Answered(),
        Wrote("new 0", 4, b"x" * 1400), Made("/m/b", "new 1"),
    ]  # fmt: skip
    recording = Recording(folder, {}, {}, list(events))

    states = [recording.state(len(events), random.Random(seed)) for seed in range(300)]

    contents = {state[1]["new 0"] for state in states}
    assert all(state[0]["/m/a"] == "new 0" for state in states)
    assert all(content.startswith(b"kept") for content in contents)
    assert {len(content) for content in contents} == {4, 4 + 512, 4 + 1024, 4 + 1400}
    assert {"/m/b" in state[0] for state in states} == {True, False}
    assert recording.state(len(events), None) == ({"/m/a": "new 0"}, {"new 0": b"kept"})


def test_the_same_seed_rebuilds_the_same_states() -> None:
    """A state is drawn from the seed and from nothing else."""
    events = [Made("/m/a", "new 0"), *(Wrote("new 0", place, b"y") for place in range(40))]
    recording = Recording(Path("/m"), {}, {}, list(events))

    assert [recording.state(30, random.Random(7)) for _ in range(3)] == [recording.state(30, random.Random(7))] * 3


@needs_disk
@pytest.mark.parametrize(("system", "result"), [("plain-grep", FAIL), ("memkit-files", PASS)])
def test_a_full_disk_is_told_from_a_broken_memory(answers: Answers, system: str, result: str) -> None:
    """A list that is left with half a line fails; who refuses, keeps all and goes on passes."""
    cell = answers(system, "crash/full-disk", share=0.1)["crash/full-disk"]

    assert cell.result == result, cell.reason


@needs_clock
@pytest.mark.parametrize(("adapter", "result"), [("ByTheClock", FAIL), ("GrepFiles", PASS)])
def test_a_memory_that_trusts_the_clock_fails_when_it_jumps(answers: Answers, adapter: str, result: str) -> None:
    """Who takes the latest date for the truth shows the old value when the clock was put back."""
    cell = answers(twin(adapter), "crash/clock", share=1.0)["crash/clock"]

    assert cell.result == result, cell.reason
    assert result == PASS or "the old value is back" in cell.reason
