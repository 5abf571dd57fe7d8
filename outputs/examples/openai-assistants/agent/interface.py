"""What the command line expects of a target, and what a target may expect of whoever sits in front of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from loop.core import AgentResponse
from loop.events import Listener
from loop.interface import Approval, Settle
from loop.resumed import Resumed


class Conversation(Protocol):
    """One session of one user."""

    def step(self, text: str) -> AgentResponse:
        """Answer one message of the user."""
        ...


@runtime_checkable
class Resumable(Protocol):
    """A conversation that knows of a turn in which an earlier process was killed."""

    def finish(self) -> Resumed | None:
        """Say what becomes of such a turn; None without one."""
        ...


@dataclass(frozen=True)
class Host:
    """What a person is asked and shown; without one nobody is."""

    approve: Approval | None = None
    """Asks about a call that a policy holds back."""
    settle: Settle | None = None
    """Asks what became of a call that had begun when its turn was cut off."""
    listen: Listener | None = None
    """Is told what happens in a turn while it happens."""
