"""What counts as a word, in any script."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memkit.runtime.memory.words.text import fingerprint, query_terms, stem, tokens


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
