"""A run that was cut off goes on, a report is one run's, and what it says is only ever text."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from closure import __main__ as command
from closure import report
from closure.runner import FAIL, PASS, SKIPPED, Cell, Kept, Plan, run
from closure.suites import load_suites
from closure.systems import load_systems
from closure.trial import Case, Suite, Trial, Verdict

ROOT = Path(__file__).resolve().parents[2]


def plan(asked: list[str], fails_at: str = "") -> Plan:
    """Return a plan of three cases on plain files that notes which were asked, and is cut off at one of them."""

    def case(name: str) -> Case:
        def ask(trial: Trial) -> Verdict:
            asked.append(name)
            if name == fails_at:
                raise KeyboardInterrupt
            return Verdict(True, name)

        return Case(name, "It is asked.", ask)

    return Plan([load_systems()["plain-grep"]], [Suite("made", "For a test.", tuple(map(case, "abc")))], jobs=1)


def test_a_run_that_was_cut_off_goes_on_where_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What was answered is not asked again, and a whole run leaves nothing to go on with."""
    monkeypatch.setenv("CLOSURE_CACHE", str(tmp_path))
    asked: list[str] = []
    with pytest.raises(KeyboardInterrupt):
        run(plan(asked, fails_at="c"), Kept(plan(asked), fresh=False), lambda line: None)
    assert asked == ["a", "b", "c"]

    cells = run(plan(asked), Kept(plan(asked), fresh=False), lambda line: None)

    assert asked == ["a", "b", "c", "c"]
    assert [cell.case for cell in cells if cell.suite == "made"] == ["a", "b", "c"]
    assert list(tmp_path.glob("run-*")) == []


def test_a_half_written_line_of_a_cut_off_run_is_asked_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The machine went down while a line was written: that cell is answered anew, the others are not."""
    monkeypatch.setenv("CLOSURE_CACHE", str(tmp_path))
    asked: list[str] = []
    with pytest.raises(KeyboardInterrupt):
        run(plan(asked, fails_at="c"), Kept(plan(asked), fresh=False), lambda line: None)
    (file,) = tmp_path.glob("run-*")
    file.write_text(file.read_text()[:-20])

    run(plan(asked), Kept(plan(asked), fresh=False), lambda line: None)

    assert asked == ["a", "b", "c", "b", "c"]


def cell(system: str, result: str, reason: str) -> Cell:
    """Return a row of a report."""
    return Cell(system, "governance", "recall", f"{system}/governance/recall", result, reason, "the command")


def test_where_memkit_loses_is_said_first() -> None:
    """A failed question of memkit stands before every table, with what was seen."""
    cells = [cell("plain-grep", PASS, "found"), cell("memkit-files", FAIL, "it was gone")]

    text = report.markdown(cells, load_systems(), load_suites())

    assert text.index("✗ [memkit-files/governance/recall]") < text.index("## Sums")
    assert "it was gone" in text


def test_what_a_system_says_is_only_text_on_the_page() -> None:
    """An error of a system that holds markup shows as it is."""
    cells = [cell("mem0", FAIL, "<script>alert(1)</script> | <b>")]

    shown = report.page(report.markdown(cells, load_systems(), load_suites()))

    assert "<script" not in shown and "&lt;script&gt;" in shown


def test_a_run_of_some_systems_leaves_the_rows_of_the_others(tmp_path: Path) -> None:
    """Their rows are new, and those of systems that were not asked stay."""
    report.write([cell("mem0", PASS, "kept"), cell("plain-grep", FAIL, "old")], load_systems(), {}, tmp_path)

    whole = command._beside([cell("plain-grep", SKIPPED, "new")], load_systems(), tmp_path / "report.json")

    assert [(one.system, one.reason) for one in whole] == [("plain-grep", "new"), ("mem0", "kept")]


def test_a_cell_that_does_not_exist_is_bad_usage(capsys: pytest.CaptureFixture[str]) -> None:
    """One line says so, and where the names are."""
    assert command.main(["--cell", "plain-grep/governance/nothing-like-it"]) == 2
    assert "There is no cell plain-grep/governance/nothing-like-it" in capsys.readouterr().err


def test_the_page_is_written_from_the_rows() -> None:
    """docs/closure.md says what closure/report.json says, of systems and questions that are there."""
    rows = report.read(ROOT / "closure" / "report.json")
    page = (ROOT / "docs" / "closure.md").read_text(encoding="utf-8")

    assert page == report.markdown(rows, load_systems(), load_suites())
    assert {row.system for row in rows} == set(load_systems())
    assert set(json.loads((ROOT / "closure" / "report.json").read_text())[0]) == {
        "system", "suite", "case", "id", "result", "reason", "command",
    }  # fmt: skip


def test_the_report_holds_the_columns_of_memkit_and_three_bugs_of_public_trackers() -> None:
    """Every suite was put to memkit, and bugs that others reported are seen on the pinned versions."""
    rows = report.read(ROOT / "closure" / "report.json")

    assert {row.suite for row in rows if row.system == "memkit-files"} >= set(load_suites()) - {"known-bugs"}
    assert sum(row.suite == "known-bugs" and row.result == FAIL and "https://" in row.reason for row in rows) >= 3
    assert not [row for row in rows if row.reason.startswith("the suite is at fault")]
