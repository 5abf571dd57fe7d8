"""What is told of a run: status, best, differences and lineage."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from made_runs import FAMILY, line, make_run

from memkit.cli.main import run
from memkit.errors import NegativeAnswer, NotFound, UsageError
from memkit.evolution.account import account_of, course_of, failures_of, status_of
from memkit.evolution.files import JudgedProgram, ancestry, by_id
from memkit.evolution.report import archive_map, course, lineage_graph


def test_a_lineage_holds_every_ancestor_once_and_parents_come_first(tmp_path: Path) -> None:
    """Both parents of a crossing are there, and what is no ancestor is not; changes are against the better parent."""
    steps = account_of(make_run(tmp_path / "run")).ancestry("aaaa0006")

    assert [step.judged.id for step in steps] == ["aaaa0001", "aaaa0003", "aaaa0004", "aaaa0006"]
    assert [step.change for step in steps] == [None, 1.0, 0.5, 2.5]


def test_a_lower_score_is_better_where_the_run_says_so() -> None:
    """The change is against the lowest parent."""
    known = by_id([line("a", 1, 5.0), line("b", 1, 3.0), line("c", 2, 1.0, "a", "b")])

    assert [step.change for step in ancestry("c", known, minimize=True)] == [None, None, -2.0]


def test_a_program_that_moved_keeps_its_ancestors() -> None:
    """A migration is a line with the program's own id as its parent, which is no ancestor of itself."""
    known = by_id([line("a", 1, 1.0), line("b", 2, 2.0, "a"), line("b", 3, 2.0, "b", operation="migrate")])

    assert [step.judged.operation for step in ancestry("b", known, minimize=False)] == ["seed", "mutate"]


def test_a_status_counts_failures_by_reason(tmp_path: Path) -> None:
    """The most frequent reason comes first, and the rate is of all of the run's time."""
    found = status_of(account_of(make_run(tmp_path / "run")))

    assert (found.state, found.generation, found.evaluations, found.rate) == ("finished", 4, 6, 3.0)
    assert found.best == {"id": "aaaa0006", "score": 4.5, "metrics": {"combined_score": 4.5}}
    assert list(found.failures.values()) == [1, 1] and found.stopped == "generations"


def test_programs_are_found_by_the_beginning_of_their_id(tmp_path: Path) -> None:
    """Too little of it, more than one, and none are said."""
    account = account_of(make_run(tmp_path / "run"))

    assert account.find("aaaa0003").score == 2.0 and account.find("best").id == "aaaa0006"
    with pytest.raises(UsageError, match="matches 6 ids"):
        account.find("aaaa")
    for word in ("aaa", "bbbb1", ""):
        with pytest.raises(NotFound):
            account.find(word)


def test_a_run_without_a_score_has_no_best(tmp_path: Path) -> None:
    """It is a negative answer, and the status says why."""
    account = account_of(make_run(tmp_path / "run", [line("aaaa0001", 1, None, reason="raised")]))

    with pytest.raises(NegativeAnswer, match="No program"):
        _ = account.best
    assert status_of(account).failures == {"raised": 1}


scores = st.none() | st.floats(-1e300, 1e300)
journals = st.lists(st.tuples(st.integers(1, 12), scores), max_size=40)


@settings(deadline=None)
@given(journals, st.booleans())
def test_the_best_so_far_never_gets_worse(given_lines: list[tuple[int, float | None]], minimize: bool) -> None:
    """Whatever the scores, the course is monotone, and the chart of it stays within its frame."""
    judged = [line(f"{number:08}", generation, score) for number, (generation, score) in enumerate(given_lines)]
    points = course_of(judged, minimize=minimize)
    best = [point.best_so_far for point in points if point.best_so_far is not None]

    assert best == sorted(best, reverse=minimize)
    assert sum(point.judged - point.scored for point in points) == sum(failures_of(judged).values())
    chart = course(points)
    if best:
        assert chart is not None
        places = [tuple(map(float, pair.split(","))) for pair in chart.line.split()] + list(chart.dots)
        assert all(0 <= x <= chart.width and 0 <= y <= chart.height for x, y in places)
    else:
        assert chart is None


