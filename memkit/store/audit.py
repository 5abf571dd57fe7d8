"""The audit log: what was written, read, refused and decided, one JSON object per line, on this machine only."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

from memkit.errors import MemkitError
from memkit.runtime.memory.log.clone import open_regular
from memkit.runtime.memory.record.lines import NoSealer, Sealer, is_sealed, shown

Event = Mapping[str, Any]
APPENDING = os.O_RDWR | os.O_APPEND | os.O_CREAT

_DEEDS = frozenset({
    "at", "event", "actor", "user_id", "session_id", "turn_id", "ids", "candidates", "tool", "decision", "outcome",
})  # fmt: skip
"""Keys that record that something was done, but not in which words."""
_NEVER_SEALED = frozenset({"key", "export", "restored", "erasure", "token"})
"""Events whose content comes from programs alone."""
_KEYS = ("at", "event", "actor", "user_id", "ids", "query", "candidates", "reason")


LONGEST = 4_000
"""The most characters of one call's arguments that the log keeps; longer ones are not kept at all."""


def recordable(values: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return arguments as the log stores them, with secrets masked; ``None`` if they are not plain data or too long."""
    from memkit.runtime.memory.gate.secrets import masked_tree  # finding secrets takes longer to load than a search

    try:
        spelled = json.dumps(values, ensure_ascii=False)
    except (TypeError, ValueError, RecursionError):
        return None
    kept: dict[str, Any] | None = masked_tree(json.loads(spelled)) if len(spelled) <= LONGEST else None
    return kept


class AuditLog:
    """Append events to ``<folder>/<YYYY-MM>.jsonl`` and read them back.

    An event is ``{at, event, actor, user_id, ids, query, candidates, reason}``; absent values are null. Free text is
    masked before it gets here, and sealed with its user's key if the store seals; a user without a key leaves no
    words here. The log is an account, not an acknowledgement, so it is not synced to the disk.
    """

    def __init__(self, folder: Path, clock: Callable[[], datetime], sealer: Callable[[], Sealer] = NoSealer) -> None:
        self._folder = folder
        self._clock = clock
        self._sealer = sealer
        self.is_kept = True
        """False while events must not leave a trace."""
        self.told: Callable[[Event], None] | None = None
        """Receives each event as well, for example for telemetry."""

    def append(self, event: Event) -> None:
        """Write one event; a log that cannot be written never stops the work it records."""
        if not self.is_kept:
            return
        if self.told is not None:
            self.told(event)
        now = self._clock()
        full = {key: event.get(key) for key in _KEYS} | {
            "at": event.get("at") or now.isoformat().replace("+00:00", "Z")
        }
        line = _line(self._hidden(full | {key: event[key] for key in event if key not in _KEYS}))
        try:
            handle = self._opened(f"{now:%Y-%m}.jsonl")
        except OSError:
            return
        try:
            os.write(handle, _line_end(handle) + line.encode("utf-8", "backslashreplace") + b"\n")
        except OSError:
            return
        finally:
            os.close(handle)

    def _opened(self, name: str) -> int:
        """Return a month of the log, opened for appending; its folder usually exists."""
        try:
            return open_regular(self._folder / name, APPENDING)
        except FileNotFoundError:
            self._folder.mkdir(parents=True, exist_ok=True)
            return open_regular(self._folder / name, APPENDING)

    def drop_before(self, moment: datetime) -> int:
        """Delete the months that end before a moment, and return how many.

        A month is deleted as a file and never rewritten, because other processes append to it.
        """
        old = [path for path in sorted(self._folder.glob("????-??.jsonl")) if path.stem < f"{moment:%Y-%m}"]
        for path in old:
            path.unlink(missing_ok=True)
        return len(old)

    def withhold(self, user_id: str, session_id: str) -> int:
        """Blank what was said in the events of a session and return their number; that they happened stays.

        Each line keeps its length, because other processes append to the file meanwhile.
        """
        withheld = 0
        for path in sorted(self._folder.glob("????-??.jsonl")):
            handle = open_regular(path, os.O_RDWR)
            with os.fdopen(handle, "r+b") as file:
                place = 0
                for line in file.read().splitlines(keepends=True):
                    entry = self._entry(line.decode("utf-8", "replace"))
                    if entry and (entry.get("user_id"), entry.get("session_id")) == (user_id, session_id):
                        os.pwrite(file.fileno(), _blanked(entry).ljust(len(line.rstrip(b"\n"))), place)
                        withheld += 1
                    elif entry is None:  # cut short: it is unknown whose words these are
                        os.pwrite(file.fileno(), b" " * len(line.rstrip(b"\n")), place)
                    place += len(line)
        return withheld

    def events(self, *, user: str | None = None, event: str | None = None, since: str | None = None) -> Iterator[Event]:
        """Yield events oldest first, of one user, one kind, or since an RFC 3339 time."""
        if not self._folder.is_dir():
            return
        for path in sorted(self._folder.glob("*.jsonl")):
            for entry in self._entries(path, user):
                wanted = (
                    (user is None or entry.get("user_id") == user)
                    and (event is None or entry.get("event") == event)
                    and (since is None or str(entry.get("at", "")) >= since)
                )
                if wanted:
                    yield entry

    def of_user(self, user_id: str) -> Iterator[tuple[str, Event]]:
        """Yield the events of one user, each with the month of its file."""
        for path in sorted(self._folder.glob("????-??.jsonl")):
            for entry in self._entries(path, user_id):
                if entry.get("user_id") == user_id:
                    yield path.stem, entry

    def bring_back(self, user_id: str, month: str, events: Iterable[Event]) -> int:
        """Put events back into the file of their month, and return how many were not in it already."""
        new = 0
        path = self._folder / f"{month}.jsonl"
        here = self._entries(path, user_id) if path.exists() else iter(())
        known = Counter(_line(entry) for entry in here if entry.get("user_id") == user_id)
        self._folder.mkdir(parents=True, exist_ok=True)
        handle = open_regular(path, APPENDING)
        with os.fdopen(handle, "wb") as file:
            file.write(_line_end(handle))
            for event in events:
                line = _line(event)
                if known[line]:
                    known[line] -= 1
                else:
                    file.write(_line(self._hidden(event)).encode("utf-8", "backslashreplace") + b"\n")
                    new += 1
        return new

    def _hidden(self, event: Event) -> Event:
        """Return an event as it is written: programs' events about keys and copies must be readable without a key."""
        if event.get("user_id") is None or event["event"] in _NEVER_SEALED:
            return event
        try:
            hidden = self._sealer().seal(event, create=False)
        except MemkitError:  # the key is damaged, or the sealing library is not installed
            hidden = {"at": event["at"], "user_id": event["user_id"]}
        return event if hidden is event else {**hidden, "event": event["event"]}

    def _entries(self, path: Path, user: str | None) -> Iterator[Event]:
        """Yield the events in a file, opened if they are this user's; without a user, all."""
        with os.fdopen(open_regular(path, os.O_RDONLY), encoding="utf-8", errors="replace") as lines:
            for line in lines:
                if (entry := self._entry(line, user)) is not None:
                    yield entry

    def _entry(self, line: str, user: str | None = None) -> Event | None:
        try:
            entry = json.loads(line)
        except (ValueError, RecursionError):
            return None  # the torn last line of a killed process: an account may end in the middle of a word
        if not isinstance(entry, dict):
            return None
        if not is_sealed(entry) or (user is not None and entry.get("user_id") != user):
            return entry
        opened = shown(entry, self._sealer())
        return opened if opened is not entry else {key: entry[key] for key in entry if key != "sealed"}


def _line(event: Event) -> str:
    return json.dumps(event, ensure_ascii=False, sort_keys=True)


def _line_end(handle: int) -> bytes:
    """Return the line end that is missing where a full disk or a kill cut a file's last line short."""
    size = os.fstat(handle).st_size
    return b"\n" if size and os.pread(handle, 1, size - 1) != b"\n" else b""


def _blanked(event: Event) -> bytes:
    """Return an event without its words; never longer than it was written."""
    kept = {key: event[key] for key in event if key in _DEEDS}
    return json.dumps(kept, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "backslashreplace")
