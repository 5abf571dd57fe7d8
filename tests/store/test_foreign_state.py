"""What others left under ``.memkit`` is never believed, however it came there, and nothing outside is touched."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from memkit.cli.main import run
from memkit.runtime.loop.interface import Completion, ToolCall
from memkit.runtime.loop.journal import SessionJournal
from memkit.runtime.loop.journal_file import JournalFile
from memkit.runtime.memory.log import clone
from memkit.runtime.memory.log.clone import KEY_FILE, cache_folder, claim, foreign_states, keys_home, state_folder
from memkit.runtime.memory.tiers.sessions import session_digest

FOREIGN = "quokka"
"""Stands in everything that the stranger wrote."""
SAID = "My quokka is called Grimalkin"
OPENING = [
    ["memory", "list", "--user", "ada"],
    ["memory", "search", "what is my quokka called", "--user", "ada"],
    ["memory", "stats"],
    ["config", "show"],
    ["doctor"],
    ["fsck"],
    ["lint"],
    ["audit"],
    ["skill", "stats"],
    ["sessions", "list", "--user", "ada"],
    ["sessions", "search", "quokka", "--user", "ada"],
    ["chat", "--user", "ada", "-c", "-p", "hi", "--provider", "reference"],
    ["chat", "--user", "ada", "--session", "monday", "-p", "What is my pet called?", "--provider", "reference"],
]


def git(root: Path, *words: str) -> None:
    """Run git as its user would."""
    subprocess.run(["git", "-C", str(root), *words], check=True, capture_output=True)


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Return the store in which a stranger lived, once it is made."""
    return {}


@pytest.fixture
def stranger(
    store: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch, written: dict[str, Path]
) -> Path:
    """Return what a stranger's memkit kept: a talk, an open turn with a call, an index of what no archive holds."""
    if not written:
        made = tmp_path_factory.mktemp("stranger")
        lived = Path(shutil.copytree(store, made / "store", symlinks=True))
        with monkeypatch.context() as elsewhere:
            elsewhere.setenv("HOME", str(made / "home"))
            at = ["--user", "ada", "--store", str(lived)]
            assert run(["chat", "--session", "monday", "--consent", "-p", SAID, *at]) == 0
            assert run(["memory", "search", "quokka", *at]) == 0
            with_open_turn(state_folder(lived))
            shutil.copytree(state_folder(lived), made / "state")
            shutil.copytree(cache_folder(lived), made / "cache")
        written["made"] = made
    return written["made"]


def with_open_turn(state: Path) -> None:
    """Leave a turn open in which a memory is being written."""
    file = JournalFile(state / "checkpoints" / f"{session_digest('ada', 'monday')}.jsonl")
    journal = SessionJournal(
        file, session="monday", is_kept=lambda: True, save=lambda: True, clock=lambda: datetime.now(UTC),
        new_moment=lambda: time.time_ns() // 1_000_000, stamp={"user_id": "ada", "session_id": "monday"},
    )  # fmt: skip
    journal.opened(2, "Remember that my quokka is ill", by_user=True)
    call = ToolCall("call-2-1", "archival_memory_insert", {"content": "The quokka is ill"})
    journal.answered(Completion("", (call,)))
    file.close()


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    """Return a folder outside of the store with what a person would miss."""
    folder = tmp_path / "outside"
    (folder / "photos").mkdir(parents=True)
    (folder / ".bashrc").write_text("alias ll='ls -l'\n")
    (folder / "photos" / "cat.jpg").write_bytes(b"cat")
    return folder


