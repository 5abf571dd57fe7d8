"""What people say: the reference model stores what was plainly told, and nothing that was not."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from memkit.llm.rules.model import ReferenceModel
from memkit.runtime.memory.main import ArchivalStore
from tests.loop.made_agents import agent_of

TURNS = Path(__file__).with_name("turns.txt")
TOGETHER = ("two turns", "make-believe")
"""Headings of conversations; the turns under another heading have nothing to do with each other."""


@dataclass
class Turn:
    """What somebody says, what may be stored of it, and what has to be."""

    text: str
    may: list[str] = field(default_factory=list)
    must: list[str] = field(default_factory=list)


def conversations() -> Iterator[list[Turn]]:
    """Yield the conversations of the file: ``>`` is said, ``~`` may be stored, ``+`` has to be."""
    together, turns = False, list[Turn]()
    for line in [*TURNS.read_text(encoding="utf-8").splitlines(), "# end"]:
        mark, _, rest = line.partition(" ")
        if turns and (mark == "#" or (mark == ">" and not together)):
            yield turns
            turns = []
        if mark == "#":
            together = rest.startswith(TOGETHER)
        elif mark == ">":
            turns.append(Turn(rest.replace("\\n", "\n")))
        else:
            {"~": turns[-1].may, "+": turns[-1].must}[mark].append(rest)


@pytest.mark.parametrize("turns", [pytest.param(one, id=one[0].text[:40]) for one in conversations()])
def test_nothing_is_stored_that_was_not_said_and_what_was_told_is(turns: list[Turn]) -> None:
    """After every turn the archive holds what had to be stored, and nothing but that and what may be."""
    with ArchivalStore() as archive:
        agent = agent_of(ReferenceModel(), archive)
        allowed: set[str] = set()
        for turn in turns:
            before = {record.id for record in archive.records(user_id="local", status=None)}
            agent.step(turn.text)
            written = [one for one in archive.records(user_id="local", status=None) if one.id not in before]

            allowed |= {*turn.may, *turn.must}
            assert {one.text for one in written} <= allowed, turn.text
            assert {one.text for one in written} >= set(turn.must), turn.text
            assert all(one.source == "explicit" for one in written), turn.text


def test_the_turns_are_many() -> None:
    """There are enough turns of which nothing may be stored, and enough that must be."""
    turns = [turn for conversation in conversations() for turn in conversation]

    assert sum(not turn.must for turn in turns) >= 300
    assert sum(bool(turn.must) for turn in turns) >= 60
