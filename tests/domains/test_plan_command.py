"""The plan command, used as a person would."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from memkit.cli.main import run

PROBLEM = "objects: {home: place, shop: place, book: parcel}\nstate: [at home, has book]\ntasks: [deliver book shop]\n"
STEPS = "1. go home shop\n2. hand_over book\n"


@pytest.fixture(autouse=True)
def outside_a_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Work in a folder that is no store, with a problem file."""
    (tmp_path / "problem.yaml").write_text(PROBLEM)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    "arguments",
    [
        ["deliver book shop", "--domain", "errands"],
        ["--domain", "errands", "deliver", "book", "shop"],
        ["--domain", "errands", "--problem", "problem.yaml"],
        ["deliver book shop", "--domain", "errands", "--state", "problem.yaml"],
    ],
)
def test_a_plan_is_printed_as_numbered_steps(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    """A task or a problem file gives the steps, with no store in sight."""
    assert run(["plan", *arguments]) == 0

    assert capsys.readouterr().out == STEPS


def envelope(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> tuple[int, dict[str, Any]]:
    """Run a command with --json and return its exit code and envelope."""
    capsys.readouterr()
    code = run(["plan", *arguments, "--json"])
    return code, json.loads(capsys.readouterr().out)


def test_the_envelope_holds_plan_tree_outcome_and_reasons(capsys: pytest.CaptureFixture[str]) -> None:
    """--json prints the pinned shape."""
    code, found = envelope(["deliver book shop", "--domain", "errands"], capsys)

    assert (code, found["schema"], found["ok"]) == (0, "memkit.plan/1", True)
    assert found["data"]["plan"] == [{"name": "go", "args": ["home", "shop"]}, {"name": "hand_over", "args": ["book"]}]
    assert (found["data"]["outcome"], found["data"]["reasons"]) == ("found", [])
    assert [(node["id"], node["parent"]) for node in found["data"]["tree"]] == [(0, None), (1, 0), (2, 0)]


SHOPPING = """
name: shopping
predicates: {fed: []}
operators:
  - {name: dine, add: [fed], cost: 40}
  - {name: cook, add: [fed], cost: 7.5}
methods:
  - {name: out, task: eat, subtasks: [dine]}
  - {name: at_home, task: eat, subtasks: [cook]}
"""


@pytest.mark.parametrize("option", [["--cheapest"], ["--strategy", "cheapest"]])
def test_the_cheapest_plan_comes_with_its_cost(option: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    """The first plan need not be the cheapest; whoever asks for that is told what it costs."""
    Path("shopping.yaml").write_text(SHOPPING)
    first, cheapest = (envelope(["eat", "--domain", "shopping.yaml", *more], capsys)[1] for more in ([], option))

    assert [step["name"] for step in first["data"]["plan"]] == ["dine"]
    assert "cost" not in first["data"]
    assert [step["name"] for step in cheapest["data"]["plan"]] == ["cook"]
    assert cheapest["data"]["cost"] == 7.5
    assert run(["plan", "eat", "--domain", "shopping.yaml", *option]) == 0
    printed = capsys.readouterr()
    assert (printed.out, printed.err) == ("1. cook\n", "The plan costs 7.5.\n")


def test_a_time_that_is_no_number_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    """With nan as the bound a search would never give up, since nothing is ever later than that."""
    assert run(["plan", "deliver book shop", "--domain", "errands", "--timeout", "nan"]) == 2
    assert "nan is not a number of seconds" in capsys.readouterr().err


def test_two_ways_to_search_at_once_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    """--cheapest beside another strategy says which two do not go together."""
    assert run(["plan", "deliver book shop", "--domain", "errands", "--cheapest", "--strategy", "depth"]) == 2
    assert "--strategy depth" in capsys.readouterr().err


def test_what_stood_in_the_way_is_explained_method_by_method(capsys: pytest.CaptureFixture[str]) -> None:
    """--explain on a failure shows how far each method comes, as text and as data."""
    state = "objects: {home: place, shop: place, book: parcel}\nstate: [at shop]\n"
    Path("state.yaml").write_text(state)
    asked = ["deliver book home", "--domain", "errands", "--state", "state.yaml", "--explain"]

    code, answer = envelope(asked, capsys)
    assert run(["plan", *asked]) == 1

    assert capsys.readouterr().out.splitlines() == [
        "No plan.",
        "deliver book home",
        "  (walk_and_give) 'at shop', 'not = shop home' hold; after go shop home",
        "    hand_over book",
        "      'has book' does not hold",
        "  (already_there) 'at home' does not hold",
    ]
    first = answer["data"]["explanation"][0]
    assert code == 1
    assert (first["method"], first["done"]) == ("walk_and_give", ["go shop home"])
    assert first["below"][0]["message"] == "'has book' does not hold"


def test_an_explained_failure_says_which_proposals_were_rejected(capsys: pytest.CaptureFixture[str]) -> None:
    """The model's part in it stands below the tree, as it does in the reasons without --explain."""
    Path("state.yaml").write_text("objects: {home: place, shop: place, book: parcel}\nstate: [has book]\n")
    Path("answers.yaml").write_text("- {tool: propose_subtasks, args: {subtasks: [fly]}}\n")
    asked = ["deliver book shop", "--domain", "errands", "--state", "state.yaml"]

    assert run(["plan", *asked, "--explain", "--provider", "scripted:answers.yaml"]) == 1

    rejected = "- deliver book shop: proposal rejected: no operator or method is named fly"
    assert rejected in capsys.readouterr().out.splitlines()


def test_no_plan_is_exit_one_with_reasons(capsys: pytest.CaptureFixture[str]) -> None:
    """A task that cannot be done says why, in words and as data."""
    code, answer = envelope(["deliver cake shop", "--domain", "errands"], capsys)

    assert (code, answer["ok"], answer["data"]["outcome"], answer["data"]["plan"]) == (1, False, "no_plan", None)
    assert answer["data"]["reasons"][0]["message"].endswith("cake is not a parcel; there is book, letter")
    assert [each["message"] for each in answer["diagnostics"]] == [
        each["message"] for each in answer["data"]["reasons"]
    ]
    assert run(["plan", "deliver cake shop", "--domain", "errands"]) == 1
    assert capsys.readouterr().out.startswith("No plan.\n- deliver cake shop, method walk_and_give: cake is")


@pytest.mark.parametrize(
    ("task", "told"),
    [
        ("delivr book shop", ["delivr book shop: no operator or method is named delivr; did you mean deliver?"]),
        (
            "deliver book home",
            [
                "deliver book home, method walk_and_give: after go shop home: hand_over book: 'has book' does not hold",
                "deliver book home, method already_there: 'at home' does not hold",
            ],
        ),
    ],
)
@pytest.mark.parametrize("more", [[], ["--dry-run"]])
def test_each_method_says_how_far_it_comes_without_being_asked(
    task: str, told: list[str], more: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    """The reasons of every failure lead to the deepest unmet condition of each method, and name what was meant."""
    Path("state.yaml").write_text("objects: {home: place, shop: place, book: parcel}\nstate: [at shop]\n")
    asked = [task, "--domain", "errands", "--state", "state.yaml", *more]

    code, answer = envelope(asked, capsys)
    assert run(["plan", *asked]) == 1

    assert (code, [reason["message"] for reason in answer["data"]["reasons"]]) == (1, told)
    shown = ["No plan.", *(f"- {line}" for line in told)]
    assert capsys.readouterr().out.splitlines()[: len(shown)] == shown


def test_giving_up_is_its_own_outcome(capsys: pytest.CaptureFixture[str]) -> None:
    """A bound that was reached is not reported as the absence of a plan."""
    code, answer = envelope(["release api production", "--domain", "deployment", "--max-nodes", "3"], capsys)

    assert (code, answer["data"]["outcome"]) == (1, "gave_up")


def test_explain_shows_the_decomposition(capsys: pytest.CaptureFixture[str]) -> None:
    """--explain names the method of every task, what it found, and why the methods before it were passed over."""
    assert run(["plan", "deliver book shop", "--domain", "errands", "--explain"]) == 0
    first = capsys.readouterr().out
    assert run(["plan", "deliver book home", "--domain", "errands", "--explain"]) == 0
    second = capsys.readouterr().out
    data = envelope(["deliver book home", "--domain", "errands", "--explain"], capsys)[1]["data"]

    assert first.splitlines() == [
        "deliver book shop  (walk_and_give)  with ?here = home",
        "  1. go home shop",
        "  2. hand_over book",
    ]
    assert second.splitlines() == [
        "deliver book home  (already_there)",
        "    not walk_and_give: 'at home' holds, but 'not = home home' does not hold",
        "  1. hand_over book",
    ]
    assert [(each["id"], each["passed_over"][0]["method"]) for each in data["explanation"]] == [(0, "walk_and_give")]


@pytest.mark.parametrize("form", ["text", "json", "yaml", "times", "marked"])
def test_a_plan_is_verified_in_every_form_it_is_printed_in(
    form: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """What plan prints, plan verify reads, and what planners print that know of times and write comments."""
    texts = {"text": STEPS, "yaml": "- go home shop\n- [hand_over, book]\n"}
    texts["times"] = "# found by hand\n0.000: (go home shop)  [1.000]\n1.0: (HAND_OVER book)\n; cost 2\n"
    texts["marked"] = "\ufeff[[go, home, shop], [hand_over, book]]\r\n"  # as editors of Windows save it
    capsys.readouterr()
    run(["plan", "deliver book shop", "--domain", "errands", "--json"])
    (tmp_path / "found").write_text(texts.get(form, capsys.readouterr().out))

    code = run(["plan", "verify", "--domain", "errands", "--problem", "problem.yaml", "--plan", "found"])

    assert (code, capsys.readouterr().out.splitlines()[-1]) == (0, "The plan is valid: 2 steps.")


def test_a_plan_nested_without_end_is_no_json_to_read(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """It is a fault of the file, and no bug."""
    (tmp_path / "found").write_text('{"plan":' * 20_000)

    assert run(["plan", "verify", "--domain", "errands", "--problem", "problem.yaml", "--plan", "found"]) == 2
    assert "found is not JSON" in capsys.readouterr().err


@pytest.mark.parametrize("order", [["verify", "--json"], ["--json", "verify"]])
def test_a_wrong_plan_is_exit_one_with_the_step(
    order: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The first step that cannot be done is named."""
    (tmp_path / "wrong").write_text("hand_over book\nhand_over book\n")

    code = run(["plan", *order, "--domain", "errands", "--problem", "problem.yaml", "--plan", "wrong"])
    answer = json.loads(capsys.readouterr().out)

    assert (code, answer["schema"], answer["data"]["valid"]) == (1, "memkit.plan.verify/1", False)
    assert answer["data"]["outcome"] == "invalid"
    assert answer["data"]["reasons"][0]["message"] == "step 2, hand_over book: 'has book' does not hold"
    assert answer["diagnostics"][0]["message"] == answer["data"]["reasons"][0]["message"]


def test_a_check_that_is_given_up_is_no_verdict(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Time is up: exit 1 as of a plan that was not found, with an outcome of its own."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "open.yaml").write_text(
        "name: open\ntypes: {cup: object}\n"
        "operators:\n  - {name: rest}\n  - {name: pick, parameters: '?a - cup ?b - cup ?c - cup ?d - cup ?e - cup'}\n"
        "methods:\n  - {name: wait, task: begin, subtasks: [rest]}\n"
        "  - {name: lay, task: table, subtasks: [begin, 'set ?a ?b ?c ?d ?e'],\n"
        "     variables: '?a - cup ?b - cup ?c - cup ?d - cup ?e - cup'}\n"
        "  - {name: place, task: 'set ?a ?b ?c ?d ?e', subtasks: ['pick ?a ?b ?c ?d ?e']}\n"
    )
    cups = ", ".join(f"c{at}: cup" for at in range(60))
    (tmp_path / "p.yaml").write_text(f"objects: {{{cups}}}\nstate: []\ntasks: [table]\n")
    (tmp_path / "plan.txt").write_text("rest\npick c1 c2 c3 c4 c5\n")
    check = ["plan", "verify", "--domain", "open.yaml", "--problem", "p.yaml", "--plan", "plan.txt", "--timeout", "0.1"]

    code = run([*check, "--json"])
    answer = json.loads(capsys.readouterr().out)
    assert (code, answer["ok"]) == (1, False)
    assert (answer["data"]["valid"], answer["data"]["outcome"]) == (False, "gave_up")
    assert answer["data"]["reasons"][0]["code"] == "budget"
    assert run(check) == 1
    assert capsys.readouterr().out.startswith("Gave up; the plan may be valid.\ngave up after 0.1 seconds: ")
    assert run([*check[:-1], "nan"]) == 2


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        ([], 2, "Missing option '--domain'"),
        (["vrify", "--problem", "p.yaml"], 2, "Did you mean 'memkit plan verify'?"),
        (["vrify", "--domain", "errands", "--plan", "wrong"], 2, "'--plan'. Did you mean 'memkit plan verify'?"),
        (["--domain", "errands"], 2, "Name a TASK"),
        (["x", "--domain", "errands", "--problem", "problem.yaml"], 2, "A problem file names its tasks itself"),
        (["x", "--domain", "erands"], 1, "Did you mean 'errands'"),
        (["x", "--domain", "missing.yaml"], 2, "missing.yaml: The file cannot be read"),
        (["x", "--domain", "errands", "--state", "missing.yaml"], 2, "missing.yaml: The file cannot be read"),
        (["x ?y", "--domain", "errands"], 2, "has a variable"),
        (["x", "--domain", "errands", "--store", "nowhere"], 3, "nowhere is not a store"),
        (["verify", "--domain", "errands", "--problem", "problem.yaml", "--plan", "none"], 2, "none cannot be read"),
    ],
)
def test_bad_input_is_one_clear_line(
    arguments: list[str], code: int, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """What, where, what to do; never a trace."""
    assert run(["plan", *arguments]) == code

    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1
