"""Errors of the guard room.

GuardError
└── PolicySetError   a policy, or a condition in one, cannot be used as it is written
"""

from __future__ import annotations

Path = tuple[str | int, ...]
"""Where something stands inside a policy: keys and list positions from the top."""


class GuardError(Exception):
    """A policy or a call that the guard cannot work with."""

    exit_code: int = 2


class PolicySetError(GuardError):
    """A policy that cannot be compiled; says which one, where in it, and why."""

    def __init__(self, message: str, *, path: Path = (), policy: str = "") -> None:
        self.message = message
        self.path = path
        self.policy = policy
        super().__init__(message)

    def __str__(self) -> str:
        place = spell_path(self.path)
        owner = f"policy {self.policy}" if self.policy else ""
        where = ", ".join(part for part in (owner, place) if part)
        return f"{where}: {self.message}" if where else self.message


def spell_path(path: Path) -> str:
    """Spell a place as people write it: ``match.args.command.any[0].regex``."""
    spelled = ""
    for part in path:
        if isinstance(part, int):
            spelled += f"[{part}]"
        else:
            spelled += f".{part}" if spelled else part
    return spelled
