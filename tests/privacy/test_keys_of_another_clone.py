"""A store that names keys of another one opens nothing with them, adds nothing to them and destroys none of them."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from memkit.cli.main import run
from memkit.privacy import sealer
from memkit.privacy.keys import KeyRing
from memkit.privacy.sealer import encrypted
from memkit.runtime.memory.log.clone import keys_home
from tests.privacy.conftest import Ask

At = Callable[..., tuple[int, Any]]


@pytest.fixture
def own(sealing: Path, ask: Ask) -> Path:
    """Return a person's own store, in which something sealed is known of Ada."""
    assert ask("memory", "add", "Ada takes lithium", "--user", "ada")[0] == 0
    assert ask("commit")[0] == 0
    return sealing


@pytest.fixture
def foreign(own: Path, tmp_path: Path) -> Path:
    """Return a store of somebody else that names the same keys and carries the same sealed lines."""
    place = tmp_path / "foreign"
    subprocess.run(["git", "clone", "--quiet", str(own), str(place)], check=True)
    return place


@pytest.fixture
def at(capsys: pytest.CaptureFixture[str]) -> At:
    """Return what runs a command on a store and gives its exit code and envelope."""

    def asked(store: Path, *words: str) -> tuple[int, Any]:
        import json

        capsys.readouterr()
        code = run([*words, "--json", "--store", str(store)])
        return code, json.loads(capsys.readouterr().out)

    return asked


def texts(at: At, store: Path) -> list[str]:
    """Return what a store shows of Ada."""
    return [record["text"] for record in at(store, "memory", "list", "--user", "ada")[1]["data"]["records"]]


def key_files(store: Path) -> dict[str, bytes]:
    """Return the keys that the store names, as they lie on the disk."""
    folder = KeyRing(store).folder
    assert folder is not None
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_a_foreign_store_reads_nothing_with_keys_that_it_names(
    own: Path, foreign: Path, at: At, capsys: pytest.CaptureFixture[str]
) -> None:
    """Neither lists, searches, exports nor git's differences show it, and it is said why."""
    found = at(foreign, "memory", "search", "What does Ada take?", "--user", "ada")[1]
    assert run(["memory", "export", "--user", "ada", "--store", str(foreign)]) == 0
    exported = capsys.readouterr().out
    doctor = {check["name"]: check for check in at(foreign, "doctor")[1]["data"]["checks"]}

    assert texts(at, foreign) == ["[sealed]"]
    assert texts(at, own) == ["Ada takes lithium"]
    assert found["data"]["results"] == []
    assert "another clone" in found["diagnostics"][0]["message"]
    assert "memkit trust" in found["diagnostics"][0]["message"]
    assert '"sealed"' in exported
    assert "lithium" not in exported
    assert "memkit trust" in doctor["keys"]["detail"]
    assert "memkit trust" in doctor["sealed text"]["detail"]
    assert at(foreign, "key", "list")[1]["data"]["withheld"] is True


@pytest.mark.parametrize(
    "words",
    [
        ("memory", "erase", "--user", "ada", "--yes"),
        ("key", "destroy", "--user", "ada", "--yes"),
        ("key", "export", "{out}"),
        ("memory", "add", "Ada has a cat", "--user", "ada"),
        ("memory", "add", "Eve has a cat", "--user", "eve"),
    ],
    ids=" ".join,
)
def test_a_foreign_store_changes_and_takes_no_key(
    own: Path, foreign: Path, at: At, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...]
) -> None:
    """Refused in one line before anything is changed; the real store opens what is its own."""
    monkeypatch.setenv("MEMKIT_PASSPHRASE", "correct horse battery staple")
    before, head = key_files(own), (foreign / ".git/refs/heads/main").read_text()

    code, answer = at(foreign, *(word.format(out=tmp_path / "taken") for word in words))

    assert (code, answer["diagnostics"][0]["code"]) == (3, "not_trusted")
    assert "memkit trust" in answer["diagnostics"][0]["message"]
    assert key_files(own) == before
    assert (foreign / ".git/refs/heads/main").read_text() == head
    assert not (tmp_path / "taken").exists()
    assert texts(at, own) == ["Ada takes lithium"]


def test_one_word_of_a_person_lets_a_second_clone_use_the_keys(own: Path, foreign: Path, at: At) -> None:
    """The question names them; afterwards it is a clone like the first, and taking the word back closes it again."""
    code, shown = at(foreign, "trust", "--show")
    assert (code, [each["kind"] for each in shown["data"]["allows"]]) == (1, ["key"])
    assert str(KeyRing(own).key_id) in shown["data"]["allows"][0]["what"]

    assert at(foreign, "trust", "--yes")[0] == 0

    assert texts(at, foreign) == ["Ada takes lithium"]
    assert at(foreign, "trust", "--show")[0] == 0
    assert at(foreign, "memory", "add", "Ada has a cat", "--user", "ada")[0] == 0
    assert at(foreign, "trust", "--revoke")[0] == 0
    assert set(texts(at, foreign)) == {"[sealed]"}
    assert texts(at, own) == ["Ada takes lithium"]


