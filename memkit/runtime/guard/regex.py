"""The regular expressions allowed in policies: parsed into a tree, and run as automata.

The subset has no back-references and no look-around, so a search takes a number of steps linear in the text, whatever
the pattern. Constructs that exist in Python's ``re`` mean the same here.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple

from .interface import PolicySetError

_MAX_DEPTH = 60
_MAX_COUNT = 1000
_CONTROLS = {"n": "\n", "t": "\t", "r": "\r", "f": "\f", "v": "\v", "a": "\a", "0": "\0"}
_CODES = {"x": 2, "u": 4, "U": 8}
_HEXADECIMAL = frozenset("0123456789abcdefABCDEF")
_ANCHORS = {"A": "start", "Z": "end", "b": "boundary", "B": "no_boundary"}
_UNSUPPORTED = {
    "(?=": "look-ahead",
    "(?!": "look-ahead",
    "(?<": "look-behind",
    "(?(": "a conditional group",
    "(?P": "a reference to a group",
    "(?>": "an atomic group",
    "(?#": "a comment",
}


class Chars(NamedTuple):
    """One character out of a set."""

    ranges: tuple[tuple[str, str], ...] = ()
    classes: tuple[str, ...] = ()
    """Letters of escapes such as ``d`` and ``W`` that the set includes."""
    negated: bool = False
    fold: bool = False
    """Whether case is ignored."""

    def holds(self, char: str) -> bool:
        """Return whether the set contains ``char``."""
        found = self._lists(char) or (self.fold and self._lists_in_another_case(char))
        return found != self.negated

    def _lists_in_another_case(self, char: str) -> bool:
        if char.isascii() and all(high.isascii() for _, high in self.ranges):
            return self._lists(char.lower()) or self._lists(char.upper())
        return _in_any_case(self).match(char) is not None

    def _lists(self, char: str) -> bool:
        return any(low <= char <= high for low, high in self.ranges) or any(in_class(c, char) for c in self.classes)


class Anchor(NamedTuple):
    """A position: start, end, line_end (also before a final newline), boundary, no_boundary."""

    kind: str


class Sequence(NamedTuple):
    """Parts in sequence."""

    parts: tuple[Node, ...] = ()


class Alternation(NamedTuple):
    """One of several parts."""

    parts: tuple[Node, ...]


class Repeat(NamedTuple):
    """A part ``low`` to ``high`` times; ``None`` means unbounded."""

    part: Node
    low: int
    high: int | None


Node = Chars | Anchor | Sequence | Alternation | Repeat
"""Distinguished by class, never compared: as tuples, a sequence and an alternation of the same parts are equal."""


@lru_cache(maxsize=4096)
def _in_any_case(chars: Chars) -> re.Pattern[str]:
    """Return Python's pattern for a set, not negated: its cases are neither ``lower`` nor ``upper`` (``ſ`` is an s)."""
    listed = "".join(f"{re.escape(low)}-{re.escape(high)}" for low, high in chars.ranges)
    return re.compile(f"[{listed}{''.join(map(chr(92).__add__, chars.classes))}]", re.IGNORECASE)


@lru_cache(maxsize=4096)
def _only(char: str, fold: bool) -> Chars:
    """Return the set of one character, shared by all patterns, which mostly consist of such sets."""
    return Chars(((char, char),), fold=fold)


def in_class(letter: str, char: str) -> bool:
    """Return whether ``char`` belongs to the class that an escape names: digit, word, space, or their opposites."""
    kind = letter.lower()
    if kind == "d":
        found = char.isdecimal()
    elif kind == "w":
        found = char.isalnum() or char == "_"
    else:
        found = char.isspace()
    return found == letter.islower()


@lru_cache(maxsize=256)
def parse_regex(pattern: str) -> Node:
    """Return the tree of a pattern; an unsupported construct raises an error that names its place."""
    return _Parser(pattern).parse()


