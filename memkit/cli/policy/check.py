"""``memkit policy check``."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

import click

from memkit.cli.output import Front, MemkitCommand
from memkit.cli.pairs import read_pairs
from memkit.errors import UsageError
from memkit.runtime.guard.core import MatchedPolicy
from memkit.terminal import one_line
from memkit.use_cases.check_policy import CheckedCall, PlacedGround, check_policy

_STOPS = ("deny", "ask")
_HOLDS = {True: "yes", False: "no ", None: "?  "}


@click.command("check", cls=MemkitCommand)
@click.option("--tool", required=True, help="The tool that would be called.")
@click.option("--arg", "args", multiple=True, metavar="K=V", help="An argument; K:=JSON gives it a type.")
@click.option(
    "--context", "context", multiple=True, metavar="K=V", help="A fact that the host program sets; K:=JSON too."
)
@click.pass_obj
def check(front: Front, tool: str, args: tuple[str, ...], context: tuple[str, ...]) -> None:
    """Say what the policies decide about a tool call, and why; nothing is run."""
    if not tool.strip():
        raise UsageError("--tool is empty. Name the tool that would be called.")
    root = front.root
    checked = check_policy(root, tool, read_pairs(args, "--arg"), read_pairs(context, "--context"))
    front.answer(_checked_data(checked), _checked_lines(checked), ok=checked.verdict.decision not in _STOPS)


def _checked_data(checked: CheckedCall) -> dict[str, Any]:
    verdict = checked.verdict
    return {
        "decision": verdict.decision,
        "policies": [_finding_data(checked, finding) for finding in verdict.policies],
        "exempted": [_finding_data(checked, finding) for finding in verdict.exempted],
        "grounds": [_ground_data(placed) for placed in checked.grounds],
    }


def _finding_data(checked: CheckedCall, finding: MatchedPolicy) -> dict[str, Any]:
    """Return a finding whose reason names the places it rests on."""
    places = [_place(placed) for placed in checked.of(finding.name) if placed.ground.holds is not False]
    reason = f"{finding.reason} ({'; '.join(places)})" if places else finding.reason
    return asdict(finding) | {"reason": reason}


def _ground_data(placed: PlacedGround) -> dict[str, Any]:
    return {
        "policy": placed.policy,
        "place": placed.ground.place,
        "holds": placed.ground.holds,
        "text": placed.ground.text,
        "path": placed.path,
        "line": placed.line,
        "column": placed.column,
    }


def _place(placed: PlacedGround) -> str:
    return f"{placed.path}:{placed.line}:{placed.column} {placed.ground.place}"


def _checked_lines(checked: CheckedCall) -> Iterator[str]:
    verdict = checked.verdict
    yield verdict.decision if verdict.policies else f"{verdict.decision}  (no policy applies)"
    for finding in verdict.policies:
        yield from _finding_lines("*" if finding.decides else " ", finding, checked)
    for finding in verdict.exempted:
        yield from _finding_lines("-", finding, checked)


def _finding_lines(mark: str, finding: MatchedPolicy, checked: CheckedCall) -> Iterator[str]:
    yield f" {mark} {finding.name} ({finding.enforcement} {finding.effect}): {one_line(finding.reason)}"
    for placed in checked.of(finding.name):
        yield f"     {_HOLDS[placed.ground.holds]} {_place(placed)}: {one_line(placed.ground.text)}"
