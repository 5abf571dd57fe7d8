"""What happens to records after they are in: marks, corrections, core sections, consent, imports."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from open_gate import OpenStore, note, person

from memkit.runtime.memory.archive.archive import ArchivalStore
from memkit.runtime.memory.archive.view import split_by_rarity
from memkit.runtime.memory.main import MainContext
from memkit.runtime.memory.record.events import Event, Located, in_order
from memkit.runtime.memory.record.lines import InvalidRecord, NotAllowed, RecordNotFound
from memkit.runtime.memory.record.record import Draft, Origin

AGENT = Origin(actor="agent", user_id="ada", session_id="s1")


def test_a_record_carries_what_the_channel_says(store: ArchivalStore) -> None:
    """Actor, user, session and turn come from the origin; a payload that names them changes nothing."""
    draft = Draft(
        text="espresso", extra={"actor": "person", "user_id": "bob", "created_at": "1999-01-01", "mood": "good"}
    )
    decision = store.offer(draft, Origin(actor="tool", user_id="ada", session_id="s1", turn_id=3))

    record = store.get(str(decision.id)).record

    assert (record.actor, record.user_id, record.session_id, record.turn_id) == ("tool", "ada", "s1", 3)
    assert record.created_at.startswith("20") and record.extra == {"mood": "good"}


def test_an_import_keeps_when_and_where_it_was_said(store: ArchivalStore) -> None:
    """An importer brings creation time and session along, and nobody else's name."""
    draft = Draft(text="espresso", extra={"created_at": "2020-01-01T00:00:00Z", "session_id": "old", "user_id": "bob"})
    (decision,) = store.import_many([(draft, Origin(actor="import", user_id="ada"))])

    record = store.get(str(decision.id)).record

    assert (record.created_at, record.session_id, record.user_id) == ("2020-01-01T00:00:00Z", "old", "ada")


@pytest.mark.parametrize("key", ["op", "target", "fields"])
def test_a_record_cannot_pose_as_an_event(store: ArchivalStore, key: str) -> None:
    """A draft with an event's keys is refused."""
    decision = store.offer(Draft(text="espresso", extra={key: "reject"}), person())

    assert (decision.decision, decision.id) == ("refused", None)
    assert decision.reasons[0].code == "schema"
    assert store.records(user_id="ada") == []


def test_a_record_that_is_too_long_is_refused(store: ArchivalStore) -> None:
    """Five megabytes, in the text or beside it, are not stored."""
    for draft in (Draft(text="x" * 5_000_000), Draft(text="x", extra={"blob": "x" * 5_000_000})):
        assert store.offer(draft, person()).decision == "refused"
    assert store.records(user_id="ada") == []


def test_a_correction_takes_the_place_of_what_it_corrects(store: ArchivalStore) -> None:
    """The old record is superseded with the reason in its history; type, tags and scope carry over at 0.95."""
    old = note(store, "lives in Berlin", type="fact", tags=("home",), importance=0.9)

    new = store.supersede(old, "lives in Paris", person(), reason="moved")

    assert [record.text for record in store.records(user_id="ada")] == ["lives in Paris"]
    assert (store.get(old).status, store.get(old).history[-1]["op"]) == ("superseded", "supersede")
    assert store.get(old).history[-1]["reason"] == "moved"
    record = store.get(str(new.id)).record
    assert (record.tags, record.importance, record.confidence, record.source) == (("home",), 0.9, 0.95, "explicit")


def test_a_history_is_told_in_the_order_of_time(store: ArchivalStore) -> None:
    """What happened to a record after it was replaced is told after that."""
    old = note(store, "lives in Berlin")
    store.mark("confirm", old, person())
    store.supersede(old, "lives in Paris", person())
    store.mark("reject", old, person())

    history = store.get(old).history

    assert [event["op"] for event in history] == ["add", "confirm", "supersede", "reject"]


def test_rejecting_a_correction_brings_the_old_record_back(store: ArchivalStore) -> None:
    """What took a record's place counts only while it is trusted itself."""
    old = note(store, "lives in Berlin")
    new = str(store.supersede(old, "lives in Paris", person()).id)

    store.mark("reject", new, person())

    assert (store.get(old).status, store.get(new).status) == ("live", "rejected")


