"""Rewording by rules: what is understood, and that nothing is guessed."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memkit.runtime.memory.lifecycle.successors import refined


@pytest.mark.parametrize(
    ("text", "feedback", "wording"),
    [
        ("Ada lives in Berlin", "Paris, not Berlin", "Ada lives in Paris"),
        ("Ada lives in Berlin", "No, it's Paris, not Berlin.", "Ada lives in Paris"),
        ("Ada lives in Berlin", "She lives in Paris, not Berlin", "Ada lives in Paris"),
        ("Ada lives in Berlin", "not Berlin but Paris", "Ada lives in Paris"),
        ("Ada lives in Berlin.", "it is Paris", "Ada lives in Paris."),
        ("Ada lives in Berlin", "it should be 'Paris, France'", "Ada lives in Paris, France"),
        ("The staging port is 8080", "should be 9090", "The staging port is 9090"),
        ("Ada's cat is called Tom", "it is Max", "Ada's cat is called Max"),
        ("Ada likes tea", "coffee instead of tea", "Ada likes coffee"),
        ("I prefer Python", "Actually, I prefer Python 3.11+, not just 'Python'", "I prefer Python 3.11+"),
        ("Ada likes Python.", "Actually, I prefer Python 3.11+, not just “Python”.", "Ada likes Python 3.11+."),
        ("Ada likes tea", "change tea to green tea", "Ada likes green tea"),
        ("Ada likes tea", "replace “tea” with “coffee”", "Ada likes coffee"),
        ("Ada likes tea", "tea -> coffee", "Ada likes coffee"),
        ("Ada drinks espresso.", "add in the morning", "Ada drinks espresso in the morning."),
        ("Ada drinks espresso", "add that she takes sugar", "Ada drinks espresso; she takes sugar"),
        ("Ada drinks espresso in the winter", "remove in the winter", "Ada drinks espresso"),
        ("Ada, who sings, likes tea", "drop who sings", "Ada, likes tea"),
        ("Ada likes tea", "say: Ada moved to Paris.", "Ada moved to Paris."),
    ],
)
def test_feedback_is_taken_at_its_word(text: str, feedback: str, wording: str) -> None:
    """Each form that the documentation names rewords as a person would."""
    assert refined(text, feedback) == wording


@pytest.mark.parametrize(
    ("text", "feedback"),
    [
        ("Ada likes tea", "make it shorter"),
        ("Ada likes tea", "wrong"),
        ("Ada lives in Berlin", "make it nicer"),
        ("Ada lives in Berlin", "it should be more precise"),
        ("Ada lives in Berlin", "that is wrong"),
        ("Ada likes tea", "it is not tea"),
        ("Ada likes tea", "coffee, not milk"),
        ("Ada likes tea, and Bob likes tea", "coffee, not tea"),
        ("Ada likes teapots", "coffee, not tea"),
        ("Ada likes tea", "tea, not tea"),
        ("Ada likes tea", "remove Ada likes tea"),
        ("Ada likes tea", ""),
        ("Ada likes tea", "add"),
    ],
)
def test_what_is_not_understood_is_not_guessed(text: str, feedback: str) -> None:
    """Unknown forms, words that are absent or occur twice, and changes that change nothing have no answer."""
    assert refined(text, feedback) is None


@given(st.text(max_size=80), st.text(max_size=80))
def test_any_text_has_an_answer_or_none(text: str, feedback: str) -> None:
    """No feedback ends in an error, in an empty text, or in the same text."""
    wording = refined(text, feedback)

    assert wording is None or (wording.strip() and wording != text.strip())


words = st.from_regex(r"[a-z]{3,8}", fullmatch=True)


@given(st.lists(words, min_size=3, max_size=8, unique=True), st.from_regex(r"[0-9]{3,6}", fullmatch=True), st.data())
def test_a_replacement_touches_nothing_else(said: list[str], new: str, data: st.DataObject) -> None:
    """Of "X, not Y" every word but Y stays where it was."""
    old = data.draw(st.sampled_from(said))
    feedback = f"change {old} to {new}"
    if {"to", "into"} & set(said):
        return

    assert refined(" ".join(said), feedback) == " ".join(new if word == old else word for word in said)
