"""The books of a turn: what was called, remembered, decided and planned in it, and which records it may cite."""

from __future__ import annotations

import re
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, MutableSet
from dataclasses import dataclass, field
from typing import Any

from .fencing import words
from .interface import JSON, MainContext

# What happened in a turn, for the reply, the report and the policies.

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


# Which records a session may cite: those it retrieved or wrote last.

MOST = 1000


class RecentIds(MutableSet[str]):
    """A set of ids in the order in which they were last added, without the oldest where there are too many.

    >>> ids = RecentIds(most=2)
    >>> ids.update(["a", "b", "a", "c"])
    >>> list(ids)
    ['a', 'c']
    """

    def __init__(self, ids: Iterable[str] = (), most: int = MOST) -> None:
        self._most = most
        self._ids: dict[str, None] = {}
        self.update(ids)

    def add(self, value: str) -> None:
        """Take in an id as the newest one."""
        self._ids.pop(value, None)
        self._ids[value] = None
        if len(self._ids) > self._most:
            del self._ids[next(iter(self._ids))]

    def update(self, ids: Iterable[str]) -> None:
        """Take in several, the last one as the newest."""
        for value in ids:
            self.add(value)

    def discard(self, value: str) -> None:
        """Leave an id out from now on."""
        self._ids.pop(value, None)

    def __contains__(self, value: object) -> bool:
        """Return whether an id may be cited."""
        return value in self._ids

    def __iter__(self) -> Iterator[str]:
        """Yield the ids, oldest first."""
        return iter(self._ids)

    def __len__(self) -> int:
        """Return how many there are."""
        return len(self._ids)


# A page fault of the prompt: what it did not hold, the search that this caused, and what came in, as one event.

SEARCHED = {"archival_memory_search": "archive", "conversation_search": "recall"}
"""The memory tools that search, and the tier that each of them searches."""


def page_fault(
    operation: Mapping[str, JSON], main: MainContext, user_text: str | None, earlier: Iterable[Mapping[str, JSON]]
) -> dict[str, JSON]:
    """Return ``{missed, paged_in}`` of a search, nothing of any other operation.

    Args:
        operation: What a memory tool did.
        main: What the prompt holds.
        user_text: The question itself, which is no answer to it.
        earlier: The operations of the turn before this one: a tier that was searched in vain was missed, too.
    """
    searched = SEARCHED.get(str(operation.get("op")))
    if searched is None:
        return {}
    wanted = words(str(operation.get("query", "")))
    spoken = [message for message in main.messages if message.get("role") in {"user", "assistant"}]
    said = " ".join(str(message.get("content")) for message in spoken if message.get("content") != user_text)
    tiers = {"core": " ".join(main.core.values()), "messages": said}
    missed = [tier for tier, text in tiers.items() if not wanted <= words(text)]
    in_vain = [SEARCHED[one["op"]] for one in earlier if one.get("op") in SEARCHED and not one["paged_in"]]
    missed += [tier for tier in dict.fromkeys(in_vain) if tier != searched]
    return {"missed": missed, "paged_in": operation.get("paged_in", operation.get("ids", []))}
