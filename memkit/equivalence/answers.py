"""What the model of a transcript answers, said shortly."""

from __future__ import annotations

from typing import Any

FOUND = r"${tool_result:\[([0-9A-HJKMNP-TV-Z]{26})\]}"
"""The id of the record that the newest tool result shows first."""


def call(tool: str, **args: Any) -> dict[str, Any]:
    """Return an answer of the model that calls one tool."""
    return {"tool": tool, "args": args}


def insert(text: str, **more: Any) -> dict[str, Any]:
    """Return an answer that stores ``text``."""
    return call("archival_memory_insert", text=text, **more)


def search(query: str) -> dict[str, Any]:
    """Return an answer that looks in long-term memory."""
    return call("archival_memory_search", query=query)


def working(**args: Any) -> dict[str, Any]:
    """Return an answer that keeps the task at hand in view."""
    return call("working_memory", **args)


def outbox(message: str) -> dict[str, Any]:
    """Return an answer that puts a message into the outbox."""
    return call("outbox", message=message)


def propose(task: str, *subtasks: str) -> list[dict[str, Any]]:
    """Return answers that ask for a plan nobody has a method for, and propose subtasks."""
    return [
        call("plan_task", task=task, domain="errands"),
        call("propose_subtasks", task=task, subtasks=list(subtasks), domain="errands"),
        {"text": "That is what I found."},
    ]
