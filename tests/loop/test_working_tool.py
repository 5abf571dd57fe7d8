"""A model keeps its task in view by a tool, and what it says twice counts once."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memkit.runtime.loop.agent_loop import AgentLoop
from memkit.runtime.loop.bound import given_to, problems
from memkit.runtime.loop.interface import LoopError
from memkit.runtime.loop.reply import AgentConfig
from memkit.runtime.loop.tasks import TaskMemory
from memkit.runtime.loop.tiers import WorkingMemory, working_lines
from memkit.runtime.loop.tools import NAME, update, working_memory_tool
from memkit.runtime.loop.virtual_context import VirtualContextMemory
from memkit.runtime.memory.main import ArchivalStore, Draft, MainContext, MemoryTools, Origin
from tests.loop.made_agents import tools_of

SHORT = st.text(min_size=1, max_size=12).filter(str.strip)
CALLS = st.fixed_dictionaries(
    {},
    optional={
        "task": SHORT, "step": SHORT, "result": SHORT, "next": SHORT, "status": st.sampled_from(["done", "failed"]),
        "goals": st.dictionaries(SHORT, st.sampled_from(["open", "done", "dropped"]), max_size=3),
        "decisions": st.dictionaries(SHORT, SHORT, max_size=3), "variables": st.dictionaries(SHORT, SHORT, max_size=3),
    },
)  # fmt: skip


@pytest.mark.parametrize("goals", [["find a flat", "pack"], {"find a flat": "open", "pack": "open"}])
def test_a_plain_list_of_goals_names_open_ones(goals: object) -> None:
    """As many models write them, whatever the declaration says."""
    tool = working_memory_tool(TaskMemory(WorkingMemory()))
    given = given_to(tool, {"task": "move house", "goals": goals})

    assert given is not None and problems(tool.spec.parameters, given) == []
    assert tool.run(given).splitlines()[1:] == ["goal: find a flat", "goal: pack"]


def test_a_list_of_goals_with_their_status_is_taken() -> None:
    """Models write a goal as an object with keys of their own; one that could mean two goals is a clear problem."""
    tool = working_memory_tool(TaskMemory(WorkingMemory()))
    goals = [{"goal": "find a flat", "status": "done"}, {"description": "buy boxes"}, "pack"]
    given = given_to(tool, {"task": "move house", "goals": goals})
    unclear = given_to(tool, {"task": "move house", "goals": ["pack", {"a": "eat", "b": "go"}]})

    assert given is not None and problems(tool.spec.parameters, given) == []
    assert tool.run(given).splitlines()[1:] == ["goal: find a flat (done)", "goal: buy boxes", "goal: pack"]
    assert unclear is not None and problems(tool.spec.parameters, unclear) != []


def test_a_task_is_kept_from_its_beginning_to_its_end() -> None:
    """Goals have a status, a step and a decision count once, the next step replaces the one before."""
    tasks = TaskMemory(WorkingMemory())
    update(tasks, {"task": "move house", "goals": {"find a flat": "open", "pack": "open"}, "next": "call the agency"})
    for _ in range(2):
        update(tasks, {"step": "call the agency", "result": "two flats", "decisions": {"Where?": "Porto"}})
    update(tasks, {"goals": {"find a flat": "done"}, "next": "pack", "variables": {"boxes": 12}})

    assert working_lines(tasks.working) == [
        "task: move house (started)", "done: call the agency: two flats", "goal: find a flat (done)", "goal: pack",
        "next: pack", "decided: Where? Porto", "variable: boxes = 12",
    ]  # fmt: skip
    update(tasks, {"status": "done"})
    assert tasks.working.current_phase == "done"
    tasks.judge_turn(None, "", (), ())
    assert tasks.episode is None
    update(tasks, {"task": "sleep"})
    assert working_lines(tasks.working) == ["task: sleep (started)"]


@pytest.mark.parametrize(
    ("args", "told"),
    [
        ({"step": "anything"}, "Name one"),
        ({"task": "t", "goals": {"g": "maybe"}}, "not 'maybe'"),
        ({"task": "t", "status": "over"}, "not 'over'"),
    ],
)
def test_a_call_that_cannot_be_taken_says_why(args: dict[str, Any], told: str) -> None:
    """No task and unknown statuses are errors in one line, and change nothing."""
    tasks = TaskMemory(WorkingMemory())

    with pytest.raises(LoopError, match=told):
        update(tasks, args)

    assert tasks.working.task is None


@given(st.lists(CALLS, max_size=6))
def test_the_same_call_twice_leaves_what_one_leaves(calls: list[dict[str, Any]]) -> None:
    """A call may be made again after a kill, and everything stays within its bounds and is kept as it is."""
    once, twice = TaskMemory(WorkingMemory(max_items=3)), TaskMemory(WorkingMemory(max_items=3))
    for call in calls:
        for tasks, times in ((once, 1), (twice, 2)):
            for _ in range(times):
                try:
                    update(tasks, call)
                except LoopError:
                    continue
    if not any("status" in call for call in calls):
        assert working_lines(once.working) == working_lines(twice.working)
    assert WorkingMemory.from_data(once.working.to_data()) == once.working
    assert max(map(len, (once.working.goals, once.working.completed_steps, once.working.variables))) <= 3


def test_only_a_call_that_asks_for_it_is_played_again() -> None:
    """A toolbox plays working memory again, and nothing else."""
    with ArchivalStore() as archive:
        tools = tools_of(MemoryTools(MainContext(max_tokens=4000), archive, user_id="ada"))
        tasks = TaskMemory(WorkingMemory())
        tools.add([working_memory_tool(tasks)])

        tools.play_again("archival_memory_insert", {"text": "I like tea"})
        tools.play_again(NAME, {"task": "move house"})
        tools.play_again("nothing", {})

        assert tasks.working.task == "move house"
        assert archive.records(user_id="ada") == []


def test_constraints_of_the_task_at_hand_are_recalled() -> None:
    """What applies to the task is recalled as long as it runs, whatever the user says then, and what it is about counts
    for a record in a search.
    """
    archive = ArchivalStore()
    person = Origin(actor="person", user_id="ada")
    archive.offer(Draft("No pets upstairs", type="constraint", tags=("Lisbon-Move",)), person)
    archive.offer(Draft("Boxes stand in the cellar", tags=("Lisbon-Move",)), person)
    tools = MemoryTools(MainContext(), archive, user_id="ada")
    view = VirtualContextMemory(main=tools.main, archive=archive, config=AgentConfig("ada"))
    agent = AgentLoop(view, toolbox=tools_of(tools))

    def recalled() -> tuple[list[str], float, int]:
        agent.respond("Go on")
        first, *more = tools.archival_memory_search("boxes")
        return [one.text for one in more], first.parts["task"], len(view.constraints("boxes"))

    assert recalled() == ([], 0.0, 0)
    agent.start_task("the Lisbon move")
    assert recalled() == (["No pets upstairs"], 1.0, 1)
    agent.end_task(True, "moved")
    assert recalled() == ([], 0.0, 0)
