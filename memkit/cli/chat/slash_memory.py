"""The slash commands on what is remembered: ``/memory``, ``/core``, ``/search`` and ``/export``."""

from __future__ import annotations

import json
import os
import shlex
from collections.abc import Iterable, Mapping
from pathlib import Path

from memkit.cli.chat.conversation import OFF_RECORD, Conversation
from memkit.errors import NotFound, UsageError
from memkit.terminal import one_line
from memkit.use_cases.search_memory import search_memory

SHOWN = 20
"""How many records ``/memory`` lists."""
ON_AGAIN = "Memory is on again. What was said while it was off is not kept, and has left the prompt."
CONSENT = {True: "granted", False: "withdrawn", None: "not given yet"}


def show_memory(conversation: Conversation, argument: str) -> str:
    """Return the newest records of the user, or all there is to one; ``off`` and ``on`` switch whether more is kept."""
    if argument in ("off", "on"):
        was_off = conversation.agent.is_off_record
        conversation.agent.switch_memory(on=argument == "on")
        return OFF_RECORD if argument == "off" else ON_AGAIN if was_off else "Memory was not off."
    if argument:
        return _record(conversation, argument)
    records = conversation.workspace.archive.records(user_id=conversation.user)
    lines = [f"[{record.id}] {record.type}: {one_line(record.text, 100)}" for record in records[-SHOWN:]]
    consent = CONSENT[conversation.workspace.archive.consent(conversation.user)]
    left = f" The newest {SHOWN}:" if len(records) > SHOWN else ""
    counted = f"{len(records)} record{'' if len(records) == 1 else 's'}"
    whose = one_line(conversation.user) or "nobody"
    return "\n".join([f"{counted} of {whose}; consent to long-term memory: {consent}.{left}", *lines])


def records_of(conversation: Conversation) -> Iterable[tuple[str, str]]:
    """Return what ``/memory`` takes: its switches, and the user's records by id, the newest first."""
    yield from (("off", "Keep nothing of what is said from now on."), ("on", "Keep again what is agreed to."))
    records = conversation.workspace.archive.records(user_id=conversation.user)
    yield from ((record.id, record.text) for record in reversed(records))


def show_core(conversation: Conversation, _argument: str) -> str:
    """Return the sections of core memory that hold something."""
    sections = {name: text for name, text in conversation.agent.main.core.items() if text}
    return "\n".join(f"{name}:\n{text}" for name, text in sections.items()) or "Core memory is empty."


def search(conversation: Conversation, argument: str) -> str:
    """Return what long-term memory holds about some words."""
    if not argument:
        raise UsageError("/search needs words to look for: /search coffee.")
    report = search_memory(conversation.workspace, argument, user=conversation.user)
    lines = [f"[{hit.id}] {hit.score:.2f} {one_line(hit.text, 100)}" for hit in report.hits]
    return "\n".join(lines) or "Nothing relevant."


def export(conversation: Conversation, argument: str) -> str:
    """Return the turns of this session, or write them to a file that is not there yet."""
    kept = conversation.agent.recall.turns(conversation.session, conversation.user)
    turns = [{"at": turn.at, "role": turn.role, "text": turn.text, "turn": turn.turn_id} for turn in kept]
    text = "\n".join(json.dumps(turn, ensure_ascii=False) for turn in turns)
    if not argument:
        return text or "Nothing was kept of this session."
    path = Path(argument).expanduser()
    try:
        # What was said here is for this user of the machine only.
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text + "\n")
    except FileExistsError:
        raise UsageError(f"{path} exists already, and stays as it is. Name another file.") from None
    except OSError as error:
        raise UsageError(f"{path} cannot be written: {error.strerror or error}.") from error
    wrote = f"Wrote {len(turns)} turn{'' if len(turns) == 1 else 's'} of this session to {path}."
    return f"{wrote} Everything that is held on you: memkit memory export --user {shlex.quote(conversation.user)}"


def _record(conversation: Conversation, record_id: str) -> str:
    stored = conversation.workspace.archive.get(record_id, user_id=conversation.user)
    if stored is None:
        raise NotFound(f"There is no record {one_line(record_id, 60)} of yours. /memory lists them.")
    record = stored.record
    said = ", ".join(f"{name} {value}" for name, value in _facts(record.to_data()))
    history = [
        f"  {entry['at']} {entry['op']} by {entry['actor']}" + (f": {entry['reason']}" if entry["reason"] else "")
        for entry in stored.history
    ]
    return "\n".join([f"[{record.id}] {one_line(record.text)}", f"  {stored.status}, {said}", *history])


def _facts(data: Mapping[str, object]) -> list[tuple[str, object]]:
    wanted = ("type", "scope", "confidence", "source", "trust", "session_id", "turn_id", "supersedes", "valid_until")
    return [(name.removesuffix("_id"), data[name]) for name in wanted if data.get(name) is not None]