class _Parser:
    def __init__(self, pattern: str) -> None:
        self.pattern = pattern
        self.position = 0
        self.depth = 0
        self.flags: set[str] = set()

    def parse(self) -> Node:
        self._leading_flags()
        node = self._choice()
        if self.position < len(self.pattern):
            raise self._fault("a closing bracket without an opening one")
        return node

    def _leading_flags(self) -> None:
        if not self.pattern.startswith("(?"):
            return
        letters, close, _ = self.pattern[2:].partition(")")
        if close and letters and set(letters) <= set("is"):
            self.flags = set(letters)
            self.position = len(letters) + 3

    def _fault(self, message: str) -> PolicySetError:
        return PolicySetError(f"regex {self.pattern!r}, character {self.position + 1}: {message}")

    def _peek(self) -> str:
        return self.pattern[self.position : self.position + 1]

    def _take(self) -> str:
        char = self._peek()
        if not char:
            raise self._fault("the pattern ends too early")
        self.position += 1
        return char

    def _choice(self) -> Node:
        branches = [self._sequence()]
        while self._peek() == "|":
            self.position += 1
            branches.append(self._sequence())
        return branches[0] if len(branches) == 1 else Alternation(tuple(branches))

    def _sequence(self) -> Node:
        parts: list[Node] = []
        while self._peek() not in ("", "|", ")"):
            parts.append(self._repeats(self._atom()))
        return parts[0] if len(parts) == 1 else Sequence(tuple(parts))

    def _repeats(self, node: Node) -> Node:
        bounds = self._bounds()
        if bounds is None:
            return node
        if isinstance(node, Anchor):
            raise self._fault("a position cannot be repeated")
        if self._peek() == "?":  # a lazy quantifier gives the same answer
            self.position += 1
        if self._peek() in ("*", "?", "+"):
            raise self._fault("a quantifier on a quantifier is not supported; put the part in (?:…)")
        return Repeat(node, *bounds)

    def _bounds(self) -> tuple[int, int | None] | None:
        char = self._peek()
        if char and char in "*+?":
            self.position += 1
            return {"*": (0, None), "+": (1, None), "?": (0, 1)}[char]
        return self._counted() if char == "{" else None

    def _counted(self) -> tuple[int, int | None] | None:
        inside, close, _ = self.pattern[self.position + 1 :].partition("}")
        low, comma, high = inside.partition(",")
        ascii_digits = all(part == "" or (part.isascii() and part.isdigit()) for part in (low, high))
        if not close or not ascii_digits or not (low or comma):
            return None  # as in Python, a brace that is not a count is a literal
        least, most = int(low or 0), int(high or low) if (high or not comma) else None
        if least > _MAX_COUNT or (most or 0) > _MAX_COUNT:
            raise self._fault(f"counts above {_MAX_COUNT} are not supported")
        if most is not None and most < least:
            raise self._fault("the upper count is below the lower one")
        self.position += len(inside) + 2
        return least, most

    def _atom(self) -> Node:
        char = self._take()
        if char == "(":
            return self._group()
        if char == "[":
            return self._set()
        if char == "\\":
            return self._escape()
        if char == ".":
            return Chars(negated=True) if "s" in self.flags else Chars((("\n", "\n"),), negated=True)
        if char in "^$":
            return Anchor("start" if char == "^" else "line_end")
        if char in "*+?":
            self.position -= 1
            raise self._fault("nothing to repeat")
        return self._one(char)

    def _one(self, char: str) -> Chars:
        return _only(char, "i" in self.flags)

    def _group(self) -> Node:
        opened = self.position - 1
        self._group_head()
        self.depth += 1
        if self.depth > _MAX_DEPTH:
            raise self._fault(f"groups nested more than {_MAX_DEPTH} deep are not supported")
        node = self._choice()
        self.depth -= 1
        if self._peek() != ")":
            self.position = opened
            raise self._fault("the group is not closed")
        self.position += 1
        return Sequence((node,))  # a group may be repeated even if its only part may not

    def _group_head(self) -> None:
        rest = self.pattern[self.position :]
        if not rest.startswith("?"):
            return
        if rest.startswith("?:"):
            self.position += 2
        elif rest.startswith("?P<") and ">" in rest:
            self.position += rest.index(">") + 1
        else:
            self.position -= 1
            name = _UNSUPPORTED.get(f"({rest[:2]}", "a pattern with flags inside")
            raise self._fault(f"{name} is not supported in the linear-time subset")

    def _escape(self) -> Node:
        char = self._take()
        if char in "dwsDWS":
            return Chars(classes=(char,))
        if char in _ANCHORS:
            return Anchor(_ANCHORS[char])
        return self._one(self._literal(char))

    def _literal(self, char: str) -> str:
        """Return the character that an escape stands for, given the character after the backslash."""
        if char in _CODES:
            width = _CODES[char]
            digits = self.pattern[self.position : self.position + width]
            if len(digits) < width or not set(digits) <= _HEXADECIMAL or int(digits, 16) > 0x10FFFF:
                raise self._fault(f"needs {width} hexadecimal digits of a character")
            self.position += width
            return chr(int(digits, 16))
        if char in _CONTROLS:
            return _CONTROLS[char]
        if "0" <= char <= "9" or char == "g":
            self.position -= 2
            raise self._fault("a back-reference is not supported in the linear-time subset")
        if char.isascii() and char.isalpha():
            self.position -= 2
            raise self._fault(f"unknown escape \\{char}")
        return char

    def _set(self) -> Node:
        opened = self.position - 1
        negated = self._peek() == "^"
        self.position += negated
        ranges: list[tuple[str, str]] = []
        classes: list[str] = []
        first = True
        while first or self._peek() != "]":
            if not self._peek():
                self.position = opened
                raise self._fault("the set is not closed")
            self._member(ranges, classes)
            first = False
        self.position += 1
        return Chars(tuple(ranges), tuple(classes), negated, "i" in self.flags)

    def _member(self, ranges: list[tuple[str, str]], classes: list[str]) -> None:
        low = self._set_char()
        if len(low) > 1:
            classes.append(low[1])
            return
        high = low
        if self._peek() == "-" and self.pattern[self.position + 1 : self.position + 2] not in ("]", ""):
            self.position += 1
            high = self._set_char()
        if len(high) > 1 or high < low:
            raise self._fault("the range in the set runs backwards or ends in a class")
        ranges.append((low, high))

    def _set_char(self) -> str:
        """Return one character, or a backslash with the letter of a class."""
        char = self._take()
        if char != "\\":
            return char
        escaped = self._take()
        if escaped in "dwsDWS":
            return f"\\{escaped}"
        return "\b" if escaped == "b" else self._literal(escaped)


