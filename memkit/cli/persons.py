"""Tell a person from an agent with a shell: what vouches for text of others takes a person."""

from __future__ import annotations

import os
import sys

from memkit.errors import NegativeAnswer

AGENTS = ("CLAUDECODE", "CODEX_SANDBOX", "CURSOR_AGENT", "GEMINI_CLI", "MEMKIT_AGENT")
"""Variables that agents set for the programs they start."""
PERSON = "MEMKIT_PERSON"
"""What a host sets to 1 where a person stands behind such a program."""


class PersonsOnly(NegativeAnswer):
    """Report that an agent asked for what only a person can say."""

    code = "persons_only"


def agent_at_work() -> str | None:
    """Return the variable that says that an agent runs this and no person; None where a person may.

    An agent can set and unset variables. This keeps an honest one from vouching by mistake, and no other.
    """
    if os.environ.get(PERSON) == "1" or (sys.stdin.isatty() and sys.stderr.isatty()):
        return None
    return next((name for name in AGENTS if os.environ.get(name)), None)


def require_person(deed: str) -> None:
    """Raise ``PersonsOnly`` where an agent runs this; ``deed`` is what was asked for, such as ``'memkit trust'``."""
    agent = agent_at_work()
    if agent is not None:
        raise PersonsOnly(
            f"{deed} is a person's word, and {agent} says that an agent runs this. Let a person run it on a terminal; "
            f"a host that speaks for one sets {PERSON}=1."
        )
