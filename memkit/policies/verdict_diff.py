"""Comparison of two whole sets of policies: calls whose verdict changes, found by search or recorded from an agent.

Each changed policy is examined both ways: for a call that it decided before and that comes out weaker now, and for
one that it decides now and that came out weaker before. The engine of both sets decides every call before it is shown.
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from memkit.errors import UsageError
from memkit.policies.analysis.calls import AnalysedPolicy, Applies, CallFound, Spared, SubjectSet, Wish, find_call
from memkit.policies.analysis.values import Unknown
from memkit.policies.files import FOLDER, load_policies, read_policy
from memkit.runtime.guard.core import Call, Guard, Verdict
from memkit.runtime.guard.interface import EFFECTS, strength
from memkit.store.git import Git
from memkit.store.git_objects import REGULAR, GitObjects, parting, resolve


def call_data(call: Call) -> dict[str, Any]:
    """Return a call for ``--json``."""
    return {"tool": call.tool, "args": dict(call.args), "context": dict(call.context)}


def check_line(call: Call) -> str:
    """Return the ``policy check`` that decides a call again."""
    words = ["memkit", "policy", "check", "--tool", call.tool, *_pairs("--arg", call.args)]
    return shlex.join([*words, *_pairs("--context", call.context)])


def _pairs(option: str, values: Mapping[str, Any]) -> list[str]:
    return [word for key, value in values.items() for word in (option, _pair(key, value))]


def _pair(key: str, value: Any) -> str:
    if isinstance(value, str) and not key.endswith(":"):
        return f"{key}={value}"
    return f"{key}:={json.dumps(value, ensure_ascii=False)}"


WORK_TREE = "work tree"

_FILE = re.compile(rf"{FOLDER}/[^./][^/]*\.yaml")
_EXECUTABLE = "100755"
_SHOWN = 10


@dataclass(frozen=True)
class PolicySet:
    """Policies that are valid and decide together."""

    name: str
    """A person's name for it: a folder, a revision, or the work tree."""
    policies: Sequence[Mapping[str, Any]]
    """The data of each, by name."""
    commit: str | None = None
    """The commit that contains it; ``None`` for files."""


def policies_in(folder: Path, name: str = WORK_TREE) -> PolicySet:
    """Return the set in a folder of policy files; raise ``UsageError`` with the place of the first fault."""
    return PolicySet(name, [policy.data for policy in load_policies(folder)])


def policies_at(git: Git, revision: str) -> PolicySet:
    """Return the set in the commit that a person calls ``revision``.

    Raises:
        EnvironmentFault: The store is not in a repository, or a file of the commit was not fetched.
        UsageError: There is no such commit, or a policy in it is broken: the message names file, line and column.
    """
    objects = GitObjects(git)
    commit = resolve(git, revision)
    files = [entry for entry in objects.tree(commit, FOLDER) if _FILE.fullmatch(entry.path)]
    for entry in files:
        if entry.mode not in (REGULAR, _EXECUTABLE):
            raise UsageError(f"{entry.path} at {revision} is a link; only files of a commit are read.")
    contents = objects.read_many(entry.id for entry in files)
    read = [read_policy(contents[entry.id], name=f"{entry.path} at {revision}", path=entry.path) for entry in files]
    return PolicySet(revision, [policy.data for policy in read], commit)


def policies_where_parted(git: Git, one: str, other: str) -> PolicySet:
    """Return the set of the commit where two revisions diverged.

    Raises:
        UsageError: There is no such revision, they have no commit in common, or a policy of that one is broken.
    """
    found = parting(git, one, other)
    return replace(policies_at(git, found), name=f"{one} at {found[:_SHOWN]}")


MAX_ROUNDS = 40
"""The most equally deciding policies that are worked around in the search for one call."""


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
        """Return whether a hard policy's decision was replaced by a weaker one."""
        return self.weakened and self.binding