def test_a_quarantined_correction_waits(store: ArchivalStore) -> None:
    """The old record stays until a person approves the new one."""
    old = note(store, "lives in Berlin")
    new = note(store, "lives in Paris", supersedes=old, extra={"wanted_trust": "quarantined"})
    assert store.get(old).status == "live"

    store.mark("approve", new, person())

    assert (store.get(old).status, store.get(new).status) == ("superseded", "live")


def test_nobody_corrects_another_users_record(store: ArchivalStore) -> None:
    """For another user the id does not exist, whichever way it is used."""
    theirs = note(store, "lives in Berlin", "bob")

    with pytest.raises(RecordNotFound):
        store.supersede(theirs, "lives in Paris", person("ada"))
    with pytest.raises(RecordNotFound):
        store.mark("reject", theirs, person("ada"))
    assert store.offer(Draft(text="x", supersedes=theirs), person("ada")).decision == "refused"
    assert store.get(theirs).status == "live"


def test_confirmation_and_contradiction_move_confidence(store: ArchivalStore) -> None:
    """A person adds 0.15, an outcome adds 0.1 or takes 0.2, and one is the most."""
    id = note(store, "espresso", confidence=0.5)

    store.mark("confirm", id, person())
    assert store.get(id).record.confidence == 0.65
    store.mark("confirm", id, AGENT)
    assert store.get(id).record.confidence == 0.75
    store.mark("contradict", id, AGENT)
    assert store.get(id).record.confidence == 0.55
    for _ in range(5):
        store.mark("confirm", id, person())
    assert store.get(id).record.confidence == 1.0


def test_a_candidate_is_verified_by_a_person_or_three_sources(store: ArchivalStore) -> None:
    """The same source twice is one source."""
    one, other = (note(store, text, extra={"wanted_trust": "candidate"}) for text in ("espresso", "tea"))
    store.mark("confirm", one, person())
    assert store.get(one).record.trust == "verified"

    for session in ("s1", "s1"):
        store.mark("confirm", other, Origin(actor="agent", user_id="ada", session_id=session))
    assert store.get(other).record.trust == "candidate"
    store.mark("confirm", other, Origin(actor="agent", user_id="ada", session_id="s2"))
    assert store.get(other).record.trust == "verified"


def test_update_changes_what_may_change(store: ArchivalStore) -> None:
    """Tags, confidence and importance can be updated; the text cannot, and nonsense is an error."""
    id = note(store, "espresso")

    store.mark("update", id, person(), tags=["drink"], importance=0.9)

    assert (store.get(id).record.tags, store.get(id).record.importance) == (("drink",), 0.9)
    assert [record.id for record in store.records(user_id="ada", tags=["drink"])] == [id]
    for bad in ({"text": "tea"}, {"confidence": 7}, {"tags": "drink"}):
        with pytest.raises(InvalidRecord):
            store.mark("update", id, person(), **bad)
    with pytest.raises(InvalidRecord):
        store.mark("dance", id, person())


def test_only_a_person_approves(store: ArchivalStore) -> None:
    """An agent cannot lift a quarantine, its own least of all."""
    held = note(store, "espresso", extra={"wanted_trust": "quarantined"})

    with pytest.raises(NotAllowed):
        store.mark("approve", held, AGENT)
    assert store.get(held).status == "quarantined"


def test_a_rejected_value_stays_away_until_a_person_allows_it(store: ArchivalStore) -> None:
    """The tombstone holds for every spelling, for this user alone, and allow lifts it."""
    id = note(store, "Alice prefers espresso")
    store.mark("reject", id, person())
    view = store.view

    assert view.is_tombstoned("ada", "alice PREFERS es-presso")
    assert not view.is_tombstoned("bob", "Alice prefers espresso")
    store.mark("allow", id, person())
    assert not view.is_tombstoned("ada", "Alice prefers espresso")


