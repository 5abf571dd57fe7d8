# ruff: noqa: E501 - tables read best when they are dense
"""Regular expressions: the same answers as Python's, in a number of steps linear in the text."""

from __future__ import annotations

import re

import pytest
from growth import steps
from hypothesis import assume, given
from hypothesis import strategies as st
from plain_automaton import count, search

from memkit.runtime.guard.dfa import Dfa
from memkit.runtime.guard.interface import PolicySetError
from memkit.runtime.guard.regex import compile_regex

atoms = st.sampled_from(
    [
        "a",
        "b",
        "ab",
        ".",
        "[ab]",
        "[^a]",
        r"\d",
        r"\w",
        r"\s",
        r"\W",
        "^",
        "$",
        r"\b",
        r"\B",
        r"\.",
        "[a-c]",
        r"[\d_-]",
        "-",
    ]
)
patterns = st.recursive(
    atoms,
    lambda inner: st.one_of(
        st.tuples(inner, inner).map("".join),
        st.tuples(inner, inner).map("|".join),
        st.tuples(inner, st.sampled_from(["", "*", "+", "?", "*?", "{2}", "{1,3}", "{,2}", "{2,}"])).map(lambda part: f"(?:{part[0]}){part[1]}"),
        inner.map("({})".format),
    ),
    max_leaves=6,
)  # fmt: skip


@given(patterns, st.text(alphabet="ab1 -_.\n", max_size=12), st.sampled_from(["", "(?i)", "(?s)"]))
def test_it_finds_what_python_finds(pattern: str, text: str, flags: str) -> None:
    r"""Inside the subset a pattern means what it means in ``re``, whose releases disagree on ``\\B`` in empty text."""
    assume(text or r"\B" not in pattern)

    assert search(compile_regex(flags + pattern), text) == bool(re.search(flags + pattern, text))


@pytest.mark.parametrize("pattern", ["secret", "[a-z]", "[A-Z]", "[^a-z]", "[^A-Z]", "i", "µ", "[α-ω]", "[^α-ω]", "ς"])
def test_a_letter_has_the_cases_that_python_knows(pattern: str) -> None:
    """``ſ`` is an s, and ``ß`` is no S: what a policy catches depends on it."""
    automaton = compile_regex(f"(?i){pattern}")

    for text in ("ſecret", *"ſıİKßﬁŉςΣσµμϐͅᾳᾼiIkK1é"):
        assert search(automaton, text) == bool(re.search(pattern, text, re.IGNORECASE)), text


@pytest.mark.parametrize(
    "pattern", [r"(a+)+$", r"(a|a)*$", r"(a|aa)+$", r"(.*)*x", r"(\w+\s?)*$", r"a{1,50}a{1,50}a{50}$"]
)
def test_steps_grow_with_the_text_and_not_faster(pattern: str) -> None:
    """Patterns that explode elsewhere visit each state at most once at each position."""
    automaton = compile_regex(pattern)
    counts = [count(automaton, "a" * length + "!")[1] for length in (100, 200, 400)]

    assert counts[2] <= len(automaton.states) * 402
    assert counts[2] - counts[1] <= 2.2 * (counts[1] - counts[0])
    work = [steps(lambda text="a" * length + "!": Dfa(automaton).search(text)) for length in (200, 400, 800)]
    assert work[2] - work[1] <= 2.2 * (work[1] - work[0])


@pytest.mark.parametrize(
    ("pattern", "words"),
    [(r"(a)\1", "character 4: a back-reference"), (r"a(?=b)", "character 2: look-ahead"), (r"(?<!a)b", "look-behind"), (r"(?P<n>a)(?P=n)", "a reference"),
     (r"(?>a)", "atomic"), (r"(a", "character 1: the group is not closed"), (r"a)", "closing bracket"), (r"[a", "the set is not closed"),
     (r"*a", "nothing to repeat"), (r"a**", "quantifier"), (r"a*+", "quantifier"), (r"\q", "unknown escape"), ("a\\", "ends too early"),
     (r"[z-a]", "backwards"), (r"a{2000}", "counts above"), (r"((a{100}){100}){100}", "too large"), (r"a{3,2}", "below"), (r"(?x)a", "flags"),
     (r"\x1", "hexadecimal"), ("(" * 100 + ")" * 100, "nested"), (r"^*", "position")],
)  # fmt: skip
def test_what_the_subset_leaves_out_is_an_error_with_its_place(pattern: str, words: str) -> None:
    """An unsupported construct never compiles to something else."""
    with pytest.raises(PolicySetError, match=re.escape(words)):
        compile_regex(pattern)


@given(st.text(alphabet="ab()[]{}*+?|\\^$.,-:!=<>P12dwsbBAZ", max_size=16))
def test_any_pattern_compiles_or_is_refused(pattern: str) -> None:
    """No pattern makes the compiler fail in another way, and what compiles is a pattern of Python's too."""
    try:
        automaton = compile_regex(pattern)
    except PolicySetError:
        return
    try:
        expected = re.compile(pattern)
    except re.error:
        assume(False)
    assert search(automaton, "ab12") == bool(expected.search("ab12"))
