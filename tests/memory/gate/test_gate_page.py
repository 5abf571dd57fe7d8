"""The page about the gate says what the code says."""

import re
from pathlib import Path

from memkit.runtime.memory.gate import gate
from memkit.runtime.memory.interface import CHOICES, WriteSettings

ROOT = Path(__file__).parents[3]
PAGE = (ROOT / "docs/gate.md").read_text("utf-8")
ROWS = [[cell.strip() for cell in line.strip("|").split("|")] for line in PAGE.splitlines() if line.startswith("| `")]
JUDGES = ("memkit/runtime/memory", "memkit/interchange", "memkit/use_cases")


def codes_in_code() -> set[str]:
    """Return every reason code that the room and the imports can give."""
    files = [path.read_text("utf-8") for folder in JUDGES for path in (ROOT / folder).rglob("*.py")]
    # The planner has reasons of its own.
    text = "".join(file for file in files if "from memkit.runtime.htn" not in file)
    given = set(re.findall(r'Reason\(\s*"(\w+)"', text)) | {code for code, _ in gate.SENSITIVE.values()}
    return given | {"directive", "hidden_characters"}  # the finder's own codes, held below


def test_the_page_lists_exactly_the_codes() -> None:
    """No code is missing from the table, and none is there that nothing gives."""
    assert {row[0].strip("`") for row in ROWS} == codes_in_code()


def test_the_finder_of_hostile_text_gives_the_two_codes() -> None:
    """What the page and the test above take for granted."""
    hostile = (ROOT / "memkit/runtime/memory/gate/hostile.py").read_text("utf-8")

    assert set(re.findall(r'Suspicion\("(\w+)"', hostile)) == {"directive", "hidden_characters"}


def test_the_page_names_every_setting_with_its_words() -> None:
    """Each setting of the write policy stands in the table, with the words that it may have."""
    settings = " | ".join(row[3] for row in ROWS)
    named = {name for name in WriteSettings._fields if f"write.{name}" in settings}

    # What is offered is not the gate's to say.
    assert set(WriteSettings._fields) - named == {"require_verification", "extract"}
    for name in set(CHOICES) & named:
        told = re.search(rf"`write\.{name}`: (\w+(?:, \w+)*)", settings)
        assert told is not None
        assert set(told[1].split(", ")) == set(CHOICES[name])


def test_the_docstring_of_the_gate_names_its_own_codes() -> None:
    """The order at the head of the gate holds the codes that a record can meet."""
    elsewhere = {"masked", "recalled", "unreadable_answer", "known", "id_conflict", "other_user"}

    assert all(code in (gate.__doc__ or "") for code in codes_in_code() - elsewhere)
