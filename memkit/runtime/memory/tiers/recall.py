"""Recall memory: every turn of every session, findable until it is too old. Secrets are masked before writing."""

import fcntl
import os
import threading
from bisect import bisect_left
from collections import Counter, OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from copy import copy
from dataclasses import replace
from datetime import date, datetime
from itertools import groupby, islice
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from ..gate.secrets import mask
from ..interface import Hit
from ..log.clone import make_private, whole_file
from ..record.lines import NoSealer, Sealer, parse_time, seconds_before, to_text, utc_now
from ..record.record import Record
from ..words.text import words
from .fence import ARCHIVE, RECALL
from .sessions import SessionTurn, TurnFiles, append_line, dated_lines, line_of, name_digest, read_turns

if TYPE_CHECKING:
    from .conversation import ConversationIndex, Similar, Utterance

AT = attrgetter("at")
SLACK = 100
"""How many turns beyond the limit are held before the oldest are dropped."""


BEGINNING = frozenset({"first", "earliest", "beginning", "start"})
AROUND = frozenset(
    {
        "a", "about", "asked", "at", "chat", "conversation", "did", "i", "in", "me", "message", "my", "of", "said",
        "say", "session", "tell", "that", "the", "thing", "things", "this", "told", "user", "very", "was", "we",
        "were", "what", "you",
    }
)  # fmt: skip
"""Other words in a question about the beginning of a conversation that has no other subject."""


def asks_for_beginning(query: str) -> bool:
    """Return whether a question asks for what was said first, rather than for something specific.

    >>> asks_for_beginning("what did I say first?"), asks_for_beginning("my first dog")
    (True, False)
    """
    asked = set(words(query))
    return not asked.isdisjoint(BEGINNING) and asked <= BEGINNING | AROUND


class NewestTurns:
    """At most ``most`` turns, oldest first."""

    def __init__(self, most: int, similar: "Similar | None" = None) -> None:
        self._most = most
        self._similar = similar
        self._turns: list[SessionTurn] = []
        self._searched: ConversationIndex | None = None
        """The same turns for searching; built on the first search."""

    def add(self, turns: Iterable[SessionTurn]) -> None:
        """Add turns, usually newer than the existing ones."""
        fresh = sorted(turns, key=AT)
        is_later = not self._turns or not fresh or fresh[0].at >= self._turns[-1].at
        self._turns = self._turns if is_later else sorted([*self._turns, *fresh], key=AT)
        if is_later:
            self._turns += fresh
        if not is_later or len(self._turns) > self._most + SLACK:
            self._searched = None
            self._turns = self._turns[max(0, len(self._turns) - self._most) :]
        if self._searched is not None:
            for turn in fresh:
                self._searched.add(_utterance(turn))

    def ranked(self, query: str, today: date, oldest: str) -> list[tuple[float, SessionTurn]]:
        """Return the turns from ``oldest`` on that fit ``query``, best first, as ``ConversationIndex`` ranks them."""
        start = self._start(oldest)
        ranked = self._index.rank(query, today)
        return [(score, self._turns[place]) for score, place in ranked if place >= start]

    def holding(self, query: str, today: date, oldest: str, least: float) -> list[tuple[float, SessionTurn]]:
        """Return the turns from ``oldest`` on with at least ``least`` of the question's words, and their share."""
        start = self._start(oldest)
        held = self._index.shares(query, today)
        fitting = [(share, place) for place, share in held.items() if share >= least and place >= start]
        return [(share, self._turns[place]) for share, place in sorted(fitting, key=lambda one: (-one[0], -one[1]))]

    @property
    def _index(self) -> "ConversationIndex":
        if self._searched is None:
            from .conversation import ConversationIndex

            self._searched = ConversationIndex(map(_utterance, self._turns), similar=self._similar)
        return self._searched

    def _start(self, oldest: str) -> int:
        return max(bisect_left(self._turns, oldest, key=AT), len(self._turns) - self._most)


def _utterance(turn: SessionTurn) -> "Utterance":
    """Return a turn as an utterance, named by its user or role, and by the pronoun that means either."""
    named = {*words(turn.user_id), "user", "i", "me", "my", "mine"} if turn.role == "user" else {turn.role}
    named |= {"you", "your", "yours", "agent"} if turn.role == "assistant" else set()
    from .conversation import Utterance

    return Utterance(turn.text, turn.session_id, parse_time(turn.at).date(), frozenset(named))


ROLES = ("user", "assistant", "tool", "system", "error")
USERS = 8
"""The number of users whose turns stay cached."""


