"""Play the transcript on one side, and give an account of every part."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from memkit.agent import Setting
from memkit.equivalence.interface import Account, Part, Seen, TranscriptSide, TranscriptTurn, probed
from memkit.runtime.loop.bound import read_arguments
from memkit.runtime.loop.interface import Completion, Message, ToolCall, ToolSpec
from memkit.runtime.loop.turn import SESSION_START
from memkit.runtime.memory.archive.archive import ArchivalStore
from memkit.runtime.testing import interface as testing
from memkit.runtime.testing.script import Script, player
from memkit.use_cases.open_chat import open_chat
from memkit.workspace import open_workspace

_UNORDERED = ("tool_calls", "memory_operations", "policy")
"""What parallel calls may fill in any order."""


def play(side: TranscriptSide, store: Path, parts: Iterable[Part]) -> dict[str, Account]:
    """Return what each part showed on ``side``, whose memory lies in ``store``, by the part's name."""
    return {part.name: _play(side, store, part) for part in parts}


def _play(side: TranscriptSide, store: Path, part: Part) -> Account:
    before = reach_of(store)
    turns = [side.answer(turn, turn.session or part.name) for turn in part.turns]
    memory = memory_of(store, before)
    names = names_of(lines_of(store))
    return Account(
        turns=tuple(_told(canonical(seen, names), turn) for seen, turn in zip(turns, part.turns, strict=True)),
        memory={key: _sorted(value) for key, value in canonical(memory, names).items()},
    )


def _told(seen: Mapping[str, Any], turn: TranscriptTurn) -> Seen:
    """Return what can be the same in two runs of a turn."""
    told = dict(seen)
    for account in ("usage", "session_usage"):
        told.pop(account, None)  # where an SDK asks the model, the SDK knows what it spent
    if operations := told.get("memory_operations"):
        told["memory_operations"] = _shared(operations)
    if "message" in told and _is_parallel(turn):
        told |= {key: _sorted(told[key]) for key in _UNORDERED}
        said, *receipts = re.split(r"\n(?=\((?:stored|not stored|already known|set aside))", told["message"])
        told["message"] = [said, *sorted(receipts)]
    if usage := told.get("context_usage"):
        # An id counts for a few tokens more or less than another one, so the figures of two runs are never the same.
        told["context_usage"] = {"budget": usage["budget"], "within": usage["used"] <= usage["budget"]}
    return told


