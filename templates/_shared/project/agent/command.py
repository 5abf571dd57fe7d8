"""The command line: read the arguments, run turns, print what came of them."""

from __future__ import annotations

import argparse
import json
import sqlite3
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, TextIO

from agent import PROJECT
from agent.assembly import Rooms, open_rooms
from agent.consolidation import as_data, consolidate
from agent.errors import AgentError, EnvironmentFault
from agent.interface import Conversation, Host, Resumable
from agent.questions import Questions
from agent.settings import load_settings
from agent.showing import Showing
from agent.terminal import harmless
from loop.resumed import Resumed
from memory.record.stamps import new_id

SCHEMA = "memkit.chat/1"
CONSOLIDATED = "memkit.memory.consolidate/1"
INTERRUPTED = 130
ENDED = {"interrupted": INTERRUPTED, "broken_off": 3}
"""The exit code of a turn that has no whole answer; what came of it is told all the same."""
ASK_CONSENT = "May this agent keep what you tell it, for later conversations?"


@dataclass(frozen=True)
class Streams:
    """Where a run reads and writes."""

    given: TextIO
    result: TextIO
    messages: TextIO

    @property
    def interactive(self) -> bool:
        """Return whether a person sits at the other end."""
        return self.given.isatty() and self.messages.isatty()


def main(arguments: Sequence[str] | None = None, environment: Mapping[str, str] | None = None) -> int:
    """Run one command line and return its exit code; whatever a person can act on is one line and no trace."""
    streams = Streams(sys.stdin, sys.stdout, sys.stderr)
    options = parser().parse_args(arguments)
    work = tidy_up if options.consolidate else converse
    try:
        return work(options, environment, streams)
    except KeyboardInterrupt:
        print("Interrupted.", file=streams.messages)
        return INTERRUPTED
    except OSError as error:
        fault = EnvironmentFault(f"{error.filename or 'A file'} cannot be used: {error.strerror or error}.")
        tell_error(fault, options.json, streams)
        return fault.exit_code
    except sqlite3.OperationalError as error:
        fault = EnvironmentFault(f"The session's file cannot be used: {error}. Another process may hold it: try again.")
        tell_error(fault, options.json, streams)
        return fault.exit_code
    except Exception as error:
        code = getattr(error, "exit_code", None)
        if not isinstance(code, int):
            raise
        tell_error(error, options.json, streams)
        return code


def parser() -> argparse.ArgumentParser:
    """Return the reader of the command line."""
    reader = argparse.ArgumentParser(prog="python -m agent", description=f"Talk to {PROJECT}.".replace("%", "%%"))
    work = reader.add_mutually_exclusive_group()
    work.add_argument("-p", "--prompt", metavar="TEXT", help="answer TEXT and end; without it, talk")
    work.add_argument(
        "--consolidate", action="store_true", help="tell memory in fewer words, of U or of everybody, and end"
    )
    reader.add_argument(
        "--user", metavar="U", help="whose memory it is; without a user nothing is kept (or AGENT_USER)"
    )
    reader.add_argument("--session", metavar="S", help="the conversation to go on with (default: a new one)")
    reader.add_argument("--consent", action="store_true", help="the user has agreed to long-term memory")
    reader.add_argument("--json", action="store_true", help="print one JSON envelope per turn")
    return reader


def converse(options: argparse.Namespace, environment: Mapping[str, str] | None, streams: Streams) -> int:
    """Open the rooms, answer every turn, and close the rooms."""
    open_conversation = conversation_of_this_target()
    settings = load_settings(environment)
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
            if resumed is not None and showing is not None:
                tell_resumed(resumed, showing, streams)
            code = 0
            for text in turns(options.prompt, streams):
                code = answer(text, conversation, rooms, resumed, showing, streams)
                resumed = None
    finally:
        rooms.close()
    is_talk = options.prompt is None and streams.interactive
    return 0 if is_talk else code


def tidy_up(options: argparse.Namespace, environment: Mapping[str, str] | None, streams: Streams) -> int:
    """Consolidate memory and say what came of it; no model is asked."""
    done = consolidate(load_settings(environment), options.user)
    data = as_data(done)
    if options.json:
        notes = [diagnostic("consolidation", note, "warning") for note in done.refused]
        print(envelope(data, notes, schema=CONSOLIDATED), file=streams.result)
        return 0
    counts = [f"{len(found)} {what}" for what, found in data.items() if found and what != "added"]
    print(f"{', '.join(counts) or 'Nothing to consolidate'}.", file=streams.result)
    for note in done.refused:
        print(f"consolidation: {harmless(note)}", file=streams.messages)
    return 0


