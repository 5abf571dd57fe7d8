"""Find mistakes in a set of policies, each with a call that shows it.

The kinds of conflict:

- ``contradiction``: one hard policy allows a call that another hard one denies or wants confirmed; both
  by their own words, and not because a hard policy counts what it cannot parse.
- ``dead``: no call fulfils the policy's conditions, or its own exceptions lift every call that does.
- ``shadowed``: wherever the policy applies, stronger ones apply too, so it never decides.
- ``redundant``: wherever it applies, others that add as much apply too, so no verdict changes without it.
- ``unreachable_exception``: the exception never lifts a call that would not be lifted without it.
- ``gap``: a tool declared as dangerous to which no policy can apply.

All findings can be fixed at once: removing all shadowed and redundant policies together changes no verdict.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from memkit.policies.analysis.calls import (
    AnalysedPolicy,
    Applies,
    Box,
    CallAnswer,
    CallFound,
    Lift,
    Lifted,
    Matches,
    NotLifted,
    OfTool,
    PolicyData,
    Spared,
    SubjectSet,
    Wish,
    find_call,
)
from memkit.policies.analysis.values import TOO_LARGE, Nothing, Unknown
from memkit.policies.analysis.views import other_commands
from memkit.runtime.guard.interface import JSON, Call

KINDS = ("contradiction", "shadowed", "redundant", "dead", "unreachable_exception", "gap")
"""The kinds of conflict, in order of presentation."""


@dataclass(frozen=True)
class PolicyConflict:
    """A mistake in a set of policies."""

    kind: str
    policies: tuple[str, ...]
    """The policy concerned, then those that cause it."""
    witness: Call | None
    """A call that shows it; ``policy check`` decides it as the proof says."""
    proof: str


@dataclass(frozen=True)
class OpenCase:
    """A question that was neither proved nor disproved."""

    kind: str
    policies: tuple[str, ...]
    reason: str


@dataclass(frozen=True)
class Analysis:
    """All results, and the open questions."""

    conflicts: tuple[PolicyConflict, ...]
    unknown: tuple[OpenCase, ...]


MAX_COVERING = 40
"""The most other policies that are combined to cover one."""

MAX_COSTLY = 20
"""The most pairs of policies too large to compare before no further pair is examined."""

_STOPS = ("deny", "ask")
_LISTED = 3

Told = PolicyConflict | OpenCase


@dataclass(frozen=True)
class DangerousTool:
    """A tool that ``memkit.yaml`` declares with ``dangerous: true``."""

    name: str
    sample: Mapping[str, JSON]
    """Arguments that satisfy its schema."""


def find_conflicts(policies: Sequence[PolicyData], tools: Sequence[DangerousTool] = ()) -> Analysis:
    """Return every provable conflict in a valid set of policies, and every question that stays open."""
    subjects = SubjectSet(policies)
    told: list[Told] = []
    alive = []
    for subject in subjects:
        dead = _dead(subjects, subject)
        told += [dead] if dead else []
        if not isinstance(dead, PolicyConflict) or dead.witness:
            alive.append(subject)
            lifts = enumerate(subject.lifts)
            told += filter(None, (_unreachable(subjects, subject, lift, subject.lifts[:at]) for at, lift in lifts))
    told += _contradictions(subjects, alive)
    told += _needless(subjects, alive)
    told += filter(None, (_gap(subjects, tool) for tool in tools))
    conflicts = [one for one in told if isinstance(one, PolicyConflict)]
    conflicts.sort(key=lambda one: KINDS.index(one.kind))
    return Analysis(tuple(conflicts), tuple(one for one in told if isinstance(one, OpenCase)))


def _dead(subjects: SubjectSet, subject: AnalysedPolicy) -> Told | None:
    applies = find_call([Applies(subject)], partial(subjects.applies, subject))
    if isinstance(applies, Unknown):
        return OpenCase(
            "dead", (subject.name,), f"Whether any call fulfils {subject.name} is not known: {applies.reason}."
        )
    if isinstance(applies, CallFound):
        return _only_unread(subject, applies.call)
    matches = find_call([Matches(subject)], lambda call: True)
    if isinstance(matches, Nothing):
        return PolicyConflict("dead", (subject.name,), None, f"No call fulfils the conditions of {subject.label}.")
    why = f"The exceptions of {subject.label} lift every call that fulfils its conditions."
    witness = matches.call if isinstance(matches, CallFound) and _is_lifted(subjects, subject, matches.call) else None
    return PolicyConflict("dead", (subject.name,), witness, why)


def _only_unread(subject: AnalysedPolicy, call: Call) -> PolicyConflict | None:
    """Return a finding for a hard policy whose conditions never hold, and that matches only what cannot be parsed."""
    if not subject.hard:
        return None
    if not isinstance(find_call([Matches(subject, surely=True)], lambda call: True), Nothing):
        return None
    proof = (
        f"No call fulfils the conditions of {subject.label}. As it is hard, it matches only what cannot be compared "
        "with them: the witness is such a call."
    )
    return PolicyConflict("dead", (subject.name,), call, proof)


def _is_lifted(subjects: SubjectSet, subject: AnalysedPolicy, call: Call) -> bool:
    return any(finding.name == subject.name for finding in subjects.decide(call).exempted)


def _unreachable(subjects: SubjectSet, subject: AnalysedPolicy, lift: Lift, earlier: Sequence[Lift]) -> Told | None:
    lifted = partial(_is_lifted, subjects, subject)
    kind, names, called = "unreachable_exception", (subject.name,), _called(lift)
    alone = find_call([Matches(subject), Lifted(lift)], lifted)
    if isinstance(alone, Nothing):
        proof = f"No call that {subject.label} matches fulfils {called}, as long as each context value is one value."
        return PolicyConflict(kind, names, None, proof)
    answer: CallAnswer = alone
    if isinstance(alone, CallFound) and earlier:
        wishes: list[Wish] = [Matches(subject), Lifted(lift), *map(NotLifted, earlier)]
        answer = find_call(wishes, lifted)
        if isinstance(answer, Nothing):
            others = " and ".join(_called(other) for other in earlier)
            return PolicyConflict(
                kind, names, alone.call, f"Whatever {called} of {subject.label} lifts, {others} lifts before."
            )
    if isinstance(answer, Unknown):
        return OpenCase(
            kind, names, f"Whether {called} of {subject.name} ever lifts a call is not known: {answer.reason}."
        )
    return None


def _called(lift: Lift) -> str:
    return f"exception {lift.index + 1}" + (f" ({lift.text})" if lift.text else "")


def _contradictions(subjects: SubjectSet, alive: Sequence[AnalysedPolicy]) -> Iterator[Told]:
    allowing = [subject for subject in alive if subject.hard and subject.effect == "allow"]
    stopping = [subject for subject in alive if subject.hard and subject.effect in _STOPS]
    costly = 0
    for one, others in _by_tool(allowing, stopping):
        unknown = []
        for other in others:
            if not _may_meet(one, other):
                continue
            told = _contradiction(subjects, one, other) if costly < MAX_COSTLY else None
            if isinstance(told, PolicyConflict):
                yield told
            elif not isinstance(told, Nothing):
                unknown.append(other.name)
                costly += isinstance(told, Unknown) and told.reason.endswith(TOO_LARGE)
        if unknown:
            names = ", ".join(unknown[:_LISTED]) + (f" and {len(unknown) - _LISTED} more" * (len(unknown) > _LISTED))
            reason = (
                f"Whether a call that {one.name} allows is stopped by {names} is not known: no such call was found."
            )
            yield OpenCase("contradiction", (one.name, *unknown), reason)


def _by_tool(
    ones: Sequence[AnalysedPolicy], others: Sequence[AnalysedPolicy]
) -> Iterator[tuple[AnalysedPolicy, list[AnalysedPolicy]]]:
    """Yield each policy with those of the others that may be about the same tool."""
    by_tool: dict[str, list[AnalysedPolicy]] = {}
    everywhere = [other for other in others if other.tools is None]
    for other in others:
        for tool in other.tools or ():
            by_tool.setdefault(tool, []).append(other)
    for one in ones:
        if one.tools is None:
            yield one, list(others)
        else:
            named = (other for tool in sorted(one.tools) for other in by_tool.get(tool, ()))
            yield one, list(dict.fromkeys([*named, *everywhere]))


def _may_meet(one: AnalysedPolicy, other: AnalysedPolicy) -> bool:
    """Return whether two policies may be about the same tool, and the same command of it.

    A text can contain commands of both, but then they do not disagree about one command.
    """
    return any(not _kept_apart(box, beside) for box in one.boxes for beside in other.boxes)


def _kept_apart(box: Box, beside: Box) -> bool:
    """Return whether two boxes surely have no call in common; a cheap test for the usual case.

    A list as an argument may fulfil both by different elements, so texts separate boxes only for single values.
    """
    return any(
        ((wanted.whole or beside[key].whole or not key.startswith("args.")) and wanted.excludes(beside[key]))
        or other_commands(wanted.leaves, beside[key].leaves)
        for key, wanted in box.items()
        if key in beside
    )


def _contradiction(
    subjects: SubjectSet, one: AnalysedPolicy, other: AnalysedPolicy
) -> PolicyConflict | Nothing | Unknown:
    def both(call: Call) -> bool:
        applying = subjects.applying(call)
        return one in applying and other in applying

    answer = find_call([Applies(one, surely=True), Applies(other, surely=True)], both, glance=True)
    if not isinstance(answer, CallFound):
        return answer
    decision = subjects.decide(answer.call).decision
    verb = "denies it" if other.effect == "deny" else "asks about it"
    proof = f"{one.label} allows this call and {other.label} {verb}; the decision is {decision}."
    return PolicyConflict("contradiction", (one.name, other.name), answer.call, proof)


def _needless(subjects: SubjectSet, alive: Sequence[AnalysedPolicy]) -> Iterator[Told]:
    """Yield what could be removed; of two equivalent ones, the later."""
    needless: set[AnalysedPolicy] = set()
    for subject in reversed(alive):
        told = _covered(subjects, subject, needless)
        if isinstance(told, PolicyConflict):
            needless.add(subject)
        if told:
            yield told


def _covered(subjects: SubjectSet, subject: AnalysedPolicy, needless: set[AnalysedPolicy]) -> Told | None:
    covering: list[AnalysedPolicy] = []
    witness: Call | None = None
    while len(covering) < MAX_COVERING:

        def alone(call: Call) -> bool:
            applying = subjects.applying(call)
            return subject in applying and not any(other in applying for other in covering)

        answer = find_call([Applies(subject), *map(Spared, covering)], alone)
        if isinstance(answer, Nothing):
            return _needless_conflict(subject, _fewest(subject, covering), witness) if covering else None
        if isinstance(answer, Unknown):
            return _open_cover(subject, covering, answer.reason) if covering else None
        others = [
            other
            for other in subjects.applying(answer.call)
            if other is not subject and other.strength >= subject.strength and other not in needless
        ]
        if not others:
            return None
        witness = witness or answer.call
        covering.append(max(others, key=lambda other: (other.strength, -sum(map(len, other.boxes)))))
    return _open_cover(subject, covering[:3], "too many others apply to the same calls")


def _open_cover(subject: AnalysedPolicy, covering: Sequence[AnalysedPolicy], reason: str) -> OpenCase:
    names = ", ".join(other.name for other in covering)
    return OpenCase(
        "shadowed",
        (subject.name, *(other.name for other in covering)),
        f"Whether {subject.name} ever decides where {names} does not is not known: {reason}.",
    )


def _fewest(subject: AnalysedPolicy, covering: Sequence[AnalysedPolicy]) -> list[AnalysedPolicy]:
    """Remove the unnecessary ones from the covering policies."""
    kept = list(covering)
    for other in covering[:-1]:
        rest = [one for one in kept if one is not other]
        if isinstance(find_call([Applies(subject), *map(Spared, rest)], lambda call: True), Nothing):
            kept = rest
    return kept


def _needless_conflict(
    subject: AnalysedPolicy, covering: Sequence[AnalysedPolicy], witness: Call | None
) -> PolicyConflict:
    stronger = all(other.strength > subject.strength for other in covering)
    names = " or ".join(other.label for other in covering)
    if stronger:
        proof = f"Wherever {subject.label} applies, {names} applies too and is stronger: it never decides."
    else:
        proof = f"Wherever {subject.label} applies, {names} applies too: without it every verdict is the same."
    kind = "shadowed" if stronger else "redundant"
    return PolicyConflict(kind, (subject.name, *(other.name for other in covering)), witness, proof)


def _gap(subjects: SubjectSet, tool: DangerousTool) -> Told | None:
    unsure = []
    for subject in subjects:
        answer = find_call([OfTool(tool.name), Applies(subject)], partial(subjects.applies, subject))
        if isinstance(answer, CallFound):
            return None
        unsure += [subject.name] if isinstance(answer, Unknown) else []
    if unsure:
        reason = f"Whether a call of the dangerous tool {tool.name} fulfils {', '.join(unsure)} is not known."
        return OpenCase("gap", tuple(unsure), reason)
    proof = f"The tool {tool.name} is declared as dangerous, and no policy can apply to a call of it."
    return PolicyConflict("gap", (), Call(tool.name, tool.sample, {}), proof)
