"""Patterns by a table made while reading: the automaton's answers, with less work and in bounded memory."""

from __future__ import annotations

import re
import sys
import tracemalloc
from collections.abc import Iterator

import pytest
from growth import steps
from hypothesis import example, given
from hypothesis import strategies as st
from plain_automaton import search
from test_regex import patterns

from memkit.runtime.guard import dfa
from memkit.runtime.guard.checks import folded
from memkit.runtime.guard.dfa import Dfa, required_literals
from memkit.runtime.guard.interface import PolicySetError
from memkit.runtime.guard.regex import compile_regex, parse_regex

texts = st.text(alphabet="ab1 -_.\nAKſıK", max_size=12)
EXPLODING = "(a|b)*a" + "(a|b)" * 20


@given(patterns, st.lists(texts, min_size=1, max_size=4), st.sampled_from(["", "(?i)", "(?s)"]))
@example(r"a$", ["a\n", "a\n\n", "a"], "")
@example(r"\Ba|\b_", ["_a", "", "a"], "")
def test_a_table_says_what_the_automaton_says(pattern: str, read: list[str], flags: str) -> None:
    """Also about the second text, which is read by steps that the first one left behind."""
    automaton = compile_regex(flags + pattern)
    table = Dfa(automaton)

    assert [table.search(text) for text in read] == [search(automaton, text) for text in read]


@given(patterns, st.lists(texts, min_size=1, max_size=4), st.integers(0, 12))
def test_a_table_that_forgets_all_the_time_says_the_same(pattern: str, read: list[str], room: int) -> None:
    """Forgetting changes what a search costs and never what it finds, in the middle of a text too."""
    automaton = compile_regex(pattern)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(dfa, "ROOM", room)
        table = Dfa(automaton)

        assert [table.search(text) for text in read] == [search(automaton, text) for text in read]


@given(patterns, texts, st.sampled_from(["", "(?i)"]))
@example("(ab|ba)-", "xba-", "")
@example("sk", "ſK", "(?i)")
def test_what_matches_has_a_literal_that_the_pattern_requires(pattern: str, text: str, flags: str) -> None:
    """Without one of them in it, in either case, no text is worth a search."""
    automaton = compile_regex(flags + pattern)
    literals = required_literals(parse_regex(flags + pattern))
    met = any(folded(literal) in folded(text) for literal in literals)

    assert met or not literals or not search(automaton, text)


@pytest.mark.parametrize(
    ("pattern", "literals"),
    [
        ("^/srv/[a-z]+/secret", ("/secret",)),
        ("(GET|POST) /", ("GET", "POST")),
        ("(drop|x*)", ()),
        ("(token=){2}x", ("token=",)),
        (".*", ()),
        ("[ab]", ()),
    ],
)
def test_the_literals_are_those_that_say_most(pattern: str, literals: tuple[str, ...]) -> None:
    """The longest one; of several branches one each; none where a text may do without."""
    assert required_literals(parse_regex(pattern)) == literals


def test_folding_knows_every_character_that_is_a_letter_of_ascii_in_another_case() -> None:
    """A pattern that ignores case holds for each of them, so that none may be missing from the table."""
    odd = [char for char in map(chr, range(128, sys.maxunicode + 1)) if _ascii_letter(char)]

    assert [folded(char) for char in odd] == [_ascii_letter(char) for char in odd]
    assert set(re.findall("[a-z]", "".join(map(chr, range(128, sys.maxunicode + 1))), re.IGNORECASE)) == {*odd, "İ"}
    assert folded("İ") == "i"
    assert folded("ÄpfelK") == "Äpfelk"


def _ascii_letter(char: str) -> str:
    return next((case.lower() for case in (char.lower(), char.upper()) if len(case) == 1 and case.isascii()), "")


def test_a_pattern_that_explodes_stays_within_its_room() -> None:
    """A million sets of states would be a table of gigabytes; what is kept is bounded, and the answer the same."""
    automaton = compile_regex(EXPLODING + "$")
    table = Dfa(automaton)
    text = "".join("ab"[bin(number).count("1") % 2] for number in range(30_000))
    tracemalloc.start()

    found = table.search(text)

    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert found == bool(re.search("a[ab]{20}$", text))
    assert peak < 40_000_000


def test_a_search_costs_no_step_twice() -> None:
    """A text of characters that were seen before is read without asking the automaton."""
    table = Dfa(compile_regex(r"(?i)^a.*b$"))
    table.search("/srv/projects/file.md")

    assert steps(lambda: table.search("/srv/projects/file.md" * 10)) <= 3 * 210


@pytest.mark.parametrize(
    ("pattern", "answer"), [("^/srv/", False), (r"\A(?:a|b)", True), (r"a|\b^c", True), ("^", True)]
)
def test_a_search_reads_no_further_than_its_answer(pattern: str, answer: bool) -> None:
    """What has to stand at the beginning and does not is never found; what was found stays found."""
    read = iter("a" + "-" * 100)

    class Text(str):
        def __iter__(self) -> Iterator[str]:
            return read

    assert Dfa(compile_regex(pattern)).search(Text("a" + "-" * 100)) is answer
    assert len(list(read)) >= 98


def test_too_large_a_pattern_is_refused_before_a_table_is_made() -> None:
    """What the automaton refuses has no table either."""
    with pytest.raises(PolicySetError, match="too large"):
        compile_regex("((a{100}){100}){100}")


@pytest.mark.parametrize(
    ("pattern", "outgrows"),
    [
        (EXPLODING, True),
        ("x.{15}y", True),
        (r"^/srv/[a-z]+/secret\d+$", False),
        ("[a-f0-9]{64}", False),
        ("(ab?c|d)*e", False),
    ],
)
def test_a_pattern_that_explodes_is_known_before_a_text_comes(pattern: str, outgrows: bool) -> None:
    """So that who writes it hears of it, and not who waits for a decision."""
    assert Dfa(compile_regex(pattern)).outgrows_its_room() is outgrows
