"""Say who wrote down what is known of a record, and which commit brought it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from memkit.errors import no_record
from memkit.runtime.memory.log.check import pieces
from memkit.runtime.memory.log.log import Log
from memkit.runtime.memory.record.events import Event
from memkit.runtime.memory.record.lines import JSON
from memkit.runtime.memory.record.record import SHARED, Record, corpus_of
from memkit.store.line_commits import line_commits
from memkit.workspace import Workspace


@dataclass(frozen=True)
class BlamedLine:
    """A line of the archive about a record, and where it comes from."""

    op: str
    """``add`` for the record itself, ``supersede`` for one that took its place, else the event's own."""
    at: str
    actor: str
    session_id: str | None
    path: str
    line: int
    commit: str | None = None
    """None as long as the line is not committed."""
    author: str | None = None
    committed_at: str | None = None
    subject: str | None = None


def blame_record(workspace: Workspace, record_id: str, *, user: str | None = None) -> list[BlamedLine]:
    """Return the record's line and those of all that happened to it, oldest first.

    Raises:
        NotFound: This user has no such record.
    """
    archive = workspace.archive
    stored = archive.get(record_id, user_id=user)
    if stored is None and archive.forgotten_since(record_id, user_id=user) is None:
        raise no_record(record_id)
    found = list(_lines_about(archive.log, record_id, user))
    blamed: list[BlamedLine] = []
    for path in dict.fromkeys(line.path for line in found):
        here = [line for line in found if line.path == path]
        known = line_commits(workspace.git, path, [line.line for line in here])
        for line in here:
            commit = known.get(line.line)
            blamed.append(replace(line, **vars(commit)) if commit else line)
    return sorted(blamed, key=lambda line: (line.op != "add", line.at))


def _lines_about(log: Log, record_id: str, user: str | None) -> Iterator[BlamedLine]:
    """Yield the lines about a record; the same line in a second shard is left out, and so is another user's."""
    seen: set[str] = set()
    for shard in sorted(log.shards()):
        data = log.read(shard)
        if record_id.encode() not in data:
            continue
        for piece in pieces(data):
            if piece.data is None or piece.id in seen or not _is_visible(piece.data, user):
                continue
            if op := _op(piece.data, piece.id, record_id):
                seen.add(piece.id)
                yield _line(piece.data, op, f"archive/{shard}", piece.number)


def _is_visible(data: Mapping[str, JSON], user: str | None) -> bool:
    return user is None or data.get("user_id") == user or corpus_of(data) == SHARED


def _op(data: Mapping[str, JSON], own_id: str, record_id: str) -> str:
    if "op" in data:
        return str(data["op"]) if data["target"] == record_id else ""
    if own_id == record_id:
        return "add"
    return "supersede" if data.get("supersedes") == record_id else ""


def _line(data: Mapping[str, JSON], op: str, path: str, number: int) -> BlamedLine:
    if "op" in data:
        event = Event.from_data(data)
        return BlamedLine(op, event.at, event.actor, event.session_id, path, number)
    record = Record.from_data(data)
    return BlamedLine(op, record.created_at, record.actor, record.session_id, path, number)
