"""Recall memory: every turn of every session, findable until it is too old. Masked before anything is written."""

import fcntl
import hashlib
import json
import os
import threading
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from itertools import groupby, islice
from pathlib import Path

from .conversation import Conversation, Utterance
from .sealing import NoSealer, Sealer, shown
from .secrets import mask
from .text import words
from .times import parse_time, to_text, utc_now

ROLES = ("user", "assistant", "tool", "system", "error")
SLACK = 100
"""How many turns more than allowed a file may hold before it is rewritten."""


@dataclass(frozen=True)
class Turn:
    """One thing that was said or returned in a session."""

    user_id: str
    session_id: str
    turn_id: int | None
    role: str
    text: str
    at: str


class RecallMemory:
    """Keeps turns per user and session, in memory or as JSON lines under a directory."""

    def __init__(
        self,
        path: Path | None = None,
        clock: Callable[[], datetime] = utc_now,
        ttl: float = 7 * 86400.0,
        max_items: int = 1000,
        sealer: Sealer | None = None,
    ) -> None:
        self._sealer = sealer or NoSealer()
        self._path = path
        self._clock = clock
        self._ttl = timedelta(seconds=ttl)
        self._max_items = max_items
        self._kept: dict[tuple[str, str], list[Turn]] = {}
        self._lines: dict[Path, int] = {}
        """How many lines the files have that this process appends to."""
        self._lock = threading.RLock()

    def append(self, user_id: str, session_id: str, turn_id: int | None, role: str, text: str) -> Turn:
        """Keep one turn, secrets masked, and return it as kept."""
        turn = Turn(user_id, session_id, turn_id, role, mask(text), to_text(self._clock()))
        with self._lock:
            if self._path is None:
                kept = self._kept.setdefault((user_id, session_id), [])
                kept.append(turn)
                del kept[: -self._max_items]
            else:
                self._write(turn)
        return turn

    def turns(self, session_id: str, user_id: str) -> list[Turn]:
        """Return the turns of one session of this user, oldest first."""
        return [turn for turn in self._of_user(user_id) if turn.session_id == session_id]

    def sessions(self, user_id: str) -> list[str]:
        """Return the sessions of this user, the one that was used last first."""
        last: dict[str, str] = {}
        for turn in self._of_user(user_id):
            last[turn.session_id] = turn.at
        return sorted(last, key=lambda session: (last[session], session), reverse=True)

    def search(self, query: str, user_id: str, k: int = 5, session_id: str | None = None) -> list[Turn]:
        """Return the turns of this user that fit ``query`` best, as ``Conversation`` ranks them; none when none does.

        Statistics are those of all of the user's turns, also where only one session is asked for.
        """
        turns = self._of_user(user_id)
        ranked = Conversation(map(_utterance, turns)).rank(query, self._clock().date())
        found = (turns[place] for _, place in ranked if session_id in (None, turns[place].session_id))
        return list(islice(found, max(0, k)))

    def drop_expired(self, user_id: str | None = None) -> int:
        """Delete the turns of one user, or of all, that are older than memory of sessions lasts; return how many."""
        if self._path is None or not self._path.is_dir():
            return 0
        own = [self._directory(user_id)] if user_id is not None else sorted(self._path.iterdir())
        with self._lock:
            return sum(self._drop_expired_in(directory) for directory in own if directory.is_dir())

    def _drop_expired_in(self, directory: Path) -> int:
        oldest, dropped = to_text(self._clock() - self._ttl), 0
        with _locked(directory / ".lock"):
            for file in sorted(directory.glob("*.jsonl")):
                turns = list(_dated_lines(file))
                old = sum(at < oldest for at, _ in turns)
                if old == len(turns) and old:
                    file.unlink()
                elif old:
                    self._rewrite(file)
                if old:
                    self._lines.pop(file, None)
                dropped += old
        return dropped

    def everything(self, user_id: str) -> list[Turn]:
        """Return every turn of this user that is kept, however old, by session and in the order they were kept."""
        with self._lock:
            return sorted(
                (turn for turn in self._all(user_id) if turn.user_id == user_id), key=lambda turn: turn.session_id
            )

    def bring_back(self, turns: Iterable[Turn]) -> int:
        """Keep turns as they are, masked when they were first kept, and return how many were not here already."""
        new = 0
        for whose, some in groupby(turns, key=lambda turn: (turn.user_id, turn.session_id)):
            with self._lock:
                here = Counter(self._of_session(*whose))
                for turn in some:
                    if here[turn]:
                        here[turn] -= 1
                        continue
                    new += 1
                    if self._path is None:
                        self._kept.setdefault(whose, []).append(turn)
                    else:
                        file = self._file(*whose)
                        file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
                        with _locked(file.parent / ".lock"):
                            _append_line(file, self._line(turn))
        return new

    def _of_user(self, user_id: str) -> list[Turn]:
        oldest = to_text(self._clock() - self._ttl)
        with self._lock:
            found = [turn for turn in self._all(user_id) if turn.at >= oldest and turn.user_id == user_id]
        return sorted(found, key=lambda turn: turn.at)[-self._max_items :]

    def _all(self, user_id: str) -> Iterable[Turn]:
        if self._path is None:
            return [turn for (user, _), turns in self._kept.items() if user == user_id for turn in turns]
        return [
            turn for file in sorted(self._directory(user_id).glob("*.jsonl")) for turn in read_turns(file, self._sealer)
        ]

    def _of_session(self, user_id: str, session_id: str) -> Iterable[Turn]:
        if self._path is None:
            return self._kept.get((user_id, session_id), ())
        file = self._file(user_id, session_id)
        return read_turns(file, self._sealer) if file.exists() else ()

    def _file(self, user_id: str, session_id: str) -> Path:
        return self._directory(user_id) / f"{_digest(session_id)}.jsonl"

    def _directory(self, user_id: str) -> Path:
        assert self._path is not None
        return self._path / _digest(user_id)

    def _write(self, turn: Turn) -> None:
        file = self._file(turn.user_id, turn.session_id)
        directory = file.parent
        directory.mkdir(parents=True, exist_ok=True, mode=0o700)
        with _locked(directory / ".lock"):
            if file not in self._lines:
                self._forget_expired(directory)
                self._lines[file] = file.read_bytes().count(b"\n") if file.exists() else 0
            _append_line(file, self._line(turn))
            self._lines[file] += 1
            if self._lines[file] > self._max_items + SLACK:
                self._lines[file] = self._rewrite(file)

    def _forget_expired(self, directory: Path) -> None:
        oldest = to_text(self._clock() - self._ttl)
        for file in directory.glob("*.jsonl"):
            if all(at < oldest for at, _ in _dated_lines(file)):
                file.unlink()

    def _rewrite(self, file: Path) -> int:
        """Keep in ``file`` what is neither too old nor too much, and return how many turns that are."""
        oldest = to_text(self._clock() - self._ttl)
        kept = [line for at, line in _dated_lines(file) if at >= oldest][-self._max_items :]
        beside = file.with_suffix(".new")
        beside.touch(mode=0o600)
        beside.write_bytes(b"".join(line + b"\n" for line in kept))
        beside.replace(file)
        return len(kept)

    def _line(self, turn: Turn) -> bytes:
        data = self._sealer.seal(asdict(turn))
        return json.dumps(data, ensure_ascii=False, sort_keys=True, separators=(",", ":")).encode(errors="replace")


