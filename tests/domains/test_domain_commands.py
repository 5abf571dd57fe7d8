"""The domain commands: start, list, show, test and draw planning domains."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from memkit.cli.main import run

LAMP = """\
name: lamp
types: {room: object}
predicates: {lit: [room], broken: [room]}
operators:
  - {name: switch_on, parameters: "?r - room", preconditions: ["not broken ?r"], add: ["lit ?r"]}
methods:
  - {name: already, task: "light ?r - room", preconditions: ["lit ?r"], subtasks: []}
  - {name: by_hand, task: "light ?r - room", preconditions: ["not lit ?r"], subtasks: ["switch_on ?r"]}
"""
PROBLEM = "domain: lamp\nobjects: {hall: room}\nstate: []\ntasks: ['light hall']\n"


@pytest.fixture(autouse=True)
def in_the_store(store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Work in a store that has a domain with one problem."""
    monkeypatch.chdir(store)
    put(store, "domains/lamp.yaml", LAMP)
    put(store, "domains/problems/lamp/dark.yaml", PROBLEM)


def put(store: Path, path: str, text: str) -> None:
    """Write a file of the store."""
    (store / path).parent.mkdir(parents=True, exist_ok=True)
    (store / path).write_text(text, encoding="utf-8")


def asked(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, dict[str, Any]]:
    """Run a domain command with --json and return its exit code and envelope."""
    capsys.readouterr()
    code = run(["domain", *arguments, "--json"])
    return code, json.loads(capsys.readouterr().out)


