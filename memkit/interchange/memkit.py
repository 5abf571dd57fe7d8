"""memkit's own format: JSON lines with the fields of a record, of which only text and user_id are required.

An export also holds events. Without ``--restore`` they are not imported, but they are applied: a record that they
changed is offered in its resulting state, and one that they ended is not offered at all.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any

from memkit.interchange.containers import numbered_objects
from memkit.interchange.interface import FoundMemory, ImportSource, Item, Passed, Unfit, Wishes, found
from memkit.runtime.memory.archive.archive import ArchivalStore
from memkit.runtime.memory.index.catalogue import Use
from memkit.runtime.memory.record.events import OPERATIONS, Event, fold
from memkit.runtime.memory.record.lines import JSON, InvalidRecord, Reason, Sealer
from memkit.runtime.memory.record.record import Draft, Record
from memkit.runtime.memory.tiers.recall import RecallMemory
from memkit.runtime.memory.tiers.sessions import SessionFile, SessionTurn, held_sessions
from memkit.store.audit import AuditLog
from memkit.store.sessions import Checkpoints

Line = Mapping[str, JSON]

CARRYING = ("export", "restored")
"""Events about carrying the data: if included, they would make every export differ from the previous one."""
KINDS = {"turn": "turns", "session": "sessions", "checkpoint": "checkpoints", "access": "access", "audit": "audit"}
"""The names under which the lines of each ``op`` are counted."""
MONTH = re.compile(r"\d{4}-\d{2}")


@dataclass(frozen=True)
class MachineState:
    """The places outside the archive that hold something about a user."""

    archive: ArchivalStore
    """For the counts of recalls."""
    recall: RecallMemory
    sessions: Path
    checkpoints: Checkpoints
    audit: AuditLog
    sealer: Sealer

    def lines(self, user_id: str) -> Iterator[dict[str, Any]]:
        """Yield everything here about a user, one kind after another."""
        for turn in self.recall.everything(user_id):
            yield {
                "op": "turn", "target": turn.session_id, "user_id": user_id, "turn_id": turn.turn_id,
                "role": turn.role, "text": turn.text, "at": turn.at,
                **({"agent_id": turn.agent_id} if turn.agent_id else {}),
            }  # fmt: skip
        for session_id, content in held_sessions(self.sessions, user_id, self.sealer):
            yield {"op": "session", "target": session_id, "user_id": user_id, "fields": content}
        for target, step in self.checkpoints.of_user(user_id):
            yield {"op": "checkpoint", "target": target, "user_id": user_id, "fields": step}
        for id, use in sorted(self.archive.access_counts(user_id).items()):
            yield {"op": "access", "target": id, "user_id": user_id, "uses": use.uses, "last": use.last}
        for month, entry in self.audit.of_user(user_id):
            if entry.get("event") not in CARRYING:
                event = str(entry.get("event"))
                yield {"op": "audit", "target": event, "user_id": user_id, "month": month, "fields": entry}

    def bring_back(self, user_id: str, lines: Iterable[Line]) -> Iterator[tuple[str, int]]:
        """Restore what is missing here and yield kinds with the number of their restored lines.

        The lines have passed ``problem``.
        """
        for (op, target), some in groupby(lines, key=lambda line: (str(line["op"]), _batch(line))):
            yield op, self._takers()[op](user_id, target, list(some))

    def _takers(self) -> Mapping[str, Callable[[str, str, list[Any]], int]]:
        return {
            "turn": self._turns,
            "session": self._session,
            "checkpoint": self._steps,
            "access": self._uses,
            "audit": self._account,
        }

    def _turns(self, user_id: str, session_id: str, lines: list[Any]) -> int:
        return self.recall.bring_back(
            SessionTurn(
                user_id, session_id, line["turn_id"], line["role"], line["text"], line["at"], line.get("agent_id")
            )
            for line in lines
        )

    def _session(self, user_id: str, session_id: str, lines: list[Any]) -> int:
        return SessionFile(self.sessions, user_id, session_id, self.sealer).bring_back(lines[-1]["fields"])

    def _steps(self, user_id: str, session_id: str, lines: list[Any]) -> int:
        return self.checkpoints.bring_back(user_id, session_id, [line["fields"] for line in lines])

    def _uses(self, user_id: str, target: str, lines: list[Any]) -> int:
        told = {line["target"]: Use(line["uses"], line["last"]) for line in lines}
        before = self.archive.access_counts(user_id)
        self.archive.bring_back_access(user_id, told)
        after = self.archive.access_counts(user_id)
        return sum(before.get(id) != after.get(id) for id in told)

    def _account(self, user_id: str, month: str, lines: list[Any]) -> int:
        return self.audit.bring_back(user_id, month, [line["fields"] for line in lines])


def problem(user_id: str, line: Line) -> Reason | None:
    """Return what prevents a line about this machine's part from being restored."""
    if line.get("user_id") != user_id:
        return Reason("other_user", f"The line is about a different user than {user_id!r:.60}.")
    wrong = [key for key, fits in SHAPES[str(line["op"])].items() if not fits(line.get(key))]
    if wrong:
        return Reason("schema", f"{wrong[0]} is missing or malformed.")
    fields = line.get("fields")
    if line["op"] in ("audit", "checkpoint") and isinstance(fields, Mapping) and fields.get("user_id") != user_id:
        return Reason("other_user", f"The line is about a different user than {user_id!r:.60}.")
    return None


