"""``memkit policy diff``."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import click

from memkit.cli.output import Diagnostic, Front, MemkitCommand, diagnostic
from memkit.errors import UsageError
from memkit.policies.verdict_diff import PolicySet, Replay, VerdictChange, change_data, check_line
from memkit.terminal import counted
from memkit.use_cases.compare_policies import PolicyComparison, compare_policies, compare_policy_folders

_FOLDER = click.Path(file_okay=False, path_type=Path)


@click.command("diff", cls=MemkitCommand)
@click.argument("span", metavar="[A..B]", required=False)
@click.option("--replay", "replayed", is_flag=True, help="Also decide the calls of the audit log by both sets.")
@click.option("--before", type=_FOLDER, help="A folder of policies to compare, in place of commits.")
@click.option("--after", type=_FOLDER, help="The folder to compare it with.")
@click.pass_obj
def diff(front: Front, span: str | None, replayed: bool, before: Path | None, after: Path | None) -> None:
    """Say which calls are decided differently, weakened hard policies first.

    A..B are commits, and A...B is what B did since it parted from A. A alone is compared with the work tree; without
    a span the last commit is. Exit code 1 when a call gets past a hard policy that stopped it, or stops it less.
    """
    if (before or after) and (span or replayed or not (before and after)):
        raise UsageError("Give --before and --after together, and neither a span nor --replay with them.")
    if before and after:
        compared = compare_policy_folders(before, after)
    else:
        compared = compare_policies(front.root, span, replayed=replayed)
    front.answer(_data(compared), _lines(compared), ok=not compared.weakens_hard, diagnostics=_diagnostics(compared))


def _data(compared: PolicyComparison) -> dict[str, Any]:
    replay = compared.replay
    return {
        "before": _side(compared.before),
        "after": _side(compared.after),
        "changes": [change_data(change) for change in compared.verdicts.changes],
        "unknown": list(compared.verdicts.unknown),
        "replay": _replay(replay) if replay else None,
    }


def _side(side: PolicySet) -> dict[str, Any]:
    return {"name": side.name, "commit": side.commit, "policies": len(side.policies)}


def _replay(replay: Replay) -> dict[str, Any]:
    return {"calls": replay.calls, "left_out": replay.left_out, "changes": [change_data(one) for one in replay.changes]}


def _diagnostics(compared: PolicyComparison) -> list[Diagnostic]:
    return [diagnostic("policy-unknown", question, severity="note") for question in compared.verdicts.unknown]


def _lines(compared: PolicyComparison) -> Iterator[str]:
    changes = compared.verdicts.changes
    yield f"{compared.before.name} → {compared.after.name}: {_count(changes)}"
    yield from _change_lines(changes)
    yield from (f"unknown: {question}" for question in compared.verdicts.unknown)
    if compared.replay:
        replay = compared.replay
        left_out = f" ({replay.left_out} verdicts without their call were left out)" if replay.left_out else ""
        calls = counted(replay.calls, "recorded call") if replay.calls else "No recorded calls"
        yield f"{calls}{left_out}: {_count(replay.changes)}"
        yield from _change_lines(replay.changes)


def _count(changes: Sequence[VerdictChange]) -> str:
    if not changes:
        return "no verdict changes that could be shown."
    weakened = sum(change.weakens_hard for change in changes)
    told = f", {weakened} of them weakened against a hard policy" if weakened else ""
    return f"{counted(len(changes), 'call')} decided differently{told}."


def _change_lines(changes: Sequence[VerdictChange]) -> Iterator[str]:
    for change in changes:
        mark = "!" if change.weakens_hard else ("-" if change.weakened else "+")
        before = f"{change.before}{_by(change.decided_before)}"
        yield f"{mark} {before} → {change.after}{_by(change.decided_after)}"
        yield f"    {check_line(change.call)}"


def _by(names: Sequence[str]) -> str:
    return f" by {', '.join(names)}" if names else ""
