"""Small doubles of what the loop is handed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import pytest

from memkit.runtime.loop.interface import Completion, Message, ToolCall, ToolSpec
from memkit.runtime.loop.virtual_context import SessionContext


@dataclass(frozen=True)
class OneFinding:
    """A policy that matched."""

    name: str
    effect: str
    reason: str
    decides: bool = True


@dataclass(frozen=True)
class OneVerdict:
    """A verdict with one finding at most."""

    decision: str = "allow"
    policies: tuple[OneFinding, ...] = ()

    @property
    def deciding(self) -> OneFinding | None:
        """Return the finding."""
        return self.policies[0] if self.policies else None


@dataclass(frozen=True)
class OneRule:
    """A rule in prose."""

    name: str
    rule: str


class TableGuard:
    """Decides by tool name, and notes what it was asked."""

    def __init__(self, table: Mapping[str, str] | None = None) -> None:
        self.table = dict(table or {})
        self.asked: list[tuple[str, Mapping[str, Any], Mapping[str, Any]]] = []

    def decide(self, tool: str, args: Mapping[str, Any], context: Mapping[str, Any]) -> OneVerdict:
        """Return what the table says, allow otherwise."""
        self.asked.append((tool, args, context))
        effect = self.table.get(tool)
        return (
            OneVerdict(effect, (OneFinding(f"no_{tool}", effect, f"{tool} is off limits"),)) if effect else OneVerdict()
        )

    def advice(self) -> list[OneRule]:
        """Return a rule per entry of the table."""
        return [OneRule(f"no_{tool}", f"Do not use {tool}.") for tool in self.table]


class Refused(Exception):
    """Stands for the memory room's refusal."""

    exit_code = 1


class ListMemory:
    """Memory tools over a list: an insert that refuses secrets, and a search by shared word."""

    session_id = "s1"
    user_id = "ada"
    settings = SimpleNamespace(retrieval=SimpleNamespace(constraints_limit=100, min_confidence=0.7))

    def __init__(self) -> None:
        self.archive = self
        self.main = SessionContext(4000)
        self.events: list[dict[str, Any]] = []
        self.kept: dict[str, str] = {}
        self.turns: list[tuple[str | None, int | None]] = []

    def get(self, record_id: str, *, user_id: str) -> Any:
        """Return a stored record, always verified."""
        record = SimpleNamespace(source="explicit", actor="user", trust="verified")
        return SimpleNamespace(record=record) if record_id in self.kept else None

    def constraints(self, user_id: str, **_: Any) -> list[Any]:
        """Return none."""
        return []

    def search(self, query: str, **_: Any) -> Any:
        """Find nothing that a turn is offered unasked."""
        return SimpleNamespace(hits=[])

    def begin_turn(self, user_text: str | None, turn_id: int | None, **_: Any) -> None:
        """Note the turn."""
        self.turns.append((user_text, turn_id))

    def note_taint(self, origins: Iterable[str]) -> None:
        """Take no notice."""

    def masked(self, value: Any) -> Any:
        """Hide nothing."""
        return value

    def note_recalled(self, ids: Iterable[str]) -> None:
        """Take no notice."""

    def specs(self) -> list[dict[str, Any]]:
        """Return two tools."""
        text = {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}
        query = {"type": "object", "properties": {"query": {"type": "string"}}, "required": ["query"]}
        return [
            {"name": "archival_memory_insert", "description": "Store.", "parameters": text},
            {"name": "archival_memory_search", "description": "Search.", "parameters": query},
        ]

    def call(self, name: str, args: Mapping[str, Any]) -> str:
        """Store or search."""
        if name == "archival_memory_insert":
            return self._insert(str(args["text"]))
        words = set(str(args["query"]).lower().split())
        ids = [record_id for record_id, text in self.kept.items() if words & set(text.lower().split())]
        self.events.append({"op": "search", "query": args["query"], "ids": ids})
        return "\n".join(f"[{record_id}] {self.kept[record_id]}" for record_id in ids) or "nothing relevant"

    def _insert(self, text: str) -> str:
        if "secret" in text:
            reasons = [{"code": "secret", "message": "Secrets are not stored."}]
            self.events.append({"op": "insert", "decision": "refused", "id": None, "reasons": reasons})
            raise Refused("Secrets are not stored.")
        record_id = f"R{len(self.kept) + 1}"
        self.kept[record_id] = text
        self.events.append({"op": "insert", "decision": "admitted", "id": record_id})
        return f"Stored as [{record_id}]."


class Script:
    """A model that gives prepared answers and notes what it saw."""

    def __init__(self, *answers: str | tuple[str, Any]) -> None:
        self.answers = list(answers)
        self.seen: list[list[Message]] = []

    def complete(self, messages: Sequence[Message], tools: Sequence[ToolSpec]) -> Completion:
        """Return the next answer."""
        self.seen.append(list(messages))
        answer = self.answers.pop(0)
        if isinstance(answer, str):
            return Completion(answer)
        return Completion(tool_calls=(ToolCall("any", answer[0], answer[1]),))


@pytest.fixture
def memory() -> ListMemory:
    """Return empty memory tools."""
    return ListMemory()


@pytest.fixture
def script() -> Callable[..., Script]:
    """Return the class of scripted models."""
    return Script


@pytest.fixture
def guard() -> Callable[..., TableGuard]:
    """Return the class of table guards."""
    return TableGuard
