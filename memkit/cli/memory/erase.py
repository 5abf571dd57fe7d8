"""``memkit memory erase``: remove everything that is held on a user, and prove it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import click

from memkit.cli.output import Front, MemkitCommand, User, diagnostic
from memkit.privacy.certificate import WENT_WITH_KEY
from memkit.terminal import one_line

if TYPE_CHECKING:
    from memkit.use_cases.erase_user import Erasure, Plan


TRACED = (
    "Words that were removed still stand where a trace is named. Read each place: what memkit wrote, such as outputs/,",
    "can be deleted and made again; quotes in files of people are for you to take out, as memkit does not know",
    "the words any more (with --redact it takes them out while it erases); lines of other users stay.",
)
QUOTING = "--redact takes that out too; once the texts are erased, memkit does not know them any more"

KINDS = {
    "records": "record{s}",
    "events": "event{s}",
    "files": "file{s} of the work tree",
    "sessions": "file{s} of sessions",
    "access": "file{s} of access counts",
    "audit": "file{s} of the audit log",
    "torn": "file{s} of torn lines",
    "other": "other file{s} of this machine",
    "caches": "cache{s}",
    "commits_rewritten": "commit{s} made anew",
    "messages": "message{s}",
    "signatures": "signature{s}",
    "refs_renamed": "name{s} of refs",
    "refs_dropped": "ref{s}",
}
"""What the counts of an erasure are of."""


@click.command("erase", cls=MemkitCommand)
@click.option("--user", type=User(), required=True, help="Whose memory goes.")
@click.option("--yes", is_flag=True, help="Do not ask.")
@click.option(
    "--out", type=click.Path(path_type=Path), metavar="FILE", help="Where the certificate goes, outside of git."
)
@click.option("--dry-run", is_flag=True, help="Say what would be removed, and change nothing.")
@click.option("--redact", is_flag=True, help="Also replace what other files and their history quote of the user.")
@click.option("--whole-repository", is_flag=True, help="Rewrite a repository of which the store is only a part.")
@click.pass_obj
def erase(
    front: Front, user: str, yes: bool, out: Path | None, dry_run: bool, redact: bool, whole_repository: bool
) -> None:
    """Remove everything that is held on USER from files, history and state; scan for it; write a certificate.

    Every commit that held something is made anew, so commit ids change. Exits 1 when a trace is left, or when something
    is left to others, such as a remote.
    """
    from memkit.use_cases.erase_user import erase_user

    def confirm(plan: Plan) -> None:
        lines = [f"{line}\n" for line in _plan_lines(plan)]
        front.confirm(f"{''.join(lines)}This cannot be undone. Erase?", yes=yes)

    erasure = erase_user(
        front.workspace, user, confirm=confirm, out=out, dry_run=dry_run, redact_files=redact,
        whole_repository=whole_repository,
    )  # fmt: skip
    findings = [
        diagnostic("trace", f"{place.place}: {name}", path=name) for place in erasure.scanned for name in place.where
    ]
    findings += [
        diagnostic("unprovable", f"{item['place']} is left to {item['owner']}.") for item in erasure.unprovable
    ]
    findings += [
        diagnostic("sealed_copy", f"Remote {name}: {WENT_WITH_KEY}.", severity="info") for name in erasure.sealed_copies
    ]
    findings += [
        diagnostic(
            "quote", f"Line {id} of somebody else repeats a text of {one_line(user)}; it stays.", severity="info"
        )
        for id in erasure.plan.quotes
    ]
    if not erasure.done:
        findings += [
            diagnostic("quoting", f"{name} quotes {one_line(user)}. {QUOTING}.", severity="warning", path=name)
            for name in erasure.plan.quoting
        ]
    data = {
        "user_id": user,
        "removed": dict(erasure.removed),
        "scanned": [{"place": place.place, "items": place.items, "traces": place.traces} for place in erasure.scanned],
        "unprovable": [dict(item) for item in erasure.unprovable],
        "certificate": str(erasure.certificate) if erasure.certificate else None,
        "commits": dict(erasure.commit_map),
        "dry_run": dry_run,
    }
    front.answer(data, _lines(erasure), ok=erasure.proven, diagnostics=findings)


def _plan_lines(plan: Plan) -> Iterator[str]:
    yield f"To be removed of {one_line(plan.user_id)}: {_counted(plan.removed)}."
    if plan.quotes:
        yield f"Lines of others that repeat a text, and stay: {', '.join(plan.quotes)}."
    if plan.quoting:
        yield f"Files that quote a text, and stay as they are: {', '.join(plan.quoting)}. {QUOTING}."
    if plan.top:
        yield (
            f"Of the {_number(plan.commits, 'commit{s}')} in {plan.top}, those that hold something are made anew, and "
            "all that follow them: their ids change, and signatures are dropped."
        )
        yield f"Refs: {', '.join(plan.refs) or 'none'}."
    if plan.remotes:
        named = ", ".join(f"{name} ({url})" for name, url in plan.remotes.items())
        yield f"Remotes keep what they have: {named}."
    if plan.elsewhere:
        yield f"Not looked into: {', '.join(plan.elsewhere)}."


def _lines(erasure: Erasure) -> Iterator[str]:
    if not erasure.done:
        yield from _plan_lines(erasure.plan)
        yield "Nothing was changed."
        return
    yield f"Removed of {one_line(erasure.plan.user_id)}: {_counted(erasure.removed)}."
    if erasure.commit_map:
        yield "Commits made anew, old and new id:"
    for old, new in erasure.commit_map.items():
        yield f"{old} {new}"
    for place in erasure.scanned:
        yield f"scanned {place.place}: {_number(place.items, 'item{s}')}, {_number(place.traces, 'trace{s}')}"
        yield from (f"  trace in {name}" for name in place.where)
        if place.traces > len(place.where):
            yield f"  and {place.traces - len(place.where):,} more"
    for item in erasure.unprovable:
        yield f"not provable: {item['place']} is left to {item['owner']}"
    yield from (f"remote {name}: {WENT_WITH_KEY}" for name in erasure.sealed_copies)
    yield f"certificate: {erasure.certificate}"
    if any(place.traces for place in erasure.scanned):
        yield from TRACED


def _counted(removed: Mapping[str, int]) -> str:
    """Return how much goes, in words."""
    known = [_number(count, KINDS[kind]) for kind, count in removed.items() if count and kind in KINDS]
    return ", ".join(known) or "nothing but what an interrupted run left to prove"


def _number(count: int, noun: str) -> str:
    return f"{count:,} {noun.format(s='' if count == 1 else 's')}"
