"""What an agent understood is kept in its own words: nobody's memory waits for a person because of its wording."""

from pathlib import Path

import pytest

from memkit.runtime.memory.main import ArchivalStore, MainContext, MemoryTools
from memkit.runtime.memory.record.lines import Refused

Pair = tuple[str, str]
LEAST = 0.95


def pairs(name: str) -> list[Pair]:
    """Return what was said and what a model makes of it, of each line of a file."""
    lines = (Path(__file__).parent / name).read_text(encoding="utf-8").splitlines()
    parts = [line.partition(" | ") for line in lines if line and not line.startswith("#")]
    return [(said.strip(), wanted.strip()) for said, _, wanted in parts]


SETS = {"faithful.txt": 100, "faithful_later.txt": 60, "faithful_last.txt": 60, "faithful_sloppy.txt": 40}
"""Pairs that each file has at least; the later ones were written when the gate was finished."""
PAIRS = [pair for name in SETS for pair in pairs(name)]


def kept(said: str, wanted: str, taint: tuple[str, ...]) -> str:
    """Return what became of one write in a turn with these words of the user."""
    with ArchivalStore() as archive:
        tools = MemoryTools(MainContext(), archive, user_id="ada", session_id="s1")
        tools.begin_turn(said, 1, taint=taint)
        try:
            if wanted.startswith("core: "):
                tools.core_memory_append("human", wanted.removeprefix("core: "))
            else:
                tools.archival_memory_insert(wanted)
        except Refused as refused:
            return f"refused: {refused.codes}"
        event = tools.events[-1]
        record = archive.get(event["id"]) if not wanted.startswith("core: ") else None
        if taint and record is not None and record.record.source == "explicit":
            return "in the user's own words"
        tainted = record is not None and bool(record.record.taint)
        return f"{event['decision']}{' tainted' if tainted else ''}"


@pytest.mark.parametrize("name", SETS)
def test_a_clean_turn_keeps_what_an_agent_understood(name: str) -> None:
    """Of many paraphrases, in many languages and manners, nearly all are admitted as they are."""
    told = pairs(name)
    left = {pair: came for pair in told if (came := kept(*pair, ())) != "admitted"}

    assert len(told) >= SETS[name]
    assert len(left) <= (1 - LEAST) * len(told), left


@pytest.mark.parametrize("pair", PAIRS, ids=[str(number) for number in range(len(PAIRS))])
def test_a_tainted_turn_keeps_none_of_it_unmarked(pair: Pair) -> None:
    """The very same writes, with a stranger's text in the prompt: core memory waits, and records are marked.

    But for what repeats the user's own words of this turn.
    """
    came = kept(*pair, ("tool:web",))

    assert came.startswith(("quarantined", "refused")) if pair[1].startswith("core: ") else came != "admitted", came
