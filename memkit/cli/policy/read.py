"""``memkit policy list``, ``show``, ``search`` and ``stats``."""

from __future__ import annotations

from typing import Any

import click

from memkit.cli.output import Front, MemkitCommand
from memkit.policies.files import PolicyFile
from memkit.policies.overview import Usage
from memkit.runtime.guard.interface import EFFECTS
from memkit.terminal import one_line
from memkit.use_cases.count_verdicts import count_verdicts
from memkit.use_cases.find_policies import find_policies
from memkit.use_cases.list_policies import list_policies
from memkit.use_cases.show_policy import show_policy


@click.command("list", cls=MemkitCommand)
@click.pass_obj
def list_command(front: Front) -> None:
    """List the store's policies."""
    policies = list_policies(front.root)
    lines = [_line(found) for found in policies] or ["No policies yet: policies/ holds no *.yaml."]
    front.answer({"policies": [_summary(found) for found in policies]}, lines)


@click.command("show", cls=MemkitCommand)
@click.argument("name")
@click.pass_obj
def show(front: Front, name: str) -> None:
    """Show the policy NAME."""
    found = show_policy(front.root, name)
    front.answer(dict(found.data), found.document.text.rstrip("\n"))


@click.command("search", cls=MemkitCommand)
@click.argument("query")
@click.option("-k", "limit", type=click.IntRange(min=1), default=5, show_default=True, help="How many at most.")
@click.pass_obj
def search(front: Front, query: str, limit: int) -> None:
    """Search the policies for the words of QUERY, best first."""
    hits = find_policies(front.root, query, limit)
    lines = [f"{hit.score:7.3f}  {_line(hit.policy)}" for hit in hits] or ["No policy shares a word with that."]
    front.answer({"results": [{**_summary(hit.policy), "score": hit.score} for hit in hits]}, lines)


@click.command("stats", cls=MemkitCommand)
@click.argument("name", required=False)
@click.pass_obj
def stats(front: Front, name: str | None) -> None:
    """Say how often policies (or the policy NAME) matched a call of an agent on this machine, and what they said."""
    found = count_verdicts(front.workspace, name)
    if name is not None:
        front.answer(_usage(found[0]), _usage_line(found[0]))
    lines = [_usage_line(one) for one in found] or ["No policies yet: policies/ holds no *.yaml."]
    front.answer({"policies": [_usage(one) for one in found]}, lines)


def _usage(used: Usage) -> dict[str, Any]:
    return {
        "name": used.name,
        "matched": used.matched,
        "decisions": {decision: used.decisions[decision] for decision in reversed(EFFECTS)},
        "last_used": used.last_used,
    }


def _usage_line(used: Usage) -> str:
    if not used.matched:
        return f"{one_line(used.name)}: matched no call yet"
    said = ", ".join(
        f"{used.decisions[decision]} {decision}" for decision in reversed(EFFECTS) if used.decisions[decision]
    )
    return f"{one_line(used.name)}: {said}; last at {used.last_used}"


def _summary(found: PolicyFile) -> dict[str, Any]:
    data = found.data
    return {
        "name": found.name,
        "description": data["description"],
        "enforcement": data["enforcement"],
        "effect": data.get("effect"),
        "active": data.get("active", True),
        "deprecated": bool(data.get("deprecated", False)),
        "advice": "match" not in data,
        "exceptions": len(data.get("exceptions", ())),
        "tests": len(data.get("tests", ())),
    }


def _line(found: PolicyFile) -> str:
    shown = _summary(found)
    kind = "advice" if shown["advice"] else f"{shown['enforcement']} {shown['effect']}"
    marks = "" if shown["active"] else " (off)"
    marks += " (deprecated)" if shown["deprecated"] else ""
    return f"{found.name}{marks}  {kind}  {one_line(shown['description'], 90)}"
