"""Regular expressions as a table built while texts are read, and the literals that every match must contain.

The automaton of ``regex.py`` is in many states at once, and takes that many steps per character. Its whole step depends
only on the set of those states, the previous character and the current one: each such step is computed once, cached,
and then takes one dictionary lookup (Thompson 1968, as in RE2: https://swtch.com/~rsc/regexp/).

>>> from .regex import compile_regex
>>> search = Dfa(compile_regex("^a.*b$")).search
>>> search("a--b"), search("a--c")
(True, False)
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from .regex import Alternation, Anchor, Automaton, Chars, Node, Repeat, Sequence

ROOM = 20_000
"""How much one pattern may cache, counted in steps and in the states of each set: some megabytes at most.

A pattern that makes more sets than that, such as ``(a|b)*a(a|b){20}``, drops its cache and starts anew. Each
character then costs as much as without a table, and never more than a constant factor of that.
"""

END = ""
LAST_NEWLINE = "\n$"
"""A newline at the very end, before which ``$`` matches too."""

_START, _WORD, _OTHER = "start", "word", "other"

_KNOWN, _READS = "known", "reads"
"""The keys of a place's own data, next to the characters that lead on from it."""

Place = dict[str, Any]
"""Everything known about a text so far; maps the next character to the next place.

A plain dict rather than a subclass: Python looks it up in half the time.
"""


class Dfa:
    """A pattern searched in time linear in the text, with one lookup per character once its steps are cached."""

    def __init__(self, automaton: Automaton) -> None:
        self._automaton = automaton
        anchors = {state.anchor for state in automaton.states}
        self._asks_start = "start" in anchors
        self._asks_words = bool(anchors & {"boundary", "no_boundary"})
        self._accepted: Place = {}
        self._rejected: Place = {}
        self._forget()

    def search(self, text: str) -> bool:
        """Return whether the pattern occurs anywhere in the text."""
        ending: tuple[str, ...] = (END,)
        if text.endswith("\n"):
            text, ending = text[:-1], (LAST_NEWLINE, END)
        place = self.led(self.begin, text)
        return (self.led(place, ending) if place else place) is self._accepted

    def led(self, place: Place, chars: Iterable[str]) -> Place:
        """Return where characters lead from a place; no transition leaves a place with a known answer."""
        left = iter(chars)
        while True:
            try:
                for char in left:
                    place = place[char]
                return place
            except KeyError:
                if not place:
                    return place
                place = self._step(place, char)

    def answer(self, place: Place) -> bool | None:
        """Return whether every text from a place on matches, or none does; None if that is still open."""
        return None if place else place is self._accepted

    def identity(self, place: Place) -> object:
        """Return what is equal for two places with the same future, even if the cache was dropped in between."""
        return place[_KNOWN] if place else place is self._accepted

    def reads(self, place: Place) -> frozenset[Chars]:
        """Return the sets of characters that may be read next at a place, wherever no anchor asks what follows."""
        if place and _READS not in place:
            active, before = place[_KNOWN]
            reached = (self._automaton.states[index] for index in self._closure(active, before, "any character"))
            place[_READS] = frozenset(state.reads for state in reached if state.reads is not None)
        found: frozenset[Chars] = place.get(_READS, frozenset())
        return found

    def outgrows_its_room(self, most_steps: int = 20_000) -> bool:
        """Return whether some text overflows the cache, as far as this many steps from the start can show."""
        begin, seen = self.begin, {id(self._accepted), id(self._rejected)}
        alphabet, pending = _alphabet(self._automaton), [begin]
        while pending and most_steps > 0 and self.begin is begin:
            place = pending.pop()
            for char in alphabet if id(place) not in seen else ():
                pending.append(self.led(place, char))
                most_steps -= 1
            seen.add(id(place))
        return self.begin is not begin

    def _step(self, place: Place, char: str) -> Place:
        """Compute and cache where a character leads; the characters include those of texts and the two ends."""
        active, before = place[_KNOWN]
        reached = self._closure(active, before, char)
        if self._automaton.accept in reached:
            following = self._accepted
        else:
            following = self._place(self._advanced(reached, char), char)
        self._room -= 1
        if self._room < 0:
            self._forget()
        place[char] = following
        return following

    def _forget(self) -> None:
        """Drop the cache; a running search continues from its current place."""
        self._places: dict[tuple[frozenset[int], str], Place] = {}
        self._room = ROOM
        self.begin: Place = {_KNOWN: (frozenset([self._automaton.start]), _START)}

    def _place(self, active: frozenset[int], char: str) -> Place:
        before = _OTHER if self._asks_start else _START
        if self._asks_words:
            before = _WORD if _is_wordy(char) else _OTHER
        found = self._places.get((active, before))
        if found is None:
            known = {_KNOWN: (active, before)}
            found = self._places[active, before] = known if self._may_match(active) else self._rejected
            self._room -= len(active)
        return found

    def _may_match(self, active: Iterable[int]) -> bool:
        """Return whether some further text could lead from these states, past its start, to a match."""
        pending = list(active)
        seen: set[int] = set()
        while pending:
            index = pending.pop()
            state = self._automaton.states[index]
            if index == self._automaton.accept or state.reads is not None:
                return True
            if index not in seen and state.anchor != "start":
                pending.extend(state.follows)
            seen.add(index)
        return False

    def _closure(self, active: frozenset[int], before: str, char: str) -> set[int]:
        """Return every state reached before ``char`` is read."""
        seen: set[int] = set()
        pending = list(active)
        while pending:
            index = pending.pop()
            if index in seen:
                continue
            seen.add(index)
            state = self._automaton.states[index]
            if state.reads is None and (state.anchor is None or _holds(state.anchor, before, char)):
                pending.extend(state.follows)
        return seen

    def _advanced(self, reached: Iterable[int], char: str) -> frozenset[int]:
        moved = {self._automaton.start}  # a match may begin anywhere
        for index in reached if char else ():
            state = self._automaton.states[index]
            if state.reads is not None and state.reads.holds(char[0]):
                moved.update(state.follows)
        return frozenset(moved)


