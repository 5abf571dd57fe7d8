"""Session state on disk: its turns as lines of a file that may be truncated, and its prompt as one file."""

import hashlib
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

from ..gate.secrets import mask, masked_tree
from ..log.clone import make_private, open_regular, whole_file
from ..record.lines import DECODER, NoSealer, Sealer, shown

if TYPE_CHECKING:
    from .context import MainContext, Message

TAIL = 64
"""The number of bytes before the read position that identify a file as the one read before."""


@dataclass(frozen=True)
class SessionTurn:
    """One thing that was said or returned in a session.

    >>> recall = RecallMemory(None)
    >>> _ = recall.append("ada", "monday", 1, "user", "My dog is called Rex.")
    >>> turn = recall.turns("monday", "ada")[0]
    >>> turn.role, turn.text, turn.turn_id
    ('user', 'My dog is called Rex.', 1)
    """

    user_id: str
    session_id: str
    turn_id: int | None
    role: str
    text: str
    at: str
    agent_id: str | None = None
    """The user's agent to or by which it was said, if there are several."""
    taint: tuple[str, ...] = ()
    """Origins that may have steered it."""
    parents: tuple[str, ...] = ()
    """Records that stood in the prompt under which it was said."""


OPTIONAL = ("agent_id", "taint", "parents")


def line_of(turn: SessionTurn, sealer: Sealer) -> bytes:
    """Return a turn as it is written to a file, without the line end."""
    data = sealer.seal({key: value for key, value in asdict(turn).items() if key not in OPTIONAL or value})
    return json.dumps(data, ensure_ascii=False, sort_keys=True, separators=(",", ":")).encode(errors="replace")


def read_turns(file: Path, sealer: Sealer | None = None) -> Iterator[SessionTurn]:
    """Yield the turns in ``file``, skipping lines that a crash truncated or whose key is not here."""
    return turns_in(whole_file(file), sealer or NoSealer())


def turns_in(content: bytes, sealer: Sealer) -> Iterator[SessionTurn]:
    """Yield the turns among the lines of ``content``."""
    for line in content.split(b"\n"):
        try:
            data: Any = shown(json.loads(line), sealer)
            turn = SessionTurn(
                **{**data, **{key: tuple(map(str, data.get(key) or ())) for key in ("taint", "parents")}}
            )
        except (ValueError, TypeError, AttributeError, RecursionError):
            continue
        if all(isinstance(text, str) for text in (turn.user_id, turn.session_id, turn.role, turn.text, turn.at)):
            yield turn


def dated_lines(file: Path) -> Iterator[tuple[str, bytes]]:
    """Yield the time and the bytes of every turn in ``file``, including turns that nobody here can decrypt."""
    for line in whole_file(file).split(b"\n"):
        try:
            yield str(json.loads(line)["at"]), line
        except (ValueError, TypeError, KeyError, RecursionError):
            continue


def append_line(file: Path, line: bytes) -> None:
    """Append a line, or leave the file unchanged; a torn line is closed first. The caller holds the folder's lock."""
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


class _ReadSoFar(NamedTuple):
    """How far a file was read."""

    state: tuple[int, int, int]
    """Its inode, size and modification time."""
    offset: int
    """The position after the last complete line."""
    tail: bytes
    """The bytes right before that position."""


class TurnFiles:
    """The files of one user's turns; reads only what was added since the last call."""

    def __init__(self, folder: Path, user_id: str, sealer: Sealer) -> None:
        self._folder = folder
        self._user_id = user_id
        self._sealer = sealer
        self._read: dict[str, _ReadSoFar] = {}
        self._keys: Any = None

    def news(self) -> tuple[bool, list[SessionTurn]]:
        """Return the new turns, and whether they are all there are.

        They are on the first call, and whenever a file was deleted or rewritten, or the user's key came or went.
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
        except FileNotFoundError:  # the folder, or a file that another process has just deleted
            return {}
        return {name: (stat.st_ino, stat.st_size, stat.st_mtime_ns) for name, stat in stats.items()}

    def _later(self, name: str, state: tuple[int, int, int]) -> list[SessionTurn] | None:
        """Return what was appended to a file; None if it is no longer the file read before."""
        before = self._read.get(name, _ReadSoFar((state[0], 0, 0), 0, b""))
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
        # Text after the last line end is still being written, or was truncated.
        whole = content[len(before.tail) : content.rfind(b"\n") + 1]
        self._read[name] = _ReadSoFar(state, before.offset + len(whole), (before.tail + whole)[-TAIL:])
        return list(turns_in(whole, self._sealer))


KNOWN = 500
"""The most record ids that a session may still cite; the newest ones."""
STARTED = "started_at"
TITLE = ("name", "parent", "agent_id", STARTED)
"""Keys that distinguish a user's sessions; absent if nobody set them."""
BESIDE = 4
"""How many lines of a summary before the new ones are searched for secrets again."""


