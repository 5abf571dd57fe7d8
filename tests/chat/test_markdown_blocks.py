"""Text that arrives in pieces is cut into blocks that do not depend on the pieces."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from memkit.cli.chat.blocks import Blocks

ITEMS = ["- one", "- ", "-", "2. two", "12", "  more", "\tmore"]
LINES = st.sampled_from([*ITEMS, "", "  ", "words", "# head", "```", "```py", "~~~", "````", "| a |", "> q"])
texts = st.lists(LINES, max_size=12).map("\n".join)


def cut(text: str, places: list[int]) -> tuple[list[str], str]:
    """Return the blocks of ``text``, handed over in pieces, and the last one."""
    blocks, done, begin = Blocks(), [], 0
    for end in [*sorted(places), len(text)]:
        done += blocks.feed(text[begin:end])
        begin = max(begin, end)
    return done, blocks.close()


@settings(max_examples=150)
@given(texts, st.lists(st.integers(0, 60), max_size=8))
def test_the_pieces_do_not_matter(text: str, places: list[int]) -> None:
    """However a text is cut on its way, the blocks are the same, and joined they are the text."""
    done, last = cut(text, places)

    assert "".join(done) + last == text
    assert (done, last) == cut(text, list(range(len(text))))


def test_a_block_is_there_as_soon_as_nothing_can_change_it() -> None:
    """A paragraph ends with the blank line; a list only when something else begins; code only with its fence."""
    blocks = Blocks()

    assert blocks.feed("One\nand on.\n\n") == ["One\nand on.\n\n"]
    assert blocks.feed("- a\n\n") == []
    assert blocks.feed("- b\n\n  still b\n\n") == []
    assert blocks.feed("Then") == ["- a\n\n- b\n\n  still b\n\n"]
    assert blocks.feed("\n\n```py\nx = 1\n\ny = 2\n") == ["Then\n\n"]
    assert blocks.feed("```\n") == []
    assert blocks.feed("\n") == ["```py\nx = 1\n\ny = 2\n```\n\n"]
    assert blocks.close() == ""
