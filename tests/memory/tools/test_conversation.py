"""Search over what was said: each ingredient finds what plain words do not."""

from collections.abc import Callable, Sequence
from datetime import date

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memkit.runtime.memory.tiers.conversation import ConversationIndex, Recipe, Utterance

TODAY = date(2026, 11, 21)


def said(*texts: str, session: str = "s", day: date | None = None, speaker: str = "") -> list[Utterance]:
    """Return turns of one session, by one speaker on one day."""
    return [Utterance(text, session, day, frozenset({speaker}) if speaker else frozenset()) for text in texts]


def found(turns: list[Utterance], query: str, recipe: Recipe | None = None) -> list[str]:
    """Return the texts that a question finds, best first."""
    return [turns[place].text for _, place in ConversationIndex(turns, recipe).rank(query, TODAY)]


FILLER = [f"we talked of topic{number} for a while" for number in range(20)]


def test_a_word_in_another_form_is_found() -> None:
    """Endings and case do not matter."""
    turns = said(*FILLER, "She ADOPTED two kittens")

    assert found(turns, "adopting a kitten")[0] == "She ADOPTED two kittens"


def test_the_day_of_a_session_is_among_its_words() -> None:
    """A question that names a month or a day finds what was said then."""
    turns = said("the boat is ready", session="spring", day=date(2026, 3, 14))
    turns += said("the car is ready", session="autumn", day=date(2026, 10, 2))

    assert found(turns, "what did I say in March 2026")[0] == "the boat is ready"
    assert found(turns, "and on 2 October?")[0] == "the car is ready"
    assert found(turns, "in June 2024") == []


def test_yesterday_in_a_turn_is_the_day_before_it() -> None:
    """Relative dates are resolved against the day on which they were said."""
    turns = said("I met Tom", "I met Ann yesterday", *FILLER, day=date(2026, 3, 14))

    assert found(turns, "who was met on 13 March 2026")[0] == "I met Ann yesterday"
    assert "I met Ann yesterday" not in found(turns, "who on 13 March 2026", Recipe(relative=False))


def test_an_answer_is_found_by_the_question_before_it() -> None:
    """A turn without any of the words stands beside one that has them; none of another session does."""
    turns = said(*FILLER[:10], "Where did you spend the holiday?", "In Lisbon, as always.", *FILLER[10:])
    turns += said("Unrelated opening", session="other")

    assert "In Lisbon, as always." in found(turns, "holiday")[:2]
    assert "In Lisbon, as always." not in found(turns, "holiday", Recipe(near=()))
    assert "Unrelated opening" not in found(said("the holiday") + turns[-1:], "holiday")


def test_the_speaker_whom_a_question_names_comes_first() -> None:
    """Of two who said the same, the one asked about wins."""
    turns = said("I love sailing", speaker="bob", session="1") + said("I love sailing", speaker="ann", session="2")
    conversation = ConversationIndex(turns)

    assert [conversation.rank(f"what does {name} love", TODAY)[0][1] for name in ("Bob", "Ann")] == [0, 1]


def test_a_picture_is_found_by_its_caption() -> None:
    """What a picture shows is among the words of its turn."""
    turns = [*said(*FILLER), Utterance("Look at this!", "s", caption="a red kayak on a lake")]

    assert found(turns, "kayak")[0] == "Look at this!"
    assert found(turns, "kayak", Recipe(captions=False)) == []


def test_the_session_that_is_about_it_lifts_its_turns() -> None:
    """Of two equal turns, the one in a session that speaks of the question as a whole wins."""
    aside = said("the garden again", *FILLER[:5], session="aside")
    about = said("roses", "compost", "tulips and compost", *FILLER[5:8], "the garden again", session="about")
    turns = [*about, *aside]

    ranked = ConversationIndex(turns).rank("garden compost tulips", TODAY)
    places = [place for _, place in ranked if turns[place].text == "the garden again"]
    assert [turns[place].session for place in places] == ["about", "aside"]


@pytest.mark.parametrize("query", ["", "what did you do", "?!", "\0", "the of and", "🦑", "zzz " * 10_000])
def test_a_question_without_content_finds_nothing(query: str) -> None:
    """Stop words, signs and unknown words are nothing to go by."""
    assert found(said("what did you do", "the boat"), query) == []


def test_ten_thousand_words_find_what_they_speak_of() -> None:
    """A whole document as the question is answered."""
    query = " ".join(f"word{number}" for number in range(10_000)) + " kayak"

    assert found(said(*FILLER, "a red kayak"), query)[0] == "a red kayak"


@pytest.mark.parametrize(("text", "query"), [("他喜欢喝茶", "喝茶"), ("أحب القهوة", "القهوة"), ("party 🎉", "🎉")])
def test_every_script_is_found(text: str, query: str) -> None:
    """Text in any script is found by a part of it."""
    assert found(said(*FILLER, text), query)[0] == text


@settings(deadline=None)
@given(
    st.lists(st.tuples(st.sampled_from(["red kayak", "blue boat", "a red boat", "nothing"]), st.sampled_from("ab"))),
    st.sampled_from(["red", "kayak boat", "who had a red boat"]),
)
def test_more_words_never_hurt_and_nothing_comes_from_nowhere(rows: list[tuple[str, str]], query: str) -> None:
    """Scores are positive and sorted, each turn comes once, each sharing a word within two turns."""
    turns = [Utterance(text, session) for text, session in rows]
    ranked = ConversationIndex(turns).rank(query, TODAY)

    assert [pair for pair in ranked if pair[0] <= 0] == []
    assert [score for score, _ in ranked] == sorted((score for score, _ in ranked), reverse=True)
    assert len({place for _, place in ranked}) == len(ranked)
    for _, place in ranked:
        session = [turn for turn in turns if turn.session == turns[place].session]
        rank = sum(turn.session == turns[place].session for turn in turns[:place])
        around = " ".join(turn.text for turn in session[max(0, rank - 2) : rank + 3]).split()
        assert set(around) & set(query.split())


def near(**angles: float) -> Callable[[str, Sequence[str]], list[float]]:
    """Return how near texts are to any question, by a word that they hold; others are nowhere near."""
    return lambda query, texts: [max((angles[word] for word in angles if word in one), default=0.0) for one in texts]


def meant(turns: list[Utterance], query: str, **angles: float) -> list[str]:
    """Return the texts that words and meaning find together, best first."""
    index = ConversationIndex(turns, None, near(**angles))
    return [turns[place].text for _, place in index.rank(query, TODAY)]


def test_what_means_the_answer_is_not_less_among_other_matters() -> None:
    """A turn by itself may be nearer than it is with those beside it, which speak of something else."""
    turns = said("the rain again", "he nurses an ankle", "and more rain", session="a")
    turns += said("a fair remark", "a fair word", "a fair thought", session="b")

    assert meant(turns, "which injuries", ankle=0.6, fair=0.4)[0] == "he nurses an ankle"


def test_names_lead_on_from_what_meaning_found() -> None:
    """The turn that has the name shares no word with the question; what is told of that name comes up behind it."""
    turns = said("we saw Tove in Uppsala", session="a") + said("he is engaged to Tove now", session="b") + said(*FILLER)

    assert meant(turns, "where does his wife come from", engaged=0.7)[:2] == [
        "he is engaged to Tove now",
        "we saw Tove in Uppsala",
    ]


def test_where_neither_words_nor_meaning_tell_anything_apart_nothing_breaks() -> None:
    """All turns are as near as each other, and none holds a word of the question."""
    assert len(meant(said("we met Tove", "I saw Tove"), "where was it")) == len(["we met Tove", "I saw Tove"])
