"""Policies found by what they say, and how often each decided something on this machine."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from memkit.policies.files import PolicyFile
from memkit.store.word_search import ranked


@dataclass(frozen=True)
class FoundPolicy:
    """A policy that fits a query, with its score."""

    policy: PolicyFile
    score: float


def search_policies(policies: Iterable[PolicyFile], query: str, limit: int = 5) -> list[FoundPolicy]:
    """Return the policies that share words with ``query``, best first by BM25, equals by name."""
    ordered = sorted(policies, key=lambda policy: policy.name)
    hits = ranked([_searchable(policy) for policy in ordered], query)
    return [FoundPolicy(ordered[place], score) for place, score in hits[:limit]]


def _searchable(policy: PolicyFile) -> str:
    """Return the text that a policy is found by, its match and exceptions as they are written; its name counts twice.

    Its tests are left out: they name what it lets pass as well.
    """
    data = policy.data
    said = [policy.name, policy.name, data["description"], data.get("rule", ""), data.get("rationale", "")]
    return " ".join([*map(str, said), *_leaves(data.get("match")), *_leaves(data.get("exceptions"))])


def _leaves(value: object) -> list[str]:
    """Return the keys and texts of a condition."""
    if isinstance(value, dict):
        return [text for key, item in value.items() for text in (key, *_leaves(item))]
    if isinstance(value, list):
        return [text for item in value for text in _leaves(item)]
    return [] if value is None else [str(value)]


@dataclass
class Usage:
    """What one policy said about calls that it matched."""

    name: str
    decisions: Counter[str] = field(default_factory=Counter)
    """How often it said deny, ask, warn or allow."""
    last_used: str | None = None

    @property
    def matched(self) -> int:
        """Return how many calls it matched."""
        return self.decisions.total()


def usages(names: Iterable[str], events: Iterable[Mapping[str, Any]]) -> list[Usage]:
    """Return the usage of the policies ``names``, and of others that ``events`` of kind ``policy`` name, by name."""
    found = {name: Usage(name) for name in names}
    for event in events:
        for said in event.get("policies") or ():
            usage = found.setdefault(said["name"], Usage(said["name"]))
            usage.decisions[said["decision"]] += 1
            usage.last_used = max(usage.last_used or "", event["at"])
    return [found[name] for name in sorted(found)]
