"""Taking back a session or a source: after it nothing that is live depends on it, and what it replaced is back."""

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from open_gate import OpenGate, OpenStore, note, person

from memkit.runtime.memory.archive.archive import ArchivalStore
from memkit.runtime.memory.lifecycle.consolidation import ConsolidationPlan, Dropped
from memkit.runtime.memory.lifecycle.revocation import RevokedSource
from memkit.runtime.memory.record.lines import NotAllowed
from memkit.runtime.memory.record.record import Draft, Origin

S1, URL = RevokedSource(session_id="s1"), "https://example.org/page"
AGENT = Origin(actor="agent", user_id="ada", session_id="s1")


@pytest.fixture
def store() -> ArchivalStore:
    """Give an empty archive with the write gate that ships."""
    return ArchivalStore()


def told(store: ArchivalStore, text: str, origin: Origin = AGENT, **more: object) -> str:
    """Store a fact and return its id."""
    id = store.offer(Draft(text, **more), origin).id
    assert id is not None
    return id


def status(store: ArchivalStore, *ids: str | None) -> list[str]:
    """Return the status of every record."""
    return [store.get(str(id)).status for id in ids]


def test_what_a_session_wrote_goes_and_may_be_told_again(store: ArchivalStore) -> None:
    """Its records are retired without a tombstone; those of other sessions stay."""
    theirs = told(store, "Ada owns a red bicycle")
    other = told(store, "Ada sings in a choir", AGENT._replace(session_id="s2"))

    taken = store.revoke(S1, person())

    assert [record.id for record in taken.records] == [theirs]
    assert status(store, theirs, other) == ["retired", "live"]
    assert store.get(theirs).history[-1]["reason"] == "revoked: session s1"
    assert store.offer(Draft("Ada owns a red bicycle"), person()).decision == "admitted"


def test_what_was_made_of_it_goes_and_what_it_replaced_returns(store: ArchivalStore) -> None:
    """Successors and merges of a session's record fall with it, however far; their other parents live again."""
    old = told(store, "Ada lives in Berlin", person())
    wrong = store.supersede(old, "Ada lives in Paris", AGENT).id
    later = store.supersede(str(wrong), "Ada lives in Paris since May", AGENT._replace(session_id="s2")).id
    choir = told(store, "Ada sings in a choir", person())
    merged = store.merge([str(later), choir], person()).id

    found = store.revocation(S1)
    taken = store.revoke(S1, person())

    assert found == taken
    assert {record.id for record in taken.records} == {wrong, later, merged}
    assert set(taken.revived) == {old, choir}
    assert status(store, old, wrong, later, choir, merged) == ["live", "retired", "retired", "live", "retired"]
    assert store.revocation(S1) == ((), (), (), ())


def test_evidence_of_the_source_no_longer_counts(store: ArchivalStore) -> None:
    """Confidence and trust fall back to what the others said; the history shows both."""
    id = told(store, "Ada owns a red bicycle", AGENT._replace(session_id="s0"), confidence=0.75)
    for session in ("s1", "s2"):
        told(store, "Ada owns a red bicycle", AGENT._replace(session_id=session), confidence=0.9)
    before = store.get(id)

    store.revoke(S1, person())

    after = store.get(id)
    assert (before.record.trust, after.record.trust) == ("verified", "candidate")
    assert (before.record.confidence, after.record.confidence) == (0.9, 0.9)
    assert [event["op"] for event in after.history] == ["add", "evidence", "evidence", "revoke"]
    store.revoke(RevokedSource(session_id="s2"), person())
    assert store.get(id).record.confidence == 0.75


def test_a_page_takes_its_evidence_and_its_records_along(store: ArchivalStore) -> None:
    """A source is a link as well as a session."""
    tool = Origin(actor="tool", user_id="ada", taint=())
    own = told(store, "The library opens at nine", tool, source_url=URL)
    kept = told(store, "Ada owns a red bicycle", person())
    told(store, "Ada owns a red bicycle", tool, source_url=URL, confidence=1.0)

    taken = store.revoke(RevokedSource(source_url=URL), person())

    assert [record.id for record in taken.records] == [own]
    assert [event.target for event in taken.marks] == [kept]


