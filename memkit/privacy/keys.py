"""The keys of one store, on this machine and outside of git.

A store's keys are in a folder of their own, ``$MEMKIT_KEYS/<key_id>`` (else ``$XDG_CONFIG_HOME/memkit/keys``, else
``~/.config/memkit/keys``). ``key_id`` is random and written in ``memkit.yaml``, so every clone of the store on this
machine looks in the same place, and a copy of the repository without this folder opens nothing. There is one key for
the store and one for each user; a user's file is named by a keyed digest, so the disk reveals no names.

Anybody can write another store's ``key_id`` into theirs. So keys exist only for a clone that may use them
(``store/allowances``); for any other clone it is as if they did not, and none is added to them or destroyed.
"""

from __future__ import annotations

import hmac
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

from memkit.errors import EnvironmentFault, UsageError
from memkit.runtime.memory.log.shards import locked, sync_folder
from memkit.store.allowances import KEY_ID, allow_keys, keys_file, may_use_keys
from memkit.store.config import read_manifest
from memkit.store.files import make_user_only, write_whole
from memkit.store.layout import keys_home
from memkit.store.trust import VARIABLE, Trust

SIZE = 32
"""Bytes of a key."""

STORE = "store"
_MARK = re.compile(r"[0-9a-f]{64}")
_SUFFIX = ".key"
_SECONDS = 30.0
NAMING = "Name the keys of this store"
"""The message of the commit that writes the key_id into memkit.yaml."""


class KeysElsewhere(EnvironmentFault):
    """Report that the store has keys, and that they are not on this machine."""

    code = "keys_elsewhere"