def seen(folder: Path) -> dict[str, bytes]:
    """Return every file below a folder."""
    return {str(path): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def erasures(outside: Path) -> Iterator[tuple[str, dict[str, object]]]:
    """Yield journals of erasures that would reach out of the store, or into its history."""
    removed = {"path": str(outside / "photos"), "staged": None}
    replaced = {"path": str(outside / ".bashrc"), "staged": "0"}
    up = {"path": "../outside/.bashrc", "staged": "0"}
    for phase in ("building", "changing", "unproven"):
        yield (
            f"{phase} absolute",
            {"phase": phase, "intent": {"git_folder": str(outside), "replacements": [removed, replaced]}},
        )
        yield f"{phase} relative", {"phase": phase, "intent": {"above": 0, "replacements": [up], "owed": {}}}
        yield f"{phase} inside", {
            "phase": phase, "intent": {"above": 0, "replacements": [{"path": "memkit.yaml", "staged": "0"}]}
        }  # fmt: skip
    yield "no journal", {"phase": "changing", "intent": [1]}
    yield "another phase", {"phase": "quokka"}


def plant(stranger: Path, machine: Path, journal: dict[str, object]) -> None:
    """Put a stranger's state and cache where a memkit might look for its own."""
    for place in (machine / "state", machine / "state" / "0123456789abcdef0123456789abcdef"):
        # Where the link for people already lies, a copy would go through it: the audit log is the one exception.
        through = shutil.ignore_patterns("audit") if (place / "audit").is_symlink() else None
        shutil.copytree(stranger / "state", place, dirs_exist_ok=True, ignore=through)
        (place / "erase" / "files").mkdir(parents=True, exist_ok=True)
        (place / "erase" / "files" / "0").write_text("touch owned-by-the-quokka\n")
        (place / "erase" / "journal.json").write_text(json.dumps(journal))
        (place / "plans" / "run-1").mkdir(parents=True, exist_ok=True)
        (place / "plans" / "run-1" / "run.json").write_text(json.dumps({"run": "run-1", "at": "quokka"}))
        (place / "skills").mkdir(exist_ok=True)
        begun = {"event": "begin", "run": "r", "at": "2026", "version": "1", "digest": "d", "session_id": "quokka"}
        (place / "skills" / "quokka.jsonl").write_text(json.dumps({**begun, "user_id": "ada", "first": 1}) + "\n")
    (machine / ".gitignore").write_text("!*\n")
    for place in (machine / "cache", machine / "cache" / "0123456789abcdef0123456789abcdef"):
        shutil.copytree(stranger / "cache", place, dirs_exist_ok=True)


def agreed(store: Path) -> None:
    """Let Ada agree to being remembered, without which nothing of hers is gone on with."""
    assert run(["consent", "grant", "--user", "ada", "--store", str(store)]) == 0
    shutil.rmtree(store / ".memkit")


def arrived(how: str, store: Path, tmp_path: Path, planted: Callable[[Path], None]) -> Path:
    """Return a store here that a stranger had a hand in."""
    if how == "unpacked":
        planted(store / ".memkit")
        return store
    if how == "used here":
        assert run(["memory", "add", "Ada likes tea", "--user", "ada", "--store", str(store)]) == 0
        planted(store / ".memkit")
        return store
    upstream = Path(shutil.copytree(store, tmp_path / "upstream", symlinks=True))
    if how == "pulled":
        git(tmp_path, "clone", "-q", str(upstream), str(tmp_path / "here"))
        here = ["--store", str(tmp_path / "here")]
        assert run(["memory", "add", "Ada likes tea", "--user", "ada", *here]) == 0
    planted(upstream / ".memkit")
    git(upstream, "add", "-f", ".memkit")
    git(upstream, "commit", "-qm", "A gift")
    if how == "cloned":
        git(tmp_path, "clone", "-q", str(upstream), str(tmp_path / "here"))
    else:
        git(tmp_path / "here", "pull", "-q", "--no-rebase", "--no-edit")
    return tmp_path / "here"


@pytest.mark.parametrize("how", ["cloned", "pulled", "unpacked", "used here"])
def test_nothing_foreign_is_carried_out_or_served(
    how: str, store: Path, stranger: Path, outside: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """By no command that opens a store: no file outside changes, no text of the stranger's is shown, and it is told."""
    agreed(store)
    manifest = (store / "memkit.yaml").read_bytes()
    for number, (name, journal) in enumerate(erasures(outside)):
        (place := tmp_path / str(number)).mkdir()
        own = Path(shutil.copytree(store, place / "store", symlinks=True))
        here = arrived(how, own, place, lambda machine, journal=journal: plant(stranger, machine, journal))
        before, said = seen(outside), ""
        for words in OPENING if number == 0 else OPENING[:1]:
            capsys.readouterr()
            assert run([*words, "--store", str(here)]) in (0, 1), (name, words)
            printed = capsys.readouterr()
            said += printed.err
            assert FOREIGN not in printed.out.replace("my quokka called", ""), (name, words)
            assert "Grimalkin" not in printed.out, (name, words)
        assert seen(outside) == before, name
        assert (here / ".memkit").stat().st_mode & 0o077 == 0, name
        assert (here / ".memkit" / ".gitignore").read_text() == "*\n", name
        assert (here / "memkit.yaml").read_bytes() == manifest, name
        assert said.count("memkit sessions adopt") == (1 if how in ("pulled", "used here") else 2), said


def test_what_this_clone_wrote_itself_is_gone_on_with(
    store: Path, stranger: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The same files in the clone's own folder are served, so that the test above could fail."""
    agreed(store)
    assert claim(store) == []
    shutil.copytree(stranger / "state", state_folder(store), dirs_exist_ok=True)
    capsys.readouterr()

    assert run(["sessions", "search", "quokka", "--user", "ada", "--store", str(store)]) == 0
    assert "Grimalkin" in capsys.readouterr().out
    assert run(["chat", "--user", "ada", "--session", "monday", "-p", "hi", "--store", str(store), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["data"]["resumed"]


@pytest.mark.parametrize("part", ["", "state", "cache", "lock", "state/audit", ".gitignore"])
def test_links_are_not_followed_out(part: str, store: Path, outside: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Whatever lies there as a link is not written through: what would write says so, and reading is not killed."""
    place = store / ".memkit" / part if part else store / ".memkit"
    place.parent.mkdir(parents=True, exist_ok=True)
    target = outside / ".bashrc" if part in ("lock", ".gitignore") else outside / "photos"
    place.symlink_to(target)
    before = seen(outside)

    for words in OPENING:
        assert run([*words, "--store", str(store)]) in (0, 1, 3), words
    code = run(["memory", "add", "Ada likes tea", "--user", "ada", "--store", str(store)])

    assert seen(outside) == before
    said = capsys.readouterr().err
    assert code == 3
    assert "through a link" in said and "Traceback" not in said


def talked(store: Path) -> None:
    """Say something in a session."""
    words = ["chat", "--user", "ada", "--session", "monday", "--consent", "-p", SAID, "--store", str(store)]
    assert run(words) == 0


def found(store: Path, capsys: pytest.CaptureFixture[str]) -> tuple[bool, str]:
    """Return whether what was said is found, and what was told."""
    capsys.readouterr()
    run(["sessions", "search", "quokka", "--user", "ada", "--store", str(store)])
    printed = capsys.readouterr()
    return "Grimalkin" in printed.out, printed.err


def test_a_moved_store_goes_on(store: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A new path is no other clone, as often as it moves."""
    talked(store)
    for number in range(3):
        store = store.rename(tmp_path / f"moved {number}")
        assert found(store, capsys) == (True, "")


@pytest.mark.parametrize("follow", [False, True], ids=["with links", "links followed"])
def test_a_backup_at_its_old_path_goes_on(
    follow: bool, store: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Its inodes are new, its path is not."""
    talked(store)
    shutil.copytree(store, tmp_path / "backup", symlinks=not follow)
    shutil.rmtree(store)
    shutil.copytree(tmp_path / "backup", store, symlinks=not follow)

    assert found(store, capsys)[0]
    assert found(store, capsys) == (True, "")


def test_a_copy_begins_anew_and_may_take_over(store: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Both live on apart; by a person's word the copy goes on with the sessions, and the original still has them."""
    talked(store)
    copy = tmp_path / "copy"
    subprocess.run(["cp", "-r", str(store), str(copy)], check=True)

    known, told = found(copy, capsys)
    assert not known and "memkit sessions adopt" in told
    assert run(["sessions", "adopt", "--store", str(copy)]) == 2  # nobody to be asked
    assert run(["sessions", "adopt", "--yes", "--store", str(copy)]) == 0
    assert found(copy, capsys)[0] and found(store, capsys) == (True, "")
    assert run(["chat", "--user", "ada", "--session", "monday", "-p", "hi", "--store", str(copy)]) == 0


def test_state_of_before_the_key_is_kept_until_a_person_decides(
    store: Path, stranger: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """An erasure, an update and an open turn are never taken over, and what is here already stays."""
    talked(store)
    plant(stranger, store / ".memkit", {"phase": "changing", "intent": {"above": 0, "replacements": []}})
    shutil.rmtree(store / ".memkit/state/0123456789abcdef0123456789abcdef")
    capsys.readouterr()

    assert run(["config", "show", "--store", str(store)]) == 0
    assert "was not written by this clone" in capsys.readouterr().err
    assert run(["sessions", "adopt", "--yes", "--store", str(store)]) == 0

    own = state_folder(store)
    assert (own / "plans" / "run-1").is_dir()
    assert not (own / "erase").exists() and not list((own / "checkpoints").glob("*quokka*"))
    (left,) = foreign_states(store)
    assert (left / "erase" / "journal.json").is_file() and list((left / "checkpoints").iterdir())


def test_a_link_in_what_is_taken_over_is_refused(
    store: Path, outside: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """What would be written through it lies elsewhere; nothing is moved."""
    sessions = store / ".memkit" / "state" / "sessions"
    sessions.mkdir(parents=True)
    (sessions / "x.json").symlink_to(outside / ".bashrc")

    assert run(["sessions", "adopt", "--yes", "--store", str(store)]) == 2
    assert "is not a file" in capsys.readouterr().err
    assert not (state_folder(store) / "sessions").exists()


def test_many_gifts_fill_no_disk(store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """So many are set aside; what comes then is told and stays where it lies, unread."""
    assert run(["config", "show", "--store", str(store)]) == 0
    for number in range(clone.MOST + 2):
        (store / ".memkit/state/sessions").mkdir(exist_ok=True)
        (store / f".memkit/state/sessions/{number}.json").write_text("{}")
        assert run(["config", "show", "--store", str(store)]) == 0

    assert len(foreign_states(store)) == clone.MOST
    assert "too many" in capsys.readouterr().err
    assert (store / ".memkit/state/sessions").is_dir()


@pytest.mark.parametrize("how", ["lost", "damaged", "no place", "inside"])
def test_without_the_key_everything_works_but_going_on(
    how: str, store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """It is said, nothing is lost, and with the key back the sessions are back."""
    talked(store)
    key = keys_home() / KEY_FILE
    saved = key.read_bytes()
    if how == "lost":
        key.unlink()
    elif how == "damaged":
        key.write_bytes(b"short")
    else:
        (tmp_path / "file").write_text("")
        monkeypatch.setenv("MEMKIT_KEYS", str(store / "keys" if how == "inside" else tmp_path / "file" / "keys"))

    known, told = found(store, capsys)
    assert not known and ("adopt" if how == "lost" else "This machine's state") in told
    assert run(["memory", "add", "Ada likes tea", "--user", "ada", "--store", str(store)]) == 0
    assert run(["chat", "--user", "ada", "-p", "hi", "--store", str(store)]) == 0
    assert run(["doctor", "--store", str(store)]) in (0, 1)

    monkeypatch.delenv("MEMKIT_KEYS", raising=False)
    key.write_bytes(saved)
    assert found(store, capsys)[0]


def test_many_processes_open_a_new_store_at_once(store: Path) -> None:
    """They agree on one key and one folder."""
    words = [sys.executable, "-m", "memkit", "--store", str(store), "config", "show"]
    running = [subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) for _ in range(6)]

    assert [(process.communicate()[1], process.returncode) for process in running] == [(b"", 0)] * 6
    assert foreign_states(store) == [] and state_folder(store).is_dir()
    assert [path.name for path in keys_home().iterdir()] == [KEY_FILE]
    assert (keys_home() / KEY_FILE).stat().st_mode & 0o777 == 0o600
    assert keys_home().stat().st_mode & 0o777 == 0o700


def test_opening_a_known_clone_writes_nothing(store: Path) -> None:
    """The second opening reads one key and looks at a handful of names."""
    claim(store)
    before = {path: os.lstat(path).st_mtime_ns for path in (store / ".memkit").rglob("*")}

    assert claim(store) == []
    assert {path: os.lstat(path).st_mtime_ns for path in (store / ".memkit").rglob("*")} == before


def test_nothing_of_it_is_committed(store: Path) -> None:
    """Also where no ``.gitignore`` of the store names the folder, such as in an adopted project."""
    (store / ".gitignore").unlink()
    talked(store)

    git(store, "add", "-A")

    staged = subprocess.run(["git", "-C", str(store), "ls-files"], capture_output=True, text=True, check=True).stdout
    assert ".memkit/" not in staged
