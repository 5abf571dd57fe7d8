"""The command line of a project: parse the arguments, run turns, print the results."""

from __future__ import annotations

import argparse
import importlib
import json
import re
import sqlite3
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TextIO, runtime_checkable

from ..loop.core import AgentResponse, Host
from ..loop.journal import Resumed
from ..loop.taint import with_brought
from ..memory.lifecycle.consolidation import Consolidated, Tell
from ..memory.log.clone import claim
from ..memory.main import Origin
from ..memory.record.lines import new_id
from ..memory.record.record import encodable
from .rooms import Rooms, open_rooms
from .sessions import CHECKPOINTS, AgentError, CannotServe, lacks_room
from .settings import Project, ProjectSettings, load_settings
from .terminal import (
    Questions,
    Showing,
    Streams,
    beside,
    given_arguments,
    harmless,
    persons_only,
    prepare_streams,
    set_results_apart,
)

if TYPE_CHECKING:
    from ..memory.lifecycle.pieces import Extract

SCHEMA = "memkit.chat/1"
CONSOLIDATED = "memkit.memory.consolidate/1"
INTERRUPTED = 130
ENDED = {"interrupted": INTERRUPTED, "broken_off": 3}
"""The exit code of a turn without a complete answer; what there is of it is printed all the same."""
_REQUIRED = re.compile(r"[\"']memkit-runtime==([^\"' ]+)")
"""How a project's pyproject.toml requires the runtime."""
ASK_CONSENT = "May this agent keep what you tell it, for later conversations?"


class AgentConversation(Protocol):
    """One session of one user, as returned by a target's ``open_conversation(rooms)``."""

    def step(self, text: str) -> AgentResponse:
        """Answer one message of the user."""


@runtime_checkable
class Resumable(Protocol):
    """A stored conversation that knows about a turn in which an earlier process was killed."""

    fault: str | None
    """Why the last turn is not stored; None if it is."""

    def finish(self) -> Resumed | None:
        """Resolve such a turn and return what became of it; None if there is none."""


@runtime_checkable
class Ending(Protocol):
    """A conversation that, when it ends, keeps the lasting facts of what was said."""

    def end(self, *, single: bool = False) -> Sequence[Mapping[str, Any]]:
        """Draw them from the turns that were not examined yet, and return what was kept."""


OpenConversation = Callable[[Rooms], AbstractContextManager[AgentConversation]]


def run(project: Project, arguments: Sequence[str] | None = None, environment: Mapping[str, str] | None = None) -> int:
    """Run one command line and return its exit code; an error a person can act on prints one line and no traceback."""
    if arguments is None:
        prepare_streams()
        arguments = given_arguments()
        if not Streams(sys.stdin, sys.stdout, sys.stderr).interactive:
            set_results_apart()
    streams = Streams(sys.stdin, sys.stdout, sys.stderr)
    options = parser(project).parse_args(arguments)
    work = tidy_up if options.consolidate else converse
    try:
        for name in ("user", "session"):
            if not encodable(getattr(options, name) or ""):
                raise AgentError(f"--{name} is not UTF-8 text.")
        require_runtime(project)
        # What a tool prints must not stand between the results.
        with nullcontext() if streams.interactive else redirect_stdout(streams.messages):
            return work(project, options, environment, streams)
    except KeyboardInterrupt:
        print("Interrupted.", file=streams.messages)
        return INTERRUPTED
    except Exception as error:
        fault = _as_fault(error)
        code = getattr(fault, "exit_code", None)
        if not isinstance(code, int):
            raise
        _tell_error(fault, options.json, streams)
        return code


def require_runtime(project: Project) -> None:
    """Raise ``CannotServe`` if this runtime was installed in another version than the project requires."""
    try:
        wanted = _REQUIRED.search((project.folder / "pyproject.toml").read_text(encoding="utf-8", errors="replace"))
    except OSError:
        return
    package = Path(__file__).resolve().parents[1]
    stem, end = f"{package.name}-", ".dist-info"
    installed = [found.name[len(stem) : -len(end)] for found in package.parent.glob(f"{stem}*{end}")]
    if wanted and installed and wanted[1] not in installed:
        raise CannotServe(
            f"This project requires the runtime {wanted[1]}, and {installed[0]} is installed. "
            "Install what it requires: pip install -r requirements.txt"
        )


def _as_fault(error: Exception) -> Exception:
    """Return an operating-system error as one that says what to do."""
    if isinstance(error, sqlite3.OperationalError):
        return CannotServe(f"The session's file cannot be used: {error}. Another process may hold it: try again.")
    if isinstance(error, OSError) and not hasattr(error, "exit_code"):
        return CannotServe(f"{error.filename or 'A file'} cannot be used: {error.strerror or error}.")
    return error


