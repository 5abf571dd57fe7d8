"""Who agreed to what is asked on every way in, and ``privacy.long_term: off`` holds for the whole store."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from memkit.agent import Setting
from memkit.cli.main import run
from memkit.runtime.memory.log.clone import state_folder
from memkit.use_cases.open_chat import open_chat
from memkit.workspace import open_workspace
from tests.privacy.conftest import Ask

USER = 'o\'hara/"x"'


def lines_of(store: Path) -> list[dict[str, object]]:
    """Return every line of the archive that is no consent."""
    shards = (store / "archive").rglob("*.jsonl")
    lines = [json.loads(line) for shard in shards for line in shard.read_text().splitlines()]
    return [line for line in lines if line.get("op") != "consent"]


@pytest.fixture
def exported(tmp_path: Path) -> Path:
    """Return a file of memkit's own lines."""
    file = tmp_path / "in.jsonl"
    file.write_text(json.dumps({"text": "Ada plays chess", "user_id": USER}) + "\n")
    return file


WAYS_IN = {
    "add": ("memory", "add", "Ada drinks tea", "--user", USER),
    "core": ("core", "set", "human", "Drinks tea", "--user", USER),
    "import": ("memory", "import", "{file}", "--format", "memkit"),
}


@pytest.mark.parametrize("way", WAYS_IN)
def test_where_consent_is_always_asked_nothing_is_stored_without_it(
    store: Path, ask: Ask, exported: Path, way: str
) -> None:
    """At the command line too, and as soon as it is withdrawn again."""
    words = [word.format(file=exported) for word in WAYS_IN[way]]
    ask("config", "set", "privacy.consent", "always")

    before = ask(*words)
    ask("consent", "grant", "--user", USER)
    granted = ask(*words)
    kept = lines_of(store)
    ask("consent", "withdraw", "--user", USER)
    after = ask(*[word.replace("tea", "coffee").replace("Drinks", "Sips") for word in words])

    assert (before[0], granted[0], len(kept)) == (1, 0, 1)
    assert "consent" in json.dumps(before[1])
    if way != "import":  # what was imported before is known and no news
        assert (after[0], after[1]["data"]["reasons"][0]["code"]) == (1, "consent")
    assert lines_of(store) == kept


def test_a_correction_needs_the_consent_as_well(store: Path, ask: Ask) -> None:
    """The new text is new text."""
    id = ask("memory", "add", "Ada drinks tea", "--user", USER)[1]["data"]["id"]
    ask("config", "set", "privacy.consent", "always")

    code, answer = ask("memory", "supersede", id, "Ada drinks coffee", "--user", USER)

    assert (code, answer["data"]["reasons"][0]["code"]) == (1, "consent")


@pytest.mark.parametrize("way", WAYS_IN)
def test_who_is_refused_for_want_of_consent_reads_how_to_give_it(
    store: Path, ask: Ask, exported: Path, way: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """The command stands below the refusal, once."""
    ask("config", "set", "privacy.consent", "always")
    capsys.readouterr()

    run([*(word.format(file=exported) for word in WAYS_IN[way]), "--store", str(store)])

    assert "".join(capsys.readouterr()).count("memkit consent grant --user NAME") == 1


@pytest.mark.parametrize("way", WAYS_IN)
def test_a_store_without_long_term_memory_stores_nothing(store: Path, ask: Ask, exported: Path, way: str) -> None:
    """Whoever offers it, with consent or without."""
    ask("consent", "grant", "--user", USER)
    ask("config", "set", "privacy.long_term", "off")

    code, answer = ask(*[word.format(file=exported) for word in WAYS_IN[way]])

    assert code == 1
    assert "long_term_off" in json.dumps(answer)
    assert lines_of(store) == []


def test_a_store_without_long_term_memory_recalls_nothing_and_says_so(store: Path, ask: Ask) -> None:
    """What was stored before stays, for people to look at, export and erase."""
    ask("memory", "add", "Ada drinks tea", "--user", "ada")
    ask("config", "set", "privacy.long_term", "off")

    code, answer = ask("memory", "search", "tea", "--user", "ada")
    chat = ask("chat", "--user", "ada", "--consent", "-p", "What does Ada drink?")[1]

    assert (code, answer["data"]) == (0, {"results": [], "abstained": True})
    assert answer["diagnostics"][0]["code"] == "long_term_off"
    assert "tea" not in chat["data"]["message"]
    assert len(ask("memory", "list", "--user", "ada")[1]["data"]["records"]) == 1
    assert ask("memory", "export", "--user", "ada", "--out", str(store.parent / "out.jsonl"))[0] == 0


def test_withdrawing_stops_a_chat_that_is_running(store: Path, ask: Ask) -> None:
    """Another process withdraws; the next turn of this one stores nothing, in no file."""
    ask("consent", "grant", "--user", USER)
    with open_workspace(store) as workspace:
        agent = open_chat(workspace, Setting(USER))
        agent.step("Remember that my cat is called Grimalkin")
        kept = lines_of(store)
        ask("consent", "withdraw", "--user", USER)
        reply = agent.step("Remember that my dog is called Rex")

    assert len(kept) == 1
    assert [line for line in lines_of(store) if "Rex" in json.dumps(line)] == []
    assert "Rex" not in "".join(path.read_text() for path in (state_folder(store) / "sessions").rglob("*.json*"))
    assert reply.message


def test_consent_is_an_event_of_the_archive_for_any_user_id(store: Path, ask: Ask) -> None:
    """Listed as it was given, and it travels with the shards."""
    assert ask("consent", "grant", "--user", USER)[1]["data"] == {"user_id": USER, "granted": True}

    assert ask("consent", "list")[1]["data"]["consents"] == [{"user_id": USER, "granted": True}]
    shard = next((store / "archive").rglob("*.jsonl"))
    event = json.loads(shard.read_text())
    assert (event["op"], event["user_id"], event["fields"]) == ("consent", USER, {"granted": True})


@pytest.mark.parametrize("words", [("consent", "grant"), ("chat", "--consent", "-p", "Hello")])
def test_an_agents_consent_is_written_as_the_agents(
    store: Path, words: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    """It counts, because the host is the operator; who reads the archive sees that no person gave it."""
    monkeypatch.setenv("CLAUDECODE", "1")

    assert run([*words, "--user", "ada", "--store", str(store)]) == 0

    lines = [json.loads(line) for path in store.glob("archive/*/*.jsonl") for line in path.read_text().splitlines()]
    assert [line["actor"] for line in lines if line.get("op") == "consent"] == ["agent:claude-code"]
