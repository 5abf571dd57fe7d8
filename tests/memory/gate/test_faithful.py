"""What an agent understood is kept in its own words: nobody's memory waits for a person because of its wording."""

from pathlib import Path

import pytest

from memkit.runtime.memory.main import ArchivalStore, MainContext, MemoryTools
from memkit.runtime.memory.record.errors import Refused

LINES = (Path(__file__).parent / "faithful.txt").read_text(encoding="utf-8").splitlines()
PAIRS = [tuple(part.strip() for part in line.split(" | ")) for line in LINES if line and not line.startswith("#")]
LEAST = 0.95


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
        tainted = record is not None and bool(record.record.taint)
        return f"{event['decision']}{' tainted' if tainted else ''}"


def test_a_clean_turn_keeps_what_an_agent_understood() -> None:
    """Of more than a hundred paraphrases, in many languages and manners, nearly all are admitted as they are."""
    left = {pair: came for pair in PAIRS if (came := kept(*pair, ())) != "admitted"}

    assert len(PAIRS) >= 100
    assert len(left) <= (1 - LEAST) * len(PAIRS), left


@pytest.mark.parametrize("pair", PAIRS, ids=[str(number) for number in range(len(PAIRS))])
def test_a_tainted_turn_keeps_none_of_it_unmarked(pair: tuple[str, str]) -> None:
    """The very same writes, with a stranger's text in the prompt: core memory waits, and records are marked."""
    came = kept(*pair, ("tool:web",))

    assert came.startswith(("quarantined", "refused")) if pair[1].startswith("core: ") else came != "admitted", came
