"""The loop of the rooms with the SDK's runner in place of the model and its tools."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

from agents import Agent, Model, RunConfig, Runner, ToolExecutionConfig
from agents.run import CallModelData, ModelInputData
from memkit_runtime.host.acting import SdkActor
from memkit_runtime.host.endpoints import Endpoint
from memkit_runtime.host.rooms import Rooms
from memkit_runtime.loop.core import Reply

from agent.faults import clear_run_faults
from agent.items import answered, to_items, to_messages, without_reasoning
from agent.model import SETTINGS
from agent.sessions import MaskedSession, path_of
from agent.tools import tools_of


class BoundReached(Exception):
    """The model called a tool when it had to answer."""


class RunnerActor(SdkActor):
    """Runs the model and the tools of a turn with the SDK, whose session follows the main context."""

    def __init__(self, rooms: Rooms, *, model: Model, endpoint: Endpoint, events: asyncio.Runner) -> None:
        super().__init__(rooms)
        self._endpoint = endpoint
        self._events = events
        self._path = path_of(rooms.settings.state_folder, rooms.user_id, rooms.session_id)
        self._session: MaskedSession | None = None
        self._seen = 0
        self._closing = False
        self._agent: Agent[RunnerActor] = Agent(
            name=rooms.persona.name, model=model, model_settings=SETTINGS, tools=list(tools_of(self))
        )
        self._run_config = RunConfig(
            tracing_disabled=True,
            session_input_callback=_only_new,
            call_model_input_filter=self._main_context,
            tool_not_found_behavior="return_error_to_model",
            # The calls of one answer run in order, so that what one brings taints only those after it.
            tool_execution=ToolExecutionConfig(max_function_tool_concurrency=1),
        )

    def run(self, words: str) -> Reply:
        """Run the agent until the model answers."""
        self._follow_consent()
        self._seen, self._closing = 1, False
        with clear_run_faults(self._endpoint):
            said = self._events.run(self._run(words))
        return self.reply(said)

    def keep(self, message: str) -> None:
        """Update the session to the current main context."""
        without_reasoning(self.rooms.main.messages)
        if self._session is not None:
            self._session.replace(self._kept(self.rooms.main.messages))

    # --- the model's calls

    async def _run(self, words: str) -> str:
        run = Runner.run_streamed(
            self._agent,
            words,
            context=self,
            max_turns=self.most_calls + 2,
            run_config=self._run_config,
            session=self._session,
        )
        try:
            async for _ in run.stream_events():
                pass
        except BoundReached:
            return ""
        return str(run.final_output or "")

    def _main_context(self, data: CallModelData[Any]) -> ModelInputData:
        """Show the model the current main context and core memory.

        The SDK calls this before each model call, when the results of the previous call are known: instructions
        rendered earlier would not yet reflect what those results page out.
        """
        if self._closing:
            raise BoundReached
        self._follow(data.model_data.input)
        self._closing = not self.may_call()
        system, *messages = self.prompt()
        return ModelInputData(input=to_items(messages), instructions=system["content"])

    def _follow(self, items: Sequence[Any]) -> None:
        """Add what the run has produced since the last model call to the main context."""
        new, self._seen = to_messages(items[self._seen :]), len(items)
        tools = {spec.name for spec in self.toolbox.specs()}
        unknown: dict[str, str] = {}
        for message in new:
            for call in message.get("tool_calls", ()):
                if call["name"] not in tools:  # the SDK has no body to guard, but the policies judge it all the same
                    self.number_call()
                    unknown[call["id"]] = self.toolbox.call(call["name"], call["args"]).text
            if message.get("tool_call_id") in unknown:
                message["content"] = unknown[message["tool_call_id"]]
            self.add(message)

    # --- sessions

    def take_up(self) -> None:
        """Restore a stored session into the main context."""
        if not self.rooms.consent.granted() or not self._path.exists():
            return
        self._session = MaskedSession(self.rooms.session_id, self._path)
        messages = to_messages(self._events.run(self._session.get_items()))
        if messages:
            summary = messages.pop(0)["content"] if messages[0]["role"] == "system" else ""
            self.rooms.main.restore(answered(messages), summary)

    def close(self) -> None:
        """Close the session's file if it was opened."""
        if self._session is not None:
            self._session.close()

    def _kept(self, messages: Sequence[Any]) -> list[Any]:
        """Return the session's content: the summary of what was paged out, and ``messages``."""
        summary = self.rooms.main.summary
        return [*([{"role": "system", "content": summary}] if summary else []), *to_items(messages)]

    def _follow_consent(self) -> None:
        """Move the session to disk when the user agrees, and off it when they withdraw."""
        granted = self.rooms.consent.granted()
        if granted and self._session is None:
            self._session = MaskedSession(self.rooms.session_id, self._path)
            self._session.replace(self._kept(self.rooms.main.messages[:-1]))  # the SDK adds the words of this turn
        elif not granted and self._session is not None:
            self._session.forget()
            self._session = None


def _only_new(history: list[Any], new: list[Any]) -> list[Any]:
    """Return the words of the turn: the main context decides which history the model sees."""
    return new