class Kept(NamedTuple):
    """The state of a session besides its messages."""

    turns: int
    known: tuple[str, ...] = ()
    """Ids of the records that it retrieved or wrote."""
    name: str | None = None
    """The user's name for it."""
    parent: str | None = None
    """The session that it was forked from."""
    agent_id: str | None = None
    started_at: str | None = None
    working: Mapping[str, Any] | None = None
    """The running task, with ``at``: when it was last saved."""
    usage: Mapping[str, int] = MappingProxyType({})
    """The model's cost so far: tokens and requests."""
    taint: tuple[str, ...] = ()
    """Origins that may have steered the prompt's content."""
    drawn: int = 0
    """The last turn from which lasting facts were drawn."""


class SessionFile:
    """Messages, summary and books of one session, secrets masked, replaced as a whole after each turn."""

    def __init__(self, folder: Path, user_id: str, session_id: str, sealer: Sealer | None = None) -> None:
        self._whose = {"user_id": user_id, "session_id": session_id}
        self._sealer = sealer or NoSealer()
        self.path = folder / f"{session_digest(user_id, session_id)}.json"
        self._masked: list[tuple[Message, Any]] = []
        """The messages saved last, each with its written form."""
        self._masked_summary: tuple[list[str], list[str]] = ([], [])
        """The lines of the summary saved last, except the first, and their written form."""

    def load(self, main: "MainContext | None") -> Kept | None:
        """Restore the session into ``main``, if given, and return its books; None if there is no such session."""
        try:
            data = _content(self.path, self._sealer)
        except (OSError, ValueError):
            data = {}
        if not is_session(data):
            # Nothing saved, a damaged file, or a missing key: recall memory has the turns.
            return None
        if main is not None:
            main.restore(data.get("messages", []), data.get("summary", ""))
        told: dict[str, Any] = {key: data.get(key) for key in (*TITLE, "working")}
        usage, taint = _counts(data.get("usage")), tuple(data.get("taint", ()))
        drawn = drawn if type(drawn := data.get("drawn")) is int else 0
        return Kept(data["turns"], tuple(data["known"]), **told, usage=usage, taint=taint, drawn=drawn)

    def save(self, main: "MainContext | None", kept: Kept, *, without: "Sequence[Message]" = ()) -> None:
        """Save the books and, if ``main`` is given, its content.

        The messages ``without`` are not saved, nor is a summary that may mention them.
        """
        data: dict[str, Any] = {"turns": kept.turns, "known": list(kept.known[-KNOWN:])}
        data |= {"usage": dict(kept.usage)} if kept.usage else {}
        data |= {"taint": list(map(mask, kept.taint))} if kept.taint else {}
        data |= {"drawn": kept.drawn} if kept.drawn else {}
        told = {key: value for key in TITLE if (value := getattr(kept, key)) is not None}
        data |= {key: value if key == STARTED else mask(value) for key, value in told.items()}
        if kept.working is not None:
            data["working"] = masked_tree(kept.working)
        if main is not None:
            left_out = {id(message) for message in without}
            agreed = [message for message in main.messages if id(message) not in left_out]
            summary = "" if left_out else self._summary_masked(main.summary)
            data |= {"messages": self._masked_messages(agreed), "summary": summary}
        self.replace(data)

    def _masked_messages(self, messages: "Sequence[Message]") -> list[Any]:
        """Return messages with their secrets masked; only new ones are searched for any."""
        known = {id(message): masked for message, masked in self._masked}
        self._masked = [(one, known.get(id(one)) or masked_tree(one)) for one in messages]
        return [masked for _, masked in self._masked]

    def _summary_masked(self, summary: str) -> str:
        """Return the summary with its secrets masked; if it was only extended, only its new lines are searched.

        A few lines before them are searched, too: if a secret continues from those, the whole summary is searched.
        """
        from .budget import EARLIER  # looking for sessions alone needs no summaries

        before, masked = self._masked_summary
        first, *lines = summary.split("\n")
        known = next((len(before) - at for at in range(len(before)) if before[at:] == lines[: len(before) - at]), 0)
        joint = known - BESIDE
        fresh = mask("\n".join(lines[joint:])).split("\n") if first == EARLIER and joint >= 0 else []
        if not fresh or len(fresh) != len(lines) - joint or fresh[:BESIDE] != masked[-BESIDE:]:
            whole = mask(summary).split("\n")
            first, fresh, joint, known = whole[0], whole[1:], 0, 0
        told = [*masked[len(masked) - known :][:joint], *fresh]
        # A mask across a line end joins two lines, so that they no longer correspond one to one.
        self._masked_summary = (lines, told) if len(told) == len(lines) else ([], [])
        return "\n".join([first, *told])

    def bring_back(self, content: Mapping[str, Any]) -> bool:
        """Save what ``held_sessions`` returned if nothing is saved of this session; return whether that was so."""
        if is_new := not self.exists():
            self.replace(content)
        return is_new

    def exists(self) -> bool:
        """Return whether anything is saved of this session."""
        return self.path.exists()

    def replace(self, content: Mapping[str, Any]) -> None:
        """Save ``content``, already masked, replacing whatever is saved of this session."""
        data = {**content, **self._whose}
        make_private(self.path.parent)
        beside = self.path.with_suffix(f".{os.getpid()}.new")
        handle = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        try:
            with os.fdopen(handle, "w", encoding="utf-8", errors="backslashreplace") as file:
                file.write(json.dumps(self._sealer.seal(data), ensure_ascii=False))  # dumps runs in C, dump does not
                file.flush()
                os.fsync(file.fileno())
            beside.replace(self.path)
        except OSError:
            beside.unlink(missing_ok=True)
            raise

    def forget(self) -> None:
        """Delete the session's file."""
        self.path.unlink(missing_ok=True)


