"""The ``shell`` and ``sql`` conditions: patterns for a command or a statement that a value would run.

The parsers are imported for the first value examined, which most processes never do.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache, lru_cache
from typing import TYPE_CHECKING, NamedTuple

from .checks import (
    NO,
    PROGRAM,
    STATEMENT,
    Needs,
    Predicate,
    any_check,
    bracketed,
    first_of,
    glob_test,
    has_wildcards,
    literal_head,
    of_texts,
    shown,
)
from .interface import JSON, Path, PolicySetError, Ternary, as_list

if TYPE_CHECKING:
    from .shell import Command, ShellView
    from .shell_words import ShellWord
    from .sql_text import SqlStatement

SYNONYMS = (frozenset({"--recursive", "-r", "-R"}), frozenset({"--force", "-f"}))
_SHORT_FLAGS = re.compile(r"-[A-Za-z0-9?]+")
_SHORT = 2
_NAMED = re.compile(r"[\w.-]+=")


class GlobChoice(NamedTuple):
    """Globs of which any, or all, must be found, and others that must not be."""

    any_of: tuple[str, ...] = ()
    all_of: tuple[str, ...] = ()
    none_of: tuple[str, ...] = ()


class ShellPattern(NamedTuple):
    """The pattern of a command."""

    program: tuple[str, ...] = ()
    verb: tuple[str, ...] = ()
    flags: GlobChoice = GlobChoice()
    args: GlobChoice = GlobChoice()
    exempt: tuple[str, ...] = ()
    """Programs whose verbs mean something else."""


@cache
def _reader() -> Callable[[JSON], ShellView | None]:
    from .shell import view_of

    return view_of


def shell_check(data: JSON, path: Path) -> Predicate:
    """Return the compiled ``shell`` condition."""
    pattern = _read_pattern(data, path)
    judge: Callable[[Command], Ternary] | None = None  # most of those in a set of policies never meet a command
    redirected = ">" in pattern.program
    lowered = [name.lower() for name in pattern.program]
    named = frozenset() if any(has_wildcards(name) or "/" in name for name in lowered) else frozenset(lowered)

    def test(value: JSON) -> Ternary:
        nonlocal judge
        view = _reader()(value)
        if view is None:
            return Ternary(None, "it is not text, so it cannot be read as shell")
        if named and view.names is not None and named.isdisjoint(view.names):  # most patterns end here
            return NO
        commands = (*view.commands, *view.redirections) if redirected else view.commands
        ask = judge = judge or _compile(pattern)
        found = first_of(ask(command) for command in commands)
        return found if found.state else _doubtful(view, value, found)

    def needs() -> Needs:
        return of_texts(PROGRAM, named)

    return Predicate(test, lambda: _describe(pattern), path, whole=True, tells_needs=needs)


_MANY = 8


def any_condition(children: Sequence[Predicate], path: Path) -> Predicate:
    """Return a condition that holds if one of ``children`` does; of many about programs, only a few are evaluated."""
    return any_check(children, path, _worth_asking(tuple(children)))


def _worth_asking(parts: tuple[Predicate, ...]) -> Callable[[JSON], Sequence[Predicate]] | None:
    """Return a function that selects, from many conditions, those about a program the value would run, in order."""
    if len(parts) < _MANY:
        return None

    @cache
    def wanted() -> list[frozenset[str]]:
        """Return the programs that each is about, computed for the first value; empty if it is about something else."""
        return [
            frozenset(need.text for need in part.needs)
            if all(need.kind == PROGRAM for need in part.needs)
            else frozenset()
            for part in parts
        ]

    @lru_cache(maxsize=512)
    def running(names: frozenset[str]) -> tuple[Predicate, ...]:
        return tuple(part for part, own in zip(parts, wanted(), strict=True) if not own or not own.isdisjoint(names))

    @cache
    def is_worth_it() -> bool:
        return sum(map(bool, wanted())) >= _MANY

    def choose(value: JSON) -> Sequence[Predicate]:
        if not is_worth_it():
            return parts
        view = _reader()(value)
        return running(view.names) if view and view.names is not None else parts

    return choose


def _doubtful(view: ShellView, value: JSON, found: Ternary) -> Ternary:
    """Return unknown if the view has gaps; a text that is plain SQL does not count as broken shell."""
    if not view.doubts:
        return found
    from .shell_words import SYNTAX
    from .sql_text import reads_as_sql

    if all(doubt.kind == SYNTAX for doubt in view.doubts) and isinstance(value, str) and reads_as_sql(value):
        return found
    return Ternary(None, f"cannot be read as shell: {shown(view.doubts[0].message)}")


def _compile(pattern: ShellPattern) -> Callable[[Command], Ternary]:
    parts = [
        part
        for wanted, part in (
            (pattern.exempt, _exempt_test(pattern.exempt)),
            (pattern.program, _program_test(pattern.program)),
            (pattern.verb, _verb_test(pattern.verb)),
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
    lowered = [pattern.lower() for pattern in patterns]
    names = frozenset(pattern for pattern in lowered if "/" not in pattern and not has_wildcards(pattern))
    tests = [(glob_test(pattern), "/" in pattern) for pattern in lowered if pattern not in names]
    listed = bracketed(patterns)

    def test(command: Command) -> Ternary:
        if command.program is None:
            return Ternary(None, f"program is made at run time and may be in {listed}")
        found = command.name in names
        if not found and tests:
            full = command.program.lower()
            found = any(matches(full if with_path else command.name) for matches, with_path in tests)
        if found:
            return Ternary(True, f"program {shown(command.name)} in {listed}")
        return NO

    return test


def _exempt_test(patterns: Sequence[str]) -> Callable[[Command], Ternary]:
    tests = [glob_test(pattern.lower()) for pattern in patterns]
    passes = Ternary(True, f"program not in {bracketed(patterns)}")
    return lambda command: NO if any(test(command.name) for test in tests) else passes


def _verb_test(patterns: Sequence[str]) -> Callable[[Command], Ternary]:
    lowered = [pattern.lower() for pattern in patterns]
    names = frozenset(pattern for pattern in lowered if not has_wildcards(pattern))
    tests = [glob_test(pattern) for pattern in lowered if pattern not in names]
    listed = bracketed(patterns)

    def test(command: Command) -> Ternary:
        unsure = command.program is None
        for word in command.verbs:
            text = word.text.lower()
            if word.certain and (text in names or any(matches(text) for matches in tests)):
                return Ternary(True, f"verb {shown(word.text)} in {listed}")
            unsure = unsure or not word.certain
        return Ternary(None, f"a verb made at run time may be in {listed}") if unsure else NO

    return test


def _choice_test(
    choice: GlobChoice, find: Callable[[str, Command], bool | None], noun: str
) -> Callable[[Command], Ternary]:
    def test(command: Command) -> Ternary:
        required = [find(pattern, command) for pattern in choice.all_of]
        offered = [find(pattern, command) for pattern in choice.any_of]
        if any(find(pattern, command) for pattern in choice.none_of) and not _as_value(choice.none_of, command):
            return NO
        if False in required or (offered and not any(state is not False for state in offered)):
            return NO
        sure = all(required) and (not offered or True in offered)
        return Ternary(True if sure else None, _choice_reason(choice, offered, noun, sure=sure))

    return test


_TAKES_NONE = (
    r"-[a-zA-Z]{2,}|-[afinqrvxyR]|--(?:force|yes|quiet|recursive|verbose|all|wait|delete\S*|no-\S+)"
    r"|--(?:archive|auto-approve|prune)|.*=.*"
)
"""Options that take no value."""


def _as_value(flags: Sequence[str], command: Command) -> bool:
    """Return whether help or a preview is requested only in a word that may be another option's value."""
    found = False
    for before, word in zip((None, *command.words), command.words, strict=False):
        if word.text in flags and len(word.text) > _SHORT:
            if before is None or not before.text.startswith("-") or re.fullmatch(_TAKES_NONE, before.text):
                return False
            found = True
    return found


