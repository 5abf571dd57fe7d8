"""Changes of statements: lines are moved as written, and only new ones are generated."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from random import Random

from .kinds import NUMBER, TRUTH, UNKNOWN, Kinds
from .parsed import Parsed, StatementPlace

_KEPT = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Import, ast.ImportFrom)
"""Statements that others depend on: they are neither deleted nor repeated."""
_LEAVING = (ast.Return, ast.Raise, ast.Break, ast.Continue)
_COMPOUND = (ast.If, ast.For, ast.While, ast.With)


@dataclass(frozen=True)
class Work:
    """The context of a change of statements."""

    parsed: Parsed
    kinds: Kinds
    random: Random

    def expressions(self, kind: str, spot: StatementPlace) -> list[ast.expr]:
        """Return the expressions of ``kind`` in the blocks whose names can be used at ``spot``."""
        line = spot.node.lineno
        return [
            place.node
            for place in self.parsed.places
            if self.kinds.of(place.node, place.function) == kind
            and self.kinds.usable(place.node, spot.function, line)
            and sum(1 for _ in ast.walk(place.node)) <= 30
        ]

    def condition(self, spot: StatementPlace) -> ast.expr | None:
        """Return a condition valid at ``spot``: one from the program, or a comparison of two numbers."""
        known = self.expressions(TRUTH, spot)
        if known and self.random.random() < 0.5:
            return self.random.choice(known)
        names = self.kinds.names(NUMBER, spot.function, spot.node.lineno)
        if not names:
            return self.random.choice(known) if known else None
        numbers = self.expressions(NUMBER, spot) or [ast.Constant(0)]
        sign = self.random.choice((ast.Lt, ast.LtE, ast.Gt, ast.GtE, ast.Eq))()
        left = ast.Name(self.random.choice(names), ast.Load())
        return ast.Compare(left, [sign], [self.random.choice(numbers)])


StatementChange = Callable[[StatementPlace, Work], str | None]


def inserted(spot: StatementPlace, parsed: Parsed, lines: str) -> str:
    """Return the text with ``lines`` before the statement at ``spot``."""
    start = parsed.line_span(spot.node)[0]
    return parsed.text[:start] + lines + parsed.text[start:]


def replaced(spot: StatementPlace, parsed: Parsed, lines: str) -> str:
    """Return the text with ``lines`` in place of the statement at ``spot``."""
    start, end = parsed.line_span(spot.node)
    return parsed.text[:start] + lines + parsed.text[end:]


def _deleted(spot: StatementPlace, work: Work) -> str | None:
    """Return the text without a statement; a suite that would be empty becomes ``pass``."""
    if isinstance(spot.node, _KEPT) or _is_text(spot.node):
        return None
    if len(spot.suite) > 1:
        return replaced(spot, work.parsed, "")
    if isinstance(spot.node, ast.Pass):
        return None
    return replaced(spot, work.parsed, work.parsed.written(ast.Pass(), work.parsed.indent(spot.node)))


def _repeated(spot: StatementPlace, work: Work) -> str | None:
    """Return the text with a statement repeated anywhere later in its suite."""
    if isinstance(spot.node, (*_KEPT, *_LEAVING)) or _is_text(spot.node):
        return None
    lines = work.parsed.statement_text(spot.node, work.parsed.indent(spot.node))
    target = StatementPlace(spot.suite, work.random.randrange(spot.index, len(spot.suite)), spot.function, spot.loop)
    return None if lines is None else inserted(target, work.parsed, lines)


def _swapped(spot: StatementPlace, work: Work) -> str | None:
    """Return the text with a statement and the next one exchanged."""
    if spot.index + 1 >= len(spot.suite) or _is_text(spot.node):
        return None
    parsed, following = work.parsed, spot.suite[spot.index + 1]
    first, second = parsed.line_span(spot.node), parsed.line_span(following)
    if parsed.indent(following) != parsed.indent(spot.node) or not parsed.blocks.holds(first[0], second[1]):
        return None
    text, end = parsed.text, parsed.newline
    later = text[second[0] : second[1]]
    later = later if later.endswith("\n") else later + end
    return text[: first[0]] + later + text[first[1] : second[0]] + text[first[0] : first[1]] + text[second[1] :]


def _guarded(spot: StatementPlace, work: Work) -> str | None:
    """Return the text with a guarded exit before a statement, from the loop or the function."""
    condition = work.condition(spot)
    leaving = _way_out(spot, work)
    if condition is None or leaving is None:
        return None
    lines = work.parsed.written(ast.If(condition, [leaving], []), work.parsed.indent(spot.node))
    return inserted(spot, work.parsed, lines)


def _way_out(spot: StatementPlace, work: Work) -> ast.stmt | None:
    if spot.loop and work.random.random() < 0.6:
        return work.random.choice((ast.Break, ast.Continue))()
    if not isinstance(spot.function, ast.FunctionDef):
        return None
    returned = [node.value for node in ast.walk(spot.function) if isinstance(node, ast.Return) and node.value]
    line = spot.node.lineno
    values = [value for value in returned if work.kinds.usable(value, spot.function, line)]
    if returned:
        values += work.expressions(work.kinds.of(returned[0], spot.function), spot)[:20]
    return ast.Return(work.random.choice(values)) if values else None


def _conditioned(spot: StatementPlace, work: Work) -> str | None:
    """Return the text with a statement made conditional."""
    condition = work.condition(spot)
    if condition is None or isinstance(spot.node, _KEPT) or _is_text(spot.node):
        return None
    parsed = work.parsed
    indent = parsed.indent(spot.node)
    body = parsed.statement_text(spot.node, indent + parsed.step)
    if body is None:
        return None
    head = f"{indent}if {ast.unparse(condition)}:{parsed.newline}"
    return replaced(spot, parsed, head + body)


def _unfolded(spot: StatementPlace, work: Work) -> str | None:
    """Return the text with a condition or loop replaced by its body."""
    node, parsed = spot.node, work.parsed
    if not isinstance(node, _COMPOUND) or parsed.source(node).startswith("elif"):
        return None
    suites = [node.body, *([node.orelse] if isinstance(node, ast.If) and node.orelse else [])]
    lines = [parsed.statement_text(part, parsed.indent(node)) for part in work.random.choice(suites)]
    if any(line is None or line.lstrip().startswith("elif") for line in lines):
        return None
    return replaced(spot, parsed, "".join(line for line in lines if line is not None))


def _assigned(spot: StatementPlace, work: Work) -> str | None:
    """Return the text with a new value assigned to an existing number or list before a statement."""
    line = spot.node.lineno
    kind = work.random.choice((NUMBER, NUMBER, TRUTH, UNKNOWN))
    names, values = work.kinds.names(kind, spot.function, line), work.expressions(kind, spot)
    if not names or not values:
        return None
    target = ast.Name(work.random.choice(names), ast.Store())
    value = work.random.choice(values)
    new: ast.stmt = ast.Assign([target], value)
    if kind == NUMBER and work.random.random() < 0.5:
        new = ast.AugAssign(target, work.random.choice((ast.Add, ast.Sub, ast.Mult))(), value)
    return inserted(spot, work.parsed, work.parsed.written(new, work.parsed.indent(spot.node)))


def _looped(spot: StatementPlace, work: Work) -> str | None:
    """Return the text with a statement repeated in a short loop."""
    if isinstance(spot.node, (*_KEPT, *_LEAVING)) or _is_text(spot.node):
        return None
    parsed = work.parsed
    indent = parsed.indent(spot.node)
    body = parsed.statement_text(spot.node, indent + parsed.step)
    count = work.random.choice((2, 3, 5, 10))
    return None if body is None else replaced(spot, parsed, f"{indent}for _ in range({count}):{parsed.newline}{body}")


def _is_text(node: ast.stmt) -> bool:
    """Return whether a statement is just a string, usually a docstring."""
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def taken(spot: StatementPlace, work: Work, other: Parsed, others: Sequence[StatementPlace]) -> str | None:
    """Return the text with a statement of another program before the one at ``spot``, or replacing it."""
    movable = [item for item in others if not isinstance(item.node, _KEPT) and not _is_text(item.node)]
    if not movable:
        return None
    chosen = work.random.choice(movable)
    loose = [node for node in ast.walk(chosen.node) if isinstance(node, ast.Break | ast.Continue)]
    if loose and not spot.loop:
        return None
    lines = other.statement_text(chosen.node, work.parsed.indent(spot.node))
    if lines is None or lines.lstrip().startswith("elif"):
        return None
    lines = lines.replace("\r\n", "\n").replace("\n", work.parsed.newline)
    if work.random.random() < 0.5 and not isinstance(spot.node, _KEPT) and not _is_text(spot.node):
        return replaced(spot, work.parsed, lines)
    return inserted(spot, work.parsed, lines)


CHANGES: tuple[StatementChange, ...] = (
    _deleted, _deleted, _repeated, _swapped, _swapped, _guarded, _conditioned, _unfolded, _assigned, _assigned, _looped,
)  # fmt: skip


def with_function(parsed: Parsed, partner: Parsed, random: Random) -> str | None:
    """Return the program with one function replaced by the partner's version."""
    mine, theirs = _functions(parsed), _functions(partner)
    shared = [name for name in mine if name in theirs and _lines(parsed, mine[name]) != _lines(partner, theirs[name])]
    if not shared:
        return None
    name = random.choice(shared)
    start, end = parsed.line_span(mine[name])
    return parsed.text[:start] + _lines(partner, theirs[name]) + parsed.text[end:]


def with_block(parsed: Parsed, partner: Parsed, random: Random) -> str | None:
    """Return the program with one of several blocks taken from the partner."""
    mine, theirs = parsed.blocks, partner.blocks
    differing = [index for index, pair in enumerate(zip(mine.open, theirs.open, strict=True)) if pair[0] != pair[1]]
    if len(mine.open) < 2 or not differing:
        return None
    chosen = random.choice(differing)
    return mine.with_open([theirs.open[at] if at == chosen else part for at, part in enumerate(mine.open)]).text


def _functions(parsed: Parsed) -> dict[str, ast.stmt]:
    """Return the outermost functions in the blocks, by name and indentation."""
    return {
        f"{parsed.indent(spot.node)}{spot.node.name}": spot.node
        for spot in parsed.spots
        if isinstance(spot.node, ast.FunctionDef | ast.AsyncFunctionDef) and isinstance(spot.function, ast.Module)
    }


def _lines(parsed: Parsed, node: ast.stmt) -> str:
    start, end = parsed.line_span(node)
    return parsed.text[start:end]


def same_function(one: StatementPlace, other: StatementPlace) -> bool:
    """Return whether two statements are in functions of the same name, or both in none."""
    return getattr(one.function, "name", None) == getattr(other.function, "name", None)
