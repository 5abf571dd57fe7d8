"""A task's steps are done once each, however often the process that does them is killed."""

from __future__ import annotations

import asyncio
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import cast

import pytest

from memkit.runtime.loop.agent_loop import AgentLoop
from memkit.runtime.loop.interface import LoopError
from memkit.runtime.loop.journal_file import SessionInUse
from memkit.runtime.loop.reply import Host
from memkit.runtime.loop.task_run import AnyStep, TaskRun, TaskStep
from memkit.runtime.loop.tools import Tools
from memkit.runtime.loop.virtual_context import VirtualContextMemory
from memkit.runtime.memory.main import ArchivalStore, MainContext, MemoryTools

PROGRAM = """
import os, sys, time
from pathlib import Path
from tests.loop.test_task_runs import agent_over, TaskStep

store, log = Path(sys.argv[1]), Path(sys.argv[2])

def act(number):
    def once(key):
        written = log.read_text() if log.exists() else ""
        time.sleep(0.02)
        if key not in written:  # what a service does that takes an idempotency key
            with log.open("a") as file:
                file.write(key + "\\n")
                file.flush()
        time.sleep(0.02)
        return f"result {number}"
    return once

agent = agent_over(store)
run = agent.run("move house", [TaskStep(f"step {n}", act(n), key=f"k{n}") for n in range(12)])
print(run.outcome, run.record)
"""


def agent_over(store: Path | None, host: Host | None = None) -> AgentLoop:
    """Return an agent whose memory lies in ``store``."""
    archive, main = ArchivalStore(store), MainContext()
    tools = Tools(MemoryTools(main, archive, user_id="ada"))
    memory = VirtualContextMemory(main=main, archive=archive)
    return AgentLoop(memory, toolbox=tools, **({"host": host} if host else {}))


def test_a_killed_task_goes_on_and_does_no_step_twice(tmp_path: Path) -> None:
    """Killed at any moment, over and over: each step once, in order, and one outcome at the end."""
    log, chance = tmp_path / "log", random.Random(7)
    command = [sys.executable, "-c", PROGRAM, str(tmp_path / "store"), str(log)]
    kills = 0
    while True:
        child = subprocess.Popen(
            command, stdout=subprocess.PIPE, text=True, env={**os.environ, "PYTHONPATH": str(Path.cwd())}
        )
        before = len(log.read_text().splitlines()) if log.exists() else 0
        while (
            kills < 6 and child.poll() is None and (len(log.read_text().splitlines()) if log.exists() else 0) == before
        ):
            time.sleep(chance.uniform(0.001, 0.01))
        if kills < 6:
            child.send_signal(signal.SIGKILL)
            kills += child.wait() == -signal.SIGKILL
            continue
        out, _ = child.communicate()
        break

    assert log.read_text().splitlines() == [f"move house/k{number}" for number in range(12)]
    assert kills == 6 and out.startswith("done ")
    (record,) = ArchivalStore(tmp_path / "store").records(user_id="ada")
    assert record.id == out.split()[1] and record.extra["action"] == "move house"
    assert subprocess.run(command, capture_output=True, text=True, check=True).stdout == out
    assert len(log.read_text().splitlines()) == 12


def test_what_was_done_stands_in_the_prompt_and_is_not_done_again(tmp_path: Path) -> None:
    """A step that fails ends the run; the next run begins with it, and the lesson says what helped."""
    calls: list[str] = []
    has_boxes: list[bool] = []

    def pack() -> str:
        calls.append("pack")
        if not has_boxes:
            raise LoopError("no boxes")
        return "12 boxes"

    def run() -> tuple[AgentLoop, TaskRun]:
        agent = agent_over(tmp_path)
        return agent, agent.run("move", [("find a flat", lambda: calls.append("find")), pack])

    agent, first = run()
    has_boxes.append(True)
    again, second = run()

    assert (first.outcome, first.stopped_at, first.reason) == ("failed", "pack", "no boxes")
    assert "done: find a flat" in str(agent.prompt()[0]["content"])
    assert calls == ["find", "pack", "pack"]
    assert second.succeeded and second.completed == {"find a flat": "done", "pack": "12 boxes"}
    texts = [record.text for record in again.memory.archive.records(user_id="ada")]
    assert ["failed" in text for text in texts] == [True, False]


@pytest.mark.parametrize(
    ("answer", "outcome", "times"), [(None, "unknown", 0), ("done", "done", 0), ("run", "done", 1)]
)
def test_a_step_without_a_key_that_was_cut_off_is_a_persons_to_settle(
    answer: str | None, outcome: str, times: int, tmp_path: Path
) -> None:
    """Nobody knows what came of it, so it is neither repeated nor taken as done by itself."""
    with pytest.raises(KeyboardInterrupt):
        agent_over(tmp_path).run("pay", [("send the money", _interrupted)])
    sent: list[int] = []

    run = agent_over(tmp_path, Host(settle=lambda call: answer) if answer else None).run(
        "pay", [("send the money", lambda: sent.append(1))]
    )

    assert (run.outcome, len(sent)) == (outcome, times)


