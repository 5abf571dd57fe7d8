"""``memkit sessions``: people find, read, name and remove their conversations, and see nobody else's."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from memkit.cli.main import run
from memkit.cli.sessions import card_line
from memkit.runtime.memory.log.clone import state_folder
from memkit.runtime.memory.tiers.recall import RecallMemory
from memkit.runtime.memory.tiers.sessions import Kept, SessionFile, session_digest
from memkit.store.audit import AuditLog
from memkit.store.sessions import SessionCard
from tests.taken_along import copy_with_state

Ask = Callable[..., tuple[int, dict[str, Any]]]


@pytest.fixture
def ask(store: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Ask:
    """Return what runs a command on the store and gives its exit code and envelope."""
    monkeypatch.setenv("MEMKIT_STORE", str(store))

    def asked(*words: str) -> tuple[int, dict[str, Any]]:
        capsys.readouterr()
        code = run([*words, "--json"])
        return code, json.loads(capsys.readouterr().out)

    return asked


@pytest.fixture(scope="module")
def spoken() -> dict[str, Path]:
    """Return where the store lies in which people talked, once it is made; every test gets a copy."""
    return {}


@pytest.fixture
def talked(ask: Ask, store: Path, spoken: dict[str, Path], tmp_path_factory: pytest.TempPathFactory) -> Ask:
    """Let Ada have two sessions and Bob one, which has the same name as one of hers."""
    if not spoken:
        for user, session, text in (
            ("ada", "monday", "My dog is called Rex."),
            ("ada", "tuesday", "I live in Lisbon."),
            ("bob", "monday", "I collect quokkas."),
        ):
            assert ask("chat", "--user", user, "--session", session, "--consent", "-p", text)[0] == 0
        spoken["made"] = tmp_path_factory.mktemp("spoken") / "store"
        shutil.copytree(store, spoken["made"], symlinks=True)
    shutil.rmtree(store)
    copy_with_state(spoken["made"], store)
    return ask


def kept_by(store: Path) -> list[Path]:
    """Return the files of sessions, without locks."""
    return [path for path in (state_folder(store) / "sessions").rglob("*") if path.suffix in (".json", ".jsonl")]


def test_sessions_are_listed_newest_first_with_what_tells_them_apart(talked: Ask) -> None:
    """The list is complete, has the pinned keys, and holds the sessions of this user alone."""
    code, answer = talked("sessions", "list", "--user", "ada")

    assert (code, answer["schema"]) == (0, "memkit.sessions.list/1")
    found = answer["data"]["sessions"]
    assert [one["session"] for one in found] == ["tuesday", "monday"]
    assert {"session", "name", "user_id", "agent_id", "started_at", "last_at", "turns", "parent", "first"} <= set(
        found[0]
    )
    assert (found[0]["user_id"], found[0]["turns"], found[0]["first"]) == ("ada", 1, "I live in Lisbon.")
    assert found[0]["started_at"] <= found[0]["last_at"]
    assert "truncated" not in answer["data"]


def test_the_columns_of_a_list_stand_below_each_other() -> None:
    """Ids of any length leave the age where it is."""
    now = datetime(2026, 3, 3, tzinfo=UTC)
    cards = [
        SessionCard(id, "ada", "2026-03-02T10:15:00Z", "2026-03-02T10:20:00Z", turns=3, first="Hi")
        for id in ("tuesday", "20260302T101500-a91f")
    ]

    lines = [card_line(card, now, width=20) for card in cards]

    assert len({line.index("3 turns") for line in lines}) == 1


def test_a_limit_says_that_it_cut(talked: Ask) -> None:
    """With ``--limit`` the list says whether there is more."""
    cut, whole = (talked("sessions", "list", "--user", "ada", "--limit", count)[1]["data"] for count in ("1", "2"))

    assert [one["session"] for one in cut["sessions"]] == ["tuesday"]
    assert (cut["truncated"], whole["truncated"]) == (True, False)


def test_a_user_without_sessions_has_an_empty_list(talked: Ask) -> None:
    """An empty list is an answer, exit 0."""
    assert talked("sessions", "list", "--user", "carol")[1]["data"] == {"sessions": []}


def test_without_a_user_nothing_is_listed(talked: Ask) -> None:
    """Whose sessions are meant has to be said: exit 2."""
    assert talked("sessions", "list")[0] == 2


def test_what_was_said_is_searched_by_its_words(talked: Ask) -> None:
    """The best turn comes first, with its session and score; what nobody said is exit 1."""
    code, answer = talked("sessions", "search", "Where do I live, Lisbon?", "--user", "ada")
    best = answer["data"]["turns"][0]

    assert (code, best["session"], best["turn"], best["role"]) == (0, "tuesday", 1, "user")
    assert set(best) == {"session", "turn", "at", "role", "text", "score"}
    scores = [turn["score"] for turn in answer["data"]["turns"]]
    assert scores == sorted(scores, reverse=True)
    assert talked("sessions", "search", "quokkas", "--user", "ada")[0] == 1
    code, answer = talked("sessions", "search", " ", "--user", "ada")
    assert code == 2 and "Nothing to search for." in answer["diagnostics"][0]["message"]


def test_a_session_is_shown_with_its_calls_and_writes(talked: Ask, capsys: pytest.CaptureFixture[str]) -> None:
    """What was said, which tools were called and the ids of what was remembered stand together; calls as in a chat."""
    run(["sessions", "show", "monday", "--user", "ada"])
    assert "  assistant  · archival_memory_insert(text: My dog is called Rex)\n" in capsys.readouterr().out
    _, answer = talked("sessions", "show", "monday", "--user", "ada")
    shown = answer["data"]

    assert shown["turns"][0]["text"] == "My dog is called Rex."
    assert [call["tool"] for call in shown["calls"]] == ["archival_memory_insert"]
    records = talked("memory", "list", "--user", "ada")[1]["data"]["records"]
    assert shown["writes"] == [record["id"] for record in records if record["session_id"] == "monday"]
    assert shown["summary"] == ""


@pytest.mark.parametrize("word", ["monday", "mon", "dogs"])
def test_a_session_is_found_by_its_id_how_it_begins_or_its_name(talked: Ask, word: str) -> None:
    """A name given once stands for the id from then on; the prompt of the session stays as it was."""
    assert talked("sessions", "rename", "monday", "dogs", "--user", "ada")[0] == 0

    code, answer = talked("sessions", "show", word, "--user", "ada")

    assert (code, answer["data"]["session"], answer["data"]["name"]) == (0, "monday", "dogs")
    again = talked("chat", "--user", "ada", "--session", "monday", "-p", "Hello!")[1]["data"]
    assert again["context_usage"]["tiers"]["messages"] > 40
    assert talked("sessions", "show", word, "--user", "ada")[1]["data"]["name"] == "dogs"


def test_an_ambiguous_word_names_the_candidates(ask: Ask) -> None:
    """What fits several sessions is exit 2 and lists them; a whole id never is ambiguous."""
    for session in ("work", "work-2"):
        ask("chat", "--user", "ada", "--session", session, "--consent", "-p", "Hello there, how are you?")

    code, answer = ask("sessions", "show", "wo", "--user", "ada")

    assert code == 2
    assert "work" in answer["diagnostics"][0]["message"] and "work-2" in answer["diagnostics"][0]["message"]
    assert ask("sessions", "show", "work", "--user", "ada")[0] == 0


@pytest.mark.parametrize("command", [("show",), ("rename", "--", "mine"), ("rm", "--yes")])
def test_the_session_of_somebody_else_is_not_found(talked: Ask, command: tuple[str, ...]) -> None:
    """Nobody learns that Bob has a session, whatever they ask of it."""
    verb, *more = command
    words = [word for word in more if word != "--"]

    code, answer = talked("sessions", verb, "tuesday", *words, "--user", "bob")

    assert code == 1
    assert "or it is another user's" in answer["diagnostics"][0]["message"]
    assert len(talked("sessions", "list", "--user", "ada")[1]["data"]["sessions"]) == 2


@pytest.mark.parametrize("name", ["", " ", "a\nb", "x" * 81, "\x1b[31mred", "monday"])
def test_a_name_is_one_visible_line_that_nothing_else_has(talked: Ask, name: str) -> None:
    """What cannot be told apart or obeyed by a terminal is no name: exit 2, and the old one stays."""
    assert talked("sessions", "rename", "tuesday", name, "--user", "ada")[0] == 2
    assert talked("sessions", "show", "tuesday", "--user", "ada")[1]["data"]["name"] is None


def test_a_name_holds_no_secret(talked: Ask, store: Path) -> None:
    """A credential in a name is refused before it is written anywhere."""
    code, _ = talked("sessions", "rename", "tuesday", "key AKIAIOSFODNN7EXAMPLE", "--user", "ada")

    assert code == 1
    assert not any(b"AKIAIOSFODNN7" in path.read_bytes() for path in store.rglob("*") if path.is_file())


def test_removing_asks_and_refuses_where_nobody_answers(talked: Ask) -> None:
    """Without a terminal and without ``--yes`` nothing goes: exit 2."""
    assert talked("sessions", "rm", "monday", "--user", "ada")[0] == 2
    assert talked("sessions", "show", "monday", "--user", "ada")[0] == 0


def test_a_removed_session_leaves_no_word_but_what_was_remembered(talked: Ask, store: Path) -> None:
    """Its turns, prompt and the words of its audit events go; records, other sessions and other users stay."""
    bobs = {path: path.read_bytes() for path in kept_by(store)}

    code, answer = talked("sessions", "rm", "monday", "--user", "ada", "--yes")

    assert code == 0
    assert answer["data"]["removed"][0]["session"] == "monday"
    assert [one["session"] for one in talked("sessions", "list", "--user", "ada")[1]["data"]["sessions"]] == ["tuesday"]
    state = [path for path in (state_folder(store)).rglob("*") if path.is_file()]
    assert not any(b"Rex" in path.read_bytes() for path in state)
    assert any("Rex" in one["text"] for one in talked("memory", "list", "--user", "ada")[1]["data"]["records"])
    assert talked("sessions", "show", "monday", "--user", "bob")[0] == 0
    assert len(bobs) - len(kept_by(store)) == 2
    told = talked("audit", "--user", "ada")[1]["data"]["events"]
    assert {event["session_id"] for event in told if event["event"] == "write"} == {"monday", "tuesday"}


def test_the_audit_log_is_blanked_in_place(talked: Ask, store: Path) -> None:
    """Whoever appends meanwhile loses nothing: every other line keeps its bytes, and every line its place."""
    (log,) = (state_folder(store) / "audit").glob("*.jsonl")
    with log.open("a", encoding="utf-8") as file:
        file.write('{"event": "retrieved", "user_id": "ada", "session_id": "monday", "query": "Räx')  # torn
    before = log.read_bytes().split(b"\n")

    talked("sessions", "rm", "monday", "--user", "ada", "--yes")

    after = log.read_bytes().split(b"\n")
    assert list(map(len, after)) == list(map(len, before))
    assert after.pop().strip() == b"" and before.pop()  # what nobody can tell the session of goes as well
    changed = [json.loads(old) for old, new in zip(before, after, strict=True) if old != new]
    assert changed and {(one["user_id"], one["session_id"]) for one in changed} == {("ada", "monday")}
    blanked = [json.loads(new) for old, new in zip(before, after, strict=True) if old != new]
    assert not any({"query", "args", "reason"} & set(one) for one in blanked)


@pytest.mark.parametrize("until", [(AuditLog, "withhold"), (RecallMemory, "forget")])
def test_a_removal_that_was_killed_is_done_by_the_next(
    until: tuple[type, str], talked: Ask, store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As long as anything is left, the session is there to be removed: no word stays that no command reaches."""
    rm = ("sessions", "rm", "monday", "--user", "ada", "--yes")
    whole = getattr(*until)

    def killed(*arguments: Any) -> None:
        whole(*arguments)
        raise MemoryError

    with monkeypatch.context() as kill:
        kill.setattr(*until, killed)
        with pytest.raises(AssertionError):
            assert talked(*rm)[0] == 0

    assert talked(*rm)[0] == 0
    words = b"".join(path.read_bytes() for path in (state_folder(store)).rglob("*.jsonl"))
    assert b"Rex" not in words and b"Lisbon" in words


