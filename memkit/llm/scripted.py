"""A model that gives prepared answers in order: for tests, demonstrations and bug reports."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from memkit.errors import NegativeAnswer, Unserved, UsageError
from memkit.llm.providers import ModelAddress, Patience
from memkit.runtime.loop.interface import Completion, Message, ToolCall, ToolSpec
from memkit.store.yaml import load_yaml

KEYS = {"text", "tool", "args", "error", "delay"}
SHAPE = "{text}, {tool, args} or {error}, each with a {delay} in seconds if it should have one"
LONGEST_DELAY = 3600
PIECE = re.compile(r"\S*\s*")


class ScriptExhausted(NegativeAnswer):
    """Report that a script has no answer left."""


@dataclass(frozen=True)
class Played:
    """One answer of a script."""

    completion: Completion
    error: str = ""
    """The error that the model fails with, after its text."""
    delay: float = 0.0
    """Seconds that it takes."""


class ScriptedModel:
    """Plays a list of answers, each ``{text}``, ``{tool, args}`` or ``{error}``; any of them may have a ``{delay}``."""

    def __init__(self, answers: Sequence[Any], name: str = "the script") -> None:
        self._answers = [_played(answer, f"{name}, answer {number}") for number, answer in enumerate(answers, 1)]
        self._next = 0
        self._name = name
        self.introduction = f"The script {name}"

    @classmethod
    def open(
        cls,
        argument: str,
        model: str | None = None,
        folder: Path | None = None,
        patience: Patience | None = None,
        address: ModelAddress | None = None,
    ) -> ScriptedModel:
        """Return the model that plays the YAML or JSON file ``argument``."""
        if not argument:
            raise UsageError("The scripted provider needs a file: --provider scripted:FILE.")
        path = (folder or Path()) / argument
        if not path.is_file():
            raise UsageError(f"There is no script {path}.")
        data = load_yaml(path).data
        if not isinstance(data, list):
            raise UsageError(f"{path} must contain a list of answers, each {SHAPE}.", path=str(path))
        return cls(data, str(path))

    def complete(self, messages: Sequence[Message], tools: Sequence[ToolSpec]) -> Completion:
        """Return the next answer; raise ``ScriptExhausted`` after the last one, ``Unserved`` for an error."""
        return self.stream(messages, tools, lambda text: None)

    def stream(self, messages: Sequence[Message], tools: Sequence[ToolSpec], say: Callable[[str], None]) -> Completion:
        """Return the same as ``complete``, and pass the text to ``say`` word by word."""
        if self._next >= len(self._answers):
            raise ScriptExhausted(
                f"{self._name} has {len(self._answers)} answers, but another one was requested. Add one to the list."
            )
        self._next += 1
        played = self._answers[self._next - 1]
        time.sleep(played.delay)
        for piece in PIECE.findall(played.completion.text):
            if piece:
                say(piece)
        if played.error:
            raise Unserved(played.error)
        return played.completion


def _played(answer: Any, where: str) -> Played:
    if isinstance(answer, str):
        return Played(Completion(answer))
    if not isinstance(answer, dict) or not ({"text", "tool", "error"} & set(answer)) or set(answer) - KEYS:
        raise UsageError(f"{where} must be {SHAPE}.")
    delay = answer.get("delay", 0)
    if isinstance(delay, bool) or not isinstance(delay, int | float) or not 0 <= delay <= LONGEST_DELAY:
        raise UsageError(f"{where}: delay must be a number of seconds up to {LONGEST_DELAY}.")
    error, text = str(answer.get("error") or ""), str(answer.get("text", ""))
    if "tool" not in answer:
        return Played(Completion(text), error, delay)
    args = answer.get("args", {})
    # Arguments given as text stay text, so that a script can show a model's broken JSON.
    call = ToolCall("scripted", str(answer["tool"]), args if isinstance(args, dict) else str(args))
    return Played(Completion(text, (call,)), error, delay)
