"""A conversation of one user with the agent of a store."""

from __future__ import annotations

import shlex
import signal
import sys
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from types import FrameType
from typing import Any, NamedTuple, Self, TypeVar

import click

from memkit.agent import ReferenceAgent, Setting
from memkit.cli.chat.pages import Outlet
from memkit.cli.output import (
    Diagnostic,
    Front,
    SessionName,
    agent_option,
    damage_diagnostic,
    diagnostic,
    forget_typed_ahead,
    typed_line,
)
from memkit.errors import MemkitError, UsageError
from memkit.llm.providers import introduced
from memkit.runtime.host.sessions import lacks_room
from memkit.runtime.host.terminal import counted, fitted, is_able_terminal, is_unsafe, one_line
from memkit.runtime.loop.consent import consent_in
from memkit.runtime.loop.interface import ToolCall
from memkit.runtime.loop.journal import DONE, LEAVE, RUN
from memkit.runtime.loop.journal_file import TurnLeft
from memkit.runtime.memory.record.lines import ArchiveError
from memkit.use_cases.open_chat import NOBODY, last_session
from memkit.workspace import Workspace

NO_USER = "No user is set, so nothing is stored or recalled: give --user, or set MEMKIT_USER."
NO_CONSENT = 'Nothing is stored for later until {user} agrees: say "yes, you may remember", or use --consent.'
COUNTED = 100
"""The most records that are counted."""
LOOKED_AT = 2000
"""The most records compared when a conversation begins; 'memkit memory list --open' compares all."""
OFF_RECORD = "Memory is read, and nothing from this conversation is kept."


@dataclass
class TerminalConversation:
    """A conversation on a terminal or through a pipe."""

    workspace: Workspace
    agent: ReferenceAgent
    changed: bool = False
    """Whether anything was written to the archive and has to be committed."""
    outlet: Outlet | None = None
    """The outlet that displays its turns, if any."""
    all_said: bool = False
    """Whether input counts as the user's own words whatever its length."""
    provider: str | None = None
    """The provider named for this conversation; None for the configured one."""

    @property
    def user(self) -> str:
        """Return whose conversation it is."""
        return self.agent.setting.user

    @property
    def session(self) -> str:
        """Return the session's name."""
        return self.agent.setting.session

    @property
    def prompt(self) -> str:
        """Return the prompt in front of the person's input; it shows when nothing they type is kept."""
        if not self.agent.setting.remembers:
            return "(no memory) > "
        return "(memory off) > " if self.agent.is_off_record else "> "

    def opening_line(self) -> str:
        """Return the opening line: who answers, for whom, and how much is remembered."""
        agent = self.agent
        whom = one_line(self.user, 60) if self.user else "an unnamed user"
        who = f"{introduced(agent.model)} answers {whom}."
        if not (agent.setting.remembers and agent.setting.long_term):
            return f"{who} Nothing is remembered."
        held = len(self.workspace.archive.newest(self.user, COUNTED))
        count = f"{COUNTED} or more records" if held >= COUNTED else counted(held, "record")
        more = "what you say is added" if agent.may_remember() else "what you say now is not"
        return f"{who} Remembered: {count}; {more}."

    def damage(self) -> list[Diagnostic]:
        """Return the problems found in the lines of memory."""
        return [damage_diagnostic(one) for one in self.workspace.damage]

    def notices(self) -> list[Diagnostic]:
        """Return why nothing of this conversation is kept, unless that was requested, and which questions are open."""
        return [*self._unkept(), *self._of_memory]

    @cached_property
    def _of_memory(self) -> list[Diagnostic]:
        """Return what to know about the user's memory as of the first call: its open questions, and
        whether others wrote into it.
        """
        if self.user == NOBODY:
            return []
        notes = []
        if self.workspace.has_strangers():
            from memkit.cli.trust import STRANGERS

            notes = [diagnostic("strangers", STRANGERS, severity="info")]
        if asked := self.workspace.archive.open_questions(user_id=self.user, most=LOOKED_AT):
            count = "1 question is" if len(asked) == 1 else f"{len(asked):,} questions are"
            message = f"{count} open about what is remembered of you. /memory shows what it is about."
            notes.append(diagnostic("open_questions", message, severity="info"))
        return notes

    def _unkept(self) -> list[Diagnostic]:
        agent = self.agent
        if agent.session.fault is not None:
            return [diagnostic("not-kept", agent.session.fault)]
        if not agent.setting.remembers or agent.may_remember():
            return []
        if agent.is_off_record and agent.setting.user != NOBODY:
            return [diagnostic("off_record", OFF_RECORD, severity="info")]
        if agent.setting.user == NOBODY:
            return [diagnostic("user", NO_USER, severity="info")]
        if not agent.setting.long_term:
            return [diagnostic("consent", "Long-term memory is off for this store.", severity="info")]
        return [diagnostic("consent", NO_CONSENT.format(user=self.user), severity="info")]

    def keeps_all_of(self, data: Mapping[str, Any]) -> bool:
        """Return whether all results of a turn reached the disk: the session, and what tools had to store."""
        return self.agent.session.fault is None and not lacks_room(data)

    def end(self, front: Front, *, single: bool = False) -> None:
        """Keep what lasts of what was said and not yet recorded, and report it; ``single`` if -p was the whole run."""
        try:
            kept = self.agent.end(single=single)
        except (MemkitError, ArchiveError) as error:
            front.note(fitted(f"memkit: {error}"))
            return
        for one in kept:
            self.changed = True
            what = "kept from what you said" if one["decision"] != "quarantined" else "set aside from what you said"
            front.note(fitted(f"({what}: “{one_line(str(one['text']), 160)}” [{one['id']}])"))

    def commit(self) -> None:
        """Commit what the conversation wrote."""
        if self.changed:
            self.workspace.end_batch()
            self.changed = False


