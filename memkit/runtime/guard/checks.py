"""Compiled conditions and how their answers combine.

Answers are three-valued: a view that cannot read its text answers "unknown", and unknown survives ``any``, ``all`` and
``not`` so that it reaches the policy, which counts it as a match when it is hard.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from .errors import Path
from .interface import JSON, Outcome

NO = Outcome(False)


@dataclass(frozen=True)
class Check:
    """One condition on a value, compiled to a closure."""

    test: Callable[[JSON], Outcome]
    says: str
    """The condition in words, for the reason of a verdict."""
    path: Path
    children: tuple[Check, ...] = ()
    """The conditions that ``any``, ``all`` or ``not`` combines; empty for a leaf."""
    whole: bool = False
    """Whether a list is given whole (as an argument vector) and not one element at a time."""
    accepts: Callable[[str], bool] | None = None
    """For a condition on text alone: whether it holds for a text, without the reason."""
    joint: str = ""
    """How the children are combined: ``any``, ``all`` or ``not``; empty for a leaf."""

    def leaves(self) -> Iterator[Check]:
        """Yield the conditions that look at the value themselves."""
        if not self.children:
            yield self
        for child in self.children:
            yield from child.leaves()

    def on(self, value: JSON) -> Outcome:
        """Return what the condition says; on a list it holds when it holds for any element."""
        if self.whole or not isinstance(value, (list, tuple)):
            return NO if value is None else self.test(value)
        return first_of(self.on(element) for element in value)


def first_of(outcomes: Iterator[Outcome]) -> Outcome:
    """Return the first match, else the first unknown, else no match."""
    unknown = NO
    for outcome in outcomes:
        if outcome.state:
            return outcome
        if outcome.state is None and unknown.state is False:
            unknown = outcome
    return unknown


def any_check(children: Sequence[Check], path: Path) -> Check:
    """Return a condition that holds when one of ``children`` does."""
    parts = tuple(children)

    def test(value: JSON) -> Outcome:
        return first_of(part.test(value) for part in parts)

    return _combined("any", test, " or ".join(part.says for part in parts), path, parts)


def all_check(children: Sequence[Check], path: Path) -> Check:
    """Return a condition that holds when every one of ``children`` does."""
    parts = tuple(children)

    def test(value: JSON) -> Outcome:
        outcomes = []
        for part in parts:
            outcome = part.test(value)
            if outcome.state is False:
                return NO
            outcomes.append(outcome)
        state = None if any(outcome.state is None for outcome in outcomes) else True
        return Outcome(state, " and ".join(outcome.reason for outcome in outcomes))

    return _combined("all", test, " and ".join(part.says for part in parts), path, parts)


def not_check(child: Check, path: Path) -> Check:
    """Return a condition that holds when ``child`` does not; unknown stays unknown."""
    says = f"not ({child.says})"

    def test(value: JSON) -> Outcome:
        outcome = child.test(value)
        if outcome.state is None:
            return outcome
        return NO if outcome.state else Outcome(True, says)

    return _combined("not", test, says, path, (child,))


def _combined(joint: str, test: Callable[[JSON], Outcome], says: str, path: Path, parts: tuple[Check, ...]) -> Check:
    whole = any(part.whole for part in parts)
    return Check(test, f"({says})" if len(parts) > 1 else says, path, parts, whole, joint=joint)
