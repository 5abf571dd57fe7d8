"""Policies as Cedar.

Cedar has permit and forbid. The lattice of four becomes three actions, which a host requests one after another:
``run_quietly`` (without any message), ``run`` (it may run, with the warning shown) and ``run_approved`` (it may run
once a person agreed). A policy forbids those that its effect forbids, so a host that requests only ``run`` is never
weaker.

A Cedar policy whose evaluation fails is skipped, and a skipped forbid permits. So every value that a policy
reads is also checked in the one permit: if it lacks the type that the policies need, nothing is permitted.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from memkit.policies.export import Export, ExportedPolicy, PolicyData, effect_of, state_of, without_verdict
from memkit.runtime.guard.checks import has_wildcards, text_of
from memkit.runtime.guard.interface import JSON, as_list, exceptions_of
from memkit.runtime.guard.kinds import SAMPLE_NAMES
from memkit.runtime.host.terminal import one_line

TRUE, FALSE = "true", "false"


def every(parts: Sequence[str]) -> str:
    """Return an expression that holds if all parts do."""
    return _combined(parts, "&&", neutral=TRUE, absorbing=FALSE)


def some(parts: Sequence[str]) -> str:
    """Return an expression that holds if one part does."""
    return _combined(parts, "||", neutral=FALSE, absorbing=TRUE)


def denied(part: str) -> str:
    """Return an expression that holds if a part does not."""
    return {TRUE: FALSE, FALSE: TRUE}.get(part, f"!({part})")


def quoted(text: str) -> str:
    r"""Return a string literal.

    >>> print(quoted('a "b"'))
    "a \"b\""
    """
    return f'"{"".join(map(_escaped, text))}"'


def like(glob: str) -> str:
    """Return the pattern of ``like`` for a glob whose only wildcard is ``*``."""
    return f'"{"*".join("".join(map(_escaped, part)) for part in glob.split("*"))}"'


def literal_pattern(text: str) -> str:
    """Return the inside of a pattern of ``like`` for a literal text."""
    return "".join(map(_escaped, text)).replace("*", "\\*")


def _escaped(char: str) -> str:
    if char in '"\\':
        return f"\\{char}"
    return char if char.isprintable() else f"\\u{{{ord(char):x}}}"


def _combined(parts: Sequence[str], operator: str, *, neutral: str, absorbing: str) -> str:
    kept = list(dict.fromkeys(part for part in parts if part != neutral))
    if absorbing in kept:
        return absorbing
    if len(kept) < 2:
        return kept[0] if kept else neutral
    return f"({f' {operator} '.join(kept)})"


ACTIONS: Mapping[str, Sequence[str]] = {
    "warn": ("run_quietly",),
    "ask": ("run_quietly", "run"),
    "deny": ("run_quietly", "run", "run_approved"),
}
"""Effect → the actions that it forbids."""

_LONGEST = 2**63 - 1
_PLAIN_REGEX = re.compile(r"(?P<start>\^|\\A)?(?P<text>[A-Za-z0-9 _/@:,;<>=!\"'%&~#-]+)")


class CedarBounds(NamedTuple):
    """Lower and upper bound of a condition: it holds wherever ``lower`` does, and only where ``upper`` does."""

    lower: str
    upper: str

    @property
    def exact(self) -> bool:
        """Return whether the condition is expressed exactly."""
        return self.lower == self.upper


NOT_SAID = CedarBounds(FALSE, TRUE)


def to_cedar(policies: Sequence[PolicyData], *, tighten: bool = False) -> Export:
    """Return the policies as Cedar; with ``tighten``, what cannot be said forbids more instead of being left out."""
    writer = _Writer(_kinds(policies), tighten)
    written = [writer.policy(policy) for policy in policies]
    rules = [rule for _, rule in written if rule]
    return Export("\n\n".join([_HEAD, writer.permit(), *rules]) + "\n", tuple(account for account, _ in written))


_HEAD = """\
// Written by memkit policy export; change the policies, not this file.
// A request: context.tool is the tool's name, context.args its arguments, context.host what the host program knows.
// Leave out what is null. Write values as texts (true, 3), but as whole numbers those that are compared with numbers.
// Ask for run_quietly, run and run_approved: the first one that is allowed says allow, warn or ask; none says deny."""


@dataclass(frozen=True)
class _Place:
    """A possible place of a call's value in a request."""

    there: str
    """Holds if there is such a value."""
    value: str


