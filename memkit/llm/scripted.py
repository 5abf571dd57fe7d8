"""A model that gives prepared answers in order: for tests, demonstrations and bug reports."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from memkit.errors import NegativeAnswer, UsageError
from memkit.loop.interface import Completion, Message, ToolCall, ToolSpec
from memkit.store.yaml import load_yaml

KEYS = {"text", "tool", "args"}


class ScriptExhausted(NegativeAnswer):
    """Report that a script has no answer left."""


class ScriptedModel:
    """Plays a list of answers, each ``{text}`` or ``{tool, args}``."""

    def __init__(self, answers: Sequence[Any], name: str = "the script") -> None:
        self._answers = [_completion(answer, f"{name}, answer {number}") for number, answer in enumerate(answers, 1)]
        self._next = 0
        self._name = name

    @classmethod
    def open(cls, argument: str, model: str | None = None, folder: Path | None = None) -> ScriptedModel:
        """Return the model that plays the YAML or JSON file ``argument``."""
        if not argument:
            raise UsageError("The scripted provider needs a file: --provider scripted:FILE.")
        path = (folder or Path()) / argument
        if not path.is_file():
            raise UsageError(f"There is no script {path}.")
        data = load_yaml(path).data
        if not isinstance(data, list):
            raise UsageError(f"{path} must hold a list of answers, each {{text}} or {{tool, args}}.", path=str(path))
        return cls(data, str(path))

    def complete(self, messages: Sequence[Message], tools: Sequence[ToolSpec]) -> Completion:
        """Return the next answer; raises ``ScriptExhausted`` after the last one."""
        if self._next >= len(self._answers):
            raise ScriptExhausted(
                f"{self._name} has {len(self._answers)} answers and a further one was asked for. Add one to the list."
            )
        self._next += 1
        return self._answers[self._next - 1]


def _completion(answer: Any, where: str) -> Completion:
    if isinstance(answer, str):
        return Completion(answer)
    if not isinstance(answer, dict) or not ({"text", "tool"} & set(answer)) or set(answer) - KEYS:
        raise UsageError(f"{where} must be {{text}} or {{tool, args}}.")
    if "tool" not in answer:
        return Completion(str(answer["text"]))
    args = answer.get("args", {})
    # Text as arguments stays text: a script may show what a model with broken JSON does.
    call = ToolCall("scripted", str(answer["tool"]), args if isinstance(args, dict) else str(args))
    return Completion(str(answer.get("text", "")), (call,))
