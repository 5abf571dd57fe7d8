"""``memkit memory consolidate``: summarise and deduplicate on a branch that a person reviews and merges."""

from __future__ import annotations

import click

from memkit.cli.output import Front, MemkitCommand, User, diagnostic
from memkit.use_cases.consolidate_memory import Consolidation, consolidate_memory


@click.command("consolidate", cls=MemkitCommand)
@click.option("--branch", help="The new branch (default: memkit/consolidate-<today>).")
@click.option("--user", type=User(), help="Only memory of this user (default: everybody's).")
@click.option("--dry-run", is_flag=True, help="Say what would change, and make no branch.")
@click.pass_obj
def consolidate(front: Front, branch: str | None, user: str | None, dry_run: bool) -> None:
    """Merge what repeats, summarise what is old and small, drop what expired: on a branch, to review and merge."""
    result = consolidate_memory(front.workspace, branch=branch, user=user, dry_run=dry_run)
    done = result.done
    data = {
        "branch": result.branch,
        "commit": result.commit,
        "dry_run": dry_run,
        "added": list(done.added),
        "merged": [{"id": item.id, "parents": list(item.parents)} for item in done.merged],
        "summarised": [{"id": item.id, "parents": list(item.parents)} for item in done.summaries],
        "superseded": list(done.superseded),
        "dropped": [{"id": drop.record.id, "reason": drop.reason} for drop in done.dropped],
        "core": [{"user_id": item.user_id, "section": item.section} for item in done.compressed],
        "summary": result.summary,
    }
    notes = [diagnostic("consolidation", note, severity="warning") for note in result.notes]
    front.answer(data, [*_told(result, dry_run), *result.notes], diagnostics=notes)


def _told(result: Consolidation, dry_run: bool) -> list[str]:
    if not result.summary:
        return ["Nothing to consolidate."]
    if dry_run:
        return ["Would change:", result.summary]
    return [
        result.summary,
        f"On branch {result.branch}, commit {(result.commit or '')[:12]}; nothing changed here yet.",
        f"Review: git diff HEAD...{result.branch}    Take it: git merge {result.branch}",
    ]
