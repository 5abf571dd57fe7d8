"""What became of a turn that was cut off, once its session goes on."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC

from .interface import JSON
from .journal import OpenTurn
from .turn import AgentResponse

EXCERPT = 60
"""Characters of the words that opened it."""


@dataclass(frozen=True)
class Resumed:
    """What became of a turn that was cut off."""

    turn: OpenTurn
    reply: AgentResponse | None = None
    """None where the turn does not go on and was set aside."""
    is_kept: bool = True
    """False where the disk does not take its end even now."""
    remark: str = ""
    """What else there is to say of the reply."""

    def to_data(self) -> dict[str, JSON]:
        """Return it as the data of a conversation tells it."""
        at = self.turn.opened_at.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
        told: dict[str, JSON] = {"turn": self.turn.turn_id, "at": at, "text": self.turn.text}
        if self.reply is None:
            return {**told, "message": None, "tool_calls": [], "memory_operations": [], "set_aside": True}
        done = {key: self.reply.data[key] for key in ("message", "tool_calls", "memory_operations")}
        return {**told, **done, "set_aside": False}

    @property
    def line(self) -> str:
        """Return what a person is told of it."""
        said = f" (“{_short(self.turn.text)}”)" if self.turn.text else ""
        when = f"{self.turn.opened_at:%Y-%m-%d %H:%M} UTC"
        if self.reply is not None and self.turn.answers and not self.turn.answers[-1].tool_calls:
            now = "It is kept now." if self.is_kept else "It still cannot be kept."
            return f"The turn of {when}{said} had been cut off before it was kept. {now} {self.remark}".rstrip()
        if self.reply is not None:
            now = "It is finished now." if self.is_kept else "It is finished now, and cannot be kept yet."
            return f"The turn of {when}{said} had been cut off. {now} {self.remark}".rstrip()
        return f"An unfinished turn of {when}{said} is set aside. {done_in(self.turn)}"


def done_in(turn: OpenTurn) -> str:
    """Return which calls of a turn were carried out, and which may have been."""
    calls = [call for answer in turn.answers for call in answer.tool_calls]
    done = [call.name for call in calls if call.id in turn.finished]
    unknown = [call.name for call in calls if call.id in turn.started and call.id not in turn.finished]
    told = f"Done in it: {', '.join(done)}." if done else "Nothing was done in it."
    return f"{told} Of unknown outcome: {', '.join(unknown)}." if unknown else told


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= EXCERPT else f"{line[: EXCERPT - 1]}…"
