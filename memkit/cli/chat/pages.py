"""Which page fits where standard output goes."""

from __future__ import annotations

import os
import sys

from memkit.cli.chat.plain_page import Page, PlainPage
from memkit.cli.typed import is_able_terminal


def open_page(*, is_talk: bool) -> Page | None:
    """Return where turns are shown while they happen; None where only the answer is wanted, as in a pipe."""
    forced = bool(os.environ.get("FORCE_COLOR"))
    if forced or (is_able_terminal() and not os.environ.get("NO_COLOR")):
        from memkit.cli.chat.markdown_page import MarkdownPage

        return MarkdownPage()
    return PlainPage() if is_talk or sys.stdout.isatty() else None
