"""A run that was cut off goes on, a report is one run's, and what it says is only ever text."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from closure import __main__ as command
from closure import report
from closure.runner import FAIL, PASS, SKIPPED, UNASKED, Cell, Kept, Plan, run
from closure.suites import load_suites
from closure.systems import load_systems
from closure.trial import Case, Suite, Trial, Verdict
from tests.proof.enclosure import is_possible

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


def silent(line: str) -> None:
    """Tell nobody."""


def cut_off(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Leave a run of which two of three answers are kept, and return what was asked."""
    monkeypatch.setenv("CLOSURE_CACHE", str(tmp_path))
    asked: list[str] = []
    with pytest.raises(KeyboardInterrupt):
        run(plan(asked, fails_at="c"), Kept(plan(asked), fresh=False), silent)
    assert asked == ["a", "b", "c"]
    return asked


def test_a_run_that_was_cut_off_goes_on_where_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What was answered is not asked again, and a whole run leaves nothing to go on with."""
    asked = cut_off(tmp_path, monkeypatch)
    kept = Kept(plan(asked), fresh=False)

    cells = run(plan(asked), kept, silent)
    kept.finish()

    assert asked == ["a", "b", "c", "c"]
    assert [cell.case for cell in cells if cell.suite == "made"] == ["a", "b", "c"]
    assert list(tmp_path.glob("run-*")) == []


def test_a_run_that_is_ended_leaves_nothing_running_and_no_answer_of_a_system_that_ended_with_it(
    tmp_path: Path,
) -> None:
    """A supervisor's signal to all of it is taken as a Ctrl-C is: the next run has no more beside it than the first."""
    asked = ["--system", "control-forgets-nothing", "--suite", "crash", "--share", "0.1", "--jobs", "1"]
    here = {**os.environ, "CLOSURE_CACHE": str(tmp_path / "kept"), "TMPDIR": str(tmp_path)}
    command = [sys.executable, "-m", "closure", *asked]
    with subprocess.Popen(command, cwd=ROOT, env=here, stdout=subprocess.PIPE, start_new_session=True) as running:
        assert running.stdout
        first = running.stdout.readline().decode()
        os.killpg(running.pid, signal.SIGTERM)
        told = [first, *running.stdout.read().decode().splitlines()]

    assert running.returncode == 128 + signal.SIGTERM
    kept = [json.loads(line) for line in next((tmp_path / "kept").glob("run-*")).read_text().splitlines()]
    answers = [line for line in kept if "begins" not in line]
    assert len(answers) == len(told)
    assert not any("at fault" in line["reason"] for line in answers)
    assert [path.name for path in tmp_path.iterdir()] == ["kept"]


def test_a_half_written_line_of_a_cut_off_run_is_asked_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The machine went down while a line was written: that cell is answered anew, the others are not."""
    asked = cut_off(tmp_path, monkeypatch)
    (file,) = tmp_path.glob("run-*")
    file.write_text(file.read_text()[:-20])

    run(plan(asked), Kept(plan(asked), fresh=False), silent)

    assert asked == ["a", "b", "c", "b", "c"]


def test_an_answer_of_other_sources_is_asked_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The suite, the adapter, the runner or memkit changed meanwhile: no old answer stands for new code."""
    asked = cut_off(tmp_path, monkeypatch)
    (file,) = tmp_path.glob("run-*")
    *before, last = file.read_text().splitlines()
    file.write_text("\n".join([*before, json.dumps({**json.loads(last), "sources": "others"})]) + "\n")

    run(plan(asked), Kept(plan(asked), fresh=False), silent)

    assert asked == ["a", "b", "c", "b", "c"]


