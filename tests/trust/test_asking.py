"""On a terminal a person is asked once, with what it would allow in plain words."""

from __future__ import annotations

import sys
from pathlib import Path

import pexpect
import pytest

from memkit.cli.main import run

MEMKIT = [sys.executable, "-m", "memkit"]


def talk(*words: str) -> pexpect.spawn:
    """Run memkit on a terminal of its own."""
    return pexpect.spawn(MEMKIT[0], [*MEMKIT[1:], *words], timeout=60, encoding="utf-8", dimensions=(40, 200))


def left(child: pexpect.spawn) -> tuple[str, int | None]:
    """Return what the program printed up to its end, and its exit code."""
    child.expect(pexpect.EOF)
    child.close()
    return str(child.before), child.exitstatus


@pytest.mark.parametrize("words", [("chat", "-p", "hello"), ("skill", "check"), ("trust",)])
def test_a_no_allows_nothing(words: tuple[str, ...], foreign: Path, mark: Path) -> None:
    """Enter is a no; nothing ran and nothing is kept."""
    child = talk(*words)
    child.expect(r"Trust it\? \[y/N\]")
    asked = child.before
    child.send("\r")

    _, code = left(child)

    assert code == (1 if words == ("trust",) else 3)
    for named in ("scripted:answers.yaml", "`sh tools/mark.sh`", "tools.note", "task/evaluator.py", "with your rights"):
        assert named in asked
    assert not mark.exists()
    assert run(["trust", "--show"]) == 1


def test_a_yes_holds_until_something_changes(foreign: Path, mark: Path) -> None:
    """It is asked once, and again when there is something new, which is named."""
    child = talk("chat", "-p", "hello")
    child.expect("Trust it")
    child.send("y\r")
    said, code = left(child)
    assert code == 0
    assert mark.read_text() == "tool\nmodule\n"

    said, code = left(talk("chat", "-p", "hello"))
    assert code == 0
    assert "Trust it" not in said

    (foreign / "tools/words.sh").write_text("WORD=other\n")
    child = talk("chat", "-p", "hello")
    child.expect("Trust it")
    assert "Changed since you last trusted it: file tools/words.sh." in child.before
    child.send("\r")
    assert left(child)[1] == 3


def test_a_check_that_is_not_in_its_place_yet_is_asked_about(foreign: Path, mark: Path) -> None:
    """What a rollback brings is in the question, and the word is for just that."""
    path = foreign / "skills/walk.yaml"
    path.write_text(path.read_text().replace("tools/mark.sh", "tools/words.sh"))
    assert run(["trust", "--yes"]) == 0
    assert run(["skill", "commit", "walk", "--bump", "minor"]) == 0

    child = talk("skill", "rollback", "walk", "1.0.0")
    child.expect("Trust it")
    assert "sh tools/mark.sh`, to check the skill walk" in child.before
    child.send("y\r")

    assert left(child)[1] == 0
    assert mark.read_text() == "tool\n"
    assert run(["trust", "--show"]) == 0


def test_what_was_typed_before_is_no_answer(foreign: Path, mark: Path) -> None:
    """A y that somebody typed for another purpose allows nothing."""
    child = talk("chat", "-p", "hello")
    child.send("y\r")
    child.expect("Trust it")
    child.send("\r")

    assert left(child)[1] == 3
    assert not mark.exists()
