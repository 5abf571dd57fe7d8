"""Every place in which git, SQLite or memkit keeps text alive after it was deleted."""

from __future__ import annotations

import json
import sqlite3
import subprocess
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from memkit.cli.main import run
from memkit.runtime.memory.log.clone import cache_folder, state_folder
from tests.privacy.traces import TEXT, commit, erase, git, leaking, packed, remember

Trap = Callable[[Path], None]
LINE = json.dumps({"id": "x1", "text": TEXT, "user_id": "alice", "created_at": "2026-01-01T00:00:00Z"})


def _staged(root: Path) -> None:
    """A blob that only the index names."""
    remember(root, f"{TEXT} staged", "alice")
    git(root, "add", "archive")
    commit(root)
    shard = next(root.glob("archive/*/*.jsonl"))
    shard.write_text(shard.read_text() + LINE.replace("x1", "x2") + "\n")
    git(root, "add", "archive")


def _resolve_undo(root: Path) -> None:
    """The extension of the index that remembers both sides of a merge."""
    shard = next(root.glob("archive/*/*.jsonl"))
    (root / ".git/info").mkdir(exist_ok=True)
    (root / ".git/info/attributes").write_text("*.jsonl merge=text\n")  # a store merges its shards line by line
    git(root, "commit", "-qam", "before")
    git(root, "checkout", "-qb", "side")
    shard.write_text(shard.read_text() + LINE + "\n")
    git(root, "commit", "-qam", "side")
    git(root, "checkout", "-q", "main")
    shard.write_text(shard.read_text() + LINE.replace("x1", "x3") + "\n")
    git(root, "commit", "-qam", "main")
    subprocess.run(["git", "merge", "side"], cwd=root, capture_output=True)
    git(root, "checkout", "--ours", str(shard))
    git(root, "add", "archive")
    git(root, "commit", "-qm", "merged")
    assert "quokka" in "".join(git(root, "show", id) for id in git(root, "ls-files", "--resolve-undo").split()[1::4])


def _rerere(root: Path) -> None:
    """What rerere keeps of a conflict."""
    git(root, "config", "rerere.enabled", "true")
    _resolve_undo(root)
    assert list((root / ".git/rr-cache").rglob("*image"))


def _stashed(root: Path) -> None:
    """Two entries, of which the older lives in a reflog alone."""
    for number in range(2):
        remember(root, f"{TEXT} number {number} of the stash", "alice")
        git(root, "stash")


def _unreachable(root: Path) -> None:
    """An object that nothing names."""
    git(root, "hash-object", "-w", "--stdin", given=TEXT.encode())
    git(root, "hash-object", "-w", "--stdin", given=packed(TEXT))


def _kept_pack(root: Path) -> None:
    """A pack that git is told to keep, with a reason."""
    _unreachable(root)
    objects = git(root, "cat-file", "--batch-all-objects", "--batch-check=%(objectname)")
    name = git(root, "pack-objects", ".git/objects/pack/pack", given=objects.encode() + b"\n")
    (root / f".git/objects/pack/pack-{name}.keep").write_text(TEXT)


def _amended(root: Path) -> None:
    """Commits that only the reflog knows."""
    git(root, "commit", "-qam", TEXT)
    git(root, "commit", "-q", "--amend", "-m", "harmless")


def _messages(root: Path) -> None:
    """Messages of commits, tags and notes."""
    git(root, "commit", "-q", "--allow-empty", "-m", f"Remember\n\n{TEXT}")
    git(root, "tag", "-a", "v1", "-m", TEXT)
    git(root, "tag", "-a", "v2", "v1", "-m", f"of v1: {TEXT}")
    git(root, "notes", "add", "-m", TEXT)


def _names(root: Path) -> None:
    """Names of branches, tags and files."""
    git(root, "branch", "alice/zanzibar-cupboard")
    git(root, "tag", "in-the-zanzibar-cupboard")
    (root / "outputs" / "quokka-7731.jsonl").write_text(LINE + "\n")
    git(root, "add", "outputs")
    git(root, "commit", "-qm", "export")


def _text_cache(root: Path) -> None:
    """What ``cachetextconv`` writes into objects when somebody looks at a log."""
    git(root, "config", "diff.cat.textconv", "cat")
    git(root, "config", "diff.cat.cachetextconv", "true")
    (root / ".git/info").mkdir(exist_ok=True)
    (root / ".git/info/attributes").write_text("*.jsonl diff=cat\n")
    git(root, "log", "-p")
    assert "refs/notes/textconv/cat" in git(root, "for-each-ref")


def _left_messages(root: Path) -> None:
    """Files that git writes beside the history and never reads again."""
    for name in ("ORIG_HEAD", "FETCH_HEAD", "MERGE_MSG", "SQUASH_MSG", "COMMIT_EDITMSG", "gitk.cache"):
        (root / ".git" / name).write_text(TEXT)
    (root / ".git/objects/tmp_obj_dead").write_text(TEXT)
    (root / ".git/filter-repo").mkdir()
    (root / ".git/filter-repo/commit-map").write_text(TEXT)


