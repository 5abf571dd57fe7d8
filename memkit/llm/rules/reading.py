"""Read what memory tools returned, as a careful model would: records and turns inside the fence, and nothing else."""

from __future__ import annotations

import re
from collections.abc import Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from memkit.llm.rules.claims import SELF, Slot, read_claims
from memkit.llm.rules.questions import PRONOUN, is_question, read_question, sentences_of
from memkit.runtime.loop.fencing import unfenced
from memkit.runtime.loop.interface import Message, ToolSpec
from memkit.runtime.memory.words.text import regex

HEADLINE = regex(r"^\[(?P<id>[^\]\s]+)\](?P<facts>(?: \w+=\S*)*)\s*$")
TURN = regex(r"^(?P<at>\d{4}-\d\d-\d\d)\S* session=.* turn=\S+ (?P<role>\w+)$")
OPENING = regex(r"^<memory-data (?P<mark>[0-9a-f]+)>$")
LINE = "| "
GOALS = regex(r'^<data (?P<mark>[0-9a-f]+) from="goals that are still open">$')
GOAL = regex(r"^- \[(?P<id>[^\]\s]+)\] (?P<text>.+?) \(goal, [^()]*?(?:due (?P<due>[\d-]{10}))?\)$")


@dataclass(frozen=True)
class Recalled:
    """One record as a search showed it."""

    id: str
    text: str
    facts: dict[str, str]

    @property
    def date(self) -> str:
        """Return the day it was told."""
        return self.facts.get("date", "")


@dataclass(frozen=True)
class Said:
    """One turn as a conversation search showed it."""

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


def open_goals(offered: str) -> list[Recalled]:
    """Return the goals that a session's first turn is offered, between the two marks of their block."""
    found: list[Recalled] = []
    mark: str | None = None
    for line in offered.splitlines():
        opening = GOALS.match(line)
        if opening:
            mark = opening["mark"]
        elif mark is not None and line == f"</data {mark}>":
            return found
        elif mark is not None and (goal := GOAL.match(line)):
            found.append(Recalled(goal["id"], goal["text"], {"due": goal["due"]} if goal["due"] else {}))
    return []


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


# A turn of the reference model as a script that asks for tool calls, and what the script is told.

Script = Generator[tuple[str, dict[str, Any]], str, str]
"""Yields tool calls, receives their results, returns the answer."""
Found = Generator[tuple[str, dict[str, Any]], str, list[Recalled]]
"""Yields searches, receives their results, returns the records."""

SEARCH = "archival_memory_search"
INSERT = "archival_memory_insert"
MOST_SHOWN = 10
"""Records that one search brings."""
NO_RECORD = regex(r"^(?:Error|Policy)")


@dataclass(frozen=True)
class Heard:
    """What a turn consists of, as the messages show it."""

    text: str
    results: tuple[str, ...]
    earlier: tuple[Message, ...]
    tools: tuple[ToolSpec, ...]
    is_instruction: bool = False
    """Whether a program says what to do, and nobody tells of themselves."""

    def offers(self, name: str) -> bool:
        """Return whether there is a tool of this name."""
        return any(tool.name == name for tool in self.tools)

    @property
    def said(self) -> list[str]:
        """Return what the user said before in this conversation, as far as its messages show it."""
        spoken = (message for message in self.earlier if message.get("role") == "user" and not message.get("name"))
        return [message.get("content") or "" for message in spoken]


def search(query: str, **more: Any) -> Found:
    """Search long-term memory once and return the records that it shows."""
    return recalled_records((yield SEARCH, {"query": query, "top_k": MOST_SHOWN, **more}))


def is_refused(result: str) -> bool:
    """Return whether a tool did not do what it was called for."""
    return NO_RECORD.match(result) is not None


def reason(result: str) -> str:
    """Return what a tool said went wrong, without what it says to the model."""
    text = result.removeprefix("Error: ").split(" Tell the user")[0]
    return unfenced(text)


def listed(items: Sequence[str]) -> str:
    """Return items one a line, a single one as it is."""
    return "\n".join(f"- {item}" for item in items) if len(items) > 1 else "".join(items)


# What a conversation spoke of last: records, subjects and questions, read from its messages.

