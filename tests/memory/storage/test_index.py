"""The index follows the shards, whoever wrote them, and can always be made anew."""

import gc
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from unittest.mock import patch

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from open_gate import OpenGate, OpenStore, found, note, person

from memkit.runtime.memory.archive.archive import ArchivalStore
from memkit.runtime.memory.index import catalogue as catalogue_file
from memkit.runtime.memory.index import corpus as corpus_index
from memkit.runtime.memory.index import index as whole_index
from memkit.runtime.memory.index import words as word_index
from memkit.runtime.memory.index.catalogue import OPEN_AT_ONCE, copy_database
from memkit.runtime.memory.index.corpus import CorpusIndex
from memkit.runtime.memory.interface import ArchiveView, Judgement
from memkit.runtime.memory.log.clone import cache_folder
from memkit.runtime.memory.log.shards import ShardBatch, ShardLog
from memkit.runtime.memory.record.events import Event
from memkit.runtime.memory.record.lines import encode_line, new_id
from memkit.runtime.memory.record.record import Draft, Origin


def line(id: str, text: str, user_id: str = "ada", **more: object) -> str:
    """Return a record's line as another clone would have written it."""
    data = {"id": id, "text": text, "user_id": user_id, "created_at": "2026-01-01T00:00:00.000000Z", **more}
    return encode_line(data).decode()


def pull(root: Path, *lines: str, shard: str = "2026-01/other.jsonl") -> Path:
    """Append lines to another writer's shard, as a pull does, and return its path."""
    path = root / "archive" / shard
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a", encoding="utf-8") as file:
        file.write("".join(lines))
    return path


READER = """
import sys
from memkit.runtime.memory.archive.archive import ArchivalStore
archive = ArchivalStore(sys.argv[1])
archive.search("espresso", user_id="ada")
archive.close()
"""


def test_what_all_of_many_users_said_is_listed_as_it_was_told(tmp_path: Path, open_store: OpenStore) -> None:
    """However many they are: more files of users than are open at a time, one of them begun by what came last."""
    users = [f"user {number}" for number in range(3 * OPEN_AT_ONCE)]
    told = [(user, f"2026-01-{day:02}T00:00:00.000000Z") for day in (2, 1) for user in users]
    pull(tmp_path, *(line(new_id(), "tea", user, created_at=at) for user, at in told))
    store = open_store()

    listed = list(store.told(user_id=None, status="held"))

    assert [record.created_at[:10] for record in listed] == ["2026-01-01"] * len(users) + ["2026-01-02"] * len(users)
    assert sorted(record.user_id for record in listed) == sorted(2 * users)
    assert sorted(listed, key=lambda record: record.id) == store.records(user_id=None)


def test_a_copy_of_the_index_takes_no_lock_from_who_writes_on(tmp_path: Path, open_store: OpenStore) -> None:
    """Another process that opens the index and closes it leaves its log of writes to those who still have it open."""
    store = open_store()
    note(store, "espresso in the morning")
    copy_database(cache_folder(tmp_path) / "catalogue.sqlite", tmp_path / "copy.sqlite")

    subprocess.run([sys.executable, "-c", READER, str(tmp_path)], check=True)

    assert (cache_folder(tmp_path) / "catalogue.sqlite-wal").exists()
    note(store, "tea at night")
    assert found(store, "tea") == ["tea at night"]


def test_a_deleted_index_comes_back(tmp_path: Path, open_store: OpenStore) -> None:
    """Removing the cache loses nothing, also while a store is open."""
    store = open_store()
    note(store, "espresso in the morning")

    shutil.rmtree(cache_folder(tmp_path))

    assert found(store, "espresso") == ["espresso in the morning"]
    note(store, "tea in the evening")
    assert found(open_store(), "tea") == ["tea in the evening"]


@pytest.mark.parametrize("name", ["catalogue.sqlite", "users"])
def test_an_index_that_is_rubbish_is_replaced(tmp_path: Path, open_store: OpenStore, name: str) -> None:
    """A file that is no database is thrown away and made anew."""
    first = open_store()
    note(first, "espresso in the morning")
    first.close()
    place = cache_folder(tmp_path) / name
    for path in place.iterdir() if place.is_dir() else [place]:
        path.write_bytes(b"rubbish " * 2000)

    assert found(open_store(), "espresso") == ["espresso in the morning"]


def test_pulled_lines_are_found(tmp_path: Path, open_store: OpenStore) -> None:
    """Lines that git brought in other writers' shards, new or grown, are taken in by an open store."""
    store = open_store()
    note(store, "espresso in the morning")

    pull(tmp_path, line("A", "tea at noon"))
    assert found(store, "tea") == ["tea at noon"]

    pull(tmp_path, line("B", "water at night"))
    assert found(store, "water") == ["water at night"]
    assert len(store.records(user_id="ada")) == 3