def conversation_of_this_target() -> Callable[[Rooms], AbstractContextManager[Conversation]]:
    """Return what opens a conversation; raises ``EnvironmentFault`` where a package of the project is not installed."""
    # Read when it is needed: the SDK takes seconds to load, and --help needs none of it.
    try:
        from agent.conversation import open_conversation
    except ModuleNotFoundError as error:
        raise EnvironmentFault(f"{error}. Install what this project needs: pip install -e .") from error
    return open_conversation


def turns(prompt: str | None, streams: Streams) -> Sequence[str] | Any:
    """Return what the user says: the given text, all of standard input, or line after line from a terminal."""
    if prompt is not None:
        return [prompt]
    return spoken(streams) if streams.interactive else [everything(streams.given)]


def everything(given: TextIO) -> str:
    """Return all that a stream holds; raises ``AgentError`` where it is no UTF-8, whatever the locale says."""
    raw = getattr(given, "buffer", None)
    if raw is None:
        return given.read()
    try:
        return str(raw.read().decode("utf-8"))
    except UnicodeDecodeError as error:
        raise AgentError(f"Standard input is no UTF-8 text (byte {error.start + 1}). Convert it first.") from error


def spoken(streams: Streams) -> Any:
    """Yield what a person types until an empty line or the end of input."""
    print("Type what you want to say; an empty line ends the conversation.", file=streams.messages)
    while True:
        print("> ", end="", file=streams.messages, flush=True)
        line = streams.given.readline().strip()
        if not line:
            return
        yield line


def tell_resumed(resumed: Resumed, showing: Showing, streams: Streams) -> None:
    """Print what became of a turn that was cut off in an earlier process."""
    print(harmless(resumed.line), file=streams.messages)
    if resumed.reply is not None:
        showing.settle(resumed.reply.message)


def answer(
    text: str,
    conversation: Conversation,
    rooms: Rooms,
    resumed: Resumed | None,
    showing: Showing | None,
    streams: Streams,
) -> int:
    """Answer one turn and print it, as an envelope where there is nothing to show it on; return its exit code."""
    if not text.strip():
        raise AgentError("There is nothing to answer. Say something with -p TEXT or on standard input.")
    if is_broken(text):
        raise AgentError("What you said is no UTF-8 text. Convert it first.")
    data = {**conversation.step(text).data, "session": rooms.session_id}
    code = ENDED.get(str(data.get("ended")), 0)
    missing = rooms.consent.missing()
    if showing is None:
        notes = [diagnostic("consent", missing, "info")] if missing else []
        told = {} if resumed is None else {"resumed": resumed.to_data()}
        print(envelope({**data, **told}, notes, ok=code in (0, INTERRUPTED)), file=streams.result, flush=True)
        return code
    showing.settle(str(data["message"]))
    if missing:
        print(f"consent: {missing}", file=streams.messages)
    return code


def is_broken(text: str) -> bool:
    """Return whether ``text`` was read from bytes that are no UTF-8, so that it could be sent to no server."""
    return any("\ud800" <= character <= "\udfff" for character in text)


def tell_error(error: Exception, as_json: bool, streams: Streams) -> None:
    """Print an error as one line, or as an envelope that says the same."""
    message = " ".join(harmless(str(error)).split())
    if as_json:
        code = str(getattr(error, "code", "error"))
        print(envelope(None, [diagnostic(code, message, "error")], ok=False), file=streams.result)
    else:
        print(f"agent: {message}", file=streams.messages)


def envelope(
    data: Mapping[str, Any] | None, diagnostics: Sequence[Mapping[str, Any]], *, ok: bool = True, schema: str = SCHEMA
) -> str:
    """Return the JSON object that ``--json`` prints."""
    body = {"schema": schema, "ok": ok, "data": data, "diagnostics": list(diagnostics)}
    return json.dumps(body, ensure_ascii=False, allow_nan=False)


def diagnostic(code: str, message: str, severity: str) -> dict[str, Any]:
    """Return one finding in the envelope's shape."""
    return {"code": code, "severity": severity, "message": message, "path": None, "line": None}
