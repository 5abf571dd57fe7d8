"""Two changes made side by side, on two branches, merge without a conflict: nothing committed depends on all of it."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import memkit
from memkit.resources import travelling

CHECKOUT = Path(memkit.__file__).resolve().parent.parent


def git(folder: Path, *arguments: str) -> str:
    """Run git in ``folder`` as nobody in particular."""
    person = ["-c", "user.name=a", "-c", "user.email=a@example.org", "-c", "commit.gpgsign=false"]
    done = subprocess.run(["git", *person, *arguments], cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, (arguments, done.stdout, done.stderr)
    return done.stdout


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """Return a repository of the package, the templates and the examples."""
    folder = tmp_path / "tree"
    for name in ("memkit", "outputs", "tests/written"):
        shutil.copytree(CHECKOUT / name, folder / name, symlinks=True, ignore=shutil.ignore_patterns("__pycache__"))
    for name, path in travelling():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(path, folder / name)
    (folder / ".gitignore").write_text("__pycache__/\n")
    git(folder, "init", "-q", "-b", "main")
    git(folder, "add", "--all")
    git(folder, "commit", "-qm", "The tree")
    return folder


def changed(tree: Path, branch: str, path: str, change: Callable[[str], str]) -> None:
    """Change one file on a branch of its own, write the outputs anew, and commit both."""
    git(tree, "switch", "-q", "-c", branch, "main")
    file = tree / path
    file.write_text(change(file.read_text(encoding="utf-8")), encoding="utf-8")
    subprocess.run([sys.executable, "-m", "tests.written.examples"], cwd=tree, check=True)
    git(tree, "add", "--all")
    git(tree, "commit", "-qm", branch)


def appended(text: str) -> str:
    """Return a module with one line more."""
    return f"{text}\nADDED = True\n"


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("memkit/runtime/guard/core.py", "memkit/runtime/loop/core.py"),
        ("templates/react/project/agent/chat_model.py", "templates/langgraph/project/agent/tools.py"),
        ("memkit/runtime/memory/main.py", "templates/react/project/agent/chat_model.py"),
    ],
    ids=["two rooms", "two templates", "a room and a template"],
)
def test_they_merge(tree: Path, one: str, other: str) -> None:
    """With what ``make outputs`` writes on each branch."""
    changed(tree, "one", one, appended)
    changed(tree, "other", other, appended)

    git(tree, "merge", "-q", "--no-edit", "one")

    assert "ADDED = True" in (tree / one).read_text() and "ADDED = True" in (tree / other).read_text()


def test_a_room_changes_no_output(tree: Path) -> None:
    """The examples hold what their owners own, which the runtime is not."""
    changed(tree, "one", "memkit/runtime/guard/core.py", appended)

    assert git(tree, "diff", "--name-only", "main", "one").split() == ["memkit/runtime/guard/core.py"]
