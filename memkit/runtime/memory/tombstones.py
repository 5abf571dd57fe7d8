"""Which values may not come back to a user: rejected ones, whose record tells, and erased ones, whose digest stays.

Only the value itself is barred, in every spelling that ``values.stated`` levels; a text that says the same in other
words is another value.
"""

from collections.abc import Callable, Iterable, Iterator
from datetime import datetime

from .errors import NoTombstoneKey
from .index import Index
from .index_catalogue import SHARED
from .index_corpus import CorpusIndex
from .interface import Tombstone
from .replay import Event
from .times import to_text
from .values import fingerprint, keyed_fingerprint

TombstoneKey = Callable[[], bytes | None]
"""Gives the store's key, or None where this machine does not have it."""
ERASED = "erased"
"""Whose lines keyed tombstones are: the digest alone knows of whom the value was."""


def no_key() -> None:
    """Give no key: what an archive without a key ring has."""


class Tombstones:
    """The tombstones of an archive as one offer finds them."""

    def __init__(self, index: Index, key: TombstoneKey) -> None:
        self._index = index
        self._key = key

    def bars(self, user_id: str, text: str) -> bool:
        """Return whether this value was rejected or erased for this user and not allowed again."""
        return next(self.of(user_id, text), None) is not None

    def of(self, user_id: str, text: str) -> Iterator[Tombstone]:
        """Yield every tombstone that bars this value."""
        digest = fingerprint(text)
        for scope, corpus in (("user", self._index.user(user_id)), (SHARED, self._shared())):
            for record_id in corpus.tombstones(digest) if corpus else ():
                yield Tombstone("rejected", record_id, scope)
        if keyed := self._erased(user_id, text):
            yield Tombstone("erased", keyed, SHARED)

    def cannot_be_checked(self) -> bool:
        """Return whether erased values are kept out by digests whose key is not here."""
        shared = self._shared()
        return shared is not None and shared.has_keyed_tombstones() and self._key() is None

    def _erased(self, user_id: str, text: str) -> str | None:
        """Return the digest under which this value is barred since it was erased."""
        shared = self._shared()
        if shared is None or not shared.has_keyed_tombstones():
            return None
        key = self._key()
        if key is None:
            return None
        digest = keyed_fingerprint(key, user_id, text)
        said = [event.op for event in shared.events(target=digest) if event.op in ("tombstone", "allow")]
        return digest if said and said[-1] == "tombstone" else None

    def _shared(self) -> CorpusIndex | None:
        return self._index.shared() if self._index.catalogue.state_of(SHARED) else None


def burials(
    key: bytes | None, user_id: str, values: Iterable[str], *, now: datetime, new_id: Callable[[], str]
) -> list[Event]:
    """Return the events that bar erased ``values`` of a user without holding anything that can be guessed from them.

    Their order is that of the digests, which tells nothing of the order in which the values were told.

    Raises:
        NoTombstoneKey: There is no key, and a digest without one can be guessed.
    """
    if key is None:
        raise NoTombstoneKey("Erased values need the store's key for their tombstones, and it is not here.")
    digests = sorted({keyed_fingerprint(key, user_id, value) for value in values})
    return [
        Event(
            id=new_id(), op="tombstone", target=digest, user_id=ERASED, at=to_text(now), actor="program", scope=SHARED
        )
        for digest in digests
    ]