def test_what_was_seen_before_a_run_was_cut_off_is_in_the_report(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A system that asked the network in the first half is not clean because the second half is."""
    asked = cut_off(tmp_path, monkeypatch)
    (file,) = tmp_path.glob("run-*")
    rows = [json.loads(line) for line in file.read_text().splitlines()]
    rows[1]["seen"] = [["TCP 192.0.2.7 port 443"], ["/elsewhere"]]
    file.write_text("".join(f"{json.dumps(row)}\n" for row in rows))

    cells = {cell.case: cell for cell in run(plan(asked), Kept(plan(asked), fresh=False), silent)}

    assert "/elsewhere" in cells["own-folder"].reason
    if is_possible():
        assert "TCP 192.0.2.7 port 443" in cells["no-network"].reason


FIGURE = re.compile(r"\d+(?:\.\d+)? ms|- \d{4}-\d\d-\d\d .*? UTC.*?;|(?<= \()[\d.]+(?=\))")


def test_a_second_run_gives_the_same_table_but_for_times(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two runs from nothing, one of them cut off in the middle and gone on with, write the same rows and page."""
    some = {name: load_suites()[name] for name in ("governance", "recall", "access", "cost")}
    monkeypatch.setattr(command, "load_suites", lambda: some)
    pages = []
    for name in ("one", "two"):
        monkeypatch.setenv("CLOSURE_CACHE", str(tmp_path / name))
        words = ["--system", "plain-grep", "--share", "0.1", "--jobs", "2", "--out", str(tmp_path / name)]
        if name == "two":
            command.main([*words, "--suite", "governance", "--suite", "recall"])
        command.main(words)
        rows = json.loads((tmp_path / name / "report.json").read_text())
        assert len(rows) > 20
        page = (tmp_path / name / "report.md").read_text()
        pages.append((FIGURE.sub("", json.dumps(rows)), FIGURE.sub("", page)))

    assert pages[0] == pages[1]


def test_a_loss_that_the_report_owns_is_no_news_and_another_is(capsys: pytest.CaptureFixture[str]) -> None:
    """The run ends with 0 where memkit fails only what the published report says that it fails, else with 1."""
    lost = cell("memkit-files", FAIL, "it was gone")

    assert command._ended([lost], load_systems(), frozenset({lost.id})) == 0
    assert "as the report says" in capsys.readouterr().err
    assert command._ended([lost], load_systems(), frozenset()) == 1
    assert "Repeat it: the command" in capsys.readouterr().err


def cell(system: str, result: str, reason: str) -> Cell:
    """Return a row of a report."""
    return Cell(system, "governance", "recall", f"{system}/governance/recall", result, reason, "the command")


def test_where_memkit_loses_is_said_first() -> None:
    """A failed question of memkit stands before every table, with what was seen."""
    cells = [cell("plain-grep", PASS, "found"), cell("memkit-files", FAIL, "it was gone")]

    text = report.markdown([], cells, load_systems(), load_suites())

    assert text.index("✗ it was gone: memkit-files [governance/recall]") < text.index("## Sums")


def test_what_a_system_says_is_only_text_on_the_page() -> None:
    """An error of a system that holds markup shows as it is."""
    cells = [cell("mem0", FAIL, "<script>alert(1)</script> | <b>")]

    shown = report.page(report.markdown([], cells, load_systems(), load_suites(), whole=True))

    assert "<script" not in shown and "&lt;script&gt;" in shown


def test_a_run_leaves_the_rows_that_it_did_not_ask(tmp_path: Path) -> None:
    """Its rows are new; those of other systems, and those for which there was no time, stay and say whose they are."""
    path, order = tmp_path / "report.json", list(load_systems())
    first = [cell("mem0", PASS, "kept"), cell("plain-grep", FAIL, "old"), cell("cognee", FAIL, "stays")]
    report.write(*report.beside(made("one", first), first, path, order), load_systems(), {}, tmp_path)
    again = [cell("plain-grep", SKIPPED, "new"), cell("cognee", SKIPPED, UNASKED)]

    runs, whole = report.beside(made("two", again[:1]), again, path, order)

    assert {(one.system, one.reason) for one in whole} == {("plain-grep", "new"), ("mem0", "kept"), ("cognee", "stays")}
    whose = {run.begins[0]: run.cells for run in runs}
    assert whose == {"two": (again[0].id,), "one": (first[0].id, first[2].id)}
    assert "1 rows, of plain-grep" in runs[0].told(order)
    assert [run.begins for run in report.beside(made("three", first), first, path, order)[0]] == [("three",)]


def made(begins: str, cells: list[Cell]) -> report.Run:
    """Return a run that asked these cells."""
    return report.Run((begins,), "2026-01-02 05:06", "abc", "a machine", 1, 1.0, 2, tuple(cell.id for cell in cells))


def test_a_run_whose_time_is_over_says_what_it_did_not_ask_and_the_next_one_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing is asked after its time, the report says so of each cell and how many, and nothing is asked twice."""
    monkeypatch.setenv("CLOSURE_CACHE", str(tmp_path))
    some = {name: load_suites()[name] for name in ("poisoning", "governance")}
    monkeypatch.setattr(command, "load_suites", lambda: some)
    words = ["--system", "plain-grep", "--share", "0.01", "--out", str(tmp_path)]
    command.main([*words, "--minutes", "0"])
    unasked = [row for row in report.read(tmp_path / "report.json") if row.reason == UNASKED]
    assert len(unasked) > 10 and sum(row.suite == "environment" for row in unasked) == 3

    command.main(words)

    (run_now,) = report.read_runs(tmp_path / "report.json")
    assert len(run_now.begins) == 2
    assert not [row for row in report.read(tmp_path / "report.json") if row.reason == UNASKED]
    assert list(tmp_path.glob("run-*")) == []


def test_what_takes_long_is_asked_last_and_stands_in_its_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of two suites the long one is asked after the other, for everybody, and the rows are in the order of suites."""
    monkeypatch.setenv("CLOSURE_CACHE", str(tmp_path))
    told: list[str] = []
    systems = [load_systems()[name] for name in ("plain-grep", "full-context")]
    suites = [load_suites()[name] for name in ("poisoning", "governance")]

    cells = run(Plan(systems, suites, share=0.01, jobs=1), None, told.append)

    assert ["poisoning" in line for line in told[-2:]] == [True, True] and "poisoning" not in told[0]
    assert cells[0].suite == "poisoning"


def test_a_cell_that_does_not_exist_is_bad_usage(capsys: pytest.CaptureFixture[str]) -> None:
    """One line says so, and where the names are."""
    assert command.main(["--cell", "plain-grep/governance/nothing-like-it"]) == 2
    assert "There is no cell plain-grep/governance/nothing-like-it" in capsys.readouterr().err


def test_the_page_is_written_from_the_rows() -> None:
    """docs/closure.md says what closure/report.json says, of systems and questions that are there."""
    rows, runs = report.read(ROOT / "closure" / "report.json"), report.read_runs(ROOT / "closure" / "report.json")
    page = (ROOT / "docs" / "closure.md").read_text(encoding="utf-8")

    assert page == report.markdown(runs, rows, load_systems(), load_suites())
    assert {row.system for row in rows} == set(load_systems())
    assert sorted(row.id for row in rows) == sorted(id for run in runs for id in run.cells)


def test_the_pages_are_made_again_of_the_rows_alone(tmp_path: Path) -> None:
    """``--page`` asks nothing, changes no row, and says on a page what was seen in each cell."""
    for name in ("report.json", "runs.json"):
        (tmp_path / name).write_bytes((ROOT / "closure" / name).read_bytes())

    assert command.main(["--page", "--out", str(tmp_path)]) == 0

    rows, runs = report.read(ROOT / "closure" / "report.json"), report.read_runs(ROOT / "closure" / "report.json")
    whole = report.page(report.markdown(runs, rows, load_systems(), load_suites(), whole=True))
    assert (tmp_path / "report.html").read_text(encoding="utf-8") == whole
    assert (tmp_path / "report.md").read_bytes() == (ROOT / "docs" / "closure.md").read_bytes()
    assert (tmp_path / "report.json").read_bytes() == (ROOT / "closure" / "report.json").read_bytes()


def test_the_report_is_a_list_of_rows_with_a_line_and_seven_keys_each() -> None:
    """Programs read it; people see in a diff which cell changed."""
    text = (ROOT / "closure" / "report.json").read_text(encoding="utf-8")

    rows = json.loads(text)

    assert len(text.splitlines()) == len(rows) + 2
    assert {tuple(row) for row in rows} == {("system", "suite", "case", "id", "result", "reason", "command")}
    assert {row["result"] for row in rows} == {"pass", "fail", "skipped"}


def test_the_report_holds_the_columns_of_memkit_and_three_bugs_of_public_trackers() -> None:
    """Every suite was put to memkit, and bugs that others reported are seen on the pinned versions."""
    rows = report.read(ROOT / "closure" / "report.json")

    assert {row.suite for row in rows if row.system == "memkit-files"} >= set(load_suites()) - {"known-bugs"}
    assert sum(row.suite == "known-bugs" and row.result == FAIL and "https://" in row.reason for row in rows) >= 3
    assert not [row for row in rows if row.reason.startswith("the suite is at fault")]


def test_what_docs_say_of_others_links_to_a_row_that_is_there() -> None:
    """Each link to a cell of the report leads to a question with a row of memkit."""
    asked = {
        f"{row.suite}-{row.case}" for row in report.read(ROOT / "closure" / "report.json") if row.result != SKIPPED
    }
    pages = [ROOT / "README.md", *(path for path in (ROOT / "docs").rglob("*.md") if path.name != "closure.md")]
    linked = {
        (str(path.relative_to(ROOT)), place)
        for path in pages for place in re.findall(r"closure\.md#([\w-]+)", path.read_text(encoding="utf-8"))
    }  # fmt: skip

    assert len(linked) >= 4
    assert [link for link in sorted(linked) if link[1] not in asked] == []
