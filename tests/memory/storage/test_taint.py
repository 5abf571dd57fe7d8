"""What an agent writes under taint: it waits, changes nothing that is there, and a person lifts it."""

from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from open_gate import OpenStore, note, person

from memkit.runtime.memory.archive.archive import ArchivalStore
from memkit.runtime.memory.archive.reader import unobserved
from memkit.runtime.memory.log.shards import ShardLog
from memkit.runtime.memory.record.lines import utc_now
from memkit.runtime.memory.record.record import MOST_ORIGINS, Draft, Origin, union

CLEAN = Origin(actor="agent", user_id="ada", session_id="s1", user_text="Good morning!")
TAINTED = CLEAN._replace(taint=("tool:web",), session_id="s2")


@pytest.fixture
def store() -> ArchivalStore:
    """Give an empty archive with the write gate that ships."""
    return ArchivalStore()


def codes(decision: object) -> list[str]:
    """Return the reason codes of a decision."""
    return [reason.code for reason in decision.reasons]


def test_a_clean_turn_writes_candidates_and_a_tainted_one_tainted_ones(store: ArchivalStore) -> None:
    """Both are admitted; only the second carries where it may come from."""
    clean = store.offer(Draft("Ada sails"), CLEAN)
    tainted = store.offer(Draft("Ada owns a yacht"), TAINTED)

    records = [store.get(decision.id).record for decision in (clean, tainted)]
    assert [decision.decision for decision in (clean, tainted)] == ["admitted", "admitted"]
    assert [(record.trust, record.taint) for record in records] == [("candidate", ()), ("candidate", ("tool:web",))]


@pytest.mark.parametrize("actor", ["import", "tool", "mcp:editor"])
def test_who_brings_text_of_others_is_tainted_unless_the_channel_vouches(store: ArchivalStore, actor: str) -> None:
    """A channel that says nothing is not clean; no payload makes it so, and an import's own taint is added."""
    told = Draft("Ada sails", extra={"taint": ["https://a.example"], "parents": ["r0"]})
    silent = store.get(store.offer(told, Origin(actor=actor, user_id="ada")).id).record
    mine = store.get(store.offer(Draft("Ada rows"), Origin(actor=actor, user_id="ada", taint=())).id).record

    brought = ("https://a.example",) if actor == "import" else ()
    assert silent.taint == (f"{actor}:unnamed", *brought)
    assert silent.parents == (("r0",) if actor == "import" else ())
    assert mine.taint == ()


def test_a_tainted_correction_waits_until_it_is_approved(store: ArchivalStore) -> None:
    """The record stays live; approving the proposal carries it out and lifts its taint."""
    old = store.offer(Draft("Ada lives in Berlin"), person()).id
    proposal = store.offer(Draft("Ada lives in Paris", supersedes=old), TAINTED)
    assert (proposal.decision, codes(proposal), store.get(old).status) == ("quarantined", ["tainted"], "live")

    store.mark("approve", proposal.id, person())

    record = store.get(proposal.id).record
    assert (store.get(old).status, record.trust, record.taint) == ("superseded", "verified", ())


def test_a_tainted_merge_waits_until_it_is_approved(store: ArchivalStore) -> None:
    """The parents stay live until then."""
    ids = [store.offer(Draft(text), person()).id for text in ("Ada sails on Sundays", "Ada owns a red bicycle")]
    proposal = store.merge(ids, TAINTED)
    assert (proposal.decision, codes(proposal)) == ("quarantined", ["tainted"])
    assert {store.get(id).status for id in ids} == {"live"}

    store.mark("approve", proposal.id, person())

    assert {store.get(id).status for id in ids} == {"superseded"}
    assert store.get(proposal.id).status == "live"


@pytest.mark.parametrize(("op", "status"), [("forget", "retired"), ("reject", "rejected"), ("retire", "retired")])
def test_a_tainted_retirement_waits_until_it_is_approved(store: ArchivalStore, op: str, status: str) -> None:
    """What would take a record away is kept under an id of its own; rejecting the proposal leaves the record."""
    kept, gone = (store.offer(Draft(text), person()).id for text in ("Ada sails", "Bob has a cat"))
    proposals = [store.mark(op, id, TAINTED) for id in (kept, gone)]
    assert all(proposals) and {store.get(id).status for id in (kept, gone)} == {"live"}

    store.mark("reject", proposals[0], person())
    store.mark("approve", proposals[1], person())

    assert (store.get(kept).status, store.get(gone).status) == ("live", status)


