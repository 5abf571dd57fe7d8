"""Everything that is promised of the loop comes from ``memkit_runtime.loop.core``, where nothing else is there."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import memkit

PROGRAM = """
from memkit_runtime.evolve.core import EvolutionarySearcher, fitness_mean_squared_error
from memkit_runtime.htn.core import HTNPlanner
from memkit_runtime.loop.core import (
    AgentLoop, AgentResponse, AsyncAgent, Chores, Completion, ConversationMemory, DeclaredTool, Event, HybridPlanner,
    MemGPTAgent, Outcome, Persona, Proposals, RecordedConsent, SemanticMemory, TaskMemory, ToolCall, ToolSpec, Tools,
    VirtualContextMemory, WorkingMemory, system_prompt,
)
import memkit_runtime.loop.core as core, sys

DOMAIN = {"name": "tea", "operators": [
    {"name": "boil", "parameters": [], "preconditions": [], "effects": ["hot"]},
], "methods": [{"name": "plain", "task": "make_tea", "preconditions": [], "subtasks": ["boil"]}]}
def close(program):
    return fitness_mean_squared_error(program, target=[(1, 2), (2, 4)])

planner = HybridPlanner(htn=HTNPlanner(domain=DOMAIN), evolutionary=EvolutionarySearcher("lambda x: x", close, seed=0))
agent = AgentLoop(memory=VirtualContextMemory(max_main_tokens=2000), planner=planner)
agent.observe("The kettle stands in the kitchen")
agent.inject_observation("22 degrees", source="sensor")
assert agent.execute_plan("make_tea").succeeded
assert "kitchen" in agent.respond("Where is the kettle?").message
assert agent.memory.search("kettle")[0].tier in {"messages", "recall"}
assert [block.tier for block in agent.recall("kettle")]

work = WorkingMemory()
work.task, work.current_phase = "tea", "boiling"
outer = work.push_goal("tea"); inner = work.push_goal("hot water")
assert outer.subgoals == [inner] and work.pop_goal() is inner
work.pending_actions.append("boil"); work.record_step("boil", "hot")
assert not work.pending_actions and work.completed_steps[0].result == "hot"
work.decide("Milk?", "no", rationale="none left")
assert work.decisions[0].rationale == "none left"
work.constraints, work.results, work.scratchpad, work.variables  # noqa: B018

talk = ConversationMemory()
talk.add("user", "The harbour is cold"); talk.add("assistant", "Dress warmly")
assert talk.get_last_n(1)[0]["content"] == "Dress warmly"
assert len(talk.get_messages_for_llm()) >= 2 and talk.search("harbour") and isinstance(talk.summary, str)
again = ConversationMemory(); again.import_from(talk.export())
assert again.get_last_n(2) == talk.get_last_n(2)

facts = SemanticMemory()
facts.add("Ada sails", importance=0.9)
assert facts.search("sails"); facts.consolidate()

agent.start_task("make tea"); agent.record_step("boil", "hot water")
assert "boil" in agent.prompt()[0]["content"]
agent.end_task(True, "tea was made")
assert not [name for name in core.__all__ if not hasattr(core, name)]
assert not any(name == "memkit" or name.startswith("memkit.") for name in sys.modules)
"""


def test_every_promised_name_works_from_a_bare_import(tmp_path: Path) -> None:
    """Only the runtime is there: no memkit, no git, no YAML."""
    (tmp_path / "memkit_runtime").symlink_to(Path(memkit.__file__).parent / "runtime")
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)

    done = subprocess.run(
        [sys.executable, "-S", str(program)], cwd=tmp_path, env={**os.environ, "PYTHONPATH": ""}, capture_output=True,
        text=True, check=False,
    )  # fmt: skip

    assert done.returncode == 0, done.stderr