# The consent question, asked once.

QUESTION = """\
Before we begin: may I remember what you tell me?

  yes  I keep facts, wishes, goals and what we said, as text in this store,
       and use them when we talk again.
  no   I answer, and nothing of it stays when we are done.

It stays yours. /memory shows what I hold, "don't store anything" ends it,
and this erases it: memkit memory erase --user {user}
"""
AGAIN = "Please answer yes or no; you can change your mind at any time."
YES, NO = ("y", "yes"), ("n", "no")


def ask_for_consent(front: Front, conversation: TerminalConversation) -> None:
    """Ask a user who never answered, and record the answer; raise ``EOFError`` if they leave instead."""
    agent = conversation.agent
    if agent.is_off_record or not (agent.setting.long_term and front.interactive):
        return
    if conversation.workspace.archive.consent(conversation.user) is not None:
        return
    front.note(fitted(QUESTION.format(user=shlex.quote(conversation.user))))
    while (answer := _meaning(typed_line("May I? yes or no: "))) is None:
        front.note(fitted(AGAIN))
    agent.consent.record(answer)
    conversation.changed = True


def _meaning(answer: str) -> bool | None:
    word = answer.strip().strip(".!").lower()
    if word in YES or word in NO:
        return word in YES
    return consent_in(answer)


# Termination: SIGTERM, or SIGHUP when the terminal goes away, interrupts a turn as Ctrl-C does.

SIGNALS = tuple(getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name))


class Leaving:
    """Tracks, for the duration of a block, whether the program was asked to end.

    The running answer is interrupted where Ctrl-C would interrupt it, so that what was said so far is kept.
    """

    def __init__(self) -> None:
        self.asked = False
        self._before: dict[signal.Signals, object] = {}

    def check(self) -> None:
        """Raise ``KeyboardInterrupt`` if the program was asked to end."""
        if self.asked:
            raise KeyboardInterrupt

    def _take(self, _number: int, _frame: FrameType | None) -> None:
        if not self.asked:
            self.asked = True
            raise KeyboardInterrupt

    def __enter__(self) -> Self:
        if threading.current_thread() is threading.main_thread():
            self._before = {number: signal.signal(number, self._take) for number in SIGNALS}
        return self

    def __exit__(self, kind: type[BaseException] | None, *_exception: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)  # type: ignore[arg-type]
        if kind is not None and issubclass(kind, OSError):
            self.check()  # once the terminal is gone, printing last words fails


# A turn that was cut off: questions and messages about it when its session continues.

ANSWERS = {"d": DONE, "done": DONE, "r": RUN, "run": RUN, "l": LEAVE, "leave": LEAVE}
WHAT_BECAME_OF_IT = "d: it was done, r: run it (once more), l: leave it [l] "


class Outcomes:
    """Asks for the outcome of a call that had begun when the program was cut off; ``before`` runs first."""

    def __init__(self, before: Callable[[], None] = lambda: None) -> None:
        self._before = before

    def __call__(self, call: ToolCall) -> str:
        """Return the person's answer; raise ``TurnLeft`` if they prefer to decide later."""
        from memkit.cli.approval import call_lines

        self._before()
        forget_typed_ahead()
        args: dict[str, Any] = {"arguments": call.args} if isinstance(call.args, str) else dict(call.args)
        shown, _ = call_lines(args)
        told = f"{one_line(call.name)} was running when memkit was interrupted. It may or may not have finished."
        text = f"{fitted(told)}\n{shown}"
        try:
            while True:
                answer = typed_line(text + WHAT_BECAME_OF_IT).strip().lower() or LEAVE
                if answer in ANSWERS:
                    return ANSWERS[answer]
                text = "Please answer with one of these letters.\n"
        except (KeyboardInterrupt, EOFError):
            raise TurnLeft("The turn stays unfinished. You will be asked again when the session resumes.") from None


