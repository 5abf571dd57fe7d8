"""``memkit chat --heartbeat``: what the agent of a store looks after when nobody talks to it."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from memkit.agent import Setting
from memkit.cli.main import run
from memkit.domains.files import domain_files, load_domain
from memkit.runtime.htn.core import Problem
from memkit.runtime.memory.record.record import Draft, Origin
from memkit.use_cases.carry_out_plan import plan_runs
from memkit.use_cases.open_chat import open_chat
from memkit.workspace import Workspace


@pytest.fixture
def beat(store: Path, capsys: pytest.CaptureFixture[str]) -> Any:
    """Return a function that runs one heartbeat and returns its data."""

    def once(*options: str, code: int = 0) -> Any:
        given = ["chat", "--heartbeat", "--user", "ada", "--store", str(store), *options, "--json"]
        assert run(given) == code
        return json.loads(capsys.readouterr().out)["data"]

    return once


@pytest.fixture
def workspace(store: Path) -> Workspace:
    """Return an opened store whose user agreed to being remembered."""
    opened = Workspace(store)
    opened.archive.set_consent("ada", True, opened.person("ada"))
    return opened


def chores(data: Any) -> dict[str, Any]:
    """Return what each chore told."""
    return {one["name"]: one for one in data["memory_operations"] if one["op"] == "chore"}


def test_a_quiet_store_needs_nothing(beat: Any, workspace: Workspace, store: Path) -> None:
    """The heartbeat ends with nothing pending, and nothing in the working tree changes."""
    workspace.end_batch()
    before = subprocess.run(["git", "status", "--porcelain"], cwd=store, capture_output=True, check=True).stdout

    data = beat()

    assert not any(one["pending"] for one in chores(data).values())
    assert subprocess.run(["git", "status", "--porcelain"], cwd=store, capture_output=True, check=True).stdout == before


def test_the_settings_bound_what_one_heartbeat_does(beat: Any, store: Path) -> None:
    """What no longer fits is said to be left for the next."""
    with (store / "memkit.yaml").open("a", encoding="utf-8") as manifest:
        manifest.write("heartbeat: {most: 0}\n")

    told = chores(beat())

    assert {(one["done"], one["text"]) for one in told.values()} == {(False, "left for later")}


def test_goals_whose_date_has_come_are_told(beat: Any, workspace: Workspace) -> None:
    """Due ones of this user, with their record; not what is due later, and not what is another user's."""
    for user, text, due in (
        ("ada", "File the taxes", "2020-01-01"), ("ada", "Retire", "2999-01-01"), ("bob", "Swim", "2020-01-01"),
    ):  # fmt: skip
        draft = Draft(text, type="goal", extra={"due": due})
        assert workspace.archive.offer(draft, Origin("person", user)).decision == "admitted"

    data = beat()

    assert "File the taxes" in data["message"] and "Due 2020-01-01" in data["message"]
    assert "Retire" not in data["message"] and "Swim" not in data["message"]
    assert chores(data)["due_goals"]["pending"]


def test_a_plan_that_was_cut_off_is_told_and_not_carried_out(beat: Any, workspace: Workspace) -> None:
    """The reply says how to go on with it; the run itself stays as it is."""
    domain = load_domain(domain_files(workspace.root)[0])
    problem = Problem(tasks=(("release", "shop"),), objects={"shop": "service"})
    cut_off = plan_runs(None, workspace).begin(domain, [], problem, now=workspace.clock(), user="ada")
    before = {path: path.read_bytes() for path in cut_off.folder.rglob("*") if path.is_file()}

    data = beat()

    assert cut_off.id in chores(data)["cut_off_plans"]["text"]
    assert {path: path.read_bytes() for path in cut_off.folder.rglob("*") if path.is_file()} == before


def test_duplicates_are_worth_a_consolidation(beat: Any, workspace: Workspace) -> None:
    """It says how to do it, and does not do it."""
    for number in range(2):
        draft = Draft(f"Ada sails on Sundays{'.' * number}", valid_until="2020-01-01")
        workspace.archive.offer(draft, Origin("person", "ada"))

    told = chores(beat())["consolidate"]

    assert told["pending"] and "memkit memory consolidate --user ada" in told["text"]


def test_a_consolidation_is_told_once_a_day(workspace: Workspace) -> None:
    """An agent that lives for long does not look through all records with every heartbeat."""
    agent = open_chat(workspace, Setting("ada", "monday"))

    first, second = (chores(agent.heartbeat().data) for _ in range(2))

    assert "consolidate" in first and "consolidate" not in second


def test_a_full_prompt_is_paged_out_ahead_of_need(workspace: Workspace) -> None:
    """Before a turn has to do it; the newest messages stay as they are."""
    agent = open_chat(workspace, Setting("ada", "monday"))
    main = agent.main
    while main.used() < 0.45 * main.budget:
        main.append({"role": "user", "content": f"Line {len(main.messages)} " + "is about the weather. " * 50})
    newest = main.messages[-5:]

    done = chores(agent.heartbeat().data)["page_out"]

    assert "paged out" in done["text"] and not done["pending"]
    assert main.used() < 0.6 * main.budget
    assert [message["content"] for message in main.messages if message in newest] == [m["content"] for m in newest]


def test_a_heartbeat_goes_on_with_the_last_session(beat: Any, workspace: Workspace) -> None:
    """A timer that calls it every hour leaves one session, and not one for each hour."""
    agent = open_chat(workspace, Setting("ada", "monday"))
    agent.step("Hello there")
    agent.close()

    assert beat()["session"] == beat()["session"] == "monday"


def test_a_heartbeat_answers_nobody(beat: Any, store: Path) -> None:
    """Together with a message it is bad usage."""
    assert run(["chat", "--heartbeat", "-p", "Hi", "--user", "ada", "--store", str(store)]) == 2
