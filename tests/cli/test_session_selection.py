"""A list of sessions from which one is chosen while words are typed."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from memkit.cli.session_picker import Selection
from memkit.store.sessions import SessionCard

AT = "2026-03-01T10:00:00Z"
CARDS = [SessionCard(f"s{n}", "ada", AT, AT, n, "I grow roses." if n % 3 == 0 else "Hello.") for n in range(1, 13)]
keys = st.lists(st.one_of(st.integers(-12, 12), st.sampled_from(["", "rose", "s1", "7", "99", "zebra"])), max_size=12)


def test_words_and_numbers_mark_a_session() -> None:
    """All words have to be there; a number marks without leaving anything out, unless there is no such number."""
    selection = Selection(CARDS)

    selection.take("ROSE grow")
    assert (len(selection), selection.chosen) == (4, CARDS[2])
    selection.move(2)
    assert selection.chosen == CARDS[8]
    selection.take("12")
    assert (len(selection), selection.chosen) == (12, CARDS[11])
    selection.take("2026")
    assert (len(selection), selection.chosen) == (12, CARDS[0])
    selection.take("zebra")
    selection.move(1)
    assert len(selection) == 0 and selection.chosen is None


@settings(max_examples=100)
@given(keys, st.integers(1, 5))
def test_what_is_marked_is_always_shown(pressed: list[int | str], rows: int) -> None:
    """Whatever is typed and wherever the arrows go: one session is marked, it is the chosen one, and it is in view."""
    selection = Selection(CARDS)
    for key in pressed:
        selection.move(key) if isinstance(key, int) else selection.take(key)
        shown = list(selection.shown(rows))

        assert len(shown) == min(rows, len(selection))
        assert [card for _, card, is_marked in shown if is_marked] == ([selection.chosen] if len(selection) else [])
        assert [number for number, *_ in shown] == list(range(shown[0][0], shown[0][0] + len(shown)) if shown else [])
