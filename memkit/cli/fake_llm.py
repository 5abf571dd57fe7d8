"""``memkit fake-llm``: serve a scripted model on the loopback interface."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click

from memkit.cli.output import FILE, Front, SuggestingChoice, command_name, envelope, memkit_command
from memkit.errors import UsageError
from memkit.runtime.host.terminal import one_line
from memkit.runtime.testing import PROTOCOLS, FakeServer, LoggedRequest, ScriptError
from memkit.use_cases.serve_fake_llm import serve_fake_llm


@memkit_command("fake-llm")
@click.option(
    "--protocol", type=SuggestingChoice(list(PROTOCOLS)), default="chat", show_default=True, help="The protocol."
)
@click.option("--script", required=True, type=FILE, help="YAML or JSON: answers, or rules.")
@click.option("--port", type=click.IntRange(0, 65535), default=0, help="Port to listen on (default: a free one).")
@click.argument("command", nargs=-1, type=click.UNPROCESSED)
def fake_llm(front: Front, protocol: str, script: Path, port: int, command: tuple[str, ...]) -> None:
    """Serve a scripted model until interrupted, or while COMMAND runs.

    Prints the base URL for a client; each request is shown on standard error, with the reason if it was
    refused. COMMAND, after --, gets base URL and key through the variables that the vendor's clients read, and its
    exit code is that of this command.

    A script is a list of answers in order, {text: …} or {tool: NAME, args: {…}}, or of rules,
    {when: REGEX, reply: {…}}.
    """
    servers: list[FakeServer] = []

    def open_server(answers: Any) -> FakeServer:
        try:
            server = FakeServer(protocol, answers, port=port, observe=lambda request: front.note(_line(request)))
        except ScriptError as problem:
            raise UsageError(f"{script}: {problem}", path=str(script)) from problem
        servers.append(server)
        return server

    def announce(server: Any) -> None:
        if command:
            return
        data = {"base_url": server.base_url, "protocol": protocol, "environment": server.environment}
        click.echo(envelope(command_name(), data, ok=True) if front.json else server.base_url)

    output = sys.stderr.fileno() if front.json else None  # standard output is for the envelope alone
    try:
        code = serve_fake_llm(script, open_server=open_server, announce=announce, command=command, output=output)
    except KeyboardInterrupt:
        if command or not servers:
            raise
        front.note("Interrupted.")  # the only envelope has been printed already
        raise click.exceptions.Exit(130) from None
    (server,) = servers
    if server.unused:
        front.note(f"Answers in {script} that were never requested: {server.unused}.")
    front.answer(_account(server, protocol, code), ok=code == 0, code=code)


def _account(server: FakeServer, protocol: str, code: int) -> dict[str, Any]:
    """Return the outcome of a program that ran against ``server``."""
    requests = [
        {"method": request.method, "path": request.path, "status": request.status, "error": request.error}
        for request in server.requests
    ]
    return {"protocol": protocol, "exit": code, "requests": requests, "unused": server.unused}


def _line(request: LoggedRequest) -> str:
    """Return one request as a line of the running log."""
    reason = f" {request.error}" if request.error else ""
    return one_line(f"{request.method} {request.path} {request.status}{reason}")
