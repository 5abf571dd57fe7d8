"""Before anything is touched, an erasure refuses whatever would keep, lose or break something."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from memkit.cli.main import run
from tests.privacy.traces import commit, erase, git, leaking


def _worktree(root: Path) -> None:
    git(root, "worktree", "add", "-q", str(root.parent / "linked"), "-b", "linked")


def _merge(root: Path) -> None:
    git(root, "commit", "-qam", "ours")
    git(root, "checkout", "-qb", "side", "HEAD~1")
    git(root, "commit", "-q", "--allow-empty", "-m", "theirs")
    git(root, "merge", "--no-commit", "--no-ff", "-q", "main")


def _conflict_of_stash(root: Path) -> None:
    (root / "README.md").write_text("mine\n")
    git(root, "stash")
    (root / "README.md").write_text("other\n")
    git(root, "commit", "-qam", "other")
    subprocess.run(["git", "stash", "pop"], cwd=root, capture_output=True)


def _alternates(root: Path) -> None:
    git(root.parent, "clone", "-q", "--bare", str(root), "lender")
    (root / ".git/objects/info/alternates").write_text(str(root.parent / "lender/objects") + "\n")


def _shallow(root: Path) -> None:
    (root / ".git/shallow").write_text(git(root, "rev-parse", "HEAD") + "\n")


def _partial(root: Path) -> None:
    git(root, "config", "extensions.partialClone", "origin")
    git(root, "config", "core.repositoryFormatVersion", "1")


def _bisection(root: Path) -> None:
    git(root, "bisect", "start")


def _lock(root: Path) -> None:
    (root / ".git/index.lock").touch()


def _elsewhere(root: Path) -> None:
    git(root, "config", "core.worktree", str(root))


def _grafts(root: Path) -> None:
    (root / ".git/info").mkdir(exist_ok=True)
    (root / ".git/info/grafts").write_text(git(root, "rev-parse", "HEAD") + "\n")


def _lost_object(root: Path) -> None:
    id = git(root, "rev-parse", "HEAD:memkit.yaml")
    path = root / ".git/objects" / id[:2] / id[2:]
    path.chmod(0o644)
    path.write_bytes(b"")


@pytest.mark.parametrize(
    ("obstacle", "said"),
    [
        (_worktree, "git worktree"), (_merge, "A merge is in progress"), (_conflict_of_stash, "unmerged"),
        (_alternates, "alternates"), (_shallow, "shallow"), (_partial, "partial"), (_bisection, "A bisection"),
        (_lock, "index.lock"), (_elsewhere, "core.worktree"), (_grafts, "Grafts"),
        (_lost_object, "is missing from the repository. Run 'git fsck'"),
    ],
)  # fmt: skip
def test_an_obstacle_is_named_and_nothing_is_touched(
    obstacle: Callable[[Path], None], said: str, peopled: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Exit 3 with one clear line, and the store is as it was."""
    obstacle(peopled)
    before = {path: path.read_bytes() for path in peopled.rglob("*") if path.is_file()}

    code, answer = erase(peopled, capsys)

    assert code == 3
    assert said in answer["diagnostics"][0]["message"]
    after = {path: path.read_bytes() for path in peopled.rglob("*") if path.is_file()}
    assert {str(path) for path in before if after.get(path) != before[path]} == set()


def test_a_linked_worktree_itself_is_refused(peopled: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Its history lies in another place."""
    git(peopled, "worktree", "add", "-q", str(peopled.parent / "linked"), "-b", "linked")

    code, answer = erase(peopled.parent / "linked", capsys)

    assert code == 3
    assert "linked worktree" in answer["diagnostics"][0]["message"]


def test_without_git_a_repository_is_not_touched(
    peopled: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The history could not be cleaned, so the files stay as well."""
    monkeypatch.setenv("PATH", "/nonexistent")

    code, answer = erase(peopled, capsys)

    assert code == 3
    assert "no git" in answer["diagnostics"][0]["message"]


def test_a_part_of_a_larger_repository_needs_an_agreement_of_its_own(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Every commit of the larger one would change, so that is said first; with the agreement nothing is left."""
    from tests.privacy.traces import TEXT, remember

    outer = tmp_path / "project"
    (outer / "src").mkdir(parents=True)
    git(outer, "init", "-q", "-b", "main")
    (outer / "src" / "main.py").write_text("print('hello')\n")
    git(outer, "add", ".")
    git(outer, "commit", "-qm", "code")
    assert run(["init", str(outer / "memory"), "--adopt"]) == 0
    remember(outer / "memory", TEXT, "alice")
    commit(outer / "memory")

    code, answer = erase(outer / "memory", capsys)
    assert (code, "--whole-repository" in answer["diagnostics"][0]["message"]) == (3, True)
    assert leaking(outer)

    code, answer = erase(outer / "memory", capsys, "--whole-repository")
    assert (code, leaking(outer)) == (0, [])
    assert git(outer, "show", "HEAD:src/main.py") == "print('hello')"


@pytest.mark.parametrize("place", ["certificate.json", "archive/certificate.json"])
def test_a_certificate_does_not_go_into_git(place: str, peopled: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Inside of the work tree the next commit would take it in: exit 2, before anything is done."""
    code, _ = erase(peopled, capsys, "--out", str(peopled / place))

    assert code == 2
    assert leaking(peopled)


def test_a_certificate_overwrites_nothing(peopled: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """An earlier one is somebody's proof; and a folder that is not there is said."""
    (tmp_path / "old").write_text("proof")

    assert erase(peopled, capsys, "--out", str(tmp_path / "old"))[0] == 2
    assert erase(peopled, capsys, "--out", str(tmp_path / "no" / "such"))[0] == 2
    assert (tmp_path / "old").read_text() == "proof"
