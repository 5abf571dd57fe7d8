"""The kind of value of an expression, as far as its text shows, and the names that a function can use."""

from __future__ import annotations

import ast
import builtins
import math
from collections.abc import Iterator
from dataclasses import dataclass, field

NUMBER, TRUTH, TEXT, LIST, UNKNOWN = "number", "truth", "text", "list", "unknown"
FUNCTION, MODULE = "function", "module"
COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, *COMPREHENSIONS)
"""Nodes with a scope of their own."""

_GIVES = {
    NUMBER: "abs ceil cos dot exp fabs float floor fsum hypot int len log log10 log2 max mean median min norm pow prod "
    "random randint randrange round sin sqrt sum tan tanh uniform gauss index count find ord",
    TRUTH: "all any bool callable hasattr isdigit isinstance issubclass isalpha isupper islower startswith endswith",
    TEXT: "chr format join lower replace repr str strip upper",
    LIST: "list sorted range split tuple zip enumerate reversed keys values items",
}
_BY_CALL = {name: kind for kind, names in _GIVES.items() for name in names.split()}
_BY_ANNOTATION = {"int": NUMBER, "float": NUMBER, "bool": TRUTH, "str": TEXT, "list": LIST, "Sequence": LIST}
_TAKE_LISTS = ("len", "sorted", "sum", "enumerate", "zip", "list", "reversed", "any", "all")
_BUILTINS = frozenset(dir(builtins))


@dataclass
class Scope:
    """The names of one function, or of the module."""

    kinds: dict[str, str] = field(default_factory=dict)
    """Name → the kind of its values."""
    since: dict[str, int] = field(default_factory=dict)
    """Name → the first line on which it has a value; 0 if it has one from the beginning."""

    def learn(self, name: str, kind: str, line: int) -> None:
        """Record that ``name`` gets a value of ``kind`` on ``line``."""
        known = self.kinds.get(name)
        self.kinds[name] = kind if known in (None, UNKNOWN) else known if kind in (known, UNKNOWN) else UNKNOWN
        self.since[name] = min(line, self.since.get(name, line))


class Kinds:
    """Knowledge about the values of a program, inferred without running it."""

    def __init__(self, tree: ast.Module) -> None:
        self._module = tree
        self._scopes: dict[ast.AST, Scope] = {}
        self._parents: dict[ast.AST, ast.AST] = {}
        self._enter(tree, None)

    def of(self, node: ast.expr, function: ast.AST) -> str:
        """Return the kind of ``node`` within ``function``."""
        if isinstance(node, ast.Name):
            known = (scope.kinds[node.id] for scope, _ in self._around(function, 0) if node.id in scope.kinds)
            return next(known, UNKNOWN)
        if isinstance(node, ast.BinOp):
            sides = (self.of(node.left, function), self.of(node.right, function))
            return next((kind for kind in (TEXT, LIST) if kind in sides), NUMBER)
        if isinstance(node, ast.BoolOp):
            kinds = {self.of(value, function) for value in node.values}
            return kinds.pop() if len(kinds) == 1 else UNKNOWN
        if isinstance(node, ast.IfExp):
            return self.of(node.body, function)
        if isinstance(node, ast.Call):
            return self._of_call(node)
        return kind_of_form(node)

    def usable(self, node: ast.expr, function: ast.AST, line: int) -> bool:
        """Return whether every name in ``node`` can have a value in ``function`` on ``line``."""
        bound = {item.id for item in ast.walk(node) if isinstance(item, ast.Name) and isinstance(item.ctx, ast.Store)}
        bound |= {item.arg for item in ast.walk(node) if isinstance(item, ast.arg)}
        return all(
            self._has_value(item.id, function, line)
            for item in ast.walk(node)
            if isinstance(item, ast.Name) and item.id not in bound
        )

    def names(self, kind: str, function: ast.AST, line: int) -> list[str]:
        """Return the names of ``kind`` with a value in ``function`` on ``line``, excluding those of the module."""
        found = dict[str, str]()
        for scope, before in self._around(function, line):
            if scope is not self._scopes[self._module] or function is self._module:
                found = {**{name: kind for name, kind in scope.kinds.items() if scope.since[name] < before}, **found}
        return [name for name, known in found.items() if known == kind]

    def _has_value(self, name: str, function: ast.AST, line: int) -> bool:
        if name in _BUILTINS:
            return True
        known = (scope.since[name] < before for scope, before in self._around(function, line) if name in scope.since)
        return next(known, False)

    def _around(self, function: ast.AST, line: int) -> Iterator[tuple[Scope, float]]:
        """Yield the scopes visible in ``function``, its own first, each with the line before which names have a value.

        A function is called after its enclosing scope has run; a comprehension runs where it is.
        """
        inner: ast.AST | None = function if function in self._scopes else self._module
        before: float = line
        while inner is not None:
            yield self._scopes[inner], before
            if not isinstance(inner, COMPREHENSIONS):
                before = math.inf
            inner = self._parents.get(inner)

    @staticmethod
    def _of_call(node: ast.Call) -> str:
        function = node.func
        name = function.id if isinstance(function, ast.Name) else getattr(function, "attr", "")
        return _BY_CALL.get(name, UNKNOWN)

    def _enter(self, function: ast.AST, parent: ast.AST | None) -> None:
        """Collect the names of ``function`` and of nested functions."""
        self._scopes[function] = scope = Scope()
        if parent is not None:
            self._parents[function] = parent
        arguments = getattr(function, "args", None)
        if isinstance(arguments, ast.arguments):
            _learn_arguments(arguments, scope)
        nodes = sorted(_own_nodes(function), key=lambda node: getattr(node, "lineno", 0))
        for node in nodes:
            self._learn(node, function, scope)
        for node in nodes:
            self._learn_from_use(node, function)
        for node in nodes:
            if isinstance(node, SCOPES):
                self._enter(node, function)

    def _learn(self, node: ast.AST, function: ast.AST, scope: Scope) -> None:
        if isinstance(node, ast.Assign):
            for target in node.targets:
                self._bind(target, self.of(node.value, function), scope)
        elif isinstance(node, ast.AnnAssign | ast.NamedExpr) and node.value is not None:
            self._bind(node.target, self.of(node.value, function), scope)
        elif isinstance(node, ast.For | ast.comprehension):
            called = getattr(node.iter.func, "id", "") if isinstance(node.iter, ast.Call) else ""
            line = node.lineno if isinstance(node, ast.For) else 0
            self._bind(node.target, NUMBER if called == "range" else UNKNOWN, scope, line)
            if called == "enumerate" and isinstance(node.target, ast.Tuple):
                self._bind(node.target.elts[0], NUMBER, scope, line)
        elif isinstance(node, ast.withitem) and node.optional_vars is not None:
            self._bind(node.optional_vars, UNKNOWN, scope)
        elif isinstance(node, ast.ExceptHandler) and node.name:
            scope.learn(node.name, UNKNOWN, node.lineno)
        elif isinstance(node, ast.Import | ast.ImportFrom):
            for alias in node.names:
                scope.learn((alias.asname or alias.name).partition(".")[0], MODULE, 0)
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            scope.learn(node.name, FUNCTION, 0)

    def _bind(self, target: ast.expr, kind: str, scope: Scope, line: int | None = None) -> None:
        if isinstance(target, ast.Name):
            scope.learn(target.id, kind, target.lineno if line is None else line)
        elif isinstance(target, ast.Tuple | ast.List):
            for part in target.elts:
                self._bind(part, UNKNOWN, scope, line)
        elif isinstance(target, ast.Starred):
            self._bind(target.value, LIST, scope, line)

    def _learn_from_use(self, node: ast.AST, function: ast.AST) -> None:
        """Infer that names in arithmetic are numbers, and that names that are iterated or indexed are lists."""
        for item, kind in _uses(node):
            if not isinstance(item, ast.Name):
                continue
            known = (scope for scope, _ in self._around(function, 0) if item.id in scope.kinds)
            scope = next(known, None)
            if scope is not None and scope.kinds[item.id] == UNKNOWN:
                scope.kinds[item.id] = kind


