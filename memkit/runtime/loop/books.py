"""The books of a turn: its calls, memory operations, verdicts and plan, and which records it may cite."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, MutableSet, Sequence
from dataclasses import dataclass, field

from .bound import read_arguments
from .interface import JSON, MainContext, MemoryTools
from .taint import excerpt, joined, words

# What happened in a turn, for the reply, the report and the policies.

BRACKETED = re.compile(r"\[([^\[\]]{1,400})\]")
REPORT_LIMIT = 2000
TAMPERED = "tampered"
"""Characters of a result that a report keeps."""
Observe = Callable[[dict[str, JSON]], None]
"""Receives the events of the account."""
OUTCOME = "outcome"
WRITES = frozenset({"admitted", "merged", "quarantined"})
RETRIEVING = frozenset({"recall", "search", "archival_memory_search", "value_read"})
"""Operations that bring records into the prompt."""


def named_ids(message: str, known: Container[str]) -> list[str]:
    """Return the ids of ``known`` that ``message`` names in brackets, in order and without repeats.

    >>> named_ids("You live in Paris [01A, 01B], not in Rome [01X].", {"01A", "01B"})
    ['01A', '01B']
    """
    words = (word for group in BRACKETED.findall(message) for word in re.split(r"[\s,;]+", group))
    return list(dict.fromkeys(word for word in words if word in known))


@dataclass
class TurnLedger:
    """The calls, memory operations, verdicts and plan of one turn."""

    calls: list[dict[str, JSON]] = field(default_factory=list)
    operations: list[dict[str, JSON]] = field(default_factory=list)
    policy: list[dict[str, JSON]] = field(default_factory=list)
    plan: dict[str, JSON] | None = None
    taint: tuple[str, ...] = ()
    """Origins that may have steered the prompt in this turn."""
    left_out: int = 0
    """How many tainted pieces recall left out."""
    parents: dict[str, None] = field(default_factory=dict)
    """Ids of the records that entered the prompt since the user spoke."""

    @property
    def trust(self) -> str:
        """Return the value that policies see as ``context.trust``."""
        return "untrusted" if self.taint else "trusted"

    def place(self) -> tuple[int, ...]:
        """Return the current length of the books, for ``since``."""
        return len(self.calls), len(self.operations), len(self.policy)

    def since(self, place: tuple[int, ...]) -> dict[str, JSON]:
        """Return, as plain data, the entries added after ``place``, and the current state of the turn."""
        calls, operations, policy = place
        return {
            "calls": self.calls[calls:], "operations": self.operations[operations:], "policy": self.policy[policy:],
            "plan": self.plan, "taint": list(self.taint), "left_out": self.left_out,
        }  # fmt: skip

    def take_over(self, books: Mapping[str, JSON]) -> None:
        """Add what ``since`` returned in an earlier process."""
        self.calls += books["calls"]
        self.operations += books["operations"]
        self.policy += [entry for entry in books["policy"] if entry not in self.policy]
        self.plan = books["plan"]
        self.left_out = max(self.left_out, books.get("left_out", 0))

    def written(self) -> list[Mapping[str, JSON]]:
        """Return the operations of this turn that changed long-term memory."""
        return [operation for operation in self.operations if operation.get("decision") in WRITES]

    def outcomes(self, *, by_model: bool) -> list[Mapping[str, JSON]]:
        """Return the outcomes written in this turn, either by the model's own calls or by the loop."""
        told = (operation for operation in self.written() if operation.get("type") == OUTCOME)
        return [operation for operation in told if (operation["op"] != OUTCOME) == by_model]


def ids_of(operation: Mapping[str, JSON]) -> list[str]:
    """Return every record id that a memory operation names."""
    single = [operation["id"]] if operation.get("id") else []
    return [str(record_id) for record_id in [*single, *(operation.get("ids") or ())]]


# The records a session may cite: those it retrieved or wrote last.

MOST = 1000


