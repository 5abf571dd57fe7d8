"""Sessions are named, continued, chosen from a list and forked; each goes on by itself."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import CliRunner

from memkit.cli.main import run
from memkit.cli.session_picker import PAGE, pick
from memkit.errors import NegativeAnswer
from memkit.runtime.memory.log.clone import state_folder
from memkit.store.sessions import SessionCard

Ask = Callable[..., tuple[int, dict[str, Any]]]
NOW = datetime(2026, 3, 3, tzinfo=UTC)


@pytest.fixture
def ask(store: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Ask:
    """Return what runs a command on the store as Ada and gives its exit code and envelope."""
    monkeypatch.setenv("MEMKIT_STORE", str(store))
    monkeypatch.setenv("MEMKIT_USER", "ada")
    assert run(["consent", "grant"]) == 0

    def asked(*words: str) -> tuple[int, dict[str, Any]]:
        capsys.readouterr()
        code = run([*words, "--json"])
        return code, json.loads(capsys.readouterr().out)

    return asked


def listed(ask: Ask) -> dict[str, dict[str, Any]]:
    """Return the sessions by id."""
    return {one["session"]: one for one in ask("sessions", "list")[1]["data"]["sessions"]}


def file_of(store: Path, session: str) -> bytes:
    """Return what is kept of a session besides its turns."""
    folder = state_folder(store) / "sessions"
    held = [path.read_bytes() for path in folder.glob("*.json")]
    return next(data for data in held if json.loads(data)["session_id"] == session)


def test_a_session_goes_on_under_its_name(ask: Ask) -> None:
    """What was named once is found by that name, and keeps it over later turns."""
    first = ask("chat", "--name", "the garden", "-p", "I planted roses in the garden.")[1]["data"]["session"]

    again = ask("chat", "--session", "the garden", "-p", "Hello again, what now?")[1]["data"]

    assert again["session"] == first
    assert (listed(ask)[first]["name"], listed(ask)[first]["turns"]) == ("the garden", 2)


def test_a_name_is_given_to_one_session_only(ask: Ask) -> None:
    """A second session cannot take it: exit 2, and no turn is run."""
    ask("chat", "--name", "the garden", "-p", "I planted roses in the garden.")

    code, answer = ask("chat", "--name", "the garden", "-p", "Hello!")

    assert code == 2 and "already" in answer["diagnostics"][0]["message"]
    assert len(listed(ask)) == 1


def test_a_session_that_is_there_is_resumed_by_its_word(ask: Ask) -> None:
    """``-r`` with an id, a name or how an id begins goes on with it; it never begins one, as ``--session`` does."""
    ask("chat", "--session", "main", "--name", "the garden", "-p", "My dog is called Rex.")

    for word in ("main", "the garden", "ma"):
        assert ask("chat", "-r", word, "-p", "Hello again!")[1]["data"]["session"] == "main"
    code, answer = ask("chat", "-r", "nowhere", "-p", "Hello!")
    assert code == 1 and answer["diagnostics"][0]["code"] == "not_found"
    assert set(listed(ask)) == {"main"}


def test_a_fork_begins_as_the_other_stands_and_both_go_on_apart(ask: Ask, store: Path) -> None:
    """It has the messages and the citable ids of its parent, names it, and the parent does not change by a byte."""
    ask("chat", "--session", "main", "-p", "My dog is called Rex.")
    before = file_of(store, "main")

    code, forked = ask("chat", "--fork", "main", "--session", "branch", "-p", "My cat is called Tom.")

    assert code == 0
    assert file_of(store, "main") == before
    assert forked["data"]["context_usage"]["tiers"]["messages"] > 60
    found = listed(ask)["branch"]
    assert (found["parent"], found["turns"], found["name"]) == ("main", 2, None)
    held = json.loads(file_of(store, "branch"))
    assert "Rex" in str(held["messages"]) and "Tom" in str(held["messages"])
    assert set(json.loads(before)["known"]) < set(held["known"])

    ask("chat", "--session", "main", "-p", "My fish is called Bob.")

    assert "Tom" not in str(json.loads(file_of(store, "main"))["messages"])
    assert "Bob" not in str(json.loads(file_of(store, "branch"))["messages"])


def test_a_fork_without_a_name_is_of_the_last_session(ask: Ask) -> None:
    """``--fork`` alone takes what ``-c`` would go on with."""
    for session in ("one", "two"):
        ask("chat", "--session", session, "-p", "Hello there, my friend of old.")

    forked = ask("chat", "--fork", "-p", "Where was I?")[1]["data"]["session"]

    assert listed(ask)[forked]["parent"] == "two"


def test_a_fork_takes_no_place_of_a_session(ask: Ask, store: Path) -> None:
    """Neither one that is there nor one that is not can be written over: exit 2, exit 1."""
    ask("chat", "--session", "main", "-p", "My dog is called Rex.")
    before = file_of(store, "main")

    code, answer = ask("chat", "--session", "main", "--fork", "-p", "Hello!")
    assert code == 2 and answer["diagnostics"][0]["message"].endswith("To fork 'main': --fork main.")
    assert ask("chat", "--fork", "nowhere", "-p", "Hello!")[0] == 1
    assert file_of(store, "main") == before


def test_nobody_forks_the_session_of_somebody_else(ask: Ask) -> None:
    """To Bob the session of Ada is not there."""
    ask("chat", "--session", "main", "-p", "My dog is called Rex.")

    assert ask("chat", "--user", "bob", "--fork", "main", "-p", "Hello!")[0] == 1


@pytest.mark.parametrize("session", ["two\nlines", "a\ttab", "\x1b[31mred", "x" * 201], ids=ascii)
def test_an_id_that_would_break_a_list_begins_no_session(ask: Ask, session: str) -> None:
    """An id is one line of visible characters with a bound: lists show it, and nobody can type the rest."""
    code, answer = ask("chat", "--session", session, "-p", "Hello!")

    assert code == 2 and "one line of 1 to 200 visible characters" in answer["diagnostics"][0]["message"]
    assert listed(ask) == {}


@pytest.mark.parametrize(
    "options",
    [
        ("-c", "--session", "x"),
        ("-c", "--fork", "x"),
        ("-r", "--session", "x"),
        ("--no-memory", "--incognito"),
        ("--no-memory", "-c"),
        ("--session", " "),
        ("--incognito", "--consent"),
        ("-r",),
    ],
)
def test_options_that_do_not_fit_together_are_bad_usage(ask: Ask, options: tuple[str, ...]) -> None:
    """One clear line says which, exit 2; a list to choose from needs a terminal."""
    code, answer = ask("chat", *options, "-p", "Hello!")

    assert code == 2 and answer["diagnostics"][0]["code"] == "usage"
    assert listed(ask) == {}


def cards(count: int) -> list[SessionCard]:
    """Return so many sessions, the first of which is named and about roses."""
    plain = [
        SessionCard(f"s{n}", "ada", "2026-03-01T10:00:00Z", "2026-03-01T10:00:00Z", n, "Hello.") for n in range(count)
    ]
    return [
        SessionCard("garden-1", "ada", plain[0].last_at, plain[0].last_at, 3, "I grow roses.", name="Roses"),
        *plain,
    ]


@pytest.mark.parametrize(
    ("typed", "chosen"),
    [("1\n", "garden-1"), ("3\n", "s1"), ("roses\n", "garden-1"), ("GROW rose\n", "garden-1"), ("s1\n3\n", "s11")],
)
def test_a_session_is_chosen_by_number_or_by_words(typed: str, chosen: str) -> None:
    """Words shorten the list until one is left or a number is given."""
    assert CliRunner().invoke(_picking(cards(12)), input=typed).stdout.split()[-1] == chosen


def test_choosing_none_chooses_none() -> None:
    """Enter leaves; words that nothing has show the whole list again, hostile ones as escapes."""
    answer = CliRunner().invoke(_picking(cards(12)), input="zebra\x1b[2J\n99\n\n")

    assert isinstance(answer.exception, NegativeAnswer)
    assert answer.output.count("Roses") == 3 and "“zebra\\x1b[2J”" in answer.output
    assert f"… {13 - PAGE} more" in answer.output


def _picking(found: list[SessionCard]) -> click.Command:
    @click.command()
    def choose() -> None:
        click.echo(pick(found, NOW))

    return choose


def test_no_agent_starts_with_a_tool_whose_parameters_describe_no_arguments(
    store: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """It is one line and exit 2, and what needs no tools goes on."""
    tool = "tools: [{name: send, description: Sends, run: [tee, o], parameters: {properties: {to: string}}}]\n"
    (store / "memkit.yaml").write_text(f"name: test\nformat: 2\n{tool}")
    assert run(["trust", "--yes", "--store", str(store)]) == 0
    capsys.readouterr()

    assert run(["chat", "--user", "ada", "-p", "Hello", "--store", str(store)]) == 2
    assert "'tools[0].parameters.properties.to' must be a map" in capsys.readouterr().err
    assert run(["gen", "--target", "react", "--out", str(store / "agent"), "--store", str(store)]) == 2
    assert "'tools[0].parameters.properties.to' must be a map" in capsys.readouterr().err
    assert run(["memory", "list", "--user", "ada", "--store", str(store)]) == 0
