"""The command line of a project: turns in, envelopes or lines out, exit codes as memkit's own chat has them."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import scripted_target

if TYPE_CHECKING:
    from conftest import Host


def test_a_turn_prints_the_envelope_of_memkit_chat(host: Host) -> None:
    """The same schema and data; the session is named, so that a later run can go on with it."""
    reply = host("Hi!", "--session", "one", "--consent", script=["Hello, Ada."])

    assert reply.envelopes[0]["schema"] == "memkit.chat/1" and reply.envelopes[0]["ok"] is True
    assert {"message", "citations", "tool_calls", "memory_operations", "policy", "plan", "context_usage"} <= set(
        reply.data
    )
    assert (reply.message, reply.data["session"], reply.codes) == ("Hello, Ada.", "one", [])


@pytest.mark.parametrize("arguments", [[], ["-p", "caf\udce9"], ["-p", "  "]])
def test_words_that_are_none_are_refused(
    arguments: list[str], host: Host, pipe_in: Callable[[bytes], None], capsys: pytest.CaptureFixture[str]
) -> None:
    """Bytes that are no UTF-8, and nothing at all, are a person's mistake: exit code 2 and one line."""
    pipe_in(b"caf\xe9")

    assert host.run(*arguments) == 2
    assert capsys.readouterr().err.count("\n") == 1


def test_what_comes_through_a_pipe_is_one_turn(
    host: Host, pipe_in: Callable[[bytes], None], capsys: pytest.CaptureFixture[str]
) -> None:
    """In UTF-8, whatever the locale says; a byte order mark is no part of it."""
    pipe_in("\ufeffGrüße\nund mehr\n".encode())

    assert host.run(script=["Danke."]) == 0

    printed = capsys.readouterr()
    assert printed.out == "Danke.\n" and printed.err.startswith("consent: ")
    assert scripted_target.asked[-1].endswith("Grüße\nund mehr\n") and "\ufeff" not in scripted_target.asked[-1]


def test_a_hostile_answer_cannot_reach_the_terminal(host: Host, capsys: pytest.CaptureFixture[str]) -> None:
    """What a model says is shown as text, control characters as escapes."""
    assert host.run("-p", "Hi!", script=["\x1b[2Jgone"]) == 0

    assert capsys.readouterr().out == "\\x1b[2Jgone\n"


AS_A_PROGRAM = """
import os, sys
from pathlib import Path
from memkit.runtime.host.command import run
from memkit.runtime.host.settings import Project
place = Path.cwd()
sys.exit(run(Project("tester", "small", place, place / "compiled", "scripted_target")))
"""


@pytest.mark.parametrize(
    ("end", "code", "out", "said"),
    [
        ("-p 'Grüß ☃'", 0, "Grüße ☃\n", ""), ("<&-", 2, "", "The message is empty"), ("-p hi >&-", 0, "", ""),
        ("-p hi 2>&-", 0, "Grüße ☃\n", ""), ("-p hi --user $'\\xff'", 2, "", "--user is not UTF-8"),
        ("-p hi --session $'\\xff'", 2, "", "--session is not UTF-8"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("locale", [{}, {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}])
def test_text_is_utf_8_in_every_locale_and_closed_streams_end_nothing(
    end: str, code: int, out: str, said: str, locale: dict[str, str], host: Host
) -> None:
    """As memkit's own commands: one line or an answer, and no trace."""
    variables = {"PYTHONPATH": str(Path(__file__).parent), "SCRIPT": '["Gr\\u00fc\\u00dfe \\u2603"]', **locale}
    command = f"exec {shlex.quote(sys.executable)} -c {shlex.quote(AS_A_PROGRAM)} {end}"
    done = subprocess.run(
        ["bash", "-c", command], cwd=host.project.folder, env=os.environ | variables, capture_output=True, check=False
    )

    assert (done.returncode, done.stdout.decode()) == (code, out), done.stderr.decode()
    assert said in done.stderr.decode() and "Traceback" not in done.stderr.decode()


NOISY = """
import os, subprocess, scripted_target
opened = scripted_target.open_conversation
def noisy(rooms):
    os.write(1, b"RAW"), sys.__stdout__.write("OLD"), subprocess.run(["echo", "CHILD"])
    return opened(rooms)
scripted_target.open_conversation = noisy
"""


def test_what_others_write_to_standard_output_stands_not_in_a_result(host: Host) -> None:
    """Neither through the descriptor, nor from a program that a tool starts."""
    program = AS_A_PROGRAM.replace("place =", f"{NOISY}place =")
    variables = {"PYTHONPATH": str(Path(__file__).parent), "SCRIPT": '["Hello."]'}
    done = subprocess.run(
        [sys.executable, "-c", program, "-p", "Hi!", "--json"], cwd=host.project.folder, env=os.environ | variables,
        capture_output=True, check=False, stdin=subprocess.DEVNULL,
    )  # fmt: skip

    assert json.loads(done.stdout)["data"]["message"] == "Hello.", done
    assert all(each in done.stderr for each in (b"RAW", b"OLD", b"CHILD"))


def test_help_names_the_project_and_loads_no_target(host: Host, capsys: pytest.CaptureFixture[str]) -> None:
    """An SDK takes seconds to load."""
    with pytest.raises(SystemExit) as ended:
        host.run("--help")

    assert ended.value.code == 0 and "Talk to tester." in capsys.readouterr().out