def test_several_go_together_or_none_does(talked: Ask) -> None:
    """A word that means nothing stops the command before anything is removed."""
    assert talked("sessions", "rm", "monday", "nonsense", "--user", "ada", "--yes")[0] == 1
    assert len(talked("sessions", "list", "--user", "ada")[1]["data"]["sessions"]) == 2

    _, answer = talked("sessions", "rm", "monday", "tuesday", "mon", "--user", "ada", "--yes")

    assert [one["session"] for one in answer["data"]["removed"]] == ["monday", "tuesday"]


def test_records_of_the_session_alone_are_told_and_retired_on_request(talked: Ask) -> None:
    """What only the session could recall stays in the archive, and ``--memories`` retires it."""
    _, added = talked(
        "memory", "add", "The code word today is marzipan", "--user", "ada", "--session", "monday", "--scope", "session"
    )

    _, answer = talked("sessions", "rm", "monday", "--user", "ada", "--yes", "--memories")

    assert answer["data"]["removed"][0]["session_records"] == [added["data"]["id"]]
    assert talked("memory", "get", added["data"]["id"], "--user", "ada")[1]["data"]["status"] == "retired"


def test_expired_sessions_are_not_listed(talked: Ask, store: Path) -> None:
    """What outlived ``recall.ttl`` is gone from every list before anybody sweeps."""
    old = datetime.now(UTC) - timedelta(days=8)
    recall = RecallMemory(state_folder(store) / "sessions", clock=lambda: old)
    recall.append("ada", "last-week", 1, "user", "Something from long ago")
    for path in (state_folder(store) / "sessions").glob("*.json"):
        os.utime(path, (old.timestamp(), old.timestamp()))

    found = talked("sessions", "list", "--user", "ada")[1]["data"]["sessions"]

    assert {one["session"] for one in found} == {"monday", "tuesday"}
    assert talked("sessions", "show", "last-week", "--user", "ada")[0] == 1


