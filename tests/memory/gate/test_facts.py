"""A text that says several things is taken apart, and nothing is said that it did not say."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memkit.runtime.memory.main import ArchivalStore, MainContext, MemoryTools, Refused
from memkit.runtime.memory.words.wording import facts

APART = [
    ("I live in Lisbon and work as a nurse", ["I live in Lisbon", "I work as a nurse"]),
    (
        "I live in Lisbon, work as a nurse and have two cats.",
        ["I live in Lisbon", "I work as a nurse", "I have two cats"],
    ),
    ("I'm a nurse and live in Lisbon", ["I'm a nurse", "I live in Lisbon"]),
    ("My name is Ada and I prefer espresso over latte.", ["My name is Ada", "I prefer espresso over latte"]),
    ("Alice lives in Lisbon and works as a nurse", ["Alice lives in Lisbon", "Alice works as a nurse"]),
    ("The user lives in Porto and has two dogs", ["The user lives in Porto", "The user has two dogs"]),
    ("My sister lives in Oslo and my brother lives in Rome", ["My sister lives in Oslo", "My brother lives in Rome"]),
    ("I like tea but hate coffee", ["I like tea", "I hate coffee"]),
    ("I live in Bonn; I work in Cologne", ["I live in Bonn", "I work in Cologne"]),
]
WHOLE = [
    "I like bread and butter", "I work at Marks and Spencer", "My band is called Love and Rockets",
    "I speak French, Dutch and Greek", "I live and work in Lisbon", "I want to live and work in Spain",
    "I hate work and love stories", "I don't smoke and drink", "I never drink and drive", "I can sing and dance",
    "Bob said I live in Rome and I work in Paris", "He wrote “I live in Rome and work in Paris”",
    "If I move to Rome, I need a car and I have no money", "I like tea more than coffee and prefer juice",
    "My wife and I live in Porto", "I know Ada and my boss knows Bob and she hates it", "I like tea but I drop it",
    "I usually eat fish and drink wine", "I eat fish and drink wine on Sundays", "Nobody likes tea and drinks coffee",
    "I only eat fish and drink water", "I have a dog and a cat", "I am vegetarian and allergic to nuts",
    "I cook, have fun, live large", "Ich wohne in Bonn und arbeite in Köln", "I live in Lisbon but only in my dreams",
    "I think I like tea and I hate coffee", "I live in Rome. I work in Paris.", "", "I", "and", "I live in Rome and",
]  # fmt: skip
STARTS = st.sampled_from(["I", "We", "My sister", "Alice", "The user", "I'm", "Nobody", "My wife and I", "Bob said I"])
VERBS = st.sampled_from(
    [
        "live in", "lives in", "work as", "works at", "love", "loves", "hate", "prefer", "prefers", "have", "has", "am",
        "is", "don't like", "can", "never eat",
    ]
)  # fmt: skip
THINGS = st.sampled_from(
    [
        "Lisbon",
        "a nurse",
        "fish",
        "two dogs",
        "work",
        "love stories",
        "salt and pepper",
        "Marks and Spencer",
        "it",
        "more",
    ]
)
JOINTS = st.sampled_from([" and ", ", and ", " but ", "; ", ", ", " and I ", " and my brother ", " or ", " because I "])


@pytest.mark.parametrize(("text", "pieces"), APART)
def test_each_fact_stands_for_itself(text: str, pieces: list[str]) -> None:
    """Clauses with a verb of their own come apart, with the subject that they share."""
    assert facts(text) == pieces


@pytest.mark.parametrize("text", WHOLE)
def test_what_hangs_together_stays_whole(text: str) -> None:
    """Lists, names, quotes, comparisons, conditions, negations and habits are no two facts."""
    assert facts(text) == [text]


@st.composite
def composed(draw: st.DrawFn) -> str:
    """Return clauses, sensible and not, joined in every way."""
    text = f"{draw(STARTS)} {draw(VERBS)} {draw(THINGS)}"
    for _ in range(draw(st.integers(0, 3))):
        text += f"{draw(JOINTS)}{draw(VERBS)} {draw(THINGS)}"
    return text + draw(st.sampled_from(["", ".", "!", "?", " on Sundays"]))


SUBJECT = re.compile(r"(?:(?:My|The|Our) )?[\w-]+(?: [A-Z][\w-]*)?")
JOINT = re.compile(r",?\s+(?:and|but)\s+|,\s+|;\s+")


@given(composed() | st.text(max_size=80))
def test_pieces_are_the_words_of_the_text_in_their_order(text: str) -> None:
    """Leaving out joints and repeated subjects, the pieces are the text: nothing is added, nothing else is lost."""
    pieces = facts(text)
    assert pieces == [text] or len(pieces) > 1
    assert all(facts(piece) == [piece] for piece in pieces)
    rest, before = text.strip(), ""
    for piece in pieces if len(pieces) > 1 else ():
        told = piece
        if before:
            joint, subject = JOINT.match(rest), SUBJECT.match(before)
            assert joint is not None and subject is not None
            rest = rest[joint.end() :]
            told = piece if rest.lower().startswith(piece.lower()) else piece.removeprefix(f"{subject[0]} ")
        assert rest.lower().startswith(told.lower())
        rest, before = rest[len(told) :], piece
    assert len(pieces) == 1 or rest in ("", ".", "!")


# --- through the tools of an agent


@pytest.fixture
def tools() -> Iterator[MemoryTools]:
    """Return memory tools over an archive in memory."""
    with ArchivalStore() as archive:
        yield MemoryTools(MainContext(max_tokens=4000), archive, user_id="ada", session_id="s")


def texts(tools: MemoryTools) -> list[str]:
    """Return what is live."""
    return sorted(record.text for record in tools.archive.records(user_id="ada"))  # type: ignore[attr-defined]


def test_an_agents_insert_becomes_a_record_a_fact(tools: MemoryTools) -> None:
    """The result lists the ids, the first one first, and each fact is the user's own if its sentence was."""
    tools.begin_turn("I live in Lisbon and work as a nurse.", 1)

    result = tools.call("archival_memory_insert", {"text": "Ada lives in Lisbon and works as a nurse"})

    records = {record.text: record for record in tools.archive.records(user_id="ada")}  # type: ignore[attr-defined]
    assert set(records) == {"Ada lives in Lisbon", "Ada works as a nurse"}
    assert [record.source for record in records.values()] == ["explicit", "explicit"]
    first, second = records["Ada lives in Lisbon"].id, records["Ada works as a nurse"].id
    assert result.splitlines()[-1] == f"ids: {first}, {second}"


