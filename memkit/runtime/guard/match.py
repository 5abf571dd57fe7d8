"""The ``match`` part of a policy: which keys of a call it looks at, and what they must be."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field

from .checks import NO, Check, first_of
from .conditions import compile_condition
from .errors import Path, PolicySetError
from .globs import has_wildcards
from .interface import JSON, Call, Outcome
from .texts import text_of

_ROOTS = ("args", "context")


Test = Callable[[Call], Outcome]


@dataclass(frozen=True)
class Clause:
    """One key of a ``match`` with the condition on what it names."""

    key: str
    check: Check
    path: Path
    test: Test = field(repr=False, compare=False)
    """Says what the clause says about a call; a value that is absent matches nothing."""


@dataclass(frozen=True)
class Alternative:
    """Clauses that must all hold; a ``match`` that is a list has several of them."""

    clauses: tuple[Clause, ...]
    tool: Clause | None = None
    names: frozenset[str] | None = None
    """The tools it can apply to, where the condition lists them; ``None`` when every tool has to be asked."""

    def for_tool(self, tool: str) -> Test | None:
        """Return the test of what is left to know about a call of this tool, or ``None`` when it cannot match."""
        known = self.tool.test(Call(tool)) if self.tool else None
        if known is not None and known.state is False:
            return None
        if known is not None and not (known.state and self.clauses):  # a tool alone decides, or nobody can tell
            return _every((lambda call: known, *(clause.test for clause in self.clauses)))
        tests = tuple(clause.test for clause in self.clauses)
        return tests[0] if len(tests) == 1 else _every(tests)

    def test(self, call: Call) -> Outcome:
        """Return whether every clause holds, with the reasons of those that look beyond the tool."""
        test = self.for_tool(call.tool)
        return test(call) if test else NO


def make_clause(key: str, check: Check, path: Path) -> Clause:
    """Return a clause with its test; the common name of one part is looked up without a search."""
    root, _, name = key.partition(".")
    if root == "tool":
        return Clause(key, check, path, lambda call: _named("tool", check.on(call.tool)))
    if "." in name or name == "*":
        return Clause(key, check, path, _searching_test(root, name, check))
    return Clause(key, check, path, _direct_test(root, name, check))


def _direct_test(root: str, name: str, check: Check) -> Test:
    of_args, key, on, accepts = root == "args", f"{root}.{name}", check.on, check.accepts

    def test(call: Call) -> Outcome:
        data = call.args if of_args else call.context
        if name not in data:
            return NO
        value = data[name]
        if accepts and isinstance(value, str) and not accepts(value):  # most calls end here, so it comes first
            return NO
        outcome = on(value)
        return outcome if outcome is NO else _named(key, outcome)

    return test


def _searching_test(root: str, name: str, check: Check) -> Test:
    def test(call: Call) -> Outcome:
        data = call.args if root == "args" else call.context
        return first_of(_named(key, check.on(value)) for key, value in find_values(data, name, root))

    return test


def _named(key: str, outcome: Outcome) -> Outcome:
    return outcome if outcome.state is False else Outcome(outcome.state, f"{key}: {outcome.reason}")


def _every(tests: tuple[Test, ...]) -> Test:
    def test(call: Call) -> Outcome:
        outcomes = []
        for part in tests:
            outcome = part(call)
            if outcome.state is False:
                return NO
            outcomes.append(outcome)
        state = None if any(outcome.state is None for outcome in outcomes) else True
        return Outcome(state, "; ".join(outcome.reason for outcome in outcomes))

    return test


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
        clauses.append(make_clause(key, compile_condition(condition, (*path, key)), (*path, key)))
    tool = next((clause for clause in clauses if clause.key == "tool"), None)
    return Alternative(tuple(clause for clause in clauses if clause.key != "tool"), tool, _listed(data.get("tool")))


def _listed(condition: JSON) -> frozenset[str] | None:
    """Return the names that a condition on the tool lists; ``None`` when it is more than a list of names."""
    if isinstance(condition, Mapping) and len(condition) == 1:
        ((operator, condition),) = condition.items()
        if operator == "in":
            return frozenset(text_of(name) or "" for name in condition)
        if operator not in ("glob", "equals"):
            return None
    names = condition if isinstance(condition, list) else [condition]
    if all(isinstance(name, str) and not has_wildcards(name) for name in names):
        return frozenset(names)
    return None


def _check_key(key: JSON, path: Path, context_only: bool) -> None:
    if not isinstance(key, str):
        raise PolicySetError("a key of match must be text", path=path)
    root, _, name = key.partition(".")
    if context_only and root != "context":
        raise PolicySetError("an exception reads only context.<name>, which the host program sets", path=path)
    if key == "tool" or (root in _ROOTS and all(name.split("."))):
        return
    raise PolicySetError(f"unknown key {key!r}; known are tool, args.<name>, context.<name>", path=path)
