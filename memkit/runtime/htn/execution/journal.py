"""The journal of a run: one JSON object a line, on the disk before a step begins and after it ended."""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from ..errors import HtnError

FORMAT = 1
SPOKEN = ("result", "reason", "because", "reasons")
"""Keys under which a tool's own words stand, which may hold what nobody should read later."""
Entry = Mapping[str, Any]


class PlanJournalError(HtnError):
    """Say why a run's journal cannot be used."""

    exit_code = 3


class Journal:
    """Appends entries that stay, and keeps every other process out of the run while it is open.

    A line counts once it is on the disk with its end. One that a kill cut short was never acknowledged: of a step that
    was about to begin nothing has happened, and a step whose end was not written has an unknown outcome.
    """

    def __init__(
        self,
        path: Path,
        *,
        run: str = "run",
        stamp: Mapping[str, Any] | None = None,
        mask: Callable[[str], str] = lambda text: text,
    ) -> None:
        self.path = path
        self.run = run
        """What the run is called; the keys of its steps begin with it."""
        self._stamp = dict(stamp or {})
        self._mask = mask
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        try:
            self._handle = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        except OSError as error:
            raise PlanJournalError(f"{path} cannot be opened: {error.strerror or error}.") from None
        try:
            fcntl.flock(self._handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(self._handle)
            raise PlanJournalError(f"Another process carries this run out: {path} is locked.") from None
        try:
            self.entries: list[Entry] = self._read()
        except BaseException:
            self.close()
            raise
        _sync_folder(path.parent)

    def append(self, entry: Entry) -> None:
        """Put an entry on the disk, and return when it is there."""
        told = {key: self._masked(value) if key in SPOKEN else value for key, value in entry.items()}
        line = json.dumps(self._stamp | told, ensure_ascii=False, default=str)
        try:
            data = line.encode("utf-8", "backslashreplace") + b"\n"
            while data:
                data = data[os.write(self._handle, data) :]
            os.fsync(self._handle)
        except OSError as error:
            raise PlanJournalError(
                f"{self.path} cannot be written: {error.strerror or error}. The run stops."
            ) from None

    def _masked(self, value: Any) -> Any:
        if isinstance(value, str):
            return self._mask(value)
        if isinstance(value, Mapping):
            return {key: self._masked(item) for key, item in value.items()}
        return [self._masked(item) for item in value] if isinstance(value, list | tuple) else value

    def close(self) -> None:
        """Let other processes at the run."""
        if self._handle >= 0:
            os.close(self._handle)
            self._handle = -1

    def __enter__(self) -> Journal:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _read(self) -> list[Entry]:
        """Return the entries, and cut off a line that a kill left without its end."""
        entries = read_entries(self.path)
        content = self.path.read_bytes()
        whole = content.rfind(b"\n") + 1
        if whole < len(content):
            os.ftruncate(self._handle, whole)
            os.fsync(self._handle)
        return entries


def read_entries(path: Path) -> list[Entry]:
    """Return the entries of a journal that are whole; raise JournalError where it is damaged or of a newer memkit."""
    lines = path.read_bytes().split(b"\n")
    entries: list[Entry] = []
    for number, line in enumerate(lines[:-1], 1):  # what follows the last line end was cut short, or is nothing
        try:
            entry = json.loads(line)
        except ValueError:
            entry = None
        if not isinstance(entry, dict) or not isinstance(entry.get("event"), str):
            raise PlanJournalError(f"{path}:{number} is damaged, so nobody can know which steps were done.")
        entries.append(entry)
    if entries and (entries[0]["event"] != "begin" or not isinstance(entries[0].get("format"), int)):
        raise PlanJournalError(f"{path} does not begin as the journal of a run.")
    if entries and entries[0]["format"] > FORMAT:
        raise PlanJournalError(f"{path} was written by a newer version. Update memkit to go on with this run.")
    return entries


def _sync_folder(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
