"""What a conversation spoke of last: records, subjects and questions, read from its messages."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from memkit.llm.claims import read_claims
from memkit.llm.questions import PRONOUN, is_question, read_question
from memkit.llm.recalled import recalled_records
from memkit.llm.relations import SELF, Slot
from memkit.llm.script import INSERT, SEARCH
from memkit.llm.speech import sentences_of
from memkit.runtime.loop.interface import Message

IDS = re.compile(r"\[([^\[\]\s]{8,64})\]|\((?:stored|already known): ([^\s()]+)\)")
LEADING_PRONOUN = re.compile(r"^(?:he|she|they|(?P<of>his|her|their))\b(?=[ '])", re.IGNORECASE)
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
