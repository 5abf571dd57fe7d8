"""Parse source text into a program, or reject it: only listed syntax is accepted, and nothing is passed to ``eval``."""

from __future__ import annotations

import ast
import keyword
import warnings
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, TypeVar

from ..interface import DoesNotApply, RefusedProgram, UndefinedValue, is_score
from .tree import (
    CALLS,
    MAX_BITS,
    MAX_WHOLE,
    NUMBER,
    OPERATIONS,
    TRUTH,
    ExpressionNode,
    column,
    constant,
    name,
    operation,
    why_undefined,
)

MAX_CHARACTERS = 10_000
MAX_NODES = 500
MAX_DEPTH = 60

_BINARY = {
    ast.Add: "add",
    ast.Sub: "subtract",
    ast.Mult: "multiply",
    ast.Div: "divide",
    ast.FloorDiv: "floor_divide",
    ast.Mod: "modulo",
    ast.Pow: "power",
}
_COMPARED = {
    ast.Lt: "less",
    ast.LtE: "at_most",
    ast.Gt: "greater",
    ast.GtE: "at_least",
    ast.Eq: "equal",
    ast.NotEq: "different",
}


@dataclass(frozen=True)
class Expression:
    """A parsed program: parameters, and a tree of only these, constants and operations.

    >>> program = read_program("lambda x, y: x * 2 + y")
    >>> program(3, 1), program.parameters, program.source
    (7, ('x', 'y'), 'lambda x, y: x * 2 + y')
    """

    parameters: tuple[str, ...]
    body: ExpressionNode
    is_lambda: bool = True

    @property
    def source(self) -> str:
        """Return the program's source text."""
        if not self.is_lambda:
            return str(self.body)
        return f"lambda {', '.join(self.parameters)}: {self.body}" if self.parameters else f"lambda: {self.body}"

    def __call__(self, *arguments: float) -> float:
        """Return the program's value; raise ``UndefinedValue`` if it is not a finite number."""
        if len(arguments) != len(self.parameters):
            raise UndefinedValue(f"The program takes {len(self.parameters)} arguments, but got {len(arguments)}.")
        for argument in arguments:
            if not is_score(argument):
                raise UndefinedValue(f"An argument is {argument!r:.60}; arguments must be finite numbers.")
            if isinstance(argument, int) and argument.bit_length() > MAX_BITS:
                raise UndefinedValue(
                    f"An argument has {argument.bit_length()} bits; whole numbers have at most {MAX_BITS}."
                )
        columns = {parameter: [value] for parameter, value in zip(self.parameters, arguments, strict=True)}
        value: float = column(self.body, columns, {}, 1)[0]
        if not is_score(value):
            raise UndefinedValue(f"The program has no value there: {why_undefined(self.body, columns, 1)}.")
        return value


def read_program(source: str) -> Expression:
    """Return the program in ``source``: ``lambda x: x * 2``, or an expression such as ``x * 2``.

    The parameters of a bare expression are its names in alphabetical order.

    >>> read_program("lambda x: x * 2 + 1")(3)
    7
    >>> read_program("b - a").parameters
    ('a', 'b')

    Raises:
        RefusedProgram: The text contains anything that is not listed; the error names it and its column.
    """
    if not isinstance(source, str):
        raise RefusedProgram(f"A program is source text, not {type(source).__name__}.")
    if len(source) > MAX_CHARACTERS:
        raise RefusedProgram(f"A program has at most {MAX_CHARACTERS} characters; this one has {len(source)}.")
    tree = _syntax(source.strip())
    if isinstance(tree, ast.Lambda):
        parameters = _parameters(tree.args)
        return Expression(parameters, _Reader(parameters).read(tree.body, NUMBER, 1))
    names = sorted({node.id for node in ast.walk(tree) if isinstance(node, ast.Name)} - set(CALLS))
    return Expression(tuple(names), _Reader(tuple(names)).read(tree, NUMBER, 1), is_lambda=False)


def _syntax(source: str) -> ast.expr:
    """Return the syntax of one expression; whatever the parser rejects is refused."""
    try:
        return undisturbed(lambda: ast.parse(source, mode="eval")).body
    except SyntaxError as problem:
        raise RefusedProgram(f"The program is not a Python expression: {problem.msg} ({source[:60]!r}).") from problem
    except (ValueError, RecursionError, MemoryError) as problem:
        raise RefusedProgram(f"The program cannot be parsed: {type(problem).__name__} ({source[:60]!r}).") from problem


def checked_parameters(names: Sequence[str]) -> tuple[str, ...]:
    """Return ``names`` if programs can have them as parameters."""
    for text in names:
        if not text.isidentifier() or keyword.iskeyword(text) or text in CALLS:
            raise RefusedProgram(f"A parameter cannot be named {text!r}.")
    if len(set(names)) != len(names):
        raise RefusedProgram("Two parameters have the same name.")
    return tuple(names)


def _parameters(given: ast.arguments) -> tuple[str, ...]:
    """Return the parameters of a lambda, which must be plain."""
    if given.vararg or given.kwarg or given.kwonlyargs or given.defaults or given.posonlyargs:
        raise RefusedProgram("Parameters must be plain names: no defaults, stars or slashes.")
    return checked_parameters([parameter.arg for parameter in given.args])


