"""Values from a store come out of generated text as they went in, and change nothing around them."""

from __future__ import annotations

import ast
import json
import tomllib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memkit.errors import UsageError
from memkit.generate.quoting import as_json, as_markdown, as_python, as_toml, as_yaml, as_yaml_block
from memkit.store.yaml import load_yaml

texts = st.text(st.characters(exclude_categories=["Cs"]))
scalars = st.one_of(
    texts, st.booleans(), st.integers(-(2**60), 2**60), st.floats(allow_nan=False, allow_infinity=False)
)
plain = st.recursive(
    scalars | st.none(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=8,
)
AWKWARD = [
    '"',
    "'",
    "'''",
    '"""',
    "\\",
    "\n",
    "\r\n",
    "\x00",
    "\x7f",
    "\x85",
    "\u2028",
    "😀",
    "{{ 7 * 7 }}",
    "{% raw %}",
    "#",
    ": x",
]


@given(plain)
def test_python_reads_back_what_was_written(value: object) -> None:
    """The literal is pure ASCII on one line, and evaluates to the value."""
    written = as_python(value)

    assert written.isascii() and written.isprintable()
    assert ast.literal_eval(written) == value


@given(st.one_of(scalars, st.lists(scalars, max_size=3)))
def test_toml_reads_back_what_was_written(value: object) -> None:
    """The literal stands on one line and parses to the value."""
    written = as_toml(value)

    assert "\n" not in written
    assert tomllib.loads(f"a = {written}\nb = 1\n") == {"a": value, "b": 1}


@given(texts)
def test_yaml_reads_back_what_was_written(value: str) -> None:
    """A flow scalar parses to the text, also where it looks like another type."""
    assert load_yaml(f"a: {as_yaml(value)}\nb: 1\n").data == {"a": value, "b": 1}


@given(st.dictionaries(texts, plain, max_size=4))
def test_a_yaml_block_reads_back_what_was_written(value: dict[str, object]) -> None:
    """Nested maps and lists of maps, written one key a line, parse to the same data."""
    assert (load_yaml(as_yaml_block(value)).data or {}) == value


@given(plain)
def test_json_reads_back_what_was_written(value: object) -> None:
    """JSON keeps every character as it is, and parses to the value."""
    assert json.loads(as_json(value)) == value


@given(texts)
def test_markdown_is_one_line_without_meaning(value: str) -> None:
    """No character that Markdown or HTML gives a meaning stands unescaped."""
    written = as_markdown(value)

    assert "\n" not in written and "\r" not in written
    unescaped = written.replace("\\\\", "")
    for mark in "`*_[]<>|#&":
        assert all(unescaped[place - 1] == "\\" for place, letter in enumerate(unescaped) if letter == mark)


@pytest.mark.parametrize("value", AWKWARD)
def test_awkward_texts_survive_every_language(value: str) -> None:
    """The texts that break naive quoting come back unchanged."""
    assert ast.literal_eval(as_python(value)) == value
    assert tomllib.loads(f"a = {as_toml(value)}")["a"] == value
    assert load_yaml(f"a: {as_yaml(value)}").data["a"] == value


@pytest.mark.parametrize("write", [as_json, as_toml, as_yaml])
def test_half_a_character_is_refused(write: object) -> None:
    """A lone surrogate cannot be stored in a file, so it is an error that says so."""
    assert callable(write)
    with pytest.raises(UsageError, match="surrogate"):
        write("\ud800")


def test_a_value_without_a_literal_is_refused() -> None:
    """What a language cannot write is an error and not somebody's repr."""
    with pytest.raises(UsageError):
        as_python(object())
    with pytest.raises(UsageError):
        as_toml(None)
