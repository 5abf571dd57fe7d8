"""Trust and confidence: what raises them, what never does, and that both follow from the lines alone."""

import json
from itertools import permutations
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from open_gate import OpenStore, note, person

from memkit.runtime.memory.archive.archive import ArchivalStore
from memkit.runtime.memory.record.events import PERSONS, Event, Located, fold, in_order
from memkit.runtime.memory.record.record import Draft, Origin, Record

AGENT = Origin(actor="agent", user_id="ada", session_id="s1")
TOOL = Origin(actor="tool", user_id="ada", taint=())


@pytest.fixture
def store() -> ArchivalStore:
    """Give an empty archive with the write gate that ships."""
    return ArchivalStore()


def told(store: ArchivalStore, text: str, origin: Origin = AGENT, **more: object) -> str:
    """Store a fact and return its id."""
    id = store.offer(Draft(text, **more), origin).id
    assert id is not None
    return id


def trust(store: ArchivalStore, id: str) -> str:
    """Return how far a record is trusted."""
    return store.get(id).record.trust


def test_links_are_sources_of_their_own_and_the_same_one_twice_is_one(store: ArchivalStore) -> None:
    """A closed tool that brings the same from three pages confirms it; from one page three times it does not."""
    id = told(store, "The library opens at nine", TOOL, source_url="https://a.example")
    for page in ("a", "a", "b"):
        told(store, "The library opens at nine", TOOL, source_url=f"https://{page}.example")
        assert trust(store, id) == "candidate"

    told(store, "The library opens at nine", TOOL, source_url="https://c.example")

    assert trust(store, id) == "verified"


def test_an_outcome_moves_confidence_and_no_trust(store: ArchivalStore) -> None:
    """Plus 0.1 for a success, minus 0.2 for a failure, within 0 and 1; using a record often proves nothing about it."""
    id = told(store, "The library opens at nine", confidence=0.75)
    for session in ("s2", "s3", "s4"):
        assert store.learn([id, id], True, AGENT._replace(session_id=session)) == [id]
    assert (store.get(id).record.confidence, trust(store, id)) == (1.0, "candidate")

    store.learn([id], False, AGENT, reason="a task that used it failed")

    assert store.get(id).record.confidence == 0.8
    assert store.get(id).history[-1] == {
        "op": "contradict",
        "at": store.get(id).history[-1]["at"],
        "actor": "program",
        "reason": "a task that used it failed",
    }


def test_an_outcome_concerns_live_records_of_the_user_only(store: ArchivalStore) -> None:
    """What is gone, unknown or another user's is passed over."""
    gone, theirs = told(store, "The library opens at nine"), told(store, "Bob likes tea", AGENT._replace(user_id="bob"))
    store.mark("forget", gone, person())

    assert store.learn([gone, theirs, "nowhere"], True, AGENT) == []


def test_a_person_may_always_say_it_again(store: ArchivalStore) -> None:
    """A duplicate told by a person verifies the record; one told by a tool afterwards takes nothing away."""
    id = told(store, "The library opens at nine", confidence=0.8)

    told(store, "The library opens at nine", person())
    told(store, "The library opens at nine", TOOL, confidence=0.7)

    assert (trust(store, id), store.get(id).record.confidence) == ("verified", 1.0)


def test_a_correction_takes_the_trust_of_whom_it_comes_from(store: ArchivalStore) -> None:
    """A person's is explicit at 0.95 and verified; what a program composes is worth what it was made of."""
    id = told(store, "The library opens at nine")
    composed = store.supersede(id, "The library opens at 9:00", Origin(actor="program", user_id="ada")).id
    assert trust(store, str(composed)) == "candidate"

    corrected = store.get(str(store.supersede(str(composed), "The library opens at ten", person()).id)).record

    assert (corrected.trust, corrected.source, corrected.confidence) == ("verified", "explicit", 0.95)


def test_a_line_that_does_not_say_who_wrote_it_is_a_candidate(tmp_path: Path, open_store: OpenStore) -> None:
    """Whoever edits a shard by hand can vouch for a line in so many words; without them nobody does."""
    shard = tmp_path / "archive" / "2026-11" / "hand.jsonl"
    shard.parent.mkdir(parents=True)
    line = {"id": "r1", "text": "Ada owns a yacht", "user_id": "ada", "created_at": "2026-11-01T10:00:00Z"}
    vouched = {**line, "id": "r2", "text": "Ada sings", "actor": "person", "trust": "verified"}
    shard.write_text("".join(json.dumps(data) + "\n" for data in (line, vouched)))

    store = open_store()

    assert [(record.actor, record.trust) for record in store.records(user_id="ada")] == [
        ("import", "candidate"),
        ("person", "verified"),
    ]


