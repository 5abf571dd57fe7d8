"""The sessions kept on this machine: how to tell them apart, and all files of one."""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from memkit.errors import EnvironmentFault, NotFound, UsageError
from memkit.runtime.memory.interface import ShardProblem
from memkit.runtime.memory.log.clone import open_regular, state_folder, whole_file
from memkit.runtime.memory.record.lines import Sealer, is_sealed, shown, to_text
from memkit.runtime.memory.tiers.sessions import SessionFile, files_of_sessions, is_session, session_digest
from memkit.runtime.memory.words.text import first_sentence

if TYPE_CHECKING:
    from memkit.runtime.memory.tiers.recall import RecallMemory
    from memkit.runtime.memory.tiers.sessions import SessionTurn

FOLDERS = ("sessions", "context")
"""Where the chat and generated projects store what a session's prompt held."""
MOST_NAMED = 10
"""Number of candidates that an error names."""


class SessionOpen(EnvironmentFault):
    """Report that another process has a session open."""

    code = "session-in-use"


class SessionCard(NamedTuple):
    """What identifies a session to a person."""

    session: str
    user_id: str
    started_at: str
    last_at: str
    turns: int
    first: str = ""
    """The beginning of the user's first words in it."""
    name: str | None = None
    agent_id: str | None = None
    parent: str | None = None
    """The session that it was forked from."""


class SessionBook:
    """The list of sessions. Each belongs to one user; for everybody else there is no such session."""

    def __init__(self, state: Path, recall: RecallMemory, sealer: Sealer, kept_from: datetime) -> None:
        """Read sessions below ``state``; those unused since ``kept_from`` have expired."""
        self._state = state
        self._recall = recall
        self._sealer = sealer
        self._kept_from = kept_from

    def of(self, user_id: str) -> list[SessionCard]:
        """Return the sessions of a user, most recently used first."""
        turns, files = self._recall.by_session(user_id), dict(self._files(user_id))
        cards = [_card(session, user_id, turns.get(session, ()), files.get(session)) for session in {*turns, *files}]
        return sorted(cards, key=lambda card: (card.last_at, card.session), reverse=True)

    def find(self, user_id: str, word: str) -> SessionCard:
        """Return the session that ``word`` means: an id, a name, or a prefix of an id.

        Raises:
            NotFound: This user has no such session.
            UsageError: Several ids have this prefix.
        """
        cards = self.of(user_id)
        whole = [card for card in cards if card.session == word] or [card for card in cards if card.name == word]
        fitting = whole or [card for card in cards if word and card.session.startswith(word)]
        if not fitting:
            from memkit.store.schema import suggestion

            near = suggestion(word, [name for card in cards for name in (card.session, card.name) if name])
            raise NotFound(
                f"No session {word!r:.60} here, or it is another user's.{near} 'memkit sessions list' shows them."
            )
        if len(fitting) > 1:
            raise UsageError(f"{word!r:.60} matches {len(fitting)} sessions: {_named(fitting)}. Give more of the id.")
        return fitting[0]

    def called(self, user_id: str, name: str) -> str | None:
        """Return the id of the session that this user calls ``name``, None if there is none or more than one."""
        if SessionFile(self._state / FOLDERS[0], user_id, name).exists():
            return name  # an id; nothing else needs to be read
        found = [session for session, kept in self._files(user_id) if kept.content.get("name") == name]
        return found[0] if len(found) == 1 else None

    def is_open(self, card: SessionCard) -> bool:
        """Return whether a process has a session open now."""
        try:
            with self.held(card):
                return False
        except SessionOpen:
            return True

    @contextmanager
    def held(self, card: SessionCard) -> Iterator[None]:
        """Keep every other process out of a session; raise ``SessionOpen`` if one is in it."""
        path = self._state / CHECKPOINTS / f"{session_digest(card.user_id, card.session)}.jsonl"
        try:
            handle = open_regular(path, os.O_RDONLY)
        except OSError:
            yield  # nobody has opened it since it was put here
            return
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(handle)
            raise SessionOpen(f"Session {card.session!r:.60} is in use. End that conversation first.") from None
        try:
            yield
        finally:
            os.close(handle)

    @contextmanager
    def all_held(self, user_id: str) -> Iterator[None]:
        """Keep every other process out of all sessions of a user; raise ``SessionOpen`` if one is in any."""
        with ExitStack() as locks:
            for card in self.of(user_id):
                locks.enter_context(self.held(card))
            yield

    def content(self, card: SessionCard) -> Mapping[str, Any]:
        """Return what is kept of a session besides its turns."""
        return next((kept.content for session, kept in self._files(card.user_id) if session == card.session), {})

    def rename(self, card: SessionCard, name: str) -> None:
        """Give a session a name.

        Raises:
            NotFound: It keeps nothing that could have a name.
            SessionOpen: The session is in use, and its process would overwrite the name.
        """
        found = [kept for session, kept in self._files(card.user_id) if session == card.session]
        if not found:
            raise NotFound(f"Only the turns of {card.session!r:.60} are left, and those cannot be renamed.")
        with self.held(card):
            for kept in found:
                file = SessionFile(kept.folder, card.user_id, card.session, self._sealer)
                file.replace({**kept.content, "name": name})

    def paths(self, card: SessionCard) -> list[Path]:
        """Return every file of one session, whoever writes it; its turns are elsewhere."""
        stem = session_digest(card.user_id, card.session)
        return [path for path in sorted(self._state.rglob(f"{stem}*")) if path.is_file()]

    def _files(self, user_id: str) -> Iterator[tuple[str, _File]]:
        for folder in FOLDERS:
            for path, session, content in files_of_sessions(self._state / folder, user_id, self._sealer):
                saved = datetime.fromtimestamp(path.stat().st_mtime, UTC)
                if saved >= self._kept_from:
                    yield session, _File(path.parent, to_text(saved), content)


