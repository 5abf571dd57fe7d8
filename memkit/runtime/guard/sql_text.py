"""Parses SQL text into statements: comments, strings, quoted names, common table expressions, several statements.

Dialects disagree on comments and escapes. If two readings are possible the reader takes both, and it reports where
it cannot read on.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import islice, pairwise

from .checks import words_of

_MAX_TEXT = 200_000
_MAX_NESTED = 3
_MAX_INSIDE = 200
_MAX_TOKENS_INSIDE = 1000
_MAX_LOST_TAGS = 100

_OBJECTS = words_of(
    "table database schema index view materialized column role user function procedure trigger sequence type domain"
    " extension policy keyspace collection tablespace server publication subscription event login constraint"
    " aggregate cast collation operator owned foreign rule statistics system session package synonym"
)
_SURE = words_of("select insert truncate grant revoke merge pragma vacuum attach detach explain")
_VAGUE = words_of(
    "analyze begin call comment commit deallocate declare desc describe do end exec execute export flush handler"
    " import kill load lock optimize prepare purge refresh reindex release rename reset rollback savepoint set show"
    " sp_executesql start table unlock upsert use values if while shutdown backup restore waitfor raiserror throw"
    " checkpoint dbcc undrop cluster"
)
_ALSO_SHELL = words_of("set declare do exec export kill end shutdown backup restore")
"""SQL words that are also shell words: text that opens with one is not certainly SQL."""
_CONFIRMING: dict[str, frozenset[str] | None] = {
    **dict.fromkeys(_SURE),
    "delete": frozenset({"from"}),
    "update": frozenset({"set"}),
    "with": frozenset({"as"}),
    "replace": frozenset({"into"}),
    "copy": frozenset({"from", "to"}),
    "drop": _OBJECTS,
    "alter": _OBJECTS,
    "create": _OBJECTS,
    **dict.fromkeys(_VAGUE, frozenset()),
}
"""Opening words of a statement → words of which one must follow for unreadable text to count as SQL; ``None``: none."""

_MODIFIERS = words_of("or replace temporary temp unlogged global local unique external ignore low_priority quick")
_DATA_WORDS = frozenset({"select", "insert", "update", "delete", "merge", "replace", "truncate", "drop"})
_OPENERS = frozenset({"begin", "then", "else", "loop", "do", "as", "explain", "analyze", "verbose", "atomic"})
_TABLE_INTRODUCERS = words_of("from join straight_join apply into update table truncate using")
_LISTS_TABLES = words_of("from using join")
_ENDS_TABLES = words_of(
    "select where group order having limit union except intersect set values returning window fetch for offset"
)
"""Words after which a comma no longer stands between tables."""
_SKIPPED_BEFORE_TABLE = words_of(
    "if exists not only lateral ignore low_priority quick table or concurrently full verbose freeze"
)
_TABLE_COMES_FIRST = words_of("copy describe desc analyze vacuum lock cluster handler")
_SPEAKS_ON_TABLE = words_of("index trigger policy")
"""Objects created or dropped on a table."""
_AFTER_TABLES = words_of("where set on from join using select order group limit values")
_EXECUTORS = frozenset({"execute", "exec", "prepare", "do", "call", "create", "declare", "set"})

_RUNNERS = words_of(
    "execute exec immediate sp_executesql sp_prepexec dblink_exec dblink dblink_send_query query_to_xml openquery"
    " openrowset exec_ddl_statement"
)
"""Words that, anywhere in a statement, run a string as another statement."""
_KEEPS_DATA = words_of(
    "not default identity expression constraint foreign primary index key check unique policy trigger rule"
)
"""What ``ALTER … DROP …`` can remove from a table without losing data."""
_REPLACED = words_of("table database schema")
"""Objects whose data is lost when another is created in their place."""
_DESTROYING = words_of("lo_unlink lo_truncate pg_drop_replication_slot pg_file_unlink")

_TWO_WORDS = {
    "drop": _OBJECTS,
    "delete": frozenset({"from"}),
    "truncate": frozenset({"table"}),
    "insert": frozenset({"into"}),
    "merge": frozenset({"into"}),
}
"""Openings recognised inside another statement as well: some dialects need no semicolon between two."""
_SPEAKS_OF_OTHERS = frozenset({"alter", "grant", "revoke", "comment", "create"})
_CLIENT_LINE = re.compile(
    r"^[ \t]*(go|delimiter[ \t]+\S+|use[ \t]+\S+|[\\.!][^\n]*)[ \t]*$", re.IGNORECASE | re.MULTILINE
)
"""Lines that a database client handles itself."""
_MADE_STATEMENT = re.compile(
    r"\b(?:execute(?!\s+(?:on|function|procedure)\b)|immediate|sp_executesql|exec)\b[^;]{0,400}?"
    r"(?:\b(?:n?char?|n?chr|unhex|from_base64|decode|convert_from|reverse|translate|hextoraw)\s*\(|\b0x[0-9a-f]{6})",
    re.IGNORECASE,
)
"""Runs what functions make from numbers, codes or reversed text."""
_COMMENT_SIGN = re.compile(r"/\*|\*/")
_RUN_COMMENT = re.compile(r"/\*M?!")
"""Opens a comment that one dialect runs and the others skip."""
_NESTED_COMMENT = re.compile(r"/\*(?:[^*/]|\*(?!/)|/(?!\*))*+/\*")

_TOKEN = re.compile(
    r"(?P<space>\s+)"
    r"|(?P<line>--|\#)"
    r"|(?P<block>/\*)"
    r"|(?P<string>[eE]?'|[nNbBxX]')"
    r'|(?P<name>"|`|\[[^\]\[\'"]*\])'
    r"|(?P<dollar>\$(?:[A-Za-z_]\w*)?\$)"
    r"|(?P<word>[^\W\d][\w$]*)"
    r"|(?P<other>.)",
    re.DOTALL,
)


@dataclass(frozen=True)
class SqlStatement:
    """One SQL statement."""

    words: tuple[str, ...]
    """Its first words in lower case: ``drop``, ``table``, …"""
    tables: frozenset[str]
    """The tables it names, in lower case, with their schema if given."""

    def opens_with(self, words: tuple[str, ...]) -> bool:
        """Return whether it opens with these words, skipping ``or replace``, ``temporary`` and the like."""
        plain = (*self.words[:1], *(word for word in self.words[1:] if word not in _MODIFIERS))
        return words in (self.words[: len(words)], plain[: len(words)])


@dataclass(frozen=True)
class SqlView:
    """Every statement of a text."""

    statements: tuple[SqlStatement, ...]
    doubts: tuple[str, ...]
    pure: bool
    """Whether every statement opens with a word of SQL."""

    def lasting(self) -> Iterator[SqlStatement]:
        """Yield the statements except those that only drop what earlier ones made for the session."""
        made: set[str] = set()
        for statement in self.statements:
            if statement.words[:1] == ("create",) and not {"temp", "temporary"}.isdisjoint(statement.words[1:3]):
                made |= statement.tables
            elif not (statement.words[:2] == ("drop", "table") and statement.tables and statement.tables <= made):
                yield statement

    def joined(self, other: SqlView) -> SqlView:
        """Return this view extended by the statements of another reading."""
        return SqlView((*self.statements, *other.statements), self.doubts, self.pure)


@dataclass(frozen=True)
class Token:
    """A word, a quoted name, a string or a sign."""

    kind: str
    text: str


@dataclass
class Tokens:
    """The tokens of one reading."""

    items: list[Token] = field(default_factory=list)
    doubts: list[str] = field(default_factory=list)
    more: list[str] = field(default_factory=list)
    """Text that another dialect would run."""
    lost_tags: int = 0
    """The number of unterminated dollar quotes; each costs a search through the rest of the text."""


@lru_cache(maxsize=64)
def read_sql(text: str) -> SqlView:
    """Return every statement that some dialect would find in the text."""
    if len(text) > _MAX_TEXT:
        return SqlView((), ("more than the SQL view reads",) if _opens_with_sql(text[:1000]) else (), False)
    view = _read(text.replace("\ufeff", " "), 0)
    if _MADE_STATEMENT.search(text):
        return SqlView(view.statements, (*view.doubts, "a statement that is made while it runs"), view.pure)
    return view


def reads_as_sql(text: str) -> bool:
    """Return whether a text is SQL from its first statement to its last."""
    return read_sql(text).pure


def _opens_with_sql(text: str) -> bool:
    tokens = tokenize(text, backslash=False).items
    return any(_confirmed(part) for part in _split(tokens)[:1])


def _read(text: str, depth: int) -> SqlView:
    rules = (False, True) if "\\'" in text or '\\"' in text else (False,)
    readings = [_reading(tokenize(text, backslash=escape), depth) for escape in rules]
    for other in _other_readings(text) if depth < _MAX_NESTED else ():
        readings[0] = readings[0].joined(_read(other, _MAX_NESTED))
    clean = [view for view in readings if not view.doubts]
    statements = tuple(dict.fromkeys(statement for view in readings for statement in view.statements))
    return SqlView(statements, () if clean else readings[0].doubts, all(view.pure for view in readings))


def _other_readings(text: str) -> Iterator[str]:
    """Yield the text as other dialects and clients read it."""
    if _CLIENT_LINE.search(text):
        yield _CLIENT_LINE.sub(";", text)
    if _RUN_COMMENT.search(text):
        yield _RUN_COMMENT.sub("/* ", text)
    if _NESTED_COMMENT.search(text):
        yield _without_nested_comments(text)


def _without_nested_comments(text: str) -> str:
    kept, level, start = [], 0, 0
    for found in _COMMENT_SIGN.finditer(text):
        if found.group() == "/*":
            kept += [text[start : found.start()], " "] if not level else []
            level += 1
        elif level:
            level -= 1
            start = found.end()
    return "".join(kept) + ("" if level else text[start:])


def _reading(tokens: Tokens, depth: int) -> SqlView:
    parts = [part for part in _split(tokens.items) if part]
    if sum(_opens_inside(part, index) for part in parts for index in range(1, len(part))) > _MAX_INSIDE:
        tokens.doubts.append("too many statements inside others")
    statements = [statement for part in parts for statement in _statements(part, depth)]
    if tokens.more and depth >= _MAX_NESTED:
        tokens.doubts.append("comments or quotes nested too deeply")
    for text in tokens.more if depth < _MAX_NESTED else ():
        statements += _read(text, depth + 1).statements
    doubts = tuple(tokens.doubts) if any(_confirmed(part) for part in parts) else ()
    pure = bool(parts) and all(_is_word(part[0], _CONFIRMING) and part[0].text not in _ALSO_SHELL for part in parts)
    return SqlView(tuple(statements), doubts, pure)


def _is_word(token: Token, words: frozenset[str] | dict[str, frozenset[str] | None]) -> bool:
    return token.kind == "word" and token.text in words


def _confirmed(part: list[Token]) -> bool:
    """Return whether a statement is certainly SQL, rather than prose that opens with a word of SQL."""
    if not part or not _is_word(part[0], _CONFIRMING):
        return False
    following = _CONFIRMING[part[0].text]
    return following is None or any(_is_word(token, following) for token in part[1:])


# Tokens


def tokenize(text: str, *, backslash: bool) -> Tokens:
    """Return the tokens of SQL text; ``backslash`` tells whether it escapes a quote in an ordinary string."""
    tokens = Tokens()
    position = 0
    while position < len(text):
        found = _TOKEN.match(text, position)
        assert found is not None  # the last alternative matches any character
        kind = found.lastgroup or "other"
        if kind in _READERS:
            position = _READERS[kind](tokens, text, found, backslash)
            continue
        if kind != "space":
            tokens.items.append(Token(kind, found.group().lower()))
        position = found.end()
    return tokens


def _line_comment(tokens: Tokens, text: str, found: re.Match[str], _: bool) -> int:
    stop = text.find("\n", found.end())
    stop = len(text) if stop < 0 else stop
    comment = text[found.end() : stop]
    opens = not tokens.items or tokens.items[-1].text == ";"
    ambiguous = found.group() == "#" or comment[:1].strip()  # an operator, or two minus signs, in another dialect
    if ambiguous and not opens:
        tokens.more.append(comment.partition(";")[2])
    if "\r" in comment:  # ends the line in another dialect
        tokens.more.append(comment.partition("\r")[2])
    return stop


def _block_comment(tokens: Tokens, text: str, found: re.Match[str], _: bool) -> int:
    stop = text.find("*/", found.end())
    if stop < 0:
        tokens.doubts.append("an unclosed comment")
        stop = len(text)
    comment = text[found.end() : stop]
    if "/*" in comment:
        tokens.doubts.append("a comment inside a comment")
    if comment.startswith(("!", "M!")):  # a comment that one dialect runs
        tokens.items += tokenize(re.sub(r"^M?!\d*", "", comment), backslash=False).items
    return stop + 2


def _string(tokens: Tokens, text: str, found: re.Match[str], backslash: bool) -> int:
    escapes = backslash or found.group() in ("e'", "E'")
    return _quoted(tokens, text, found.end(), "'", "string", escapes)


def _name(tokens: Tokens, text: str, found: re.Match[str], backslash: bool) -> int:
    mark = found.group()
    if mark.startswith("["):
        tokens.items.append(Token("name", mark[1:-1].lower()))
        return found.end()
    return _quoted(tokens, text, found.end(), mark, "name", backslash and mark == '"')


def _quoted(tokens: Tokens, text: str, start: int, mark: str, kind: str, escapes: bool) -> int:
    position = start
    while position < len(text):
        char = text[position]
        doubled = char == mark and text[position + 1 : position + 2] == mark
        if doubled or (char == "\\" and escapes):
            position += 2
        elif char == mark:
            tokens.items.append(Token(kind, text[start:position].replace(mark * 2, mark).lower()))
            return position + 1
        else:
            position += 1
    tokens.doubts.append("an unclosed quote")
    return len(text)


def _dollar(tokens: Tokens, text: str, found: re.Match[str], _: bool) -> int:
    stop = text.find(found.group(), found.end()) if tokens.lost_tags < _MAX_LOST_TAGS else -1
    if stop < 0:
        tokens.lost_tags += 1
        if tokens.lost_tags == _MAX_LOST_TAGS:
            tokens.doubts.append("too many dollar quotes without an end")
        tokens.items.append(Token("other", found.group()))
        return found.end()
    tokens.items.append(Token("string", text[found.end() : stop].lower()))
    if ";" in text[found.end() : stop]:  # no quote in another dialect, whose client continues after the semicolon
        tokens.more.append(text[found.end() : stop].partition(";")[2])
    return stop + len(found.group())


_READERS = {"line": _line_comment, "block": _block_comment, "string": _string, "name": _name, "dollar": _dollar}


# Statements


def _split(items: list[Token]) -> list[list[Token]]:
    parts: list[list[Token]] = [[]]
    for token in items:
        if token.kind == "other" and token.text == ";":
            parts.append([])
        else:
            parts[-1].append(token)
    return parts


def _statements(part: list[Token], depth: int) -> Iterator[SqlStatement]:
    start = next((i for i, token in enumerate(part) if token.text not in ("(", "{")), 0)
    if _is_word(part[start], _CONFIRMING):
        yield _statement(part[start:])
        yield from _inside(part[start:])
        yield from _also(part[start:])
        runs = part[start].text in _EXECUTORS or any(_is_word(token, _RUNNERS) for token in part)
        for text in _strings(part[start:]) if runs and depth < _MAX_NESTED else ():
            yield from _read(text, depth + 1).statements


def _strings(part: list[Token]) -> Iterator[str]:
    """Yield the strings of a statement, and the results of concatenating several."""
    together: list[str] = []
    for index, token in enumerate(part):
        if token.kind == "string":
            yield token.text
            joins = index > 1 and part[index - 1].text in ("|", "+") and bool(together)
            together = [*together, token.text] if joins else [token.text]
            if len(together) > 1:
                yield "".join(together)


def _also(part: list[Token]) -> Iterator[SqlStatement]:
    """Yield what a statement does besides its opening words."""
    words = [token.text if token.kind == "word" else "" for token in part[:_MAX_TOKENS_INSIDE]]
    tables = frozenset(_tables(part)) if words[0] in ("alter", "copy") else frozenset[str]()
    if words[0] == "alter":
        for word, following in pairwise(words):
            if (word in ("drop", "truncate") and following not in _KEEPS_DATA) or (word, following) == (
                "delete",
                "where",
            ):
                yield SqlStatement((word, following), tables)
    elif words[0] == "copy" and "program" in words:
        yield SqlStatement(("copy", "program"), tables)
    elif words[:3] == ["create", "or", "replace"] and _REPLACED.intersection(words[3:5]):
        yield SqlStatement(("drop", "table"), frozenset(_tables(part)))
    if not _DESTROYING.isdisjoint(words):
        yield SqlStatement(("delete",), frozenset())


def _inside(part: list[Token]) -> Iterator[SqlStatement]:
    """Yield statements in brackets, after a list of common table expressions, and in bodies of procedures."""
    starts = (index for index in range(1, len(part)) if _opens_inside(part, index))
    for index in islice(starts, _MAX_INSIDE):
        yield _statement(part[index : index + _MAX_TOKENS_INSIDE])


def _opens_inside(part: list[Token], index: int) -> bool:
    """Return whether a statement starts inside another: in brackets, in a body, after common table expressions."""
    if part[0].text == "explain" and not any(token.text in ("analyze", "analyse") for token in part[1:index]):
        return False  # a plan is only shown, nothing runs
    before = part[index - 1]
    opened = before.text == "(" or _is_word(before, _OPENERS)
    opened = opened or (before.text == ")" and part[0].text in ("with", "explain"))
    if opened and _is_word(part[index], _DATA_WORDS) and not _is_bare_name(part, index):
        return True
    return part[0].text not in _SPEAKS_OF_OTHERS and _opens_with_two_words(part, index)


def _opens_with_two_words(part: list[Token], index: int) -> bool:
    following = _TWO_WORDS.get(part[index].text) if part[index].kind == "word" else None
    return following is not None and index + 1 < len(part) and _is_word(part[index + 1], following)


def _is_bare_name(part: list[Token], index: int) -> bool:
    """Return whether a word of SQL is only a column's name: nothing but a sign follows it."""
    following = part[index + 1].text if index + 1 < len(part) else ""
    return following in (",", ")", "=", ".")