def parser(project: Project) -> argparse.ArgumentParser:
    """Return the command line's argument parser."""
    reader = argparse.ArgumentParser(prog="python -m agent", description=f"Talk to {project.name}.".replace("%", "%%"))
    work = reader.add_mutually_exclusive_group()
    work.add_argument("-p", "--prompt", metavar="TEXT", help="answer TEXT and exit; without it, converse")
    work.add_argument(
        "--consolidate", action="store_true", help="consolidate the memory of U, or of everyone, and exit"
    )
    reader.add_argument("--user", metavar="U", help="the user (or AGENT_USER); without one nothing is stored")
    reader.add_argument("--session", metavar="S", help="the conversation to continue (default: a new one)")
    reader.add_argument("--consent", action="store_true", help="the user has agreed to long-term memory")
    reader.add_argument("--json", action="store_true", help="print one JSON envelope per turn")
    return reader


def converse(
    project: Project, options: argparse.Namespace, environment: Mapping[str, str] | None, streams: Streams
) -> int:
    """Open the rooms, answer every turn, and close the rooms."""
    open_conversation = conversation_of(project)
    settings = _settled(load_settings(project, environment), streams)
    user = options.user or settings.environment.get("AGENT_USER") or settings.values.get("user")
    questions = Questions(streams.given, streams.messages)
    showing = None if options.json else Showing(streams.result)
    host = Host(questions.approve, questions.settle, showing) if streams.interactive else Host()
    rooms = open_rooms(settings, user, options.session or new_id(), host)
    try:
        if options.consent:
            rooms.consent.record(True, actor="person")
        elif streams.interactive and rooms.consent.unasked():
            rooms.consent.record(questions.confirmed(ASK_CONSENT))
        with open_conversation(rooms) as conversation:
            resumed = conversation.finish() if isinstance(conversation, Resumable) else None
            telling = Telling(rooms, streams, showing, resumed)
            code = 0
            for text in _turns(options.prompt, streams):
                code = telling.answer(text, conversation)
            single = options.prompt is not None
            for kept in conversation.end(single=single) if isinstance(conversation, Ending) else ():
                print(harmless(f"kept from what you said: “{kept['text']}” [{kept['id']}]"), file=streams.messages)
    finally:
        rooms.close()
    is_talk = options.prompt is None and streams.interactive
    return 0 if is_talk else code


def _settled(settings: ProjectSettings, streams: Streams) -> ProjectSettings:
    """Return ``settings`` after claiming the memory folder for this clone, and print what is not this clone's own."""
    if settings.memory_folder.is_dir():
        for told in claim(settings.memory_folder):
            print(told, file=streams.messages)
    return settings


def conversation_of(project: Project) -> OpenConversation:
    """Return the function that opens a conversation; raise ``CannotServe`` if a package of the project is missing."""
    try:
        opening: OpenConversation = importlib.import_module(project.conversation).open_conversation
    except ModuleNotFoundError as error:
        raise CannotServe(f"{error}. Install what this project needs: pip install -r requirements.txt") from error
    return opening


def tidy_up(
    project: Project, options: argparse.Namespace, environment: Mapping[str, str] | None, streams: Streams
) -> int:
    """Consolidate memory and report the result.

    Opens no conversation; the only model asked is one that ``context.summary_model`` names with its vendor.
    """
    settings = _settled(load_settings(project, environment), streams)
    done = consolidate(settings, options.user, extract=_extract(settings, streams))
    data = done.to_data()
    if options.json:
        notes = [_diagnostic("consolidation", note, "warning") for note in done.refused]
        print(_envelope(data, notes, schema=CONSOLIDATED), file=streams.result)
        return 0
    counts = [f"{len(found)} {what}" for what, found in data.items() if found and what != "added"]
    print(f"{', '.join(counts) or 'Nothing to consolidate'}.", file=streams.result)
    for note in done.refused:
        print(f"consolidation: {harmless(note)}", file=streams.messages)
    return 0


def _extract(settings: ProjectSettings, streams: Streams) -> Extract | None:
    from .plain_model import VENDORS, plain_model

    vendor = VENDORS.get(settings.limits.context.summary_model.partition(":")[0])
    model = plain_model(settings, vendor) if vendor and settings.limits.write.extract == "auto" else None
    if model is None:
        return None
    from .side_model import SideModel

    return SideModel(lambda: model, {}, lambda told: print(harmless(told), file=streams.messages)).extract


