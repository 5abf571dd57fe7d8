"""Programs as immutable syntax trees, and their written form."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from .operations import NUMBER, OPERATIONS

MAX_WHOLE = 2**63
"""The largest whole constant."""
_ATOM = 10


@dataclass(frozen=True, slots=True, eq=False)
class Node:
    """One node of a program: a constant, a name or an operation on other nodes.

    Make nodes with ``constant``, ``name`` and ``operation``, which keep negative constants in one form.
    """

    kind: str
    """``constant``, ``name`` or the name of an operation."""
    parts: tuple[Node, ...] = ()
    value: float | str | None = None
    size: int = field(init=False)
    depth: int = field(init=False)
    _key: int = field(init=False)
    _text: tuple[str, int] | None = field(init=False)
    """The written form and how strongly it binds, once somebody asked; programs share most of their parts."""

    def __post_init__(self) -> None:
        size, depth = 1, 0
        for part in self.parts:
            size += part.size
            depth = max(depth, part.depth)
        put = object.__setattr__  # the way around ``frozen``, for what follows from the other fields
        put(self, "size", size)
        put(self, "depth", depth + 1)
        put(self, "_key", hash((self.kind, self.parts, self.value)))
        put(self, "_text", None)

    def __hash__(self) -> int:
        return self._key

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if not isinstance(other, Node) or self._key != other._key:
            return False
        return self.kind == other.kind and self.value == other.value and self.parts == other.parts

    def __str__(self) -> str:
        return self.written()[0]

    def written(self) -> tuple[str, int]:
        """Return the node's text and how strongly it binds."""
        if self._text is None:
            object.__setattr__(self, "_text", _written(self))
        assert self._text is not None
        return self._text

    @property
    def gives(self) -> str:
        """Return the type of the node's value."""
        return OPERATIONS[self.kind].gives if self.parts else NUMBER

    def walk(self) -> Iterator[tuple[tuple[int, ...], Node]]:
        """Yield every node with the path that leads to it, the root first."""
        stack: list[tuple[tuple[int, ...], Node]] = [((), self)]
        while stack:
            path, node = stack.pop()
            yield path, node
            stack += [((*path, index), part) for index, part in reversed(list(enumerate(node.parts)))]

    def at(self, path: tuple[int, ...]) -> Node:
        """Return the node that ``path`` leads to."""
        node = self
        for index in path:
            node = node.parts[index]
        return node

    def nth(self, index: int) -> tuple[tuple[int, ...], Node]:
        """Return what ``walk`` yields after ``index`` others."""
        node, path = self, []
        while index:
            index -= 1
            for place, part in enumerate(node.parts):
                if index < part.size:
                    path.append(place)
                    node = part
                    break
                index -= part.size
        return tuple(path), node

    def replaced(self, path: tuple[int, ...], new: Node) -> Node:
        """Return the tree with ``new`` at ``path``."""
        if not path:
            return new
        index = path[0]
        parts = list(self.parts)
        parts[index] = parts[index].replaced(path[1:], new)
        return operation(self.kind, *parts)


def constant(value: float) -> Node:
    """Return a constant; whole floats of modest size become integers, which read better, and huge integers floats."""
    if isinstance(value, float) and value.is_integer() and abs(value) < 2**53:
        value = int(value)
    elif isinstance(value, int) and abs(value) > MAX_WHOLE:
        value = float(value)
    return Node("constant", value=value)


def name(text: str) -> Node:
    """Return a name."""
    return Node("name", value=text)


def operation(kind: str, *parts: Node) -> Node:
    """Return an operation on ``parts``; the negative of a constant is a constant."""
    if kind == "negative" and parts[0].kind == "constant":
        return constant(-number_of(parts[0]))
    return Node(kind, parts)


def number_of(node: Node) -> float:
    """Return the number of a constant."""
    if not isinstance(node.value, int | float):
        raise TypeError(f"{node} is not a constant")
    return node.value


def _written(node: Node) -> tuple[str, int]:
    """Return the text of ``node`` and how strongly it binds."""
    if node.kind == "constant":
        return repr(node.value), (8 if number_of(node) < 0 else _ATOM)
    if node.kind == "name":
        return str(node.value), _ATOM
    item = OPERATIONS[node.kind]
    binds = item.binds
    if binds == _ATOM:
        return f"{item.symbol}({', '.join(str(part) for part in node.parts)})", _ATOM
    if len(node.parts) == 1:
        return f"{item.symbol}{_inside(node.parts[0], binds)}", binds
    if node.kind == "if":
        then, test, otherwise = node.parts
        return f"{_inside(then, 2)} if {_inside(test, 2)} else {_inside(otherwise, 1)}", binds
    # A power groups to the right, a comparison not at all, everything else to the left.
    left, right = {9: (_ATOM, 8), 5: (6, 6)}.get(binds, (binds, binds + 1))
    return f"{_inside(node.parts[0], left)} {item.symbol} {_inside(node.parts[1], right)}", binds


def _inside(node: Node, least: int) -> str:
    """Return the text of ``node``, in parentheses where it binds less than ``least``."""
    text, binds = node.written()
    return text if binds >= least else f"({text})"
