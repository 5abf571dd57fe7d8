"""The files of a run on the disk: whole or not there, and honest about damage."""

from __future__ import annotations

import errno
import json
import os
from dataclasses import replace
from pathlib import Path

import pytest

from memkit.errors import NotFound, UsageError
from memkit.evolution import files
from memkit.evolution.answers import RecordedAnswers
from memkit.evolution.files import Damaged, Individuals, JudgedProgram, RunBusy, RunFault, Texts, read_data, write_data
from memkit.evolution.folder import RunFolder, find_run
from memkit.evolution.record import (
    CHECKPOINTS,
    PREVIOUS,
    Checkpoint,
    EvolutionCheckpoints,
    EvolutionSettings,
    RunRecord,
    read_record,
    write_record,
)
from memkit.runtime.evolve.interface import ProposedChange

RECORD = RunRecord(
    "toy-1", "2026-01-02T03:04:05Z", ("memkit", "evolve", "x.py"), "/", "/x.py", "/evaluator.py", None,
    {"program.py": "ab"}, EvolutionSettings(generations=9, modules=("numpy",), price=(3.0, 15.0), target=0.5),
    {"memkit": "0"}, "landlock",
)  # fmt: skip


def checkpoint(generation: int, journal_bytes: int = 0) -> Checkpoint:
    """Return a checkpoint that says little."""
    return Checkpoint(generation, "2026-01-02T03:04:05Z", journal_bytes, None, 3, {}, 1.5, None, {"random": [1, 2]})


def judged(id: str, generation: int = 1, score: float | None = 1.0, parents: tuple[str, ...] = ()) -> JudgedProgram:
    """Return a line of the journal."""
    return JudgedProgram(
        id, parents, "mutate" if parents else "seed", 0, generation, score, "" if score else "raised", {"m": 1}
    )


def test_a_record_comes_back_as_it_was_written(tmp_path: Path) -> None:
    """Nothing of what is needed to repeat a run is lost, tuples included."""
    write_record(tmp_path, RECORD.changed("2026-01-02T03:04:06Z", 4, "generations: 9 → 12"))

    again = read_record(tmp_path)

    assert replace(again, changes=()) == RECORD
    assert [change["after"] for change in again.changes] == [4]


@pytest.mark.parametrize("length", [0, 1, 30, 100, -2])
def test_a_file_that_was_cut_short_is_named(tmp_path: Path, length: int) -> None:
    """Wherever it was cut, it is never read as if it were whole."""
    path = tmp_path / "run.json"
    write_data(path, {"a": list(range(100))})
    path.write_bytes(path.read_bytes()[:length])

    with pytest.raises(Damaged, match=r"run\.json is"):
        read_data(path)


def test_a_file_that_somebody_changed_is_not_believed(tmp_path: Path) -> None:
    """JSON that still parses is held against its digest."""
    path = tmp_path / "run.json"
    write_data(path, {"seed": 1})
    path.write_text(path.read_text().replace('"seed":1', '"seed":2'))

    with pytest.raises(Damaged, match="digest differs"):
        read_data(path)


@pytest.mark.parametrize("number", ["NaN", "1e999", "-Infinity"])
def test_a_number_that_nobody_writes_is_damage(tmp_path: Path, number: str) -> None:
    """One changed byte makes an exponent too large; that is damage as any other, also beside no digest at all."""
    path = tmp_path / "run.json"
    write_data(path, {"score": 1.25})
    path.write_text(path.read_text().replace("1.25", number).replace('"digest"', '"tseg"'))

    with pytest.raises(Damaged, match="digest"):
        read_data(path)


@pytest.mark.parametrize("text", ["[]", "null", "3", '{"format": "1"}', "[" * 100_000, '{"format": 1}'])
def test_a_file_of_another_kind_is_damaged(tmp_path: Path, text: str) -> None:
    """Whatever JSON it holds, the error is one line."""
    path = tmp_path / "run.json"
    path.write_text(text)

    with pytest.raises(Damaged):
        read_data(path)


