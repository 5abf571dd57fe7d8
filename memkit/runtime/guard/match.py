"""The ``match`` language: which keys of a call a policy examines, and the conditions on them."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache
from typing import NamedTuple

from .checks import (
    EQUAL,
    INSIDE,
    NO,
    PREFIX,
    RANGE,
    Need,
    Needs,
    Predicate,
    all_check,
    bracketed,
    first_of,
    glob_needs,
    glob_test,
    has_wildcards,
    not_check,
    of_any,
    of_texts,
    shown,
    surely_check,
    text_of,
)
from .conditions import any_condition, shell_check, sql_check
from .interface import JSON, Call, Path, PolicySetError, Ternary, as_list
from .kinds import KINDS, commands_in, kind_condition

_BOUNDS = {"min": operator.ge, "max": operator.le, "above": operator.gt, "below": operator.lt}


def compile_condition(data: JSON, path: Path) -> Predicate:
    """Return the compiled form of a condition; a bare string is a glob, a list means any of."""
    if isinstance(data, Mapping):
        return _compile_mapping(data, path)
    if isinstance(data, list):
        return _compile_list(data, path)
    if isinstance(data, str):
        return _glob(data, path)
    return _equals(data, path)


def _compile_mapping(data: Mapping[str, JSON], path: Path) -> Predicate:
    if not data:
        raise PolicySetError("the condition is empty; name at least one operator", path=path)
    parts = []
    for name, operand in data.items():
        if name not in OPERATORS:
            raise PolicySetError(f"unknown operator {name!r}{suggestion(str(name), OPERATORS)}", path=(*path, name))
        parts.append(OPERATORS[name](operand, (*path, name)))
    return parts[0] if len(parts) == 1 else all_check(parts, path)


def _compile_list(data: list[JSON], path: Path) -> Predicate:
    if not data:
        raise PolicySetError("the list is empty and could never match", path=path)
    if all(isinstance(item, str) for item in data):
        return _globs(data, path)
    return any_condition([compile_condition(item, (*path, index)) for index, item in enumerate(data)], path)


def suggestion(word: str, known: Mapping[str, object] | tuple[str, ...]) -> str:
    """Return "; did you mean …?" for a misspelt word, or the list of known words."""
    import difflib  # used only for an unknown word

    close = difflib.get_close_matches(word, list(known), n=1)
    return f"; did you mean {close[0]!r}?" if close else f"; known are {', '.join(known)}"


def _glob(pattern: JSON, path: Path) -> Predicate:
    if isinstance(pattern, list):
        return _globs(pattern, path)
    matches = glob_test(_text(pattern, path))
    says = f"like {pattern}" if has_wildcards(pattern) else f"equal to {pattern}"
    return _text_leaf(matches, says, path, lambda: glob_needs(pattern))


def _globs(patterns: list[JSON], path: Path) -> Predicate:
    tests = [glob_test(_text(pattern, (*path, index))) for index, pattern in enumerate(patterns)]
    return _text_leaf(
        lambda text: any(test(text) for test in tests),
        f"in {bracketed(patterns)}", path, lambda: of_any(map(glob_needs, patterns)),
    )  # fmt: skip


def _text_leaf(matches: Callable[[str], bool], says: str, path: Path, needs: Callable[[], Needs]) -> Predicate:
    def test(value: JSON) -> Ternary:
        text = value if isinstance(value, str) else text_of(value)
        if text is None or not matches(text):
            return NO
        return Ternary(True, f"{shown(text)} {says}")

    return Predicate(test, lambda: says, path, accepts=matches, tells_needs=needs)


def _text(data: JSON, path: Path) -> str:
    if not isinstance(data, str):
        raise PolicySetError("needs text", path=path)
    return data


def _scalar(data: JSON, path: Path) -> JSON:
    if isinstance(data, (Mapping, list)) or data is None:
        raise PolicySetError("needs text, a number, true or false", path=path)
    return data


def _equals(data: JSON, path: Path) -> Predicate:
    expected = text_of(_scalar(data, path)) or ""
    return _text_leaf(expected.__eq__, f"equal to {expected}", path, lambda: of_texts(EQUAL, [expected]))


def _in(data: JSON, path: Path) -> Predicate:
    if not isinstance(data, list) or not data:
        raise PolicySetError("needs a list of values", path=path)
    members = {text_of(_scalar(item, (*path, index))) or "" for index, item in enumerate(data)}
    return _text_leaf(members.__contains__, f"in {bracketed(data)}", path, lambda: of_texts(EQUAL, members))


def _prefix(data: JSON, path: Path) -> Predicate:
    prefixes = tuple(data) if isinstance(data, list) and data else (data,)
    for prefix in prefixes:
        _text(prefix, path)
    says = f"starts with {bracketed(prefixes)}"
    return _text_leaf(lambda text: text.startswith(prefixes), says, path, lambda: of_texts(PREFIX, prefixes))


def _regex(data: JSON, path: Path) -> Predicate:
    try:
        search, needs = _pattern(_text(data, path))
    except PolicySetError as fault:
        raise PolicySetError(fault.message, path=path) from None
    return _text_leaf(search, f"matches /{shown(data)}/", path, lambda: needs)


@lru_cache(maxsize=4096)
def _pattern(pattern: str) -> tuple[Callable[[str], bool], Needs]:
    """Return the search for a pattern and its needs; reused after a reload, with its cache."""
    from .dfa import Dfa, required_literals  # few sets need it
    from .regex import compile_regex, parse_regex

    tree = parse_regex(pattern)
    return Dfa(compile_regex(pattern)).search, of_texts(INSIDE, required_literals(tree))


def _kind(data: JSON, path: Path) -> Predicate:
    kind_condition(data, path)
    kinds = tuple(as_list(data))

    def matches(text: str) -> bool:
        named = _of_kinds(kinds)
        return named.accepts(text) if named.accepts else named.on(text).state is True

    return _text_leaf(matches, f"of the kind {bracketed(kinds)}", path, lambda: _of_kinds(kinds).needs)


@lru_cache(maxsize=64)
def _of_kinds(kinds: tuple[str, ...]) -> Predicate:
    """Return the condition on a tool's name, built for the first call: it has many patterns and serves all policies."""
    return compile_condition(kind_condition([*kinds], ()), ())


