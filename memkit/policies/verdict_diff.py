"""Calls whose verdict changes from one set of policies to another.

Each policy that changed is asked both ways: for a call that it decided before and that comes out weaker now, and for
one that it decides now and that came out weaker before. The engine of both sets decides every call before it is shown.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from memkit.policies.analysis.calls import Applies, CallFound, Spared, Wish, find_call
from memkit.policies.analysis.subjects import Subject, SubjectSet
from memkit.policies.analysis.values import Unknown
from memkit.policies.policy_set import PolicySet
from memkit.runtime.guard.core import Call, Verdict
from memkit.runtime.guard.interface import EFFECTS, strength

MAX_ROUNDS = 40
"""So many policies that decide alike are stepped around in the search for one call."""


@dataclass(frozen=True)
class VerdictChange:
    """A call that two sets of policies decide differently."""

    call: Call
    before: str
    after: str
    policy: str
    """The policy whose change shows here; empty for a recorded call."""
    decided_before: tuple[str, ...]
    """The policies whose effect was the decision."""
    decided_after: tuple[str, ...]
    binding: bool
    """Whether a hard policy made the decision before."""

    @property
    def weakened(self) -> bool:
        """Return whether the call may do more than before."""
        return strength(self.after) < strength(self.before)

    @property
    def weakens_hard(self) -> bool:
        """Return whether a hard policy's decision gave way to a weaker one."""
        return self.weakened and self.binding


@dataclass(frozen=True)
class VerdictComparison:
    """What is known about the difference between two sets."""

    changes: tuple[VerdictChange, ...]
    """Weakened hard policies first, and of them what was denied and is allowed."""
    unknown: tuple[str, ...]
    """Questions that were neither answered by a call nor ruled out."""


def compare_verdicts(before: PolicySet, after: PolicySet) -> VerdictComparison:
    """Return a call for every changed policy whose change shows in a verdict, and what could not be told."""
    old, new = SubjectSet(before.policies), SubjectSet(after.policies)
    names = [subject.name for subject in (*old, *new)]
    found: list[VerdictChange] = []
    unknown: list[str] = []
    for name in dict.fromkeys(names):
        one, other = old.get(name), new.get(name)
        if one and other and one.decides_like(other):
            continue
        for answer in (*_weaker(old, new, one, other), *_weaker(new, old, other, one, backwards=True)):
            if isinstance(answer, VerdictChange):
                found.append(answer)
            else:
                unknown.append(answer)
    return VerdictComparison(tuple(ordered(found)), tuple(unknown))


def ordered(changes: Sequence[VerdictChange]) -> list[VerdictChange]:
    """Return changes with those first that a person should see first, each call once."""

    def weight(change: VerdictChange) -> tuple[bool, bool, int, int]:
        before, after = strength(change.before), strength(change.after)
        worst = (-before, after) if change.weakened else (-after, before)
        return (not change.weakens_hard, not change.weakened, *worst)

    return list({repr(change.call): change for change in sorted(changes, key=weight, reverse=True)}.values())[::-1]


def change_of(call: Call, before: Verdict, after: Verdict, policy: str = "") -> VerdictChange | None:
    """Return the change of one call, or ``None`` when both sets decide alike."""
    if before.decision == after.decision:
        return None
    deciding = [finding for finding in before.policies if finding.decides]
    return VerdictChange(
        call,
        before.decision,
        after.decision,
        policy,
        tuple(finding.name for finding in deciding),
        tuple(finding.name for finding in after.policies if finding.decides),
        any(finding.enforcement == "hard" for finding in deciding),
    )


def _weaker(
    strong: SubjectSet, weak: SubjectSet, one: Subject | None, other: Subject | None, *, backwards: bool = False
) -> Iterator[VerdictChange | str]:
    """Yield for each way in which a policy matches a call that the other set decides weaker, the weakest there is.

    Calls that the policy matches by what it says come first. One that a hard policy matches only because it cannot be
    read follows where it comes out weaker still.
    """
    if one is None:
        return
    spared = [Spared(other)] if other is not None and other.strength >= one.strength else []
    for box in one.boxes:
        part = replace(one, boxes=(box,))
        bound = one.strength
        for surely in (True, False):
            for level in range(bound):
                answer = _decided_at_most(strong, weak, [Applies(part, surely), *spared], one, level)
                if isinstance(answer, Call):
                    yield from _change(strong, weak, answer, one.name, backwards=backwards)
                    bound = level
                    break
                if answer is not None and not surely:
                    yield answer


def _change(strong: SubjectSet, weak: SubjectSet, call: Call, name: str, *, backwards: bool) -> Iterator[VerdictChange]:
    old, new = (weak, strong) if backwards else (strong, weak)
    change = change_of(call, old.decide(call), new.decide(call), name)
    if change:
        yield change


def _decided_at_most(
    strong: SubjectSet, weak: SubjectSet, wishes: Sequence[Wish], subject: Subject, level: int
) -> Call | str | None:
    """Return a call the policy applies to and that the other set decides at most at ``level``, or why none is known."""
    around: list[Subject] = []
    while len(around) < MAX_ROUNDS:

        def free(call: Call) -> bool:
            names = {one.name for one in weak.applying(call)}
            return strong.applies(subject, call) and not any(one.name in names for one in around)

        answer = find_call([*wishes, *map(Spared, around)], free)
        if isinstance(answer, Unknown):
            return _open(subject, level, answer.reason)
        if not isinstance(answer, CallFound):
            return None
        stopping = [one for one in weak.applying(answer.call) if one.strength > level]
        if not stopping:
            return answer.call
        around.append(max(stopping, key=lambda one: (one.strength, -sum(map(len, one.boxes)))))
    return _open(subject, level, "too many other policies decide the same calls")


def _open(subject: Subject, level: int, reason: str) -> str:
    other = EFFECTS[level]
    return f"Whether a call that {subject.label} decides on one side is {other} on the other is not known: {reason}."
