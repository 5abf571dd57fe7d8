"""A store that seals works as any other where the keys are, and shows nothing of its users where they are not."""

from __future__ import annotations

import json
import stat
import subprocess
from pathlib import Path

import pytest

from memkit.privacy.keys import KeyRing
from memkit.runtime.memory.archive.archive import ArchivalStore
from memkit.runtime.memory.log.clone import KEY_FILE, cache_folder, state_folder
from tests.privacy.conftest import Ask

WORDS = ("lithium", "Lisbon", "quietly", "ailment", "clinic.example")


def objects_of(store: Path) -> bytes:
    """Return the content of every git object there is, unreachable ones included."""
    listed = subprocess.run(
        ["git", "-C", str(store), "cat-file", "--batch", "--batch-all-objects"], capture_output=True, check=True
    )
    return listed.stdout


def without_keys(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Go on as on a machine that has no keys."""
    monkeypatch.setenv("MEMKIT_KEYS", str(tmp_path / "no-keys"))


@pytest.fixture
def lived(sealing: Path, ask: Ask) -> Path:
    """Return a sealing store with everything that can be said of Ada, committed."""
    added = ask(
        "memory", "add", "Ada takes lithium", "--user", "ada", "--tag", "ailment", "--source-url",
        "https://clinic.example/ada",
    )[1]["data"]["id"]  # fmt: skip
    assert ask("memory", "supersede", added, "Ada takes lithium quietly", "--user", "ada")[0] == 0
    other = ask("memory", "add", "Ada moved to Lisbon", "--user", "ada")[1]["data"]["id"]
    assert ask("memory", "update", other, "--user", "ada", "--tag", "ailment", "--reason", "told quietly")[0] == 0
    assert ask("core", "set", "human", "Lives in Lisbon", "--user", "ada")[0] == 0
    assert ask("memory", "add", "The office is in Oslo", "--user", "ada", "--scope", "shared")[0] == 0
    assert ask("consent", "grant", "--user", "ada")[0] == 0
    assert ask("commit")[0] == 0
    return sealing


def test_nothing_that_git_holds_shows_a_sealed_text(lived: Path) -> None:
    """Every object is looked at; what is shared is there in clear."""
    everything = objects_of(lived) + b"".join(path.read_bytes() for path in (lived / "archive").rglob("*.jsonl"))

    assert [word for word in WORDS if word.encode() in everything] == []
    assert b"Oslo" in everything
    assert b'"granted":true' in everything


def test_with_the_keys_a_sealed_store_is_a_store(lived: Path, ask: Ask) -> None:
    """Search, list, core, history and the check of every line."""
    hits = ask("memory", "search", "What does Ada take?", "--user", "ada")[1]["data"]["results"]
    assert hits[0]["text"] == "Ada takes lithium quietly"
    assert hits[0]["tags"] == ["ailment"]
    moved = next(
        item for item in ask("memory", "list", "--user", "ada")[1]["data"]["records"] if "Lisbon" in item["text"]
    )
    told = ask("memory", "get", moved["id"], "--user", "ada")[1]["data"]
    assert (told["tags"], told["history"][-1]["reason"]) == (["ailment"], "told quietly")
    assert ask("core", "show", "--user", "ada")[1]["data"]["sections"]["human"] == "Lives in Lisbon"
    assert ask("fsck")[0] == 0
    assert ask("lint")[0] == 0


def test_without_the_keys_records_are_known_and_unreadable(
    lived: Path, ask: Ask, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing is called damaged, the shared record is found, and the way out is said."""
    without_keys(monkeypatch, tmp_path)

    listed = ask("memory", "list", "--user", "ada")[1]
    texts = [record["text"] for record in listed["data"]["records"]]
    found = ask("memory", "search", "lithium", "--user", "ada")[1]
    sealed = next(record["id"] for record in listed["data"]["records"] if record["text"] == "[sealed]")
    got = ask("memory", "get", sealed, "--user", "ada")

    assert sorted(texts) == ["The office is in Oslo", "[sealed]", "[sealed]"]
    assert (found["data"]["results"], found["diagnostics"][0]["code"]) == ([], "sealed")
    assert "memkit key import" in found["diagnostics"][0]["message"]
    assert (got[0], got[1]["data"]["text"], got[1]["data"]["status"]) == (0, "[sealed]", "live")
    assert ask("memory", "search", "Where is the office?", "--user", "ada")[1]["data"]["results"] != []
    assert ask("memory", "search", "sealed", "--user", "ada")[1]["data"]["results"] == []
    assert ask("core", "show", "--user", "ada")[1]["data"]["sections"].get("human") is None
    code, checked = ask("fsck")
    assert (code, checked["data"]["problems"], checked["data"]["records"]) == (0, [], 3)
    assert checked["data"]["sealed"] == {"lines": 5, "unreadable": 5}
    assert ask("lint")[0] == 0


def test_a_key_that_leaves_takes_the_clear_index_along_and_brings_it_back(
    lived: Path, ask: Ask, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The index of the user is another file at the next look, without a word of what it held."""
    users = cache_folder(lived) / "users"
    ask("memory", "search", "lithium", "--user", "ada")
    assert any(b"lithium" in path.read_bytes() for path in users.iterdir())

    without_keys(monkeypatch, tmp_path)
    ask("memory", "search", "lithium", "--user", "ada")
    files = [path for path in (lived / ".memkit" / "cache").rglob("*") if path.is_file()]
    left = [word for word in WORDS for path in files if word.encode() in path.read_bytes()]
    monkeypatch.delenv("MEMKIT_KEYS")

    assert left == []
    assert ask("memory", "search", "lithium", "--user", "ada")[1]["data"]["abstained"] is False


def test_without_the_keys_nothing_new_is_stored_for_a_user(
    lived: Path, ask: Ask, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither in clear nor under a second key that the other machines do not know."""
    without_keys(monkeypatch, tmp_path)
    before = (lived / "memkit.yaml").read_bytes(), sorted((lived / "archive").rglob("*.jsonl"))

    code, answer = ask("memory", "add", "Ada has a cat", "--user", "ada")

    assert (code, answer["diagnostics"][0]["code"]) == (3, "keys_elsewhere")
    assert ((lived / "memkit.yaml").read_bytes(), sorted((lived / "archive").rglob("*.jsonl"))) == before
    assert ask("memory", "add", "The printer is on floor two", "--user", "ada", "--scope", "shared")[0] == 0


def test_fsck_names_a_line_whose_seal_was_broken(lived: Path, ask: Ask) -> None:
    """By file and line, where the key is here to tell."""
    shard = next((lived / "archive").rglob("*.jsonl"))
    lines = shard.read_text().splitlines()
    number = next(place for place, line in enumerate(lines) if '"sealed"' in line)
    data = json.loads(lines[number])
    data["trust"] = "candidate"
    lines[number] = json.dumps(data, sort_keys=True, separators=(",", ":"))
    shard.write_text("\n".join(lines) + "\n")

    code, answer = ask("fsck")

    assert code == 1
    found = [(problem["code"], problem["line"]) for problem in answer["data"]["problems"]]
    assert ("sealed-damaged", number + 1) in found
    assert {line for _, line in found} == {number + 1}
    assert ask("memory", "search", "Lisbon", "--user", "ada")[1]["data"]["abstained"] is False


def test_what_a_value_was_rejected_as_is_known_under_seal(lived: Path, ask: Ask) -> None:
    """A tombstone reads the sealed text, so the value cannot come back in another spelling."""
    listed = ask("memory", "list", "--user", "ada")[1]["data"]["records"]
    moved = next(record["id"] for record in listed if "Lisbon" in record["text"])
    assert ask("memory", "reject", moved, "--user", "ada")[0] == 0

    code, answer = ask("memory", "add", "ADA moved to  Lisbon", "--user", "ada")

    assert (code, answer["data"]["reasons"][0]["code"]) == (1, "tombstone")


def test_a_session_is_sealed_on_the_disk_and_goes_on(
    sealing: Path, ask: Ask, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither turns nor prompt lie in clear, and a later process reads both."""
    said = ("chat", "--user", "ada", "--session", "s1")
    assert ask(*said, "--consent", "-p", "My cat is called Grimalkin")[0] == 0

    kept = list((state_folder(sealing) / "sessions").rglob("*.json*"))
    assert kept
    assert not any(b"Grimalkin" in path.read_bytes() for path in kept)
    assert {stat.S_IMODE(path.stat().st_mode) for path in kept} == {0o600}
    assert "Grimalkin" in ask(*said, "-p", "What is my cat called?")[1]["data"]["message"]
    assert "Grimalkin" in json.dumps(ask(*said, "-p", "/search Grimalkin")[1]["data"])

    turns = sum(path.read_bytes().count(b"\n") for path in kept if path.suffix == ".jsonl")
    without_keys(monkeypatch, tmp_path)
    ask(*said, "-p", "What is my cat called?")
    assert sum(path.read_bytes().count(b"\n") for path in kept if path.suffix == ".jsonl") >= turns


def test_turning_the_seal_on_or_off_changes_new_lines_only(store: Path, ask: Ask) -> None:
    """What lies in clear stays clear, what is sealed stays readable."""
    ask("memory", "add", "Ada drinks tea", "--user", "ada")
    ask("config", "set", "privacy.seal", "user")
    ask("memory", "add", "Ada plays chess", "--user", "ada")
    ask("config", "set", "privacy.seal", "off")
    ask("memory", "add", "Ada owns a bicycle", "--user", "ada")

    lines = next((store / "archive").rglob("*.jsonl")).read_text()

    assert [word in lines for word in ("tea", "chess", "bicycle")] == [True, False, True]
    assert len(ask("memory", "list", "--user", "ada")[1]["data"]["records"]) == 3


def test_an_export_holds_the_opened_text_and_comes_back_sealed(lived: Path, ask: Ask, tmp_path: Path) -> None:
    """What is held on a user can be read by them, wherever it lay."""
    out = tmp_path / "ada.jsonl"
    assert ask("memory", "export", "--user", "ada", "--out", str(out))[0] == 0

    assert all(word in out.read_text() for word in ("lithium", "Lisbon", "ailment"))
    assert '"sealed"' not in out.read_text()


def test_a_user_is_erased_with_their_key_and_every_sealed_line(lived: Path, ask: Ask, tmp_path: Path) -> None:
    """Nothing of them is left, sealed or not, and other keys stay."""
    KeyRing(lived).user_key("bob", create=True)

    code, answer = ask("memory", "erase", "--user", "ada", "--yes", "--out", str(tmp_path / "certificate.json"))

    assert (code, answer["diagnostics"]) == (0, [])
    assert b'"ada"' not in objects_of(lived)
    assert KeyRing(lived).user_key("ada") is None
    assert KeyRing(lived).user_key("bob") is not None


def test_a_project_without_keys_and_without_memkit_reads_on(lived: Path) -> None:
    """The travelling room alone knows the records, finds what is shared, and calls nothing damaged."""
    with ArchivalStore(lived) as archive:
        found = archive.search("Where is the office?", user_id="ada")

        assert [hit.text for hit in found.hits] == ["The office is in Oslo"]
        assert archive.sealed("ada") == 2
        assert archive.check() == []
        assert archive.consent("ada") is True
        assert [record.text for record in archive.records(user_id="ada")] == ["The office is in Oslo"]


def test_git_shows_the_text_to_whoever_has_the_key_and_keeps_no_copy_of_it(
    lived: Path, ask: Ask, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """``git diff`` reads well through the driver, and no object of git holds what it printed."""
    assert ask("git", "setup")[0] == 0
    ask("memory", "add", "Ada bought a bicycle", "--user", "ada")

    def shown() -> str:
        diff = subprocess.run(["git", "-C", str(lived), "diff"], capture_output=True, text=True, check=True)
        return diff.stdout

    with_key = shown()
    subprocess.run(["git", "-C", str(lived), "log", "-p"], capture_output=True, check=True)
    without_keys(monkeypatch, tmp_path)

    assert "Ada bought a bicycle" in with_key
    assert "bicycle" not in shown()
    assert b"lithium" not in objects_of(lived)


def test_a_dry_run_of_an_import_makes_no_key(sealing: Path, ask: Ask, tmp_path: Path) -> None:
    """Nothing changes: neither memkit.yaml nor the folder of keys."""
    file = tmp_path / "in.jsonl"
    file.write_text(json.dumps({"text": "Ada plays chess", "user_id": "ada"}) + "\n")

    assert ask("memory", "import", str(file), "--format", "memkit", "--dry-run")[0] == 0

    assert KeyRing(sealing).key_id is None
    assert sorted(path.name for path in KeyRing(sealing).home.iterdir()) == ["heads", KEY_FILE]
