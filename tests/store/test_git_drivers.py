"""``memkit git setup`` lets plain git merge shards without loss and show them as sentences, and can be taken back."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from growth import steps
from hypothesis import given
from hypothesis import strategies as st
from shards import SHARD, commit, event, git, record, write

from memkit.cli.main import run
from memkit.runtime.memory.log.check import pieces
from memkit.store.git import Git
from memkit.store.git_process import own_programs
from memkit.store.shard_merge import merge_shards, readable

A, B, C, D = record(1, "tea"), record(2, "coffee"), record(3, "cocoa"), record(4, "water")


def setup(store: Path, *options: str) -> int:
    """Run ``memkit git setup`` on a store."""
    return run(["git", "setup", *options, "--store", str(store)])


def two_branches(store: Path, base: bytes, ours: bytes, theirs: bytes) -> None:
    """Let two branches go on with one shard, and check out ``main``."""
    write(store, base)
    commit(store, "base")
    git(store, "checkout", "-q", "-b", "other")
    write(store, theirs)
    commit(store, "theirs")
    git(store, "checkout", "-q", "main")
    write(store, ours)
    commit(store, "ours")


def test_setup_says_what_it_writes_and_can_be_taken_back(store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A dry run writes nothing, a second run changes nothing, and a removal leaves every file as it was."""
    info = store / ".git" / "info" / "attributes"
    info.parent.mkdir(exist_ok=True)
    info.write_bytes(b"*.bin binary")
    git(store, "config", "merge.memkit.recursive", "text")
    before = (store / ".git/config").read_bytes(), info.read_bytes()
    capsys.readouterr()

    assert setup(store, "--dry-run", "--json") == 0
    changes = json.loads(capsys.readouterr().out)["data"]["changes"]
    assert [(one["file"], one["action"]) for one in changes] == [(".git/config", "set")] * 3 + [
        (".git/info/attributes", "add")
    ]
    assert ((store / ".git/config").read_bytes(), info.read_bytes()) == before

    assert setup(store) == 0
    after = (store / ".git/config").read_bytes(), info.read_bytes()
    assert "memkit" in git(store, "check-attr", "merge", "--", SHARD)
    assert git(store, "check-attr", "binary", "--", "x.bin").endswith("set\n")
    assert git(store, "status", "--porcelain") == ""
    capsys.readouterr()
    assert setup(store) == 0
    assert capsys.readouterr().out == "Everything is already set up.\n"
    assert ((store / ".git/config").read_bytes(), info.read_bytes()) == after

    assert setup(store, "--remove") == 0
    assert (store / ".git/config").read_bytes() == before[0]
    assert info.read_bytes().rstrip(b"\n") == before[1]
    assert "union" in git(store, "check-attr", "merge", "--", SHARD)
    capsys.readouterr()
    assert setup(store, "--remove") == 0
    assert capsys.readouterr().out == "Nothing to remove.\n"


def test_setup_leaves_no_empty_file_behind(store: Path) -> None:
    """Where there were no attributes of the clone, there are none after the removal."""
    setup(store)
    setup(store, "--remove")

    assert not (store / ".git/info/attributes").exists()


def test_the_text_is_never_cached(store: Path) -> None:
    """Git would keep what was opened of sealed lines; not even a repository that asks for it gets that from memkit."""
    git(store, "config", "diff.memkit.cachetextconv", "true")
    setup(store)
    write(store, A)
    commit(store)

    assert "cachetextconv" not in str(own_programs())
    Git(store).run("log", "-p", "--textconv")
    assert "textconv" not in git(store, "for-each-ref")


