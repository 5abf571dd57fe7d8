"""``memkit consent``, ``key`` and ``audit``: consent to memory, the keys of sealed text, and the audit log."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from memkit.cli.display import ListCell, ListRow
from memkit.cli.output import (
    PLACE,
    READABLE_FILE,
    Front,
    MemkitGroup,
    User,
    diagnostic,
    memkit_command,
    require_person,
    tail_option,
    user_option,
)
from memkit.errors import UsageError
from memkit.runtime.host.terminal import counted, one_line
from memkit.runtime.memory.record.lines import InvalidRecord, bare_date, normal_time

if TYPE_CHECKING:
    from memkit.use_cases.keys import KeyList


@click.group("consent", cls=MemkitGroup)
def consent() -> None:
    """Grant, withdraw and list consent to long-term memory."""


@consent.command("grant")
@user_option
def grant(front: Front, user: str | None) -> None:
    """Record that USER agreed: the agent may store what they tell it."""
    _set(front, user, granted=True)


@consent.command("withdraw")
@user_option
def withdraw(front: Front, user: str | None) -> None:
    """Record that USER withdrew: nothing new is stored from now on."""
    _set(front, user, granted=False)


@consent.command("list")
def list_command(front: Front) -> None:
    """List who agreed and who withdrew."""
    archive = front.workspace.archive
    said = {user: archive.consent(user) for user in archive.users()}
    answers = {user: granted for user, granted in said.items() if granted is not None}
    data = [{"user_id": user, "granted": granted} for user, granted in sorted(answers.items())]
    lines = [
        ListRow(
            ListCell("granted", "good") if granted else ListCell("withdrawn", "bad"),
            ListCell(one_line(user), "name"),
            plain=f"{'granted' if granted else 'withdrawn':<10} {one_line(user)}",
        )
        for user, granted in sorted(answers.items())
    ]
    front.answer({"consents": data}, lines or ["Nobody has granted or withdrawn consent."])


def _set(front: Front, user: str | None, *, granted: bool) -> None:
    workspace = front.workspace
    owner = workspace.user(user)
    workspace.archive.set_consent(owner, granted, workspace.writer(owner))
    workspace.commit_memory()
    front.answer(
        {"user_id": owner, "granted": granted},
        f"Consent of {one_line(owner)}: {'granted' if granted else 'withdrawn'}.",
    )


PASSPHRASE = "MEMKIT_PASSPHRASE"
passphrase_option = click.option(
    "--passphrase-file",
    type=PLACE,
    metavar="FILE",
    help=f"Read the passphrase from the first line of FILE (else {PASSPHRASE}, else a prompt).",
)


@click.group("key", cls=MemkitGroup)
def key() -> None:
    """List, export, import and destroy the keys that open sealed text."""


@key.command("list")
def list_keys_command(front: Front) -> None:
    """List whose keys are on this machine. No key itself is ever printed."""
    from memkit.use_cases.keys import list_keys

    found = list_keys(front.workspace)
    users = [{"user_id": owner.user_id, "mark": owner.mark} for owner in found.users]
    folder = str(found.folder) if found.folder else None
    data = {"key_id": found.key_id, "folder": folder, "store": found.store, "withheld": found.withheld, "users": users}
    if found.key_id is None:
        front.answer(data, "This store has no keys yet. The first one is created when needed.")
        return
    lines = [
        ListRow(ListCell(str(found.key_id), "name"), ListCell(f"in {folder}")),
        ListRow(ListCell("store   ", "aside"), ListCell(_whether_here(found), "good" if found.store else "bad")),
    ]
    for owner in found.users:
        whose = one_line(owner.user_id) if owner.user_id else f"of whom nothing is stored ({owner.mark[:12]}…)"
        lines.append(ListRow(ListCell("user    ", "aside"), ListCell(whose)))
    front.answer(data, lines)


def _whether_here(found: KeyList) -> str:
    if found.withheld:
        return "present, but not for this clone: 'memkit trust' lets it use them"
    return "here" if found.store else "NOT HERE"


@key.command("export")
@click.argument("file", type=PLACE)
@click.option("--user", type=User(), help="Only the key of this user, with that of the store.")
@passphrase_option
def export(front: Front, file: Path, user: str | None, passphrase_file: Path | None) -> None:
    """Write the keys to the new FILE, encrypted with a passphrase."""
    from memkit.use_cases.keys import export_keys

    passphrase = _passphrase(front, passphrase_file, twice=True)
    count = export_keys(front.workspace, file, passphrase, user=user)
    findings = []
    if file.resolve().is_relative_to(front.workspace.root.resolve()):
        message = (
            f"{file} is inside the store. Put it elsewhere: with it and the passphrase, any clone can open everything."
        )
        findings.append(diagnostic("in_store", message, severity="warning", path=str(file)))
        front.note(message)
    told = f"{counted(count, 'key is', 'keys are')} in {file}."
    front.answer({"file": str(file), "keys": count}, told, diagnostics=findings)


@key.command("import")
@click.argument("file", type=READABLE_FILE)
@passphrase_option
def import_command(front: Front, file: Path, passphrase_file: Path | None) -> None:
    """Add the keys in FILE to those on this machine; no key is ever replaced by another."""
    from memkit.use_cases.keys import import_keys

    key_id, new, known = import_keys(front.workspace, file, _passphrase(front, passphrase_file, twice=False))
    data = {"key_id": key_id, "new": new, "known": known}
    front.answer(data, f"{new} keys are new here, {known} were already here.")


@key.command("destroy")
@click.option("--user", type=User(), required=True, help="Whose key.")
@click.option("--yes", is_flag=True, help="Do not ask.")
def destroy(front: Front, user: str, yes: bool) -> None:
    """Destroy the key of USER on this machine: text sealed with it can never be read again without a copy of it."""
    from memkit.use_cases.keys import destroy_key

    require_person("'memkit key destroy'")
    question = f"Text sealed for {one_line(user)} becomes permanently unreadable here. Destroy the key?"
    records, remotes = destroy_key(front.workspace, user, confirm=lambda: front.confirm(question, yes=yes))
    data = {"user_id": user, "sealed_records": records, "remotes": remotes}
    clones = f" and of {', '.join(remotes)}" if remotes else ""
    lost = counted(records, "record")
    lines = [
        f"The key of {one_line(user)} is gone from this machine; {lost} can no longer be read here.",
        f"Copies may remain: in files of 'memkit key export', and where clones of this store{clones} are in use.",
        "Text written unsealed stays: 'memkit memory erase' removes it.",
    ]
    front.answer(data, lines)


def _passphrase(front: Front, file: Path | None, *, twice: bool) -> str:
    """Return the passphrase from a file, the environment or a terminal; raise ``UsageError`` if there is none."""
    if file is not None:
        try:
            found = file.read_text(encoding="utf-8").split("\n", 1)[0].rstrip("\r")
        except (OSError, UnicodeDecodeError) as error:
            raise UsageError(f"{file} cannot be read: {getattr(error, 'strerror', None) or error}.") from None
    elif PASSPHRASE in os.environ:
        found = os.environ[PASSPHRASE]
    elif front.interactive:
        found = click.prompt("Passphrase", hide_input=True, confirmation_prompt=twice, err=True)
    else:
        raise UsageError(f"Cannot ask for a passphrase here: give --passphrase-file or set {PASSPHRASE}.")
    if not found:
        raise UsageError("An empty passphrase protects nothing.")
    return found


# ``memkit audit``: what was written, read, refused and decided on this machine.


def _moment(context: click.Context, parameter: click.Parameter, value: str | None) -> str | None:
    """Return the time in the log's format, in which a day sorts before all of its moments."""
    if value is None:
        return None
    try:
        moment = normal_time(value)
    except InvalidRecord as error:
        raise click.BadParameter(str(error), context, parameter) from error
    day = bare_date(value)
    return moment if day is None else day.isoformat()