class RecentIds(MutableSet[str]):
    """A set of ids ordered by when each was last added; the oldest are dropped when there are too many.

    >>> ids = RecentIds(most=2)
    >>> ids.update(["a", "b", "a", "c"])
    >>> list(ids)
    ['a', 'c']
    """

    def __init__(self, most: int = MOST) -> None:
        self._most = most
        self._ids: dict[str, None] = {}

    def add(self, value: str) -> None:
        """Add an id as the newest one."""
        self._ids.pop(value, None)
        self._ids[value] = None
        if len(self._ids) > self._most:
            del self._ids[next(iter(self._ids))]

    def update(self, ids: Iterable[str]) -> None:
        """Add several ids, the last one as the newest."""
        for value in ids:
            self.add(value)

    def discard(self, value: str) -> None:
        """Remove an id."""
        self._ids.pop(value, None)

    def __contains__(self, value: object) -> bool:
        """Return whether an id may be cited."""
        return value in self._ids

    def __iter__(self) -> Iterator[str]:
        """Yield the ids, oldest first."""
        return iter(self._ids)

    def __len__(self) -> int:
        """Return the number of ids."""
        return len(self._ids)


# A page fault of the prompt, as one event: what was missing, the search that followed, and what was paged in.

SEARCHED = {"archival_memory_search": "archive", "conversation_search": "recall"}
"""The memory tools that search, and the tier each one searches."""


