"""``memkit domain convert`` goes between YAML and HDDL without loss, or refuses."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hddl_texts import ANY_DISH, DINNER, KITCHEN

from memkit.cli.main import run
from memkit.domains.files import load_domain, load_problem
from memkit.resources import resource


@pytest.fixture
def files(tmp_path: Path) -> Path:
    """Write a domain and two problems in HDDL."""
    for name, text in (("d.hddl", KITCHEN), ("p.hddl", DINNER), ("any.hddl", ANY_DISH)):
        (tmp_path / name).write_text(text, encoding="utf-8")
    return tmp_path


def convert(*words: object) -> int:
    """Run the command."""
    return run(["domain", "convert", *map(str, words)])


def test_a_domain_and_its_problem_go_to_yaml_and_are_solved_there(
    files: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The plan is the same in both languages; a name that stores do not know is said to be changed."""
    assert convert(files / "d.hddl", files / "d.yaml") == 0
    assert "The domain is now called kitchen" in capsys.readouterr().err
    assert convert(files / "p.hddl", files / "p.yaml", "--domain", files / "d.hddl") == 0
    capsys.readouterr()

    plans = []
    for suffix in ("hddl", "yaml"):
        assert run(["plan", "--domain", f"{files}/d.{suffix}", "--problem", f"{files}/p.{suffix}", "--json"]) == 0
        plans.append(json.loads(capsys.readouterr().out)["data"]["plan"])
    assert plans[0] == plans[1] != []


def test_a_domain_is_converted_by_its_name(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """As everywhere, a domain may be named; a misspelt name gets the nearest one."""
    assert convert("errands", tmp_path / "errands.hddl") == 0
    assert load_domain(tmp_path / "errands.hddl") == load_domain(resource("domains") / "errands.yaml")

    assert convert("errand", tmp_path / "other.hddl") == 1
    assert "Did you mean 'errands'?" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["errands", "deployment"])
def test_a_starter_goes_there_and_back(tmp_path: Path, name: str, capsys: pytest.CaptureFixture[str]) -> None:
    """What comes back is the domain that people wrote."""
    starter = resource("domains") / f"{name}.yaml"
    assert convert(starter, tmp_path / "there.hddl") == 0
    assert convert(tmp_path / "there.hddl", tmp_path / f"{name}.yaml") == 0

    assert load_domain(tmp_path / f"{name}.yaml") == load_domain(starter)
    assert "now" not in capsys.readouterr().err


def test_a_problem_in_yaml_goes_to_hddl(files: Path) -> None:
    """Objects of the domain are not repeated, and a problem without a name gets one."""
    (files / "p.yaml").write_text("objects: {mug: cup}\nstate: [me sink, = (water) 3]\ntasks: [go sink]\n", "utf-8")
    assert convert(files / "p.yaml", files / "new.hddl", "--domain", files / "d.hddl") == 0

    domain = load_domain(files / "d.hddl")
    assert load_problem(files / "new.hddl", domain) == load_problem(files / "p.yaml", domain)
    assert "sink - room" not in (files / "new.hddl").read_text(encoding="utf-8")


