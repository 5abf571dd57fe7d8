"""Which page fits where standard output goes."""

from __future__ import annotations

import os
import sys

from memkit.cli.chat.plain_page import Page, PlainPage


def open_page(*, is_talk: bool) -> Page | None:
    """Return where turns are shown while they happen; None where only the answer is wanted, as in a pipe."""
    forced = bool(os.environ.get("FORCE_COLOR"))
    is_plain = bool(os.environ.get("NO_COLOR")) or os.environ.get("TERM", "dumb") in ("dumb", "unknown")
    if forced or (sys.stdout.isatty() and not is_plain):
        from memkit.cli.chat.markdown_page import MarkdownPage

        return MarkdownPage()
    return PlainPage() if is_talk or sys.stdout.isatty() else None
