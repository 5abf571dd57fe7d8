"""Find the policies that speak of something."""

from __future__ import annotations

from pathlib import Path

from memkit.errors import UsageError
from memkit.policies.files import FOLDER, load_policies
from memkit.policies.overview import FoundPolicy, search_policies


def find_policies(root: Path, query: str, limit: int = 5) -> list[FoundPolicy]:
    """Return the policies of the store at ``root`` that share words with ``query``, best first."""
    if not query.strip():
        raise UsageError("An empty query finds nothing. Give some words of the rule, or a tool's name.")
    return search_policies(load_policies(root / FOLDER), query, limit)
