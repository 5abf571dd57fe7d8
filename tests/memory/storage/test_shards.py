"""Durability: what was acknowledged is there, whatever happened to the process, the disk or the file's end."""

import json
import multiprocessing
import os
import resource
import signal
import subprocess
import sys
import tempfile
import textwrap
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

import pytest
from open_gate import OpenGate, OpenStore, found, note, person

from memkit.runtime.memory.archive.archive import ArchivalStore
from memkit.runtime.memory.index.catalogue import Catalogue
from memkit.runtime.memory.index.chains import Chains
from memkit.runtime.memory.log import shards
from memkit.runtime.memory.log.clone import lock_file, state_folder
from memkit.runtime.memory.record.lines import InvalidRecord, StoreClosed, StoreFull, StoreLocked, StoreReadOnly
from memkit.runtime.memory.record.record import Draft

HERE = Path(__file__).parent


def lines_of(root: Path) -> list[dict[str, object]]:
    """Return every line of every shard, in the order of the files."""
    files = sorted((root / "archive").rglob("*.jsonl"))
    return [json.loads(line) for file in files for line in file.read_bytes().splitlines()]


def only_shard(root: Path) -> Path:
    """Return the one shard of a store."""
    (shard,) = (root / "archive").rglob("*.jsonl")
    return shard


@contextmanager
def files_up_to(size: int) -> Iterator[None]:
    """Let no file grow past ``size`` bytes, as on a disk without room."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    previous = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        signal.signal(signal.SIGXFSZ, previous)


def add_many(root: Path, name: str, count: int) -> None:
    """Add ``count`` records, as a process of its own does."""
    with ArchivalStore(root, gate=OpenGate()) as store:
        for number in range(count):
            note(store, f"{name} fact {number}")


def test_two_processes_lose_nothing(tmp_path: Path, open_store: OpenStore) -> None:
    """Two processes that add 500 records each leave 1,000 lines in one shard, and all of them can be found."""
    context = multiprocessing.get_context("spawn" if sys.platform == "darwin" else "fork")
    writers = [context.Process(target=add_many, args=(tmp_path, name, 500)) for name in ("left", "right")]

    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()

    assert [writer.exitcode for writer in writers] == [0, 0]
    assert len({line["id"] for line in lines_of(tmp_path)}) == 1000
    assert only_shard(tmp_path)
    store = open_store()
    assert len(store.records(user_id="ada")) == 1000
    assert {"left fact 499", "right fact 499"} <= set(found(store, "499"))
    assert store.check() == []


def test_threads_share_a_store(store: ArchivalStore) -> None:
    """Tools that run in threads can write and search at once."""

    def work(name: str) -> None:
        for number in range(25):
            note(store, f"{name} fact {number}")
            store.search(name, user_id="ada")

    threads = [threading.Thread(target=work, args=(f"worker{index}",)) for index in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert len(store.records(user_id="ada")) == 100


ADDER = """
    import sys
    from pathlib import Path
    sys.path[:0] = sys.argv[2:]
    from open_gate import OpenGate, note
    from memkit.runtime.memory.archive.archive import ArchivalStore
    store = ArchivalStore(Path(sys.argv[1]), gate=OpenGate())
    number = 0
    while True:
        print(note(store, f"fact {number} of many"), flush=True)
        number += 1
