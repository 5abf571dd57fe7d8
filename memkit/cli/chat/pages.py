"""Choose the page that fits standard output."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

import click

from memkit.runtime.host.terminal import fitted, harmless, is_able_terminal, one_line
from memkit.runtime.loop.reply import Event, Listener
from memkit.runtime.memory.gate.secrets import mask

# Plain-text display of a conversation, without colours, on a terminal that supports no more.


class Page(Protocol):
    """Where a turn is displayed while it happens."""

    def say(self, text: str) -> None:
        """Display more of the answer."""

    def end(self, *, is_remark: bool = False) -> None:
        """Display the held-back part of the answer, or of a model's remark before a call: it is complete."""

    def aside(self, text: str) -> None:
        """Display a line about an event beside the answer."""

    def wait(self, doing: str) -> None:
        """Display an activity until the next thing is displayed."""

    def still(self) -> None:
        """Make room for something else, such as a question."""


class PlainPage:
    """Prints text as it arrives, unchanged except for terminal control codes."""

    def __init__(self) -> None:
        self._is_within_line = False

    def say(self, text: str) -> None:
        """Print more of the answer."""
        text = text if self._is_within_line else text.lstrip("\n")
        click.echo(harmless(text), nl=False)
        self._is_within_line |= bool(text)

    def end(self, *, is_remark: bool = False) -> None:
        """End the line."""
        if self._is_within_line:
            self._is_within_line = False
            click.echo()

    def aside(self, text: str) -> None:
        """Print a line about an event on standard error."""
        self.end()
        click.echo(fitted(harmless(f"· {text}")), err=True)

    def wait(self, doing: str) -> None:
        """Print nothing: a progress sign that cannot be removed is no use."""

    def still(self) -> None:
        """End the line."""
        self.end()


def open_page(*, is_talk: bool, is_markdown: bool = True) -> Page | None:
    """Return where turns are displayed while they happen; None if only the answer is wanted, as in a pipe.

    ``is_markdown`` says whether the answers are Markdown. Those of the reference model are what people said, verbatim.
    """
    forced = bool(os.environ.get("FORCE_COLOR"))
    if forced or (is_able_terminal() and not os.environ.get("NO_COLOR")):
        from memkit.cli.chat.markdown import MarkdownPage

        return MarkdownPage(is_markdown=is_markdown)
    return PlainPage() if is_talk or sys.stdout.isatty() else None


# Listener for a stream that may fail: because it is full, or nobody reads it any more.


class Outlet:
    """Passes events on until the stream fails; the turn goes on: its work does not depend on being displayed."""

    def __init__(self, listen: Listener) -> None:
        self._listen = listen
        self._fault: OSError | None = None

    def __call__(self, event: Event) -> None:
        """Pass an event on."""
        if self._fault is None:
            try:
                self._listen(event)
            except OSError as fault:
                self._fault = fault

    def check(self) -> None:
        """Raise the stream's error, once and after the turn."""
        fault, self._fault = self._fault, None
        if fault is not None:
            raise fault


# Output of one turn for another program: the answer alone, as soon as it is known to be the answer.

HELD = 80
"""Characters held back (one line) until it is clear that the text is an answer, not a remark before a call."""


class PipePage(PlainPage):
    """Prints the answer while it arrives; a remark before a call is not part of it, unless longer than a line."""

    def __init__(self) -> None:
        super().__init__()
        self._held = ""

    def say(self, text: str) -> None:
        """Print more of the answer once it is longer than the held-back limit."""
        self._held += text
        if self._is_within_line or len(self._held) > HELD:
            self._release()

    def end(self, *, is_remark: bool = False) -> None:
        """Print the held-back text, unless it was a remark."""
        if not is_remark:
            self._release()
        self._held = ""
        super().end()

    def aside(self, text: str) -> None:
        """Print nothing: the reader asked for the answer only."""

    def still(self) -> None:
        """End a line that was begun; held-back text belongs to an answer that did not arrive."""
        super().end()

    def _release(self) -> None:
        held, self._held = self._held, ""
        super().say(held)


# Display of a turn while it happens: the answer as it arrives, with a line about each event beside it.

WIDTH = 100
VALUE, VALUES = 40, 6
MOST_IDS = 5
"""The most ids and characters of an argument that are displayed."""
LOOKED_AT = 10_000
"""Characters of an argument that are scanned for secrets; the rest is not displayed."""
THINKING = "thinking …"


