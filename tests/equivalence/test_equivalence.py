"""One transcript ends in the same memory, citations, verdicts and plans, on the reference agent and on every target."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from memkit.equivalence import __main__ as command
from memkit.equivalence.__main__ import BEGIN, END, cells_of, matrix_text, write_matrix
from memkit.equivalence.interface import Account
from memkit.equivalence.run import (
    Column,
    ColumnResult,
    ProjectSide,
    accounts_of,
    columns_of,
    compared,
    differences,
    play,
    reference_accounts,
    write_store,
)
from memkit.equivalence.transcript import PARTS
from memkit.errors import UsageError
from memkit.generate.composition import Order
from memkit.generate.content import content_of
from memkit.generate.manifest import Runtime
from memkit.generate.plugins import find_target
from memkit.generate.rendering import render, unpack
from memkit.generate.runtime_wheel import PACKAGE, installed_runtime
from memkit.generate.targets import Limit, load_targets

ROOT = Path(__file__).resolve().parents[2]
COLUMNS = [column for target in load_targets().values() for column in columns_of(target)]
REACT = Column(find_target("react"))


def same(column: Column, **told: tuple[str, ...]) -> ColumnResult:
    """Return a result in which only the parts in ``told`` differ."""
    return ColumnResult(column, {part.name: told.get(part.name, ()) for part in PARTS})


@pytest.mark.parametrize("column", COLUMNS, ids=lambda column: column.title)
def test_a_target_ends_where_the_reference_agent_ends(column: Column, reference: Mapping[str, Account]) -> None:
    """What differs has a reason in ``target.yaml``, and the matrix says of this target what the run shows."""
    if column.missing:
        pytest.skip(f"not installed: {', '.join(column.missing)}")

    result = compared(column, reference, accounts_of(column))

    assert result.faults == []
    page = (ROOT / "docs" / "matrix.md").read_text(encoding="utf-8").partition(BEGIN)[2].partition(END)[0]
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in page.splitlines() if line.startswith("| ")]
    shown = [row[rows[0].index(column.title)] for row in rows[1:]]
    assert [cell in "✓✗" and cell for cell in shown] == [cell or False for cell in cells_of(result)]


def silence_policies(project: Path) -> None:
    """Take every policy out of a project."""
    (project / "agent" / "compiled" / "policies.json").write_text("[]")


def widen_context(project: Path) -> None:
    """Give a project a main context that nothing is paged out of."""
    path = project / "agent" / "compiled" / "settings.json"
    settings = json.loads(path.read_text())
    settings["context"]["max_tokens"] = 100_000
    path.write_text(json.dumps(settings))


def ejected(project: Path) -> Path:
    """Put the sources of the runtime into a project, where they come before its wheel's, and return the package."""
    unpack(installed_runtime().content, project)
    return project / PACKAGE


def replace_in(path: Path, old: str, new: str) -> None:
    """Replace what a file has to hold, so that no sabotage of a test falls away when the code moves."""
    text = path.read_text()
    assert old in text, f"{path} has no {old!r}"
    path.write_text(text.replace(old, new))


def cite_nothing(project: Path) -> None:
    """Let a project report no citations."""
    replace_in(ejected(project) / "loop" / "books.py", "return named_ids(message, self.known_ids)", "return []")


def forget_the_fence(project: Path) -> None:
    """Show recalled text to the model as if it were anybody's words."""
    tools = ejected(project) / "memory" / "tiers" / "tools.py"
    replace_in(tools, "return fence([*hits, *constraints], overflow=more)", "return str(hits)")


def crash(project: Path) -> None:
    """Let a project fail in each turn."""
    (project / "agent" / "compiled" / "domains.json").write_text("{}")


WANTED = ("store", "deny", "page-out", "recall", "plan")
CHOSEN = tuple(sorted((part for part in PARTS if part.name in WANTED), key=lambda part: WANTED.index(part.name)))


@pytest.fixture(scope="module")
def expected_of_chosen() -> Mapping[str, Account]:
    """Play the chosen parts on the reference agent: what a turn is given unasked depends on what was told before."""
    return reference_accounts(CHOSEN)


@pytest.mark.parametrize(
    ("tamper", "parts"),
    [
        (silence_policies, {"deny"}),
        (widen_context, {"store", "page-out", "recall", "deny", "plan"}),
        (cite_nothing, {"recall"}),
        (forget_the_fence, {"recall"}),
        (crash, {"store", "page-out", "recall", "deny", "plan"}),
    ],
)
def test_a_project_that_does_otherwise_is_found_out(
    tamper: Callable[[Path], None], parts: set[str], expected_of_chosen: Mapping[str, Account], tmp_path: Path
) -> None:
    """A policy that does not hold, a citation that is not there: a difference in its part; the budget is in each."""
    pytest.importorskip("openai")
    store = write_store(tmp_path / "store")
    wheel = installed_runtime()
    render(Order(REACT.target, content_of(store), {}, Runtime.of(wheel), wheel), tmp_path / "project")
    tamper(tmp_path / "project")

    with ProjectSide(tmp_path / "project", store) as side:
        seen = play(side, store, CHOSEN)

    assert {name for name in WANTED if differences(expected_of_chosen[name], seen[name])} == parts


