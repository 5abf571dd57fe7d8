"""What an agent is told before it talks: for whom, within which bounds, and whom its host lets it ask."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from .events import Listener
from .interface import JSON, Approval, Settle


@dataclass(frozen=True)
class AgentConfig:
    """Whom an agent talks to, and within which bounds."""

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
    """What a person is asked and shown; without one nobody is."""

    approve: Approval | None = None
    """Asks about a call that a policy holds back."""
    settle: Settle | None = None
    """Asks what became of a call that had begun when its turn was cut off."""
    listen: Listener | None = None
    """Is told what happens in a turn while it happens."""
    observe: Callable[[dict[str, JSON]], None] | None = None
    """Keeps the account of reads, verdicts and plans: ``{event, turn_id, …}``."""


DEFAULTS = AgentConfig()
NO_HOST = Host()
