"""The intent of an erasure on disk, without content, so that a kill at any point leaves the old store or the new one.

Everything is built beside first. Until the journal says ``changing``, the old store stands and what was built is thrown
away; from then on every step is a rename or a removal that can be done again, and whoever comes next finishes them.
"""

from __future__ import annotations

import ctypes
import json
import os
import shutil
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from memkit.errors import EnvironmentFault
from memkit.runtime.memory.log.files import locked
from memkit.runtime.memory.log.shards import sync_folder
from memkit.runtime.memory.record.errors import StoreLocked
from memkit.store.layout import cache_folder, state_folder

_FILE = "journal.json"
_NEW, _OLD, _FILES = "git", "old", "files"
UNPROVEN = "An interrupted erasure was finished, but not proven. Run 'memkit memory erase' again for that."
_MARK = "memkit-erasure"
"""Lies in the new repository, so that it can be told from the old one after the exchange."""
_LOCK, _OURS = "index.lock", b"memkit memory erase"
_RENAME_EXCHANGE, _AT_FDCWD = 2, -100


@dataclass(frozen=True)
class Replacement:
    """A file whose content is taken from beside, or that goes."""

    path: str
    """Absolute."""
    staged: str | None
    """The name of the new content; None to remove."""


@dataclass(frozen=True)
class Intent:
    """What an erasure is about to change; nothing in it repeats a text or names the person."""

    git_folder: str | None = None
    replacements: tuple[Replacement, ...] = ()
    owed: Mapping[str, Any] = field(default_factory=dict)
    """What is still to do when the files are changed: keyed digests, for the tombstones and the certificate."""


