"""The other end: a person at a terminal or an agent with a shell, what is printed for them, and what a person is asked.

What vouches for text of others takes a person. An agent can set and unset variables, so this keeps an honest one from
vouching by mistake, and no other. What a model or a memory says can be hostile, and a terminal obeys it, so nothing is
printed but as harmless text.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import sys
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
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
"""Variables that agents set for the programs they start, and who that is; the last one says its name itself."""
PERSON = "MEMKIT_PERSON"
"""What a host sets to 1 where a person stands behind such a program."""


def agent_at_work() -> str | None:
    """Return the variable that says that an agent runs this and no person; None where a person may."""
    if os.environ.get(PERSON) == "1" or (_is_terminal(sys.stdin) and _is_terminal(sys.stderr)):
        return None
    return next((name for name in AGENTS if os.environ.get(name)), None)


def writer() -> str:
    """Return who writes memory here, as a record's ``actor`` says it: a person, or an agent by its name."""
    variable = agent_at_work()
    if variable is None:
        return "person"
    return f"agent:{AGENTS[variable] or os.environ[variable]}"


def speaker() -> str:
    """Return who writes in a conversation: its agent; or the agent that types in the user's place, by its name."""
    who = writer()
    return "agent" if who == "person" else who


def persons_only(deed: str) -> str | None:
    """Return why ``deed`` is not done here, or None where a person may have asked for it."""
    variable = agent_at_work()
    if variable is None:
        return None
    return (
        f"{deed} is a person's word, and {variable} says that an agent runs this. Let a person run it on a terminal; "
        f"a host that speaks for one sets {PERSON}=1."
    )


def _is_terminal(stream: object) -> bool:
    asked = getattr(stream, "isatty", None)
    return asked is not None and bool(asked())


# Text that is safe to print, and what a terminal can show.

_UNSAFE = {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}
_KEPT = {"\n", "\t"}
_NOTHING = str.maketrans("", "", "\n\t")
_BYTES = range(0xDC80, 0xDD00)
"""What stands in text for a byte that is no UTF-8, as in the name of a file."""


def harmless(text: str) -> str:
    r"""Return ``text`` with every control, invisible and line-forging character written as an escape.

    Newline and tab stay. Everything else in the Unicode categories Cc, Cf, Cs, Co, Cn, Zl and Zp becomes ``\xNN``,
    ``\uNNNN`` or ``\UNNNNNNNN``, whether or not the output is a terminal, so that logs are safe as well.

    >>> harmless("red: \x1b[31m")
    'red: \\x1b[31m'
    """
    if text.translate(_NOTHING).isprintable():  # true of less than what is safe, and fast
        return text
    return "".join(_escaped(char) for char in text)


def one_line(text: str, width: int = 0) -> str:
    """Return ``text`` harmless and on one line, cut with an ellipsis to ``width`` characters where one is given."""
    line = harmless(" ".join(text.split()))
    if width and len(line) > width:
        return line[: width - 1] + "…"
    return line


def shell_word(text: str) -> str:
    r"""Return ``text`` as a shell takes it for one word that is safe to print, also where it is not UTF-8.

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
    """Return names in a row, of many the first ones and how many there are besides.

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
    """Return how a person is told what may have steered a text; nothing where it is clean.

    >>> tainted(["tool:web", "https://a.example"])
    'from outside: tool:web, https://a.example'
    """
    more = [f"{len(origins) - 2} more"] if len(origins) > 3 else []
    named = [one_line(origin, 60) for origin in origins]
    return f"from outside: {', '.join([*named[:2], *more] if more else named)}" if named else ""


def is_able_terminal(stream: TextIO | None = None) -> bool:
    """Return whether standard output, or ``stream``, is a terminal on which more can be done than print lines.

    A screen reader (``ACCESSIBLE``) reads lines; what is drawn anew it would read again and again.
    """
    able = (os.environ.get("TERM") or "dumb") not in ("dumb", "unknown") and not os.environ.get("ACCESSIBLE")
    return able and (stream or sys.stdout).isatty()


def is_drawn(stream: TextIO | None = None) -> bool:
    """Return whether rows are drawn, and not written as a pipe gets them."""
    return is_able_terminal(stream) or bool(os.environ.get("FORCE_COLOR"))


