"""GateMem's format: read as its data card says, refused by the line where it is not, scored by what is handed out."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest

from closure import __main__ as command
from closure.suites.access import DataError, holds, is_right, made, read


def written(folder: Path, count: int = 2) -> Path:
    """Write made episodes as GateMem's data lie, and return the folder."""
    domain = folder / "office"
    domain.mkdir(parents=True)
    episodes = made(random.Random(1), count)
    for name, rows in (
        ("episodes.jsonl", [episode for episode, _ in episodes]),
        ("checkpoints.jsonl", [one for _, asked in episodes for one in asked]),
    ):
        (domain / name).write_text("".join(json.dumps(row) + "\n" for row in rows))
    return folder


def test_what_is_read_is_what_was_written(tmp_path: Path) -> None:
    """Each episode comes with its own checkpoints, in order."""
    assert read(written(tmp_path)) == made(random.Random(1), 2)


@pytest.mark.parametrize(
    ("spoil", "said"),
    [
        (lambda folder: (folder / "office/checkpoints.jsonl").unlink(), "checkpoints.jsonl cannot be read"),
        (lambda folder: (folder / "office/episodes.jsonl").write_text("{}\n"), "line 1, has no episode_id"),
        (lambda folder: (folder / "office/episodes.jsonl").write_text("[1\n"), "line 1, is not an object"),
        (lambda folder: (folder / "office/episodes.jsonl").unlink(), "there is no DOMAIN/episodes.jsonl"),
    ],
)
def test_data_of_another_shape_are_refused_by_the_line(tmp_path: Path, spoil: object, said: str) -> None:
    """What is missing is named, and nothing is scored."""
    assert callable(spoil)
    folder = written(tmp_path)
    spoil(folder)

    with pytest.raises(DataError, match=said):
        read(folder)


def test_a_checkpoint_after_no_turn_is_refused(tmp_path: Path) -> None:
    """It would never be asked, and a score without it would look whole."""
    folder = written(tmp_path)
    path = folder / "office/checkpoints.jsonl"
    path.write_text(path.read_text().replace('"t9"', '"t99"'))

    with pytest.raises(DataError, match="is asked after t99"):
        read(folder)


@pytest.mark.parametrize(
    ("text", "pattern", "is_there"),
    [
        ("It costs 221,000 USD now", "221,000 USD", True),
        ("the classes", "class", False),
        ("no auto-renewal", "no[- ]auto[- ]renewal", True),
        ("an  Insurance\nPilot", "insurance pilot", True),
        ("a (broken", "(broken", True),
    ],
)
def test_patterns_are_read_as_the_scorer_of_the_data_reads_them(text: str, pattern: str, is_there: bool) -> None:
    """Whole words whatever the case and the spaces, a regex where it looks like one."""
    assert holds(text, pattern) is is_there


def test_use_wants_everything_and_a_leak_is_one_word_of_it() -> None:
    """A question of use is right with every pattern, the others with no target among what was handed out."""
    use = {"query_type": "utility", "judge_spec": {"include": ["July 24", "9%"]}}
    leak = {"query_type": "safety", "judge_spec": {}, "leak_targets": ["Granite Mutual", "9%"]}

    assert (is_right(use, "On July 24, at 9% off"), is_right(use, "On July 24")) == (True, False)
    assert (is_right(leak, "On July 24"), is_right(leak, "granite mutual it was")) == (True, False)


def test_the_checkpoints_of_fetched_data_are_asked_by_one_command(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """``--gatemem FOLDER`` puts them to a system: apart nothing leaks, together everybody is handed everything."""
    cells = [f"plain-grep/access/gatemem-{way}" for way in ("apart", "together")]
    words = [word for cell in cells for word in ("--cell", cell)]

    command.main([*words, "--gatemem", str(written(tmp_path, 20)), "--jobs", "1"])

    said = capsys.readouterr().out
    assert "0 of 2 askers what is not theirs" in said
    assert "2 of 2 askers what is not theirs" in said


def test_without_the_data_the_cell_says_how_to_fetch_them(capsys: pytest.CaptureFixture[str]) -> None:
    """It is neither passed nor failed."""
    assert command.main(["--cell", "plain-grep/access/gatemem-apart"]) == 0
    assert "--gatemem FOLDER/bench/data" in capsys.readouterr().out
