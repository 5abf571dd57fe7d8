"""Program text that Python has to take."""

from __future__ import annotations

import ast
import warnings
from collections.abc import Callable
from contextlib import suppress
from typing import TypeVar

from .errors import DoesNotApply

Tree = TypeVar("Tree", bound=ast.AST)

_TRIES = 20
"""So often a tree is begun again that other threads had a part in."""


def undisturbed(parse: Callable[[], Tree]) -> Tree:
    """Return the syntax tree that ``parse`` makes, whatever other threads parse meanwhile."""
    for _ in range(_TRIES):
        with suppress(SystemError):  # CPython 3.11 counts the depth of all their trees in one place (gh-106905)
            return parse()
    return parse()


def require_python(text: str) -> ast.Module:
    """Return the syntax tree of ``text``, which compiles.

    Raises:
        DoesNotApply: It does not; the message names the line.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # what a program looks odd for is not said on its author's behalf
            tree = undisturbed(lambda: ast.parse(text))
            compile(text, "<program>", "exec", dont_inherit=True)  # a `return` outside of a function parses
    except SyntaxError as problem:
        line = (problem.text or "").strip()
        shown = f": {line!r:.80}" if line else ""
        raise DoesNotApply(f"The program does not parse: line {problem.lineno}, {problem.msg}{shown}.") from None
    except (ValueError, RecursionError, MemoryError) as problem:  # a null byte; nested too deeply
        raise DoesNotApply(f"The program does not parse: {problem or type(problem).__name__}.") from None
    return tree
