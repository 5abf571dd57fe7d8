"""What an offer meets in the archive: records for other eyes or other times are neither repeated nor contradicted."""

from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from itertools import count
from pathlib import Path
from threading import Barrier

import pytest

from memkit.runtime.memory.archive.archive import ArchivalStore
from memkit.runtime.memory.interface import Decision, MemorySettings, Within, WriteSettings
from memkit.runtime.memory.record.lines import InvalidRecord, NotAllowed
from memkit.runtime.memory.record.record import Draft, Origin

NOW = datetime(2026, 6, 1, tzinfo=UTC)
PERSON = Origin("person", "ada")


@pytest.fixture
def store() -> ArchivalStore:
    """Give an empty archive whose clock goes on by a second with each look."""
    ticks = count()
    return ArchivalStore(clock=lambda: NOW + timedelta(seconds=next(ticks)))


def told(store: ArchivalStore, text: str, origin: Origin = PERSON, **more: object) -> Decision:
    """Offer a fact and return what was decided."""
    return store.offer(Draft(text, **more), origin)


@pytest.mark.parametrize(
    ("scope", "one", "other"),
    [
        ("session", PERSON._replace(session_id="s1"), PERSON._replace(session_id="s2")),
        ("agent", PERSON._replace(agent_id="a1"), PERSON._replace(agent_id="a2")),
    ],
)
def test_each_session_and_agent_keeps_what_only_it_may_see(
    store: ArchivalStore, scope: str, one: Origin, other: Origin
) -> None:
    """The same words in another session are no duplicate: nobody there could see the first record."""
    first, second = (told(store, "The draft is on the desk", origin, scope=scope) for origin in (one, other))

    assert (first.decision, second.decision) == ("admitted", "admitted")
    found = store.search("draft desk", user_id="ada", where=Within(other.session_id, other.agent_id))
    assert [hit.id for hit in found.hits] == [second.id]
    assert told(store, "The draft is on the desk!", other, scope=scope).id == second.id


def test_what_is_over_may_be_told_again(store: ArchivalStore) -> None:
    """An expired record that no sweep has taken yet swallows no new one, which would be found nowhere."""
    told(store, "Ada is on leave", valid_until="2026-05-01")

    again = told(store, "Ada is on leave")

    assert again.decision == "admitted"
    assert [hit.id for hit in store.search("Ada leave", user_id="ada").hits] == [again.id]


def test_what_holds_now_is_repeated_by_what_says_no_date(store: ArchivalStore) -> None:
    """A record with dates around today is evidence enough; one that begins later says nothing about today."""
    current = told(store, "Ada is on leave", valid_until="2026-12-01")
    told(store, "Ada works part-time", valid_from="2027-01-01")

    assert told(store, "Ada is on leave").id == current.id
    assert told(store, "Ada works part-time").decision == "admitted"


def test_other_dates_make_another_fact(store: ArchivalStore) -> None:
    """Leave in spring and leave in autumn are two; the same spring told twice is one."""
    spring = told(store, "Ada is on leave", valid_from="2027-03-01", valid_until="2027-05-31")

    autumn = told(store, "Ada is on leave", valid_from="2027-09-01", valid_until="2027-10-31")
    again = told(store, "Ada is on leave", valid_from="2027-03-01", valid_until="2027-05-31")

    assert (autumn.decision, again.decision, again.id) == ("admitted", "merged", spring.id)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ({"valid_until": "2026-05-01"}, {}),
        ({"valid_until": "2026-12-31"}, {"valid_from": "2027-01-01"}),
        ({"valid_from": "2027-01-01"}, {"valid_until": "2026-12-30"}),
    ],
)
def test_one_after_the_other_is_no_contradiction(
    store: ArchivalStore, before: dict[str, str], after: dict[str, str]
) -> None:
    """Two values whose times do not meet can both be true."""
    told(store, "Ada lives in Berlin", **before)

    assert told(store, "Ada lives in Paris", **after).reasons == ()


def test_times_that_meet_are_a_contradiction(store: ArchivalStore) -> None:
    """Where the dates leave a moment for both, the question is open."""
    told(store, "Ada lives in Berlin", valid_until="2026-12-31")

    decision = told(store, "Ada lives in Paris", valid_from="2026-11-01")

    assert [reason.code for reason in decision.reasons] == ["contradiction"]


def test_a_correction_that_repeats_another_record_replaces_all_the_same(store: ArchivalStore) -> None:
    """The record that says so already takes the place of the corrected one, and counts one more piece of evidence."""
    right, wrong = told(store, "Ada lives in Paris").id, told(store, "Ada paints in Rome").id

    decision = store.supersede(str(wrong), "Ada lives in Paris", PERSON, reason="moved")

    assert (decision.decision, decision.id) == ("merged", right)
    assert store.get(str(wrong)).status == "superseded"
    assert store.get(str(wrong)).history[-1]["reason"] == "moved"
    assert [entry["op"] for entry in store.get(str(right)).history] == ["add", "evidence"]


