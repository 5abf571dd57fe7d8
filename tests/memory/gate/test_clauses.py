"""Plain clauses are read as they are said, and nothing that only has their words."""

from pathlib import Path

import pytest
from growth import grows_with_its_length

from memkit.runtime.memory.gate.clauses import apart, is_plain_clause
from memkit.runtime.memory.lifecycle.pieces import SaidTurn, by_rules
from memkit.runtime.memory.words.wording import GREETING, content_words

ROOT = Path(__file__).resolve().parents[3]
FOUND = {
    "natural_turns.txt": 0.9,
    "natural_turns_later.txt": 0.75,
    "natural_turns_many.txt": 0.8,
    "natural_turns_unseen.txt": 0.58,
    "natural_turns_strangers.txt": 0.54,
    "natural_turns_last.txt": 0.63,
    "natural_turns_fresh.txt": 0.25,
}
"""The share of facts that the rules find at least.

The later and the unseen turns were not used to write them; no rule was made or changed for the fresh ones.
"""


def lines(path: Path) -> list[str]:
    """Return the lines of a file that are no remark."""
    return [line for line in path.read_text(encoding="utf-8").splitlines() if line and not line.startswith("#")]


def test_a_greeting_says_nothing_else() -> None:
    """A name may follow it, and no sentence does, whose words need no blanks between them."""
    assert all(map(GREETING.match, ("Hi", "hello there!", "Good morning, Zoë", "hey Max.")))
    assert not any(
        map(
            GREETING.match, ("Hi 我对花生过敏", "good morning, 我住在柏林", "hello 私はリスボンに住んでいます", "hi 42")
        )
    )


@pytest.mark.parametrize("name", FOUND)
def test_of_natural_turns_most_facts_are_found_and_none_is_wrong(name: str) -> None:
    """Every piece holds a fact that the turn tells, and a turn that tells none gives none."""
    wanted = found = 0
    for said, _, told in (line.partition(" =>") for line in lines(ROOT / "benchmarks" / name)):
        facts = [set(content_words(fact)) for fact in told.split(";") if fact.strip()]
        pieces = [set(content_words(piece.text)) for piece in by_rules([SaidTurn(1, said)]).pieces]
        assert all(any(fact <= piece for fact in facts) for piece in pieces), said
        wanted += len(facts)
        found += sum(any(fact <= piece for piece in pieces) for fact in facts)

    assert found >= FOUND[name] * wanted


@pytest.mark.parametrize("said", lines(Path(__file__).with_name("figures.txt")))
def test_a_figure_of_speech_is_no_fact(said: str) -> None:
    """A clause with one word that may mean something else is not read, and neither is what a pet is said to do."""
    assert by_rules([SaidTurn(1, said)]).pieces == ()


@pytest.mark.parametrize("said", lines(Path(__file__).with_name("plain.txt")))
def test_a_plain_sentence_of_a_stranger_is_read(said: str) -> None:
    """Whether or not a set of turns has its words: the grammar is of clauses, and its words are of a kind."""
    assert [piece.text for piece in by_rules([SaidTurn(1, said)]).pieces] == [said]


def test_what_somebody_does_not_do_is_kept_where_that_says_something() -> None:
    """Who eats no meat said so; who does not live in Porto may live anywhere."""
    assert is_plain_clause("My wife doesn't eat meat") and is_plain_clause("I don't drive")
    assert not is_plain_clause("I don't live in Porto") and not is_plain_clause("My wife doesn't work in a bank")


@pytest.mark.parametrize(
    ("said", "kept"),
    [
        ("I live in Porto, so we meet on video", ["I live in Porto"]),
        ("I live in Porto, or so my mother says", []),
        ("I live in Porto but I moved away", []),
        ("My sister Ana is a nurse and she's from Braga", ["My sister Ana is a nurse", "My sister Ana is from Braga"]),
        ("My sister Ana is a nurse. She lives in Porto.", ["My sister Ana is a nurse", "My sister Ana lives in Porto"]),
        ("My sister Ana is a nurse and he lives in Porto", ["My sister Ana is a nurse"]),
        ("My sister Ana lives with my aunt and she is a nurse", ["My sister Ana lives with my aunt"]),
        ("My knee is killing me today. I live in Porto.", ["I live in Porto"]),
        ("I live in Porto. You wish.", []),
        ("I live in Porto. As if!", []),
        ("When I was a kid we lived in Nairobi.", ["We lived in Nairobi when I was a kid"]),
        ("Galp makes fuel, which is dull.", ["Galp makes fuel"]),
    ],
)
def test_a_clause_is_read_beside_what_can_not_turn_it_round(said: str, kept: list[str]) -> None:
    """What only goes on is left out; what may take back or mock leaves all unread; "she" is who alone it can be."""
    assert [piece.text for piece in by_rules([SaidTurn(1, said)]).pieces] == kept


def test_two_clauses_of_one_subject_are_two_facts() -> None:
    """The subject is repeated; where one half is not plain, nothing is taken apart."""
    assert apart("My wife speaks Dutch and plays the harp") == ["My wife speaks Dutch", "My wife plays the harp"]
    assert apart("I have asthma but I go swimming") == ["I have asthma", "I go swimming"]
    assert apart("I have asthma and a lot to say") == ["I have asthma and a lot to say"]


@pytest.mark.parametrize(
    ("said", "kept"),
    [
        ("My boss turns into a werewolf every Monday.", []),
        ("My patience runs out on 31 March.", []),
        ("My wife restores church windows.", ["My wife restores church windows"]),
        ("My wife restores my sanity.", []),
        ("I sing in a choir with my aunt.", ["I sing in a choir with my aunt"]),
        ("I sing in a choir with nobody.", []),
        ("I have a meeting with Siemens.", []),
        ("I'm stuck in Frankfurt.", []),
    ],
)
def test_open_words_are_read_where_a_plain_clause_or_a_plain_verb_holds_them(said: str, kept: list[str]) -> None:
    """A plain clause, or a verb that is seldom said in figures, lets plain words stand behind it."""
    assert [piece.text for piece in by_rules([SaidTurn(1, said)]).pieces] == kept


@pytest.mark.parametrize(
    ("said", "kept"),
    [
        ("im from vienna and my dog is called rex", ["I'm from Vienna", "My dog is called Rex"]),
        ("i live in denial", []),
        ("i live in leggings", []),
        ("my boss, Henrike, hates meetings", ["My boss Henrike hates meetings"]),
        (
            "my sister, Ana, is a nurse; she lives in Porto",
            ["My sister Ana is a nurse", "My sister Ana lives in Porto"],
        ),
        ("I studied law in Graz but I ended up in sales", ["I studied law in Graz"]),
        ("I study law in Graz but I gave up", []),
        ("I speak Farsi with my mother", ["I speak Farsi with my mother"]),
        ("My favourite colour is sign language", []),
    ],
)
def test_haste_and_asides_hide_no_fact(said: str, kept: list[str]) -> None:
    """Capitals and apostrophes that are missing are put in, a name between commas belongs to whom it stands behind."""
    assert [piece.text for piece in by_rules([SaidTurn(1, said)]).pieces] == kept


@pytest.mark.parametrize(
    "part", ["I speak French, ", "My brother Ann ", "every Monday ", "and ", "I have two cats and "]
)
def test_reading_grows_with_the_length_of_what_is_said(part: str) -> None:
    """No wording makes a pattern try every way to fit."""
    for start in ("I speak French, ", "My brother lives in Porto ", "We have a cat and a "):
        assert grows_with_its_length(lambda text, start=start: is_plain_clause((start + text)[:200]), part, 180)