def test_what_is_tainted_is_no_evidence(store: ArchivalStore) -> None:
    """A repetition is told as one, and neither confidence, trust nor history of the record move."""
    id = store.offer(Draft("Ada sails", confidence=0.8), CLEAN).id
    before = store.get(id)

    for session in "abc":
        again = store.offer(Draft("Ada sails", confidence=1.0), TAINTED._replace(session_id=session))
        assert (again.decision, again.id) == ("merged", id)
    assert store.learn([id], True, TAINTED) == []
    store.mark("confirm", id, TAINTED)

    assert store.get(id).record == before.record


def test_a_clean_offer_is_not_merged_into_a_tainted_record(store: ArchivalStore) -> None:
    """The tainted one becomes its duplicate."""
    tainted = store.offer(Draft("Ada sails"), TAINTED).id

    clean = store.offer(Draft("Ada sails"), CLEAN)

    assert (clean.decision, store.get(clean.id).record.taint) == ("admitted", ())
    assert store.get(tainted).superseded_by == clean.id


def test_a_tainted_record_opens_no_question(store: ArchivalStore) -> None:
    """Neither when it comes nor when a clean one contradicts it."""
    clean = store.offer(Draft("Ada lives in Berlin"), CLEAN)
    tainted = store.offer(Draft("Ada lives in Paris"), TAINTED)
    person_ = store.offer(Draft("Ada lives in Rome"), person())

    assert codes(tainted) == []
    assert store.get(person_.id).record.extra["contradicts"] == [clean.id]


def test_three_tainted_sources_verify_nothing(store: ArchivalStore) -> None:
    """Nor do three clean ones a tainted record: only a person lifts taint."""
    id = store.offer(Draft("Ada sails"), TAINTED).id
    for session in "abc":
        store.mark("confirm", id, Origin(actor="agent", user_id="ada", session_id=session))

    assert (store.get(id).record.trust, store.get(id).record.taint) == ("candidate", ("tool:web",))


def test_an_outcome_leaves_what_was_said_above_the_floor(store: ArchivalStore) -> None:
    """A failure takes no verified record below what may enter a prompt, however often."""
    said = store.offer(Draft("Ada sails", confidence=1.0), person()).id
    guessed = store.offer(Draft("Ada rows", confidence=0.8), CLEAN).id

    for _ in range(5):
        store.learn([said, guessed], False, CLEAN)

    assert store.get(said).record.confidence >= store.settings.retrieval.min_confidence
    assert store.get(guessed).record.confidence == 0.0


def test_what_a_program_composes_takes_the_taint_of_its_parents(store: ArchivalStore) -> None:
    """A merge in no words of anybody's own is as tainted as what it was made of; a person's own words are not."""
    pairs = [("Ada sails on Sundays", "Ada owns a red bicycle"), ("Bob has a cat", "Bob lives by the sea")]
    (one, other), (third, fourth) = ([store.offer(Draft(text), TAINTED).id for text in pair] for pair in pairs)

    composed = store.merge([one, other], person()).id
    worded = store.merge([third, fourth], person(), text="Bob, by the sea, has a cat").id

    assert (store.get(composed).record.taint, store.get(worded).record.taint) == (("tool:web",), ())


@given(st.lists(st.lists(st.text(min_size=1, max_size=8), max_size=40).map(tuple), max_size=6))
@settings(deadline=None)
def test_a_union_keeps_the_taint_of_every_part(taints: list[tuple[str, ...]]) -> None:
    """It is empty only where every part is, holds each origin once, and stays bounded whatever it is made of."""
    joined = union(*taints)

    assert bool(joined) == any(taints)
    assert len(joined) == len(set(joined)) <= MOST_ORIGINS
    assert union(joined, *taints) == joined or len(joined) == MOST_ORIGINS


OFFERS = st.tuples(
    st.sampled_from(["Ada sails", "Ada never sails", "Ada lives in Berlin", "Ada lives in Paris", "Ada  SAILS."]),
    st.sampled_from(["offer", "supersede", "merge", "forget", "reject", "confirm", "contradict", "update", "core"]),
    st.integers(0, 9),
)