def test_a_line_of_another_process_is_found(open_store: OpenStore) -> None:
    """What one process adds, another that was open before finds."""
    one, other = open_store(), open_store()
    note(one, "espresso")
    assert found(other, "espresso") == ["espresso"]

    note(other, "tea")

    assert found(one, "tea") == ["tea"]


@pytest.mark.parametrize("replacement", ["cocoa in the morning   ", "tea"])
def test_a_foreign_edit_is_noticed(tmp_path: Path, open_store: OpenStore, replacement: str) -> None:
    """A shard edited by hand, to the same or another length, is read again: the old words are gone."""
    shard = pull(tmp_path, line("A", "espresso in the morning"), line("B", "milk"))
    store = open_store()
    assert found(store, "espresso") == ["espresso in the morning"]

    shard.write_text(shard.read_text().replace("espresso in the morning", replacement))

    assert found(store, "espresso") == []
    assert sorted(record.text for record in store.records(user_id="ada")) == sorted([replacement, "milk"])
    assert found(store, "milk") == ["milk"]


def test_a_branch_switch_is_followed(tmp_path: Path, open_store: OpenStore) -> None:
    """A shard that disappears takes its records along, and one that comes back brings them back."""
    store = open_store()
    note(store, "espresso")
    shard = pull(tmp_path, line("A", "tea at noon"))
    assert found(store, "tea") == ["tea at noon"]
    kept = shard.read_bytes()

    shard.unlink()
    assert found(store, "tea") == []
    assert found(store, "espresso") == ["espresso"]

    shard.write_bytes(kept)
    assert found(store, "tea") == ["tea at noon"]


def test_a_bad_line_in_the_middle_is_skipped(tmp_path: Path, open_store: OpenStore) -> None:
    """Corruption hides no other line, stays where it is, and is reported by file and line."""
    shard = pull(tmp_path, line("A", "espresso"), "not json\n", line("B", "tea"))

    store = open_store()

    assert found(store, "espresso") == ["espresso"]
    assert found(store, "tea") == ["tea"]
    (problem,) = store.check()
    assert (problem.code, problem.path, problem.line) == ("not-json", "archive/2026-01/other.jsonl", 2)
    assert "not json" in shard.read_text()


def test_check_names_every_problem(tmp_path: Path, open_store: OpenStore) -> None:
    """Each kind of damage has its code and its line."""
    huge = line("H", "x").replace('"x"', f'"{"x" * 5_000_000}"')
    conflict = [line("A", "tea"), line("A", "tea"), line("A", "coffee")]
    event = '{"op":"dance","target":"A","user_id":"ada","at":"2026-01-01T00:00:00Z"}\n'
    pull(tmp_path, *conflict, "<<<<<<< HEAD\n", huge, '{"id":"N","text":"x"}\n', event, "\xff\n", '{"torn')

    problems = open_store().check()

    assert [(problem.line, problem.code) for problem in problems] == [
        (2, "duplicate-line"), (3, "id-conflict"), (4, "conflict-marker"), (5, "not-json"), (6, "bad-record"),
        (7, "bad-event"), (8, "not-json"), (9, "torn"),
    ]  # fmt: skip
    assert open_store().get("A").record.text == "tea"


def test_links_are_not_followed(tmp_path: Path, open_store: OpenStore) -> None:
    """A shard that is a link to somewhere else is not read."""
    elsewhere = tmp_path / "elsewhere.jsonl"
    elsewhere.write_text(line("A", "espresso"))
    (tmp_path / "archive/2026-01").mkdir(parents=True)
    (tmp_path / "archive/2026-01/w.jsonl").symlink_to(elsewhere)

    assert found(open_store(), "espresso") == []


def test_an_event_may_come_before_what_it_is_about(tmp_path: Path, open_store: OpenStore) -> None:
    """When a pull brings a rejection first and the record later, the record is rejected."""
    event = Event(id="E", op="reject", target="A", user_id="ada", at="2026-01-02T00:00:00Z", actor="person")
    pull(tmp_path, encode_line(event.to_data()).decode(), shard="2026-01/a.jsonl")
    store = open_store()
    assert store.records(user_id="ada") == []

    pull(tmp_path, line("A", "espresso"), shard="2026-01/b.jsonl")

    assert store.get("A").status == "rejected"
    assert found(store, "espresso") == []


