"""Sealing and opening of texts, export of keys to another machine, and checks of both.

The clear parts of a line are authenticated with its sealed text, so that it can be moved to no other line, user
or trust. Sixteen letters in front identify the key, so that a line whose key is gone is distinguished from one
that somebody changed.

The passphrase is stretched by scrypt (RFC 7914) with the cost that the file states, and the result encrypts the
keys with AES-256-GCM; everything else in the file is authenticated with them.
"""

from __future__ import annotations

import json
import os
import shlex
import stat
import time
from base64 import b64decode, b64encode
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from memkit.errors import MemkitError, MissingExtra, NegativeAnswer, UsageError
from memkit.privacy.keys import KeyRing
from memkit.runtime.host.terminal import counted
from memkit.runtime.memory.record.lines import DECODER, JSON, NO_KEY, SealDamaged, encode_data, is_sealed
from memkit.runtime.memory.record.record import CLEAR, is_to_hide, unplaced

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM


VERSION = "1"
MARK = 16
"""Letters that identify a key."""
NONCE = 12
TICK = 100_000_000
"""Nanoseconds longer than a tick of the clock by which a file system notes changes."""
MISSING = "Sealing needs a package: pip install cryptography (the extra memkit-agent[sealing])"


class Lock(NamedTuple):
    """A user's key, ready for use."""

    cipher: AESGCM
    mark: str


class KeySealer:
    """Seals with the keys of a ring, if the store wants it, and opens whatever the ring has a key for."""

    def __init__(self, ring: Callable[[], KeyRing], *, seals: bool) -> None:
        self._ring = ring
        self._seals = seals
        self._marks: tuple[Path, ...] = ()
        self._stamps: tuple[int, ...] = ()
        self._locks: dict[str, Lock | None] = {}
        """The locks of users, cached until a key is added or removed; None for a user without one."""

    def seal(self, data: Mapping[str, JSON], *, create: bool = True) -> Mapping[str, JSON]:
        """Return ``data`` sealed if the store seals and there is something to hide.

        Without a key, and if none is to be created, only the clear parts are returned.

        Raises:
            MissingExtra: ``cryptography`` is not installed.
            EnvironmentFault: The user's key is not here and cannot be created.
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
        """Return the opened data, or ``data`` as it is if its key is not here.

        Raises:
            SealDamaged: The key is here and does not open it: the line, or its sealed text, was changed.
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
                raise SealDamaged("The sealed text belongs to another user: it was moved to this line.")
            return data
        return self._opened(data, lock, content)

    def state(self, user_id: str) -> str:
        """Return a string that identifies the user's key."""
        lock = self._lock(user_id) if has_cryptography() else None
        return lock.mark if lock else NO_KEY

    def _opened(self, data: Mapping[str, JSON], lock: Lock, content: str) -> Mapping[str, JSON]:
        from cryptography.exceptions import InvalidTag

        clear = {key: value for key, value in unplaced(data).items() if key in CLEAR}
        try:
            sealed = b64decode(content, validate=True)
            hidden = lock.cipher.decrypt(sealed[:NONCE], sealed[NONCE:], _bound(clear))
        except (InvalidTag, ValueError):
            raise SealDamaged(
                "The seal does not match the line: one of them was changed after it was written."
            ) from None
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
        # Reading a key takes a hundred times as long as using it, and an added or removed file changes its folder.
        self._marks = self._marks or self._ring().marks()
        stamps = tuple(map(_stamp, self._marks))
        # Two changes within one tick of the file system's clock get one time: a folder that changed just now proves
        # nothing, as in git (Documentation/technical/racy-git).
        is_settled = bool(stamps) and stamps[0] > 0 and max(stamps) < time.time_ns() - TICK
        if not is_settled or stamps != self._stamps:
            self._locks.clear()
        self._stamps = stamps if is_settled else ()

    def _is_of_another_user(self, mark: str) -> bool:
        return any(mark_of(key) == mark for key in self._ring().contents().values())


@cache
def has_cryptography() -> bool:
    """Return whether the sealing library is installed."""
    return find_spec("cryptography") is not None


