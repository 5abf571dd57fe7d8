"""A journal on the disk: JSON lines that stay, in a file that one process at a time may have open."""

from __future__ import annotations

import fcntl
import json
import os
import re
import stat
from collections.abc import Callable, Mapping
from pathlib import Path
from weakref import WeakValueDictionary

from .interface import JSON, LoopError

FORMAT = 1
Entry = Mapping[str, JSON]
FLAGS = os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK


class JournalError(LoopError):
    """Say why the journal of a session cannot be used."""

    exit_code = 3
    code = "journal"


class SessionInUse(JournalError):
    """Say which process has the session open."""

    code = "session-in-use"


class TurnLeft(JournalError):
    """Say that a person would rather decide later how a turn goes on."""

    code = "turn-left"


class JournalFile:
    """The lines of one journal. A line counts once it is on the disk with its end; one that was cut short never did.

    Other processes are kept out; in this one, who opened the journal last has it.
    """

    def __init__(
        self,
        path: Path,
        *,
        settled: Path | None = None,
        hide: Callable[[Entry], Entry] = lambda entry: entry,
        show: Callable[[Entry], Entry] = lambda entry: entry,
        instead: str = "leave out --session for a new one",
        share: Callable[[Path], None] = lambda path: None,
    ) -> None:
        """Name the file; nothing is written before ``hold``.

        Args:
            path: The file.
            settled: The folder in which the turn before left what makes its lines here superfluous.
            hide: Makes of an entry what may stand on the disk.
            show: Makes an entry again of what stands there.
            instead: How to talk where another process has the session open.
            share: Told of every change, so that other machines can go on from here.
        """
        self._share = share
        self._handle: int | None = None
        self._process = 0
        """In which process the handle was opened."""
        self.path = path
        self._settled = settled
        self._hide = hide
        self._show = show
        self._instead = instead
        self._unwritten = b""
        """Lines about what was done already, for which there was no room yet."""

    @property
    def is_held(self) -> bool:
        """Return whether this process keeps the others out."""
        return self._handle is not None

    def hold(self) -> None:
        """Keep every other process out; raise ``SessionInUse`` where one is in."""
        before = _HELD.get(self.path, self)
        if before is not self and before._process == os.getpid():
            self._handle, before._handle = before._handle, None  # who opened it here last goes on with it
            self._process = before._process
        _HELD[self.path] = self
        if self._handle is not None and self._process == os.getpid() and os.fstat(self._handle).st_nlink:
            return
        # What a fork inherits keeps nobody out, and neither does a file that somebody erased.
        self.close()
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            handle = os.open(self.path, FLAGS, 0o600)
        except OSError as error:
            raise JournalError(f"{self.path} cannot be opened: {error.strerror or error}.") from None
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            os.close(handle)
            raise _no_file(self.path)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(handle)
            raise SessionInUse(_in_use(self.path, self._instead)) from None
        self._handle, self._process = handle, os.getpid()
        self._cut_off_torn_line()

    def entries(self) -> list[Entry]:
        """Return what stands there; raise ``JournalError`` where it is damaged or of a newer version."""
        try:
            self._write_unwritten()
        except OSError as error:
            raise self._explained(error) from None
        return [dict(self._show(entry)) for entry in read_entries(self.path)]

    def begin(self, entry: Entry) -> None:
        """Put an entry in the place of everything before it, and return when it is on the disk."""
        handle, size = self._open_handle(), os.fstat(self._open_handle()).st_size
        try:
            # What made the old lines superfluous has to be on the disk before they go; a new file needs its name there.
            _sync_folder(self._settled if size and self._settled and self._settled.is_dir() else self.path.parent)
            os.ftruncate(handle, 0)
        except OSError as error:
            raise self._explained(error) from None
        self._unwritten = b""
        self._note_holder()
        self.append(entry, sync=True)

    def append(self, entry: Entry, *, sync: bool = False, is_done: bool = False) -> None:
        """Add an entry; with ``sync`` return when it and all before it are on the disk.

        An entry about what is done already, for which there is no room, is added as soon as there is some.
        """
        # Who holds the file is nobody's words, and is read by whoever has no key.
        shown = entry if entry["op"] == "held" else self._hide(entry)
        line = json.dumps(shown, ensure_ascii=False, default=str).encode("utf-8", "backslashreplace")
        try:
            self._write_unwritten()
            self._write(line + b"\n")
            if sync:
                os.fsync(self._open_handle())
            self._share(self.path)
        except OSError as error:
            if is_done:
                self._unwritten += line + b"\n"
            raise self._explained(error) from None

    def wipe(self) -> None:
        """Leave nothing in it."""
        os.ftruncate(self._open_handle(), 0)
        self._note_holder()

    def __del__(self) -> None:
        """Let other processes in, where nobody said that this one is done."""
        self.close()

    def close(self) -> None:
        """Let other processes in."""
        if self._handle is not None:
            os.close(self._handle)
            self._handle = None

    def _open_handle(self) -> int:
        if self._handle is None:
            raise JournalError(f"{self.path} is not open.")
        return self._handle

    def _write_unwritten(self) -> None:
        if self._unwritten:
            self._write(self._unwritten)
            self._unwritten = b""

    def _write(self, data: bytes) -> None:
        """Write all of it, or leave the file as it was."""
        handle = self._open_handle()
        size, rest = os.fstat(handle).st_size, memoryview(data)
        try:
            while rest:
                rest = rest[os.write(handle, rest) :]
        except OSError:
            os.ftruncate(handle, size)  # a short write comes before "disk full"
            raise

    def _note_holder(self) -> None:
        self.append({"op": "held", "format": FORMAT, "pid": os.getpid()})

    def _cut_off_torn_line(self) -> None:
        handle = self._open_handle()
        content = self.path.read_bytes()
        whole = content.rfind(b"\n") + 1
        if whole < len(content):
            os.ftruncate(handle, whole)
        try:
            self._note_holder()
        except JournalError:
            return  # a full disk: the lock holds all the same

    def _explained(self, error: OSError) -> JournalError:
        return JournalError(f"{self.path} cannot be written: {error.strerror or error}.")


