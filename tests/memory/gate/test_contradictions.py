"""Which statements cannot both be true, as far as their wording shows."""

import pytest

from memkit.memory.contradictions import contradict

CLASH = [
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
]

PEACE = [
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
