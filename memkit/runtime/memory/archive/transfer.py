"""A user's complete data as lines for another archive, and the detection of what an import finds already here."""

import json
from collections.abc import Iterator, Mapping
from itertools import chain, filterfalse
from typing import NamedTuple

from ..gate.duplicates import near_duplicate, sought
from ..index.index import Index
from ..interface import Decision
from ..record.events import Event, is_proposal, source_of
from ..record.lines import JSON, InvalidRecord, Reason, encode_data
from ..record.record import SHARED, Draft, Origin, Record, corpus_of, unplaced
from ..words.text import fingerprint
from .view import Tombstones


class Brought(NamedTuple):
    """The effect of restoring a line."""

    is_here: bool = False
    """Whether the archive already has exactly this line."""
    reason: Reason | None = None
    """Why it cannot be restored."""


def held_lines(index: Index, user_id: str) -> Iterator[str]:
    """Yield the lines about a user as written: their own, and those about what they shared."""
    yield from index.user(user_id).lines()
    shared: set[str] = set()
    for line in index.shared().lines():
        data = json.loads(line)
        if "op" not in data and data.get("user_id") == user_id:
            shared.add(str(data["id"]))
            yield line
        elif "op" in data and (data.get("user_id") == user_id or data["target"] in shared):
            yield line


def brought(index: Index, tombstones: Tombstones, user_id: str, data: Mapping[str, JSON], shared: set[str]) -> Brought:
    """Return the effect of restoring a line of ``user_id``.

    ``shared`` has the ids of what this user shared in the export so far, and is extended here.
    """
    try:
        id = Event.from_data(data).id if "op" in data else Record.from_data(data).id
        name = corpus_of(data)
        line = encode_data(unplaced(data))
    except (InvalidRecord, ValueError) as error:
        return Brought(reason=Reason("schema", str(error)))
    if "op" not in data and name == SHARED:
        shared.add(id)
    if data.get("user_id") != user_id and not (name == SHARED and data.get("target") in shared):
        return Brought(reason=Reason("other_user", f"The line is about a different user than {user_id!r:.60}."))
    known = index.corpus(name).line(id)
    if known == line:
        return Brought(is_here=True)
    if known is not None or index.catalogue.corpora_of_id(id):
        return Brought(reason=Reason("id_conflict", f"The id {id:.60} is in the archive with different content."))
    if "op" not in data and any(bar.kind == "erased" for bar in tombstones.of(user_id, str(data["text"]))):
        return Brought(reason=Reason("tombstone", "This value was erased for this user. A person can allow it again."))
    return Brought()


class Arrivals:
    """The fate of the ids of one import, so that superseding drafts find their targets."""

    def __init__(self) -> None:
        self._became: dict[str, str | None] = {}
        """Ids that are not here under their own name: the record they were merged into, or None."""

    def linked(self, draft: Draft) -> Draft:
        """Return ``draft`` superseding what its predecessor became here, or nothing if that was not accepted."""
        if draft.supersedes not in self._became:
            return draft
        return draft._replace(supersedes=self._became[draft.supersedes])

    def known(self, index: Index, draft: Draft, origin: Origin) -> Decision | None:
        """Return the decision on a draft that was here before, or whose id is taken; None for a new one.

        That holds for any later fate, even retired or rejected: a repeated import does not bring a record back.
        """
        name = corpus_of({"scope": draft.scope, "user_id": origin.user_id})
        id = draft.extra.get("id")
        if isinstance(id, str):
            return _of_same_id(index, name, id, draft, origin) if index.has_id(id) else None
        digest = fingerprint(draft.text)
        told = (*index.without_waiting(name).imported(digest), *index.waiting.same_value(name, digest))
        alike = (origin.user_id, draft.source_url, draft.type)
        twin = next((one for one in told if (one.user_id, one.source_url, one.type) == alike), None)
        earlier = twin.id if twin else _borne_out(index, name, draft)
        return _known(earlier) if earlier else None

    def note(self, draft: Draft, decision: Decision) -> None:
        """Remember the decision on a draft that came with an id."""
        id = draft.extra.get("id")
        if isinstance(id, str) and decision.id != id:
            self._became[id] = decision.id


def is_news(index: Index, draft: Draft, target: str, origin: Origin) -> bool:
    """Return whether an import that repeats record ``target`` is new evidence: the same source counts only once."""
    corpus = index.corpus(index.corpus_holding(target, origin.user_id) or "")
    stored = corpus.stored(target)
    if stored is None or draft.confidence > stored.record.confidence:
        return True
    record = stored.record
    told = {_place(record.actor, record.session_id, record.source_url)}
    for event in filterfalse(is_proposal, corpus.events(target=target)):
        url = event.fields.get("source_url")
        told.add(_place(event.actor, event.session_id, url if isinstance(url, str) else None))
    return _place(origin.actor, origin.session_id, draft.source_url) not in told


def _place(actor: str, session_id: str | None, source_url: str | None) -> str:
    """Return where something came from, as far as it says so."""
    return source_url or source_of(actor, session_id, None)


def _of_same_id(index: Index, name: str, id: str, draft: Draft, origin: Origin) -> Decision | None:
    holders = index.catalogue.corpora_of_id(id)
    if not holders:
        return None
    stored = index.corpus(name).stored(id) if name in holders else None
    if (
        stored
        and stored.record.user_id == origin.user_id
        and fingerprint(stored.record.text) == fingerprint(draft.text)
    ):
        return _known(id)
    reason = Reason(
        "id_conflict", f"The id {id:.60} is already used for something else. Leave it out to get a new one."
    )
    return Decision("refused", None, (reason,))


def _borne_out(index: Index, name: str, draft: Draft) -> str | None:
    """Return the record that this draft was merged into when it came from the same place before."""
    if not draft.source_url:
        return None
    corpus = index.without_waiting(name)
    held = (stored.record for id in corpus.from_source(draft.source_url) if (stored := corpus.stored(id)))
    waiting = index.waiting.sharing(name, *sought(draft.text))
    for record in chain(held, (one for one in waiting if one.source_url == draft.source_url)):
        if near_duplicate(draft.text, [record], type=draft.type, user_id=record.user_id):
            return record.id
    return None


def _known(id: str) -> Decision:
    return Decision("merged", id, (Reason("known", f"It was already imported as {id}. Nothing was written."),))


def decision_behind(line: Mapping[str, JSON]) -> Decision:
    """Return the decision on the call whose first line is ``line``."""
    if line.get("op") == "evidence":
        return Decision("merged", str(line["target"]))
    fields = line.get("fields")
    trust = (fields if isinstance(fields, Mapping) else line).get("trust")
    return Decision("quarantined" if trust == "quarantined" else "admitted", str(line["id"]))