# Which session a chat continues or begins, and whether anything of it is kept.

LAST = "\0last"
"""The value of ``--fork`` without a session."""
LIST = "\0list"
"""The value of ``-r`` without a session."""
LONGEST_ID = 200
"""The longest session id: enough for those of other programs, and short enough for a line."""
Command = TypeVar("Command", bound=Callable[..., Any])

_OPTIONS = (
    agent_option,
    click.option("--session", type=SessionName(), help="Continue this session, or begin it (default: a new one)."),
    click.option("-c", "--continue", "resume", is_flag=True, help="Continue the last session of this user."),
    click.option(
        "-r", "--resume", "picks", is_flag=False, flag_value=LIST, type=SessionName(), metavar="[SESSION]",
        help="Continue this session, which must exist (default: choose it from a list).",
    ),
    click.option(
        "--fork", is_flag=False, flag_value=LAST, type=SessionName(), metavar="[SESSION]",
        help="Begin a new session as a copy of this one (default: the last), which stays as it is.",
    ),
    click.option("--name", help="Call the session by this name from now on."),
    click.option("--no-memory", is_flag=True, help="Neither read nor write anything that lasts."),
    click.option("--incognito", is_flag=True, help="Read memory, and leave no trace of this conversation."),
)  # fmt: skip


def beginning_options(command: Command) -> Command:
    """Add the options of ``SessionOptions`` to a command."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


class SessionOptions(NamedTuple):
    """The values of those options."""

    agent: str | None
    session: str | None
    resume: bool
    picks: str | None
    fork: str | None
    name: str | None
    no_memory: bool
    incognito: bool

    @property
    def needs_user(self) -> bool:
        """Return whether they refer to an earlier conversation."""
        return self.resume or self.picks is not None or self.fork is not None

    def refuse_contradictions(self, user: str | None, *, consents: bool) -> None:
        """Raise ``UsageError`` if they contradict each other, or need a user where there is none."""
        named = self.session is not None and self.fork is None
        if sum((named, self.resume, self.picks is not None, self.fork is not None)) > 1:
            raise UsageError(
                "Give either --session or -c, -r or --fork. Only --fork takes --session too, as the id of the new one."
            )
        if self.no_memory and (self.incognito or self.needs_user):
            raise UsageError("--no-memory has no session to continue: leave out the other option.")
        if consents and (self.incognito or self.no_memory):
            raise UsageError("This conversation writes nothing, so it cannot record consent: leave out --consent.")
        if self.session is not None:
            _require_id(self.session)
        if user is None and (self.needs_user or consents):
            raise UsageError(f"Who is it? {NO_USER}")


def beginning(front: Front, user: str | None, options: SessionOptions) -> Setting:
    """Return for ``open_chat`` which session is meant, and what is kept of it; may ask the person which one.

    Raises:
        NotFound: There is no session to continue or to fork.
    """
    session, fork = options.session, options.fork
    if options.picks is not None and user is not None:
        is_list = options.picks == LIST
        book = front.workspace.session_book
        session = _picked(front, user, options.agent) if is_list else book.find(user, options.picks).session
    if fork == LAST and user is not None:
        fork = last_session(front.workspace, user, options.agent)
    return Setting(
        user or NOBODY,
        session or "",
        remembers=not options.no_memory,
        incognito=options.incognito,
        name=options.name,
        fork_of=fork,
        agent_id=options.agent,
    )


def _require_id(session: str) -> None:
    """Raise if an id would break the one-line-per-session lists.

    Raises:
        UsageError: It is empty, longer than ``LONGEST_ID``, or not one line of visible characters.
    """
    if not session.strip():
        raise UsageError("The session id is empty. Leave out --session for a new session.")
    if len(session) > LONGEST_ID or any(map(is_unsafe, session)) or "\n" in session or "\t" in session:
        raise UsageError(f"A session id is one line of 1 to {LONGEST_ID} visible characters, not {session!r:.90}.")


def _picked(front: Front, user: str, agent: str | None) -> str:
    """Let the person choose the session."""
    if not (front.interactive and sys.stdout.isatty()):
        raise UsageError("Cannot show a list of sessions here: name one with --session, or continue the last with -c.")
    last_session(front.workspace, user, agent)
    cards = [card for card in front.workspace.session_book.of(user) if card.agent_id == agent]
    if is_able_terminal():
        from memkit.cli.session_picker import choose

        return choose(cards, front.workspace.clock())
    from memkit.cli.session_picker import pick

    return pick(cards, front.workspace.clock())