def _choice_reason(choice: GlobChoice, offered: Sequence[bool | None], noun: str, *, sure: bool) -> str:
    if not sure:
        return f"{noun}s made at run time may be in {bracketed([*choice.all_of, *choice.any_of])}"
    if not (choice.all_of or choice.any_of):
        return f"no {noun} in {bracketed(choice.none_of)}"
    seen = [pattern for pattern, state in zip(choice.any_of, offered, strict=True) if state]
    return f"{noun} {' '.join([*choice.all_of, *seen[:1]])}"


def _find_flag(flag: str, command: Command) -> bool | None:
    """Return whether a command has a flag; ``None`` if only the running shell knows."""
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
    """Return whether an argument matches a glob; ``None`` if only the running shell knows."""
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
    """Yield an argument, the option value in it, and the normalised path of each."""
    yield text
    values = [text]
    if text.startswith("-"):
        if "=" in text:
            values.append(text.partition("=")[2])
        elif not text.startswith("--"):
            values.append(text[2:])
    elif _NAMED.match(text):  # dd of=/dev/sda
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
        raise PolicySetError("needs program, verb, flags or args", path=path)
    known = ("program", "except", "verb", "flags", "args")
    for key in data:
        if key not in known:
            raise PolicySetError(f"unknown key {key!r}; known are {', '.join(known)}", path=(*path, key))
    if "except" in data and "program" in data:
        raise PolicySetError("except cannot be combined with program", path=(*path, "except"))
    program = _texts(data["program"], (*path, "program")) if "program" in data else ()
    verb = _texts(data["verb"], (*path, "verb")) if "verb" in data else ()
    flags = _choice(data["flags"], (*path, "flags")) if "flags" in data else GlobChoice()
    args = _choice(data["args"], (*path, "args")) if "args" in data else GlobChoice()
    for flag in (*flags.any_of, *flags.all_of, *flags.none_of):
        if not flag.startswith(("-", "+")):
            raise PolicySetError(f"a flag starts with a dash; {flag!r} belongs in args", path=(*path, "flags"))
    return ShellPattern(
        program, verb, flags, args, _texts(data["except"], (*path, "except")) if "except" in data else ()
    )


