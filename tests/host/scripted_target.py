"""A target without an SDK, as the host loads it by name: the loop of the rooms over a model that plays a script."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from typing import Any

from memkit.runtime.host.rooms import Rooms
from memkit.runtime.host.sessions import Session
from memkit.runtime.loop.core import Completion, ToolCall

SCRIPT = "SCRIPT"
"""The variable that holds the model's answers, as JSON: texts, and calls of the tool ``note``."""
asked: list[str] = []
"""What each model of this process was asked to continue."""


class ScriptedModel:
    """Plays its answers in order, and the last one for ever."""

    def __init__(self, answers: Sequence[Any]) -> None:
        self._answers = list(answers)

    def complete(self, messages: Sequence[Any], tools: Sequence[Any]) -> Completion:
        """Return the next answer."""
        asked.append("\n".join(str(message.get("content")) for message in messages))
        answer = self._answers.pop(0) if len(self._answers) > 1 else self._answers[0]
        if isinstance(answer, str):
            return Completion(answer)
        return Completion("", (ToolCall(f"call-{len(asked)}", "note", {"text": answer["note"]}),))


@contextmanager
def open_conversation(rooms: Rooms) -> Iterator[Session]:
    """Open the conversation of ``rooms`` as a target does."""
    model = ScriptedModel(json.loads(rooms.settings.environment.get(SCRIPT, '["Hello."]')))
    with closing(rooms.session(model)) as session:
        yield session
