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

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from .checks import NO
from .errors import GuardError, PolicySetError
from .interface import JSON, Advice, Call, Finding, Judge, Outcome, Verdict, contribution, strength
from .match import Test
from .policy import Policy, compile_policy

__all__ = ["Advice", "Call", "Finding", "Guard", "GuardError", "Judge", "PolicySetError", "Verdict"]

_FAULTS = (ArithmeticError, AttributeError, LookupError, MemoryError, RuntimeError, TypeError, ValueError)
"""What evaluating a condition on hostile input may raise; the guard must answer all the same."""

_MAX_KNOWN_TOOLS = 1024


class Guard:
    """Decides tool calls; compiled once, asked often."""

    def __init__(self, policies: Sequence[Mapping[str, JSON]]) -> None:
        self.fault: str | None = None
        """Why the set is broken, when it is."""
        self.policies = tuple(compile_policy(data) for data in policies)
        self._by_tool: dict[str, tuple[tuple[Policy, Test], ...]] = {}
        self._index = _ToolIndex(self.policies)
        _refuse_twins(self.policies)

    @classmethod
    def broken(cls, reason: str) -> Guard:
        """Return a guard that denies every call, because its policies could not be loaded."""
        guard = cls([])
        guard.fault = reason
        return guard

    def decide(self, tool: str, args: Mapping[str, JSON], context: Mapping[str, JSON]) -> Verdict:
        """Return the strongest effect of every policy that matches; a call no policy matches is allowed."""
        if self.fault is not None:
            return _denial("policy_set", f"the policies could not be loaded: {self.fault}")
        if not _is_call(tool, args, context):
            return _denial("policy_set", "a tool is a name, arguments and context are mappings of names to values")
        call = Call(tool, args, context)
        applying: list[tuple[str, Finding]] = []
        exempted: list[Finding] = []
        for policy, test in self._reaching(tool):
            try:
                outcome = test(call)
            except _FAULTS as error:
                applying.append(_failed(policy, error))
                continue
            if outcome is not NO:
                _judge(policy, call, outcome, applying, exempted)
        return _verdict(applying, exempted)

    def advice(self) -> list[Advice]:
        """Return the rule text of every active policy, for the prompt."""
        return [Advice(policy.name, policy.rule) for policy in self.policies if policy.active]

    def _reaching(self, tool: str) -> tuple[tuple[Policy, Test], ...]:
        """Return the policies that can match a call of this tool, with what is left to test; found once per tool."""
        found = self._by_tool.get(tool)
        if found is None:
            tests = ((policy, policy.for_tool(tool)) for policy in self._index.of(tool))
            found = tuple((policy, test) for policy, test in tests if test)
            if len(self._by_tool) < _MAX_KNOWN_TOOLS:
                self._by_tool[tool] = found
        return found


class _ToolIndex:
    """Finds the active policies that may apply to a tool, in the order of the set, without asking all of them."""

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
        """Yield the policies that may apply to a tool."""
        for place in sorted([*self._wide, *self._named.get(tool, ())]):
            yield self._policies[place]


def _is_call(tool: JSON, args: JSON, context: JSON) -> bool:
    return isinstance(tool, str) and isinstance(args, Mapping) and isinstance(context, Mapping)


def _denial(name: str, reason: str) -> Verdict:
    return Verdict("deny", (Finding(name, "deny", "hard", True, reason),))


def _refuse_twins(policies: Sequence[Policy]) -> None:
    seen: set[str] = set()
    for policy in policies:
        if policy.name in seen:
            raise PolicySetError("two policies have this name", path=("name",), policy=policy.name)
        seen.add(policy.name)


def _failed(policy: Policy, error: Exception) -> tuple[str, Finding]:
    reason = f"evaluating it failed: {type(error).__name__}"
    return contribution("deny", policy.enforcement), Finding(policy.name, "deny", policy.enforcement, False, reason)


def _judge(
    policy: Policy, call: Call, outcome: Outcome, applying: list[tuple[str, Finding]], exempted: list[Finding]
) -> None:
    """Add what a policy that may match finds; a hard one also matches when nobody can tell."""
    if outcome.state is False or (outcome.state is None and not policy.hard):
        return
    effect, reason = policy.effect or "allow", outcome.reason
    if outcome.state is None:
        reason = f"{reason}, which a hard policy counts as a match"
    finding = Finding(policy.name, effect, policy.enforcement, False, reason)
    try:
        lifted = _lift(policy, call)
    except _FAULTS as error:
        applying.append(_failed(policy, error))
        return
    if lifted.state:
        exempted.append(replace(finding, reason=f"{reason}; lifted by exception: {lifted.reason}"))
    else:
        applying.append((contribution(effect, policy.enforcement), finding))


def _lift(policy: Policy, call: Call) -> Outcome:
    for exception in policy.exceptions:
        outcome = exception.applies(call)
        if outcome.state:
            return outcome
    return Outcome(False)


def _verdict(applying: Sequence[tuple[str, Finding]], exempted: Sequence[Finding]) -> Verdict:
    decision = max((effect for effect, _ in applying), key=strength, default="allow")
    findings = tuple(replace(finding, decides=effect == decision) for effect, finding in applying)
    return Verdict(decision, findings, tuple(exempted))
