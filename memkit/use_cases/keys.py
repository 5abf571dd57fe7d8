"""The keys that open sealed text: list, carry, destroy."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from memkit.errors import EnvironmentFault, NegativeAnswer, NotFound, UsageError
from memkit.privacy.keys import STORE
from memkit.privacy.sealer import LARGEST, decrypted, encrypted
from memkit.runtime.memory.log.clone import lock_file
from memkit.runtime.memory.log.shards import LOCK_SECONDS, locked
from memkit.workspace import Workspace


@dataclass(frozen=True)
class KeyOwner:
    """One user who has a key here."""

    mark: str
    """Stands for the user in file names."""
    user_id: str | None
    """None if the archive holds nothing about this user."""


@dataclass(frozen=True)
class KeyList:
    """The keys of a store on this machine."""

    key_id: str | None
    """None as long as the store has no keys at all."""
    folder: Path | None
    store: bool
    """Whether the store's own key is here."""
    withheld: bool
    """Whether keys here are withheld from this clone because they belong to another."""
    users: tuple[KeyOwner, ...]


def list_keys(workspace: Workspace) -> KeyList:
    """Return which keys are here. No file names a user, so the names come from the archive."""
    ring = workspace.keys
    marks = ring.users()
    names = {ring.mark(user): user for user in workspace.archive.users()} if marks else {}
    owners = tuple(KeyOwner(mark, names.get(mark)) for mark in marks)
    return KeyList(ring.key_id, ring.folder, ring.store_key() is not None, ring.is_withheld(), owners)


def export_keys(workspace: Workspace, file: Path, passphrase: str, *, user: str | None = None) -> int:
    """Write the store's key and those of all users, or of one, to the new ``file`` and return their number.

    Raises:
        NotFound: There is no key here, or none of this user.
        NotTrusted: The keys here are those of another clone.
        UsageError: The passphrase is empty, or the file exists already.
        EnvironmentFault: The file cannot be written.
    """
    if not passphrase:
        raise UsageError("An empty passphrase protects nothing.")
    ring = workspace.keys
    ring.require_use()
    keys = ring.contents()
    if STORE not in keys or ring.key_id is None:
        raise NotFound("No key of this store is on this machine.")
    if user is not None:
        mark = ring.mark(user) or ""
        if mark not in keys:
            raise NotFound(f"No key of {user!r} is on this machine.")
        keys = {STORE: keys[STORE], mark: keys[mark]}
    _write_new(file, encrypted(ring.key_id, keys, passphrase))
    whose = {"user_id": user} if user is not None else {}
    workspace.audit.append({"event": "key", "actor": "person", "reason": f"exported {len(keys)} keys", **whose})
    return len(keys)


def _write_new(file: Path, content: bytes) -> None:
    try:
        descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    except FileExistsError:
        raise UsageError(f"{file} already exists. Name a new file.") from None
    except OSError as error:
        raise EnvironmentFault(f"{file} cannot be written: {error.strerror}.") from error
    try:
        with os.fdopen(descriptor, "wb") as handle:
            handle.write(content)
            handle.flush()
            os.fsync(handle.fileno())
    except OSError as error:
        file.unlink(missing_ok=True)
        raise EnvironmentFault(f"{file} cannot be written: {error.strerror}.") from error


def import_keys(workspace: Workspace, file: Path, passphrase: str) -> tuple[str, int, int]:
    """Add the keys in ``file`` to those on this machine; all of them, or none if one would replace another.

    Returns the name of the store's key, how many keys are new, and how many were here already.

    Raises:
        UsageError: There is no such file, or it is not an export of keys.
        NegativeAnswer: The passphrase is wrong, the keys are those of another store, or another key is here.
        MissingExtra: ``cryptography`` is not installed.
    """
    key_id, keys = decrypted(_read(file), passphrase)
    ring = workspace.keys
    if ring.key_id not in (None, key_id):
        raise NegativeAnswer(f"{file} contains the keys of another store ({key_id}); this one's are {ring.key_id}.")
    present = ring.kept()
    others = sorted(name for name, key in keys.items() if present.get(name, key) != key)
    if others:
        raise NegativeAnswer(
            f"A different key already exists here for {_named(workspace, others)}. Nothing was imported."
        )
    ring.adopt(key_id)
    # The store's key comes first: no other one can be found without it.
    added = [ring.add(name, keys[name]) for name in sorted(keys, key=lambda name: (name != STORE, name))]
    workspace.audit.append({"event": "key", "actor": "person", "reason": f"imported {sum(added)} new keys"})
    return key_id, sum(added), len(added) - sum(added)


def _read(file: Path) -> bytes:
    try:
        with file.open("rb") as handle:
            content = handle.read(LARGEST + 1)
    except OSError as error:
        raise UsageError(f"{file} cannot be read: {error.strerror}.") from None
    if len(content) > LARGEST:
        raise UsageError(f"{file} is too large to be an export of keys.")
    return content


def _named(workspace: Workspace, names: list[str]) -> str:
    users = {workspace.keys.mark(user): user for user in workspace.archive.users()}
    return ", ".join("the store itself" if name == STORE else str(users.get(name, name)) for name in names)


def destroy_key(workspace: Workspace, user: str, *, confirm: Callable[[], None]) -> tuple[int, list[str]]:
    """Delete the key of ``user`` from this machine, with the index that holds the sealed text in clear.

    Returns how many records cannot be read here any more, and the remotes, whose clones may have the key.

    Nobody writes meanwhile: a pending write is sealed and indexed before, or gets a key of its own after.

    Args:
        workspace: The store.
        user: Whose key it is.
        confirm: Asks a person; raises if the answer is no.

    Raises:
        NotFound: There is no such key here.
        NotTrusted: The keys here are those of another clone.
        SessionOpen: A conversation of theirs is still in progress, and would go on in clear.
        StoreLocked: Another process has been writing for too long.
    """
    ring = workspace.keys
    ring.require_use()
    if ring.user_key(user) is None:
        raise NotFound(f"No key of {user!r} is on this machine.")
    confirm()
    with workspace.session_book.all_held(user), locked(lock_file(workspace.root), timeout=LOCK_SECONDS):
        ring.destroy(user)
        workspace.archive.forget_index(user)
        shutil.rmtree(workspace.cache / "at", ignore_errors=True)  # past commits' contents, opened for looking back
        workspace.turn_vectors.unlink(missing_ok=True)
    workspace.audit.append({"event": "key", "actor": "person", "user_id": user, "reason": "destroyed"})
    return workspace.archive.sealed(user), workspace.git.run("remote", check=False).split()
