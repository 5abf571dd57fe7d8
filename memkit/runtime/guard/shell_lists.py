"""Parses shell text into simple commands: lists, pipes, groups, branches, redirections, here-documents.

The reader follows bash and errs on the side of seeing too much: it enters every substitution and every branch, and
reports what it cannot read as a doubt.
"""

from __future__ import annotations

import re

from .shell_words import (
    ASSIGNED,
    BLANK,
    BREAKS,
    CONTINUATION,
    RUN_TIME,
    STRAY_BLANK,
    SYNTAX,
    ShellDoubt,
    ShellWord,
    Simple,
    Spelling,
    literal,
    read_document,
    read_double_bracket,
    read_word,
    skip_brackets,
)

_LEADERS = frozenset({"if", "then", "else", "elif", "while", "until", "do", "!", "{", "}", "fi", "done", "esac"})
_CLOSERS = frozenset({"}", "fi", "done", "esac", "[["})
_REDIRECT = re.compile(r"<<<|<<-?|<>|<&|>>|>&|>\||<|>")
_FUNCTION = re.compile(r"[ \t]*\([ \t]*\)")
_COPROCESS = re.compile(r"[ \t]*\w+[ \t]*(?=[({])")
_ESAC = re.compile(r"esac\b")
_DESCRIPTOR = re.compile(r"(\d+|\{\w+\})[<>]")
_DESCRIPTOR_NAME = re.compile(r"\d+|\{\w+\}")
_TIMED = re.compile(
    r"[ \t]*(-p[ \t]+)?(?=[({!]|(if|while|until|for|case|select|time|function)\b|[\w-]+[ \t]*\([ \t]*\))"
)
_MAX_DEPTH = 40
_MAX_READ = 600_000


def read_shell_text(text: str) -> tuple[list[Simple], list[ShellDoubt]]:
    """Return the simple commands in shell text, including substitutions, and what could not be read."""
    reader = _Reader(text, 0, [_MAX_READ])
    reader.read_list("")
    return reader.commands, reader.doubts


