"""Semantic memory: what is known in general, each statement with how much it matters."""

from __future__ import annotations

from dataclasses import dataclass, replace

from .errors import LoopError
from .texts import words

ALIKE = 0.8
"""Share of common words from which on two statements are one."""


@dataclass(frozen=True)
class Statement:
    """Something known."""

    text: str
    importance: float = 0.5
    times: int = 1
    """How often it was told."""


class SemanticMemory:
    """Statements to search by their words; telling one again makes it matter more."""

    def __init__(self) -> None:
        self.statements: list[Statement] = []

    def add(self, text: str = "", importance: float = 0.5, *, content: str = "") -> Statement:
        """Keep a statement and return it as kept; one that is known already counts once more."""
        text = text or content
        if not isinstance(text, str) or not text.strip():
            raise LoopError("There is no statement to keep. Hand in its text.")
        if not isinstance(importance, int | float) or not 0 <= importance <= 1:
            raise LoopError(f"importance {importance!r:.60} is not a number from 0 to 1.")
        for place, known in enumerate(self.statements):
            if likeness(known.text, text) >= ALIKE:
                kept = replace(known, importance=max(known.importance, importance), times=known.times + 1)
                self.statements[place] = kept
                return kept
        kept = Statement(text, importance)
        self.statements.append(kept)
        return kept

    def search(self, query: str, limit: int = 5, *, top_k: int | None = None) -> list[Statement]:
        """Return the statements that share words with ``query``; of equals the more important first."""
        limit = limit if top_k is None else top_k
        wanted = words(query)
        scored = [(len(wanted & words(known.text)), known) for known in self.statements]
        found = sorted(scored, key=lambda pair: (-pair[0], -pair[1].importance, -pair[1].times))
        return [known for score, known in found if score][:limit]

    def consolidate(self, min_importance: float = 0.3) -> list[Statement]:
        """Drop what matters little and was told only once, and return what was dropped."""
        dropped = [known for known in self.statements if known.importance < min_importance and known.times < 2]
        self.statements = [known for known in self.statements if known not in dropped]
        return dropped


def likeness(one: str, other: str) -> float:
    """Return the share of words that two statements have in common.

    >>> likeness("Ada likes tea", "Ada likes tea a lot"), likeness("Ada likes tea", "")
    (0.75, 0.0)
    """
    first, second = words(one), words(other)
    return len(first & second) / len(first | second) if first | second else 0.0
