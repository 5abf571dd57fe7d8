"""What somebody meets in the first hour with memkit, on whatever terminal they have."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from pathlib import Path

import pexpect
import pytest

from memkit.cli.main import run

MEMKIT = [sys.executable, "-m", "memkit"]


def on_a_terminal(*words: str, columns: int = 80, **environment: str) -> pexpect.spawn:
    """Run a command on a terminal of its own."""
    known = {**os.environ, "TERM": "dumb", **environment}
    return pexpect.spawn(
        MEMKIT[0], [*MEMKIT[1:], *words], timeout=600, encoding="utf-8", dimensions=(40, columns), env=known
    )


@pytest.mark.parametrize("environment", [{}, {"TERM": "xterm-256color", "ACCESSIBLE": "1"}])
def test_a_plain_terminal_of_forty_columns_gets_lines_and_nothing_else(
    store: Path, environment: dict[str, str]
) -> None:
    """No escape, nothing that is drawn again, and no line of prose is longer than the window."""
    child = on_a_terminal("chat", "--user", "ada", "--consent", "--store", str(store), columns=40, **environment)
    for typed in ("I like tea", "What do I like?", "/help", "/quit"):
        child.expect("> ")
        child.sendline(typed)
    child.expect(pexpect.EOF)
    child.close()

    shown = str(child.before)
    assert child.exitstatus == 0
    assert "\x1b" not in shown and "\r" not in shown.replace("\r\n", "")
    wide = [line for line in shown.splitlines() if len(line) > 40 and " " in line.strip()[1:]]
    assert not wide


def test_a_home_that_cannot_be_written_keeps_nobody_from_working(store: Path) -> None:
    """What belongs there is not kept, which is said once a command, and everything else works."""
    environment = {**os.environ, "HOME": "/dev/null"}

    def done(*words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [*MEMKIT, *words, "--store", str(store)], env=environment, capture_output=True, text=True, check=False
        )

    assert done("memory", "add", "I like tea", "--user", "ada").returncode == 0
    asked = done("chat", "--user", "ada", "--consent", "-p", "What do I like?")
    assert asked.returncode == 0 and "I like tea" in asked.stdout
    assert done("setup", "--provider", "reference").returncode == 0
    assert asked.stderr.count("cannot be read or created") == 1


def test_an_action_that_no_tool_can_do_is_asked_of_nobody(store: Path) -> None:
    """A policy judges it all the same; a person who is there is told that there is no such tool."""
    child = on_a_terminal("chat", "--user", "ada", "--consent", "-p", "run rm -rf /srv", "--store", str(store))
    child.expect(pexpect.EOF)
    child.close()

    said = " ".join(str(child.before).split())
    assert "Policy destructive_command_approval" in said
    assert "There is no such tool here as bash" in said
    assert "Nobody confirmed" not in said


def test_a_task_finds_its_domain(store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """As in a chat; where several have it, or none, that is said."""
    assert run(["plan", "deliver book shop", "--store", str(store), "--json"]) == 0
    printed = capsys.readouterr()
    assert [step["name"] for step in json.loads(printed.out)["data"]["plan"]][-1] == "hand_over"
    assert "The domain is errands." in printed.err
    (store / "domains/parcels.yaml").write_text(
        (store / "domains/errands.yaml").read_text().replace("errands", "parcels")
    )
    assert run(["plan", "deliver book shop", "--store", str(store)]) == 2
    assert "--domain: errands, parcels" in capsys.readouterr().err
    assert run(["plan", "fly book shop", "--store", str(store)]) == 2
    assert "No domain of this store has such a task" in capsys.readouterr().err


def test_what_was_said_first_is_found_when_it_has_left_the_prompt(
    store: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The question looks into the session, and not only at what the model still sees."""
    monkeypatch.setenv("MEMKIT_CONTEXT_MAX_TOKENS", "2500")
    talk = ["chat", "--user", "ada", "--session", "long", "--store", str(store)]
    filler = "I counted the boats in the harbour, and there were a great many of them, of all colours and sizes. " * 3
    said = ["Good morning, the weather in Kiruna is cold.", *[f"On day {day} {filler}" for day in range(12)]]
    monkeypatch.setattr("sys.stdin", io.StringIO("\n".join([*said, "What did I say first?"]) + "\n"))

    assert run([*talk, "--consent", "--jsonl"]) == 0

    last = json.loads(capsys.readouterr().out.splitlines()[-1])["data"]
    assert last["message"].startswith("You began with: “Good morning, the weather in Kiruna")


def test_an_interrupt_ends_the_scripted_server_and_what_runs_against_it(store: Path, tmp_path: Path) -> None:
    """One Ctrl-C, and neither is left; the conversation keeps what was said."""
    (tmp_path / "script.yaml").write_text("- {text: Hello there}\n- {text: Never asked}\n")
    chat = [*MEMKIT, "chat", "--provider", "openai", "--user", "ada", "--consent", "--store", str(store)]
    child = on_a_terminal("fake-llm", "--script", str(tmp_path / "script.yaml"), "--", *chat)
    child.expect("> ")
    child.sendline("My dog is called Rex")
    child.expect("Hello there")
    child.expect("> ")
    child.sendintr()
    child.expect(pexpect.EOF)
    child.close()

    assert child.exitstatus == 130
    left = subprocess.run(["pgrep", "-f", f"chat.*{store}"], capture_output=True, text=True, check=False).stdout
    assert not left.strip()


def test_a_store_beside_a_clone_is_made_from_inside_of_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A path that only passes through a repository lies in none."""
    clone = tmp_path / "clone"
    subprocess.run(["git", "init", "-q", str(clone)], check=True)
    monkeypatch.chdir(clone)

    assert run(["init", "../mine"]) == 0

    assert (tmp_path / "mine" / ".git").is_dir()
    assert str(tmp_path / "mine") in capsys.readouterr().out


def test_a_dash_reads_standard_input(
    store: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is piped is kept, and no dash."""
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"I like tea\n")))

    assert run(["memory", "add", "-", "--user", "ada", "--store", str(store)]) == 0
    capsys.readouterr()
    assert run(["memory", "list", "--user", "ada", "--store", str(store), "--json"]) == 0

    assert [one["text"] for one in json.loads(capsys.readouterr().out)["data"]["records"]] == ["I like tea"]