def test_a_long_lineage_is_drawn_from_the_first_to_the_newest() -> None:
    """What is left out is said."""
    judged: list[JudgedProgram] = [line("00000000", 1, 0.0)]
    for number in range(1, 300):
        judged.append(line(f"{number:08}", number, float(number), f"{number - 1:08}"))
    graph = lineage_graph(ancestry("00000299", by_id(judged), minimize=False))

    assert graph.nodes[0].id == "00000000" and graph.nodes[-1].id == "00000299" and graph.nodes[-1].kind == "best"
    assert graph.description == f"{len(graph.nodes)} of 300 ancestors are drawn." and len(graph.nodes) < 100


def test_an_archive_of_two_features_is_a_map() -> None:
    """Every cell lies at its place; the best is the darkest, whichever direction is better."""
    cells = [{"place": [x, y], "id": f"{x}{y}", "score": float(x + y)} for x in range(3) for y in range(2)]

    up, down = (archive_map({"features": ["a", "b"], "cells": cells}, minimize=minimize) for minimize in (False, True))

    assert [row for row, _ in up.rows] == [1, 0] and up.columns == (0, 1, 2)
    assert [cell and cell.id for cell in up.rows[0][1]] == ["01", "11", "21"]
    assert max(up.cells, key=lambda cell: cell.shade).id == "21"
    assert max(down.cells, key=lambda cell: cell.shade).id == "00"
    assert archive_map({}, minimize=False).cells == ()


def asked(capsys: pytest.CaptureFixture[str], *words: str) -> Any:
    """Return the envelope of a command that must succeed."""
    code = run(["evolve", *words, "--json"])
    out = capsys.readouterr().out
    assert code == 0, out
    return json.loads(out)


def test_the_words_answer_in_text_and_in_json(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Without a name they tell of the latest run; each has an envelope of its own."""
    monkeypatch.chdir(tmp_path)
    make_run(tmp_path / "memkit-runs" / "toy")

    status = asked(capsys, "status")
    assert status["schema"] == "memkit.evolve.status/1" and status["data"]["run"] == "toy"
    assert asked(capsys, "best", "toy")["data"]["id"] == "aaaa0006"
    assert "+x = 'aaaa0006'" in asked(capsys, "diff", "toy")["data"]["diff"]
    assert "+x = 'aaaa0004'" in asked(capsys, "diff", "toy", "aaaa0003", "aaaa0004")["data"]["diff"]
    assert [step["change"] for step in asked(capsys, "lineage", "toy")["data"]["ancestors"]] == [None, 1.0, 0.5, 2.5]
    assert Path(asked(capsys, "report", "toy")["data"]["out"]).is_file()

    assert run(["evolve", "best", "toy", "--out", "best.py"]) == 0
    assert capsys.readouterr().out == (tmp_path / "best.py").read_text()
    assert run(["evolve", "lineage", "toy"]) == 0
    assert capsys.readouterr().out.splitlines()[-1].split() == ["4", "aaaa0006", "cross", "4.5", "+2.5"]
    assert run(["evolve", "--json", "--store", "nowhere", "status", "toy"]) == 3
    assert json.loads(capsys.readouterr().out)["schema"] == "memkit.evolve.status/1"
    assert run(["evolve", "status", "tyo"]) == 1
    assert "Did you mean 'toy'?" in capsys.readouterr().err
    assert run(["evolve", "status", "--help"]) == 0 and run(["evolve", "--help"]) == 0
    assert "lineage" in capsys.readouterr().out


def test_a_terminal_is_shown_nothing_that_it_would_obey(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Programs are text of strangers."""
    monkeypatch.chdir(tmp_path)
    make_run(tmp_path / "memkit-runs" / "toy", FAMILY, {"aaaa0006": "x = '\x1b]0;owned\x07'\n"})

    for word in ("best", "diff", "lineage", "status"):
        assert run(["evolve", word]) == 0
        assert "\x1b" not in capsys.readouterr().out
