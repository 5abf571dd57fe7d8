"""A program's text and syntax tree: marked blocks, outside of which every byte stays, and places that may change."""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import zip_longest

from ..interface import BrokenMarkers, DoesNotApply
from .kinds import SCOPES

START, END = "EVOLVE-BLOCK-START", "EVOLVE-BLOCK-END"
_MARKER = re.compile(r"#\W*(EVOLVE-BLOCK-(?:START|END))\b")
_LONE_RETURN = re.compile(r"\r(?!\n)")


@dataclass(frozen=True)
class EvolveBlocks:
    """A program's text as alternating fixed and changeable parts; marker lines are fixed."""

    fixed: tuple[str, ...]
    """One more than the number of blocks."""
    open: tuple[str, ...]

    @property
    def marked(self) -> bool:
        """Return whether there are markers; without them the whole text may change."""
        return bool(self.fixed[0])

    @cached_property
    def text(self) -> str:
        """Return the whole program."""
        return "".join(part for pair in zip_longest(self.fixed, self.open, fillvalue="") for part in pair)

    @cached_property
    def spans(self) -> tuple[tuple[int, int], ...]:
        """Return the span of each block in the text."""
        spans, position = [], 0
        for fixed, changing in zip(self.fixed, self.open, strict=False):
            position += len(fixed)
            spans.append((position, position + len(changing)))
            position += len(changing)
        return tuple(spans)

    def holds(self, start: int, end: int) -> bool:
        """Return whether one block contains the text from ``start`` to ``end``."""
        return any(low <= start and end <= high for low, high in self.spans)

    def with_open(self, changed: Sequence[str]) -> EvolveBlocks:
        """Return the program with other text in its blocks; a block ends at a line end."""
        line_end = newline_of(self.text)
        whole = [part if part.endswith("\n") or not part or not self.marked else part + line_end for part in changed]
        return EvolveBlocks(self.fixed, tuple(whole))


def read_blocks(text: str) -> EvolveBlocks:
    """Return the blocks of a Python program.

    A marker is a comment that starts with ``EVOLVE-BLOCK-START`` or ``EVOLVE-BLOCK-END``, alone on its line or after
    code; in a string it is text. Without markers the whole program is one block.

    Raises:
        BrokenMarkers: Markers are nested or unpaired, or the text cannot be tokenised.
    """
    if _LONE_RETURN.search(text):
        raise BrokenMarkers("The program has line ends that are a lone carriage return. Write \\n or \\r\\n.")
    if START not in text and END not in text:
        return EvolveBlocks(("", ""), (text,))
    lines = lines_of(text)
    fixed, changing = list[str](), list[str]()
    since, opened = 0, 0
    for number, marker in _markers(text):
        if marker == START:
            if opened:
                raise BrokenMarkers(f"Line {number}: {START} inside the block that starts on line {opened}.")
            fixed.append("".join(lines[since:number]))
            since, opened = number, number
        else:
            if not opened:
                raise BrokenMarkers(f"Line {number}: {END} without {START}.")
            changing.append("".join(lines[since : number - 1]))
            since, opened = number - 1, 0
    if opened:
        raise BrokenMarkers(f"Line {opened}: {START} without {END}.")
    if not changing:  # the words only occur in strings or in the middle of comments
        return EvolveBlocks(("", ""), (text,))
    return EvolveBlocks((*fixed, "".join(lines[since:])), tuple(changing))


def require_same_outside(given: EvolveBlocks, text: str) -> EvolveBlocks:
    """Return the blocks of ``text``, which may differ from ``given`` only inside of its blocks.

    Raises:
        DoesNotApply: Text outside of the blocks differs, or the markers do.
    """
    try:
        found = read_blocks(text)
    except BrokenMarkers as problem:
        raise DoesNotApply(f"The markers of the program were changed: {problem}") from None
    if not given.marked:
        if found.marked:
            raise DoesNotApply("The program has no EVOLVE-BLOCK markers; do not add any.")
        return found
    if len(found.open) != len(given.open) or not found.marked:
        count = len(found.open) if found.marked else 0
        raise DoesNotApply(
            f"The program has {len(given.open)} EVOLVE-BLOCKs, but the answer has {count}. Keep them all."
        )
    for before, after in zip(given.fixed, found.fixed, strict=True):
        if before != after:
            raise DoesNotApply(f"Text outside the EVOLVE-BLOCKs was changed{_first_difference(before, after)}.")
    return found


def newline_of(text: str) -> str:
    """Return the line end used in ``text``: that of its first line."""
    end = text.find("\n")
    return "\r\n" if end > 0 and text[end - 1] == "\r" else "\n"


def lines_of(text: str) -> list[str]:
    """Return the lines of ``text`` as Python counts them, unlike ``str.splitlines``."""
    return re.findall(r"[^\n]*\n|[^\n]+", text)


