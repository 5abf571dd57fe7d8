"""Expressions as immutable trees of listed operations: notation, values, and random ones."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Any

MAX_BITS = 1024
"""The limit on the bits of an integer in a program's arguments and powers; floats end there as well."""

NUMBER, TRUTH = "number", "truth"


@dataclass(frozen=True)
class Operation:
    """An operation in programs."""

    name: str
    takes: tuple[str, ...]
    gives: str
    apply: Callable[..., Any]
    symbol: str
    binds: int
    """The precedence of the written form; higher binds more strongly."""


def power(base: float, exponent: float) -> float:
    """Return ``base ** exponent`` if that is a real number of limited size."""
    if base != base or exponent != exponent:
        return math.nan
    if isinstance(base, int) and isinstance(exponent, int) and exponent > 0:
        if base.bit_length() * exponent > MAX_BITS:
            raise OverflowError("a power is too large")
    elif base < 0 and exponent != int(exponent):
        raise ValueError("a fractional power of a negative number is not real")
    value: float = base**exponent
    return value


def _smaller(first: float, second: float) -> float:
    return math.nan if first != first or second != second else min(first, second)


def _larger(first: float, second: float) -> float:
    return math.nan if first != first or second != second else max(first, second)


def _compared(compare: Callable[[Any, Any], bool]) -> Callable[[float, float], bool | None]:
    return lambda first, second: None if first != first or second != second else compare(first, second)


def _both(first: bool | None, second: bool | None) -> bool | None:
    """Return ``first and second``; as in Python, ``second`` is needed only if ``first`` is true."""
    return second if first else first


def _either(first: bool | None, second: bool | None) -> bool | None:
    return second if first is False else first


def _opposite(value: bool | None) -> bool | None:
    return None if value is None else not value


def _chosen(then: float, test: bool | None, otherwise: float) -> float:
    """Return ``then if test else otherwise``; the other branch may be undefined."""
    if test is None:
        return math.nan
    return then if test else otherwise


_TWO = (NUMBER, NUMBER)
_TESTS = (TRUTH, TRUTH)

ARITHMETIC = (
    Operation("add", _TWO, NUMBER, operator.add, "+", 6),
    Operation("subtract", _TWO, NUMBER, operator.sub, "-", 6),
    Operation("multiply", _TWO, NUMBER, operator.mul, "*", 7),
    Operation("divide", _TWO, NUMBER, operator.truediv, "/", 7),
    Operation("floor_divide", _TWO, NUMBER, operator.floordiv, "//", 7),
    Operation("modulo", _TWO, NUMBER, operator.mod, "%", 7),
    Operation("power", _TWO, NUMBER, power, "**", 9),
    Operation("negative", (NUMBER,), NUMBER, operator.neg, "-", 8),
)
TESTS = (
    Operation("less", _TWO, TRUTH, _compared(operator.lt), "<", 5),
    Operation("at_most", _TWO, TRUTH, _compared(operator.le), "<=", 5),
    Operation("greater", _TWO, TRUTH, _compared(operator.gt), ">", 5),
    Operation("at_least", _TWO, TRUTH, _compared(operator.ge), ">=", 5),
    Operation("equal", _TWO, TRUTH, _compared(operator.eq), "==", 5),
    Operation("different", _TWO, TRUTH, _compared(operator.ne), "!=", 5),
    Operation("not", (TRUTH,), TRUTH, _opposite, "not ", 4),
    Operation("and", _TESTS, TRUTH, _both, "and", 3),
    Operation("or", _TESTS, TRUTH, _either, "or", 2),
    Operation("if", (NUMBER, TRUTH, NUMBER), NUMBER, _chosen, "if", 1),
)
CALLS: Mapping[str, Callable[..., Any]] = {
    "abs": abs,
    "atan": math.atan,
    "ceil": math.ceil,
    "cos": math.cos,
    "exp": math.exp,
    "floor": math.floor,
    "log": math.log,
    "max": _larger,
    "min": _smaller,
    "sin": math.sin,
    "sqrt": math.sqrt,
    "tan": math.tan,
    "tanh": math.tanh,
}
FUNCTIONS = tuple(
    Operation(name, _TWO if name in ("min", "max") else (NUMBER,), NUMBER, apply, name, 10)
    for name, apply in CALLS.items()
)
OPERATIONS: Mapping[str, Operation] = {item.name: item for item in (*ARITHMETIC, *TESTS, *FUNCTIONS)}


