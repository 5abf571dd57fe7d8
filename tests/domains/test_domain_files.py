"""Domain files: read strictly, with the place of what is wrong; the starters plan at once."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from memkit.cli.main import run
from memkit.domains.files import domain_files, domain_findings, find_domain, load_domain, load_problem
from memkit.errors import NotFound, UsageError
from memkit.resources import resource
from memkit.runtime.htn.core import Domain, DomainError, HTNPlanner, Problem, ProblemError, verify
from memkit.store.yaml import load_yaml

STARTER_PLANS = [
    ("errands", "deliver book shop", ["go home shop", "hand_over book"]),
    ("errands", "deliver letter home", ["hand_over letter"]),
    (
        "deployment",
        "release api production",
        [
            "build api",
            "run_tests api",
            "roll_out api staging",
            "check_health api staging",
            "promote api staging production",
            "check_health api production",
            "notify status_page api production",
            "notify team api production",
        ],
    ),
    (
        "deployment",
        "release web staging",
        ["run_tests web", "roll_out web staging", "check_health web staging", "notify team web staging"],
    ),
]


@pytest.mark.parametrize(("name", "task", "steps"), STARTER_PLANS)
def test_a_starter_plans_at_once(name: str, task: str, steps: list[str]) -> None:
    """A starter brings objects and a state, so that its tasks can be asked for straight away."""
    domain = find_domain(name)
    planner = HTNPlanner(domain=domain)

    plan = planner.generate(task)

    assert [str(step) for step in plan or []] == steps
    assert verify(domain, planner.problem(task), plan or []) == []


def test_every_starter_is_checked_here() -> None:
    """No starter ships without a known plan, and each carries the name of its file."""
    shipped = {path.stem for path in resource("domains").glob("*.yaml")}

    assert shipped == {name for name, _, _ in STARTER_PLANS}
    assert all(Domain.from_data(find_domain(name).to_data()) == find_domain(name) for name in shipped)


def test_handing_over_is_bound_to_the_outbox() -> None:
    """The step that acts on the world names the agent's tool."""
    tools = {operator.name: operator.tool for operator in find_domain("errands").operators}

    assert tools == {"go": None, "hand_over": "outbox"}


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("nam: x\n", "d.yaml:1:1: The key 'name' is missing"),
        ("name: d\noperatrs: []\n", "d.yaml:2:1"),
        ("name: d\ntypes: {place: plaice}\n", "d.yaml:2:16: The type plaice is not defined."),
        ("name: d\ntypes: {a: b, b: a}\n", "d.yaml:2:12: The type a is above itself: a < b < a."),
        ('name: d\noperators:\n  - {name: go, preconditions: ["at ?x"]}\n', "d.yaml:3:5: The operator go uses ?x"),
        ('name: d\noperators:\n  - name: go\n    parameters: "x"\n', "d.yaml:4:17: The parameter x needs a"),
        (
            'name: d\npredicates: {at: []}\noperators:\n  - name: go\n    parameters: "?x"\n    add: ["att ?x"]\n',
            "d.yaml:6:11: The predicate att is not defined. Did you mean at?",
        ),
        (
            "name: d\npredicates: {at: [object]}\nobjects: {a: object}\nstate: [at a, at b]\n",
            "d.yaml:4:15: The object b is not declared",
        ),
        ("name: d\npredicates: {at: [object]}\nstate: [at]\n", "d.yaml:3:9: 'at' has 0 arguments; at takes 1."),
        ("name: d\noperators:\n  - {name: a}\n  - {name: a}\n", "d.yaml:4:12: Duplicate name a"),
        (
            'name: d\noperators:\n  - {name: a}\nmethods:\n  - {name: m, task: t, subtasks: ["a b"]}\n',
            "d.yaml:5:35: 'a b' has 1 argument; a takes 0.",
        ),
        (
            "name: d\npredicates: {at: [object]}\noperators:\n  - {name: a, parameters: '?x', add: [at x]}\n",
            "d.yaml:4:39: 'at x': the object x is not declared. Did you mean ?x?",
        ),
        (
            "name: d\noperators:\n  - {name: a, parameters: '?x, ?y'}\n",
            "d.yaml:3:27: The parameter ?x, ends with a comma.",
        ),
        (
            "name: d\noperators:\n  - {name: a}\nmethods:\n  - {name: m, task: a}\n",
            "d.yaml:5:21: a is already an operator",
        ),
        ('name: d\nmethods:\n  - {name: m, task: "t ?x -"}\n', "d.yaml:3:21: A '-' must be between"),
        ('name: d\nmethods:\n  - {name: m, task: t, preconditions: ["= a"]}\n', "d.yaml:3:40: '= a' compares 1"),
        ('name: d\noperators:\n  - {name: a, add: ["not x"]}\n', "d.yaml:3:21: 'not x' is not a fact"),
        ('name: d\nstate: ["at ?x"]\n', "d.yaml:2:9: 'at ?x' has a variable"),
        ("[]", "d.yaml:1:1"),
        ("", "d.yaml:1:1"),
    ],
)
def test_a_mistake_is_named_with_line_and_column(tmp_path: Path, text: str, place: str) -> None:
    """The first thing that is wrong is said in one sentence, with its place."""
    (tmp_path / "d.yaml").write_text(text)

    with pytest.raises(UsageError) as caught:
        load_domain(tmp_path / "d.yaml", name="d.yaml")

    assert str(caught.value).startswith(place)
    assert "\n" not in str(caught.value)