def compile_kinds() -> None:
    """Compile the patterns of all kinds of tools, for processes that are forked from this one."""
    _of_kinds(tuple(KINDS))


def _range(data: JSON, path: Path) -> Predicate:
    bounds = _read_bounds(data, path)
    says = " and ".join(f"{name} {bound:g}" for name, bound in bounds.items())

    def test(value: JSON) -> Ternary:
        number = number_of(value)
        if number is None:
            return Ternary(None, f"{shown(text_of(value))} is not a number to compare with {says}")
        inside = all(_BOUNDS[name](number, bound) for name, bound in bounds.items())
        return Ternary(True, f"{number:g} within {says}") if inside else NO

    low = max(bounds.get("min", -math.inf), bounds.get("above", -math.inf))
    high = min(bounds.get("max", math.inf), bounds.get("below", math.inf))
    needs = frozenset([Need(RANGE, low=low, high=high)])
    return Predicate(test, lambda: f"within {says}", path, tells_needs=lambda: needs)


def _read_bounds(data: JSON, path: Path) -> dict[str, float]:
    if not isinstance(data, Mapping) or not data:
        raise PolicySetError("needs min and max (both included) or above and below (both left out)", path=path)
    for name, bound in data.items():
        if name not in _BOUNDS:
            raise PolicySetError(f"unknown bound {name!r}{suggestion(str(name), _BOUNDS)}", path=(*path, name))
        if isinstance(bound, bool) or not isinstance(bound, (int, float)) or not math.isfinite(bound):
            raise PolicySetError("needs a finite number", path=(*path, name))
    return dict(data)


def number_of(value: JSON) -> float | None:
    """Return the number that a range examines, or ``None`` if the value is not a number."""
    if isinstance(value, bool):
        return None
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        return None
    return None if math.isnan(number) else number


