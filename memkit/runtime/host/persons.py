"""Tell a person from an agent with a shell: what vouches for text of others takes a person.

An agent can set and unset variables. This keeps an honest one from vouching by mistake, and no other.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping

AGENTS: Mapping[str, str] = {
    "CLAUDECODE": "claude-code",
    "CODEX_SANDBOX": "codex",
    "CURSOR_AGENT": "cursor",
    "GEMINI_CLI": "gemini",
    "MEMKIT_AGENT": "",
}
"""Variables that agents set for the programs they start, and who that is; the last one says its name itself."""
PERSON = "MEMKIT_PERSON"
"""What a host sets to 1 where a person stands behind such a program."""


def agent_at_work() -> str | None:
    """Return the variable that says that an agent runs this and no person; None where a person may."""
    if os.environ.get(PERSON) == "1" or (_is_terminal(sys.stdin) and _is_terminal(sys.stderr)):
        return None
    return next((name for name in AGENTS if os.environ.get(name)), None)


def writer() -> str:
    """Return who writes memory here, as a record's ``actor`` says it: a person, or an agent by its name."""
    variable = agent_at_work()
    if variable is None:
        return "person"
    return f"agent:{AGENTS[variable] or os.environ[variable]}"


def speaker() -> str:
    """Return who writes in a conversation: its agent; or the agent that types in the user's place, by its name."""
    who = writer()
    return "agent" if who == "person" else who


def persons_only(deed: str) -> str | None:
    """Return why ``deed`` is not done here, or None where a person may have asked for it."""
    variable = agent_at_work()
    if variable is None:
        return None
    return (
        f"{deed} is a person's word, and {variable} says that an agent runs this. Let a person run it on a terminal; "
        f"a host that speaks for one sets {PERSON}=1."
    )


def _is_terminal(stream: object) -> bool:
    asked = getattr(stream, "isatty", None)
    return asked is not None and bool(asked())
