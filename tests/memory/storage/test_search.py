"""Search: what is found, in which order, what is left out and why, and when nothing is the answer."""

from datetime import UTC, datetime, timedelta
from pathlib import Path
from unittest.mock import patch

import pytest
from growth import steps
from hypothesis import given, settings
from hypothesis import strategies as st
from open_gate import OpenGate, OpenStore, found, note, person

from memkit.runtime.memory.archive.archive import ArchivalStore
from memkit.runtime.memory.index import search
from memkit.runtime.memory.index.words import CorpusStatistics
from memkit.runtime.memory.interface import MemorySettings, Within
from memkit.runtime.memory.record.lines import parse_time
from memkit.runtime.memory.record.record import Draft
from memkit.runtime.memory.words.text import day_words, query_terms, tokens

NOW = datetime(2026, 11, 21, 9, tzinfo=UTC)


def test_the_only_record_is_found_by_a_related_question(store: ArchivalStore) -> None:
    """A store of one record, where every word is in every record, still answers and still can say no."""
    note(store, "Alice prefers espresso over latte")

    assert found(store, "Alice coffee preference") == ["Alice prefers espresso over latte"]
    nothing = store.search("quantum chromodynamics", user_id="ada")
    assert (nothing.hits, nothing.abstained) == ((), True)


@pytest.mark.parametrize("others", [1, 3, 9])
def test_the_right_record_comes_first_among_a_handful(store: ArchivalStore, others: int) -> None:
    """Among few records the one that covers the question best wins, and a single common word is not enough."""
    note(store, "Alice prefers espresso over latte")
    for number in range(others):
        note(store, f"Alice visited town{number} with friend{number}")

    assert found(store, "Alice coffee preference")[0] == "Alice prefers espresso over latte"
    assert store.search("Alice quantum chromodynamics lecture hall", user_id="ada").abstained


def test_whom_a_question_names_it_is_about(store: ArchivalStore) -> None:
    """What is said of others in the words of the question comes behind what is told, in others, of the one it names."""
    for name in ("Jonas", "Farah", "Imre"):
        note(store, f"{name} was late at the practice of the choir")
    for thing in ("an appointment at eleven", "a doctorate", "an older sister", "a grey parrot"):
        note(store, f"Kofi has {thing}")
    for number in range(40):
        note(store, f"The lamp of hall{number} flickers and hums")

    note(store, "The grey parrot of Kofi can sing")
    for question in ("How late do I have to be at Kofi's practice?", "how late do i have to be at kofi's practice?"):
        assert all("Kofi" in text for text in found(store, question)[:4])
    assert found(store, "who was late at the practice")[0].endswith("late at the practice of the choir")


@pytest.mark.parametrize("query", ["", "   ", "what is the", "?!", "\0", "a" * 100_000])
def test_a_question_without_content_finds_nothing(store: ArchivalStore, query: str) -> None:
    """Nothing to look for is nothing found, and no error."""
    note(store, "Alice prefers espresso over latte")

    assert store.search(query, user_id="ada").abstained


def test_an_empty_store_abstains(store: ArchivalStore) -> None:
    """There is nothing to find where nothing is."""
    assert store.search("espresso", user_id="ada").abstained
    assert store.records(user_id="ada") == []
    assert store.get("nothing") is None


@pytest.mark.parametrize(
    "query", ["a AND", "col:espresso", '"espresso', "espresso*", "NEAR(espresso", "espresso OR", "-espresso", "'"]
)
def test_query_syntax_means_nothing(store: ArchivalStore, query: str) -> None:
    """What is an operator to the engine is a word to a person."""
    note(store, "espresso in the morning")

    assert found(store, query) == (["espresso in the morning"] if "espresso" in query else [])


def test_a_question_of_ten_thousand_words_is_answered(store: ArchivalStore) -> None:
    """A whole conversation as the question finds what it speaks of."""
    note(store, "Alice prefers espresso over latte")
    note(store, "the harbour is closed")

    assert found(store, " ".join(f"word{number}" for number in range(10_000)) + " harbour closed alice espresso")