IDS = regex(r"\[([^\[\]\s]{8,64})\]|\((?:stored|already known): ([^\s()]+)\)")
LEADING_PRONOUN = regex(r"^(?:he|she|they|(?P<of>his|her|their))\b(?=[ '])", re.IGNORECASE)
NEWEST = 40
"""Messages that are looked through."""


def written_last(earlier: Sequence[Message]) -> list[str]:
    """Return the ids that the newest turn with a write wrote."""
    ids: list[str] = []
    for message in reversed(earlier):
        if message.get("role") == "tool" and message.get("name") == INSERT:
            ids += [found for found, _ in IDS.findall(message.get("content", "")) if found]
        elif message.get("role") == "user" and ids:
            break
        elif message.get("role") == "assistant" and not ids:
            ids += [found for _, found in IDS.findall(message.get("content", "")) if found]
    return list(dict.fromkeys(ids))


def spoken_of(earlier: Sequence[Message]) -> tuple[str, str] | None:
    """Return id and text of the record that the newest answer names: the one it wrote last, or cites first."""
    texts = _texts(earlier[-NEWEST:])
    for message in reversed(earlier[-NEWEST:]):
        if message.get("role") == "assistant" and message.get("content"):
            found = IDS.findall(message["content"])
            ids = [id for _, id in found if id in texts][::-1] or [id for id, _ in found if id in texts]
            if ids:
                return ids[0], texts[ids[0]]
    return None


def _texts(messages: Sequence[Message]) -> Mapping[str, str]:
    """Return the texts of the records that tool results in ``messages`` show, by id."""
    texts: dict[str, str] = {}
    said: dict[str, str] = {}
    for message in messages:
        for call in message.get("tool_calls", ()):
            said[call["id"]] = str(call["args"].get("text", ""))
        if message.get("role") == "tool" and message.get("name") == SEARCH:
            texts |= {record.id: record.text for record in recalled_records(message.get("content", ""))}
        elif message.get("role") == "tool" and message.get("name") == INSERT:
            text = said.get(message.get("tool_call_id", ""), "")
            texts |= {id: text for id, _ in IDS.findall(message.get("content", "")) if id and text}
    return texts


def subject_before(earlier: Sequence[Message]) -> str | None:
    """Return who or what the user spoke of last, apart from themselves, in their own spelling."""
    for sentence in _said(earlier):
        asked = read_question(sentence) if is_question(sentence) else None
        claims = [] if asked else read_claims(sentence)
        if introduced := next(filter(None, (_introduced(claim.slot) for claim in claims)), ""):
            return introduced
        names = [asked.subject or ""] if asked else [claim.slot.subject for claim in claims if claim.slot]
        for name in names:
            if name and name not in SELF and not PRONOUN.search(name):
                at = sentence.lower().find(name)
                return sentence[at : at + len(name)] if at >= 0 else name
        named = re.findall(r"(?<=\s)[A-Z][\w'-]+(?: [A-Z][\w'-]+)?", sentence)
        if asked and (named := [name for name in named if name not in ("I", "I'm")]):
            return str(named[0]).removesuffix("'s")
    return None


def _introduced(slot: Slot | None) -> str:
    """Return whom a statement introduces by name, as in "my sister is Ana": "my sister Ana"."""
    if slot is None or slot.relation not in ("name", "is") or not slot.subject.startswith("my "):
        return ""
    return f"My {slot.subject.removeprefix('my ')} {slot.value}" if re.fullmatch(r"[A-Z][\w'-]+", slot.value) else ""


def with_antecedent(sentence: str, earlier: Sequence[Message]) -> str:
    """Return a statement that begins with "she" about whoever was spoken of last, where there is somebody."""
    pronoun = LEADING_PRONOUN.match(sentence)
    subject = subject_before(earlier) if pronoun else None
    if pronoun is None or subject is None:
        return sentence
    owner = "'s" if pronoun["of"] else ""
    return subject + owner + sentence[pronoun.end() :]


def question_before(earlier: Sequence[Message]) -> str | None:
    """Return the question that the user asked last."""
    return next((sentence for sentence in _said(earlier) if is_question(sentence)), None)


def _said(earlier: Sequence[Message]) -> Iterator[str]:
    """Yield the sentences of the user, the newest first."""
    for message in reversed(earlier[-NEWEST:]):
        if message.get("role") == "user" and not message.get("name"):
            yield from reversed(sentences_of(message.get("content", "")))
