"""The forgetting cycle retires what its rules name, and nothing else; what is closed long enough is no more seen."""

import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from open_gate import OpenGate, OpenStore, found, note, person

from memkit.runtime.memory.archive.archive import ArchivalStore
from memkit.runtime.memory.index.catalogue import Use
from memkit.runtime.memory.interface import ForgetSettings, MemorySettings
from memkit.runtime.memory.lifecycle.forgetting import ForgettingCycle, StoodFor, why_forget
from memkit.runtime.memory.record.lines import Decay, InvalidRecord, RecordNotFound, parse_decay, to_text
from memkit.runtime.memory.record.record import Draft, Origin, Record

NOW = datetime(2026, 11, 21, 12, tzinfo=UTC)
DAY = timedelta(days=1)


class Clock:
    """A clock that stands still until a test moves it."""

    def __init__(self) -> None:
        self.now = NOW

    def __call__(self) -> datetime:
        """Return the present moment."""
        return self.now


@pytest.fixture
def clock() -> Clock:
    """Give a clock that a test moves."""
    return Clock()


def rule_of(item: Record, *, now: datetime = NOW, use: Use | None = None, stood: StoodFor | None = None) -> str | None:
    """Return the rule that names a record, if any."""
    due = why_forget(item, ForgetSettings(), now, use=use, stood=stood)
    return due.rule if due else None


def old_record(age: timedelta, **fields: object) -> Record:
    """Return a record of this age."""
    return Record("01", "Ada likes tea", "ada", to_text(NOW - age), **fields)


def test_a_fresh_record_stays() -> None:
    """Nothing is named without a rule."""
    assert rule_of(old_record(0 * DAY)) is None


@pytest.mark.parametrize(
    ("item", "rule"),
    [
        (old_record(0 * DAY, confidence=0.29), "confidence"),
        (old_record(0 * DAY, confidence=0.3), None),
        (old_record(0 * DAY, valid_until="2026-11-20"), "expired"),
        (old_record(0 * DAY, valid_until="2026-11-21"), None),
        (old_record(366 * DAY), "age"),
        (old_record(365 * DAY), None),
        (old_record(0 * DAY, importance=0.29), "importance"),
        (old_record(0 * DAY, importance=0.3), None),
        (old_record(0 * DAY, importance=0.1, type="constraint"), "importance"),
    ],
)
def test_each_rule_names_what_lies_beyond_its_border(item: Record, rule: str | None) -> None:
    """A record exactly at a floor or a limit stays; a bare date is valid until its end."""
    assert rule_of(item) == rule


def test_confidence_decays_by_whole_periods() -> None:
    """Sixty unused days cost two steps, and one day less only one."""
    assert rule_of(old_record(60 * DAY, confidence=0.33)) == "confidence"
    assert rule_of(old_record(59 * DAY, confidence=0.33)) is None


def test_a_recall_and_a_confirmation_make_a_record_fresh() -> None:
    """Age and decay count from the last time that somebody used a record or stood for it."""
    aged = old_record(400 * DAY, confidence=0.35)

    assert rule_of(aged, use=Use(1, to_text(NOW - DAY))) is None
    assert rule_of(aged, stood=StoodFor(NOW - DAY)) is None
    assert rule_of(aged) == "confidence"


def test_two_uses_or_a_restoration_save_what_matters_little() -> None:
    """Low importance goes only with few uses, and never again after a person took it back."""
    minor = old_record(0 * DAY, importance=0.1)

    assert rule_of(minor, use=Use(1, to_text(NOW))) == "importance"
    assert rule_of(minor, use=Use(2, to_text(NOW))) is None
    assert rule_of(minor, stood=StoodFor(NOW, restored=True)) is None


def test_a_clock_that_goes_backwards_ages_nothing() -> None:
    """A record from the future is fresh."""
    assert rule_of(old_record(-400 * DAY, confidence=0.31)) is None


@pytest.mark.parametrize(
    "text", ["", "0.02", "2 per 30d unused", "0.02 per 0d unused", "-1 per 3d unused", "0.02 per 30d"]
)
def test_a_decay_that_makes_no_sense_is_named(text: str) -> None:
    """The error says which setting is wrong."""
    with pytest.raises(InvalidRecord, match=r"forget\.decay"):
        MemorySettings.from_mapping({"forget": {"decay": text}})


def test_a_decay_is_read_with_its_unit() -> None:
    """Weeks and fractions are fine."""
    assert parse_decay("0.5 per 2w unused") == Decay(0.5, 14 * 86400.0)


def test_a_sweep_retires_with_a_reason_and_a_second_one_nothing(store: ArchivalStore) -> None:
    """The reason stands in the record's history, and the cycle is idempotent."""
    minor = note(store, "a triviality", importance=0.1)
    kept = note(store, "a fact that stays")

    first, second = store.sweep(), store.sweep()

    assert [(due.id, due.rule) for due in first.retired] == [(minor, "importance")]
    assert (first.kept, second.retired, second.kept) == (1, (), 1)
    stored = store.get(minor)
    assert stored is not None and stored.status == "retired"
    assert stored.history[-1]["actor"] == "program" and "low importance" in str(stored.history[-1]["reason"])
    assert [item.id for item in store.records(user_id=None)] == [kept]