def test_a_repetition_replaces_nothing_of_another_user(store: ArchivalStore) -> None:
    """Also where nothing new is written, what is superseded has to be the user's own."""
    told(store, "Ada lives in Paris")
    theirs = told(store, "Bob lives in Rome", PERSON._replace(user_id="bob")).id

    decision = told(store, "Ada lives in Paris", supersedes=theirs)

    assert (decision.decision, [reason.code for reason in decision.reasons][-1]) == ("refused", "schema")
    assert store.get(str(theirs)).status == "live"


def test_the_stronger_takes_the_place_of_every_weaker_one() -> None:
    """Of several records that it contradicts none stays behind, and what is as strong stays an open question."""
    store = ArchivalStore(settings=MemorySettings(write=WriteSettings(contradictions="keep_stronger")))
    agent = Origin("agent", "ada", "s1", user_text="")
    weak = [told(store, f"Ada lives in {city}", agent, confidence=0.8).id for city in ("Berlin", "Paris")]
    firm = told(store, "Ada lives in Madrid", valid_from="2020-01-01").id

    decision = told(store, "Ada lives in Rome", agent, confidence=0.9)

    assert {store.get(str(id)).status for id in weak} == {"superseded"}
    assert store.get(str(firm)).status == "live"
    assert store.get(str(decision.id)).record.extra["contradicts"] == [firm]


def test_a_session_of_the_same_name_is_another_users_own(store: ArchivalStore) -> None:
    """What one user writes for all does not use up what another may write."""
    for word in ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine"):
        said = Origin("agent", "bob", "s1", user_text="")
        assert told(store, f"Locker {word} holds {word} boxes", said, scope="shared").decision == "admitted"

    assert told(store, "Ada plays chess", Origin("agent", "ada", "s1", user_text="")).decision == "admitted"
    assert told(store, "Bob plays chess", Origin("agent", "bob", "s1", user_text="")).decision == "refused"


def test_an_import_vouches_for_itself_once(store: ArchivalStore) -> None:
    """Links and sessions that a file names are its own word: however many it names, it is one source."""
    brought = Origin("import", "ada")
    drafts = [
        Draft("Ada owns a boat", source_url=f"https://{page}.example", extra={"session_id": page}) for page in "abcd"
    ]

    decisions = list(store.import_many((draft, brought) for draft in drafts))

    assert {decision.id for decision in decisions} == {decisions[0].id}
    assert store.get(str(decisions[0].id)).record.trust == "candidate"


def test_a_constraint_holds_in_its_time_and_for_whom_it_is(store: ArchivalStore) -> None:
    """What has ended, is to come, or is another session's or agent's constrains nothing now."""
    origin = PERSON._replace(session_id="s1", agent_id="a1")
    holding = told(store, "Never deploy on Fridays", type="constraint", valid_until="2026-12-31").id
    told(store, "Never deploy on Mondays", type="constraint", valid_until="2026-01-31")
    told(store, "Never deploy on Sundays", type="constraint", valid_from="2026-12-31")
    mine = [
        told(store, f"Speak {what} here", origin, type="constraint", scope=what).id for what in ("agent", "session")
    ]

    def ids(**where: str) -> list[str]:
        return [record.id for record in store.constraints("ada", **where)]

    assert ids() == [holding]
    assert ids(session_id="s1", agent_id="a1") == [holding, *mine]


@pytest.mark.parametrize("where", [{"session_id": "s1"}, {"agent_id": "a1"}])
def test_what_replaces_a_limited_record_is_for_the_same_eyes(store: ArchivalStore, where: dict[str, str]) -> None:
    """A correction and a merge by a person elsewhere are found where the old record was, and nowhere else."""
    scope = "session" if "session_id" in where else "agent"
    first, other = (
        str(told(store, text, PERSON._replace(**where), scope=scope).id)
        for text in ("The draft is on the desk", "The ink is in the drawer")
    )

    corrected = store.supersede(first, "The draft is on the shelf", PERSON).id
    merged = store.merge([str(corrected), other], PERSON).id

    assert [hit.id for hit in store.search("draft ink", user_id="ada", where=Within(**where)).hits] == [merged]
    assert store.search("draft ink", user_id="ada").hits == ()


def test_records_of_two_sessions_are_not_merged(store: ArchivalStore) -> None:
    """The result could be for neither."""
    ids = [
        str(told(store, f"The draft is on desk {name}", PERSON._replace(session_id=name), scope="session").id)
        for name in ("one", "two")
    ]

    with pytest.raises(InvalidRecord):
        store.merge(ids, PERSON)


def test_a_record_has_one_successor_however_many_replace_it_at_once(tmp_path: Path) -> None:
    """Of several processes that give one record a new wording, one does, and the others are told that it is over."""
    stores = [ArchivalStore(tmp_path) for _ in range(4)]
    old = told(stores[0], "Ada speaks Basque").id or ""
    together = Barrier(len(stores))

    def replace(number: int) -> str:
        together.wait()
        try:
            return stores[number].supersede(old, f"Ada speaks Basque at level {number}", PERSON).decision
        except NotAllowed as error:
            return str(error)

    with ThreadPoolExecutor(len(stores)) as threads:
        said = sorted(threads.map(replace, range(len(stores))))

    late = f"Record {old} is superseded; only a live record can be replaced."
    assert said == [late, late, late, "admitted"]
    assert len(stores[0].search("Ada speaks Basque", user_id="ada").hits) == 1
    for store in stores:
        store.close()