class RecallMemory:
    """Keeps turns per user and session, in memory or as JSON lines under a directory.

    >>> recall = RecallMemory(None)  # in memory; RecallMemory(folder) keeps JSON lines there
    >>> _ = recall.append("ada", "monday", 1, "user", "My dog is called Rex.")
    >>> [turn.text for turn in recall.search("What is my dog called?", "ada")]
    ['My dog is called Rex.']
    """

    def __init__(
        self,
        path: Path | str | None = None,
        clock: Callable[[], datetime] = utc_now,
        ttl: float = 7 * 86400.0,
        max_items: int = 1000,
        sealer: Sealer | None = None,
        *,
        similar: "Similar | None" = None,
    ) -> None:
        self._similar = similar
        self._sealer = sealer or NoSealer()
        self._path = None if path is None else Path(path)
        self._clock = clock
        self._ttl = ttl
        self._max_items = max_items
        self._kept: dict[tuple[str, str], list[SessionTurn]] = {}
        self._newest: OrderedDict[str, tuple[TurnFiles | None, NewestTurns]] = OrderedDict()
        self._lines: dict[Path, int] = {}
        """The line counts of the files that this process appends to."""
        self._lock = threading.RLock()
        self._agents: tuple[str | None, ...] | None = None
        self.share: Callable[[Path, str], None] = lambda file, user_id: None
        """Called with every changed file and its owner, so that other machines can find its turns."""

    def of_agent(self, agent_id: str | None) -> "RecallMemory":
        """Return the memory of one agent, which keeps the turns of that agent and finds none of others.

        None stands for the agent of a user who names none.
        """
        own = copy(self)
        own._agents, own._newest = (agent_id,), OrderedDict()
        return own

    def _is_own(self, turn: SessionTurn) -> bool:
        return self._agents is None or turn.agent_id in self._agents

    def append(
        self, user_id: str, session_id: str, turn_id: int | None, role: str, text: str, taint: Sequence[str] = (),
        parents: Sequence[str] = (),
    ) -> SessionTurn:  # fmt: skip
        """Store one turn, secrets masked, and return it as stored."""
        turn = replace(self.stamped(user_id, session_id, turn_id, role, text, taint), parents=tuple(parents))
        with self._lock:
            if self._path is None:
                kept = self._kept.setdefault((user_id, session_id), [])
                kept.append(turn)
                del kept[: -self._max_items]
                if user_id in self._newest:
                    self._newest[user_id][1].add([turn])
            else:
                self._write(turn)
        return turn

    def stamped(
        self, user_id: str, session_id: str, turn_id: int | None, role: str, text: str, taint: Sequence[str] = ()
    ) -> SessionTurn:
        """Return a turn with the current time as it would be stored, secrets masked."""
        agent_id = self._agents[0] if self._agents else None
        steered = tuple(map(mask, taint))
        return SessionTurn(user_id, session_id, turn_id, role, mask(text), to_text(self._clock()), agent_id, steered)

    def turns(self, session_id: str, user_id: str) -> list[SessionTurn]:
        """Return the turns of one session of this user, oldest first."""
        with self._lock:
            return self._fresh(turn for turn in self._of_session(user_id, session_id) if turn.user_id == user_id)

    def sessions(self, user_id: str) -> list[str]:
        """Return the sessions of this user, most recently used first."""
        last = {session: turns[-1].at for session, turns in self.by_session(user_id).items()}
        return sorted(last, key=lambda session: (last[session], session), reverse=True)

    def by_session(self, user_id: str) -> dict[str, list[SessionTurn]]:
        """Return the turns of this user, oldest first, grouped by session."""
        found: dict[str, list[SessionTurn]] = {}
        with self._lock:
            for turn in self._fresh(turn for turn in self._all(user_id) if turn.user_id == user_id):
                found.setdefault(turn.session_id, []).append(turn)
        return found

    def forget(self, user_id: str, session_id: str) -> int:
        """Delete the turns of one session of a user and return their number."""
        with self._lock:
            if self._path is None:
                self._newest.pop(user_id, None)
                return len(self._kept.pop((user_id, session_id), ()))
            file = self._file(user_id, session_id)
            if not file.exists():
                return 0
            with _locked(file.parent / ".lock"):
                gone = sum(1 for _ in dated_lines(file))
                file.unlink(missing_ok=True)
            self._lines.pop(file, None)
            self.share(file, user_id)
            return gone

    def search(
        self, query: str, user_id: str, k: int = 5, session_id: str | None = None, *, beside: Sequence[SessionTurn] = ()
    ) -> list[SessionTurn]:
        """Return this user's turns that fit ``query`` best, as ``ConversationIndex`` ranks them; empty if none fits.

        Statistics cover all of the user's turns, even if only one session is searched. The turns in ``beside`` are
        searched in addition to the stored ones.
        """
        scored = self.ranked(query, user_id)
        if beside:
            others = NewestTurns(self._max_items, self._similar)
            others.add(beside)
            scored += others.ranked(query, self._clock().date(), self._oldest())
            scored.sort(key=lambda one: -one[0])
        ranked = (turn for _, turn in scored if session_id in (None, turn.session_id))
        return list(islice(ranked, max(0, k)))

    def ranked(self, query: str, user_id: str) -> list[tuple[float, SessionTurn]]:
        """Return every turn of this user that shares a word with ``query`` or neighbours one that does, best first."""
        with self._lock:
            return self._newest_of(user_id).ranked(query, self._clock().date(), self._oldest())

    def holding(self, query: str, user_id: str, least: float) -> list[tuple[float, SessionTurn]]:
        """Return the turns of this user and the agent that contain a share of ``query``'s words, best first."""
        with self._lock:
            found = self._newest_of(user_id).holding(query, self._clock().date(), self._oldest(), least)
        return [(share, turn) for share, turn in found if turn.role in ("user", "assistant")]

    def drop_expired(self, user_id: str | None = None) -> int:
        """Delete the turns of one user, or of all, that have outlived the session memory; return how many."""
        if self._path is None or not self._path.is_dir():
            return 0
        own = [self._directory(user_id)] if user_id is not None else sorted(self._path.iterdir())
        with self._lock:
            return sum(self._drop_expired_in(directory) for directory in own if directory.is_dir())

    def _drop_expired_in(self, directory: Path) -> int:
        oldest, dropped = self._oldest(), 0
        with _locked(directory / ".lock"):
            for file in sorted(directory.glob("*.jsonl")):
                turns = list(dated_lines(file))
                old = sum(at < oldest for at, _ in turns)
                if old == len(turns) and old:
                    file.unlink()
                elif old:
                    self._rewrite(file)
                if old:
                    self._lines.pop(file, None)
                dropped += old
        return dropped

    def everything(self, user_id: str) -> list[SessionTurn]:
        """Return every stored turn of this user, however old, by session and in the order they were stored."""
        with self._lock:
            return sorted(
                (turn for turn in self._all(user_id) if turn.user_id == user_id), key=lambda turn: turn.session_id
            )

    def bring_back(self, turns: Iterable[SessionTurn]) -> int:
        """Store turns unchanged, as they were masked when first stored, and return how many were new."""
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
                        self._newest.pop(whose[0], None)
                    else:
                        file = self._file(*whose)
                        make_private(file.parent)
                        with _locked(file.parent / ".lock"):
                            append_line(file, line_of(turn, self._sealer))
        return new

    def _fresh(self, turns: Iterable[SessionTurn]) -> list[SessionTurn]:
        """Return the turns that have not expired, oldest first."""
        oldest = self._oldest()
        return sorted((turn for turn in turns if turn.at >= oldest and self._is_own(turn)), key=lambda turn: turn.at)

    def _oldest(self) -> str:
        return to_text(seconds_before(self._clock(), self._ttl))

    def _newest_of(self, user_id: str) -> NewestTurns:
        """Return the newest turns of a user, including those that other processes wrote meanwhile."""
        if user_id not in self._newest:
            files = None if self._path is None else TurnFiles(self._directory(user_id), user_id, self._sealer)
            newest = NewestTurns(self._max_items, self._similar)
            newest.add(filter(self._is_own, self._all(user_id)) if files is None else ())
            self._newest[user_id] = files, newest
        self._newest.move_to_end(user_id)
        files, newest = self._newest[user_id]
        while len(self._newest) > USERS:
            self._newest.popitem(last=False)
        if files is None:
            return newest
        anew, turns = files.news()
        if anew:
            newest = NewestTurns(self._max_items, self._similar)
            self._newest[user_id] = files, newest
        newest.add(turn for turn in turns if turn.user_id == user_id and self._is_own(turn))
        return newest

    def _all(self, user_id: str) -> Iterable[SessionTurn]:
        if self._path is None:
            return [turn for (user, _), turns in self._kept.items() if user == user_id for turn in turns]
        return [
            turn for file in sorted(self._directory(user_id).glob("*.jsonl")) for turn in read_turns(file, self._sealer)
        ]

    def _of_session(self, user_id: str, session_id: str) -> Iterable[SessionTurn]:
        if self._path is None:
            return self._kept.get((user_id, session_id), ())
        file = self._file(user_id, session_id)
        return read_turns(file, self._sealer) if file.exists() else ()

    def _file(self, user_id: str, session_id: str) -> Path:
        return self._directory(user_id) / f"{name_digest(session_id)}.jsonl"

    def _directory(self, user_id: str) -> Path:
        assert self._path is not None
        return self._path / name_digest(user_id)

    def _write(self, turn: SessionTurn) -> None:
        file = self._file(turn.user_id, turn.session_id)
        directory = file.parent
        make_private(directory)
        with _locked(directory / ".lock"):
            if file not in self._lines:
                self._forget_expired(directory)
                self._lines[file] = whole_file(file).count(b"\n") if file.exists() else 0
            append_line(file, line_of(turn, self._sealer))
            self._lines[file] += 1
            if self._lines[file] > self._max_items + SLACK:
                self._lines[file] = self._rewrite(file)
        self.share(file, turn.user_id)

    def _forget_expired(self, directory: Path) -> None:
        oldest = self._oldest()
        for file in directory.glob("*.jsonl"):
            if all(at < oldest for at, _ in dated_lines(file)):
                file.unlink()

    def _rewrite(self, file: Path) -> int:
        """Rewrite ``file`` without turns that are too old or too many, and return how many remain."""
        oldest = self._oldest()
        kept = [line for at, line in dated_lines(file) if at >= oldest][-self._max_items :]
        beside = file.with_suffix(".new")
        beside.touch(mode=0o600)
        beside.write_bytes(b"".join(line + b"\n" for line in kept))
        beside.replace(file)
        return len(kept)


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