MAX_WHOLE = 2**63
"""The largest integer constant."""
_ATOM = 10


@dataclass(frozen=True, slots=True, eq=False)
class ExpressionNode:
    """One node of a program: a constant, a name or an operation on other nodes.

    Make nodes with ``constant``, ``name`` and ``operation``, which keep negative constants in one form.
    """

    kind: str
    """``constant``, ``name`` or the name of an operation."""
    parts: tuple[ExpressionNode, ...] = ()
    value: float | str | None = None
    size: int = field(init=False)
    depth: int = field(init=False)
    _key: int = field(init=False)
    _text: tuple[str, int] | None = field(init=False)
    """The written form and its precedence, once computed; programs share most of their parts."""

    def __post_init__(self) -> None:
        size, depth = 1, 0
        for part in self.parts:
            size += part.size
            depth = max(depth, part.depth)
        put = object.__setattr__  # bypasses ``frozen``, for attributes derived from the other fields
        put(self, "size", size)
        put(self, "depth", depth + 1)
        put(self, "_key", hash((self.kind, self.parts, self.value)))
        put(self, "_text", None)

    def __hash__(self) -> int:
        return self._key

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if not isinstance(other, ExpressionNode) or self._key != other._key:
            return False
        return self.kind == other.kind and self.value == other.value and self.parts == other.parts

    def __str__(self) -> str:
        return self.written()[0]

    def written(self) -> tuple[str, int]:
        """Return the node's text and its precedence."""
        if self._text is None:
            object.__setattr__(self, "_text", _written(self))
        assert self._text is not None
        return self._text

    @property
    def gives(self) -> str:
        """Return the type of the node's value."""
        return OPERATIONS[self.kind].gives if self.parts else NUMBER

    def walk(self) -> Iterator[tuple[tuple[int, ...], ExpressionNode]]:
        """Yield every node with the path that leads to it, the root first."""
        stack: list[tuple[tuple[int, ...], ExpressionNode]] = [((), self)]
        while stack:
            path, node = stack.pop()
            yield path, node
            stack += [((*path, index), part) for index, part in reversed(list(enumerate(node.parts)))]

    def at(self, path: tuple[int, ...]) -> ExpressionNode:
        """Return the node that ``path`` leads to."""
        node = self
        for index in path:
            node = node.parts[index]
        return node

    def nth(self, index: int) -> tuple[tuple[int, ...], ExpressionNode]:
        """Return the node that ``walk`` yields at ``index``, with its path."""
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

    def replaced(self, path: tuple[int, ...], new: ExpressionNode) -> ExpressionNode:
        """Return the tree with ``new`` at ``path``."""
        if not path:
            return new
        index = path[0]
        parts = list(self.parts)
        parts[index] = parts[index].replaced(path[1:], new)
        return operation(self.kind, *parts)


def constant(value: float) -> ExpressionNode:
    """Return a constant; whole floats of modest size become integers, which read better, and huge integers floats."""
    if isinstance(value, float) and value.is_integer() and abs(value) < 2**53:
        value = int(value)
    elif isinstance(value, int) and abs(value) > MAX_WHOLE:
        value = float(value)
    return ExpressionNode("constant", value=value)


def name(text: str) -> ExpressionNode:
    """Return a name."""
    return ExpressionNode("name", value=text)


def operation(kind: str, *parts: ExpressionNode) -> ExpressionNode:
    """Return an operation on ``parts``; the negative of a constant is a constant."""
    if kind == "negative" and parts[0].kind == "constant":
        return constant(-number_of(parts[0]))
    return ExpressionNode(kind, parts)


def number_of(node: ExpressionNode) -> float:
    """Return the number of a constant."""
    if not isinstance(node.value, int | float):
        raise TypeError(f"{node} is not a constant")
    return node.value


def _written(node: ExpressionNode) -> tuple[str, int]:
    """Return the text of ``node`` and its precedence."""
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
    # A power is right-associative, a comparison not associative, everything else left-associative.
    left, right = {9: (_ATOM, 8), 5: (6, 6)}.get(binds, (binds, binds + 1))
    return f"{_inside(node.parts[0], left)} {item.symbol} {_inside(node.parts[1], right)}", binds


def _inside(node: ExpressionNode, least: int) -> str:
    """Return the text of ``node``, in parentheses if its precedence is below ``least``."""
    text, binds = node.written()
    return text if binds >= least else f"({text})"


