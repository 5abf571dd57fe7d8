"""A consolidation tells once what many sessions left behind, names every record once, and is done after one run."""

import tempfile
from collections import Counter
from datetime import UTC, datetime, timedelta
from pathlib import Path
from unittest.mock import patch

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from memkit.runtime.memory.archive.archive import ArchivalStore
from memkit.runtime.memory.gate import duplicates
from memkit.runtime.memory.gate.duplicates import duplicate_groups, likeness
from memkit.runtime.memory.interface import ContextSettings, MemorySettings
from memkit.runtime.memory.lifecycle.consolidation import EARLIER, CoreState, planned
from memkit.runtime.memory.record.lines import encode_line, to_text
from memkit.runtime.memory.record.record import Draft, Origin, Record

NOW = datetime(2026, 11, 21, 12, tzinfo=UTC)
DAY = timedelta(days=1)
DEFAULTS = MemorySettings()


def record(id: str, text: str, age: int = 0, user_id: str = "ada", **fields: object) -> Record:
    """Return a live record of so many days ago."""
    return Record(id, text, user_id, to_text(NOW - age * DAY), **{"trust": "verified", **fields})


def events(count: int, **fields: object) -> list[Record]:
    """Return old events of one session."""
    texts = ("Ada saw a heron", "The train was late", "Bob brought cake", "It rained all day", "A window broke")
    more = {"session_id": "s", "type": "event", **fields}
    return [record(f"e{place}", text, 90 - place, **more) for place, text in enumerate(texts[:count])]


def test_nothing_to_do_is_an_empty_plan() -> None:
    """An empty store and single facts need no consolidation."""
    assert not planned([], {}, DEFAULTS, NOW)
    assert not planned([record("1", "Ada likes tea"), record("2", "Ada lives in Paris")], {}, DEFAULTS, NOW)


def test_near_duplicates_are_merged_and_differing_facts_are_not() -> None:
    """Spelling makes no difference, a number, a name, a negation or a user does."""
    same = [record("1", "Ada prefers espresso."), record("2", "ada prefers  ESPRESSO")]
    others = [
        record("3", "Ada does not prefer espresso"),
        record("4", "Ada prefers espresso", type="preference"),
        record("5", "Ada prefers espresso", user_id="bob"),
        record("6", "Ada prefers espresso", valid_until="2027-01-01"),
        record("7", "Ada prefers espresso", scope="shared"),
    ]

    plan = planned([*same, *others], {}, DEFAULTS, NOW)

    assert [{item.id for item in group} for group in plan.merges] == [{"1", "2"}]
    assert plan._replace(merges=()) == ((), (), (), ())


def test_a_doubtful_repetition_gives_way_and_takes_no_trust_with_it() -> None:
    """A candidate that repeats a verified record is dropped for it; the verified one stays as it is."""
    plan = planned(
        [record("1", "Ada prefers espresso"), record("2", "Ada prefers espresso", trust="candidate")], {}, DEFAULTS, NOW
    )

    assert not plan.merges
    assert [(drop.record.id, drop.repeats) for drop in plan.dropped] == [("2", "1")]


def test_what_is_expired_is_dropped_and_nothing_else_is_made_of_it() -> None:
    """A record is named by one reason only."""
    plan = planned(
        [record("1", "a", valid_until="2026-11-20"), record("2", "a", valid_until="2026-11-20")], {}, DEFAULTS, NOW
    )

    assert [drop.reason for drop in plan.dropped] == ["expired on 2026-11-20"] * 2
    assert not plan.merges


def test_old_events_of_a_session_become_one_summary_that_names_them() -> None:
    """It holds what each says with its date, and the least of their confidence."""
    told = events(3, confidence=0.8)

    (episode,) = planned(told, {}, DEFAULTS, NOW).episodes

    assert episode.draft.extra["summarises"] == ["e0", "e1", "e2"]
    assert (episode.draft.type, episode.draft.confidence, episode.draft.importance) == ("summary", 0.8, 0.5)
    assert episode.draft.text.splitlines()[1:] == [f"- {item.created_at[:10]} {item.text}" for item in told]


