"""The ``match`` part of a policy: which keys of a call it looks at, and what they must be."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from .checks import NO, Check, first_of
from .conditions import compile_condition
from .errors import Path, PolicySetError
from .interface import JSON, Call, Outcome

_ROOTS = ("args", "context")


@dataclass(frozen=True)
class Clause:
    """One key of a ``match`` with the condition on what it names."""

    key: str
    check: Check
    path: Path

    def test(self, call: Call) -> Outcome:
        """Return what the clause says about a call; a value that is absent matches nothing."""
        return first_of(self._named(name, self.check.on(value)) for name, value in self._values(call))

    def _values(self, call: Call) -> Iterator[tuple[str, JSON]]:
        root, _, rest = self.key.partition(".")
        if root == "tool":
            yield "tool", call.tool
        else:
            yield from find_values(call.args if root == "args" else call.context, rest, root)

    def _named(self, name: str, outcome: Outcome) -> Outcome:
        return outcome if outcome.state is False else Outcome(outcome.state, f"{name}: {outcome.reason}")


@dataclass(frozen=True)
class Alternative:
    """Clauses that must all hold; a ``match`` that is a list has several of them."""

    clauses: tuple[Clause, ...]
    tool: Clause | None = None

    def takes(self, tool: str) -> bool:
        """Return whether the tool's name alone rules nothing out."""
        return self.tool is None or self.tool.test(Call(tool)).state is not False

    def test(self, call: Call) -> Outcome:
        """Return whether every clause holds, with the reasons of those that look beyond the tool."""
        outcomes = []
        for clause in (*((self.tool,) if self.tool else ()), *self.clauses):
            outcome = clause.test(call)
            if outcome.state is False:
                return NO
            outcomes.append(outcome)
        telling = outcomes[1:] if self.tool and self.clauses else outcomes
        state = None if any(outcome.state is None for outcome in outcomes) else True
        return Outcome(state, "; ".join(outcome.reason for outcome in telling))


def find_values(data: JSON, name: str, spelled: str) -> Iterator[tuple[str, JSON]]:
    """Yield the values a dotted name stands for, with the name of each.

    A name may itself contain dots, ``*`` stands for any name, and lists on the way are looked through: a call must not
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
        _check_key(key, (*path, key), context_only)
        clauses.append(Clause(key, compile_condition(condition, (*path, key)), (*path, key)))
    tool = next((clause for clause in clauses if clause.key == "tool"), None)
    return Alternative(tuple(clause for clause in clauses if clause.key != "tool"), tool)


def _check_key(key: JSON, path: Path, context_only: bool) -> None:
    if not isinstance(key, str):
        raise PolicySetError("a key of match must be text", path=path)
    root, _, name = key.partition(".")
    if context_only and root != "context":
        raise PolicySetError("an exception reads only context.<name>, which the host program sets", path=path)
    if key == "tool" or (root in _ROOTS and all(name.split("."))):
        return
    raise PolicySetError(f"unknown key {key!r}; known are tool, args.<name>, context.<name>", path=path)
