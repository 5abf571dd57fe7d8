"""The guard: decides tool calls by compiled policies.

>>> guard = Guard([{
...     "name": "ask_first", "description": "Ask before deleting.", "rule": "Ask before rm.", "enforcement": "hard",
...     "effect": "ask", "match": {"tool": "bash", "args.command": {"shell": {"program": "rm"}}},
... }])
>>> guard.decide("bash", {"command": "sudo /bin/rm -rf /srv"}, {}).decision
'ask'
>>> guard.decide("bash", {"command": "ls"}, {}).decision
'allow'
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

from .checks import NO, first_of
from .interface import (
    EFFECTS,
    ENFORCEMENTS,
    JSON,
    OPAQUE,
    Advice,
    Call,
    GuardError,
    MatchedPolicy,
    Path,
    PolicyJudge,
    PolicySetError,
    Ternary,
    Verdict,
    contribution,
    strength,
)
from .match import Alternative, Clause, Test, compile_match, suggestion

if TYPE_CHECKING:
    from .selection import PolicySelection

__all__ = ["Advice", "Call", "Guard", "GuardError", "MatchedPolicy", "PolicyJudge", "PolicySetError", "Verdict"]

FAULTS = (ArithmeticError, AttributeError, LookupError, MemoryError, RuntimeError, TypeError, ValueError)
"""Exceptions that evaluating a condition on hostile input may raise; the guard must answer nevertheless."""

_MAX_KNOWN_TOOLS = 1024
_MAX_SELECTIONS = 64
_FEW = 4
"""Evaluating up to this many policies is faster than looking them up."""


class Guard:
    """Decides tool calls; compiled once, queried often.

    >>> no_tmp = {
    ...     "name": "no_tmp", "description": "Keep nothing in /tmp.", "rule": "Write elsewhere.", "enforcement": "hard",
    ...     "effect": "deny", "match": {"tool": "write_file", "args.path": {"prefix": "/tmp/"}},
    ... }
    >>> guard = Guard([no_tmp])
    >>> guard.decide("write_file", {"path": "/tmp/notes"}, {}).decision
    'deny'
    >>> guard.decide("write_file", {"path": "/srv/notes"}, {}).decision
    'allow'
    >>> Guard.broken("policies/deny.yaml is no YAML").decide("read_file", {}, {}).decision
    'deny'
    """

    def __init__(self, policies: Sequence[Mapping[str, JSON]], former: Guard | None = None) -> None:
        """Compile the policies; those that ``former`` has unchanged are reused."""
        self.fault: str | None = None
        """Why the set is broken, if it is."""
        known: Mapping[str, Policy] = former._compiled if former else {}
        # Each by how it is spelled: ``true`` and ``1`` are equal, and not the same.
        self._compiled: Mapping[str, Policy] = {
            (spelled := repr(data)): known.get(spelled) or compile_policy(data) for data in policies
        }
        self.policies = tuple(self._compiled.values())
        self._by_tool: dict[str, _Reaching] = {}
        self._selections: dict[tuple[int, ...], PolicySelection] = {}
        self._index = _ToolIndex(self.policies)
        self._selects = True
        seen: set[str] = set()
        for name in (policy["name"] for policy in policies):
            if name in seen:
                raise PolicySetError("two policies have this name", path=("name",), policy=name)
            seen.add(name)

    @classmethod
    def broken(cls, reason: str) -> Guard:
        """Return a guard that denies every call, because its policies could not be loaded."""
        guard = cls([])
        guard.fault = reason
        return guard

    def decide(self, tool: str, args: Mapping[str, JSON], context: Mapping[str, JSON]) -> Verdict:
        """Return the strongest effect of every policy that matches; a call that no policy matches is allowed."""
        if self.fault is not None:
            return _denial("policy_set", f"the policies could not be loaded: {self.fault}")
        if not _is_call(tool, args, context):
            return _denial("policy_set", "a tool is a name, arguments and context are mappings of names to values")
        call = Call(tool, args, context)
        applying: list[tuple[str, MatchedPolicy]] = []
        exempted: list[MatchedPolicy] = []
        for policy, test in self._reaching(tool).those_to_ask(call):
            try:
                outcome = test(call)
            except FAULTS as error:
                applying.append(_failed(policy, error))
                continue
            if outcome is not NO:
                _judge(policy, call, outcome, applying, exempted)
        decision = max((effect for effect, _ in applying), key=strength, default="allow")
        findings = tuple(replace(finding, decides=effect == decision) for effect, finding in applying)
        return Verdict(decision, findings, tuple(exempted))

    def advice(self) -> list[Advice]:
        """Return the rule text of every active policy, for the prompt."""
        return [Advice(policy.name, policy.rule) for policy in self.policies if policy.active]

    def asking_everybody(self) -> Guard:
        """Return a guard that evaluates all of these policies on every call, a reference to test this one against."""
        guard = Guard([])
        guard.fault, guard.policies, guard._index = self.fault, self.policies, self._index
        guard._selects = False
        return guard

    def _reaching(self, tool: str) -> _Reaching:
        """Return the policies that can match a call of this tool, with the remaining tests; computed once per tool."""
        found = self._by_tool.get(tool)
        if found is None:
            tests = ((policy, policy.for_tool(tool)) for policy in self._index.of(tool))
            asked = tuple((policy, test) for policy, test in tests if test)
            found = _Reaching(asked, self._selection(tool, asked) if self._selects and len(asked) > _FEW else None)
            if len(self._by_tool) < _MAX_KNOWN_TOOLS:
                self._by_tool[tool] = found
        return found

    def _selection(self, tool: str, asked: Sequence[tuple[Policy, Test]]) -> PolicySelection:
        """Return the selection among policies; tools for which the same parts of them apply share it."""
        parts = [[part for part in policy.alternatives if part.for_tool(tool)] for policy, _ in asked]
        key = tuple(id(part) for some in parts for part in some)
        found = self._selections.get(key)
        if found is None:
            from .selection import PolicySelection

            found = PolicySelection(parts)
            if len(self._selections) < _MAX_SELECTIONS:
                self._selections[key] = found
        return found


class _Reaching(NamedTuple):
    """The policies that can match a call of one tool."""

    asked: tuple[tuple[Policy, Test], ...]
    selection: PolicySelection | None
    """Selects the policies that a call can meet; ``None`` if they are so few that all are evaluated."""

    def those_to_ask(self, call: Call) -> Iterable[tuple[Policy, Test]]:
        """Return every policy that may answer anything but no for a call, in the order of the set."""
        if self.selection is None:
            return self.asked
        try:
            places = self.selection.meeting(call)
        except FAULTS:  # a failure here recurs in a condition, which handles it
            places = None
        return self.asked if places is None else [self.asked[place] for place in places]


class _ToolIndex:
    """Finds the active policies that may apply to a tool, in the order of the set, without evaluating all of them."""

    def __init__(self, policies: Sequence[Policy]) -> None:
        self._policies = policies
        self._wide: list[int] = []
        self._named: dict[str, list[int]] = {}
        for place, policy in enumerate(policies):
            names = policy.names()
            if not policy.active:
                continue
            if names is None:
                self._wide.append(place)
            for name in names or ():
                self._named.setdefault(name, []).append(place)

    def of(self, tool: str) -> Iterator[Policy]:
        for place in sorted([*self._wide, *self._named.get(tool, ())]):
            yield self._policies[place]


def _is_call(tool: JSON, args: JSON, context: JSON) -> bool:
    return isinstance(tool, str) and isinstance(args, Mapping) and isinstance(context, Mapping)


def _denial(name: str, reason: str) -> Verdict:
    return Verdict("deny", (MatchedPolicy(name, "deny", "hard", True, reason),))


def _failed(policy: Policy, error: Exception) -> tuple[str, MatchedPolicy]:
    reason = why_failed(error)
    return contribution("deny", policy.enforcement), MatchedPolicy(
        policy.name, "deny", policy.enforcement, False, reason
    )


def why_failed(error: Exception) -> str:
    """Return the reason of a finding about a policy that could not be evaluated."""
    return f"evaluating it failed: {type(error).__name__}"


def _judge(
    policy: Policy,
    call: Call,
    outcome: Ternary,
    applying: list[tuple[str, MatchedPolicy]],
    exempted: list[MatchedPolicy],
) -> None:
    """Add the finding of a policy that may match; a hard one also matches if the answer is unknown."""
    if outcome.state is False or (outcome.state is None and not policy.hard):
        return
    effect, reason = policy.effect or "allow", outcome.reason
    if outcome.state is None:
        reason = f"{OPAQUE}{reason}, which a hard policy counts as a match"
    finding = MatchedPolicy(policy.name, effect, policy.enforcement, False, reason)
    try:
        lifted = _lift(policy, call)
    except FAULTS as error:
        applying.append(_failed(policy, error))
        return
    if lifted.state:
        exempted.append(replace(finding, reason=f"{reason}; lifted by exception: {lifted.reason}"))
    else:
        applying.append((contribution(effect, policy.enforcement), finding))


def _lift(policy: Policy, call: Call) -> Ternary:
    for exception in policy.exceptions:
        outcome = exception.applies(call)
        if outcome.state:
            return outcome
    return Ternary(False)


_NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,63}")
_REQUIRED = ("name", "description", "rule", "enforcement")


class CompiledException(NamedTuple):
    """A case in which a policy does not apply."""

    text: str
    alternatives: tuple[Alternative, ...]
    """Empty if the exception is prose only; such an exception never applies by itself."""
    path: Path

    def applies(self, call: Call) -> Ternary:
        """Return whether the host's context certainly makes the exception hold."""
        for alternative in self.alternatives:
            outcome = alternative.test(call)
            if outcome.state:
                return Ternary(True, f"{self.text or 'exception'} ({outcome.reason})")
        return Ternary(False)


