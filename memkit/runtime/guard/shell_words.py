"""What shell text is read into: words, simple commands, and doubts about what could not be read."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Protocol

BLANK = " \t\r\f\v"
STRAY_BLANK = "\r\f\v"
"""What some shells read as a blank and others as a letter."""
BREAKS = BLANK + "\n;&|<>()"
CONTINUATION = "\\\n"
ASSIGNED = re.compile(r"[A-Za-z_][A-Za-z0-9_]*(\[[^\]]*\])?\+?=")

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
    begun: bool = False
    """Whether an expansion that came to nothing stood before the first word, which so is no reserved word."""
    feeder: Simple | None = None
    """The command whose output is piped in, when it is a simple one."""


def literal(text: str) -> Word:
    """Return a word that is certain."""
    return Word(text, len(text))


@dataclass
class Spelling:
    """A word under construction."""

    text: str = ""
    fixed: int | None = None
    globbed: bool = False

    def unsure(self, text: str, *, globbed: bool = False) -> None:
        """Add a part that only the running shell knows, in its own spelling."""
        if self.fixed is None:
            self.fixed, self.globbed = len(self.text), globbed
        elif not globbed:
            self.globbed = False
        self.text += text

    def word(self, *, bare: bool) -> Word:
        """Return the finished word."""
        fixed = len(self.text) if self.fixed is None else self.fixed
        return Word(self.text, fixed, self.globbed, bare)


class Cursor(Protocol):
    """A place in shell text, with what was found so far."""

    text: str
    position: int
    glued: int
    """A place that only an expansion parts from what stands before it, so that no comment starts there."""
    commands: list[Simple]
    doubts: list[Doubt]

    def read_list(self, closing: str) -> None:
        """Read the commands of a substitution up to ``closing``."""

    def read_inside(self, text: str) -> None:
        """Read the commands of text that stands inside this one."""
