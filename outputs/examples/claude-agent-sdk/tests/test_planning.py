"""Planning as tools: known tasks, proposals that are validated, and search for a formula."""

from __future__ import annotations

from typing import Any

from tests.conftest import Talk


def propose(*subtasks: str) -> list[Any]:
    """Return a script in which the model asks for a plan, proposes subtasks, and answers."""
    task = "post book"
    return [
        {"tool": "plan_task", "args": {"task": task, "domain": "errands"}},
        {"tool": "propose_subtasks", "args": {"task": task, "subtasks": list(subtasks), "domain": "errands"}},
        "That is what I found.",
    ]


def test_a_known_task_is_planned_by_its_methods(talk: Talk) -> None:
    """The plan's steps come from the domain, in order, and stand in the envelope."""
    reply = talk(
        "Deliver the book", [{"tool": "plan_task", "args": {"task": "deliver book shop"}}, "Go, then hand it over."]
    )

    plan = reply.data["plan"]
    assert plan["outcome"] == "found"
    assert [[step["name"], *step["args"]] for step in plan["plan"]] == [["go", "home", "shop"], ["hand_over", "book"]]


def test_a_valid_proposal_becomes_the_plan(talk: Talk) -> None:
    """Where no method fits the tool says what is missing; the model's subtasks are checked and used."""
    reply = talk("Post the book", propose("go home shop", "hand_over book"))

    missing, found = talk.results()
    assert "propose_subtasks" in missing
    assert "hand_over book" in found
    assert reply.data["plan"]["outcome"] == "found"


def test_an_invalid_proposal_is_rejected_with_its_reason(talk: Talk) -> None:
    """Subtasks that no operator or precondition allows are not used, and the reason is told."""
    reply = talk("Post the book", propose("teleport book"))

    assert reply.data["plan"]["outcome"] != "found"
    assert "teleport" in talk.results()[1]


def test_a_formula_is_found_by_search(talk: Talk) -> None:
    """Evolutionary search is a tool whose answer is the program with the smallest error."""
    call = {"tool": "evolve_expression", "args": {"points": [[0, 1], [1, 3], [2, 5]], "generations": 30}}

    talk("Which formula fits (0, 1), (1, 3), (2, 5)?", [call, "2 * x + 1."])

    program = talk.results()[0].split(": ", 1)[1]
    assert program.startswith("lambda x")
