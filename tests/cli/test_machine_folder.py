"""What belongs to this machine alone is ignored by git and private, wherever a store is made, adopted or opened."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest

from memkit.cli.main import run
from memkit.runtime.memory.archive.archive import ArchivalStore
from memkit.runtime.memory.record.record import Draft, Origin


def git(folder: Path, *words: str) -> str:
    """Run plain git."""
    return subprocess.run(["git", *words], cwd=folder, check=True, capture_output=True, text=True).stdout


def told(store: Path) -> int:
    """Tell one fact."""
    return run(["memory", "add", "Ada drinks tea", "--user", "ada", "--store", str(store)])


def mode(path: Path) -> int:
    """Return who may do what with a file."""
    return path.stat().st_mode & 0o777


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (b"*.pyc\n", b"*.pyc\n/.memkit/\n"),
        (b"*.pyc", b"*.pyc\n/.memkit/\n"),
        (b"*.pyc\r\n", b"*.pyc\r\n/.memkit/\r\n"),
        (b"", b"/.memkit/\n"),
        (b"\xff\n", b"\xff\n/.memkit/\n"),
        (b".memkit/\n!.memkit\n", b".memkit/\n!.memkit\n/.memkit/\n"),
        (b".memkit\n", b".memkit\n"),
        (b"**/.memkit/\n", b"**/.memkit/\n"),
    ],
)
def test_adopting_lets_a_gitignore_ignore_the_folder(before: bytes, after: bytes, tmp_path: Path) -> None:
    """The project's own lines stay, line ends too, and the lines are committed with the store."""
    git(tmp_path, "init", "-q")
    (tmp_path / ".gitignore").write_bytes(before)
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "-q", "-m", "Mine")

    assert run(["init", str(tmp_path), "--adopt"]) == 0

    assert (tmp_path / ".gitignore").read_bytes() == after + (
        b"/outbox.jsonl\r\n" if b"\r" in before else b"/outbox.jsonl\n"
    )
    assert git(tmp_path, "status", "--porcelain") == ""


def test_adopting_commits_nothing_that_a_person_was_changing(tmp_path: Path) -> None:
    """A .gitignore that is being edited gains the lines and stays uncommitted."""
    git(tmp_path, "init", "-q")
    (tmp_path / ".gitignore").write_text("*.pyc\n")

    assert run(["init", str(tmp_path), "--adopt"]) == 0

    assert (tmp_path / ".gitignore").read_text() == "*.pyc\n/.memkit/\n/outbox.jsonl\n"
    assert git(tmp_path, "status", "--porcelain") == "?? .gitignore\n"


@pytest.mark.parametrize("ignoring", ["", "!.memkit\n!.memkit/**\n"])
def test_an_opened_store_does_not_leak_whatever_its_gitignore_says(ignoring: str, store: Path) -> None:
    """The folder ignores itself."""
    (store / ".gitignore").write_text(ignoring)

    assert told(store) == 0

    git(store, "add", "-A")
    assert ".memkit/" not in git(store, "ls-files")


def test_a_gitignore_inside_that_lets_everything_through_is_put_right(store: Path) -> None:
    """A store can bring one along."""
    assert told(store) == 0
    (store / ".memkit" / ".gitignore").write_text("!*\n")

    assert run(["memory", "list", "--user", "ada", "--store", str(store)]) == 0

    assert (store / ".memkit" / ".gitignore").read_text() == "*\n"


def test_a_folder_that_others_can_look_into_is_closed(store: Path) -> None:
    """A mode of 0755 is repaired when the store is opened."""
    (store / ".memkit").mkdir(mode=0o755)
    (store / ".memkit").chmod(0o755)

    assert run(["config", "show", "--store", str(store)]) == 0

    assert mode(store / ".memkit") == 0o700


def test_a_memory_folder_of_a_project_has_the_same(tmp_path: Path) -> None:
    """What a generated project opens is opened by the runtime alone."""
    with ArchivalStore(tmp_path) as archive:
        archive.offer(Draft("Ada drinks tea"), Origin(actor="person", user_id="ada"))

    assert mode(tmp_path / ".memkit") == 0o700
    assert (tmp_path / ".memkit" / ".gitignore").read_text() == "*\n"


@pytest.fixture
def tracked(store: Path, capsys: pytest.CaptureFixture[str]) -> Path:
    """Return a store whose history holds its machine's folder, and where something new is to be committed."""
    assert told(store) == 0
    git(store, "add", "-f", ".memkit")
    git(store, "commit", "-q", "-m", "Everything")
    assert run(["memory", "add", "Ada has a dog", "--user", "ada", "--store", str(store)]) == 0
    (store / "skills" / "hybrid-planner.yaml").open("a").write("# seen\n")
    capsys.readouterr()
    return store


@pytest.mark.parametrize(
    "words",
    [
        ["commit"], ["skill", "commit", "hybrid-planner", "--bump", "patch"],
        ["config", "set", "user", "ada"],
    ],
    ids=" ".join,
)  # fmt: skip
def test_nothing_is_committed_where_the_folder_is_tracked(
    words: list[str], tracked: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The refusal says how to clean index and history, and leaves everything as it was."""
    before = git(tracked, "rev-parse", "HEAD"), git(tracked, "status", "--porcelain", "skills", "memkit.yaml")

    assert run([*words, "--store", str(tracked)]) == 3

    said = capsys.readouterr().err
    assert "git rm -r -q --cached .memkit" in said
    assert "filter-repo" in said
    assert (git(tracked, "rev-parse", "HEAD"), git(tracked, "status", "--porcelain", "skills", "memkit.yaml")) == before


def test_a_batch_that_cannot_be_committed_is_told(tracked: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Memory is kept, and the person hears why it is in no commit."""
    words = ["chat", "--user", "ada", "-p", "I like green tea", "--consent", "--store", str(tracked)]

    assert run(words) == 0

    assert "Memory is safe but not committed: Git tracks" in capsys.readouterr().err


def test_lint_and_doctor_name_a_tracked_folder(tracked: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Both end with 1, and lint as a finding of its own rule."""
    assert run(["lint", "--output-format", "json", "--store", str(tracked)]) == 1
    assert "MKA008" in capsys.readouterr().out

    assert run(["doctor", "--store", str(tracked)]) == 1
    assert "Git tracks" in capsys.readouterr().out


def test_a_store_that_was_cleaned_is_committed_again(tracked: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What the refusal says to do is enough."""
    git(tracked, "rm", "-r", "-q", "--cached", ".memkit")
    git(tracked, "commit", "-q", "-m", "Untrack .memkit")

    assert run(["commit", "--store", str(tracked)]) == 0
    assert "MKA008" not in json.dumps(run(["lint", "--store", str(tracked)]))


def test_a_store_in_a_part_of_a_repository_is_looked_at_too(tmp_path: Path, store: Path) -> None:
    """The index names paths from the root of the repository."""
    project = tmp_path / "project"
    shutil.copytree(store, project / "store", ignore=shutil.ignore_patterns(".git"))
    git(project, "init", "-q")
    assert told(project / "store") == 0
    git(project, "add", "-f", ".")
    git(project, "commit", "-q", "-m", "Everything")

    assert run(["commit", "--store", str(project / "store")]) == 3