def _markers(text: str) -> Iterator[tuple[int, str]]:
    try:
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            marker = _MARKER.match(token.string) if token.type == tokenize.COMMENT else None
            if marker:
                yield token.start[0], marker[1]
    except (tokenize.TokenError, SyntaxError) as problem:  # IndentationError is one
        raise BrokenMarkers(f"The program cannot be split into comments and code: {problem.args[0]}.") from None


def _first_difference(before: str, after: str) -> str:
    """Return the first differing line."""
    for old, new in zip_longest(lines_of(before), lines_of(after), fillvalue=""):
        if old != new:
            return (
                f": {old.strip()!r:.80} became {new.strip()!r:.80}" if old.strip() != new.strip() else ": white space"
            )
    return ""


Suite = list[ast.stmt]
_WORD = re.compile(r"\w")
_ALONE = (ast.Name, ast.Call, ast.Attribute, ast.Subscript, ast.List, ast.Dict, ast.Set, ast.Tuple, ast.ListComp)
"""Expressions with the highest precedence, however they are written."""
_SUITES = ("body", "orelse", "finalbody")
_FIXED = (ast.JoinedStr, ast.pattern, ast.Import, ast.ImportFrom, ast.Global, ast.Nonlocal)
"""Nodes with wrong positions in the tree (3.11), or in which no expression may stand."""


@dataclass(frozen=True)
class ExpressionPlace:
    """An expression that may change."""

    node: ast.expr
    parent: ast.AST
    function: ast.AST
    """The function or comprehension whose names it sees, or the module."""


@dataclass(frozen=True)
class StatementPlace:
    """A statement on lines of its own that may change."""

    suite: Suite
    index: int
    function: ast.AST
    loop: bool
    """Whether it is in a loop."""

    @property
    def node(self) -> ast.stmt:
        """Return the statement."""
        return self.suite[self.index]