@given(st.lists(OFFERS, max_size=12))
@settings(max_examples=40, deadline=None)
def test_nothing_said_under_taint_changes_what_was_there(steps: list[tuple[str, str, int]]) -> None:
    """Whatever a tainted agent does, in whatever order: clean records and core stay, and no clean one appears."""
    with ArchivalStore() as store:
        ids = [store.offer(Draft(text), person()).id for text in ("Ada sails", "Ada lives in Berlin", "Bob has a cat")]
        store.edit_core("ada", "human", "Name: Ada", person())
        before = [store.get(id) for id in ids]
        for text, deed, place in steps:
            id = ids[place % len(ids)]
            if deed == "offer":
                store.offer(Draft(text), TAINTED)
            elif deed == "supersede":
                store.supersede(id, text, TAINTED)
            elif deed == "merge":
                store.merge(ids[:2], TAINTED, text=text)
            elif deed == "core":
                store.edit_core("ada", "human", text, TAINTED)
            else:
                store.mark(deed, id, TAINTED, **({"confidence": 0.0} if deed == "update" else {}))
        now = [store.get(id) for id in ids]

        assert [(one.record, one.status) for one in now] == [(one.record, one.status) for one in before]
        assert store.core_sections("ada") == {"human": "Name: Ada"}
        fresh = [one for one in store.records(user_id="ada", status=None) if one.id not in ids]
        assert all(one.taint and one.trust != "verified" for one in fresh)


# Memory of other clones, in a store that nobody here trusted.

SAID = Origin(actor="user", user_id="ada")


@pytest.fixture
def beside_strangers(tmp_path: Path, open_store: OpenStore) -> Callable[..., ArchivalStore]:
    """Return a function that opens a store in which a stranger stored some texts, as a clone that trusts nobody."""

    def opened(*texts: str, **more: object) -> ArchivalStore:
        theirs = open_store(writer="mallory")
        for text in texts:
            assert theirs.offer(Draft(text, **more), SAID).decision == "admitted"
        shipped = ArchivalStore(tmp_path, log=ShardLog(tmp_path, clock=utc_now, observe=unobserved, writer="own"))
        shipped.foreign = lambda writer: writer == "mallory"
        return shipped

    return opened


def test_what_the_user_says_is_kept_even_if_a_stranger_said_it_first(
    beside_strangers: Callable[..., ArchivalStore],
) -> None:
    """A planted record swallows no word of the user's: recall would leave both out."""
    store = beside_strangers("Ada lives in Lisbon")

    decision = store.offer(Draft("Ada lives in Lisbon"), SAID)

    stored = store.get(decision.id)
    assert decision.decision == "admitted"
    assert store.taint_of(stored.record, "ada") == ()
    assert [record.text for record in store.records(user_id="ada")] == ["Ada lives in Lisbon"]


def test_what_a_stranger_contradicts_is_kept_and_asked_about(
    beside_strangers: Callable[..., ArchivalStore],
) -> None:
    """A stranger's line keeps nothing out; that it contradicts a known one is shown, wherever the two came from."""
    store = beside_strangers("Ada lives in Porto")
    decision = store.offer(Draft("Ada lives in Lisbon"), SAID)

    assert (decision.decision, codes(decision)) == ("admitted", [])
    assert [asked.kind for asked in store.open_questions()] == ["contradiction"]


@pytest.mark.parametrize("text", [None, "Ada sails and rows"])
def test_a_merge_of_a_strangers_records_stays_the_strangers(
    beside_strangers: Callable[..., ArchivalStore], text: str | None
) -> None:
    """What is composed takes the taint of all that it is made of, whoever composes it."""
    store = beside_strangers("Ada sails", "Ada rows")
    ids = [record.id for record in store.records(user_id="ada")]

    merged = store.merge(ids, CLEAN, text=text)

    assert "writer:mallory" in store.taint_of(store.get(merged.id).record, "ada")


@pytest.mark.parametrize("texts", [("Ada sails", "Ada sails."), ("Ada sailed out", "Ada rowed back", "Ada swam home")])
def test_a_consolidation_keeps_strangers_apart(
    open_store: OpenStore, beside_strangers: Callable[..., ArchivalStore], texts: tuple[str, ...]
) -> None:
    """Neither a merge nor a summary of what strangers wrote is clean, and no own record becomes a part of one."""
    minor = {"type": "event", "importance": 0.1, "tags": ("water",)}
    own = [note(open_store(writer="own"), text, **minor) for text in texts]
    store = beside_strangers(*texts, **minor)
    later = utc_now() + timedelta(days=100)
    store._clock = lambda: later

    done = store.consolidate(store.consolidation(user_id="ada"))

    made = {frozenset(one.parents): store.get(one.id).record for one in (*done.merged, *done.summaries)}
    assert frozenset(own) in made
    for parents, record in made.items():
        is_own = parents <= set(own)
        assert is_own or parents.isdisjoint(own)
        assert (store.taint_of(record, "ada") == ()) == is_own
