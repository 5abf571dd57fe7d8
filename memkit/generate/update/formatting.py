"""An owner's file as a merge should see it, and restoring the owner's style afterwards: formatting is no edit.

Mere differences of form are shown to the merge in the template's own style: line ends, a byte order mark, a last
line without an end, and in Python whatever a formatter may change. A merge then finds only intended changes, and what
it left alone gets its owner's style back.

Python is compared chunk by chunk. A chunk is one logical line (a simple statement, or the head of a compound one) with
the blank lines and comments before it. Two chunks with the same key are equivalent, however long their lines are,
whichever quotes they use and however wide one step of indentation is.
"""

from __future__ import annotations

import ast
import inspect
import io
import tokenize
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from tokenize import TokenInfo

_BOM = b"\xef\xbb\xbf"
_NO_CODE = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER}
_UNREADABLE = (SyntaxError, ValueError, RecursionError, MemoryError, tokenize.TokenError)


@dataclass(frozen=True)
class FormattedPiece:
    """Some lines of a file, in both styles."""

    shown: tuple[bytes, ...]
    """As the merge sees them; every line has an end."""
    own: bytes
    """As their owner wrote them."""


@dataclass(frozen=True)
class _Steps:
    """One step of indentation, in both styles."""

    shown: bytes
    own: bytes

    def own_of(self, line: bytes) -> bytes:
        """Return a line of the template's with its owner's indentation."""
        return _indented(line, self.shown, self.own)

    def shown_of(self, line: bytes) -> bytes:
        """Return a line of the owner's with the template's indentation."""
        return _indented(line, self.own, self.shown)


class Wording:
    """One file of the owner's beside the template's former render."""

    def __init__(self, own: bytes, base: bytes, *, python: bool) -> None:
        self._newline = b"\r\n" if 2 * own.count(b"\r\n") > own.count(b"\n") else b"\n"
        self._steps = _Steps(b" ", b" ")
        self._pieces = _lines(own, keep_ends=b"\r\n" in base)
        if python and (formatted := _statements(self._pieces, base)):
            self._pieces, self._steps = formatted

    @property
    def shown(self) -> bytes:
        """The file as the merge should see it."""
        return b"".join(line for piece in self._pieces for line in piece.shown)

    def restored(self, merged: bytes) -> bytes:
        """Return a merge result in its owner's style wherever the merge left the text alone."""
        shown = [line for piece in self._pieces for line in piece.shown]
        lines = _split(merged)
        place = _kept(shown, list(_comparable(lines)))
        parts: list[bytes] = []
        start = line = 0
        for piece in self._pieces:
            end = start + len(piece.shown)
            found = [place.get(number) for number in range(start, end)]
            first = found[0]
            if first is not None and found == list(range(first, first + len(found))):
                parts += [self._fitted(each) for each in lines[line:first]]
                parts.append(piece.own)
                line = first + len(found)
            start = end
        return self._whole(parts + [self._fitted(each) for each in lines[line:]])

    def _fitted(self, line: bytes) -> bytes:
        """Return a line that is not the owner's with their indentation and line end."""
        line = self._steps.own_of(line)
        return line[:-1] + self._newline if line.endswith(b"\n") and not line.endswith(b"\r\n") else line

    def _whole(self, parts: Sequence[bytes]) -> bytes:
        """Join parts; a former last line without an end gets one if something follows it."""
        return b"".join(
            part + self._newline if part and not part.endswith(b"\n") and number < len(parts) - 1 else part
            for number, part in enumerate(parts)
        )


def _lines(own: bytes, *, keep_ends: bool) -> list[FormattedPiece]:
    pieces = []
    for number, line in enumerate(_split(own)):
        text = line.removeprefix(_BOM) if number == 0 else line
        body = text.removesuffix(b"\n")
        pieces.append(FormattedPiece(((body if keep_ends else body.removesuffix(b"\r")) + b"\n",), line))
    return pieces