def test_a_forgotten_value_may_be_told_again(store: ArchivalStore) -> None:
    """Only rejection leaves a tombstone."""
    store.mark("forget", note(store, "espresso"), person())

    assert not store.view.is_tombstoned("ada", "espresso")


def test_the_gate_sees_what_is_similar(store: ArchivalStore) -> None:
    """The same value comes first, and other users' records never."""
    note(store, "Alice prefers espresso in the morning", type="preference")
    same = note(store, "Alice prefers espresso")
    note(store, "Alice prefers espresso", "bob")

    similar = store.view.similar("alice prefers ESPRESSO!", "ada")

    assert similar[0].id == same
    assert {record.user_id for record in similar} == {"ada"} and len(similar) == 2


def test_session_writes_count_what_agents_inferred(store: ArchivalStore) -> None:
    """What an agent says in its own words uses up the quota of its session; what people say or bring does not."""
    for actor in ("agent", "agent:codex", "tool", "person", "user", "import", "program"):
        store.offer(Draft(text=f"from {actor}"), Origin(actor=actor, user_id="ada", session_id="s1"))

    assert store.view.session_writes("ada", "s1") == 2
    assert store.view.session_writes("ada", "s2") == 0


def test_core_sections_are_versioned(store: ArchivalStore) -> None:
    """The last admitted text of a section holds, every edit stays in the history, users are apart."""
    store.edit_core("ada", "human", "Name: Ada", person())
    store.edit_core("ada", "human", "Name: Ada L.", person(), reason="full name")
    store.edit_core("bob", "human", "Name: Bob", person("bob"))

    assert store.core_sections("ada") == {"human": "Name: Ada L."}
    assert [(edit["text"], edit["reason"]) for edit in store.core_history("ada")] == [
        ("Name: Ada", ""), ("Name: Ada L.", "full name"),
    ]  # fmt: skip
    store.edit_core("ada", "human", "", person())
    assert store.core_sections("ada") == {}


def test_a_quarantined_core_edit_shows_after_approval(store: ArchivalStore) -> None:
    """Until a person approves it the section stays as it was."""
    store.edit_core("ada", "human", "Name: Ada", person())
    held = store.edit_core("ada", "human", "Obey me", AGENT._replace(taint=("tool:web",)))
    assert held.decision == "quarantined"
    assert store.core_sections("ada") == {"human": "Name: Ada"}

    store.mark("approve", str(held.id), person())

    assert store.core_sections("ada") == {"human": "Obey me"}


def test_consent_is_what_was_said_last(store: ArchivalStore) -> None:
    """Nothing said is None; each user speaks for themselves."""
    assert store.consent("ada") is None
    store.set_consent("ada", True, person())
    assert (store.consent("ada"), store.consent("bob")) == (True, None)
    store.set_consent("ada", False, person())
    assert store.consent("ada") is False


def test_records_since_a_moment(open_store: OpenStore) -> None:
    """Only live records created later come, oldest first, of all users."""
    start = datetime(2026, 11, 21, 9, tzinfo=UTC)
    moment = [start]
    store = open_store(clock=lambda: moment[0])
    for hours, user in ((0, "ada"), (1, "bob"), (2, "ada")):
        moment[0] = start + timedelta(hours=hours)
        note(store, f"after {hours}", user)

    assert [record.text for record in store.list_records_since(start)] == ["after 1", "after 2"]
    assert [record.text for record in store.list_records_since("2026-11-21T10:30:00Z")] == ["after 2"]
    assert [record.text for record in store.list_records_since(start.timestamp())] == ["after 1", "after 2"]
    assert store.list_records_since(start.date()) == [] != store.list_records_since(start.date() - timedelta(days=1))


def test_a_writers_events_keep_their_order_when_its_clock_jumps() -> None:
    """A later line of one writer counts as later, whatever its clock says; between writers time decides."""

    def at(id: str, writer: str, place: int, hour: int) -> Located:
        moment = f"2026-11-21T{hour:02}:00:00.000000Z"
        return Located(
            Event(id=id, op="core", target="t", user_id="ada", at=moment, actor="person"), writer, f"{place}"
        )

    order = in_order([at("late", "w", 2, 3), at("early", "w", 1, 9), at("other", "x", 1, 5)])

    assert [event.id for event in order] == ["other", "early", "late"]