def test_a_damaged_file_hides_no_session(talked: Ask, store: Path) -> None:
    """A file that somebody broke costs what was in it, and the list is given all the same."""
    for path in (state_folder(store) / "sessions").glob("*.json"):
        path.write_text("{broken")

    found = talked("sessions", "list", "--user", "ada")[1]["data"]["sessions"]

    assert [(one["session"], one["turns"]) for one in found] == [("tuesday", 1), ("monday", 1)]


@pytest.mark.parametrize(
    "broken",
    [
        {"turns": float("inf")},
        {"working": {"at": "2036-01-01T00:00:00Z", "task": 5, "steps": "x"}},
        None,
    ],
)
def test_a_session_goes_on_without_what_somebody_broke(broken: Any, talked: Ask, store: Path) -> None:
    """Nonsense in the file of a session, or as deep as a bomb, costs what was in it and ends no program."""
    for path in (state_folder(store) / "sessions").glob("*.json"):
        data = json.loads(path.read_text())
        path.write_text("[" * 100_000 if broken is None else json.dumps(data | broken))

    code, answered = talked("chat", "--user", "ada", "--session", "monday", "-p", "What is my dog called?")

    assert (code, answered["data"]["message"][:22]) == (0, "“My dog is called Rex”")
    assert talked("sessions", "list", "--user", "ada")[0] == 0
    assert talked("memory", "export", "--user", "ada", "--out", str(store.parent / "out.jsonl"))[0] == 0