Column = Sequence[Any]
"""One value per point: a number (NaN if undefined), or True, False or None (undefined) for a test."""

_UNDEFINED = (ArithmeticError, ValueError)


def column(
    node: ExpressionNode, columns: Mapping[str, Column], memory: dict[ExpressionNode, Column], length: int
) -> Column:
    """Return the value of ``node`` at each of ``length`` points, and cache it in ``memory``."""
    known = memory.get(node)
    if known is not None:
        return known
    if node.kind == "constant":
        values: Column = [node.value] * length
    elif node.kind == "name":
        values = columns[str(node.value)]
    else:
        values = _applied(node, [column(part, columns, memory, length) for part in node.parts])
    memory[node] = values
    return values


def _applied(node: ExpressionNode, operands: Sequence[Column]) -> Column:
    """Return the operation of ``node`` on whole columns."""
    item = OPERATIONS[node.kind]
    try:
        return list(map(item.apply, *operands))
    except _UNDEFINED:
        undefined = math.nan if item.gives == NUMBER else None
        return [_point(item.apply, values, undefined) for values in zip(*operands, strict=True)]


def _point(apply: Any, values: Sequence[Any], undefined: Any) -> Any:
    """Return one value, ``undefined`` if there is none."""
    try:
        return apply(*values)
    except _UNDEFINED:
        return undefined


def why_undefined(node: ExpressionNode, columns: Mapping[str, Column], length: int) -> str:
    """Return in words where and why ``node`` has no finite value, such as ``division by zero in 1 / x where x = 0``."""
    for index in range(length):
        point = {parameter: [values[index]] for parameter, values in columns.items()}
        if _finite(column(node, point, {}, 1)[0]):
            continue
        where = ", ".join(f"{parameter} = {values[0]!r:.24}" for parameter, values in point.items())
        return f"{_cause(node, point)}{f' where {where}' if where else ''}"
    return "it has a value everywhere"


def _cause(node: ExpressionNode, point: Mapping[str, Column]) -> str:
    """Return the first error in ``node`` at one point."""
    for part in node.parts:
        if not _finite(column(part, point, {}, 1)[0]) and not (node.kind == "if" and part is not _taken(node, point)):
            return _cause(part, point)
    operands = [column(part, point, {}, 1)[0] for part in node.parts]
    try:
        OPERATIONS[node.kind].apply(*operands)
    except _UNDEFINED as problem:
        return f"{problem} in {node}"
    return f"{node} is not finite"


def _taken(node: ExpressionNode, point: Mapping[str, Column]) -> ExpressionNode:
    """Return the part of a choice that determines its value at one point."""
    then, test, otherwise = node.parts
    value = column(test, point, {}, 1)[0]
    return test if value is None else (then if value else otherwise)


def _finite(value: Any) -> bool:
    """Return whether ``value`` is a truth value or a finite number."""
    return value is not None and (not isinstance(value, float) or math.isfinite(value))


_UNFOLDED_EXPONENTS = 4


@dataclass(frozen=True)
class PrimitiveSet:
    """The building blocks of random programs."""

    parameters: tuple[str, ...]
    kinds: tuple[str, ...]
    """Names of operations."""

    def giving(self, wanted: str) -> list[str]:
        """Return the operations with values of the ``wanted`` type."""
        return [kind for kind in self.kinds if OPERATIONS[kind].gives == wanted]

    def alike(self, kind: str) -> list[str]:
        """Return the other operations with the same types as ``kind``."""
        model = OPERATIONS[kind]
        return [
            other
            for other in self.kinds
            if other != kind and (OPERATIONS[other].takes, OPERATIONS[other].gives) == (model.takes, model.gives)
        ]


def random_leaf(vocabulary: PrimitiveSet, random: Random) -> ExpressionNode:
    """Return a parameter or a constant, usually a small integer."""
    if vocabulary.parameters and random.random() < 0.65:
        return name(random.choice(vocabulary.parameters))
    if random.random() < 0.75:
        return constant(random.randint(-5, 5))
    return constant(round(random.uniform(-5, 5), 2))


