"""Put a planner's question to a language model, as structured output."""

from __future__ import annotations

from typing import Any

from memkit.llm.scripted import ScriptExhausted
from memkit.runtime.htn.learning.gaps import INSTRUCTIONS, LONGEST_ANSWER, SCHEMA, Question, read_answer
from memkit.runtime.loop.interface import Message, Model, ToolSpec

ANSWER = ToolSpec("propose_subtasks", "Give the subtasks that do the task, in order.", SCHEMA)


class AskedModel:
    """A model that proposes subtasks; what it says is for the planner to judge."""

    def __init__(self, model: Model) -> None:
        self._model = model

    def ask(self, question: Question) -> Any:
        """Return what the model answered as data, its text where it is no JSON, or None where it said nothing.

        Each try is a conversation of its own: what was wrong with the earlier ones stands in the question.
        """
        messages: list[Message] = [
            {"role": "system", "content": INSTRUCTIONS},
            {"role": "user", "content": question.text()},
        ]
        try:
            said = self._model.complete(messages, [ANSWER])
        except ScriptExhausted:
            return None
        for call in said.tool_calls:
            if call.name == ANSWER.name:
                return call.args[:LONGEST_ANSWER] if isinstance(call.args, str) else dict(call.args)
        return read_answer(said.text) if said.text.strip() else None
