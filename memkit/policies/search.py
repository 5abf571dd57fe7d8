"""Find policies by what they say."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

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
