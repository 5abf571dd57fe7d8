"""What the runner tells apart: right and wrong answers, a system that cannot, one that breaks, a wrong question."""

from __future__ import annotations

import os
import shutil
import sys
import time
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path

import pytest

from closure import runner as runners
from closure import subject as subjects
from closure.runner import AT_FAULT, FAIL, PASS, SKIPPED, Cell, Manners, Plan, faults, run
from closure.subject import Subject, on_this_machine
from closure.suites import load_suites
from closure.suites.steps import SuiteFaultError, _case
from closure.systems import EVERYTHING, NOTHING, System, load_systems
from closure.trial import Case, Suite, Trial, Verdict
from tests.proof.enclosure import is_possible

Answers = Callable[..., dict[str, Cell]]


def broken(name: str, adapter: str) -> System:
    """Return a system of ``broken.py``."""
    return System(name=name, adapter=f"tests.closure.broken:{adapter}", about="for a test", part=0.01)


def test_a_right_answer_a_wrong_one_and_none_are_three_results(answers: Answers) -> None:
    """Plain files find what was told, hold what is told twice twice, and know no consent."""
    cells = answers("plain-grep", "governance/recall", "governance/told-twice", "governance/consent")

    assert cells["governance/recall"].result == PASS
    assert cells["governance/told-twice"].result == FAIL
    assert (cells["governance/consent"].result, cells["governance/consent"].reason) == (
        SKIPPED, "cannot: it knows no consent",
    )  # fmt: skip


def test_what_a_system_has_no_way_to_do_is_said_without_setting_it_up(answers: Answers) -> None:
    """What its adapter leaves to the interface needs no memory; everything else finds that it cannot be opened."""
    cells = answers(broken("closed", "NotSetUp"), "integrity/t1", "governance/recall")

    assert cells["integrity/t1"].reason == "cannot: nobody wrote an adapter of that suite for it"
    assert (cells["governance/recall"].result, cells["governance/recall"].reason) == (
        FAIL, "RuntimeError: it has no disk",
    )  # fmt: skip


def test_what_a_system_started_ends_with_it() -> None:
    """A server that it left running is gone when its turn is over."""
    with Subject("tests.closure.broken:LeavesServer", Path(sys.executable)) as subject:
        started = int(subject.call("remember", user="ada", text="Ada keeps bees"))
        assert is_running(started)

    for _ in range(200):
        if not is_running(started):
            break
        time.sleep(0.1)
    assert not is_running(started)


def test_nothing_but_what_was_loaded_outlives_a_restart() -> None:
    """Neither what the last worker counted nor its hashes come back, and what it had to load is there already."""
    seen = []
    with Subject("tests.closure.broken:KeepsInProcess", Path(sys.executable)) as subject:
        for _ in range(3):
            seen.append(subject.call("recall", user="ada", query="anything"))
            subject.restart()

    assert [asked for _, asked, _ in seen] == ["asked 1"] * 3
    assert seen[0][0] != seen[1][0] != seen[2][0]
    assert [loaded for _, _, loaded in seen] == ["loaded False", "loaded False", "loaded True"]


def test_who_lets_one_process_in_and_repeats_what_was_asked_is_asked_the_same(answers: Answers) -> None:
    """What was kept is read by another process when the first has closed; the name in an answer says nothing."""
    with Subject("tests.closure.broken:ForOne", Path(sys.executable)) as subject:
        subject.call("remember", user="ada", text="Ada keeps bees")
        assert subject.call("read_apart", user="ada") == ["Ada keeps bees"]
        subject.call("remember", user="ada", text="Ada keeps hens")

    assert answers(broken("for-one", "ForOne"), "leaks/errors")["leaks/errors"].result == PASS


