"""Marked blocks: what may change, what may not, and what is said of markers that say nothing clear."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memkit.runtime.evolve.interface import BrokenMarkers, DoesNotApply
from memkit.runtime.evolve.source.parsed import read_blocks, require_same_outside

MARKED = "import math\n# EVOLVE-BLOCK-START\nx = 1\n# EVOLVE-BLOCK-END\nprint(x)\n"
lines = st.lists(
    st.sampled_from(["x = 1", "\ty = 'é'", "", "# note", "s = '\\x0c'", "\x0c", "z = 'a\u2028b'"]), max_size=4
)


def test_several_blocks_are_found_and_the_rest_is_fixed() -> None:
    """Marker lines belong to what stays."""
    text = MARKED + "# EVOLVE-BLOCK-START second\ny = 2\n    # EVOLVE-BLOCK-END"

    blocks = read_blocks(text)

    assert blocks.open == ("x = 1\n", "y = 2\n")
    assert blocks.fixed[0] == "import math\n# EVOLVE-BLOCK-START\n" and blocks.fixed[2] == "    # EVOLVE-BLOCK-END"
    assert [text[start:end] for start, end in blocks.spans] == list(blocks.open)


def test_without_markers_everything_may_change() -> None:
    """The whole program is one block."""
    blocks = read_blocks("x = 1")

    assert blocks.open == ("x = 1",) and not blocks.marked and blocks.text == "x = 1"


@pytest.mark.parametrize(
    "text",
    [
        's = """\n# EVOLVE-BLOCK-START\n"""\n',
        "s = '# EVOLVE-BLOCK-END'\n",
        "# keep the EVOLVE-BLOCK-START line\nx = 1\n",
        "# EVOLVE-BLOCK-STARTED\nx = 1\n",
    ],
)
def test_words_in_strings_and_within_comments_are_no_markers(text: str) -> None:
    """A marker is a comment that begins with the word."""
    assert not read_blocks(text).marked


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("# EVOLVE-BLOCK-START\nx = 1\n", "Line 1: EVOLVE-BLOCK-START without EVOLVE-BLOCK-END"),
        ("x = 1\n# EVOLVE-BLOCK-END\n", "Line 2: EVOLVE-BLOCK-END without EVOLVE-BLOCK-START"),
        ("# EVOLVE-BLOCK-START\n# EVOLVE-BLOCK-START\n", "Line 2: EVOLVE-BLOCK-START inside the block that starts on"),
        ("x = 1\r# EVOLVE-BLOCK-START\r", "lone carriage return"),
        ("# EVOLVE-BLOCK-START\nx = '''\n# EVOLVE-BLOCK-END\n", "cannot be split into comments and code"),
    ],
)
def test_markers_that_say_nothing_clear_are_an_error(text: str, message: str) -> None:
    """The message names the line."""
    with pytest.raises(BrokenMarkers, match=message):
        read_blocks(text)


@given(st.lists(lines, min_size=3, max_size=7), st.sampled_from(["\n", "\r\n"]), st.booleans())
def test_text_is_its_parts_byte_for_byte(parts: list[list[str]], end: str, ended: bool) -> None:
    """Whatever the line ends, the last one or characters that other programs take for line ends."""
    out, count = list[str](), (len(parts) - 1) // 2
    for number, part in enumerate(parts[: 2 * count + 1]):
        if number:
            out.append(f"# EVOLVE-BLOCK-{'START' if number % 2 else 'END'}")
        out += part
    text = end.join(out) + (end if ended else "")
    blocks = read_blocks(text)

    assert blocks.text == text
    assert len(blocks.open) == count
    changed = blocks.with_open(["pass"] * count)
    assert read_blocks(changed.text).fixed == blocks.fixed
    assert set(read_blocks(changed.text).open) == {"pass" + ("\r\n" if "\r\n" in text else "\n")}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (MARKED.replace("math", "os"), "'import math' became 'import os'"),
        (MARKED.replace("print(x)", "print(x) "), "white space"),
        (MARKED.replace("# EVOLVE-BLOCK-END\n", ""), "markers of the program were changed"),
        (MARKED + MARKED, "has 1 EVOLVE-BLOCKs, but the answer has 2"),
        ("x = 1\n", "has 1 EVOLVE-BLOCKs, but the answer has 0"),
        (MARKED.replace("x = 1", 's = """').replace("print(x)\n", '"""\n'), "the answer 0|markers of the program"),
    ],
)
def test_a_change_outside_of_the_blocks_is_refused(text: str, message: str) -> None:
    """Also one that swallows the markers in a string."""
    with pytest.raises(DoesNotApply, match=message):
        require_same_outside(read_blocks(MARKED), text)


def test_markers_cannot_be_brought_into_a_program_that_has_none() -> None:
    """They would freeze what may change."""
    with pytest.raises(DoesNotApply, match="no EVOLVE-BLOCK markers"):
        require_same_outside(read_blocks("x = 1\n"), MARKED)