def test_records_that_supersede_each_other_end_no_program(tmp_path: Path, open_store: OpenStore) -> None:
    """A circle, which only a foreign hand can write, leaves both out and everything else in order."""
    pull(tmp_path, line("A", "tea", supersedes="B"), line("B", "milk", supersedes="A"), line("C", "espresso"))

    store = open_store()

    assert [record.text for record in store.records(user_id="ada")] == ["espresso"]


@pytest.mark.parametrize("in_folder", [True, False])
def test_a_store_that_is_let_go_leaves_no_database_open(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, in_folder: bool
) -> None:
    """Whoever forgets to close it is not warned, as Python does from 3.13 on, and no file stays open."""
    opened: list[sqlite3.Connection] = []
    connect = sqlite3.connect

    def noted(*args: object, **options: object) -> sqlite3.Connection:
        opened.append(connect(*args, **options))
        return opened[-1]

    monkeypatch.setattr(sqlite3, "connect", noted)
    store = ArchivalStore(tmp_path if in_folder else None)
    assert found(store, "tea") == []
    note(store, "Ada likes tea")
    assert found(store, "tea") == ["Ada likes tea"]
    del store
    gc.collect()

    assert len(opened) > 1
    for sql in opened:
        with pytest.raises(sqlite3.ProgrammingError, match="closed"):
            sql.execute("SELECT 1")


def test_the_index_is_private(tmp_path: Path, open_store: OpenStore) -> None:
    """Index files, which hold clear text, are readable by their owner alone."""
    note(open_store(), "espresso")

    modes = {path.stat().st_mode & 0o077 for path in (cache_folder(tmp_path)).rglob("*.sqlite")}

    assert modes == {0}


def test_each_user_has_a_file_of_their_own(tmp_path: Path, open_store: OpenStore) -> None:
    """No text of one user is in another's index, so that deleting a file takes everything along."""
    store = open_store()
    note(store, "espresso", "ada")
    note(store, "cocoa", "bob")
    store.close()

    files = [path.read_bytes() for path in (cache_folder(tmp_path)).rglob("*.sqlite")]

    assert [b"cocoa" in data for data in files].count(True) == 1
    assert not any(b"cocoa" in data and b"espresso" in data for data in files)


steps = st.lists(
    st.tuples(
        st.sampled_from(
            [
                "add",
                "supersede",
                "merge",
                "confirm",
                "contradict",
                "reject",
                "approve",
                "forget",
                "update",
                "restore",
                "revoke",
                "unsay",
            ]
        ),
        st.integers(0, 5),
        st.sampled_from(["ada", "bob"]),
        st.sampled_from(["tea", "espresso in the morning", "water at noon"]),
    ),
    max_size=25,
)


@given(steps)
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_an_index_kept_up_equals_one_made_anew(
    tmp_path_factory: pytest.TempPathFactory, plan: list[tuple[str, int, str, str]]
) -> None:
    """However the state came about step by step, replaying the shards gives the same state, history and hits."""
    root = tmp_path_factory.mktemp("store")
    with ArchivalStore(root, gate=OpenGate()) as store:
        ids: dict[str, list[str]] = {"ada": [], "bob": []}
        for op, choice, user, text in plan:
            if op == "add" or not ids[user]:
                ids[user].append(note(store, text, user))
            elif op == "supersede":
                old = ids[user][choice % len(ids[user])]
                if store.get(old).status == "live":
                    ids[user].append(str(store.supersede(old, text, person(user)).id))
            elif op == "merge":
                pair = {ids[user][choice % len(ids[user])], ids[user][-1]}
                if len(pair) == 2 and all(store.get(id).status == "live" for id in pair):
                    ids[user].append(str(store.merge(sorted(pair), person(user)).id))
            elif op == "unsay":
                said = [event.id for event in store._index.user(user).events() if event.op in ("confirm", "supersede")]
                for id in said[choice : choice + 1]:
                    store.mark("revoke", id, person(user))
            else:
                changes = {"tags": [text[:3]], "confidence": 0.4} if op == "update" else {}
                store.mark(op, ids[user][choice % len(ids[user])], person(user), **changes)
        before = _everything(store, ids)

        store.rebuild()

        assert _everything(store, ids) == before


def _everything(store: ArchivalStore, ids: dict[str, list[str]]) -> object:
    states = [store.get(id, user_id=user) for user, owned in ids.items() for id in owned]
    scores = [
        (hit.id, hit.parts["bm25"], hit.parts["coverage"])
        for user in ids
        for hit in store.search("espresso in the morning at noon", user_id=user).hits
    ]
    return states, sorted(scores)


