"""The account of recalls: what was found, what of it entered the prompt, what was cited, and what lost and why."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from memkit.cli.main import run
from memkit.runtime.memory.archive.archive import ArchivalStore
from memkit.runtime.memory.record.record import Draft, Origin
from memkit.runtime.memory.tiers.context import MainContext
from memkit.runtime.memory.tiers.tools import MemoryTools

Ask = Callable[..., Any]


@pytest.fixture
def ask(store: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Ask:
    """Return a function that runs one command in a fresh store and returns its data."""
    monkeypatch.setenv("MEMKIT_STORE", str(store))

    def answer(*arguments: str, code: int = 0) -> Any:
        assert run([*arguments, "--json"]) == code
        return json.loads(capsys.readouterr().out)["data"]

    return answer


def chat(ask: Ask, text: str, session: str = "monday") -> Any:
    """Say one thing to the agent."""
    return ask("chat", "--user", "ada", "--consent", "--session", session, "-p", text)


def test_a_recall_in_a_chat_is_three_events(ask: Ask) -> None:
    """Retrieved, injected and cited each name the record, the session and the turn; ``why`` tells them back."""
    chat(ask, "My dog is called Rex.")
    (record,) = chat(ask, "What is my dog called?", "tuesday")["citations"]

    account = ask("memory", "why", record, "--user", "ada")

    for kind in ("retrieved", "injected", "cited"):
        last = account[kind][-1]
        assert (last["session_id"], last["turn_id"], last["user_id"]) == ("tuesday", 1, "ada")
        assert last["at"].endswith("Z")
    assert "dog" in account["retrieved"][-1]["query"]
    assert account["lost"] == []


def test_a_search_at_the_command_line_is_retrieved_only(ask: Ask) -> None:
    """Nothing enters a prompt there, and nothing is cited."""
    record = ask("memory", "add", "Ada likes tea", "--user", "ada")["id"]
    ask("memory", "search", "tea", "--user", "ada")

    account = ask("memory", "why", record)

    assert [len(account[kind]) for kind in ("retrieved", "injected", "cited")] == [1, 0, 0]
    assert account["retrieved"][0] | {"at": ""} == {
        "at": "", "actor": "person", "user_id": "ada", "session_id": None, "turn_id": None, "query": "tea",
    }  # fmt: skip


def test_why_says_when_a_record_lost_and_against_what_it_won(ask: Ask) -> None:
    """A record that came second, and one that was rejected, say so; the winner lists both."""
    winner = ask("memory", "add", "Ada drinks green tea", "--user", "ada")["id"]
    second = ask("memory", "add", "Ada drinks black tea in the office", "--user", "ada")["id"]
    rejected = ask("memory", "add", "Tea with Bob on Sunday", "--user", "ada")["id"]
    ask("memory", "reject", rejected)
    ask("memory", "search", "Ada drinks green tea", "--user", "ada", "-k", "1")

    assert [lost["reason"] for lost in ask("memory", "why", second)["lost"]] == ["rank"]
    assert [lost["reason"] for lost in ask("memory", "why", rejected)["lost"]] == ["tombstone"]
    rivals = {one["id"]: one["reason"] for one in ask("memory", "why", winner)["candidates"]}
    assert rivals == {second: "rank", rejected: "tombstone"}


def test_why_tells_what_was_known_then(ask: Ask) -> None:
    """What is added later changes nothing about an earlier recall."""
    record = ask("memory", "add", "Ada likes tea", "--user", "ada")["id"]
    ask("memory", "search", "tea", "--user", "ada")
    before = ask("memory", "why", record)
    ask("memory", "add", "Tea, tea, tea", "--user", "ada")
    ask("memory", "forget", record)

    assert ask("memory", "why", record) == before


def test_the_last_turn_is_explained_from_the_account(ask: Ask) -> None:
    """/why names what lost when the question was asked, and does not search again."""
    chat(ask, "My dog is called Rex.")
    chat(ask, "What is my dog called?")
    ask("memory", "add", "The dog next door is called Max", "--user", "ada")

    shown = chat(ask, "/why")["message"]

    assert "searched “" in shown
    assert "lost" not in shown


def test_a_search_of_the_conversation_is_explained_like_one_of_the_archive(ask: Ask, tmp_path: Path) -> None:
    """/why names what the prompt missed, and the turns that came in for it."""
    chat(ask, "The harbour pilot is called Ingrid.")
    script = tmp_path / "script.yaml"
    script.write_text(json.dumps([{"tool": "conversation_search", "args": {"query": "pilot"}}, {"text": "Ingrid."}]))
    options = ("--user", "ada", "--session", "two", "--provider", f"scripted:{script}")

    ask("chat", "-p", "Who is the pilot?", *options)

    shown = ask("chat", "-p", "/why", *options)["message"]
    assert "searched “pilot” (not in core or messages): " in shown
    assert "recalled: turn 1 of monday" in shown


def test_no_recall_is_said_too(ask: Ask) -> None:
    """Where the intent step looked nothing up, the account holds that and why."""
    chat(ask, "Hello!")

    (skipped,) = ask("audit", "--event", "recall_skipped")["events"]
    assert (skipped["reason"], skipped["user_id"], skipped["turn_id"]) == ("small_talk", "ada", 1)
    assert "looked nothing up: small_talk" in chat(ask, "/why")["message"]


def test_another_users_record_is_not_explained(ask: Ask) -> None:
    """Whose record it is not gets not found, as for a record that is nowhere."""
    record = ask("memory", "add", "Ada likes tea", "--user", "ada")["id"]

    assert ask("memory", "why", record, "--user", "bob", code=1) is None
    assert ask("memory", "why", "01NOWHERE", code=1) is None


def test_what_is_asked_is_masked(ask: Ask, store: Path) -> None:
    """A secret in a question is in no file of the account."""
    secret = "AKIA" + "QXJ7NZ4WLP2KD7RT"
    chat(ask, f"What did I say about the key {secret}?")

    assert ask("audit", "--event", "retrieved")["events"]
    assert not any(secret in path.read_text("utf-8") for path in (store / ".memkit").rglob("*.jsonl"))


def test_a_person_reads_the_account(ask: Ask, capsys: pytest.CaptureFixture[str]) -> None:
    """Without --json it is lines that say when, where, what was asked, and why something lost."""
    record = ask("memory", "add", "Ada likes tea", "--user", "ada")["id"]
    assert run(["memory", "why", record]) == 0
    assert "Never recalled" in capsys.readouterr().out
    ask("memory", "search", "tea", "--user", "ada")
    ask("memory", "search", "tea", "--user", "ada", "--type", "goal")

    assert run(["memory", "why", record]) == 0

    shown = capsys.readouterr().out
    assert "retrieved 1×" in shown
    assert "filter: its type or tags were not requested" in shown


def test_records_beyond_their_share_of_the_prompt_stay_out_and_are_named() -> None:
    """The best record enters in any case; what does not fit is in the account as left out."""
    ada = Origin(actor="person", user_id="ada")
    with ArchivalStore() as archive:
        for name in ("Rex", "Max", "Bello"):
            archive.offer(Draft(text=f"The dog {name} " + f"barks at {name} " * 60), ada)
        tools = MemoryTools(MainContext(max_tokens=400), archive, user_id="ada")

        shown = tools.archival_memory_search("dog barks")

        (event,) = tools.events
        assert len(shown) == 1
        assert event["ids"] == [hit.id for hit in shown]
        assert len(event["left_out"]) == 2


def test_without_consent_the_account_holds_no_words(ask: Ask, store: Path) -> None:
    """That a recall was made is told; what was asked is the user's, who did not agree to its being kept."""
    ask("chat", "--user", "ada", "-p", "Does Rex like Zanzibar?")

    events = ask("audit", "--event", "retrieved")["events"]
    assert {event["query"] for event in events} == {None}
    assert not any(b"Zanzibar" in path.read_bytes() for path in (store / ".memkit").rglob("*") if path.is_file())
