"""The user's end: a person at a terminal or an agent with a shell, what is printed for them, and what they are asked.

Vouching for other people's text is reserved to a person. An agent can set and unset variables, so this stops an
honest agent from vouching by mistake, and no other. What a model or a memory says can be hostile, and a terminal obeys
it, so everything printed is made harmless first.
"""

from __future__ import annotations

import io
import json
import os
import re
import shlex
import sys
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TextIO

if TYPE_CHECKING:
    from ..loop.interface import ToolCall, Verdict
    from ..loop.reply import Event

AGENTS: Mapping[str, str] = {
    "CLAUDECODE": "claude-code",
    "CODEX_SANDBOX": "codex",
    "CURSOR_AGENT": "cursor",
    "GEMINI_CLI": "gemini",
    "MEMKIT_AGENT": "",
}
"""Variables that agents set for the programs they start, with the agent's name; the last one carries its own."""
PERSON = "MEMKIT_PERSON"
"""Set to 1 by a host when a person stands behind such a program."""


def prepare_streams() -> None:
    """Replace closed streams by the null device, and use UTF-8 on all of them.

    What cannot be decoded or encoded is written as an escape, so that no text of a store can end a command. A byte
    order mark, which programs of Windows write in front of what they pipe, is no part of the input.
    """
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, Path(os.devnull).open(mode, encoding="utf-8"))  # noqa: SIM115 - open until the end
    for stream in (sys.stdin, sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            encoding = "utf-8-sig" if stream is sys.stdin else "utf-8"
            stream.reconfigure(encoding=encoding, errors="backslashreplace")


def set_results_apart() -> None:
    """Keep standard output for this program's own results: what tools and their programs write there are messages."""
    with suppress(OSError, ValueError):
        place = sys.stdout.fileno()
        own = os.dup(place)
        os.dup2(sys.stderr.fileno(), place)
        sys.stdout = os.fdopen(own, "w", encoding="utf-8", errors="backslashreplace")


def given_arguments() -> list[str]:
    """Return the command line's words as UTF-8, even if the locale says otherwise."""
    return [os.fsencode(word).decode("utf-8", "surrogateescape") for word in sys.argv[1:]]


def agent_at_work() -> str | None:
    """Return the variable showing that an agent, not a person, runs this; None if it may be a person."""
    if os.environ.get(PERSON) == "1" or (_is_terminal(sys.stdin) and _is_terminal(sys.stderr)):
        return None
    return next((name for name in AGENTS if os.environ.get(name)), None)


def writer() -> str:
    """Return who writes memory here, in the form of a record's ``actor``: a person, or an agent by name."""
    variable = agent_at_work()
    if variable is None:
        return "person"
    return f"agent:{AGENTS[variable] or os.environ[variable]}"


def speaker() -> str:
    """Return who writes in a conversation: its agent, or the agent that types in the user's place, by name."""
    who = writer()
    return "agent" if who == "person" else who


def persons_only(deed: str) -> str | None:
    """Return why ``deed`` is refused here, or None if a person may have asked for it."""
    variable = agent_at_work()
    if variable is None:
        return None
    return (
        f"{deed} must be run by a person, but {variable} says that an agent runs this. Run it on a terminal; a host "
        f"acting for a person sets {PERSON}=1."
    )


def _is_terminal(stream: object) -> bool:
    asked = getattr(stream, "isatty", None)
    return asked is not None and bool(asked())


# Text that is safe to print, and the terminal's abilities.

_UNSAFE = {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}
_KEPT = {"\n", "\t"}
_NOTHING = str.maketrans("", "", "\n\t")
_BYTES = range(0xDC80, 0xDD00)
"""Characters that stand for non-UTF-8 bytes in text, as in file names."""


def harmless(text: str) -> str:
    r"""Return ``text`` with every control, invisible and line-forging character escaped.

    Newline and tab stay. Everything else in the Unicode categories Cc, Cf, Cs, Co, Cn, Zl and Zp becomes ``\xNN``,
    ``\uNNNN`` or ``\UNNNNNNNN``, whether or not the output is a terminal, so that logs are safe as well.

    >>> harmless("red: \x1b[31m")
    'red: \\x1b[31m'
    """
    if text.translate(_NOTHING).isprintable():  # stricter than necessary, and fast
        return text
    return "".join(_escaped(char) for char in text)


def one_line(text: str, width: int = 0) -> str:
    """Return ``text`` harmless and on one line, truncated with an ellipsis to ``width`` characters if that is given."""
    line = harmless(" ".join(text.split()))
    if width and len(line) > width:
        return line[: width - 1] + "…"
    return line


def shell_word(text: str) -> str:
    r"""Return ``text`` quoted as one shell word that is safe to print, even if it is not UTF-8.

    >>> print(shell_word("my store"), shell_word("s\udcff"))
    'my store' $'s\xff'
    """
    if text.isprintable():
        return shlex.quote(text)
    quoted = text.replace("\\", "\\\\").replace("'", "\\'").replace("\n", "\\n").replace("\t", "\\t")
    return f"$'{harmless(quoted)}'"


def counted(number: int, noun: str, plural: str = "") -> str:
    """Return a number with its noun.

    >>> counted(1, "policy", "policies"), counted(10_000, "change")
    ('1 policy', '10,000 changes')
    """
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"


def listed(names: Sequence[str], most: int = 20) -> str:
    """Return the names as a list in words; if there are too many, the first ones and the number of the rest.

    >>> listed(["a", "b", "c"], most=2)
    'a, b and 1 more'
    """
    rest = f" and {len(names) - most:,} more" if len(names) > most else ""
    return ", ".join(names[:most]) + rest


def is_unsafe(char: str) -> bool:
    """Return whether a terminal could obey, hide or reorder ``char``; newline and tab are safe."""
    return char not in _KEPT and unicodedata.category(char) in _UNSAFE


def _escaped(char: str) -> str:
    if not is_unsafe(char):
        return char
    code = ord(char)
    if code in _BYTES:
        return f"\\x{code - 0xDC00:02x}"
    if code < 0x100:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def tainted(origins: Sequence[str]) -> str:
    """Return, for a person, which origins may have steered a text; empty if it is clean.

    >>> tainted(["tool:web", "https://a.example"])
    'from outside: tool:web, https://a.example'
    """
    more = [f"{len(origins) - 2} more"] if len(origins) > 3 else []
    named = [one_line(origin, 60) for origin in origins]
    return f"from outside: {', '.join([*named[:2], *more] if more else named)}" if named else ""


def is_able_terminal(stream: TextIO | None = None) -> bool:
    """Return whether standard output, or ``stream``, is a terminal that can do more than print lines.

    A screen reader (``ACCESSIBLE``) reads lines; it would read redrawn output again and again.
    """
    able = (os.environ.get("TERM") or "dumb") not in ("dumb", "unknown") and not os.environ.get("ACCESSIBLE")
    return able and (stream or sys.stdout).isatty()


def is_drawn(stream: TextIO | None = None) -> bool:
    """Return whether rows are drawn rather than written in the form for pipes."""
    return is_able_terminal(stream) or bool(os.environ.get("FORCE_COLOR"))


def is_coloured(stream: TextIO | None = None) -> bool:
    """Return whether output to the stream may be coloured."""
    return is_drawn(stream) and not os.environ.get("NO_COLOR")


COLUMN = re.compile(r"\s*\S.*?\s{2,}(?=\S)")
"""Everything before the last column of a line, identified by the gap after it."""


def fitted(text: str) -> str:
    """Return ``text`` wrapped for the terminal; unchanged for a file or a pipe."""
    if not sys.stdout.isatty():
        return text
    import shutil

    width = shutil.get_terminal_size().columns
    return "\n".join(broken(line, width) for line in text.split("\n"))


def broken(line: str, width: int) -> str:
    """Break a line into pieces of at most ``width`` characters; continuations are aligned with its second column.

    A longer word is not split, so that it can be copied.

    >>> print(broken("/core  Show core memory.", 20))
    /core  Show core
           memory.
    """
    if len(line) <= width:
        return line
    column = COLUMN.match(line)
    if column and len(column[0]) <= width // 2:
        first, below = column[0], " " * len(column[0])
    else:
        first = line[: len(line) - len(line.lstrip())]
        below = f"{first}  "
    import textwrap

    pieces = textwrap.wrap(
        line[len(first) :],
        width,
        initial_indent=first,
        subsequent_indent=below,
        break_long_words=False,
        break_on_hyphens=False,
    )
    return "\n".join(pieces)


# Printing for a person, and asking them.


class Streams(NamedTuple):
    """The streams of a run."""

    given: TextIO
    result: TextIO
    messages: TextIO

    @property
    def interactive(self) -> bool:
        """Return whether a person is at the other end."""
        return _is_terminal(self.given) and _is_terminal(self.messages)


WAIT = 3.0
"""Seconds within which a pipe given besides the words must deliver; programs often leave one open unused."""
MOST = 1_000_000
"""The most characters read from it."""


def beside(given: TextIO, tell: Callable[[str], None]) -> str:
    """Return what a pipe or a file brings besides the given words; empty for a terminal or a silent pipe."""
    if _is_terminal(given):
        return ""  # what a person types there answers questions
    import select
    import stat

    try:
        descriptor = given.fileno()
    except (AttributeError, OSError, ValueError):
        with suppress(AttributeError, OSError, ValueError):
            return _beginning(given, tell)  # a stream of the program itself
        return ""
    mode = os.fstat(descriptor).st_mode
    if not (stat.S_ISFIFO(mode) or stat.S_ISREG(mode) or stat.S_ISSOCK(mode)):
        return ""
    if not select.select([descriptor], [], [], WAIT)[0]:
        tell(f"Nothing came on standard input within {WAIT:.0f} seconds; continuing without it.")
        return ""
    return _beginning(given, tell)


def _beginning(given: TextIO, tell: Callable[[str], None]) -> str:
    text = given.read(MOST)
    if len(text) == MOST and given.read(1):
        tell(f"Only the first {MOST:,} characters of standard input were read.")
    return text


class Questions:
    """Asks the person at the terminal."""

    def __init__(self, given: TextIO, messages: TextIO) -> None:
        self._given = given
        self._messages = messages

    def approve(self, name: str, args: Mapping[str, Any], verdict: Verdict) -> bool:
        """Return whether a call that a policy holds back may run."""
        finding = verdict.deciding
        why = f" ({finding.name}: {finding.reason})" if finding is not None else ""
        return self.confirmed(f"Run {_shown(name, args)}?{why}")

    def settle(self, call: ToolCall) -> str:
        """Return what became of an interrupted call, or what is to be done with it.

        Raises:
            TurnLeft: Nobody is answering any more, so the turn stays as it is.
        """
        from ..loop.journal import DONE, LEAVE, RUN
        from ..loop.journal_file import TurnLeft

        outcomes = {"d": DONE, "done": DONE, "r": RUN, "run": RUN, "l": LEAVE, "leave": LEAVE, "": LEAVE}
        question = f"{_shown(call.name, call.args)} was running when the program was interrupted; it may have finished."
        while True:
            line = self._answer(f"{question}\nd: it was done, r: run it (once more), l: leave it [l] ")
            if not line.endswith("\n"):
                raise TurnLeft("The turn stays unfinished. You will be asked again when the session resumes.")
            if (answer := line.strip().lower()) in outcomes:
                return outcomes[answer]
            question = "Please answer with one of these letters."

    def confirmed(self, question: str) -> bool:
        """Return whether the person says yes."""
        return self._answer(f"{question} [y/N] ").strip().lower() in {"y", "yes"}

    def _answer(self, question: str) -> str:
        print(harmless(question), end="", file=self._messages, flush=True)
        return self._given.readline()


def _shown(name: str, args: Mapping[str, Any] | str) -> str:
    return f"{name} with {args if isinstance(args, str) else json.dumps(dict(args), ensure_ascii=False)}"


class Showing:
    """Shows a conversation's turns; the answer of a model that does not stream appears at the end of its turn."""

    def __init__(self, result: TextIO) -> None:
        self._result = result
        self._shown = ""
        """The part of the model's current answer that has been shown."""

    def __call__(self, event: Event) -> None:
        """Show the text that an event carries."""
        if event.kind == "text":
            self._shown += event.data["delta"]
            print(harmless(event.data["delta"]), end="", file=self._result, flush=True)
        elif event.kind == "model_answered" and event.data["tool_calls"]:
            self._end_line()

    def settle(self, message: str) -> None:
        """Show the part of the complete message that has not been shown yet."""
        said = self._shown.strip()
        if not message.startswith(said):
            self._end_line()
            said = ""
        rest = message[len(said) :]
        self._shown = ""
        print(harmless(rest), file=self._result, flush=True)

    def _end_line(self) -> None:
        if self._shown.strip():
            print(file=self._result, flush=True)
        self._shown = ""