def page_fault(
    operation: Mapping[str, JSON], main: MainContext, user_text: str | None, earlier: Iterable[Mapping[str, JSON]]
) -> dict[str, JSON]:
    """Return ``{missed, paged_in}`` for a search, and an empty dict for any other operation.

    Args:
        operation: The memory operation.
        main: The main context, which holds what is in the prompt.
        user_text: The question itself, which does not count as an answer to it.
        earlier: The earlier operations of the turn: a tier that was searched in vain was missed, too.
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


# The books themselves: everything that turns leave for the reply, the report, the policies and the account.


class Books:
    """Keeps account of the turns of a session; safe to write from several threads."""

    def __init__(self, memory: MemoryTools, observe: Observe | None = None) -> None:
        """Keep the books over ``memory``, whose operations they collect.

        Args:
            memory: The memory tools of the session.
            observe: Receives each event of the account: ``{event, turn_id, …}``.
        """
        self.ledger = TurnLedger()
        self.known_ids = RecentIds()
        self.turn_id: int | None = None
        self.user_text: str | None = None
        """The user's own words in the running turn."""
        self.brought = ""
        """What their message brings besides those words."""
        self.standing: tuple[str, ...] = ()
        """Origins that may have steered the prompt's content, from this turn or an earlier one."""
        self.meter: Callable[[], dict[str, JSON]] | None = None
        """Measures the prompt; without it, the usage of the main context is reported."""
        self.on_note: Callable[[Mapping[str, JSON]], None] | None = None
        """Called with every memory operation that enters the books."""
        self.lock = threading.RLock()
        self.serial = threading.RLock()
        """Held while a memory tool runs and its operations are collected; always acquired before ``lock``."""
        self._memory = memory
        self._observe = observe

    def open(self, user_text: str | None, turn_id: int | None, brought: str = "") -> None:
        """Begin the books of a new turn; if no user speaks, what entered the prompt before is still in it."""
        with self.serial, self.lock:
            self.collect()
            parents = self.ledger.parents if user_text is None else {}
            self.ledger = TurnLedger(taint=self.standing, parents=parents)
            self.turn_id, self.user_text, self.brought = turn_id, user_text, brought

    # --- what is entered

    def note(self, operation: Mapping[str, JSON]) -> None:
        """Enter a memory operation."""
        with self.lock:
            self.ledger.operations.append(dict(operation))
            self._admit(operation)

    def recalled(self, operation: Mapping[str, JSON], lost: Sequence[JSON] = ()) -> None:
        """Enter a recall that the host ran itself, if it found something, and announce it."""
        under = operation.get("parents")
        if ids := [*ids_of(operation), *(map(str, under) if isinstance(under, list) else ())]:
            self.note(operation)
            self._memory.note_recalled(ids)
        self._tell_recall(operation, lost)

    def recall_skipped(self, reason: str) -> None:
        """Enter that nothing was looked up for this turn, and why."""
        self.note({"op": "recall_skipped", "reason": reason})
        self.tell("recall_skipped", reason=reason)

    def taint(self, origins: Iterable[str]) -> None:
        """Note that text of these origins entered the prompt; anything composed from now on may be steered by it."""
        origins = tuple(origins)
        if origins:
            with self.lock:
                self.standing = joined(self.standing, origins)
                self.ledger.taint = joined(self.ledger.taint, origins)
            self._memory.note_taint(origins)

    def clean(self) -> None:
        """Note that nothing tainted is left in the prompt."""
        with self.lock:
            self.standing = self.ledger.taint = ()

    def leave_out(self, ids: Sequence[str], constraints: Sequence[str] = ()) -> None:
        """Enter the tainted records that recall left out, and which of them are constraints."""
        with self.lock:
            self.ledger.left_out += len(ids)
        if constraints:
            self.note({"op": "left_out", "ids": list(constraints), "reason": "tainted"})

    def withhold(self, constraints: Sequence[str]) -> None:
        """Enter constraints that are withheld because their lines are not as they were written."""
        if constraints:
            self.note({"op": "left_out", "ids": list(constraints), "reason": TAMPERED})

    def keep_plan(self, plan: dict[str, JSON]) -> None:
        """Keep the result of planning, and announce the chosen way."""
        with self.lock:
            self.ledger.plan = plan
        self.tell("plan", choice=plan["choice"], outcome=plan["outcome"])

    def called(self, name: str, args: Mapping[str, JSON] | str, text: str, *, error: bool, decision: str) -> None:
        """Enter the result of a call."""
        given = read_arguments(args)
        entry = {"name": name, "args": str(args) if given is None else given, "decision": decision, "error": error}
        with self.lock:
            self.ledger.calls.append({**entry, "result": excerpt(text, REPORT_LIMIT)})

    def judged(self, findings: Iterable[dict[str, JSON]]) -> None:
        """Enter the policies that matched a call, each once."""
        with self.lock:
            self.ledger.policy += [entry for entry in findings if entry not in self.ledger.policy]

    def take_over(self, books: Mapping[str, JSON]) -> None:
        """Add the entries that a call made before its turn was cut off."""
        with self.lock:
            self.ledger.take_over(books)
        self.taint(books.get("taint", ["tool:unknown"]))
        for operation in books["operations"]:
            self._admit(operation)
        self._memory.note_recalled([record_id for operation in books["operations"] for record_id in ids_of(operation)])

    def collect(self) -> None:
        """Collect the memory tools' operations; retrieved records may taint the turn."""
        with self.serial, self.lock:
            drained = list(self._memory.events)
            self._memory.events.clear()
            for event in drained:
                lost, left_out = event.pop("lost", ()), event.pop("left_out", ())
                taint = tuple(event.pop("taint", ()))
                event |= page_fault(event, self._memory.main, self.user_text, self.ledger.operations)
                self.note({**event, "taint": list(taint)} if taint else event)
                self.taint(taint)
                if "query" in event:  # the archive announces writes itself
                    self._tell_recall(event, lost, left_out)

    def tell(self, event: str, **values: JSON) -> None:
        """Send an event to the account, if anyone keeps one."""
        if self._observe is not None:
            self._observe({"event": event, "turn_id": self.turn_id, **values})

    # --- what is read from them

    def report(self, message: str) -> dict[str, JSON]:
        """Return the data of a turn: the reply, its citations, and everything that happened."""
        self.collect()
        main = self._memory.main
        used = self.meter() if self.meter is not None else usage_of(main.usage(), main.max_tokens)
        citations = self.citations(message)
        if citations:
            self.tell("cited", ids=citations)
        with self.lock:
            return {
                "message": message,
                "citations": citations,
                "sources": self._sources(citations),
                "tool_calls": [self._memory.masked(dict(call)) for call in self.ledger.calls],
                "memory_operations": [dict(operation) for operation in self.ledger.operations],
                "policy": [dict(entry) for entry in self.ledger.policy],
                "plan": self.ledger.plan,
                "trust": self.ledger.trust,
                "left_out": {"tainted": self.ledger.left_out},
                "context_usage": used,
                "session": getattr(self._memory, "session_id", None),
            }

    def _sources(self, cited: Sequence[str]) -> list[JSON]:
        told: Callable[[Sequence[str]], list[JSON]] | None = getattr(self._memory, "sources_of", None)
        return [] if told is None else told(cited)

    def citations(self, message: str) -> list[str]:
        """Return the ids that ``message`` names in brackets and that this session retrieved or wrote."""
        return named_ids(message, self.known_ids)

    def receipts(self, message: str) -> str:
        """Return ``message`` with a line for every write and refused write of the turn that it does not mention."""
        self.collect()
        lines = [line for line in map(_receipt, self.ledger.operations) if line and line[0] not in message]
        unique = dict.fromkeys(text for _, text in lines)
        return "\n".join([message, *unique]) if unique else message

    def _admit(self, operation: Mapping[str, JSON]) -> None:
        if operation.get("op") != "left_out":
            self.known_ids.update(ids_of(operation))
        if operation.get("op") in RETRIEVING:
            self.ledger.parents.update(dict.fromkeys(ids_of(operation)))
        if isinstance(under := operation.get("parents"), list):
            self.ledger.parents.update(dict.fromkeys(map(str, under)))
        if self.on_note is not None:
            self.on_note(operation)

    def _tell_recall(
        self, operation: Mapping[str, JSON], lost: Sequence[JSON] = (), left_out: Sequence[str] = ()
    ) -> None:
        """Announce what a search found, which candidates lost, and what entered the prompt."""
        shown = ids_of(operation)
        fault = {key: operation[key] for key in ("missed", "paged_in") if key in operation}
        self.tell("retrieved", ids=[*shown, *left_out], query=operation["query"], candidates=list(lost), **fault)
        crowded_out = [{"id": record_id, "reason": "budget"} for record_id in left_out]
        self.tell("injected", ids=shown, query=operation["query"], candidates=crowded_out)


