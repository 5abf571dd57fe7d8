"""The loop of the rooms with a LangGraph agent in place of the model and its tools."""

from __future__ import annotations

from typing import Any

import openai
from langchain.agents import create_agent
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
from langsmith import tracing_context
from memkit_runtime.host.acting import SdkActor
from memkit_runtime.host.endpoints import Endpoint, clear_faults
from memkit_runtime.host.rooms import Rooms
from memkit_runtime.host.wires import whole
from memkit_runtime.loop.core import Reply

from agent.checkpoints import Checkpoints
from agent.journal import Journal
from agent.middleware import middleware_of
from agent.tools import tools_of

STEPS_PER_CALL = 8
"""The most graph steps for one model call and its tools, including middleware."""


class GraphActor(SdkActor):
    """Runs the model and the tools of a turn as a graph whose every step is checkpointed."""

    def __init__(
        self, rooms: Rooms, *, chat_model: BaseChatModel, endpoint: Endpoint, checkpoints: Checkpoints
    ) -> None:
        super().__init__(rooms)
        self.transcript = Journal(rooms.main, self.add)
        self._chat_model = chat_model
        self._endpoint = endpoint
        self._checkpoints = checkpoints
        self._config: Any = {
            "configurable": {"thread_id": rooms.session_id},
            "recursion_limit": STEPS_PER_CALL * (self.most_calls + 2),
        }
        self._durable = rooms.consent.granted()
        self._graph = self._build()

    def run(self, words: str) -> Reply:
        """Run the graph until the model answers."""
        self._follow_consent()
        opening = self.transcript.adopt(HumanMessage(words))
        # LangChain uploads conversations to LangSmith if a developer's environment asks for it.
        with clear_faults(self._endpoint, openai), tracing_context(enabled=False):
            # The calls of one answer run in order, so that what one brings taints only those after it.
            # `stream` in the modes custom and messages occupies a worker itself: with 1 it would wait for ever.
            state = self._graph.invoke(
                {"messages": [opening], "turn": self.turn.id}, {**self._config, "max_concurrency": 1}
            )
        self._answer = state["messages"][-1]
        return self.reply(_said(self._answer) if isinstance(self._answer, AIMessage) else "")

    def keep(self, message: str) -> None:
        """Take in what the user was told, which may be more than the model said, such as the writes."""
        if message:
            self._graph.update_state(self._config, {"messages": [self._told(message)]}, as_node="model")
        self._checkpoints.keep_newest()

    def _told(self, text: str) -> BaseMessage:
        said = self._answer if isinstance(self._answer, AIMessage) else AIMessage("")
        return self.transcript.adopt(said.model_copy(update={"content": text}))

    # --- sessions

    def _build(self) -> Any:
        return create_agent(
            self._chat_model,
            tools_of(self.toolbox),
            middleware=middleware_of(self),
            checkpointer=self._checkpoints.saver(durable=self._durable),
        )

    def take_up(self) -> int:
        """Restore a checkpointed session into the main context, and return its number of turns."""
        values = self._graph.get_state(self._config).values
        if values.get("messages"):
            self.transcript.restore(values["messages"], values.get("summary", ""))
        return int(values.get("turn", 0)) if values.get("messages") else 0

    def _follow_consent(self) -> None:
        """Move the session to disk when the user agrees, and off it when they withdraw."""
        if self._durable == self.rooms.consent.granted():
            return
        values = self._graph.get_state(self._config).values
        if self._durable:
            self._checkpoints.forget()
        else:
            self._checkpoints.saver(durable=False).delete_thread(self.rooms.session_id)
        self._durable = self.rooms.consent.granted()
        self._graph = self._build()
        if values:
            self._graph.update_state(self._config, values)


def _said(answer: AIMessage) -> str:
    """Return the text of an answer, with a note if some of it is missing."""
    return whole(answer.text, answer.response_metadata.get("finish_reason")) if answer.text else ""
