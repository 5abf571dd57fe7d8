"""Read program text, once each."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from functools import cached_property

from ..blocks import Blocks, require_same_outside
from ..errors import DoesNotApply
from ..syntax import require_python
from .kinds import Kinds
from .parsed import Parsed

_BRANCHES = (ast.If, ast.For, ast.While, ast.Try, ast.Match, ast.IfExp, ast.BoolOp, ast.ListComp, ast.GeneratorExp)


@dataclass(frozen=True)
class Source:
    """A program as text: what is varied, selected and judged."""

    text: str


@dataclass
class Read:
    """What is known of one program."""

    parsed: Parsed
    kinds: Kinds

    @cached_property
    def behaviour(self) -> str:
        """Return the program without comments, layout and docstrings: programs that are equal so do the same."""
        return ast.dump(_without_docstrings(self.parsed.tree))

    @cached_property
    def branches(self) -> int:
        """Return how many decisions and loops the blocks hold."""
        nodes = (node for node in ast.walk(self.parsed.tree) if isinstance(node, _BRANCHES))
        return sum(1 for node in nodes if self.parsed.is_open(node))


class Library:
    """Programs that were read already, the latest of them."""

    def __init__(self, blocks: Blocks, most: int = 4096) -> None:
        self._blocks = blocks
        self._most = most
        self._read: dict[str, Read | None] = {}

    def read(self, text: str) -> Read | None:
        """Return what is known of ``text``; None if it is no program, or differs outside of the blocks."""
        if text not in self._read:
            if len(self._read) >= self._most:
                del self._read[next(iter(self._read))]
            self._read[text] = self._reading(text)
        return self._read[text]

    def _reading(self, text: str) -> Read | None:
        try:
            tree = require_python(text)
            return Read(Parsed(require_same_outside(self._blocks, text), tree), Kinds(tree))
        except DoesNotApply:
            return None


def _without_docstrings(tree: ast.Module) -> ast.Module:
    """Return ``tree`` with the docstrings taken out; of a body that was nothing else, ``pass`` is left."""
    holders = (ast.Module, ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
    described = [node for node in ast.walk(tree) if isinstance(node, holders) and _has_docstring(node.body)]
    if not described:
        return tree
    kept = ast.parse(ast.unparse(tree))
    for node in ast.walk(kept):
        if isinstance(node, holders) and _has_docstring(node.body):
            node.body = node.body[1:] or [ast.Pass()]
    return kept


def _has_docstring(body: list[ast.stmt]) -> bool:
    first = body[0] if body else None
    return isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant) and isinstance(first.value.value, str)