class Policy(NamedTuple):
    """A compiled policy."""

    name: str
    rule: str
    enforcement: str
    effect: str | None
    """``None`` for advice, which has nothing to check."""
    active: bool
    alternatives: tuple[Alternative, ...]
    exceptions: tuple[CompiledException, ...]

    @property
    def hard(self) -> bool:
        """Return whether the policy binds."""
        return self.enforcement == "hard"

    def for_tool(self, tool: str) -> Test | None:
        """Return the test for calls of this tool, or ``None`` if the policy cannot apply to it."""
        tests = [test for test in (part.for_tool(tool) for part in self.alternatives) if test]
        if len(tests) < 2:
            return tests[0] if tests else None
        return lambda call: first_of(test(call) for test in tests)

    def names(self) -> frozenset[str] | None:
        """Return the tools that the policy can apply to; ``None`` if every tool has to be tested."""
        found: frozenset[str] = frozenset()
        for alternative in self.alternatives:
            if alternative.names is None:
                return None
            found |= alternative.names
        return found

    def clauses(self) -> Iterator[Clause]:
        """Yield every clause of the match, in the order of the file."""
        for alternative in self.alternatives:
            yield from (*alternative.tools, *alternative.clauses)


def compile_policy(data: Mapping[str, JSON]) -> Policy:
    """Return the compiled policy; raise ``PolicySetError`` with the first fault."""
    compiled, faults = _read(data)
    if faults:
        raise faults[0]
    in_force = _in_force(data)
    if in_force is not data:
        compiled, _ = _read(in_force)
    return Policy(
        name=in_force["name"],
        rule=in_force["rule"],
        enforcement=in_force["enforcement"],
        effect=in_force.get("effect"),
        active=in_force.get("active", True),
        alternatives=compiled.get("match", ()),
        exceptions=compiled.get("exceptions", ()),
    )


