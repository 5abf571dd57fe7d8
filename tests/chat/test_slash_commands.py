"""The slash commands of a chat, each through ``-p`` as a script would ask."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from memkit.cli.chat.conversation import OFF_RECORD
from memkit.cli.main import run

Say = Callable[..., str]


@pytest.fixture
def say(store: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Say:
    """Return a function that says one thing in a session and returns the answer's message."""
    monkeypatch.setenv("MEMKIT_STORE", str(store))

    def one_turn(text: str, *answers: Any, user: str = "ada", session: str = "monday", code: int = 0) -> str:
        options = ["--user", user, "--session", session, "--consent"]
        if answers:
            script = tmp_path / "script.yaml"
            script.write_text(json.dumps(answers), encoding="utf-8")
            options += ["--provider", f"scripted:{script}"]
        assert run(["chat", *options, "-p", text, "--json"]) == code
        envelope: dict[str, Any] = json.loads(capsys.readouterr().out)
        return str(envelope["data"]["message"] if envelope["ok"] else envelope["diagnostics"][0]["message"])

    return one_turn


def only_record(store: Path) -> dict[str, Any]:
    """Return the one record line of the archive."""
    lines = [line for shard in (store / "archive").rglob("*.jsonl") for line in shard.read_text("utf-8").splitlines()]
    (record,) = [data for data in map(json.loads, lines) if "op" not in data]
    return record


def edit(op: str, **args: str) -> dict[str, Any]:
    """Return a model's call that edits core memory."""
    return {"tool": f"core_memory_{op}", "args": {"section": "human", **args}}


def test_undo_takes_back_an_edit_of_core_memory(say: Say) -> None:
    """The section reads as before the turn, also where it was empty then."""
    say("My name is Ada.", edit("append", text="My name is Ada."), "Noted.")
    say("I like tea.", edit("append", text="I like tea."), "Noted.")
    assert "tea" in say("/core")

    assert "human reads My name is Ada." in say("/undo")

    assert "tea" not in say("/core")
    assert "human reads nothing" in say("/undo 1")
    assert say("/core") == "Core memory is empty."


def test_undo_says_if_a_later_edit_still_holds_what_the_turn_wrote(say: Say) -> None:
    """An edit is the whole section, so one on top of it keeps its words; undoing that one too takes both."""
    say("My name is Ada.", edit("append", text="My name is Ada."), "Noted.")
    say("I like tea.", edit("append", text="I like tea."), "Noted.")

    told = say("/undo 1")

    assert told.startswith("Not changed: core memory, human was edited after turn 1")
    assert told.endswith("still reads My name is Ada. I like tea.")
    assert "human reads nothing" in say("/undo 2")


def test_undo_brings_back_what_the_turn_took_back(say: Say) -> None:
    """A wish to forget can be undone like any other write: the record lives, and its tombstone is gone."""
    say("My dog is called Rex.")
    say("don't remember that")
    assert "Rex" not in say("/memory")

    assert "Remembered again" in say("/undo")

    assert "My dog is called Rex" in say("/memory")
    assert "Rex" in say("What is my dog called?")


def test_undo_takes_back_what_was_only_said_again(say: Say, store: Path) -> None:
    """A repetition is evidence for a record; undoing it takes the evidence and leaves the record."""
    say("My dog is called Rex.")
    record = only_record(store)["id"]
    say("My dog is called Rex.", session="tuesday")
    assert "evidence by user" in say(f"/memory {record}")

    assert say("/undo", session="tuesday") == f"Undone: your confirmation of [{record}] My dog is called Rex"

    assert say("/undo", session="tuesday").startswith("Nothing to undo: turn 1 was already undone")
    assert say("/memory").endswith(f"[{record}] fact: My dog is called Rex")


def test_what_is_undone_twice_stays_undone_and_says_so(say: Say) -> None:
    """The second undo does not go on to the turn before; that one is named by its number."""
    say("My dog is called Rex.")
    say("My cat is called Tom.")
    assert "Tom" in say("/undo")

    again = say("/undo")

    assert again.startswith("Nothing to undo: turn 2 was already undone")
    assert "Rex" in say("/memory")
    assert "Rex" in say("/undo 1")
    assert "Rex" not in say("/memory")


def test_undo_of_a_turn_that_wrote_nothing_says_so(say: Say) -> None:
    """A question, a turn that never was, and a word that is no number."""
    say("My dog is called Rex.")
    say("What is my dog called?")

    assert say("/undo 2") == "Nothing to undo: turn 2 wrote nothing."
    assert say("/undo 99") == "Nothing to undo: turn 99 wrote nothing."
    assert "takes a turn number" in say("/undo all", code=2)
    assert "Rex" in say("/undo")


def test_undo_leaves_the_words_of_others(say: Say) -> None:
    """What another user wrote under the same session name is not undone."""
    say("My dog is called Rex.")
    say("My dog is called Bello.", user="bob")

    say("/undo")

    assert "Bello" in say("/memory", user="bob")


