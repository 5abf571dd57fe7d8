"""The summary that stays when messages are paged out: a model's words, or extracted sentences, bounded in tokens."""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

from .hostile import suspicions
from .secrets import mask

Summarise: TypeAlias = Callable[[Sequence[Mapping[str, Any]], str], str | None]
"""Tells in few words what messages said, given the summary of what was before them; None where it cannot.

It gets what users and agents said, secrets masked; results of tools may hold anybody's words and are not retold.
"""

EARLIER = "(older turns: use conversation_search)"
SENTENCE_END = re.compile(r"(?<=[.!?。！？])\s+|\n+")
FEWEST = 2
"""Fewer messages than these are not worth asking a model."""
HUGE = 4
"""A model's summary that is so many times too long is none; a shorter one is cut."""
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


def retold(
    summarise: Summarise,
    messages: Sequence[Mapping[str, Any]],
    before: str,
    extracted: str,
    tokens: int,
    count: Callable[[str], int],
) -> str:
    """Return how a model sums up ``messages`` after what the summary said ``before``, in at most ``tokens``.

    What it says is only a text: where that is empty, far too long, gives orders or does not come, ``extracted`` stays.
    """
    said = [
        {"role": message["role"], "content": mask(str(message["content"]))}
        for message in messages
        if message.get("role") in ("user", "assistant") and message.get("content")
    ]
    if len(said) < FEWEST:
        return extracted
    try:
        told = summarise(said, mask(before))
    except Exception:  # noqa: BLE001 - whatever a model or its network does, a conversation goes on without it
        return extracted
    text = told.strip() if isinstance(told, str) else ""
    if not text or len(text) > HUGE * 40 * max(1, tokens) or count(text) > HUGE * tokens or suspicions(text):
        return extracted
    return _beginning(mask(text), tokens, count) or extracted


def _beginning(text: str, tokens: int, count: Callable[[str], int]) -> str:
    """Return as many whole sentences of ``text`` as fit."""
    kept = text
    while kept and count(kept) > tokens:
        ends = [match.start() for match in SENTENCE_END.finditer(kept)]
        kept = kept[: ends[-1]] if ends and ends[-1] else ""
    return kept


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
