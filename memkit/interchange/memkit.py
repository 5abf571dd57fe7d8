"""memkit's own format: JSON lines with the fields of a record, of which only text and user_id are required.

An export also holds events. Without ``--restore`` they are not taken over, but they are heard: a record that they
changed is offered as it stands after them, and one that they ended is not offered at all.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping

from memkit.interchange.found import found
from memkit.interchange.interface import Found, Item, Passed, Source, Unfit, Wishes
from memkit.interchange.json_text import numbered_objects
from memkit.interchange.machine import KINDS
from memkit.runtime.memory.record.errors import InvalidRecord, Reason
from memkit.runtime.memory.record.events import OPERATIONS, Event, fold
from memkit.runtime.memory.record.lines import JSON
from memkit.runtime.memory.record.record import Draft, Record

Events = Mapping[str, list[Event]]

OURS = (*OPERATIONS, *KINDS)
ENDED = {
    "rejected": "It was rejected where it comes from.",
    "retired": "It was retired where it comes from.",
    "superseded": "Another took its place where it comes from.",
    "quarantined": "It was in quarantine where it comes from. Approve it there, or bring everything with --restore.",
}


class MemkitReader:
    """Reads records; what else an export holds is for a restore."""

    def read(self, source: Source, wishes: Wishes) -> Iterator[Item]:
        """Yield the records of ``source``."""
        with source.opened() as file:
            events, passed = _events_of(numbered_objects(file))
        with source.opened() as file:
            for number, data in numbered_objects(file):
                if isinstance(data, Reason):
                    yield Unfit(number, (data,))
                elif "op" not in data:
                    yield _present(number, data, events, wishes)
        for what, count in sorted(passed.items()):
            yield Passed(what, "Only --restore brings it back.", count=count)


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
    """Return a record as it stands after its events, or why it is not offered."""
    item = found(number, data, wishes)
    if isinstance(item, Unfit):
        return item
    record = _as_it_was(item, data)
    state = fold(record, events.get(record.id, []))
    if state.status in ENDED:
        return Unfit(number, (Reason(state.status, ENDED[state.status]),))
    now = state.record
    draft = item.draft._replace(
        text=now.text, tags=now.tags, confidence=now.confidence, importance=now.importance,
        valid_from=now.valid_from, valid_until=now.valid_until,
    )  # fmt: skip
    return Found(number, item.user_id, draft)


def _as_it_was(item: Found, data: Mapping[str, JSON]) -> Record:
    draft: Draft = item.draft
    wanted = draft.to_data() | {"user_id": item.user_id, "trust": data.get("trust") or "candidate"}
    return Record.from_data({"id": f"line-{item.line}", "created_at": "1970-01-01"} | wanted)
