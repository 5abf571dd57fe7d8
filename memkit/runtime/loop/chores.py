"""Chores: what an agent does in a heartbeat, when no user is waiting."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from .bound import AnsweredErrors
from .interface import JSON
from .reply import Deadline


@dataclass(frozen=True)
class Outcome:
    """What a chore did or found.

    >>> class Backup:
    ...     name = "backup"
    ...
    ...     def due(self):
    ...         return True
    ...
    ...     def run(self):
    ...         return Outcome("The disk of the backup is full.", pending=True)
    >>> agent = MemGPTAgent(llm_client=lambda messages: "I looked after things.")
    >>> agent.chores = Chores([Backup()])
    >>> [(each["name"], each["text"]) for each in agent.heartbeat().data["memory_operations"]]
    [('backup', 'The disk of the backup is full.')]
    """

    text: str
    """A sentence for the user and the model."""
    pending: bool = False
    """Whether somebody has to act on it; a chore never does anything that needs a user."""


class Chore(Protocol):
    """One maintenance task between users' turns; running it twice does no harm."""

    @property
    def name(self) -> str:
        """Return its name in the account of a heartbeat."""

    def due(self) -> bool:
        """Return whether there is anything to do; must be quick, because every heartbeat asks."""

    def run(self) -> Outcome:
        """Do it. An error that has an ``exit_code`` is noted, and the other chores continue."""


@dataclass(frozen=True)
class Chores:
    """The chores of an agent, and how many of them one heartbeat may run.

    >>> class Sweep:
    ...     name = "sweep"
    ...
    ...     def due(self):
    ...         return True
    ...
    ...     def run(self):
    ...         return Outcome("Nothing was old.")
    >>> agent = MemGPTAgent(llm_client=lambda messages: "I looked after things.")
    >>> agent.chores = Chores([Sweep()], most=3, seconds=10.0)
    >>> agent.heartbeat().data["memory_operations"][0]["text"]
    'Nothing was old.'
    """

    every: Sequence[Chore] = field(default=())
    most: int = 5
    seconds: float = 30.0
    """No chore starts later than this after the first one."""

    def run(self, note: Callable[[Mapping[str, JSON]], None], turn: Deadline) -> list[str]:
        """Run the due chores in order, note each, and return what is pending; what does not fit waits for the next run.

        Args:
            note: Receives the memory operation ``{op: chore, name, done, text, pending}`` of each.
            turn: The heartbeat's deadline.
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