def mark_of(key: bytes) -> str:
    """Return letters that identify a key and reveal nothing about it."""
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
    """Return what the seal is bound to: everything on the line that is in clear."""
    return encode_data(clear).encode()


FORMAT = "memkit-keys"
EXPORT_VERSION = 1
COST = {"n": 2**17, "r": 8, "p": 1}
"""128 MB and a third of a second per guess, as OWASP's password storage cheat sheet recommends."""
MOST = {"n": 2**20, "r": 16, "p": 16}
"""The most that a file may require; a hostile one would take all memory."""
SALT = 16
LARGEST = 16 * 1024 * 1024
"""The most bytes of a file that are read: keys of more than 100,000 users."""


def encrypted(key_id: str, keys: Mapping[str, bytes], passphrase: str) -> bytes:
    """Return the content of a file that holds ``keys``; raise ``MissingExtra`` without ``cryptography``."""
    salt, nonce = os.urandom(SALT), os.urandom(NONCE)
    head: dict[str, Any] = {
        "format": FORMAT,
        "version": EXPORT_VERSION,
        "key_id": key_id,
        "kdf": {"name": "scrypt", **COST, "salt": _text(salt)},
        "cipher": {"name": "AES-256-GCM", "nonce": _text(nonce)},
    }
    content = encode_data({name: key.hex() for name, key in keys.items()}).encode()
    sealed = _cipher(passphrase, salt, COST).encrypt(nonce, content, encode_data(head).encode())
    return (json.dumps(head | {"keys": _text(sealed)}, indent=2) + "\n").encode()


def decrypted(content: bytes, passphrase: str) -> tuple[str, dict[str, bytes]]:
    """Return the key_id of the store whose keys a file holds, and the keys by name.

    Raises:
        UsageError: It is not such a file, or one of a newer memkit.
        NegativeAnswer: The passphrase does not open it, or it was changed.
        MissingExtra: ``cryptography`` is not installed.
    """
    head = _parsed(content)
    try:
        sealed = b64decode(head.pop("keys"), validate=True)
        salt, nonce = (
            b64decode(head[part][name], validate=True) for part, name in (("kdf", "salt"), ("cipher", "nonce"))
        )
        cost = {name: int(head["kdf"][name]) for name in COST}
        key_id = str(head["key_id"])
    except (KeyError, TypeError, ValueError):
        raise UsageError("This is not a key export: parts of it are missing or damaged.") from None
    if any(not 0 < cost[name] <= MOST[name] for name in MOST) or cost["n"] & (cost["n"] - 1) or len(nonce) != NONCE:
        raise UsageError("This is not a key export: its scrypt or AES parameters are out of range.")
    cipher = _cipher(passphrase, salt, cost)
    from cryptography.exceptions import InvalidTag

    try:
        keys = json.loads(cipher.decrypt(nonce, sealed, encode_data(head).encode()))
        return key_id, {name: bytes.fromhex(key) for name, key in keys.items()}
    except InvalidTag:
        raise NegativeAnswer("The passphrase is wrong, or the file was changed. Nothing was imported.") from None


def _parsed(content: bytes) -> dict[str, Any]:
    try:
        head = json.loads(content)
    except (ValueError, RecursionError):
        head = None
    if not isinstance(head, dict) or head.get("format") != FORMAT:
        raise UsageError("This is not a key export. 'memkit key export FILE' writes one.")
    if head.get("version") != EXPORT_VERSION:
        raise UsageError(
            f"This export has version {head.get('version')!r:.20}, and this memkit reads {EXPORT_VERSION}."
        )
    return head


def _cipher(passphrase: str, salt: bytes, cost: Mapping[str, int]) -> Any:
    if not has_cryptography():
        raise MissingExtra(MISSING)
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM
    from cryptography.hazmat.primitives.kdf.scrypt import Scrypt

    stretched = Scrypt(salt=salt, length=32, **cost).derive(passphrase.encode("utf-8", "surrogatepass"))
    return AESGCM(stretched)


def _text(data: bytes) -> str:
    return b64encode(data).decode()


OTHERS = stat.S_IRWXG | stat.S_IRWXO