def test_setup_needs_a_repository(store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Without one the environment cannot serve."""
    (store / ".git").rename(store / "elsewhere")

    assert setup(store) == 3
    assert "not in a git repository" in capsys.readouterr().err


@pytest.mark.parametrize("folder", ["inside", 'a project [old] "x"\\y', "#notes", "ü b"])
def test_a_store_inside_a_project_is_set_up_too(folder: str, tmp_path: Path) -> None:
    """The rule names the store's own folder, whatever that is called, and nobody else's."""
    project = tmp_path / "project"
    project.mkdir()
    Git(project).init()
    store = project / folder
    assert run(["init", str(store), "--adopt"]) == 0

    assert setup(store) == 0

    assert git(store, "check-attr", "merge", "--", SHARD).endswith(": memkit\n")
    write(store, A)
    git(project, "add", "--all")
    assert "fact: tea" in git(project, "diff", "--cached", "--", f":(literal){folder}/archive")
    assert git(project, "check-attr", "merge", "--", SHARD).endswith(": unspecified\n")


@pytest.mark.parametrize("drivers", [True, False], ids=["driver", "union"])
def test_two_ends_of_one_shard_merge(drivers: bool, store: Path) -> None:
    """With the driver, and with git's own union that a new store asks for, every line of both branches is there."""
    if drivers:
        setup(store)
    two_branches(store, A, A + B + D, A + C + D + event(1, 3))

    git(store, "merge", "-q", "-m", "merge", "other")

    content = (store / SHARD).read_bytes()
    assert set(content.splitlines(True)) == {A, B, C, D, event(1, 3)}
    assert run(["fsck", "--fix", "--store", str(store)]) == 0
    if drivers:
        assert content == A + B + C + D + event(1, 3)
        assert (store / SHARD).read_bytes() == content


def test_rebase_and_cherry_pick_and_both_directions_agree(store: Path) -> None:
    """Whoever merges whom, the shard that comes out is the same."""
    setup(store)
    two_branches(store, A, A + B + D, A + C)
    main = git(store, "rev-parse", "main").strip()

    git(store, "merge", "-q", "-m", "merge", "other")
    merged = (store / SHARD).read_bytes()
    git(store, "checkout", "-q", "-b", "again", "other")
    git(store, "merge", "-q", "-m", "merge", main)
    assert (store / SHARD).read_bytes() == merged
    git(store, "checkout", "-q", "-b", "picked", main)
    git(store, "cherry-pick", "other")
    assert (store / SHARD).read_bytes() == merged
    git(store, "checkout", "-q", "-b", "rebased", "other")
    git(store, "rebase", "-q", main)
    assert (store / SHARD).read_bytes() == merged == A + B + C + D


def test_one_id_with_two_contents_is_a_conflict(store: Path) -> None:
    """Git says so and stops; the lines stand between markers, search goes on, and nothing else is lost."""
    setup(store)
    two_branches(store, A, A + B + record(9, "milk"), A + C + record(9, "cream"))

    git(store, "merge", "other", ok=False)

    assert git(store, "ls-files", "-u") != ""
    content = (store / SHARD).read_bytes()
    assert content.count(b"<<<<<<< ours\n") == content.count(b">>>>>>> theirs\n") == 1
    assert {A, B, C, record(9, "milk"), record(9, "cream")} < set(content.splitlines(True))
    assert run(["memory", "search", "tea", "--user", "ada", "--store", str(store)]) == 0
    assert run(["fsck", "--fix", "--store", str(store)]) == 1


def test_a_conflict_that_markers_were_left_of_is_readable_and_repaired(store: Path) -> None:
    """Without any driver git leaves markers; memory is found all the same, and fsck keeps both sides."""
    (store / ".gitattributes").write_text("* text=auto eol=lf\n")
    two_branches(store, A, A + B, A + C)

    git(store, "merge", "other", ok=False)

    assert b"<<<<<<< " in (store / SHARD).read_bytes()
    for word in ("tea", "coffee", "cocoa"):
        assert run(["memory", "search", word, "--user", "ada", "--store", str(store)]) == 0
    assert run(["fsck", "--fix", "--store", str(store)]) == 0
    assert (store / SHARD).read_bytes() == A + B + C


def test_a_driver_that_cannot_run_falls_back_on_gits_own_merge(store: Path) -> None:
    """Where memkit is gone or is killed, markers are left and no side is taken in silence; diffs show plain text."""
    setup(store)
    for key in ("merge.memkit.driver", "diff.memkit.textconv"):
        value = own_programs()[key]
        git(store, "config", key, value.replace(value[value.index("/") : value.index(" -P")], "/gone/python"))
    two_branches(store, A, A + B, A + C)

    assert json.loads(B)["text"] in git(store, "log", "-p")
    git(store, "merge", "other", ok=False)

    assert git(store, "ls-files", "-u") != ""
    assert {A, B, C} < set((store / SHARD).read_bytes().splitlines(True))
    assert run(["fsck", "--fix", "--store", str(store)]) == 0
    assert (store / SHARD).read_bytes() == A + B + C


def test_a_killed_driver_leaves_its_input_whole(tmp_path: Path) -> None:
    """Killed at any moment, the file that git reads the result from holds our version or the merged one."""
    ours, theirs = tmp_path / "ours", tmp_path / "theirs"
    many = [record(number) for number in range(20_000)]
    left, right = b"".join(many[::2]), b"".join(many[1::2])
    theirs.write_bytes(right)
    for delay in (0.15, 0.3, 0.5):
        ours.write_bytes(left)
        command = [sys.executable, "-m", "memkit", "git", "merge-driver", os.devnull, str(ours), str(theirs), "x"]
        process = subprocess.Popen(command, start_new_session=True)
        time.sleep(delay)
        process.send_signal(signal.SIGKILL)
        process.wait()
        assert ours.read_bytes() in (left, b"".join(many))


def test_a_large_shard_merges_in_steps_by_its_length() -> None:
    """New lines on both sides of a long shard are found without comparing each with every other one."""

    def merged(count: int) -> None:
        base = b"".join(record(number, "so much tea " * 12) for number in range(count))
        left = [record(number) for number in range(30_000, 30_000 + count // 10)]
        right = [record(number) for number in range(30_000 + count // 20, 30_000 + 3 * count // 20)]
        content = merge_shards(base + b"".join(left), base + b"".join(right)).content
        assert content == base + b"".join([*left, *right[count // 20 :]])
        assert sum(1 for _ in readable(content)) == count + 3 * count // 20

    assert steps(lambda: merged(4_000)) < 6 * steps(lambda: merged(1_000))


def test_a_diff_reads_well(store: Path) -> None:
    """Plain ``git diff`` shows who was told what, one line each, and a terminal obeys none of it."""
    setup(store)
    write(store, A)
    commit(store)
    hostile = record(5, "red \x1b[31m and\nbreak")
    sealed = json.loads(record(6))
    sealed = {key: value for key, value in sealed.items() if key != "text"} | {"sealed": "AAAA"}
    write(store, A, hostile, event(1, 1), json.dumps(sealed).encode() + b"\n", b'{"torn')

    shown = [line[1:] for line in git(store, "diff", "-U0").splitlines() if line.startswith("+") and line[1] != "+"]

    assert shown == [
        "2026-11-21T09:00:05.000000Z ada fact: red \\x1b[31m and break [01KAJ3Q0000000000000000005]",
        "2026-11-21T10:00:00.000000Z ada confirm 01KAJ3Q0000000000000000001 by person [01KAJ3R0000000000000000001]",
        "2026-11-21T09:00:06.000000Z ada fact: (sealed) [01KAJ3Q0000000000000000006]",
        '? {"torn',
    ]


def test_a_diff_opens_what_is_sealed_where_the_key_is_here(store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the user's key the sentence is there, without it that there is one; git keeps neither."""
    monkeypatch.setenv("MEMKIT_KEYS", str(store.parent / "keys"))
    (store / "memkit.yaml").write_text((store / "memkit.yaml").read_text() + "\nprivacy: {seal: user}\n")
    assert run(["memory", "add", "Ada likes tea", "--user", "ada", "--store", str(store)]) == 0
    setup(store)
    commit(store)

    assert "Ada likes tea" in git(store, "log", "-p", "--", "archive")
    monkeypatch.setenv("MEMKIT_KEYS", str(store.parent / "nowhere"))
    shown = git(store, "log", "-p", "--", "archive")
    assert "(sealed)" in shown and "tea" not in shown
    assert git(store, "for-each-ref", "refs/notes") == ""


def test_a_module_in_the_working_tree_is_not_imported(store: Path, tmp_path: Path) -> None:
    """Git runs the drivers in the working tree, where a hostile file may bear the name of a library."""
    setup(store)
    mark = tmp_path / "ran"
    for name in ("json.py", "click.py", "memkit.py"):
        (store / name).write_text(f"open({str(mark)!r}, 'w')\n")
    two_branches(store, A, A + B, A + C)

    git(store, "diff", "main", "other")
    git(store, "merge", "-q", "-m", "merge", "other")

    assert not mark.exists()
    assert (store / SHARD).read_bytes() == A + B + C


@pytest.mark.parametrize(
    "key",
    ["merge.evil.driver", "merge.memkit.driver", "diff.evil.textconv", "diff.memkit.textconv", "diff.evil.command"],
)
def test_a_merge_or_diff_of_memkits_own_runs_no_foreign_driver(key: str, store: Path, tmp_path: Path) -> None:
    """What a repository names as a driver stays silent; under memkit's own name only memkit's own program runs."""
    mark = tmp_path / "ran"
    name = key.split(".")[1]
    git(store, "config", key, f"touch {mark}; true")
    (store / ".gitattributes").write_text(f"archive/**/*.jsonl merge={name} diff={name}\n")
    two_branches(store, A, A + B, A + C)

    Git(store).run("log", "-p", "--ext-diff", "--textconv", "--all")
    Git(store).run("merge", "-m", "merge", "other", check=False)

    assert not mark.exists()
    content = (store / SHARD).read_bytes()
    assert content == A + B + C if name == "memkit" else git(store, "ls-files", "-u") != ""


numbers = st.lists(st.integers(0, 30), max_size=12, unique=True)
versions = st.tuples(numbers, numbers, numbers)


@given(versions)
def test_a_merge_is_the_union_whoever_merges(version: tuple[list[int], list[int], list[int]]) -> None:
    """Every line of both sides is there once, in one order; what both begin with stays first; no line is new."""
    base, ours, theirs = ([record(number) for number in one] for one in version)
    left, right = b"".join(dict.fromkeys(base + ours)), b"".join(dict.fromkeys(base + theirs))

    merged = merge_shards(left, right)

    assert merged.conflicts == ()
    assert merged.content == merge_shards(right, left).content
    lines = merged.content.splitlines(True)
    assert sorted(lines) == sorted(set(base + ours + theirs))
    assert lines[: len(base)] == base
    assert sorted(merge_shards(merged.content, right).content.splitlines(True)) == sorted(lines)


@given(st.binary(max_size=200), st.binary(max_size=200))
def test_a_merge_of_any_bytes_loses_nothing(left: bytes, right: bytes) -> None:
    """Neither side has to be a shard: every line that is not blank is in what comes out."""
    merged = merge_shards(left, right).content

    assert {piece.content for side in (left, right) for piece in pieces(side)} <= {
        piece.content for piece in pieces(merged)
    }
