"""A turn that dies at any call that changes the disk goes on in the next process, and does nothing twice."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from sampled import tried

from memkit.agent import Parts, ReferenceAgent, Setting
from memkit.cli.main import run
from memkit.runtime.loop.interface import Completion, DeclaredTool, Message, ToolCall, ToolSpec
from memkit.runtime.loop.journal import DONE, LEAVE, RUN
from memkit.runtime.loop.reply import Host
from memkit.runtime.memory.log.clone import state_folder
from memkit.runtime.memory.tiers.sessions import read_turns
from memkit.use_cases.open_chat import open_chat
from memkit.workspace import open_workspace

KILLED = 91
STEP = tried(1, 3)
"""From one of the calls that a turn dies at to the next."""
SAID = "My dog is called Rex. Send him a note."
CALLS = ("write", "fsync", "fdatasync", "ftruncate", "replace", "rename", "unlink", "mkdir", "open")
TEXT = {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}


class Script:
    """Answers by how far the turn is: a note that is sent, a fact that is stored, and words; it counts the requests."""

    def __init__(self, asked: Path) -> None:
        self._asked = asked

    def complete(self, messages: Sequence[Message], tools: Sequence[ToolSpec]) -> Completion:
        """Return what comes after the last message."""
        done = 0
        for message in reversed(messages):
            if message["role"] == "user" and message.get("name") != "memory":
                break
            done += message["role"] == "tool"
        with self._asked.open("a") as file:
            file.write(f"{done}\n")
        answers = {0: ("send", "Woof"), 1: ("archival_memory_insert", "My dog is called Rex")}
        if done in answers:
            tool, text = answers[done]
            return Completion("", (ToolCall("any", tool, {"text": text}),))
        return Completion("Sent and stored.")


class World:
    """A copy of the store, what was sent to the world outside, and how often the model was asked."""

    def __init__(self, store: Path, folder: Path) -> None:
        self.store = folder / "store"
        shutil.copytree(store, self.store)
        self.sent = folder / "sent"
        self.asked = folder / "asked"
        self.questions: list[str] = []

    def turn(
        self, text: str | None, arm: Callable[[], None] = lambda: None, answer: str | None = None, dies: str = ""
    ) -> Any:
        """Say ``text``, or only finish what was cut off, in a process that dies once it is armed or in the tool."""

        def send(text: str) -> str:
            if dies.startswith("before"):
                os._exit(KILLED)
            with self.sent.open("a") as file:
                file.write(f"{text}\n")
            if dies.startswith("after"):
                os._exit(KILLED)
            return "sent"

        def adapt(parts: Parts) -> Parts:
            return replace(parts, model=Script(self.asked), tools=[DeclaredTool("send", "Send.", TEXT, run=send)])

        def settle(call: ToolCall) -> str:
            self.questions.append(call.name)
            return answer or LEAVE

        with open_workspace(self.store) as workspace:
            setting = Setting("ada", "monday", host=Host(settle=settle if answer else None))
            agent: ReferenceAgent = open_chat(workspace, setting, adapt=adapt)
            arm()
            return agent.finish() if text is None else agent.step(text)

    def lines(self, folder: Path) -> list[str]:
        """Return the lines that were sent or asked."""
        return folder.read_text().splitlines() if folder.exists() else []

    @property
    def records(self) -> list[dict[str, Any]]:
        """Return the record lines of the archive."""
        lines = [line for shard in self.store.glob("archive/*/*.jsonl") for line in shard.read_text().splitlines()]
        return [data for data in map(json.loads, lines) if "op" not in data]

    @property
    def journal(self) -> list[str]:
        """Return the operations in the journal of the session."""
        files = state_folder(self.store).glob("checkpoints/*.jsonl")
        return [json.loads(line)["op"] for path in files for line in path.read_bytes().split(b"\n")[:-1]]

    def prompt(self) -> list[dict[str, Any]]:
        """Return what the session file holds."""
        (path,) = state_folder(self.store).glob("sessions/*.json")
        messages: list[dict[str, Any]] = json.loads(path.read_text())["messages"]
        return messages

    def said(self) -> list[str]:
        """Return what recall memory holds of the user."""
        turns = (turn for path in state_folder(self.store).glob("sessions/*/*.jsonl") for turn in read_turns(path))
        return [turn.text for turn in turns if turn.role == "user"]


@pytest.fixture
def agreed(store: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Path:
    """Return a store whose user agreed to be remembered, with its index made."""
    assert run(["--store", str(store), "consent", "grant", "--user", "ada"]) == 0
    capsys.readouterr()
    return store


def die_at(number: int) -> Callable[[], None]:
    """Return what makes this process die before the given call that changes the disk; a write is cut in the middle."""
    calls = count(1)

    def arm() -> None:
        for name in CALLS:
            real = getattr(os, name)

            def dying(*arguments: Any, _real: Any = real, _name: str = name, **named: Any) -> Any:
                writes = _name != "open" or (len(arguments) > 1 and arguments[1] & os.O_CREAT)
                if writes and next(calls) == number:
                    if _name == "write":
                        _real(arguments[0], bytes(arguments[1])[: len(arguments[1]) // 2])
                    os._exit(KILLED)
                return _real(*arguments, **named)

            setattr(os, name, dying)

    return arm


def in_a_child(work: Callable[[], object]) -> int:
    """Run something in a process of its own and return how that ended."""
    child = os.fork()
    if child == 0:
        try:
            work()
        except BaseException:  # noqa: BLE001 - the child must not go on with the tests of its parent
            import traceback

            traceback.print_exc()
            os._exit(1)
        os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def killed(agreed: Path, tmp_path: Path) -> Iterator[World]:
    """Yield worlds whose turn died at the first call that changes the disk, the one a step on, and so on."""
    for number in count(1, STEP):
        world = World(agreed, tmp_path / f"world-{number}")
        ended = in_a_child(lambda: world.turn(SAID, die_at(number)))  # noqa: B023 - it runs before the next turn
        if ended == 0:
            return
        assert ended == KILLED
        yield world


@pytest.mark.sampled
def test_a_turn_that_dies_anywhere_goes_on_and_does_nothing_twice(agreed: Path, tmp_path: Path) -> None:
    """What was sent is sent once, or asked about; the record is there once; no answer is asked for twice."""
    asked = opened = 0
    for world in killed(agreed, tmp_path):
        was_opened = "opened" in world.journal
        is_closed = bool(list(state_folder(world.store).glob("sessions/*.json")))
        sent_before = world.lines(world.sent)

        resumed = world.turn(None, answer=DONE if sent_before else RUN)

        if is_closed or not was_opened:
            assert resumed is None
            assert world.said() == [SAID] * is_closed, "words that are kept are words that are answered"
            continue
        opened += 1
        asked += bool(world.questions)
        assert world.questions in ([], ["send"])
        assert resumed.reply.message.startswith("Sent and stored.")
        assert world.lines(world.sent) == ["Woof"]
        assert [record["text"] for record in world.records] == ["My dog is called Rex"]
        assert world.records[0]["id"] in resumed.reply.message, "the reply says what the turn wrote"
        assert world.said() == [SAID]
        roles = [message["role"] for message in world.prompt()]
        assert roles == ["user", "assistant", "tool", "assistant", "tool", "assistant"]
        requests = world.lines(world.asked)
        assert len(requests) - len(set(requests)) <= 1, "only an answer that never arrived is asked for again"
        assert world.turn(None) is None, "it is finished once"
    assert opened > 10
    assert asked >= 2 or STEP > 1, "before the tool acts and after it"


@pytest.mark.parametrize("dies", ["before it acts", "after it acted"])
def test_nobody_to_ask_means_that_the_model_is_told(dies: str, agreed: Path, tmp_path: Path) -> None:
    """Without a terminal a call of unknown outcome is not run again, and what comes after it is done."""
    world = World(agreed, tmp_path / "world")
    assert in_a_child(lambda: world.turn(SAID, dies=dies)) == KILLED

    resumed = world.turn(None)

    assert world.lines(world.sent) == ["Woof"] * (dies == "after it acted")
    assert "Outcome unknown" in world.prompt()[2]["content"]
    assert [record["text"] for record in world.records] == ["My dog is called Rex"]
    assert resumed.reply.message.startswith("Sent and stored.")


@pytest.mark.parametrize(("answer", "sent"), [(DONE, 1), (LEAVE, 1), (RUN, 2)])
def test_a_person_says_what_became_of_a_call(answer: str, sent: int, agreed: Path, tmp_path: Path) -> None:
    """Only their word runs it once more."""
    world = World(agreed, tmp_path / "world")
    assert in_a_child(lambda: world.turn(SAID, dies="after it acted")) == KILLED

    world.turn(None, answer=answer)

    assert world.questions == ["send"]
    assert world.lines(world.sent) == ["Woof"] * sent
