"""``memkit memory search``: find what a user may see."""

from __future__ import annotations

from typing import Any

import click

from memkit.cli.memory.options import Date, agent_option, at_option, sealed_findings, user_option
from memkit.cli.output import Choice, Front, MemkitCommand, diagnostic
from memkit.runtime.memory.interface import Hit
from memkit.runtime.memory.record.fields import TYPES
from memkit.terminal import one_line
from memkit.use_cases.search_memory import search_memory

_HIT_KEYS = ("id", "text", "type", "tags", "user_id", "session_id", "turn_id", "source_url", "trust", "created_at")


@click.command("search", cls=MemkitCommand)
@click.argument("query")
@user_option
@click.option("-k", "count", type=click.IntRange(1, 1000), default=5, show_default=True, help="How many at the most.")
@click.option("--type", "types", type=Choice(TYPES), multiple=True, help="Only this kind; may be given again.")
@click.option("--tag", "tags", multiple=True, help="Only with this label; may be given again.")
@click.option("--session", help="Ask from within this session: what is for it alone is found too.")
@agent_option
@click.option("--as-of", type=Date(), metavar="DATE", help="What was true at this date.")
@at_option
@click.option("--explain", is_flag=True, help="Show the parts of every score, and what lost and why.")
@click.pass_obj
def search(
    front: Front,
    query: str,
    user: str | None,
    count: int,
    types: tuple[str, ...],
    tags: tuple[str, ...],
    session: str | None,
    agent: str | None,
    as_of: str | None,
    at: str | None,
    explain: bool,
) -> None:
    """Search what USER may see and print the best records, or say that nothing relevant is there."""
    workspace = front.workspace
    report = search_memory(
        workspace,
        query,
        user=workspace.user(user),
        count=count,
        types=types,
        tags=tags,
        session=session,
        agent=agent,
        as_of=as_of,
        at=at,
    )
    data: dict[str, Any] = {
        "results": [hit_data(hit, explain=explain) for hit in report.hits],
        "abstained": report.abstained,
    }
    if explain:
        data["losers"] = [{"id": loser.id, "reason": loser.reason} for loser in report.losers]
    lines = [line for hit in report.hits for line in _hit_lines(hit, explain=explain)]
    if not report.hits:
        lines.append("Nothing relevant.")
    if explain:
        lines += [f"  lost  [{one_line(loser.id)}]  {loser.reason}" for loser in report.losers]
    has_keys = workspace.settings["privacy.key_id"] is not None
    unread = workspace.archive.sealed(workspace.user(user)) if has_keys else 0
    findings = sealed_findings(front, unread)
    if workspace.settings["privacy.long_term"] == "off":
        message = "This store recalls nothing beyond a session: privacy.long_term is off."
        findings.append(diagnostic("long_term_off", message, severity="info"))
        lines.append(message)
    front.answer(data, lines, diagnostics=findings)


def hit_data(hit: Hit, *, explain: bool = False) -> dict[str, Any]:
    """Return one search result as ``--json`` prints it."""
    full = hit.record.to_data()
    data = {key: full.get(key) for key in _HIT_KEYS} | {"score": hit.score, "tags": list(hit.record.tags)}
    return data | {"parts": dict(hit.parts)} if explain else data


def _hit_lines(hit: Hit, *, explain: bool) -> list[str]:
    record = hit.record
    facts = [
        record.type,
        f"{record.trust} {record.confidence:.2f}",
        record.created_at[:10],
        *(f"#{one_line(tag, 40)}" for tag in record.tags),
    ]
    lines = [f"{hit.score:.3f}  {one_line(record.text, 160)}", f"       [{one_line(record.id)}]  {' · '.join(facts)}"]
    if explain:
        lines.append("       " + "  ".join(f"{name} {value:.3f}" for name, value in hit.parts.items()))
    return lines
