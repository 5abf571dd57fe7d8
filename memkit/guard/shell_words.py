"""Shell text read into simple commands: quoting, expansions, lists, pipes, groups, redirections, here-documents.

The reader follows bash and prefers to see too much: it looks into every substitution and every branch, and what it
cannot read it reports as a doubt.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

_BLANK = " \t\r\f\v"
_BREAKS = _BLANK + "\n;&|<>()"
_LEADERS = frozenset({"if", "then", "else", "elif", "while", "until", "do", "!", "{", "}", "fi", "done", "esac"})
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*|[0-9]|[@*#?$!-]")
_SPLITTER = re.compile(r"\$(IFS(?![A-Za-z0-9_])|\{IFS[^}]*\})")
ASSIGNED = re.compile(r"[A-Za-z_][A-Za-z0-9_]*(\[[^\]]*\])?\+?=")
_BRACES = re.compile(r"\{[^\s{}]*(,|\.\.)")
_REDIRECT = re.compile(r"<<<|<<-?|<>|<&|>>|>&|>\||<|>")
_ANSI = re.compile(r"\\(x[0-9a-fA-F]{1,2}|u[0-9a-fA-F]{1,4}|U[0-9a-fA-F]{1,8}|[0-7]{1,3}|c.|.)", re.DOTALL)
_ANSI_LETTERS = {"n": "\n", "t": "\t", "r": "\r", "a": "\a", "b": "\b", "e": "\x1b", "E": "\x1b", "f": "\f", "v": "\v"}
_FUNCTION = re.compile(r"[ \t]*\([ \t]*\)")
_COPROCESS = re.compile(r"[ \t]*\w+[ \t]*(?=[({])")
_ESAC = re.compile(r"esac\b")
_DESCRIPTOR = re.compile(r"(\d+|\{\w+\})[<>]")
_DESCRIPTOR_NAME = re.compile(r"\d+|\{\w+\}")
_BACKTICKS = re.compile(r"`((?:[^`\\]|\\.)*)`", re.DOTALL)
_ANSI_QUOTED = re.compile(r"\$'((?:[^'\\]|\\.)*)'", re.DOTALL)
_TIMED = re.compile(r"[ \t]*(-p[ \t]+)?(?=[({!]|(if|while|until|for|case|select|time)\b)")
_SET = re.compile(r"\[[^\s\]]{1,64}\]")
_MAX_DEPTH = 40

SYNTAX = "syntax"
RUN_TIME = "run time"


@dataclass(frozen=True)
class Doubt:
    """Something the reader could not follow."""

    kind: str
    """``syntax`` when a shell would refuse the text too, ``run time`` when the shell makes it while running."""
    message: str


@dataclass(frozen=True)
class Word:
    """One word with its quotes removed; what only the running shell knows keeps its spelling."""

    text: str
    fixed: int
    """How many leading characters are certain."""
    globbed: bool = False
    """Whether the uncertain part is file names that a wildcard stands for."""
    bare: bool = False
    """Whether the word was written without quotes, so that it can be a reserved word."""

    @property
    def certain(self) -> bool:
        """Return whether the whole word is known before the shell runs."""
        return self.fixed >= len(self.text)


@dataclass
class Simple:
    """A simple command as it was written: words, what it reads, what is piped into it."""

    words: list[Word] = field(default_factory=list)
    inputs: list[Word] = field(default_factory=list)
    """Here-documents and here-strings."""
    piped: bool = False
    feeder: Simple | None = None
    """The command whose output is piped in, when it is a simple one."""


def literal(text: str) -> Word:
    """Return a word that is certain."""
    return Word(text, len(text))


def read_shell_text(text: str, depth: int = 0) -> tuple[list[Simple], list[Doubt]]:
    """Return the simple commands in shell text, in substitutions too, and what could not be read."""
    reader = _Reader(text.replace("\\\r\n", "").replace("\\\n", ""), depth)
    reader.read_list("")
    return reader.commands, reader.doubts


@dataclass
class _Spelling:
    """A word under construction."""

    text: str = ""
    fixed: int | None = None
    globbed: bool = False

    def unsure(self, text: str, *, globbed: bool = False) -> None:
        if self.fixed is None:
            self.fixed, self.globbed = len(self.text), globbed
        elif not globbed:
            self.globbed = False
        self.text += text

    def word(self, *, bare: bool) -> Word:
        fixed = len(self.text) if self.fixed is None else self.fixed
        return Word(self.text, fixed, self.globbed, bare)


class _Reader:
    """Reads one text from left to right; nested texts share its lists."""

    def __init__(self, text: str, depth: int) -> None:
        self.text = text
        self.depth = depth
        self.position = 0
        self.commands: list[Simple] = []
        self.doubts: list[Doubt] = []
        self.documents: list[tuple[Simple, str, bool, bool]] = []
        self.fed = False
        """Whether something was piped into a group, so that any later command may read it."""

    # Lists

    def read_list(self, closing: str) -> None:
        """Read commands until ``closing`` (or the end of the text when it is empty)."""
        current = Simple(piped=self.fed)
        self.depth += 1
        while True:
            self._skip_blanks()
            char = self._peek()
            if not char or self.depth > _MAX_DEPTH:
                self._end_of_text(closing)
                break
            if char == closing:
                self.position += 1
                break
            current = self._read_item(current, char)
        self.depth -= 1
        self._finish(current)

    def _end_of_text(self, closing: str) -> None:
        if self._peek():
            self._doubt(RUN_TIME, "commands nested too deeply")
            self.position = len(self.text)
        elif closing:
            self._doubt(SYNTAX, f"no closing {closing}")

    def _read_item(self, current: Simple, char: str) -> Simple:
        if char in "\n;&|":
            return self._read_separator(current, char)
        if char == "(":
            return self._read_bracket(current)
        if char == ")":  # closes nothing here: an unbalanced bracket
            self.position += 1
            self._doubt(SYNTAX, "a closing bracket without an opening one")
            return self._next_command(current)
        if char in "<>" or self._descriptor():
            return self._read_redirect(current)
        return self._read_plain(current)

    def _finish(self, current: Simple) -> None:
        if current.words or current.inputs:
            self.commands.append(current)

    def _next_command(self, current: Simple, *, piped: bool = False) -> Simple:
        self._finish(current)
        return Simple(piped=piped or self.fed, feeder=current if piped else None)

    def _read_separator(self, current: Simple, char: str) -> Simple:
        if self.text.startswith(("&>", "&>>"), self.position):
            self.position += 1
            return self._read_redirect(current)
        two = self.text[self.position : self.position + 2]
        self.position += 2 if two in ("&&", "||", ";;", ";&", "|&") else 1
        following = self._next_command(current, piped=char == "|" and two != "||")
        if char == "\n":
            self._read_documents()
            if current.piped and not current.words:  # the line ended in a pipe
                return current
        if two in (";;", ";&"):
            self.position += self._peek() == "&"
            self._skip_pattern()
        return following

    def _read_plain(self, current: Simple) -> Simple:
        word = self.read_word()
        if word is None:
            return current
        if not current.words and word.bare and self._reserved(word.text, current.piped):
            return current
        if word.bare and ASSIGNED.fullmatch(word.text) and self._peek() == "(":
            self._skip_array()
            return current
        if not current.words and self._at_function_body():
            return current
        current.words.append(word)
        return current

    def _reserved(self, word: str, piped: bool) -> bool:
        """Deal with a reserved word where a command starts; return whether it was one."""
        if word in _LEADERS:
            self.fed = self.fed or piped
            return True
        if word in ("for", "select"):
            self._skip_words(";\n")
        elif word == "case":
            self._skip_case_head()
        elif word == "[[":
            self._skip_test()
        elif word == "time" and (found := _TIMED.match(self.text, self.position)):
            self.position = found.end()
        elif word == "function":
            self._skip_blanks()
            self.read_word()
            self._at_function_body()
        elif word == "coproc":
            self._skip_coprocess_name()
        else:
            return False
        return True

    def _at_function_body(self) -> bool:
        """Skip ``()`` after a function's name; return whether it stood there."""
        found = _FUNCTION.match(self.text, self.position)
        if found:
            self.position = found.end()
        return found is not None

    def _skip_coprocess_name(self) -> None:
        if found := _COPROCESS.match(self.text, self.position):
            self.position = found.end()

    def _skip_words(self, stops: str) -> None:
        """Read words that are not commands; their substitutions are still seen."""
        self._skip_blanks()
        while (char := self._peek()) and char not in stops:
            if char == "(":
                self._skip_brackets()
            elif char in _BREAKS:
                self.position += 1
            else:
                self.read_word()
            self._skip_blanks()

    def _skip_array(self) -> None:
        self.position += 1
        self._skip_words(")")
        self.position += 1

    def _skip_case_head(self) -> None:
        self._skip_blanks()
        self.read_word()
        while self._peek() and self._peek() in _BLANK + "\n":
            self.position += 1
        if self.text.startswith("in", self.position):
            self.position += 2
            self._skip_pattern()

    def _skip_pattern(self) -> None:
        """Read the pattern of a case branch up to its bracket."""
        while self._peek() and self._peek() in _BLANK + "\n":
            self.position += 1
        if _ESAC.match(self.text, self.position):
            return
        self.position += self._peek() == "("
        self._skip_words(")")
        self.position += 1

    def _skip_test(self) -> None:
        """Read ``[[ … ]]``, where brackets and signs are operators of a test."""
        while self._peek():
            self._skip_blanks()
            if self._peek() and self._peek() in _BREAKS:
                self.position += 1
                continue
            word = self.read_word()
            if word is not None and word.text == "]]":
                return
        self._doubt(SYNTAX, "no closing ]]")

    # Brackets and redirections

    def _read_bracket(self, current: Simple) -> Simple:
        if current.words:  # a shell expects no bracket here
            self._doubt(SYNTAX, "a bracket in the middle of a command")
            spelling = _Spelling()
            spelling.unsure(self._skip_brackets())
            current.words.append(spelling.word(bare=False))
            return current
        if self.text.startswith("((", self.position):
            self._skip_brackets()
            return current
        self.fed = self.fed or current.piped
        self.position += 1
        self.read_list(")")
        return Simple(piped=self.fed)

    def _skip_brackets(self) -> str:
        """Read to the bracket that closes this one, looking into substitutions; return what stood there."""
        start, level = self.position, 0
        while char := self._peek():
            if char in "()":
                level += 1 if char == "(" else -1
                self.position += 1
                if not level:
                    return self.text[start : self.position]
            elif char in "'\"`$\\":
                self._spell(_Spelling(), char)
            else:
                self.position += 1
        self._doubt(SYNTAX, "no closing )")
        return self.text[start:]

    def _descriptor(self) -> bool:
        return _DESCRIPTOR.match(self.text, self.position) is not None

    def _read_redirect(self, current: Simple) -> Simple:
        if found := _DESCRIPTOR_NAME.match(self.text, self.position):
            self.position = found.end()
        if self.text.startswith(("<(", ">("), self.position):
            word = self.read_word()
            if word is not None:
                current.words.append(word)
            return current
        operator = _REDIRECT.match(self.text, self.position)
        assert operator is not None  # only called where < or > stands
        self.position = operator.end()
        self._skip_blanks()
        start = self.position
        target = self.read_word() or literal("")
        if operator.group() == "<<<":
            current.inputs.append(target)
        elif operator.group() in ("<<", "<<-"):
            quoted = any(mark in self.text[start : self.position] for mark in "'\"\\")
            self.documents.append((current, target.text, quoted, operator.group() == "<<-"))
        return current

    def _read_documents(self) -> None:
        """Take the here-documents that begin on this line."""
        for command, end, quoted, tabs in self.documents:
            lines: list[str] = []
            while self._peek():
                stop = self.text.find("\n", self.position)
                stop = len(self.text) if stop < 0 else stop
                line = self.text[self.position : stop]
                self.position = stop + 1
                if (line.lstrip("\t") if tabs else line).rstrip("\r") == end:
                    break
                lines.append(line)
            body = "\n".join(lines)
            command.inputs.append(literal(body) if quoted else self._expanded(body))
        self.documents.clear()

    def _expanded(self, body: str) -> Word:
        inner = _Reader(body, self.depth)
        spelling = _Spelling()
        while inner._peek():
            inner._spell_inside_quotes(spelling)
        self.commands += inner.commands
        self.doubts += inner.doubts
        return spelling.word(bare=False)

    # Words

    def read_word(self) -> Word | None:
        """Read one word; ``None`` when only a blank made by ``$IFS`` stood there."""
        spelling, start = _Spelling(), self.position
        while (char := self._peek()) and (char not in _BREAKS or self._opens_process(char)):
            if found := _SPLITTER.match(self.text, self.position):
                self.position = found.end()
                return spelling.word(bare=False) if found.start() > start else None
            self._spell(spelling, char)
        if self.position == start:
            self.position += 1  # never stand still
            return None
        return spelling.word(bare=self.text[start : self.position] == spelling.text and spelling.fixed is None)

    def _opens_process(self, char: str) -> bool:
        return char in "<>" and self.text.startswith("(", self.position + 1)

    def _spell(self, spelling: _Spelling, char: str) -> None:
        """Read one character, quotation or expansion outside quotes."""
        if char == "\\":
            spelling.text += self.text[self.position + 1 : self.position + 2]
            self.position += 2
        elif char == "'":
            self._single_quotes(spelling)
        elif char == '"':
            self._double_quotes(spelling)
        elif char in "$`":
            self._expansion(spelling)
        elif char in "<>":
            self._substitution(spelling, 2)
        elif self._expands(char):
            self.position += 1
            spelling.unsure(char, globbed=char != "{")
        else:
            self.position += 1
            spelling.text += char

    def _expands(self, char: str) -> bool:
        """Return whether a wildcard, a set or a list in braces starts here."""
        if char == "[":
            return _SET.match(self.text, self.position) is not None
        return char in "*?" or (char == "{" and _BRACES.match(self.text, self.position) is not None)

    def _single_quotes(self, spelling: _Spelling) -> None:
        end = self.text.find("'", self.position + 1)
        if end < 0:
            self._doubt(SYNTAX, "an unclosed quote")
            end = len(self.text)
        spelling.text += self.text[self.position + 1 : end]
        self.position = end + 1

    def _double_quotes(self, spelling: _Spelling) -> None:
        self.position += 1
        while (char := self._peek()) != '"':
            if not char:
                self._doubt(SYNTAX, "an unclosed quote")
                return
            self._spell_inside_quotes(spelling)
        self.position += 1

    def _spell_inside_quotes(self, spelling: _Spelling) -> None:
        char = self._peek()
        following = self.text[self.position + 1 : self.position + 2]
        if char == "\\" and following and following in '$`"\\':
            spelling.text += following
            self.position += 2
        elif char == "`" or (char == "$" and following not in ("'", '"')):
            self._expansion(spelling)
        else:
            self.position += 1
            spelling.text += char

    def _expansion(self, spelling: _Spelling) -> None:
        """Read what starts with ``$`` or a backtick."""
        if self._peek() == "`":
            self._backticks(spelling)
        elif self.text.startswith("$'", self.position):
            self._ansi_quotes(spelling)
        elif self.text.startswith('$"', self.position):
            self.position += 1
        elif self.text.startswith("$((", self.position):
            self.position += 1
            spelling.unsure("$" + self._skip_brackets())
        elif self.text.startswith("$(", self.position):
            self._substitution(spelling, 2)
        elif self.text.startswith("${", self.position):
            self._braced(spelling)
        elif name := _NAME.match(self.text, self.position + 1):
            self.position = name.end()
            spelling.unsure(f"${name.group()}")
        else:
            self.position += 1
            spelling.text += "$"

    def _substitution(self, spelling: _Spelling, opening: int) -> None:
        start = self.position
        self.position += opening
        self.read_list(")")
        spelling.unsure(self.text[start : self.position])

    def _backticks(self, spelling: _Spelling) -> None:
        found = _BACKTICKS.match(self.text, self.position)
        if found is None:
            self._doubt(SYNTAX, "an unclosed backtick")
        inside = found.group(1) if found else self.text[self.position + 1 :]
        commands, doubts = read_shell_text(re.sub(r"\\([`$\\])", r"\1", inside), self.depth)
        self.commands += commands
        self.doubts += doubts
        spelling.unsure(f"`{inside}`")
        self.position = found.end() if found else len(self.text)

    def _braced(self, spelling: _Spelling) -> None:
        """Read ``${…}``; a default value in it may hold substitutions."""
        start = self.position
        self.position += 2
        while (char := self._peek()) != "}":
            if not char:
                self._doubt(SYNTAX, "no closing }")
                break
            if char in "'\"`$\\":
                self._spell(_Spelling(), char)
            else:
                self.position += 1
        self.position += 1
        spelling.unsure(self.text[start : self.position])

    def _ansi_quotes(self, spelling: _Spelling) -> None:
        found = _ANSI_QUOTED.match(self.text, self.position)
        if found is None:
            self._doubt(SYNTAX, "an unclosed quote")
            self.position = len(self.text)
            return
        spelling.text += _ANSI.sub(_ansi_character, found.group(1))
        self.position = found.end()

    # Characters

    def _peek(self) -> str:
        return self.text[self.position : self.position + 1]

    def _skip_blanks(self) -> None:
        while (char := self._peek()) and char in _BLANK:
            self.position += 1
        if self._peek() == "#":
            end = self.text.find("\n", self.position)
            self.position = len(self.text) if end < 0 else end

    def _doubt(self, kind: str, message: str) -> None:
        self.doubts.append(Doubt(kind, message))


def _ansi_character(escape: re.Match[str]) -> str:
    code = escape.group(1)
    if code[0] in "xuU" and len(code) > 1:
        return chr(min(int(code[1:], 16), 0x10FFFF))
    if code[0] in "01234567":
        return chr(int(code, 8) & 0xFF)
    if code[0] == "c":
        return chr(ord(code[1]) & 0x1F)
    return _ANSI_LETTERS.get(code, code)
