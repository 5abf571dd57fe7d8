"""The newest turns of one user: in order of time, and searchable without counting all their words for each question."""

from bisect import bisect_left
from collections.abc import Iterable
from datetime import date

from .conversation import Conversation, Utterance
from .text import words
from .times import parse_time
from .turns import Turn

SLACK = 100
"""How many turns more than allowed are held before the oldest are let go."""


class NewestTurns:
    """At most ``most`` turns, oldest first."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._turns: list[Turn] = []
        self._searched: Conversation | None = None
        """The same turns for searching; made when somebody first asks."""

    def add(self, turns: Iterable[Turn]) -> None:
        """Take in turns, usually newer ones than those that are here."""
        fresh = sorted(turns, key=_at)
        is_later = not self._turns or not fresh or fresh[0].at >= self._turns[-1].at
        self._turns = self._turns if is_later else sorted([*self._turns, *fresh], key=_at)
        if is_later:
            self._turns += fresh
        if not is_later or len(self._turns) > self._most + SLACK:
            self._searched = None
            self._turns = self._turns[max(0, len(self._turns) - self._most) :]
        if self._searched is not None:
            for turn in fresh:
                self._searched.add(_utterance(turn))

    def ranked(self, query: str, today: date, oldest: str) -> list[tuple[float, Turn]]:
        """Return the turns from ``oldest`` on that fit ``query``, best first, as ``Conversation`` ranks them."""
        if self._searched is None:
            self._searched = Conversation(map(_utterance, self._turns))
        start = self._start(oldest)
        ranked = self._searched.rank(query, today)
        return [(score, self._turns[place]) for score, place in ranked if place >= start]

    def _start(self, oldest: str) -> int:
        return max(bisect_left(self._turns, oldest, key=_at), len(self._turns) - self._most)


def _at(turn: Turn) -> str:
    return turn.at


def _utterance(turn: Turn) -> Utterance:
    """Return a turn as a conversation has it, named by its user or its role, and by the pronoun that means either."""
    named = {*words(turn.user_id), "user", "i", "me", "my", "mine"} if turn.role == "user" else {turn.role}
    named |= {"you", "your", "yours", "agent"} if turn.role == "assistant" else set()
    return Utterance(turn.text, turn.session_id, parse_time(turn.at).date(), frozenset(named))