@dataclass
class Parsed:
    """A program's text and its syntax tree, whose positions are converted to offsets in the text."""

    blocks: EvolveBlocks
    tree: ast.Module
    text: str = field(init=False)

    def __post_init__(self) -> None:
        self.text = self.blocks.text
        self._lines = lines_of(self.text)
        self._starts = [0]
        for line in self._lines:
            self._starts.append(self._starts[-1] + len(line))

    @cached_property
    def places(self) -> list[ExpressionPlace]:
        """Return every replaceable expression within the blocks, outer ones first."""
        return list(self._expressions(self.tree, self.tree, self.tree))

    @cached_property
    def spots(self) -> list[StatementPlace]:
        """Return every statement within the blocks that is on lines of its own."""
        return list(self._statements(self.tree, self.tree, loop=False))

    @cached_property
    def size(self) -> int:
        """Return the number of statements and expressions within the blocks."""
        nodes = (node for node in ast.walk(self.tree) if isinstance(node, ast.stmt | ast.expr))
        return sum(1 for node in nodes if not self.blocks.marked or self.is_open(node))

    @cached_property
    def newline(self) -> str:
        """Return the line end."""
        return newline_of(self.text)

    @cached_property
    def step(self) -> str:
        """Return the text of one level of indentation."""
        for suite in (getattr(node, "body", None) for node in ast.walk(self.tree) if isinstance(node, ast.stmt)):
            if isinstance(suite, list) and suite:
                indent = self.indent(suite[0])
                if indent and not indent.strip():
                    return "\t" if indent[0] == "\t" else " " * min(len(indent), 8)
        return "    "

    @cached_property
    def long_strings(self) -> set[int]:
        """Return the lines that start within a string; indenting them would change their content."""
        found = set[int]()
        for token in tokenize.generate_tokens(io.StringIO(self.text).readline):
            if token.end[0] > token.start[0] and token.type not in (tokenize.NEWLINE, tokenize.NL):
                found.update(range(token.start[0] + 1, token.end[0] + 1))
        return found

    def offset(self, line: int, column: int) -> int:
        """Return the offset of a tree position, whose column counts bytes."""
        content = self._lines[line - 1] if line <= len(self._lines) else ""
        if not content.isascii():
            column = len(content.encode("utf-8")[:column].decode("utf-8"))
        return self._starts[line - 1] + column

    def span(self, node: ast.expr | ast.stmt) -> tuple[int, int]:
        """Return the span of ``node`` in the text, excluding decorators."""
        return (
            self.offset(node.lineno, node.col_offset),
            self.offset(node.end_lineno or node.lineno, node.end_col_offset or 0),
        )

    def lines(self, node: ast.stmt) -> tuple[int, int]:
        """Return the first and last line of a statement, including its decorators."""
        first = min([node.lineno, *(item.lineno for item in getattr(node, "decorator_list", ()))])
        return first, node.end_lineno or node.lineno

    def line_span(self, node: ast.stmt) -> tuple[int, int]:
        """Return the span of a statement's lines in the text."""
        first, last = self.lines(node)
        return self._starts[first - 1], self._starts[last]

    def indent(self, node: ast.stmt) -> str:
        """Return the text before a statement on its line."""
        return self._lines[node.lineno - 1][: self.offset(node.lineno, node.col_offset) - self._starts[node.lineno - 1]]

    def is_open(self, node: ast.expr | ast.stmt) -> bool:
        """Return whether a block contains ``node``."""
        return self.blocks.holds(*self.span(node))

    def source(self, node: ast.expr | ast.stmt) -> str:
        """Return the source of ``node``."""
        start, end = self.span(node)
        return self.text[start:end]

    def with_expression(self, node: ast.expr, new: ast.expr) -> str:
        """Return the text with ``node`` replaced by ``new``, in parentheses if they may be needed."""
        start, end = self.span(node)
        before, after = self.text[start - 1 : start], self.text[end : end + 1]
        written = ast.unparse(new)
        enclosed = before == "(" and after == ")" and not isinstance(node, ast.GeneratorExp)
        touching = _WORD.match(before) or _WORD.match(after)
        if touching or not (enclosed or isinstance(new, _ALONE) or _is_plain(new)):
            written = f"({written})"
        return self.text[:start] + written + self.text[end:]

    def statement_text(self, node: ast.stmt, indent: str) -> str | None:
        """Return the lines of a statement with the given indentation, or None if moving them changes their meaning."""
        start, end = self.line_span(node)
        text, given = self.text[start:end], self.indent(node)
        if given == indent:
            return text if text.endswith("\n") else text + self.newline
        moved = []
        for number, line in enumerate(lines_of(text), self.lines(node)[0]):
            if number in self.long_strings:
                return None
            if line.strip() and not line.startswith(given):
                return None  # a comment or a continued line further out
            moved.append(indent + line.removeprefix(given) if line.strip() else line)
        whole = "".join(moved)
        return whole if whole.endswith("\n") else whole + self.newline

    def written(self, node: ast.stmt, indent: str) -> str:
        """Return the lines of a new statement."""
        lines = ast.unparse(ast.fix_missing_locations(node)).split("\n")
        return "".join(indent + self._stepped(line) + self.newline for line in lines)

    def _stepped(self, line: str) -> str:
        """Convert a line's four-space indentation from ``ast.unparse`` to this program's."""
        depth = (len(line) - len(line.lstrip(" "))) // 4
        return self.step * depth + line[4 * depth :]

    def _expressions(self, node: ast.AST, function: ast.AST, around: ast.AST) -> Iterator[ExpressionPlace]:
        """Yield the replaceable expressions below ``node``, which is in ``function``; ``around`` is the parent."""
        inner, outer = (node, function) if isinstance(node, SCOPES) else (function, around)
        for name, value in ast.iter_fields(node):
            if name in ("annotation", "returns", "decorator_list", "bases"):
                continue
            for child in value if isinstance(value, list) else (value,):
                if not isinstance(child, ast.AST) or isinstance(child, _FIXED):
                    continue
                # the iterable of a comprehension does not see its names
                seen = outer if isinstance(node, ast.comprehension) and name == "iter" else inner
                if isinstance(child, ast.expr) and self._is_replaceable(child):
                    yield ExpressionPlace(child, node, seen)
                yield from self._expressions(child, seen, outer)

    def _is_replaceable(self, node: ast.expr) -> bool:
        if isinstance(node, ast.Starred | ast.Slice | ast.Await | ast.Yield | ast.YieldFrom | ast.NamedExpr):
            return False
        return isinstance(getattr(node, "ctx", None), ast.Load | None) and self.is_open(node)

    def _statements(self, node: ast.AST, function: ast.AST, *, loop: bool) -> Iterator[StatementPlace]:
        for suite in self._suites(node):
            for index, statement in enumerate(suite):
                if self._has_own_lines(statement):
                    yield StatementPlace(suite, index, function, loop)
                if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef):
                    yield from self._statements(statement, statement, loop=False)
                else:
                    inside = loop or isinstance(statement, ast.For | ast.While | ast.AsyncFor)
                    yield from self._statements(statement, function, loop=inside)

    @staticmethod
    def _suites(node: ast.AST) -> Iterator[Suite]:
        """Yield the suites of ``node``, including those of its handlers and cases."""
        for name in _SUITES:
            suite = getattr(node, name, None)
            if isinstance(suite, list) and suite and isinstance(suite[0], ast.stmt):
                yield suite
        for part in (*getattr(node, "handlers", ()), *getattr(node, "cases", ())):
            yield part.body

    def _has_own_lines(self, node: ast.stmt) -> bool:
        """Return whether the lines of a statement contain nothing else, and a block contains them."""
        start, end = self.line_span(node)
        if not self.blocks.holds(start, end) or self.indent(node).strip():
            return False
        rest = self.text[self.span(node)[1] : end].strip()
        return not rest or rest.startswith("#")


def _is_plain(node: ast.expr) -> bool:
    """Return whether ``node`` is a constant with the precedence of a name."""
    return isinstance(node, ast.Constant) and (
        node.value is None
        or isinstance(node.value, str | bytes | bool)
        or (isinstance(node.value, int | float) and str(node.value)[:1].isdigit() and "e" not in str(node.value))
    )