class Journal:
    """The working folder of one erasure under ``.memkit/state/erase/``."""

    def __init__(self, store: Path) -> None:
        self._store = store
        self.folder = state_folder(store) / "erase"
        self._path = self.folder / _FILE

    @property
    def phase(self) -> str | None:
        """Return ``building``, ``changing``, ``unproven``, or None when no erasure is under way."""
        entry = self._read()
        return entry["phase"] if entry else None

    @property
    def intent(self) -> Intent:
        """Return what is to be changed."""
        data = (self._read() or {}).get("intent", {})
        replacements = tuple(Replacement(**item) for item in data.get("replacements", ()))
        return Intent(data.get("git_folder"), replacements, data.get("owed", {}))

    @property
    def new_repository(self) -> Path:
        """Return where the new repository is built."""
        return self.folder / _NEW

    @contextmanager
    def preparing(self, git_folder: Path | None) -> Iterator[None]:
        """Say that an erasure is being prepared; unless the block commits it, everything stays as it was."""
        self.discard()
        (self.folder / _FILES).mkdir(parents=True, mode=0o700)
        self._write("building", Intent(str(git_folder) if git_folder else None))
        try:
            if git_folder:
                _hold(git_folder)
            yield
        except BaseException:
            if self.phase == "building":
                self.discard()
            raise

    def stage(self, number: int, content: bytes, like: Path) -> str:
        """Keep the new content of the file ``like`` beside, with its mode, and return its name."""
        path = self.folder / _FILES / str(number)
        path.write_bytes(content)
        with suppress(FileNotFoundError):
            shutil.copymode(like, path)
        return path.name

    def commit(self, intent: Intent) -> None:
        """Say that everything is built; from here on the change is finished, by this process or the next."""
        if intent.git_folder:
            (self.new_repository / _MARK).touch()
        os.sync()  # what was built is many files; the next line must not be on the disk before them
        self._write("changing", intent)

    def change(self) -> None:
        """Carry out the intent; every step can be done again."""
        intent = self.intent
        if intent.git_folder:
            self._exchange(Path(intent.git_folder))
        for replacement in intent.replacements:
            self._replace(replacement)
        shutil.rmtree(cache_folder(self._store), ignore_errors=True)
        self._write("unproven", Intent(owed=intent.owed))
        for name in (_NEW, _OLD, _FILES):
            shutil.rmtree(self.folder / name, ignore_errors=True)

    def discard(self) -> None:
        """Forget the erasure and what was built for it."""
        held = self.intent.git_folder
        if held and self.phase == "building":
            _release(Path(held))
        self._path.unlink(missing_ok=True)
        shutil.rmtree(self.folder, ignore_errors=True)

    def _exchange(self, current: Path) -> None:
        """Put the new repository in the place of the old one."""
        if (self.new_repository / _MARK).exists():
            if current.exists():
                _swap(self.new_repository, current, aside=self.folder / _OLD)
            else:  # killed between two renames
                self.new_repository.rename(current)
            sync_folder(current.parent)
        # The old one goes before the mark, which tells the two apart.
        for name in (_NEW, _OLD):
            shutil.rmtree(self.folder / name, ignore_errors=True)
        (current / _MARK).unlink(missing_ok=True)

    def _replace(self, replacement: Replacement) -> None:
        path = Path(replacement.path)
        if replacement.staged is not None:
            staged = self.folder / _FILES / replacement.staged
            if staged.exists():
                path.parent.mkdir(parents=True, exist_ok=True)
                staged.replace(path)
        elif path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink(missing_ok=True)

    def _read(self) -> dict[str, Any] | None:
        try:
            entry = json.loads(self._path.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return None
        return entry if isinstance(entry, dict) and "phase" in entry else None

    def _write(self, phase: str, intent: Intent) -> None:
        data = {"git_folder": intent.git_folder, "replacements": [vars(item) for item in intent.replacements],
                "owed": dict(intent.owed)}  # fmt: skip
        beside = self._path.with_suffix(".new")
        with beside.open("w", encoding="utf-8") as file:
            json.dump({"phase": phase, "intent": data}, file)
            file.flush()
            os.fsync(file.fileno())
        beside.replace(self._path)
        sync_folder(self.folder)


def resume(store: Path) -> str | None:
    """Finish or undo an erasure that was interrupted, and return what to tell; None when there is none.

    One that still runs holds the store's lock and is left alone.
    """
    journal = Journal(store)
    if journal.phase in (None, "unproven"):
        return None
    try:
        with locked(state_folder(store) / "lock", timeout=0.0):
            if journal.phase == "building":
                journal.discard()
                return "An erasure was interrupted before it changed anything. Start it again."
            if journal.phase == "changing":
                journal.change()
                return UNPROVEN
    except StoreLocked:
        return None
    return None


def _hold(git_folder: Path) -> None:
    """Keep other gits from writing while the history is read: what they added would be lost."""
    try:
        descriptor = os.open(git_folder / _LOCK, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o644)
    except FileExistsError:
        raise EnvironmentFault(f"Another git is at work in {git_folder}. Try again. Nothing was changed.") from None
    os.write(descriptor, _OURS)
    os.close(descriptor)


def _release(git_folder: Path) -> None:
    """Take away the lock of ``_hold``, and no other."""
    with suppress(FileNotFoundError):
        if (git_folder / _LOCK).read_bytes() == _OURS:
            (git_folder / _LOCK).unlink()


def _swap(new: Path, current: Path, *, aside: Path) -> None:
    """Exchange two folders, at once where the kernel can."""
    if not _exchanged(new, current):
        current.rename(aside)
        new.rename(current)


def _exchanged(first: Path, second: Path) -> bool:
    """Exchange two names in one step (renameat2 of Linux); return False where that does not exist."""
    if not sys.platform.startswith("linux"):
        return False
    libc = ctypes.CDLL(None, use_errno=True)
    if not hasattr(libc, "renameat2"):
        return False
    names = [os.fsencode(path) for path in (first, second)]
    return bool(libc.renameat2(_AT_FDCWD, names[0], _AT_FDCWD, names[1], _RENAME_EXCHANGE) == 0)