class ErasureFinding(NamedTuple):
    """One result of a check."""

    name: str
    ok: bool
    detail: str


class Sealing(NamedTuple):
    """How a store seals, as far as its archive and its git know."""

    on: bool
    clear: int
    """Lines with a user's text in clear."""
    unreadable: int
    """Sealed lines whose key is not here."""
    remotes: tuple[str, ...]
    """Where such lines may have gone; not determined if there are none."""
    erased_unchecked: bool
    """Whether erased values are barred by digests whose key is not here."""
    erased_back: tuple[str, ...]
    """The users of whom values are here that were erased."""
    withheld: bool
    """Whether keys are here that this clone may not use."""


def examined_keys(ring: KeyRing) -> ErasureFinding:
    """Return whether the store's keys are here, and accessible to this user of the machine only."""
    try:
        folder = ring.folder
        if folder is None:
            return ErasureFinding("keys", True, "none yet: the first one is created when needed")
        if ring.is_withheld():
            detail = (
                f"those of this store ({ring.key_id}) were not created in this clone: 'memkit trust' lets it use them"
            )
            return ErasureFinding("keys", False, detail)
        if ring.store_key() is None:
            return ErasureFinding(
                "keys", False, f"those of this store ({ring.key_id}) are not in {ring.home}: import them"
            )
        loose = [path for path in (folder, *sorted(folder.iterdir())) if path.stat().st_mode & OTHERS]
    except (MemkitError, OSError) as error:
        return ErasureFinding("keys", False, str(error))
    if loose:
        return ErasureFinding("keys", False, f"others can read {loose[0]}: run chmod -R go= {folder}")
    return ErasureFinding("keys", True, f"{len(ring.users())} of users in {folder}, readable by this user only")


def examined_sealing(sealing: Sealing) -> Iterator[ErasureFinding]:
    """Yield what sealing hides and what it does not."""
    way = "of another clone: memkit trust" if sealing.withheld else "not here: memkit key import FILE"
    if sealing.unreadable:
        detail = f"{counted(sealing.unreadable, 'line is', 'lines are')} sealed with a key that is {way}"
        yield ErasureFinding("sealed text", False, detail)
    if sealing.erased_unchecked:
        detail = f"erased values could come back: the digests that bar them need a key that is {way}"
        yield ErasureFinding("erased values", False, detail)
    for user in sealing.erased_back:
        detail = (
            f"a clone that was not replaced brought some of {user!r} back. Replace it, then erase again: "
            f"memkit memory erase --user {shlex.quote(user)}"
        )
        yield ErasureFinding("erased values", False, detail)
    if not sealing.on:
        yield ErasureFinding("sealing", True, "off: git and its remotes contain unsealed text")
    elif not has_cryptography():
        yield ErasureFinding("sealing", False, MISSING)
    elif sealing.clear:
        where = f", also for {', '.join(sealing.remotes)}" if sealing.remotes else ""
        before = f"{counted(sealing.clear, 'line')} from before unsealed{where}"
        detail = f"on, and {before}; only 'memkit memory erase' ends that"
        yield ErasureFinding("sealing", not sealing.remotes, detail)
    else:
        yield ErasureFinding("sealing", True, "on: every text of a user is sealed")


def examined_state(folder: Path, *, seals: bool) -> ErasureFinding:
    """Return whether this machine's part of the store is private to its user: with a seal only the index is clear."""
    clear = f"{'the index is' if seals else 'index and audit log are'} clear text (secrets masked)"
    try:
        if not folder.is_dir() or not folder.stat().st_mode & OTHERS:
            return ErasureFinding("index privacy", True, f"{clear}, readable by this user only")
        loose = [path for path in folder.rglob("*") if path.is_file() and path.lstat().st_mode & OTHERS]
    except OSError as error:
        return ErasureFinding("index privacy", False, f"{folder} cannot be inspected: {error.strerror}")
    if loose:
        detail = f"{clear}, and others can read {len(loose)} files: run chmod -R go= {folder}"
        return ErasureFinding("index privacy", False, detail)
    return ErasureFinding("index privacy", True, f"{clear}, readable by this user only (mode 0600)")