def _interrupted() -> None:
    raise KeyboardInterrupt


def test_a_task_is_run_by_one_process_at_a_time(tmp_path: Path) -> None:
    """The other one is told who has it."""
    program = (
        "import sys; from pathlib import Path; from tests.loop.test_task_runs import agent_over\n"
        "agent_over(Path(sys.argv[1])).run('t', [('wait', lambda: (print('on', flush=True), sys.stdin.read()))])"
    )
    command = [sys.executable, "-c", program, str(tmp_path)]
    child = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert child.stdout is not None and child.stdout.readline() == "on\n"

    with pytest.raises(SessionInUse, match=str(child.pid)):
        agent_over(tmp_path).run("t", [("wait", lambda: None)])
    child.communicate("")


@pytest.mark.parametrize(
    ("steps", "told"),
    [
        ([], "no steps"),
        (None, "no steps"),
        ("wash up", "no steps"),
        (["a", "a"], "Two steps"),
        ([7], "is not a step"),
        ([("a", "b")], "is not a step"),
        ([TaskStep(cast("str", None), print)], "is not a step"),
    ],
)
def test_steps_that_are_none_are_said(steps: list[AnyStep], told: str) -> None:
    """In one line, before anything is done."""
    with pytest.raises(LoopError, match=told):
        agent_over(None).run("t", steps)
    for task_id in (" ", None, 7):
        with pytest.raises(LoopError, match="needs an id"):
            agent_over(None).run(cast("str", task_id), ["a"])


@pytest.mark.parametrize("success", ["no", None, 0])
def test_a_task_without_words_or_a_verdict_is_said(success: bool) -> None:
    """A text that says "no" would count as a success, and a task without words cannot be found again."""
    agent = agent_over(None)
    for task in ("", " "):
        with pytest.raises(LoopError, match="is not a task"):
            agent.start_task(task)
    agent.start_task("wash up")

    with pytest.raises(LoopError, match="neither True nor False"):
        agent.end_task(success, "it did not work")
    agent.end_task(False, "it did not work")


def test_what_is_asynchronous_is_waited_for() -> None:
    """A step is done when its coroutine is, and fails with it; also where the caller's own loop runs."""
    done: list[str] = []

    async def pack(key: str) -> str:
        await asyncio.sleep(0)
        done.append(key)
        return "packed"

    async def move() -> None:
        raise ValueError("no van")

    async def house() -> TaskRun:
        return agent_over(None).run("move house", [("pack", pack), ("move", move)])

    for run in (agent_over(None).run("move house", [("pack", pack), ("move", move)]), asyncio.run(house())):
        assert (run.outcome, run.completed, run.reason) == ("failed", {"pack": "packed"}, "no van")
    assert done == ["move house/pack"] * 2


def test_an_instruction_that_nothing_was_done_for_is_no_success() -> None:
    """A model that only talks has done nothing, and without a disk a task lasts as long as the agent."""
    agent = agent_over(None)
    done: list[int] = []

    run = agent.run("t", [TaskStep("first", lambda: done.append(1)), "Tidy up"])
    agent.run("t", [TaskStep("first", lambda: done.append(1)), "Tidy up"])

    assert (run.outcome, run.stopped_at, run.reason) == ("failed", "Tidy up", "nothing was done for it")
    assert done == [1]


def test_a_task_with_steps_of_one_name_ends_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What tells steps apart is the key: a task that is over is not judged again."""
    ended: list[object] = []
    monkeypatch.setattr(AgentLoop, "end_task", lambda *given: ended.append(given))
    steps: list[AnyStep] = [TaskStep("pay", lambda: "paid", key=key) for key in ("rent", "power")]

    for _ in range(3):
        assert agent_over(tmp_path).run("bills", steps).succeeded

    assert len(ended) == 1


def test_a_task_that_got_another_step_is_judged_anew_although_it_was_killed(tmp_path: Path) -> None:
    """An outcome from before the last step says nothing about it."""
    steps: list[AnyStep] = [("pack", lambda: "packed"), ("drive", lambda: "driven")]
    first = agent_over(tmp_path).run("move", steps[:1]).record
    killed = agent_over(tmp_path)
    killed.end_task = lambda *_: os._exit(1)  # type: ignore[method-assign]
    child = os.fork()
    if not child:
        killed.run("move", steps)
    os.waitpid(child, 0)

    second = agent_over(tmp_path).run("move", steps).record

    assert second not in (None, first)
    assert agent_over(tmp_path).run("move", steps).record == second