# What a turn is given unasked from long-term memory and earlier turns: what fits, and why the rest does not.

SHARE = 0.1
"""Share of the prompt's budget for recall in a turn."""
LEAST_SHARE = 0.5
"""Share of the asked words that an earlier turn must contain itself: talk repeats words, and mostly answers nothing."""
EXCERPT = 400
"""The most characters of an earlier turn that are shown."""


class RecalledPiece(NamedTuple):
    """A piece that fits the user's words or the current task."""

    tier: str
    """archive | recall"""
    said: str
    """Its own words."""
    text: str
    """The text that is shown."""
    fit: float
    """How well it fits, from 0 to 1."""
    id: str | None = None
    hit: Hit | None = None
    """The record that it comes from."""
    taint: tuple[str, ...] = ()
    """Origins that may have steered it."""
    parents: tuple[str, ...] = ()
    """Records that stood in the prompt under which a turn was said."""

    @property
    def line(self) -> str:
        """Return it in the form of the prompt."""
        return f"- [{self.id}] {self.text}" if self.id else f"- {self.text}"


class TurnRecall(NamedTuple):
    """What enters the prompt of a turn, and an account of what does not."""

    pieces: tuple[RecalledPiece, ...] = ()
    lost: tuple[Mapping[str, str], ...] = ()
    """``{id, reason}`` of records: taint, rank, budget, or the search's reason for dropping one."""
    tainted: int = 0
    """How many pieces were left out because outside text may have steered them."""


