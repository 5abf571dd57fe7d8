"""What all drop-ins share: whose memory it is, what taints its writes, and that no refusal is silent.

To write one for another framework: hold a ``Plug``, store values without text as documents with ``Plug.keep``, pass
each text worth finding as the ``draft`` beside it, and let ``Refused`` through (docs/drop-ins.md).
"""

from __future__ import annotations

import json
import logging
import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from typing import Any, Self, TypeVar

from memkit.errors import UsageError
from memkit.library import Place, Store, open_store
from memkit.runtime.host.terminal import shell_word
from memkit.runtime.memory.archive.archive import ArchivalStore
from memkit.runtime.memory.archive.keeping import KeptDocument
from memkit.runtime.memory.gate.gate import TAINTED
from memkit.runtime.memory.gate.secrets import mask
from memkit.runtime.memory.index.documents import Documents, StoredDocument
from memkit.runtime.memory.interface import Decision
from memkit.runtime.memory.lifecycle.pieces import DrawnPiece, keep
from memkit.runtime.memory.record.events import is_proposal
from memkit.runtime.memory.record.lines import Reason, Refused
from memkit.runtime.memory.record.record import MAX_NAME, MAX_TAGS, MAX_TEXT_BYTES, Draft, Origin, Record

Answer = TypeVar("Answer")

CLEAN = "clean"
HELD_BACK = "held_back"
TEXTS = ("text", "content", "memory", "fact")
"""Keys of a value that may hold its text."""
_log = logging.getLogger("memkit")


class Plug:
    """A store as a program of another framework uses it."""

    def __init__(
        self, store: Store | Place | None, name: str, *, user: str | None = None, consent: bool | None = None,
        taint: str | None = None,
    ) -> None:  # fmt: skip
        """Open ``store``, or share one that is open.

        Args:
            store: A folder, a store that the program holds open and closes itself, or None for the nearest one.
            name: The framework's name, which its records carry.
            user: Whose memory it is, whichever user the framework names.
            consent: True if the host states that the user agreed; by default the store's own records decide.
            taint: ``clean`` if the host states that its model reads nothing written by strangers.

        Raises:
            UsageError: ``taint`` has another value.
            StoreNotFound: The folder is not a store.
        """
        if taint not in (None, CLEAN):
            raise UsageError(f"taint must be 'clean' or left out, not {taint!r:.60}.")
        self._is_own = not isinstance(store, Store)
        self.store = store if isinstance(store, Store) else open_store(store)
        self.name = name
        self.user = user
        self._consent = consent
        self._taint = () if taint == CLEAN else (f"client:{name}",)
        # A program that ends without closing loses nothing, but what it wrote should be in git's history too.
        self._closing = weakref.finalize(self, self.store.close) if self._is_own else None

    def of(self, user: str | None) -> str:
        """Return whose memory is meant; raise ``UsageError`` if nobody is named."""
        return self.store.named_user(self.user if self.user is not None else user)

    def origin(self, user: str) -> Origin:
        """Return the origin of writes for a user."""
        return Origin(actor=f"tool:{self.name}", user_id=user, taint=self._taint)

    def agreed(self, user: str) -> bool:
        """Return whether the user agreed to be remembered."""
        return True if self._consent else self.store.workspace.archive.consent(user) is True

    def taint_of(self, user: str, record: Record) -> tuple[str, ...]:
        """Return the taint of the user's prompt if a record enters it: its own, or that others wrote or shared it."""
        with self.store.open():
            return self.store.workspace.archive.taint_of(record, user)

    def ask(self, user: str, question: Callable[[Documents], Answer]) -> Answer:
        """Return the answer to a question about the user's documents."""
        with self.store.open():
            return self.store.workspace.archive.documents(user, question)

    def tell(self, event: str, user: str, ids: Sequence[str], query: str = "", session: str | None = None) -> None:
        """Record that records were ``retrieved`` or ``injected`` into a prompt, for ``memkit memory why``."""
        told: list[Any] = list(dict.fromkeys(ids))
        self.store.workspace.audit.append({
            "event": event, "user_id": user, "actor": f"tool:{self.name}", "session_id": session, "ids": told,
            "query": mask(query), "candidates": [],
        })  # fmt: skip

    def keep(self, user: str, documents: Iterable[KeptDocument]) -> list[Decision]:
        """Store documents, all of them or none, and return the decision about each.

        An iterator is asked for them while nobody else can write.

        Raises:
            Refused: The gate does not admit one of them, or holds its record back for a person.
        """
        if not documents:
            return []
        with self.store.open():
            workspace = self.store.workspace
            decisions = workspace.archive.keep(documents, self.origin(user), consented=self.agreed(user))
            self.store.note_write()
            workspace.commit_memory(added=len(decisions))
        require_admitted(decisions, user)
        return decisions

    def add(self, user: str, text: str, tags: Sequence[str] = ()) -> Decision:
        """Offer a text to long-term memory; raise ``Refused`` if it is refused or held back."""
        return self._offered(user, lambda archive, origin: archive.offer(
            draft_of(text, tags) or Draft(text), origin, consented=self.agreed(user)
        ))  # fmt: skip

    def supersede(self, user: str, id: str, text: str) -> Decision:
        """Offer a text as the replacement of a record; raise ``Refused`` if it is refused or held back."""
        self._require_agreed(user)
        return self._offered(user, lambda archive, origin: archive.supersede(id, text, origin))

    def edit_core(self, user: str, section: str, text: str) -> Decision:
        """Offer a text as a core section; raise ``Refused`` if it is refused or held back."""
        return self._offered(user, lambda archive, origin: archive.edit_core(
            user, section, text, origin, consented=self.agreed(user)
        ))  # fmt: skip

    def forget(self, user: str, id: str) -> None:
        """Retire a record; raise ``Refused`` if that waits for a person."""
        with self.store.open():
            waits = self.store.workspace.archive.mark("forget", id, self.origin(user))
            self.store.note_write()
            self.store.workspace.commit_memory()
        if waits is not None:
            require_admitted([Decision("quarantined", waits, (TAINTED,))], user)

    def derive(self, user: str, session: str, pieces: Sequence[DrawnPiece]) -> None:
        """Offer what was drawn from a user's words in a session.

        The conversation is stored already, so what the gate does not admit at once is no error: it waits for a person,
        or is logged.
        """
        with self.store.open():
            archive, origin = self.store.workspace.archive, self.origin(user)._replace(session_id=session)
            offered = keep(archive, pieces, origin, consented=self.agreed(user), taint=self._taint)
            decisions = [decision for _, decision in offered]
            self.store.note_write()
            self.store.workspace.commit_memory(added=len(decisions))
        for one in decisions:
            if one.decision in ("refused", "quarantined"):
                _log.warning("What was said in %.60r is %s: %s", session, one.decision, refusal(one.reasons, user))

    def take_back(self, user: str, session: str, is_gone: Callable[[Record], bool]) -> None:
        """Retire records of a session whose words are gone, unless a person has acted on them since."""
        with self.store.open():
            archive = self.store.workspace.archive
            for record in archive.records(user_id=user, session_id=session):
                if record.actor != f"tool:{self.name}" or not is_gone(record):
                    continue
                said = archive.events_about(record.id, user_id=user)
                if all(event.session_id == session or is_proposal(event) for event in said):
                    own = self.origin(user)._replace(session_id=session, taint=())
                    archive.mark("forget", record.id, own, reason="its source was taken back")
                    self.store.note_write()

    def _offered(self, user: str, offer: Callable[[ArchivalStore, Origin], Decision]) -> Decision:
        with self.store.open():
            decision = offer(self.store.workspace.archive, self.origin(user))
            if decision.decision != "refused":
                self.store.note_write()
                self.store.workspace.commit_memory()
        require_admitted([decision], user)
        return decision

    def _require_agreed(self, user: str) -> None:
        if not self.agreed(user):
            raise refusal([Reason("consent", "The user has not agreed to long-term memory. Ask first.")], user)

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Hold the store for a change made of several calls."""
        with self.store.open():
            yield

    def close(self) -> None:
        """Commit what was written, and release the store if it was opened here."""
        if self._closing is not None:
            self._closing()

    def __enter__(self) -> Self:
        """Return the drop-in."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close it."""
        self.close()


