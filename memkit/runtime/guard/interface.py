"""The guard's interface: it takes a call and returns a verdict with reasons.

Its errors::

    GuardError
    └── PolicySetError   a policy, or a condition in one, cannot be used as written
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol

Path = tuple[str | int, ...]
"""The place of something inside a policy: keys and list positions from the top."""


class GuardError(Exception):
    """A policy or a call that the guard cannot work with.

    >>> try:
    ...     Guard([{"name": "no_deploy"}])
    ... except GuardError as error:
    ...     error.exit_code, str(error)
    (2, 'policy no_deploy: the field description is missing')
    """

    exit_code: int = 2
    code = "policy"


class PolicySetError(GuardError):
    """A policy that cannot be compiled; names the policy, the place in it, and the reason.

    >>> no_deploy = {
    ...     "name": "no_deploy", "description": "No deploys on Friday.", "rule": "Do not deploy on Friday.",
    ...     "enforcement": "hard", "effect": "deny", "match": {"tool": "deploy", "context.day": {"regexp": "Fri"}},
    ... }
    >>> Guard([no_deploy])  # doctest: +ELLIPSIS
    Traceback (most recent call last):
        ...
    memkit.runtime.guard.interface.PolicySetError: policy no_deploy, match.context.day.regexp: unknown ...
    """

    code = "policy_set"

    def __init__(self, message: str, *, path: Path = (), policy: str = "") -> None:
        self.message = message
        self.path = path
        self.policy = policy
        super().__init__(message)

    def __str__(self) -> str:
        place = spell_path(self.path)
        owner = f"policy {self.policy}" if self.policy else ""
        where = ", ".join(part for part in (owner, place) if part)
        return f"{where}: {self.message}" if where else self.message


def spell_path(path: Path) -> str:
    """Spell a place in readable form: ``match.args.command.any[0].regex``."""
    spelled = ""
    for part in path:
        if isinstance(part, int):
            spelled += f"[{part}]"
        else:
            spelled += f".{part}" if spelled else part
    return spelled


JSON = Any
"""Plain data as read by ``json``: mappings, lists, text, numbers, booleans and null."""

OPAQUE = "opaque: "
"""Prefix of the reason for a match that rests on something unreadable."""

EFFECTS = ("allow", "warn", "ask", "deny")
"""The lattice, weakest first; the strongest of all effects that apply is the decision."""

ENFORCEMENTS = ("hard", "soft")


@dataclass(frozen=True)
class Call:
    """One tool call as the guard sees it.

    >>> call = Call("bash", {"command": "ls"}, {"user": "ada"})
    >>> Guard([]).decide(call.tool, call.args, call.context).decision
    'allow'
    """

    tool: str
    args: Mapping[str, JSON] = field(default_factory=dict)
    """The model's arguments."""
    context: Mapping[str, JSON] = field(default_factory=dict)
    """Values set by the host program; never text of the model or the user."""


class Ternary(NamedTuple):
    """A condition's answer about a call."""

    state: bool | None
    """``None`` if a view cannot read the text, so that the answer is unknown."""
    reason: str = ""


@dataclass(frozen=True)
class MatchedPolicy:
    """A policy that matched a call, with the reason.

    >>> no_deploy = {
    ...     "name": "no_deploy", "description": "No deploys on Friday.", "rule": "Do not deploy on Friday.",
    ...     "enforcement": "soft", "effect": "deny", "match": {"tool": "deploy", "context.day": "Fri"},
    ... }
    >>> verdict = Guard([no_deploy]).decide("deploy", {}, {"day": "Fri"})
    >>> found = verdict.policies[0]
    >>> found.name, found.effect, verdict.decision, found.reason
    ('no_deploy', 'deny', 'warn', 'context.day: Fri equal to Fri')
    """

    name: str
    effect: str
    """The effect that the policy declares; a soft deny or ask only warns."""
    enforcement: str
    decides: bool
    """Whether this policy's effect is the decision."""
    reason: str

    @property
    def opaque(self) -> bool:
        """Return whether it counts as a match only because something in the call is unreadable."""
        return self.reason.startswith(OPAQUE)


@dataclass(frozen=True)
class Verdict:
    """The decision on a call with every policy that matched.

    >>> ask_first = {
    ...     "name": "ask_first", "description": "Ask before deleting.", "rule": "Ask before rm.", "enforcement": "hard",
    ...     "effect": "ask", "match": {"tool": "bash", "args.command": {"shell": {"program": "rm"}}},
    ... }
    >>> verdict = Guard([ask_first]).decide("bash", {"command": "cd /srv && rm notes.txt"}, {})
    >>> verdict.decision, verdict.permits, verdict.deciding.name
    ('ask', False, 'ask_first')
    """

    decision: str
    policies: tuple[MatchedPolicy, ...] = ()
    exempted: tuple[MatchedPolicy, ...] = ()
    """Policies that matched and were lifted by one of their exceptions."""

    @property
    def deciding(self) -> MatchedPolicy | None:
        """Return the first finding that determined the decision, or ``None`` if no policy matched."""
        return next((finding for finding in self.policies if finding.decides), None)

    @property
    def permits(self) -> bool:
        """Return whether the call may run without asking anyone."""
        return self.decision in ("allow", "warn")


@dataclass(frozen=True)
class Advice:
    """The prose of one active policy, for the prompt.

    >>> polite = {
    ...     "name": "polite", "description": "Be polite.", "rule": "Say please.",
    ...     "enforcement": "soft", "effect": "warn", "match": {"tool": "mail"},
    ... }
    >>> Guard([polite]).advice()
    [Advice(name='polite', rule='Say please.')]
    """

    name: str
    rule: str


class PolicyJudge(Protocol):
    """Anything that decides tool calls.

    >>> class OnlyReading:
    ...     def decide(self, tool, args, context):
    ...         return Verdict("allow" if tool.startswith("read_") else "deny")
    ...
    ...     def advice(self):
    ...         return [Advice("only_reading", "Read, and change nothing.")]
    >>> judge: PolicyJudge = OnlyReading()
    >>> judge.decide("read_file", {"path": "a"}, {}).permits, judge.decide("write_file", {"path": "a"}, {}).permits
    (True, False)
    """

    def decide(self, tool: str, args: Mapping[str, JSON], context: Mapping[str, JSON]) -> Verdict:
        """Return the verdict on one call."""

    def advice(self) -> list[Advice]:
        """Return the rule text of every active policy."""


def strength(effect: str) -> int:
    """Return the rank of an effect in the lattice; a bigger number is stronger."""
    return EFFECTS.index(effect)


def contribution(effect: str, enforcement: str) -> str:
    """Return a policy's contribution to the decision: a soft deny or ask only warns."""
    if enforcement == "soft" and effect in ("deny", "ask"):
        return "warn"
    return effect


def exceptions_of(policy: Mapping[str, JSON]) -> list[Mapping[str, JSON]]:
    """Return the exceptions of a policy as mappings; a plain sentence becomes one with only text."""
    return [item if isinstance(item, Mapping) else {"text": item} for item in policy.get("exceptions", ())]


def as_list(data: JSON) -> list[JSON]:
    """Return a value that may be written alone or as a list, as a list."""
    return data if isinstance(data, list) else [data]
