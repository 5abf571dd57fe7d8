"""Text that arrives in pieces is cut into blocks that do not depend on the pieces."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from memkit.cli.chat.markdown import Blocks, Piece

ITEMS = ["- one", "- ", "-", "2. two", "12", "  more", "\tmore", "  ```", "   ~~~", "    ```"]
LINES = st.sampled_from([*ITEMS, "", "  ", "words", "# head", "```", "```py", "~~~", "````", "| a |", "> q"])
texts = st.lists(LINES, max_size=12).map("\n".join)


def cut(text: str, places: list[int]) -> list[Piece]:
    """Return the pieces of ``text``, handed over bit by bit; code that came at once is one piece, as if it had not."""
    blocks, done, begin = Blocks(), [], 0
    for end in [*sorted(places), len(text)]:
        done += blocks.feed(text[begin:end])
        begin = max(begin, end)
    done += blocks.close()
    lines = ([piece._replace(text=line) for line in piece.text.splitlines(keepends=True)] for piece in done)
    return [row for piece, rows in zip(done, lines, strict=True) for row in (rows if piece.kind == "code" else [piece])]


@settings(max_examples=150)
@given(texts, st.lists(st.integers(0, 60), max_size=8))
def test_the_pieces_do_not_matter(text: str, places: list[int]) -> None:
    """However a text is cut on its way, the pieces are the same, and joined they are the text."""
    done = cut(text, places)

    assert "".join(piece.text for piece in done) == text
    assert done == cut(text, list(range(len(text))))


def test_a_block_is_there_as_soon_as_nothing_can_change_it() -> None:
    """A paragraph ends with the blank line; a list when something else begins; each line of code at once."""
    blocks = Blocks()

    assert blocks.feed("One\nand on.\n\n") == [("block", "One\nand on.\n\n", 0)]
    assert blocks.feed("- a\n\n") == []
    assert blocks.feed("- b\n\n") == []
    assert blocks.feed("Then") == [("block", "- a\n\n- b\n\n", 0)]
    assert blocks.feed("\n```py\n") == [("block", "Then\n", 0), ("opening", "```py\n", 0)]
    assert blocks.feed("x = ") == []
    assert blocks.feed("1\n\n``\nno") == [("code", "x = 1\n\n``\n", 0)]
    assert blocks.feed(" end\n```` \nAnd") == [("code", "no end\n", 0), ("closing", "```` \n", 0)]
    assert blocks.close() == [("block", "And", 0)]


def test_code_in_an_item_is_there_line_by_line() -> None:
    """It and what follows it belong to the item as far as they stand below it."""
    blocks = Blocks()

    assert blocks.feed("1. a\n   ```\n   x\n") == [
        ("block", "1. a\n", 0), ("opening", "   ```\n", 3), ("code", "   x\n", 3),
    ]  # fmt: skip
    assert blocks.feed("   ```\n   still a\n2. b\n") == [("closing", "   ```\n", 3), ("block", "   still a\n", 3)]
    assert blocks.feed("   - c\n     ~~~\n") == [("block", "2. b\n   - c\n", 0), ("opening", "     ~~~\n", 5)]
    assert blocks.feed("     ~~~\n\nThen\n\n")[-1] == ("block", "Then\n\n", 0)


def test_half_a_fence_is_no_text() -> None:
    """What broke off where code was to begin or to end is not shown as words."""
    blocks = Blocks()

    assert blocks.feed("Look:\n\n``") == [("block", "Look:\n\n", 0)]
    assert blocks.close() == [("closing", "``", 0)]
