"""Seal what is about one user with a key of theirs: AES-256-GCM, one random nonce a line.

What stays in clear on the line is authenticated with it, so a sealed text can be moved to no other line, no other user
and no other trust. Sixteen letters in front say which key it was, so that a line whose key is gone is told from one
that somebody changed.
"""

from __future__ import annotations

import os
import time
from base64 import b64decode, b64encode
from collections.abc import Callable, Mapping
from functools import cache
from importlib.util import find_spec
from typing import TYPE_CHECKING, NamedTuple, cast

from memkit.errors import MissingExtra
from memkit.runtime.memory.record.lines import DECODER, JSON, NO_KEY, SealDamaged, encode_data, is_sealed
from memkit.runtime.memory.record.record import CLEAR, is_to_hide, unplaced

if TYPE_CHECKING:
    from pathlib import Path

    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

    from memkit.privacy.keys import KeyRing

VERSION = "1"
MARK = 16
"""Letters that stand for a key."""
NONCE = 12
TICK = 100_000_000
"""Nanoseconds that are longer than between two ticks of the clock by which a file system notes a change."""
MISSING = "Sealing needs a package: pip install cryptography (the extra memkit-agent[sealing])"


class Lock(NamedTuple):
    """A user's key, ready for use."""

    cipher: AESGCM
    mark: str


class KeySealer:
    """Seals with the keys of a ring, where the store wants it, and opens whatever the ring has a key for."""

    def __init__(self, ring: Callable[[], KeyRing], *, seals: bool) -> None:
        self._ring = ring
        self._seals = seals
        self._marks: tuple[Path, ...] = ()
        self._stamps: tuple[int, ...] = ()
        self._locks: dict[str, Lock | None] = {}
        """The locks of users, as long as no key came or went; None for a user without one."""

    def seal(self, data: Mapping[str, JSON], *, create: bool = True) -> Mapping[str, JSON]:
        """Return ``data`` sealed where the store seals and there is something to hide.

        Without a key, and where none is to be made, what stays clear is all that is returned.

        Raises:
            MissingExtra: ``cryptography`` is not installed.
            EnvironmentFault: The user's key is not here and cannot be made.
        """
        if not self._seals or is_sealed(data) or not is_to_hide(data):
            return data
        lock = self._lock(str(data["user_id"]), create=create)
        clear = {key: value for key, value in data.items() if key in CLEAR}
        if lock is None:
            return clear
        hidden = encode_data({key: value for key, value in data.items() if key not in CLEAR})
        nonce = os.urandom(NONCE)
        content = nonce + lock.cipher.encrypt(nonce, hidden.encode(), _bound(clear))
        return clear | {"sealed": f"{VERSION}.{lock.mark}.{b64encode(content).decode()}"}

    def open(self, data: Mapping[str, JSON]) -> Mapping[str, JSON]:
        """Return what was sealed, or ``data`` as it is when its key is not here.

        Raises:
            SealDamaged: The key is here and does not open it: the line, or what it holds, was changed.
        """
        if not is_sealed(data):
            return data
        version, _, rest = str(data["sealed"]).partition(".")
        mark, _, content = rest.partition(".")
        lock = self._lock(str(data.get("user_id"))) if has_cryptography() else None
        if version != VERSION or lock is None:
            return data
        if lock.mark != mark:
            if self._is_of_another_user(mark):
                raise SealDamaged("The sealed text is that of another user: it was moved to this line.")
            return data
        return self._opened(data, lock, content)

    def state(self, user_id: str) -> str:
        """Return what stands for the user's key."""
        lock = self._lock(user_id) if has_cryptography() else None
        return lock.mark if lock else NO_KEY

    def _opened(self, data: Mapping[str, JSON], lock: Lock, content: str) -> Mapping[str, JSON]:
        from cryptography.exceptions import InvalidTag

        clear = {key: value for key, value in unplaced(data).items() if key in CLEAR}
        try:
            sealed = b64decode(content, validate=True)
            hidden = lock.cipher.decrypt(sealed[:NONCE], sealed[NONCE:], _bound(clear))
        except (InvalidTag, ValueError):
            raise SealDamaged("The seal does not fit the line: one of them was changed after it was written.") from None
        return clear | cast("dict[str, JSON]", DECODER.decode(hidden.decode()))

    def _lock(self, user_id: str, *, create: bool = False) -> Lock | None:
        self._forget_if_keys_changed()
        known = self._locks.get(user_id)
        if known is not None or (user_id in self._locks and not create):
            return known
        key = self._ring().user_key(user_id, create=create)
        self._forget_if_keys_changed()
        self._locks[user_id] = lock = _lock(key) if key else None
        return lock

    def _forget_if_keys_changed(self) -> None:
        # Reading a key takes a hundred times as long as using it, and a file that comes or goes changes its folder.
        self._marks = self._marks or self._ring().marks()
        stamps = tuple(map(_stamp, self._marks))
        # Two changes within one tick of the file system's clock leave one time: a folder that changed just now tells
        # nothing, as in git (Documentation/technical/racy-git).
        is_settled = bool(stamps) and stamps[0] > 0 and max(stamps) < time.time_ns() - TICK
        if not is_settled or stamps != self._stamps:
            self._locks.clear()
        self._stamps = stamps if is_settled else ()

    def _is_of_another_user(self, mark: str) -> bool:
        return any(mark_of(key) == mark for key in self._ring().contents().values())


@cache
def has_cryptography() -> bool:
    """Return whether what seals and opens is installed."""
    return find_spec("cryptography") is not None


def mark_of(key: bytes) -> str:
    """Return letters that stand for a key and tell nothing of it."""
    import hmac

    return hmac.digest(key, b"memkit: mark of a key", "sha256").hex()[:MARK]


def _stamp(place: Path) -> int:
    try:
        return place.stat().st_mtime_ns
    except OSError:
        return 0


def _lock(key: bytes) -> Lock:
    if not has_cryptography():
        raise MissingExtra(MISSING)
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

    return Lock(AESGCM(key), mark_of(key))


def _bound(clear: Mapping[str, JSON]) -> bytes:
    """Return what the seal is bound to: everything of the line that is in clear."""
    return encode_data(clear).encode()
