"""``memkit chat``: its options, and the kind of conversation that they select."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator, Mapping
from contextlib import nullcontext
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol

import click

from memkit.cli.chat.conversation import (
    Leaving,
    Outcomes,
    SessionOptions,
    TerminalConversation,
    ask_for_consent,
    beginning,
    beginning_options,
)
from memkit.cli.chat.pages import Outlet, Page, PageShowing, PipePage, open_page
from memkit.cli.output import (
    GOES_ON,
    Front,
    diagnostic,
    envelope,
    harmless_json,
    memkit_command,
    read_pairs,
    typed_line,
    user_option,
    with_trust,
)
from memkit.errors import MemkitError, NegativeAnswer, UsageError
from memkit.runtime.host.terminal import beside, fitted, harmless, is_able_terminal, one_line
from memkit.runtime.loop.interface import LoopError
from memkit.runtime.loop.reply import Event, Host
from memkit.runtime.loop.taint import with_brought
from memkit.runtime.memory.record.lines import ArchiveError
from memkit.use_cases.open_chat import open_chat

if TYPE_CHECKING:
    from memkit.runtime.htn.language.terms import HtnError


@memkit_command("chat")
@user_option
@beginning_options
@click.option("-p", "prompt", metavar="TEXT", help="One turn: answer TEXT and exit.")
@click.option("--provider", help="reference, scripted:FILE, anthropic or openai (default: what setup chose).")
@click.option("--model", help="The model's name, for providers that have several.")
@click.option("--heartbeat", is_flag=True, help="No turn: do what is due, report what is pending, and exit.")
@click.option("--consent", "consents", is_flag=True, help="Record that the user agrees to long-term memory.")
@click.option(
    "--context", "pairs", multiple=True, metavar="K=V", help="A fact for the policies, set by you; K:=JSON too."
)
@click.option("--said", is_flag=True, help="Your input is your own words, whatever its length.")
@click.option("--jsonl", is_flag=True, help="Each line of standard input is a turn, each answer a line of JSON.")
@click.option("--events", is_flag=True, help="With --json or --jsonl: print each event of a turn as a line of JSON.")
def chat(
    front: Front, /, user: str | None, prompt: str | None, provider: str | None, model: str | None,
    consents: bool, pairs: tuple[str, ...], jsonl: bool, events: bool, heartbeat: bool, said: bool, **begun: Any,
) -> None:  # fmt: skip
    """Talk to the agent of the store: one turn with -p or a pipe, a conversation on a terminal."""
    if events and not (jsonl or front.json):
        raise UsageError("--events prints lines of JSON: add --json or --jsonl.")
    if jsonl and prompt is not None:
        raise UsageError("-p runs one turn, --jsonl one per line. Give one of them.")
    if heartbeat and (jsonl or prompt is not None):
        raise UsageError("--heartbeat takes no message. Leave out -p and --jsonl.")
    is_talk = not (jsonl or front.json or heartbeat or prompt is not None) and sys.stdin.isatty()
    if is_talk and front.no_input:
        raise UsageError("--no-input cannot prompt for a message: add -p TEXT, or pipe one in.")
    workspace = front.workspace
    user = user or workspace.settings["user"]
    options = SessionOptions(**begun)
    if heartbeat and user and not (options.session or options.picks or options.fork or options.no_memory):
        is_any = any(card.agent_id == options.agent for card in workspace.session_book.of(user))
        options = options._replace(resume=is_any)
    options.refuse_contradictions(user, consents=consents)
    setting = beginning(front, user, options)
    is_markdown = (provider or workspace.settings["provider"]) != "reference"
    page = None if jsonl or front.json else open_page(is_talk=is_talk, is_markdown=is_markdown)
    outlet = Outlet(print_event) if events else None if page is None else Outlet(PageShowing(page))
    still = page.still if page else lambda: None
    host = Host(listen=outlet)
    if front.interactive:
        from memkit.cli.approval import Approvals

        host = Host(Approvals(still), Outcomes(still), outlet)
    setting = replace(setting, context=read_pairs(pairs, "--context", reserved=("trust",)), host=host)
    opening = partial(open_chat, workspace, setting, resume=options.resume, provider=provider, model=model)
    opened = with_trust(front, opening)
    conversation = TerminalConversation(workspace, opened, outlet=outlet, all_said=said, provider=provider)
    if consents and user is not None and not opened.consent.granted():
        workspace.archive.set_consent(user, True, workspace.writer(user, session=opened.setting.session))
        conversation.changed = True
    with Leaving() as leaving:
        try:
            if heartbeat:
                run_heartbeat(front, conversation, shown=page is not None)
            elif jsonl:
                answer_lines(conversation)
            elif is_talk and page is not None:
                talk(front, conversation, page, leaving)
            else:
                text = whole_input() if prompt is None else prompt
                if prompt is not None and not is_slash(prompt):
                    text = with_brought(prompt, beside(sys.stdin, front.note))
                run_one_turn(front, conversation, text, shown=page is not None)
            if not heartbeat:
                conversation.end(front, single=prompt is not None)
        except click.exceptions.Exit:
            if not heartbeat:
                conversation.end(front, single=prompt is not None)
            raise
        finally:
            conversation.commit()  # first, because nothing can be drawn any more once the terminal is gone
            if page is not None:
                page.still()


# One turn of a conversation: a message for the agent, or a slash command.

CHANGES = frozenset(
    {
        "archival_memory_insert",
        "core_memory_append",
        "core_memory_replace",
        "memory_value",
        "retract",
        "consent",
        "extracted",
    }
)
"""Memory operations that write to the archive."""

CODES = {"interrupted": 130, "broken_off": 3}
"""The exit code of a turn that did not end with an answer of the model; its results are printed nevertheless."""
OK = (0, CODES["interrupted"])


def answers() -> tuple[type[MemkitError], type[ArchiveError], type[HtnError], type[LoopError]]:
    """Return the errors that fail one turn without ending the conversation."""
    from memkit.runtime.htn.language.terms import HtnError  # for plans, which few turns make

    return MemkitError, ArchiveError, HtnError, LoopError


def run_one_turn(front: Front, conversation: TerminalConversation, text: str, *, shown: bool = False) -> None:
    """Answer ``text`` and end the run; ``shown`` if the listener has displayed the answer while it arrived."""
    if not front.json and sys.stderr.isatty():
        front.note(fitted(conversation.opening_line()))
    pipe = None if front.json or shown else PipePage()
    try:
        data = answer(conversation, text, None if pipe is None else Outlet(PageShowing(pipe)))
    finally:
        if pipe is not None:
            pipe.still()
    notices = conversation.notices()
    for notice in notices if not front.json else ():
        if notice["message"] != data["message"]:
            front.note(f"({notice['message']})")
    message = data["message"] if is_slash(text) else ""
    code = code_of(conversation, data)
    front.answer(data, message, ok=code in OK, diagnostics=notices, code=code)


def code_of(conversation: TerminalConversation, data: Mapping[str, Any]) -> int:
    """Return the exit code of a turn: one that ended well is no success if its results could not be written to disk."""
    return CODES.get(data["ended"], 0 if conversation.keeps_all_of(data) else 1)


def run_heartbeat(front: Front, conversation: TerminalConversation, *, shown: bool = False) -> None:
    """Let the agent do what is due, and report what it did and what is pending."""
    data = dict(conversation.agent.heartbeat().data) | {"session": conversation.session}
    conversation.changed |= not conversation.agent.is_off_record and _has_changes(data)
    done = [f"{one['name']}: {one['text']}" for one in data["memory_operations"] if one["op"] == "chore"]
    lines = [*done, *([] if shown or data["message"] in "\n".join(done) else [data["message"]])]
    code = code_of(conversation, data)
    front.answer(data, lines or ["Nothing is due."], ok=code in OK, diagnostics=conversation.notices(), code=code)


def answer(conversation: TerminalConversation, text: str, listen: Outlet | None = None) -> dict[str, Any]:
    """Answer one message or slash command and return its data; ``listen`` receives the events of this turn alone.

    Raises:
        OSError: A stream that displays the turn failed; the turn itself is complete.
    """
    if not text.strip():
        raise UsageError("The message is empty. Give one: memkit chat -p TEXT.")
    if is_slash(text):
        from memkit.cli.chat.slash import run_slash

        return _asked_of_the_program(conversation, run_slash(conversation, text))
    resumed = finish_turn(conversation)
    with nullcontext() if listen is None else conversation.agent.heard_by(listen):
        data = dict(conversation.agent.step(text, all_said=conversation.all_said).data) | {
            "session": conversation.session
        }
    conversation.changed |= not conversation.agent.is_off_record and _has_changes(data)
    for outlet in (listen, conversation.outlet):
        if outlet is not None:
            outlet.check()
    return data if resumed is None else data | {"resumed": resumed}


def finish_turn(conversation: TerminalConversation) -> dict[str, Any] | None:
    """Finish a turn that was cut off, report it, and return its data; None if there is none."""
    resumed = conversation.agent.finish()
    if resumed is None:
        return None
    data = resumed.to_data()
    conversation.changed |= _has_changes(data)
    conversation.workspace.notice(fitted(resumed.line))
    return data


def _has_changes(data: Mapping[str, Any]) -> bool:
    return any(operation["op"] in CHANGES for operation in data["memory_operations"])


def is_slash(text: str) -> bool:
    """Return whether ``text`` addresses the program and not the agent."""
    return text.lstrip().startswith("/")


def _asked_of_the_program(conversation: TerminalConversation, message: str) -> dict[str, Any]:
    """Return the data of an answer that involved no model and no memory."""
    return {
        "message": message, "citations": [], "sources": [], "tool_calls": [], "memory_operations": [], "policy": [],
        "plan": None,
        "trust": "untrusted" if conversation.agent.toolbox.books.standing else "trusted", "left_out": {"tainted": 0},
        "context_usage": conversation.agent.context_usage(),
        "session": conversation.session, "ended": "answered", "usage": {"input": 0, "output": 0, "requests": 0},
        "session_usage": dict(conversation.agent.spent),
    }  # fmt: skip


COPIED = "/export"
"""The command whose lines are JSON that somebody may copy."""
HINT = "Press Ctrl-C again or Ctrl-D to leave."
KEPT = f"Interrupted; the conversation so far is kept. {HINT}"


def talk(front: Front, conversation: TerminalConversation, page: Page, leaving: Leaving) -> None:
    """Answer what a person types until they leave: with ``/quit`` or Ctrl-D, or with Ctrl-C twice.

    Raises:
        NegativeAnswer: They left, and the last turn could not be written to disk.
        KeyboardInterrupt: They left with Ctrl-C, or the program was told to end.
    """
    with contextlib.suppress(EOFError):
        front.note(fitted(conversation.opening_line()))
        ask_for_consent(front, conversation)
        front.note(fitted(f"Session {conversation.session}. /help lists the commands, /quit leaves."))
        for goal in conversation.agent.open_goals():
            page.aside(f"Still open: {one_line(goal.text, 160)}" + (f" [{goal.id}]" if goal.id else ""))
        for notice in conversation.notices():
            page.aside(notice["message"])
        _finish(front, conversation, page)
        _converse(front, conversation, page, leaving)
    if conversation.agent.session.fault is not None:
        raise NegativeAnswer(conversation.agent.session.fault)


def _finish(front: Front, conversation: TerminalConversation, page: Page) -> None:
    """Finish a turn that was cut off; if that fails now, it happens with the next message."""
    try:
        finish_turn(conversation)
    except answers() as error:
        front.note(fitted(f"memkit: {error}"))
    page.still()


def _converse(front: Front, conversation: TerminalConversation, page: Page, leaving: Leaving) -> None:
    editor, interrupted = open_editor(conversation), False
    while True:
        text = _read(editor, conversation, page, interrupted, leaving)
        interrupted = text is None
        if text is None or not text.strip():
            continue
        try:
            data = answer(conversation, text)
            if is_slash(text):
                shown = harmless(data["message"])
                click.echo(shown if text.split()[0] == COPIED else fitted(shown))
            interrupted = data["ended"] == "interrupted"
            if conversation.agent.session.fault is not None:
                page.still()
                front.note(f"memkit: {conversation.agent.session.fault}")
        except answers() as error:
            page.still()
            front.note(fitted(f"memkit: {error}"))
        except KeyboardInterrupt:
            interrupted = True
        page.still()
        leaving.check()
        if interrupted:
            page.aside(KEPT)
        if text.strip() == "/quit":
            return


def _read(
    editor: Editor, conversation: TerminalConversation, page: Page, interrupted: bool, leaving: Leaving
) -> str | None:
    """Return the next message; None if Ctrl-C was pressed for the first time."""
    try:
        return editor.read(conversation.prompt)
    except KeyboardInterrupt:
        leaving.check()
        if interrupted:
            raise
        page.aside(HINT)
        return None


# A conversation through a pipe: each line of standard input is a turn, each answer a line of JSON.

MOST = 1_000_000
"""The most characters in one message."""
TOO_LONG = f"The message is longer than {MOST:,} characters. It was not answered."


def answer_lines(conversation: TerminalConversation) -> None:
    """Answer each line with a line; one that cannot be answered reports it and does not stop those after it."""
    code = 0
    for number, line in input_lines():
        try:
            if line is None:
                raise UsageError(TOO_LONG)
            data = answer(conversation, line)
            ended = code_of(conversation, data)
            _print(
                envelope("chat", data, ok=ended in OK, diagnostics=[*conversation.notices(), *conversation.damage()])
            )
            code = code or (0 if ended in OK else ended)
            if data["ended"] == "interrupted":
                raise KeyboardInterrupt
        except answers() as error:
            finding = diagnostic(str(getattr(error, "code", "error")), str(error), line=number)
            _print(envelope("chat", None, ok=False, diagnostics=[finding]))
            code = code or error.exit_code
        if line is not None and line.strip() == "/quit":
            break
    raise click.exceptions.Exit(code)


def input_lines() -> Iterator[tuple[int, str | None]]:
    """Yield the non-empty lines of standard input with their numbers; None for one too long, which is skipped."""
    number = 0
    while line := sys.stdin.readline(MOST + 1):
        number += 1
        if len(line) > MOST and not line.endswith("\n"):
            while (rest := sys.stdin.readline(MOST)) and not rest.endswith("\n"):
                pass
            yield number, None
        elif line.strip():
            yield number, line.rstrip("\r\n")


def whole_input() -> str:
    """Return all of standard input as one message; raise ``UsageError`` if it is too long for one."""
    text = sys.stdin.read(MOST + 1)
    if len(text) > MOST:
        raise UsageError(TOO_LONG)
    return text.replace("\r\n", "\n")


def print_event(event: Event) -> None:
    """Print an event of a turn as a line of JSON."""
    _print(harmless_json({"schema": "memkit.chat.event/1", "kind": event.kind, "data": dict(event.data)}))


def _print(line: str) -> None:
    click.echo(line)
    sys.stdout.flush()


# Typing on a terminal: with history, completion and multi-line input if the terminal supports it.


class Editor(Protocol):
    """Reads what a person types."""

    def read(self, prompt: str) -> str:
        """Return the next message; raises ``EOFError`` at the end, ``KeyboardInterrupt`` at Ctrl-C."""


class PlainEditor:
    """Reads lines as the terminal itself edits them."""

    def read(self, prompt: str) -> str:
        """Return a line, joined with the next after a backslash."""
        line = typed_line(prompt)
        while line.endswith(GOES_ON):
            line = f"{line.removesuffix(GOES_ON)}\n{typed_line('… ')}"
        return line


def open_editor(conversation: TerminalConversation) -> Editor:
    """Return the editor that fits the terminal."""
    if is_able_terminal():
        from memkit.cli.chat.line_editor import LineEditor

        return LineEditor(conversation)
    return PlainEditor()
