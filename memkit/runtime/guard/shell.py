"""The ``shell`` condition: every command that a text would run, seen through wrappers, and how it must look."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from .checks import NO, Predicate, bracketed, first_of, glob_test, literal_head, shown
from .interface import JSON, Path, PolicySetError, Ternary
from .shell_lists import read_shell_text
from .shell_words import ASSIGNED, RUN_TIME, SYNTAX, ShellDoubt, ShellWord, Simple, literal
from .shell_wrappers import Inner, inner_commands, set_to_run
from .sql_text import reads_as_sql

_MAX_TEXT = 200_000
_MAX_DEPTH = 12
_MAX_COMMANDS = 2_000
_MAX_READ = 600_000
_MAX_FEEDERS = 500
_TOO_MUCH = ShellDoubt(RUN_TIME, "more than the shell view reads")
_NULL = ShellDoubt(RUN_TIME, "a null character, which shells drop or stop at")


@dataclass(frozen=True)
class Command:
    """One command that would run."""

    program: str | None
    """The program's path as written, or ``None`` when only the running shell knows it."""
    words: tuple[ShellWord, ...]
    """Its arguments, options included."""
    inputs: tuple[ShellWord, ...] = ()
    """Text it reads: here-documents, here-strings, and the words of the command that is piped into it."""

    @property
    def name(self) -> str:
        """Return the program without its directory, in lower case."""
        return (self.program or "").replace("\\", "/").rpartition("/")[2].lower().removesuffix(".exe")


@dataclass(frozen=True)
class ShellView:
    """Every command of a text."""

    commands: tuple[Command, ...]
    doubts: tuple[ShellDoubt, ...]


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


def _fed(simple: Simple) -> Iterator[ShellWord]:
    """Yield the words, and the texts they read, of the commands whose output comes in through pipes."""
    feeder, seen = simple.feeder, 0
    while feeder and seen < _MAX_FEEDERS:
        yield from (*feeder.words, *feeder.inputs)
        feeder, seen = feeder.feeder, seen + 1


class _Unwrapping:
    """Collects commands while following what each of them runs."""

    def __init__(self) -> None:
        self.commands: list[Command] = []
        self.doubts: list[ShellDoubt] = []
        self.left = _MAX_READ

    def result(self) -> ShellView:
        return ShellView(tuple(self.commands), tuple(dict.fromkeys(self.doubts)))

    def add_text(self, text: ShellWord, depth: int, outer: Simple | None = None) -> None:
        """Add the commands of shell text; those that are given no input read that of the command around them."""
        if not text.certain:
            self.doubts.append(ShellDoubt(RUN_TIME, f"commands made at run time by {text.text[text.fixed :][:40]}"))
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
            self.doubts.append(ShellDoubt(RUN_TIME, f"a program name made at run time: {program.text[:40]}"))
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


SYNONYMS = (frozenset({"--recursive", "-r", "-R"}), frozenset({"--force", "-f"}))
_SHORT_FLAGS = re.compile(r"-[A-Za-z0-9?]+")


@dataclass(frozen=True)
class GlobChoice:
    """Globs of which any, or all, must be found."""

    any_of: tuple[str, ...] = ()
    all_of: tuple[str, ...] = ()


@dataclass(frozen=True)
class ShellPattern:
    """What a command must look like."""

    program: tuple[str, ...] = ()
    flags: GlobChoice = GlobChoice()
    args: GlobChoice = GlobChoice()


def shell_check(data: JSON, path: Path) -> Predicate:
    """Return the compiled ``shell`` condition."""
    pattern = _read_pattern(data, path)
    on_command = _compile(pattern)
    says = _describe(pattern)

    def test(value: JSON) -> Ternary:
        view = view_of(value)
        if view is None:
            return Ternary(None, "it is not text, so it cannot be read as shell")
        found = first_of(on_command(command) for command in view.commands)
        return found if found.state else _doubtful(view, value, found)

    return Predicate(test, says, path, whole=True)


def view_of(value: JSON) -> ShellView | None:
    """Return what a value would run as shell, or ``None`` when it is neither text nor a list of words."""
    if isinstance(value, str):
        return read_shell(value)
    if isinstance(value, (list, tuple)) and all(isinstance(word, str) for word in value):
        return read_shell(tuple(value))
    return None


def _doubtful(view: ShellView, value: JSON, found: Ternary) -> Ternary:
    """Return unknown when the view has gaps; a text that is plain SQL is no broken shell."""
    doubts = view.doubts
    if doubts and all(doubt.kind == SYNTAX for doubt in doubts) and isinstance(value, str) and reads_as_sql(value):
        doubts = ()
    if doubts:
        return Ternary(None, f"cannot be read as shell: {shown(doubts[0].message)}")
    return found


def _compile(pattern: ShellPattern) -> Callable[[Command], Ternary]:
    parts = [
        part
        for wanted, part in (
            (pattern.program, _program_test(pattern.program)),
            (pattern.flags != GlobChoice(), _choice_test(pattern.flags, _find_flag, "flag")),
            (pattern.args != GlobChoice(), _choice_test(pattern.args, _find_arg, "argument")),
        )
        if wanted
    ]

    def test(command: Command) -> Ternary:
        reasons, state = [], True
        for part in parts:
            outcome = part(command)
            if outcome.state is False:
                return NO
            state = state and outcome.state is True
            reasons.append(outcome.reason)
        return Ternary(state or None, f"shell {', '.join(reasons)}")

    return test


def _program_test(patterns: Sequence[str]) -> Callable[[Command], Ternary]:
    tests = [(glob_test(pattern.lower()), "/" in pattern) for pattern in patterns]
    listed = bracketed(patterns)

    def test(command: Command) -> Ternary:
        if command.program is None:
            return Ternary(None, f"program is made at run time and may be in {listed}")
        full = command.program.lower()
        if any(matches(full if with_path else command.name) for matches, with_path in tests):
            return Ternary(True, f"program {shown(command.name)} in {listed}")
        return NO

    return test


