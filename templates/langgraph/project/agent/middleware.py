"""What happens around the model and the tools: the prompt, the bound on calls, and the policies."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NotRequired

from langchain.agents import AgentState
from langchain.agents.middleware import (
    AgentMiddleware,
    ModelRequest,
    ModelResponse,
    after_model,
    before_model,
    dynamic_prompt,
    wrap_model_call,
    wrap_tool_call,
)
from langchain.tools.tool_node import ToolCallRequest
from langchain_core.messages import AIMessage, RemoveMessage, ToolMessage
from langgraph.runtime import Runtime
from langgraph.types import Command
from memkit_runtime.host.wires import TOO_MANY, arguments_as_sent

from agent.messages import sendable, to_langchain

if TYPE_CHECKING:
    from agent.graph_loop import GraphLoop


class ContextState(AgentState[Any]):
    """What a checkpoint keeps besides the messages."""

    summary: NotRequired[str]
    """Of the messages that were paged out."""
    turn: NotRequired[int]


def middleware_of(loop: GraphLoop) -> list[AgentMiddleware[Any, Any, Any]]:
    """Return the middleware of one conversation, outermost first."""
    return [_paging(loop), _core_prompt(loop), _bounded_context(loop), _broken_calls(loop), _policy_gate(loop)]


def _paging(loop: GraphLoop) -> Any:
    @before_model(state_schema=ContextState)
    def page(state: ContextState, runtime: Runtime[Any]) -> dict[str, Any]:
        """Take what is new into the main context, and take out of the graph what was paged out."""
        changes = loop.transcript.follow(state["messages"])
        return {"messages": changes, "summary": loop.memory.main.summary}

    return page


def _core_prompt(loop: GraphLoop) -> Any:
    @dynamic_prompt
    def core_prompt(request: ModelRequest[Any]) -> str:
        """Render persona, policies and core memory anew before every call of the model."""
        return str(loop.prompt()[0]["content"])

    return core_prompt


def _bounded_context(loop: GraphLoop) -> Any:
    @wrap_model_call
    def bounded(
        request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], ModelResponse[Any]]
    ) -> ModelResponse[Any]:
        """Show the model the main context; at the bound on tool calls it has to answer without any."""
        messages: list[Any] = [to_langchain(message) for message in loop.prompt()[1:]]
        tools = request.tools if loop.may_call() else []
        response = handler(request.override(messages=messages, tools=tools))
        response.result = [sendable(message) for message in response.result]
        return response

    return bounded


def _broken_calls(loop: GraphLoop) -> Any:
    @after_model(can_jump_to=["model", "end"])
    def answer_broken_calls(state: AgentState[Any], runtime: Runtime[Any]) -> dict[str, Any] | None:
        """Answer calls whose arguments are no JSON, and drop calls that come after the bound."""
        last = state["messages"][-1]
        if not isinstance(last, AIMessage) or not (last.tool_calls or last.invalid_tool_calls):
            return None
        if not loop.may_call():
            return {"messages": [RemoveMessage(id=str(last.id))], "jump_to": "end"}
        answers = [_refused_arguments(loop, call) for call in last.invalid_tool_calls]
        if not answers:
            return None
        return {"messages": answers} if last.tool_calls else {"messages": answers, "jump_to": "model"}

    return answer_broken_calls


def _refused_arguments(loop: GraphLoop, call: Any) -> ToolMessage:
    loop.number_call()
    name = call["name"] or ""
    text = loop.toolbox.call(name, arguments_as_sent(call["args"] or "?")).text
    return ToolMessage(text, tool_call_id=str(call["id"]), name=name, status="error")


def _policy_gate(loop: GraphLoop) -> Any:
    @wrap_tool_call
    def gate(request: ToolCallRequest, handler: Callable[[ToolCallRequest], Any]) -> ToolMessage | Command[Any]:
        """Ask the policies before a tool runs; the body of a call that they stop never runs."""
        name, args = request.tool_call["name"], request.tool_call["args"]
        if loop.number_call() > loop.max_tool_calls:
            return _refusal(request, TOO_MANY)
        if request.tool is None:
            return _refusal(request, loop.toolbox.call(name, args).text)
        objection = loop.toolbox.objection(name, args)
        if objection is not None:
            return _refusal(request, objection)
        answer: ToolMessage | Command[Any] = handler(request)
        return answer

    return gate


def _refusal(request: ToolCallRequest, text: str) -> ToolMessage:
    name, call_id = request.tool_call["name"], str(request.tool_call["id"])
    return ToolMessage(text, tool_call_id=call_id, name=name, status="error")
