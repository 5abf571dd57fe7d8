"""What a person sees of a turn while it happens: every text once, and a line on what goes on beside it."""

from __future__ import annotations

import io
import re
from collections.abc import Mapping
from typing import Any

import pytest
from rich.console import Console
from rich.text import Text

from memkit.cli.chat.markdown import MarkdownPage
from memkit.cli.chat.pages import PageShowing, line_on
from memkit.runtime.host.terminal import broken, harmless
from memkit.runtime.loop.reply import Event


class NotedPage:
    """Notes what it is told to show."""

    def __init__(self) -> None:
        self.shown: list[str] = []
        self.open = ""
        self.waits = False

    def say(self, text: str) -> None:
        """Take in more of an answer."""
        self.open += text

    def end(self, *, is_remark: bool = False) -> None:
        """Note an answer, or a remark."""
        self.shown += [f"({self.open})" if is_remark else self.open] if self.open else []
        self.open = ""
        self.still()

    def aside(self, text: str) -> None:
        """Note a line beside the answer."""
        self.shown.append(f"· {text}")

    def wait(self, doing: str) -> None:
        """Note that there is a sign."""
        self.waits = True

    def still(self) -> None:
        """Note that there is none."""
        self.waits = False


def shown(*events: tuple[str, Mapping[str, Any]]) -> list[str]:
    """Return what is shown of a turn, after which no sign of waiting may be left."""
    page = NotedPage()
    showing = PageShowing(page)
    for kind, data in (("turn_opened", {"turn": 1}), *events):
        showing(Event(kind, data))
    assert not page.waits
    return page.shown


def answered(text: str, *calls: str) -> tuple[str, Mapping[str, Any]]:
    """Return the event of a complete answer."""
    return "model_answered", {"text": text, "tool_calls": [{"name": name} for name in calls], "usage": {}}


def closed(message: str) -> tuple[str, Mapping[str, Any]]:
    """Return the event of a turn's end."""
    return "turn_closed", {"message": message, "citations": [], "ended": "answered"}


def test_what_was_streamed_is_not_shown_again() -> None:
    """The end of a turn adds only what the answer did not say: here a receipt."""
    pieces = [("text", {"delta": delta}) for delta in ("First.\n", "\nSec", "ond.")]

    assert shown(*pieces, answered("First.\n\nSecond."), closed("First.\n\nSecond.\n(stored: 01A)")) == [
        "First.\n\nSecond.", "\n(stored: 01A)",
    ]  # fmt: skip


def test_an_answer_that_was_not_streamed_is_shown_whole() -> None:
    """A model that cannot stream, and a turn without a model, are shown when they are there."""
    assert shown(answered("Hello."), closed("Hello.")) == ["Hello."]
    assert shown(closed("I do not know.")) == ["I do not know."]


def test_what_the_end_says_holds_where_the_stream_said_something_else() -> None:
    """A retry that begins anew is shown from its beginning, and said to be one."""
    lines = shown(("text", {"delta": "The capital is Lyo"}), answered("Paris it is."), closed("Paris it is."))

    assert lines[0] == "The capital is Lyo"
    assert "once more" in lines[1]
    assert lines[2:] == ["Paris it is."]


def test_an_interrupted_answer_shows_what_came() -> None:
    """What the model left open is ended before the mark that the loop put behind it."""
    assert shown(("text", {"delta": "The beginn"}), closed("The beginn\n(interrupted)")) == [
        "The beginn", "\n(interrupted)",
    ]  # fmt: skip


def test_a_turn_that_fails_shows_what_came_before() -> None:
    """The error itself is the front door's to tell."""
    assert shown(("text", {"delta": "The beginn"}), ("turn_closed", {"error": "The model is gone."})) == ["The beginn"]