"""


def test_a_killed_process_loses_no_acknowledged_record(tmp_path: Path, open_store: OpenStore) -> None:
    """Ids that were printed before kill -9 are there afterwards, five times over, and the store goes on working."""
    acknowledged: set[str] = set()
    for delay in (0.05, 0.11, 0.17, 0.23, 0.31):
        command = [sys.executable, "-c", textwrap.dedent(ADDER), str(tmp_path), str(HERE), str(Path.cwd())]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        assert process.stdout is not None
        acknowledged.add(process.stdout.readline().strip())
        time.sleep(delay)
        process.send_signal(signal.SIGKILL)
        acknowledged |= {line.strip() for line in process.stdout.read().splitlines() if len(line.strip()) == 26}
        process.wait()

    store = open_store()
    kept = {record.id for record in store.records(user_id="ada")}
    assert len(acknowledged) > 5
    assert acknowledged <= kept
    assert note(store, "one more fact")
    assert store.check() == []


def test_a_torn_tail_is_set_aside_and_reported(tmp_path: Path, open_store: OpenStore) -> None:
    """Half a line at the end is no record and no hindrance; its bytes are kept and somebody is told."""
    note(open_store(), "a whole line")
    with only_shard(tmp_path).open("ab") as shard:
        shard.write(b'{"id":"half","text":"hal')
    events: list[dict[str, object]] = []
    store = open_store(observe=events.append)
    assert [problem.code for problem in store.check()] == ["torn"]

    note(store, "the next line")

    assert [line["text"] for line in lines_of(tmp_path)] == ["a whole line", "the next line"]
    (aside,) = (state_folder(tmp_path) / "torn").iterdir()
    assert aside.read_bytes() == b'{"id":"half","text":"hal'
    assert [event["event"] for event in events] == ["torn", "write"]
    assert store.check() == []


def test_a_last_line_that_only_lacks_its_end_is_kept(tmp_path: Path, open_store: OpenStore) -> None:
    """An editor that drops the last line's end takes no record away, before and after the next write."""
    note(open_store(), "espresso in the morning")
    shard = only_shard(tmp_path)
    shard.write_bytes(shard.read_bytes().rstrip(b"\n"))

    store = open_store()

    assert found(store, "espresso") == ["espresso in the morning"]
    note(store, "tea in the evening")
    assert len(lines_of(tmp_path)) == 2
    assert len(store.records(user_id="ada")) == 2


def test_a_full_disk_leaves_no_half_line(tmp_path: Path, open_store: OpenStore) -> None:
    """When the disk takes only a part of the line the shard is cut back, the error says so, and the next add works."""
    store = open_store()
    note(store, "first")
    shard = only_shard(tmp_path)
    before = shard.read_bytes()
    with files_up_to(len(before) + 200), pytest.raises(StoreFull):
        note(store, "second " * 100)

    assert shard.read_bytes() == before
    note(store, "third")
    assert sorted(record.text for record in store.records(user_id="ada")) == ["first", "third"]


@pytest.mark.parametrize("room", [1, 20_000], ids=["for nothing", "for the line and not for the index"])
def test_a_full_disk_can_be_searched_and_not_written(tmp_path: Path, open_store: OpenStore, room: int) -> None:
    """With no room for index or access counts, every read answers; add says what to do, and works again with room."""
    writing = open_store()
    id = note(writing, "espresso in the morning")
    writing.edit_core("ada", "human", "Ada drinks espresso.", person())
    assert found(writing, "espresso") == ["espresso in the morning"]
    writing.close()
    late = {"id": "X", "text": "tea at night", "user_id": "ada", "created_at": "2020-01-01T00:00:00Z"}
    (tmp_path / "archive" / "2020-01").mkdir()
    (tmp_path / "archive" / "2020-01" / "other.jsonl").write_text(json.dumps(late) + "\n")
    before = lines_of(tmp_path)

    store = open_store()
    with files_up_to(room):
        assert found(store, "espresso") == ["espresso in the morning"]
        assert found(store, "tea") == ["tea at night"]
        assert [record.id for record in store.records(user_id="ada")] == sorted([id, "X"])
        assert store.get(id, user_id="ada") is not None
        assert store.core_sections("ada")["human"] == "Ada drinks espresso."
        assert store.check() == []
        with pytest.raises(StoreFull, match=r"Nothing was stored.*room"):
            note(store, "more")
        with pytest.raises(StoreFull, match=r"Nothing was stored.*room"):
            note(open_store(), "more")

    assert lines_of(tmp_path) == before
    note(store, "walnuts at noon")
    assert found(open_store(), "walnuts") == ["walnuts at noon"]


def test_a_full_disk_is_noticed_by_a_store_that_is_open(tmp_path: Path, open_store: OpenStore) -> None:
    """A store that was opened while there was room takes in what others wrote after the disk filled up."""
    store = open_store()
    note(store, "espresso in the morning")
    late = {"id": "X", "text": "tea at night " * 500, "user_id": "ada", "created_at": "2020-01-01T00:00:00Z"}
    (tmp_path / "archive" / "2020-01").mkdir()
    (tmp_path / "archive" / "2020-01" / "other.jsonl").write_text(json.dumps(late) + "\n")

    with files_up_to(1):
        assert len(found(store, "tea")) == 1
        assert found(store, "espresso") == ["espresso in the morning"]