@pytest.mark.parametrize("broken", [{"at": 5}, {"text": 5}, None])
def test_a_line_of_talk_that_somebody_broke_is_passed_over(broken: Any, talked: Ask, store: Path) -> None:
    """The lines around it are told."""
    for path in (state_folder(store) / "sessions").glob("*/*.jsonl"):
        first = json.loads(path.read_text().splitlines()[0])
        with path.open("a") as lines:
            lines.write(("[" * 100_000 if broken is None else json.dumps(first | broken)) + "\n")

    assert len(talked("sessions", "show", "monday", "--user", "ada")[1]["data"]["turns"]) >= 2
    assert talked("sessions", "search", "dog", "--user", "ada")[0] == 0
    assert talked("memory", "erase", "--user", "ada", "--yes")[0] == 0


def test_the_shell_completes_the_sessions_of_one_user(
    talked: Ask, store: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ids and names of the user on the line are offered, and those of nobody else."""
    talked("chat", "--user", "bob", "--session", "bobs-own", "--consent", "-p", "Hello, it is me.")
    talked("sessions", "rename", "monday", "my dogs", "--user", "ada")
    monkeypatch.setenv("_MEMKIT_COMPLETE", "bash_complete")

    def offered(user: str, begun: str) -> set[str]:
        monkeypatch.setenv("COMP_WORDS", f"memkit sessions show --user {user} {begun}")
        monkeypatch.setenv("COMP_CWORD", "5")
        capsys.readouterr()
        run([])
        return {line.partition(",")[2] for line in capsys.readouterr().out.splitlines() if line}

    assert offered("ada", "") == {"monday", "tuesday", "my dogs"}
    assert offered("bob", "") == {"monday", "bobs-own"}
    assert offered("carol", "m") == set()


def test_hostile_words_are_shown_as_escapes(ask: Ask, capsys: pytest.CaptureFixture[str]) -> None:
    """What was said cannot move the cursor of whoever lists it."""
    ask("chat", "--user", "ada", "--session", "s\u202e1", "--consent", "-p", "I like \x1b[2Jred wine.")

    for words in (["list"], ["search", "wine"], ["show", "s"]):
        run(["sessions", *words, "--user", "ada"])
        shown = capsys.readouterr().out
        assert "\x1b" not in shown and "\u202e" not in shown


def test_what_a_generated_project_kept_is_listed_shown_renamed_and_removed(ask: Ask, store: Path) -> None:
    """A project keeps prompts in a folder of its own and no account of calls; all the rest is as in a chat."""
    state = state_folder(store)
    RecallMemory(state / "sessions").append("ada", "p1", 1, "user", "I live in Lisbon.")
    file = SessionFile(state / "context", "ada", "p1")
    file.save(None, Kept(1, ("01A",)))
    framework = state / "anyframework" / f"{session_digest('ada', 'p1')}.sqlite-wal"
    framework.parent.mkdir()
    framework.write_bytes(b"steps of a graph")

    assert ask("sessions", "rename", "p1", "from the project", "--user", "ada")[0] == 0
    _, shown = ask("sessions", "show", "from the project", "--user", "ada")
    assert (shown["data"]["session"], shown["data"]["calls"]) == ("p1", [])
    assert [turn["text"] for turn in shown["data"]["turns"]] == ["I live in Lisbon."]
    kept = file.load(None)
    assert kept is not None and (kept.name, kept.known) == ("from the project", ("01A",))
    assert ask("sessions", "rm", "p1", "--user", "ada", "--yes")[0] == 0
    assert not framework.exists() and not file.exists()
    assert ask("sessions", "list", "--user", "ada")[1]["data"]["sessions"] == []


def test_damaged_files_of_sessions_are_named_and_set_aside(talked: Ask, store: Path) -> None:
    """``fsck`` and ``doctor`` name them; ``--fix`` moves them where a person can look, and talking goes on."""
    session = next((state_folder(store) / "sessions").glob("*.json"))
    session.write_text("{broken")
    steps = next((state_folder(store) / "checkpoints").glob("*.jsonl"))
    steps.write_text("no JSON\n")

    code, found = talked("fsck")

    assert code == 1
    assert {problem["code"] for problem in found["data"]["problems"]} == {"session-damaged", "steps-damaged"}
    checks = {check["name"]: check["ok"] for check in talked("doctor")[1]["data"]["checks"]}
    assert checks["sessions"] is False
    assert talked("fsck", "--fix")[0] == 0
    assert talked("fsck")[0] == 0
    assert {path.read_text() for path in (state_folder(store) / "torn").iterdir()} == {"{broken", "no JSON\n"}
    for user, name in (("ada", "monday"), ("ada", "tuesday"), ("bob", "monday")):
        assert talked("chat", "--user", user, "--session", name, "-p", "Hello!")[0] == 0


def test_a_pipe_in_the_place_of_a_file_is_waited_for_by_nobody(talked: Ask, store: Path) -> None:
    """Whoever opens it would wait for ever: it is named and set aside like a damaged file, and no account is lost."""
    state = state_folder(store)
    places = [next(state.glob(f"{folder}/*.json*")) for folder in ("sessions", "checkpoints", "audit")]
    for place in places:
        place.unlink()
        os.mkfifo(place)

    assert talked("sessions", "list", "--user", "ada")[0] == 0
    assert talked("memory", "search", "tea", "--user", "ada")[0] == 0  # and its audit event goes nowhere
    code, found = talked("fsck")
    assert code == 1
    assert {problem["code"] for problem in found["data"]["problems"]} == {"session-damaged", "steps-damaged"}
    assert talked("fsck", "--fix")[0] == 0 and not any(place.exists() for place in places[:2])
    for user, name in (("ada", "monday"), ("ada", "tuesday"), ("bob", "monday")):
        assert talked("chat", "--user", user, "--session", name, "-p", "Hello!")[0] == 0


def test_an_event_that_was_cut_short_spoils_no_other(tmp_path: Path) -> None:
    """A full disk takes half a line: the next one begins anew, and the half goes with the words of a session."""
    log = AuditLog(tmp_path, lambda: datetime(2026, 3, 1, tzinfo=UTC))
    log.append({"event": "retrieved", "user_id": "ada", "session_id": "monday", "query": "tea"})
    (month,) = tmp_path.iterdir()
    month.write_bytes(month.read_bytes() + b'{"event": "retrieved", "query": "coff')

    log.append({"event": "cited", "user_id": "bob"})

    assert [event["event"] for event in log.events()] == ["retrieved", "cited"]
    assert log.withhold("ada", "monday") == 1
    assert b"tea" not in month.read_bytes() and b"coff" not in month.read_bytes()
    assert [event["event"] for event in log.events(user="bob")] == ["cited"]