def test_an_order_of_all_subtasks_may_be_written_in_either_way(tmp_path: Path) -> None:
    """Labels that leave no choice say the same as a list in that order, however they are listed."""
    (tmp_path / "d.yaml").write_text(
        "name: day\noperators: [{name: a}, {name: b}]\nmethods:\n"
        "  - {name: on, task: go, subtasks: [{id: x, task: a}, {id: y, task: b}], ordering: [x < y]}\n"
        "  - {name: back, task: go, subtasks: [{id: x, task: a}, {id: y, task: b}], ordering: [y < x]}\n",
        encoding="utf-8",
    )

    assert convert(tmp_path / "d.yaml", tmp_path / "d.hddl") == 0

    found = load_domain(tmp_path / "d.hddl").methods
    assert [each.subtasks for each in found] == [(("a",), ("b",)), (("b",), ("a",))]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["d.hddl", "d.txt"], "its language is unknown"),
        (["d.hddl", "p.hddl"], "already exists. Add --force"),
        (["any.hddl", "any.yaml", "--domain", "d.hddl"], "initial tasks with variables"),
        (["p.hddl", "p.yaml"], "contains a problem"),
        (["none.hddl", "d.yaml"], "cannot be read"),
    ],
)
def test_what_cannot_be_converted_is_refused_and_writes_nothing(
    files: Path, words: list[str], message: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """One line and exit code 2, and the folder is as it was."""
    monkeypatch.chdir(files)
    before = {path: path.read_bytes() for path in files.iterdir()}

    assert convert(*words) == 2
    assert message in capsys.readouterr().err
    assert {path: path.read_bytes() for path in files.iterdir()} == before


def test_what_hddl_asks_for_is_said_of_the_domain(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """An object that only problems declare is a constant there; no place in a file that was never written is named."""
    (tmp_path / "d.yaml").write_text(
        "name: d\npredicates: {at: [object]}\noperators:\n  - {name: go, parameters: '?x', add: ['at ?x']}\n"
        "methods:\n  - {name: walk, task: 'reach ?x', subtasks: ['go ?x']}\n"
        "  - {name: home, task: rest, subtasks: [reach sofa]}\n"
    )

    assert convert(tmp_path / "d.yaml", tmp_path / "d.hddl") == 2

    told = f"The domain cannot be written to {tmp_path / 'd.hddl'}: the object sofa is not declared."
    assert capsys.readouterr().err == f"memkit: {told}\n"


def test_another_reader_of_hddl_reads_what_is_written(tmp_path: Path, files: Path) -> None:
    """unified-planning finds the same actions, tasks and methods, notes or not."""
    io = pytest.importorskip("unified_planning.io")
    assert convert(resource("domains") / "deployment.yaml", tmp_path / "deployment.hddl") == 0
    domain = load_domain(tmp_path / "deployment.hddl")
    (tmp_path / "p.yaml").write_text("state: [built web]\ntasks: [release web staging]\n", encoding="utf-8")
    assert convert(tmp_path / "p.yaml", tmp_path / "one.hddl", "--domain", tmp_path / "deployment.hddl") == 0

    read = io.PDDLReader().parse_problem(str(tmp_path / "deployment.hddl"), str(tmp_path / "one.hddl"))
    assert {action.name for action in read.actions} == {operator.name for operator in domain.operators}
    assert {method.name for method in read.methods} == {method.name for method in domain.methods}


def test_a_problem_without_its_domain_is_said_to_be_one(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """In either language; nothing is written."""
    (files / "p.yaml").write_text("tasks: [tidy]\nstate: []\n")
    (files / "noted.hddl").write_text(f"; a problem\n{DINNER}")
    for name in ("p.hddl", "noted.hddl", "p.yaml"):
        assert convert(files / name, files / "out.hddl") == 2
        assert "contains a problem, which is read with its domain. Add --domain" in capsys.readouterr().err
    assert not (files / "out.hddl").exists()


def test_a_problem_fits_a_domain_whose_name_a_store_has_changed(tmp_path: Path) -> None:
    """A domain that was converted is still the one that its problems name."""
    (tmp_path / "d.hddl").write_text(KITCHEN.replace("(domain Kitchen)", "(domain Kitchen.V2)"))
    (tmp_path / "p.hddl").write_text(DINNER.replace("(:domain kitchen)", "(:domain Kitchen.V2)"))
    assert convert(tmp_path / "d.hddl", tmp_path / "d.yaml") == 0
    assert load_domain(tmp_path / "d.yaml").name == "kitchen-v2"

    assert load_problem(tmp_path / "p.hddl", load_domain(tmp_path / "d.yaml")).tasks