def _shared(operations: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Return what every target can tell alike of the memory operations of a turn.

    What a session opens with is offered by the reference agent alone. That something was paged out is told once: what a
    target's own prompt takes of the budget, and how long ids are, decide how much goes at a time.
    """
    out: Mapping[str, Any] = {"op": "page_out"}
    told = [one for one in operations if one["op"] != "page_out" and one.get("query") != SESSION_START]
    return [*told, out] if any(one["op"] == "page_out" for one in operations) else told


def _is_parallel(turn: TranscriptTurn) -> bool:
    """Return whether the model makes several calls in one answer, which an SDK may run side by side."""
    return not callable(turn.script) and any("tools" in answer for answer in turn.script if isinstance(answer, Mapping))


def _sorted(value: Any) -> Any:
    return sorted(value, key=lambda item: json.dumps(item, sort_keys=True)) if isinstance(value, list) else value


OUTBOX = "outbox.jsonl"
"""What the store's tool writes: a call that was denied leaves nothing here."""
_RECORD = ("text", "type", "trust", "status", "source", "scope", "actor", "tags", "confidence", "importance", "user_id",
           "taint", "action", "outcome", "lesson", "session_id", "turn_id", "supersedes")  # fmt: skip
_EVENT = ("op", "target", "actor", "user_id", "session_id", "reason", "fields")


class Reach(NamedTuple):
    """How far a store was written."""

    ids: frozenset[str]
    """Of the lines of the archive, which may lie in several shards."""
    outbox: int
    """How many lines the store's tool wrote."""


def reach_of(store: Path) -> Reach:
    """Return how far ``store`` is written now."""
    return Reach(frozenset(str(line["id"]) for line in lines_of(store)), len(outbox_of(store)))


def outbox_of(store: Path) -> list[str]:
    """Return what the store's tool wrote."""
    outbox = store / OUTBOX
    return outbox.read_text(encoding="utf-8").splitlines() if outbox.exists() else []


def lines_of(store: Path) -> list[dict[str, Any]]:
    """Return every line of the archive, in the order in which they were written."""
    shards = sorted(store.glob("archive/*/*.jsonl"))
    return [json.loads(line) for shard in shards for line in shard.read_text(encoding="utf-8").splitlines()]


def names_of(lines: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """Return the text of each record by its id."""
    return {str(line["id"]): str(line["text"]) for line in lines if "text" in line and "op" not in line}


def memory_of(store: Path, before: Reach) -> dict[str, Any]:
    """Return what was written since ``before``, and how the records and core sections that it is about stand now."""
    lines = lines_of(store)
    written = [line for line in lines if line["id"] not in before.ids]
    touched = {str(line[key]) for line in written for key in ("id", "target", "supersedes") if key in line}
    with ArchivalStore(store) as archive:
        records = [_record(archive, id) for id in names_of(lines) if id in touched]
        users = sorted({str(line["user_id"]) for line in written if line.get("user_id")})
        core = {user: sections for user in users if (sections := archive.core_sections(user))}
    outbox = outbox_of(store)[before.outbox :]
    return {"records": records, "core": core, "lines": [_event(line) for line in written], "outbox": outbox}


def _record(archive: ArchivalStore, id: str) -> dict[str, Any]:
    stored = archive.get(id)
    assert stored is not None
    data = {**stored.record.to_data(), "status": stored.status}
    return {key: data[key] for key in _RECORD if key in data}


def _event(line: Mapping[str, Any]) -> dict[str, Any]:
    if "op" not in line:
        return {"record": line["id"]}
    return {key: line[key] for key in _EVENT if line.get(key) not in (None, {})}


class PlayedModel:
    """A model that plays the scripts of the local model servers, without a server."""

    def __init__(self, script: Script) -> None:
        self.asked: list[testing.Conversation] = []
        """What the model was asked to continue, call by call."""
        self._play = player(script)

    def complete(self, messages: Sequence[Message], tools: Sequence[ToolSpec]) -> Completion:
        """Return the next answer of the script."""
        conversation = testing.Conversation(tuple(map(_message, messages)), tuple(spec.name for spec in tools))
        self.asked.append(conversation)
        answer = self._play(conversation)
        return Completion(answer.text, tuple(_call(call, number) for number, call in enumerate(answer.calls, 1)))


class ReferenceSide:
    """Answers each turn with an agent that is opened for it and knows of the others only what the store kept."""

    def __init__(self, store: Path) -> None:
        self._store = store

    def answer(self, turn: TranscriptTurn, session: str) -> Seen:
        """Answer one turn."""
        model = PlayedModel(turn.script)
        with open_workspace(self._store) as workspace:
            agent = open_chat(
                workspace,
                Setting(turn.user or "", session, turn.context),
                provider="reference",
                # The store is this package's own, so its tools run. A project reads its skills in ways of its own, so
                # nothing of the store's is offered as a tool here.
                adapt=lambda parts: replace(
                    parts,
                    model=model,
                    procedures=None,
                    tools=workspace.tools,
                    objection=lambda name: None,
                ),
            )
            if turn.consents and turn.user is not None and not agent.consent.granted():
                host = workspace.person(turn.user, session=session)
                workspace.archive.set_consent(turn.user, True, host)
            data = agent.step(turn.text).data
            agent.end()  # each turn is a process of its own, which ends with it
        return {**data, "seen": probed(turn.probes, model.asked)}


def _message(message: Message) -> testing.Message:
    calls = tuple(testing.Call(call["name"], call["args"], call["id"]) for call in message.get("tool_calls") or ())
    return testing.Message(message["role"], message.get("content") or "", calls, message.get("tool_call_id"))


def _call(call: testing.Call, number: int) -> ToolCall:
    read = dict(call.args) if call.arguments is None else read_arguments(call.arguments)
    return ToolCall(f"call-{number}", call.tool, str(call.arguments) if read is None else read)


_ID = re.compile(r"\b[0-9A-HJKMNP-TV-Z]{26}\b")
_MARK = re.compile(r"(?<=data )[0-9a-f]{12,32}\b")
_TIME = re.compile(r"\b\d{4}-\d\d-\d\d(?:T[\d:.]+Z?)?")
LONGEST = 60
"""Characters of a record's text that stand for its id."""


def canonical(value: Any, names: Mapping[str, str]) -> Any:
    """Return ``value`` with every id as the text of its record, and every fence mark and date as a word.

    >>> canonical(["Espresso [01ARZ3NDEKTSV4RRFFQ69G5FAV]."], {"01ARZ3NDEKTSV4RRFFQ69G5FAV": "I like espresso"})
    ['Espresso [«I like espresso»].']
    """
    if isinstance(value, str):
        named = _ID.sub(lambda found: f"«{names.get(found[0], 'unknown id')[:LONGEST]}»", value)
        return _TIME.sub("‹time›", _MARK.sub("‹mark›", named))
    if isinstance(value, Mapping):
        return {str(key): canonical(item, names) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [canonical(item, names) for item in value]
    return value