@pytest.mark.parametrize(
    "fields",
    [
        {"importance": 0.6},
        {"type": "fact"},
        {"tags": ("failed",)},
        {"valid_until": "2027-01-01"},
        {"session_id": None},
        {"confidence": 0.6},
    ],
)
def test_what_matters_is_not_told_in_passing(fields: dict[str, object]) -> None:
    """Important things, facts, failures, what has a date, what belongs to no topic, and what is unsure stay."""
    assert not planned(events(3, **fields), {}, DEFAULTS, NOW).episodes


def test_young_and_few_events_stay() -> None:
    """Two are no episode, and neither are those of this month."""
    assert not planned(events(2), {}, DEFAULTS, NOW).episodes
    assert not planned(events(5), {}, DEFAULTS, NOW - 60 * DAY).episodes


def test_a_barred_sentence_is_told_by_no_summary() -> None:
    """A rejected value comes back neither as a parent nor in better words."""
    plan = planned(events(4), {}, DEFAULTS, NOW, barred=lambda user, text: "heron" in text)
    retold = planned(events(3), {}, DEFAULTS, NOW, barred=lambda user, text: "cake" in text and "late" not in text,
                     tell=lambda records: "There was cake.\nIt was late.")  # fmt: skip

    assert plan.episodes[0].draft.extra["summarises"] == ["e1", "e2", "e3"]
    assert "heron" not in plan.episodes[0].draft.text
    assert retold.episodes == ()


def core_of(*edits: tuple[int, str]) -> CoreState:
    """Return the human section with what each edit of so many days ago made it say."""
    history = [
        {"section": "human", "text": text, "at": to_text(NOW - age * DAY), "actor": "person", "trust": "verified"}
        for age, text in edits
    ]
    return CoreState({"human": edits[-1][1]}, history)


def test_aged_core_entries_move_and_leave_an_excerpt() -> None:
    """The section has room again; young entries stay whole, and what moved is kept word by word."""
    limits = DEFAULTS._replace(context=ContextSettings(core_section_limit=200))
    old = "\n".join(f"Ada once told about her trip number {number}." for number in range(4))
    core = core_of((90, old), (1, f"{old}\nAda moved."))

    (compression,) = planned([], {("ada", None): core}, limits, NOW).compressions

    lines = compression.text.splitlines()
    assert lines[0].startswith(EARLIER) and lines[-1] == "Ada moved."
    assert len(compression.text) < 160
    assert [draft.text for draft in compression.moved] == old.splitlines()[: len(compression.moved)]


def test_an_entry_that_moves_becomes_a_record_a_fact() -> None:
    """What one line of the core told of several things, the archive keeps apart."""
    limits = DEFAULTS._replace(context=ContextSettings(core_section_limit=120))
    line = (
        "Ada lives in Lisbon and works as a nurse at the Hospital of Saint Mary by the river Tejo, near the old bridge"
    )

    (compression,) = planned([], {("ada", None): core_of((90, line))}, limits, NOW).compressions

    assert [draft.text for draft in compression.moved] == [
        "Ada lives in Lisbon",
        line.replace("lives in Lisbon and ", ""),
    ]


def test_a_core_section_with_room_or_only_young_entries_stays() -> None:
    """Age alone moves nothing, and neither does length."""
    limits = DEFAULTS._replace(context=ContextSettings(core_section_limit=200))

    assert not planned([], {("ada", None): core_of((90, "Ada moved."))}, limits, NOW)
    assert not planned([], {("ada", None): core_of((1, "Ada moved. " * 17))}, limits, NOW)


def filled() -> ArchivalStore:
    """Return a store in memory with something of everything."""
    store = ArchivalStore(
        clock=lambda: NOW, settings=DEFAULTS._replace(context=ContextSettings(core_section_limit=200))
    )
    old = {"created_at": to_text(NOW - 90 * DAY), "session_id": "s"}
    for item in events(3):
        store.offer(Draft(item.text, type="event", extra=old), Origin("import", "ada"))
    store.offer(Draft("Ada stays in Rome", valid_until="2026-11-01"), Origin("person", "ada"))
    return store


