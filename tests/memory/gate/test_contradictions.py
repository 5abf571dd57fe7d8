"""Which statements cannot both be true, as far as their wording shows."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from memkit.runtime.memory.gate.contradictions import contradict, grounds
from memkit.runtime.memory.gate.gate import WriteGate
from memkit.runtime.memory.interface import WriteSettings
from memkit.runtime.memory.record.record import Draft, Origin

CLASH = [
    ("The deploy window is Monday", "The deploy window is Tuesday"),
    ("Project deadline is May 3", "Project deadline is June 9"),
    ("The server port is 8080", "The server port is 9090."),
    ("The database is PostgreSQL", "The database is MySQL"),
    ("Meetings start at 9am", "Meetings start at 10am"),
    ("Bob is 30 years old", "Bob is 31 years old"),
    ("Alice's email is a@x.org", "Alice's email is b@x.org"),
    ("Alice wohnt in Berlin", "Alice wohnt in Hamburg"),
    ("爱丽丝住在柏林", "爱丽丝现在住在巴黎"),
    ("Alice lives in Berlin", "Alice lives in Paris"),
    ("Alice lives in Berlin.", "Alice now lives in Paris"),
    ("I live in Berlin", "User lives in Paris"),
    ("Alice's favourite colour is green", "Alice's favourite colour is blue"),
    ("My timezone is UTC+1", "My timezone is UTC+9"),
    ("The name of the cat is Muffin", "The name of the cat is Tiger"),
    ("Alice works at Acme", "Alice works for Globex"),
    ("Alice was born in 1990", "Alice was born in 1991"),
    ("Alice is 34 years old", "Alice is 35 years old"),
    ("Alice is married to Bob", "Alice is married to Carl"),
    ("Alice likes tea", "Alice doesn't like tea"),
    ("Alice likes tea", "Alice hates tea"),
    ("Alice loves tea", "Alice dislikes tea"),
    ("Alice always drinks tea", "Alice never drinks tea"),
    ("Alice drinks tea", "Alice no longer drinks tea"),
    ("Alice can swim", "Alice can't swim"),
    ("Alice is vegetarian", "Alice is not vegetarian"),
    ("Alice prefers espresso over latte", "Alice prefers latte over espresso"),
    ("The cat is male", "The cat is female"),
    ("The app is free", "The app is paid"),
    ("The job is permanent", "The job is temporary"),
    ("The office is upstairs", "The office is downstairs"),
    ("The tank is full", "The tank is empty"),
    ("The alarm is enabled", "The alarm is disabled"),
    ("The ticket is valid", "The ticket is invalid"),
    ("The disk is encrypted", "The disk is unencrypted"),
    ("The report is finished", "The report is unfinished"),
    ("The list is complete", "The list is incomplete"),
    ("The room is available", "The room is unavailable"),
    ("Alice is married", "Alice is unmarried"),
    ("The bridge was built by Eiffel", "The bridge was built by Roebling"),
    ("The picture was painted by Monet", "The picture was painted by Manet"),
    ("The firm is based in Ghent", "The firm is based in Austin"),
    ("The walls are red", "The walls are blue"),
    ("Alice takes her coffee black", "Alice takes her coffee with milk"),
    ("Alice has no car", "Alice drives her car to work"),
    ("Alice is German", "Alice is French"),
]

PEACE = [
    ("Bob is 30", "Bob is 180 cm tall"),
    ("The car is red", "The car is fast"),
    ("The shop is in Rome", "The shop is Italian"),
    ("One of the deadlines is May 3", "One of the deadlines is June 9"),
    ("Room 4 is 20 m2", "Room 5 is 30 m2"),
    ("Alice lives in Berlin", "Bob lives in Paris"),
    ("Alice lives in Berlin", "Alice lives in Berlin, Germany"),
    ("Alice likes tea", "Alice likes coffee"),
    ("Alice likes tea", "Bob doesn't like tea"),
    ("Alice likes tea", "Alice doesn't like coffee"),
    ("Alice's friend is Bob", "Alice's friend is Carl"),
    ("Alice is allergic to nuts", "Alice is allergic to milk"),
    ("Alice likes tea", "Alice loves tea"),
    ("Alice doesn't like tea", "Alice hates tea"),
    ("Alice's sister lives in Porto", "Alice lives in Berlin"),
    ("Alice works at Acme", "Alice lives in Acme"),
    ("Alice does not live in Berlin", "Alice lives in Paris"),
    ("Alice prefers espresso over latte", "Alice prefers tea over cocoa"),
    ("tea", "not tea"),
    ("Alice is Catalan", "Alice is Spanish"),
    ("Alice is Basque", "Alice is Spanish"),
    ("Alice is Filipino", "Alice is Filipina"),
]


@pytest.mark.parametrize(("one", "other"), CLASH)
def test_two_values_or_a_negation_contradict(one: str, other: str) -> None:
    """The same attribute of the same subject with another value, or a denial, is a contradiction either way round."""
    assert contradict(one, other)
    assert contradict(other, one)


@pytest.mark.parametrize(("one", "other"), PEACE)
def test_statements_that_can_both_hold_do_not(one: str, other: str) -> None:
    """Other subjects, other attributes, several friends, and a value said more exactly are no contradiction."""
    assert not contradict(one, other)
    assert not contradict(other, one)


class TestAskedModel:
    """A language model may open questions and nothing else."""

    PERSON = Origin(actor="person", user_id="alice")

    @pytest.fixture
    def view(self, view: Any) -> Any:
        """Return an archive with two records of which the wording contradicts neither."""
        view.add("Alice is a vegetarian")
        view.add("Alice has two cats")
        return view

    @pytest.mark.parametrize("policy", ["open", "keep_stronger"])
    def test_what_it_names_becomes_an_open_question(self, view: Any, policy: str) -> None:
        """Under every policy both records stay, and the new one names the other."""
        gate = WriteGate(WriteSettings(contradictions=policy), lambda text, others: [0])

        judged = gate.judge(Draft(text="Alice grills burgers on Sundays"), self.PERSON, view)

        assert (judged.decision, judged.supersedes) == ("admitted", None)
        assert judged.record_fields["contradicts"] == ["R0"]
        assert [reason.code for reason in judged.reasons] == ["contradiction"]

    def test_it_adds_to_what_the_wording_shows(self, view: Any) -> None:
        """It is asked about the other records only, and its answer comes after the detector's."""
        asked: list[Sequence[str]] = []

        def model(text: str, others: Sequence[str]) -> list[int]:
            asked.append(others)
            return [1]

        judged = WriteGate(contradicts=model).judge(Draft(text="Alice is not a vegetarian"), self.PERSON, view)

        assert asked == [["Alice has two cats"]]
        assert [reason.code for reason in judged.reasons] == ["contradiction", "unreadable_answer"]
        assert judged.record_fields["contradicts"] == ["R0"]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("The window is open", "The window is closed"),
        ("The team has six members", "The team has nine members"),
        ("The office is in Lisbon", "The office is in Porto"),
        ("Ada is the CTO of Acme", "The CTO of Acme is Bob"),
        ("I play chess every week", "I never play chess"),
        ("Backups run daily", "Backups run weekly"),
        ("My landlord is Mr. Braun", "My landlord is Mr. Weiss"),
    ],
)
def test_opposites_counts_places_and_offices_contradict(one: str, other: str) -> None:
    """Whichever was told first; and both share a ground, by which they are found."""
    assert contradict(one, other) and contradict(other, one)
    assert grounds(one) & grounds(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("We take the early train", "We take the late train"),
        ("I have a meeting at three", "I have a meeting at five"),
        ("Bob is the cousin of Karl", "Tom is the cousin of Karl"),
        ("The museum is open on Mondays", "The museum is closed on Sundays"),
        ("I play chess", "I never play chess on Sundays"),
        ("Ada has two dogs", "Ada has three cats"),
        ("The documents are in English", "The documents are in the drawer"),
        ("My sister is married to Tom", "My brother is single"),
    ],
)
def test_what_only_looks_opposite_does_not_contradict(one: str, other: str) -> None:
    """Another thing, another day, another part of it."""
    assert not contradict(one, other)