class KeyRing:
    """The keys of the store at ``root``; nothing is cached, so other processes' changes apply at once."""

    def __init__(self, root: Path, home: Path | None = None) -> None:
        self._root = root
        self._home = home

    @property
    def home(self) -> Path:
        """Return the folder of all stores' keys; raise ``UsageError`` if it would be inside this store."""
        home = self._home or keys_home()
        if home.resolve().is_relative_to(self._root.resolve()):
            raise UsageError(f"{home} is inside the store {self._root}, so git would track the keys.")
        return home

    @property
    def key_id(self) -> str | None:
        """Return the name of the store's keys in ``memkit.yaml``; None before the first key."""
        found = (read_manifest(self._root).get("privacy") or {}).get("key_id")
        return found if isinstance(found, str) and KEY_ID.fullmatch(found) else None

    @property
    def folder(self) -> Path | None:
        """Return the present or future folder of this store's keys; None before the first key."""
        return self.home / self.key_id if self.key_id else None

    @property
    def in_use(self) -> bool:
        """Return whether this clone may use the keys that ``memkit.yaml`` names."""
        key_id = self.key_id
        if key_id is None or may_use_keys(self._root, key_id):
            return True
        digest = os.environ.get(VARIABLE)
        return digest is not None and _trusted_for_this_run(self._root, key_id, digest)

    def is_withheld(self) -> bool:
        """Return whether keys are here that another clone uses, and that this one was not allowed to use."""
        return self.folder is not None and self.folder.is_dir() and not self.in_use

    def require_use(self) -> None:
        """Raise ``NotTrusted`` if the keys here are withheld from this clone."""
        if self.is_withheld():
            Trust(self._root).require(f"This store names keys ({self.key_id}) that were not created in this clone")

    def remedy(self) -> str:
        """Return why text stays sealed, as a sentence without its subject, and what to do."""
        if self.is_withheld():
            return "the keys on this machine belong to another clone. 'memkit trust' lets this one use them."
        return "the key is not on this machine. Import it: memkit key import FILE"

    def marks(self) -> tuple[Path, ...]:
        """Return the paths that change when a key is added or removed: their folder, and this clone's permission."""
        folder, allowed = self.folder, keys_file(self._root)
        return () if folder is None else (folder,) if allowed is None else (folder, allowed)

    def store_key(self, *, create: bool = False) -> bytes | None:
        """Return the key of the store itself, or None if there is none here.

        Args:
            create: Whether to create it, and write ``privacy.key_id`` to ``memkit.yaml``, if the store has none yet.

        Raises:
            KeysElsewhere: ``create`` is given and the store has keys on another machine.
            NotTrusted: ``create`` is given and the keys here are another clone's.
            EnvironmentFault: The key is damaged, or the folder or ``memkit.yaml`` cannot be written.
        """
        found = self._read(STORE)
        if found is not None or not create:
            return found
        with self._locked():
            return self._store_key_made()

    def user_key(self, user_id: str, *, create: bool = False) -> bytes | None:
        """Return the key of a user, or None if there is none here; raises as ``store_key`` does."""
        mark = self.mark(user_id, create=create)
        found = self._read(mark) if mark else None
        if mark is None or found is not None or not create:
            return found
        with self._locked():
            return self._read(mark) or self._write(mark, os.urandom(SIZE))

    def mark(self, user_id: str, *, create: bool = False) -> str | None:
        """Return the keyed digest that stands for a user in file names; None without a store key."""
        key = self.store_key(create=create)
        return hmac.digest(key, user_id.encode("utf-8", "surrogatepass"), "sha256").hex() if key else None

    def users(self) -> list[str]:
        """Return the marks of the users who have a key here; ``mark`` says which is whose."""
        return self._users() if self.in_use else []

    def _users(self) -> list[str]:
        folder = self.folder
        if folder is None or not folder.is_dir():
            return []
        names = (path.name.removesuffix(_SUFFIX) for path in folder.iterdir() if path.name.endswith(_SUFFIX))
        return sorted(name for name in names if _MARK.fullmatch(name))

    def destroy(self, user_id: str) -> bool:
        """Delete a user's key from this machine, and return whether there was one."""
        mark = self.mark(user_id)
        if mark is None or mark not in self.users():
            return False
        with self._locked():
            self._path(mark).unlink(missing_ok=True)
            sync_folder(self._path(mark).parent)
        return True

    def add(self, name: str, key: bytes) -> bool:
        """Store a key from another machine, and return whether it is new here.

        Bringing the store's own key, if it equals the one here, grants the use of the others.

        Args:
            name: ``store``, or the mark of a user.
            key: Its 32 bytes.

        Raises:
            UsageError: It is not a key, or ``memkit.yaml`` names no keys that it could belong to.
            EnvironmentFault: Another key of this name is here, which stays as it is.
        """
        if len(key) != SIZE or not (name == STORE or _MARK.fullmatch(name)):
            raise UsageError(f"{name!r:.80} with {len(key)} bytes is not a key of a store.")
        with self._locked():
            present = self._kept(name)
            if present is not None and not hmac.compare_digest(present, key):
                raise EnvironmentFault(f"A different key {name!r} already exists here. It was left unchanged.")
            if name == STORE and self.key_id is not None and (present is not None or not self._users()):
                allow_keys(self._root, self.key_id)
            self.require_use()
            if present is None:
                self._write(name, key)
            return present is None

    def adopt(self, key_id: str) -> None:
        """Take over the key_id of another clone for a store without one; raise ``UsageError`` for an invalid name."""
        if not KEY_ID.fullmatch(key_id):
            raise UsageError(f"{key_id!r:.80} is not a valid key id.")
        with self._locked():
            if self.key_id is None:
                self._name(key_id)

    def contents(self) -> dict[str, bytes]:
        """Return every key by its name: ``store`` and the marks of users."""
        return self.kept() if self.in_use else {}

    def kept(self) -> dict[str, bytes]:
        """Return the same as ``contents``, whoever may use it: for comparison with keys that a person brings."""
        found = {name: self._kept(name) for name in (STORE, *self._users())}
        return {name: key for name, key in found.items() if key is not None}

    def _store_key_made(self) -> bytes:
        found = self._read(STORE)  # another process may have created it while this one waited
        if found is not None:
            return found
        if self.key_id is not None:
            self.require_use()
            raise KeysElsewhere(
                f"The keys of this store ({self.key_id}) are not in {self.home}. Copy them from where they were "
                "created: 'memkit key export FILE' there, 'memkit key import FILE' here."
            )
        key_id, key = os.urandom(10).hex(), os.urandom(SIZE)
        # The key comes first: a key_id without keys would mean "made on another machine".
        _store_file(self.home / key_id / (STORE + _SUFFIX), key)
        try:
            allow_keys(self._root, key_id)
            self._name(key_id)
        except BaseException:
            (self.home / key_id / (STORE + _SUFFIX)).unlink()
            (self.home / key_id).rmdir()
            raise
        return key

    def _name(self, key_id: str) -> None:
        from memkit.store.manifest import change_manifest  # not needed for reading keys

        change_manifest(self._root, {"privacy.key_id": key_id}, NAMING)

    @contextmanager
    def _locked(self) -> Iterator[None]:
        make_user_only(self.home)
        with locked(self.home / "lock", timeout=_SECONDS):
            yield

    def _path(self, name: str) -> Path:
        folder = self.folder
        if folder is None:
            raise UsageError("memkit.yaml names no keys (privacy.key_id).")
        return folder / (name + _SUFFIX)

    def _read(self, name: str) -> bytes | None:
        return self._kept(name) if self.in_use else None

    def _kept(self, name: str) -> bytes | None:
        if self.key_id is None:
            return None
        path = self._path(name)
        try:
            descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError as error:
            raise EnvironmentFault(f"{path} cannot be read: {error.strerror}.") from None
        with os.fdopen(descriptor, "rb") as file:
            key = file.read(SIZE + 1)
        if len(key) != SIZE:
            raise EnvironmentFault(f"{path} is damaged: a key has {SIZE} bytes. Import it again from an export.")
        return key

    def _write(self, name: str, key: bytes) -> bytes:
        _store_file(self._path(name), key)
        return key


@cache
def _trusted_for_this_run(root: Path, key_id: str, digest: str) -> bool:
    """Return whether the environment names the digest of a store with these keys, which is slow to compute."""
    return Trust(root).holds()


def _store_file(path: Path, key: bytes) -> None:
    """Write a key to the disk with access for this user only."""
    make_user_only(path.parent)
    write_whole(path, key, mode=0o600)