def test_a_difference_is_told_in_words() -> None:
    """It says where, what the reference agent has, and what the target has."""
    one = Account(({"message": "Yes [a].", "citations": ["a"]},), {"records": [{"text": "x", "trust": "verified"}]})
    other = Account(({"message": "Yes [a].", "citations": []},), {"records": [{"text": "x", "trust": "candidate"}]})

    assert differences(one, one) == []
    assert differences(one, other) == [
        "turn 1, citations: the reference agent has ['a'], this target []",
        "memory, records 1, trust: the reference agent has verified, this target candidate",
    ]


def test_a_limit_excuses_its_part_and_no_other() -> None:
    """What an SDK makes impossible is named with its reason; a reason for what works after all is a fault."""
    limited = replace(REACT, target=replace(REACT.target, limits=(Limit("core-next-call", "Frozen."),)))

    assert same(limited, **{"core-next-call": ("late",)}).faults == []
    assert same(limited, **{"core-next-call": ("late",), "deny": ("ran",)}).faults == ["deny: ran"]
    (stale,) = same(limited).faults
    assert stale.startswith("core-next-call")


def test_a_limit_of_one_wire_does_not_hold_for_another() -> None:
    """A target with two wires has a column for each, and each its own limits."""
    questions = {**REACT.target.questions, "wire": {"type": "str", "choices": ["new", "old"], "default": "new"}}
    target = replace(REACT.target, questions=questions, limits=(Limit("core-next-call", "Frozen.", "old"),))

    new, old = columns_of(target)

    assert (new.title, new.limits) == ("react new", {})
    assert old.limits == {"core-next-call": "Frozen."} and old.answers == {"wire": "old"}
    with pytest.raises(UsageError, match="an unknown wire: odl"):
        columns_of(replace(target, limits=(Limit("core-next-call", "Frozen.", "odl"),)))


def test_the_matrix_shows_ticks_crosses_and_reasons() -> None:
    """A reason that two targets share is told once."""
    limit = (Limit("core-next-call", "The SDK freezes it."),)
    limited = replace(REACT, target=replace(REACT.target, name="frozen", limits=limit))
    other = replace(limited, target=replace(limited.target, name="icy"))

    text = matrix_text([same(REACT, deny=("ran",)), same(limited), same(other)])

    assert "| capability | react | frozen | icy | shown by |" in text
    assert "| A denied call never runs, and the model is told why | ✗ | ✓ | ✓ | `deny` |" in text
    assert "| ✓ | ¹ | ¹ | `core-next-call` |" in text
    assert text.count("¹ The SDK freezes it.") == 1


def test_the_matrix_takes_the_place_of_the_one_before(tmp_path: Path) -> None:
    """What stands around it stays; a page without its marks is refused and stays as it was."""
    page = tmp_path / "matrix.md"
    page.write_text(f"before\n{BEGIN}\nold\n{END}\nafter\n")

    write_matrix(page, [same(REACT)])

    assert page.read_text() == f"before\n{matrix_text([same(REACT)])}\nafter\n"
    write_matrix(page, [same(REACT)])
    assert page.read_text() == f"before\n{matrix_text([same(REACT)])}\nafter\n"
    page.write_text("no marks")
    with pytest.raises(UsageError):
        write_matrix(page, [same(REACT)])
    assert page.read_text() == "no marks"


def test_the_command_tells_and_its_exit_code_says_whether_all_is_equal(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """In words, and as one envelope; an unknown target is bad usage."""
    monkeypatch.setattr(command, "run", lambda columns: [same(column, deny=("it ran",)) for column in columns])
    monkeypatch.setattr(Column, "missing", [])

    assert command.main(["react"]) == 1
    assert capsys.readouterr().out.splitlines() == [
        f"react: {len(PARTS) - 1} of {len(PARTS)} parts equal",
        "  deny: it ran",
    ]
    assert command.main(["react", "--json"]) == 1
    envelope = json.loads(capsys.readouterr().out)
    (column,) = envelope["data"]["columns"]
    assert envelope["schema"] == "memkit.equivalence/1" and not envelope["ok"]
    assert [part["name"] for part in column["parts"] if not part["equal"]] == ["deny"]

    monkeypatch.setattr(command, "run", lambda columns: [same(column) for column in columns])
    assert command.main(["react"]) == 0
    assert command.main(["reakt"]) == 2
    assert "Did you mean 'react'?" in capsys.readouterr().err


def test_a_package_that_is_missing_is_named(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The environment cannot serve: exit code 3, before anything is rendered."""
    monkeypatch.setattr(Column, "missing", ["telepathy-sdk"])

    assert command.main(["react"]) == 3
    assert "telepathy-sdk" in capsys.readouterr().err
