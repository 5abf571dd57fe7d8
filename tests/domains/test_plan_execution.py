"""``memkit plan --run``, ``--dry-run`` and ``--resume``, used as a person would."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import yaml

from memkit.cli import approval, plan_execution
from memkit.cli.main import run
from memkit.cli.output import Front
from memkit.domains.runs import PlanRuns
from memkit.runtime.htn.core import Domain, Problem
from memkit.runtime.memory.log.clone import state_folder

DOMAIN = {
    "name": "parcels",
    "types": {"place": "object"},
    "predicates": {"at": ["place"], "road": ["place", "place"], "left": ["place"]},
    "operators": [
        {
            "name": "drive",
            "parameters": "?from ?to - place",
            "preconditions": ["at ?from", "road ?from ?to"],
            "add": ["at ?to"],
            "remove": ["at ?from"],
            "tool": "drive",
        },
        {
            "name": "leave",
            "parameters": "?at - place",
            "preconditions": ["at ?at"],
            "add": ["left ?at"],
            "tool": "leave",
        },
        {"name": "wave", "description": "Wave to somebody."},
    ],
    "methods": [
        {"name": "here", "task": "reach ?to - place", "preconditions": ["at ?to"], "subtasks": []},
        {
            "name": "direct",
            "task": "reach ?to - place",
            "preconditions": ["at ?x", "road ?x ?to"],
            "subtasks": ["drive ?x ?to"],
        },
        {
            "name": "over",
            "task": "reach ?to - place",
            "preconditions": ["at ?x", "road ?x ?by", "road ?by ?to"],
            "subtasks": ["drive ?x ?by", "drive ?by ?to"],
        },
        {"name": "bring", "task": "bring ?to - place", "subtasks": ["reach ?to", "leave ?to"]},
        {"name": "greet", "task": "greet", "subtasks": ["wave"]},
    ],
    "objects": dict.fromkeys(["home", "hill", "town"], "place"),
    "state": ["at home", "road home town", "road home hill", "road hill town"],
}  # fmt: skip
PLACES = {
    "type": "object",
    "properties": {"from": {"type": "string"}, "to": {"type": "string"}},
    "required": ["from", "to"],
}
PLACE = {"type": "object", "properties": {"at": {"type": "string"}}, "required": ["at"]}


def tool(name: str, script: str, parameters: dict[str, Any]) -> dict[str, Any]:
    """Return the declaration of a tool that notes its call and then runs a line of shell."""
    command = f'cat >> "{name}.log"; {script}'
    return {
        "name": name,
        "description": name,
        "parameters": parameters,
        "run": ["sh", "-c", command],
        "open_world": False,
    }


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Path:
    """Make a store with the domain and two tools, and work in it."""
    root = tmp_path / "store"
    assert run(["init", str(root)]) == 0
    monkeypatch.chdir(root)
    (root / "domains" / "parcels.yaml").write_text(yaml.safe_dump(DOMAIN))
    declare(root, tool("drive", "true", PLACES), tool("leave", "true", PLACE))
    capsys.readouterr()
    return root


def declare(root: Path, *tools: dict[str, Any]) -> None:
    """Write the tools of the store, and trust it to run them."""
    manifest = yaml.safe_load((root / "memkit.yaml").read_text())
    apart = json.loads(json.dumps(tools))  # what two of them share would be written as an alias
    (root / "memkit.yaml").write_text(yaml.safe_dump({**manifest, "tools": apart}))
    assert run(["trust", "--yes", "--store", str(root)]) == 0


def calls(root: Path, name: str) -> int:
    """Return how often a tool was called."""
    path = root / f"{name}.log"
    return len(path.read_text().splitlines()) if path.exists() else 0


def plan(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, dict[str, Any]]:
    """Run ``memkit plan --json`` and return its exit code and envelope."""
    capsys.readouterr()
    code = run(["plan", *arguments, "--json"])
    printed = capsys.readouterr()
    return code, json.loads(printed.out)


BRING = ("bring town", "--domain", "parcels")


def test_a_plan_is_carried_out_by_the_tools_of_the_store(store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Each step calls its tool once; the envelope keeps its keys and adds the account."""
    code, found = plan(capsys, *BRING, "--run")

    assert (code, found["schema"], found["ok"]) == (0, "memkit.plan/1", True)
    assert [step["name"] for step in found["data"]["plan"]] == ["drive", "leave"]
    assert {"plan", "tree", "outcome", "reasons", "execution"} <= set(found["data"])
    execution = found["data"]["execution"]
    assert (execution["outcome"], execution["completed"], execution["replans"]) == ("done", 2, 0)
    assert {"at town", "left town"} <= set(execution["state"])
    assert (calls(store, "drive"), calls(store, "leave")) == (1, 1)
    assert Path(execution["folder"]).parent == state_folder(store) / "plans"