def usage_of(tiers: Mapping[str, int], budget: int) -> dict[str, JSON]:
    """Return how many tokens of a budget are used, and by which tiers."""
    return {"used": sum(tiers.values()), "budget": budget, "tiers": dict(tiers)}


def _receipt(operation: Mapping[str, JSON]) -> tuple[str, str] | None:
    decision, record_id = operation.get("decision"), str(operation.get("id") or "")
    if operation.get("op") == "left_out":
        ids = ", ".join(operation["ids"])
        if operation["reason"] == TAMPERED:
            return (
                ids,
                f"(withheld, because its line was changed or removed behind memkit's back: the constraint {ids})",
            )
        return ids, f"(not shown until a person approves it, because it came from outside: the constraint {ids})"
    if "section" in operation and decision == "admitted":
        return record_id, f"(core memory changed: {operation['section']}, {record_id})"
    if decision in {"admitted", "merged"}:
        why = ", left out of recall because text from outside was in the prompt" if operation.get("taint") else ""
        stored = f"(stored{why}: {record_id})"
        return record_id, stored if decision == "admitted" else f"(already known: {record_id})"
    if decision == "quarantined":
        why = ", because text from outside was in the prompt" if _is_held_by_taint(operation) else ""
        return record_id, f"(set aside until a person approves it{why}: {record_id})"
    if decision == "refused":
        reasons = [f"{reason.get('code')}: {reason.get('message')}" for reason in operation.get("reasons") or ()]
        code = (operation.get("reasons") or [{"code": "refused"}])[0]["code"]
        return f"({code})", f"(not stored; {'; '.join(reasons) or 'refused'})"
    return None


def _is_held_by_taint(operation: Mapping[str, JSON]) -> bool:
    return any(reason.get("code") == "tainted" for reason in operation.get("reasons") or ())