def read_turns(file: Path, sealer: Sealer | None = None) -> Iterator[Turn]:
    """Yield the turns in ``file``; a line that a crash cut short, or whose key is not here, is passed over."""
    for line in file.read_bytes().split(b"\n"):
        try:
            data = json.loads(line)
            yield Turn(**(shown(data, sealer) if sealer else data))
        except (ValueError, TypeError, AttributeError):
            continue


def _dated_lines(file: Path) -> Iterator[tuple[str, bytes]]:
    """Yield the time and the bytes of every turn in ``file``, also of those whose text nobody here can read."""
    for line in file.read_bytes().split(b"\n"):
        try:
            yield str(json.loads(line)["at"]), line
        except (ValueError, TypeError, KeyError):
            continue


def _append_line(file: Path, line: bytes) -> None:
    descriptor = os.open(file, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
    try:
        size = os.fstat(descriptor).st_size
        torn = size > 0 and os.pread(descriptor, 1, size - 1) != b"\n"
        os.write(descriptor, (b"\n" if torn else b"") + line + b"\n")
    finally:
        os.close(descriptor)


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def _digest(name: str) -> str:
    # Names of people and sessions are no file names: they may hold slashes, and they may have to be forgotten.
    return hashlib.sha256(name.encode(errors="replace")).hexdigest()[:32]


def _utterance(turn: Turn) -> Utterance:
    """Return a turn as a conversation has it, named by its user or its role, and by the pronoun that means either."""
    named = {*words(turn.user_id), "user", "i", "me", "my", "mine"} if turn.role == "user" else {turn.role}
    named |= {"you", "your", "yours", "agent"} if turn.role == "assistant" else set()
    return Utterance(turn.text, turn.session_id, parse_time(turn.at).date(), frozenset(named))
