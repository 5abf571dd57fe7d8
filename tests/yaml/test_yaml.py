"""The strict YAML loader."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
import yaml as pyyaml
from hypothesis import given, settings
from hypothesis import strategies as st
from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError

from memkit.store.yaml import MAX_DEPTH, YamlError, ambiguity, load_yaml, resolve_plain
from memkit.store.yaml_edit import without_entries


def refused(source: str | bytes) -> YamlError:
    """Return the error that loading ``source`` raises."""
    with pytest.raises(YamlError) as caught:
        load_yaml(source, name="a.yaml")
    return caught.value


def test_a_document_gives_plain_data_and_positions() -> None:
    """Values and keys have exact positions, counted from one."""
    document = load_yaml("name: x\nmatch:\n  args.command: {any: [1, b]}\n")

    assert document.data == {"name": "x", "match": {"args.command": {"any": [1, "b"]}}}
    assert document.position(("match", "args.command", "any", 1)) == (3, 27)
    assert document.key_position(("match", "args.command")) == (3, 3)
    assert document.position(("match", "absent", "deeper")) == document.position(("match",)) == (3, 3)


@pytest.mark.parametrize(
    ("source", "code", "line", "column"),
    [
        ("a: 1\na: 2\n", "MKY002", 2, 1),
        ('a: 1\n"a": 2\n', "MKY002", 2, 1),
        ("a: {b: 1, b: 2}", "MKY002", 1, 11),
        ("a: &x 1\n", "MKY004", 1, 4),
        ("a: *x\n", "MKY004", 1, 4),
        ("a: {<<: {b: 1}}\n", "MKY004", 1, 5),
        ("a: !!str 1\n", "MKY004", 1, 4),
        ("a: !x 1\n", "MKY004", 1, 4),
        ("%YAML 1.1\n---\na: 1\n", "MKY004", 1, 1),
        ("%TAG !e! tag:e,2000:\n---\na: 1\n", "MKY004", 1, 1),
        ("a: 1\n---\nb: 2\n", "MKY008", 2, 1),
        ("a:\n\t- b\n", "MKY001", 2, 1),
        ("a: [1\n", "MKY001", 2, 1),
        ("[a]: 1\n", "MKY001", 1, 1),
        ("? {a: b}\n: 1\n", "MKY001", 1, 3),
        ("1: a\n", "MKY001", 1, 1),
        ("true: a\n", "MKY001", 1, 1),
        ("a: .nan\n", "MKY001", 1, 4),
        ("a: 1e999\n", "MKY001", 1, 4),
        ("a: " + "9" * 5000, "MKY001", 1, 4),
        ('a: "\\UFFFFFFFF"\n', "MKY001", 1, 7),
        ('a: "\\ud800"\n', "MKY001", 1, 4),
        ("a: \x1b[31m\n", "MKY001", 1, 4),
        ("a: 1\nb: x\u2028y\n", "MKY001", 2, 5),
        ("a" * 1_000_001, "MKY006", 1, 1),
        ("[" * (MAX_DEPTH + 2), "MKY006", 1, MAX_DEPTH + 2),
        (b"a: 1\nb: caf\xe9\n", "MKY007", 2, 7),
    ],
)
def test_what_the_dialect_leaves_out_is_refused_with_its_place(
    source: str | bytes, code: str, line: int, column: int
) -> None:
    """Every refusal names the rule, the line and the column."""
    error = refused(source)

    assert (error.code, error.line, error.column) == (code, line, column)
    assert str(error).startswith(f"a.yaml:{line}:{column}: ")
    assert "\n" not in str(error)
    assert error.exit_code == 2


def test_a_tab_is_named() -> None:
    """The most common accident is said in words."""
    assert "A tab cannot indent" in str(refused("a: 1\n\tb: 2\n"))


def test_a_byte_order_mark_is_accepted_and_named() -> None:
    """A file from an editor that writes a byte order mark loads, and the mark is a finding."""
    document = load_yaml(b"\xef\xbb\xbfa: 1\n")

    assert document.data == {"a": 1}
    assert [finding.code for finding in document.findings] == ["MKY005"]


def test_windows_line_ends_load_with_the_same_positions() -> None:
    """Carriage returns change neither data nor line numbers."""
    document = load_yaml(b"a: 1\r\nb:\r\n  - c\r\n")

    assert document.data == {"a": 1, "b": ["c"]}
    assert document.position(("b", 0)) == (3, 5)


def test_an_empty_file_is_an_empty_document() -> None:
    """Nothing, and nothing but comments, load as None."""
    assert load_yaml("").data is None
    assert load_yaml("# only a comment\n").data is None


def test_a_laughs_bomb_is_refused_before_it_is_built() -> None:
    """The first anchor ends the reading."""
    bomb = "a: &a [x, x]\n" + "".join(f"{c}: &{c} [*{p}, *{p}]\n" for p, c in zip("abcdefg", "bcdefgh", strict=True))

    assert refused(bomb).line == 1


AMBIGUOUS = ["yes", "no", "on", "off", "Yes", "NO", "y", "n", "0755", "010", "08", "0o755", "-0o7", "12:30", "12:30:45"]
AMBIGUOUS += [
    "20:30.15",
    "1e3",
    "1.5e3",
    "1e+3",
    "12e03",
    "+.5",
    "1_000",
    "2026-11-21",
    "=",
    "<<",
    "0b11",
    "-0x1F",
    "1_0.5",
]


@pytest.mark.parametrize("scalar", AMBIGUOUS)
def test_scalars_that_readers_disagree_on_are_found_and_still_load(scalar: str) -> None:
    """The finding spans the scalar, and the data is what YAML 1.2 core says."""
    document = load_yaml(f"a: {scalar}  # why\n")

    (finding,) = document.findings
    assert finding.code == "MKY003"
    assert document.text[finding.start : finding.end] == scalar
    assert document.data == {"a": resolve_plain(scalar)}
    assert finding.quoting_is_safe == isinstance(document.data["a"], str)


@pytest.mark.parametrize("scalar", ["nothing", "1", "-12", "0", "1.5", "0x1F", "true", "2026", "a:b", "12:60x", "~"])
def test_scalars_that_readers_agree_on_are_left_alone(scalar: str) -> None:
    """An ordinary value is no finding, and neither is a quoted one."""
    assert load_yaml(f"a: {scalar}\n").findings == ()
    assert load_yaml("a: 'yes'\nb: \"0755\"\n").findings == ()


PLAIN = st.text(alphabet="0123456789+-._:eExXobyYnNsSfFtTrRuUlL~=<", min_size=1, max_size=9)


@given(PLAIN)
@settings(max_examples=400)
def test_no_disagreement_between_yaml_readers_stays_unsaid(text: str) -> None:
    """Where PyYAML (1.1) and this loader differ in the value of a plain scalar, there is a finding or a refusal."""
    try:
        document = load_yaml(f"[{text}]")
        older = pyyaml.safe_load(f"[{text}]")
    except (YamlError, pyyaml.YAMLError, ValueError):
        return
    same = [(type(item), item) for item in older] == [(type(item), item) for item in document.data]

    assert same or document.findings


@given(PLAIN)
@settings(max_examples=200)
def test_values_agree_with_an_independent_reader_of_yaml_1_2(text: str) -> None:
    """ruamel.yaml, in 1.2 mode, reads the same value wherever no finding is given."""
    if ambiguity(text) is not None:
        return
    try:
        ours = load_yaml(f"- {text}\n").data
        theirs = YAML(typ="safe", pure=True).load(f"- {text}\n")
    except (YamlError, YAMLError, ValueError, TypeError):  # ruamel raises the last two itself for odd keys
        return

    assert ours == theirs


@given(st.binary(max_size=200))
@settings(max_examples=300)
def test_any_bytes_load_or_are_refused_in_one_line(content: bytes) -> None:
    """No input makes the loader raise anything but its own error."""
    try:
        load_yaml(content)
    except YamlError as error:
        assert "\n" not in str(error)


@given(st.text(alphabet="ab:-[]{},&*!|>'\"%#? \n\r\t\\xuU0123456789<.~\ufeff", max_size=60))
@settings(max_examples=600)
def test_any_punctuation_loads_or_is_refused_in_one_line(text: str) -> None:
    """No arrangement of YAML's own signs makes the loader raise anything but its own error."""
    try:
        document = load_yaml(text)
    except YamlError as error:
        assert str(error).isprintable()
    else:
        assert document.position(()) >= (1, 1)


