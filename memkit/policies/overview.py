"""Search of policies by content, and how often each decided something on this machine."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from memkit.policies.files import PolicyFile
from memkit.store.word_search import ranked


def search_policies(policies: Iterable[PolicyFile], query: str, limit: int = 5) -> list[tuple[PolicyFile, float]]:
    """Return the policies that share words with ``query`` and their scores, best first by BM25, equals by name.

    A policy's words and its match are ranked separately and added, so that a long list of programs does not drown
    the rule that it serves. Its tests are left out: they also name what it permits.
    """
    ordered = sorted(policies, key=lambda policy: policy.name)
    scores: Counter[int] = Counter()
    for texts in (map(_said, ordered), map(_matched, ordered)):
        scores.update(dict(ranked(list(texts), query)))
    best = sorted(scores.items(), key=lambda hit: (-hit[1], hit[0]))
    return [(ordered[place], score) for place, score in best[:limit]]


def _said(policy: PolicyFile) -> str:
    """Return the words of a policy; its name counts twice."""
    data = policy.data
    said = [policy.name, policy.name, data["description"], data.get("rule", ""), data.get("rationale", "")]
    return " ".join(map(str, said))


def _matched(policy: PolicyFile) -> str:
    """Return the match and the exceptions of a policy as they are written."""
    return " ".join([*_leaves(policy.data.get("match")), *_leaves(policy.data.get("exceptions"))])


def _leaves(value: object) -> list[str]:
    """Return the keys and texts of a condition."""
    if isinstance(value, dict):
        return [text for key, item in value.items() for text in (key, *_leaves(item))]
    if isinstance(value, list):
        return [text for item in value for text in _leaves(item)]
    return [] if value is None else [str(value)]


@dataclass
class Usage:
    """The decisions of one policy about calls that it matched."""

    name: str
    decisions: Counter[str] = field(default_factory=Counter)
    """How often it decided deny, ask, warn or allow."""
    last_used: str | None = None

    @property
    def matched(self) -> int:
        """Return how many calls it matched."""
        return self.decisions.total()


def usages(names: Iterable[str], events: Iterable[Mapping[str, Any]]) -> list[Usage]:
    """Return the usage of the policies ``names``, and of others named by ``events`` of kind ``policy``, by name."""
    found = {name: Usage(name) for name in names}
    for event in events:
        for said in event.get("policies") or ():
            usage = found.setdefault(said["name"], Usage(said["name"]))
            usage.decisions[said["decision"]] += 1
            usage.last_used = max(usage.last_used or "", event["at"])
    return [found[name] for name in sorted(found)]