def _combine(build: Callable[[list[Predicate], Path], Predicate]) -> Callable[[JSON, Path], Predicate]:
    def compile_parts(data: JSON, path: Path) -> Predicate:
        if not isinstance(data, list) or not data:
            raise PolicySetError("needs a list of conditions", path=path)
        return build([compile_condition(item, (*path, index)) for index, item in enumerate(data)], path)

    return compile_parts


OPERATORS: dict[str, Callable[[JSON, Path], Predicate]] = {
    "equals": _equals,
    "in": _in,
    "glob": _glob,
    "prefix": _prefix,
    "range": _range,
    "regex": _regex,
    "shell": shell_check,
    "sql": sql_check,
    "any": _combine(any_condition),
    "all": _combine(all_check),
    "not": lambda data, path: not_check(compile_condition(data, path), path),
    "surely": lambda data, path: surely_check(compile_condition(data, path), path),
}
"""Every operator of a condition with the function that compiles it."""


_ROOTS = ("args", "context")
TOOL_KEYS = ("tool", "tool_kind")


Test = Callable[[Call], Ternary]


class Clause(NamedTuple):
    """One key of a ``match`` with the condition on its value."""

    key: str
    check: Predicate
    path: Path
    test: Test
    """Returns the clause's answer for a call; an absent value matches nothing."""
    of_kind: bool = False
    """Whether ``args.command`` stands for any argument with which a tool of the kind receives its command."""


class Alternative(NamedTuple):
    """Clauses that must all hold; a ``match`` that is a list has several alternatives."""

    clauses: tuple[Clause, ...]
    tools: tuple[Clause, ...] = ()
    """The clauses on the tool's name alone: ``tool`` and ``tool_kind``."""
    names: frozenset[str] | None = None
    """The tools that it can apply to, if the condition lists them; ``None`` if every tool has to be tested."""

    def for_tool(self, tool: str) -> Test | None:
        """Return the remaining test for calls of this tool, or ``None`` if it cannot match."""
        known = _every(tuple(clause.test for clause in self.tools))(Call(tool)) if self.tools else None
        if known is not None and known.state is False:
            return None
        if known is not None and not (known.state and self.clauses):  # the tool alone decides, or the answer is unknown
            return _every((lambda call: known, *(clause.test for clause in self.clauses)))
        tests = tuple(clause.test for clause in self.clauses)
        return tests[0] if len(tests) == 1 else _every(tests)

    def test(self, call: Call) -> Ternary:
        """Return whether every clause holds, with the reasons of those that examine more than the tool."""
        test = self.for_tool(call.tool)
        return test(call) if test else NO


def make_clause(key: str, check: Predicate, path: Path, *, of_kind: bool = False) -> Clause:
    """Return a clause with its test; the usual one-part name is looked up without a search."""
    root, _, name = key.partition(".")
    if root in TOOL_KEYS:
        return Clause(key, check, path, lambda call: _named("tool", check.on(call.tool)))
    if of_kind:
        return Clause(key, check, path, _commands_test(check), of_kind=True)
    if is_searching(key):
        return Clause(key, check, path, _searching_test(root, name, check))
    return Clause(key, check, path, _direct_test(root, name, check))


def values_under(clause: Clause, call: Call) -> list[JSON]:
    """Return the values that a clause on arguments or context examines; if there are none, it answers ``NO``."""
    if clause.of_kind:
        return [value for _, value in commands_in(call)[0]]
    root, _, name = clause.key.partition(".")
    data = call.args if root == "args" else call.context
    if is_searching(clause.key):
        return [value for _, value in find_values(data, name, root)]
    return [data[name]] if name in data else []


def is_searching(key: str) -> bool:
    """Return whether a key may stand for several values, or for one that is nested deeper."""
    name = key.partition(".")[2]
    return "." in name or name == "*"


def _direct_test(root: str, name: str, check: Predicate) -> Test:
    of_args, key, on, accepts = root == "args", f"{root}.{name}", check.on, check.accepts

    def test(call: Call) -> Ternary:
        data = call.args if of_args else call.context
        if name not in data:
            return NO
        value = data[name]
        if accepts and isinstance(value, str) and not accepts(value):  # most calls end here, so it comes first
            return NO
        outcome = on(value)
        return outcome if outcome is NO else _named(key, outcome)

    return test