def test_types_of_variables_are_checked_against_predicates_and_operators() -> None:
    """A variable of one type cannot stand where an unrelated type is wanted; a type above or below can."""
    data: dict[str, Any] = {
        "name": "d",
        "types": {"place": "object", "shop": "place", "parcel": "object"},
        "predicates": {"at": ["place"]},
        "methods": [{"name": "m", "task": "t ?x - shop", "preconditions": ["at ?x"]}],
    }
    Domain.from_data(data)
    data["methods"][0]["task"] = "t ?x - parcel"

    with pytest.raises(DomainError, match=r"methods\.0\.preconditions\.0: 'at \?x': \?x is a parcel"):
        Domain.from_data(data)


def test_a_subtask_that_nobody_defined_is_no_error_of_the_file() -> None:
    """It means no plan, with the reason, when the task is asked for."""
    domain = Domain.from_data({"name": "d", "methods": [{"name": "m", "task": "t", "subtasks": ["later"]}]})
    planner = HTNPlanner(domain=domain)

    assert planner.generate("t") is None
    assert planner.reasons == ["t, method m: later: no operator or method is named later"]


def test_the_domains_of_a_store_carry_the_names_of_their_files(tmp_path: Path) -> None:
    """A store's domain is found by its name before a starter of that name."""
    (tmp_path / "domains").mkdir()
    (tmp_path / "domains" / "errands.yaml").write_text("name: errands\noperators: [{name: rest}]\n")

    assert [path.stem for path in domain_files(tmp_path)] == ["errands"]
    assert find_domain("errands", tmp_path).operators[0].name == "rest"
    (tmp_path / "domains" / "other.yaml").write_text("name: errands\n")
    with pytest.raises(UsageError, match=r"domains/other\.yaml:1:7: The domain is named 'errands'"):
        find_domain("other", tmp_path)


def test_an_unknown_domain_is_not_found_with_the_nearest_name() -> None:
    """A misspelt name is answered with the one that was probably meant; a path cannot hide in a name."""
    with pytest.raises(NotFound, match="Did you mean 'errands'"):
        find_domain("erands")
    with pytest.raises(UsageError):
        find_domain("../../etc/passwd")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("objects: {pen: parcel}\nstate: [has pen]\n", None),
        ("state: [has moon]\n", "p.yaml:1:9: The object moon is not declared"),
        ("objects: {pen: prcel}\n", "p.yaml:1:16: The type prcel is not defined under types. Did you mean parcel?"),
        ("state: [has home]\n", "p.yaml:1:9: 'has home': home is a place, but has needs a parcel."),
        ("tasks: [deliver moon home]\n", "p.yaml:1:9: The object moon is not declared"),
        ("goals: []\n", "p.yaml:1:1: "),
        ("- a\n", "p.yaml:1:1: "),
        ("state: at home\n", "p.yaml:1:8: "),
    ],
)
def test_problem_files_are_checked_against_their_domain(tmp_path: Path, text: str, message: str | None) -> None:
    """Objects, facts and tasks of a problem must fit the domain, and the place of what does not is named."""
    path = tmp_path / "p.yaml"
    path.write_text(text)

    if message is None:
        assert load_problem(path, find_domain("errands")).objects["pen"] == "parcel"
        return
    with pytest.raises(UsageError) as caught:
        load_problem(path, find_domain("errands"), name="p.yaml")
    assert str(caught.value).startswith(message)


def test_ten_thousand_objects_are_read_and_planned_with() -> None:
    """Size alone is no trouble."""
    data = {**find_domain("errands").to_data(), "objects": {"book": "parcel"}, "state": ["has book", "at p0"]}
    data["objects"] |= {f"p{n}": "place" for n in range(10_000)}

    plan = HTNPlanner(domain=Domain.from_data(data)).generate("deliver book p9999")

    assert [str(step) for step in plan or []] == ["go p0 p9999", "hand_over book"]


def test_findings_are_empty_for_a_good_file_and_name_the_key_otherwise() -> None:
    """Lint gets the same findings as loading."""
    good = load_yaml("name: d\n")
    bad = load_yaml("name: d\nobjects: {a: thing}\n")

    assert domain_findings(good, "d") == []
    assert [finding.path for finding in domain_findings(bad, "d")] == [("objects", "a")]


def test_a_problem_that_is_no_map_is_refused() -> None:
    """Plain data of the wrong shape is an error of the problem."""
    with pytest.raises(ProblemError, match="A problem must be a map"):
        Problem.from_data([])  # type: ignore[arg-type]


def test_a_domain_that_makes_no_sense_stops_no_talk(store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A conversation reads what tasks there are and compiles none of it; planning and doctor say what is wrong."""
    text = 'name: odd\noperators: [{name: open, preconditions: ["closed ?x"]}]\n'
    text += 'methods: [{name: one, task: "air ?y", subtasks: []}]\n'
    (store / "domains" / "odd.yaml").write_text(text, encoding="utf-8")
    at = ["--store", str(store)]

    talk = run(["chat", "-p", "Hello!", "--user", "ada", *at])
    talked = capsys.readouterr()
    plan = run(["chat", "-p", "plan air kitchen", "--user", "ada", *at])
    planned = capsys.readouterr().out
    doctor = run(["doctor", *at])

    assert (talk, plan) == (0, 0) and "odd" not in talked.err
    assert "domains/odd.yaml:2:" in planned
    assert doctor == 1 and "domains/odd.yaml:2:" in capsys.readouterr().out