def test_a_dry_run_retires_nothing(store: ArchivalStore) -> None:
    """It names the same records."""
    minor = note(store, "a triviality", importance=0.1)

    assert [due.id for due in store.sweep(dry_run=True).retired] == [minor]
    assert [item.id for item in store.records(user_id=None)] == [minor]


def test_a_sweep_of_one_user_leaves_the_others_alone(store: ArchivalStore) -> None:
    """The same text of two users is two records."""
    mine, yours = (note(store, "a triviality", user, importance=0.1) for user in ("ada", "bob"))

    swept = store.sweep(user_id="ada")

    assert [due.id for due in swept.retired] == [mine]
    assert [item.id for item in store.records(user_id=None)] == [yours]


def test_only_live_records_are_candidates(store: ArchivalStore) -> None:
    """Quarantined and rejected records stay what they are, and a tombstone stays."""
    rejected = note(store, "a wrong value", importance=0.1)
    store.mark("reject", rejected, person())
    waiting = note(store, "a doubtful value", importance=0.1, extra={"wanted_trust": "quarantined"})

    assert store.sweep().retired == ()
    assert [store.get(id).status for id in (rejected, waiting)] == ["rejected", "quarantined"]
    assert store.view.is_tombstoned("ada", "A wrong value!")


def test_a_restored_record_is_not_swept_again(store: ArchivalStore) -> None:
    """What a person takes back stays back."""
    minor = note(store, "a triviality", importance=0.1)
    store.sweep()

    store.mark("restore", minor, person())

    assert store.sweep().retired == ()
    assert found(store, "triviality") == ["a triviality"]


def test_shared_records_count_everybodys_uses(open_store: OpenStore) -> None:
    """Two users who each recalled a shared record once used it twice, whomever the sweep is for."""
    store = open_store()
    note(store, "the office closes early", scope="shared", importance=0.1)
    for user in ("bob", "eve"):
        assert found(store, "office closes", user)

    assert store.sweep(user_id="ada").retired == ()


def test_what_the_grace_period_is_over_for_is_seen_no_more(tmp_path: Path, open_store: OpenStore, clock: Clock) -> None:
    """Retired and superseded records leave get, lists and marks; their bytes stay; a rejected value stays barred."""
    store = open_store(clock=clock)
    forgotten, old, rejected = (note(store, text) for text in ("one fact", "an old city", "a wrong value"))
    store.mark("forget", forgotten, person())
    store.supersede(old, "a new city", person())
    store.mark("reject", rejected, person())
    assert len(store.records(user_id="ada", status=None)) == 4

    clock.now = NOW + 91 * DAY

    assert {item.text for item in store.records(user_id="ada", status=None)} == {"a new city", "a wrong value"}
    assert store.records(user_id="ada", status="retired") == store.records(user_id="ada", status="superseded") == []
    assert store.get(forgotten) is None and store.get(old) is None
    assert store.forgotten_since(forgotten, user_id="ada") == to_text(NOW)
    assert store.forgotten_since(forgotten, user_id="bob") is None
    with pytest.raises(RecordNotFound):
        store.mark("restore", forgotten, person())
    assert store.view.is_tombstoned("ada", "a wrong value")
    assert b"one fact" in b"".join(path.read_bytes() for path in tmp_path.glob("archive/*/*.jsonl"))


def test_grace_is_the_same_after_a_rebuild_and_comes_back_with_the_clock(open_store: OpenStore, clock: Clock) -> None:
    """What counts is when a record was closed and what time it is, not when the index was made."""
    store = open_store(clock=clock)
    old = note(store, "an old city")
    store.mark("forget", old, person())
    clock.now = NOW + 100 * DAY
    assert store.get(old) is None

    store.rebuild()
    assert store.get(old) is None
    clock.now = NOW + DAY
    assert store.get(old) is not None


def test_a_late_restoration_from_another_clone_brings_a_forgotten_record_back(
    tmp_path: Path, open_store: OpenStore, clock: Clock
) -> None:
    """A pulled event finds the record that grace was over for, as a rebuild would."""
    store = open_store(clock=clock)
    old = note(store, "an old city")
    store.mark("forget", old, person())
    clock.now = NOW + 100 * DAY
    assert store.get(old) is None
    line = (
        f'{{"op":"restore","target":"{old}","user_id":"ada","at":"{to_text(clock.now)}","id":"e1","actor":"person"}}\n'
    )
    path = tmp_path / "archive/2026-12/other.jsonl"
    path.parent.mkdir(parents=True)
    path.write_text(line, encoding="utf-8")

    assert found(store, "old city") == ["an old city"]


