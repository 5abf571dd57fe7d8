"""Terms: a name and its arguments, written as text ("at home"), as a tuple or as a name with a list."""

from __future__ import annotations

import json
import re
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from .errors import DomainError, HtnError

Term = tuple[Any, ...]
"""A name followed by its arguments; a string that starts with ``?`` is a variable."""

ROOT_TYPE = "object"
_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[^\s"]+')
_CALL = re.compile(r'([^\s(),"]+)\((.*)\)', re.DOTALL)
_NEEDS_QUOTES = re.compile(r'[\s"(),]')


@dataclass(frozen=True)
class Parameter:
    """A variable of a head and the type its values have."""

    name: str
    type: str = ROOT_TYPE


@dataclass(frozen=True)
class Head:
    """A name with arguments (variables or constants) and the types of its variables."""

    name: str
    args: Term = ()
    types: Mapping[str, str] | None = None

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        """Return the variables in order, each once, with their types."""
        types = self.types or {}
        names = dict.fromkeys(arg for arg in self.args if is_variable(arg))
        return tuple(Parameter(name, types.get(name, ROOT_TYPE)) for name in names)


VARIABLE = re.compile(r"\?\w[\w-]*")
"""A variable inside a text."""


def is_variable(value: object) -> bool:
    """Return whether a term's argument is a variable."""
    return isinstance(value, str) and value.startswith("?")


def variables_of(term: Sequence[Any]) -> list[str]:
    """Return the variables of a term in order, each once."""
    # Compiling a domain asks this a few hundred times, so it calls nothing for each part.
    return [part for part in dict.fromkeys(term) if isinstance(part, str) and part[:1] == "?"]


def parse_term(value: object) -> Term:
    """Return the term that text, a tuple, a list, a name with arguments or a step stands for.

    >>> parse_term("deliver book shop") == parse_term(("deliver", ["book", "shop"]))
    True
    """
    if isinstance(value, str):
        return _parse_text(value)
    if isinstance(value, Mapping):
        return _from_parts(value.get("name"), value.get("args", ()))
    if isinstance(value, tuple | list) and value:
        rest = value[1] if len(value) == 2 and isinstance(value[1], tuple | list) else value[1:]
        return parse_term(value[0]) if len(value) == 1 else _from_parts(value[0], rest)
    if hasattr(value, "name") and hasattr(value, "args"):
        return _from_parts(value.name, value.args)
    raise HtnError(f"{_short(value)} is not a term. Write a name and its arguments, such as 'deliver book shop'.")


def _parse_text(text: str) -> Term:
    stripped = text.strip()
    if stripped.startswith("(") and stripped.endswith(")"):
        stripped = stripped[1:-1]
    elif call := _CALL.fullmatch(stripped):
        stripped = f"{call[1]} {call[2].replace(',', ' ')}"
    words = tokens(stripped)
    if not words:
        raise HtnError("An empty text is not a term. Write a name and its arguments, such as 'deliver book shop'.")
    return tuple(words)


def _from_parts(name: object, args: object) -> Term:
    if not isinstance(name, str) or not name.strip() or isinstance(args, str) or not isinstance(args, Iterable):
        raise HtnError(f"{_short((name, args))} is not a name with a list of arguments.")
    parts = tuple(args)
    for part in parts:
        if not isinstance(part, Hashable) or part is None or (isinstance(part, tuple) and not _hashable(part)):
            raise HtnError(f"The argument {_short(part)} of {name} is not a plain value.")
    return (name.strip(), *parts)


def _hashable(value: Hashable) -> bool:
    try:
        hash(value)
    except TypeError:
        return False
    return True


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."


def tokens(text: str) -> list[str]:
    """Return the words of a text; a word in double quotes may hold spaces."""
    return [json.loads(word) if _is_quoted(word) else word for word in _TOKEN.findall(text)]


def _is_quoted(word: str) -> bool:
    if not (len(word) > 1 and word[0] == word[-1] == '"'):
        return False
    try:
        json.loads(word, strict=False)
    except ValueError:
        return False
    return True


def term_text(term: Sequence[Any]) -> str:
    """Return a term as text that :func:`parse_term` reads back."""
    return " ".join(_word(part) for part in term)


def _word(part: object) -> str:
    text = str(part)
    return json.dumps(text, ensure_ascii=False) if not text or _NEEDS_QUOTES.search(text) else text


def parse_parameters(value: object) -> tuple[Parameter, ...]:
    """Return the parameters of ``"?from ?to - place"``, of a list of such texts, or of ``{"?from": "place"}``."""
    if isinstance(value, Mapping):
        value = [f"{name} - {kind}" for name, kind in value.items()]
    texts = [value] if isinstance(value, str) else value
    if not isinstance(texts, list | tuple):
        raise DomainError(f"{_short(value)} are not parameters. Write '?from ?to - place'.")
    found = [found for text in texts for found in _parameters_of(text)]
    names: set[str] = set()
    for name in (parameter.name for parameter in found):
        if name.endswith(","):
            raise DomainError(f"The parameter {name} ends with a comma. Write '?from ?to - place'.")
        if not is_variable(name):
            raise DomainError(f"The parameter {name} needs a question mark: ?{name}.")
        if name in names:
            raise DomainError(f"The parameter {name} is named twice.")
        names.add(name)
    return tuple(found)


def parameters_text(parameters: Sequence[Parameter]) -> str:
    """Return parameters as text, such as ``?from - place ?to - place``.

    >>> parameters_text(parse_parameters("?from ?to - place ?x"))
    '?from - place ?to - place ?x - object'
    """
    return " ".join(f"{parameter.name} - {parameter.type}" for parameter in parameters)


def _parameters_of(value: object) -> list[Parameter]:
    if isinstance(value, Parameter):
        return [value]
    if not isinstance(value, str):
        raise DomainError(f"{_short(value)} is not a parameter. Write '?from - place'.")
    words, types = _split_types(tokens(value))
    return [Parameter(word, types.get(word, ROOT_TYPE)) for word in words]


def _split_types(words: Sequence[str]) -> tuple[list[str], dict[str, str]]:
    """Take ``- type`` out of a list of words; a type holds for all untyped words before it."""
    names: list[str] = []
    types: dict[str, str] = {}
    pending: list[str] = []
    rest = iter(words)
    for word in rest:
        if word != "-":
            names.append(word)
            pending.append(word)
            continue
        kind = next(rest, None)
        if kind is None or not pending:
            raise DomainError("A '-' stands between variables and their type: '?from ?to - place'.")
        types.update(dict.fromkeys(pending, kind))
        pending = []
    return names, types


def parse_head(value: object) -> Head:
    """Return the head that ``"deliver ?p - parcel ?to - place"`` or a tuple stands for."""
    if isinstance(value, Head):
        return value
    if isinstance(value, str) and "(" not in value:
        words, types = _split_types(tokens(value))
        if not words:
            raise DomainError("A task needs a name.")
        typed = {word: kind for word, kind in types.items() if is_variable(word) and kind != ROOT_TYPE}
        return Head(words[0], tuple(words[1:]), typed)
    term = parse_term(value)
    return Head(str(term[0]), term[1:], {})
