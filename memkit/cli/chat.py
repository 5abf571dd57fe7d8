"""``memkit chat``: talk to the agent that remembers."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

import click

from memkit.cli.approval import ask_person
from memkit.cli.memory.options import user_option
from memkit.cli.output import Diagnostic, Front, MemkitCommand, diagnostic, envelope, yes_or_no
from memkit.cli.pairs import read_pairs
from memkit.cli.slash import Chat, run_slash
from memkit.errors import MemkitError, UsageError
from memkit.htn.errors import HtnError
from memkit.loop.errors import LoopError
from memkit.memory.errors import ArchiveError
from memkit.terminal import harmless
from memkit.use_cases.open_chat import NOBODY, open_chat

CONSENT_QUESTION = "May I remember what you tell me for later sessions? (You can withdraw that at any time.)"
NO_USER = "Nobody is named, so nothing is stored or recalled for later: give --user, or set MEMKIT_USER."
NO_CONSENT = 'Nothing is stored for later until {user} agrees: say "yes, you may remember", or use --consent.'

CHANGES = frozenset({"archival_memory_insert", "core_memory_append", "core_memory_replace", "retract", "consent"})
"""Memory operations that write to the archive."""

ANSWERS = (MemkitError, ArchiveError, HtnError, LoopError)
"""Errors that answer one turn and do not end the conversation."""


@click.command("chat", cls=MemkitCommand)
@user_option
@click.option("--session", help="The session to go on with or to begin (default: a new one).")
@click.option("-c", "--continue", "resume", is_flag=True, help="Go on with the last session of this user.")
@click.option("-p", "prompt", metavar="TEXT", help="One turn: answer TEXT and leave.")
@click.option("--provider", help="reference, scripted:FILE, anthropic or openai (default: memkit.yaml).")
@click.option("--model", help="The model's name, for providers that have several.")
@click.option("--consent", "consents", is_flag=True, help="Record that the user agrees to long-term memory.")
@click.option(
    "--context", "pairs", multiple=True, metavar="K=V", help="A fact for the policies, set by you; K:=JSON too."
)
@click.option("--jsonl", is_flag=True, help="Each line of standard input is a turn, each answer a line of JSON.")
@click.option("--no-memory", is_flag=True, help="Neither read nor write anything that lasts.")
@click.pass_obj
def chat(
    front: Front, user: str | None, session: str | None, resume: bool, prompt: str | None, provider: str | None,
    model: str | None, consents: bool, pairs: tuple[str, ...], jsonl: bool, no_memory: bool,
) -> None:  # fmt: skip
    """Talk to the agent of the store: one turn with -p or a pipe, a conversation on a terminal."""
    if session is not None and resume:
        raise UsageError("Give either --session or -c, not both.")
    workspace = front.workspace
    user = user or workspace.settings["user"]
    if user is None and (resume or consents):
        raise UsageError(f"Who is it? {NO_USER}")
    agent = open_chat(
        workspace,
        user=user,
        session=session,
        resume=resume,
        provider=provider,
        model=model,
        context=read_pairs(pairs, "--context"),
        remembers=not no_memory,
        approve=ask_person if front.interactive else None,
    )
    conversation = Chat(workspace, agent)
    if consents and user is not None and not agent.consent.granted():
        workspace.archive.set_consent(user, True, workspace.person(user, session=agent.setting.session))
        conversation.changed = True
    try:
        if jsonl:
            _lines(conversation)
        elif prompt is not None or front.json or not sys.stdin.isatty():
            _one_turn(front, conversation, prompt if prompt is not None else sys.stdin.read())
        else:
            _talk(front, conversation)
    finally:
        _commit(conversation)


def _one_turn(front: Front, conversation: Chat, text: str) -> None:
    data = _turn(conversation, text)
    notices = _notices(conversation)
    for notice in notices if not front.json else ():
        front.note(f"({notice['message']})")
    front.answer(data, data["message"], diagnostics=notices)


def _lines(conversation: Chat) -> None:
    """Answer each line with a line; one that cannot be answered says so and does not stop those after it."""
    code = 0
    for line in sys.stdin:
        if not line.strip():
            continue
        try:
            data = _turn(conversation, line.rstrip("\n"))
            click.echo(envelope("chat", data, ok=True, diagnostics=_notices(conversation)))
        except ANSWERS as error:
            finding = diagnostic(str(getattr(error, "code", "error")), str(error))
            click.echo(envelope("chat", None, ok=False, diagnostics=[finding]))
            code = code or error.exit_code
        sys.stdout.flush()
        if line.strip() == "/quit":
            break
    raise click.exceptions.Exit(code)


def _talk(front: Front, conversation: Chat) -> None:
    _ask_for_consent(front, conversation)
    click.echo(f"Session {harmless(conversation.session)}. /help lists the commands, /quit leaves.")
    for line in _typed():
        if not line.strip():
            continue
        try:
            data = _turn(conversation, line)
        except ANSWERS as error:
            front.note(f"memkit: {error}")
            continue
        click.echo(harmless(data["message"]))
        if line.strip() == "/quit":
            return


def _typed() -> Iterator[str]:
    """Yield what a person types, with line editing where the terminal can, until they end it."""
    import readline  # noqa: F401 - importing it gives input() editing and history

    while True:
        try:
            yield input("> ")
        except EOFError:
            click.echo()
            return


def _turn(conversation: Chat, text: str) -> dict[str, Any]:
    """Answer one message or slash command and return its data."""
    if not text.strip():
        raise UsageError("There is nothing to answer. Say something: memkit chat -p TEXT.")
    if text.lstrip().startswith("/"):
        shown = run_slash(conversation, text)
        return conversation.agent.toolbox.report(shown) | {"session": conversation.session}
    data = dict(conversation.agent.step(text).data) | {"session": conversation.session}
    conversation.changed |= any(operation["op"] in CHANGES for operation in data["memory_operations"])
    return data


def _ask_for_consent(front: Front, conversation: Chat) -> None:
    agent = conversation.agent
    known = conversation.workspace.archive.consent(conversation.user)
    if known is None and agent.setting.remembers and agent.setting.long_term and front.interactive:
        agent.consent.record(yes_or_no(CONSENT_QUESTION))
        conversation.changed = True


def _notices(conversation: Chat) -> list[Diagnostic]:
    agent = conversation.agent
    if not agent.setting.remembers or agent.may_remember():
        return []
    if agent.setting.user == NOBODY:
        return [diagnostic("user", NO_USER, severity="info")]
    if not agent.setting.long_term:
        return [diagnostic("consent", "Long-term memory is off for this store.", severity="info")]
    return [diagnostic("consent", NO_CONSENT.format(user=conversation.user), severity="info")]


def _commit(conversation: Chat) -> None:
    """Commit what the conversation wrote."""
    if conversation.changed:
        conversation.workspace.end_batch()
