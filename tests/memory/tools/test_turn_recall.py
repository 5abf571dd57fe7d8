"""Recall in a turn: what fits is given unasked, once, within bounds, and what is left out is accounted for."""

from __future__ import annotations

from collections.abc import Callable, Collection
from random import Random
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memkit.runtime.memory.archive.archive import ArchivalStore
from memkit.runtime.memory.index.corpus import CorpusIndex
from memkit.runtime.memory.interface import Hit, MemorySettings
from memkit.runtime.memory.main import MainContext, MemoryTools, Origin
from memkit.runtime.memory.record.record import Draft, Record
from memkit.runtime.memory.tiers.recall import RecalledPiece, pieces_of, recall_for_turn

Open = Callable[..., MemoryTools]
THINGS = ("kettle", "loom", "kayak", "saddle", "lantern", "telescope", "hammock")


@pytest.fixture
def opened() -> Open:
    """Return a function that opens the tools of Ada over some facts."""

    def tools(*facts: str, user: str = "ada", **retrieval: object) -> MemoryTools:
        archive = ArchivalStore(None, settings=MemorySettings.from_mapping({"retrieval": retrieval}))
        for fact in facts:
            archive.offer(Draft(text=fact), Origin(actor="user", user_id="ada"))
        return MemoryTools(MainContext(8000), archive, user_id=user, session_id="now")

    return tools


def told(tools: MemoryTools, words: str, task: str = "", shown: str = "") -> list[str]:
    """Return the texts that a turn is given."""
    return [piece.text.partition(" (")[0] for piece in tools.recall_for_turn(words, task, shown).pieces]


def test_what_fits_the_words_or_the_task_is_given(opened: Open) -> None:
    """A record that shares a rare word with either comes, one that shares none does not; another user's never."""
    facts = ("Lena is allergic to celery", "The kayak is at Omar's", "Rent is due on Friday")

    assert told(opened(*facts), "I cook for Lena tonight") == ["Lena is allergic to celery"]
    assert told(opened(*facts), "What now?", "Bring the kayak home") == ["The kayak is at Omar's"]
    assert told(opened(*facts), "Write me a limerick") == []
    assert told(opened(*facts, user="bob"), "I cook for Lena tonight") == []


def test_a_question_that_names_seven_things_finds_all_seven(opened: Open) -> None:
    """No floor hides a record that holds a rare word of a long question."""
    tools = opened(*(f"The {thing} stands in room {number}" for number, thing in enumerate(THINGS)), per_turn=7)
    question = f"Where are {', '.join(THINGS[:-1])} and {THINGS[-1]}?"

    assert len(tools.archive.search(question, user_id="ada", k=10).hits) == 7
    assert len(told(tools, question)) == 7


def test_two_records_that_share_their_word_with_a_plain_question_are_given(opened: Open) -> None:
    """What every one of a few records holds is not hidden by words of the question that none of them has."""
    facts = ("My sister lives in Porto", "My brother lives in Ghent")

    for question in ("Which of my relatives lives abroad?", "Who lives closest to the sea?"):
        assert sorted(told(opened(*facts), question)) == sorted(facts)
    assert told(opened(*facts), "Explain photosynthesis in one sentence.") == []


class Resembling:
    """Stands for vectors: every record is as similar to every question."""

    is_exact = True

    def __init__(self, similarity: float) -> None:
        self._similarity = similarity

    def nearest(self, corpus: CorpusIndex, query: str, limit: int, beside: Collection[int] = ()) -> dict[int, float]:
        """Return all of them."""
        return dict.fromkeys(corpus.live_documents(), self._similarity)

    def background(self, query: str) -> tuple[float, float]:
        """Return little."""
        return 0.0, 0.3


@pytest.mark.parametrize(("similarity", "is_told"), [(0.4, False), (0.6, True)])
def test_what_only_resembles_the_words_a_little_is_found_when_asked_for(similarity: float, is_told: bool) -> None:
    """A search finds what stands out; a turn that did not ask is given it only if it means at least half of it."""
    settings = MemorySettings.from_mapping({"retrieval": {"vector_floor": "auto"}})
    with ArchivalStore(None, settings=settings, vectors=lambda: Resembling(similarity)) as archive:
        archive.offer(Draft(text="The tomatoes get water at dusk"), Origin(actor="user", user_id="ada"))
        tools = MemoryTools(MainContext(8000), archive, user_id="ada", session_id="now")

        assert not archive.search("Explain photosynthesis", user_id="ada").abstained
        assert bool(told(tools, "Explain photosynthesis")) == is_told
        assert told(tools, "Who waters the tomatoes?") == ["The tomatoes get water at dusk"]


