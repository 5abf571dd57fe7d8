"""What a person should know about keys, sealing and who can read this machine's part of a store."""

from __future__ import annotations

import stat
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from memkit.errors import MemkitError
from memkit.privacy.keys import KeyRing
from memkit.privacy.sealer import MISSING, has_cryptography
from memkit.terminal import counted

OTHERS = stat.S_IRWXG | stat.S_IRWXO


class ErasureFinding(NamedTuple):
    """One thing that was looked at."""

    name: str
    ok: bool
    detail: str


class Sealing(NamedTuple):
    """How a store seals, as far as its archive and its git know."""

    on: bool
    clear: int
    """Lines with text of a user in clear."""
    unreadable: int
    """Sealed lines whose key is not here."""
    remotes: tuple[str, ...]
    erased_unchecked: bool
    """Whether erased values are barred by digests whose key is not here."""
    withheld: bool
    """Whether keys are here that this clone may not use."""


def examined_keys(ring: KeyRing) -> ErasureFinding:
    """Return whether the store's keys are here, and for this user of the machine only."""
    try:
        folder = ring.folder
        if folder is None:
            return ErasureFinding("keys", True, "none yet: the first one is made when it is needed")
        if ring.is_withheld():
            detail = f"those of this store ({ring.key_id}) were not made in this clone: 'memkit trust' lets it use them"
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
        detail = f"erased values could come back: they are barred by digests whose key is {way}"
        yield ErasureFinding("erased values", False, detail)
    if not sealing.on:
        yield ErasureFinding("sealing", True, "off: git and its remotes hold text in clear")
    elif not has_cryptography():
        yield ErasureFinding("sealing", False, MISSING)
    elif sealing.clear:
        where = f", also for {', '.join(sealing.remotes)}" if sealing.remotes else ""
        before = f"{counted(sealing.clear, 'line')} from before in clear{where}"
        detail = f"on, and {before}; only 'memkit memory erase' ends that"
        yield ErasureFinding("sealing", not sealing.remotes, detail)
    else:
        yield ErasureFinding("sealing", True, "on: every text of a user is sealed")


def examined_state(folder: Path, *, seals: bool) -> ErasureFinding:
    """Return whether this machine's part of the store is for this user only: with a seal the index alone is clear."""
    clear = f"{'the index is' if seals else 'index and audit log are'} clear text (secrets masked)"
    try:
        if not folder.is_dir() or not folder.stat().st_mode & OTHERS:
            return ErasureFinding("index privacy", True, f"{clear}, readable by this user only")
        loose = [path for path in folder.rglob("*") if path.is_file() and path.lstat().st_mode & OTHERS]
    except OSError as error:
        return ErasureFinding("index privacy", False, f"{folder} cannot be looked at: {error.strerror}")
    if loose:
        detail = f"{clear}, and others can read {len(loose)} files: run chmod -R go= {folder}"
        return ErasureFinding("index privacy", False, detail)
    return ErasureFinding("index privacy", True, f"{clear}, readable by this user only (mode 0600)")