WORDED = Path(__file__).parents[3] / "benchmarks" / "contradictions.txt"


def worded() -> dict[str, list[tuple[str, str]]]:
    """Return the pairs that the benchmark counts, by their set."""
    found: dict[str, list[tuple[str, str]]] = {}
    for line in WORDED.read_text(encoding="utf-8").splitlines():
        if line.startswith("= "):
            found[line[2:]] = []
        elif not line.startswith("#"):
            one, _, other = line.partition(": ")[2].partition(" | ")
            found[[*found][-1]].append((one, other))
    return found


@pytest.mark.parametrize("name", ["tuned", "second", "third"])
def test_four_fifths_of_pairs_in_plain_wordings_are_seen_and_each_by_its_ground(name: str) -> None:
    """Whoever looks by grounds finds what whoever compares all would."""
    pairs = worded()[name]
    seen = [pair for pair in pairs if contradict(*pair)]

    assert len(seen) >= 0.8 * len(pairs)
    assert all(contradict(other, one) and grounds(one) & grounds(other) for one, other in seen)


def test_what_looks_alike_is_mostly_left_alone() -> None:
    """Of pairs that are as like as contradictions, and are none, nearly all stand side by side."""
    pairs = worded()["peace"]

    assert len([pair for pair in pairs if contradict(*pair)]) <= 2


def test_a_model_is_believed_about_every_pair(view: Any) -> None:
    """Whatever the wording shows, a pair that the model names becomes an open question."""
    pairs = [pair for name, pairs in worded().items() if name != "peace" for pair in pairs]
    gate = WriteGate(contradicts=lambda text, others: [*range(len(others))])
    for one, other in pairs:
        view.held.clear()
        view.add(one)
        judged = gate.judge(Draft(text=other), TestAskedModel.PERSON, view)
        assert judged.record_fields.get("contradicts") == ["R0"], (one, other)