_HELD: WeakValueDictionary[Path, JournalFile] = WeakValueDictionary()
"""The journals that this process has open."""


def read_entries(path: Path) -> list[Entry]:
    """Return the whole lines of a journal as they stand there, without those that only say who held it.

    Raises:
        JournalError: It is no file, a line is damaged, so that nobody can know which steps were done, or a newer
            version wrote it.
    """
    if not path.is_file():
        raise _no_file(path)
    entries: list[Entry] = []
    for number, line in enumerate(path.read_bytes().split(b"\n")[:-1], 1):  # after the last end a line was cut short
        try:
            entry = json.loads(line)
            operation, version = str(entry["op"]), entry.get("format", FORMAT)
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
            raise damaged(path, number) from None
        if not isinstance(version, int) or version > FORMAT:
            raise JournalError(f"{path} was written by a newer version. Update memkit to go on with this session.")
        if operation != "held":
            entries.append(entry)
    return entries


def damaged(path: Path, line: int | None = None, *, is_sealed: bool = False) -> JournalError:
    """Return the error for a journal of which not every line can be read."""
    if is_sealed:
        return JournalError(f"{path} is sealed, and its key is not here. Import the key, or talk in another session.")
    return JournalError(
        f"{path}{f':{line}' if line else ''} is damaged, so nobody can know which steps of the turn were done. "
        "Look at it and delete the file, or talk in another session."
    )


def _no_file(path: Path) -> JournalError:
    return JournalError(f"{path} is not a regular file. Move it away, or talk in another session.")


def _in_use(path: Path, instead: str) -> str:
    holders = re.findall(rb'^{"op": "held".*"pid": (\d+)', path.read_bytes(), re.MULTILINE)
    process = f"process {holders[-1].decode()}" if holders else "another process"
    return f"This session is open in {process}. End that conversation first, or talk in another session: {instead}."


def _sync_folder(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