FORMER_TRUST = ("verified", "candidate", "quarantined", "rejected")
"""Former values of ``context.trust``, from before it said whether a turn is tainted: ``trusted`` or ``untrusted``."""


def names_former_trust(condition: JSON) -> bool:
    """Return whether a condition on ``context.trust`` expects a value that no turn has any more."""
    if isinstance(condition, Mapping):
        return any(map(names_former_trust, condition.values()))
    if isinstance(condition, list | tuple):
        return any(map(names_former_trust, condition))
    return condition in FORMER_TRUST


def _in_force(data: Mapping[str, JSON]) -> Mapping[str, JSON]:
    """Turn a policy that would never apply again into one that asks in every turn, until somebody rewrites it."""
    match = data.get("match")
    alternatives = match if isinstance(match, list) else [match] if match else []
    if not any(names_former_trust(one.get("context.trust")) for one in alternatives):
        return data
    kept = [{key: value for key, value in one.items() if key != "context.trust"} for one in alternatives]
    effect = data["effect"] if data["effect"] in ("deny", "ask") else "ask"
    return {**data, "effect": effect, "match": [one or {"tool": "*"} for one in kept]}


def policy_faults(data: JSON) -> list[PolicySetError]:
    """Return every fault in a policy's data, each with its place."""
    return _read(data)[1]


