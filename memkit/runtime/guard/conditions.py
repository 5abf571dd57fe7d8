"""The ``match`` language on one value: from plain data to a compiled check."""

from __future__ import annotations

import difflib
import math
import operator
from collections.abc import Callable, Mapping

from .automaton import compile_regex
from .checks import NO, Check, all_check, any_check, not_check
from .errors import Path, PolicySetError
from .globs import glob_test, has_wildcards
from .interface import JSON, Outcome
from .shell import shell_check
from .sql import sql_check
from .texts import bracketed, shown, text_of

_BOUNDS = {"min": operator.ge, "max": operator.le, "above": operator.gt, "below": operator.lt}


def compile_condition(data: JSON, path: Path) -> Check:
    """Return the compiled form of a condition; a bare string is a glob, a list means any of."""
    if isinstance(data, Mapping):
        return _compile_mapping(data, path)
    if isinstance(data, list):
        return _compile_list(data, path)
    if isinstance(data, str):
        return _glob(data, path)
    return _equals(data, path)


def _compile_mapping(data: Mapping[str, JSON], path: Path) -> Check:
    if not data:
        raise PolicySetError("the condition is empty; name at least one operator", path=path)
    parts = []
    for name, operand in data.items():
        if name not in OPERATORS:
            raise PolicySetError(f"unknown operator {name!r}{suggestion(str(name), OPERATORS)}", path=(*path, name))
        parts.append(OPERATORS[name](operand, (*path, name)))
    return parts[0] if len(parts) == 1 else all_check(parts, path)


def _compile_list(data: list[JSON], path: Path) -> Check:
    if not data:
        raise PolicySetError("the list is empty and could never match", path=path)
    if all(isinstance(item, str) for item in data):
        return _globs(data, path)
    return any_check([compile_condition(item, (*path, index)) for index, item in enumerate(data)], path)


def suggestion(word: str, known: Mapping[str, object] | tuple[str, ...]) -> str:
    """Return "; did you mean …?" for a misspelt word, or the list of what is known."""
    close = difflib.get_close_matches(word, list(known), n=1)
    return f"; did you mean {close[0]!r}?" if close else f"; known are {', '.join(known)}"


def _glob(pattern: JSON, path: Path) -> Check:
    if isinstance(pattern, list):
        return _globs(pattern, path)
    matches = glob_test(_text(pattern, path))
    return _text_leaf(matches, f"like {pattern}" if has_wildcards(pattern) else f"equal to {pattern}", path)


def _globs(patterns: list[JSON], path: Path) -> Check:
    tests = [glob_test(_text(pattern, (*path, index))) for index, pattern in enumerate(patterns)]
    return _text_leaf(lambda text: any(test(text) for test in tests), f"in {bracketed(patterns)}", path)


def _text_leaf(matches: Callable[[str], bool], says: str, path: Path) -> Check:
    def test(value: JSON) -> Outcome:
        text = value if isinstance(value, str) else text_of(value)
        if text is None or not matches(text):
            return NO
        return Outcome(True, f"{shown(text)} {says}")

    return Check(test, says, path, accepts=matches)


def _text(data: JSON, path: Path) -> str:
    if not isinstance(data, str):
        raise PolicySetError(f"needs text, not {type(data).__name__}", path=path)
    return data


def _scalar(data: JSON, path: Path) -> JSON:
    if isinstance(data, (Mapping, list)) or data is None:
        raise PolicySetError("needs text, a number, true or false", path=path)
    return data


def _equals(data: JSON, path: Path) -> Check:
    expected = _scalar(data, path)
    return _text_leaf((text_of(expected) or "").__eq__, f"equal to {text_of(expected)}", path)


def _in(data: JSON, path: Path) -> Check:
    if not isinstance(data, list) or not data:
        raise PolicySetError("needs a list of values", path=path)
    members = {text_of(_scalar(item, (*path, index))) for index, item in enumerate(data)}
    return _text_leaf(members.__contains__, f"in {bracketed(data)}", path)


def _prefix(data: JSON, path: Path) -> Check:
    prefixes = tuple(data) if isinstance(data, list) and data else (data,)
    for prefix in prefixes:
        _text(prefix, path)
    return _text_leaf(lambda text: text.startswith(prefixes), f"starts with {bracketed(prefixes)}", path)


def _regex(data: JSON, path: Path) -> Check:
    automaton = compile_regex(_text(data, path), path)
    return _text_leaf(automaton.search, f"matches /{data}/", path)


def _range(data: JSON, path: Path) -> Check:
    bounds = _read_bounds(data, path)
    says = " and ".join(f"{name} {bound:g}" for name, bound in bounds.items())

    def test(value: JSON) -> Outcome:
        number = _number(value)
        if number is None:
            return Outcome(None, f"{shown(text_of(value))} is not a number to compare with {says}")
        inside = all(_BOUNDS[name](number, bound) for name, bound in bounds.items())
        return Outcome(True, f"{number:g} within {says}") if inside else NO

    return Check(test, f"within {says}", path)


def _read_bounds(data: JSON, path: Path) -> dict[str, float]:
    if not isinstance(data, Mapping) or not data:
        raise PolicySetError("needs min and max (both included) or above and below (both left out)", path=path)
    for name, bound in data.items():
        if name not in _BOUNDS:
            raise PolicySetError(f"unknown bound {name!r}{suggestion(str(name), _BOUNDS)}", path=(*path, name))
        if isinstance(bound, bool) or not isinstance(bound, (int, float)) or not math.isfinite(bound):
            raise PolicySetError("needs a finite number", path=(*path, name))
    return dict(data)


def _number(value: JSON) -> float | None:
    if isinstance(value, bool):
        return None
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        return None
    return None if math.isnan(number) else number


def _combine(build: Callable[[list[Check], Path], Check]) -> Callable[[JSON, Path], Check]:
    def compile_parts(data: JSON, path: Path) -> Check:
        if not isinstance(data, list) or not data:
            raise PolicySetError("needs a list of conditions", path=path)
        return build([compile_condition(item, (*path, index)) for index, item in enumerate(data)], path)

    return compile_parts


def _not(data: JSON, path: Path) -> Check:
    return not_check(compile_condition(data, path), path)


OPERATORS: dict[str, Callable[[JSON, Path], Check]] = {
    "equals": _equals,
    "in": _in,
    "glob": _glob,
    "prefix": _prefix,
    "range": _range,
    "regex": _regex,
    "shell": shell_check,
    "sql": sql_check,
    "any": _combine(any_check),
    "all": _combine(all_check),
    "not": _not,
}
"""Every operator of a condition with the function that compiles it."""