def test_core_memory_returns_to_the_version_before(store: ArchivalStore) -> None:
    """An edit of the session goes, and one that still holds its lines; a person's correction of them stays."""
    ada = person()
    store.edit_core("ada", "human", "Name: Ada", ada)
    store.edit_core("ada", "human", "Name: Ada\nOwns a yacht", ada._replace(session_id="s1"))
    store.edit_core("ada", "human", "Name: Ada\nOwns a yacht\nLikes tea", ada)
    store.edit_core("ada", "system", "Speak French", ada._replace(session_id="s1"))
    store.edit_core("ada", "system", "Speak German", ada)

    taken = store.revoke(S1, person())

    assert len(taken.core) == 3
    assert store.core_sections("ada") == {"human": "Name: Ada", "system": "Speak German"}


def test_core_memory_that_a_program_took_from_the_record_goes(store: ArchivalStore) -> None:
    """A promoted record that is revoked leaves no copy in the prompt."""
    store.edit_core("ada", "human", "Name: Ada", person())
    told(store, "Ada drives a red car", AGENT._replace(user_text="I drive a red car."))
    store.edit_core(
        "ada", "human", "Name: Ada\nAda drives a red car", Origin(actor="agent", user_id="ada", user_text="")
    )
    assert "red car" in store.core_sections("ada")["human"]

    store.revoke(S1, person())

    assert store.core_sections("ada") == {"human": "Name: Ada"}


def test_what_the_user_took_away_stays_away(store: ArchivalStore) -> None:
    """Revoking a session brings back neither what was forgotten in it nor what was rejected, nor its consent."""
    forgotten, rejected = told(store, "Ada owns a yacht", person()), told(store, "Ada sings in a choir", person())
    store.mark("forget", forgotten, person(session_id="s1"))
    store.mark("reject", rejected, person(session_id="s1"))
    store.set_consent("ada", False, person(session_id="s1"))

    store.revoke(S1, person())

    assert status(store, forgotten, rejected) == ["retired", "rejected"]
    assert store.consent("ada") is False


def test_only_a_person_takes_back_and_only_from_whom_they_name(store: ArchivalStore) -> None:
    """An agent may not; with a user named, what another one has of the same session stays."""
    mine, theirs = told(store, "Ada owns a yacht"), told(store, "Bob owns a yacht", AGENT._replace(user_id="bob"))

    with pytest.raises(NotAllowed):
        store.revoke(S1, AGENT)
    store.revoke(S1, person(), user_id="ada")

    assert status(store, mine, theirs) == ["retired", "live"]
    store.revoke(S1, person("everybody"))
    assert status(store, theirs) == ["retired"]


def test_forgetting_a_successor_revives_nothing(store: ArchivalStore) -> None:
    """Only taking it back does: who forgets the new value does not say that the old one is true."""
    old = told(store, "Ada lives in Berlin", person())
    new = store.supersede(old, "Ada lives in Paris", person()).id

    store.mark("forget", str(new), person())
    assert status(store, old, new) == ["superseded", "retired"]
    store.mark("revoke", str(new), person())
    assert status(store, old, new) == ["live", "retired"]
    store.mark("restore", str(new), person())
    assert status(store, old, new) == ["superseded", "live"]


def test_a_verdict_may_come_before_what_it_is_about(tmp_path: Path, open_store: OpenStore) -> None:
    """Shards are read in any order: evidence that arrives after its withdrawal never counts."""
    id = note(open_store(), "espresso", confidence=0.5)
    when = {"user_id": "ada", "at": "2026-11-21T10:00:00Z", "actor": "agent"}
    lines = [
        {**when, "id": "e2", "op": "revoke", "target": "e1", "actor": "person"},
        {**when, "id": "e1", "op": "evidence", "target": id, "fields": {"confidence": 1.0}},
    ]
    shard = tmp_path / "archive" / "2026-11" / "foreign.jsonl"
    for line in lines:
        shard.parent.mkdir(exist_ok=True)
        with shard.open("a") as file:
            file.write(json.dumps(line) + "\n")
        open_store().refresh()

    assert open_store().get(id).record.confidence == 0.5


SESSIONS = ["s0", "s1", "s2"]
steps = st.lists(
    st.tuples(
        st.sampled_from(["add", "supersede", "merge", "confirm", "contradict", "forget", "reject", "core"]),
        st.integers(0, 7),
        st.integers(0, 7),
        st.sampled_from(SESSIONS),
    ),
    max_size=25,
)


