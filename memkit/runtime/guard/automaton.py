"""Regular expressions as automata: the search takes a number of steps linear in the text, whatever the pattern."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from .errors import Path, PolicySetError
from .regex import Anchor, Chars, Choice, Node, Repeat, Sequence, parse_regex

_MAX_STATES = 4000


@dataclass
class State:
    """A state of the automaton: it reads one character, tests a position, or forks at once."""

    reads: Chars | None = None
    anchor: str | None = None
    follows: list[int] = field(default_factory=list)


@dataclass(frozen=True)
class Automaton:
    """A compiled pattern."""

    states: tuple[State, ...]
    start: int
    accept: int

    def search(self, text: str) -> bool:
        """Return whether the pattern occurs anywhere in the text."""
        return self.count(text)[0]

    def count(self, text: str) -> tuple[bool, int]:
        """Return whether the pattern occurs, and how many states were visited to know.

        The number is at most the number of states times the number of positions in the text.
        """
        steps = 0
        moved: list[int] = []
        for position in range(len(text) + 1):
            seen: set[int] = set()
            active = self._closure([*moved, self.start], text, position, seen)
            steps += len(seen)
            if self.accept in seen:
                return True, steps
            if position < len(text):
                moved = self._advance(active, text[position])
        return False, steps

    def _closure(self, pending: list[int], text: str, position: int, seen: set[int]) -> list[int]:
        """Follow what needs no character; return the states that wait for one."""
        active = []
        while pending:
            index = pending.pop()
            if index in seen:
                continue
            seen.add(index)
            state = self.states[index]
            if state.reads is not None:
                active.append(index)
            elif state.anchor is None or ANCHORS[state.anchor](text, position):
                pending.extend(state.follows)
        return active

    def _advance(self, active: list[int], char: str) -> list[int]:
        moved = []
        for index in active:
            state = self.states[index]
            if state.reads is not None and state.reads.holds(char):
                moved.extend(state.follows)
        return moved


def compile_regex(pattern: str, path: Path = ()) -> Automaton:
    """Return the automaton of a pattern; raise ``PolicySetError`` for what the subset leaves out."""
    builder = _Builder(pattern, path)
    accept = builder.add(State())
    start = builder.build(parse_regex(pattern, path), accept)
    return Automaton(tuple(builder.states), start, accept)


@dataclass
class _Builder:
    """Builds backwards: each part is given the state that follows it and returns the state it starts with."""

    pattern: str
    path: Path
    states: list[State] = field(default_factory=list)

    def add(self, state: State) -> int:
        if len(self.states) >= _MAX_STATES:
            raise PolicySetError(f"regex {self.pattern!r} is too large: over {_MAX_STATES} states", path=self.path)
        self.states.append(state)
        return len(self.states) - 1

    def build(self, node: Node, follow: int) -> int:
        if isinstance(node, Chars):
            return self.add(State(reads=node, follows=[follow]))
        if isinstance(node, Anchor):
            return self.add(State(anchor=node.kind, follows=[follow]))
        if isinstance(node, Choice):
            return self.add(State(follows=[self.build(part, follow) for part in node.parts]))
        if isinstance(node, Sequence):
            for part in reversed(node.parts):
                follow = self.build(part, follow)
            return self.add(State(follows=[follow]))
        return self._repeat(node, follow)

    def _repeat(self, node: Repeat, follow: int) -> int:
        if node.high is None:
            fork = self.add(State(follows=[follow]))
            self.states[fork].follows.append(self.build(node.part, fork))
            follow = fork
        for _ in range((node.high or node.low) - node.low):
            follow = self.add(State(follows=[self.build(node.part, follow), follow]))
        for _ in range(node.low):
            follow = self.build(node.part, follow)
        return follow


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
