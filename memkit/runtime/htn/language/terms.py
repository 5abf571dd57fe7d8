"""Terms and numbers, the results of parsing: a name and its arguments, ``at home``; arithmetic, ``(+ (fuel ?t) 5)``.

Errors in them, and in everything built from them, form one tree; each is something that a user can act on:

HtnError
 ├── DomainError    a domain (or an operator, method, condition of it) does not make sense
 │   ├── UnboundError   a variable never gets a value
 │   └── TypeClash      an argument can never have the required type
 ├── ProblemError   a task, an object or a state does not fit its domain
 └── PlanError      a plan to be verified cannot be parsed
"""

from __future__ import annotations

import json
import re
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

Path = tuple[str | int, ...]


class HtnError(Exception):
    """The base of this room's errors; ``path`` names the key in the data it came from.

    >>> HTNPlanner(strategy="widest")
    Traceback (most recent call last):
        ...
    memkit.runtime.htn.language.terms.HtnError: 'widest' is not a strategy. Use turns, depth, length or cheapest.
    """

    exit_code = 2
    code = "planning"

    def __init__(self, message: str, path: Path = ()) -> None:
        super().__init__(message)
        self.message = message
        self.path = path

    def __str__(self) -> str:
        where = ".".join(str(key) for key in self.path)
        return f"{where}: {self.message}" if where else self.message


class DomainError(HtnError):
    """Report what in a planning domain cannot be used.

    >>> Domain.from_data({"name": "house", "types": {"door": "opening"}})
    Traceback (most recent call last):
        ...
    memkit.runtime.htn.language.terms.DomainError: types.door: The type opening is not defined.
    """

    code = "domain"


class UnboundError(DomainError):
    """Report which variable has no value."""


class TypeClash(DomainError):
    """Report which argument has another type than required."""


class ProblemError(HtnError):
    """Report what in a task, an object list or a state does not fit the domain.

    >>> HTNPlanner(operators=[Operator("open ?door")]).generate("open ?door")
    Traceback (most recent call last):
        ...
    memkit.runtime.htn.language.terms.ProblemError: The task 'open ?door' has a variable. Name an object.
    """

    code = "problem"


class PlanError(HtnError):
    """Report why a plan cannot be parsed.

    >>> read_plan("go home shop")
    Traceback (most recent call last):
        ...
    memkit.runtime.htn.language.terms.PlanError: A plan must be a list of steps: [{name: go, args: [home, shop]}].
    """

    code = "plan"


@contextmanager
def located(*keys: str | int) -> Iterator[None]:
    """Prefix ``keys`` to the path of an error raised in the block, which becomes a DomainError."""
    try:
        yield
    except HtnError as error:
        kind = type(error) if isinstance(error, DomainError) else DomainError
        raise kind(error.message, (*keys, *error.path)) from None


def counted(number: int, noun: str) -> str:
    """Return a number with its noun, in the plural unless it is one."""
    return f"{number} {noun}{'' if number == 1 else 's'}"


def one_of(noun: str) -> str:
    """Return a noun with its article.

    >>> one_of("place"), one_of("environment")
    ('a place', 'an environment')
    """
    return f"an {noun}" if noun[:1].lower() in {"a", "e", "i", "o"} else f"a {noun}"


Term = tuple[Any, ...]
"""A name followed by its arguments; a string that starts with ``?`` is a variable.

>>> parse_term("deliver book shop"), parse_term('go "New York" ?to')
(('deliver', 'book', 'shop'), ('go', 'New York', '?to'))
"""