def test_what_happens_beside_the_answer_has_a_line_each() -> None:
    """Recalls, calls, failures and paging are told in the order in which they happen."""
    lines = shown(
        ("recalled", {"blocks": []}),
        ("recalled", {"blocks": [{"tier": "constraints", "ids": ["01A", "01B"]}]}),
        answered("Let me look.", "archival_memory_search"),
        ("call_started", {"id": "1", "name": "archival_memory_search", "args": {"query": "dog"}}),
        ("paged_in", {"op": "archival_memory_search", "paged_in": ["01C"], "missed": ["core", "messages"]}),
        ("call_finished", {"id": "1", "name": "archival_memory_search", "text": "…", "error": False}),
        ("call_started", {"id": "2", "name": "outbox", "args": {"to": "bob\nrm", "message": "x" * 500}}),
        ("call_finished", {"id": "2", "name": "outbox", "text": "Policy p denies this: no.", "error": True}),
        ("paged_out", {"messages": 1, "tokens": 90, "summary": "s"}),
        ("call_started", {"id": "3", "name": "login", "args": {"password": "hunter2!x", "note": "pin: 4711"}}),
        closed("Done."),
    )

    assert lines[:4] == [
        "· recalled constraints [01A], [01B]", "(Let me look.)", "· archival_memory_search(query: dog)",
        "· paged in [01C] (not in core or messages)",
    ]  # fmt: skip
    assert lines[4] == f"· outbox(to: bob rm, message: {'x' * 39}…)"
    assert lines[5:] == [
        "· outbox: Policy p denies this",
        "· paged out 1 message (90 tokens); /search and questions still find them",
        "· login(password: [masked:password], note: pin: [masked:pin])",
        "Done.",
    ]  # fmt: skip


def test_what_happens_behind_an_answer_is_told_behind_it() -> None:
    """What an answer pushed out of the prompt does not stand between its words and what the turn's end adds to them."""
    paged = ("paged_out", {"messages": 2, "tokens": 90, "summary": "s"})

    lines = shown(answered("First.\n\nSecond."), paged, closed("First.\n\nSecond.\n(stored: 01A)"))

    assert lines[:2] == ["First.\n\nSecond.", "\n(stored: 01A)"]
    assert lines[2].startswith("· paged out")


def test_what_was_paged_in_is_named_shortly() -> None:
    """Turns of a conversation are told by session and number, each once, and of many records the first."""
    turns = [
        {"session": session, "turn": turn, "at": "…"} for session, turn in [("mon", 7), ("mon", 2), ("tue", 3)] * 2
    ]

    assert line_on(Event("paged_in", {"paged_in": turns})) == "paged in turns 2, 7 of mon; turn 3 of tue"
    assert line_on(Event("paged_in", {"paged_in": ["a", *"bcdefg"]})) == "paged in [a], [b], [c], [d], [e] and 2 more"


@pytest.mark.parametrize(
    ("line", "shown"),
    [
        ("short", "short"),
        ("/core          Show core memory, which is", "/core          Show core memory, which\n" + 15 * " " + "is"),
        ("  lost: Rex, who is a dog and not a cat at all", "  lost: Rex, who is a dog and not a cat\n    at all"),
        ("a" * 50 + " b", "a" * 50 + "\n  b"),
    ],
)
def test_a_line_is_broken_between_words(line: str, shown: str) -> None:
    """What follows stands below what it belongs to, and a long word stays whole."""
    assert broken(line, 40) == shown


def drawn(text: str, width: int = 60) -> str:
    """Return what a terminal gets to show for a block of Markdown, without styles."""
    stream = io.StringIO()
    console = Console(file=stream, width=width, highlight=False, markup=False, emoji=False, color_system=None)
    page = MarkdownPage(console)
    page.say(text)
    page.end()
    return stream.getvalue()


@pytest.mark.parametrize(
    "text",
    [
        "<b>bold</b> and <div>a block</div>",
        "<div>\nhidden\n</div>",
        "<!-- hidden -->",
        "&lt;&#x202e;&#27;[2J",
        "[01ABC]: hidden",
        "[bold red]rich's own tags[/] :smile: [/]",
    ],
)
def test_nothing_that_a_model_writes_is_hidden_by_markdown(text: str) -> None:
    """Tags, comments, entities, definitions and images stay text."""
    assert "".join(drawn(text).split()) == "".join(text.split())


