"""``memkit serve``, ``token`` and ``mcp``: serve this store to programs, say who may call it, and configure clients."""

from __future__ import annotations

import importlib.util
import json
import logging
import os
import re
import signal
import sys
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import click

from memkit.cli.display import ListCell, ListRow
from memkit.cli.output import (
    FILE,
    FOLDER,
    Front,
    KnownName,
    MemkitGroup,
    SuggestingChoice,
    memkit_command,
    require_person,
    user_option,
)
from memkit.errors import MissingExtra, UsageError
from memkit.runtime.host.terminal import counted, one_line, persons_only
from memkit.serving.clients import CLIENTS, entry_of, spelled_as, text_in, with_entry
from memkit.store.config import load_settings
from memkit.store.files import write_whole
from memkit.store.layout import require_writable_inside
from memkit.store.tokens import SCOPES


@memkit_command("serve")
@click.option("--stdio", is_flag=True, help="Use standard input and output, as clients start it (the default).")
@click.option("--http", "address", metavar="HOST:PORT", help="Listen there, at /mcp; port 0 picks a free one.")
@user_option
@click.option("--review", is_flag=True, help="A yes from a client is a person's: it releases what waits.")
@click.option(
    "--client-taint",
    type=SuggestingChoice(["clean"]),
    help="clean: nobody else writes what the client's model reads, so its offers are not a stranger's.",
)
@click.option("--rate", type=click.IntRange(1, 100_000), help="Requests per second allowed to one token; 100.")
@click.option("--metrics", is_flag=True, help="Prometheus metrics at /metrics, for anyone who can reach it.")
@click.option("--log", type=SuggestingChoice(["text", "json"]), help="Log each request to the page on standard error.")
@click.option("--known-as", "names", multiple=True, metavar="NAME", help="A host name under which a proxy reaches it.")
def serve(
    front: Front, stdio: bool, address: str | None, user: str | None, review: bool, client_taint: str | None,
    rate: int | None, metrics: bool, log: str | None, names: tuple[str, ...],
) -> None:  # fmt: skip
    """Serve this store to other programs by the Model Context Protocol, and over HTTP as a page to people.

    Serves the memory of one user: --user, or over HTTP the user of the request's token. What a client writes is a
    candidate that recall leaves out until a person approves it; edits of core memory wait as well.
    """
    if stdio and address is not None:
        raise UsageError("Give one of --stdio and --http.")
    if front.json and address is None:
        raise UsageError("Standard output carries the protocol. Leave out --json.")
    for option, given in (("--metrics", metrics), ("--log", log), ("--rate", rate), ("--known-as", names)):
        if address is None and given:
            raise UsageError(f"{option} requires --http HOST:PORT.")
    for name in names:
        if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9.-]*", name):
            raise UsageError(f"--known-as {name!r:.80} is not a host name such as memory.example.org.")
    if review or client_taint:
        require_person(f"'memkit serve {'--review' if review else '--client-taint clean'}'")
    if importlib.util.find_spec("mcp") is None:
        raise MissingExtra(
            "Serving needs three packages: pip install mcp starlette uvicorn (the extra memkit-agent[server])"
        )
    from memkit.serving.interface import Serving
    from memkit.serving.server import MemoryServer, run_stdio

    # The SDK's log messages repeat what a client sent.
    logging.getLogger("mcp").addHandler(logging.NullHandler())
    logging.getLogger("mcp").propagate = False
    workspace = front.workspace
    bound = workspace.user(user) if address is None or user is not None else workspace.settings["user"]
    server = MemoryServer(workspace, Serving(bound, review, client_taint == "clean"), front.note)
    try:
        if address is None:
            signal.signal(signal.SIGINT, lambda *_: os._exit(130))  # a thread waits for input, and nothing else is open
            if sys.stdin.isatty():
                front.note("Waiting for a client on standard input. 'memkit mcp install' lets a client start this.")
            run_stdio(server)
        else:
            from memkit.serving.http import RATE, Listening, run_http

            # An agent with a shell can read the link as well: it may write in its own name, and vouch for nothing.
            operator = "review" if persons_only("") is None else "write"
            where = Listening(address, bound, operator, metrics, rate or RATE, _logged(front, log), names)
            run_http(server, workspace, where, front.note)
    finally:
        workspace.end_batch()


def _logged(front: Front, form: str | None) -> Callable[[Mapping[str, Any]], None]:
    """Return a logger of requests as JSON lines or for a person; it logs no text, user name or id."""

    def said(entry: Mapping[str, Any]) -> None:
        at = datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        if form == "json":
            front.note(json.dumps({"at": at, **entry}))
        elif form == "text":
            front.note(f"{at} {entry['status']} {entry['method']} {entry['room']} {entry['seconds'] * 1000:.0f} ms")

    return said


@memkit_command("page")
@click.option("--out", type=FOLDER, required=True, help="The folder to write.")
@user_option
@click.option("--limit", type=click.IntRange(1, 100_000), default=1000, show_default=True, help="Records, the newest.")
def page(front: Front, out: Path, user: str | None, limit: int) -> None:
    """Write the page of USER's memory as read-only files, such as an artefact of CI."""
    from memkit.serving.page.files import write_page

    workspace = front.workspace
    written = write_page(workspace, workspace.user(user), out, limit=limit)
    lines = [f"Wrote {counted(len(written.files), 'file')} to {one_line(str(out))}: open index.html."]
    if written.left_out:
        lines.append(f"The newest {limit:,} records have a page of their own; --limit raises that.")
    front.answer({"out": str(out), "files": list(written.files), "truncated": written.left_out}, lines)


