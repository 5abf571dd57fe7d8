"""Run memkit with scripted models that take a moment for each word, so that somebody can interrupt them."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import Any

from memkit.cli.main import main
from memkit.llm.scripted import ScriptedModel

stream = ScriptedModel.stream


def slowly(self: ScriptedModel, messages: Any, tools: Any, say: Callable[[str], None]) -> Any:
    """Say a word, and wait."""

    def say_and_wait(text: str) -> None:
        say(text)
        time.sleep(0.15)

    return stream(self, messages, tools, say_and_wait)


ScriptedModel.stream = slowly  # type: ignore[method-assign]
sys.argv[0] = "memkit"
main()
