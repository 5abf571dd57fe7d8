"""What an import finds already here: bringing the same memories again adds nothing."""

from .duplicates import near_duplicate
from .index import Index
from .index_catalogue import corpus_of
from .index_corpus import CorpusIndex
from .interface import Decision, Reason
from .record import Draft, Origin, Record
from .replay import source_of
from .values import fingerprint


class Arrivals:
    """What became of the ids that one import brought, so that what supersedes them finds them."""

    def __init__(self) -> None:
        self._became: dict[str, str | None] = {}
        """Ids that are not here under their own name: the record they were merged into, or None."""

    def linked(self, draft: Draft) -> Draft:
        """Return ``draft`` superseding what its predecessor became here; nothing where that was not taken."""
        if draft.supersedes not in self._became:
            return draft
        return draft._replace(supersedes=self._became[draft.supersedes])

    def known(self, index: Index, draft: Draft, origin: Origin) -> Decision | None:
        """Return what becomes of a draft that was here before, or whose id is taken; None for a new one.

        Whatever became of it since, retired or rejected included: an import that is run again does not bring it back.
        """
        name = corpus_of({"scope": draft.scope, "user_id": origin.user_id})
        id = draft.extra.get("id")
        if isinstance(id, str):
            return _of_same_id(index, name, id, draft, origin)
        corpus = index.corpus(name)
        twin = next((twin for twin in corpus.imported(fingerprint(draft.text)) if _is_twin(twin, draft, origin)), None)
        earlier = twin.id if twin else _borne_out(corpus, draft)
        return _known(earlier) if earlier else None

    def note(self, draft: Draft, decision: Decision) -> None:
        """Remember what became of a draft that came with an id."""
        id = draft.extra.get("id")
        if isinstance(id, str) and decision.id != id:
            self._became[id] = decision.id


def is_news(index: Index, draft: Draft, target: str, origin: Origin) -> bool:
    """Return whether an import that repeats record ``target`` is evidence: the same source told twice is one."""
    corpus = index.corpus(index.corpus_holding(target, origin.user_id) or "")
    stored = corpus.stored(target)
    if stored is None or draft.confidence > stored.record.confidence:
        return True
    record = stored.record
    told = {_place(record.actor, record.session_id, record.source_url)}
    for event in corpus.events(target=target):
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
    reason = Reason("id_conflict", f"The id {id:.60} stands for something else here. Leave it out to get a new one.")
    return Decision("refused", None, (reason,))


def _is_twin(record: Record, draft: Draft, origin: Origin) -> bool:
    same_owner = record.user_id == origin.user_id
    return same_owner and (record.source_url, record.type) == (draft.source_url, draft.type)


def _borne_out(corpus: CorpusIndex, draft: Draft) -> str | None:
    """Return the record into which this draft was merged when it came from the same place before."""
    for id in corpus.from_source(draft.source_url) if draft.source_url else ():
        stored = corpus.stored(id)
        if stored and near_duplicate(draft.text, [stored.record], type=draft.type, user_id=stored.record.user_id):
            return id
    return None


def _known(id: str) -> Decision:
    return Decision("merged", id, (Reason("known", f"It came before, as {id}. Nothing was written."),))