@pytest.mark.parametrize(
    ("text", "query"),
    [
        ("他喜欢喝茶", "喝茶"), ("彼女は東京に住んでいます", "東京"), ("أحب القهوة العربية", "القهوة"),
        ("party 🎉 tonight", "🎉"), ("我 uses c++ daily", "c++"), ("Ｆｕｌｌ width", "full"),
        ("Müller called", "muller"),
        ("ฉันชอบกาแฟ", "กาแฟ"), ("मुझे चाय पसंद है", "चाय"),
    ],
)  # fmt: skip
def test_every_script_is_found(store: ArchivalStore, text: str, query: str) -> None:
    """Text in any script is found by a part of it and not by something else."""
    note(store, text)
    note(store, "something else entirely")

    assert found(store, query) == [text]


def test_users_do_not_see_each_other(store: ArchivalStore) -> None:
    """The same text of two users is two records; neither search, get, list, scores nor marks reach across."""
    mine, theirs = note(store, "espresso in the morning", "ada"), note(store, "espresso in the morning", "bob")
    before = store.search("espresso", user_id="ada").hits[0]
    for number in range(20):
        note(store, f"espresso number {number}", "bob")

    (after,) = store.search("espresso", user_id="ada", k=50).hits

    assert after.id == mine != theirs
    assert {key: before.parts[key] for key in ("bm25", "coverage")} == {
        key: after.parts[key] for key in ("bm25", "coverage")
    }
    assert store.get(theirs, user_id="ada") is None
    assert [record.id for record in store.records(user_id="ada")] == [mine]


@pytest.mark.parametrize("user", ["a/b", "../../etc", "o'brien", 'quo"te', "*", "user 1", "名前", "x" * 500])
def test_any_user_id_is_only_a_name(store: ArchivalStore, user: str) -> None:
    """Slashes, quotes and wildcards in a user id reach no other user and no other file."""
    note(store, "tea", "ada")
    note(store, "espresso", user)

    assert found(store, "espresso", user) == ["espresso"]
    assert found(store, "tea", user) == []


def test_shared_records_are_seen_by_all_and_ranked_with_ones_own(store: ArchivalStore) -> None:
    """A record is shared when somebody says so, and only then."""
    note(store, "espresso machine is on floor two", "bob", scope="shared")
    note(store, "espresso is what I drink", "ada")

    assert set(found(store, "espresso")) == {"espresso machine is on floor two", "espresso is what I drink"}
    assert found(store, "espresso", "carol") == ["espresso machine is on floor two"]


def test_session_and_agent_scopes_are_kept_apart(store: ArchivalStore) -> None:
    """A record of a session or an agent is found in that session or by that agent alone."""
    store.offer(Draft(text="espresso for now", scope="session"), person(session_id="s1"))
    store.offer(Draft(text="espresso for the agent", scope="agent"), person(agent_id="a1"))

    assert found(store, "espresso") == []
    assert found(store, "espresso", where=Within("s1")) == ["espresso for now"]
    assert found(store, "espresso", where=Within(agent_id="a1")) == ["espresso for the agent"]
    assert {loser.reason for loser in store.search("espresso", user_id="ada").losers} == {"scope"}


def test_filters_narrow_the_answer(store: ArchivalStore) -> None:
    """Type, tags and confidence are conditions; a record must carry all the tags."""
    note(store, "espresso one", type="preference", tags=("drink", "hot"))
    note(store, "espresso two", confidence=0.5)

    assert found(store, "espresso", types=["preference"]) == ["espresso one"]
    assert found(store, "espresso", tags=["hot", "drink"]) == ["espresso one"]
    assert found(store, "espresso", tags=["hot", "cold"]) == []
    assert found(store, "espresso", min_confidence=0.9) == ["espresso one"]


def test_filters_look_past_the_first_candidates(open_store: OpenStore) -> None:
    """A fitting record is found behind hundreds that fit better and are filtered out."""
    store = open_store(None)
    for number in range(600):
        note(store, f"espresso espresso {number}")
    note(store, "espresso in a long sentence with many other words", type="preference")

    assert found(store, "espresso", types=["preference"]) == ["espresso in a long sentence with many other words"]