def test_a_file_of_a_newer_memkit_is_refused_with_both_versions(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is not damaged, so nothing falls back to an older one."""
    checkpoints = EvolutionCheckpoints(tmp_path)
    checkpoints.write(checkpoint(1))
    monkeypatch.setattr(files, "FORMAT", 2)
    checkpoints.write(checkpoint(2))
    monkeypatch.undo()

    with pytest.raises(RunFault, match=r"checkpoint\.json has format 2; this memkit knows 1") as caught:
        checkpoints.newest(journal_bytes=0)

    assert not isinstance(caught.value, Damaged)


def test_the_previous_checkpoint_takes_over_from_one_that_was_cut_short(tmp_path: Path) -> None:
    """And the run says so; where both are cut, it says that too and does not begin again."""
    checkpoints = EvolutionCheckpoints(tmp_path)
    for generation in (1, 2, 3):
        checkpoints.write(checkpoint(generation))
    (tmp_path / CHECKPOINTS).write_bytes((tmp_path / CHECKPOINTS).read_bytes()[:-40])

    found = checkpoints.newest(journal_bytes=0)

    assert found.checkpoint is not None and found.checkpoint.generation == 2
    assert "checkpoint.json is truncated" in found.notes[0]
    assert found.notes[-1] == "Continuing from checkpoint.previous.json, after generation 2."
    (tmp_path / PREVIOUS).write_text("{")
    with pytest.raises(Damaged, match="no other checkpoint"):
        checkpoints.newest(journal_bytes=0)


def test_a_checkpoint_whose_journal_is_gone_is_not_used(tmp_path: Path) -> None:
    """The journal is on the disk before the checkpoint that counts on it; a shorter one was damaged from outside."""
    checkpoints = EvolutionCheckpoints(tmp_path)
    checkpoints.write(checkpoint(1, 100))
    checkpoints.write(checkpoint(2, 200))

    found = checkpoints.newest(journal_bytes=150)

    assert found.checkpoint is not None and found.checkpoint.generation == 1


def test_a_repeated_generation_takes_the_place_of_the_lost_one(tmp_path: Path) -> None:
    """What lies behind the checkpoint is cut off before anything is appended, a torn line included."""
    journal = Individuals(tmp_path)
    size = journal.append([judged("a"), judged("b")], at=0)
    journal.append([judged("lost", 2)], at=size)
    with (tmp_path / "individuals.jsonl").open("ab") as file:
        file.write(b'{"id": "to')

    assert [each.id for each in journal.read()] == ["a", "b", "lost"]
    assert [each.id for each in journal.read(size=size)] == ["a", "b"]
    journal.append([judged("c", 2, parents=("a", "b"))], at=size)

    assert list(journal.read()) == [judged("a"), judged("b"), judged("c", 2, parents=("a", "b"))]


def test_a_line_may_say_more_than_is_known(tmp_path: Path) -> None:
    """What another version adds to a line is no damage."""
    journal = Individuals(tmp_path)
    journal.append([judged("a")], at=0)
    path = tmp_path / "individuals.jsonl"
    path.write_bytes(path.read_bytes().replace(b'"id"', b'"mood": "good", "id"'))

    assert list(journal.read()) == [judged("a")]


def test_a_damaged_line_in_the_middle_is_named(tmp_path: Path) -> None:
    """Only the last line can be torn by a crash; any other is an error with its number."""
    journal = Individuals(tmp_path)
    journal.append([judged("a"), judged("b")], at=0)
    path = tmp_path / "individuals.jsonl"
    path.write_bytes(path.read_bytes().replace(b'"id": "a"', b'"id: "a"'))

    with pytest.raises(RunFault, match=r"individuals\.jsonl:1"):
        list(journal.read())


def test_a_full_disk_leaves_the_journal_as_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The disk takes a part first; that part goes again."""
    journal = Individuals(tmp_path)
    size = journal.append([judged("a")], at=0)
    before = (tmp_path / "individuals.jsonl").read_bytes()
    write = os.pwrite

    def full(descriptor: int, data: bytes, at: int) -> int:
        if at > size:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return write(descriptor, data[:7], at)

    monkeypatch.setattr(os, "pwrite", full)
    with pytest.raises(RunFault, match=r"No space left.*make room and resume"):
        journal.append([judged("b", 2)], at=size)

    assert (tmp_path / "individuals.jsonl").read_bytes() == before


def test_texts_are_kept_by_id_and_a_repeated_generation_replaces_its_own(tmp_path: Path) -> None:
    """Any text survives, line ends and lone surrogates too."""
    texts = Texts(tmp_path)
    texts.write(1, {"a": "x = 1\r\n# \u2028 é"})
    texts.write(2, {"lost": "y"})
    texts.write(2, {"b": "'\ud800'"})

    assert texts.all(last=2) == {"a": "x = 1\r\n# \u2028 é", "b": "'\ud800'"}


def test_two_processes_never_work_on_one_run(tmp_path: Path) -> None:
    """The second one is told, and finds out without waiting."""
    folder = RunFolder(tmp_path / "run")
    with folder.held():
        assert folder.is_busy
        with pytest.raises(RunBusy, match="Another process is working"), RunFolder(tmp_path / "run").held():
            pass
    assert not folder.is_busy


def test_what_a_killed_process_had_begun_to_write_is_cleared_away(tmp_path: Path) -> None:
    """By the next one that works on the run; everything that counts stays."""
    folder = RunFolder(tmp_path)
    folder.begin(RECORD, {"initial_program.py": b"x"})
    folder.texts.write(1, {"a": "x"})
    before = {path.name for path in tmp_path.rglob("*")}
    for name in (".checkpoint.json.7.tmp", "checkpoint.previous.tmp", "programs/.000002.jsonl.7.tmp"):
        (tmp_path / name).write_text("{")

    with folder.held():
        assert {path.name for path in tmp_path.rglob("*")} == before | {"lock"}


def test_a_run_is_found_by_name_path_and_as_the_latest(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A misspelt name is answered by the nearest one, and where nothing ran, how a run begins is said."""
    monkeypatch.chdir(tmp_path)
    with pytest.raises(NotFound, match="Nothing has been evolved here yet"):
        find_run("latest", None)
    for number, name in enumerate(("toy-1", "toy-2")):
        RunFolder(tmp_path / "memkit-runs" / name).begin(replace(RECORD, name=name), {"program.py": b"x"})
        os.utime(tmp_path / "memkit-runs" / name / "run.json", (number, number))

    assert find_run("toy-1", None).record.name == "toy-1"
    assert find_run("memkit-runs/toy-2", None).record.name == "toy-2"
    assert find_run("latest", None).record.name == "toy-2"
    with pytest.raises(NotFound, match="Did you mean 'toy-1'"):
        find_run("toi-1", None)
    with pytest.raises(NotFound):
        find_run("", None)


def test_a_run_begins_only_in_a_folder_of_its_own(tmp_path: Path) -> None:
    """Nothing that lies there is written over."""
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(UsageError, match=r"already contains notes\.txt"):
        RunFolder(tmp_path).begin(RECORD, {})
    with pytest.raises(UsageError, match="is a file"):
        RunFolder(tmp_path / "notes.txt").begin(RECORD, {})

    assert [path.name for path in tmp_path.iterdir()] == ["notes.txt"]


def test_answers_are_kept_counted_and_given_again(tmp_path: Path) -> None:
    """A torn line of a killed process is no answer, and the next one takes its place."""
    answers = RecordedAnswers(tmp_path)
    answers.keep(("m", "1.0.0", "x"), ProposedChange("text", {"input_tokens": 900, "output_tokens": 100}))
    with (tmp_path / "answers.jsonl").open("ab") as file:
        file.write(b'{"key": ["m", "1.0.1"')

    again = RecordedAnswers(tmp_path, price=(2.0, 10.0))
    again.keep(("m", "2.0.0", "x"), ProposedChange("more", {"input_tokens": 100}))

    assert again.known(("m", "1.0.0", "x")) == ProposedChange("text", {"input_tokens": 900, "output_tokens": 100})
    assert RecordedAnswers(tmp_path).spent == {"tokens": 1100}
    assert RecordedAnswers(tmp_path, price=(2.0, 10.0)).spent == {"tokens": 1100, "cost": 0.003}
    assert again.over({"tokens": 1100}) == "tokens" and again.over({"tokens": 1101, "cost": 1}) is None
    assert again.over({"cost": 0.003}) == "cost"
    assert len((tmp_path / "answers.jsonl").read_text().splitlines()) == 2


def test_what_is_on_the_disk_is_plain_json_without_nan(tmp_path: Path) -> None:
    """A number that JSON has no word for is refused where it would be written, and what was there stays."""
    path = tmp_path / "checkpoint.json"
    write_data(path, {"score": 1.0})

    with pytest.raises(ValueError, match="not JSON compliant"):
        write_data(path, {"score": float("nan")})

    assert json.loads(path.read_text())["content"] == {"score": 1.0}
