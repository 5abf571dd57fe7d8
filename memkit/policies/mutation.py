"""Mutation testing: weaken, widen and invert a policy, one small change at a time, and see whether a test notices.

After DeMillo, Lipton and Sayward, "Hints on Test Data Selection" (IEEE Computer, 1978): a test suite that fails on
every small change of a program is likely to fail on its real faults too.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from memkit.policies.files import PolicyFile
from memkit.policies.proving import TableCase
from memkit.runtime.guard.core import Guard
from memkit.runtime.guard.interface import EFFECTS, PolicySetError, contribution, exceptions_of, spell_path, strength
from memkit.runtime.guard.proof import Case, cases_of, guard_of_one

KeyPath = tuple[str | int, ...]

_LISTS_OF_CONDITIONS = ("any", "all")
_OPPOSITE_BOUNDS = {"min": "above", "above": "min", "max": "below", "below": "max"}


@dataclass(frozen=True)
class Mutant:
    """A policy with one small change."""

    kind: str
    """``removed``, ``flipped``, ``widened``, ``narrowed``, ``boundary``, ``dropped`` or ``weakened``."""
    path: KeyPath
    says: str
    """The change in words."""
    data: Mapping[str, Any]

    @property
    def place(self) -> str:
        """Return the place of the change in the policy."""
        return spell_path(self.path)


@dataclass(frozen=True)
class MutationReport:
    """Which changes of one policy the tests noticed."""

    policy: PolicyFile
    tried: int
    survivors: tuple[Mutant, ...]


def mutate(policy: PolicyFile, rows: Sequence[TableCase], decisions: Sequence[str]) -> MutationReport:
    """Return which mutants of a policy pass every test that the policy itself passes.

    Args:
        policy: The policy.
        rows: The rows of tables that are about this policy or about the whole set.
        decisions: For each row what the other policies decide: ``allow`` if the policy decides alone.
    """
    cases = [(case, "allow") for case in cases_of(policy.data)]
    cases += [(row.case, decision) for row, decision in zip(rows, decisions, strict=True)]
    itself = guard_of_one(policy.data)
    passing = [(case, others) for case, others in cases if _passes(itself, case, others)]
    mutants = list(_usable(mutants_of(policy.data)))
    survivors = [mutant for mutant in mutants if _survives(mutant, passing)]
    return MutationReport(policy, len(mutants), tuple(survivors))


def _passes(guard: Guard, case: Case, others: str) -> bool:
    decision = case.decided_by(guard).verdict.decision
    return max(decision, others, key=strength) == case.expected


def _survives(mutant: Mutant, passing: Sequence[tuple[Case, str]]) -> bool:
    guard = guard_of_one(mutant.data)
    return all(_passes(guard, case, others) for case, others in passing)


def _usable(mutants: Iterator[Mutant]) -> Iterator[Mutant]:
    """Yield the mutants that are valid policies."""
    for mutant in mutants:
        try:
            guard_of_one(mutant.data)
        except PolicySetError:
            continue
        yield mutant


def mutants_of(data: Mapping[str, Any]) -> Iterator[Mutant]:
    """Yield every small change of a policy, in the order of its parts."""
    if "match" not in data:
        return
    for change in (*_in_match(data["match"], ("match",)), *_in_exceptions(exceptions_of(data)), *_in_effect(data)):
        kind, path, says, value = change
        yield Mutant(kind, path, says, _changed(data, path, value))


Change = tuple[str, KeyPath, str, Any]
"""Kind, place, words, and the new value; ``_GONE`` to remove it."""
_GONE = object()


def _changed(data: Any, path: KeyPath, value: Any) -> Any:
    """Return data with another value at a path; unchanged parts are shared."""
    if not path:
        return value
    head, rest = path[0], path[1:]
    if isinstance(data, Mapping):
        changed = {key: _changed(part, rest, value) if key == head else part for key, part in data.items()}
        return {key: part for key, part in changed.items() if part is not _GONE}
    parts = [_changed(part, rest, value) if index == head else part for index, part in enumerate(data)]
    return [part for part in parts if part is not _GONE]


def _in_match(match: Any, path: KeyPath) -> Iterator[Change]:
    if isinstance(match, list):
        for index, alternative in enumerate(match):
            if len(match) > 1:
                yield "removed", (*path, index), "the alternative is gone", _GONE
            yield from _in_keys(alternative, (*path, index))
    else:
        yield from _in_keys(match, path)


def _in_keys(match: Mapping[str, Any], path: KeyPath) -> Iterator[Change]:
    for key, condition in match.items():
        if len(match) > 1:
            yield "removed", (*path, key), f"{key} is ignored", _GONE
        elif key != "tool":  # without its only clause it would match any call of any tool
            yield "removed", path, f"{key} is ignored", {"tool": "*"}
        yield "flipped", (*path, key), f"{key} must not be so", {"not": condition}
        yield from _in_condition(condition, (*path, key))


def _in_condition(condition: Any, path: KeyPath) -> Iterator[Change]:
    if isinstance(condition, list):
        yield from _in_list(condition, path)
    elif isinstance(condition, Mapping):
        for operator, operand in condition.items():
            if len(condition) > 1:
                yield "widened", (*path, operator), f"{operator} is gone", _GONE
            yield from _in_operator(operator, operand, (*path, operator))


def _in_operator(operator: str, operand: Any, path: KeyPath) -> Iterator[Change]:
    if operator == "surely":
        yield from _in_condition(operand, path)
    elif operator == "not":
        yield "flipped", path[:-1], "the negation is gone", operand
        yield from _in_condition(operand, path)
    elif operator in _LISTS_OF_CONDITIONS:
        for index, condition in enumerate(operand):
            if len(operand) > 1:
                yield "removed", (*path, index), f"one part of {operator} is gone", _GONE
            yield "flipped", (*path, index), f"one part of {operator} must not be so", {"not": condition}
            yield from _in_condition(condition, (*path, index))
    elif operator == "range":
        yield from _in_range(operand, path)
    else:
        yield from _in_view(operand, path)


def _in_range(bounds: Mapping[str, Any], path: KeyPath) -> Iterator[Change]:
    for name in bounds:
        if len(bounds) > 1:
            yield "widened", (*path, name), f"there is no {name}", _GONE
        other = _OPPOSITE_BOUNDS[name]
        if other not in bounds:
            moved = {other if key == name else key: bound for key, bound in bounds.items()}
            yield "boundary", path, f"{name} reads as {other}", moved


def _in_view(operand: Any, path: KeyPath) -> Iterator[Change]:
    """Yield changes of a value, a list of values, or a view such as ``shell`` with its parts."""
    if isinstance(operand, list):
        yield from _in_list(operand, path)
    elif isinstance(operand, Mapping):
        for key, part in operand.items():
            if len(operand) > 1:
                yield "widened", (*path, key), f"{key} may be anything", _GONE
            yield from _in_view(part, (*path, key))


def _in_list(values: Sequence[Any], path: KeyPath) -> Iterator[Change]:
    for index, value in enumerate(values):
        if len(values) > 1:
            yield "narrowed", (*path, index), f"{value} is not listed", _GONE
        if isinstance(value, Mapping):
            yield from _in_condition(value, (*path, index))


def _in_exceptions(exceptions: Sequence[Mapping[str, Any]]) -> Iterator[Change]:
    for index, exception in enumerate(exceptions):
        path: KeyPath = ("exceptions", index)
        if "match" not in exception:
            continue
        yield "dropped", path, "the exception is gone", _GONE
        for change in _in_match(exception["match"], (*path, "match")):
            if change[3] != {"tool": "*"}:  # an exception never reads the tool
                yield change


def _in_effect(data: Mapping[str, Any]) -> Iterator[Change]:
    effect = data["effect"]
    if strength(effect) > 0:
        weaker = EFFECTS[strength(effect) - 1]
        yield "weakened", ("effect",), f"{effect} is only {weaker}", weaker
    if data["enforcement"] == "hard" and contribution(effect, "soft") != effect:
        yield "weakened", ("enforcement",), "hard is soft", "soft"
