"""Planning as tools: known tasks, proposals that are validated, and search for a formula."""

from __future__ import annotations

from typing import Any

from tests.conftest import Talk

POST: dict[str, Any] = {"task": "post book", "domain": "errands"}


def propose(*subtasks: str) -> dict[str, Any]:
    """Return an answer in which the model proposes subtasks of a task that no method is for."""
    return {"tool": "propose_subtasks", "args": {**POST, "subtasks": list(subtasks)}}


def test_a_known_task_is_planned_by_its_methods(talk: Talk) -> None:
    """The plan's steps come from the domain, in order, and stand in the envelope."""
    reply = talk(
        "Deliver the book", [{"tool": "plan_task", "args": {"task": "deliver book shop"}}, "Go, then hand it over."]
    )

    plan = reply.data["plan"]
    assert plan["outcome"] == "found"
    assert [[step["name"], *step["args"]] for step in plan["plan"]] == [["go", "home", "shop"], ["hand_over", "book"]]


def test_a_proposal_is_checked_and_becomes_the_plan_where_it_is_valid(talk: Talk) -> None:
    """Where no method fits the tool says what is missing; what no operator allows is rejected with its reason."""
    script = [{"tool": "plan_task", "args": POST}, propose("teleport book"), propose("go home shop", "hand_over book")]

    reply = talk("Post the book", [*script, "That is what I found."])

    missing, rejected, found = talk.results()
    assert "propose_subtasks" in missing
    assert "teleport" in rejected and "found" not in rejected
    assert "hand_over book" in found
    assert reply.data["plan"]["outcome"] == "found"


def test_a_formula_is_found_by_search(talk: Talk) -> None:
    """Evolutionary search is a tool whose answer is the program with the smallest error."""
    call = {"tool": "evolve_expression", "args": {"points": [[0, 1], [1, 3], [2, 5]], "generations": 30}}

    talk("Which formula fits (0, 1), (1, 3), (2, 5)?", [call, "2 * x + 1."])

    program = talk.results()[0].split(": ", 1)[1]
    assert program.startswith("lambda x")