def test_counts_of_records_that_are_no_more_are_dropped(tmp_path: Path, open_store: OpenStore) -> None:
    """A count stays while a shard holds its record."""
    store = open_store()
    note(store, "the office closes early")
    assert found(store, "office")
    assert store.drop_stale_counts() == 0

    for path in tmp_path.glob("archive/*/*.jsonl"):
        path.unlink()

    assert store.drop_stale_counts() == 1


FIELDS = st.fixed_dictionaries(
    {
        "confidence": st.floats(0, 1),
        "importance": st.floats(0, 1),
        "valid_until": st.sampled_from([None, "2026-11-20", "2026-11-22"]),
        "type": st.sampled_from(["fact", "constraint", "event"]),
    }
)


@given(st.lists(st.tuples(FIELDS, st.integers(0, 800)), max_size=8))
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_a_sweep_retires_exactly_what_a_rule_names(
    tmp_path_factory: pytest.TempPathFactory, items: list[tuple[dict[str, object], int]]
) -> None:
    """The sweep agrees with the rules, and the index after it is the index that a rebuild makes."""
    with ArchivalStore(tmp_path_factory.mktemp("store"), gate=OpenGate(), clock=lambda: NOW) as store:
        for number, (fields, age) in enumerate(items):
            extra = {"created_at": to_text(NOW - age * DAY)}
            store.offer(Draft(f"statement {number}", extra=extra, **fields), Origin("import", "ada"))
        named = {item.id for item in store.records(user_id=None) if rule_of(item)}

        swept = store.sweep()

        assert {due.id for due in swept.retired} == named
        assert swept.kept == len(items) - len(named)
        before = [(item, store.get(item.id)) for item in store.records(user_id=None, status=None)]
        store.rebuild()
        assert before == [(item, store.get(item.id)) for item in store.records(user_id=None, status=None)]


KILLED = """
import os, sys
from memkit.runtime.memory.log import shards
from memkit.runtime.memory.archive.archive import ArchivalStore

def cut(descriptor, data, size):
    os.write(descriptor, bytes(data)[: len(data) // 2])
    os.kill(os.getpid(), 9)

shards._write_whole = cut
ArchivalStore(sys.argv[1]).sweep()
"""


def test_a_sweep_that_is_killed_half_way_goes_on_next_time(tmp_path: Path, open_store: OpenStore) -> None:
    """What was written counts, the torn line is set aside, and the rest is retired then."""
    ids = set()
    store = open_store()
    for number in range(20):
        ids.add(note(store, f"triviality number {number}", importance=0.1))

    killed = subprocess.run([sys.executable, "-c", KILLED, str(tmp_path)], check=False)

    assert killed.returncode == -9
    swept = store.sweep()
    assert 0 < len(swept.retired) < 20
    assert store.records(user_id="ada") == []
    assert {item.id for item in store.records(user_id="ada", status="retired")} == ids


def test_a_confirmation_between_planning_and_retiring_is_heard(open_store: OpenStore, clock: Clock) -> None:
    """Each retirement is judged again when nobody else can write."""
    first, second = open_store(clock=clock), open_store(clock=clock)
    kept = note(first, "an old fact", confidence=0.4)
    closed = note(first, "another old fact", confidence=0.4)
    clock.now = NOW + 300 * DAY
    planned = first.sweep(dry_run=True)
    second.mark("confirm", kept, person())
    second.mark("forget", closed, person())

    assert {due.id for due in planned.retired} == {kept, closed}
    cycle = ForgettingCycle(first.settings.forget, clock.now, {})
    with first._change():
        due = list(cycle.still_due(planned, first._index))

    assert due == []
    assert [item.id for item in first.records(user_id="ada")] == [kept]


def test_a_record_merged_on_a_branch_inherits_its_parents_uses() -> None:
    """Counts stay with the machine they are of, and count for what took the parents' place."""
    merged = old_record(0 * DAY, importance=0.1, extra={"merges": ["a", "b"]})
    uses = {"a": Use(1, to_text(NOW)), "b": Use(1, to_text(NOW))}

    assert ForgettingCycle(ForgetSettings(), NOW, uses)._why(merged, None) is None
    assert ForgettingCycle(ForgetSettings(), NOW, {})._why(merged, None) is not None


@pytest.mark.parametrize("op", ["confirm", "restore"])
def test_what_waits_for_a_person_stands_for_nothing(open_store: OpenStore, clock: Clock, op: str) -> None:
    """A mark made under taint has no effect before a person approved it, on a record's age neither."""
    store = open_store(None, clock=clock)
    id = note(store, "Ada likes tea")
    clock.now += 360 * DAY
    waits = store.mark(op, id, Origin("agent", "ada", taint=("tool:web",)))
    clock.now += 10 * DAY

    swept = store.sweep(dry_run=True)
    store.mark("approve", str(waits), person())

    assert [(due.id, due.rule) for due in swept.retired] == [(id, "age")]
    assert store.sweep().retired == ()
