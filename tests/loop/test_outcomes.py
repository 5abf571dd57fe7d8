"""What was tried is judged once, and what holds for a while only stays out of the archive."""

from __future__ import annotations

from typing import Any

import pytest

from memkit.runtime.loop.agent_loop import AgentLoop
from memkit.runtime.loop.bound import BoundTool
from memkit.runtime.loop.interface import Completion, ToolCall, ToolSpec
from memkit.runtime.loop.tasks import said_to_work
from memkit.runtime.loop.tiers import working_lines
from memkit.runtime.loop.tools import Tools
from memkit.runtime.loop.virtual_context import VirtualContextMemory
from memkit.runtime.memory.main import ArchivalStore, MainContext, MemoryTools
from memkit.runtime.memory.record.record import Record


class Played:
    """A model that gives its answers one after the other: a text, or a call."""

    def __init__(self, *answers: Any) -> None:
        self.answers = list(answers)

    def complete(self, messages: Any, tools: Any) -> Completion:
        """Return the next answer."""
        answer = self.answers.pop(0)
        return Completion(answer) if isinstance(answer, str) else Completion("", (ToolCall("c", *answer),))


def agent_with(
    *answers: Any, fails: int = 0, open_world: bool = False, page: str = "sent", tool: str = "send"
) -> AgentLoop:
    """Return an agent with a ``tool`` to send, which fails at first as often as ``fails`` says."""
    archive, main = ArchivalStore(), MainContext()
    tools = Tools(MemoryTools(main, archive, user_id="ada", session_id="s"))
    left = [fails]

    def send(args: Any) -> str:
        left[0] -= 1
        if left[0] >= 0:
            raise OSError("the line is busy")
        return page

    tools.add([BoundTool(ToolSpec(tool, "Send."), send, foreign=True, checked=False, open_world=open_world)])
    played = Played(*answers)
    agent = AgentLoop(VirtualContextMemory(main=main, archive=archive), model=played, toolbox=tools)
    agent.script = played.answers  # type: ignore[attr-defined]
    return agent


def outcomes(agent: AgentLoop) -> list[Record]:
    """Return the outcomes that the agent's memory holds."""
    found: list[Record] = agent.memory.archive.records(user_id="ada", types=("outcome",))
    return found


CALL = ("send", {"to": "bob"})


@pytest.mark.parametrize(
    ("said", "verdict"),
    [
        ("That worked, thanks!", True), ("It works now.", True), ("Great, that fixed it", True),
        ("Das hat funktioniert", True),
        ("No, that did not work.", False), ("It still doesn't work", False), ("no luck", False),
        ("It failed again", False),
        ("ça ne marche pas", False), ("Did it work?", None), ("It works on Linux only", None), ("Thanks!", None),
        ("My sister doesn't work", None), ("I work as a nurse", None), ("That worked? No, it failed.", False),
    ],
)  # fmt: skip
def test_a_verdict_is_a_whole_sentence(said: str, verdict: bool | None) -> None:
    """A report about anything else is none, and neither is a question."""
    assert said_to_work(said) is verdict


def test_a_tool_that_fails_leaves_one_outcome() -> None:
    """However often it fails in the turn; the reply shows its id."""
    agent = agent_with(CALL, CALL, "It is busy.", fails=2)

    reply = agent.respond("Send it")

    (record,) = outcomes(agent)
    assert record.extra == {
        "action": 'send(to="bob")', "outcome": "send failed", "lesson": "send failed with: the line is busy",
    }  # fmt: skip
    assert (record.importance, record.tags, record.source, record.taint) == (0.7, ("failed",), "learned", ())
    assert f"(stored: {record.id})" in reply.message


@pytest.mark.parametrize("tool", ["send_parcel", "sendParcel", "send-parcel", "mcp__post__send_parcel"])
def test_what_failed_is_found_by_the_words_of_the_tool(tool: str) -> None:
    """Nobody says a tool's name as a program writes it."""
    agent = agent_with((tool, {"to": "bob"}), "It is busy.", fails=1, tool=tool)
    agent.respond("Go")

    found = agent.memory.archive.search("Please send the parcel again", user_id="ada", types=("outcome",)).hits

    assert [hit.id for hit in found] == [record.id for record in outcomes(agent)]


def test_each_task_of_a_host_leaves_its_own_outcome() -> None:
    """Also where no turn lies between them; what the model told of one stands for that one alone."""
    agent = agent_with(("archival_memory_insert", {"text": "The first attempt failed", "type": "outcome"}), "Noted.")
    agent.observe("Try it")
    agent.start_task("deploy the first")
    agent.respond()
    for task in ("deploy the first", "deploy the second", "deploy the third"):
        if task != "deploy the first":
            agent.start_task(task)
        agent.end_task(False, "the upload failed")

    told = [record.text for record in outcomes(agent)]
    assert told[0] == "The first attempt failed" and len(told) == 3
    assert all(f"deploy the {place}" in text for place, text in zip(("second", "third"), told[1:], strict=True))


