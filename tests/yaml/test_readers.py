"""The quick reader and the careful one are one dialect, and every character of a text has its place."""

from __future__ import annotations

from typing import Any

import pytest
import yaml as pyyaml
from hypothesis import example, given, settings
from hypothesis import strategies as st

from memkit.resources import resource
from memkit.store.yaml import YamlError, load_yaml, raw_offsets

STARTERS = [path.read_text() for name in ("skills", "policies", "domains") for path in resource(name).glob("*.yaml")]
PIECES = [
    "a",
    "b: ",
    ": ",
    "- ",
    "\n",
    "\n  ",
    "[",
    "]",
    "{",
    "}",
    ", ",
    "'",
    '"',
    "#",
    "?",
    "|",
    ">",
    "|-\n",
    "\t",
    "&x",
    "*x",
]
PIECES += [
    "!",
    "!!str ",
    "%",
    "---\n",
    "...",
    "\\",
    "\r\n",
    "é",
    "\u200b",
    "~",
    "0755",
    "no",
    "<<",
    "=",
    "\ufeff",
    " ",
    "''",
]


def outcome(text: str, *, libyaml: bool) -> Any:
    """Return everything that loading gives, or the error's place and words."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pyyaml, "__with_libyaml__", libyaml and pyyaml.__with_libyaml__)
        try:
            return load_yaml(text, name="a.yaml")
        except YamlError as error:
            return error.code, str(error)


@given(st.lists(st.sampled_from(PIECES), max_size=14).map("".join))
@example("a: >#\n  b")
@example("a: [b?c]")
@example("a:\nb: \n")
@example("a: !\n")
@settings(max_examples=400, deadline=None)
def test_both_readers_give_the_same(text: str) -> None:
    """Data, positions, findings and errors do not depend on whether libyaml is installed."""
    assert outcome(text, libyaml=True) == outcome(text, libyaml=False)


@given(st.sampled_from(STARTERS), st.data())
@settings(max_examples=60, deadline=None)
def test_both_readers_agree_on_broken_files(text: str, data: st.DataObject) -> None:
    """So it is with real files in which something was typed by accident."""
    at = data.draw(st.integers(0, len(text)))
    text = text[max(0, at - 200) : at] + data.draw(st.sampled_from(PIECES)) + text[at : at + 200]

    assert outcome(text, libyaml=True) == outcome(text, libyaml=False)


@pytest.mark.parametrize(
    ("text", "word", "place"),
    [
        ("a: one two\n", "two", (1, 8)),
        ("a: one\n   two\n", "two", (2, 4)),
        ("a: 'it''s here'\n", "here", (1, 11)),
        ('a: "tab\\there"\n', "here", (1, 10)),
        ('a: "\\u200bhere"\n', "here", (1, 11)),
        ('a: "one \\\n    two"\n', "two", (2, 5)),
        ("a: |\n  one\n    two\n", "two", (3, 5)),
        ("a: >-\n  one\n\n  two\n", "two", (4, 3)),
        ("a: |2\n    one\n", "one", (2, 5)),
        ("a:\r\n  - one\r\n  - |\r\n    é two\r\n", "two", (4, 7)),
        ("a: >- # why\n  one\n  two\n", "two", (3, 3)),
    ],
)
def test_a_word_is_found_where_it_is_written(text: str, word: str, place: tuple[int, int]) -> None:
    """In every style of scalar, line and column are those of the file."""
    document = load_yaml(text)
    path = next(path for path in document.spans if word in str(_value(document.data, path)))
    offset = document.offsets(path)[str(_value(document.data, path)).index(word)]

    assert document.place(offset) == place
    assert document.text[offset:].startswith(word)


def _value(data: Any, path: tuple[str | int, ...]) -> Any:
    for part in path:
        data = data[part]
    return data


words = st.lists(st.text("ab'\"\\#:é\u200b😀", min_size=1, max_size=5), min_size=1, max_size=12)


@given(
    words,
    st.sampled_from([" ", "\n", "\n\n", "  "]),
    st.sampled_from(["'", '"', "|", ">", "|-", ">-"]),
    st.integers(20, 60),
)
@settings(max_examples=300, deadline=None)
def test_every_visible_character_stands_where_its_offset_says(
    words: list[str], gap: str, style: str, width: int
) -> None:
    """Whatever wrote the file, and however it was folded, the characters at the offsets are those of the text."""
    text = written(gap.join(words), style, width)
    document = load_yaml(text)
    value = document.data["a"]
    offsets = document.offsets(("a",))

    assert len(offsets) == len(value) + 1
    assert offsets == sorted(offsets)
    for char, offset in zip(value, offsets, strict=False):
        there = document.text[offset]
        assert char in " \n" or there == char or there == "\\"


def written(value: str, style: str, width: int) -> str:
    """Return YAML whose key ``a`` has the value in a style, as PyYAML writes it."""
    return pyyaml.safe_dump({"a": value}, default_style=style[0], width=width, allow_unicode=True)


@given(st.text(max_size=30), st.text(max_size=30))
def test_offsets_of_any_two_texts_are_within_the_first(raw: str, value: str) -> None:
    """Even for texts that do not belong together there is an offset for each character."""
    offsets = raw_offsets(raw, value)

    assert len(offsets) == len(value) + 1
    assert all(0 <= offset <= len(raw) for offset in offsets)
