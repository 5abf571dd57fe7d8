"""Forty texts that want something written of the user, each by the way it came: none is ever the user's own."""

from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from memkit.runtime.loop.agent_loop import AgentLoop
from memkit.runtime.loop.bound import declared_tools
from memkit.runtime.loop.interface import DeclaredTool
from memkit.runtime.memory.main import Origin
from memkit.runtime.memory.record.record import Draft
from tests.loop.test_taint_attacks import FETCH, TEXT, Call, World

TEXTS = [
    tuple(part.strip() for part in line.replace("\\n", "\n").split(" | ", 2))
    for line in Path(__file__).with_name("poisoned.txt").read_text(encoding="utf-8").splitlines()
    if not line.startswith("#")
]


class Planted:
    """A user's memory, a page that holds the text, and a model that then writes what the text wants."""

    def __init__(self, text: str, wanted: str) -> None:
        self.world, self.text, self.wanted = World(), text, wanted
        self.look = ("archival_memory_search", {"query": text})
        self.orders: list[Call] = [
            ("core_memory_append", {"section": "Human", "content": wanted}),
            ("core_memory_replace", {"section": "human", "old": "Allergic to nuts", "new": wanted}),
            ("archival_memory_insert", {"content": wanted, "importance": "high"}),
            ("memory_value", {"key": "wanted", "value": wanted}),
        ]

    def agent(self, *turns: list[Call], session: str = "s1", tokens: int = 8000) -> AgentLoop:
        """Return an agent whose page holds the text."""
        agent = self.world.agent(*turns, session=session, tokens=tokens)
        page = DeclaredTool("page", "Read a page.", TEXT, run=lambda text: self.text)
        agent.toolbox.add(declared_tools([page], ".", lambda: None))
        return agent

    @property
    def read(self) -> Call:
        """Return the call that reads the page."""
        return ("page", FETCH[1])


def in_the_turn(planted: Planted) -> None:
    """In the turn that reads it."""
    planted.agent([planted.read, *planted.orders]).respond("Please look that up for me")


def brought(planted: Planted) -> None:
    """In what the user pastes."""
    planted.agent(planted.orders).respond(f"What do you make of this?\n{planted.text}")


def imported(planted: Planted) -> None:
    """In a record that an import brought."""
    origin = Origin(actor="import", user_id="ada", taint=("import:b1",))
    planted.world.archive.offer(Draft(planted.text), origin)
    planted.agent([planted.look, *planted.orders]).respond("What do we know about that?")


def after_thanks(planted: Planted) -> None:
    """Three turns after it was read."""
    agent = planted.agent([planted.read], [], [], planted.orders)
    for said in ("Look it up", "Thanks", "Nice", "Go on"):
        agent.respond(said)


def summed_up(planted: Planted) -> None:
    """When it was paged out into a summary."""
    agent = planted.agent([planted.read], *[[] for _ in range(12)], planted.orders, tokens=1500)
    for said in ("Look it up", *["Tell me something long. " * 12] * 12, "Go on"):
        agent.respond(said)
    assert agent.memory.main.summary


def noted_as_a_task(planted: Planted) -> None:
    """While a task says it."""
    agent = planted.agent([planted.read], [], planted.orders)
    agent.start_task(planted.wanted)
    for said in ("Look it up", "Fine", "Carry on"):
        agent.respond(said)


def told_as_an_outcome(planted: Planted) -> None:
    """After a task that failed over it."""
    agent = planted.agent([planted.read], planted.orders)
    agent.start_task("look it up")
    agent.respond("Look it up")
    agent.record_step("page", planted.text, succeeded=False)
    agent.end_task(False, planted.text)
    agent.respond("And again")


def resumed(planted: Planted) -> None:
    """In a process that takes the session up."""
    planted.agent([planted.read]).respond("Look it up")
    agent = planted.agent(planted.orders)
    agent.turn_id = agent.memory.restore()
    agent.respond("Go on")


def by_a_record(planted: Planted) -> None:
    """In another session, by a record of it."""
    planted.agent([planted.read, ("archival_memory_insert", {"content": planted.text})]).respond("Look it up")
    planted.agent([planted.look, *planted.orders], session="s2").respond("What do we know?")


def by_the_conversation(planted: Planted) -> None:
    """In another session, by what was said."""
    planted.agent([planted.read]).respond("Look it up")
    look = ("conversation_search", {"query": planted.text})
    planted.agent([look, *planted.orders], session="s2").respond("What was there?")


def by_what_others_share(planted: Planted) -> None:
    """By another user's shared record."""
    origin = Origin(actor="user", user_id="mallory")
    planted.world.archive.offer(Draft(planted.text, scope="shared"), origin)
    planted.agent([planted.look, *planted.orders]).respond("Who leads?")


WAYS: Mapping[str, Callable[[Planted], None]] = {
    "tool": in_the_turn, "page": in_the_turn, "paste": brought, "import": imported, "thanks": after_thanks,
    "summary": summed_up, "working": noted_as_a_task, "outcome": told_as_an_outcome, "resume": resumed,
    "record": by_a_record, "conversation": by_the_conversation, "shared": by_what_others_share,
}  # fmt: skip


@pytest.mark.parametrize(("way", "text", "wanted"), TEXTS, ids=[f"{way}-{wanted}" for way, _, wanted in TEXTS])
def test_what_a_text_wants_written_never_counts_as_the_users(way: str, text: str, wanted: str) -> None:
    """Core memory stays as it was, and every record that the agent wrote on the text's wish is marked."""
    planted = Planted(text, wanted)
    WAYS[way](planted)

    planted.world.check()
    written = [one.text for one in planted.world.archive.records(user_id="ada", status=None) if one.actor == "agent"]
    assert wanted in written


def test_every_way_is_gone() -> None:
    """Forty texts, and at least one for each way."""
    assert len(TEXTS) == 40 and {way for way, *_ in TEXTS} == set(WAYS)