@given(steps, st.sampled_from(SESSIONS))
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_nothing_live_depends_on_what_was_revoked(
    tmp_path_factory: pytest.TempPathFactory, plan: list[tuple[str, int, int, str]], revoked: str
) -> None:
    """Whatever happened before, no live record has an ancestor in the session, and a rebuilt index agrees."""
    with ArchivalStore(tmp_path_factory.mktemp("store"), gate=OpenGate()) as store:
        ids: list[str] = []
        parents: dict[str, set[str]] = {}
        lines: list[str] = []
        for number, (op, one, other, session) in enumerate(plan):
            origin = person(session_id=session)
            text = f"{session} said number{number}"
            if op == "core":
                lines = [*lines[:one], text]
                store.edit_core("ada", "human", "\n".join(lines), origin)
            elif op == "add" or not ids:
                ids.append(note(store, text, source_url=None) if session == "s0" else told(store, text, origin))
                parents[ids[-1]] = set()
            elif op == "supersede":
                old = ids[one % len(ids)]
                if status(store, old) == ["live"]:
                    ids.append(str(store.supersede(old, text, origin).id))
                    parents[ids[-1]] = {old}
            elif op == "merge":
                pair = [ids[one % len(ids)], ids[other % len(ids)]]
                if status(store, *pair) == ["live", "live"] and len(set(pair)) == 2:
                    ids.append(str(store.merge(pair, origin).id))
                    parents[ids[-1]] = set(pair)
            else:
                store.mark(op, ids[one % len(ids)], origin)

        store.revoke(RevokedSource(session_id=revoked), person())

        def depends(id: str) -> bool:
            return store.get(id).record.session_id == revoked or any(map(depends, parents[id]))

        live = {record.id for record in store.records(user_id="ada")}
        assert not [id for id in live if depends(id)]
        assert not [line for line in store.core_sections("ada").values() if f"{revoked} said" in line]
        assert store.revocation(RevokedSource(session_id=revoked)) == ((), (), (), ())
        before = [store.get(id) for id in ids]
        store.rebuild()
        assert [store.get(id) for id in ids] == before


def test_what_is_past_its_grace_does_not_return_in_place_of_what_goes(open_store: OpenStore) -> None:
    """A session's record that was superseded long ago goes with its successor, and what it had replaced is back."""
    moment = [datetime(2026, 1, 1, tzinfo=UTC)]
    store = open_store(None, clock=lambda: moment[0])
    old = note(store, "Ada lives in Berlin")
    wrong = store.supersede(old, "Ada lives in Paris", person(session_id="s1")).id
    later = store.supersede(str(wrong), "Ada lives in Paris since May", person()).id
    moment[0] += timedelta(days=200)
    assert store.get(str(wrong)) is None

    taken = store.revoke(S1, person())

    assert {record.id for record in taken.records} == {wrong, later}
    assert [record.id for record in store.records(user_id="ada")] == [old]


def test_what_gave_way_to_a_revoked_record_lives_again(store: ArchivalStore) -> None:
    """Also where the other record was there already and knows nothing of what gave way to it."""
    one, other = told(store, "Ada owns a red bicycle", person()), told(store, "Ada cycles to work")
    record = next(record for record in store.records(user_id="ada") if record.id == one)
    store.consolidate(ConsolidationPlan(dropped=(Dropped(record, "the same", other),)))
    assert status(store, one) == ["superseded"]

    taken = store.revoke(S1, person())

    assert taken.revived == (one,)
    assert [record.id for record in store.records(user_id="ada")] == [one]
    assert [hit.id for hit in store.search("red bicycle", user_id="ada").hits] == [one]


def test_a_successor_may_come_after_what_gives_way_to_it(tmp_path: Path, open_store: OpenStore) -> None:
    """A record stays live until the one that an event puts in its place is here."""
    id = note(open_store(), "espresso")
    event = {"id": "e1", "op": "supersede", "target": id, "actor": "program", "fields": {"by": "r2"}}
    record = {"id": "r2", "text": "espresso at nine", "trust": "verified", "created_at": "2026-11-21T09:00:00Z"}
    shard = tmp_path / "archive" / "2026-11" / "foreign.jsonl"
    seen = []
    for line in ({**event, "at": "2026-11-21T10:00:00Z"}, record):
        shard.parent.mkdir(exist_ok=True)
        with shard.open("a") as file:
            file.write(json.dumps({**line, "user_id": "ada"}) + "\n")
        seen.append([record.id for record in open_store().records(user_id="ada")])

    assert seen == [[id], ["r2"]]
