"""``memkit plan`` and ``plan verify`` read HDDL beside YAML, and speak the competition's form of plans."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest
from hddl_texts import ANY_DISH, DINNER, KITCHEN

from memkit.cli.main import run


@pytest.fixture
def files(tmp_path: Path) -> Path:
    """Write a domain and two problems."""
    for name, text in (("d.hddl", KITCHEN), ("p.hddl", DINNER), ("any.hddl", ANY_DISH)):
        (tmp_path / name).write_text(text, encoding="utf-8")
    return tmp_path


def plan(files: Path, *more: str, problem: str = "p.hddl") -> int:
    """Run the command on the files."""
    return run(["plan", "--domain", str(files / "d.hddl"), "--problem", str(files / problem), *more])


def verify(files: Path, text: str, problem: str = "p.hddl") -> int:
    """Verify a plan that stands in a file."""
    (files / "plan").write_text(text, encoding="utf-8")
    common = ["--domain", str(files / "d.hddl"), "--problem", str(files / problem)]
    return run(["plan", "verify", *common, "--plan", str(files / "plan")])


@pytest.mark.parametrize("problem", ["p.hddl", "any.hddl"])
@pytest.mark.parametrize("form", [["--json"], ["--format", "ipc"], []])
def test_a_plan_in_every_form_is_accepted_by_verify(
    files: Path, problem: str, form: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    """JSON, the competition's form and numbered steps say the same plan."""
    assert plan(files, *form, problem=problem) == 0
    assert verify(files, capsys.readouterr().out, problem) == 0
    assert "The plan is valid: " in capsys.readouterr().out


def test_plans_of_other_planners_are_accepted_as_they_print_them(
    files: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """With other output around the plan, names in lower case, and ids that start anywhere."""
    assert plan(files, "--format", "ipc") == 0
    printed = capsys.readouterr().out

    assert verify(files, f"Searching...\nTotal time: 0.1s\n{printed.lower()}\nbye\n") == 0
    assert verify(files, printed.replace("root", "root 99 ; ")) == 0


def test_a_printed_plan_has_steps_roots_and_decompositions(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Every id is defined once, every child belongs to one parent, and roots are the tasks of the problem."""
    assert plan(files, "--format", "ipc", problem="any.hddl") == 0
    lines = capsys.readouterr().out.split("\n")
    start, root, end = lines.index("==>"), next(n for n, line in enumerate(lines) if line.startswith("root")), "<=="
    steps = [line.split()[0] for line in lines[start + 1 : root]]
    tasks = [line.partition(" -> ") for line in lines[root + 1 : lines.index(end)]]
    children = [child for _, _, method in tasks for child in method.split()[1:]]

    assert [line.split()[1] for line in lines[start + 1 : root]][-1] == "put"
    assert sorted([*lines[root].split()[1:], *children]) == sorted([*steps, *(task.split()[0] for task, _, _ in tasks)])
    assert "initial" not in "".join(lines)


@pytest.mark.parametrize(
    ("text", "code", "words"),
    [
        ("==>\n0 rinse mug\nroot 0\n<==\n", 1, "'me sink' does not hold"),
        ("==>\n0 fly mug\nroot 0\n<==\n", 1, "no operator is named fly"),
        ("==>\nrinse mug\nroot 0\n<==\n", 2, ":2: 'rinse mug' is not a step"),
        ("==>\n0 rinse mug\n", 2, "truncated"),
        ("==>\nroot 0\n<==\n", 1, "the goal is not reached"),
    ],
)
def test_plans_that_are_none_are_refused(
    files: Path, text: str, code: int, words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """A wrong plan is a negative answer; a file that cannot be read is bad input, with its line."""
    assert verify(files, text) == code
    printed = capsys.readouterr()
    assert words in printed.out + printed.err


def test_a_fault_in_hddl_is_one_line_with_its_place(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Exit code 2, the place, what to do, and no traceback."""
    (files / "d.hddl").write_text(
        KITCHEN.replace("(and (clean ?d) (decrease", "(and (clena ?d) (decrease"), encoding="utf-8"
    )

    assert plan(files) == 2
    message = capsys.readouterr().err
    assert "d.hddl:39:19: the predicate clena is not declared. Did you mean clean?" in message
    assert "Traceback" not in message


def test_a_problem_with_other_suffixes_is_yaml(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A problem in YAML is solved in a domain in HDDL: the two are one language inside."""
    (files / "p.yaml").write_text(
        "objects: {mug: cup, hall: room}\nstate: [me sink]\ntasks: [go sink]\n", encoding="utf-8"
    )

    assert plan(files, "--json", problem="p.yaml") == 0
    assert json.loads(capsys.readouterr().out)["data"]["plan"] == []


def test_a_plan_is_drawn_in_three_forms(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Each file shows tasks with methods and numbered steps; the answer on standard output is as without them."""
    wanted = [f"--{form}={files / form}" for form in ("svg", "dot", "mermaid")]
    assert plan(files) == 0
    plain = capsys.readouterr().out
    assert plan(files, *wanted) == 0
    drawn = capsys.readouterr()

    assert drawn.out == plain
    assert "Drew " in drawn.err
    words = [each.text or "" for each in ElementTree.parse(files / "svg").iter() if each.text]
    assert {"serve Mug hall", "by wash-and-carry", "1. walk hall sink"} <= set(words)
    assert (files / "dot").read_text(encoding="utf-8").startswith("digraph {")
    assert (files / "mermaid").read_text(encoding="utf-8").startswith("flowchart LR")


def test_no_plan_draws_nothing_and_says_so(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """An old drawing is left alone rather than replaced by an empty one."""
    (files / "p.hddl").write_text(DINNER.replace("(linked hall sink)", ""), encoding="utf-8")

    assert plan(files, f"--svg={files / 'tree.svg'}") == 1
    assert "Nothing was drawn" in capsys.readouterr().err
    assert not (files / "tree.svg").exists()


def test_a_drawing_and_a_run_exclude_each_other(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """An option that would do nothing is refused."""
    assert plan(files, "--svg=x.svg", "--run") == 2
    assert "Use --dry-run to look first" in capsys.readouterr().err
