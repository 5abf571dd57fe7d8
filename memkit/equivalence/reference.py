"""The reference agent as a side: what ``memkit chat`` runs, with a model that plays the transcript's scripts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from memkit.equivalence.interface import Seen, TranscriptTurn
from memkit.equivalence.probing import probed
from memkit.runtime.loop.bound import read_arguments
from memkit.runtime.loop.interface import Completion, Message, ToolCall, ToolSpec
from memkit.runtime.testing import interface as testing
from memkit.runtime.testing.script import Script, player
from memkit.use_cases.open_chat import open_chat
from memkit.workspace import open_workspace


class PlayedModel:
    """A model that plays the scripts of the local model servers, without a server."""

    def __init__(self, script: Script) -> None:
        self.asked: list[testing.Conversation] = []
        """What the model was asked to continue, call by call."""
        self._play = player(script)

    def complete(self, messages: Sequence[Message], tools: Sequence[ToolSpec]) -> Completion:
        """Return the next answer of the script."""
        conversation = testing.Conversation(tuple(map(_message, messages)), tuple(spec.name for spec in tools))
        self.asked.append(conversation)
        answer = self._play(conversation)
        return Completion(answer.text, tuple(_call(call, number) for number, call in enumerate(answer.calls, 1)))


class ReferenceSide:
    """Answers each turn with an agent that is opened for it and knows of the others only what the store kept."""

    def __init__(self, store: Path) -> None:
        self._store = store

    def answer(self, turn: TranscriptTurn, session: str) -> Seen:
        """Answer one turn."""
        model = PlayedModel(turn.script)
        with open_workspace(self._store) as workspace:
            agent = open_chat(
                workspace,
                user=turn.user,
                session=session,
                context=turn.context,
                provider="reference",
                # The store is this package's own, so its tools run. A project reads its skills in ways of its own, so
                # nothing of the store's is offered as a tool here; neither is working memory, which no project keeps.
                adapt=lambda parts: replace(
                    parts,
                    model=model,
                    procedures=None,
                    tools=workspace.tools,
                    objection=lambda name: None,
                    has_task_tool=False,
                ),
            )
            if turn.consents and turn.user is not None and not agent.consent.granted():
                host = workspace.person(turn.user, session=session)
                workspace.archive.set_consent(turn.user, True, host)
            data = agent.step(turn.text).data
        return {**data, "seen": probed(turn.probes, model.asked)}


def _message(message: Message) -> testing.Message:
    calls = tuple(testing.Call(call["name"], call["args"], call["id"]) for call in message.get("tool_calls") or ())
    return testing.Message(message["role"], message.get("content") or "", calls, message.get("tool_call_id"))


def _call(call: testing.Call, number: int) -> ToolCall:
    read = dict(call.args) if call.arguments is None else read_arguments(call.arguments)
    return ToolCall(f"call-{number}", call.tool, str(call.arguments) if read is None else read)