def test_a_lost_tail_of_an_index_is_made_up_for(tmp_path: Path, open_store: OpenStore) -> None:
    """A user's index that lost its last changes, as in a power cut, is filled again from the catalogue."""
    store = open_store()
    note(store, "espresso")
    store.close()
    (file,) = (cache_folder(tmp_path) / "users").glob("*.sqlite")
    early = file.read_bytes()
    later = open_store()
    note(later, "tea")
    later.close()

    file.write_bytes(early)

    assert found(open_store(), "tea") == ["tea"]


def test_many_users_in_one_import(tmp_path: Path, open_store: OpenStore) -> None:
    """A batch over more users than files may be open at once stores every record."""
    store = open_store()
    pairs = [(Draft(text=f"espresso {number}"), person(f"user{number}")) for number in range(250)]

    decisions = list(store.import_many(pairs))

    assert len({decision.id for decision in decisions}) == 250
    assert found(store, "espresso", "user249") == ["espresso 249"]
    assert len(store.records(user_id=None)) == 250


def merged_otherwise(monkeypatch: pytest.MonkeyPatch, at: int, trouble: str) -> None:
    """Let the merge of so many segments come to grief, in small segments: ``killed``, or the disk is ``full``."""
    monkeypatch.setattr(word_index, "FOLDED_AT_ONCE", 3)
    monkeypatch.setattr(word_index, "FAN", 2)
    monkeypatch.setattr(whole_index, "READ_AT_ONCE", 10)
    enter, merged = word_index.WordIndex._enter, []

    def entered(index: word_index.WordIndex, lists: list[tuple[str, int, bytes]], level: int, newest: int) -> None:
        merged.extend([level] if level else [])
        if level and len(merged) == at and trouble == "full":
            used = index._sql.execute("PRAGMA page_count").fetchone()[0]
            index._sql.execute(f"PRAGMA max_page_count={used}")
        enter(index, lists, level, newest)
        if level and len(merged) == at and trouble == "killed":
            os.kill(os.getpid(), signal.SIGKILL)

    monkeypatch.setattr(word_index.WordIndex, "_enter", entered)


def pull_many(root: Path, many: int) -> list[str]:
    """Pull so many long lines, and return their texts."""
    texts = [f"lamp {number} {' '.join(f'w{number}x{place}' for place in range(60))}" for number in range(many)]
    pull(root, *(line(f"01KDVM0000{number:016d}", text) for number, text in enumerate(texts)))
    return texts


def all_found(store: ArchivalStore, texts: Sequence[str]) -> bool:
    """Return whether each text is found by a word of its own, and all by the one they share."""
    each = all(found(store, f"w{number}x7") == [text] for number, text in enumerate(texts))
    return each and len(found(store, "lamp", k=100)) == len(texts)


