"""The toolbox as function tools of the SDK, each behind the policies."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from agents import (
    FunctionTool,
    RunContextWrapper,
    ToolGuardrailFunctionOutput,
    ToolInputGuardrailData,
    tool_input_guardrail,
)
from agents.tool_context import ToolContext
from memkit_runtime.host.wires import TOO_MANY, arguments_as_sent
from memkit_runtime.loop.interface import ToolSpec

if TYPE_CHECKING:
    from agent.runner_loop import RunnerLoop


def tools_of(loop: RunnerLoop) -> list[FunctionTool]:
    """Return every tool that a model may call; the toolbox checks the arguments, so the schema is passed on as it is."""
    return [_function_tool(loop, spec) for spec in loop.toolbox.specs()]


def _function_tool(loop: RunnerLoop, spec: ToolSpec) -> FunctionTool:
    async def run(context: ToolContext[Any], arguments: str) -> str:
        return await asyncio.to_thread(loop.toolbox.execute, spec.name, arguments_as_sent(arguments))

    def offered(context: RunContextWrapper[Any], agent: Any) -> bool:
        """At the bound on tool calls the model has to answer without any."""
        return loop.may_call()

    return FunctionTool(
        name=spec.name,
        description=spec.description,
        params_json_schema=dict(spec.parameters),
        on_invoke_tool=run,
        strict_json_schema=False,
        is_enabled=offered,
        tool_input_guardrails=[policy_gate],
    )


@tool_input_guardrail
def policy_gate(data: ToolInputGuardrailData) -> ToolGuardrailFunctionOutput:
    """Ask the policies before a tool runs; the body of a call that they stop never runs.

    It runs on the event loop, so the calls of one answer are judged, and people asked about them, one after another.
    """
    loop: RunnerLoop = data.context.context
    name, arguments = data.context.tool_name, arguments_as_sent(data.context.tool_arguments)
    if loop.number_call() > loop.max_tool_calls:
        return ToolGuardrailFunctionOutput.reject_content(TOO_MANY)
    objection = loop.toolbox.objection(name, arguments)
    if objection is not None:
        return ToolGuardrailFunctionOutput.reject_content(objection)
    return ToolGuardrailFunctionOutput.allow()