def _originals(root: Path) -> None:
    """Refs outside of branches and tags."""
    git(root, "update-ref", "refs/original/refs/heads/main", "HEAD")
    git(root, "update-ref", "refs/remotes/origin/main", "HEAD")
    git(root, "commit-graph", "write", "--reachable")


def _tag_of_blob(root: Path) -> None:
    """A tag that points at no commit."""
    shard = next(root.glob("archive/*/*.jsonl"))
    git(root, "tag", "shard", git(root, "hash-object", "-w", str(shard)))
    git(root, "tag", "-a", "tree", "-m", "a tree", "HEAD^{tree}")


def _torn(root: Path) -> None:
    """The beginning of a line, in a commit and set aside; nobody can tell whose it was."""
    shard = next(root.glob("archive/*/*.jsonl"))
    shard.write_bytes(shard.read_bytes() + b'{"actor":"person","text":"Alice hides her quokka in the zan')
    git(root, "commit", "-qam", "torn")
    remember(root, "Bob writes after a crash", "bob")
    assert list((state_folder(root) / "torn").iterdir())


def _conflicted(root: Path) -> None:
    """A shard that was committed with the markers of a conflict, and two lines that a merge made one."""
    shard = next(root.glob("archive/*/*.jsonl"))
    bob = next(line for line in shard.read_text().splitlines() if "green tea" in line)
    shard.write_text(f"<<<<<<< HEAD\n{LINE}\n=======\n{bob}{LINE}\n>>>>>>> side\n")
    git(root, "commit", "-qam", "conflict")


def _talked(root: Path) -> None:
    """Sessions, counts, the audit log with what was searched for, and the index with its write-ahead log."""
    for text in (f"Remember this: {TEXT}", "Where is the quokka?"):
        assert run(["chat", "--user", "alice", "--consent", "--session", "s1", "-p", text, "--store", str(root)]) == 0
    run(["memory", "search", "zanzibar cupboard quokka", "--user", "alice", "--store", str(root)])
    index = next((cache_folder(root)).rglob("*.sqlite"))
    with closing(sqlite3.connect(index)) as open_index:
        open_index.execute("CREATE TABLE IF NOT EXISTS x(y)")
        open_index.execute("INSERT INTO x VALUES(?)", (TEXT,))
        open_index.commit()


def _unknown_state(root: Path) -> None:
    """Files in the state that this version does not know."""
    folder = state_folder(root) / "checkpoints/deep"
    folder.mkdir(parents=True)
    (folder / "step.json").write_text(json.dumps({"user_id": "bob", "seen": [TEXT]}))
    (folder / "blob.bin").write_bytes(packed(TEXT))
    (cache_folder(root) / "at").mkdir(parents=True)
    (cache_folder(root) / "at/x").write_text(TEXT)


def _carried_over(root: Path) -> None:
    """Lines in another shape: escaped, with blanks, in a second archive inside of the store."""
    odd = json.dumps({"user_id": "alice", "text": TEXT, "id": "x9"}, indent=None, separators=(" , ", " : "))
    escaped = odd.replace("alice", "\\u0061lice")
    folder = root / "outputs/project/archive/2026-01"
    folder.mkdir(parents=True)
    (folder / "w.jsonl").write_text(f"{odd}\r\n{escaped}\n")
    git(root, "add", "outputs")
    git(root, "commit", "-qm", "a project")


TRAPS = [value for name, value in list(globals().items()) if name.startswith("_") and getattr(value, "__doc__", None)
         and callable(value) and name not in ("__loader__",)]  # fmt: skip


@pytest.mark.parametrize("trap", TRAPS, ids=lambda trap: trap.__name__.strip("_"))
def test_a_trap_keeps_nothing(trap: Trap, peopled: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Whatever kept the text alive, it is gone, the scan agrees, and Bob's record is still there."""
    trap(peopled)
    assert leaking(peopled)

    code, answer = erase(peopled, capsys)

    assert leaking(peopled) == []
    assert code == 0, answer["diagnostics"]
    assert git(peopled, "fsck") == ""
    run(["memory", "list", "--user", "bob", "--store", str(peopled)])
    assert "green tea" in capsys.readouterr().out


@pytest.mark.parametrize("trap", TRAPS, ids=lambda trap: trap.__name__.strip("_"))
def test_the_name_goes_as_well(trap: Trap, peopled: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The user's id is personal data: no object, file or ref holds it, outside of what others wrote."""
    trap(peopled)

    erase(peopled, capsys)

    assert [place for place in leaking(peopled, (b"alice",)) if not _is_starter(peopled, place)] == []


def _is_starter(root: Path, place: str) -> bool:
    """Return whether a place is the starter skill that has an Alice in its example."""
    skill = root / "skills/virtual-memory.yaml"
    return place in ("skills/virtual-memory.yaml", f"object {git(root, 'hash-object', str(skill))}")