def _choice_test(
    choice: GlobChoice, find: Callable[[str, Command], bool | None], noun: str
) -> Callable[[Command], Ternary]:
    def test(command: Command) -> Ternary:
        required = [find(pattern, command) for pattern in choice.all_of]
        offered = [find(pattern, command) for pattern in choice.any_of]
        if False in required or (offered and not any(state is not False for state in offered)):
            return NO
        sure = all(required) and (not offered or True in offered)
        return Ternary(True if sure else None, _choice_reason(choice, offered, noun, sure=sure))

    return test


def _choice_reason(choice: GlobChoice, offered: Sequence[bool | None], noun: str, *, sure: bool) -> str:
    if not sure:
        return f"{noun}s made at run time may be in {bracketed([*choice.all_of, *choice.any_of])}"
    seen = [pattern for pattern, state in zip(choice.any_of, offered, strict=True) if state]
    return f"{noun} {' '.join([*choice.all_of, *seen[:1]])}"


def _find_flag(flag: str, command: Command) -> bool | None:
    """Return whether a command has a flag; ``None`` when only the running shell knows."""
    spelled = {flag}.union(*(group for group in SYNONYMS if flag in group))
    unsure = False
    for word in _options(command.words):
        if not word.certain and not word.globbed and (word.fixed == 0 or word.text.startswith("-")):
            unsure = True
        if any(form in spelled or _abbreviates(form, spelled) for form in _forms(word.text)):
            return True
    return None if unsure else False


def _options(words: Sequence[ShellWord]) -> Iterator[ShellWord]:
    for word in words:
        if word.text == "--":
            return
        if word.text.startswith("-") or not word.certain:
            yield word


def _forms(text: str) -> Iterator[str]:
    """Yield the flags in one word: ``-rf`` is also ``-r`` and ``-f``; ``--force=yes`` is also ``--force``."""
    yield text
    if text.startswith("--"):
        yield text.partition("=")[0]
    elif found := _SHORT_FLAGS.match(text):
        yield from (f"-{letter}" for letter in found.group()[1:])


def _abbreviates(form: str, spelled: set[str]) -> bool:
    return form.startswith("--") and len(form) > 2 and any(flag.startswith(form) for flag in spelled)


def _find_arg(pattern: str, command: Command) -> bool | None:
    """Return whether an argument matches a glob; ``None`` when only the running shell knows."""
    matches, head = glob_test(pattern), literal_head(pattern)
    unsure = False
    for word in command.words:
        if word.certain:
            if any(matches(text) for text in _readings(word.text)):
                return True
        elif pattern == "*":
            return True
        else:
            unsure = unsure or _may_become(word, head)
    return None if unsure else False


def _readings(text: str) -> Iterator[str]:
    """Yield an argument, the value of an option in it, and each of these as the path it comes to."""
    yield text
    values = [text]
    if text.startswith("-"):
        values.append(text.partition("=")[2] if "=" in text else text[2:])
    elif "=" in text:  # dd of=/dev/sda
        values.append(text.partition("=")[2])
    for value in values:
        yield value
        if "/" in value:
            yield posixpath.normpath(value).replace("//", "/")


def _may_become(word: ShellWord, head: str) -> bool:
    if "/.." in word.text:
        return True
    known = word.text[: word.fixed]
    if word.globbed and not known and head.startswith("/"):
        return False  # a wildcard never stands for a leading slash
    return head.startswith(known) or known.startswith(head)


def _read_pattern(data: JSON, path: Path) -> ShellPattern:
    if not isinstance(data, Mapping) or not data:
        raise PolicySetError("needs program, flags or args", path=path)
    for key in data:
        if key not in ("program", "flags", "args"):
            raise PolicySetError(f"unknown key {key!r}; known are program, flags, args", path=(*path, key))
    program = _texts(data["program"], (*path, "program")) if "program" in data else ()
    flags = _choice(data["flags"], (*path, "flags")) if "flags" in data else GlobChoice()
    args = _choice(data["args"], (*path, "args")) if "args" in data else GlobChoice()
    for flag in (*flags.any_of, *flags.all_of):
        if not flag.startswith(("-", "+")):
            raise PolicySetError(f"a flag starts with a dash; {flag!r} belongs into args", path=(*path, "flags"))
    return ShellPattern(program, flags, args)


def _choice(data: JSON, path: Path) -> GlobChoice:
    if not isinstance(data, Mapping):
        return GlobChoice(any_of=_texts(data, path))
    unknown = [key for key in data if key not in ("any_of", "all_of")]
    if unknown or not data:
        raise PolicySetError("needs any_of, all_of or both, each a list", path=(*path, *unknown[:1]))
    return GlobChoice(**{key: _texts(value, (*path, key)) for key, value in data.items()})


def _texts(data: JSON, path: Path) -> tuple[str, ...]:
    texts = data if isinstance(data, list) else [data]
    if not texts or not all(isinstance(text, str) and text for text in texts):
        raise PolicySetError("needs text or a list of texts", path=path)
    return tuple(texts)


def _describe(pattern: ShellPattern) -> str:
    parts = [f"program in {bracketed(pattern.program)}"] if pattern.program else []
    for noun, choice in (("flags", pattern.flags), ("args", pattern.args)):
        parts += [f"any of {noun} {bracketed(choice.any_of)}"] if choice.any_of else []
        parts += [f"all of {noun} {bracketed(choice.all_of)}"] if choice.all_of else []
    return f"shell {', '.join(parts)}"