def test_files_that_are_no_files_are_refused(tmp_path: Path) -> None:
    """A directory, a pipe, an absent file and a name with NUL are answered, never waited for."""
    os.mkfifo(tmp_path / "pipe.yaml")

    for source in (tmp_path, tmp_path / "pipe.yaml", tmp_path / "absent.yaml", Path("a\0b")):
        with pytest.raises(YamlError):
            load_yaml(source)


NAMES = st.sampled_from(["a", "b", "name", "tools"])
VALUES = st.recursive(
    st.integers() | st.text("xy #:-\n", max_size=6) | st.lists(st.integers(), max_size=2),
    lambda inner: st.dictionaries(NAMES, inner, min_size=1, max_size=3),
    max_leaves=8,
)


def flat(data: Any, path: tuple[str, ...] = ()) -> dict[tuple[str, ...], Any]:
    """Return every value that is no map, by where it stands."""
    if not isinstance(data, dict):
        return {path: data}
    return {place: value for name, inner in data.items() for place, value in flat(inner, (*path, name)).items()}


@given(
    st.dictionaries(NAMES, VALUES, min_size=1), st.lists(NAMES, min_size=1, max_size=3), st.sampled_from([0, 1, None])
)
def test_an_entry_leaves_a_file_and_takes_nothing_along(data: dict[str, Any], path: list[str], flow: bool) -> None:
    """Its values go with the maps that they leave empty, and every other value stays, however the file is written."""
    text = pyyaml.safe_dump(data, sort_keys=False, default_flow_style=flow)

    left = load_yaml(without_entries(text, [".".join(path)])).data

    assert flat(left or {}) == {at: value for at, value in flat(data).items() if list(at[: len(path)]) != path}
