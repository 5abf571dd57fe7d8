"""A turn that was cut off: what is asked and told about it when its session goes on."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from memkit.cli.approval import call_lines
from memkit.cli.fitting import fitted
from memkit.cli.typed import forget_typed_ahead, typed_line
from memkit.runtime.loop.interface import ToolCall
from memkit.runtime.loop.journal_file import TurnLeft
from memkit.runtime.loop.journalled_calls import DONE, LEAVE, RUN
from memkit.terminal import one_line

ANSWERS = {"d": DONE, "done": DONE, "r": RUN, "run": RUN, "l": LEAVE, "leave": LEAVE}
QUESTION = "d: it was done, r: run it (once more), l: leave it [l] "


class Outcomes:
    """Asks what became of a call that had begun when the program was cut off; ``before`` runs first."""

    def __init__(self, before: Callable[[], None] = lambda: None) -> None:
        self._before = before

    def __call__(self, call: ToolCall) -> str:
        """Return the person's answer; raises ``TurnLeft`` where they would rather decide later."""
        self._before()
        forget_typed_ahead()
        args: dict[str, Any] = {"arguments": call.args} if isinstance(call.args, str) else dict(call.args)
        shown, _ = call_lines(args)
        told = f"{one_line(call.name)} had begun when the program was cut off. Nobody knows whether it was done."
        text = f"{fitted(told)}\n{shown}"
        try:
            while True:
                answer = typed_line(text + QUESTION).strip().lower() or LEAVE
                if answer in ANSWERS:
                    return ANSWERS[answer]
                text = "Please answer with one of these letters.\n"
        except (KeyboardInterrupt, EOFError):
            raise TurnLeft("The turn stays unfinished. You are asked again when the session goes on.") from None