class _Reader:
    """Reads one text from left to right; nested texts share its lists."""

    def __init__(self, text: str, depth: int, left: list[int]) -> None:
        self.text = text
        self.depth = depth
        self.left = left
        """How many characters may still be read, shared with the readers of nested texts: readings can multiply."""
        self.position = 0
        self.glued = -1
        self.commands: list[Simple] = []
        self.doubts: list[ShellDoubt] = []
        self.documents: list[tuple[Simple, str, bool, bool]] = []
        self.fed = False
        """Whether something was piped into a group, so that any later command may read it."""
        self.cases = 0
        """The number of open ``case`` statements; elsewhere ``;;`` means nothing."""

    # Lists

    def read_list(self, closing: str) -> None:
        """Read commands until ``closing`` (or the end of the text if it is empty)."""
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
        if char == ")":  # an unbalanced bracket
            self.position += 1
            self._doubt(SYNTAX, "a closing bracket without an opening one")
            return self._next_command(current)
        if char in "<>" or _DESCRIPTOR.match(self.text, self.position) is not None:
            return self._read_redirect(current)
        return self._read_plain(current)

    def _finish(self, current: Simple) -> None:
        if current.words or current.inputs or current.writes:
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
            if self.cases:
                self._skip_pattern()
            else:
                self._doubt(SYNTAX, "two semicolons outside case")
        return following

    def _read_argument(self, current: Simple) -> ShellWord | None:
        """Read a word; the commands of ``>(…)`` in it read what the current command writes."""
        known = len(self.commands)
        word = read_word(self)
        for command in self.commands[known:] if word is not None and ">(" in word.text else ():
            command.feeder, command.piped = command.feeder or current, True
        return word

    def _read_plain(self, current: Simple) -> Simple:
        word = self._read_argument(current)
        if word is None:
            current.begun = True
            return current
        if not current.words and not current.begun and word.bare and self._reserved(word.text, current.piped):
            current.closed = word.text in _CLOSERS
            return current
        if word.bare and ASSIGNED.fullmatch(word.text) and self._peek() == "(":
            self.position += 1
            self._skip_words(")")
            self.position += 1
            return current
        if not current.words and not current.begun and self._at_function_body():
            return current
        current.words.append(word)
        return current

    def _reserved(self, word: str, piped: bool) -> bool:
        """Process a reserved word at the start of a command; return whether it was one."""
        if word in _LEADERS:
            self.fed = self.fed or piped
            self.cases -= word == "esac" and self.cases > 0
            return True
        if word in ("for", "select"):
            self._skip_words(";\n", ("do", "{"), signs="(")
        elif word == "case":
            self._skip_case_head()
        elif word == "[[":
            self._skip_test()
        elif word == "time" and (found := _TIMED.match(self.text, self.position)):
            self.position = found.end()
        elif word == "function":
            self._skip_blanks()
            read_word(self)
            self._at_function_body()
        elif word == "coproc":
            if found := _COPROCESS.match(self.text, self.position):
                self.position = found.end()
        else:
            return False
        return True

    def _at_function_body(self) -> bool:
        """Skip ``()`` after a function's name; return whether it was there."""
        found = _FUNCTION.match(self.text, self.position)
        if found:
            self.position = found.end()
        return found is not None

    def _skip_words(self, stops: str, words: tuple[str, ...] = (), *, signs: str = "\n") -> None:
        """Read words that are not commands, up to a sign or a word; their substitutions are still collected."""
        self._skip_blanks()
        while (char := self._peek()) and char not in stops:
            if char in BREAKS and char not in signs:
                self._doubt(SYNTAX, f"{char} in a list of words")
            if char == "(":
                skip_brackets(self)
            elif char in BREAKS:
                self.position += 1
            elif (word := read_word(self)) and word.bare and word.text in words:
                return
            self._skip_blanks()
        if not char and ")" in stops:
            self._doubt(SYNTAX, "no closing )")

    def _skip_case_head(self) -> None:
        self._skip_blanks()
        read_word(self)
        while self._peek() and self._peek() in BLANK + "\n":
            self.position += 1
        if self.text.startswith("in", self.position):
            self.position += 2
            self.cases += 1
            self._skip_pattern()

    def _skip_pattern(self) -> None:
        """Read the pattern of a case branch up to its bracket."""
        while self._peek() and self._peek() in BLANK + "\n":
            self.position += 1
        if _ESAC.match(self.text, self.position):
            return
        self.position += self._peek() == "("
        self._skip_words(")", signs="\n|(")
        self.position += 1

    def _skip_test(self) -> None:
        """Read ``[[ … ]]``, where brackets and signs are operators of a test."""
        while self._peek():
            self._skip_blanks()
            if self._peek() and self._peek() in BREAKS:
                self.position += 1
                continue
            word = read_word(self)
            if word is not None and word.text == "]]":
                return
            if word is not None and "[" in word.text:  # a subscript is run as by test
                self.commands.append(Simple([literal("test"), word]))
        self._doubt(SYNTAX, "no closing ]]")

    # Brackets and redirections

    def _read_bracket(self, current: Simple) -> Simple:
        if current.words:  # a shell expects no bracket here
            self._doubt(SYNTAX, "a bracket in the middle of a command")
            spelling = Spelling()
            spelling.unsure(skip_brackets(self))
            current.words.append(spelling.word(bare=False))
            return current
        self.fed = self.fed or current.piped
        if self.text.startswith("((", self.position):
            self._read_double_bracket()
        else:
            self.position += 1
            self.read_list(")")
        return Simple(piped=self.fed, closed=True)

    def _read_double_bracket(self) -> None:
        """Read ``((…))``: arithmetic in some shells, and a group in a group in others."""
        start = self.position
        if not read_double_bracket(self):
            return
        group = self._inner(self.text[start + 2 : self.position - 2])
        group.read_list("")  # its doubts come from reading arithmetic as commands

    def _read_redirect(self, current: Simple) -> Simple:
        to_input = False
        if found := _DESCRIPTOR_NAME.match(self.text, self.position):
            to_input = found.group() == "0"
            self.position = found.end()
        if self.text.startswith(("<(", ">("), self.position):
            word = self._read_argument(current)
            if word is not None:
                current.words.append(word)
            return current
        operator = _REDIRECT.match(self.text, self.position)
        assert operator is not None  # only called at < or >
        self.position = operator.end()
        self._skip_blanks()
        start = self.position
        known = len(self.commands)
        target = self._read_argument(current) or literal("")
        copies = operator.group() in ("<&", "<>") or (to_input and operator.group() == ">&")
        current.reads = current.reads or (copies and target.text != "-")
        if operator.group() == "<" and target.text.startswith("<(") and len(self.commands) > known:
            current.feeder, current.piped = self.commands[-1], True
        if operator.group() in (">", ">|", "<>") and target.text:
            current.writes.append(target)
        elif operator.group() == ">>" and target.text:
            current.appends.append(target)
        elif operator.group() == "<":
            current.reads = True
            current.read_from.append(target)
            current.inputs += [literal("")] if target.text == "/dev/null" else []
        elif operator.group() == "<<<":
            current.inputs.append(target)
        elif operator.group() in ("<<", "<<-"):
            quoted = any(mark in self.text[start : self.position] for mark in "'\"\\")
            self.documents.append((current, target.text, quoted, operator.group() == "<<-"))
        return current

    def _read_documents(self) -> None:
        """Consume the here-documents that begin on this line."""
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
            command.inputs.append(literal(body) if quoted else self._document(body))
        self.documents.clear()

    def _document(self, body: str) -> ShellWord:
        inner = self._inner(body)
        word = read_document(inner)
        self.doubts += inner.doubts
        return word

    def read_inside(self, text: str) -> None:
        inner = self._inner(text)
        inner.read_list("")
        self.doubts += inner.doubts

    def _inner(self, text: str) -> _Reader:
        """Return a reader of nested text that adds to this one's commands."""
        self.left[0] -= len(text) + 1
        if self.left[0] < 0:
            self._doubt(RUN_TIME, "more nested text than is read")
            text = ""
        inner = _Reader(text, self.depth + 1, self.left)
        inner.commands = self.commands
        return inner

    def _peek(self) -> str:
        return self.text[self.position : self.position + 1]

    def _skip_blanks(self) -> None:
        while (char := self._peek()) and (char in BLANK or self.text.startswith(CONTINUATION, self.position)):
            if char in STRAY_BLANK and self.text[self.position + 1 : self.position + 2] not in ("\n", ""):
                self._doubt(RUN_TIME, "a blank that only some shells take for one")
            self.position += 1 if char in BLANK else 2
        if self._peek() == "#" and self.position != self.glued:
            end = self.text.find("\n", self.position)
            self.position = len(self.text) if end < 0 else end

    def _doubt(self, kind: str, message: str) -> None:
        self.doubts.append(ShellDoubt(kind, message))
