"""Conversations as ChatGPT and Claude export them: the user's statements, and none of the answers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Any

from memkit.errors import UsageError
from memkit.interchange.containers import whole_document
from memkit.interchange.interface import ImportSource, Item, Passed, Wishes, foreign
from memkit.runtime.memory.gate.secrets import kinds
from memkit.runtime.memory.gate.statements import is_doubtful, read_statements, sentences_of
from memkit.runtime.memory.record.lines import to_text

FILE = "conversations.json"
MEMORIES = "memories.json"
"""The file of a Claude export with Claude's own memories."""


def read_chatgpt(source: ImportSource, wishes: Wishes) -> Iterator[Item]:
    """Yield one memory for each of the user's statements in ``conversations.json`` of an export, or its folder."""
    place, answered, secret, replaced = 0, 0, 0, 0
    for conversation in _conversations(source, "mapping"):
        messages, others = _standing(conversation)
        replaced += len(others)
        for message in messages:
            if _at(message, "author", "role") != "user":
                answered += 1
                continue
            parts = _at(message, "content", "parts")
            text = "\n".join(part for part in parts if isinstance(part, str)) if isinstance(parts, list) else ""
            id = conversation.get("conversation_id") or conversation.get("id")
            said = {"session_id": id, "created_at": _moment(message.get("create_time"))}
            secret += _untaken_secrets(text)
            for memory in _stated(text, said, f"chatgpt:{id}#{message.get('id')}"):
                place += 1
                yield foreign(place, memory, wishes)
    if replaced:
        yield Passed("message", "Another version replaced it in the conversation.", count=replaced)
    yield from _left(answered, secret)


def _standing(conversation: Mapping[str, Any]) -> tuple[list[Mapping[str, Any]], list[Mapping[str, Any]]]:
    """Return the messages that the conversation shows, and those that edited or regenerated ones replaced.

    The nodes are a tree, and the shown ones lead from the current node up to the root.
    """
    mapping = conversation["mapping"]
    nodes = (
        {id: node for id, node in mapping.items() if isinstance(node, Mapping)} if isinstance(mapping, Mapping) else {}
    )
    shown: set[str] = set()
    id = conversation.get("current_node")
    while isinstance(id, str) and id in nodes and id not in shown:
        shown.add(id)
        id = nodes[id].get("parent")
    told = [(id, message) for id, node in nodes.items() if isinstance(message := node.get("message"), Mapping)]
    standing = [message for id, message in told if id in shown or not shown]
    return standing, [message for id, message in told if shown and id not in shown]


def read_claude_export(source: ImportSource, wishes: Wishes) -> Iterator[Item]:
    """Yield one memory for each of the user's statements, and Claude's own memories beside ``conversations.json``."""
    place, answered, secret = 0, 0, 0
    for conversation in _conversations(source, "chat_messages"):
        messages = conversation["chat_messages"] if isinstance(conversation["chat_messages"], list) else ()
        for message in messages:
            if not isinstance(message, Mapping) or message.get("sender") != "human":
                answered += 1
                continue
            said = {"session_id": conversation.get("uuid"), "created_at": message.get("created_at")}
            address = f"claude.ai:{conversation.get('uuid')}#{message.get('uuid')}"
            text = str(message.get("text") or "") or _text_blocks(message.get("content"))
            secret += _untaken_secrets(text)
            for memory in _stated(text, said, address):
                place += 1
                yield foreign(place, memory, wishes)
    yield from _left(answered, secret)
    if source.path is not None and (source.path / MEMORIES).is_file():
        yield Passed(MEMORIES, "It is Claude's own summary. Read it, and import what is true with --format text.")


def _text_blocks(content: Any) -> str:
    """Return what a message says in blocks, which some exports have in place of its text."""
    blocks = content if isinstance(content, list) else ()
    told = (_at(block, "text") for block in blocks if _at(block, "type") == "text")
    return "\n".join(text for text in told if isinstance(text, str))


def _conversations(source: ImportSource, key: str) -> Iterator[Mapping[str, Any]]:
    if source.path is not None and source.path.is_dir():
        path = source.path / FILE
        if not path.is_file():
            raise UsageError(f"{source.name} has no {FILE}. Unpack the export, and name its folder.")
        source = ImportSource(str(path), path)
    document = whole_document(source)
    listed = document if isinstance(document, list) else [document]
    found = [one for one in listed if isinstance(one, Mapping) and key in one]
    if not found and listed:
        raise UsageError(f"{source.name} has no conversation: none of its entries has {key!r}.")
    yield from found


def _stated(text: str, said: Mapping[str, Any], address: str) -> Iterator[dict[str, Any]]:
    """Yield the statements in a message; questions, requests and guesses are not memories."""
    statements = (one for sentence in sentences_of(text) for one in read_statements(sentence))
    for number, statement in enumerate(one for one in statements if not is_doubtful(one.text)):
        kept = {key: value for key, value in said.items() if value}
        yield {"text": statement.text, "source_url": f"{address}.{number}", **kept}


def _untaken_secrets(text: str) -> int:
    """Return how many sentences of a message reveal a secret without an offered statement."""
    return sum(1 for one in sentences_of(text) if kinds([one]) and not any(_stated(one, {}, "")))


def _left(answered: int, secret: int) -> Iterator[Item]:
    if answered:
        yield Passed("message", "Only what the user said is imported.", count=answered)
    if secret:
        yield Passed("sentence", "It contains a secret, such as a password, and secrets are not kept.", count=secret)


def _at(message: Mapping[str, Any], *keys: str) -> Any:
    value: Any = message
    for key in keys:
        value = value.get(key) if isinstance(value, Mapping) else None
    return value


def _moment(seconds: Any) -> str | None:
    if not isinstance(seconds, int | float) or isinstance(seconds, bool):
        return None
    try:
        return to_text(datetime.fromtimestamp(seconds, UTC))
    except (ValueError, OverflowError, OSError):
        return None
