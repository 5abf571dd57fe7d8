"""What a person at the terminal is asked before a call is made, or about one that may have been."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, TextIO

from agent.terminal import harmless
from loop.interface import ToolCall, Verdict
from loop.journal_file import TurnLeft
from loop.journalled_calls import DONE, LEAVE, RUN

OUTCOMES = {"d": DONE, "done": DONE, "r": RUN, "run": RUN, "l": LEAVE, "leave": LEAVE, "": LEAVE}


class Questions:
    """Asks whoever sits at a terminal."""

    def __init__(self, given: TextIO, messages: TextIO) -> None:
        self._given = given
        self._messages = messages

    def approve(self, name: str, args: Mapping[str, Any], verdict: Verdict) -> bool:
        """Return whether a call that a policy holds back may run."""
        finding = verdict.deciding
        why = f" ({finding.name}: {finding.reason})" if finding is not None else ""
        return self.confirmed(f"Run {_shown(name, args)}?{why}")

    def settle(self, call: ToolCall) -> str:
        """Return what became of a call that was cut off, or what is to become of it.

        Raises:
            TurnLeft: Nobody answers any more, so the turn stays as it is.
        """
        question = (
            f"{_shown(call.name, call.args)} had begun when the program was cut off; it may have been carried out."
        )
        while True:
            line = self._answer(f"{question}\nd: it was done, r: run it (once more), l: leave it [l] ")
            if not line.endswith("\n"):
                raise TurnLeft("The turn stays unfinished. You are asked again when the session goes on.")
            if (answer := line.strip().lower()) in OUTCOMES:
                return OUTCOMES[answer]
            question = "Please answer with one of these letters."

    def confirmed(self, question: str) -> bool:
        """Return whether the person says yes."""
        return self._answer(f"{question} [y/N] ").strip().lower() in {"y", "yes"}

    def _answer(self, question: str) -> str:
        print(harmless(question), end="", file=self._messages, flush=True)
        return self._given.readline()


def _shown(name: str, args: Mapping[str, Any] | str) -> str:
    return f"{name} with {args if isinstance(args, str) else json.dumps(dict(args), ensure_ascii=False)}"
