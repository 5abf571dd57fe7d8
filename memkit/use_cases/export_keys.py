"""Write the keys of a store to a file that a passphrase opens."""

from __future__ import annotations

import os
from pathlib import Path

from memkit.errors import EnvironmentFault, NotFound, UsageError
from memkit.privacy.key_file import encrypted
from memkit.privacy.keys import STORE
from memkit.workspace import Workspace


def export_keys(workspace: Workspace, file: Path, passphrase: str, *, user: str | None = None) -> int:
    """Write the store's key and those of all users, or of one, to the new ``file`` and return how many they are.

    Raises:
        NotFound: There is no key here, or none of this user.
        UsageError: The passphrase is empty, or the file is there already.
        EnvironmentFault: The file cannot be written.
    """
    if not passphrase:
        raise UsageError("An empty passphrase protects nothing.")
    ring = workspace.keys
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
        raise UsageError(f"{file} exists already. Name a new file.") from None
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
