"""What an agent is told before it talks: for whom, within which bounds, and whom its host lets it ask.

With them the one bound that is kept while something runs: when a turn has to end.
"""

from __future__ import annotations

import contextvars
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

from .interface import JSON, Approval, Settle
from .reply import Listener

T = TypeVar("T")


class TimeIsUp(Exception):
    """Ends the wait for a model or a tool whose turn is over; the loop answers for it."""


class Deadline:
    """A moment, so many seconds after it was made; without a number it never comes."""

    def __init__(self, seconds: float | None = None) -> None:
        self._end = None if seconds is None else time.monotonic() + seconds
        self._interrupted = threading.Event()

    @property
    def left(self) -> float | None:
        """Return the seconds that are left, or None where there is no end."""
        return None if self._end is None else max(0.0, self._end - time.monotonic())

    @property
    def has_passed(self) -> bool:
        """Return whether the moment has come, or somebody asked for the end."""
        return self._interrupted.is_set() or self.left == 0.0

    def interrupt(self) -> None:
        """Ask for the end; may be called from any thread."""
        self._interrupted.set()

    def check(self) -> None:
        """Raise ``KeyboardInterrupt`` where somebody asked for the end, and ``TimeIsUp`` where the time is over."""
        if self._interrupted.is_set():
            raise KeyboardInterrupt
        if self.has_passed:
            raise TimeIsUp


def within(seconds: float | None, work: Callable[[], T]) -> T:
    """Return what ``work`` returns, or raise ``TimeIsUp`` after ``seconds``; None waits as long as it takes.

    What does not come back in time goes on in a thread of its own, unheard: Python stops no thread.
    """
    if seconds is None:
        return work()
    returned: list[T] = []
    raised: list[BaseException] = []
    ended, context = threading.Event(), contextvars.copy_context()

    def deliver() -> None:
        try:
            returned.append(work())
        except BaseException as error:  # noqa: BLE001 - raised where it is waited for
            raised.append(error)
        finally:
            ended.set()

    threading.Thread(target=lambda: context.run(deliver), daemon=True).start()
    if not ended.wait(seconds):
        raise TimeIsUp
    if raised:
        raise raised[0]
    return returned[0]


@dataclass(frozen=True)
class AgentConfig:
    """Whom an agent talks to, and within which bounds.

    >>> config = AgentConfig(user_id="ada", session_id="monday", max_tool_calls=3, max_seconds=20)
    >>> agent = MemGPTAgent(llm_client=lambda messages: "It is noon.", config=config)
    >>> agent.config.user_id, agent.step("What time is it?").data["session"]
    ('ada', 'monday')
    """

    user_id: str = "local"
    session_id: str | None = None
    agent_id: str | None = None
    """Which of the user's agents this is: its core memory and what is for it alone reach no other."""
    max_tokens: int = 8000
    """Of the prompt."""
    max_tool_calls: int = 8
    """In one turn."""
    max_seconds: float | None = None
    """When a turn has to end; None for never."""
    context: Mapping[str, JSON] = field(default_factory=dict)
    """What the host program says about where it runs; the policies read it."""
    root: Path | str = "."
    """The folder that declared tools run in."""


@dataclass(frozen=True)
class Host:
    """What a person is asked and shown; without one nobody is.

    >>> heard = []
    >>> host = Host(listen=lambda event: heard.append(event.kind))
    >>> agent = MemGPTAgent(llm_client=lambda messages: "It is noon.", host=host)
    >>> _ = agent.step("What time is it?")
    >>> heard[0], heard[-1]
    ('turn_opened', 'turn_closed')
    """

    approve: Approval | None = None
    """Asks about a call that a policy holds back."""
    settle: Settle | None = None
    """Asks what became of a call that had begun when its turn was cut off."""
    listen: Listener | None = None
    """Is told what happens in a turn while it happens."""
    observe: Callable[[dict[str, JSON]], None] | None = None
    """Keeps the account of reads, verdicts and plans: ``{event, turn_id, …}``."""
    watch: Listener | None = None
    """Is told what ``listen`` is, and no answer is streamed for its sake."""


DEFAULTS = AgentConfig()
NO_HOST = Host()