def random_tree(vocabulary: PrimitiveSet, random: Random, depth: int, wanted: str = NUMBER) -> ExpressionNode:
    """Return a random program of at most ``depth`` levels (a test needs two) with a value of the ``wanted`` type."""
    kinds = vocabulary.giving(wanted)
    if wanted == NUMBER and (depth <= 1 or not kinds or random.random() < 0.2):
        return random_leaf(vocabulary, random)
    if wanted != NUMBER and depth <= 2:  # tests of tests must terminate
        kinds = [kind for kind in kinds if set(OPERATIONS[kind].takes) == {NUMBER}] or kinds
    kind = random.choice(kinds)
    return made(kind, vocabulary, random, [None] * len(OPERATIONS[kind].takes), depth - 1)


def made(
    kind: str, vocabulary: PrimitiveSet, random: Random, given: list[ExpressionNode | None], depth: int
) -> ExpressionNode:
    """Return an operation on the ``given`` operands, with random ones for None."""
    parts = [
        part or random_tree(vocabulary, random, depth, wanted)
        for part, wanted in zip(given, OPERATIONS[kind].takes, strict=True)
    ]
    if kind == "power" and given[1] is None:  # other exponents are rarely defined
        parts[1] = constant(random.randint(2, _UNFOLDED_EXPONENTS))
    return operation(kind, *parts)


def mutated(tree: ExpressionNode, vocabulary: PrimitiveSet, random: Random) -> ExpressionNode:
    """Return ``tree`` with one random change."""
    path, node = tree.nth(random.randrange(tree.size))
    change = random.choice(_CHANGES if node.parts or node.kind == "name" else _CONSTANT_CHANGES)
    return tree.replaced(path, change(node, vocabulary, random))


def crossed(tree: ExpressionNode, other: ExpressionNode, random: Random) -> ExpressionNode:
    """Return ``tree`` with a part replaced by a random part of ``other`` of the same type."""
    path, node = tree.nth(random.randrange(tree.size))
    parts = [part for _, part in other.walk() if part.gives == node.gives]
    return tree.replaced(path, random.choice(parts)) if parts else tree


def _replaced(node: ExpressionNode, vocabulary: PrimitiveSet, random: Random) -> ExpressionNode:
    return random_tree(vocabulary, random, 3, node.gives)


def _exchanged(node: ExpressionNode, vocabulary: PrimitiveSet, random: Random) -> ExpressionNode:
    """Return another operation on the same operands, or another leaf."""
    if not node.parts:
        return random_leaf(vocabulary, random)
    kinds = vocabulary.alike(node.kind)
    return operation(random.choice(kinds), *node.parts) if kinds else _turned(node, vocabulary, random)


def _turned(node: ExpressionNode, _vocabulary: PrimitiveSet, _random: Random) -> ExpressionNode:
    """Return ``node`` with its first and last operand exchanged if their types are the same."""
    if len(node.parts) < 2 or node.parts[0].gives != node.parts[-1].gives:
        return node
    first, *middle, last = node.parts
    return operation(node.kind, last, *middle, first)


def _lifted(node: ExpressionNode, vocabulary: PrimitiveSet, random: Random) -> ExpressionNode:
    parts = [part for part in node.parts if part.gives == node.gives]
    return random.choice(parts) if parts else _replaced(node, vocabulary, random)


def _wrapped(node: ExpressionNode, vocabulary: PrimitiveSet, random: Random) -> ExpressionNode:
    kinds = [kind for kind in vocabulary.giving(node.gives) if node.gives in OPERATIONS[kind].takes]
    if not kinds:
        return node
    kind = random.choice(kinds)
    places = [index for index, wanted in enumerate(OPERATIONS[kind].takes) if wanted == node.gives]
    given: list[ExpressionNode | None] = [None] * len(OPERATIONS[kind].takes)
    given[random.choice(places)] = node
    return made(kind, vocabulary, random, given, 2)


def _nudged(node: ExpressionNode, _vocabulary: PrimitiveSet, random: Random) -> ExpressionNode:
    value = number_of(node)
    if random.random() < 0.5:
        return constant(value + random.choice((-1, 1)))
    moved = value + random.gauss(0, 0.1 + abs(value) / 4)
    return constant(moved) if math.isfinite(moved) else node


Change = Callable[[ExpressionNode, PrimitiveSet, Random], ExpressionNode]

_CHANGES: tuple[Change, ...] = (_replaced, _exchanged, _lifted, _wrapped, _turned)
_CONSTANT_CHANGES: tuple[Change, ...] = (_nudged, _nudged, _replaced, _wrapped)
