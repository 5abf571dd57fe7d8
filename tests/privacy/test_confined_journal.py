"""An erasure that was cut off is finished inside of the store's own work tree, and nowhere else."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from memkit.cli.main import run
from memkit.privacy.journal import ErasureJournal, JournalRefused
from memkit.runtime.memory.log.clone import claim, state_folder


def gone(path: str) -> dict[str, Any]:
    """Return an intent to remove what lies at a path."""
    return {"above": 0, "replacements": [{"path": path, "staged": None}]}


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    """Return a folder that the store can reach by links, with what a person would miss."""
    folder = tmp_path / "outside"
    (folder / "photos").mkdir(parents=True)
    (folder / "photos" / "cat.jpg").write_bytes(b"cat")
    return folder


@pytest.mark.parametrize(
    ("intent", "why"),
    [
        ({"git_folder": "{outside}", "replacements": [{"path": "{outside}/photos", "staged": None}]}, "not a path"),
        (gone("{outside}/photos"), "not a path"),
        (gone("../outside/photos"), "not a path"),
        (gone("archive/../../outside/photos"), "not a path"),
        (gone("./memkit.yaml"), "not a path"),
        (gone(""), "not a path"),
        (gone(".git"), "not a path"),
        (gone(".GIT/config"), "not a path"),
        (gone("vendor/.git/config"), "not a path"),
        (gone("link/photos/cat.jpg"), "is below"),
        (gone("memkit.yaml/x"), "is below"),
        (gone("skills"), "is a folder"),
        ({"above": 0, "replacements": [{"path": "a", "staged": "../journal.json"}]}, "is malformed"),
        ({"above": 0, "replacements": [{"path": 7, "staged": None}]}, "is malformed"),
        ({"above": 1, "replacements": []}, "not the root"),
        ({"above": 99, "replacements": []}, "no repository"),
        ({"above": -1, "replacements": []}, "no repository"),
        ({"above": "0", "replacements": []}, "no repository"),
        ({"above": 0, "replacements": [{"path": "a"}]}, "not a valid journal"),
        ([], "not a valid journal"),
    ],
)
@pytest.mark.parametrize("command", [["memory", "list"], ["config", "show"], ["doctor"], ["fsck"]], ids=" ".join)
def test_a_journal_that_leads_out_is_set_aside(
    command: list[str], intent: Any, why: str, store: Path, outside: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Also one that lies where this clone's own do: nothing of it is done, it is told once, and it is kept."""
    (store / "link").symlink_to(outside)
    claim(store)
    before = {path: path.read_bytes() for path in store.rglob("*") if path.is_file()}
    folder = state_folder(store) / "erase"
    (folder / "files").mkdir(parents=True)
    (folder / "git").mkdir()
    (folder / "git" / "memkit-erasure").touch()
    written = json.dumps({"phase": "changing", "intent": intent}).replace("{outside}", str(outside))
    (folder / "journal.json").write_text(written)

    assert run([*command, "--store", str(store)]) in (0, 1)

    assert (outside / "photos" / "cat.jpg").read_bytes() == b"cat"
    assert {path: path.read_bytes() for path in before} == before
    said = " ".join("".join(capsys.readouterr()).split())
    assert "was not finished" in said and why in said
    (kept,) = state_folder(store).glob("refused-*")
    assert (kept / "journal.json").read_text() == written
    assert run([*command, "--store", str(store)]) in (0, 1)
    assert "was not finished" not in "".join(capsys.readouterr())


def test_a_link_that_came_in_between_is_seen(store: Path, outside: Path) -> None:
    """Each place is looked at again when its turn comes, not only before the first."""
    claim(store)
    (store / "notes").mkdir()
    (store / "notes" / "cat.jpg").write_text("a note")
    journal = ErasureJournal(store)
    with journal.preparing(None):
        journal.commit(journal.meant(None, [(store / "memkit.yaml.bak", None), (store / "notes" / "cat.jpg", None)]))
    looked = journal._place
    seen: list[str] = []

    def swapped(top: Path, replacement: Any) -> Path:
        seen.append(replacement.path)
        if len(seen) == 3:  # after both were looked at, and before the first is carried out
            shutil.rmtree(store / "notes")
            (store / "notes").symlink_to(outside / "photos")
        return looked(top, replacement)

    journal._place = swapped  # type: ignore[method-assign]
    with pytest.raises(JournalRefused, match="is below"):
        journal.change()
    assert (outside / "photos" / "cat.jpg").read_bytes() == b"cat"


def test_a_repository_above_another_is_not_the_stores(store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A journal cannot choose which repository is exchanged."""
    subprocess.run(["git", "init", "-q", str(store.parent)], check=True)
    head = (store.parent / ".git" / "HEAD").read_bytes()
    claim(store)
    folder = state_folder(store) / "erase"
    (folder / "git").mkdir(parents=True)
    (folder / "git" / "memkit-erasure").touch()
    (folder / "journal.json").write_text(json.dumps({"phase": "changing", "intent": {"above": 1}}))

    assert run(["config", "show", "--store", str(store)]) == 0
    assert "not the root of the store's repository" in capsys.readouterr().err
    assert (store.parent / ".git" / "HEAD").read_bytes() == head