def test_what_mended_a_failure_is_the_lesson() -> None:
    """The same tool worked in the end."""
    agent = agent_with(CALL, CALL, "Done.", fails=1)

    agent.respond("Send it")

    (record,) = outcomes(agent)
    assert record.tags == ("succeeded",) and "worked after it had failed with: the line is busy" in record.text


def test_an_outcome_that_quotes_strangers_is_tainted() -> None:
    """The lesson has the words of a tool of an open world."""
    agent = agent_with(CALL, "It is busy.", fails=1, open_world=True)

    agent.respond("Send it")

    assert outcomes(agent)[0].taint == ("tool:send",)


def test_the_users_verdict_judges_what_was_done_last_and_moves_what_it_relied_on() -> None:
    """Once: what is said again judges nothing."""
    agent = agent_with(CALL, "I am sorry.", "Still sorry.")
    known = agent.toolbox.memory.archival_memory_insert("Bob's line is the red one")  # type: ignore[attr-defined]
    agent.toolbox.books.known_ids.add(known)
    agent.script.insert(1, f"Sent over the red line [{known}].")

    agent.respond("Send it to Bob")
    agent.respond("No, that did not work.")
    agent.respond("It did not work.")

    (record,) = outcomes(agent)
    assert record.extra["outcome"] == "the user said that it did not work" and known in record.parents
    assert agent.memory.archive.get(known).record.confidence == pytest.approx(0.75)


def test_without_consent_nothing_is_judged_aloud() -> None:
    """Neither a record nor a line about one."""
    agent = agent_with(CALL, "It is busy.", fails=1)
    agent.toolbox.memory.consented = lambda: False  # type: ignore[attr-defined]

    assert agent.respond("Send it").message == "It is busy." and outcomes(agent) == []


@pytest.mark.parametrize(
    "text", ["Wants terse answers this session only", "Has a temporary flat", "The link is ephemeral"]
)
def test_what_passes_stays_in_working_memory(text: str) -> None:
    """The archive refuses it, and the prompt shows it until its time is over, task or not."""
    agent = agent_with(("archival_memory_insert", {"text": text}), "Noted.", "Hello.")

    reply = agent.respond("Something else altogether, please")

    assert "(not stored; transient" in reply.message
    assert working_lines(agent.working) == [f"for now: {text}"]
    agent.start_task("pack")
    assert f"for now: {text}" in str(agent.prompt()[0]["content"])


def test_a_page_is_the_source_of_what_was_made_of_it() -> None:
    """Its address reaches the record, its taint, and the sources of the answer that cites it."""
    page = "https://gate.example/today"
    agent = agent_with(
        ("send", {"url": page}), ("archival_memory_insert", {"text": "Gate B7 opens at six"}), "Noted.", open_world=True
    )

    agent.respond("When does the gate open?")

    (record,) = agent.memory.archive.records(user_id="ada")
    assert record.source_url == page and record.taint == ("tool:send", page)
    agent.script += [f"At six [{record.id}]."]
    assert agent.respond("Say it again").data["sources"] == [
        {"id": record.id, "session_id": "s", "turn_id": 1, "source_url": page}
    ]


def test_each_of_two_pages_is_a_source_of_what_was_made_of_both() -> None:
    """The record has the address that was read first, and the answer that cites it names both."""
    pages = ["https://gate.example/today", "https://gate.example/trains"]
    calls = [("send", {"url": page}) for page in pages]
    agent = agent_with(*calls, ("archival_memory_insert", {"text": "Gate B7 opens at six"}), "Noted.", open_world=True)

    agent.respond("When does the gate open, and is there a train?")

    (record,) = agent.memory.archive.records(user_id="ada")
    assert record.source_url == pages[0]
    agent.script += [f"At six [{record.id}]."]
    assert [one["source_url"] for one in agent.respond("Say it again").data["sources"]] == pages


def test_what_a_search_found_is_an_observation() -> None:
    """It can be cited, and taints only where it is tainted; text of the surroundings always does."""
    agent = agent_with("Tea.", "Tea.")
    known = agent.toolbox.memory.archival_memory_insert("Ada drinks tea in the morning")  # type: ignore[attr-defined]
    agent.script[0] = f"Tea [{known}]."
    agent.observe("What do I drink?")
    agent.inject_observation([])
    agent.inject_observation(agent.memory.search("tea morning"))

    reply = agent.respond()

    assert (reply.citations, reply.data["trust"]) == ([known], "trusted")
    agent.inject_observation("22 degrees", source="sensor")
    assert agent.toolbox.books.standing
