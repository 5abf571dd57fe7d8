"""Chores: what an agent does in a heartbeat, when no user is waiting."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from .bound import AnsweredErrors
from .config import Deadline
from .interface import JSON


@dataclass(frozen=True)
class Outcome:
    """What a chore did or found."""

    text: str
    """In a sentence, for the user and the model."""
    pending: bool = False
    """Whether somebody has to act on it; a chore itself does nothing that needs a user."""


class Chore(Protocol):
    """One thing to look after between the turns of users; doing it twice does no harm."""

    @property
    def name(self) -> str:
        """Return what the account of a heartbeat calls it."""
        ...

    def due(self) -> bool:
        """Return whether there is anything to do; quick, because every heartbeat asks."""
        ...

    def run(self) -> Outcome:
        """Do it. An error that has an ``exit_code`` is noted, and the other chores go on."""
        ...


@dataclass(frozen=True)
class Chores:
    """The chores of an agent, and how much of them one heartbeat may do."""

    every: Sequence[Chore] = field(default=())
    most: int = 5
    seconds: float = 30.0
    """No chore is begun later than this after the first."""

    def run(self, note: Callable[[Mapping[str, JSON]], None], turn: Deadline) -> list[str]:
        """Run what is due, in order, note each, and return what is pending; what no longer fits waits for the next.

        Args:
            note: Takes the memory operation ``{op: chore, name, done, text, pending}`` of each.
            turn: When the heartbeat has to end in any case.
        """
        own, begun = Deadline(self.seconds), 0
        pending = []
        for chore in self.every:
            if own.has_passed or turn.has_passed:
                break
            if not chore.due():
                continue
            if begun == self.most:
                note({"op": "chore", "name": chore.name, "done": False, "text": "left for later", "pending": False})
                continue
            begun += 1
            outcome = Outcome("")
            with AnsweredErrors() as errors:
                outcome = chore.run()
            text = outcome.text if errors.message is None else errors.message
            done = errors.message is None
            note({"op": "chore", "name": chore.name, "done": done, "text": text, "pending": outcome.pending})
            if outcome.pending:
                pending.append(text)
        return pending