class _Writer:
    """Writes one policy after another, and records what they read."""

    def __init__(self, numbers: frozenset[str], tighten: bool) -> None:
        self.numbers = numbers
        self.tighten = tighten
        self._read: dict[str, None] = {}
        self._reasons: list[str] = []

    def permit(self) -> str:
        """Return the one permit: it holds if every value that a policy reads has the required type."""
        lines = "\n  && ".join([every(['context.tool like "*"']), *self._read])
        actions = ", ".join(f'Action::"{action}"' for action in ACTIONS["deny"])
        return f'@id("memkit")\npermit (principal, action in [{actions}], resource)\nwhen {{\n  {lines}\n}};'

    def policy(self, policy: PolicyData) -> tuple[ExportedPolicy, str]:
        name, effect = policy["name"], effect_of(policy)
        decides_nothing = without_verdict(policy)
        if decides_nothing or effect == "allow":
            return decides_nothing or ExportedPolicy(name, effect, "exact", ("An allow adds nothing.",)), ""
        self._reasons = []
        match = self._match(policy["match"])
        lifts = [self._match(item["match"]) for item in exceptions_of(policy) if "match" in item]
        lifted = some([lift.lower for lift in lifts])
        wanted = match.upper if self.tighten else match.lower
        narrower = any(not lift.exact for lift in lifts) or (self.tighten and not match.exact)
        wider = not self.tighten and not match.exact
        reasons = tuple(dict.fromkeys(self._reasons))
        if wanted == FALSE or lifted == TRUE:
            return ExportedPolicy(name, effect, "missing" if wider else "exact", reasons), ""
        return ExportedPolicy(name, effect, state_of(wider=wider, narrower=narrower), reasons), _rule(
            policy, effect, wanted, lifted
        )

    def _match(self, match: JSON) -> CedarBounds:
        return _both(some, [_both(every, list(self._clauses(alternative))) for alternative in as_list(match)])

    def _clauses(self, alternative: Mapping[str, JSON]) -> Iterator[CedarBounds]:
        for key, condition in alternative.items():
            if key == "tool_kind":
                named = [name for kind in as_list(condition) for name in SAMPLE_NAMES[kind]]
                self._reasons.append("tool_kind: Cedar covers only the most common tool names.")
                yield CedarBounds(self._condition(named, "context.tool", "tool").lower, TRUE)
            elif key == "args.command" and "tool_kind" in alternative:
                yield CedarBounds(self._clause(key, condition).lower, TRUE)
            else:
                yield self._clause(key, condition)

    def _clause(self, key: str, condition: JSON) -> CedarBounds:
        root, _, name = key.partition(".")
        if root == "tool":
            return self._condition(condition, "context.tool", "tool")
        if "*" in name.split("."):
            self._reasons.append(f"{key}: Cedar cannot inspect arguments whose names it does not know.")
            return NOT_SAID
        found = []
        for place in _places(root, name):
            bounds = self._condition(condition, place.value, key)
            found.append(_both(every, [CedarBounds(place.there, place.there), bounds]))
            self._read.setdefault(some([denied(place.there), self._typed(place.value, key)]))
        return _both(some, found)

    def _typed(self, value: str, key: str) -> str:
        """Return an expression that holds for every value of the required type, and fails for any other."""
        return f"{value} <= {_LONGEST}" if key in self.numbers else f'{value} like "*"'

    def _condition(self, data: JSON, value: str, key: str) -> CedarBounds:
        if isinstance(data, Mapping):
            return _both(every, [self._operator(name, operand, value, key) for name, operand in data.items()])
        if isinstance(data, list):
            return _both(some, [self._condition(item, value, key) for item in data])
        return self._operator("glob" if isinstance(data, str) else "equals", data, value, key)

    def _operator(self, name: str, operand: JSON, value: str, key: str) -> CedarBounds:
        if name in ("any", "all"):
            parts = [self._condition(item, value, key) for item in operand]
            return _both(some if name == "any" else every, parts)
        if name == "not":
            inner = self._condition(operand, value, key)
            return CedarBounds(denied(inner.upper), denied(inner.lower))
        if name == "surely":
            return self._condition(operand, value, key)
        if (name == "range") is not (key in self.numbers):
            self._reasons.append(f"{key} is compared both as a number and as a text, but Cedar needs one type.")
            return NOT_SAID
        bounds = _LEAVES[name](operand, value) if name in _LEAVES else NOT_SAID
        if not bounds.exact:
            self._reasons.append(
                f"{key}: {name} {one_line(json.dumps(operand, ensure_ascii=False), 60)} cannot be expressed in Cedar."
            )
        return bounds


