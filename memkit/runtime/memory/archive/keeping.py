"""How a document is stored: the gate judges it, its versions are lines, and its text becomes a derived record."""

import json
from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, NamedTuple

from ..index.documents import PIECE, Documents, StoredDocument
from ..interface import Decision
from ..record.events import DOCUMENT
from ..record.lines import EMPTY, JSON, InvalidRecord, Reason, kept_time, parse_time, to_text
from ..record.record import ITEM, Draft, Origin, encodable

if TYPE_CHECKING:
    from collections.abc import Mapping

    from .change import ArchiveChange

MAX_BYTES = 64 * 1024 * 1024
FRESHNESS = 0.1
"""Share of the time to live that must have passed before reading a document extends it."""


class KeptDocument(NamedTuple):
    """A document to be stored."""

    kind: str
    space: str
    name: str
    value: JSON
    """The value to be read back; None to delete the document."""
    draft: Draft | None = None
    """The record to be derived from it, if it has a text."""
    until: str | None = None
    more: "Mapping[str, JSON]" = EMPTY
    """Additional data of the program."""

    @property
    def place(self) -> tuple[str, str, str]:
        """Return what distinguishes it from every other document of its user."""
        return self.kind, self.space, self.name


def keep(change: "ArchiveChange", kept: KeptDocument, origin: Origin, *, consented: bool) -> Decision:
    """Judge a document and its derived record, write both, and return the decision."""
    documents = Documents(change.index.user(origin.user_id), change.now())
    standing = documents.get(*kept.place)
    number, record = documents.head(*kept.place)
    if kept.value is None:
        if standing is None:
            return Decision("admitted", None)
        return change.decided(origin, "admitted", _write_version(change, kept, origin, number + 1, None, None), ())
    reasons, masked = change.judge_document(kept.value, origin, (kept.space, kept.name), consented=consented)
    if reasons:
        return change.decided(origin, "refused", None, reasons)
    text = as_json(masked(kept.value))
    if len(text) > MAX_BYTES:
        long = Reason("too_long", f"It has {len(text):,} characters; the limit of a document is {MAX_BYTES:,}.")
        return change.decided(origin, "refused", None, (long,))
    if standing and _says_the_same(standing, text, kept):
        return Decision("admitted", record or standing.id)
    derived = _derived(change, kept, origin, standing, consented=consented)
    if derived is not None and derived.decision == "refused":
        return derived
    id = _write_version(change, kept, origin, number + 1, text, derived.id if derived else None)
    return derived or change.decided(origin, "admitted", id, ())


def due_for_refresh(document: StoredDocument, minutes: float, now: datetime) -> bool:
    """Return whether enough of a document's time has passed that an extension is worth a line."""
    gained = now + timedelta(minutes=minutes * (1 - FRESHNESS))
    return document.until is not None and gained > parse_time(document.until)


def refresh(change: "ArchiveChange", document: StoredDocument, origin: Origin, minutes: float) -> None:
    """Give a document that was read the lifetime of a new one, if it still is as it was read."""
    corpus = change.index.user(origin.user_id)
    standing = Documents(corpus, change.now()).get(document.kind, document.space, document.name)
    if standing is None or standing.id != document.id:
        return
    until = to_text(change.now() + timedelta(minutes=minutes))
    record = corpus.live(standing.record) if standing.record else None
    if record and record.valid_until == standing.until:  # else a person gave it an end of its own
        change.write_event("update", record.id, origin, reason="its document was read", fields={"valid_until": until})
    fields = _place(standing, standing.number + 1) | {
        "again": standing.id, "kept_at": standing.at, "until": until, "record": standing.record,
        "more": json.loads(standing.more),
    }  # fmt: skip
    change.write_event(DOCUMENT, f"document/{standing.kind}", origin, fields=_without_nothing(fields))


def as_json(value: JSON) -> str:
    """Return a value as JSON that restores it, including NaN and infinities; raise InvalidRecord."""
    try:
        text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
        if (key := next(_other_keys(value), None)) is not None:
            raise InvalidRecord(f"This cannot be kept as JSON: the key {key!r:.60} is not a string.")
        return text if encodable(text) else json.dumps(value, separators=(",", ":"))
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidRecord(f"This cannot be kept as JSON: {error}.") from None


def _other_keys(value: JSON) -> Iterator[object]:
    """Yield the keys that JSON would turn into strings."""
    if isinstance(value, dict):
        yield from (key for key in value if not isinstance(key, str))
    for inner in value.values() if isinstance(value, dict) else value if isinstance(value, list | tuple) else ():
        if isinstance(inner, dict | list | tuple):
            yield from _other_keys(inner)


def _says_the_same(standing: StoredDocument, text: str, kept: KeptDocument) -> bool:
    same = standing.value == text and standing.corrected is None
    same = same and standing.more == json.dumps(dict(kept.more) or None)
    return same and standing.until is None and kept.until is None


def _derived(
    change: "ArchiveChange", kept: KeptDocument, origin: Origin, standing: StoredDocument | None, *, consented: bool
) -> Decision | None:
    """Offer the record of a document to replace its earlier one; return None if the document has no text."""
    before = standing.record if standing else None
    if kept.draft is None:
        if before is not None:
            change.write_event("forget", before, origin, reason="its document has no text any more")
        return None
    until = kept_time(kept.until) if kept.until else None
    known = change.index.user(origin.user_id).live(before) if before else None
    if known and known.text == kept.draft.text and known.valid_until == until and known.tags == kept.draft.tags:
        return Decision("admitted", before)
    extra: dict[str, JSON] = {**kept.draft.extra, ITEM: list(kept.place)}
    draft = kept.draft._replace(supersedes=known.id if known else None, valid_until=until, extra=extra)
    return change.offer(draft, origin, consented=consented)


def _write_version(
    change: "ArchiveChange", kept: KeptDocument, origin: Origin, number: int, text: str | None, record: str | None
) -> str:
    """Write a version of a document, on as many lines as it needs, and return its id."""
    if text is None:
        documents = Documents(change.index.user(origin.user_id), change.now())
        standing = documents.get(*kept.place)
        if standing and standing.record:
            change.write_event("forget", standing.record, origin, reason="its document was deleted")
    common = _place(kept, number) | {
        "record": record, "until": kept.until, "more": dict(kept.more) or None,
        "taint": list(origin.tainted_by) or None,
    }  # fmt: skip
    target, first = f"document/{kept.kind}", ""
    pieces = [text[start : start + PIECE] for start in range(0, len(text), PIECE)] if text is not None else [None]
    for place, piece in enumerate(pieces):
        fields = common | {"value": piece}
        if len(pieces) > 1:
            fields |= {"piece": place, "pieces": len(pieces), "of": first or None}
        id = change.write_event(DOCUMENT, target, origin, fields=_without_nothing(fields))
        first = first or id
    return first


def _place(one: KeptDocument | StoredDocument, number: int) -> dict[str, JSON]:
    return {"kind": one.kind, "space": one.space, "name": one.name, "number": number}


def _without_nothing(fields: dict[str, JSON]) -> dict[str, JSON]:
    return {key: value for key, value in fields.items() if value is not None}
