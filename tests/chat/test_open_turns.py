"""What a turn costs in syncs, who may have its session, how long it can go on, and what a full disk does to it."""

from __future__ import annotations

import contextlib
import errno
import io
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from memkit.agent import Parts, ReferenceAgent, Setting
from memkit.cli.chat.conversation import Outcomes
from memkit.cli.main import run
from memkit.runtime.host.sessions import TurnStopped
from memkit.runtime.loop.interface import Completion, DeclaredTool, Message, ModelFault, ToolCall, ToolSpec
from memkit.runtime.loop.journal import DONE, LEAVE, RUN
from memkit.runtime.loop.journal_file import JournalError, SessionInUse, TurnLeft
from memkit.runtime.loop.tiers import working_lines
from memkit.runtime.memory.log.clone import state_folder
from memkit.use_cases.open_chat import open_chat
from memkit.workspace import open_workspace

TEXT = {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}
START = datetime(2026, 3, 1, 9, 0, tzinfo=UTC)


class Answers:
    """A model that gives prepared answers: words, calls as (tool, text), or an error."""

    def __init__(self, *answers: Any) -> None:
        self.answers = list(answers)
        self.seen: list[list[Message]] = []

    def complete(self, messages: Sequence[Message], tools: Sequence[ToolSpec]) -> Completion:
        """Return the next answer, or raise it."""
        self.seen.append(list(messages))
        answer = self.answers.pop(0)
        if isinstance(answer, BaseException):
            raise answer
        if isinstance(answer, tuple):
            args = answer[1] if isinstance(answer[1], dict) else {"text": answer[1]}
            return Completion("", (ToolCall("any", answer[0], args),))
        return Completion(answer)


class SendsOnce:
    """A model that sends something for each message of the user, and then says so."""

    def complete(self, messages: Sequence[Message], tools: Sequence[ToolSpec]) -> Completion:
        """Call the tool until its result is the last message."""
        if messages[-1]["role"] == "tool":
            return Completion("Sent.")
        words = [message["content"] for message in messages if message["role"] == "user" and "name" not in message]
        return Completion("", (ToolCall("any", "send", {"text": words[-1]}),))


class Clock:
    """A clock that a test moves."""

    def __init__(self) -> None:
        self.now = START

    def __call__(self) -> datetime:
        """Return the time."""
        return self.now


MADE: list[Path] = []
"""A store whose user agreed to be remembered, made once."""


@pytest.fixture
def agreed(tmp_path: Path, tmp_path_factory: pytest.TempPathFactory, capsys: pytest.CaptureFixture[str]) -> Path:
    """Return a store whose user agreed to be remembered."""
    if not MADE:
        made = tmp_path_factory.mktemp("agreed") / "store"
        assert run(["init", str(made)]) == 0
        assert run(["--store", str(made), "consent", "grant", "--user", "ada"]) == 0
        capsys.readouterr()
        MADE.append(made)
    return Path(shutil.copytree(MADE[0], tmp_path / "store"))


@contextmanager
def talking(
    store: Path,
    *answers: Any,
    session: str = "monday",
    clock: Clock | None = None,
    tools: Sequence[DeclaredTool] = (),
    model: Any = None,
) -> Iterator[ReferenceAgent]:
    """Open a session with a model that gives ``answers``; ``agent.parts.model`` tells what it saw."""

    def adapt(parts: Parts) -> Parts:
        return replace(parts, model=model or Answers(*answers), tools=list(tools))

    with open_workspace(store, **({"clock": clock} if clock else {})) as workspace:
        yield open_chat(workspace, Setting("ada", session), adapt=adapt)


def sends(sent: list[str]) -> DeclaredTool:
    """Return a tool that does something to the world."""

    def send(text: str) -> str:
        sent.append(text)
        return "sent"

    return DeclaredTool("send", "Send.", TEXT, run=send, open_world=False)


