"""Middleware around the model and the tools: the prompt, the limit on calls, and the policies."""

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
    from agent.graph_actor import GraphActor


class ContextState(AgentState[Any]):
    """What a checkpoint stores besides the messages."""

    summary: NotRequired[str]
    """The summary of the messages that were paged out."""
    turn: NotRequired[int]


def middleware_of(actor: GraphActor) -> list[AgentMiddleware[Any, Any, Any]]:
    """Return the middleware of one conversation, outermost first."""
    return [_paging(actor), _core_prompt(actor), _bounded_context(actor), _broken_calls(actor), _policy_gate(actor)]


def _paging(actor: GraphActor) -> Any:
    @before_model(state_schema=ContextState)
    def page(state: ContextState, runtime: Runtime[Any]) -> dict[str, Any]:
        """Add new messages to the main context, and remove paged-out ones from the graph."""
        changes = actor.transcript.follow(state["messages"])
        return {"messages": changes, "summary": actor.rooms.main.summary}

    return page


def _core_prompt(actor: GraphActor) -> Any:
    @dynamic_prompt
    def core_prompt(request: ModelRequest[Any]) -> str:
        """Render persona, policies and core memory again before every model call."""
        return str(actor.prompt()[0]["content"])

    return core_prompt


def _bounded_context(actor: GraphActor) -> Any:
    @wrap_model_call
    def bounded(
        request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], ModelResponse[Any]]
    ) -> ModelResponse[Any]:
        """Show the model the main context; at the limit on tool calls it has to answer without tools."""
        messages: list[Any] = [to_langchain(message) for message in actor.prompt()[1:]]
        tools = request.tools if actor.may_call() else []
        response = handler(request.override(messages=messages, tools=tools))
        response.result = [sendable(message) for message in response.result]
        return response

    return bounded


def _broken_calls(actor: GraphActor) -> Any:
    @after_model(can_jump_to=["model", "end"])
    def answer_broken_calls(state: AgentState[Any], runtime: Runtime[Any]) -> dict[str, Any] | None:
        """Answer calls with invalid JSON arguments, and drop calls beyond the limit."""
        last = state["messages"][-1]
        if not isinstance(last, AIMessage) or not (last.tool_calls or last.invalid_tool_calls):
            return None
        if not actor.may_call():
            return {"messages": [RemoveMessage(id=str(last.id))], "jump_to": "end"}
        answers = [_refused_arguments(actor, call) for call in last.invalid_tool_calls]
        if not answers:
            return None
        return {"messages": answers} if last.tool_calls else {"messages": answers, "jump_to": "model"}

    return answer_broken_calls


def _refused_arguments(actor: GraphActor, call: Any) -> ToolMessage:
    actor.number_call()
    name = call["name"] or ""
    text = actor.toolbox.call(name, arguments_as_sent(call["args"] or "?")).text
    return ToolMessage(text, tool_call_id=str(call["id"]), name=name, status="error")


def _policy_gate(actor: GraphActor) -> Any:
    @wrap_tool_call
    def gate(request: ToolCallRequest, handler: Callable[[ToolCallRequest], Any]) -> ToolMessage | Command[Any]:
        """Ask the policies before a tool runs; the body of a call that they stop never runs."""
        name, args = request.tool_call["name"], request.tool_call["args"]
        if actor.number_call() > actor.most_calls:
            return _refusal(request, TOO_MANY)
        if request.tool is None:
            return _refusal(request, actor.toolbox.call(name, args).text)
        objection = actor.toolbox.objection(name, args)
        if objection is not None:
            return _refusal(request, objection)
        answer: ToolMessage | Command[Any] = handler(request)
        return answer

    return gate


def _refusal(request: ToolCallRequest, text: str) -> ToolMessage:
    name, call_id = request.tool_call["name"], str(request.tool_call["id"])
    return ToolMessage(text, tool_call_id=call_id, name=name, status="error")