ROOT_TYPE = "object"
Members = Mapping[str, Mapping[Any, None]]
"""The objects of each type, including its subtypes."""
_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[^\s"]+')
_CALL = re.compile(r'([^\s(),"]+)\((.*)\)', re.DOTALL)
_NEEDS_QUOTES = re.compile(r'[\s"(),]')


@dataclass(frozen=True)
class Parameter:
    """A variable of a head and the type of its values.

    >>> Operator("go ?to - place").parameters
    (Parameter(name='?to', type='place'),)
    """

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
    # Compiling a domain calls this a few hundred times, so it calls nothing for each part.
    return [part for part in dict.fromkeys(term) if isinstance(part, str) and part[:1] == "?"]


def ground(term: Sequence[Any], values: Mapping[Any, Any]) -> Term:
    """Return a term with variables replaced by their values."""
    return tuple(values.get(part, part) for part in term)


def parse_term(value: object) -> Term:
    """Return the term that a text, a tuple, a list, a name with arguments or a step stands for.

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
    return _cut(repr(value))


def tokens(text: str) -> list[str]:
    """Return the words of a text; a word in double quotes may contain spaces."""
    return [json.loads(word, strict=False) if _is_quoted(word) else word for word in _TOKEN.findall(text)]


def _is_quoted(word: str) -> bool:
    if not (len(word) > 1 and word[0] == word[-1] == '"'):
        return False
    try:
        json.loads(word, strict=False)
    except ValueError:
        return False
    return True


def term_text(term: Sequence[Any]) -> str:
    """Return a term as text that :func:`parse_term` reads back.

    >>> term_text(("go", "New York", "home")), parse_term(term_text(("go", "New York", "home")))
    ('go "New York" home', ('go', 'New York', 'home'))
    """
    return " ".join(_word(part) for part in term)


def _word(part: object) -> str:
    text = str(part)
    return json.dumps(text, ensure_ascii=False) if not text or _NEEDS_QUOTES.search(text) else text


def parse_parameters(value: object) -> tuple[Parameter, ...]:
    """Return the parameters in ``"?from ?to - place"``, in a list of such texts, or in ``{"?from": "place"}``."""
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
    """Remove ``- type`` from a list of words; a type applies to all untyped words before it."""
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
            raise DomainError("A '-' must be between variables and their type: '?from ?to - place'.")
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


MOST_NESTED = 50
"""The nesting limit of conditions and arithmetic; what a person writes needs five levels."""

_BRACKETED = re.compile(r'"(?:[^"\\]|\\.)*"|[()]|[^\s"()]+')


class Words(tuple[Any, ...]):
    """A list parsed from text: each element is a word as written, or another such list."""

    __slots__ = ()


def read_expression(text: str) -> Words:
    """Return the nested lists in a text; brackets around the whole text may be omitted.

    >>> read_expression("<= (fuel ?t) 5")
    ('<=', ('fuel', '?t'), '5')
    """
    open_lists: list[list[Any]] = [[]]
    for token in _BRACKETED.findall(text):
        if token == "(":
            refuse_depth(len(open_lists))
            open_lists.append([])
        elif token == ")":
            if len(open_lists) == 1:
                raise DomainError(f"A ')' closes nothing in '{_cut(text)}'.")
            closed = Words(open_lists.pop())
            open_lists[-1].append(closed)
        else:
            open_lists[-1].extend(tokens(token))
    if len(open_lists) > 1:
        raise DomainError(f"A '(' is not closed in '{_cut(text)}'.")
    return unwrapped(Words(open_lists[0]))


def unwrapped(words: Words) -> Words:
    """Return a list without brackets that only enclose another list."""
    while len(words) == 1 and isinstance(words[0], Words):
        words = words[0]
    return words


def refuse_depth(depth: int) -> None:
    """Raise DomainError if the nesting is too deep."""
    if depth > MOST_NESTED:
        raise DomainError(f"This is nested more than {MOST_NESTED} deep.")


def _cut(text: str) -> str:
    return text if len(text) <= 60 else text[:57] + "..."


ARITHMETIC = ("+", "-", "*", "/")
LARGEST = 1e100
"""The limit for numbers; a larger one is a mistake, and sums of such numbers would be meaningless."""

_NUMERAL = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?")
_NOT_FINITE = re.compile(r"[+-]?(nan|inf|infinity)", re.IGNORECASE)


@dataclass(frozen=True)
class Arithmetic:
    """An arithmetic operation on two numbers.

    >>> more = Arithmetic("+", ("fuel", "?truck"), 2.5)
    >>> str(more), parse_number("(+ (fuel ?truck) 2.5)") == more
    ('(+ (fuel ?truck) 2.5)', True)
    """

    operator: str
    """``+``, ``-``, ``*`` or ``/``"""
    left: Number
    right: Number

    def __str__(self) -> str:
        return f"({self.operator} {number_text(self.left)} {number_text(self.right)})"


Number = int | float | Term | Arithmetic
"""A literal, a fluent (a numeric function with its arguments, as a term), or an operation on numbers.

>>> parse_number("5"), parse_number("(fuel ?truck)"), parse_number("(* 2 (fuel ?truck))")
(5, ('fuel', '?truck'), Arithmetic(operator='*', left=2, right=('fuel', '?truck')))
"""


def parse_number(value: object) -> Number:
    """Return the number that ``5``, ``"(fuel ?t)"``, ``"(+ (fuel ?t) 2.5)"`` or a tuple stands for.

    >>> parse_number("(+ (fuel ?t) 2.5)")
    Arithmetic(operator='+', left=('fuel', '?t'), right=2.5)
    """
    return _number(read_expression(value) if isinstance(value, str) else value, 0)


def _number(value: object, depth: int) -> Number:
    refuse_depth(depth)
    if isinstance(value, Arithmetic):
        return _arithmetic(value.operator, (value.left, value.right), depth)
    if isinstance(value, int | float) and not isinstance(value, bool):
        return finite(value)
    if isinstance(value, str):
        return _number_word(value)
    if isinstance(value, Words):
        value = unwrapped(value)
    if not isinstance(value, tuple | list) or not value:
        raise DomainError(f"{value!r} is not a number. Write 5, (fuel ?t) or (+ (fuel ?t) 5).")
    if value[0] in ARITHMETIC:
        return _arithmetic(value[0], tuple(value[1:]), depth)
    if len(value) == 1:
        return _number_word(value[0]) if isinstance(value[0], str) else _number(value[0], depth + 1)
    return _fluent(value)


def _arithmetic(operator: str, parts: tuple[object, ...], depth: int) -> Number:
    if operator not in ARITHMETIC:
        raise DomainError(f"{operator!r} is not one of {', '.join(ARITHMETIC)}.")
    if len(parts) == 1 and operator == "-":
        parts = (0, *parts)
    if len(parts) < 2 or (len(parts) > 2 and operator in "-/"):
        raise DomainError(f"'{operator}' takes two numbers, not {len(parts)}.")
    refuse_depth(depth + len(parts))
    numbers = [_number(part, depth + 1) for part in parts]
    found = numbers[0]
    for number in numbers[1:]:
        found = Arithmetic(operator, found, number)
    return found


def _number_word(word: str) -> Number:
    if _NUMERAL.fullmatch(word):
        return numeral(word)
    if _NOT_FINITE.fullmatch(word):
        raise DomainError(f"{word} is not a usable number.")
    if is_variable(word) or not word.strip():
        raise DomainError(f"{word or 'An empty text'} is not a number. Write a function of it: (fuel {word or '?t'}).")
    return (word,)


def _fluent(value: tuple[Any, ...] | list[Any]) -> Term:
    if any(isinstance(part, tuple | list | Mapping) for part in value) or is_variable(value[0]):
        raise DomainError(f"{value!r} is not a numeric function of objects. Write it like (fuel ?t).")
    try:
        return tuple(value) if isinstance(value, Words) else parse_term(value)
    except HtnError as error:
        raise DomainError(error.message) from None


def parse_fluent(value: object) -> Term:
    """Return the fluent, such as ``(fuel ?t)``, that text or a tuple stands for."""
    found = parse_number(value)
    if not isinstance(found, tuple):
        raise DomainError(f"{number_text(found)} is not a numeric function of objects. Write it like (fuel ?t).")
    return found


def is_numeral(word: object) -> bool:
    """Return whether a word of a text, or a value, is a numeric literal."""
    if isinstance(word, str):
        return _NUMERAL.fullmatch(word) is not None
    return isinstance(word, int | float) and not isinstance(word, bool)


def numeral(word: str) -> int | float:
    """Return the value of a numeric literal, an int if it has neither a point nor an exponent."""
    value = finite(float(word))
    return value if any(sign in word for sign in ".eE") else int(word)


def finite(value: int | float) -> int | float:
    """Return a usable number; raise DomainError for NaN, infinities and numbers that are too large."""
    if not -LARGEST <= value <= LARGEST:
        words = str(value) if isinstance(value, float) else f"A number of about {value.bit_length()} bits"
        raise DomainError(f"{words} is too large to compute with; the maximum is {LARGEST:g}.")
    return value


def number_text(number: Number) -> str:
    """Return a number as text that :func:`parse_number` reads back."""
    return f"({term_text(number)})" if isinstance(number, tuple) else str(number)


def fluents_of(number: Number) -> Iterator[Term]:
    """Yield the fluents that a number depends on."""
    if isinstance(number, tuple):
        yield number
    elif isinstance(number, Arithmetic):
        yield from fluents_of(number.left)
        yield from fluents_of(number.right)


def number_variables(number: Number) -> list[str]:
    """Return the variables that occur in a number, each once."""
    return list(dict.fromkeys(name for fluent in fluents_of(number) for name in variables_of(fluent)))


def with_values(number: Number, binding: Mapping[Any, Any]) -> Number:
    """Return a number with its objects or variables replaced as far as they have values."""
    if isinstance(number, tuple):
        return (number[0], *ground(number[1:], binding))
    if isinstance(number, Arithmetic):
        return Arithmetic(number.operator, with_values(number.left, binding), with_values(number.right, binding))
    return number
