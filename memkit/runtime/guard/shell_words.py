"""Shell words: quotes, escapes, the expansions and substitutions inside a word, and the values of variables."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

from .checks import words_of

BLANK = " \t\r\f\v"
STRAY_BLANK = "\r\f\v"
"""Characters that some shells read as a blank and others as a letter."""
BREAKS = BLANK + "\n;&|<>()"
CONTINUATION = "\\\n"
ASSIGNED = re.compile(r"[A-Za-z_][A-Za-z0-9_]*(\[[^\]]*\])?\+?=")

SYNTAX = "syntax"
RUN_TIME = "run time"


class ShellDoubt(NamedTuple):
    """Something the reader could not follow."""

    kind: str
    """``syntax`` if a shell would refuse the text too, ``run time`` if the shell makes it while running."""
    message: str


class ShellWord(NamedTuple):
    """One word with its quotes removed; parts that only the running shell knows keep their spelling."""

    text: str
    fixed: int
    """How many leading characters are certain."""
    globbed: bool = False
    """Whether the uncertain part is file names matched by a wildcard."""
    bare: bool = False
    """Whether the word was written without quotes, so that it can be a reserved word."""
    quoted: bool = False
    """Whether it begins with a double quote, so that the value of a variable in it is not split into words."""

    @property
    def certain(self) -> bool:
        """Return whether the whole word is known before the shell runs."""
        return self.fixed >= len(self.text)


@dataclass
class Simple:
    """A simple command as written: words, inputs, and what is piped into it."""

    words: list[ShellWord] = field(default_factory=list)
    inputs: list[ShellWord] = field(default_factory=list)
    """Here-documents and here-strings."""
    writes: list[ShellWord] = field(default_factory=list)
    """Files that a redirection overwrites."""
    appends: list[ShellWord] = field(default_factory=list)
    """Files that a redirection appends to."""
    reads: bool = False
    """Whether a redirection gives it a file, or another descriptor, to read."""
    read_from: list[ShellWord] = field(default_factory=list)
    """Files that a redirection gives it to read."""
    closed: bool = False
    """Whether a group or a branch ended before it, whose output its redirections take."""
    piped: bool = False
    begun: bool = False
    """Whether an empty expansion precedes the first word, which is then not a reserved word."""
    feeder: Simple | None = None
    """The command whose output is piped in, if it is a simple one."""


def literal(text: str) -> ShellWord:
    """Return a word that is certain."""
    return ShellWord(text, len(text))


@dataclass
class Spelling:
    """A word under construction."""

    text: str = ""
    fixed: int | None = None
    globbed: bool = False

    def unsure(self, text: str, *, globbed: bool = False) -> None:
        """Add a part that only the running shell knows, in its original spelling."""
        if self.fixed is None:
            self.fixed, self.globbed = len(self.text), globbed
        elif not globbed:
            self.globbed = False
        self.text += text

    def word(self, *, bare: bool) -> ShellWord:
        """Return the finished word."""
        fixed = len(self.text) if self.fixed is None else self.fixed
        return ShellWord(self.text, fixed, self.globbed, bare)


class Cursor(Protocol):
    """A position in shell text, with what was found so far."""

    text: str
    position: int
    glued: int
    """A position separated from what precedes it only by an expansion, so that no comment starts there."""
    commands: list[Simple]
    doubts: list[ShellDoubt]

    def read_list(self, closing: str) -> None:
        """Read the commands of a substitution up to ``closing``."""

    def read_inside(self, text: str) -> None:
        """Read the commands of text nested in this one."""


_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*|[0-9]|[@*#?$!-]")
_SPLITTER = re.compile(r"\$(IFS(?![A-Za-z0-9_])|\{IFS[^}]*\})")
_BRACES = re.compile(r"\{[^\s{}]*(,|\.\.)")
_ANSI = re.compile(
    r"\\(x\{[0-9a-fA-F]{1,8}\}?|x[0-9a-fA-F]{1,2}|u[0-9a-fA-F]{1,4}|U[0-9a-fA-F]{1,8}|[0-7]{1,3}|c.|.)", re.DOTALL
)
_ANSI_LETTERS = {"n": "\n", "t": "\t", "r": "\r", "a": "\a", "b": "\b", "e": "\x1b", "E": "\x1b", "f": "\f", "v": "\v"}
_BACKTICKS = re.compile(r"`((?:[^`\\]|\\.)*)`", re.DOTALL)
_ANSI_QUOTED = re.compile(r"\$'((?:[^'\\]|\\.)*)'", re.DOTALL)
_SET = re.compile(r"\[[^\s\]]{1,64}\]")
_QUOTED = re.compile(r"'[^']*'|\"(?:[^\"\\]|\\.)*\"|\\.", re.DOTALL)
_ROUND = re.compile(r"[()]")
_MAX_ARITHMETIC = 1000


def read_word(cursor: Cursor) -> ShellWord | None:
    """Read one word; ``None`` if there was only a blank made by ``$IFS``."""
    spelling, start = Spelling(), cursor.position
    while (char := _peek(cursor)) and (char not in BREAKS or _opens_process(cursor, char)):
        if found := _SPLITTER.match(cursor.text, cursor.position):
            cursor.position = cursor.glued = found.end()
            if ASSIGNED.match(spelling.text):  # a variable is set without splitting words
                cursor.doubts.append(ShellDoubt(RUN_TIME, "a blank made by $IFS in what may set a variable"))
            return spelling.word(bare=False) if found.start() > start else None
        _spell(cursor, spelling, char)
    if cursor.position == start:
        cursor.position += 1  # always advance
        return None
    source = cursor.text[start : cursor.position].replace(CONTINUATION, "")
    word = spelling.word(bare=source == spelling.text and spelling.fixed is None)
    return word._replace(quoted=source.startswith('"'))


def _opens_process(cursor: Cursor, char: str) -> bool:
    return char in "<>" and cursor.text.startswith("(", cursor.position + 1)


def _spell(cursor: Cursor, spelling: Spelling, char: str) -> None:
    """Read one character, quotation or expansion outside quotes."""
    if char == "\\":
        _backslash(cursor, spelling)
    elif char == "'":
        _single_quotes(cursor, spelling)
    elif char == '"':
        _double_quotes(cursor, spelling)
    elif char in "$`":
        _expansion(cursor, spelling)
    elif char in "<>":
        _substitution(cursor, spelling, 2)
    elif _expands(cursor, char):
        cursor.position += 1
        spelling.unsure(char, globbed=char != "{")
    else:
        cursor.position += 1
        spelling.text += char


def _backslash(cursor: Cursor, spelling: Spelling) -> None:
    """Read an escaped character; an escaped line end yields nothing."""
    escaped = cursor.text[cursor.position + 1 : cursor.position + 2]
    spelling.text += "" if escaped == "\n" else escaped
    cursor.position += 2


def _expands(cursor: Cursor, char: str) -> bool:
    """Return whether a wildcard, a set or a brace list starts here."""
    if char == "[":
        return _SET.match(cursor.text, cursor.position) is not None
    return char in "*?" or (char == "{" and _BRACES.match(cursor.text, cursor.position) is not None)


def _single_quotes(cursor: Cursor, spelling: Spelling) -> None:
    end = cursor.text.find("'", cursor.position + 1)
    if end < 0:
        cursor.doubts.append(ShellDoubt(SYNTAX, "an unclosed quote"))
        end = len(cursor.text)
    spelling.text += cursor.text[cursor.position + 1 : end]
    cursor.position = end + 1


def _double_quotes(cursor: Cursor, spelling: Spelling) -> None:
    cursor.position += 1
    while (char := _peek(cursor)) != '"':
        if not char:
            cursor.doubts.append(ShellDoubt(SYNTAX, "an unclosed quote"))
            return
        _spell_inside_quotes(cursor, spelling)
    cursor.position += 1


def _spell_inside_quotes(cursor: Cursor, spelling: Spelling) -> None:
    char = _peek(cursor)
    following = cursor.text[cursor.position + 1 : cursor.position + 2]
    if char == "\\" and following and following in '$`"\\\n':
        _backslash(cursor, spelling)
    elif char == "$" and following == "{":
        _braced(cursor, spelling, quoted=True)
    elif char == "`" or (char == "$" and following not in ("'", '"')):
        _expansion(cursor, spelling)
    else:
        cursor.position += 1
        spelling.text += char


def _expansion(cursor: Cursor, spelling: Spelling) -> None:
    """Read what starts with ``$`` or a backtick."""
    if _peek(cursor) == "`":
        _backticks(cursor, spelling)
    elif cursor.text.startswith("$'", cursor.position):
        _ansi_quotes(cursor, spelling)
    elif cursor.text.startswith('$"', cursor.position):
        cursor.position += 1
    elif cursor.text.startswith("$((", cursor.position):
        start = cursor.position
        cursor.position += 1
        read_double_bracket(cursor)
        spelling.unsure(cursor.text[start : cursor.position])
    elif cursor.text.startswith("$(", cursor.position):
        _substitution(cursor, spelling, 2)
    elif cursor.text.startswith("$[", cursor.position):
        _square_brackets(cursor, spelling)
    elif cursor.text.startswith("${", cursor.position):
        _braced(cursor, spelling)
    elif name := _NAME.match(cursor.text, cursor.position + 1):
        cursor.position = name.end()
        spelling.unsure(f"${name.group()}")
    else:
        cursor.position += 1
        spelling.text += "$"


def _substitution(cursor: Cursor, spelling: Spelling, opening: int) -> None:
    start = cursor.position
    cursor.position += opening
    cursor.read_list(")")
    spelling.unsure(cursor.text[start : cursor.position])


def _backticks(cursor: Cursor, spelling: Spelling) -> None:
    found = _BACKTICKS.match(cursor.text, cursor.position)
    if found is None:
        cursor.doubts.append(ShellDoubt(SYNTAX, "an unclosed backtick"))
    inside = found.group(1) if found else cursor.text[cursor.position + 1 :]
    cursor.read_inside(re.sub(r"\\([`$\\])", r"\1", inside))
    spelling.unsure(f"`{inside}`")
    cursor.position = found.end() if found else len(cursor.text)


def _braced(cursor: Cursor, spelling: Spelling, *, quoted: bool = False) -> None:
    """Read ``${…}``; a default value in it may contain substitutions."""
    start = cursor.position
    cursor.position += 2
    while (char := _peek(cursor)) != "}":
        if not char:
            cursor.doubts.append(ShellDoubt(SYNTAX, "no closing }"))
            break
        if quoted and char == "'":  # a quote or a plain character, depending on the operator before it
            cursor.doubts.append(ShellDoubt(RUN_TIME, "a quote inside a quoted expansion"))
            cursor.position += 1
        elif char in "'\"`$\\":
            _spell(cursor, Spelling(), char)
        else:
            cursor.position += 1
    cursor.position += 1
    spelling.unsure(cursor.text[start : cursor.position])


def _square_brackets(cursor: Cursor, spelling: Spelling) -> None:
    """Read ``$[…]``: arithmetic in some shells, and plain text with all its signs in others."""
    start, level = cursor.position, 0
    cursor.position += 1
    while char := _peek(cursor):
        if char in "`$\\":
            _spell(cursor, Spelling(), char)
            continue
        cursor.position += 1
        level += (char == "[") - (char == "]")
        if not level:
            break
    else:
        cursor.doubts.append(ShellDoubt(SYNTAX, "no closing ]"))
    inside = cursor.text[start : cursor.position]
    if any(sign in inside for sign in "\n;&|<>'\""):
        cursor.doubts.append(ShellDoubt(RUN_TIME, "square brackets that can be read in two ways"))
    spelling.unsure(inside)


def _ansi_quotes(cursor: Cursor, spelling: Spelling) -> None:
    found = _ANSI_QUOTED.match(cursor.text, cursor.position)
    if found is None:
        cursor.doubts.append(ShellDoubt(SYNTAX, "an unclosed quote"))
        cursor.position = len(cursor.text)
        return
    spelling.text += _ANSI.sub(_ansi_character, found.group(1))
    cursor.position = found.end()


def skip_brackets(cursor: Cursor) -> str:
    """Read to the closing bracket, entering substitutions; return the text in between."""
    start, level = cursor.position, 0
    while char := _peek(cursor):
        if char in "()":
            level += 1 if char == "(" else -1
            cursor.position += 1
            if not level:
                return cursor.text[start : cursor.position]
        elif char in "'\"`$\\":
            _spell(cursor, Spelling(), char)
        else:
            cursor.position += 1
    cursor.doubts.append(ShellDoubt(SYNTAX, "no closing )"))
    return cursor.text[start:]


def read_double_bracket(cursor: Cursor) -> bool:
    """Read ``((…))`` and return whether it is arithmetic; otherwise it was read as a group in a group."""
    text = cursor.text[cursor.position : cursor.position + _MAX_ARITHMETIC]
    plain, unquoted = _arithmetic_end(text), _arithmetic_end(_QUOTED.sub(lambda found: " " * len(found.group()), text))
    if plain != unquoted:
        cursor.doubts.append(ShellDoubt(RUN_TIME, "double brackets that can be read in two ways"))
    if plain is None or unquoted is None:
        cursor.position += 1
        cursor.read_list(")")
        return False
    end = cursor.position + plain
    while cursor.position < end:
        char = _peek(cursor)
        if char in "`$\\":
            _spell(cursor, Spelling(), char)
        else:
            cursor.position += 1
    return True


def _arithmetic_end(text: str) -> int | None:
    """Return the position after ``))`` in text that starts with ``((``; ``None`` if the two do not close together."""
    level = 0
    for found in _ROUND.finditer(text, 1):
        level += 1 if found.group() == "(" else -1
        if not level:
            end = found.end()
            return end + 1 if text.startswith(")", end) else None
    return None


def read_document(cursor: Cursor) -> ShellWord:
    """Read all of the text as the body of a here-document: expansions happen, quotes are characters."""
    spelling = Spelling()
    while _peek(cursor):
        _spell_inside_quotes(cursor, spelling)
    return spelling.word(bare=False)


def _peek(cursor: Cursor) -> str:
    return cursor.text[cursor.position : cursor.position + 1]


def _ansi_character(escape: re.Match[str]) -> str:
    code = escape.group(1)
    if code[0] in "xuU" and len(code) > 1:
        return chr(min(int(code[1:].strip("{}"), 16), 0x10FFFF))
    if code[0] in "01234567":
        return chr(int(code, 8) & 0xFF)
    if code[0] == "c":
        return chr(ord(code[1]) & 0x1F)
    return _ANSI_LETTERS.get(code, code)


# The values that a text gives to its variables, and those that only the running shell knows.

_VARIABLE = re.compile(r"\$(\w+)|\$\{(\w+)\}")
_MADE_LATER = re.compile(r"[$`]")
_WILDCARD = re.compile(r"[$`*?\[{]")
_SETTERS = words_of("export declare local readonly typeset set")
_READERS = words_of("read mapfile readarray printf getopts unset")
"""Programs that give the variables they name a value which only the running shell knows."""
_LOOP = re.compile(r"\b(?:for|select)\s+(\w+)")
_PLAIN_NAME = re.compile(r"\w+")
_MOST_VALUES = 8
_MAX_VALUE = 10_000
_MAX_FILLED = 400_000


class ShellValues:
    """The values of the variables of one text, in the order in which it sets them."""

    def __init__(self) -> None:
        self.known: dict[str, list[str]] = {}
        self.unknown: set[str] = set()
        """Variables that also have values which only the running shell knows."""
        self.left = _MAX_FILLED
        """How many characters may still be put in place of variables: they can multiply."""

    def read_loops(self, text: str) -> None:
        """Note the variables that loops set."""
        self.unknown.update(_LOOP.findall(text))

    def readings(self, words: Sequence[ShellWord]) -> list[list[ShellWord]]:
        """Return a command's words once for each value that its variables may have, and note what it sets.

        If a variable has a value that only the running shell knows, one reading leaves it as it is written.
        """
        starts = next((i for i, word in enumerate(words) if not ASSIGNED.match(word.text)), len(words))
        program = words[starts].text if starts < len(words) else ""
        for word in words if not program or program in _SETTERS else words[:starts]:
            self._set(word)
            if program and program not in _SETTERS:  # its own words are expanded before it is set
                self.unknown.add(word.text.partition("=")[0])
        if program in _READERS:
            self.unknown.update(word.text for word in words[starts + 1 :] if _PLAIN_NAME.fullmatch(word.text))
        kept, rest = words[: starts + 1], words[starts + 1 :]
        turns = max((self._turns(word) for word in rest), default=0)
        found = [[*kept, *(part for word in rest for part in self._at(word, turn))] for turn in range(turns)]
        return found if turns and not any(self._names(word) & self.unknown for word in rest) else [*found, list(words)]

    def of(self, word: ShellWord) -> list[ShellWord]:
        """Return a text that is not split into words once for each value that its variables may have."""
        found = [text for turn in range(self._turns(word)) for text in self._with_values(word, turn, split=False)]
        return found if found and not self._names(word) & self.unknown else [*found, word]

    def _names(self, word: ShellWord) -> set[str]:
        if word.certain:
            return set()
        return {found[1] or found[2] for found in _VARIABLE.finditer(word.text, word.fixed)}

    def _turns(self, word: ShellWord) -> int:
        if self.left < 0:
            return 0
        return max((len(self.known.get(name, ())) for name in self._names(word)), default=0)

    def _at(self, word: ShellWord, turn: int) -> Iterator[ShellWord]:
        if self._turns(word):
            yield from self._with_values(word, turn, split=not word.quoted)
        else:
            yield word

    def _set(self, word: ShellWord) -> None:
        name, sign, _ = word.text.partition("=")
        if not sign or not ASSIGNED.match(word.text):
            return
        plain = name.partition("[")[0].removesuffix("+")
        for found in self.of(word):
            value = found.text.partition("=")[2]
            before = self.known.get(plain, [""]) if name.endswith("+") else [""]
            values = [earlier + value for earlier in before]
            kept = [*self.known.get(plain, ()), *values]
            too_much = len(kept) > _MOST_VALUES or any(len(value) > _MAX_VALUE for value in values)
            if too_much or not found.certain or plain != name.removesuffix("+"):
                self.unknown.add(plain)
            else:
                self.known[plain] = kept

    def _with_values(self, word: ShellWord, turn: int, *, split: bool) -> Iterator[ShellWord]:
        """Yield the word with one of the values of each variable."""
        text, end, fixed = word.text[: word.fixed], word.fixed, -1
        uncertain = _WILDCARD if split else _MADE_LATER
        for found in _VARIABLE.finditer(word.text, word.fixed):
            values = self.known.get(found[1] or found[2])
            between = word.text[end : found.start()]
            value = values[min(turn, len(values) - 1)] if values else found[0]
            if fixed < 0 and (unsure := uncertain.search(between)):
                fixed = len(text) + unsure.start()
            elif fixed < 0 and not values:
                fixed = len(text) + len(between)
            self.left -= len(value)
            text, end = text + between + value, found.end()
        if fixed < 0 and (unsure := uncertain.search(word.text, end)):
            fixed = len(text) + unsure.start() - end
        text += word.text[end:]
        if fixed < 0 and split and _VARIABLE.fullmatch(word.text):
            yield from map(literal, text.split())
        else:
            fixed = len(text) if fixed < 0 else fixed
            yield ShellWord(text, fixed, globbed=fixed < len(text) and not _MADE_LATER.search(text, fixed))
