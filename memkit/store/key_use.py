"""Which clone may use the keys that its store names.

A store names its keys in ``memkit.yaml``, and anybody can write there what another store's keys are called. So a name
opens nothing: a clone may use keys that were made in it, that a person imported there, or for which a person trusted
it. What says so is a file in the clone's own state, a place that nobody else can name (``runtime/memory/log/clone``).
It moves with the store, and no copy has it.
"""

from __future__ import annotations

import re
from contextlib import suppress
from pathlib import Path

from memkit.errors import EnvironmentFault, UsageError
from memkit.runtime.memory.log.clone import own_state
from memkit.runtime.memory.record.errors import NothingOfItsOwn
from memkit.store.files import write_whole
from memkit.store.layout import keys_home

KEY_ID = re.compile(r"[a-z0-9]{16,64}")
FILE = "keys"
"""The file in the clone's own state: a key_id a line."""


def place(root: Path) -> Path | None:
    """Return the file that names the keys that this clone may use; None where it can keep nothing of its own."""
    try:
        return own_state(root) / FILE
    except NothingOfItsOwn:
        return None


def may_use(root: Path, key_id: str) -> bool:
    """Return whether the clone at ``root`` may use the keys called ``key_id``."""
    return key_id in _allowed(place(root))


def allow(root: Path, key_id: str) -> None:
    """Let the clone at ``root`` use these keys; raises ``EnvironmentFault`` where that cannot be kept."""
    try:
        file = own_state(root) / FILE
    except NothingOfItsOwn as error:
        raise EnvironmentFault(f"That this clone may use its keys cannot be kept: {error}.") from None
    if key_id not in (allowed := _allowed(file)):
        write_whole(file, "".join(f"{each}\n" for each in sorted({*allowed, key_id})).encode(), mode=0o600)


def take_back(root: Path) -> bool:
    """Let the clone at ``root`` use no keys any more, and return whether it could use any."""
    file = place(root)
    if file is None or not _allowed(file):
        return False
    try:
        file.unlink()
    except OSError as error:
        raise EnvironmentFault(f"{file} cannot be removed: {error.strerror or error}.") from error
    return True


def asked_for(root: Path, key_id: object) -> str | None:
    """Return the name of keys that lie on this machine and that the clone at ``root`` would need a word for."""
    if not isinstance(key_id, str) or not KEY_ID.fullmatch(key_id) or may_use(root, key_id):
        return None
    with suppress(UsageError):  # no such place
        home = keys_home()
        if not home.resolve().is_relative_to(root.resolve()) and (home / key_id).is_dir():
            return key_id
    return None


def _allowed(file: Path | None) -> list[str]:
    with suppress(OSError, UnicodeDecodeError):
        return file.read_text(encoding="ascii").split() if file is not None else []
    return []
