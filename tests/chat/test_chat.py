"""``memkit chat`` as a person uses it: each call here is a process of its own, apart from the interpreter."""

from __future__ import annotations

import io
import json
import os
import pty
import select
import subprocess
import sys
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from memkit.cli.main import run
from memkit.runtime.memory.gate.gate import event_problems
from memkit.runtime.memory.record.record import Origin
from memkit.use_cases.open_chat import _new_session

Say = Callable[..., dict[str, Any]]


@pytest.fixture
def say(store: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Say:
    """Return a function that says one thing to the agent of a fresh store and returns the envelope."""
    monkeypatch.setenv("MEMKIT_STORE", str(store))

    def one_turn(text: str, *options: str, session: str = "monday", user: str = "ada", code: int = 0) -> dict[str, Any]:
        given = ["--user", user, "--session", session, *options, "-p", text, "--json"]
        assert run(["chat", *given]) == code
        envelope: dict[str, Any] = json.loads(capsys.readouterr().out)
        return envelope

    return one_turn


def records_of(store: Path) -> list[dict[str, Any]]:
    """Return the record lines of the archive."""
    lines = [line for shard in (store / "archive").rglob("*.jsonl") for line in shard.read_text("utf-8").splitlines()]
    return [data for data in map(json.loads, lines) if "op" not in data]


def test_a_fact_is_recalled_in_a_later_process_with_its_record(say: Say, store: Path) -> None:
    """What one process stored, another one answers with the record's id, in a session of its own."""
    told = say("My dog is called Rex.", "--consent")["data"]
    asked = say("What is my dog called?", session="tuesday")["data"]

    record = records_of(store)[0]
    assert record["trust"] == "verified"
    assert record["session_id"] == "monday"
    assert record["id"] in told["message"]
    assert asked["citations"] == [record["id"]]
    assert f"[{record['id']}]" in asked["message"]


def test_the_data_has_the_pinned_shape(say: Say) -> None:
    """Scripts find the same keys in every answer."""
    envelope = say("My dog is called Rex.", "--consent")
    data = envelope["data"]

    assert envelope["schema"] == "memkit.chat/1"
    assert set(data) == {
        "message", "citations", "tool_calls", "memory_operations", "policy", "plan", "trust", "left_out",
        "context_usage", "session", "ended", "usage", "session_usage", "sources",
    }  # fmt: skip
    assert set(data["context_usage"]) == {"used", "budget", "tiers"}
    assert data["context_usage"]["budget"] == 8000
    assert data["session"] == "monday"


def test_without_consent_nothing_is_kept(say: Say, store: Path) -> None:
    """Until the user agrees no word of theirs is on the disk, and the answer says so with its code."""
    envelope = say("My dog is called Rex.")

    written = [path for path in store.rglob("*") if path.is_file() and ".git/" not in str(path)]
    assert records_of(store) == []
    assert not any(b"Rex" in path.read_bytes() for path in written)
    assert "consent" in envelope["data"]["message"]
    assert envelope["diagnostics"][0]["code"] == "consent"
    assert envelope["data"]["memory_operations"][-1]["reasons"][0]["code"] == "consent"


def test_whose_word_a_consent_is_stands_in_the_archive(say: Say, store: Path) -> None:
    """The option is the word of the person who starts the agent, once; what the user says is the user's own."""
    say("Hello!", "--consent")
    say("Hello again!", "--consent")
    say("You may remember what I tell you.", user="bob")

    lines = [json.loads(line) for shard in store.glob("archive/*/*.jsonl") for line in shard.read_text().splitlines()]
    given = [(line["user_id"], line["actor"], line["session_id"]) for line in lines if line.get("op") == "consent"]
    assert given == [("ada", "person", "monday"), ("bob", "user", "monday")]


def test_consent_can_be_given_and_withdrawn_in_words(say: Say, store: Path) -> None:
    """Plain words grant it from the next statement on, and plain words end it."""
    say("Yes, you may remember.")
    kept = say("My dog is called Rex.")
    say("Please don't store anything.")
    refused = say("My cat is called Tom.")

    assert kept["diagnostics"] == []
    assert [record["text"] for record in records_of(store)] == ["My dog is called Rex"]
    assert "consent" in refused["data"]["message"]


def test_a_correction_keeps_the_history(say: Say, store: Path) -> None:
    """The corrected value is answered, and the old record stays in the archive as what was superseded."""
    say("I live in Paris.", "--consent")
    say("Actually, I moved to Berlin.", session="tuesday")
    asked = say("Where do I live?", session="wednesday")["data"]

    old, new = records_of(store)
    assert new["supersedes"] == old["id"]
    assert asked["citations"] == [new["id"]]
    assert "Paris" not in asked["message"]


def test_paging_out_keeps_turns_findable(say: Say, monkeypatch: pytest.MonkeyPatch) -> None:
    """Past the budget the oldest turns leave the prompt, and a later process of another session still finds them."""
    monkeypatch.setenv("MEMKIT_CONTEXT_MAX_TOKENS", "1400")
    say("Once upon a time a harbour pilot waved, by the name of Ingrid.", "--consent")
    story = "and then something else happened that goes on for quite a while and means nothing at all, " * 6
    turns = [say(f"Number {number}: {story}")["data"] for number in range(8)]

    asked = say("What did I say about the harbour pilot?", session="later")["data"]

    assert any(operation["op"] == "page_out" for turn in turns for operation in turn["memory_operations"])
    assert all(turn["context_usage"]["used"] <= 1400 for turn in turns)
    assert turns[-1]["context_usage"]["tiers"]["summary"] > 0
    assert "Ingrid" in asked["message"]


def test_a_commit_says_how_much_a_talk_changed(say: Say, store: Path) -> None:
    """Whoever reads the log sees how many changes each conversation made, and no word of them."""
    say("My dog is called Rex and I live in Rome.", "--consent")
    say("No, my dog is called Max.")

    log = subprocess.run(["git", "log", "--format=%s"], cwd=store, capture_output=True, text=True, check=True).stdout
    assert log.splitlines()[:2] == ["Remember 1 change", "Remember 3 changes"]  # consent and two facts; a correction


def test_a_session_goes_on_where_it_stopped(say: Say) -> None:
    """With the same session the messages are there again; another one starts empty; turns are counted on."""
    first = say("My dog is called Rex.", "--consent")["data"]
    again = say("Hello!")["data"]
    other = say("Hello!", session="other")["data"]

    assert again["context_usage"]["tiers"]["messages"] > first["context_usage"]["tiers"]["messages"]
    assert other["context_usage"]["tiers"]["messages"] < again["context_usage"]["tiers"]["messages"]


def test_the_last_session_can_be_continued(store: Path, say: Say, capsys: pytest.CaptureFixture[str]) -> None:
    """``-c`` goes on with the session that was used last; without one it says so."""
    assert run(["chat", "--user", "bob", "-c", "-p", "Hello!"]) == 1
    assert "no session" in capsys.readouterr().err
    say("My dog is called Rex.", "--consent", session="one")
    say("Hello!", session="two")

    assert run(["chat", "--user", "ada", "-c", "-p", "Hello!", "--json"]) == 0

    assert json.loads(capsys.readouterr().out)["data"]["session"] == "two"


def test_users_do_not_see_each_other(say: Say) -> None:
    """What one user told is unknown to another, in archive and conversations."""
    say("My dog is called Rex.", "--consent")

    other = say("What is my dog called?", "--consent", user="bob")["data"]

    assert "Rex" not in json.dumps(other)
    assert other["citations"] == []


@pytest.mark.parametrize(
    ("text", "policy", "decision"),
    [
        ("run `rm -rf /srv`", "destructive_command_approval", "ask"),
        ("drop table users", "destructive_command_approval", "ask"),
        ("deploy to production", "staging_first_deployment", "deny"),
    ],
)
def test_a_stopped_action_names_its_policy(say: Say, text: str, policy: str, decision: str) -> None:
    """The starters stop what they are made for; the turn itself is done, so the exit code is 0."""
    data = say(text)["data"]

    assert [(entry["decision"], entry["name"]) for entry in data["policy"]] == [(decision, policy)]
    assert policy in data["message"]
    assert data["tool_calls"][0]["error"]


def test_the_host_may_say_where_it_runs(say: Say) -> None:
    """An exception of a policy holds when the host says so, and not when the user does."""
    by_host = say("run `rm -rf /srv`", "--context", "env=test")["data"]
    by_user = say("run `rm -rf /srv` in env=test")["data"]

    assert by_host["policy"] == []
    assert by_user["policy"][0]["decision"] == "ask"


def test_a_task_becomes_a_plan(say: Say) -> None:
    """A task of a starter domain is planned; the steps are in the message and in the data."""
    data = say("Please deliver the book to the shop.")["data"]

    assert data["plan"]["outcome"] == "found"
    assert [step["name"] for step in data["plan"]["plan"]] == ["go", "hand_over"]
    assert "hand_over book" in data["message"]


def test_a_message_lands_in_the_outbox(say: Say, store: Path) -> None:
    """The harmless starter tool runs in the store's folder."""
    say("send hello to bob with outbox")

    assert json.loads((store / "outbox.jsonl").read_text("utf-8")) == {"message": "hello", "to": "bob"}


def test_what_is_taken_back_stays_away(say: Say, store: Path) -> None:
    """A wish not to remember works in a later process of the session, and the value cannot come back."""
    say("My dog is called Rex.", "--consent")
    gone = say("don't remember that")["data"]
    again = say("My dog is called Rex.")["data"]
    asked = say("What is my dog called?", session="later")["data"]

    assert gone["memory_operations"][-1] | {"id": ""} == {"op": "retract", "id": "", "decision": "retired"}
    assert "tombstone" in again["message"]
    assert asked["citations"] == []
    assert len(records_of(store)) == 1


def test_slash_commands_answer_without_the_model(say: Say) -> None:
    """Each command shows what it says, also through -p."""
    record = say("My dog is called Rex.", "--consent")["data"]["memory_operations"][-1]["id"]
    say("What is my dog called?")

    shown = {
        name: say(name)["data"]["message"] for name in ("/help", "/memory", "/core", "/context", "/why", "/export")
    }
    shown |= {name: say(name)["data"]["message"] for name in ("/search dog", "/skills", "/policy", "/undo", "/quit")}

    assert all(name in shown["/help"] for name in ("/memory", "/why", "/undo", "/export"))
    assert record in shown["/memory"]
    assert "messages" in shown["/context"]
    assert f"cited: {record}" in shown["/why"]
    assert "Rex" in shown["/export"]
    assert record in shown["/search dog"]
    assert "virtual" in shown["/skills"]
    assert "staging_first_deployment" in shown["/policy"]
    assert record in shown["/undo"]
    assert "Nothing to undo" in say("/undo")["data"]["message"]


def test_undo_brings_back_what_was_replaced(say: Say) -> None:
    """After an undone correction the old value is the answer again, and the new one may still be told."""
    say("My dog is called Rex.", "--consent")
    say("No, my dog is called Max.")
    say("/undo")

    asked = say("What is my dog called?", session="later")["data"]
    told = say("No, my dog is called Max.")["data"]

    assert "Rex" in asked["message"]
    assert len(asked["citations"]) == 1
    assert any(operation.get("decision") == "admitted" for operation in told["memory_operations"])


def test_why_names_policy_and_losers(say: Say) -> None:
    """/why says which policy decided on which call in the last turn."""
    say("deploy to production", "--consent")

    shown = say("/why")["data"]["message"]

    assert "policy staging_first_deployment decided deny on deploy" in shown


def test_a_plan_says_which_way_was_chosen(say: Say) -> None:
    """The plan in the answer holds the choice with everything that was considered, and /why tells it."""
    plan = say("deliver book shop", "--consent")["data"]["plan"]
    shown = say("/why")["data"]["message"]

    assert plan["choice"]["kind"] == "methods"
    assert [one["kind"] for one in plan["choice"]["considered"]] == ["evolutionary", "methods", "chat-htn", "tools"]
    assert "planned by methods" in shown
    assert "not by evolutionary: The task names no evaluator" in shown


def test_without_consent_the_account_of_a_plan_does_not_say_what_was_asked(say: Say) -> None:
    """The words of a task are the user's."""
    say("deliver book shop")

    shown = say("/why")["data"]["message"]

    assert "planned: " in shown
    assert "deliver" not in shown


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["-p", "/memroy"], "Did you mean '/memory'"),
        (["-p", "  "], "message is empty"),
        (["-p", "hi", "--provider", "referense"], "Did you mean 'reference'"),
        (["-p", "hi", "--provider", "scripted:nowhere.yaml"], "no script"),
        (["-p", "hi", "--session", "a", "-c"], "either --session or -c"),
        (["-p", "hi", "--context", "env"], "K=V"),
        (["-p", "/search"], "needs words"),
    ],
)
def test_bad_input_is_one_line(say: Say, capsys: pytest.CaptureFixture[str], arguments: list[str], said: str) -> None:
    """Usage errors exit 2 with what to do."""
    assert run(["chat", "--user", "ada", *arguments]) == 2

    message = capsys.readouterr().err
    assert said in message
    assert len(message.strip().splitlines()) == 1