def _statement(part: list[Token]) -> SqlStatement:
    words = []
    for token in part[:6]:
        if token.kind != "word":
            break
        words.append(token.text)
    return SqlStatement(tuple(words), frozenset(_tables(part)))


def _tables(part: list[Token]) -> Iterator[str]:
    by_opening = _place_by_opening(part)
    lists = [False]  # of each open bracket, whether it is in a list of tables
    expected, read = False, 0  # whether a table may stand here, and up to where names were read
    for index, token in enumerate(part):
        introduces = _is_word(token, _TABLE_INTRODUCERS) or (
            index == 0 and _is_word(token, frozenset({"delete", "insert", "merge", "replace"}))
        )
        if token.text == "(" and token.kind == "other":
            lists.append(expected)
            introduces = expected
        elif token.text == ")" and len(lists) > 1:
            lists.pop()
        elif _is_word(token, _ENDS_TABLES):
            lists[-1] = False
        lists[-1] = lists[-1] or _is_word(token, _LISTS_TABLES)
        expected = introduces or (token.text == "," and lists[-1] and index >= read)
        if expected or index == by_opening:
            names, read = _names(part, index + 1)
            yield from names


def _place_by_opening(part: list[Token]) -> int | None:
    """Return the word before the table if only the opening tells, as in ``copy t`` and ``grant … on t``."""
    opening = part[0].text
    if opening in _TABLE_COMES_FIRST:
        return 0
    if opening in ("grant", "revoke"):
        words = frozenset({"on"})
    elif opening in ("create", "drop", "alter", "comment"):
        on_table = any(_is_word(token, _SPEAKS_ON_TABLE) for token in part[1:5])
        words = frozenset({"on"} if on_table else {"view"} if opening != "create" else ())
    else:
        return None
    return next((index for index, token in enumerate(part) if _is_word(token, words)), None)