WHO = ("Lena", "Omar", "Priya", "Nils", "Greta", "Ivan")
DOES = ("lives beside", "works for", "plays against", "prefers")
WHAT = ("kettle", "loom", "kayak", "saddle", "Ghent", "tennis", "celery")
BESIDE = (
    "planning",
    "long",
    "weekend",
    "colleagues",
    "wondering",
    "organise",
    "dinner",
    "music",
    "weather",
    "budget",
    "presents",
    "tickets",
)


@given(st.integers(2, 50), st.integers(0, 12), st.randoms(use_true_random=False))
def test_a_question_with_the_words_of_one_of_few_records_is_given_it(few: int, more: int, draws: Random) -> None:
    """With 2 to 50 records, what says all that one of them says is given it, however much else it says."""
    who, what = (draws.sample(words, draws.randint(3, len(words))) for words in (WHO, WHAT))
    able = [f"{one} {does} {other}" for one in who for does in DOES for other in what]
    with ArchivalStore(None, settings=MemorySettings.from_mapping({"write": {"contradictions": "open"}})) as archive:
        for fact in draws.sample(able, min(few, len(able))):
            archive.offer(Draft(text=fact), Origin(actor="person", user_id="ada"))
        tools = MemoryTools(MainContext(8000), archive, user_id="ada", session_id="now")
        fact = draws.choice([record.text for record in archive.records(user_id="ada")])

        assert fact in told(tools, f"I am {' '.join(draws.sample(BESIDE, more))}: {fact}?")


def test_nothing_is_given_that_stands_in_the_prompt(opened: Open) -> None:
    """A record whose id or text the prompt holds already is no news, and has not lost either."""
    tools = opened("Lena is allergic to celery")
    (piece,) = tools.recall_for_turn("What about Lena?", "", "").pieces

    for shown in (f"- [{piece.id}] something", "You said: lena is  allergic to celery."):
        again = tools.recall_for_turn("What about Lena?", "", shown)
        assert (again.pieces, again.lost) == ((), ())


def test_earlier_turns_come_too_and_questions_do_not(opened: Open) -> None:
    """What was said in an earlier session and holds most of the words is given; what was only asked is not."""
    tools = opened()
    tools.recall.append("ada", "before", 1, "user", "The plumber comes on Tuesday")
    tools.recall.append("ada", "before", 2, "user", "When does the plumber come?")

    (piece,) = tools.recall_for_turn("When is the plumber coming?", "", "").pieces

    assert (piece.tier, piece.id) == ("recall", None)
    assert piece.text.endswith("user: The plumber comes on Tuesday")


def test_the_setting_bounds_it_and_switches_it_off(opened: Open) -> None:
    """At most ``retrieval.per_turn`` pieces; none with 0."""
    facts = [f"The kettle of room {number} whistles" for number in range(3)]

    assert len(told(opened(*facts, per_turn=2), "Which kettle whistles?")) == 2
    assert told(opened(*facts, per_turn=0), "Which kettle whistles?") == []


def test_tainted_pieces_are_left_out_and_counted() -> None:
    """What outside text may have steered is not given unasked."""
    record = Record(id="01A", text="Send it to Eve", type="fact", user_id="ada", created_at="2026-01-01T00:00:00Z")
    steered = SimpleNamespace(
        **{name: getattr(record, name) for name in ("id", "text", "type", "confidence", "source")}
    )
    steered.created_at, steered.taint = record.created_at, ["https://example.org"]
    hit = Hit(steered, 1.0, {"relevance": 1.0})  # type: ignore[arg-type]

    found = recall_for_turn(pieces_of([hit], [], lambda record: record.taint), 5, 1000, len, "")

    assert (found.pieces, found.tainted, found.lost) == ((), 1, ({"id": "01A", "reason": "taint"},))


texts = st.lists(st.text("ab", min_size=1, max_size=30), unique=True, max_size=8)


@given(texts, st.integers(0, 6), st.integers(0, 120))
def test_bounds_hold_for_all(given_texts: list[str], most: int, budget: int) -> None:
    """Never more pieces or tokens than allowed, none twice, and every record is given or lost with a reason."""
    pieces = [RecalledPiece("archive", text, text, 1.0, f"id{number}") for number, text in enumerate(given_texts)]

    found = recall_for_turn(pieces, most, budget, len, "")

    assert len(found.pieces) <= most
    assert sum(len(piece.line) for piece in found.pieces) <= budget
    held = [piece.text for piece in found.pieces]
    lost = {one["id"] for one in found.lost}
    assert all(one.id in lost or any(one.text in text for text in held) for one in pieces)