def _read(data: JSON) -> tuple[dict[str, Any], list[PolicySetError]]:
    """Return the compiled value of each field of a policy, and every fault in it."""
    if not isinstance(data, Mapping):
        return {}, [PolicySetError("a policy is a mapping of fields")]
    compiled: dict[str, Any] = {}
    faults = [PolicySetError(f"the field {key} is missing") for key in _REQUIRED if key not in data]
    for key, value in data.items():
        if key not in _FIELDS:
            faults.append(PolicySetError(f"unknown field {key!r}{suggestion(str(key), tuple(_FIELDS))}", path=(key,)))
        elif read := _FIELDS[key]:
            try:
                compiled[key] = read(value, (key,))
            except PolicySetError as fault:
                faults.append(fault)
    if "match" in data and "effect" not in data:
        faults.append(PolicySetError(f"a policy with match needs an effect: {', '.join(EFFECTS)}", path=("match",)))
    name = data.get("name")
    owner = name if isinstance(name, str) else ""
    return compiled, [PolicySetError(fault.message, path=fault.path, policy=owner) for fault in faults]


def _text(value: JSON, path: Path) -> None:
    if not isinstance(value, str) or not value.strip():
        raise PolicySetError("needs text", path=path)


def _name(value: JSON, path: Path) -> None:
    if not isinstance(value, str) or not _NAME.fullmatch(value):
        raise PolicySetError(
            "a name starts with a lower-case letter or digit and has at most 64 of a-z, 0-9, _ and -", path=path
        )


def _flag(value: JSON, path: Path) -> None:
    if not isinstance(value, bool):
        raise PolicySetError("needs true or false", path=path)


def _one_of(known: tuple[str, ...]) -> Callable[[JSON, Path], None]:
    def check(value: JSON, path: Path) -> None:
        if value not in known:
            hint = suggestion(str(value), known)
            close = hint if "did you mean" in hint else ""
            raise PolicySetError(f"{value!r} is not one of {', '.join(known)}{close}", path=path)

    return check


def _exceptions(value: JSON, path: Path) -> tuple[CompiledException, ...]:
    if not isinstance(value, list):
        raise PolicySetError("needs a list of exceptions, each with text and match", path=path)
    return tuple(_exception(item, (*path, index)) for index, item in enumerate(value))


def _exception(data: JSON, path: Path) -> CompiledException:
    if isinstance(data, str) and data.strip():  # a sentence for people
        return CompiledException(data, (), path)
    if not isinstance(data, Mapping) or not data:
        raise PolicySetError("an exception is a sentence, or has text and match", path=path)
    _known_keys(data, ("text", "match"), path)
    if "text" in data:
        _text(data["text"], (*path, "text"))
    alternatives = compile_match(data["match"], (*path, "match"), context_only=True) if "match" in data else ()
    return CompiledException(data.get("text", ""), alternatives, path)


def _tests(value: JSON, path: Path) -> None:
    if not isinstance(value, list):
        raise PolicySetError("needs a list of tests, each with name, call and expect", path=path)
    for index, item in enumerate(value):
        _test(item, (*path, index))


def _test(data: JSON, path: Path) -> None:
    """Check what running a test needs; the rest affects no call and is checked by the schema."""
    if not isinstance(data, Mapping) or not isinstance(data.get("call"), Mapping) or "expect" not in data:
        raise PolicySetError("a test has name, call and expect", path=path)
    _text(data.get("name"), (*path, "name"))
    _text(data["call"].get("tool"), (*path, "call", "tool"))


def _accepted(value: JSON, path: Path) -> None:
    """Check the accepted findings; they affect no call."""
    if not isinstance(value, list):
        raise PolicySetError("needs a list of findings, each with kind and reason", path=path)
    for index, item in enumerate(value):
        place = (*path, index)
        if not isinstance(item, Mapping):
            raise PolicySetError("an accepted finding has kind, policies and reason", path=place)
        _known_keys(item, ("kind", "policies", "reason"), place)
        _text(item.get("kind"), (*place, "kind"))
        _text(item.get("reason"), (*place, "reason"))


def _known_keys(data: Mapping[str, JSON], known: tuple[str, ...], path: Path) -> None:
    for key in data:
        if key not in known:
            raise PolicySetError(f"unknown key {key!r}{suggestion(str(key), known)}", path=(*path, key))


_FIELDS: Mapping[str, Callable[[JSON, Path], object] | None] = {
    "name": _name,
    "description": _text,
    "rule": _text,
    "enforcement": _one_of(ENFORCEMENTS),
    "rationale": _text,
    "effect": _one_of(EFFECTS),
    "match": compile_match,
    "exceptions": _exceptions,
    "tests": _tests,
    "accepted": _accepted,
    "active": _flag,
    "version": _text,
    "superseded_by": _name,
    **dict.fromkeys(("tags", "changelog", "deprecated")),
}
"""Every field of a policy with the function that checks and compiles it; the others are checked by the schema only."""
