"""``memkit evolve`` on tasks on disk, with programs in the sandbox and processes that are ended from outside."""

from __future__ import annotations

import json
import os
import pty
import re
import shlex
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from memkit.cli.main import run
from memkit.evolution.account import account_of
from memkit.evolution.files import JudgedProgram, read_data, write_data
from memkit.evolution.folder import RunFolder
from memkit.runtime.memory.log.clone import state_folder
from memkit.runtime.testing import FakeServer
from memkit.sandbox import SandboxUnavailable, usable_runtime

EVALUATOR = """
import importlib.util

def evaluate(path):
    spec = importlib.util.spec_from_file_location("candidate", path)
    candidate = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(candidate)
    return {"combined_score": -sum(abs(candidate.program(x) - (x * x + 3)) for x in range(8)), "points": 8}
"""
BLOCK = """
LIMIT = 4

# EVOLVE-BLOCK-START
def program(x):
    return x + 1
# EVOLVE-BLOCK-END
"""
SMALL = ("--generations", "5", "--population", "10", "--seed", "7")


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Stand in a folder with a program, its evaluator and a task folder, and with no store above."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "toy.py").write_text("lambda x: x * 2\n")
    (tmp_path / "judge.py").write_text(EVALUATOR)
    (tmp_path / "task").mkdir()
    (tmp_path / "task" / "initial_program.py").write_text(BLOCK)
    (tmp_path / "task" / "evaluator.py").write_text(EVALUATOR)


def asked(capsys: pytest.CaptureFixture[str], *words: str, code: int = 0) -> Any:
    """Return what ``evolve`` answers in JSON, which must end with ``code``."""
    found = run(["evolve", *words, "--json"])
    out, err = capsys.readouterr()
    assert found == code, out + err
    assert "NaN" not in out and "Infinity" not in out
    return json.loads(out)