@click.group("token", cls=MemkitGroup)
def token() -> None:
    """Make, list and revoke the tokens with which programs call 'memkit serve --http'."""


@token.command("new")
@user_option
@click.option(
    "--scope",
    type=SuggestingChoice(list(SCOPES)),
    default="read",
    show_default=True,
    help="read; write: offer memory; review: also release what waits, by a person's yes that the client sends.",
)
def new(front: Front, user: str | None, scope: str) -> None:
    """Make a token for USER and print it, this once: only its digest is kept."""
    from memkit.store.tokens import ServerTokens

    require_person("'memkit token new'")
    workspace = front.workspace
    shown, kept = ServerTokens(workspace.root).new(workspace.user(user), scope, workspace.clock())
    workspace.audit.append({"event": "token", "actor": "person", "user_id": kept.user_id, "token": kept.id})
    front.answer({"token": shown, "id": kept.id}, [shown, f"Its id is {kept.id}. It is not shown again."])


@token.command("list")
def list_command(front: Front) -> None:
    """List the tokens of this store: ids, users and scopes."""
    from memkit.store.tokens import ServerTokens

    found = ServerTokens(front.root).all()
    data = [
        {"id": one.id, "user_id": one.user_id, "scope": one.scope, "created_at": one.created_at} for one in found
    ]  # fmt: skip
    lines: list[str] = [
        ListRow(
            ListCell(one.id, "name"),
            ListCell(one.created_at[:10], "time", one.created_at),
            ListCell(f"{one.scope:<6}", "aside"),
            ListCell(one_line(one.user_id, 60)),
        )
        for one in found
    ]
    front.answer({"tokens": data}, lines or ["No tokens."])


@token.command("revoke")
@click.argument("token_id", metavar="ID", type=KnownName("token"))
@click.option("--yes", is_flag=True, help="Do not ask.")
def revoke(front: Front, token_id: str, yes: bool) -> None:
    """Revoke the token ID: servers refuse it from now on."""
    from memkit.store.tokens import ServerTokens

    tokens = ServerTokens(front.root)
    front.confirm(f"Revoke the token {one_line(token_id, 60)}? Programs that use it lose access.", yes=yes)
    gone = tokens.revoke(token_id)
    left = counted(len(tokens.all()), "token")
    front.answer({"id": gone.id, "user_id": gone.user_id, "revoked": True}, f"Revoked {gone.id}; {left} left.")


@click.group("mcp", cls=MemkitGroup)
def mcp() -> None:
    """Tell clients of the Model Context Protocol about this store."""


@mcp.command("install")
@click.option("--client", type=SuggestingChoice(list(CLIENTS)), required=True, help="Whose configuration to change.")
@user_option
@click.option("--config", type=FILE, help="The file (default: the client's own).")
@click.option("--remove", is_flag=True, help="Remove the entry.")
@click.option("--dry-run", is_flag=True, help="Only show what would change.")
def install(front: Front, client: str, user: str | None, config: Path | None, remove: bool, dry_run: bool) -> None:
    """Let a client start 'memkit serve' for this store: show the change of its configuration, and write it.

    Comments, order and all other entries stay. Claude Code, Cursor and VS Code are configured in the current folder.
    """
    import difflib

    root, known = front.root, CLIENTS[client]
    path = (config or known.place(Path.cwd(), Path.home())).absolute()
    entry = None if remove else {**known.beside, **entry_of(root, _bound_user(root, user))}
    try:
        content = path.read_bytes() if path.exists() else b""
        before = text_in(content)
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{path} cannot be read: {error}.") from error
    after = with_entry(before, path, known.key, entry)
    old, new = before.splitlines(), after.splitlines()
    diff = "\n".join(difflib.unified_diff(old, new, str(path), str(path), lineterm=""))
    if after != before and not dry_run:
        for folder in (root, Path.cwd()):
            require_writable_inside(folder, path)
        path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(
            path.resolve(), spelled_as(content, after), mode=path.stat().st_mode & 0o777 if path.exists() else 0o600
        )
    data = {"client": client, "path": str(path), "changed": after != before, "diff": diff}
    if after == before:
        told = f"{path} has no entry for memkit." if remove else f"{path} is already up to date."
    elif dry_run:
        told = "Nothing was written: leave out --dry-run to write it."
    else:
        done = "Removed from" if remove else "Written to"
        told = f"{done} {path}: restart {client}{'' if remove else ', which then starts the server itself'}."
    front.answer(data, [*([diff] if diff else []), told])


def _bound_user(root: Path, user: str | None) -> str | None:
    """Return the user that the entry names; None leaves it to ``memkit.yaml``. Clients may not have our MEMKIT_USER."""
    settings = load_settings(root)
    named = user or settings["user"]
    if not str(named or "").strip():
        raise UsageError("The server needs a user: give --user, or run 'memkit config set user NAME'.")
    return user if user or settings.is_chosen("user") else str(named)