def _names(part: list[Token], index: int) -> tuple[list[str], int]:
    """Return the dotted names of a comma-separated list that starts here, and where it ends."""
    names: list[str] = []
    while index < len(part) and _is_word(part[index], _SKIPPED_BEFORE_TABLE):
        index += 1
    while index < len(part) and part[index].kind in ("word", "name") and not _is_word(part[index], _DATA_WORDS):
        name = part[index].text
        while (dots := _dots(part, index + 1)) and part[index + 1 + dots].kind in ("word", "name"):
            name += f".{part[index + 1 + dots].text}"
            index += 1 + dots
        names.append(name)
        index = _after_alias(part, index + 1)
        if index >= len(part) or part[index].text != ",":
            break
        index += 1
    return names, index


def _dots(part: list[Token], index: int) -> int:
    """Return how many dots stand here before a word; two leave out the schema between them."""
    dots = 0
    while dots < 2 and index + dots < len(part) and part[index + dots].text == ".":
        dots += 1
    return dots if index + dots < len(part) else 0


def _after_alias(part: list[Token], index: int) -> int:
    """Return the position after ``AS name`` or ``name``, if there is an alias."""
    for _ in range(2):
        if index < len(part) and part[index].kind in ("word", "name") and part[index].text not in _AFTER_TABLES:
            index += 1
    return index