def test_a_new_clone_without_room_for_its_name_says_so(tmp_path: Path, open_store: OpenStore) -> None:
    """A first write that cannot even mint the writer's name is a full store and not a failure of the program."""
    with files_up_to(1), pytest.raises(StoreFull, match=r"Nothing was stored.*room"):
        note(open_store(), "first")

    note(open_store(), "second")
    assert [record.text for record in open_store().records(user_id="ada")] == ["second"]


def test_a_sync_that_fails_takes_the_line_back(
    tmp_path: Path, open_store: OpenStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A line that the disk did not confirm is neither in the shard nor in the index."""
    store = open_store()
    note(store, "first")
    before = only_shard(tmp_path).read_bytes()

    def failing(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(shards, "sync_data", failing)
        with pytest.raises(StoreFull):
            note(store, "second")

    assert only_shard(tmp_path).read_bytes() == before
    assert [record.text for record in store.records(user_id="ada")] == ["first"]


def test_a_shard_is_followed_by_the_next_at_two_megabytes(
    tmp_path: Path, open_store: OpenStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No shard grows past the limit, the next ones are numbered from 2, and a batch may span them."""
    monkeypatch.setattr(shards, "SHARD_LIMIT", 2_000)
    store = open_store(writer="w", clock=lambda: datetime(2026, 11, 21, tzinfo=UTC))
    pairs = [(Draft(text=f"fact {number} " + "x" * 300), person()) for number in range(12)]

    decisions = list(store.import_many(pairs))

    folder = tmp_path / "archive" / "2026-11"
    assert sorted(path.name for path in folder.iterdir()) == ["w-2.jsonl", "w-3.jsonl", "w-4.jsonl", "w.jsonl"]
    assert all(path.stat().st_size <= 2_000 for path in folder.iterdir())
    assert [record.id for record in store.records(user_id="ada")] == sorted(str(item.id) for item in decisions)


def test_a_clone_keeps_its_writer(tmp_path: Path, open_store: OpenStore) -> None:
    """The writer's name is minted once and used by every process of the clone."""
    note(open_store(), "one")
    note(open_store(), "two")

    assert only_shard(tmp_path).stem == (state_folder(tmp_path) / "writer").read_text().strip()


@pytest.mark.parametrize("name", ["../x", "a-2", "", "A", "x" * 70, "a/b"])
def test_a_writer_that_cannot_name_a_file_is_refused(tmp_path: Path, name: str) -> None:
    """A name with a path, or one that looks like a rolled-over shard, is an error."""
    with pytest.raises(InvalidRecord):
        shards.checked_writer(name)


def test_a_lock_that_is_held_too_long_is_an_error(tmp_path: Path, open_store: OpenStore) -> None:
    """A writer that waits in vain says so with exit code 3, and search goes on without the lock."""
    store = open_store(timeout=0.05)
    note(store, "espresso")
    with shards.locked(lock_file(tmp_path), timeout=1), pytest.raises(StoreLocked) as caught:
        assert found(store, "espresso") == ["espresso"]
        note(store, "tea")

    assert caught.value.exit_code == 3


def test_a_read_only_store_can_be_searched_and_not_written(open_store: OpenStore) -> None:
    """Without the right to write, search works from a copy of the index and catches up; add explains itself."""
    root = Path(tempfile.mkdtemp(prefix="read-only-"))
    writing = open_store(root)
    note(writing, "espresso in the morning")
    writing.close()
    (root / "archive" / "2020-01").mkdir()
    late = {"id": "X", "text": "tea at night", "user_id": "ada", "created_at": "2020-01-01T00:00:00Z"}
    (root / "archive" / "2020-01" / "other.jsonl").write_text(json.dumps(late) + "\n")
    folders = [root, *(path for path in root.rglob("*") if path.is_dir())]
    files = [path for path in root.rglob("*") if path.is_file()]
    for path in (*folders, *files):
        path.chmod(0o555 if path.is_dir() else 0o444)
    os.seteuid(65534 if os.geteuid() == 0 else os.geteuid())
    try:
        store = open_store(root)
        assert found(store, "espresso") == ["espresso in the morning"]
        assert found(store, "tea") == ["tea at night"]
        with pytest.raises(StoreReadOnly, match="cannot be written"):
            note(store, "more")
        store.close()
    finally:
        os.seteuid(0 if os.getuid() == 0 else os.geteuid())


def test_a_closed_store_says_so(open_store: OpenStore) -> None:
    """After close() there is a clear error."""
    store = open_store()
    store.close()

    with pytest.raises(StoreClosed):
        note(store, "late")


def test_problems_are_looked_for_when_something_changed(
    tmp_path: Path, open_store: OpenStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However many lines are broken, a search among the others goes through them once."""
    note(open_store(), "espresso")
    shard = only_shard(tmp_path)
    with shard.open("ab") as file:
        file.write(b"no line\n" * 50)
    store, asked = open_store(), list[None]()
    problems = Chains.problems
    monkeypatch.setattr(Chains, "problems", lambda chains: (asked.append(None), problems(chains))[1])

    for _ in range(3):
        assert found(store, "espresso") == ["espresso"]
    assert len(asked) == 1 and len(store.damage) == 50

    with shard.open("ab") as file:
        file.write(b"nor this\n")
    assert found(store, "espresso") == ["espresso"] and found(store, "espresso")
    assert len(asked) == 2 and len(store.damage) == 51


@pytest.fixture
def many_shards(tmp_path: Path, open_store: OpenStore, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a store of 40 shards, more than are each asked at every search, whose next look is far away."""
    monkeypatch.setattr(shards, "LOOK_SECONDS", 1e9)
    for number in range(40):
        store = open_store(writer=f"w{number}x")
        note(store, f"fact {number} of many")
        store.close()
    return tmp_path


def looks(monkeypatch: pytest.MonkeyPatch) -> list[None]:
    """Return a list that grows with each look at all shards."""
    taken: list[None] = []
    look = shards.ShardLog.shards
    monkeypatch.setattr(shards.ShardLog, "shards", lambda log, users=None: (taken.append(None), look(log, users))[1])
    return taken


def killed_before_its_index(store: ArchivalStore, text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Write a record as a process does that ends when the line is on the disk and nothing of it in the index."""
    with monkeypatch.context() as killed, pytest.raises(KeyboardInterrupt):
        killed.setattr(Catalogue, "advance", interrupted)
        note(store, text)
    store.close()


def interrupted(*_: object) -> None:
    """End as a process that is told to."""
    raise KeyboardInterrupt


def test_many_shards_are_not_asked_at_every_search(
    many_shards: Path, open_store: OpenStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What memkit writes from elsewhere, and a file that is put there or taken away, is seen at once all the same."""
    store, other, taken = open_store(), open_store(writer="w0x"), looks(monkeypatch)
    assert found(store, "fact") and found(store, "fact")
    before = len(taken)

    assert [found(store, f"fact {number}")[0] for number in range(5)] == [
        f"fact {number} of many" for number in range(5)
    ]
    assert len(taken) == before

    killed_before_its_index(other, "espresso in the morning", monkeypatch)
    assert found(store, "espresso") == ["espresso in the morning"]
    note(store, "tea in the evening")
    assert found(store, "tea") == ["tea in the evening"]
    (shard,) = many_shards.glob("archive/*/w1x.jsonl")
    shard.rename(many_shards / "aside")
    assert "fact 1 of many" not in found(store, "fact", k=100)
    (many_shards / "aside").rename(shard)
    assert "fact 1 of many" in found(store, "fact", k=100)


def test_somebody_elses_folder_of_many_shards(
    many_shards: Path, open_store: OpenStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where only its owner may give the folder any time, it gets the system's."""
    utime = os.utime

    def not_mine(path: Path, ns: tuple[int, int] | None = None) -> None:
        if ns is not None:
            raise PermissionError
        utime(path)

    monkeypatch.setattr(os, "utime", not_mine)
    store, other = open_store(), open_store(writer="w0x")
    assert found(store, "fact")
    time.sleep(0.02)  # the system's own steps
    killed_before_its_index(other, "espresso in the morning", monkeypatch)
    assert found(store, "espresso") == ["espresso in the morning"]


def test_what_is_written_over_inside_one_of_many_shards_is_seen_before_long(
    many_shards: Path, open_store: OpenStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Such a change shows in that file alone; a process that starts sees it at once, one that runs at its next look."""
    store = open_store()
    assert found(store, "fact 7")[0] == "fact 7 of many" and found(store, "fact 7")
    (shard,) = many_shards.glob("archive/*/w7x.jsonl")
    whole = shard.read_bytes()
    with shard.open("r+b") as file:
        file.write(whole.replace(b"fact 7 of many", b"fact x of many"))

    assert "fact 7 of many" not in found(open_store(), "fact", k=100)
    monkeypatch.setattr(shards, "LOOK_SECONDS", 0)
    assert "fact 7 of many" not in found(store, "fact", k=100)
