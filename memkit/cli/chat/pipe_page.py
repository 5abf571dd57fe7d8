"""What one turn prints for another program: the answer and nothing else, as soon as it is known to be the answer."""

from __future__ import annotations

from memkit.cli.chat.plain_page import PlainPage

HELD = 80
"""Characters, a line, that wait until it is clear that a model answers with them and makes no remark before a call."""


class PipePage(PlainPage):
    """Prints the answer while it comes; a remark before a call is no part of it, unless it is longer than a line."""

    def __init__(self) -> None:
        super().__init__()
        self._held = ""

    def say(self, text: str) -> None:
        """Print more of the answer once it is longer than what is held back."""
        self._held += text
        if self._is_within_line or len(self._held) > HELD:
            self._release()

    def end(self, *, is_remark: bool = False) -> None:
        """Print what was held back, unless it was a remark."""
        if not is_remark:
            self._release()
        self._held = ""
        super().end()

    def aside(self, text: str) -> None:
        """Print nothing: whoever reads has asked for the answer."""

    def still(self) -> None:
        """End a line that was begun; what is held back belongs to an answer that did not come."""
        super().end()

    def _release(self) -> None:
        held, self._held = self._held, ""
        super().say(held)