def _searching_test(root: str, name: str, check: Predicate) -> Test:
    def test(call: Call) -> Ternary:
        data = call.args if root == "args" else call.context
        return first_of(_named(key, check.on(value)) for key, value in find_values(data, name, root))

    return test


def _commands_test(check: Predicate) -> Test:
    def test(call: Call) -> Ternary:
        found, named = commands_in(call)
        outcome = first_of(_named(key, check.on(value)) for key, value in found)
        return outcome if outcome.state or named else NO

    return test


def _named(key: str, outcome: Ternary) -> Ternary:
    return outcome if outcome.state is False else Ternary(outcome.state, f"{key}: {outcome.reason}")


def _every(tests: tuple[Test, ...]) -> Test:
    def test(call: Call) -> Ternary:
        outcomes = []
        for part in tests:
            outcome = part(call)
            if outcome.state is False:
                return NO
            outcomes.append(outcome)
        state = None if any(outcome.state is None for outcome in outcomes) else True
        return Ternary(state, "; ".join(outcome.reason for outcome in outcomes))

    return test


def find_values(data: JSON, name: str, spelled: str) -> Iterator[tuple[str, JSON]]:
    """Yield the values that a dotted name stands for, with the full name of each.

    A name may itself contain dots, ``*`` stands for any name, and lists on the way are searched: a call must not
    escape a policy by the shape of its arguments.
    """
    if isinstance(data, (list, tuple)):
        for element in data:
            yield from find_values(element, name, spelled)
    if not isinstance(data, Mapping):
        return
    if name in data:
        yield f"{spelled}.{name}", data[name]
    head, dot, rest = name.partition(".")
    for key in [*data] if head == "*" else [head]:
        if key not in data or (not dot and head != "*"):
            continue
        if dot:
            yield from find_values(data[key], rest, f"{spelled}.{key}")
        else:
            yield f"{spelled}.{key}", data[key]


def compile_match(data: JSON, path: Path, *, context_only: bool = False) -> tuple[Alternative, ...]:
    """Return the compiled alternatives; ``context_only`` is the rule for exceptions."""
    if isinstance(data, list) and data:
        return tuple(_alternative(item, (*path, index), context_only) for index, item in enumerate(data))
    return (_alternative(data, path, context_only),)


def _alternative(data: JSON, path: Path, context_only: bool) -> Alternative:
    if not isinstance(data, Mapping) or not data:
        raise PolicySetError("needs keys such as tool, args.<name> or context.<name>, each with a condition", path=path)
    clauses = []
    for key, condition in data.items():
        place = (*path, key)
        _check_key(key, place, context_only)
        check = _kind(condition, place) if key == "tool_kind" else compile_condition(condition, place)
        clauses.append(make_clause(key, check, place, of_kind=key == "args.command" and "tool_kind" in data))
    tools = tuple(clause for clause in clauses if clause.key in TOOL_KEYS)
    return Alternative(tuple(clause for clause in clauses if clause not in tools), tools, _listed(data.get("tool")))


def _listed(condition: JSON) -> frozenset[str] | None:
    """Return the names that a condition on the tool lists; ``None`` if it is more than a list of names."""
    if isinstance(condition, Mapping) and len(condition) == 1:
        ((operator, condition),) = condition.items()
        if operator == "in":
            return frozenset(text_of(name) or "" for name in condition)
        if operator not in ("glob", "equals"):
            return None
    names = as_list(condition)
    if all(isinstance(name, str) and not has_wildcards(name) for name in names):
        return frozenset(names)
    return None


def _check_key(key: JSON, path: Path, context_only: bool) -> None:
    if not isinstance(key, str):
        raise PolicySetError("a key of match must be text", path=path)
    root, _, name = key.partition(".")
    if context_only and root != "context":
        raise PolicySetError("an exception reads only context.<name>, which the host program sets", path=path)
    if key in TOOL_KEYS or (root in _ROOTS and all(name.split("."))):
        return
    raise PolicySetError(f"unknown key {key!r}; known are tool, tool_kind, args.<name>, context.<name>", path=path)
