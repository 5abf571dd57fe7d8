"""Read the results of memory tools as a careful model would: records and turns inside the fence, and nothing else."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from typing import Any, NamedTuple

from memkit.runtime.loop.interface import Message, ToolSpec
from memkit.runtime.loop.taint import unfenced
from memkit.runtime.memory.words.text import regex

HEADLINE = regex(r"^\[(?P<id>[^\]\s]+)\](?P<facts>(?: \w+=\S*)*)\s*$")
TURN = regex(r"^(?P<at>\d{4}-\d\d-\d\d)\S* session=.* turn=\S+ (?P<role>\w+)$")
OPENING = regex(r"^<memory-data (?P<mark>[0-9a-f]+)>$")
LINE = "| "
PLUG_IN = "`memkit setup` gives the store a language model: a vendor's, or a server's of your own."


class Recalled(NamedTuple):
    """One record in a search result."""

    id: str
    text: str
    facts: dict[str, str]

    @property
    def date(self) -> str:
        """Return the day it was recorded."""
        return self.facts.get("date", "")


class Said(NamedTuple):
    """One turn in a conversation search's result."""

    at: str
    role: str
    text: str


def recalled_records(result: str) -> list[Recalled]:
    """Return the records that a search returned, best first."""
    found = []
    for headline, text in _entries(result):
        match = HEADLINE.match(headline)
        if match:
            facts = dict(fact.split("=", 1) for fact in match["facts"].split())
            found.append(Recalled(match["id"], text, facts))
    return found


def said_turns(result: str) -> list[Said]:
    """Return the turns that a conversation search returned, best first."""
    matches = [(TURN.match(headline), text) for headline, text in _entries(result)]
    return [Said(match["at"], match["role"], text) for match, text in matches if match]


def _entries(result: str) -> list[tuple[str, str]]:
    """Return headline and text of each entry between the two marks."""
    entries: list[tuple[str, list[str]]] = []
    mark: str | None = None
    for line in result.splitlines():
        opening = OPENING.match(line)
        if mark is None:
            mark = opening["mark"] if opening else None
        elif line == f"</memory-data {mark}>":
            break
        elif line.startswith(LINE):
            if entries:
                entries[-1][1].append(line.removeprefix(LINE))
        else:
            entries.append((line, []))
    return [(headline, "\n".join(lines)) for headline, lines in entries if lines]


# A turn of the reference model as a script that requests tool calls and receives their results.

Script = Generator[tuple[str, dict[str, Any]], str, str]
"""Yields tool calls, receives their results, returns the answer."""
Found = Generator[tuple[str, dict[str, Any]], str, list[Recalled]]
"""Yields searches, receives their results, returns the records."""

SEARCH = "archival_memory_search"
INSERT = "archival_memory_insert"
MOST_SHOWN = 10
"""The most records in one search result."""
NO_RECORD = regex(r"^(?:Error|Policy)")


class Heard(NamedTuple):
    """The contents of a turn, as the messages show it."""

    text: str
    results: tuple[str, ...]
    earlier: tuple[Message, ...]
    tools: tuple[ToolSpec, ...]
    is_instruction: bool = False
    """Whether the message is a program's instruction and not a user's statement."""

    def offers(self, name: str) -> bool:
        """Return whether there is a tool of this name."""
        return any(tool.name == name for tool in self.tools)

    @property
    def said(self) -> list[str]:
        """Return the user's earlier messages in this conversation, as far as they are available."""
        spoken = (message for message in self.earlier if message.get("role") == "user" and not message.get("name"))
        return [message.get("content") or "" for message in spoken]


def search(query: str, **more: Any) -> Found:
    """Search long-term memory once and return the records found."""
    return recalled_records((yield SEARCH, {"query": query, "top_k": MOST_SHOWN, **more}))


def is_refused(result: str) -> bool:
    """Return whether a tool failed to do what it was called for."""
    return NO_RECORD.match(result) is not None


def reason(result: str) -> str:
    """Return a tool's error message, without its advice to the model."""
    text = result.removeprefix("Error: ").split(" Tell the user")[0]
    return unfenced(text)


def listed(items: Sequence[str]) -> str:
    """Return items one per line, a single one as it is."""
    return "\n".join(f"- {item}" for item in items) if len(items) > 1 else "".join(items)


# What a conversation mentioned last, read from its messages.

WROTE = regex(r"\((?:stored|already known): ([^\s()]+)\)")
CITED = regex(r"\[([^\[\]\s]{8,64})\]")


def named_last(earlier: Sequence[Message]) -> list[str]:
    """Return the ids in the newest turn that names any: those it wrote, else the first that it cites."""
    wrote: list[str] = []
    cited: list[str] = []
    for message in reversed(earlier):
        content = message.get("content") or ""
        if message.get("role") == "tool" and message.get("name") == INSERT:
            wrote += CITED.findall(content)
        elif message.get("role") == "assistant":
            wrote += WROTE.findall(content)
            cited += CITED.findall(content)
        elif message.get("role") == "user" and (wrote or cited):
            break
    return list(dict.fromkeys(wrote)) or cited[:1]