@dataclass
class Telling:
    """Prints the results of turns: on a terminal as they arrive, or as one envelope per turn."""

    rooms: Rooms
    streams: Streams
    showing: Showing | None
    """None if envelopes were requested."""
    resumed: Resumed | None
    """The fate of a turn that an earlier process left cut off, until it is reported."""
    damage_told: int = 0
    """How many problems with the lines of memory have been reported."""

    def __post_init__(self) -> None:
        if self.resumed is None or self.showing is None:
            return
        print(harmless(self.resumed.line), file=self.streams.messages)
        if self.resumed.reply is not None:
            self.showing.settle(self.resumed.reply.message)

    def answer(self, text: str, conversation: AgentConversation) -> int:
        """Answer one turn, print it, and return its exit code."""
        if not text.strip():
            raise AgentError("The message is empty. Give one with -p TEXT or on standard input.")
        if not encodable(text):  # read from bytes that are no UTF-8
            raise AgentError("The message is not UTF-8 text. Convert it first.")
        if is_slash(text):
            told_data = answered(self.rooms, answer_slash(self.rooms, conversation, text))
        else:
            told_data = dict(conversation.step(text).data)
        data = {**told_data, "session": self.rooms.session_id}
        missing = self.rooms.consent.missing()
        notes = [_diagnostic("consent", missing, "info")] if missing else []
        fault = conversation.fault if isinstance(conversation, Resumable) else None
        notes += [_diagnostic("not-kept", fault, "warning")] if fault else []
        notes += self._damage()
        code = ENDED.get(str(data.get("ended")), 1 if fault or lacks_room(data) else 0)
        if self.showing is None:
            told = {} if self.resumed is None else {"resumed": self.resumed.to_data()}
            self.resumed = None
            line = _envelope({**data, **told}, notes, ok=code in (0, INTERRUPTED))
            print(line, file=self.streams.result, flush=True)
            return code
        self.showing.settle(str(data["message"]))
        for note in notes:
            print(f"{note['code']}: {harmless(note['message'])}", file=self.streams.messages)
        return code

    def _damage(self) -> list[dict[str, Any]]:
        """Return the problems found in the lines of memory since the last turn, and print them beside envelopes."""
        found = self.rooms.archive.damage[self.damage_told :]
        self.damage_told += len(found)
        if self.showing is None:
            for one in found:
                print(f"{one.code}: {one.path}:{one.line}: {harmless(one.message)}", file=self.streams.messages)
        return [
            {**_diagnostic(one.code, one.message, "warning"), "path": one.path, "line": one.line or None}
            for one in found
        ]


def _turns(prompt: str | None, streams: Streams) -> Iterable[str]:
    """Return the user's input: the given text, all of standard input, or line after line from a terminal."""
    if prompt is not None:
        brought = "" if is_slash(prompt) else beside(streams.given, lambda note: print(note, file=streams.messages))
        return [with_brought(prompt, brought)]
    return _spoken(streams) if streams.interactive else [_everything(streams.given)]


def _everything(given: TextIO) -> str:
    """Return all content of a stream; raise ``AgentError`` if it is not UTF-8, whatever the locale says."""
    raw = getattr(given, "buffer", None)
    if raw is None:
        return given.read()
    try:
        return str(raw.read().decode("utf-8-sig")).replace("\r\n", "\n")
    except UnicodeDecodeError as error:
        raise AgentError(f"Standard input is not UTF-8 text (byte {error.start + 1}). Convert it first.") from error


def _spoken(streams: Streams) -> Iterator[str]:
    """Yield what a person types until an empty line or the end of input."""
    print("Type what you want to say; an empty line ends the conversation.", file=streams.messages)
    while True:
        print("> ", end="", file=streams.messages, flush=True)
        line = streams.given.readline().strip()
        if not line:
            return
        yield line


def _tell_error(error: Exception, as_json: bool, streams: Streams) -> None:
    """Print an error as one line, or as an envelope with the same message."""
    message = " ".join(harmless(str(error)).split())
    if as_json:
        code = str(getattr(error, "code", "error"))
        print(_envelope(None, [_diagnostic(code, message, "error")], ok=False), file=streams.result)
    else:
        print(f"agent: {message}", file=streams.messages)


def _envelope(
    data: Mapping[str, Any] | None, diagnostics: Sequence[Mapping[str, Any]], *, ok: bool = True, schema: str = SCHEMA
) -> str:
    """Return the JSON object that ``--json`` prints."""
    body = {"schema": schema, "ok": ok, "data": data, "diagnostics": list(diagnostics)}
    return json.dumps(body, ensure_ascii=False, allow_nan=False)


def _diagnostic(code: str, message: str, severity: str) -> dict[str, Any]:
    """Return one diagnostic in the envelope's format."""
    return {"code": code, "severity": severity, "message": message, "path": None, "line": None}


