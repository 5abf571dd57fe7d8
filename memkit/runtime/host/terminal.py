"""The other end: a person at a terminal or an agent with a shell, what is printed for them, and what a person is asked.

What vouches for text of others takes a person. An agent can set and unset variables, so this keeps an honest one from
vouching by mistake, and no other. What a model or a memory says can be hostile, and a terminal obeys it, so nothing is
printed but as harmless text.
"""

from __future__ import annotations

import json
import os
import sys
import unicodedata
from collections.abc import Callable, Mapping
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
_UNSAFE = {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}


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


def harmless(text: str) -> str:
    """Return ``text`` with every control and invisible character but newline and tab written as an escape."""
    return "".join(_escaped(character) for character in text)


def _escaped(character: str) -> str:
    if character in "\n\t" or unicodedata.category(character) not in _UNSAFE:
        return character
    return character.encode("unicode_escape", "surrogatepass").decode("ascii")


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
