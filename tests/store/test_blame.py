"""``memory blame`` names the commit of a record and of each of its events, through merges and renames."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from growth import processes, steps
from shards import SHARD, commit, event, git, record, write

from memkit.cli.main import run

A = "01KAJ3Q0000000000000000001"


def blame(store: Path, capsys: pytest.CaptureFixture[str], id: str = A, *options: str) -> list[dict[str, Any]]:
    """Return what the command says of a record."""
    capsys.readouterr()
    assert run(["memory", "blame", id, *options, "--json", "--store", str(store)]) == 0
    data = json.loads(capsys.readouterr().out)["data"]
    assert data["id"] == id
    return data["lines"]


def test_each_line_has_its_commit(store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Record, events and successor are told oldest first with place, author, time and subject; new ones have none."""
    successor = record(5, "green tea").replace(b'"source"', b'"session_id":"s1","source"')
    successor = successor.replace(b'"text"', b'"supersedes":"01KAJ3Q0000000000000000001","text"')
    write(store, record(2), record(1))
    first = commit(store, "Told \x1b[31mred")
    write(store, record(2), record(1), event(1, 1), event(2, 2))
    second = commit(store, "Confirmed")
    write(store, record(2), record(1), event(1, 1), event(2, 2), event(3, 1, "forget"))
    write(store, successor, shard="archive/2026-12/other.jsonl")

    lines = blame(store, capsys)

    assert [(one["op"], one["path"], one["line"], one["commit"], one["actor"]) for one in lines] == [
        ("add", SHARD, 2, first, "person"),
        ("supersede", "archive/2026-12/other.jsonl", 1, None, "person"),
        ("confirm", SHARD, 3, second, "person"),
        ("forget", SHARD, 5, None, "person"),
    ]
    assert lines[2]["author"] == "Ada Tester <ada@example.org>"
    assert lines[2]["subject"] == "Confirmed"
    assert lines[2]["committed_at"].endswith("Z")
    assert lines[1]["session_id"] == "s1"
    assert run(["memory", "blame", A, "--store", str(store)]) == 0
    said = capsys.readouterr().out
    assert second[:12] in said and "not committed yet" in said and "\x1b" not in said


def test_lines_are_followed_through_merge_rename_and_move(store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The commit is the one that told it, whatever carried the line on."""
    run(["git", "setup", "--store", str(store)])
    filler = [record(number) for number in range(10, 40)]
    write(store, *filler)
    commit(store)
    git(store, "checkout", "-q", "-b", "other")
    write(store, *filler, record(1))
    told = commit(store, "Told")
    git(store, "checkout", "-q", "main")
    write(store, *filler, record(3))
    commit(store)
    git(store, "merge", "-q", "-m", "Merge", "other")
    git(store, "mv", SHARD, "archive/2026-11/renamed.jsonl")
    commit(store, "Rename")
    assert blame(store, capsys)[0]["commit"] == told

    write(store, *filler[:20], shard="archive/2026-11/renamed.jsonl")
    write(store, *filler[20:], record(1), record(3), shard="archive/2026-11/second.jsonl")
    commit(store, "Split")

    (line,) = blame(store, capsys)
    assert (line["commit"], line["path"]) == (told, "archive/2026-11/second.jsonl")


def test_another_users_record_is_not_found(store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Exit 1, and not a word about it; nor do another user's events about an id show."""
    write(store, record(1), event(1, 1, user="bob"))
    commit(store)

    assert run(["memory", "blame", A, "--user", "bob", "--store", str(store)]) == 1
    assert run(["memory", "blame", "nothing", "--store", str(store)]) == 1
    capsys.readouterr()
    assert [one["op"] for one in blame(store, capsys, A, "--user", "ada")] == ["add"]


def test_without_git_nothing_is_committed(store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A store outside of a repository says where the lines stand."""
    (store / ".git").rename(store / "elsewhere")
    write(store, record(1))

    assert [(one["line"], one["commit"]) for one in blame(store, capsys)] == [(1, None)]


def test_a_full_shard_with_a_history_is_asked_about_in_one_go(store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """However many commits brought it, git is started as often; a line of the shard is read once."""
    many = [record(number, "x" * 200) for number in range(2_000)]
    commits, started, read = [], [], []
    for number in range(8):
        write(store, *many[: 250 * (number + 1)])
        commits.append(commit(store))
        if number in (0, 7):
            assert [line["commit"] for line in blame(store, capsys)] == commits[:1]
            started.append(len(processes(lambda: blame(store, capsys))))
            read.append(steps(lambda: blame(store, capsys)))

    assert started[0] == started[1] > 0
    assert read[1] < 12 * read[0]
