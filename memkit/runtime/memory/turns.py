"""Turns of conversations as lines of a file, which several processes append to and a crash may cut short."""

import json
import os
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from .regular_files import open_regular, whole_file
from .sealing import NoSealer, Sealer, shown

TAIL = 64
"""So many bytes before the place where reading stopped tell whether a file is still the one that was read."""


@dataclass(frozen=True)
class Turn:
    """One thing that was said or returned in a session."""

    user_id: str
    session_id: str
    turn_id: int | None
    role: str
    text: str
    at: str
    agent_id: str | None = None
    """To or by which of the user's agents, where there are several."""


def line_of(turn: Turn, sealer: Sealer) -> bytes:
    """Return a turn as it stands in a file, without the end of the line."""
    data = sealer.seal({key: value for key, value in asdict(turn).items() if key != "agent_id" or value is not None})
    return json.dumps(data, ensure_ascii=False, sort_keys=True, separators=(",", ":")).encode(errors="replace")


def read_turns(file: Path, sealer: Sealer | None = None) -> Iterator[Turn]:
    """Yield the turns in ``file``; a line that a crash cut short, or whose key is not here, is passed over."""
    return turns_in(whole_file(file), sealer or NoSealer())


def turns_in(content: bytes, sealer: Sealer) -> Iterator[Turn]:
    """Yield the turns among the lines of ``content``."""
    for line in content.split(b"\n"):
        try:
            data: Any = shown(json.loads(line), sealer)
            turn = Turn(**data)
        except (ValueError, TypeError, AttributeError, RecursionError):
            continue
        if all(isinstance(text, str) for text in (turn.user_id, turn.session_id, turn.role, turn.text, turn.at)):
            yield turn


def dated_lines(file: Path) -> Iterator[tuple[str, bytes]]:
    """Yield the time and the bytes of every turn in ``file``, also of those whose text nobody here can read."""
    for line in whole_file(file).split(b"\n"):
        try:
            yield str(json.loads(line)["at"]), line
        except (ValueError, TypeError, KeyError, RecursionError):
            continue


def append_line(file: Path, line: bytes) -> None:
    """Append a line, or leave the file as it is; close a torn line first. Whoever appends holds the folder's lock."""
    descriptor = open_regular(file, os.O_RDWR | os.O_CREAT | os.O_APPEND)
    size = os.fstat(descriptor).st_size
    try:
        torn = size > 0 and os.pread(descriptor, 1, size - 1) != b"\n"
        rest = (b"\n" if torn else b"") + line + b"\n"
        while rest:
            rest = rest[os.write(descriptor, rest) :]
    except OSError:
        os.ftruncate(descriptor, size)  # a short write comes before "disk full"
        raise
    finally:
        os.close(descriptor)


@dataclass
class _Read:
    """How far a file was read."""

    state: tuple[int, int, int]
    """Its number, size and time of change."""
    offset: int
    """Where the first line begins that was not there yet."""
    tail: bytes
    """What stood right before that."""


class TurnFiles:
    """The files of one user's turns; reads only what came since it was asked last."""

    def __init__(self, folder: Path, user_id: str, sealer: Sealer) -> None:
        self._folder = folder
        self._user_id = user_id
        self._sealer = sealer
        self._read: dict[str, _Read] = {}
        self._keys: Any = None

    def news(self) -> tuple[bool, list[Turn]]:
        """Return the turns that came, and whether they are all there are.

        The latter is so at first, and whenever a file was deleted or rewritten, or the user's key came or went.
        """
        keys = self._sealer.state(self._user_id)
        found = self._found()
        if keys == self._keys and self._read.keys() <= found.keys():
            turns = [self._later(name, state) for name, state in found.items()]
            if None not in turns:
                return False, [turn for some in turns if some for turn in some]
        self._keys, self._read = keys, {}
        return True, [turn for name, state in self._found().items() for turn in self._later(name, state) or ()]

    def _found(self) -> dict[str, tuple[int, int, int]]:
        try:
            entries = sorted((entry for entry in os.scandir(self._folder)), key=lambda entry: entry.name)
            stats = {entry.name: entry.stat() for entry in entries if entry.name.endswith(".jsonl")}
        except FileNotFoundError:  # the folder, or a file that another process deleted just now
            return {}
        return {name: (stat.st_ino, stat.st_size, stat.st_mtime_ns) for name, stat in stats.items()}

    def _later(self, name: str, state: tuple[int, int, int]) -> list[Turn] | None:
        """Return what was appended to a file; None where it is no longer the file that was read."""
        before = self._read.get(name, _Read((state[0], 0, 0), 0, b""))
        if state == before.state:
            return []
        was_replaced = state[0] != before.state[0] or state[1] < before.offset
        was_edited = name in self._read and state[1] == before.state[1]
        if was_replaced or was_edited:
            return None
        try:
            with os.fdopen(open_regular(self._folder / name, os.O_RDONLY), "rb") as file:
                file.seek(before.offset - len(before.tail))
                content = file.read()
        except FileNotFoundError:
            return None if name in self._read else []
        if not content.startswith(before.tail):
            return None
        # What follows the last end of a line is still being written, or was cut short.
        whole = content[len(before.tail) : content.rfind(b"\n") + 1]
        self._read[name] = _Read(state, before.offset + len(whole), (before.tail + whole)[-TAIL:])
        return list(turns_in(whole, self._sealer))
