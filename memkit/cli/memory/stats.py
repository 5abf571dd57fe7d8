"""``memkit memory stats``: count what is remembered."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import click

from memkit.cli.output import Front, MemkitCommand, User
from memkit.terminal import one_line
from memkit.use_cases.count_memory import count_memory


@click.command("stats", cls=MemkitCommand)
@click.option("--user", type=User(), help="Only this user's part (default: everybody's).")
@click.pass_obj
def stats(front: Front, user: str | None) -> None:
    """Count what is remembered: by state, type, trust and origin, what waits, what is unsettled, how big it is."""
    found = count_memory(front.workspace, user=user)
    census = found.census
    tombstones = {"rejected": census.tombstones["rejected"]}
    everybody: dict[str, Any] = {}
    size = f"{census.text_bytes:,} bytes of live text"
    if user is None:
        # How much there is of others is not one user's to know; whose value an erased one was, nobody can tell.
        tombstones["erased"] = census.tombstones["erased"]
        everybody = {"users": found.users, "shards": {"files": found.shards, "bytes": found.shard_bytes}}
        size += f"; shards {found.shards}, {found.shard_bytes:,} bytes"
    data: dict[str, Any] = {
        "user_id": user,
        "records": census.records,
        "status": dict(census.status),
        "live": {field: dict(counts) for field, counts in census.live.items()},
        "source_urls": census.source_urls,
        "text_bytes": census.text_bytes,
        "waiting": dict(census.waiting),
        "open": census.open_questions,
        "tombstones": tombstones,
        "oldest": census.oldest,
        "newest": census.newest,
        **everybody,
        "most_used": [{"id": id, "uses": uses} for id, uses in found.most_used],
    }
    lines = [
        f"{'records':>10}  {census.records}: {_counts(census.status)}",
        *(f"{field:>10}  {_counts(counts)}" for field, counts in census.live.items() if counts),
        f"{'waiting':>10}  {_counts(census.waiting)}",
        f"{'open':>10}  {census.open_questions} (memkit memory list --open)",
        f"{'tombstones':>10}  {_counts(tombstones)}",
        f"{'size':>10}  {size}",
    ]
    lines += [f"{'users':>10}  {found.users}"] if everybody else []
    lines += [f"{'from':>10}  {census.oldest} to {census.newest}"] if census.oldest else []
    most_used = [f"{one_line(id)}  {uses}" for id, uses in found.most_used]
    unknown = "counted for each user apart: memkit memory stats --user USER" if everybody else "nothing yet"
    lines += [f"{'most used':>10}  {line}" for line in most_used or [unknown]]
    front.answer(data, lines)


def _counts(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{count} {name}" for name, count in counts.items() if count) or "none"