def test_carried_out_a_plan_leaves_nothing_to_plan() -> None:
    """The summary is live with the trust of the least parent, the parents are superseded by it."""
    store = filled()

    done = store.consolidate(store.consolidation(), note="c0ffee")

    (summary,) = (item for item in store.records(user_id="ada") if item.type == "summary")
    assert done.added == (summary.id,)
    assert (summary.trust, summary.actor, summary.source) == ("candidate", "program", "merged")
    assert summary.extra["consolidated"] == "c0ffee"
    assert {store.get(id).status for id in done.superseded} == {"superseded"}
    assert [store.get(drop.record.id).status for drop in done.dropped] == ["retired"]
    assert not store.consolidation()


def test_a_consolidation_survives_a_rebuild() -> None:
    """What the index says after it is what the lines say."""
    store = filled()
    store.consolidate(store.consolidation())
    before = [(item, store.get(item.id)) for item in store.records(user_id="ada", status=None)]

    store.rebuild()

    assert before == [(item, store.get(item.id)) for item in store.records(user_id="ada", status=None)]


WORDS = ("ada", "likes", "tea", "coffee", "not", "always", "paris", "7", "harbour", "evening")
RECORDS = st.lists(
    st.builds(
        lambda words, user, kind, trust, session, age, until: record(
            "", " ".join(words), age, user, type=kind, trust=trust, session_id=session, valid_until=until
        ),
        st.lists(st.sampled_from(WORDS), min_size=1, max_size=6),
        st.sampled_from(["ada", "bob"]),
        st.sampled_from(["fact", "event"]),
        st.sampled_from(["candidate", "verified"]),
        st.sampled_from([None, "s"]),
        st.sampled_from([0, 90]),
        st.sampled_from([None, "2026-11-20"]),
    ),
    max_size=14,
).map(lambda found: [item._replace(id=f"{place:02}") for place, item in enumerate(found)])


@given(RECORDS)
@settings(max_examples=150, deadline=None)
def test_a_plan_names_every_record_once_and_never_mixes_users(records: list[Record]) -> None:
    """Parents say nearly the same, of one user, type and scope; what is made of them is grounded in them."""
    plan = planned(records, {}, DEFAULTS, NOW)

    named = Counter(drop.record.id for drop in plan.dropped)
    named.update(item.id for group in plan.merges for item in group)
    named.update(item.id for episode in plan.episodes for item in episode.parents)
    assert all(count == 1 for count in named.values())
    for group in plan.merges:
        assert len({(item.user_id, item.type, item.scope, item.trust) for item in group}) == 1
        assert all(likeness(group[0].text, item.text) >= DEFAULTS.write.duplicate_at for item in group)
    for episode in plan.episodes:
        assert len({(item.user_id, item.scope, item.session_id) for item in episode.parents}) == 1
    for drop in plan.dropped:
        assert drop.repeats or drop.record.valid_until == "2026-11-20"


@given(RECORDS)
@settings(max_examples=100, deadline=None)
def test_blocking_by_words_misses_no_duplicate(records: list[Record]) -> None:
    """No two fullest records of different groups say the same: comparing every pair would find nothing more."""
    groups = duplicate_groups(records, 0.9)

    grouped = {item.id for group in groups for item in group[1:]}
    left = [item for item in records if item.id not in grouped]
    kind = ("user_id", "type", "scope", "valid_from", "valid_until")
    for place, one in enumerate(left):
        for other in left[place + 1 :]:
            if all(getattr(one, key) == getattr(other, key) for key in kind):
                assert likeness(one.text, other.text) < 0.9


@given(RECORDS)
@settings(max_examples=100, deadline=None)
def test_looking_at_few_texts_at_once_finds_the_same_groups(records: list[Record]) -> None:
    """Of a long memory some words are looked up after the others, and texts are put in order in parts."""
    groups = [[item.id for item in group] for group in duplicate_groups(records, 0.9)]
    with patch.multiple(duplicates, PREFIXES_AT_ONCE=2, SORTED_AT_ONCE=3):
        in_parts = [[item.id for item in group] for group in duplicate_groups(records, 0.9)]

    assert in_parts == groups