def consolidate(
    settings: ProjectSettings, user: str | None = None, tell: Tell | None = None, extract: Extract | None = None
) -> Consolidated:
    """Consolidate the memory of one user, or of all, and return the result; a second run finds nothing to do.

    Before that, lasting facts are drawn from sessions that ended before this was done.

    Args:
        settings: The project's settings; their ``consolidate`` section says what is old and small enough.
        user: Whose memory; None for everyone's.
        tell: Finds better words than the first sentences of some events, for example by asking a model. It gets
            the records and returns one sentence per line, or None if it has none.
        extract: Draws lasting facts from turns; rules do so if it is not given.
    """
    from ..memory.tiers.recall import RecallMemory
    from .drawing import draw_unread

    limits, state = settings.limits, settings.state_folder
    recall = RecallMemory(state / "sessions", ttl=limits.recall.ttl, max_items=limits.recall.max_items)
    with settings.open_archive("everybody") as archive:
        wanted = limits.write.extract != "off" and settings.values["privacy"]["long_term"] != "off"
        owners = [] if not wanted else archive.users() if user is None else [user]
        drawn = [
            one
            for owner in owners
            for one in draw_unread(archive, recall, state / "context", state / CHECKPOINTS, owner, extract)
        ]
        plan = archive.consolidation(user_id=user, tell=tell)
        done = archive.consolidate(plan) if plan else Consolidated()
        return done._replace(drawn=tuple(str(one["id"]) for one in drawn))


# Requests that a person makes to the program itself, without the model: approving, undoing, cleaning.


COMMANDS = {
    "/approve": "/approve ID releases what waits for a person.",
    "/clean": "/clean takes what came from outside, and what was made of it, out of the conversation.",
    "/undo": "/undo takes back what the last turn that wrote anything wrote.",
}
UNDONE = "undone"


class NotForAgents(AgentError):
    """Report that an agent asked for something reserved to a person."""

    code = "persons_only"
    exit_code = 1


@runtime_checkable
class Cleanable(Protocol):
    """A conversation from which content can be removed."""

    def clean(self) -> int:
        """Remove what is tainted and return how many messages were removed."""


def is_slash(text: str) -> bool:
    """Return whether ``text`` is meant for the program rather than the agent."""
    return text.split(maxsplit=1)[:1] != [] and text.split(maxsplit=1)[0] in COMMANDS


def answer_slash(rooms: Rooms, conversation: object, line: str) -> str:
    """Run a line such as ``/approve ID`` and return the text to show.

    Raises:
        AgentError: The line is incomplete, or the conversation cannot be cleaned.
        NotForAgents: An agent asks for something reserved to a person.
    """
    name, _, argument = line.strip().partition(" ")
    if name == "/clean":
        if not isinstance(conversation, Cleanable):
            raise AgentError("This SDK keeps the conversation itself. Start a new one with another --session.")
        return f"Clean: {conversation.clean()} messages left the conversation. They can still be found."
    if name == "/undo":
        return _undo(rooms)
    if not argument.strip():
        raise AgentError("/approve needs the id of a pending item: /approve ID.")
    if why := persons_only("/approve"):
        raise NotForAgents(why)
    stored = rooms.archive.get(argument.strip(), user_id=rooms.user_id)
    if stored is not None and stored.status not in ("quarantined", "live"):
        raise AgentError(f"{argument.strip()} is {stored.status}, so there is nothing to approve.")
    rooms.archive.mark("approve", argument.strip(), _person(rooms))
    rooms.reload_core()
    return f"Approved: {argument.strip()}."


def _undo(rooms: Rooms) -> str:
    """Undo the last turn of this session that wrote anything: its records and its edits of core memory."""
    archive, user = rooms.archive, rooms.user_id
    records = [one for one in archive.records(user_id=user, session_id=rooms.session_id, status=None) if one.turn_id]
    edits = [one for one in archive.core_history(user) if one["session_id"] == rooms.session_id and one["turn_id"]]
    written: list[tuple[int, str]] = [(one.turn_id or 0, one.id) for one in records if one.user_id == user]
    written += [(int(str(one["turn_id"])), str(one["id"])) for one in edits]
    last = max((turn for turn, _ in written), default=0)
    ids = [id for turn, id in written if turn == last and not archive.is_withdrawn(id, user_id=user)]
    for id in ids:
        archive.mark("revoke", id, _person(rooms), reason=UNDONE)
    rooms.reload_core()
    return (
        f"Undone: {', '.join(ids)}." if ids else "Nothing to undo: nothing that this session wrote is still in place."
    )


def _person(rooms: Rooms) -> Origin:
    return Origin(actor="person", user_id=rooms.user_id, session_id=rooms.session_id)


def answered(rooms: Rooms, message: str) -> dict[str, Any]:
    """Return the data of an answer that involved no model and no memory."""
    books = rooms.toolbox.books
    return {
        "message": message, "citations": [], "sources": [], "tool_calls": [], "memory_operations": [], "policy": [],
        "plan": None,
        "trust": "untrusted" if books.standing else "trusted", "left_out": {"tainted": 0},
        "context_usage": books.report("")["context_usage"], "ended": "answered",
        "usage": {"input": 0, "output": 0, "requests": 0},
    }  # fmt: skip