def in_a_child(work: Callable[[], object]) -> None:
    """Run something in a process of its own that dies at ``die``."""
    child = os.fork()
    if child == 0:
        try:
            work()
        finally:
            os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def die(*_: object, **__: object) -> Any:
    """End this process at once, as kill -9 does."""
    os._exit(0)


def leave_open(store: Path, text: str, *answers: Any, clock: Clock | None = None) -> None:
    """Leave a turn open in which ``answers`` came before the process was killed."""

    def work() -> None:
        with talking(store, *answers, clock=clock, tools=[sends([])]) as agent:
            agent.parts.model.answers.append(SystemExit())  # type: ignore[attr-defined]
            agent.session.journal.closed = die  # type: ignore[method-assign]
            agent.step(text)

    in_a_child(work)


def lines_of(store: Path, folder: str = "sessions") -> str:
    """Return everything that lies in a folder of the store's state."""
    files = [path for path in (state_folder(store) / folder).rglob("*") if path.is_file()]
    return "\n".join(path.read_text("utf-8", "replace") for path in files)


# --- syncs


@pytest.fixture
def synced(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Return the list into which every sync of this process goes."""
    found: list[int] = []
    for name in ("fsync", "fdatasync"):
        real = getattr(os, name)

        def counted(handle: int, _real: Any = real) -> Any:
            found.append(handle)
            return _real(handle)

        monkeypatch.setattr(os, name, counted)
    return found


@pytest.mark.parametrize("session", ["monday", "new"])
def test_a_turn_costs_three_syncs_and_a_call_two(session: str, agreed: Path, synced: list[int]) -> None:
    """The words, what the turn before left, and the session; archive and session file included."""
    insert, sent = ("archival_memory_insert", "My dog is called Rex"), list[str]()
    answers = ["Hello.", insert, ("send", "a"), ("send", "b"), "Done.", "Fine."]
    with talking(agreed, "Hello.") as agent:
        agent.step("Hi")
    with talking(agreed, *answers, session=session, tools=[sends(sent)]) as agent:
        costs = []
        for text in ("Hi", "My dog is called Rex", "Bye"):
            synced.clear()
            agent.step(text)
            costs.append(len(synced))

    assert sent == ["a", "b"]
    assert costs[0] <= 3 and costs[2] <= 3
    assert costs[1] <= 3 + 2 * 3


# --- who has the session


def test_two_processes_are_not_in_one_session(agreed: Path) -> None:
    """The second one is told which process has it and what to do; another session is open to it all the while."""
    first = os.getpid()

    def second() -> None:
        told = rf"process {first}\..*another session"
        with pytest.raises(SessionInUse, match=told) as refused, talking(agreed):
            pass
        assert refused.value.exit_code == 3
        with talking(agreed, "Hello.", session="tuesday") as other:
            other.step("Hi")
        die()

    with talking(agreed, "Hello.", "Hello.") as agent:
        agent.step("Hi")
        in_a_child(second)
        agent.step("Hi")
    with talking(agreed) as agent:
        assert agent.turns == 2


def test_without_consent_there_is_no_journal(store: Path) -> None:
    """Nothing is written of a turn that nobody agreed to keep, and two such chats are not in each other's way."""
    with talking(store, "Hello.") as one, talking(store, "Hello.") as other:
        one.step("Hi")
        other.step("Hi")
    assert not (state_folder(store) / "checkpoints").exists()


def test_withdrawn_consent_empties_the_journal(agreed: Path) -> None:
    """The turn in which it is withdrawn leaves no words there."""
    with talking(agreed, "Fine.", "As you wish.") as agent:
        agent.step("My neighbour is called Grimalkin")
        agent.step("Please don't store anything.")
    assert "Grimalkin" not in lines_of(agreed, "checkpoints")


def test_nobody_is_erased_in_the_middle_of_a_talk(agreed: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Erasing says who is talking, and afterwards nothing of the journal is left."""
    erase = ["--store", str(agreed), "memory", "erase", "--user", "ada", "--yes"]
    with talking(agreed, "Fine.", "Hello.") as agent:
        agent.step("My neighbour is called Grimalkin")
        assert run(erase) == 3
        agent.step("Hi")
    assert run(erase) == 0
    assert "monday" in capsys.readouterr().err
    assert "Grimalkin" not in lines_of(agreed, "") and "Hello" not in lines_of(agreed, "")


def test_a_journal_that_was_deleted_under_a_talk_is_begun_anew(agreed: Path) -> None:
    """Whoever tidies up ``.memkit/state`` takes no turn away that comes later."""
    with talking(agreed, "Fine.") as agent:
        agent.step("Hi")
        for path in (state_folder(agreed) / "checkpoints").iterdir():
            path.unlink()
        in_a_child(lambda: (setattr(agent.session.journal, "closed", die), agent.step("Are you there?")))
    with talking(agreed, "Yes.") as agent:
        resumed = agent.finish()
        assert resumed is not None and resumed.turn.text == "Are you there?"


@pytest.mark.parametrize("change", ["branch", "policies"])
def test_the_store_changes_under_a_talk(change: str, agreed: Path) -> None:
    """Another branch, whose archive knows no consent, ends the keeping; policies that do not load stop no talk."""
    sent: list[str] = []
    with talking(agreed, "Fine.", ("send", "fish"), "Sent.", tools=[sends(sent)]) as agent:
        agent.step("Hi")
        if change == "branch":
            for command in (["add", "-A"], ["commit", "-qm", "now"], ["checkout", "-q", "-b", "old", "HEAD~1"]):
                subprocess.run(["git", "-C", str(agreed), *command], check=True, capture_output=True)
        else:
            (agreed / "policies" / "broken.yaml").write_text("name: [")
        reply = agent.step("Send him the fish")
        assert agent.may_remember() is (change == "policies")

    assert reply.message == "Sent." and sent == ["fish"]
    assert ("fish" in lines_of(agreed, "checkpoints")) is (change == "policies")


# --- on the command line


def test_going_on_with_a_session_finishes_its_turn_first(agreed: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """``-c`` says so, in the data and on standard error; then it answers."""
    leave_open(agreed, "My dog is called Rex.", "So I heard.")
    chat = ["--store", str(agreed), "chat", "--user", "ada", "--json"]

    assert run([*chat, "-c", "-p", "What is my dog called?"]) == 0
    printed = capsys.readouterr()
    data = json.loads(printed.out)["data"]
    assert data["resumed"]["text"] == "My dog is called Rex." and data["resumed"]["message"] == "So I heard."
    assert "was interrupted" in printed.err
    assert run([*chat, "-c", "-p", "And now?"]) == 0
    assert "resumed" not in json.loads(capsys.readouterr().out)["data"]


@pytest.mark.parametrize(("typed", "answer"), [("d\n", DONE), ("?\nrun\n", RUN), ("\n", LEAVE), ("", None)])
def test_a_person_is_asked_about_a_call_in_words(
    typed: str, answer: str | None, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The call is shown with its arguments; Enter leaves it, and who sends nothing is asked again another time."""
    monkeypatch.setattr(sys, "stdin", io.StringIO(typed))
    call = ToolCall("call-1-1", "send", {"text": "fish"})

    if answer is None:
        with pytest.raises(TurnLeft):
            Outcomes()(call)
    else:
        assert Outcomes()(call) == answer

    asked = capsys.readouterr().err
    assert "send was running" in asked and "fish" in asked


# --- how long a turn can go on


def test_a_turn_goes_on_for_an_hour_after_its_last_step(agreed: Path) -> None:
    """Every step refreshes it; later it is told, and what was done in it is found in recall memory."""
    clock = Clock()
    leave_open(agreed, "Send him the fish", ("send", "fish"), clock=clock)

    clock.now = START + timedelta(minutes=59)
    with talking(agreed, SystemExit(), clock=clock) as agent, pytest.raises(SystemExit):
        agent.session.journal.closed = lambda: None  # type: ignore[method-assign]
        agent.finish()
    clock.now = START + timedelta(minutes=61)
    with talking(agreed, "Hello.", clock=clock) as agent:
        reply = agent.step("Hi")

        assert reply.data["resumed"]["set_aside"] and reply.data["resumed"]["text"] == "Send him the fish"
        assert reply.message == "Hello."
        found = agent.recall.search("fish", "ada")
        assert any("was not finished" in turn.text and "send" in turn.text for turn in found)
    with talking(agreed, "Hello.", clock=clock) as agent:
        assert agent.finish() is None


def test_a_turn_whose_model_failed_is_over(agreed: Path) -> None:
    """Its user was told; the next process does not begin it again, and what was done in it is in the prompt."""
    sent: list[str] = []
    failing = [("send", "fish"), ModelFault("no model")]
    with talking(agreed, *failing, tools=[sends(sent)]) as agent, pytest.raises(ModelFault):
        agent.step("Send him the fish")
    with talking(agreed, "Hello.", tools=[sends(sent)]) as agent:
        reply = agent.step("Hi")
        (prompt,) = agent.parts.model.seen  # type: ignore[attr-defined]

    assert "resumed" not in reply.data and sent == ["fish"]
    assert next(message["content"] for message in prompt if message["role"] == "user") == "Send him the fish"
    assert any(message["role"] == "tool" for message in prompt)


def test_a_call_with_a_secret_is_not_made_from_the_journal(agreed: Path) -> None:
    """What is masked on the disk is not what was meant."""
    secret = "AKIAIOSFODNN7EXAMPLE"

    def work() -> None:
        with talking(agreed, ("send", f"the key is {secret}"), tools=[sends([])]) as agent:
            agent.toolbox.judge = die  # type: ignore[method-assign]
            agent.step("Send it")

    in_a_child(work)
    sent: list[str] = []
    with talking(agreed, "It was not sent.", tools=[sends(sent)]) as agent:
        resumed = agent.finish()

    assert resumed is not None and resumed.reply is not None
    assert sent == [] and "something secret" in lines_of(agreed)
    assert secret not in lines_of(agreed, "")


@pytest.mark.parametrize(
    "damage", [b"{}\n", b"nonsense\n", b'{"op": "held", "format": 99}\n', b'{"op": "answered", "calls": ["send"]}\n']
)
def test_a_damaged_journal_is_named(damage: bytes, agreed: Path) -> None:
    """Nobody can know what was done, so nothing is guessed; a last line that was cut short is no damage."""
    leave_open(agreed, "Hi", ("send", "fish"))
    (path,) = (state_folder(agreed) / "checkpoints").glob("*.jsonl")
    whole = path.read_bytes()
    path.write_bytes(whole + damage)
    with pytest.raises(JournalError, match=path.name), talking(agreed, "Hello."):
        pass

    path.write_bytes(whole + b'{"op": "answ')
    with talking(agreed, "Hello.") as agent:
        assert agent.finish() is not None


@pytest.mark.parametrize(
    "step",
    [
        {"op": "opened"},
        {"op": "opened", "turn_id": 1, "text": ["Hi"], "by_user": True, "moment": 1},
        {"op": "opened", "turn_id": 1, "text": "Hi", "by_user": True, "moment": 1, "at": "2026-03-01T09:00:00"},
        {"op": "answered", "said": 5, "calls": [], "usage": {}},
        {"op": "answered", "said": "", "calls": [{"id": "1", "name": "send", "args": 7, "masked": False}], "usage": {}},
        {"op": "finished", "call": "call-1-1", "result": "sent", "error": False, "books": {"trust": "verified"}},
    ],
)
def test_a_step_that_makes_no_sense_is_damage(step: dict[str, Any], agreed: Path) -> None:
    """Somebody else wrote it: it is named, is set aside where that is asked for, and ends no program."""
    leave_open(agreed, "Hi", ("send", "fish"))
    (path,) = (state_folder(agreed) / "checkpoints").glob("*.jsonl")
    path.write_text(path.read_text() + json.dumps({"at": "2026-03-01T09:00:00+00:00", **step}) + "\n")

    with pytest.raises(JournalError, match=rf"{path.name} is damaged"), talking(agreed, "Hello."):
        pass
    assert run(["--store", str(agreed), "fsck"]) == 1
    assert run(["--store", str(agreed), "fsck", "--fix"]) == 0

    with talking(agreed, "Hello.") as agent:
        assert agent.finish() is None


@pytest.mark.parametrize(
    "answer",
    [
        Completion(None),  # type: ignore[arg-type]
        Completion(5),  # type: ignore[arg-type]
        Completion("Hi", None, None),  # type: ignore[arg-type]
        Completion("Hi", (), {"input": "many"}),  # type: ignore[dict-item]
        Completion("", (ToolCall("1", None, {}),)),  # type: ignore[arg-type]
        Completion("", (ToolCall("1", "send", 7),)),  # type: ignore[arg-type]
    ],
)
def test_a_model_whose_answer_is_none_does_not_end_the_session(answer: Completion, agreed: Path) -> None:
    """It is answered or told as the model's fault, and the next process goes on with the session."""

    class Odd(Answers):
        def complete(self, messages: Sequence[Message], tools: Sequence[ToolSpec]) -> Completion:
            return super().complete(messages, tools) if self.answers else answer

    def adapt(parts: Parts) -> Parts:
        return replace(parts, model=Odd())

    with open_workspace(agreed) as workspace:
        agent = open_chat(workspace, Setting("ada", "odd"), adapt=adapt)
        with contextlib.suppress(ModelFault):
            agent.step("Hi")
    with open_workspace(agreed) as workspace:
        again = open_chat(workspace, Setting("ada", "odd"), adapt=lambda parts: replace(parts, model=Answers("Hello.")))
        assert again.finish() is None
        assert again.step("Hi").message == "Hello."
    assert run(["--store", str(agreed), "fsck"]) == 0


# --- the task at hand


def test_the_task_at_hand_stays_with_the_session(agreed: Path) -> None:
    """Task, steps, goals and notes are there in the next process, and gone after a day on which nobody went on."""
    clock = Clock()
    with talking(agreed, "Fine.", clock=clock) as agent:
        agent.tasks.start_task("move house")
        agent.tasks.working.push_goal("find a flat")
        agent.tasks.working.decide("Which city?", "Porto", "it has a river")
        agent.tasks.record_step("call the agency", "they have two", used=["01A"])
        agent.step("Hi")
    clock.now += timedelta(hours=23)
    with talking(agreed, "Fine.", clock=clock) as agent:
        working = agent.tasks.working
        assert (working.task, working.goals[0].text, working.decisions[0].answer) == (
            "move house",
            "find a flat",
            "Porto",
        )
        agent.tasks.record_step("visit both", "the second is better")
        agent.step("And now?")
        (prompt,) = agent.parts.model.seen  # type: ignore[attr-defined]
        assert "call the agency: they have two" in prompt[0]["content"]
        assert working_lines(working)[0] == "task: move house (started)"
        assert "decided: Which city? Porto" in working_lines(working)
        assert agent.tasks.episode is not None and list(agent.tasks.episode.used) == ["01A"]
    clock.now += timedelta(hours=25)
    with talking(agreed, clock=clock) as agent:
        assert agent.tasks.working.task is None


def test_a_task_that_cannot_be_read_is_over(agreed: Path) -> None:
    """What another version kept, or somebody edited, is no reason not to go on with the session."""
    with talking(agreed, "Fine.") as agent:
        agent.tasks.start_task("move house")
        agent.step("Hi")
    (path,) = (state_folder(agreed) / "sessions").glob("*.json")
    kept = json.loads(path.read_text(encoding="utf-8"))
    path.write_text(json.dumps({**kept, "working": {**kept["working"], "mood": "good"}}), encoding="utf-8")

    with talking(agreed) as agent:
        assert agent.tasks.working.task is None and agent.main.messages[0]["content"] == "Hi"


def test_a_step_between_two_turns_is_kept(agreed: Path) -> None:
    """A host that records a step and is killed before the next turn finds it done."""

    def work() -> None:
        with talking(agreed, "Fine.") as agent:
            agent.step("Hi")
            agent.tasks.start_task("move house")
            agent.tasks.record_step("call the agency", "they have two")
            die()

    in_a_child(work)
    with talking(agreed) as agent:
        assert agent.tasks.working.done_lines() == ["call the agency: they have two"]


# --- a disk that takes nothing


@pytest.fixture
def full(monkeypatch: pytest.MonkeyPatch) -> dict[str, int]:
    """Return how many bytes the disk takes below the store's state; without a number it takes all."""
    room: dict[str, int] = {}
    real = os.write

    def write(handle: int, data: Any) -> int:
        if "left" in room and "/.memkit/state/" in str(Path(f"/proc/self/fd/{handle}").readlink()):
            taken = min(len(data), room["left"])
            room["left"] -= taken
            if not taken:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            return real(handle, bytes(data[:taken]))
        return real(handle, data)

    monkeypatch.setattr(os, "write", write)
    return room


@pytest.mark.parametrize("left", [0, 150, 300, 400, 500, 700, 900, 1200, 1600, 2000])
def test_a_full_disk_stops_a_turn_and_the_session_goes_on(left: int, agreed: Path, full: dict[str, int]) -> None:
    """One clear line; when there is room the turn goes on, nothing is done twice, and every file is whole."""
    sent: list[str] = []
    said = "Send him the fish"
    with talking(agreed, model=SendsOnce(), tools=[sends(sent)]) as agent:
        agent.step("Hi")
        full["left"] = left
        with pytest.raises(TurnStopped, match=r"No space left.*once that is fixed") as stopped:
            agent.step(said)
        with pytest.raises(TurnStopped):
            agent.step("Hello?")
        assert len(sent) <= 2
        del full["left"]
        is_kept = "Your message is kept" in str(stopped.value)
        reply = agent.step("Bye" if is_kept else said)
        kept = [message["content"] for message in agent.main.messages if message["role"] == "user"]

    assert reply.data.get("resumed", {}).get("text") == (said if is_kept else None)
    assert sent == (["Hi", said, "Bye"] if is_kept else ["Hi", said])
    assert kept == sent
    for folder in ("sessions", "checkpoints"):
        assert all(json.loads(line) for line in lines_of(agreed, folder).splitlines() if line)


def test_working_memory_survives_a_kill_in_the_turn_that_writes_it(
    agreed: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A turn that is played again leaves the task as its calls had, each step once; prompt and ``/task`` show it."""
    begun = {"task": "move house", "goals": {"find a flat": "open"}, "next": "call the agency"}
    done = {"step": "call the agency", "result": "two flats", "decisions": {"Which city?": "Porto"}, "next": "visit"}
    leave_open(agreed, "Help me move.", ("working_memory", begun), ("working_memory", done))

    with talking(agreed, "Two flats to visit.", "Still two.") as agent:
        assert agent.finish() is not None
        working = agent.tasks.working
        assert (working.task, [step.action for step in working.completed_steps]) == ("move house", ["call the agency"])
        agent.step("And now?")
        prompt = agent.parts.model.seen[-1][0]["content"]  # type: ignore[attr-defined]
        assert "done: call the agency: two flats" in prompt and "next: visit" in prompt

    assert run(["--store", str(agreed), "chat", "--user", "ada", "--session", "monday", "-p", "/task"]) == 0
    shown = capsys.readouterr().out
    assert "task: move house (started)" in shown and "decided: Which city? Porto" in shown