def test_without_a_user_nothing_is_kept(say: Say, store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Whose memory it is comes from flag, environment or configuration; without it the chat works and forgets."""
    assert run(["chat", "-p", "I am Ada"]) == 0

    printed = capsys.readouterr()
    assert "--user" in printed.err
    assert "stored:" not in printed.out
    assert not list((store / "archive").rglob("*.jsonl"))
    assert run(["chat", "-c", "-p", "I am Ada"]) == 2


def test_a_script_drives_the_chat(say: Say, store: Path, tmp_path: Path) -> None:
    """A scripted model calls tools, makes mistakes, and everything is answered and reported."""
    script = tmp_path / "script.yaml"
    answers = [
        {"tool": "archival_memory_insert", "args": "not json"},
        {"tool": "archival_memory_insert", "args": {"txt": "x"}},
        {"tool": "no_such_tool"},
        {"text": "I tried."},
    ]
    script.write_text(json.dumps(answers), encoding="utf-8")

    data = say("Try", "--consent", "--provider", f"scripted:{script}")["data"]

    assert data["message"] == "I tried."
    assert [call["error"] for call in data["tool_calls"]] == [True, True, True]
    assert records_of(store) == []


def test_a_model_that_never_stops_is_bounded(say: Say, tmp_path: Path) -> None:
    """Eight tool calls are the most of a turn, and the reply says that they were reached."""
    script = tmp_path / "script.yaml"
    script.write_text(json.dumps([{"tool": "conversation_search", "args": {"query": "x"}}] * 9), encoding="utf-8")

    data = say("Go", "--provider", f"scripted:{script}")["data"]

    assert len(data["tool_calls"]) == 8
    assert "8 tool calls" in data["message"]


def test_a_script_that_ends_is_a_negative_answer(say: Say, tmp_path: Path) -> None:
    """A turn without an answer left fails, names the script, and prints one envelope."""
    script = tmp_path / "script.yaml"
    script.write_text("[]", encoding="utf-8")

    envelope = say("Go", "--provider", f"scripted:{script}", code=1)

    assert envelope["ok"] is False
    assert str(script) in envelope["diagnostics"][0]["message"]


def test_no_memory_leaves_no_trace(say: Say, store: Path) -> None:
    """With --no-memory nothing is read and nothing written, whatever was agreed before."""
    say("My dog is called Rex.", "--consent")
    before = {path: path.read_bytes() for path in store.rglob("*") if path.is_file() and "cache" not in str(path)}

    asked = say("What is my dog called?", "--no-memory")["data"]
    told = say("My cat is called Tom.", "--no-memory")["data"]

    after = {path: path.read_bytes() for path in store.rglob("*") if path.is_file() and "cache" not in str(path)}
    assert "Rex" not in asked["message"]
    assert told["memory_operations"] == []
    assert after == before


def test_a_store_may_forbid_long_term_memory(say: Say, store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """``privacy.long_term: off`` holds for everybody, whatever they agreed to."""
    monkeypatch.setenv("MEMKIT_PRIVACY_LONG_TERM", "off")

    envelope = say("My dog is called Rex.", "--consent")

    assert records_of(store) == []
    assert "off for this store" in envelope["diagnostics"][0]["message"]


def test_secrets_reach_no_file(say: Say, store: Path) -> None:
    """A card number is refused by the gate and masked in everything the session keeps."""
    say("My card number is 4111 1111 1111 1111", "--consent")

    for path in store.rglob("*"):
        if path.is_file():
            assert b"4111 1111" not in path.read_bytes(), path


def test_broken_policies_stop_every_tool(say: Say, store: Path) -> None:
    """A policy file that does not load denies even the search, and the answer says why."""
    (store / "policies" / "broken.yaml").write_text("name: [", encoding="utf-8")

    data = say("send hello to bob with outbox")["data"]

    assert data["policy"][0]["decision"] == "deny"
    assert not (store / "outbox.jsonl").exists()


def test_standard_input_is_one_turn(
    say: Say, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without a terminal everything on standard input is one message."""
    monkeypatch.setattr(sys, "stdin", io.StringIO("My dog is called Rex.\nMy cat is called Tom.\n"))

    assert run(["chat", "--user", "ada", "--consent"]) == 0

    shown = capsys.readouterr().out
    assert "Rex" in shown
    assert "Tom" in shown


def test_a_line_that_cannot_be_answered_does_not_stop_the_next(
    store: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """With --jsonl every line has its envelope, errors too, and the exit code tells of the first error."""
    monkeypatch.setattr(sys, "stdin", io.StringIO("/bogus\nHello!\n"))

    assert run(["chat", "--user", "ada", "--jsonl", "--store", str(store)]) == 2

    wrong, right = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert (wrong["ok"], wrong["data"], wrong["diagnostics"][0]["code"]) == (False, None, "usage")
    assert right["ok"]
    assert right["data"]["message"].startswith("Hello")


def test_an_export_never_takes_the_place_of_a_file(say: Say, store: Path, tmp_path: Path) -> None:
    """A path in a chat message can make a file and never replaces one."""
    before = (store / "memkit.yaml").read_bytes()
    say("Hello!", "--consent")

    say(f"/export {store / 'memkit.yaml'}", code=2)
    wrote = say(f"/export {tmp_path / 'monday.jsonl'}")["data"]["message"]
    assert "memkit memory export --user" in wrote
    assert (tmp_path / "monday.jsonl").stat().st_mode & 0o777 == 0o600

    assert (store / "memkit.yaml").read_bytes() == before
    assert "Hello!" in (tmp_path / "monday.jsonl").read_text("utf-8")


def test_each_line_is_a_turn_with_jsonl(
    say: Say, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """With --jsonl each line of input gives one line of output, in one session."""
    monkeypatch.setattr(sys, "stdin", io.StringIO("My dog is called Rex.\n\nWhat is my dog called?\n/quit\nnever\n"))

    assert run(["chat", "--user", "ada", "--consent", "--jsonl"]) == 0

    answers = [json.loads(line)["data"] for line in capsys.readouterr().out.splitlines()]
    assert len(answers) == 3
    assert len({answer["session"] for answer in answers}) == 1
    assert answers[1]["citations"]


def test_stored_escapes_do_not_reach_the_terminal(say: Say, capsys: pytest.CaptureFixture[str]) -> None:
    """Control characters in a remembered text are shown, not obeyed."""
    say("My dog is called Rex\x1b[2J\x07.", "--consent")

    assert run(["chat", "--user", "ada", "-p", "What is my dog called?"]) == 0

    shown = capsys.readouterr().out
    assert "Rex" in shown
    assert "\x1b" not in shown
    assert "\x07" not in shown


def test_a_chat_commits_what_it_remembers(say: Say, store: Path) -> None:
    """At the end of a chat the archive is in git."""
    say("My dog is called Rex.", "--consent")

    done = subprocess.run(["git", "status", "--porcelain"], cwd=store, capture_output=True, text=True, check=True)

    assert done.stdout == ""


ASK_BEFORE_SENDING = """\
name: ask_before_sending
description: Ask before anything is sent.
rule: Ask before anything is sent.
enforcement: hard
rationale: A message cannot be taken back.
effect: ask
match: {tool: outbox}
"""


def read_until(terminal: int, wanted: str, seconds: float = 600.0) -> str:
    """Return what the terminal shows up to ``wanted``."""
    shown, end = "", time.monotonic() + seconds
    while wanted not in shown and time.monotonic() < end:
        if select.select([terminal], [], [], 0.2)[0]:
            try:
                shown += os.read(terminal, 4096).decode("utf-8", "replace")
            except OSError:
                break
    assert wanted in shown, shown
    return shown


def test_a_conversation_on_a_terminal(store: Path) -> None:
    """On a terminal consent is asked once, an asked action waits for a person, and /quit leaves with exit code 0."""
    (store / "policies" / "ask_before_sending.yaml").write_text(ASK_BEFORE_SENDING, encoding="utf-8")
    master, slave = pty.openpty()
    environment = {**os.environ, "TERM": "dumb"}
    command = [sys.executable, "-m", "memkit", "chat", "--store", str(store), "--user", "ada"]
    program = subprocess.Popen(command, stdin=slave, stdout=slave, stderr=slave, env=environment, close_fds=True)
    os.close(slave)

    def type_line(text: str) -> None:
        os.write(master, f"{text}\n".encode())

    try:
        read_until(master, "yes or no: ")
        type_line("hello")
        read_until(master, "Please answer yes or no")
        type_line("yes")
        read_until(master, "> ")
        type_line("My dog is called Rex.")
        read_until(master, "(stored:")
        type_line("/memroy")
        read_until(master, "Did you mean")
        type_line("send hello to bob")
        read_until(master, "[n] ")
        type_line("n")
        read_until(master, "Nobody confirmed it")
        type_line("send hello to eve")
        read_until(master, "[n] ")
        type_line("y")
        read_until(master, "Done with outbox")
        type_line("/quit")
        read_until(master, "Goodbye.")
        assert program.wait(timeout=900) == 0
    finally:
        program.kill()
        program.wait()
        os.close(master)
    assert json.loads((store / "outbox.jsonl").read_text("utf-8"))["to"] == "eve"
    assert [record["text"] for record in records_of(store)] == ["My dog is called Rex"]


def test_a_formula_is_found_by_evolution(say: Say, tmp_path: Path) -> None:
    """A model may search for a formula through points; the same points give the same formula."""
    script = tmp_path / "script.yaml"
    points = [[0, 1], [1, 3], [2, 5], [3, 7]]
    answers = [{"tool": "evolve_expression", "args": {"points": points, "generations": 20}}, {"text": "Found."}]
    script.write_text(json.dumps(answers), encoding="utf-8")

    results = [say("Fit", "--provider", f"scripted:{script}")["data"]["tool_calls"][0] for _ in range(2)]

    assert not results[0]["error"]
    assert "lambda x" in results[0]["result"]
    assert results[0]["result"] == results[1]["result"]


def test_no_moment_makes_a_session_whose_name_looks_like_a_personal_number() -> None:
    """Date and time side by side have the digits of one; a conversation must open at any minute."""
    for minute in range(24 * 60):
        moment = datetime(2026, 11, 21, minute // 60, minute % 60, 7, tzinfo=UTC)
        name = _new_session(SimpleNamespace(clock=lambda moment=moment: moment))
        assert not event_problems({}, Origin(actor="user", user_id="ada", session_id=name)), name
