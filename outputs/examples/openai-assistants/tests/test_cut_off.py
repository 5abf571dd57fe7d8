"""A process that is killed while a tool runs: its session goes on, and what was done is known and not done again."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest

from tests.conftest import Talk
from tests.material import notes

SESSION = ("--session", "one")
BREAD, MILK = ({"tool": "note", "args": {"text": text}} for text in ("bread", "fatal milk"))
GO_ON = [{"reply": "I do not know about the milk."}]


def killed(talk: Talk, *arguments: str) -> None:
    """Leave a turn whose process was killed in its second call, after the tool had done its work."""
    assert talk.elsewhere("Write it down", [BREAD, MILK, "Done."], *SESSION, *arguments).code == -signal.SIGKILL


@pytest.mark.process
def test_a_call_that_was_cut_off_is_not_made_again(talk: Talk, compiled: Path) -> None:
    """Nobody knows what came of it, and the model is told so; the result of the call before is there."""
    killed(talk, "--consent")

    reply = talk("Did you?", GO_ON, *SESSION)

    assert notes(compiled).count("bread") == notes(compiled).count("milk") == 1
    assert "noted" in talk.words()[0] and "Outcome unknown" in talk.words()[0]
    assert reply.data["resumed"]["text"] == "Write it down"
