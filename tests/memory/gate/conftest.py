"""A small archive in memory, so that the gate is judged alone."""

from dataclasses import dataclass, field

import pytest

from memkit.runtime.memory.record.record import Record
from memkit.runtime.memory.words.text import plain


@dataclass
class ListView:
    """Answers the gate's questions from a list of records."""

    held: list[Record] = field(default_factory=list)
    dead: set[tuple[str, str]] = field(default_factory=set)
    writes: int = 0
    core: dict[str, str] = field(default_factory=dict)

    def add(self, text: str, user_id: str = "alice", **fields: object) -> Record:
        """Hold one more record and return it."""
        known = {"id": f"R{len(self.held)}", "created_at": "2026-01-01T00:00:00.000000Z", "trust": "verified", **fields}
        record = Record(text=text, user_id=user_id, **known)  # type: ignore[arg-type]
        self.held.append(record)
        return record

    def similar(self, text: str, user_id: str, type: str | None = None) -> list[Record]:
        """Return what the user can see."""
        return [r for r in self.held if (r.user_id == user_id or r.scope == "shared") and type in (None, r.type)]

    def alike(self, text: str, user_id: str, at: float) -> list[Record]:
        """Return what the user can see."""
        return self.similar(text, user_id)

    def holds(self, record: Record) -> bool:
        """Return that what is held is of no date."""
        return True

    def is_tombstoned(self, user_id: str, text: str) -> bool:
        """Return whether the value was rejected."""
        return (user_id, plain(text)) in self.dead

    def session_writes(self, user_id: str, session_id: str) -> int:
        """Return the writes of the session."""
        return self.writes

    def live(self, id: str) -> Record | None:
        """Return the record of this id."""
        return next((record for record in self.held if record.id == id), None)

    def core_sections(self, user_id: str, agent_id: str | None = None) -> dict[str, str]:
        """Return the core sections."""
        return self.core


@pytest.fixture
def view() -> ListView:
    """Return an empty archive."""
    return ListView()
