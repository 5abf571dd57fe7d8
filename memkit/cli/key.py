"""``memkit key``: the keys of a store, which lie outside of git."""

from __future__ import annotations

import os
from pathlib import Path

import click

from memkit.cli.output import Front, MemkitCommand, MemkitGroup, User, diagnostic
from memkit.errors import UsageError
from memkit.terminal import one_line

PASSPHRASE = "MEMKIT_PASSPHRASE"
passphrase_option = click.option(
    "--passphrase-file",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help=f"Read the passphrase from the first line of FILE (else {PASSPHRASE}, else it is asked for).",
)


@click.group("key", cls=MemkitGroup)
def key() -> None:
    """List, export, import and destroy the keys that open sealed text."""


@key.command("list", cls=MemkitCommand)
@click.pass_obj
def list_command(front: Front) -> None:
    """List whose keys are on this machine. No key itself is ever printed."""
    from memkit.use_cases.list_keys import list_keys

    found = list_keys(front.workspace)
    users = [{"user_id": owner.user_id, "mark": owner.mark} for owner in found.users]
    folder = str(found.folder) if found.folder else None
    data = {"key_id": found.key_id, "folder": folder, "store": found.store, "users": users}
    if found.key_id is None:
        front.answer(data, "This store has no keys yet. The first one is made when it is needed.")
        return
    lines = [f"{found.key_id}  in {folder}", f"store     {'here' if found.store else 'NOT HERE'}"]
    lines += [
        f"user      {one_line(owner.user_id) if owner.user_id else f'of whom nothing is stored ({owner.mark[:12]}…)'}"
        for owner in found.users
    ]
    front.answer(data, lines)


@key.command("export", cls=MemkitCommand)
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--user", type=User(), help="Only the key of this user, with that of the store.")
@passphrase_option
@click.pass_obj
def export(front: Front, file: Path, user: str | None, passphrase_file: Path | None) -> None:
    """Write the keys to the new FILE, encrypted with a passphrase."""
    from memkit.use_cases.export_keys import export_keys

    passphrase = _passphrase(front, passphrase_file, twice=True)
    count = export_keys(front.workspace, file, passphrase, user=user)
    findings = []
    if file.resolve().is_relative_to(front.workspace.root.resolve()):
        message = f"{file} lies in the store. Keep it elsewhere: with it and the passphrase a clone opens everything."
        findings.append(diagnostic("in_store", message, severity="warning", path=str(file)))
        front.note(message)
    front.answer({"file": str(file), "keys": count}, f"{count} keys are in {file}.", diagnostics=findings)


@key.command("import", cls=MemkitCommand)
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@passphrase_option
@click.pass_obj
def import_command(front: Front, file: Path, passphrase_file: Path | None) -> None:
    """Add the keys in FILE to those on this machine; none is ever replaced by another."""
    from memkit.use_cases.import_keys import import_keys

    taken = import_keys(front.workspace, file, _passphrase(front, passphrase_file, twice=False))
    data = {"key_id": taken.key_id, "new": taken.new, "known": taken.known}
    front.answer(data, f"{taken.new} keys are new here, {taken.known} were here already.")


@key.command("destroy", cls=MemkitCommand)
@click.option("--user", type=User(), required=True, help="Whose key.")
@click.option("--yes", is_flag=True, help="Do not ask.")
@click.pass_obj
def destroy(front: Front, user: str, yes: bool) -> None:
    """Destroy the key of USER on this machine: text sealed with it can never be read again without a copy of it."""
    from memkit.use_cases.destroy_key import destroy_key

    question = f"Text sealed for {one_line(user)} becomes unreadable here for ever. Destroy the key?"
    done = destroy_key(front.workspace, user, confirm=lambda: front.confirm(question, yes=yes))
    data = {"user_id": user, "sealed_records": done.records, "remotes": list(done.remotes)}
    clones = f" and of {', '.join(done.remotes)}" if done.remotes else ""
    lines = [
        f"The key of {one_line(user)} is gone from this machine; {done.records} records cannot be read here any more.",
        f"A copy may be left: in files of 'memkit key export', and where clones of this store{clones} are in use.",
        "Text that was written in clear stays: 'memkit memory erase' removes it.",
    ]
    front.answer(data, lines)


def _passphrase(front: Front, file: Path | None, *, twice: bool) -> str:
    """Return the passphrase from a file, the environment or a terminal; raises ``UsageError`` where there is none."""
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
        raise UsageError(f"Nobody can be asked for a passphrase here: give --passphrase-file or {PASSPHRASE}.")
    if not found:
        raise UsageError("An empty passphrase protects nothing.")
    return found