def test_why_explains_an_earlier_turn(say: Say) -> None:
    """Each turn has its own account, with what was recalled by text and not only by id."""
    say("My dog is called Rex.")
    say("What is my dog called?")
    say("deploy to production")

    assert "write: " in say("/why 1")
    second = say("/why 2")
    assert "recalled: " in second and "“My dog is called Rex”" in second
    assert "policy staging_first_deployment decided deny on deploy: args.environment" in say("/why")
    assert say("/why 99") == "Nothing was recalled, written or judged in turn 99 of this session."


def test_looking_at_memory_cites_nothing(say: Say) -> None:
    """What a command lists was not cited by an answer, so the account of the last turn stays as it was."""
    say("My dog is called Rex.")
    say("/memory")
    say("/search dog")

    assert "cited" not in say("/why")


def test_one_record_is_shown_with_its_history(say: Say, store: Path) -> None:
    """By its id; another user's id is as unknown as one that never was."""
    say("My dog is called Rex.")
    record = only_record(store)["id"]

    shown = say(f"/memory {record}")

    assert "live, type fact, scope user" in shown and "add by user" in shown
    assert say(f"/memory {record}", user="bob", code=1) == f"You have no record {record}. /memory lists yours."


def test_what_is_said_already_is_not_said_beside_it(store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The switch answers with the sentence that a turn without memory has as its notice."""
    assert run(["chat", "--store", str(store), "--user", "ada", "--consent", "-p", "/memory off"]) == 0

    printed = capsys.readouterr()
    assert printed.out == f"{OFF_RECORD}\n" and OFF_RECORD not in printed.err


def test_why_tells_a_search_without_words_from_words_that_were_not_kept(
    say: Say, store: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A model may search for nothing; only where the user did not agree there are words that were not kept."""
    search = {"tool": "archival_memory_search", "args": {"query": ""}}
    say("Look something up.", search, "There is nothing.")
    assert "searched with no words to look for: nothing relevant" in say("/why")

    assert run(["chat", "--store", str(store), "--user", "bob", "--session", "s", "-p", "What is my dog called?"]) == 0
    capsys.readouterr()
    assert run(["chat", "--store", str(store), "--user", "bob", "--session", "s", "-p", "/why"]) == 0
    assert "searched words that were not kept: nothing relevant" in capsys.readouterr().out


def test_memory_that_was_not_off_is_not_on_again(say: Say) -> None:
    """Nothing is said to have left the prompt where nothing did."""
    assert say("/memory on") == "Memory is already on."


def test_the_meter_shows_each_tier(say: Say) -> None:
    """One bar for all of the prompt and one a tier, each with tokens and share."""
    say("My dog is called Rex.")

    head, *bars, cost = say("/context").splitlines()

    assert head == "The prompt may have 8,000 tokens."
    assert bars[0].lstrip().startswith("in all") and "█" in bars[0]
    assert {bar.split()[0] for bar in bars[1:]} >= {"core", "summary", "messages"}
    assert all(bar.endswith(" %") for bar in bars)
    assert cost.startswith("The model was asked ")


@pytest.mark.parametrize(
    ("typed", "said", "code"),
    [
        ("/polcy", "Did you mean '/policy'?", 2),
        ("/policy stagin_first_deployment", "Did you mean 'staging_first_deployment'?", 1),
        ("/skills virtual-memori", "Did you mean", 1),
        ("/nothing-like-it", "/help lists the commands", 2),
        ("/", "/help lists the commands", 2),
        ("/why \x1b[2J", "takes a turn number", 2),
        ("/memory 01\x1b[2J", "You have no record 01\\x1b[2J", 1),
    ],
)
def test_a_misspelt_command_is_told_apart(say: Say, typed: str, said: str, code: int) -> None:
    """What is meant is suggested, and what is typed is shown harmless; of what is not there the answer is no."""
    assert said in say(typed, code=code)


def test_a_policy_that_is_new_since_the_last_turn_is_listed(
    store: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """It will judge the next turn, so a look in between shows it."""

    class Typed(io.StringIO):
        def readline(self, size: int | None = -1) -> str:
            if self.tell():
                policy = "name: no_mail\ndescription: d\nrule: No mail.\nenforcement: hard\nrationale: r\n"
                policy += "effect: deny\nmatch: {tool: mail}\n"
                (store / "policies" / "no_mail.yaml").write_text(policy, encoding="utf-8")
            return super().readline(size)

    monkeypatch.setattr("sys.stdin", Typed("Hello!\n/policy\n"))

    assert run(["chat", "--user", "ada", "--jsonl", "--store", str(store)]) == 0

    assert "no_mail: No mail." in json.loads(capsys.readouterr().out.splitlines()[1])["data"]["message"]


def test_a_policy_and_a_skill_can_be_looked_at(say: Say) -> None:
    """By name each shows more than its line in the list."""
    assert "memkit policy show staging_first_deployment" in say("/policy staging_first_deployment")
    names = [line.partition(":")[0] for line in say("/skills").splitlines()]
    assert "  1. " in say(f"/skills {names[0]}")