def test_a_new_domain_lints_passes_its_test_and_is_committed(store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What 'new' writes has no findings, its first problem comes out, and 'commit' takes both."""
    (store / "domains/lamp.yaml").unlink()
    assert run(["domain", "new", "kitchen"]) == 0
    assert asked(capsys, "commit", "kitchen")[1]["data"]["version"] == "0.1.0"

    committed = subprocess.run(["git", "show", "--name-only", "--format="], capture_output=True, text=True, check=True)
    assert committed.stdout.split() == ["domains/kitchen.yaml", "domains/problems/kitchen/first.yaml"]
    assert run(["lint", "domains/kitchen.yaml", "domains/problems/kitchen"]) == 0
    code, found = asked(capsys, "test", "kitchen")
    assert (code, found["data"]["passed"], found["data"]["failed"]) == (0, 1, 0)


@pytest.mark.parametrize(("name", "words"), [("lamp", "already exists"), ("../x", "cannot name"), ("", "cannot name")])
def test_new_overwrites_nothing_and_takes_no_path(name: str, words: str, capsys: pytest.CaptureFixture[str]) -> None:
    """A name that is taken, or that is none, is refused in one line, and nothing is written."""
    assert run(["domain", "new", name]) == 2

    assert words in capsys.readouterr().err
    assert Path("domains/lamp.yaml").read_text() == LAMP


def test_list_counts_what_there_is(capsys: pytest.CaptureFixture[str]) -> None:
    """Each domain of the store with its tasks, methods, operators and problems."""
    code, found = asked(capsys, "list")

    lamp = next(each for each in found["data"]["domains"] if each["name"] == "lamp")
    assert (code, found["schema"]) == (0, "memkit.domain.list/1")
    assert (lamp["tasks"], lamp["methods"], lamp["operators"], lamp["problems"]) == (["light"], 2, 1, 1)


@pytest.mark.parametrize("named", ["lamp", "domains/lamp.yaml"])
def test_show_tells_tasks_methods_and_steps(named: str, capsys: pytest.CaptureFixture[str]) -> None:
    """A person reads what a task consists of; a program gets the domain as data that can be read back."""
    assert run(["domain", "show", named]) == 0
    said = capsys.readouterr().out
    assert "task light ?r - room\n  already, if lit ?r\n    nothing is left to do\n  by_hand, if not lit ?r\n" in said
    assert "step switch_on ?r - room\n  if not broken ?r\n  then lit ?r\n" in said

    assert asked(capsys, "show", named)[1]["data"]["domain"]["name"] == "lamp"


@pytest.mark.parametrize("command", [["show", "lmap"], ["test", "lmap"], ["graph", "lmap", "--dot", "x"]])
def test_an_unknown_name_gets_the_nearest(command: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    """A slip of the keys is a negative answer that names what was meant."""
    assert run(["domain", *command]) == 1

    assert "Did you mean 'lamp'?" in capsys.readouterr().err


def test_test_says_what_no_problem_uses(capsys: pytest.CaptureFixture[str]) -> None:
    """Methods and operators that no plan uses are told, and fail only where that was asked for."""
    code, found = asked(capsys, "test", "lamp")

    (lamp,) = found["data"]["domains"]
    assert (code, lamp["coverage"]["methods"]) == (0, {"total": 2, "used": 1, "unused": ["already"]})
    assert lamp["coverage"]["operators"] == {"total": 1, "used": 1, "unused": []}
    assert asked(capsys, "test", "lamp", "--require-coverage")[0] == 1


@pytest.mark.parametrize(
    ("expect", "fault"),
    [
        ("{outcome: no_plan}", "expected no plan, but found one: switch_on hall"),
        ("{plan: []}", "expected the plan of no steps, found switch_on hall"),
        ("{steps: 2}", "expected 2 steps, found 1"),
        ("{at_most: 0}", "expected 0 steps at most, found 1"),
        ("{holds: ['not lit hall']}", "after the plan: 'not lit hall'"),
        ("{holds: ['lit hal']}", "The object hal is not declared"),
        ("{holds: ['glows hall']}", "The predicate glows is not defined"),
        ("{outcome: maybe}", "no_plan"),
        ("{outcome: no_plan, steps: 1}", "nothing else can be expected of it"),
        ("{step: 1}", "Did you mean 'steps'?"),
    ],
)
def test_what_is_not_as_expected_fails(
    expect: str, fault: str, store: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Each expectation can fail, says how, and makes the exit code 1; one that makes no sense fails as well."""
    put(store, "domains/problems/lamp/dark.yaml", f"{PROBLEM}expect: {expect}\n")

    code, found = asked(capsys, "test", "lamp")

    (problem,) = found["data"]["domains"][0]["problems"]
    assert (code, problem["ok"]) == (1, False)
    assert fault in problem["faults"][0]
    assert found["diagnostics"][0]["path"] == "domains/problems/lamp/dark.yaml"


@pytest.mark.parametrize(
    "expect",
    [
        "{outcome: found}",
        "{plan: ['switch_on hall']}",
        "{steps: 1, at_most: 1}",
        "{holds: ['lit hall', {not: 'broken hall'}]}",
    ],
)
def test_what_is_as_expected_passes(expect: str, store: Path) -> None:
    """Every kind of expectation can be met, and a file with one is a problem for 'memkit plan' as well."""
    put(store, "domains/problems/lamp/dark.yaml", f"{PROBLEM}expect: {expect}\n")

    assert run(["domain", "test", "lamp"]) == 0
    assert run(["plan", "--domain", "lamp", "--problem", "domains/problems/lamp/dark.yaml"]) == 0


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("", "dark.yaml:1:1"),
        ("domain: lamp\ntasks: [", "dark.yaml:"),
        (PROBLEM.replace("domain: lamp", "domain: torch"), "a problem of 'torch'"),
        (PROBLEM.replace("['light hall']", "[]"), "names no tasks"),
        (PROBLEM.replace("hall: room", "hall: rom"), "Did you mean room?"),
    ],
)
def test_a_problem_that_cannot_be_read_fails_and_stops_no_other(
    text: str, fault: str, store: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The place of what is wrong is told, and the other problems are solved all the same."""
    put(store, "domains/problems/lamp/dark.yaml", text)
    put(store, "domains/problems/lamp/other.yaml", PROBLEM)

    code, found = asked(capsys, "test", "lamp")

    dark, other = found["data"]["domains"][0]["problems"]
    assert (code, dark["outcome"], other["ok"]) == (1, "invalid", True)
    assert fault in dark["faults"][0]


def test_a_search_that_gives_up_is_no_proof_that_there_is_no_plan(
    store: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Whoever expects no plan is not told that there is none when time ran out."""
    put(store, "domains/problems/lamp/dark.yaml", f"{PROBLEM}expect: {{outcome: no_plan}}\n")

    code, found = asked(capsys, "test", "lamp", "--timeout", "0")

    assert code == 1
    assert found["data"]["domains"][0]["problems"][0]["outcome"] in ("gave_up", "found")


def test_ten_thousand_objects_are_no_burden(store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A large problem file is read and solved like any other."""
    objects = ", ".join(f"r{number}: room" for number in range(10_000))
    put(store, "domains/problems/lamp/dark.yaml", f"objects: {{{objects}}}\nstate: []\ntasks: ['light r9999']\n")

    assert asked(capsys, "test", "lamp")[1]["data"]["passed"] == 1


def test_the_graph_is_drawn_in_three_forms(capsys: pytest.CaptureFixture[str]) -> None:
    """Tasks, methods and operators are nodes; a task that nothing does is one of its own kind."""
    text = LAMP.replace('subtasks: ["switch_on ?r"]', 'subtasks: ["switch_on ?r", "tell ?r"]')
    Path("domains/lamp.yaml").write_text(text)

    code, found = asked(capsys, "graph", "lamp", "--svg", "l.svg", "--dot", "l.dot", "--mermaid", "l.mmd")

    assert code == 0
    assert {each["nodes"] for each in found["data"]["drawings"]} == {5}
    svg = "".join(ElementTree.fromstring(Path("l.svg").read_text()).itertext())
    assert "task that nothing does: tell" in svg and "method: by_hand: if not lit ?r" in svg
    assert '-->|"2"|' in Path("l.mmd").read_text()
    assert 'label="switch_on"' in Path("l.dot").read_text()


def test_hostile_names_stay_text_in_drawings(store: Path) -> None:
    """Names that look like markup, and characters that a terminal obeys, are drawn as text."""
    task = "</text><script>x</script>];n0-->n1;%%"
    text = (
        "name: evil\noperators: [{name: 'a<b>&`c\\u202e'}]\nmethods:\n"
        f"  - {{name: 'm[x]', task: '{task}', subtasks: ['a<b>&`c\\u202e']}}\n"
    )
    put(store, "evil.yaml", text)

    assert run(["domain", "graph", "evil.yaml", "--svg", "e.svg", "--dot", "e.dot", "--mermaid", "e.mmd"]) == 0

    svg = ElementTree.fromstring(Path("e.svg").read_text())
    assert "script" not in {each.tag.rpartition("}")[2] for each in svg.iter()}
    assert f"task: {task}" in "".join(svg.itertext())
    assert "<script>" not in Path("e.mmd").read_text() and "];n0-->n1" not in Path("e.mmd").read_text()


def test_a_drawing_can_be_printed(capsys: pytest.CaptureFixture[str]) -> None:
    """A dash is standard output and no file; what is said about the others goes beside it."""
    capsys.readouterr()
    assert run(["domain", "graph", "lamp", "--mermaid", "-", "--dot", "l.dot"]) == 0

    said = capsys.readouterr()
    assert said.out.startswith("flowchart LR\n") and "l.dot" in said.err and not Path("-").exists()
    assert run(["domain", "graph", "lamp", "--mermaid", "-", "--dot", "-"]) == 2


def test_graph_without_a_file_is_bad_usage(capsys: pytest.CaptureFixture[str]) -> None:
    """Nothing is drawn to nowhere."""
    assert run(["domain", "graph", "lamp"]) == 2

    assert "--svg FILE" in capsys.readouterr().err


def test_the_repositorys_own_domains_are_tested(monkeypatch: pytest.MonkeyPatch) -> None:
    """The starters have problems, all pass, and together they use every method and operator."""
    monkeypatch.chdir(Path(__file__).parents[2])

    assert run(["domain", "test", "--require-coverage"]) == 0


def test_a_change_is_committed_only_where_the_problems_pass(store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """'commit' says by meaning what changed, a failing problem keeps it out, and 'rollback' brings a text back."""
    assert run(["domain", "commit", "lamp"]) == 0
    first = asked(capsys, "history", "lamp")[1]["data"]["history"][0]["commit"]
    longer = LAMP.replace('"switch_on ?r"]', '"switch_on ?r", "switch_on ?r"]')
    put(store, "domains/lamp.yaml", longer)
    put(store, "domains/problems/lamp/dark.yaml", f"{PROBLEM}expect: {{steps: 1}}\n")

    assert run(["domain", "commit", "lamp"]) == 1
    assert "expected 1 steps, found 2" in capsys.readouterr().err
    assert Path("domains/lamp.yaml").read_text() == longer

    put(store, "domains/problems/lamp/dark.yaml", PROBLEM)
    code, found = asked(capsys, "commit", "lamp")
    assert code == 0 and found["data"]["changes"]
    assert len(asked(capsys, "history", "lamp")[1]["data"]["history"]) == 2

    assert run(["domain", "rollback", "lamp", first[:10]]) == 0
    assert Path("domains/lamp.yaml").read_text() == LAMP


def test_check_takes_a_name_a_file_or_all(store: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A domain of the store is checked with its problems; a file elsewhere by itself, whatever it is called."""
    text = LAMP.replace('["switch_on ?r"]', '["swich_on ?r"]')
    put(store, "domains/lamp.yaml", text)
    put(store, "domains/problems/lamp/dark.yaml", "tasks: [glow]\nstate: [dim]\n")
    put(tmp_path, "elsewhere.yaml", text)

    code, found = asked(capsys, "check", "lamp")
    assert code == 1
    assert [(each["code"], each["line"]) for each in found["data"]["findings"]] == [("MKD009", 8), ("MKD020", 2)]
    assert [each["code"] for each in asked(capsys, "check")[1]["diagnostics"]] == ["MKD009", "MKD020"]
    alone = asked(capsys, "check", str(tmp_path / "elsewhere.yaml"))[1]["data"]["findings"]
    assert [(each["code"], each["column"]) for each in alone] == [("MKD009", text.split("\n")[7].index("swich_on") + 1)]
    assert not (tmp_path / ".memkit").exists()


@pytest.mark.parametrize(
    ("named", "code", "words"),
    [("lmap", 1, "Did you mean 'lamp'?"), ("no/such.yaml", 2, "does not exist"), ("../lamp", 2, "does not exist")],
)
def test_check_of_what_is_not_there(named: str, code: int, words: str, capsys: pytest.CaptureFixture[str]) -> None:
    """One clear line, and the exit code that says whose slip it is."""
    assert run(["domain", "check", named]) == code

    assert words in capsys.readouterr().err


def test_an_empty_file_is_no_domain(store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The place and what is missing are told, by every command that reads it."""
    put(store, "domains/lamp.yaml", "")

    assert asked(capsys, "check", "lamp")[0] == 1
    for command in ("show", "test", "graph"):
        assert run(["domain", command, "lamp", *(["--dot", "x"] if command == "graph" else [])]) == 2
        assert "domains/lamp.yaml:1:1" in capsys.readouterr().err


def test_a_domain_in_hddl_is_a_domain_of_the_store(store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """It is listed, shown, tested by problems in YAML that call it by its file or by its own name, and drawn."""
    assert run(["domain", "convert", "domains/lamp.yaml", "domains/torch.hddl"]) == 0
    put(store, "domains/problems/torch/dark.yaml", PROBLEM)
    put(store, "domains/problems/torch/own.yaml", PROBLEM.replace("domain: lamp", "domain: torch"))

    assert "domains/torch.hddl" in [each["path"] for each in asked(capsys, "list")[1]["data"]["domains"]]
    assert asked(capsys, "show", "torch")[1]["data"]["methods"] == 2
    assert asked(capsys, "test", "torch")[1]["data"]["passed"] == 2
    assert asked(capsys, "check", "torch")[0] == 0
    assert run(["domain", "graph", "torch", "--mermaid", "t.mmd"]) == 0