def test_a_link_shows_where_it_leads() -> None:
    """A text that looks like one address cannot stand for another."""
    assert "https://evil.example" in drawn("[https://good.example](https://evil.example)")
    assert "http://evil.example" in drawn("![a picture](http://evil.example)")
    assert "\x1b]8" not in drawn("[https://good.example](https://evil.example)")


def test_what_a_terminal_would_obey_is_drawn_as_an_escape() -> None:
    """Control characters and marks that turn the direction are text before Markdown is read."""
    text = "a \x1b[2J \x9b31m \u202e b"

    assert drawn(text).strip() == harmless(text)


@pytest.mark.parametrize("width", [1, 4, 10, 200])
def test_markdown_is_drawn_at_any_width(width: int) -> None:
    """A heading, a list, a table, code and a quote: no width makes the drawing fail or lose a word."""
    text = "# Head\n\n1. one\n2. two\n\n| a | b |\n|---|---|\n| c | d |\n\n```py\nx = 1\n```\n\n> quote"

    rows = "".join(drawn(text, width).split())

    assert all(word in rows for word in (["Head", "one", "two", "quote"] if width > 4 else ["H"]))


def test_the_end_of_a_line_is_one() -> None:
    """Models and memkit mean the end of a line where they write it."""
    assert drawn("one\ntwo") == "one\ntwo\n"


def test_a_list_that_goes_on_keeps_its_numbers() -> None:
    """A list cut in two by the stream goes on with its own number."""
    assert "3" in drawn("3. three")


def test_code_is_drawn_line_by_line() -> None:
    """Each line as soon as it is whole, in the colours that those before it call for; the fence itself is not shown."""
    stream = io.StringIO()
    page = MarkdownPage(Console(file=stream, width=60, highlight=False, color_system="standard", force_terminal=True))

    def rows(text: str) -> list[str]:
        begin = stream.tell()
        page.say(text)
        return [row.rstrip() for row in Text.from_ansi(stream.getvalue()[begin:]).plain.splitlines()]

    assert rows("Look:\n```py\ntext = ") == ["Look:"]
    assert rows('"""one\n') == ["", 'text = """one']
    assert rows("\n") == []
    assert rows('two\n  three""') == ["", "two"]
    colour = re.search(r"(\x1b\[[\d;]*m)two", stream.getvalue())
    assert colour is not None and f"{colour[1]}one" in stream.getvalue()
    assert rows('"\n\n```\nThat') == ['  three"""']
    page.end()
    assert Text.from_ansi(stream.getvalue()).plain.rstrip().split("\n")[-2:] == ["", "That"]


def test_what_the_end_adds_to_open_code_is_no_code() -> None:
    """A model that was interrupted within a fence, or forgot to close it, does not take the remark into its code."""
    stream = io.StringIO()
    showing = PageShowing(MarkdownPage(Console(file=stream, width=60, color_system=None)))
    for kind, data in (("text", {"delta": "```md\n# one\n# tw"}), closed("```md\n# one\n# tw\n# (interrupted)")):
        showing(Event(kind, data))

    assert stream.getvalue().split() == ["#", "one", "#", "tw", "(interrupted)"]


def test_drawn_bit_by_bit_it_is_the_same() -> None:
    """Whatever comes at once, the screen in the end is the same, and an empty line stands between two blocks."""
    text = "Head:\n```py\n\nif x:\n\n    y\n\n```\n- a\n\n  ```\n  b\n  ```\n\n\n"
    text += "~~~\n```\n~~~\n\n```\n```\n\nlast\n\n```c\nint"
    stream = io.StringIO()
    page = MarkdownPage(Console(file=stream, width=60, highlight=False, color_system=None))

    for char in text:
        page.say(char)
    page.end()

    assert stream.getvalue() == drawn(text)
    assert [row.rstrip() for row in drawn(text).splitlines()] == [
        "Head:", "", "", "if x:", "", "    y", "", " • a", "   b", "", "```", "", "last", "", "int",
    ]  # fmt: skip
