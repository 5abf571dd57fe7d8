"""What happened in a turn, for the reply, the report and the policies."""

from __future__ import annotations

import re
from collections.abc import Callable, Container, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from .interface import JSON

TRUST_ORDER = ("rejected", "quarantined", "candidate", "verified")
BRACKETED = re.compile(r"\[([^\[\]]{1,400})\]")
WRITES = frozenset({"admitted", "merged", "quarantined"})


def lowest_trust(values: Iterable[str]) -> str:
    """Return the lowest of ``values``; a word that is no trust state counts as quarantined.

    >>> lowest_trust(["verified", "candidate"]), lowest_trust([]), lowest_trust(["sure"])
    ('candidate', 'verified', 'quarantined')
    """
    known = [value if value in TRUST_ORDER else "quarantined" for value in values]
    return min(known, key=TRUST_ORDER.index, default="verified")


def named_ids(message: str, known: Container[str]) -> list[str]:
    """Return the ids of ``known`` that ``message`` names in brackets, in order, each once.

    >>> named_ids("You live in Paris [01A, 01B], not in Rome [01X].", {"01A", "01B"})
    ['01A', '01B']
    """
    words = (word for group in BRACKETED.findall(message) for word in re.split(r"[\s,;]+", group))
    return list(dict.fromkeys(word for word in words if word in known))


def trust_of(record: Any) -> str:
    """Return how far a record may be trusted in a prompt: what came from a tool or an import is a candidate at most."""
    foreign = record.source == "imported" or record.actor in {"tool", "import"}
    return lowest_trust([record.trust, "candidate"]) if foreign else str(record.trust)


def trust_lookup(archive: Any, user_id: str) -> Callable[[str], str]:
    """Return a function from record id to the trust of its text in a prompt; an id nobody knows is quarantined."""

    def look_up(record_id: str) -> str:
        stored = archive.get(record_id, user_id=user_id) if archive is not None else None
        return "quarantined" if stored is None else trust_of(stored.record)

    return look_up


@dataclass
class TurnLedger:
    """The calls, memory operations, verdicts and plan of one turn."""

    calls: list[dict[str, JSON]] = field(default_factory=list)
    operations: list[dict[str, JSON]] = field(default_factory=list)
    policy: list[dict[str, JSON]] = field(default_factory=list)
    plan: dict[str, JSON] | None = None
    trust: str = "verified"
    """The lowest trust of what entered the prompt since the user spoke."""

    def lower_trust(self, value: str) -> None:
        """Note that text of trust ``value`` entered the prompt."""
        self.trust = lowest_trust([self.trust, value])

    def place(self) -> tuple[int, ...]:
        """Return how much stands in the books now, for ``since``."""
        return len(self.calls), len(self.operations), len(self.policy)

    def since(self, place: tuple[int, ...]) -> dict[str, JSON]:
        """Return, as plain data, what came into the books after ``place``, and what holds of the turn now."""
        calls, operations, policy = place
        return {
            "calls": self.calls[calls:], "operations": self.operations[operations:], "policy": self.policy[policy:],
            "plan": self.plan, "trust": self.trust,
        }  # fmt: skip

    def take_over(self, books: Mapping[str, JSON]) -> None:
        """Add what ``since`` returned in an earlier process."""
        self.calls += books["calls"]
        self.operations += books["operations"]
        self.policy += [entry for entry in books["policy"] if entry not in self.policy]
        self.plan = books["plan"]
        self.lower_trust(books["trust"])

    def written(self) -> list[Mapping[str, JSON]]:
        """Return the operations of this turn that changed long-term memory."""
        return [operation for operation in self.operations if operation.get("decision") in WRITES]


def ids_of(operation: Mapping[str, JSON]) -> list[str]:
    """Return every record id that a memory operation names."""
    single = [operation["id"]] if operation.get("id") else []
    return [str(record_id) for record_id in [*single, *(operation.get("ids") or ())]]