def pieces_of(
    hits: Iterable[Hit], turns: Iterable[tuple[float, SessionTurn]], taint_of: Callable[[Record], Sequence[str]]
) -> list[RecalledPiece]:
    """Return records in search order and earlier turns with their share of the words, merged, best first.

    ``taint_of`` returns the taint of a prompt that a record enters: more than its own where others wrote it.
    """
    pieces: list[RecalledPiece] = []
    fit = 1.0
    for hit in hits:
        # Confidence, age and use counted in the search: no record overtakes one that ranked above it there.
        fit = min(fit, hit.parts["relevance"])
        record = hit.record
        told = f"{record.type}, {record.confidence:.2f}, {record.source}, {record.created_at[:10]}"
        pieces.append(
            RecalledPiece(ARCHIVE, record.text, f"{record.text} ({told})", fit, hit.id, hit, tuple(taint_of(record)))
        )
    for share, turn in turns:
        said = " ".join(turn.text.split())
        excerpt = said if len(said) <= EXCERPT else f"{said[:EXCERPT]} …"
        shown = f"{turn.at[:10]} {turn.role}: {excerpt}"
        pieces.append(RecalledPiece(RECALL, said, shown, share, taint=tuple(turn.taint), parents=turn.parents))
    return sorted(pieces, key=lambda piece: -piece.fit)


def recall_for_turn(
    pieces: Sequence[RecalledPiece], most: int, budget: int, count: Callable[[str], int], shown: str
) -> TurnRecall:
    """Return at most ``most`` of the first ``pieces`` that fit in ``budget`` tokens and are not in the prompt yet.

    The pieces come best first; ``shown`` is the current text of the prompt.
    """
    chosen: list[RecalledPiece] = []
    lost: list[Mapping[str, str]] = []
    standing, tainted = _flat(shown), 0
    for piece in pieces:
        if (piece.id and piece.id in shown) or _flat(piece.said) in standing:
            continue
        cost = count(piece.line)
        if piece.taint:
            reason, tainted = "taint", tainted + 1
        elif len(chosen) >= most:
            reason = "rank"
        elif cost > budget:
            reason = "budget"
        else:
            chosen.append(piece)
            budget -= cost
            standing += f"\n{_flat(piece.said)}"
            continue
        if piece.id:
            lost.append({"id": piece.id, "reason": reason})
    return TurnRecall(tuple(chosen), tuple(lost), tainted)


def _flat(text: str) -> str:
    return " ".join(text.casefold().split())
