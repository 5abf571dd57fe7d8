"""``memkit memory why``: the account of one record's recalls."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import click

from memkit.cli.memory.options import owner_option
from memkit.cli.output import Front, MemkitCommand
from memkit.terminal import one_line
from memkit.use_cases.explain_record import KINDS, Occasion, explain_record

_REASONS = {
    "scope": "it belongs to another session or agent",
    "tombstone": "it was rejected",
    "expired": "it was not valid then, or something had taken its place",
    "floor": "it shares too little with the question",
    "budget": "it did not fit into the prompt",
    "rank": "others fitted better",
    "trust": "it waits for a person's approval",
    "confidence": "it is not sure enough",
    "filter": "its type or tags were not asked for",
}


@click.command("why", cls=MemkitCommand)
@click.argument("record_id", metavar="ID")
@owner_option
@click.pass_obj
def why(front: Front, record_id: str, user: str | None) -> None:
    """Say when a record was retrieved, shown to a model and cited, and what lost against it or beat it."""
    account = explain_record(front.workspace, record_id, user=user)
    data: dict[str, Any] = asdict(account)
    lines = [line for kind in KINDS for line in _part(kind, data[kind])]
    lines += _part("lost", data["lost"])
    if not lines:
        lines = ["Never recalled on this machine, and never a candidate."]
    if account.candidates:
        lines.append("lost against it")
        lines += [
            f"  {one['at']}  [{one_line(one['id'])}]  {one['reason']}: {_REASONS.get(one['reason'], '')}"
            for one in account.candidates
        ]
        lines += ["  … and more"] if account.candidates_truncated else []
    front.answer(data, lines)


def _part(name: str, occasions: list[Occasion]) -> list[str]:
    return [f"{name} {len(occasions)}×", *map(_line, occasions)] if occasions else []


def _line(occasion: Occasion) -> str:
    where = f"session {occasion['session_id']} turn {occasion['turn_id']}" if occasion["session_id"] else "command line"
    asked = f"  “{one_line(str(occasion['query']), 80)}”" if occasion["query"] else ""
    lost = f"  {occasion['reason']}: {_REASONS.get(occasion['reason'], '')}" if "reason" in occasion else ""
    return f"  {occasion['at']}  {one_line(where, 80)}{asked}{lost}"
