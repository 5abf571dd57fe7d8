"""Inspect long-term memory: search it, and report a record's origin and history."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from memkit.errors import NegativeAnswer, NotFound, no_record
from memkit.runtime.memory.gate.secrets import mask
from memkit.runtime.memory.interface import ANYWHERE, accounted
from memkit.runtime.memory.record.record import replaced_by

if TYPE_CHECKING:
    from datetime import datetime

    from memkit.runtime.memory.archive.reader import ArchiveReader
    from memkit.runtime.memory.archive.view import Waiting
    from memkit.runtime.memory.interface import Circumstances, Hit, SearchReport, StoredRecord
    from memkit.runtime.memory.record.record import Record
    from memkit.workspace import Workspace

WITHHELD = "A line about it is withheld, because it was changed or forged. 'memkit fsck' names it, and settles that."
MOST_REPLACED = 20
"""The most records listed that one text would replace."""


class Back(NamedTuple):
    """How far a question looks back."""

    as_of: str | None = None
    """A day: search what was true then."""
    at: str | None = None
    """A commit: search what was believed then."""


class Only(NamedTuple):
    """The limits of a question; empty for none."""

    types: Sequence[str] = ()
    tags: Sequence[str] = ()


NOW = Back()
ANYTHING = Only()


def search_memory(
    workspace: Workspace,
    query: str,
    user: str,
    count: int | None = None,
    *,
    only: Only = ANYTHING,
    where: Circumstances = ANYWHERE,
    back: Back = NOW,
    keeps_words: bool = True,
) -> SearchReport:
    """Return what the archive knows about ``query`` that ``user`` may see; the read is an event of the audit log.

    As the archive was at a commit: a look back, not a recall that counts as a use. The event contains the
    words of the question if ``keeps_words``.

    Raises:
        UsageError: ``back`` names no commit.
        EnvironmentFault: It names one and the store is not in a repository.
    """
    archive = workspace.archive_at(back.at)
    report = archive.search(
        query,
        user_id=user,
        k=count,
        types=tuple(only.types),
        tags=tuple(only.tags),
        as_of=back.as_of,
        where=where,
    )
    workspace.audit.append(
        {
            "event": "retrieved" if back.at is None else "looked back", "user_id": user,
            "actor": workspace.writer(user).actor, "query": mask(query) if keeps_words else None,
            "ids": [hit.id for hit in report.hits], "candidates": accounted(report.losers),
        }
    )  # fmt: skip
    return report


HIT_KEYS = (
    "id", "text", "type", "tags", "user_id", "session_id", "turn_id", "source_url", "trust", "taint", "created_at",
)  # fmt: skip


def hit_data(hit: Hit, taint: Sequence[str], *, explain: bool = False) -> dict[str, Any]:
    """Return one search result as ``--json`` prints it."""
    full = hit.record.to_data()
    data = {key: full.get(key) for key in HIT_KEYS} | {"score": hit.score}
    data |= {"tags": list(hit.record.tags), "taint": list(taint)}
    return data | {"parts": dict(hit.parts)} if explain else data


def value_under(workspace: Workspace, key: str, user: str) -> Record:
    """Return the record stored under ``key``; raise ``NotFound`` if this user has no clean one."""
    found = workspace.archive.value(user, key)
    if found is None:
        raise NotFound(
            f"Nothing clean is stored under {key!r:.60} for {user!r:.60}. Store it: memkit memory put KEY VALUE"
        )
    return found


def find_record(archive: ArchiveReader, record_id: str, user: str | None) -> StoredRecord:
    """Return the record with this id and its history; raise ``NotFound`` if this user has none."""
    stored = archive.get(record_id, user_id=user)
    if stored is not None:
        return stored
    since = archive.forgotten_since(record_id, user_id=user)
    if since is None:
        raise no_record(record_id)
    raise NotFound(
        f"Record {record_id!r:.60} is no longer shown: it was closed on {since[:10]}, longer ago than "
        "forget.keep_superseded, and is only in archive/."
    )


def own_record(archive: ArchiveReader, record_id: str, user: str | None) -> StoredRecord:
    """Return a record that this user may change; raise ``NegativeAnswer`` if another user shared it."""
    stored = find_record(archive, record_id, user)
    if user is not None and stored.record.user_id != user:
        raise NegativeAnswer("This record was shared by another user, and only they can change it.")
    return stored


def note_read(workspace: Workspace, user: str | None, what: str, ids: Sequence[str] = ()) -> None:
    """Write to the audit log that memory of ``user``, or everybody's, was read without a search."""
    actor = workspace.writer(user or "").actor
    workspace.audit.append({"event": "read", "user_id": user, "actor": actor, "ids": list(ids) or None, "reason": what})