@given(RECORDS)
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_running_it_on_its_result_plans_nothing_new(records: list[Record]) -> None:
    """Consolidation is done after one run, whatever it found; what the gate refuses stays refused."""
    from open_gate import OpenGate

    with ArchivalStore(clock=lambda: NOW, gate=OpenGate()) as store:
        for item in records:
            extra = {"created_at": item.created_at, "wanted_trust": item.trust}
            if item.session_id:
                extra["session_id"] = item.session_id
            draft = Draft(item.text, type=item.type, valid_until=item.valid_until, extra=extra)
            store.offer(draft, Origin("import", item.user_id))

        store.consolidate(store.consolidation())

        assert not store.consolidation()


def test_a_core_section_gets_room_and_loses_no_word() -> None:
    """Its aged entries are records now, an excerpt stays in the prompt, and a second run finds nothing to do."""
    moments = [NOW - 90 * DAY]
    limits = DEFAULTS._replace(context=ContextSettings(core_section_limit=300))
    store = ArchivalStore(clock=lambda: moments[-1], settings=limits)
    names = ("Rome", "Paris", "Oslo", "Lima", "Cairo", "Quito", "Delhi")
    entries = [f"Ada told of her long journey to {name}." for name in names]
    store.edit_core("ada", "human", "\n".join(entries), Origin("person", "ada"))
    moments.append(NOW)

    done = store.consolidate(store.consolidation())

    section = store.core_sections("ada")["human"]
    archived = {item.text for item in store.records(user_id="ada")}
    assert done.archived and len(section) < 0.8 * 300
    assert section.startswith(EARLIER)
    assert all(entry in archived or entry in section.splitlines() for entry in entries)
    assert store.core_history("ada")[-1]["actor"] == "program"
    assert not store.consolidation()


def test_a_core_section_stays_when_the_gate_refuses_an_entry() -> None:
    """Nothing moves by halves: an entry that may not become a record stays where it is, and so do the others."""
    limits = DEFAULTS._replace(context=ContextSettings(core_section_limit=200))
    store = ArchivalStore(clock=lambda: NOW, settings=limits)
    refused = store.offer(Draft("Ada once told about her trip number 1."), Origin("person", "ada"))
    store.mark("reject", str(refused.id), Origin("person", "ada"))
    old = "\n".join(f"Ada once told about her trip number {number}." for number in range(5))
    plan = planned([], {("ada", None): core_of((90, old))}, limits, NOW)

    done = store.consolidate(plan)

    assert (done.archived, done.compressed, len(done.refused)) == ((), (), 1)
    assert store.records(user_id="ada") == []


def lines_of_two_branches() -> list[dict[str, object]]:
    """Return two consolidations that share a parent, and a person who rejects one of the other's."""
    made = {"user_id": "ada", "created_at": to_text(NOW), "type": "event", "trust": "verified", "actor": "person"}
    parents = [{**made, "id": id, "text": f"statement {id}"} for id in ("p1", "p2", "p3")]
    summaries = [
        {**made, "id": id, "text": f"summary {id}", "actor": "program", "consolidated": "c", "summarises": list(ids)}
        for id, ids in (("s1", ("p1", "p2")), ("s2", ("p2", "p3")))
    ]
    said = {"user_id": "ada", "op": "supersede", "actor": "program"}
    events = [
        {**said, "id": f"{one['id']}{target}", "target": target, "at": to_text(NOW), "fields": {"by": one["id"]}}
        for one in summaries
        for target in one["summarises"]
    ]
    rejected = {**said, "id": "e", "op": "reject", "target": "p1", "at": to_text(NOW + DAY), "actor": "person"}
    return [*parents, *summaries, *events, rejected]


@given(st.permutations(lines_of_two_branches()))
@settings(max_examples=30, deadline=None)
def test_lines_of_branches_give_one_state_in_any_order(lines: list[dict[str, object]]) -> None:
    """The older summary was overtaken by the rejection, so the younger one stands, however the lines arrive."""
    with tempfile.TemporaryDirectory() as folder, ArchivalStore(folder, clock=lambda: NOW) as store:
        for number, line in enumerate(lines):
            path = Path(folder) / "archive" / "2026-11" / f"w{chr(97 + number)}.jsonl"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(encode_line(line))
            store.refresh()
            store.records(user_id="ada")

        state = {id: store.get(id).status for id in ("p1", "p2", "p3", "s1", "s2")}

        assert state == {
            "p1": "rejected", "p2": "superseded", "p3": "superseded", "s1": "quarantined", "s2": "live"
        }  # fmt: skip
