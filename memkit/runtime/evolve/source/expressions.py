"""Changes of one expression: each gives another expression of the same kind, or None if it makes no sense."""

from __future__ import annotations

import ast
import copy
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from random import Random

from .kinds import LIST, NUMBER, TEXT, TRUTH, UNKNOWN, Kinds
from .parsed import ExpressionPlace, Parsed

_ARITHMETIC: tuple[type[ast.operator], ...] = (ast.Add, ast.Sub, ast.Mult, ast.Div)
_WHOLE: tuple[type[ast.operator], ...] = (ast.Add, ast.Sub, ast.Mult, ast.FloorDiv, ast.Mod)
_COMPARISONS: tuple[type[ast.cmpop], ...] = (ast.Lt, ast.LtE, ast.Gt, ast.GtE, ast.Eq, ast.NotEq)
_BOUNDARY: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
}  # fmt: skip
_ALIKE = (("min", "max", "sum"), ("any", "all"), ("floor", "ceil"), ("sin", "cos"), ("exp", "log", "sqrt", "log1p"))
_LARGEST = 10**12
_MOST_DIGITS = 6


@dataclass(frozen=True)
class Context:
    """The context of a change: where it happens, what is known, and expressions to use."""

    parsed: Parsed
    kinds: Kinds
    place: ExpressionPlace
    material: Sequence[ast.expr]
    """Expressions of the same kind whose names can be used here."""
    random: Random

    @property
    def kind(self) -> str:
        """Return the kind of the expression."""
        return self.kinds.of(self.place.node, self.place.function)

    def leaf(self) -> ast.expr:
        """Return a number: a name that has or may have a numeric value here, or a small constant."""
        names = self._names(NUMBER)
        if not names or self.random.random() < 0.3:
            names = self._names(UNKNOWN) or names
        if names and self.random.random() < 0.6:
            return ast.Name(self.random.choice(names), ast.Load())
        if self.random.random() < 0.7:
            return number(self.random.randint(0, 3))
        return number(round(self.random.uniform(0, 2), 2))

    def _names(self, kind: str) -> list[str]:
        return self.kinds.names(kind, self.place.function, self.place.node.lineno)


Change = Callable[[ast.expr, Context], ast.expr | None]


def number(value: float) -> ast.expr:
    """Return a number as an expression; a negative one is a constant with a sign."""
    if value < 0:
        return ast.UnaryOp(ast.USub(), ast.Constant(-value))
    return ast.Constant(value)


def changes_for(node: ast.expr, kind: str) -> list[Change]:
    """Return the changes that make sense for an expression, likelier ones repeated."""
    found = [change for form, changes in _BY_FORM.items() if isinstance(node, form) for change in changes]
    if isinstance(node, ast.Constant) and (isinstance(node.value, bool) or kind != NUMBER):
        found = [_flipped] if isinstance(node.value, bool) else []
    return [*found, *found, *_BY_KIND.get(kind, ()), _replaced]


def _moved(node: ast.expr, context: Context) -> ast.expr | None:
    """Return a constant near a constant; integers stay integers."""
    value, random = getattr(node, "value", None), context.random
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    if isinstance(value, int):
        steps = (
            value + 1,
            value - 1,
            value + random.randint(2, 5),
            value * 2,
            value // 2,
            value * 10,
            value // 10,
            0,
            1,
        )
        moved: float = random.choice(steps)
    else:
        step = random.choice((0.01, 0.1, 0.5, 2.0))
        moved = value + random.gauss(0, step * (abs(value) or 1.0))
        moved = random.choice((moved, moved, value * 2, value / 2, value * 10, value / 10, -value))
        moved = float(f"{moved:.{random.randint(2, _MOST_DIGITS)}g}")
    return number(moved) if math.isfinite(moved) and abs(moved) < _LARGEST else None


def _flipped(node: ast.expr, _context: Context) -> ast.expr:
    return ast.Constant(not getattr(node, "value", False))