def _uses(node: ast.AST) -> Iterator[tuple[ast.expr, str]]:
    """Yield what a node uses as a number or as a list."""
    if isinstance(node, ast.BinOp):
        sides = [node.left, node.right]
        if not isinstance(node.op, ast.Add | ast.Mult) or any(map(_is_number, sides)):
            yield from ((side, NUMBER) for side in sides)
    elif isinstance(node, ast.Compare) and any(map(_is_number, node.comparators)):
        yield node.left, NUMBER
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        yield node.operand, NUMBER
    elif isinstance(node, ast.For | ast.comprehension):
        yield node.iter, LIST
    elif isinstance(node, ast.Subscript):
        yield node.value, LIST
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
        kind = NUMBER if node.func.id in ("range", "abs", "round") else LIST if node.func.id in _TAKE_LISTS else ""
        yield from ((item, kind) for item in node.args if kind)


def kind_of_form(node: ast.expr) -> str:
    """Return the kind that an expression's form alone implies."""
    if isinstance(node, ast.Constant):
        if isinstance(node.value, bool):
            return TRUTH
        return NUMBER if _is_number(node) else TEXT if isinstance(node.value, str) else UNKNOWN
    if isinstance(node, ast.Compare) or (isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not)):
        return TRUTH
    if isinstance(node, ast.UnaryOp):
        return NUMBER
    if isinstance(node, ast.List | ast.ListComp):
        return LIST
    if isinstance(node, ast.Lambda):
        return FUNCTION
    return TEXT if isinstance(node, ast.JoinedStr) else UNKNOWN


def _is_number(node: ast.expr) -> bool:
    value = node.value if isinstance(node, ast.Constant) else None
    return isinstance(value, int | float) and not isinstance(value, bool)


def _learn_arguments(arguments: ast.arguments, scope: Scope) -> None:
    """Infer a function's parameters from their annotations, else from their defaults."""
    given = [*arguments.posonlyargs, *arguments.args]
    defaults: list[ast.expr | None] = [None] * (len(given) - len(arguments.defaults)) + [*arguments.defaults]
    for item, default in zip([*given, *arguments.kwonlyargs], [*defaults, *arguments.kw_defaults], strict=True):
        kind = UNKNOWN if default is None else kind_of_form(default)
        if item.annotation is not None:
            kind = _BY_ANNOTATION.get(ast.unparse(item.annotation).partition("[")[0], kind)
        scope.learn(item.arg, kind, 0)
    for other, kind in ((arguments.vararg, LIST), (arguments.kwarg, UNKNOWN)):
        if other is not None:
            scope.learn(other.arg, kind, 0)


def _own_nodes(function: ast.AST) -> Iterator[ast.AST]:
    """Yield the nodes that see a function's names, including nested functions but not their content."""
    for child in ast.iter_child_nodes(function):
        yield child
        if not isinstance(child, SCOPES):
            yield from _own_nodes(child)