@dataclass(frozen=True)
class VerdictComparison:
    """The known difference between two sets."""

    changes: tuple[VerdictChange, ...]
    """Weakened hard policies first, and among them those from denied to allowed."""
    unknown: tuple[str, ...]
    """Questions that were neither answered by a call nor ruled out."""


def compare_verdicts(before: PolicySet, after: PolicySet) -> VerdictComparison:
    """Return a call for every changed policy whose change shows in a verdict, and the open questions."""
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
    return VerdictComparison(tuple(ordered(found)), tuple(dict.fromkeys(unknown)))


def ordered(changes: Sequence[VerdictChange]) -> list[VerdictChange]:
    """Return changes in order of importance, each call once."""

    def weight(change: VerdictChange) -> tuple[bool, bool, int, int]:
        before, after = strength(change.before), strength(change.after)
        worst = (-before, after) if change.weakened else (-after, before)
        return (not change.weakens_hard, not change.weakened, *worst)

    return list({repr(change.call): change for change in sorted(changes, key=weight, reverse=True)}.values())[::-1]


def change_data(change: VerdictChange) -> dict[str, Any]:
    """Return a change for ``--json``."""
    return {
        "before": change.before,
        "after": change.after,
        "weakens_hard": change.weakens_hard,
        "weakened": change.weakened,
        "policy": change.policy or None,
        "decided_before": list(change.decided_before),
        "decided_after": list(change.decided_after),
        "call": call_data(change.call),
    }


def change_of(call: Call, before: Verdict, after: Verdict, policy: str = "") -> VerdictChange | None:
    """Return the change of one call, or ``None`` if both sets decide alike."""
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
    strong: SubjectSet,
    weak: SubjectSet,
    one: AnalysedPolicy | None,
    other: AnalysedPolicy | None,
    *,
    backwards: bool = False,
) -> Iterator[VerdictChange | str]:
    """Yield the weakest call for each way in which a policy matches and the other set decides more weakly.

    Calls that the policy matches by its own words come first. One that a hard policy matches only because it cannot be
    parsed follows if it comes out weaker still.
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
    strong: SubjectSet, weak: SubjectSet, wishes: Sequence[Wish], subject: AnalysedPolicy, level: int
) -> Call | str | None:
    """Return a call that the policy applies to and the other set decides at most at ``level``, or why none is known."""
    around: list[AnalysedPolicy] = []
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


def _open(subject: AnalysedPolicy, level: int, reason: str) -> str:
    other = EFFECTS[level]
    return f"Whether a call that {subject.label} decides on one side is {other} on the other is not known: {reason}."


@dataclass(frozen=True)
class Replay:
    """The decisions of two sets of policies about recorded calls."""

    calls: int
    """Distinct calls that both sets decided."""
    left_out: int
    """Verdicts in the log whose call was not recorded: too long, or without the user's consent."""
    changes: tuple[VerdictChange, ...]


def replay(before: PolicySet, after: PolicySet, events: Iterable[Mapping[str, Any]]) -> Replay:
    """Return how the calls of the audit log's ``policy`` events are decided now, formerly denied ones first."""
    calls, left_out = _calls(events)
    old, new = Guard(before.policies), Guard(after.policies)
    changes = []
    for call in calls:
        then, now = (guard.decide(call.tool, call.args, call.context) for guard in (old, new))
        change = change_of(call, then, now)
        changes += [change] if change else []
    return Replay(len(calls), left_out, tuple(ordered(changes)))


def _calls(events: Iterable[Mapping[str, Any]]) -> tuple[Sequence[Call], int]:
    found: dict[str, Call] = {}
    left_out = 0
    for event in events:
        tool, args, context = event.get("tool"), event.get("args"), event.get("context")
        if isinstance(tool, str) and isinstance(args, dict) and isinstance(context, dict):
            found.setdefault(json.dumps([tool, args, context], sort_keys=True), Call(tool, args, context))
        else:
            left_out += 1
    return list(found.values()), left_out