def _other_operator(node: ast.expr, context: Context) -> ast.expr | None:
    if isinstance(node, ast.BinOp):
        group = _WHOLE if type(node.op) in (ast.FloorDiv, ast.Mod) else _ARITHMETIC
        others = [item for item in group if not isinstance(node.op, item)]
        return ast.BinOp(node.left, context.random.choice(others)(), node.right)
    if isinstance(node, ast.BoolOp):
        return ast.BoolOp(ast.Or() if isinstance(node.op, ast.And) else ast.And(), node.values)
    if isinstance(node, ast.UnaryOp):
        return node.operand
    return None


def _exchanged(node: ast.expr, _context: Context) -> ast.expr | None:
    """Return the first two operands or arguments exchanged."""
    if isinstance(node, ast.BinOp):
        return ast.BinOp(node.right, node.op, node.left)
    if isinstance(node, ast.Compare) and len(node.ops) == 1:
        return ast.Compare(node.comparators[0], node.ops, [node.left])
    if isinstance(node, ast.Call) and len(node.args) >= 2 and not any(isinstance(a, ast.Starred) for a in node.args):
        return ast.Call(node.func, [node.args[1], node.args[0], *node.args[2:]], node.keywords)
    if isinstance(node, ast.IfExp):
        return ast.IfExp(node.test, node.orelse, node.body)
    return None


def _other_comparison(node: ast.expr, context: Context) -> ast.expr | None:
    """Return a comparison with another operator: with the boundary included or excluded, or any."""
    if not isinstance(node, ast.Compare):
        return None
    index = context.random.randrange(len(node.ops))
    given = type(node.ops[index])
    if given not in _BOUNDARY:
        return ast.UnaryOp(ast.Not(), node)
    other = _BOUNDARY[given] if context.random.random() < 0.5 else context.random.choice(_COMPARISONS)
    ops = [other() if at == index else op for at, op in enumerate(node.ops)]
    return ast.Compare(node.left, ops, node.comparators)


def _lifted(node: ast.expr, context: Context) -> ast.expr | None:
    """Return an operand of the same kind in place of the operation."""
    kind, function = context.kind, context.place.function
    parts = [part for part in ast.iter_child_nodes(node) if isinstance(part, ast.expr) and _is_read(part)]
    alike = [part for part in parts if context.kinds.of(part, function) in (kind, UNKNOWN)]
    if isinstance(node, ast.Call):
        alike = [part for part in alike if part is not node.func]
    return context.random.choice(alike) if alike else None


def _other_function(node: ast.expr, context: Context) -> ast.expr | None:
    """Return a call of another function with the same types."""
    if not isinstance(node, ast.Call):
        return None
    called = node.func
    name = called.id if isinstance(called, ast.Name) else getattr(called, "attr", "")
    group = next((names for names in _ALIKE if name in names), ())
    others = [other for other in group if other != name]
    if not others:
        return None
    chosen = context.random.choice(others)
    if isinstance(called, ast.Attribute):
        return ast.Call(ast.Attribute(called.value, chosen, ast.Load()), node.args, node.keywords)
    return ast.Call(ast.Name(chosen, ast.Load()), node.args, node.keywords)


def _turned_order(node: ast.expr, _context: Context) -> ast.expr | None:
    """Return a call of ``sorted``, ``min`` or similar with reversed order."""
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name) or node.func.id != "sorted":
        return None
    kept = [keyword for keyword in node.keywords if keyword.arg != "reverse"]
    if len(kept) == len(node.keywords):
        kept.append(ast.keyword("reverse", ast.Constant(True)))
    return ast.Call(node.func, node.args, kept)


def _wrapped_number(node: ast.expr, context: Context) -> ast.expr:
    """Return an operation on a number, with a leaf as the other operand."""
    random = context.random
    if random.random() < 0.25:
        function = random.choice(("abs", "min", "max"))
        arguments = [node] if function == "abs" else [node, context.leaf()]
        return ast.Call(ast.Name(function, ast.Load()), arguments, [])
    operator = random.choice((ast.Add, ast.Sub, ast.Mult, ast.Div, ast.Add, ast.Mult))()
    sides = [node, context.leaf()]
    if random.random() < 0.2:
        sides.reverse()
    return ast.BinOp(sides[0], operator, sides[1])


