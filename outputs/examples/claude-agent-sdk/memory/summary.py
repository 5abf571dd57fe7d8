"""The summary that stays when messages are paged out: extracted sentences, newest kept, bounded in tokens."""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

EARLIER = "(older turns: use conversation_search)"
SENTENCE_END = re.compile(r"(?<=[.!?。！？])\s+|\n+")
LINE_LIMIT = 160
"""Characters kept of one turn."""


def extend_summary(
    summary: str, messages: Sequence[Mapping[str, Any]], tokens: int, count: Callable[[str], int]
) -> str:
    """Return ``summary`` with a line for each of ``messages``, without its oldest lines where it exceeds ``tokens``."""
    lines = [line for line in summary.split("\n") if line and line != EARLIER]
    fresh = lines + [line for line in map(summary_line, messages) if line]
    kept = _newest(fresh, tokens, count)
    while kept or fresh:
        dropped = len(kept) < len(fresh) or EARLIER in summary
        text = "\n".join([EARLIER, *kept] if dropped else kept)
        if count(text) <= tokens:
            return text
        if not kept:
            break
        kept = kept[1:]
    return ""


def _newest(lines: Sequence[str], tokens: int, count: Callable[[str], int]) -> list[str]:
    """Return as many of the newest ``lines`` as may fit, counted one by one."""
    used, first = 0, len(lines)
    while first > 0 and used <= tokens:
        first -= 1
        used += count(lines[first])
    return list(lines[first:])


def first_sentence(text: str) -> str:
    """Return the first sentence of ``text``, cut where it is too long for a line."""
    first = next((part.strip() for part in SENTENCE_END.split(text) if part.strip()), "")
    return first if len(first) <= LINE_LIMIT else first[: LINE_LIMIT - 1].rstrip() + "…"


def summary_line(message: Mapping[str, Any]) -> str:
    """Return what stays of one message: who spoke and the first sentence, or which tools were used."""
    role, content = str(message.get("role", "")), str(message.get("content") or "")
    if role == "tool":
        # The result of a tool is not retold: it may hold anybody's words.
        return ""
    calls = [str(call.get("name", "")) for call in message.get("tool_calls") or ()]
    said = first_sentence(content)
    used = f"[used {', '.join(calls)}]" if calls else ""
    return f"{role}: {' '.join(part for part in (said, used) if part)}" if said or used else ""