def record_data(stored: StoredRecord, now: datetime, stale: Sequence[str] = ()) -> dict[str, Any]:
    """Return a record with status and history as ``--json`` prints it; ``stale`` are parents that no longer hold."""
    from memkit.runtime.memory.record.lines import parse_time

    data = stored.record.to_data() | {"status": stored.status, "history": [dict(event) for event in stored.history]}
    if stored.superseded_by:
        data |= {"superseded_by": stored.superseded_by, "ended": stored.ended or None}
    if stored.record.valid_until and parse_time(stored.record.valid_until) < now:
        data["expired"] = True  # live until the next sweep, but no longer an answer to anything
    if waits := why_record_waits(stored):
        data["waits"] = waits
    return data | ({"stale": list(stale)} if stale else {})


# Say why something waits for a person. No line stores the reasons, so the text is judged again.


def why_it_waits(
    texts: Sequence[str], taint: Sequence[str] = (), kind: str = "record", *, is_inferred: bool = False
) -> list[dict[str, str]]:
    """Return the write gate's reasons for holding this back: ``{code, message}`` each."""
    from memkit.runtime.memory.gate.gate import NO_FACT, TAINTED
    from memkit.runtime.memory.gate.hostile import suspicions
    from memkit.runtime.memory.words.wording import hedged_wording, is_taken_back, transient_wording

    found = [(one.code, f"Matched {one.kind}: “{mask(one.matched)}”.") for text in texts for one in suspicions(text)]
    if is_inferred and (words := transient_wording(texts[0])):
        found.append(("transient", f"“{words}” will not be true for long."))
    if is_inferred and (words := hedged_wording(texts[0])):
        found.append(("hedged", f"“{words}” leaves open whether it is true."))
    if not found and taint and all(origin.startswith("writer:") for origin in taint):
        found.append((TAINTED.code, "Another clone wrote it, and nobody here trusted this store ('memkit trust')."))
    elif not found and taint:
        found.append(TAINTED)
    elif not found and kind == "record" and is_taken_back(texts[0]):
        found.append(NO_FACT)
    elif not found and kind == "core":
        found.append(("persons_section", "An agent's own words in a section that is people's."))
    return [{"code": code, "message": message} for code, message in dict.fromkeys(found)]


def why_record_waits(stored: StoredRecord) -> list[dict[str, str]]:
    """Return why a record waits for a person; empty if it does not, or if only its sealed text says so."""
    record = stored.record
    if stored.withheld:
        return [{"code": "tampered", "message": WITHHELD}]
    if stored.status != "quarantined":
        return []
    if record.is_sealed:
        return why_it_waits(("",), record.taint)
    return why_it_waits((record.text, *record.tags), record.taint, is_inferred=record.source == "inferred")


def why_waiting(archive: ArchiveReader, one: Waiting) -> list[dict[str, str]]:
    """Return why an entry of ``archive.waiting`` waits."""
    if one.kind == "record":
        stored = archive.get(one.id)
        return why_record_waits(stored) if stored else []
    return why_it_waits((one.text,), one.taint, one.kind)


def what_it_is_about(archive: ArchiveReader, one: Waiting) -> list[Record]:
    """Return the records that this would change: those that it replaces, or one that an agent wanted gone."""
    if one.kind == "core":
        return []
    ids: Sequence[str] = (one.text,)
    if one.kind == "record":
        stored = archive.get(one.id, user_id=one.user_id)
        ids = replaced_by(stored.record)[:MOST_REPLACED] if stored else ()
    found = (archive.get(id, user_id=one.user_id) for id in ids)
    return [stored.record for stored in found if stored]


def core_sections(workspace: Workspace, user: str, agent: str | None = None, at: str | None = None) -> dict[str, str]:
    """Return the sections of ``user``; the persona comes from memkit.yaml, always as it is now."""
    told = workspace.archive_at(at).core_sections(user, agent)
    return {"persona": str(workspace.settings["persona"])} | told