def _choice(data: JSON, path: Path) -> GlobChoice:
    if not isinstance(data, Mapping):
        return GlobChoice(any_of=_texts(data, path))
    unknown = [key for key in data if key not in ("any_of", "all_of", "none_of")]
    if unknown or not data:
        raise PolicySetError("needs any_of, all_of, none_of or several, each a list", path=(*path, *unknown[:1]))
    return GlobChoice(**{key: _texts(value, (*path, key)) for key, value in data.items()})


def _texts(data: JSON, path: Path) -> tuple[str, ...]:
    texts = as_list(data)
    if not texts or not all(isinstance(text, str) and text for text in texts):
        raise PolicySetError("needs text or a list of texts", path=path)
    return tuple(texts)


def _describe(pattern: ShellPattern) -> str:
    parts = [f"program in {bracketed(pattern.program)}"] if pattern.program else []
    parts += [f"program not in {bracketed(pattern.exempt)}"] if pattern.exempt else []
    parts += [f"verb in {bracketed(pattern.verb)}"] if pattern.verb else []
    for noun, choice in (("flags", pattern.flags), ("args", pattern.args)):
        parts += [f"any of {noun} {bracketed(choice.any_of)}"] if choice.any_of else []
        parts += [f"all of {noun} {bracketed(choice.all_of)}"] if choice.all_of else []
        parts += [f"none of {noun} {bracketed(choice.none_of)}"] if choice.none_of else []
    return f"shell {', '.join(parts)}"


def sql_check(data: JSON, path: Path) -> Predicate:
    """Return the compiled ``sql`` condition."""
    if not isinstance(data, Mapping) or not data:
        raise PolicySetError("needs statement, table or both", path=path)
    for key in data:
        if key not in ("statement", "table"):
            raise PolicySetError(f"unknown key {key!r}; known are statement, table", path=(*path, key))
    statements, tables = _names(data, "statement", path), _names(data, "table", path)
    on_statement = _statement_test(statements, tables)

    def test(value: JSON) -> Ternary:
        from .shell import sql_views

        views = list(sql_views(value))
        found = first_of(on_statement(statement) for view in views for statement in view.lasting())
        doubt = next((view.doubts[0] for view in views if view.doubts), None)
        return found if found.state or doubt is None else Ternary(None, f"cannot be read as SQL: {doubt}")

    def needs() -> Needs:
        return of_texts(STATEMENT, (statement.lower().split()[0] for statement in statements))

    return Predicate(test, lambda: _describe_sql(statements, tables), path, whole=True, tells_needs=needs)


def _statement_test(statements: Sequence[str], tables: Sequence[str]) -> Callable[[SqlStatement], Ternary]:
    wanted = [tuple(statement.lower().split()) for statement in statements]
    table_tests = [glob_test(table.lower()) for table in tables]
    listed = bracketed(statements)

    def test(statement: SqlStatement) -> Ternary:
        if wanted and not any(map(statement.opens_with, wanted)):
            return NO
        named = _matching_table(statement, table_tests) if tables else ""
        if named is None:
            return NO
        kind = f"sql statement {statement.words[0]} in {listed}" if wanted else f"sql statement {statement.words[0]}"
        return Ternary(True, f"{kind}, table {named} in {bracketed(tables)}" if tables else kind)

    return test


def _matching_table(statement: SqlStatement, tests: Sequence[Callable[[str], bool]]) -> str | None:
    for table in sorted(statement.tables):
        if any(matches(table) or matches(table.rpartition(".")[2]) for matches in tests):
            return table
    return None


def _names(data: Mapping[str, JSON], key: str, path: Path) -> tuple[str, ...]:
    if key not in data:
        return ()
    value = data[key]
    texts = as_list(value)
    if not texts or not all(isinstance(text, str) and text.strip() for text in texts):
        raise PolicySetError("needs text or a list of texts", path=(*path, key))
    return tuple(texts)


def _describe_sql(statements: Sequence[str], tables: Sequence[str]) -> str:
    parts = [f"statement in {bracketed(statements)}"] if statements else []
    parts += [f"table in {bracketed(tables)}"] if tables else []
    return f"sql {', '.join(parts)}"
