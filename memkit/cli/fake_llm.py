"""``memkit fake-llm``: serve a scripted model on the loopback interface."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from memkit.cli.output import Choice, Front, MemkitCommand, command_name, envelope
from memkit.errors import UsageError
from memkit.terminal import one_line
from memkit.testing import FakeServer, LoggedRequest, ScriptError
from memkit.testing.server import PROTOCOLS
from memkit.use_cases.serve_fake_llm import serve_fake_llm


@click.command("fake-llm", cls=MemkitCommand)
@click.option("--protocol", type=Choice(list(PROTOCOLS)), default="chat", show_default=True, help="What to speak.")
@click.option(
    "--script", required=True, type=click.Path(dir_okay=False, path_type=Path), help="YAML or JSON: answers, or rules."
)
@click.option("--port", type=click.IntRange(0, 65535), default=0, help="Where to listen (default: a free port).")
@click.pass_obj
def fake_llm(front: Front, protocol: str, script: Path, port: int) -> None:
    """Serve a scripted model until interrupted.

    Prints the base URL to give to a client; each request is shown on standard error, with the reason where it was
    refused. A script is a list of answers in order, {text: …} or {tool: NAME, args: {…}}, or of rules,
    {when: REGEX, reply: {…}}.
    """

    def open_server(answers: Any) -> FakeServer:
        try:
            return FakeServer(protocol, answers, port=port, observe=lambda request: front.note(_line(request)))
        except ScriptError as problem:
            raise UsageError(f"{script}: {problem}", path=str(script)) from problem

    def announce(base_url: str) -> None:
        data = {"base_url": base_url, "protocol": protocol}
        click.echo(envelope(command_name(), data, ok=True) if front.json else base_url)

    serve_fake_llm(script, open_server=open_server, announce=announce)


def _line(request: LoggedRequest) -> str:
    """Return one request as a line of the running log."""
    reason = f" {request.error}" if request.error else ""
    return one_line(f"{request.method} {request.path} {request.status}{reason}")
