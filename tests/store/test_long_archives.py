"""Archives longer than memory: what lists, exports and checks them holds no more of a long one than of a short one."""

from __future__ import annotations

import json
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from unittest.mock import patch

import pytest
from shards import record, write

from memkit.cli.main import run
from memkit.runtime.memory.archive.archive import ArchivalStore
from memkit.runtime.memory.gate import duplicates
from memkit.store.git import Git
from memkit.store.repair import find_problems

A_SHARD = 1_000


def archive(root: Path, shards: int) -> ArchivalStore:
    """Return a store of so many full shards, with its index in place."""
    for shard in range(shards):
        lines = [record(shard * A_SHARD + number) for number in range(A_SHARD)]
        write(root, *lines, shard=f"archive/2026-11/w{shard}.jsonl")
    store = ArchivalStore(root)
    store.search("fact", user_id="ada")
    return store


def peak(action: Callable[[], object]) -> int:
    """Return how many bytes of Python an action held at most."""
    action()
    tracemalloc.start()
    try:
        action()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def counted(store: ArchivalStore) -> int:
    """Let memkit say how many records there are."""
    assert store.path is not None
    (store.path / "memkit.yaml").write_text("name: long\nformat: 2\n")
    code = run(["--store", str(store.path), "index", "status"])
    assert code == 0
    return code


@pytest.mark.parametrize(
    "read",
    [
        lambda store: sum(1 for _ in store.told(user_id="ada", status="held")),
        lambda store: sum(1 for _ in store.export("ada")),
        lambda store: len(store.check()),
        lambda store: len(find_problems(store.path, store.log, Git(store.path), lambda shard, line: True).problems),
        counted,
    ],
    ids=["list", "export", "check", "fsck", "status"],
)
def test_four_times_as_many_records_take_no_more_memory(read: Callable[[ArchivalStore], int], tmp_path: Path) -> None:
    """Two shards are held at most, or a record; of every id there are a few bytes."""
    short, long = archive(tmp_path / "short", 2), archive(tmp_path / "long", 8)

    held = peak(lambda: read(short)), peak(lambda: read(long))
    short.close(), long.close()

    assert held[1] < 1.5 * held[0] + 6 * A_SHARD * 60


def test_consolidating_holds_some_numbers_of_each_record(tmp_path: Path) -> None:
    """Records are read as they are needed; what is held of one are its words as numbers, its place and its kind."""
    with patch.multiple(duplicates, PREFIXES_AT_ONCE=500, SORTED_AT_ONCE=500):
        held = []
        for name, shards in (("short", 2), ("long", 8)):
            with archive(tmp_path / name, shards) as store:
                held.append(peak(lambda: store.consolidation(user_id="ada")))  # asked at once

    assert held[1] - held[0] < 6 * A_SHARD * 150


def test_records_come_in_the_order_in_which_they_were_told(tmp_path: Path) -> None:
    """By the moment, whatever its zone, then by the id; an import brings ids that say nothing of it."""
    times = [
        "2026-03-01T10:00:00+02:00",
        "2026-03-01T09:00:00Z",
        "2026-03-01T08:00:00.5Z",
        "2026-02-01",
        "2026-03-01T09:00:00Z",
    ]
    lines = [json.loads(record(number)) | {"created_at": time} for number, time in enumerate(times)]
    write(tmp_path, *(json.dumps(line).encode() + b"\n" for line in lines))
    store = ArchivalStore(tmp_path)

    told = [record.text for record in store.told(user_id="ada", status="held")]
    store.close()

    assert told == ["fact 3", "fact 0", "fact 2", "fact 1", "fact 4"]


def test_two_lists_may_be_read_at_once(tmp_path: Path) -> None:
    """A list that is printed slowly keeps nobody else from reading one, nor from exporting."""
    store = archive(tmp_path, 1)
    first, second = store.told(user_id="ada", status="held"), store.told(user_id="ada", status="held")

    pairs = [(next(first).id, next(second).id) for _ in range(3)]
    exported = next(store.export("ada"))

    assert all(one == other for one, other in pairs)
    assert json.loads(exported)["id"] == pairs[0][0]
    first.close(), second.close()
    store.close()


@pytest.mark.parametrize("key", ['"id"', '"\\u0069d"', '"i\\u0064"', ' "id" '])
def test_an_id_in_another_spelling_is_still_the_same_id(key: str, tmp_path: Path) -> None:
    """Two lines of one id are compared, however the one of them spells the word or the id."""
    other = record(1, "another fact").decode().replace('"id"', key)
    write(tmp_path, record(1), record(2))
    write(tmp_path, other.encode(), shard="archive/2026-11/x.jsonl")

    store = ArchivalStore(tmp_path)
    found = store.check()
    store.close()

    assert [(one.code, one.path, one.line) for one in found] == [("id-conflict", "archive/2026-11/x.jsonl", 1)]


def test_an_escaped_letter_in_an_id_hides_no_conflict(tmp_path: Path) -> None:
    """What JSON reads as the same id is the same id."""
    id = json.loads(record(1))["id"]
    other = record(1, "another fact").decode().replace(id, "\\u0030" + id[1:])
    write(tmp_path, record(1), other.encode())

    store = ArchivalStore(tmp_path)
    found = [one.code for one in store.check()]
    store.close()

    assert found == ["id-conflict"]