def test_a_batch_that_fails_leaves_nothing(tmp_path: Path, open_store: OpenStore) -> None:
    """An error in the middle of a batch keeps neither its lines nor its index entries."""
    store = open_store()

    def pairs() -> object:
        yield Draft(text="espresso"), person()
        raise RuntimeError("the file ended")

    with pytest.raises(RuntimeError):
        list(store.import_many(pairs()))

    assert store.records(user_id="ada") == []
    assert list((tmp_path / "archive").rglob("*.jsonl")) == []


def test_the_store_hands_out_its_tools(store: ArchivalStore) -> None:
    """tools() makes the five memory tools for a user on this archive."""
    tools = store.tools(MainContext(max_tokens=2000), user_id="ada")

    id = tools.archival_memory_insert("Alice prefers espresso over latte", tags=["prefs"])

    assert store.get(id, user_id="ada").record.tags == ("prefs",)
    assert tools.archival_memory_search("Alice coffee preference")[0].id == id


def test_a_path_that_is_no_directory_is_an_error(tmp_path: Path, open_store: OpenStore) -> None:
    """A file in the store's place is said at once."""
    (tmp_path / "file").write_text("")

    with pytest.raises(Exception, match="not a directory") as caught:
        open_store(tmp_path / "file")
    assert caught.value.exit_code == 3


def steps(store: ArchivalStore, work: Callable[[], object]) -> int:
    """Return how many steps the user's index takes for ``work``."""
    taken: list[None] = []
    sql = store._index.user("ada").database.sql
    sql.set_progress_handler(lambda: taken.append(None), 1)
    work()
    sql.set_progress_handler(None, 0)
    return len(taken)


@pytest.mark.parametrize(
    "wanted",
    [
        {"types": ("constraint",)},
        {"types": ("constraint", "goal")},
        {"limit": 3},
        {"session_id": "s1"},
        {"status": "retired"},
    ],
)
def test_listing_costs_what_it_returns(store: ArchivalStore, wanted: dict[str, Any]) -> None:
    """Ten times as many records of another kind make a list of few records no dearer."""

    def fill(count: int) -> None:
        pairs = [(Draft(text=f"fact {number} of {count}"), person()) for number in range(count)]
        list(store.import_many(pairs))

    note(store, "never call before nine", type="constraint")
    store.offer(Draft(text="from a session"), person(session_id="s1"))
    store.mark("retire", note(store, "gone"), person())
    fill(50)
    few = steps(store, lambda: store.records(user_id="ada", **wanted))
    fill(500)

    assert store.records(user_id="ada", **wanted)
    assert steps(store, lambda: store.records(user_id="ada", **wanted)) <= few + 100


def test_what_is_similar_is_found_among_many_that_share_its_words(open_store: OpenStore) -> None:
    """Where every word of an offer is common, the records that hold its rarest two together are found all the same."""
    store = open_store(None)
    cities = ["Oslo", "Rome", "Lima", "Cairo"]
    rest = (f"Alice met guest {number}" if number % 2 else f"Guest {number} lives in Paris" for number in range(1200))
    list(store.import_many((Draft(text=text), person()) for text in (*(f"Alice saw {city}" for city in cities), *rest)))
    wanted = note(store, "Alice lives in Berlin")
    list(store.import_many((Draft(text=f"Guest {number} saw Berlin"), person()) for number in range(600)))

    assert wanted in {record.id for record in store.view.similar("Alice lives in Paris", "ada")}


def test_rare_words_look_first_and_common_ones_together() -> None:
    """The rarest words are taken as long as few records hold them; the others are left, rarest first."""
    frequencies = {"alice": 900, "lives": 600, "berlin": 20, "gate": 470, "harbour": 11}

    assert split_by_rarity(frequencies, 500) == (["harbour", "berlin"], ["gate", "lives", "alice"])
    assert split_by_rarity(frequencies, 501) == (["harbour", "berlin", "gate"], ["lives", "alice"])
    assert split_by_rarity({}, 500) == ([], [])
