"""A Python file as statements that can be compared for what they mean: formatting is no difference, comments are.

A chunk is one logical line (a simple statement, or the head of a compound one) with the blank lines and comments before
it. Two chunks with one key say the same, however long their lines are, whichever quotes they use and however deep one
step of indentation is.
"""

from __future__ import annotations

import ast
import inspect
import io
import tokenize
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from tokenize import TokenInfo

_NO_CODE = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER}
_UNREADABLE = (SyntaxError, ValueError, RecursionError, MemoryError, tokenize.TokenError)


@dataclass(frozen=True)
class Chunk:
    """One logical line of a file."""

    start: int
    end: int
    """The lines ``start:end`` of the file, counted from 0."""
    key: Hashable
    """What it says, without how it is written."""


def chunks_of(text: str) -> list[Chunk] | None:
    """Return the chunks of a Python file in their order, or None where it cannot be read as Python."""
    try:
        ast.parse(text)
        return list(_chunks(text))
    except _UNREADABLE:
        return None


def meaning_of(text: str) -> Hashable | None:
    """Return what a whole file says: its syntax tree and its comments; None where it cannot be read as Python."""
    try:
        comments = [token.string for token in _tokens(text) if token.type == tokenize.COMMENT]
        return _dumped(ast.parse(text)), tuple(map(_plain_comment, comments))
    except _UNREADABLE:
        return None


def indent_of(text: str) -> str:
    """Return one step of a Python file's indentation, four spaces where it has none."""
    return next((token.string for token in _tokens(text) if token.type == tokenize.INDENT), "    ")


def _chunks(text: str) -> Iterator[Chunk]:
    lines = text.split("\n")
    start, depth, taken = 0, 0, list[TokenInfo]()
    for token in _tokens(text):
        depth += (token.type == tokenize.INDENT) - (token.type == tokenize.DEDENT)
        taken.append(token)
        if token.type == tokenize.NEWLINE:
            yield Chunk(start, token.start[0], (depth, _said(taken, lines), *_comments(taken)))
            start, taken = token.start[0], []
    if start < len(lines) - (not lines[-1]):
        yield Chunk(start, len(lines) - (not lines[-1]), ("end", *_comments(taken)))


def _tokens(text: str) -> Iterator[TokenInfo]:
    return tokenize.generate_tokens(io.StringIO(text, newline="\n").readline)


def _said(tokens: Sequence[TokenInfo], lines: Sequence[str]) -> Hashable:
    """Return the syntax tree of a logical line as text, or its tokens where it is none by itself."""
    code = [token for token in tokens if token.type not in _NO_CODE]
    (first, left), (last, right) = code[0].start, code[-1].end
    spanned = [*lines[first - 1 : last - 1], lines[last - 1][:right]]
    text = "\n".join(spanned)[left:]
    for whole in _completed(text, code[0].string, code[-1].string):
        try:
            return _dumped(ast.parse(whole))
        except _UNREADABLE:
            continue
    return tuple(token.string for token in code)


def _completed(text: str, first: str, last: str) -> Iterator[str]:
    """Yield what makes a whole program of a logical line, likely ones first."""
    if first == "@":
        yield f"{text}\ndef _(): pass"
    if last == ":":
        if first == "elif":
            yield f"{text[2:]} pass"
        if first == "except":
            yield f"try:\n pass\n{text} pass"
        if first == "case":
            yield f"match _:\n {text} pass"
        yield f"{text} pass"
        yield f"{text}\n case _: pass"
    yield text


def _comments(tokens: Sequence[TokenInfo]) -> Iterator[str]:
    return (_plain_comment(token.string) for token in tokens if token.type == tokenize.COMMENT)


def _plain_comment(comment: str) -> str:
    return comment.lstrip("#").strip()


def _dumped(tree: ast.AST) -> str:
    """Return a syntax tree as text; what formatters do to a docstring and to prefixes of strings is no difference."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant):
            node.kind = None
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            lines = inspect.cleandoc(node.value.value).strip().split("\n")
            node.value.value = "\n".join(line.rstrip() for line in lines)
    return ast.dump(tree)