def _alphabet(automaton: Automaton) -> str:
    """Return characters that distinguish the sets of a pattern: the ends of their ranges, and some of each kind."""
    ends = [end for state in automaton.states if state.reads for pair in state.reads.ranges for end in pair]
    return "".join(dict.fromkeys((*ends, *"a0 -\n")))[:_MOST_TRIED]


_MOST_TRIED = 24


def _is_wordy(char: str) -> bool:
    return char.isalnum() or char == "_"


def _holds(anchor: str, before: str, char: str) -> bool:
    """Return whether an anchor matches between the previous and the next character."""
    if anchor == "start":
        return before == _START
    if anchor == "end":
        return char == END
    if anchor == "line_end":
        return char in (END, LAST_NEWLINE)
    return ((before == _WORD) != _is_wordy(char)) == (anchor == "boundary")


_MAX_LITERALS = 32


def required_literals(node: Node) -> tuple[str, ...]:
    """Return texts of which every match contains at least one; empty if none are known.

    They are in the pattern's own case even if it ignores case: the caller must fold both sides.

    >>> from .regex import parse_regex
    >>> required_literals(parse_regex(r"^(GET|POST) /admin/[0-9]+$"))
    (' /admin/',)
    """
    offers: list[tuple[str, ...]] = [(run,) for run in _runs(node)]
    offers += [found for part in _flat(node) if (found := _inner_literals(part))]
    return max(offers, key=lambda texts: min(map(len, texts)), default=())


def _inner_literals(part: Node) -> tuple[str, ...]:
    if isinstance(part, Repeat) and part.low:
        return required_literals(part.part)
    if not isinstance(part, Alternation):
        return ()
    branches = [required_literals(branch) for branch in part.parts]
    found = tuple(text for texts in branches for text in texts)
    return found if all(branches) and len(found) <= _MAX_LITERALS else ()


def _runs(node: Node) -> Iterator[str]:
    """Yield the longest literal texts in the pattern."""
    run = ""
    for part in _flat(node):
        char = _single(part)
        if char is None:
            if run:
                yield run
            run = ""
        else:
            run += char
    if run:
        yield run


def _flat(node: Node) -> Iterator[Node]:
    """Yield the parts of a sequence, including those of groups, without mere position tests."""
    if isinstance(node, Sequence):
        for part in node.parts:
            yield from _flat(part)
    elif not isinstance(node, Anchor):
        yield node


def _single(part: Node) -> str | None:
    if not isinstance(part, Chars) or part.negated or part.classes or len(part.ranges) != 1:
        return None
    ((low, high),) = part.ranges
    return low if low == high and (low.isascii() or not part.fold) else None
