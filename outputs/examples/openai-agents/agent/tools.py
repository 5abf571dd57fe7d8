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
    from agent.runner_actor import RunnerActor


def tools_of(actor: RunnerActor) -> list[FunctionTool]:
    """Return every tool that a model may call; the toolbox checks the arguments, so the schema is passed on as is."""
    return [_function_tool(actor, spec) for spec in actor.toolbox.specs()]


def _function_tool(actor: RunnerActor, spec: ToolSpec) -> FunctionTool:
    async def run(context: ToolContext[Any], arguments: str) -> str:
        outcome = await asyncio.to_thread(actor.toolbox.execute, spec.name, arguments_as_sent(arguments))
        return outcome.text

    def offered(context: RunContextWrapper[Any], agent: Any) -> bool:
        """Return whether tools are offered: at the limit on calls the model has to answer without any."""
        return actor.may_call()

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

    It runs on the event loop, so calls of one answer are judged, and people asked about them, one after another.
    """
    actor: RunnerActor = data.context.context
    name, arguments = data.context.tool_name, arguments_as_sent(data.context.tool_arguments)
    if actor.number_call() > actor.most_calls:
        return ToolGuardrailFunctionOutput.reject_content(TOO_MANY)
    objection = actor.toolbox.objection(name, arguments)
    if objection is not None:
        return ToolGuardrailFunctionOutput.reject_content(objection)
    return ToolGuardrailFunctionOutput.allow()
