"""The loop of the rooms with the Claude command line in place of the model and its tools."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import AsyncGenerator, AsyncIterator, Mapping, Sequence
from contextlib import aclosing
from typing import Any, cast

from claude_agent_sdk import ClaudeAgentOptions, ResultError, query
from memkit_runtime.host.acting import SdkActor
from memkit_runtime.host.endpoints import Endpoint
from memkit_runtime.host.rooms import Rooms
from memkit_runtime.host.wires import sendable_text
from memkit_runtime.loop.bound import read_arguments
from memkit_runtime.loop.core import Reply
from memkit_runtime.loop.interface import CallData, Message

from agent.exchange import Answer, Call, Exchange
from agent.faults import check_result, clear_faults
from agent.hooks import hooks_of
from agent.patience import Patience
from agent.tools import PREFIX, SERVER, own_name, server_of
from agent.transcript import blocks_of, store_of
from agent.window import Window
from agent.workplace import Workplace, environment_of

GO_ON: Message = {"role": "user", "content": "(Go on: the results of your tool calls stand above.)"}
"""The first message of a run that continues in the middle of a turn; a run always begins with words of the user."""
OUT_OF_TURNS = "error_max_turns"


class ClaudeActor(SdkActor):
    """Runs the model and the tools of a turn with the SDK, each run in a session made from the main context."""

    def __init__(self, rooms: Rooms, *, endpoint: Endpoint, events: asyncio.Runner, workplace: Workplace) -> None:
        super().__init__(rooms)
        self.window = Window(rooms.main)
        self.patience = Patience(endpoint)
        self.exchange = Exchange(self._follow)
        self.begin_anew = False
        """Set by a hook that ended the run because the next request must be made from the main context."""
        self._endpoint = endpoint
        self._events = events
        self._workplace = workplace
        self._server = server_of(self.toolbox)
        self._offered = [spec.name for spec in self.toolbox.specs()]
        self._stamped = 0

    def run(self, words: str) -> Reply:
        """Run the command line until the model answers."""
        self._stamped = 0
        with clear_faults(self._endpoint):
            said = self._events.run(self._converse())
        return self.reply(said)

    # --- runs

    async def _converse(self) -> str:
        """Return the model's answer; whenever a hook ended the run, another continues from the main context."""
        while True:
            self.begin_anew = False
            self.exchange = Exchange(self._follow)
            self.window.open()
            await self._run(self.prompt())
            result = self.exchange.result
            if result is not None and result.subtype == OUT_OF_TURNS:
                return ""
            check_result(result, self._endpoint)
            if not self.begin_anew:
                return sendable_text(self.exchange.said)

    async def _run(self, messages: Sequence[Message]) -> None:
        """Run the command line once, to the end of its output."""
        system, *conversation = messages
        history, words = _parted(conversation)
        with self._workplace.holding(system["content"]) as prompt:
            told = query(prompt=_spoken(words or [GO_ON]), options=self._options(str(prompt), history))
            async with aclosing(cast("AsyncGenerator[object, None]", told)), self.patience.begin():
                try:
                    async for message in told:
                        prompt.unlink(missing_ok=True)  # it has been read by now
                        self.patience.renew()
                        self.exchange.take(message)
                except ResultError:
                    # Raised after a result that says the same and more.
                    return

    def _options(self, prompt: str, history: Sequence[Message]) -> ClaudeAgentOptions:
        """Return the options of the command line: the toolbox and no other tools, and nobody's configuration."""
        return ClaudeAgentOptions(
            # As an argument, every account on this machine could read it, and its length would be limited.
            system_prompt={"type": "file", "path": prompt},
            session_store=store_of(history, self._offered) if history else None,
            resume=str(uuid.uuid4()) if history else None,
            model=self._endpoint.model,
            tools=[],
            mcp_servers={SERVER: self._server},
            strict_mcp_config=True,
            allowed_tools=[f"{PREFIX}*"],
            permission_mode="dontAsk",
            setting_sources=[],
            hooks=hooks_of(self),
            include_partial_messages=True,  # for the time-out: a long answer may take a while
            max_turns=max(0, self.most_calls - self.made) + 2,
            cwd=self._workplace.empty,
            env=environment_of(self._endpoint, self._workplace),
            extra_args={"no-session-persistence": None},
            stderr=_unheard,
        )

    # --- following the conversation

    def _follow(self, answer: Answer) -> None:
        """Add an answer with calls, and their results, to the main context."""
        results = [(self._stamp(), call, self._result(call)) for call in answer.calls]
        calls = [_call_data(name, call) for name, call, _ in results]
        self.add({"role": "assistant", "content": sendable_text(answer.text), "tool_calls": calls})
        for name, call, text in results:
            self.add({"role": "tool", "tool_call_id": name, "name": own_name(call.name), "content": text})
        self.window.settle()

    def _stamp(self) -> str:
        """Return an id that is unique among the calls of the session, whatever ids the server assigns."""
        self._stamped += 1
        return f"call-{self.turn.id}-{self._stamped}"

    def _result(self, call: Call) -> str:
        """Return the result of a call; what the command line answered itself is entered in the books as well."""
        if call.ran or call.refusal is not None:
            return call.refusal or call.result or ""
        name, text = own_name(call.name), call.result or ""
        if not call.passed:
            self.number_call()
            if name not in self._offered or not isinstance(call.given, Mapping):
                # Judged by the policies, and never executed.
                given = call.given if isinstance(call.given, Mapping) else str(call.given)
                return self.toolbox.call(name, given).text
        refused = {"name": name, "args": call.given, "decision": "allow", "error": True, "result": text}
        self.toolbox.books.ledger.calls.append(refused)
        return text


def _call_data(name: str, call: Call) -> CallData:
    args = read_arguments(call.given) if isinstance(call.given, Mapping | str) else None
    # Arguments that are not a JSON object were rejected; no server would accept them back.
    return CallData(id=name, name=own_name(call.name), args=args or {})


def _parted(conversation: Sequence[Message]) -> tuple[Sequence[Message], Sequence[Message]]:
    """Split a conversation into earlier messages and the user's current words."""
    place = len(conversation)
    while place and conversation[place - 1]["role"] == "user":
        place -= 1
    return conversation[:place], conversation[place:]


async def _spoken(words: Sequence[Message]) -> AsyncIterator[dict[str, Any]]:
    """Yield the user's words as they are: no command or file mention in them is executed."""
    message = {"role": "user", "content": blocks_of(words)}
    yield {"type": "user", "message": message, "parent_tool_use_id": None, "client_composed": True}


def _unheard(line: str) -> None:
    """Discard a line of diagnostics; anything that a person can act on is in the result."""