def is_coloured(stream: TextIO | None = None) -> bool:
    """Return whether what is written there may have colours."""
    return is_drawn(stream) and not os.environ.get("NO_COLOR")


COLUMN = re.compile(r"\s*\S.*?\s{2,}(?=\S)")
"""What stands before the last column of a line, by the gap behind it."""


def fitted(text: str) -> str:
    """Return ``text`` as the terminal shows it best; unchanged where it goes into a file or a pipe."""
    if not sys.stdout.isatty():
        return text
    import shutil

    width = shutil.get_terminal_size().columns
    return "\n".join(broken(line, width) for line in text.split("\n"))


def broken(line: str, width: int) -> str:
    """Return a line in pieces of at most ``width`` characters, what follows the first below its second column.

    A word that is longer stays whole, so that it can be copied.

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


# What is printed for a person, and what they are asked.


class Streams(NamedTuple):
    """Where a run reads and writes."""

    given: TextIO
    result: TextIO
    messages: TextIO

    @property
    def interactive(self) -> bool:
        """Return whether a person sits at the other end."""
        return _is_terminal(self.given) and _is_terminal(self.messages)


WAIT = 3.0
"""Seconds in which a pipe beside the words has to bring something; a program may leave one open for nothing."""
MOST = 1_000_000
"""Characters of it."""


def beside(given: TextIO, tell: Callable[[str], None]) -> str:
    """Return what a pipe or a file brings beside the words given; nothing from a terminal or a silent pipe."""
    if _is_terminal(given):
        return ""  # what a person types there answers questions
    import select
    import stat

    try:
        descriptor = given.fileno()
    except (AttributeError, OSError, ValueError):
        with suppress(AttributeError, OSError, ValueError):
            return given.read(MOST)  # a stream of the program itself
        return ""
    mode = os.fstat(descriptor).st_mode
    if not (stat.S_ISFIFO(mode) or stat.S_ISREG(mode) or stat.S_ISSOCK(mode)):
        return ""
    if not select.select([descriptor], [], [], WAIT)[0]:
        tell(f"Nothing came on standard input within {WAIT:.0f} seconds; going on without it.")
        return ""
    return given.read(MOST)


class Questions:
    """Asks whoever sits at a terminal."""

    def __init__(self, given: TextIO, messages: TextIO) -> None:
        self._given = given
        self._messages = messages

    def approve(self, name: str, args: Mapping[str, Any], verdict: Verdict) -> bool:
        """Return whether a call that a policy holds back may run."""
        finding = verdict.deciding
        why = f" ({finding.name}: {finding.reason})" if finding is not None else ""
        return self.confirmed(f"Run {_shown(name, args)}?{why}")

    def settle(self, call: ToolCall) -> str:
        """Return what became of a call that was cut off, or what is to become of it.

        Raises:
            TurnLeft: Nobody answers any more, so the turn stays as it is.
        """
        from ..loop.journal import DONE, LEAVE, RUN
        from ..loop.journal_file import TurnLeft

        outcomes = {"d": DONE, "done": DONE, "r": RUN, "run": RUN, "l": LEAVE, "leave": LEAVE, "": LEAVE}
        question = (
            f"{_shown(call.name, call.args)} had begun when the program was cut off; it may have been carried out."
        )
        while True:
            line = self._answer(f"{question}\nd: it was done, r: run it (once more), l: leave it [l] ")
            if not line.endswith("\n"):
                raise TurnLeft("The turn stays unfinished. You are asked again when the session goes on.")
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
    """Listens to the turns of a conversation; a model that does not stream is shown when its turn is over."""

    def __init__(self, result: TextIO) -> None:
        self._result = result
        self._shown = ""
        """What was shown of the model's present answer."""

    def __call__(self, event: Event) -> None:
        """Show the text that an event brings."""
        if event.kind == "text":
            self._shown += event.data["delta"]
            print(harmless(event.data["delta"]), end="", file=self._result, flush=True)
        elif event.kind == "model_answered" and event.data["tool_calls"]:
            self._end_line()

    def settle(self, message: str) -> None:
        """Show of the whole message what was not shown while it came."""
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