def is_running(process: int) -> bool:
    """Return whether there is such a process, and it has not ended."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


def test_a_cell_names_the_command_that_repeats_it(answers: Answers) -> None:
    """The command holds the id, and seed and share where they are not the usual ones."""
    (cell,) = (one for one in answers("plain-grep", "governance/recall").values() if one.case == "recall")

    assert cell.id == "plain-grep/governance/recall"
    assert cell.command.endswith("-m closure --cell plain-grep/governance/recall --seed 1 --share 0.02")


@pytest.mark.parametrize(
    ("adapter", "reason"),
    [
        ("Hanging", "it hung: no answer within 3 seconds"),
        ("Crashing", "it ended by itself"),
        ("WantingKey", "KeyError: 'OPENAI_API_KEY'"),
        ("Missing", "has no attribute 'Missing'"),
    ],
)
def test_a_system_that_breaks_fails_its_cell_and_no_more(
    answers: Answers, monkeypatch: pytest.MonkeyPatch, adapter: str, reason: str
) -> None:
    """It hangs, crashes, wants a key or cannot be imported: the cell says so, and the run goes on to the next."""
    monkeypatch.setattr(subjects.Subject.call, "__defaults__", (3.0,))
    monkeypatch.setenv("OPENAI_API_KEY", "a key that no system may see")

    cells = answers(broken("breaks", adapter), "governance/recall", "governance/told-twice")

    assert cells["governance/recall"].result == FAIL
    assert reason in cells["governance/recall"].reason
    assert "governance/told-twice" in cells


@pytest.mark.skipif(not is_possible(), reason="needs unshare and ip (apt-get install util-linux iproute2)")
def test_what_a_system_asks_for_and_writes_elsewhere_is_said() -> None:
    """It asks another machine and writes outside of its folder: both are named, and its answers are heard."""
    system = broken("chatty", "Chatty")
    manners = Manners()
    with Subject(system.adapter, Path(sys.executable)) as subject:
        name = subject.call("remember", user="ada", text="Ada lives in Rome")
    manners.note(subject.asked, subject.outside)

    assert name == "Ada lives in Rome"
    network, files = manners.cells(Plan([system], []), system)
    assert (network.result, files.result) == (FAIL, FAIL)
    assert "TCP 192.0.2.7 port 443" in network.reason
    assert "/tmp/outside-" in files.reason


def test_a_system_that_needs_a_python_which_is_not_here_is_a_row_that_says_so(answers: Answers) -> None:
    """It is not asked, and that is no failure of it."""
    system = System(name="tomorrow", adapter="closure.adapters.plain:GrepFiles", about="for a test",
                    packages=("rank-bm25==0.2.2",), python="3.99")  # fmt: skip

    cells = answers(system, "governance/recall")

    assert list(cells) == ["environment/set-up"]
    cell = cells["environment/set-up"]
    assert (cell.result, cell.reason) == (
        SKIPPED, "not run here: it needs Python 3.99 or newer, and there is none here",
    )  # fmt: skip


def test_somebody_elses_cell_ends_after_its_time(answers: Answers, monkeypatch: pytest.MonkeyPatch) -> None:
    """What takes longer is stopped and says so; memkit's own are asked to the end."""
    monkeypatch.setattr(runners, "PATIENCE", 0.0)

    theirs = answers("plain-grep", "governance/recall")["governance/recall"]
    ours = answers("memkit-files", "governance/recall")["governance/recall"]

    assert theirs.result == SKIPPED and "it was stopped" in theirs.reason
    assert ours.result == PASS


def asked_of(case: Case, names: Iterable[str] = (NOTHING, EVERYTHING)) -> list[Cell]:
    """Put one case to the controls."""
    systems = [load_systems()[name] for name in names]
    plan = Plan(systems, [Suite("made", "For a test.", (case,))], jobs=1)
    return [cell for cell in run(plan, None, lambda line: None) if cell.suite == "made"]


def test_who_waits_for_a_processor_beside_others_does_not_hang(monkeypatch: pytest.MonkeyPatch) -> None:
    """With three processes for each processor a call has three times as long, and never more than five times."""
    processors = os.cpu_count() or 1
    for load, times in ((0.1, 1), (3.0, 3), (40.0, 5)):
        monkeypatch.setattr(os, "getloadavg", lambda load=load: (load * processors, 0.0, 0.0))
        assert on_this_machine(100) == pytest.approx(100 * times)


