"""An automaton carried out state by state: what its tables are compared with, and how many steps that takes."""

from __future__ import annotations

from collections.abc import Callable

from memkit.runtime.guard.regex import Automaton


def search(automaton: Automaton, text: str) -> bool:
    """Return whether the pattern occurs anywhere in the text."""
    return count(automaton, text)[0]


def count(automaton: Automaton, text: str) -> tuple[bool, int]:
    """Return whether the pattern occurs, and how many states were visited to know.

    The number is at most the number of states times the number of positions in the text.
    """
    visited = 0
    moved: list[int] = []
    for position in range(len(text) + 1):
        seen = _closure(automaton, [*moved, automaton.start], text, position)
        visited += len(seen)
        if automaton.accept in seen:
            return True, visited
        reading = [automaton.states[index] for index in seen if position < len(text)]
        moved = [each for one in reading if one.reads and one.reads.holds(text[position]) for each in one.follows]
    return False, visited


def _closure(automaton: Automaton, pending: list[int], text: str, position: int) -> set[int]:
    """Return the states that are reached without reading a character."""
    seen: set[int] = set()
    while pending:
        index = pending.pop()
        if index not in seen:
            seen.add(index)
            state = automaton.states[index]
            if state.reads is None and (state.anchor is None or ANCHORS[state.anchor](text, position)):
                pending.extend(state.follows)
    return seen


def _wordy(text: str, position: int) -> bool:
    return 0 <= position < len(text) and (text[position].isalnum() or text[position] == "_")


def _boundary(text: str, position: int) -> bool:
    return _wordy(text, position - 1) != _wordy(text, position)


ANCHORS: dict[str, Callable[[str, int], bool]] = {
    "start": lambda text, position: position == 0,
    "end": lambda text, position: position == len(text),
    "line_end": lambda text, position: position == len(text) or (position == len(text) - 1 and text[position] == "\n"),
    "boundary": _boundary,
    "no_boundary": lambda text, position: not _boundary(text, position),
}
"""How each kind of anchor looks at a position."""
