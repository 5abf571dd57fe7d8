"""Documents keep their versions apart: a read that extends one brings nothing back."""

from datetime import timedelta
from pathlib import Path

import pytest
from open_gate import OpenStore

from memkit.runtime.memory.archive.archive import ArchivalStore
from memkit.runtime.memory.archive.keeping import KeptDocument
from memkit.runtime.memory.index.documents import StoredDocument
from memkit.runtime.memory.record.lines import JSON, to_text, utc_now
from memkit.runtime.memory.record.record import Draft, Origin

ORIGIN = Origin("tool:test", "ada", taint=())
HOUR, YEAR = 60.0, 365 * 24 * 60.0


def put(store: ArchivalStore, value: JSON, *, text: str | None = None, minutes: float = HOUR) -> None:
    """Store a value for some minutes."""
    until = to_text(store._clock() + timedelta(minutes=minutes)) if value is not None else None
    store.keep([KeptDocument("item", "ada", "key", value, Draft(text) if text else None, until)], ORIGIN)


def held(store: ArchivalStore) -> StoredDocument | None:
    """Return the document as it is."""
    return store.documents("ada", lambda documents: documents.get("item", "ada", "key"))


@pytest.mark.parametrize("value", [{"n": 2}, None])
def test_what_was_read_before_a_change_is_not_extended_after_it(store: ArchivalStore, value: JSON) -> None:
    """Another process stores or deletes between a read and its extension: the change stands."""
    put(store, {"n": 1})
    before = held(store)
    put(store, value)
    assert before is not None

    store.keep_longer([(before, YEAR)], ORIGIN)

    now = held(store)
    assert (now.value if now else None) == ('{"n":2}' if value else None)


def test_a_life_that_another_writer_extended_is_extended_for_every_clone(tmp_path: Path, open_store: OpenStore) -> None:
    """A clone may read the extension before the version that it extends: the order of shards says nothing."""
    put(open_store(writer="bbb"), {"n": 1})
    reader = open_store(writer="aaa")
    one = held(reader)
    assert one is not None
    reader.keep_longer([(one, YEAR)], ORIGIN)
    extended = held(reader)

    reader.rebuild()

    assert extended is not None and extended.number == 2
    assert held(reader) == extended


def test_an_extension_that_arrives_before_its_version_counts_once_that_is_here(
    tmp_path: Path, open_store: OpenStore
) -> None:
    """A pull may bring the lines in any order."""
    put(open_store(writer="bbb"), {"n": 1})
    reader = open_store(writer="aaa")
    one = held(reader)
    assert one is not None
    reader.keep_longer([(one, YEAR)], ORIGIN)
    extended = held(reader)
    (shard,) = tmp_path.glob("archive/*/bbb.jsonl")
    aside = shard.rename(tmp_path / "aside")
    assert held(reader) is None

    aside.rename(shard)

    assert held(reader) == extended


def test_what_was_extended_outlives_a_sweep(store: ArchivalStore) -> None:
    """The record of an item lives as long as the item does."""
    put(store, {"text": "Ada rows"}, text="Ada rows")
    one = held(store)
    assert one is not None
    store.keep_longer([(one, YEAR)], ORIGIN)
    later = utc_now() + timedelta(hours=2)
    store._clock = lambda: later

    store.sweep()

    assert held(store) is not None
    assert [hit.text for hit in store.search("rows", user_id="ada").hits] == ["Ada rows"]


def test_a_date_that_a_person_set_stays(store: ArchivalStore) -> None:
    """An extension moves only the end that the item itself had."""
    put(store, {"text": "Ada rows"}, text="Ada rows")
    one = held(store)
    assert one is not None and one.record is not None
    store.mark("update", one.record, Origin("person", "ada"), valid_until="2031-05-01")

    store.keep_longer([(one, YEAR)], ORIGIN)

    stored = store.get(one.record)
    assert stored is not None and stored.record.valid_until == "2031-05-01"