RECORD = Record("r1", "Ada likes tea", "ada", "2026-01-01T00:00:00Z", actor="agent", session_id="s0", confidence=0.5)
events = st.lists(
    st.builds(
        Event,
        id=st.uuids().map(str),
        op=st.sampled_from(["confirm", "contradict", "evidence", "forget", "restore", "update", "retire", "revoke"]),
        target=st.sampled_from(["r1", "r1", "r1", "elsewhere"]),
        user_id=st.just("ada"),
        at=st.integers(10, 59).map(lambda second: f"2026-02-01T00:00:{second}Z"),
        actor=st.sampled_from(["person", "user", "agent", "tool", "import", "program"]),
        session_id=st.sampled_from([None, "s0", "s1", "s2"]),
        fields=st.fixed_dictionaries(
            {},
            optional={
                "confidence": st.floats(0, 1),
                "source_url": st.sampled_from(["https://a.example", "https://b.example"]),
            },
        ),
    ),
    max_size=12,
    unique_by=lambda event: event.id,
)


@given(events)
def test_confidence_stays_between_none_and_all(happened: list[Event]) -> None:
    """Whatever is said about a record, in whatever order."""
    assert 0 <= fold(RECORD, happened).record.confidence <= 1


@given(events)
def test_trust_rises_by_a_person_or_three_sources_only(happened: list[Event]) -> None:
    """A candidate that is verified was confirmed by a person, or told by two others beside its own source.

    All that imports bring is one source, whatever links they name.
    """
    if fold(RECORD, happened).record.trust == "candidate":
        return
    told_by = [event for event in happened if event.op in ("confirm", "evidence") and event.target == RECORD.id]
    links = {event: event.actor != "import" and event.fields.get("source_url") for event in told_by}
    sources = {links[event] or (event.actor, event.actor != "import" and event.session_id) for event in told_by}
    others = {source for source in sources - {("agent", "s0")} if source[0] != "program"}
    assert any(event.actor in PERSONS for event in told_by) or len(others) >= 2


@given(events, st.randoms())
def test_the_order_in_which_shards_are_read_does_not_matter(happened: list[Event], chance: object) -> None:
    """Two writers' lines fold to one state, whichever file is opened first."""
    located = [Located(event, f"w{number % 2}", f"{number:04}") for number, event in enumerate(happened)]
    shuffled = list(located)
    chance.shuffle(shuffled)

    assert fold(RECORD, in_order(shuffled)) == fold(RECORD, in_order(located))


@given(st.lists(st.sampled_from(["confirm", "contradict", "update", "revoke", "supersede", "add"]), max_size=8))
@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_shards_in_any_order_give_one_state(tmp_path_factory: pytest.TempPathFactory, plan: list[str]) -> None:
    """A history spread over three writers reads the same under every order of their names."""
    with ArchivalStore() as made:
        ids = [note(made, "Ada likes tea")]
        for number, op in enumerate(plan):
            if op in ("add", "supersede"):
                old = ids[-1] if op == "supersede" and made.get(ids[-1]).status == "live" else None
                ids.append(note(made, f"Ada likes drink number {number}", supersedes=old))
            else:
                made.mark(op, ids[-1], person(), **({"confidence": 0.4} if op == "update" else {}))
        lines = [line for shard in made._log.shards() for line in made._log.read(shard).splitlines(keepends=True)]
    seen = []
    for names in list(permutations("abc"))[:4]:
        root = tmp_path_factory.mktemp("store")
        folder = root / "archive" / "2026-11"
        folder.mkdir(parents=True)
        for number, name in enumerate(names):
            (folder / f"{name}.jsonl").write_bytes(b"".join(lines[number::3]))
        with ArchivalStore(root) as store:
            states = [store.get(id) for id in ids]
            seen.append([(state.record, state.status, state.closed_at, state.ended) for state in states])
    assert all(states == seen[0] for states in seen)


def test_between_the_lines_of_two_users_the_time_decides(tmp_path: Path, open_store: OpenStore) -> None:
    """Each user's lines are a chain of their own, and where two chains stand in a file is no evidence."""
    store = open_store(writer="own")
    id = note(store, "The library opens at nine", scope="shared")
    store.mark("forget", id, person("bob"))
    store.mark("restore", id, person("ada"))
    before = [line for line in store.export("ada") if id in line]
    store.close()
    (shard,) = tmp_path.glob("archive/*/own.jsonl")
    lines = shard.read_bytes().splitlines(keepends=True)
    shard.write_bytes(b"".join(sorted(lines, key=lambda line: json.loads(line)["user_id"])))

    again = open_store(writer="own")

    assert again.get(id).status == "live"
    assert [line for line in again.export("ada") if id in line] == before
    assert again.line_problems() == []