def refusal(reasons: Sequence[Reason], user: str) -> Refused:
    """Return the error for what the gate does not admit; if consent is missing it says how a person gives it."""
    said = f"Once they agree: memkit consent grant --user {shell_word(user)}"
    return Refused([
        reason._replace(message=f"{reason.message} {said}") if reason.code == "consent" else reason
        for reason in reasons
    ])  # fmt: skip


def require_admitted(decisions: Sequence[Decision], user: str) -> None:
    """Raise ``Refused`` if anything was refused or waits for a person: the caller gets no decision to look at."""
    for decision in decisions:
        if decision.decision == "quarantined":
            waits = Reason(HELD_BACK, f"It waits for a person: memkit memory approve {decision.id}.")
            raise Refused((*decision.reasons, waits))
        if decision.decision == "refused":
            raise refusal(decision.reasons, user)


def text_of(value: Any) -> str | None:
    """Return the text of a value, from a key in ``TEXTS``, if it can be a record's; None otherwise.

    >>> text_of({"kind": "Memory", "content": {"content": "Ada sails"}}), text_of({"size": 3})
    ('Ada sails', None)
    """
    if not isinstance(value, Mapping):
        return None
    for key in TEXTS:
        inner = value.get(key)
        if isinstance(inner, Mapping):
            inner = inner.get("content")
        if isinstance(inner, str) and inner.strip() and len(inner.encode(errors="replace")) <= MAX_TEXT_BYTES:
            return inner
    return None


def with_text(value: Any, text: str) -> Any:
    """Return a value with its text replaced by what a person said instead."""
    for key in TEXTS:
        inner = value.get(key)
        if isinstance(inner, Mapping) and isinstance(inner.get("content"), str):
            return {**value, key: {**inner, "content": text}}
        if isinstance(inner, str) and inner.strip():
            return {**value, key: text}
    return value


def value_of(document: StoredDocument) -> Any:
    """Return the stored value, with the text that a person put in its place."""
    value = json.loads(document.value)
    return with_text(value, document.corrected) if document.corrected is not None and isinstance(value, dict) else value


def noted(document: StoredDocument) -> dict[str, Any]:
    """Return what a program noted beside a document."""
    found = json.loads(document.more)
    return found if isinstance(found, dict) else {}


def moment(at: str) -> datetime:
    """Return a timestamp of the archive as a ``datetime``."""
    return datetime.fromisoformat(at)


def draft_of(text: str | None, tags: Sequence[str] = ()) -> Draft | None:
    """Return the record to derive from a text; None without one."""
    if text is None:
        return None
    fitting = tuple(tag for tag in dict.fromkeys(tags) if 0 < len(tag) <= MAX_NAME)[:MAX_TAGS]
    return Draft(text=text, tags=fitting)