def name_digest(name: str) -> str:
    """Return what a user's or a session's name becomes in the name of a file: it has no slashes, and tells nobody."""
    return hashlib.sha256(name.encode(errors="replace")).hexdigest()[:32]


def session_digest(user_id: str, session_id: str) -> str:
    """Return the stem of every file of a session; it identifies nobody."""
    both = f"{user_id}\n{session_id}"
    return name_digest(both if both.count("\n") == 1 else f"{len(user_id)}\n{both}")  # no line end is of two readings


def held_sessions(folder: Path, user_id: str, sealer: Sealer) -> list[tuple[str, dict[str, Any]]]:
    """Return the saved content of every session of a user, with the session's name."""
    held = ((session, content) for _, session, content in files_of_sessions(folder, user_id, sealer))
    return sorted(held, key=lambda one: one[0])


def files_of_sessions(folder: Path, user_id: str, sealer: Sealer) -> Iterator[tuple[Path, str, dict[str, Any]]]:
    """Yield the file, the name and the saved content of every session of a user."""
    for path, data in _saved_in(folder, sealer):
        whose, session = data.get("user_id"), data.get("session_id")
        if whose == user_id and isinstance(session, str):
            yield path, session, {key: value for key, value in data.items() if key not in ("user_id", "session_id")}


def session_owners(folder: Path, session_id: str) -> list[str]:
    """Return the users who have a saved session of this name."""
    saved = (data for _, data in _saved_in(folder, NoSealer()) if data.get("session_id") == session_id)
    return sorted({str(data["user_id"]) for data in saved if "user_id" in data})


def _saved_in(folder: Path, sealer: Sealer) -> Iterator[tuple[Path, dict[str, Any]]]:
    for path in sorted(folder.glob("*.json")):
        try:
            data = _content(path, sealer)
        except (OSError, ValueError):
            continue  # a damaged file
        yield path, data


def drop_old_sessions(folder: Path, before: datetime) -> int:
    """Delete the sessions, or the journals of their turns, last written before a moment; return how many.

    Temporary files that a killed process left behind are deleted as well.
    """
    kept = [*folder.glob("*.json*"), *folder.glob("*.new")]
    old = [path for path in sorted(kept) if path.stat().st_mtime < before.timestamp()]
    for path in old:
        path.unlink(missing_ok=True)
    return len(old)


def is_session(data: Mapping[str, Any]) -> bool:
    """Return whether ``data`` has the form of a saved session that can be continued."""
    turns, known, messages = data.get("turns"), data.get("known"), data.get("messages", [])
    return (
        type(turns) is int
        and turns >= 0
        and isinstance(known, list)
        and all(isinstance(record_id, str) for record_id in known)
        and isinstance(messages, list)
        and all(map(_is_message, messages))
        and isinstance(data.get("summary", ""), str)
        and _are_texts(data.get("taint", []))
        and isinstance(data.get("working"), dict | None)
        and all(isinstance(data.get(key), str | None) for key in TITLE)
    )


def _is_message(value: Any) -> bool:
    if not isinstance(value, dict) or not isinstance(value.get("role"), str):
        return False
    if not _are_texts(value.get("taint", [])):
        return False
    calls = value.get("tool_calls") or []
    texts = (value.get(key) for key in ("content", "name", "tool_call_id"))
    return all(isinstance(text, str | None) for text in texts) and (
        isinstance(calls, list) and all(map(_is_call, calls))
    )


def _are_texts(value: Any) -> bool:
    return isinstance(value, list | tuple) and all(isinstance(text, str) for text in value)


def _is_call(value: Any) -> bool:
    return isinstance(value, dict) and all(isinstance(value.get(key), str) for key in ("id", "name"))


def _content(path: Path, sealer: Sealer) -> dict[str, Any]:
    """Return the content of a file, decrypted as far as possible; raise ``ValueError`` if it is not an object."""
    try:
        data = DECODER.decode(whole_file(path).decode("utf-8"))
    except RecursionError:
        raise ValueError(f"{path} is nested too deeply.") from None
    if not isinstance(data, dict):
        raise ValueError(f"{path} is not an object.")
    return dict(shown(data, sealer))


def _counts(usage: Any) -> dict[str, int]:
    """Return the counts in ``usage``; other values were put there by somebody else."""
    return {key: value for key, value in usage.items() if type(value) is int} if isinstance(usage, dict) else {}
