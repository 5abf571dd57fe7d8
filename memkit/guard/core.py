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

from collections.abc import Mapping, Sequence
from dataclasses import replace

from .errors import GuardError, PolicySetError
from .interface import JSON, Advice, Call, Finding, Judge, Outcome, Verdict, contribution, strength
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
        self._by_tool: dict[str, tuple[Policy, ...]] = {}
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
        if not _are_mappings(args, context):
            return _denial("policy_set", "arguments and context must be mappings of names to values")
        call = Call(tool, args, context)
        applying: list[tuple[str, Finding]] = []
        exempted: list[Finding] = []
        for policy in self._reaching(tool):
            _judge(policy, call, applying, exempted)
        return _verdict(applying, exempted)

    def advice(self) -> list[Advice]:
        """Return the rule text of every active policy, for the prompt."""
        return [Advice(policy.name, policy.rule) for policy in self.policies if policy.active]

    def _reaching(self, tool: str) -> tuple[Policy, ...]:
        """Return the policies whose tool condition takes this tool; looked up once for each tool."""
        found = self._by_tool.get(tool)
        if found is None:
            found = tuple(policy for policy in self.policies if policy.active and policy.takes(tool))
            if len(self._by_tool) < _MAX_KNOWN_TOOLS:
                self._by_tool[tool] = found
        return found


def _are_mappings(*values: JSON) -> bool:
    return all(isinstance(value, Mapping) for value in values)


def _denial(name: str, reason: str) -> Verdict:
    return Verdict("deny", (Finding(name, "deny", "hard", True, reason),))


def _refuse_twins(policies: Sequence[Policy]) -> None:
    seen: set[str] = set()
    for policy in policies:
        if policy.name in seen:
            raise PolicySetError("two policies have this name", path=("name",), policy=policy.name)
        seen.add(policy.name)


def _judge(policy: Policy, call: Call, applying: list[tuple[str, Finding]], exempted: list[Finding]) -> None:
    """Add what one policy finds, with what it contributes to the decision."""
    effect = policy.effect or "allow"
    try:
        outcome = _match(policy, call)
        lifted = _lift(policy, call) if outcome.state else Outcome(False)
    except _FAULTS as error:
        outcome, lifted = Outcome(True, f"evaluating it failed: {type(error).__name__}"), Outcome(False)
        effect = "deny"
    finding = Finding(policy.name, effect, policy.enforcement, False, outcome.reason)
    if lifted.state:
        exempted.append(replace(finding, reason=f"{outcome.reason}; lifted by exception: {lifted.reason}"))
    elif outcome.state:
        applying.append((contribution(effect, policy.enforcement), finding))


def _match(policy: Policy, call: Call) -> Outcome:
    """Return whether the policy matches; a hard one also when nobody can tell."""
    unknown = Outcome(False)
    for alternative in policy.alternatives:
        outcome = alternative.test(call)
        if outcome.state:
            return outcome
        if outcome.state is None and unknown.state is False:
            unknown = outcome
    if unknown.state is None and policy.hard:
        return Outcome(True, f"{unknown.reason}, which a hard policy counts as a match")
    return Outcome(False)


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