def _batch(line: Line) -> str:
    """Return the common property of lines that are restored together."""
    if line["op"] in ("turn", "session", "checkpoint"):
        return str(line["target"])
    return str(line.get("month", ""))


def _is_text(value: JSON) -> bool:
    return isinstance(value, str)


def _is_count(value: JSON) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**62


def _is_session(value: JSON) -> bool:
    if not isinstance(value, Mapping) or not isinstance(value.get("agent_id"), str | None):
        return False
    return _is_count(value.get("turns")) and isinstance(value.get("known"), list)


def _is_step(value: JSON) -> bool:
    return isinstance(value, Mapping) and _is_text(value.get("op")) and _is_text(value.get("session_id"))


SHAPES: Mapping[str, Mapping[str, Callable[[JSON], bool]]] = {
    "turn": {
        "target": _is_text,
        "turn_id": lambda value: value is None or _is_count(value),
        "role": _is_text,
        "text": _is_text,
        "at": _is_text,
        "agent_id": lambda value: value is None or _is_text(value),
    },
    "session": {"target": _is_text, "fields": _is_session},
    "checkpoint": {"target": _is_text, "fields": _is_step},
    "access": {"target": _is_text, "uses": _is_count, "last": _is_text},
    "audit": {
        "target": _is_text,
        "month": lambda value: isinstance(value, str) and bool(MONTH.fullmatch(value)),
        "fields": lambda value: isinstance(value, Mapping),
    },
}
"""The required fields of each line."""


Events = Mapping[str, list[Event]]

OURS = (*OPERATIONS, *KINDS)
ENDED = {
    "rejected": "It was rejected in the store it comes from.",
    "retired": "It was retired in the store it comes from.",
    "superseded": "It was superseded in the store it comes from.",
    "quarantined": "It was quarantined in the store it comes from. Approve it there, or use --restore for everything.",
}


def read_memkit(source: ImportSource, wishes: Wishes) -> Iterator[Item]:
    """Yield the records of ``source``; the rest of an export is for a restore."""
    with source.opened() as file:
        events, passed = _events_of(numbered_objects(file))
    with source.opened() as file:
        for number, data in numbered_objects(file):
            if isinstance(data, Reason):
                yield Unfit(number, (data,))
            elif "op" not in data:
                yield _present(number, data, events, wishes)
    for what, count in sorted(passed.items()):
        yield Passed(what, "Only --restore imports it.", count=count)


def _events_of(lines: Iterator[tuple[int, Mapping[str, JSON] | Reason]]) -> tuple[Events, Counter[str]]:
    events: defaultdict[str, list[Event]] = defaultdict(list)
    passed: Counter[str] = Counter()
    for _, data in lines:
        if isinstance(data, Reason) or "op" not in data:
            continue
        op = data["op"]
        passed[op if isinstance(op, str) and op in OURS else "unknown"] += 1
        try:
            event = Event.from_data(data)
        except InvalidRecord:
            continue
        events[event.target].append(event)
    return events, passed


def _present(number: int, data: Mapping[str, JSON], events: Events, wishes: Wishes) -> Item:
    """Return a record in the state after its events, or why it is not offered."""
    item = found(number, data, wishes)
    if isinstance(item, Unfit):
        return item
    record = _as_it_was(item, data)
    state = fold(record, events.get(record.id, []))
    if state.status in ENDED:
        return Unfit(number, (Reason(state.status, ENDED[state.status]),))
    now = state.record
    draft = item.draft._replace(
        text=now.text, tags=now.tags, confidence=now.confidence, valid_from=now.valid_from, valid_until=now.valid_until,
        importance=item.draft.importance if now.importance == record.importance else now.importance,
    )  # fmt: skip
    return FoundMemory(number, item.user_id, draft)


def _as_it_was(item: FoundMemory, data: Mapping[str, JSON]) -> Record:
    draft: Draft = item.draft
    wanted = draft.to_data() | {"user_id": item.user_id, "trust": data.get("trust") or "candidate"}
    return Record.from_data({"id": f"line-{item.line}", "created_at": "1970-01-01"} | wanted)
