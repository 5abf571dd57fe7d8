"""Take in the keys that were exported on another machine."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from memkit.errors import NegativeAnswer, UsageError
from memkit.privacy.key_file import LARGEST, decrypted
from memkit.privacy.keys import STORE
from memkit.workspace import Workspace


@dataclass(frozen=True)
class KeysImported:
    """What an import of keys changed."""

    key_id: str
    new: int
    known: int
    """Keys that were here already."""


def import_keys(workspace: Workspace, file: Path, passphrase: str) -> KeysImported:
    """Add the keys in ``file`` to those on this machine; all of them or, where one would replace another, none.

    Raises:
        UsageError: There is no such file, or it is no export of keys.
        NegativeAnswer: The passphrase is wrong, the keys are those of another store, or another key is here.
        MissingExtra: ``cryptography`` is not installed.
    """
    key_id, keys = decrypted(_read(file), passphrase)
    ring = workspace.keys
    if ring.key_id not in (None, key_id):
        raise NegativeAnswer(f"{file} holds the keys of another store ({key_id}); this one's are {ring.key_id}.")
    present = ring.contents()
    others = sorted(name for name, key in keys.items() if present.get(name, key) != key)
    if others:
        raise NegativeAnswer(
            f"Another key is here for {_named(workspace, others)}. It stays, and nothing was imported."
        )
    ring.adopt(key_id)
    # The store's key comes first: without it no other one can be found.
    added = [ring.add(name, keys[name]) for name in sorted(keys, key=lambda name: (name != STORE, name))]
    workspace.audit.append({"event": "key", "actor": "person", "reason": f"imported {sum(added)} new keys"})
    return KeysImported(key_id, sum(added), len(added) - sum(added))


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