def test_a_question_that_says_no_count_finds_everything_that_it_names(store: ArchivalStore) -> None:
    """No cap hides a rare word's record; other records do not follow, and a count that is given holds."""
    things = ("kettle", "bicycle", "violin", "passport", "tent", "loom", "kayak")
    for number, thing in enumerate(things):
        note(store, f"The {thing} is in room {number}")
        note(store, f"A neighbour asked about garden {number}")
    question = f"In which room are {', '.join(things)}?"

    assert set(found(store, question)) == {f"The {thing} is in room {number}" for number, thing in enumerate(things)}
    assert len(found(store, question, k=3)) == 3
    assert len(found(store, "Which neighbour asked about a garden?")) == 5


def test_in_a_large_corpus_a_type_of_few_is_looked_at_alone(
    store: ArchivalStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What cannot be an answer is not read, and so it is not among what lost either."""
    monkeypatch.setattr(search, "SMALL_CORPUS", 3)
    for number in range(3):
        note(store, f"espresso machine {number} leaks")
    note(store, "the espresso machine was repaired", type="outcome")

    report = store.search("espresso machine", user_id="ada", types=["outcome"])

    assert [hit.text for hit in report.hits] == ["the espresso machine was repaired"]
    assert report.losers == ()


def test_validity_is_asked_for_a_moment(open_store: OpenStore) -> None:
    """A record holds from its beginning to the end of its last day; as_of asks about another day."""
    store = open_store(clock=lambda: NOW)
    note(store, "espresso machine rented", valid_from="2025-01-01", valid_until="2025-12-31")

    assert found(store, "espresso") == []
    assert found(store, "espresso", as_of="2025-12-31") == ["espresso machine rented"]
    assert found(store, "espresso", as_of="2025-12-31T23:00:00Z") == ["espresso machine rented"]
    assert found(store, "espresso", as_of="2026-01-01T00:00:00Z") == []
    assert found(store, "espresso", as_of="2024-12-31") == []


@pytest.mark.parametrize(("op", "reason"), [("forget", "expired"), ("reject", "tombstone"), ("retire", "expired")])
def test_what_is_not_live_is_invisible_and_explained(store: ArchivalStore, op: str, reason: str) -> None:
    """A retired or rejected record is in no search and no list; --explain says why, and get still shows it."""
    gone = note(store, "espresso in the morning")
    store.mark(op, gone, person(), reason="no longer")

    report = store.search("espresso", user_id="ada")

    assert (report.hits, report.abstained) == ((), True)
    assert [(loser.id, loser.reason) for loser in report.losers] == [(gone, reason)]
    assert store.records(user_id="ada") == []
    assert store.get(gone).history[-1] | {"at": ""} == {"op": op, "at": "", "actor": "person", "reason": "no longer"}


def test_a_quarantined_record_appears_when_a_person_approves_it(store: ArchivalStore) -> None:
    """Until then it is in no search and no list."""
    held = note(store, "espresso is an order", extra={"wanted_trust": "quarantined"})
    assert found(store, "espresso") == []
    assert store.get(held).status == "quarantined"

    store.mark("approve", held, person())

    assert found(store, "espresso") == ["espresso is an order"]


def test_explain_says_why_losers_lost(store: ArchivalStore) -> None:
    """Rank, floor and filters are named, one reason a loser."""
    for number in range(3):
        note(store, f"espresso number{number} tasted")
    weak = note(store, "something else was tasted")

    report = store.search("espresso number0 tasted on the terrace with Nils", user_id="ada", k=1)

    reasons = {loser.id: loser.reason for loser in report.losers}
    assert sorted(reasons.values()) == ["floor", "rank", "rank"]
    assert reasons[weak] == "floor"


def test_the_score_is_the_weighted_sum_of_its_parts(open_store: OpenStore) -> None:
    """Every part is shown and every weight can be set."""
    moment = [NOW - timedelta(days=45)]
    weights = {"relevance": 0.0, "confidence": 0.0, "recency": 1.0, "access": 0.0, "task": 10.0}
    tuned = MemorySettings.from_mapping({"retrieval": {"weights": weights}})
    store = open_store(None, clock=lambda: moment[0], settings=tuned)
    note(store, "espresso", type="preference", tags=("work",), confidence=0.8)
    moment[0] = NOW

    (hit,) = store.search("espresso", user_id="ada", where=Within(task_tags=["work", "home"])).hits

    assert hit.parts["confidence"] == 0.8
    assert hit.parts["recency"] == pytest.approx(0.5, abs=0.01)
    assert hit.parts["task"] == 0.5
    assert hit.score == pytest.approx(hit.parts["recency"] + 10 * 0.5)


def test_recency_counts_for_preferences_and_not_for_outcomes(open_store: OpenStore) -> None:
    """An old preference fades down to a tenth, an old outcome not at all."""
    moment = [NOW - timedelta(days=400)]
    store = open_store(None, clock=lambda: moment[0])
    note(store, "espresso preferred", type="preference")
    note(store, "espresso ordered", type="outcome")
    moment[0] = NOW

    parts = {hit.record.type: hit.parts["recency"] for hit in store.search("espresso", user_id="ada").hits}

    assert parts == {"preference": 0.1, "outcome": 1.0}


def test_uses_are_counted_per_user_and_outside_history(tmp_path: Path, open_store: OpenStore) -> None:
    """Each recall adds a fiftieth, another user's recalls add nothing, and no shard changes."""
    store = open_store()
    note(store, "espresso machine", "bob", scope="shared")
    before = [path.read_bytes() for path in (tmp_path / "archive").rglob("*.jsonl")]
    for _ in range(5):
        store.search("espresso", user_id="ada")

    assert store.search("espresso", user_id="ada").hits[0].parts["access"] == 5 / 50
    assert store.search("espresso", user_id="carol").hits[0].parts["access"] == 0
    assert [path.read_bytes() for path in (tmp_path / "archive").rglob("*.jsonl")] == before


words = st.sampled_from([f"{letter}{letter}" for letter in "bcdfghjklmnpqrstvwxz"])
documents = st.lists(st.lists(words, min_size=1, max_size=12).map(" ".join), min_size=1, max_size=30)


@given(documents, st.lists(words, min_size=1, max_size=5).map(" ".join))
@settings(max_examples=60, deadline=None)
def test_relevance_equals_the_bm25_oracle(texts: list[str], query: str) -> None:
    """Scores are those of BM25Okapi with k1 1.2, b 0.75, epsilon 0 on the same tokens, and equal ones come by id."""
    rank_bm25 = pytest.importorskip("rank_bm25")
    everything = MemorySettings.from_mapping(
        {"retrieval": {"floor": 0.0, "weights": {"confidence": 0, "recency": 0, "access": 0, "task": 0}}}
    )
    with ArchivalStore(None, gate=OpenGate(), settings=everything) as store:
        ids = [note(store, text) for text in texts]
        hits = store.search(query, user_id="ada", k=100).hits
        found = {record.id: [*tokens(record.text), *day_words(parse_time(record.created_at).date())]
                 for record in store.records(user_id="ada")}  # fmt: skip
    terms = query_terms(query)
    oracle = rank_bm25.BM25Okapi([found[id] for id in ids], k1=1.2, b=0.75, epsilon=0)
    expected = dict(zip(ids, oracle.get_scores(terms), strict=True))

    assert {hit.id for hit in hits} == {
        id for id, text in zip(ids, texts, strict=True) if set(terms) & set(tokens(text))
    }
    for hit in hits:
        assert hit.parts["bm25"] == pytest.approx(expected[hit.id], abs=1e-9)
    relevances = [hit.parts["relevance"] for hit in sorted(hits, key=lambda hit: (-hit.parts["bm25"], hit.id))]
    if max((hit.parts["bm25"] for hit in hits), default=0) > 0:  # else every word is in half of the records
        assert relevances == pytest.approx(sorted(relevances, reverse=True), abs=search.TIE_BREAK)


def test_common_words_score_and_find_nothing_by_themselves(
    open_store: OpenStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In a large store the rarer words choose the candidates; with only common ones those choose."""
    monkeypatch.setattr(search, "SMALL_CORPUS", 50)
    store = open_store(None)
    for number in range(130):
        note(store, f"daily report of day{number}")
    note(store, "espresso report")

    assert found(store, "espresso report", k=200) == ["espresso report"]
    assert len(found(store, "daily report", k=200)) == 131


def test_searching_leaves_no_trace_in_history(store: ArchivalStore) -> None:
    """Searching writes no line, so that recalled text never becomes new evidence."""
    note(store, "espresso")
    store.search("espresso", user_id="ada")

    assert len(store.get(store.records(user_id="ada")[0].id).history) == 1


def test_a_record_is_found_by_the_date_it_is_from() -> None:
    """A date in the question means when a record was written or began to hold, and what its text names."""
    store = ArchivalStore(None, gate=OpenGate(), clock=lambda: NOW)
    note(store, "The boiler was repaired", valid_from="2026-03-14T00:00:00Z")
    note(store, "The roof was repaired yesterday", valid_from="2026-06-02T00:00:00Z")
    note(store, "The fence was repaired")

    assert found(store, "what was repaired in March 2026?")[0] == "The boiler was repaired"
    assert found(store, "on 14 March")[0] == "The boiler was repaired"
    assert found(store, "what was repaired on 1 June 2026?")[0] == "The roof was repaired yesterday"
    assert found(store, "today") == ["The fence was repaired"]
    assert found(store, "in April 2024") == []


def test_a_word_that_may_be_a_month_is_only_one_in_a_date(store: ArchivalStore) -> None:
    """Neither "may I" nor "the march on" asks for a month."""
    note(store, "The boiler was repaired", valid_from="2026-05-14T00:00:00Z")

    assert store.search("may I have it", user_id="ada").abstained
    assert store.search("the march on Rome", user_id="ada").abstained


@pytest.mark.parametrize("query", ["What do I have on Tuesday?", "Am I free next Tuesday?", "On Tuesdays?"])
def test_what_happens_every_week_is_found_by_the_name_of_its_day(store: ArchivalStore, query: str) -> None:
    """A day that a question names is a date, and a word all the same."""
    for text in ("I have physiotherapy every Tuesday at 9", "I play chess on Mondays", "My cat eats salmon"):
        note(store, text)

    assert found(store, query) == ["I have physiotherapy every Tuesday at 9"]


def test_what_a_user_rejected_does_not_come_back_as_somebody_elses(store: ArchivalStore) -> None:
    """A shared record that says it is no answer to that user, neither as a constraint; others are told it."""
    bad = note(store, "espresso harms nobody", "ada", type="constraint")
    store.mark("reject", bad, person())
    told = note(store, "Espresso harms  NOBODY", "bob", type="constraint", scope="shared")

    report = store.search("espresso", user_id="ada")

    assert (report.hits, {loser.reason for loser in report.losers if loser.id == told}) == ((), {"tombstone"})
    assert store.constraints("ada") == []
    assert [hit.id for hit in store.search("espresso", user_id="bob").hits] == [told]
    assert [record.id for record in store.constraints("bob")] == [told]

    store.allow(bad, person())

    assert [hit.id for hit in store.search("espresso", user_id="ada").hits] == [told]
    assert [record.id for record in store.constraints("ada")] == [told]


def test_a_search_for_what_there_is_little_of_reads_little_more_in_a_larger_store(open_store: OpenStore) -> None:
    """What fails before an action is looked for in every turn: records of other types are not read through for it."""
    taken = []
    for number in (300, 3_000):
        store = open_store(None)
        drafts = (Draft(f"the {('ferry', 'harbour')[place % 2]} of day {place}") for place in range(number))
        list(store.import_many([(draft, person()) for draft in drafts]))
        failed = note(store, "the ferry to the harbour failed", type="outcome", tags=("failed",))

        def ask(store: ArchivalStore = store) -> list[str]:
            report = store.search("ferry harbour", user_id="ada", types=("outcome",), tags=("failed",))
            return [hit.id for hit in report.hits]

        assert ask() == [failed]
        taken.append(steps(ask))

    assert taken[1] < 2 * taken[0], taken


def test_a_name_that_stands_in_every_record_costs_little_more_in_a_larger_store(open_store: OpenStore) -> None:
    """What one record answers is found without a look at all those of whom the question names."""
    taken = []
    for number in (300, 1_500):
        store = open_store(None)
        drafts = (Draft(f"Ada saw ferry{place} and harbour{place}") for place in range(number))
        list(store.import_many([(draft, person()) for draft in drafts]))
        note(store, "Ada drinks oolong")

        def ask(store: ArchivalStore = store) -> list[str]:
            return found(store, "What does Ada drink?")

        assert ask() == ["Ada drinks oolong"]
        taken.append(steps(ask))

    assert taken[1] < 2 * taken[0], taken


@pytest.mark.parametrize(
    ("frequencies", "unknown", "floor", "deciding"),
    [
        ({"ada": 1000, "tea": 400, "drink": 90}, 0, 0.15, ["drink", "tea"]),
        ({"ada": 1000, "tea": 400, "drink": 90}, 0, 0.4, ["drink"]),
        ({"ada": 1000, "tea": 400, "drink": 90}, 0, 0.0, ["drink", "tea", "ada"]),
        ({"ada": 1000, "tea": 400, "drink": 90}, 3, 0.9, []),
        ({"ada": 1000, "tea": 400, "drink": 15}, 3, 0.9, ["drink"]),  # rare
        ({"live": 300, "lena": 250, "work": 200, "home": 100}, 3, 0.9, ["home"]),  # rare together
    ],
)
def test_the_terms_that_decide(frequencies: dict[str, int], unknown: int, floor: float, deciding: list[str]) -> None:
    """What a record holds of the others neither lifts it above the floor nor points to it."""
    statistics = CorpusStatistics(1000, 5.0, frequencies)
    terms = [*frequencies, *(f"unknown{number}" for number in range(unknown))]

    assert search.deciding_terms(search.finding_terms(terms, statistics), terms, statistics, floor) == deciding


few = st.sampled_from([*"bcdfghjklm", *"bc" * 6])
"""Words of which some are in most documents."""


@given(
    st.lists(
        st.tuples(st.lists(few, min_size=1, max_size=12).map(" ".join), st.sampled_from(("outcome", *3 * ("fact",)))),
        min_size=15,
        max_size=60,
    ),
    st.lists(few, min_size=1, max_size=6).map(" ".join),
    st.sampled_from([0.05, 0.15, 0.5, 0.95]),
)
@settings(max_examples=150, deadline=None)
def test_terms_that_decide_nothing_find_nothing_that_others_do_not(
    told: list[tuple[str, str]], query: str, floor: float
) -> None:
    """The answer is the one that a look at every record gives that shares any word with the question."""
    configured = MemorySettings.from_mapping({"retrieval": {"floor": floor}})
    with ArchivalStore(None, gate=OpenGate(), settings=configured) as store:
        for text, type in told:
            note(store, text, type=type)

        def relevance() -> dict[str, float]:
            report = store.search(query, user_id="ada", k=3, types=("outcome",))
            return {hit.id: hit.parts["relevance"] for hit in report.hits}

        with patch.object(search, "FEWEST_CANDIDATES", 1):
            narrow = relevance()
            with patch.object(search, "deciding_terms", lambda finders, *_: finders):
                assert narrow == relevance()


@given(st.lists(st.sampled_from("abcd")), st.sets(st.sampled_from("abxy")))
def test_the_words_of_a_question_are_counted_with_one_look_at_each_of_a_record(
    held: list[str], wanted: set[str]
) -> None:
    """A page that is pasted as a question costs no look at every word of every record for every word of its own."""
    once = iter(held)
    assert search.counted(once, wanted) == {word: held.count(word) for word in wanted & set(held)}