class _Reader:
    """Turns syntax into nodes, one listed form at a time."""

    def __init__(self, parameters: Sequence[str]) -> None:
        self._parameters = parameters
        self._left = MAX_NODES
        self._forms: dict[type[ast.expr], Callable[[Any, int], ExpressionNode]] = {
            ast.Constant: self._constant,
            ast.Name: self._name,
            ast.BinOp: self._binary,
            ast.UnaryOp: self._unary,
            ast.Compare: self._compare,
            ast.BoolOp: self._combine,
            ast.IfExp: self._choose,
            ast.Call: self._call,
        }

    def read(self, syntax: ast.expr, wanted: str, depth: int) -> ExpressionNode:
        self._left -= 1
        if self._left < 0 or depth > MAX_DEPTH:
            raise RefusedProgram(f"The program is too large: {MAX_NODES} nodes, {MAX_DEPTH} deep, is the limit.")
        form = self._forms.get(type(syntax))
        if form is None:
            raise _refused(syntax, f"{type(syntax).__name__} is not allowed")
        node = form(syntax, depth)
        if node.gives != wanted:
            raise _refused(syntax, f"a {wanted} is needed here, but this gives a {node.gives}")
        return node

    def _constant(self, syntax: ast.Constant, _depth: int) -> ExpressionNode:
        value = syntax.value
        if not is_score(value) or not isinstance(value, int | float):
            raise _refused(syntax, f"the constant {value!r:.40} is not a finite number")
        if isinstance(value, int) and value > MAX_WHOLE:
            raise _refused(syntax, f"a whole number must be at most {MAX_WHOLE}")
        return constant(value)

    def _name(self, syntax: ast.Name, _depth: int) -> ExpressionNode:
        if syntax.id not in self._parameters:
            raise _refused(syntax, f"the name {syntax.id!r} is not a parameter")
        return name(syntax.id)

    def _binary(self, syntax: ast.BinOp, depth: int) -> ExpressionNode:
        kind = _BINARY.get(type(syntax.op))
        if kind is None:
            raise _refused(syntax, f"the operator {type(syntax.op).__name__} is not allowed")
        return operation(kind, *(self.read(side, NUMBER, depth + 1) for side in (syntax.left, syntax.right)))

    def _unary(self, syntax: ast.UnaryOp, depth: int) -> ExpressionNode:
        if isinstance(syntax.op, ast.Not):
            return operation("not", self.read(syntax.operand, TRUTH, depth + 1))
        if isinstance(syntax.op, ast.Invert):
            raise _refused(syntax, "the operator Invert is not allowed")
        operand = self.read(syntax.operand, NUMBER, depth + 1)
        return operand if isinstance(syntax.op, ast.UAdd) else operation("negative", operand)

    def _compare(self, syntax: ast.Compare, depth: int) -> ExpressionNode:
        kind = _COMPARED.get(type(syntax.ops[0]))
        if kind is None or len(syntax.ops) > 1:
            what = f"the operator {type(syntax.ops[0]).__name__}" if kind is None else "a chained comparison"
            raise _refused(syntax, f"{what} is not allowed")
        return operation(kind, *(self.read(side, NUMBER, depth + 1) for side in (syntax.left, syntax.comparators[0])))

    def _combine(self, syntax: ast.BoolOp, depth: int) -> ExpressionNode:
        kind = "and" if isinstance(syntax.op, ast.And) else "or"
        node, *more = (self.read(value, TRUTH, depth + 1) for value in syntax.values)
        for other in more:
            self._left -= 1
            node = operation(kind, node, other)
        if node.depth > MAX_DEPTH:
            raise _refused(syntax, "too many conditions in a row")
        return node

    def _choose(self, syntax: ast.IfExp, depth: int) -> ExpressionNode:
        test = self.read(syntax.test, TRUTH, depth + 1)
        then, otherwise = (self.read(side, NUMBER, depth + 1) for side in (syntax.body, syntax.orelse))
        return operation("if", then, test, otherwise)

    def _call(self, syntax: ast.Call, depth: int) -> ExpressionNode:
        called = syntax.func.id if isinstance(syntax.func, ast.Name) else None
        if called is None or called not in CALLS or called in self._parameters:
            what = f"of {called!r}" if called else f"of {type(syntax.func).__name__}"
            raise _refused(syntax, f"the Call {what} is not allowed; callable are {', '.join(CALLS)}")
        takes = OPERATIONS[called].takes
        if syntax.keywords or len(syntax.args) != len(takes):
            raise _refused(syntax, f"{called} takes {len(takes)} plain arguments")
        return operation(called, *(self.read(argument, NUMBER, depth + 1) for argument in syntax.args))


def _refused(syntax: ast.expr, reason: str) -> RefusedProgram:
    return RefusedProgram(f"The program is refused at column {syntax.col_offset + 1}: {reason}.")


Tree = TypeVar("Tree", bound=ast.AST)

_PARSES = 20
"""How often parsing is retried after other threads interfered."""


def undisturbed(parse: Callable[[], Tree]) -> Tree:
    """Return the syntax tree from ``parse``, unaffected by parsing in other threads."""
    for _ in range(_PARSES):
        with suppress(SystemError):  # CPython 3.11 counts the depth of all their trees in one place (gh-106905)
            return parse()
    return parse()


def require_python(text: str) -> ast.Module:
    """Return the syntax tree of ``text``, if it compiles.

    Raises:
        DoesNotApply: It does not; the message names the line.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # warnings about suspicious code are of no interest here
            tree = undisturbed(lambda: ast.parse(text))
            compile(text, "<program>", "exec", dont_inherit=True)  # a `return` outside of a function parses
    except SyntaxError as problem:
        line = (problem.text or "").strip()
        shown = f": {line!r:.80}" if line else ""
        raise DoesNotApply(f"The program does not parse: line {problem.lineno}, {problem.msg}{shown}.") from None
    except (ValueError, RecursionError, MemoryError) as problem:  # a null byte; nested too deeply
        raise DoesNotApply(f"The program does not parse: {problem or type(problem).__name__}.") from None
    return tree
