"""``memkit policy check``."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

import click

from memkit.cli.output import Front, MemkitCommand
from memkit.cli.pairs import read_pairs
from memkit.guard.core import Finding, Verdict
from memkit.store.layout import find_store
from memkit.terminal import one_line
from memkit.use_cases.check_policy import check_policy

_STOPS = ("deny", "ask")


@click.command("check", cls=MemkitCommand)
@click.option("--tool", required=True, help="The tool that would be called.")
@click.option("--arg", "args", multiple=True, metavar="K=V", help="An argument; K:=JSON gives it a type.")
@click.option(
    "--context", "context", multiple=True, metavar="K=V", help="A fact that the host program sets; K:=JSON too."
)
@click.pass_obj
def check(front: Front, tool: str, args: tuple[str, ...], context: tuple[str, ...]) -> None:
    """Say what the policies decide about a tool call, and why; nothing is run."""
    root = find_store(front.store)
    verdict = check_policy(root, tool, read_pairs(args, "--arg"), read_pairs(context, "--context"))
    front.answer(_verdict_data(verdict), _verdict_lines(verdict), ok=verdict.decision not in _STOPS)


def _verdict_data(verdict: Verdict) -> dict[str, Any]:
    return {
        "decision": verdict.decision,
        "policies": [asdict(finding) for finding in verdict.policies],
        "exempted": [asdict(finding) for finding in verdict.exempted],
    }


def _verdict_lines(verdict: Verdict) -> Iterator[str]:
    yield verdict.decision if verdict.policies else f"{verdict.decision}  (no policy applies)"
    for finding in verdict.policies:
        yield _finding_line("*" if finding.decides else " ", finding)
    for finding in verdict.exempted:
        yield _finding_line("-", finding)


def _finding_line(mark: str, finding: Finding) -> str:
    return f" {mark} {finding.name} ({finding.enforcement} {finding.effect}): {one_line(finding.reason)}"