_MAX_STATES = 4000


class AutomatonState(NamedTuple):
    """A state of the automaton: it reads one character, tests a position, or forks immediately."""

    follows: list[int]
    reads: Chars | None = None
    anchor: str | None = None


class Automaton(NamedTuple):
    """A compiled pattern."""

    states: tuple[AutomatonState, ...]
    start: int
    accept: int


def compile_regex(pattern: str) -> Automaton:
    """Return the automaton of a pattern; raise ``PolicySetError`` for constructs outside of the subset."""
    builder = _Builder(pattern)
    accept = builder.add(AutomatonState([]))
    start = builder.build(parse_regex(pattern), accept)
    return Automaton(tuple(builder.states), start, accept)


class _Builder:
    """Builds backwards: each part receives the state that follows it and returns its start state."""

    def __init__(self, pattern: str) -> None:
        self.pattern = pattern
        self.states: list[AutomatonState] = []

    def add(self, state: AutomatonState) -> int:
        if len(self.states) >= _MAX_STATES:
            raise PolicySetError(f"regex {self.pattern!r} is too large: over {_MAX_STATES} states")
        self.states.append(state)
        return len(self.states) - 1

    def build(self, node: Node, follow: int) -> int:
        if isinstance(node, Chars):
            return self.add(AutomatonState([follow], reads=node))
        if isinstance(node, Anchor):
            return self.add(AutomatonState([follow], anchor=node.kind))
        if isinstance(node, Alternation):
            return self.add(AutomatonState([self.build(part, follow) for part in node.parts]))
        if isinstance(node, Sequence):
            for part in reversed(node.parts):
                follow = self.build(part, follow)
            return self.add(AutomatonState([follow]))
        return self._repeat(node, follow)

    def _repeat(self, node: Repeat, follow: int) -> int:
        if node.high is None:
            fork = self.add(AutomatonState([follow]))
            self.states[fork].follows.append(self.build(node.part, fork))
            follow = fork
        for _ in range((node.high or node.low) - node.low):
            follow = self.add(AutomatonState([self.build(node.part, follow), follow]))
        for _ in range(node.low):
            follow = self.build(node.part, follow)
        return follow