def test_a_dry_run_shows_everything_and_runs_nothing(store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Steps, verdicts and changes are shown; no tool is called, no run begins."""
    code, found = plan(capsys, *BRING, "--dry-run")
    assert run(["plan", *BRING, "--dry-run"]) == 0
    shown = capsys.readouterr().out

    steps = found["data"]["execution"]["steps"]
    assert code == 0
    assert [(step["tool"], step["decision"]) for step in steps] == [("drive", "allow"), ("leave", "allow")]
    assert steps[0]["changes"] == {"add": ["at town"], "remove": ["at home"], "numbers": {}}
    assert "+ at town, - at home" in shown
    assert calls(store, "drive") == 0
    assert not (state_folder(store) / "plans").exists()


def test_a_dry_run_explains_and_draws_the_plan(store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """--explain and drawings go with --dry-run: first the tree, then what each step would do."""
    asked = (*BRING, "--dry-run", "--explain")

    assert run(["plan", *asked, "--svg", "plan.svg"]) == 0
    shown = capsys.readouterr().out
    found = plan(capsys, *asked)[1]
    failed = plan(capsys, "bring moon", "--domain", "parcels", "--dry-run", "--explain")[1]

    assert shown.splitlines()[:2] == ["bring town  (bring)", "  reach town  (direct)  with ?x = home"]
    assert "+ at town, - at home" in shown
    assert (store / "plan.svg").read_text().startswith("<svg")
    assert [each["method"] for each in found["data"]["explanation"][0]["passed_over"]] == ["here"]
    assert "moon is not a place" in failed["data"]["explanation"][0]["message"]


POLICY = {
    "name": "no_driving",
    "description": "Nobody drives into town.",
    "rule": "Do not drive into town.",
    "enforcement": "hard",
    "effect": "deny",
    "match": {"tool": "drive", "args.to": "town", "args.from": "home"},
}


@pytest.mark.parametrize("effect", ["deny", "ask"])
def test_a_denied_step_leads_around_or_ends_the_run(
    effect: str, store: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """What a policy denies, or asks about where nobody can be asked, is not run; the way over the hill is."""
    (store / "policies" / "no_driving.yaml").write_text(yaml.safe_dump({**POLICY, "effect": effect}))

    code, found = plan(capsys, *BRING, "--run")

    execution = found["data"]["execution"]
    assert code == 0
    assert [(step["name"], step["args"], step["status"]) for step in execution["steps"]] == [
        ("drive", ["home", "town"], "denied"),
        ("drive", ["home", "hill"], "done"),
        ("drive", ["hill", "town"], "done"),
        ("leave", ["town"], "done"),
    ]
    assert "no_driving" in execution["steps"][0]["reason"]
    assert calls(store, "drive") == 2


def test_a_person_is_asked_where_a_policy_asks(
    store: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """On a terminal the person agrees, and the step is run."""
    (store / "policies" / "no_driving.yaml").write_text(yaml.safe_dump({**POLICY, "effect": "ask"}))
    monkeypatch.setattr(Front, "interactive", property(lambda self: True))
    monkeypatch.setattr(approval, "typed_line", lambda question: "yes" if "no_driving" in question else "no")

    code, found = plan(capsys, *BRING, "--run")

    assert code == 0
    assert [step["status"] for step in found["data"]["execution"]["steps"]] == ["done", "done"]


def test_a_dry_run_names_what_would_be_denied(store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A denied step makes the answer negative, and the policy is named."""
    (store / "policies" / "no_driving.yaml").write_text(yaml.safe_dump(POLICY))

    code, found = plan(capsys, *BRING, "--dry-run")

    assert code == 1
    assert found["data"]["outcome"] == "found"
    assert found["data"]["execution"]["outcome"] == "refused"
    assert "no_driving" in found["data"]["execution"]["reasons"][0]["message"]


@pytest.mark.parametrize(
    ("operator", "opens", "verdicts"),
    [
        ({"tool": "drive"}, False, ["allow", "allow"]),
        ({"tool": "drive"}, True, ["allow", "ask"]),
        ({}, False, ["allow", "allow"]),
    ],
    ids=["closed-tool", "open-world-tool", "by-hand"],
)  # fmt: skip
def test_a_dry_run_and_a_run_judge_alike(
    operator: dict[str, str], opens: bool, verdicts: list[str], store: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A step by hand brings in no text from outside; an open-world tool does, and without a person 'ask' is no."""
    domain = json.loads(json.dumps(DOMAIN))
    drive = domain["operators"][0]
    del drive["tool"]
    domain["operators"][0] = drive | operator
    (store / "domains" / "parcels.yaml").write_text(yaml.safe_dump(domain))
    (store / "policies" / "no_leaving.yaml").write_text(yaml.safe_dump({
        **POLICY, "name": "no_leaving", "effect": "ask", "match": {"tool": "leave", "context.trust": "untrusted"},
    }))  # fmt: skip
    declare(store, tool("drive", "true", PLACES) | {"open_world": opens}, tool("leave", "true", PLACE))
    capsys.readouterr()

    foreseen = plan(capsys, *BRING, "--dry-run", "--manual", "done")[1]["data"]["execution"]["steps"]
    code, done = plan(capsys, *BRING, "--run", "--manual", "done")

    assert [step["decision"] for step in foreseen] == verdicts
    refused = "ask" in verdicts
    assert (code, calls(store, "leave")) == ((1, 0) if refused else (0, 1))
    assert done["data"]["execution"]["steps"][-1]["status"] == ("denied" if refused else "done")


def test_a_step_that_always_fails_ends_the_run_and_may_be_taken_up_again(
    store: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Exit 1 with the reason; when the tool is repaired the run goes on, and what was done stays done."""
    declare(store, tool("drive", "true", PLACES), tool("leave", "echo jammed; exit 3", PLACE))
    code, failed = plan(capsys, *BRING, "--run")
    assert code == 1
    assert "jammed" in failed["data"]["execution"]["reasons"][0]["message"]
    declare(store, tool("drive", "true", PLACES), tool("leave", "true", PLACE))

    code, found = plan(capsys, "--resume", failed["data"]["execution"]["run"])

    assert code == 0
    assert found["data"]["execution"]["outcome"] == "done"
    assert (calls(store, "drive"), calls(store, "leave")) == (1, 2)


def test_what_a_tool_observes_decides_how_it_goes_on(store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The observing tool says that the first drive came to nothing; the run goes over the hill."""
    look = """[ -e looked ] && echo null || { touch looked; echo '{"facts": ["at home", "not at town"]}'; }"""
    declare(store, tool("drive", "true", PLACES), tool("leave", "true", PLACE), tool("look", look, {"type": "object"}))

    code, found = plan(capsys, *BRING, "--run", "--observe", "look")

    steps = found["data"]["execution"]["steps"]
    foreseen = plan(capsys, *BRING, "--dry-run", "--observe", "look")[1]["data"]["execution"]["steps"]
    assert [step["decision"] for step in foreseen] == ["allow", "allow"]
    assert code == 0
    assert [step["status"] for step in steps] == ["failed", "done", "done", "done"]
    assert steps[0]["unexpected"] == ["not at town", "at home"]


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        ([*BRING, "--run", "--dry-run"], 2, "Give one of"),
        ([*BRING, "--run", "--assume", "done"], 2, "requires --resume"),
        ([*BRING, "--run", "--explain"], 2, "Use --dry-run to look first"),
        ([*BRING, "--run", "--svg", "plan.svg"], 2, "Use --dry-run to look first"),
        (["--resume", "x", "--explain"], 2, "Use --dry-run to look first"),
        ([*BRING, "--dry-run", "--format", "ipc"], 2, "--format ipc prints a plan"),
        (["--resume", "x", "--promoted-only"], 2, "A run already has its task"),
        ([*BRING, "--model", "m"], 2, "requires --provider"),
        (["--resume", "nothing"], 1, "There is no run 'nothing'"),
        (["--resume", "nothing", "--domain", "parcels"], 2, "Give --resume RUN without them"),
        (["fly town", "--run"], 2, "No domain of this store has such a task"),
        ([*BRING, "--run", "--observe", "drvie"], 2, "Did you mean 'drive'"),
        (["greet", "--domain", "parcels", "--run"], 1, "no tool is bound to it"),
        (["bring moon", "--domain", "parcels", "--run"], 1, "No plan."),
        ([*BRING, "--run", "--max-replans", "-1"], 2, "max-replans"),
    ],
)
def test_what_cannot_be_begun_says_why(
    arguments: list[str], code: int, words: str, store: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Nothing is run, one clear line, the pinned exit code."""
    assert run(["plan", *arguments]) == code

    printed = capsys.readouterr()
    assert words in printed.out + printed.err
    assert "Traceback" not in printed.err
    assert calls(store, "drive") == 0
    assert not (state_folder(store) / "plans").exists()


@pytest.mark.parametrize(
    ("tools", "words"),
    [
        ([tool("drive", "true", PLACES)], "There is no tool 'leave'"),
        ([tool("drive", "true", PLACES), tool("leave", "true", PLACES)], "'to' is missing"),
    ],
)
def test_a_step_whose_tool_cannot_take_it_is_known_before_the_first_step(
    tools: list[dict[str, Any]], words: str, store: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A tool that is not declared, or wants other arguments, stops the run before anything was done."""
    declare(store, *tools)

    code, found = plan(capsys, *BRING, "--run")

    assert code == 1
    assert found["data"]["execution"]["outcome"] == "refused"
    assert words in found["data"]["execution"]["reasons"][0]["message"]
    assert calls(store, "drive") == 0


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ({"from": "?from", "to": "the gate of ?to"}, {"from": "home", "to": "the gate of town"}),
        ({"from": "?to", "to": "?to"}, {"from": "town", "to": "town"}),
    ],
)
def test_an_operator_may_say_what_its_tool_is_told(
    arguments: dict[str, str], told: dict[str, str], store: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Variables in its texts stand for the step's objects; order and number of parameters do not matter then."""
    data = json.loads(json.dumps(DOMAIN))
    data["operators"][0]["arguments"] = arguments
    (store / "domains" / "parcels.yaml").write_text(yaml.safe_dump(data))

    code, _ = plan(capsys, *BRING, "--run")

    assert code == 0
    assert json.loads((store / "drive.log").read_text()) == told


def test_an_argument_that_no_parameter_takes_is_not_dropped(store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A tool with fewer parameters than the step has arguments is refused before the first step."""
    declare(store, tool("drive", "true", PLACE), tool("leave", "true", PLACE))

    code, found = plan(capsys, *BRING, "--run")

    assert code == 1
    assert "drive home town: drive was not run" in found["data"]["execution"]["reasons"][0]["message"]


def test_a_step_without_a_tool_is_confirmed_by_a_person(
    store: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """On a terminal the person says whether it is done; the flag says it for all."""
    asked: list[str] = []
    monkeypatch.setattr(Front, "interactive", property(lambda self: True))
    monkeypatch.setattr(plan_execution, "yes_or_no", lambda question: bool(asked.append(question)))

    code, denied = plan(capsys, "greet", "--domain", "parcels", "--run")
    done, _ = plan(capsys, "greet", "--domain", "parcels", "--run", "--manual", "done")

    assert (code, done) == (1, 0)
    assert denied["data"]["execution"]["reasons"][0]["message"] == "wave: it was not done by hand"
    assert len(asked) == 1 and "Wave to somebody." in asked[0]


def test_the_command_that_goes_on_names_the_folder_of_the_run(store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What the answer says to type works as it stands, also for a folder with a space in its name."""
    declare(store, tool("drive", "exit 1", PLACES), tool("leave", "true", PLACE))
    assert run(["plan", *BRING, "--run", "--run-dir", "my runs"]) == 1
    command = capsys.readouterr().out.rpartition("Continue with: memkit ")[2]
    declare(store, tool("drive", "true", PLACES), tool("leave", "true", PLACE))

    assert run(shlex.split(command)) == 0


def test_outside_a_store_a_run_needs_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    """Without a store there are no tools; what people do by hand is kept where the caller says."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "parcels.yaml").write_text(yaml.safe_dump(DOMAIN))
    greet = ("greet", "--domain", "parcels.yaml", "--run", "--manual", "done")

    refused = run(["plan", *greet])
    code, found = plan(capsys, *greet, "--run-dir", "runs")
    listed = run(["plan", "runs", "--run-dir", "runs"])

    assert (refused, code, listed) == (2, 0, 0)
    assert found["data"]["execution"]["run"] in capsys.readouterr().out


RESCUE = {
    "name": "rescue",
    "predicates": {"tried": [], "fixed": []},
    "operators": [
        {"name": "begin", "add": ["tried"]},
        {"name": "risky", "preconditions": ["tried"], "add": ["fixed"], "tool": "risky"},
        {"name": "other", "preconditions": ["tried"], "add": ["fixed"]},
    ],
    "tasks": {"fix": {"effects": ["fixed"]}},
    "methods": [{"name": "once", "task": "fix", "preconditions": ["not tried"], "subtasks": ["begin", "risky"]}],
    "state": [],
}


def test_a_run_that_goes_on_may_ask_a_model(store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Where no method fits what is left, --resume with a provider asks, learns, and keeps what it learned."""
    (store / "domains" / "rescue.yaml").write_text(yaml.safe_dump(RESCUE))
    declare(store, tool("risky", "exit 1", {"type": "object", "properties": {}}))
    Path("answers.yaml").write_text(json.dumps([{"tool": "propose_subtasks", "args": {"subtasks": ["other"]}}]))
    code, failed = plan(capsys, "fix", "--domain", "rescue", "--run", "--manual", "done")
    run_id = failed["data"]["execution"]["run"]

    resumed = ("--resume", run_id, "--manual", "done")
    assert (code, plan(capsys, *resumed)[0]) == (1, 1)
    code, found = plan(capsys, *resumed, "--provider", "scripted:answers.yaml")

    assert (code, found["data"]["execution"]["outcome"]) == (0, "done")
    assert [step["name"] for step in found["data"]["execution"]["steps"] if step["status"] == "done"] == [
        "begin",
        "other",
    ]
    assert "learned_fix_1" in (store / "domains" / "learned" / "rescue.yaml").read_text()


def test_events_are_lines_of_json(store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """With --jsonl each event is a line as it happens, and the envelope is the last one."""
    assert run(["plan", *BRING, "--run", "--jsonl"]) == 0

    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [line.get("event") for line in lines] == ["begin", "plan", "started", "done", "started", "done", "end", None]
    assert lines[-1]["schema"] == "memkit.plan/1"


@pytest.mark.parametrize(
    ("answer", "code", "words"),
    [
        ("echo noise", 2, "which is not JSON"),
        ("head -c 100000 /dev/zero | tr '\\0' '['", 2, "which is not JSON"),
        ("exit 1", 1, "nothing could be observed"),
        ("echo '[\"flies x\"]'", 2, "not a fact"),
    ],
)
def test_eyes_that_fail_stop_the_run_and_it_goes_on_without_them(
    answer: str, code: int, words: str, store: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The step is done and stays done; the message says how to go on."""
    look = tool("look", answer, {"type": "object"})
    declare(store, tool("drive", "true", PLACES), tool("leave", "true", PLACE), look)

    assert run(["plan", *BRING, "--run", "--observe", "look"]) == code
    told = capsys.readouterr().err
    name = told.partition("--resume ")[2].split()[0]

    assert words in told
    assert plan(capsys, "--resume", name)[0] == 0
    assert (calls(store, "drive"), calls(store, "leave")) == (1, 1)


def test_secrets_that_tools_print_are_masked_on_the_disk(store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What stays of a run holds no key, as in every other account."""
    key = "AKIA" + "IOSFODNN7EXAMPLQ"
    declare(store, tool("drive", f"echo {key}", PLACES), tool("leave", "true", PLACE))

    code, found = plan(capsys, *BRING, "--run")

    folder = Path(found["data"]["execution"]["folder"])
    assert code == 0
    assert key not in "".join(path.read_text() for path in folder.iterdir())


def process(store: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run memkit in a process of its own."""
    root = Path(__file__).resolve().parents[2]
    return subprocess.run(
        [sys.executable, "-m", "memkit", "plan", *arguments, "--json"],
        cwd=store, capture_output=True, text=True, timeout=900, env={**os.environ, "PYTHONPATH": str(root)},
    )  # fmt: skip


@pytest.mark.parametrize(("said", "called"), [("done", 1), ("failed", 2)])
def test_a_run_that_was_killed_in_a_tool_asks_what_became_of_it(
    said: str, called: int, store: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The tool kills memkit with -9. Going on refuses until somebody says whether the step was done."""
    declare(store, tool("drive", "true", PLACES), tool("leave", "kill -9 $PPID", PLACE))
    assert process(store, *BRING, "--run").returncode == -9
    declare(store, tool("drive", "true", PLACES), tool("leave", "true", PLACE))
    code, listed = plan(capsys, "runs")
    name = listed["data"]["runs"][0]["run"]

    refused, waiting = plan(capsys, "--resume", name)
    assert refused == 1
    assert waiting["data"]["execution"]["outcome"] == "unknown"
    assert waiting["data"]["execution"]["steps"][-1]["status"] == "unknown"
    assert calls(store, "leave") == 1

    code, found = plan(capsys, "--resume", name, "--assume", said)
    assert code == 0
    assert found["data"]["execution"]["outcome"] == "done"
    assert (calls(store, "drive"), calls(store, "leave")) == (1, called)


def test_a_step_that_says_it_is_idempotent_is_done_again_after_a_kill(
    store: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The domain's word is enough; nobody is asked. The tool learns that it is the same try."""
    again = "echo $PLAN_STEP >> steps; [ -e once ] || { touch once; kill -9 $PPID; }"
    data = json.loads(json.dumps(DOMAIN))
    data["operators"][1]["idempotent"] = True
    (store / "domains" / "parcels.yaml").write_text(yaml.safe_dump(data))
    declare(store, tool("drive", "true", PLACES), tool("leave", again, PLACE))
    assert process(store, *BRING, "--run").returncode == -9
    name = plan(capsys, "runs")[1]["data"]["runs"][0]["run"]

    code, found = plan(capsys, "--resume", name)

    assert code == 0
    assert found["data"]["execution"]["completed"] == 2
    assert (calls(store, "drive"), calls(store, "leave")) == (1, 2)
    assert (store / "steps").read_text().splitlines() == [f"{name}:2"] * 2


@pytest.mark.parametrize("name", ["run.json", "journal.jsonl"])
def test_a_damaged_run_is_refused(name: str, store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Nobody guesses what a run was to do, or how far it came."""
    folder = Path(plan(capsys, *BRING, "--run")[1]["data"]["execution"]["folder"])
    (folder / name).write_text("noise\n")

    assert run(["plan", "--resume", folder.name]) == 3
    assert "Traceback" not in capsys.readouterr().err
    assert calls(store, "drive") == 1
    whole = plan(capsys, *BRING, "--run")[1]["data"]["execution"]["run"]
    assert run(["plan", "runs"]) == 0
    shown = capsys.readouterr()
    assert [line.split()[0] for line in shown.out.splitlines()] == [whole]
    assert name in shown.err


def test_runs_of_one_second_are_listed_oldest_first(tmp_path: Path) -> None:
    """The end of a name is drawn by lot, so names cannot say which of two runs of a second came last."""
    runs, domain = PlanRuns(tmp_path), Domain.from_data(DOMAIN)
    problem = Problem.from_data({"domain": "parcels", "tasks": ["greet"]}, domain)
    second = datetime(2026, 5, 4, 3, 2, 1, tzinfo=UTC)
    begun = [runs.begin(domain, [], problem, now=second + timedelta(milliseconds=n), user=None).id for n in range(12)]

    assert [state.run.id for state in runs.states(pytest.fail)] == begun
    assert begun != sorted(begun)


def test_an_erased_person_leaves_no_run(store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What a run of theirs left on this machine is theirs as well."""
    folder = Path(plan(capsys, *BRING, "--run", "--user", "ada")[1]["data"]["execution"]["folder"])
    assert '"ada"' in (folder / "run.json").read_text()

    run(["memory", "erase", "--user", "ada", "--yes"])

    assert not any(path.read_bytes() for path in folder.glob("*"))
