"""Agents and tools for tests, with settings by their names."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

from memkit.runtime.loop.bound import declared_tools
from memkit.runtime.loop.consent import retraction_tool
from memkit.runtime.loop.core import AgentConfig, DeclaredTool, Host, MemGPTAgent, Tools
from memkit.runtime.loop.plan_run import PlanningTools
from memkit.runtime.loop.planner import as_hybrid

CONFIG = {field.name for field in fields(AgentConfig)}
HOST = {field.name for field in fields(Host)}


def settings_in(more: dict[str, Any]) -> dict[str, Any]:
    """Take what belongs to a config or a host out of ``more`` and return it as these."""
    config = AgentConfig(**{name: more.pop(name) for name in CONFIG & more.keys()})
    return {"config": config, "host": Host(**{name: more.pop(name) for name in HOST & more.keys()})}


def agent_of(
    model: Any = None, memory: Any = None, *, journal: Any = None, chores: Any = None, **more: Any
) -> MemGPTAgent:
    """Return an agent over memory tools or an archive, and a model."""
    agent = MemGPTAgent(archival_store=memory, llm_client=model, **settings_in(more), **more)
    agent.journal = journal or agent.journal
    agent.chores = chores
    return agent


def tools_of(
    memory: Any,
    guard: Any = None,
    *,
    declared: Sequence[DeclaredTool] = (),
    planner: Any = None,
    searcher: Callable[..., Any] | None = None,
    retire: Callable[[str, str, Sequence[str]], tuple[str, str | None]] | None = None,
    **more: Any,
) -> Tools:
    """Return the tools over ``memory`` that the rest asks for."""
    given = settings_in(more)
    tools = Tools(memory, guard, **given, **more)
    if retire is not None:
        tools.add([retraction_tool(retire, tools.books)])
    tools.add(
        PlanningTools(None if planner is None else as_hybrid(planner), searcher=searcher, books=tools.books).tools()
    )
    tools.add(declared_tools(declared, Path(given["config"].root), lambda: tools.deadline.left))
    return tools