class _File(NamedTuple):
    folder: Path
    saved_at: str
    content: Mapping[str, Any]


def _card(session: str, user_id: str, turns: Sequence[SessionTurn], file: _File | None) -> SessionCard:
    content = file.content if file else {}
    times = [turn.at for turn in turns] or ([file.saved_at] if file else [])
    counted = content.get("turns")
    return SessionCard(
        session=session,
        user_id=user_id,
        started_at=_text(content, "started_at") or times[0],
        last_at=times[-1],
        turns=counted if isinstance(counted, int) else max((turn.turn_id or 0 for turn in turns), default=0),
        first=next((first_sentence(turn.text) for turn in turns if turn.role == "user"), ""),
        name=_text(content, "name"),
        agent_id=_text(content, "agent_id"),
        parent=_text(content, "parent"),
    )


def _text(content: Mapping[str, Any], key: str) -> str | None:
    value = content.get(key)
    return value if isinstance(value, str) else None


def _named(cards: Sequence[SessionCard]) -> str:
    names = [f"{card.session} ({card.name})" if card.name else card.session for card in cards[:MOST_NAMED]]
    return ", ".join(names) + (" …" if len(cards) > MOST_NAMED else "")


CHECKPOINTS = "checkpoints"
Step = Mapping[str, Any]


class Checkpoints:
    """The journals in one folder, one file of JSON lines per session, each line with its user and session."""

    def __init__(self, folder: Path, sealer: Sealer) -> None:
        self._folder = folder
        self._sealer = sealer

    def of_user(self, user_id: str) -> Iterator[tuple[str, dict[str, Any]]]:
        """Yield every step of a user's sessions with the session's name; unreadable ones are skipped."""
        for path in sorted(self._folder.glob("*.jsonl")):
            for line in whole_file(path).split(b"\n"):
                try:
                    step: dict[str, Any] = dict(shown(json.loads(line), self._sealer))
                except (ValueError, TypeError, AttributeError, RecursionError):
                    continue
                if step.get("user_id") == user_id and isinstance(step.get("session_id"), str):
                    yield step["session_id"], step

    def bring_back(self, user_id: str, session_id: str, steps: Sequence[Step]) -> int:
        """Restore the steps of a session, unless others are here already, and return how many were missing here."""
        here = [step for session, step in self.of_user(user_id) if session == session_id]
        missing = list(steps[len(here) :]) if here == list(steps[: len(here)]) else []
        if missing:
            path = self._folder / f"{session_digest(user_id, session_id)}.jsonl"
            self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            handle = open_regular(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
            with os.fdopen(handle, "w", encoding="utf-8", errors="backslashreplace") as file:
                file.writelines(f"{json.dumps(self._sealer.seal(step), ensure_ascii=False)}\n" for step in missing)
                file.flush()
                os.fsync(file.fileno())
        return len(missing)


_PROMPT = "A session's saved prompt cannot be read. The session continues from its turns, which are stored separately."
_STEPS = "The steps of a session's last turn cannot be read, so it cannot continue. Its turns are stored separately."


def damaged_sessions(root: Path) -> Iterator[ShardProblem]:
    """Yield the files of sessions in the store at ``root`` that cannot be read."""
    state = state_folder(root)
    for folder in FOLDERS:
        for path in sorted((state / folder).glob("*.json")):
            if not _is_session(path):
                yield ShardProblem("session-damaged", path.relative_to(root).as_posix(), 0, _PROMPT)
    for path in sorted((state / CHECKPOINTS).glob("*.jsonl")):
        if _is_over(path):
            continue
        from memkit.runtime.loop.journal_file import JournalError, read_entries  # the loop, for unfinished turns only

        try:
            entries = read_entries(path)
            is_over = bool(entries) and entries[-1]["op"] == "closed"
            if not (is_over or any(map(is_sealed, entries))):  # sealed text without its key is not damaged
                from memkit.runtime.loop.journal import open_turn  # the whole loop, and few stores have an open turn

                open_turn(entries)
        except (JournalError, ValueError):
            yield ShardProblem("steps-damaged", path.relative_to(root).as_posix(), 0, _STEPS)


def _is_over(path: Path) -> bool:
    """Return whether a quick look shows that the steps are those of a closed turn, as most are."""
    try:
        lines = [json.loads(line) for line in whole_file(path).split(b"\n")[:-1]]
        steps = [line for line in lines if line["op"] != "held"]
        return steps[-1]["op"] == "closed" and all(line.get("format", 1) == 1 for line in lines)
    except (OSError, ValueError, TypeError, LookupError, AttributeError, RecursionError):
        return False


def _is_session(path: Path) -> bool:
    try:
        data = json.loads(whole_file(path))
    except (OSError, ValueError, RecursionError):
        return False
    is_owned = isinstance(data, dict) and all(isinstance(data.get(key), str) for key in ("user_id", "session_id"))
    return is_owned and (is_sealed(data) or is_session(data))