@pytest.mark.parametrize("at", [1, 2, 3])
def test_an_index_that_was_killed_while_it_merged_is_whole(
    at: int, tmp_path: Path, open_store: OpenStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Half a merge is none: the next one who asks finds every line, and no line twice."""
    texts = pull_many(tmp_path, 40)
    if (child := os.fork()) == 0:
        merged_otherwise(monkeypatch, at, "killed")
        ArchivalStore(tmp_path).search("lamp", user_id="ada")
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL

    assert all_found(open_store(), texts)


@pytest.mark.parametrize("at", [1, 3])
def test_an_index_whose_disk_fills_while_it_merges_answers_all_the_same(
    at: int, tmp_path: Path, open_store: OpenStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The index goes on where there is room; when there is room again, the one in its place is whole."""
    texts = pull_many(tmp_path, 40)
    with monkeypatch.context() as troubled:
        merged_otherwise(troubled, at, "full")
        assert all_found(open_store(), texts)

    assert all_found(open_store(), texts)


@pytest.mark.parametrize("many", [1, 3, 40])
def test_a_list_of_some_types_is_the_same_whether_they_are_few_or_many(tmp_path: Path, many: int) -> None:
    """Few are sorted, many are found on the way through all; either way they come by id, before an id or backwards."""
    kinds = ("fact", "fact", "constraint", "fact", "preference", "fact")
    pull(tmp_path, *(line(f"{place:026d}", f"lamp {place}", type=kinds[place % 6]) for place in range(30, 0, -1)))
    with ArchivalStore(tmp_path) as store:
        store.mark("retire", f"{7:026d}", person("ada"))
        held = store.records(user_id="ada")
    corpus = CorpusIndex(next(cache_folder(tmp_path).rglob("users/*.sqlite")))
    assert len(held) == 29
    with patch.multiple(corpus_index, FEW_OF_A_TYPE=many, ONE_OF=1000):
        for types in ((), ("fact",), ("constraint",), ("constraint", "preference"), ("goal",)):
            wanted = [record.id for record in held if not types or record.type in types]
            assert [record.id for record in corpus.records(types=types)] == wanted
            assert [record.id for record in corpus.records(types=types, newest_first=True)] == wanted[::-1]
            assert [record.id for record in corpus.records(types=types, before=f"{12:026d}")] == [
                id for id in wanted if id < f"{12:026d}"
            ]
        assert [record.id for record in corpus.records(types=("fact",), status="retired")] == [f"{7:026d}"]


class LookingGate(OpenGate):
    """A gate that looks for what an offer may repeat, as the real one does, and refuses nothing."""

    def __init__(self) -> None:
        """Start with nothing that was seen."""
        self.near: list[str] = []

    def judge(self, draft: Draft, origin: Origin, view: ArchiveView, *, consented: bool = True) -> Judgement:
        """Note what is alike and admit ``draft``."""
        self.near = [record.text for record in view.alike(draft.text, origin.user_id, 0.9)]
        return super().judge(draft, origin, view, consented=consented)


ALIKE = ["kettle red", "red kettle", "a red kettle", "the red kettle"]
"""Each is looked for under one word of those before it."""


def test_what_another_process_entered_is_looked_at_though_more_lines_came_since(
    tmp_path: Path, open_store: OpenStore
) -> None:
    """A process that asked for a word before knows what another one entered under it, also when it fills the rest."""
    gate = LookingGate()
    with ArchivalStore(tmp_path, gate=gate) as asked:
        for text in ALIKE[:2]:
            note(asked, text)
        note(open_store(), ALIKE[2])
        pull(tmp_path, line("A", "tea at noon"))

        note(asked, ALIKE[3])

        assert sorted(gate.near) == sorted(ALIKE[:3])


def test_what_was_not_kept_is_forgotten_before_another_process_takes_its_place(
    tmp_path: Path, open_store: OpenStore
) -> None:
    """A process whose change failed knows what another one entered in the place of that."""
    gate = LookingGate()
    with ArchivalStore(tmp_path, gate=gate) as asked:
        for text in ALIKE[:2]:
            note(asked, text)
        with patch.object(ShardBatch, "flush", side_effect=OSError("full")), pytest.raises(OSError, match="full"):
            note(asked, "one lamp is not kept")
        note(open_store(), ALIKE[2])

        note(asked, ALIKE[3])

        assert sorted(gate.near) == sorted(ALIKE[:3])


@pytest.mark.parametrize("gone", ["ada", "cyd", "all"])
def test_a_shard_that_is_written_anew_between_catalogue_and_line(
    tmp_path: Path, open_store: OpenStore, gone: str
) -> None:
    """Lines of equal length move to where others were: nobody is shown another user's line, or loses one."""
    told = [(user, number) for number in range(3) for user in ("ada", "bob", "cyd")]
    told += [("cyd", number) for number in range(3, 9)]  # so that there is a line wherever one of bob's was
    lines = {(user, number): line(new_id(), f"{user} keeps lynx {number}", user) for user, number in told}
    shard = pull(tmp_path, *lines.values())
    store = open_store()
    assert len(found(store, "lynx", user_id="ada")) == 3  # the catalogue has everything, and bob's index nothing yet
    read = ShardLog.read

    def late(log: ShardLog, path: str, offset: int = 0, size: int = -1) -> bytes:
        aside = shard.with_suffix(".aside")
        aside.write_text("".join(text for (user, _), text in lines.items() if user != gone and gone != "all"))
        if shard.exists():
            aside.replace(shard)
        return read(log, path, offset, size)

    with patch.object(ShardLog, "read", late):
        texts = found(store, "lynx", user_id="bob")

    assert sorted(texts) == ([] if gone == "all" else [f"bob keeps lynx {number}" for number in range(3)])


def test_an_index_that_is_removed_while_it_is_opened(tmp_path: Path, open_store: OpenStore) -> None:
    """An erasure by another process empties the cache at any moment; the index is made anew in its place."""
    note(open_store(), "espresso in the morning")
    shutil.rmtree(cache_folder(tmp_path))
    opening, events = catalogue_file._use_write_ahead_log, list[dict[str, object]]()

    def late(sql: object) -> None:
        opening(sql)
        if opened.call_count <= 2:
            shutil.rmtree(cache_folder(tmp_path))

    with patch.object(catalogue_file, "_use_write_ahead_log", side_effect=late) as opened:
        assert found(open_store(observe=events.append), "espresso") == ["espresso in the morning"]

    assert not [event for event in events if event["event"] == "index"]
    assert (cache_folder(tmp_path) / "catalogue.sqlite").exists()
