"""Errors of the planner that a user can act on, and words for numbers and nouns in them.

HtnError
 ├── DomainError    a domain (or an operator, method, condition of it) does not make sense
 │   ├── UnboundError   nothing gives a variable its value
 │   └── TypeClash      an argument can never be of the type that is asked for
 ├── ProblemError   a task, an object or a state does not fit its domain
 └── PlanError      a plan to be verified cannot be read
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

Path = tuple[str | int, ...]


class HtnError(Exception):
    """Stand for everything this room refuses; ``path`` names the key in the data it came from.

    >>> HTNPlanner(strategy="widest")
    Traceback (most recent call last):
        ...
    memkit.runtime.htn.errors.HtnError: 'widest' is not a strategy. Take turns, depth, length or cheapest.
    """

    exit_code = 2

    def __init__(self, message: str, path: Path = ()) -> None:
        super().__init__(message)
        self.message = message
        self.path = path

    def under(self, *keys: str | int) -> HtnError:
        """Return the same error with ``keys`` put before its path."""
        return type(self)(self.message, (*keys, *self.path))

    def __str__(self) -> str:
        where = ".".join(str(key) for key in self.path)
        return f"{where}: {self.message}" if where else self.message


class DomainError(HtnError):
    """Say what in a planning domain cannot be used.

    >>> Domain.from_data({"name": "house", "types": {"door": "opening"}})
    Traceback (most recent call last):
        ...
    memkit.runtime.htn.errors.DomainError: types.door: The type opening is not defined.
    """


class UnboundError(DomainError):
    """Say which variable has no value."""


class TypeClash(DomainError):
    """Say which argument is of another type than is asked for."""


class ProblemError(HtnError):
    """Say what in a task, an object list or a state does not fit the domain.

    >>> HTNPlanner(operators=[Operator("open ?door")]).generate("open ?door")
    Traceback (most recent call last):
        ...
    memkit.runtime.htn.errors.ProblemError: The task 'open ?door' has a variable. Name the object that is meant.
    """


class PlanError(HtnError):
    """Say why a plan cannot be read.

    >>> read_plan("go home shop")
    Traceback (most recent call last):
        ...
    memkit.runtime.htn.errors.PlanError: A plan is a list of steps, such as [{name: go, args: [home, shop]}].
    """


@contextmanager
def located(*keys: str | int) -> Iterator[None]:
    """Put ``keys`` before the path of whatever goes wrong inside, which becomes a DomainError."""
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