class PageShowing:
    """Listens to the turns of a conversation and displays them on a page, each text once."""

    def __init__(self, page: Page) -> None:
        self._page = page
        self._said = ""
        """The part of the model's current answer that was passed to the page."""
        self._space = ""
        """Whitespace after it, which is dropped unless more text arrives."""
        self._beside: list[str] | None = None
        """Lines about events since the model's answer was complete; they wait for what the end adds to it."""
        self._kinds: Mapping[str, Callable[[Mapping[str, Any]], None]] = {
            "turn_opened": lambda data: self._begin(),
            "model_asked": lambda data: self._begin(),
            "text": lambda data: self._hear(data["delta"]),
            "model_answered": self._settle,
            "call_started": self._call,
            "turn_closed": self._close,
        }

    def __call__(self, event: Event) -> None:
        """Display an event."""
        if event.kind in self._kinds:
            self._kinds[event.kind](event.data)
        elif line := line_on(event):
            if self._beside is None:
                self._page.aside(line)
            else:
                self._beside.append(line)

    def _begin(self) -> None:
        self._show_beside()
        self._said = self._space = ""
        self._page.wait(THINKING)

    def _show_beside(self) -> None:
        lines, self._beside = self._beside, None
        for line in lines or ():
            self._page.aside(line)

    def _hear(self, text: str) -> None:
        text = self._space + text
        body = text.rstrip()
        self._space = text[len(body) :]
        self._say(body if self._said else body.lstrip())

    def _say(self, text: str) -> None:
        if text:
            self._said += text
            self._page.say(text)

    def _settle(self, data: Mapping[str, Any]) -> None:
        """Display the part of an answer that was not displayed while it arrived."""
        self._say(self._unsaid(data["text"]))
        if data["tool_calls"]:
            self._page.end(is_remark=True)
            self._said = ""
        else:
            self._beside = []

    def _close(self, data: Mapping[str, Any]) -> None:
        """Display what the end of the turn adds, separately: the model may have left a paragraph or code block open."""
        rest = self._unsaid(data.get("message", self._said))
        if rest and self._said:
            self._page.end()
        self._say(rest)
        self._page.end()
        self._said = ""
        self._show_beside()

    def _unsaid(self, text: str) -> str:
        """Return the unsaid part of ``text``, the final answer; all of it if something else was said."""
        text, self._space = text.strip(), ""
        if not text.startswith(self._said):
            self._page.end()
            self._page.aside("the answer, once more from the beginning:")
            self._said = ""
        return text[len(self._said) :]

    def _call(self, data: Mapping[str, Any]) -> None:
        self._page.aside(call_line(data["name"], data["args"]))
        self._page.wait(f"{data['name']} …")


def line_on(event: Event) -> str | None:
    """Return a line about an event if it deserves one, else None.

    >>> line_on(Event("paged_out", {"messages": 4, "tokens": 812, "summary": "…"}))
    'paged out 4 messages (812 tokens); /search and questions still find them'
    """
    data = event.data
    if event.kind == "recalled":
        found = [f"{block['tier']} {_ids(block['ids'])}".rstrip() for block in data["blocks"]]
        return f"recalled {', '.join(found)}" if found else None
    if event.kind == "paged_in":
        return f"paged in {what_came(data['paged_in'])}{missed_by(data)}"
    if event.kind == "paged_out":
        size = f"{data['messages']} message{'' if data['messages'] == 1 else 's'} ({data['tokens']} tokens)"
        return f"paged out {size}; /search and questions still find them"
    if event.kind == "call_finished" and data["error"]:
        # The answer says more about what a policy stopped, so its name is enough here.
        text = data["text"].partition(":")[0] if data["text"].startswith("Policy ") else data["text"]
        return one_line(mask(f"{data['name']}: {text[:LOOKED_AT]}"), WIDTH)
    if event.kind == "chore":
        return one_line(", ".join(f"{key} {value}" for key, value in data.items()), WIDTH)
    return None


def what_came(found: Sequence[str | Mapping[str, Any]]) -> str:
    """Return what a search found: the ids of records, or the turns of each session.

    >>> what_came([{"session": "monday", "turn": 3}, {"session": "monday", "turn": 1}])
    'turns 1, 3 of monday'
    """
    turns: dict[str, dict[int, None]] = {}
    for one in found:
        if not isinstance(one, str) and "session" in one:
            turns.setdefault(one["session"], {})[one["turn"]] = None
    said = [
        f"turn{'' if len(places) == 1 else 's'} {', '.join(map(str, sorted(places)))} of {session}"
        for session, places in turns.items()
    ]
    ids = _ids([one for one in found if isinstance(one, str)])
    return one_line("; ".join([*filter(None, [ids]), *said]), 2 * WIDTH) or "earlier turns"


def missed_by(search: Mapping[str, Any]) -> str:
    """Return in brackets the tiers that did not hold what was searched for, or nothing if none was checked.

    >>> missed_by({"missed": ["core", "messages"]})
    ' (not in core or messages)'
    """
    return f" (not in {' or '.join(search['missed'])})" if search.get("missed") else ""


def call_line(name: str, args: Mapping[str, Any]) -> str:
    """Return a tool call on one line, shortened, and without the secrets that logs omit as well.

    >>> call_line("outbox", {"message": "hello", "to": "bob"})
    'outbox(message: hello, to: bob)'
    """
    shown = [_argument(one_line(key, VALUE), str(value)) for key, value in list(args.items())[:VALUES]]
    more = ["…"] if len(args) > VALUES else []
    return f"{one_line(name, VALUE)}({', '.join([*shown, *more])})"


def _argument(name: str, value: str) -> str:
    """Return a named value; the name shows whether it is secret, such as a password."""
    return one_line(mask(f"{name}: {value[:LOOKED_AT]}"), len(name) + 2 + VALUE)


def _ids(ids: Sequence[str]) -> str:
    more = f" and {len(ids) - MOST_IDS} more" if len(ids) > MOST_IDS else ""
    return ", ".join(f"[{id}]" for id in ids[:MOST_IDS]) + more