def started(*words: str) -> subprocess.Popen[str]:
    """Start ``evolve`` in a process of its own."""
    return subprocess.Popen(
        [sys.executable, "-m", "memkit", "evolve", *words, "--json"],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip


def wait_for(path: Path) -> None:
    """Wait until a file is there."""
    while not path.exists():  # one that never comes ends with the time that a test has
        time.sleep(0.005)


def told(path: str | Path) -> tuple[Any, list[JudgedProgram], Any]:
    """Return best, journal and archive of a run."""
    account = account_of(RunFolder(Path(path)))
    assert account.checkpoint is not None
    return account.checkpoint.best, list(account.judged), account.checkpoint.archive


def test_an_expression_is_evolved_without_a_store(capsys: pytest.CaptureFixture[str]) -> None:
    """One lambda in a file is the simplest program there is; its evaluator calls it ``program``."""
    answer = asked(capsys, "toy.py", "--evaluator", "judge.py", "--generations", "15", "--population", "30")

    assert answer["schema"] == "memkit.evolve/1" and answer["ok"] is True
    data = answer["data"]
    assert data["best"]["score"] == data["best"]["metrics"]["combined_score"] > -100
    assert data["best"]["metrics"]["points"] == 8
    assert eval(data["best"]["program"])(2) is not None
    assert data["generations"] <= 15 and data["evaluations"] <= 15 * 30
    assert Path(data["run"]).parent == Path.cwd() / "memkit-runs"


def test_in_a_store_runs_lie_in_what_belongs_to_this_machine(store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Git does not see them, and their names are found from there."""
    data = asked(capsys, "task", *SMALL, "--store", str(store))["data"]

    assert Path(data["run"]).parent == state_folder(store) / "evolve"
    assert (
        subprocess.run(["git", "status", "--short"], cwd=store, capture_output=True, text=True, check=True).stdout == ""
    )
    name = Path(data["run"]).name
    assert asked(capsys, "status", name, "--store", str(store))["data"]["evaluations"] == data["evaluations"]


def test_what_lies_outside_of_the_block_never_changes(capsys: pytest.CaptureFixture[str]) -> None:
    """A task folder needs no evaluator to be named, and --out says where the run lies."""
    data = asked(capsys, "task", *SMALL, "--out", "here")["data"]

    assert data["run"] == str(Path.cwd() / "here")
    before, _, rest = data["best"]["program"].partition("# EVOLVE-BLOCK-START\n")
    assert before == BLOCK.partition("# EVOLVE-BLOCK-START\n")[0]
    assert rest.endswith("# EVOLVE-BLOCK-END\n")
    record = RunFolder(Path("here")).record
    assert record.command[:3] == ("memkit", "evolve", "task") and "--seed" in record.command
    assert set(record.digests) == {"initial_program.py", "evaluator.py"} and "landlock" in record.sandbox
    again = asked(capsys, "here/task", *SMALL)["data"]
    assert again["best"] == data["best"], "the copy of a task in its run is the task"


def test_a_program_with_line_ends_of_windows_is_printed_as_a_program(capsys: pytest.CaptureFixture[str]) -> None:
    """What is printed is text for a terminal, in which they would show as escapes; --out keeps them."""
    Path("task/initial_program.py").write_bytes(BLOCK.replace("\n", "\r\n").encode())

    assert run(["evolve", "task", *SMALL, "--out", "here"]) == 0
    assert "\nLIMIT = 4\n" in capsys.readouterr().out

    assert run(["evolve", "best", "here", "--out", "best.py"]) == 0
    assert capsys.readouterr().out == Path("best.py").read_bytes().decode().replace("\r\n", "\n")


@pytest.mark.parametrize(
    ("returned", "reason"),
    [
        ("{'combined_score': float('nan')}", "nan"),
        ("{'combined_score': True}", "True"),
        ("'good'", "metrics"),
        ("1 / 0", "Zero"),
    ],
)
def test_a_run_in_which_nothing_scores_says_why(capsys: pytest.CaptureFixture[str], returned: str, reason: str) -> None:
    """The score is null and the exit code 1; the run is there to be looked at."""
    Path("judge.py").write_text(f"def evaluate(path):\n    return {returned}\n")

    answer = asked(capsys, "toy.py", "--evaluator", "judge.py", "--generations", "2", "--population", "6", code=1)

    assert answer["ok"] is False
    assert answer["data"]["best"] == {"program": "lambda x: x * 2\n", "score": None, "metrics": {}}
    assert any(reason in each["message"] for each in answer["diagnostics"])
    assert asked(capsys, "status")["data"]["best"] is None
    assert asked(capsys, "best", code=1)["ok"] is False
    assert Path(asked(capsys, "report")["data"]["out"]).is_file()


def test_a_lower_score_is_better_where_that_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    """Best, lineage and target all turn round with it."""
    Path("judge.py").write_text(EVALUATOR.replace("-sum", "sum").replace(', "points": 8', ""))
    words = ("toy.py", "--evaluator", "judge.py", "--population", "30", "--generations", "9", "--out", "run")

    data = asked(capsys, *words, "--minimize", "--target", "30")["data"]

    first = next(iter(account_of(RunFolder(Path("run"))).judged))
    assert 0 <= data["best"]["score"] < (first.score or 0)
    assert (data["stopped"] == "target") == (data["best"]["score"] <= 30)


def test_a_program_that_never_answers_costs_its_time_and_no_more(capsys: pytest.CaptureFixture[str]) -> None:
    """Each evaluation ends with --timeout, or none would ever, and the reason says so."""
    Path("spin.py").write_text("def program(x):\n    while True:\n        x = x\n")
    words = ("spin.py", "--evaluator", "judge.py", "--population", "2", "--generations", "1", "--timeout", "0.5")

    data = asked(capsys, *words, code=1)["data"]

    assert next(iter(data["failures"])).startswith("time: ")


def test_an_evaluator_that_always_hangs_ends_the_run_early(capsys: pytest.CaptureFixture[str]) -> None:
    """After five generations without a score, not after all; --resume tries once more, and says the same."""
    Path("judge.py").write_text("import time\ndef evaluate(path):\n    time.sleep(3600)\n")
    words = ("toy.py", "--evaluator", "judge.py", "--population", "2", "--generations", "50", "--timeout", "0.2")

    data = asked(capsys, *words, "--out", "run", code=1)["data"]
    again = asked(capsys, "--resume", "run", code=1)["data"]

    assert (data["stopped"], data["generations"]) == ("unscored", 5)
    assert (again["stopped"], again["generations"]) == ("unscored", 6)
    assert all(reason.startswith("time: ") for reason in data["failures"])


@pytest.mark.parametrize("option", ["--timeout", "--max-cost"])
@pytest.mark.parametrize("number", ["nan", "inf", "-1"])
def test_a_limit_is_a_finite_number(capsys: pytest.CaptureFixture[str], option: str, number: str) -> None:
    """What is no number is bad usage and begins no run."""
    answer = asked(capsys, "task", option, number, "--price", "1,1", "--out", "run", code=2)

    assert option in answer["diagnostics"][0]["message"] and not Path("run").exists()


def test_a_damaged_journal_is_said_before_the_run_goes_on(capsys: pytest.CaptureFixture[str]) -> None:
    """Nothing is judged, nobody is paid, and every file stays as it is."""
    asked(capsys, "task", *SMALL, "--out", "run")
    journal = Path("run", "individuals.jsonl")
    journal.write_bytes(b"X" + journal.read_bytes()[1:])
    before = Path("run", "checkpoint.json").read_bytes()

    answer = asked(capsys, "--resume", "run", "--generations", "9", code=3)

    assert "individuals.jsonl:1: The line is damaged" in answer["diagnostics"][0]["message"]
    assert Path("run", "checkpoint.json").read_bytes() == before


def test_a_run_that_is_taken_away_ends() -> None:
    """Who deletes the folder of a run under way ends the run, instead of a folder that comes back and is none."""
    process = started("task", "--generations", "400", "--population", "10", "--out", "gone")
    wait_for(Path("gone", "checkpoint.json"))
    Path("gone", "run.json").unlink()

    out, _ = process.communicate()

    assert process.returncode == 3 and "run.json is gone" in out


def test_the_number_of_workers_changes_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    """Best, journal and archive are the same at one and at three."""
    for workers in ("1", "3"):
        asked(capsys, "task", *SMALL, "--workers", workers, "--out", f"w{workers}")

    assert told("w1") == told("w3")


def test_a_killed_process_costs_at_most_one_generation(capsys: pytest.CaptureFixture[str]) -> None:
    """Killed twice from outside, the run ends as if it had not been; no process of it is left."""
    asked(capsys, "task", *SMALL, "--out", "straight")
    process = started("task", *SMALL, "--out", "killed")
    wait_for(Path("killed/checkpoint.json"))
    process.kill()
    process.wait()
    for stream in (process.stdout, process.stderr):
        assert stream is not None
        stream.close()

    status = asked(capsys, "status", "killed")["data"]
    assert status["state"] == "stopped" and status["generation"] >= 1
    data = asked(capsys, "--resume", "killed")["data"]

    assert data["generations"] == 5 and told("killed") == told("straight")


def test_ctrl_c_stops_after_the_generation_and_says_how_to_go_on(capsys: pytest.CaptureFixture[str]) -> None:
    """Exit 130, the checkpoint is written, and the run that goes on is the straight run."""
    asked(capsys, "task", *SMALL, "--out", "straight")
    process = started("task", *SMALL, "--out", "stopped")
    wait_for(Path("stopped/checkpoint.json"))
    process.send_signal(signal.SIGINT)
    out, err = process.communicate()

    assert process.returncode == 130
    assert json.loads(out)["ok"] is False and json.loads(out)["data"]["stopped"] == "interrupted"
    assert f"memkit evolve --resume {Path.cwd() / 'stopped'}" in err
    asked(capsys, "--resume", "stopped")
    assert told("stopped") == told("straight")


@pytest.mark.parametrize("workers", ["1", "3"])
def test_a_second_ctrl_c_ends_at_once(capsys: pytest.CaptureFixture[str], workers: str) -> None:
    """Even while evaluations hang; what was there before the generation is there to go on from."""
    Path("judge.py").write_text(
        EVALUATOR.replace("    return", "    candidate.program(1) == 2 or __import__('time').sleep(3600)\n    return")
    )
    process = started("toy.py", "--evaluator", "judge.py", "--timeout", "999", "--workers", workers, "--out", "stopped")
    wait_for(Path("stopped/run.json"))
    for _ in range(2):
        process.send_signal(signal.SIGINT)
        time.sleep(0.5)
    out, err = process.communicate()

    assert process.returncode == 130
    assert json.loads(out)["data"]["generations"] == 0 and "--resume" in err
    assert asked(capsys, "status", "stopped")["data"]["state"] == "stopped"


def test_a_terminal_is_shown_a_bar_that_goes_away() -> None:
    """It is drawn over on one line, on standard error, with the best score in it."""
    child, terminal = pty.fork()
    if child == 0:
        os.execv(sys.executable, [sys.executable, "-m", "memkit", "evolve", "task", *SMALL])
    shown = b""
    while True:
        try:
            shown += os.read(terminal, 4096)
        except OSError:  # Linux says so when the other side has closed
            break
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0

    drawn = shown.decode().split("\r\x1b[K")
    assert len(drawn) == 5 + 2 and re.match(r"\[#####\.{19}\] generation 1 of 5: best -", drawn[1])
    assert drawn[-1].startswith("Best score")


def test_two_processes_never_work_on_one_run(capsys: pytest.CaptureFixture[str]) -> None:
    """The second is refused at once; looking is allowed all the time."""
    process = started("task", "--generations", "100000", "--population", "10", "--out", "busy")
    try:
        wait_for(Path("busy/checkpoint.json"))
        answer = asked(capsys, "--resume", "busy", code=3)
        assert answer["diagnostics"][0]["code"] == "locked"
        assert asked(capsys, "status", "busy")["data"]["state"] == "running"
    finally:
        process.send_signal(signal.SIGINT)
        process.communicate()


def test_a_task_that_changed_is_noticed(capsys: pytest.CaptureFixture[str]) -> None:
    """Another evaluator judges otherwise, so going on has to be said, and is written down."""
    asked(capsys, "task", *SMALL, "--out", "run")
    Path("task/evaluator.py").write_text(EVALUATOR.replace("+ 3", "+ 4"))

    answer = asked(capsys, "--resume", "run", "--generations", "6", code=2)
    assert "evaluator.py" in answer["diagnostics"][0]["message"] and answer["diagnostics"][0]["code"] == "changed"
    data = asked(capsys, "--resume", "run", "--generations", "6", "--accept-changes")["data"]

    assert data["generations"] == 6
    changes = [change["what"] for change in RunFolder(Path("run")).record.changes]
    assert changes == ["task: evaluator.py", "generations: 5 → 6"]


def test_a_program_whose_surroundings_changed_needs_a_new_run(capsys: pytest.CaptureFixture[str]) -> None:
    """The programs of the run are no programs of that task any more; nothing about the run changes."""
    asked(capsys, "task", *SMALL, "--out", "run")
    before = Path("run/run.json").read_bytes()
    Path("task/initial_program.py").write_text(BLOCK.replace("LIMIT = 4", "LIMIT = 5"))

    answer = asked(capsys, "--resume", "run", "--generations", "6", "--accept-changes", code=2)

    assert "Start a new run" in answer["diagnostics"][0]["message"]
    assert Path("run/run.json").read_bytes() == before


def test_a_tasks_own_settings_hold_where_nothing_else_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    """OpenEvolve's names: iterations are programs; what says nothing here is named."""
    Path("task/config.yaml").write_text(
        "max_iterations: 30\nrandom_seed: 7\nevaluator: {timeout: 5}\nprompt: {num_top_programs: 3}\n"
    )

    answer = asked(capsys, "task", "--population", "10", "--out", "run")

    settings = RunFolder(Path("run")).record.settings
    assert (settings.generations, settings.seed, settings.timeout) == (3, 7, 5.0)
    assert any("prompt.num_top_programs" in each["message"] for each in answer["diagnostics"])
    assert "config.yaml" in RunFolder(Path("run")).record.digests
    asked(capsys, "--resume", "run", "--generations", "4")


def test_what_is_written_beside_a_task_is_no_change_of_it(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither a run that lies in the task's folder, nor the best program that somebody put there."""
    monkeypatch.chdir("task")
    asked(capsys, ".", *SMALL, "--out", "run")
    asked(capsys, "best", "run", "--out", "best.py")

    assert asked(capsys, "--resume", "run", "--generations", "6")["data"]["generations"] == 6
    asked(capsys, ".", *SMALL, "--out", "other")
    assert set(RunFolder(Path("other")).record.digests) == {"initial_program.py", "evaluator.py", "best.py"}


def test_a_finished_run_goes_on_only_for_a_reason(capsys: pytest.CaptureFixture[str]) -> None:
    """Resumed as it is, it answers again and changes nothing."""
    first = asked(capsys, "task", *SMALL, "--out", "run")
    before = Path("run/checkpoint.json").read_bytes()

    again = asked(capsys, "--resume", "run")

    assert again["data"] == first["data"] and Path("run/checkpoint.json").read_bytes() == before
    assert asked(capsys, "--resume", "latest", code=1)["diagnostics"][0]["code"] == "not_found"


def test_a_checkpoint_that_was_cut_short_is_said_and_survived(capsys: pytest.CaptureFixture[str]) -> None:
    """The one before takes over; where there is none, or a newer memkit wrote it, the error names the file."""
    asked(capsys, "task", *SMALL, "--out", "straight")
    shutil.copytree("straight", "cut")
    file = Path("cut/checkpoint.json")
    file.write_bytes(file.read_bytes()[:500])

    answer = asked(capsys, "--resume", "cut")
    assert "checkpoint.json is truncated" in answer["diagnostics"][0]["message"]
    assert told("cut") == told("straight")
    file.write_text(file.read_text().replace('"format": 1', '"format": 99', 1))
    assert "checkpoint.json has format 99" in asked(capsys, "--resume", "cut", code=3)["diagnostics"][0]["message"]
    file.write_text("")
    Path("cut/checkpoint.previous.json").unlink()
    assert "no other checkpoint" in asked(capsys, "status", "cut", code=3)["diagnostics"][0]["message"]


@pytest.mark.parametrize(
    "edit",
    [{"best": 5}, {"generation": "two"}, {"journal_bytes": -1}, {"seconds": None}, {"evaluations": True}, {"x": 1}],
)
def test_an_edited_checkpoint_is_damage_even_with_its_digest_made_anew(
    edit: dict[str, object], capsys: pytest.CaptureFixture[str]
) -> None:
    """The one before takes over, and the programs are those of the run that nobody touched."""
    asked(capsys, "task", *SMALL, "--out", "straight")
    shutil.copytree("straight", "edited")
    file = Path("edited/checkpoint.json")
    write_data(file, {**read_data(file), **edit})

    answer = asked(capsys, "--resume", "edited")

    assert "checkpoint.json is not a checkpoint" in answer["diagnostics"][0]["message"]
    assert told("edited") == told("straight")


def test_a_model_proposes_and_a_stopped_run_goes_on_with_its_next_answer(capsys: pytest.CaptureFixture[str]) -> None:
    """The answers are kept, the lineage names who proposed, and nothing is asked twice."""
    better = [BLOCK.replace("x + 1", f"x * x + {number}") for number in (40, 20, 10, 5, 4, 3)]
    answers = [{"text": f"```python\n{text}```"} for text in better]
    Path("answers.json").write_text(json.dumps(answers))
    words = ("task", "--population", "4", "--seed", "1", "--provider", "scripted:answers.json")

    straight = asked(capsys, *words, "--generations", "5", "--out", "straight")["data"]
    asked(capsys, *words, "--generations", "2", "--out", "halted")
    asked(capsys, "--resume", "halted", "--generations", "5")

    assert straight["best"]["score"] == 0 and "x * x + 3" in straight["best"]["program"]
    assert told("halted") == told("straight")
    steps = asked(capsys, "lineage", "halted")["data"]["ancestors"]
    assert steps[0]["operation"] == "seed" and steps[-1]["operation"] == "model:scripted:answers.json"
    status = asked(capsys, "status", "halted")["data"]
    assert status["models"] == [{"name": "scripted:answers.json", "asked": 6, "better": 4}]
    assert run(["evolve", "status", "halted"]) == 0
    assert "model scripted:answers.json: asked 6 times, 4 better" in capsys.readouterr().out
    assert len(Path("halted/answers.jsonl").read_text().splitlines()) == 6


def test_a_vendors_model_is_paid_within_its_budget(
    capsys: pytest.CaptureFixture[str], model_server: Callable[..., FakeServer]
) -> None:
    """Tokens are counted as the vendor reports them, cost by the stated price; more budget, and the run goes on."""
    answer = {"text": f"```python\n{BLOCK.replace('x + 1', 'x * x + 9')}```"}
    server = model_server("chat", [answer] * 60)
    words = ("task", "--population", "8", "--generations", "6", "--provider", "openai", "--price", "3,15")

    data = asked(capsys, *words, "--max-tokens", "1000", "--out", "run")["data"]
    assert data["stopped"] == "tokens" and data["generations"] < 6
    assert data["spent"]["tokens"] >= 1000 and 0 < data["spent"]["cost"] < 1
    assert asked(capsys, "status", "run")["data"]["spent"] == data["spent"]
    paid = len(server.asked)
    assert len(Path("run/answers.jsonl").read_text().splitlines()) == paid

    more = asked(capsys, "--resume", "run", "--max-tokens", "1000000")["data"]
    assert more["generations"] == 6 and more["stopped"] == "generations" and len(server.asked) > paid
    assert more["best"]["score"] >= -48 and more["spent"]["tokens"] > data["spent"]["tokens"]
    assert "budget: " in RunFolder(Path("run")).record.changes[0]["what"]
    once = asked(capsys, *words, "--max-cost", "0.001", "--out", "cheap")["data"]
    assert once["stopped"] == "cost" and once["spent"]["cost"] >= 0.001


def test_an_unconfined_run_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    """In its record, and on its page."""
    asked(capsys, "task", *SMALL, "--out", "run", "--unsafe")
    asked(capsys, "report", "run", "--out", "page.html")

    assert "--unsafe" in RunFolder(Path("run")).record.sandbox
    assert "were not confined" in Path("page.html").read_text()


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        ((), "PROGRAM"),
        (("toy.py",), "--evaluator"),
        (("absent.py", "--evaluator", "judge.py"), "absent.py"),
        (("statsu",), "Did you mean 'status'?"),
        (("toy.py", "--evaluator", "absent.py"), "absent.py"),
        (("toy.py", "--evaluator", "toy.py"), "toy.py"),
        (("broken.py", "--evaluator", "judge.py"), "broken.py"),
        (("task", "--islands", "6", "--population", "10"), "islands"),
        (("task", "--max-cost", "1"), "--price"),
        (("task", "--price", "cheap"), "two prices"),
        (("task", "--target", "nan"), "finite"),
        (("task", "--provider", "refrence"), "reference"),
        (("task", "--grant-module", "os"), "standard library"),
        (("task", "--grant-module", "no_such_module"), "not installed"),
        (("task", "--scratch", "../x"), "scratch"),
        (("task", "--out", "task"), "already contains evaluator.py"),
        (("task", "--accept-changes"), "--resume"),
        (("--resume", "x", "--seed", "3"), "--seed"),
        (("task", "--resume", "x"), "leave task out"),
    ],
)
def test_what_makes_no_sense_is_one_clear_line(
    words: tuple[str, ...], reason: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Exit 2, the reason, and nothing is left behind."""
    Path("broken.py").write_text("def f(:\n")

    assert reason in asked(capsys, *words, code=2)["diagnostics"][0]["message"]

    assert not Path("memkit-runs").exists() and not Path("here").exists()


@pytest.fixture
def runtime() -> str:
    """Return the name of a runtime that can start containers here."""
    try:
        return usable_runtime().name
    except SandboxUnavailable as error:
        if "is not installed" in str(error):
            pytest.skip(str(error))
        return pytest.skip(f"this kernel does not let its user start a container: {error}")


def test_a_run_in_a_container_comes_to_the_same_and_says_so(capsys: pytest.CaptureFixture[str], runtime: str) -> None:
    """The runtime that ``auto`` found is recorded, shown, and what the run goes on with."""
    plain = asked(capsys, "toy.py", "--evaluator", "judge.py", *SMALL, "--out", "plain")
    short = ("--generations", "2", *SMALL[2:])
    asked(capsys, "toy.py", "--evaluator", "judge.py", *short, "--container", "auto", "--out", "contained")
    contained = asked(capsys, "--resume", "contained", "--generations", "5")

    assert contained["data"]["best"] == plain["data"]["best"]
    assert Path("contained/individuals.jsonl").read_bytes() == Path("plain/individuals.jsonl").read_bytes()
    assert read_data(Path("contained/run.json"))["settings"]["container"] == runtime
    assert asked(capsys, "status", "contained")["data"]["sandbox"].startswith(f"container of {runtime} ")
    assert run(["evolve", "status", "contained"]) == 0
    assert f"confined by container of {runtime} " in capsys.readouterr().out


def test_a_container_that_cannot_be_had_begins_no_run(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """What is missing is said, with exit 3; what contradicts itself, or is no runtime, is bad usage."""
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr("memkit.sandbox.container._PLACES", ())
    task = ("evolve", "toy.py", "--evaluator", "judge.py", "--out", "r")
    for name in ("auto", "runc"):
        assert run([*task, "--container", name]) == 3
        assert "container runtime runc is not installed" in capsys.readouterr().err
    assert run([*task, "--container", "runc", "--unsafe"]) == 2
    assert run([*task, "--container", "docker"]) == 2
    assert not Path("r").exists()


def test_fewer_generations_than_there_are_already_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    """Somebody who says 2 after 5 counts those to come; as many as there are is an answer."""
    asked(capsys, "toy.py", "--evaluator", "judge.py", *SMALL, "--out", "r")
    before = Path("r/run.json").read_bytes()

    assert run(["evolve", "--resume", "r", "--generations", "2"]) == 2
    assert "already has 5 generations, and --generations 2 is the total" in capsys.readouterr().err
    assert Path("r/run.json").read_bytes() == before
    assert asked(capsys, "--resume", "r", "--generations", "5")["data"]["generations"] == 5


def test_a_command_it_suggests_can_be_typed_as_it_is(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Even where the folder's name has a space."""
    (tmp_path / "my runs").mkdir()
    monkeypatch.chdir(tmp_path / "my runs")
    Path("long.py").write_text("def program(x):\n" + "    x = x + 1\n" * 60 + "    return x\n")
    small = ["--generations", "1", "--population", "2", "--seed", "1"]

    assert run(["evolve", "long.py", "--evaluator", "../judge.py", *small]) == 0

    command = capsys.readouterr().out.rpartition("more lines: ")[2].splitlines()[0]
    assert run(shlex.split(command)[1:]) == 0