def _rule(policy: PolicyData, effect: str, wanted: str, lifted: str) -> str:
    actions = ", ".join(f'Action::"{action}"' for action in ACTIONS[effect])
    lines = [
        f"@id({quoted(policy['name'])})",
        f"@effect({quoted(effect)})",
        f"@rule({quoted(one_line(policy['rule']))})",
        f"forbid (principal, action in [{actions}], resource)",
        f"when {{ {wanted} }}",
    ]
    return "\n".join([*lines, *([f"unless {{ {lifted} }}"] if lifted != FALSE else [])]) + ";"


def _both(combine: Callable[[Sequence[str]], str], parts: Sequence[CedarBounds]) -> CedarBounds:
    return CedarBounds(combine([part.lower for part in parts]), combine([part.upper for part in parts]))


def _places(root: str, name: str) -> Iterator[_Place]:
    """Yield the possible places of a dotted name: each dot is part of a name or leads into a record."""
    parts = name.split(".")
    for depth in range(len(parts)):
        value, there = f"context.{'args' if root == 'args' else 'host'}", []
        for part in (*parts[:depth], ".".join(parts[depth:])):
            there.append(f"{value} has {quoted(part)}")
            value += f"[{quoted(part)}]"
        yield _Place(every(there), value)


def _kinds(policies: Sequence[PolicyData]) -> frozenset[str]:
    """Return the keys that are compared with numbers and with nothing else."""
    used: dict[str, set[str]] = {}
    for policy in policies:
        if without_verdict(policy) is None:
            matches = [policy["match"], *(item["match"] for item in exceptions_of(policy) if "match" in item)]
            for key, data in (pair for match in matches for each in as_list(match) for pair in each.items()):
                used.setdefault(key, set()).update(_operators(data))
    return frozenset(key for key, operators in used.items() if operators == {"range"}) - {"tool", "tool_kind"}


def _operators(data: JSON) -> Iterator[str]:
    if isinstance(data, Mapping):
        for name, operand in data.items():
            if name in ("any", "all", "not"):
                yield from _operators(operand)
            else:
                yield name
    elif isinstance(data, list):
        for item in data:
            yield from _operators(item)
    else:
        yield "equals"


def _exactly(expression: str) -> CedarBounds:
    return CedarBounds(expression, expression)


def _equals(operand: JSON, value: str) -> CedarBounds:
    return _exactly(f"{value} == {quoted(text_of(operand) or '')}")


def _in(operand: JSON, value: str) -> CedarBounds:
    return _exactly(f"[{', '.join(quoted(text_of(item) or '') for item in operand)}].contains({value})")


def _glob(operand: JSON, value: str) -> CedarBounds:
    globs = as_list(operand)
    return _both(some, [_one_glob(glob, value) for glob in globs])


def _one_glob(glob: str, value: str) -> CedarBounds:
    if not has_wildcards(glob):
        return _equals(glob, value)
    if glob in ("?*", "*?"):
        return _exactly(f'{value} != ""')
    if "?" in glob or "[" in glob:
        loose = re.sub(r"\*+", "*", re.sub(r"\[.*\]|\[|\?", "*", glob, flags=re.DOTALL))
        return CedarBounds(FALSE, f"{value} like {like(loose)}")
    return _exactly(f"{value} like {like(glob)}")


def _prefix(operand: JSON, value: str) -> CedarBounds:
    prefixes = as_list(operand)
    return _exactly(some([f'{value} like "{literal_pattern(prefix)}*"' for prefix in prefixes]))


def _range(operand: JSON, value: str) -> CedarBounds:
    limits = {
        "min": (">=", math.ceil), "max": ("<=", math.floor), "above": (">", math.floor), "below": ("<", math.ceil),
    }  # fmt: skip
    parts = []
    for name, bound in operand.items():
        sign, whole = limits[name]
        number = whole(bound)
        if abs(number) > _LONGEST:
            return NOT_SAID
        parts.append(f"{value} {sign} {number}")
    return _exactly(every(parts))


def _regex(operand: JSON, value: str) -> CedarBounds:
    """Return a regular expression that is a literal text, at the start or anywhere; Cedar has no others."""
    found = _PLAIN_REGEX.fullmatch(operand)
    if not found:
        return NOT_SAID
    return _exactly(f'{value} like "{"" if found["start"] else "*"}{literal_pattern(found["text"])}*"')


_LEAVES: Mapping[str, Callable[[JSON, str], CedarBounds]] = {
    "equals": _equals,
    "in": _in,
    "glob": _glob,
    "prefix": _prefix,
    "range": _range,
    "regex": _regex,
}
