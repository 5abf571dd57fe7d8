"""Records told again by rules: every fact once, those of one subject together, and no word that was not there."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memkit.runtime.memory.lifecycle.retelling import retold
from memkit.runtime.memory.record.record import Record
from memkit.runtime.memory.words.wording import content_words


def records(*texts: str, days: int = 1) -> list[Record]:
    """Return records with these texts, on so many days in turn."""
    made = (f"2026-01-{1 + place % days:02}T00:00:00Z" for place in range(len(texts)))
    return [Record(str(place), text, "ada", at) for place, (text, at) in enumerate(zip(texts, made, strict=True))]


@pytest.mark.parametrize(
    ("texts", "told"),
    [
        (["The user said that they saw a heron.", "By the way, the user saw a heron."], ["User saw a heron"]),
        (["Ada paid Bob.", "Bob paid Ada."], ["Ada paid Bob", "Bob paid Ada"]),
        (["Ada saw a heron", "Ada bought cake"], ["Ada: saw a heron; bought cake"]),
        (["Ada saw a heron", "Ada saw a heron in Porto"], ["Ada saw a heron in Porto"]),
        (["Ada saw two herons", "Ada saw three herons"], ["Ada: saw two herons; saw three herons"]),
        (["Ada eats meat", "Ada never eats meat"], ["Ada: eats meat; never eats meat"]),
        (["Thanks, that's all!", "The session ended."], []),
        (["Bob said that they lost", "it rained"], ["Bob said that they lost", "It rained"]),
        (["I live in Porto and work as a nurse."], ["I: live in Porto; work as a nurse"]),
    ],
)
def test_a_fact_is_told_once_beside_what_is_about_the_same(texts: list[str], told: list[str]) -> None:
    """Order, numbers and negations keep facts apart; frames, courtesies and repetitions go."""
    assert retold(records(*texts)) == told


def test_days_are_named_where_there_are_several() -> None:
    """One line a subject and day."""
    told = retold(records("Ada saw a heron", "Ada bought cake", "Ada sang", days=2))
    assert told == ["2026-01-01 Ada: saw a heron; sang", "2026-01-02 Ada bought cake"]


def test_what_is_barred_is_told_by_no_line() -> None:
    """Each statement is asked about by itself."""
    assert retold(records("Ada saw a heron", "Ada bought cake"), lambda text: "heron" in text) == ["Ada bought cake"]


WHO = st.sampled_from(["Ada", "Bob", "The user", "The team", "We", "Their dog"])
WHAT = st.sampled_from(["saw 3 herons", "never ate cake", "lost a kayak in Porto", "fixed the build", "met Lena"])
FRAMES = st.sampled_from(["{}.", "By the way, {}.", "It was noted that {}!", "{} Thanks!", "- {}"])
NOTES = st.builds(lambda frame, who, what: frame.format(f"{who} {what}"), FRAMES, WHO, WHAT)


@given(st.lists(NOTES, max_size=12), st.integers(1, 3))
def test_no_fact_is_lost_and_no_word_is_new(notes: list[str], days: int) -> None:
    """Whatever is noted how often: each telling word stands in a line, and each line holds words of the notes."""
    lines = retold(records(*notes, days=days))

    said = {word for line in lines for word in content_words(line)}
    given_words = {word for note in notes for word in content_words(note)}
    assert {word for word in given_words if word not in FRAME_WORDS} <= said
    assert said <= given_words | {"user"} | {word for line in lines for word in content_words(line[:10])}


FRAME_WORDS = {word for text in ("By the way it was noted that thanks", "the user") for word in content_words(text)}