def _combined(node: ast.expr, context: Context) -> ast.expr | None:
    """Return an operation on a possible number, with another one or its own neighbour."""
    if not isinstance(node, ast.Subscript | ast.Name | ast.Attribute):
        return None
    others = [item for item in context.material if type(item) is type(node)]
    at = node.slice if isinstance(node, ast.Subscript) else None
    if isinstance(node, ast.Subscript) and isinstance(at, ast.Constant) and isinstance(at.value, int):
        others += [ast.Subscript(node.value, number(at.value + step), ast.Load()) for step in (1, -1)]
    other = context.random.choice(others) if others else context.leaf()
    return ast.BinOp(node, context.random.choice(_ARITHMETIC)(), other)


def _by_one(node: ast.expr, context: Context) -> ast.expr:
    """Return the number plus or minus one: bounds of loops and slices are often off by one."""
    return ast.BinOp(node, context.random.choice((ast.Add, ast.Sub))(), ast.Constant(1))


def _chosen(node: ast.expr, context: Context) -> ast.expr | None:
    test = ast.Compare(context.leaf(), [context.random.choice(_COMPARISONS)()], [context.leaf()])
    other = context.random.choice(context.material) if context.material else context.leaf()
    return ast.IfExp(test, node, other)


def _negated(node: ast.expr, _context: Context) -> ast.expr:
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        return node.operand
    return ast.UnaryOp(ast.Not(), node)


def _joined(node: ast.expr, context: Context) -> ast.expr:
    """Return a condition combined with another one, or with a comparison of numbers."""
    other: ast.expr = ast.Compare(context.leaf(), [context.random.choice(_COMPARISONS)()], [context.leaf()])
    if context.material and context.random.random() < 0.5:
        other = context.random.choice(context.material)
    return ast.BoolOp(context.random.choice((ast.And, ast.Or))(), [node, other])


def _ordered(node: ast.expr, context: Context) -> ast.expr:
    """Return an iterable in another order."""
    if context.random.random() < 0.3:
        return ast.Subscript(node, ast.Slice(step=number(-1)), ast.Load())
    turned = [ast.keyword("reverse", ast.Constant(True))] if context.random.random() < 0.5 else []
    return ast.Call(ast.Name("sorted", ast.Load()), [node], turned)


def _replaced(node: ast.expr, context: Context) -> ast.expr | None:
    """Return another expression of the same kind from the program, or its partner, or a leaf."""
    if context.material and context.random.random() < 0.8:
        return context.random.choice(context.material)
    return context.leaf() if context.kind == NUMBER else None


def iterated(node: ast.expr, context: Context) -> ast.expr | None:
    """Return the iterable of a loop, changed in order unless it is a count."""
    counts = isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ("range", "sorted")
    return None if counts else _ordered(node, context)


def _is_read(node: ast.expr) -> bool:
    return isinstance(getattr(node, "ctx", None), ast.Load | None) and not isinstance(node, ast.Starred | ast.Slice)


def copied(node: ast.expr) -> ast.expr:
    """Return an expression that shares no node with ``node``."""
    return copy.deepcopy(node)


_BY_FORM: dict[type[ast.expr], tuple[Change, ...]] = {
    ast.Constant: (_moved, _moved, _moved),
    ast.BinOp: (_other_operator, _other_operator, _exchanged, _lifted),
    ast.BoolOp: (_other_operator, _lifted),
    ast.UnaryOp: (_other_operator,),
    ast.Compare: (_other_comparison, _other_comparison, _exchanged),
    ast.Call: (_other_function, _exchanged, _lifted, _turned_order),
    ast.IfExp: (_exchanged, _lifted),
}
_BY_KIND: dict[str, tuple[Change, ...]] = {
    NUMBER: (_wrapped_number, _wrapped_number, _by_one, _chosen),
    TRUTH: (_negated, _joined),
    LIST: (_ordered,),
    TEXT: (),
    UNKNOWN: (_combined, _combined),
}