def _statements(pieces: Sequence[FormattedPiece], base: bytes) -> tuple[list[FormattedPiece], _Steps] | None:
    """Return the pieces, with each statement equivalent to the template's as one piece in the template's words.

    The others are shown as they are, at the template's indentation.
    """
    try:
        text, template = b"".join(piece.shown[0] for piece in pieces).decode(), base.decode()
    except UnicodeDecodeError:
        return None
    own, old = chunks_of(text), chunks_of(template)
    if own is None or old is None or text == template:
        return None
    lines = _split(base)
    steps = _Steps(indent_of(template).encode(), indent_of(text).encode())
    made: list[FormattedPiece] = []
    for mine, theirs in _pairs(own, old):
        part = pieces[mine.start : mine.end]
        if theirs is None:
            made += [FormattedPiece(tuple(map(steps.shown_of, piece.shown)), piece.own) for piece in part]
        else:
            said = tuple(line if line.endswith(b"\n") else line + b"\n" for line in lines[theirs.start : theirs.end])
            made.append(FormattedPiece(said, b"".join(piece.own for piece in part)))
    shown = b"".join(line for piece in made for line in piece.shown).decode()
    # Statements are compared one by one; the merge relies on the whole still having the same meaning.
    return (made, steps) if meaning_of(shown) == meaning_of(text) else None


def _indented(line: bytes, step: bytes, other: bytes) -> bytes:
    """Return a line with as many steps of another width, and the remainder as spaces."""
    if step == other:
        return line
    body = line.lstrip(b" \t")
    steps, rest = divmod(len(line) - len(body), len(step))
    return other * steps + b" " * rest + body


def _pairs(own: Sequence[Chunk], old: Sequence[Chunk]) -> Iterator[tuple[Chunk, Chunk | None]]:
    """Yield every chunk of the owner's with the template's equivalent one, in the same order."""
    matcher: SequenceMatcher[Hashable] = SequenceMatcher(
        None, [chunk.key for chunk in own], [chunk.key for chunk in old], autojunk=False
    )
    same = {
        block.a + number: block.b + number for block in matcher.get_matching_blocks() for number in range(block.size)
    }
    for number, chunk in enumerate(own):
        yield chunk, old[same[number]] if number in same else None


def _kept(shown: Sequence[bytes], merged: Sequence[Hashable]) -> dict[int, int]:
    matcher: SequenceMatcher[Hashable] = SequenceMatcher(None, shown, merged, autojunk=False)
    return {
        block.a + number: block.b + number for block in matcher.get_matching_blocks() for number in range(block.size)
    }


def _comparable(lines: Sequence[bytes]) -> Iterator[Hashable]:
    """Yield lines as they are, but the template's lines in a conflict as something unlike any line."""
    outside = True
    for number, line in enumerate(lines):
        if line.startswith((b"||||||| ", b"=======\n")) and _in_conflict(lines, number):
            outside = False
        yield line if outside else ("template", number)
        if line.startswith(b">>>>>>> "):
            outside = True


def _in_conflict(lines: Sequence[bytes], number: int) -> bool:
    """Return whether a line that looks like the middle of a conflict has a beginning above it."""
    for line in reversed(lines[:number]):
        if line.startswith(b"<<<<<<< "):
            return True
        if line.startswith(b">>>>>>> "):
            return False
    return False


def _split(content: bytes) -> list[bytes]:
    """Return the lines of ``content`` with their ends; only a line feed ends one."""
    lines = [line + b"\n" for line in content.split(b"\n")]
    last = lines.pop()[:-1]
    return [*lines, last] if last else lines


# --- Python, by meaning


@dataclass(frozen=True)
class Chunk:
    """One logical line of a file."""

    start: int
    end: int
    """The lines ``start:end`` of the file, counted from 0."""
    key: Hashable
    """Its meaning, independent of style."""


def chunks_of(text: str) -> list[Chunk] | None:
    """Return the chunks of a Python file in order, or None if it cannot be parsed as Python."""
    try:
        ast.parse(text)
        return list(_chunks(text))
    except _UNREADABLE:
        return None


def meaning_of(text: str) -> Hashable | None:
    """Return a whole file's meaning: its syntax tree and its comments; None if it cannot be parsed as Python."""
    try:
        comments = [token.string for token in _tokens(text) if token.type == tokenize.COMMENT]
        return _dumped(ast.parse(text)), tuple(map(_plain_comment, comments))
    except _UNREADABLE:
        return None


def indent_of(text: str) -> str:
    """Return one step of a Python file's indentation, four spaces if it has none."""
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
    """Return the syntax tree of a logical line as text, or its tokens if it has none by itself."""
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
    """Yield completions of a logical line to a whole program, likely ones first."""
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
    """Return a syntax tree as text, ignoring what formatters do to docstrings and string prefixes."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant):
            node.kind = None
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            lines = inspect.cleandoc(node.value.value).strip().split("\n")
            node.value.value = "\n".join(line.rstrip() for line in lines)
    return ast.dump(tree)
