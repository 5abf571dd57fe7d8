"""What a shell text would run: every command in it, past wrappers, and what could not be read."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from .shell_code import Inner
from .shell_lists import read_shell_text
from .shell_words import ASSIGNED, RUN_TIME, Doubt, Simple, Word, literal
from .shell_wrappers import inner_commands, set_to_run

_MAX_TEXT = 200_000
_MAX_DEPTH = 12
_MAX_COMMANDS = 2_000
_MAX_READ = 600_000
_MAX_FEEDERS = 500
_TOO_MUCH = Doubt(RUN_TIME, "more than the shell view reads")
_NULL = Doubt(RUN_TIME, "a null character, which shells drop or stop at")


@dataclass(frozen=True)
class Command:
    """One command that would run."""

    program: str | None
    """The program's path as written, or ``None`` when only the running shell knows it."""
    words: tuple[Word, ...]
    """Its arguments, options included."""
    inputs: tuple[Word, ...] = ()
    """Text it reads: here-documents, here-strings, and the words of the command that is piped into it."""

    @property
    def name(self) -> str:
        """Return the program without its directory, in lower case."""
        return (self.program or "").replace("\\", "/").rpartition("/")[2].lower().removesuffix(".exe")


@dataclass(frozen=True)
class ShellView:
    """Every command of a text."""

    commands: tuple[Command, ...]
    doubts: tuple[Doubt, ...]


def read_shell(value: str | Sequence[str]) -> ShellView:
    """Return the view of shell text, or of a list of words that is run without a shell.

    No program has a blank in its name, so a list that starts with one is also read as a list of shell texts.
    """
    if isinstance(value, str):
        return _read_text(value)
    view = _Unwrapping()
    view.add(Simple([literal(word) for word in value]), 0)
    if value and len(value[0].split()) > 1:
        for text in value:
            view.add_text(literal(text), 0)
    return view.result()


@lru_cache(maxsize=64)
def _read_text(text: str) -> ShellView:
    view = _Unwrapping()
    view.add_text(literal(text), 0)
    return view.result()


def _fed(simple: Simple) -> Iterator[Word]:
    """Yield the words, and the texts they read, of the commands whose output comes in through pipes."""
    feeder, seen = simple.feeder, 0
    while feeder and seen < _MAX_FEEDERS:
        yield from (*feeder.words, *feeder.inputs)
        feeder, seen = feeder.feeder, seen + 1


class _Unwrapping:
    """Collects commands while following what each of them runs."""

    def __init__(self) -> None:
        self.commands: list[Command] = []
        self.doubts: list[Doubt] = []
        self.left = _MAX_READ

    def result(self) -> ShellView:
        return ShellView(tuple(self.commands), tuple(dict.fromkeys(self.doubts)))

    def add_text(self, text: Word, depth: int, outer: Simple | None = None) -> None:
        """Add the commands of shell text; those that are given no input read that of the command around them."""
        if not text.certain:
            self.doubts.append(Doubt(RUN_TIME, f"commands made at run time by {text.text[text.fixed :][:40]}"))
        if len(text.text) > _MAX_TEXT or self._exhausted(depth):
            self.doubts.append(_TOO_MUCH)
            return
        self.left -= len(text.text)
        if "\0" in text.text:
            self.doubts.append(_NULL)
        commands, doubts = read_shell_text(text.text)
        self.doubts += doubts
        for simple in commands:
            if outer and not (simple.inputs or simple.piped):
                simple = replace(simple, inputs=outer.inputs, piped=outer.piped, feeder=outer.feeder)
            self.add(simple, depth)

    def _exhausted(self, depth: int) -> bool:
        return depth > _MAX_DEPTH or len(self.commands) > _MAX_COMMANDS or self.left < 0

    def add(self, simple: Simple, depth: int) -> None:
        self._follow_all(set_to_run(simple.words), simple, depth + 1)
        words = simple.words
        while words and ASSIGNED.match(words[0].text):
            words = words[1:]
        if not words:
            return
        if self._exhausted(depth):
            self.doubts.append(_TOO_MUCH)
            return
        program = words[0]
        if not program.certain:
            self.doubts.append(Doubt(RUN_TIME, f"a program name made at run time: {program.text[:40]}"))
        inputs = (*simple.inputs, *_fed(simple))
        command = Command(program.text if program.certain else None, tuple(words[1:]), inputs)
        self.commands.append(command)
        inner = inner_commands(command.name, command.words, piped=simple.piped, inputs=simple.inputs)
        self._follow_all(inner, simple, depth + 1)

    def _follow_all(self, inner: Iterator[Inner], outer: Simple, depth: int) -> None:
        for found in inner:
            if self._exhausted(depth):
                self.doubts.append(_TOO_MUCH)
                break
            self._follow(found, outer, depth)

    def _follow(self, inner: Inner, outer: Simple, depth: int) -> None:
        sure = len(self.doubts)
        if inner.doubt:
            self.doubts.append(inner.doubt)
        if inner.text:
            self.add_text(inner.text, depth, None if inner.read else outer)
        if inner.words:
            self.add(replace(outer, words=list(inner.words)), depth)
        if not inner.surely:
            self.doubts[sure:] = [doubt for doubt in self.doubts[sure:] if doubt is _TOO_MUCH]