def test_an_error_in_a_question_is_no_failure_of_a_system() -> None:
    """What the question itself raises is said as such, for every system."""

    def wrong(trial: Trial) -> Verdict:
        raise ZeroDivisionError

    cells = asked_of(Case("wrong", "Nothing holds.", wrong))

    assert len(faults(cells)) == len(cells) == 2
    assert all(cell.result == SKIPPED and "ZeroDivisionError" in cell.reason for cell in cells)


@pytest.mark.parametrize("passed", [True, False])
def test_a_question_that_a_control_answers_wrongly_is_thrown_out(passed: bool) -> None:
    """A memory that is wrong on purpose passed what it has to fail, or failed what it must not."""
    failed_by = frozenset({NOTHING}) if passed else frozenset()

    cells = asked_of(Case("blunt", "Anything goes.", lambda trial: Verdict(passed, "seen"), failed_by), [NOTHING])

    assert [cell.reason.startswith(AT_FAULT) for cell in cells] == [True]


def test_a_step_that_nobody_knows_is_an_error_of_the_file() -> None:
    """A misspelt step does not run as nothing."""
    with pytest.raises(SuiteFaultError, match="recal"):
        _case({"id": "x", "rule": "y", "failed_by": [], "steps": [{"recal": {}}]})


def test_every_question_has_a_rule_and_names_controls_that_exist() -> None:
    """No id is used twice; all but some of integrity, of failing calls, and what needs fetched data have a control."""
    for suite in load_suites().values():
        ids = [case.id for case in suite.cases]
        assert len(ids) == len(set(ids)) and all(case.rule.endswith(".") for case in suite.cases)
        assert all(case.failed_by <= {NOTHING, EVERYTHING} for case in suite.cases)
    uncontrolled = {
        f"{suite.name}/{case.id}"
        for suite in load_suites().values()
        for case in suite.cases
        if not case.failed_by and not case.only
    }
    fetched = {"access/gatemem-apart", "access/gatemem-together"}
    assert {name.partition("/")[0] for name in uncontrolled - fetched} <= {"integrity", "crash"}


@pytest.mark.parametrize("control", [NOTHING, EVERYTHING])
def test_the_controls_fail_where_they_have_to_and_nowhere_else(answers: Answers, control: str) -> None:
    """Asked the whole of governance, deletion and leaks, they answer as each question says of them."""
    suites = load_suites()
    cases = [f"{name}/{case.id}" for name in ("governance", "deletion", "leaks") for case in suites[name].cases]

    cells = answers(control, *cases)

    assert faults(cells.values()) == []
    assert {name for name in cases if cells[name].result == FAIL} == {
        f"{name}/{case.id}" for name in ("governance", "deletion", "leaks") for case in suites[name].cases
        if control in case.failed_by
    }  # fmt: skip


def test_a_memory_that_acknowledges_too_early_fails_the_kills(answers: Answers) -> None:
    """The twin that is broken on purpose is seen: it loses what it said was kept."""
    cell = answers(replace(broken("late", "LosesOnKill"), part=0.1), "crash/kills")["crash/kills"]

    assert cell.result == FAIL
    assert "seed 1" in cell.reason and not cell.reason.startswith("0 of")


def test_what_is_left_in_another_spelling_is_found(answers: Answers) -> None:
    """A copy in base64, in the middle of other bytes, is a trace."""
    cell = answers(broken("leftover", "Leftover"), "deletion/erased")["deletion/erased"]

    assert (cell.result, "cache.bin" in cell.reason) == (FAIL, True)


@pytest.mark.parametrize("case", ["failing-calls", "power-loss", "full-disk"])
def test_a_tool_that_is_not_installed_is_no_fault_of_the_question(
    answers: Answers, monkeypatch: pytest.MonkeyPatch, case: str
) -> None:
    """A control that has to fail it is not asked either: the run ends as it would without that question."""
    monkeypatch.setattr(shutil, "which", lambda name: None)
    control = replace(load_systems()[NOTHING], packages=())

    cells = answers(control, f"crash/{case}")

    assert cells[f"crash/{case}"].result == SKIPPED
    assert "not run here: " in cells[f"crash/{case}"].reason
    assert faults(cells.values()) == []