@memkit_command("audit")
@click.option("--user", type=User(), help="Only events about this user.")
@click.option("--event", help="Only this kind of event, such as write, refusal or retrieved.")
@click.option("--since", metavar="TIME", callback=_moment, help="Only from this day or RFC 3339 time on.")
@tail_option
def audit(front: Front, user: str | None, event: str | None, since: str | None, tail: int | None) -> None:
    """Print the audit log, oldest first."""
    log = front.workspace.audit
    events = [dict(entry) for entry in log.events(user=user, event=event, since=since)]
    events = events[-tail:] if tail else events
    narrowed = any(choice is not None for choice in (user, event, since))
    nothing = "No matches." if narrowed else "Nothing yet."
    if event is not None and not events and not front.json:
        nothing += f" Kinds of events here: {', '.join(sorted({str(one['event']) for one in log.events()})) or 'none'}."
    nobody = [] if events else front.nobody(user)
    front.answer({"events": events}, [_line(entry) for entry in events] or [nothing], diagnostics=nobody)


def _line(entry: Mapping[str, Any]) -> ListRow:
    who, ids = str(entry.get("user_id") or "-"), [one_line(str(name)) for name in entry.get("ids") or ()]
    event = str(entry.get("event"))
    more = [ListCell(f"and {len(ids) - IDS_SHOWN} more", "aside")] if len(ids) > IDS_SHOWN else []
    return ListRow(
        ListCell(str(entry.get("at")), "time"),
        ListCell(one_line(event), "bad" if event in REFUSING else "name"),
        ListCell(one_line(who)),
        *(ListCell(id, "id") for id in ids[:IDS_SHOWN]),
        *more,
        ListCell(DIGEST.sub(r"\1…", one_line(_about(entry), 200))),
        plain=one_line(f"{entry.get('at')} {event} {who} {' '.join(ids)} {_about(entry)}", 240),
    )


DIGEST = re.compile(r"\b([0-9a-f]{12})[0-9a-f]{52}\b")
"""A digest; a terminal shows only as much of it as the name of a certificate contains."""
REFUSING = ("refusal", "denied")
"""Kinds of events in which something was refused."""
IDS_SHOWN = 3
"""Ids of an event that a terminal shows; a pipe gets as many as its line holds, ``--json`` all."""


def _about(entry: Mapping[str, Any]) -> str:
    """Return what was requested or decided, and why, as far as the event says."""
    if entry.get("query"):
        return f"“{entry['query']}”"
    judged = [f"{found['decision']} by {found['name']}" for found in entry.get("policies") or ()]
    said = f"{entry.get('tool')}: {', '.join(judged) or entry.get('decision')}" if entry.get("tool") else ""
    return f"{said} {entry.get('reason') or ''}".strip()