def test_the_digest_opens_for_one_run_and_keeps_nothing(foreign: Path, at: At, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where nobody can be asked, whoever looked names what it would allow; another digest opens nothing."""
    digest = at(foreign, "trust", "--show")[1]["data"]["digest"]

    monkeypatch.setenv("MEMKIT_TRUST", "0" * 64)
    assert texts(at, foreign) == ["[sealed]"]
    monkeypatch.setenv("MEMKIT_TRUST", digest)
    assert texts(at, foreign) == ["Ada takes lithium"]
    monkeypatch.delenv("MEMKIT_TRUST")
    assert texts(at, foreign) == ["[sealed]"]


def test_a_store_that_moved_opens_its_text_and_a_copy_of_it_does_not(own: Path, at: At, tmp_path: Path) -> None:
    """With ``.memkit`` and all: what a copy carries along is no word of a person about the copy."""
    copy, moved = tmp_path / "copy", tmp_path / "moved"
    shutil.copytree(own, copy, symlinks=True)
    own.rename(moved)

    assert texts(at, moved) == ["Ada takes lithium"]
    assert texts(at, copy) == ["[sealed]"]


def test_a_store_at_the_place_of_another_has_not_its_keys(own: Path, foreign: Path, at: At) -> None:
    """Whoever puts a foreign store where their own was trusts it no more than at any other place."""
    shutil.rmtree(own)
    foreign.rename(own)

    assert texts(at, own) == ["[sealed]"]


def test_a_store_of_before_needs_one_word(own: Path, at: At) -> None:
    """Keys of which no clone is known could be anybody's; text stays sealed and the way is told."""
    for file in (own / ".memkit/state").glob("*/keys"):
        file.unlink()

    assert texts(at, own) == ["[sealed]"]
    assert at(own, "trust", "--yes")[0] == 0
    assert texts(at, own) == ["Ada takes lithium"]


def test_adopting_sessions_takes_no_word_about_keys_along(foreign: Path, at: At) -> None:
    """What somebody else put into their state says nothing about this clone."""
    assert texts(at, foreign) == ["[sealed]"]
    planted = foreign / ".memkit/state" / os.urandom(16).hex()
    (planted / "sessions").mkdir(parents=True)
    (planted / "keys").write_text(f"{KeyRing(foreign).key_id}\n")
    (planted / "sessions/one.json").write_text("{}")

    assert at(foreign, "sessions", "adopt", planted.name, "--yes")[0] == 0

    assert texts(at, foreign) == ["[sealed]"]


def test_importing_the_keys_lets_the_clone_use_them_and_a_made_up_file_does_not(
    own: Path, foreign: Path, at: At, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who brings the store's own key has had it; a file that only names it shows nothing."""
    monkeypatch.setattr(sealer, "COST", {"n": 2**12, "r": 8, "p": 1})
    monkeypatch.setenv("MEMKIT_PASSPHRASE", "correct horse battery staple")
    key_id, before = KeyRing(own).key_id, key_files(own)
    assert key_id is not None
    made_up = tmp_path / "made-up"
    for keys, expected in (({"store": b"x" * 32}, 1), ({"a" * 64: b"x" * 32}, 3)):
        made_up.write_bytes(encrypted(key_id, keys, "correct horse battery staple"))
        assert at(foreign, "key", "import", str(made_up))[0] == expected
    assert (key_files(own), texts(at, foreign)) == (before, ["[sealed]"])
    assert at(own, "key", "export", str(tmp_path / "keys"))[0] == 0

    assert at(foreign, "key", "import", str(tmp_path / "keys"))[0] == 0

    assert texts(at, foreign) == ["Ada takes lithium"]


def test_naming_other_keys_in_a_trusted_store_opens_nothing_with_them(own: Path, at: At, tmp_path: Path) -> None:
    """A pull that changes the name is asked about: the word was for the keys of before."""
    other = tmp_path / "other"
    assert run(["init", str(other)]) == 0
    assert at(other, "config", "set", "privacy.seal", "user")[0] == 0
    assert at(other, "memory", "add", "Bob plays the oboe", "--user", "bob")[0] == 0
    theirs, mine = str(KeyRing(other).key_id), str(KeyRing(own).key_id)
    manifest = other / "memkit.yaml"
    manifest.write_text(manifest.read_text().replace(theirs, mine))

    assert at(other, "memory", "add", "Bob has a cat", "--user", "bob")[0] == 3
    assert sorted(path.name for path in (keys_home() / mine).iterdir()) == sorted(key_files(own))
