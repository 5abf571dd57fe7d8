"""Which session a chat goes on with or begins, and whether anything of it is kept."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any, TypeVar

import click

from memkit.cli.chat.conversation import NO_USER
from memkit.cli.memory.options import agent_option
from memkit.cli.output import Front
from memkit.cli.sessions.picker import pick
from memkit.cli.sessions.words import Session
from memkit.cli.typed import is_able_terminal
from memkit.errors import UsageError
from memkit.terminal import is_unsafe
from memkit.use_cases.open_chat import last_session

LAST = "\0last"
"""What ``--fork`` without a session stands for."""
LIST = "\0list"
"""What ``-r`` without a session stands for."""
LONGEST_ID = 200
"""Characters of a session's id: room for those of other programs, and short enough for a line."""
Command = TypeVar("Command", bound=Callable[..., Any])

_OPTIONS = (
    agent_option,
    click.option("--session", type=Session(), help="Go on with this session, or begin it (default: a new one)."),
    click.option("-c", "--continue", "resume", is_flag=True, help="Go on with the last session of this user."),
    click.option(
        "-r", "--resume", "picks", is_flag=False, flag_value=LIST, type=Session(), metavar="[SESSION]",
        help="Go on with this session, which has to be there (default: choose it from a list).",
    ),
    click.option(
        "--fork", is_flag=False, flag_value=LAST, type=Session(), metavar="[SESSION]",
        help="Begin a new session that starts as this one stands (default: the last), which stays as it is.",
    ),
    click.option("--name", help="Call the session by this name from now on."),
    click.option("--no-memory", is_flag=True, help="Neither read nor write anything that lasts."),
    click.option("--incognito", is_flag=True, help="Read memory, and leave no trace of this conversation."),
)  # fmt: skip


def beginning_options(command: Command) -> Command:
    """Give a command the options that ``beginning`` takes."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


def beginning(
    front: Front, user: str | None, *, agent: str | None, session: str | None, resume: bool, picks: str | None,
    fork: str | None, name: str | None, no_memory: bool, incognito: bool, consents: bool,
) -> dict[str, Any]:  # fmt: skip
    """Return what ``open_chat`` is told about the session, after looking whether it fits together.

    Raises:
        UsageError: The options contradict each other, or need somebody who is not there.
        NotFound: There is no session to go on with or to fork.
    """
    if sum((session is not None and fork is None, resume, picks is not None, fork is not None)) > 1:
        raise UsageError(
            "Give either --session or -c, -r or --fork. Only --fork takes --session too, as the id of the new one."
        )
    if no_memory and (incognito or resume or picks is not None or fork is not None):
        raise UsageError("--no-memory knows no session and nothing of before: leave out the other option.")
    if consents and (incognito or no_memory):
        raise UsageError("Consent is written down, and this conversation writes nothing: leave out --consent.")
    if session is not None:
        _require_id(session)
    if user is None and (resume or picks is not None or consents or fork is not None):
        raise UsageError(f"Who is it? {NO_USER}")
    if picks is not None and user is not None:
        session = (
            _picked(front, user, agent) if picks == LIST else front.workspace.session_book.find(user, picks).session
        )
    if fork == LAST and user is not None:
        fork = last_session(front.workspace, user, agent)
    return {
        "session": session, "resume": resume, "fork_of": fork, "name": name,
        "remembers": not no_memory, "incognito": incognito, "agent_id": agent,
    }  # fmt: skip


def _require_id(session: str) -> None:
    """Raise where an id would break the lists in which it stands, a line each.

    Raises:
        UsageError: It is empty, longer than ``LONGEST_ID``, or not one line of visible characters.
    """
    if not session.strip():
        raise UsageError("A session's id is not empty. Leave out --session for a new one.")
    if len(session) > LONGEST_ID or any(map(is_unsafe, session)) or "\n" in session or "\t" in session:
        raise UsageError(f"A session's id is one line of 1 to {LONGEST_ID} visible characters, not {session!r:.90}.")


def _picked(front: Front, user: str, agent: str | None) -> str:
    """Ask a person which session they mean."""
    if not (front.interactive and sys.stdout.isatty()):
        raise UsageError("Nobody can choose from a list here: name a session with --session, or take the last with -c.")
    last_session(front.workspace, user, agent)
    cards = [card for card in front.workspace.session_book.of(user) if card.agent_id == agent]
    if is_able_terminal():
        from memkit.cli.sessions.menu import choose

        return choose(cards, front.workspace.clock())
    return pick(cards, front.workspace.clock())
