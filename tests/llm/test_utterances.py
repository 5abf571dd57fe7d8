"""What people type: each line of ``utterances.txt`` is said to an agent, and what it stores and answers is compared."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

import pytest

from memkit.llm.rules.model import ReferenceModel
from memkit.runtime.guard.core import Guard
from memkit.runtime.htn.core import HTNPlanner, Method, Operator
from memkit.runtime.loop.core import AgentConfig, AgentLoop, DeclaredTool, VirtualContextMemory
from memkit.runtime.memory.main import ArchivalStore, MemoryTools, Record
from memkit.runtime.memory.record.record import Origin
from memkit.runtime.memory.tiers.context import MainContext
from memkit.runtime.memory.tiers.recall import RecallMemory
from tests.loop.agents import tools_of

SCRIPT = Path(__file__).with_name("utterances.txt")
NOON = datetime(2026, 11, 22, 12, tzinfo=UTC)
"""A Sunday."""
OUTBOX = DeclaredTool(
    "outbox",
    "Put a message into the outbox.",
    {"type": "object", "properties": {"message": {"type": "string"}, "to": {"type": "string"}}},
    run=lambda message, to="": f"queued for {to}",
)
POLICIES = [
    {
        "name": "staging_first", "description": "Staging first.", "rule": "Staging first.", "enforcement": "hard",
        "effect": "deny", "match": {"tool": "deploy", "args.environment": "production"},
    },
    {
        "name": "ask_before_sql", "description": "Ask.", "rule": "Ask.", "enforcement": "hard", "effect": "ask",
        "match": {"tool": "sql_query"},
    },
]  # fmt: skip


@dataclass
class Turn:
    """What somebody says, and what is to come of it."""

    text: str
    answer: str = ""
    changes: list[str] = field(default_factory=list)


def conversations() -> Iterator[tuple[str, list[Turn]]]:
    """Yield the conversations of the script.

    ``>`` is said, ``=`` is in the answer (from ``^`` its beginning), ``+`` is stored and ``-`` is no longer live.
    """
    name, turns = "", list[Turn]()
    for line in [*SCRIPT.read_text(encoding="utf-8").splitlines(), "# end"]:
        mark, _, rest = line.partition(" ")
        if mark == "#":
            if turns:
                yield name, turns
            name, turns = rest, []
        elif mark == ">":
            turns.append(Turn(rest.replace("\\n", "\n")))
        elif mark == "=":
            turns[-1].answer = rest
        elif mark in "+-" and mark:
            turns[-1].changes.append(line)


def agent_over(archive: ArchivalStore) -> AgentLoop:
    """Return an agent of the reference model with a message tool, a domain and two policies."""
    planner = HTNPlanner(
        operators=[Operator("carry ?p ?to", [], ["at ?p ?to"])],
        methods=[Method("by_hand", "deliver ?p ?to", [], ["carry ?p ?to"])],
    )

    def retire(record_id: str, reason: str, taint: Sequence[str]) -> tuple[str, str | None]:
        stored = archive.get(record_id, user_id="ada")
        waiting = archive.mark("reject", record_id, Origin(actor="user", user_id="ada"), reason=reason)
        return (stored.record.text if stored else ""), waiting

    main, recall = MainContext(max_tokens=8000), RecallMemory(None, lambda: NOON)
    tools = MemoryTools(main, archive, recall=recall, user_id="ada", session_id=None)
    toolbox = tools_of(tools, Guard(POLICIES), planner=planner, declared=[OUTBOX], retire=retire)
    memory = VirtualContextMemory(main=main, archive=archive, recall=recall, config=AgentConfig("ada"))
    return AgentLoop(memory, model=ReferenceModel(), toolbox=toolbox, config=AgentConfig("ada"))


def shown(record: Record) -> str:
    """Return a record as the script writes it: type, what is unusual about it, and its text."""
    notes = [record.type]
    notes += [f"due={record.extra['due']}"] if "due" in record.extra else []
    notes += [f"from={record.valid_from}"] if record.valid_from else []
    notes += [f"until={record.valid_until}"] if record.valid_until else []
    notes += ["corrects"] if record.supersedes else []
    notes += [record.source] if record.source != "explicit" else []
    return f"+ {' '.join(notes)} | {record.text}"


def changes(before: dict[str, Record], after: dict[str, Record]) -> list[str]:
    """Return what was stored and what is no longer live, as the script writes it."""
    stored = [shown(record) for id, record in after.items() if id not in before]
    return [*stored, *(f"- {record.text}" for id, record in before.items() if id not in after)]


@pytest.mark.parametrize(("name", "turns"), [pytest.param(*one, id=one[0]) for one in conversations()])
def test_what_people_type_is_understood(name: str, turns: list[Turn]) -> None:
    """Every utterance stores exactly what the script says, and is answered with what it says."""
    with ArchivalStore(clock=lambda: NOON) as archive:
        agent = agent_over(archive)
        for turn in turns:
            before = {record.id: record for record in archive.records(user_id="ada")}
            reply = agent.respond(turn.text)
            after = {record.id: record for record in archive.records(user_id="ada")}

            assert changes(before, after) == turn.changes, turn.text
            assert turn.answer in f"^{reply.message}", turn.text
            assert all(archive.get(id, user_id="ada") for id in reply.citations), turn.text


def test_the_script_is_long() -> None:
    """It holds what many people would type, and no answer is left out."""
    turns = [turn for _, conversation in conversations() for turn in conversation]

    assert len(turns) >= 250
    assert all(turn.answer for turn in turns)
