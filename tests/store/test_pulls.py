"""Memory follows git: pulls, branch switches, a deleted state folder and clocks that go backwards."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest
from shards import event, git, record, write

from memkit.cli.main import run

USER = ["--user", "ada"]


@pytest.fixture
def clones(store: Path, tmp_path: Path) -> tuple[Path, Path]:
    """Make two clones of one bare remote."""
    remote = tmp_path / "remote.git"
    subprocess.run(["git", "clone", "-q", "--bare", str(store), str(remote)], check=True)
    pair = tmp_path / "left", tmp_path / "right"
    for clone in pair:
        subprocess.run(["git", "clone", "-q", str(remote), str(clone)], check=True)
    return pair


def texts(root: Path, capsys: pytest.CaptureFixture[str]) -> set[str]:
    """Return everything that is remembered of Ada."""
    capsys.readouterr()
    assert run(["memory", "list", *USER, "--json", "--store", str(root)]) == 0
    return {one["text"] for one in json.loads(capsys.readouterr().out)["data"]["records"]}


def tell(root: Path, text: str) -> None:
    """Remember and commit a fact."""
    assert run(["memory", "add", text, *USER, "--store", str(root)]) == 0
    assert run(["commit", "--store", str(root)]) == 0


@pytest.mark.parametrize("how", ["--no-rebase", "--rebase"])
@pytest.mark.parametrize("drivers", [True, False], ids=["driver", "plain"])
def test_two_machines_pull_and_push(
    how: str, drivers: bool, clones: tuple[Path, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    """Whatever both tell, both have after a pull each, without a conflict, and nothing is wrong with the shards."""
    left, right = clones
    for root in clones if drivers else ():
        run(["git", "setup", "--store", str(root)])
    for number in range(2):
        tell(left, f"Left fact number {number} about gardens")
        tell(right, f"Right fact number {number} about trains")
        for root in (left, right, left):
            git(root, "pull", "-q", how, "--no-edit")
            git(root, "push", "-q")

    assert texts(left, capsys) == texts(right, capsys)
    assert len(texts(left, capsys)) == 4
    for root in clones:
        assert run(["fsck", "--store", str(root)]) == 0


def test_a_copy_and_its_original_merge(store: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """After ``cp -r`` both go on, and one can pull from the other without a conflict and without loss."""
    tell(store, "Ada likes tea")
    assert run(["memory", "add", "Ada has a bicycle", *USER, "--store", str(store)]) == 0
    copy = tmp_path / "copy"
    subprocess.run(["cp", "-r", str(store), str(copy)], check=True)
    tell(store, "Ada lives in Graz")
    tell(copy, "Ada works as a nurse")

    git(copy, "pull", "-q", "--no-rebase", "--no-edit", str(store), "main")

    assert texts(copy, capsys) == {"Ada likes tea", "Ada has a bicycle", "Ada lives in Graz", "Ada works as a nurse"}
    assert run(["fsck", "--store", str(copy)]) == 0


def test_a_branch_has_its_own_memory(store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """After a switch the present is that of the branch, after the merge that of both; fsck misses nothing."""
    tell(store, "Ada likes tea")
    git(store, "switch", "-q", "-c", "ideas")
    tell(store, "Ada plans a journey")
    git(store, "switch", "-q", "main")
    assert texts(store, capsys) == {"Ada likes tea"}
    assert run(["fsck", "--store", str(store)]) == 0
    tell(store, "Ada keeps bees")
    git(store, "merge", "-q", "-m", "merge", "ideas")

    shutil.rmtree(store / ".memkit")

    assert texts(store, capsys) == {"Ada likes tea", "Ada plans a journey", "Ada keeps bees"}
    assert run(["fsck", "--store", str(store)]) == 0


def test_memory_that_was_carried_to_another_branch_merges(store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What no commit had when somebody changed branches is committed there, and no file is changed on both sides."""
    tell(store, "Ada likes tea")
    assert run(["memory", "add", "Ada has a bicycle", *USER, "--store", str(store)]) == 0
    git(store, "checkout", "-q", "-b", "trial")
    tell(store, "Ada works as a nurse")
    git(store, "checkout", "-q", "main")
    tell(store, "Ada lives in Graz")

    git(store, "merge", "-q", "--no-edit", "trial")

    assert texts(store, capsys) == {"Ada likes tea", "Ada has a bicycle", "Ada works as a nurse", "Ada lives in Graz"}
    assert run(["fsck", "--store", str(store)]) == 0
    git(store, "branch", "-q", "-D", "trial")
    tell(store, "Ada sings")
    assert run(["fsck", "--heads", str(store / "archive" / "heads"), "--store", str(store)]) == 0


def test_an_erasure_takes_the_heads_of_all_branches_along(store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """On no branch, and in no commit before, does what memkit took out look as if somebody had cut it off."""
    tell(store, "Ada likes tea")
    assert run(["memory", "add", "Bob rows", "--user", "bob", "--store", str(store)]) == 0
    git(store, "checkout", "-q", "-b", "trial")
    tell(store, "Ada works as a nurse")
    git(store, "checkout", "-q", "main")
    tell(store, "Ada lives in Graz")

    assert run(["memory", "erase", "--user", "bob", "--yes", "--store", str(store)]) == 0

    assert not git(store, "status", "--porcelain")
    for place in ("trial", "main", "main~1"):
        git(store, "checkout", "-q", place)
        assert run(["fsck", "--store", str(store)]) == 0, place


def test_a_clock_that_went_backwards_turns_no_order_round(store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Within one shard the later line is the later word, whatever its time says, also after a merge and a repair."""
    run(["git", "setup", "--store", str(store)])
    early = event(9, 1, "restore").replace(b"2026-11-21T10", b"2026-11-20T10")
    lines = [record(1, "tea"), event(5, 1, "forget"), early]
    write(store, *lines[:1])
    git(store, "add", "-A")
    git(store, "commit", "-qm", "base")
    git(store, "switch", "-q", "-c", "other")
    write(store, *lines)
    git(store, "commit", "-qam", "forgotten and restored")
    git(store, "switch", "-q", "main")
    write(store, lines[0], record(2, "coffee"), lines[0])
    git(store, "commit", "-qam", "more, and a line twice")
    git(store, "merge", "-q", "-m", "merge", "other")

    assert run(["fsck", "--fix", "--store", str(store)]) == 0

    assert texts(store, capsys) == {"tea", "coffee"}
