"""Plan tasks and call tools, as the user or a program asks."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from memkit.llm.gaps import subtasks_for
from memkit.llm.requests import Action, read_action, read_task
from memkit.llm.script import Heard, Script, is_refused, reason
from memkit.runtime.loop.fencing import unfenced

FOR_MODELS = re.compile(r"\nIf you know how to do it with these, call propose_subtasks\.$")
"""What a planner without a plan tells the model, and no user."""
NO_ACTION = "I read this step and did nothing: it names no tool that I could call."


def propose(gap: Mapping[str, Any]) -> Script:
    """Answer a planner that no method helps on."""
    subtasks = subtasks_for(gap)
    if subtasks:
        yield "propose_subtasks", {"subtasks": subtasks}
    return ""


def plan(task: str) -> Script:
    """Plan a task and return the plan, or why there is none."""
    result = yield "plan_task", {"task": task}
    return f"I could not plan that: {reason(result)}" if is_refused(result) else FOR_MODELS.sub("", result)


def act(action: Action) -> Script:
    """Call a tool and say what came of it; what a policy stopped is not tried in another way."""
    result = yield action.tool, action.args
    if result.startswith("Policy"):
        return f"I did not do that. {reason(result)}"
    if result.startswith("There is no tool"):
        return f"I cannot do that: there is no tool {action.tool!r} here, so nothing was done."
    if result.startswith("Error"):
        return f"That did not work: {reason(result)}"
    return f"Done with {action.tool}: {unfenced(result)}"


def carry_out(heard: Heard, step: str) -> Script:
    """Do what one step of a skill names: a task to plan or a tool to call. The rest is for people and other models."""
    task = read_task(step, heard.tools)
    if task is not None:
        return (yield from plan(task))
    action = read_action(step, heard.tools)
    # Prose begins with a capital, and "Make sure" is no call of make.
    if action is None or str(action.args.get("command", "")[:1]).isupper():
        return NO_ACTION
    return (yield from act(action))
