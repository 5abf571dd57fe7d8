"""A disk that is full: what was not kept is said, the exit code tells, and the next chat tells what became of it."""

from __future__ import annotations

import errno
import io
import json
import os
import resource
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from memkit.cli.main import run
from memkit.runtime.memory.tiers.sessions import SessionFile

Say = Callable[..., tuple[int, str, str]]


@pytest.fixture
def say(store: Path, capsys: pytest.CaptureFixture[str]) -> Say:
    """Return a function that says something in a session and returns the exit code and what was printed."""

    def one_turn(text: str, *options: str) -> tuple[int, str, str]:
        capsys.readouterr()
        who = ["--store", str(store), "--user", "ada", "--session", "monday", "--consent"]
        code = run(["chat", *who, "-p", text, *options])
        printed = capsys.readouterr()
        return code, printed.out, printed.err

    return one_turn


@contextmanager
def files_up_to(size: int) -> Iterator[None]:
    """Let no file grow beyond ``size`` bytes: for a program that is as if the disk were full at some point."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    sys.dont_write_bytecode = True  # what Python compiles would be cut off, and stay
    try:
        yield
    finally:
        sys.dont_write_bytecode = False
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


@pytest.mark.parametrize(
    ("size", "code", "told", "resumed", "is_stored"),
    [
        (0, 3, "Nothing was done. Say it again", "", False),
        (700, 3, "Your message is kept: the turn continues", "was interrupted. It is finished now.", True),
        (1500, 3, "Your message is kept: the turn continues", "There was no room to store what it says", True),
        (3000, 1, "I did not store that", "", True),
    ],
)
def test_whatever_the_disk_took_what_is_said_is_true(
    size: int, code: int, told: str, resumed: str, is_stored: bool, say: Say
) -> None:
    """Before the words are kept, within a call, after it, and where only the record has no room.

    What was kept of the words and not of the record is drawn from them once there is room.
    """
    say("Hello!")
    with files_up_to(size):
        ended, *printed = say("My dog is called Rex.")
    assert ended == code and told in "".join(printed)

    ended, _, said = say("Hello again!")

    assert ended == 0
    assert ("“My dog is called Rex.”" in said) == bool(resumed) and resumed in said
    assert ("called Rex" in say("/memory")[1]) == is_stored


def test_a_session_that_was_not_kept_is_told_until_it_is(say: Say, monkeypatch: pytest.MonkeyPatch) -> None:
    """The answer is given, the exit code is 1; nothing new is begun before it is kept, and then it says that it is."""

    def save(*_arguments: object, **_more: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as full:
        full.setattr(SessionFile, "save", save)
        code, out, said = say("My dog is called Rex.")
        assert (code, out.partition("\n")[0]) == (1, "Noted: “My dog is called Rex”.")
        assert "The last turn of this session is not saved: No space left on device." in said
        code, out, said = say("Hello?", "--json")
        assert (code, json.loads(out)["diagnostics"][0]["code"]) == (3, "turn-stopped")
        assert "was interrupted before it was saved. It still cannot be saved." in said

    code, _, said = say("Hello again!")
    assert code == 0 and "“My dog is called Rex.”) was interrupted before it was saved. It is saved now.\n" in said
    assert say("/memory")[1].count("called Rex") == 1


def test_lines_that_were_not_kept_say_so(
    say: Say, store: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each answer line is not ok and has the reason, the run goes on, and the exit code is that of the first."""
    say("Hello!")
    monkeypatch.setattr(sys, "stdin", io.StringIO("My dog is called Rex.\n/context\n"))
    with files_up_to(3000):
        assert run(["chat", "--store", str(store), "--user", "ada", "--session", "monday", "--jsonl"]) == 1

    first, second = map(json.loads, capsys.readouterr().out.splitlines())
    assert (first["ok"], second["ok"]) == (False, True)
    assert "did not store" in first["data"]["message"]


def test_a_full_stream_leaves_the_turn_whole(say: Say, monkeypatch: pytest.MonkeyPatch) -> None:
    """An answer that cannot be printed is kept all the same: it is the stream that is full, and not the store."""
    for options in ((), ("--json", "--events")):
        with monkeypatch.context() as full, Path("/dev/full").open("w", encoding="utf-8") as nowhere:
            full.setattr(sys, "stdout", nowhere)
            assert say("My dog is called Rex.", *options)[0] == 3

    code, out, said = say("What is my dog called?")
    assert code == 0 and "Rex" in out and "interrupted" not in said
