"""Parse conditions in every form that callers use: texts, bracketed lists, tuples, mappings and functions."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from collections.abc import Set as AbstractSet
from typing import Any

from ..language.terms import DomainError, HtnError, located
from .conditions import (
    COMPARISONS,
    Check,
    Compare,
    Condition,
    Equal,
    Every,
    Exists,
    ForAll,
    Literal,
    Some,
    negated,
    parts_of,
)
from .terms import (
    Arithmetic,
    Parameter,
    Term,
    Words,
    parse_number,
    parse_parameters,
    parse_term,
    read_expression,
    refuse_depth,
    term_text,
    tokens,
    unwrapped,
)

_CALL = re.compile(r'[^\s(),"]+\(.*\)', re.DOTALL)
_LIST = re.compile(r"(?:^|\s)\(")
"""A bracket that opens a list; one that follows a letter is part of a word, as in ``called f(x)``."""


def parse_conditions(value: object) -> tuple[Condition, ...]:
    """Return the conditions of a list of texts, tuples, mappings and functions, or of a single one of them."""
    if value is None:
        return ()
    if isinstance(value, str | Condition) or callable(value) or _is_form(value):
        return (parse_condition(value),)
    if isinstance(value, Mapping):
        value = [_told(name, held) for name, held in value.items()]
    return tuple(parse_condition(item) for item in ordered(value))


def _told(name: object, held: object) -> object:
    """Return the condition of an entry such as ``has_smtp: True``, ``tired: False`` or ``at: home``."""
    if isinstance(held, bool):
        return name if held else ("not", name)
    return (name, held)


def ordered(value: object) -> list[Any]:
    """Return the items of a collection in an order that is the same in every process."""
    if isinstance(value, AbstractSet):
        return sorted(value, key=order_key)
    if isinstance(value, Iterable) and not isinstance(value, str | bytes):
        return list(value)
    raise DomainError(f"{value!r} is not a list.")


def order_key(value: object) -> tuple[str, str]:
    """Return a sorting key for values of mixed types."""
    if isinstance(value, Condition):
        return (type(value).__name__, str(value))
    if isinstance(value, str | tuple | list) and not _is_nested(value):
        value = parse_term(value)
    return (type(value).__name__, term_text(value) if isinstance(value, tuple) else str(value))


def _is_nested(value: object) -> bool:
    return isinstance(value, tuple | list) and any(isinstance(part, tuple | list) for part in value)


def parse_condition(value: object) -> Condition:
    """Return the condition that a text, a tuple, a mapping or a function stands for.

    >>> parse_condition("not = ?a ?b") == parse_condition({"not": ("=", "?a", "?b")})
    True
    >>> str(parse_condition({"any": ["at home", "<= (fuel ?t) 5"]}))
    'or (at home) (<= (fuel ?t) 5)'
    >>> str(parse_condition("not (exists (?p - parcel) (lost ?p))"))
    'forall (?p - parcel) (not lost ?p)'
    """
    return _condition(value, 0)


def _condition(value: object, depth: int) -> Condition:
    refuse_depth(depth)
    if isinstance(value, Condition):
        _refuse_nesting(value, depth)
        return value
    if callable(value):
        return Check(value)
    if isinstance(value, str):
        return _text_condition(value, depth)
    if isinstance(value, Mapping) and (_is_form(value) or "name" not in value):
        return _form(value, depth)
    if isinstance(value, Words):
        return _list_condition(unwrapped(value), depth)
    if isinstance(value, tuple | list) and len(value) > 1:
        return _list_condition(tuple(value), depth)
    return _atomic(_term(value))


def _refuse_nesting(condition: Condition, depth: int) -> None:
    level = [condition]
    while level:
        refuse_depth(depth)
        level, depth = [part for each in level for part in parts_of(each)], depth + 1


def _text_condition(text: str, depth: int) -> Condition:
    """Parse words, a call such as ``at(?x)``, or bracketed lists; any of them may be preceded by ``not``."""
    stripped = text.strip()
    first, _, rest = stripped.partition(" ")
    if first == "not" and _CALL.fullmatch(rest.strip()):
        return negated(_text_condition(rest, depth + 1))
    if _CALL.fullmatch(stripped) and stripped.partition("(")[0] not in _WORDS:
        return _atomic(_term(stripped))
    if _LIST.search(stripped) or stripped.count("(") != stripped.count(")"):
        return _list_condition(read_expression(stripped), depth)
    return _plain_condition(tokens(stripped))


def _plain_condition(words: list[str]) -> Condition:
    """Parse words without brackets, of which only ``not`` and the comparisons are special."""
    negations = next((number for number, word in enumerate(words) if word != "not"), len(words))
    rest = words[negations:]
    if not rest:
        raise DomainError(
            "'not' must be followed by a fact: 'not at ?x'." if words else "An empty text is not a condition."
        )
    comparison = rest[0] in COMPARISONS and rest[0] != "="
    found = _comparison(rest[0], tuple(rest[1:])) if comparison else _atomic(tuple(rest))
    return negated(found) if negations % 2 else found


def _list_condition(parts: tuple[Any, ...], depth: int) -> Condition:
    """Parse a list whose first element is a predicate, or a condition keyword followed by lists."""
    word, rest = (parts[0], parts[1:]) if parts else ("", ())
    if not isinstance(word, str):
        return _atomic(_term(parts))
    if word == "not":
        return negated(_condition(_negated_part(parts), depth + 1))
    if word in COMPARISONS and (word != "=" or any(isinstance(part, tuple | list | Arithmetic) for part in rest)):
        return _comparison(word, rest)
    if word in _WORDS and _is_list_of_conditions(word, rest, isinstance(parts, Words)):
        return _WORDS[word](rest, depth)
    return _atomic(_term(parts))


def _negated_part(parts: tuple[Any, ...]) -> object:
    if len(parts) < 2:
        raise DomainError("'not' must be followed by a fact: 'not at ?x'.")
    if len(parts) == 2 and not (isinstance(parts, Words) and isinstance(parts[1], str)):
        return parts[1]
    return Words(parts[1:]) if isinstance(parts, Words) else parts[1:]


def _is_list_of_conditions(word: str, rest: tuple[Any, ...], from_text: bool) -> bool:
    """Return whether a condition keyword precedes conditions; before plain words it is the name of a fact."""
    given = rest[1:] if word in _QUANTIFIERS else rest
    empty = from_text and word not in _QUANTIFIERS
    return all(isinstance(part, tuple | list | Mapping | Condition) or callable(part) for part in given) and (
        bool(given) or empty
    )


def _comparison(operator: str, sides: tuple[Any, ...]) -> Compare:
    if len(sides) != 2:
        raise DomainError(f"'{operator}' has {len(sides)} numbers to compare; it takes two: '{operator} (fuel ?t) 5'.")
    return Compare(operator, parse_number(sides[0]), parse_number(sides[1]))


def _each(parts: tuple[Any, ...], depth: int) -> tuple[Condition, ...]:
    return tuple(_condition(part, depth + 1) for part in parts)


def _implied(parts: tuple[Any, ...], depth: int) -> Condition:
    if len(parts) != 2:
        raise DomainError("'imply' takes two conditions: 'imply (raining) (has umbrella)'.")
    premise, conclusion = _each(parts, depth)
    return Some((negated(premise), conclusion))


def _quantified(word: str, parts: tuple[Any, ...], depth: int) -> tuple[tuple[Parameter, ...], Condition]:
    if len(parts) != 2:
        raise DomainError(f"'{word}' takes parameters and a condition: '{word} (?p - parcel) (delivered ?p)'.")
    return _own_parameters(word, parts[0]), _condition(parts[1], depth + 1)


def _own_parameters(word: str, value: object) -> tuple[Parameter, ...]:
    parameters = parse_parameters(" ".join(map(str, value)) if isinstance(value, Words) else value)
    if not parameters:
        raise DomainError(f"'{word}' names no variable: '{word} (?p - parcel) (delivered ?p)'.")
    return parameters


_QUANTIFIERS = ("forall", "exists")
_WORDS: Mapping[Any, Callable[[tuple[Any, ...], int], Condition]] = {
    "and": lambda parts, depth: Every(_each(parts, depth)),
    "or": lambda parts, depth: Some(_each(parts, depth)),
    "imply": _implied,
    "forall": lambda parts, depth: ForAll(*_quantified("forall", parts, depth)),
    "exists": lambda parts, depth: Exists(*_quantified("exists", parts, depth)),
}
_FORMS = ("any", "all", "not", "forall", "exists")


def _is_form(value: object) -> bool:
    """Return whether a mapping is a condition such as ``{any: […]}`` rather than facts such as ``{tired: False}``."""
    return isinstance(value, Mapping) and any(key in value and not isinstance(value[key], bool) for key in _FORMS)


def _form(value: Mapping[Any, Any], depth: int) -> Condition:
    keys = set(value)
    for word, kind in (("forall", ForAll), ("exists", Exists)):
        if keys == {word, "holds"}:
            with located(word):
                parameters = _own_parameters(word, value[word])
            return kind(parameters, _listed(value, "holds", depth))
    if keys == {"any"}:
        return Some(_items(value, "any", depth))
    if keys == {"all"}:
        return Every(_items(value, "all", depth))
    if keys == {"not"}:
        return negated(_listed(value, "not", depth))
    raise DomainError(
        f"A map with the keys {', '.join(sorted(map(str, keys)))} is not a condition. "
        "Write {any: […]}, {all: […]}, {not: …}, {forall: '?p - parcel', holds: […]} or {exists: …, holds: […]}."
    )


def _items(value: Mapping[Any, Any], key: str, depth: int) -> tuple[Condition, ...]:
    given = value[key]
    found: list[Condition] = []
    for number, item in enumerate([given] if isinstance(given, str | Mapping | Condition) else ordered(given)):
        with located(key, number):
            found.append(_condition(item, depth + 1))
    return tuple(found)


def _listed(value: Mapping[Any, Any], key: str, depth: int) -> Condition:
    """Return the condition under a key, or its whole list as one; a tuple is a fact, as everywhere."""
    if not isinstance(value[key], list):
        with located(key):
            return _condition(value[key], depth + 1)
    found = _items(value, key, depth)
    return found[0] if len(found) == 1 else Every(found)


def _atomic(term: Term) -> Literal | Equal:
    if term[0] != "=":
        return Literal(term)
    if len(term) != 3:
        raise DomainError(f"'{term_text(term)}' compares {len(term) - 1} things; it takes two: '= ?a ?b'.")
    return Equal(term[1], term[2])


def _term(value: object) -> Term:
    if isinstance(value, Words) and value and not any(isinstance(part, Words) for part in value):
        return tuple(value)
    if isinstance(value, Words) and value:
        raise DomainError(f"'{_listed_text(value)}' is not a condition. Known words: not, {', '.join(_WORDS)}.")
    try:
        return parse_term(value)
    except HtnError as error:
        raise DomainError(error.message) from None


def _listed_text(words: Words) -> str:
    return " ".join(f"({_listed_text(part)})" if isinstance(part, Words) else str(part) for part in words)
