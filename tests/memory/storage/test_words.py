"""What counts as a word, in any script."""

import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from memkit.runtime.memory.words.text import (
    _LETTERS_ALONE,
    APOSTROPHE,
    ASCII_WORD,
    SHORTENED,
    STOP_WORDS,
    WORD,
    _closed_up,
    _is_gap,
    fingerprint,
    folded,
    query_terms,
    stated,
    stem,
    tokens,
    words,
)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("prefers", "preference"),
        ("hopping", "hopped"),
        ("relational", "relate"),
        ("ponies", "pony"),
        ("happy", "happiness"),
    ],
)
def test_word_forms_meet_in_one_stem(one: str, other: str) -> None:
    """Forms of one English word have the same stem."""
    assert stem(one) == stem(other)


@pytest.mark.parametrize(
    ("word", "expected"),
    [
        ("caresses", "caress"), ("agreed", "agre"), ("plastered", "plaster"), ("conflated", "conflat"), ("sky", "sky"),
        ("vietnamization", "vietnam"), ("electrical", "electr"), ("adjustment", "adjust"), ("controlling", "control"),
        ("adoption", "adopt"), ("probate", "probat"), ("cease", "ceas"), ("sensibiliti", "sensibl"), ("bled", "bled"),
    ],
)  # fmt: skip
def test_stems_are_porters(word: str, expected: str) -> None:
    """The examples of Porter's paper come out as he printed them."""
    assert stem(word) == expected


def test_programming_languages_and_emoji_are_words() -> None:
    """c++, c# and emoji can be searched for; a skin tone makes no other emoji."""
    assert tokens("C++ and C# 👍🏽 🇩🇪") == ["c++", "and", "c#", "👍", "🇩🇪"]


def test_unspaced_scripts_are_found_by_any_part() -> None:
    """Two letters out of the middle of a Chinese sentence are among its tokens, and so is a single one."""
    assert set(query_terms("喝茶")) <= set(tokens("他喜欢喝茶"))
    assert set(query_terms("茶")) <= set(tokens("他喜欢喝茶"))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Müller", "muller"),
        ("ＦＵＬＬ", "full"),
        ("أَهْلًا", "اهلا"),
        ("straße", "STRASSE"),
        ("O’Brien's", "obrien"),
        ("a\u200bb", "ab"),
    ],
)
def test_spelling_makes_no_other_word(one: str, other: str) -> None:
    """Case, width, accents, vowel points, apostrophes and invisible characters do not matter."""
    assert tokens(one) == tokens(other)


@given(st.text("abcdefghijlmnorstuwy", min_size=1, max_size=8))
@example("ines")
@example("used")
@example("wills")
def test_only_a_stop_word_is_one_when_stemmed(word: str) -> None:
    """Ines is found by her name, which is not the word "in", and neither is what was used the word "us"."""
    assert (tokens(word)[0] in STOP_WORDS) == (word in STOP_WORDS)
    assert query_terms(f"where is {word}") == (tokens(word) if word not in STOP_WORDS else [])


def test_stop_words_are_dropped_from_queries_only() -> None:
    """A document keeps its stop words and a query loses them, and repeats itself no more."""
    assert query_terms("What is the the espresso espresso?") == ["espresso"]
    assert "the" in tokens("the espresso")


def test_a_value_has_one_fingerprint_however_it_is_spelled() -> None:
    """Blanks, hyphens, look-alike letters and case hide nothing; other words and another order make another value."""
    value = fingerprint("Alice prefers espresso")

    assert fingerprint("  ALICE, prefers es-presso!") == value
    assert fingerprint("Аlicе prefers espressо") == value
    assert fingerprint("Alice prefers tea") != value
    assert fingerprint("Alice never prefers espresso") != value
    assert fingerprint("espresso prefers Alice") != value


@given(st.text(max_size=200))
def test_tokens_hold_no_blanks(text: str) -> None:
    """Every token of every text is one word without blanks or quotes, so that it can be looked up as it is."""
    for token in tokens(text):
        assert token and not set(token) & set(" \t\r\n\0\"'")
    assert set(query_terms(text)) <= set(tokens(text))


@given(text=st.text(alphabet=st.sampled_from("aZ5_ .,-'+#\u00e9\u2019\t\x1c@%"), max_size=200) | st.text())
def test_short_cuts_for_plain_texts_find_what_the_patterns_find(text: str) -> None:
    """What most texts need is found by tables; the patterns that any text can be read with say the same."""
    flat = re.sub(APOSTROPHE, "", re.sub(SHORTENED, "", folded(text)))
    assert words(text) == (ASCII_WORD if flat.isascii() else WORD).findall(flat)
    lower = text.lower()
    if lower.isascii():
        assert lower.translate(_LETTERS_ALONE).split() == re.findall("[a-z]+", lower)
        gaps = re.escape("".join(char for char in map(chr, range(128)) if _is_gap(char)))
        whole = _closed_up(lower, re.compile(f"[{gaps}]+"), re.compile(f"[{gaps}]++(?![0-9])"))
        assert stated(text) == (whole or text.strip())


def test_a_word_of_any_length_is_cut_alike() -> None:
    """A run of letters is cut where it is too long, in every kind of text."""
    assert words("x" * 150 + " y") == ["x" * 64, "x" * 64, "x" * 22, "y"]
