"""``memkit backend``: where memory is stored, and moving it from files to a server and back."""

from __future__ import annotations

import click

from memkit.cli.display import ListCell, ListRow
from memkit.cli.output import Front, MemkitGroup, diagnostic, require_person
from memkit.runtime.host.terminal import counted, one_line
from memkit.use_cases.backend import Move, TierPlace


@click.group("backend", cls=MemkitGroup)
def backend() -> None:
    """Say where memory is stored, and move it to a server or back to files."""


@backend.command("status")
def status(front: Front) -> None:
    """Say where long-term memory and the short-lived tiers are stored, and whether they respond; show no password."""
    from memkit.use_cases.backend import backend_status

    archive, working = backend_status(front.workspace)
    where = {"kind": archive.kind, "url": archive.url, "records": archive.records, "heads": archive.heads}
    faults = [tier.fault for tier in (archive, working) if tier.fault]
    ok = not faults
    data = {"archive": where, "working": {"kind": working.kind, "url": working.url}, "ok": ok}
    lines = [
        ListRow(
            ListCell("archive", "aside"),
            ListCell(f"{_place(archive)}, {counted(archive.records or 0, 'record')}"),
        ),
        ListRow(ListCell("working", "aside"), ListCell(_place(working))),
    ]
    findings = [diagnostic(fault.code, str(fault)) for fault in faults]
    for code, tier in (("role", archive), ("eviction", working)):
        if tier.remark:
            findings.append(diagnostic(code, tier.remark, severity="warning"))
    front.answer(data, [*lines, *(one["message"] for one in findings)], ok=ok, diagnostics=findings)


def _place(tier: TierPlace) -> str:
    return one_line(tier.url) if tier.url else tier.kind


@backend.command("migrate")
@click.option("--url", required=True, metavar="OWNER_URL", help="The database, for the role that owns the tables.")
@click.option("--role", required=True, help="The role that serves: it owns nothing and sees one user at a time.")
@click.option("--dry-run", is_flag=True, help="Print what would be run, and change nothing.")
def migrate(front: Front, url: str, role: str, dry_run: bool) -> None:
    """Create the tables of an archive in PostgreSQL, or update them to this version, and grant ROLE what it needs."""
    from memkit.runtime.backends.schema import VERSION
    from memkit.use_cases.backend import make_tables

    require_person("'memkit backend migrate'")
    shown, statements = make_tables(url, role, dry_run=dry_run)
    data = {"url": shown, "role": role, "version": VERSION, "statements": statements, "dry_run": dry_run}
    done = f"{shown}: version {VERSION}, served by {one_line(role)}."
    front.answer(data, [f"{statement};" for statement in statements] if dry_run else done)


@backend.command("move")
@click.option("--to", required=True, metavar="URL|files|$NAME", help="Where memory goes; $NAME holds the whole URL.")
@click.option("--tier", type=click.Choice(["archive", "working"]), default="archive", show_default=True)
@click.option("--dry-run", is_flag=True, help="Say what would be moved, and change nothing.")
@click.option("--yes", is_flag=True, help="Do not ask.")
def move(front: Front, to: str, tier: str, dry_run: bool, yes: bool) -> None:
    """Move all memory to another back end, verify that it arrived, and name it in memkit.yaml.

    The old side serves until then, and is emptied. An interrupted move continues when it is requested again.
    """
    from memkit.use_cases import backend as carried

    if not dry_run:
        require_person("'memkit backend move'")

    def confirm(plan: Move) -> None:
        told = f"All memory moves from {plan.origin} to {plan.target}, and the old back end is emptied. Continue?"
        front.confirm(one_line(told), yes=yes)

    carry = carried.move_archive if tier == "archive" else carried.move_working
    moved = carry(front.workspace, to, confirm=confirm, dry_run=dry_run)
    if "@" in to and to.rpartition("@")[0].count(":") > 1 and not dry_run:
        front.note(
            "memkit.yaml now contains a password, and git will keep it: put the URL in a variable and pass $NAME."
        )
    data = {
        "from": moved.origin, "to": moved.target, "records": moved.records, "users": moved.users,
        "verified": moved.verified,
    }  # fmt: skip
    verb = "Would move" if dry_run else "Moved"
    what = f"{counted(moved.records, 'record')} of {counted(moved.users, 'user')}"
    front.answer(data, f"{verb} {what} from {moved.origin} to {moved.target}.")