def test_correcting_one_fact_leaves_the_other(tools: MemoryTools) -> None:
    """The fact that is most like the old record corrects it; the other one is new."""
    tools.begin_turn("I live in Lisbon and work as a nurse.", 1)
    tools.call("archival_memory_insert", {"text": "I live in Lisbon and work as a nurse"})
    old = next(r for r in tools.archive.records(user_id="ada") if "Lisbon" in r.text)  # type: ignore[attr-defined]
    tools.begin_turn("I have two dogs and live in Porto.", 2)

    tools.call("archival_memory_insert", {"text": "I have two dogs and I live in Porto", "supersedes": old.id})

    assert texts(tools) == ["I have two dogs", "I live in Porto", "I work as a nurse"]


def test_what_the_gate_refuses_of_several_is_told_and_the_rest_is_kept(tools: MemoryTools) -> None:
    """A refused fact does not take the others with it; where all are refused, the call is."""
    tools.begin_turn(None, 1)
    secret = "4111 1111 1111 1111"

    result = tools.call("archival_memory_insert", {"text": f"I live in Porto and I use {secret}"})

    assert texts(tools) == ["I live in Porto"]
    assert "refused: " in result and secret not in result
    with pytest.raises(Refused):
        tools.call("archival_memory_insert", {"text": f"I use {secret} and I have {secret}"})


class Key(NamedTuple):
    """Which call of which turn it is."""

    name: str = "turn-1/call-1"
    moment: int = 1_795_000_000_000
    number: int = 1


def test_a_call_that_was_cut_off_between_two_facts_writes_the_rest(tools: MemoryTools) -> None:
    """Played again under its key, what was written is found, what was not is written, and nothing is there twice."""
    insert, said = "archival_memory_insert", {"text": "I live in Lisbon and work as a nurse"}
    tools.begin_turn(said["text"], 1)
    with tools.under_key(Key()):
        tools.call(insert, {"text": "I live in Lisbon"})

    with tools.under_key(Key()):
        first = tools.call(insert, said)
    with tools.under_key(Key()):
        second = tools.call(insert, said)

    assert texts(tools) == ["I live in Lisbon", "I work as a nurse"]
    assert first.splitlines()[-1] == second.splitlines()[-1]


def test_a_program_keeps_its_text_as_it_is(tools: MemoryTools) -> None:
    """Bare tools and an archive take a text as it is offered."""
    tools.archival_memory_insert("I live in Lisbon and work as a nurse")
    tools.call("archival_memory_insert", {"text": "We live in Rome and have two cats"})

    assert texts(tools) == ["I live in Lisbon and work as a nurse", "We live in Rome and have two cats"]
