"""A journal on disk: durable JSON lines in a file that only one process at a time may have open."""

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
    """Explains why the journal of a session cannot be used."""

    exit_code = 3
    code = "journal"


class SessionInUse(JournalError):
    """Names the process that has the session open."""

    code = "session-in-use"


class TurnLeft(JournalError):
    """Reports that a person would rather decide later how a turn continues."""

    code = "turn-left"


class JournalFile:
    """The lines of one journal. A line counts once it is on disk with its newline; a truncated one does not.

    Other processes are locked out; within this process, whoever opened the journal last holds it.
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
            path: The journal file.
            settled: The folder that holds what makes the lines of the previous turn superfluous.
            hide: Converts an entry to what may be stored on disk.
            show: Converts a stored entry back.
            instead: Suggests how to talk while another process has the session open.
            share: Called on every change, so that other machines can continue from here.
        """
        self._share = share
        self._handle: int | None = None
        self._process = 0
        """The id of the process that opened the handle."""
        self.path = path
        self._settled = settled
        self._hide = hide
        self._show = show
        self._instead = instead
        self._unwritten = b""
        """Lines about completed steps for which there was no disk space yet."""

    @property
    def is_held(self) -> bool:
        """Return whether this process holds the lock."""
        return self._handle is not None

    def hold(self) -> None:
        """Lock out all other processes; raise ``SessionInUse`` if one holds the lock."""
        before = _HELD.get(self.path, self)
        if before is not self and before._process == os.getpid():
            self._handle, before._handle = before._handle, None  # whoever opened it last in this process takes it over
            self._process = before._process
        _HELD[self.path] = self
        if self._handle is not None and self._process == os.getpid() and os.fstat(self._handle).st_nlink:
            return
        # A handle inherited by a fork locks nobody out, and neither does a file that was deleted.
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
        """Return the stored entries; raise ``JournalError`` if the file is damaged or of a newer version."""
        try:
            self._write_unwritten()
        except OSError as error:
            raise self._explained(error) from None
        return [dict(self._show(entry)) for entry in read_entries(self.path)]

    def begin(self, entry: Entry) -> None:
        """Replace all earlier entries by this one, and return when it is on disk."""
        handle, size = self._open_handle(), os.fstat(self._open_handle()).st_size
        try:
            # What made the old lines superfluous must be on disk before they go; a new file's name must be there, too.
            _sync_folder(self._settled if size and self._settled and self._settled.is_dir() else self.path.parent)
            os.ftruncate(handle, 0)
        except OSError as error:
            raise self._explained(error) from None
        self._unwritten = b""
        self._note_holder()
        self.append(entry, sync=True)

    def append(self, entry: Entry, *, sync: bool = False, is_done: bool = False) -> None:
        """Add an entry; with ``sync`` return when it and all earlier ones are on disk.

        An entry about a completed step that does not fit on the disk is added as soon as there is space.
        """
        # The holder's line is no user's words, and must be readable without a key.
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
        """Remove all entries."""
        os.ftruncate(self._open_handle(), 0)
        self._note_holder()

    def __del__(self) -> None:
        """Release the lock if it was never closed."""
        self.close()

    def close(self) -> None:
        """Release the lock."""
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
        """Write all of the data, or leave the file unchanged."""
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
            return  # a full disk: the lock holds nevertheless

    def _explained(self, error: OSError) -> JournalError:
        return JournalError(f"{self.path} cannot be written: {error.strerror or error}.")


_HELD: WeakValueDictionary[Path, JournalFile] = WeakValueDictionary()
"""The journals that this process has open."""


def read_entries(path: Path) -> list[Entry]:
    """Return the complete lines of a journal as stored, without those that only name its holder.

    Raises:
        JournalError: It is not a file, a line is damaged, so that the completed steps are unknown, or a newer
            version wrote it.
    """
    if not path.is_file():
        raise _no_file(path)
    entries: list[Entry] = []
    for number, line in enumerate(path.read_bytes().split(b"\n")[:-1], 1):  # what follows the last newline is cut short
        try:
            entry = json.loads(line)
            operation, version = str(entry["op"]), entry.get("format", FORMAT)
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
            raise damaged(path, number) from None
        if not isinstance(version, int) or version > FORMAT:
            raise JournalError(f"{path} was written by a newer version. Update memkit to continue this session.")
        if operation != "held":
            entries.append(entry)
    return entries


def damaged(path: Path, line: int | None = None, *, is_sealed: bool = False) -> JournalError:
    """Return the error for a journal with unreadable lines."""
    if is_sealed:
        return JournalError(f"{path} is sealed, and its key is not here. Import the key, or use another session.")
    return JournalError(
        f"{path}{f':{line}' if line else ''} is damaged, so it is unknown which steps of the turn were done. Inspect "
        "and delete the file, or use another session."
    )


def _no_file(path: Path) -> JournalError:
    return JournalError(f"{path} is not a regular file. Move it away, or use another session.")


def _in_use(path: Path, instead: str) -> str:
    holders = re.findall(rb'^{"op": "held".*"pid": (\d+)', path.read_bytes(), re.MULTILINE)
    process = f"process {holders[-1].decode()}" if holders else "another process"
    return f"This session is open in {process}. End that conversation first, or use another session: {instead}."


def _sync_folder(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
