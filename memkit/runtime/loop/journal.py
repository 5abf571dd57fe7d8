"""The journal of a session: what its open turn said, answered and did, so that a killed turn can continue.

A turn's words are on disk before the model is asked, a call with side effects before it begins, and its result
before the next step. The session file closes the turn. A later process replays an open turn: answers and results
come from the journal, and only the steps that were not reached are done.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from types import MappingProxyType
from typing import Any, NamedTuple

from .interface import JSON, CallData, CallKey, Completion, Settle, ToolCall, TurnJournal
from .journal_file import Entry, JournalError, JournalFile, damaged
from .reply import AgentResponse
from .tools import Tools


class OpenTurn(NamedTuple):
    """A turn that was opened but not closed, as recorded in its journal."""

    turn_id: int
    text: str | None
    """The user's or the program's words; None if nobody spoke."""
    by_user: bool
    opened_at: datetime
    last_step_at: datetime
    moment: int
    """When it was opened, in milliseconds since 1970, by the clock that also makes ids."""
    answers: tuple[Completion, ...] = ()
    """The model's answers so far, in order."""
    finished: Mapping[str, Entry] = MappingProxyType({})
    """The results of calls, by call id."""
    started: frozenset[str] = frozenset()
    """Ids of the calls that began."""
    masked: frozenset[str] = frozenset()
    """Ids of the calls whose arguments differ from those the model gave."""


class SessionJournal(TurnJournal):
    """Keeps the turns of one session, as long as its user agrees to that."""

    def __init__(
        self,
        file: JournalFile,
        *,
        session: str,
        is_kept: Callable[[], bool],
        save: Callable[[], bool],
        clock: Callable[[], datetime],
        new_moment: Callable[[], int],
        stamp: Mapping[str, JSON] | None = None,
        masked: Callable[[Any], Any] = lambda value: value,
    ) -> None:
        """Keep the turns of ``session`` in ``file``.

        Args:
            file: The journal file.
            session: The session's name, used in the keys of its calls.
            is_kept: Returns whether anything of the session may be stored now.
            save: Saves the session as it stands, which closes the turn; returns False if that is not possible now.
            clock: Returns the current time.
            new_moment: Returns the current time in milliseconds, for ids.
            stamp: Fields that every line carries, such as the user.
            masked: Hides secrets in a value.
        """
        self._file = file
        self._session = session
        self._is_kept = is_kept
        self._save = save
        self._clock = clock
        self._new_moment = new_moment
        self._stamp = dict(stamp or {})
        self._masked = masked
        self._moment: int | None = None
        """When the open turn began; None if none is open or the user has not agreed to keep it."""
        self._replayed: OpenTurn | None = None
        self._answers_left: list[Completion] = []

    @property
    def is_open(self) -> bool:
        """Return whether a kept turn is open."""
        return self._moment is not None

    # --- the turn as it runs

    def opened(self, turn_id: int, text: str | None, *, by_user: bool) -> None:
        """Store the words that open a turn; return when they are on disk."""
        if self._replayed is not None and self._replayed.turn_id == turn_id:
            return
        self._end()
        if not self._is_kept():
            return
        self._file.hold()
        moment = self._new_moment()
        self._file.begin(self._entry("opened", turn_id=turn_id, text=text, by_user=by_user, moment=moment))
        self._moment = moment

    def recorded_answer(self) -> Completion | None:
        """Return, once, the model's answer from before the turn was cut off; None if the model has to be asked."""
        return self._answers_left.pop(0) if self._answers_left else None

    def answered(self, completion: Completion) -> None:
        """Store the model's answer; it is on disk before any call begins that cannot be repeated."""
        calls = [_call_data(call, self._masked) for call in completion.tool_calls]
        self._append("answered", said=completion.text, calls=calls, usage=dict(completion.usage))

    def recorded_outcome(self, call_id: str) -> Entry | None:
        """Return a call's result from before the turn was cut off, with its books; None if it has none."""
        return None if self._replayed is None else self._replayed.finished.get(call_id)

    def is_in_doubt(self, call_id: str) -> bool:
        """Return whether a call had begun when the turn was cut off, so that its outcome is unknown."""
        return self._replayed is not None and call_id in self._replayed.started

    def is_masked(self, call_id: str) -> bool:
        """Return whether the arguments of such a turn's call differ from those the model gave, as they were masked."""
        return self._replayed is not None and call_id in self._replayed.masked

    def key_of(self, call_id: str) -> CallKey | None:
        """Return the key under which a call is made: the same one whenever the turn is replayed."""
        if self._moment is None:
            return None
        turn, _, number = call_id.removeprefix("call-").partition("-")
        return CallKey(f"{self._session}/{turn}/{number}", self._moment, int(number))

    def started(self, call: CallData, *, may_repeat: bool) -> None:
        """Store that a call begins; return when that is on disk, unless the call may simply be repeated."""
        self._append("started", sync=not may_repeat, call=call["id"])

    def finished(
        self, call_id: str, text: str, error: bool, *, may_repeat: bool, books: Mapping[str, JSON] | None = None
    ) -> None:
        """Store the result of a call and its entries in the books of the turn."""
        values = {"call": call_id, "result": text, "error": error, "books": dict(books or {})}
        self._append("finished", sync=not may_repeat, is_done=True, **values)

    def closed(self) -> None:
        """Save the session, which holds the whole turn, or leave nothing if its user no longer agrees."""
        if not self._is_kept():
            if self._file.is_held:
                self._file.wipe()
        elif self._save():
            with suppress(JournalError):  # the session reports this as well
                self._append("closed")
        self._end()

    # --- the turn that an earlier process left

    def hold(self) -> None:
        """Lock other processes out of the session, if it is kept; raise ``SessionInUse`` if one is using it."""
        if self._is_kept():
            self._file.hold()

    def pending(self, turns: int | None) -> OpenTurn | None:
        """Return the turn that was cut off, if any; ``turns`` is how many the session file has, None without a file.

        Raises:
            SessionInUse: Another process has the session open.
            JournalError: The journal is damaged.
        """
        if not self._is_kept():
            return None
        self._file.hold()
        try:
            entries = self._file.entries()
            left = None if _is_over(entries, turns) else open_turn(entries)
        except JournalError:
            self._file.close()
            raise
        except ValueError:
            self._file.close()
            raise damaged(self._file.path, is_sealed=any("sealed" in entry for entry in entries)) from None
        return left

    def replay(self, turn: OpenTurn) -> None:
        """Let ``turn`` continue: recorded steps are not repeated."""
        self._replayed, self._answers_left, self._moment = turn, list(turn.answers), turn.moment

    def close(self) -> None:
        """Let other processes use the session."""
        self._end()
        self._file.close()

    def _end(self) -> None:
        self._moment, self._replayed, self._answers_left = None, None, []

    def _append(self, operation: str, *, sync: bool = False, is_done: bool = False, **values: JSON) -> None:
        if self._moment is not None:
            self._file.append(self._entry(operation, **values), sync=sync, is_done=is_done)

    def _entry(self, operation: str, **values: JSON) -> Entry:
        return {"op": operation, "at": self._clock().isoformat(), **self._stamp, **self._masked(values)}


def _is_over(entries: Sequence[Entry], turns: int | None) -> bool:
    """Return whether the session already holds the turn of these lines; errors in such a turn are harmless."""
    if turns is None:
        return bool(entries) and entries[-1]["op"] == "closed"
    numbers = [entry.get("turn_id") for entry in entries if entry["op"] == "opened"]
    return bool(numbers) and isinstance(numbers[-1], int) and numbers[-1] <= turns


def open_turn(entries: Sequence[Entry]) -> OpenTurn | None:
    """Return the turn that a journal's lines opened last; raise ``ValueError`` if they make no sense."""
    places = [place for place, entry in enumerate(entries) if entry["op"] == "opened"]
    if not places:
        return None
    opened, steps = entries[places[-1]], entries[places[-1] + 1 :]
    try:
        turn = _turn_of(opened, steps)
    except (KeyError, TypeError, AttributeError, OverflowError) as error:
        raise ValueError(str(error)) from None
    has_zones = all(at.utcoffset() is not None for at in (turn.opened_at, turn.last_step_at))
    if not (has_zones and isinstance(turn.text, str | None) and all(map(_is_outcome, turn.finished.values()))):
        raise ValueError("A time has no zone, a text is missing, or a call has no outcome.")
    return turn


def _turn_of(opened: Entry, steps: Sequence[Entry]) -> OpenTurn:
    answered = [entry for entry in steps if entry["op"] == "answered"]
    calls = [call for entry in answered for call in entry["calls"]]
    return OpenTurn(
        turn_id=int(opened["turn_id"]),
        text=opened["text"],
        by_user=bool(opened["by_user"]),
        opened_at=datetime.fromisoformat(opened["at"]),
        last_step_at=datetime.fromisoformat((steps or [opened])[-1]["at"]),
        moment=int(opened["moment"]),
        answers=tuple(map(_completion, answered)),
        finished={str(entry["call"]): entry for entry in steps if entry["op"] == "finished"},
        started=frozenset(str(entry["call"]) for entry in steps if entry["op"] == "started"),
        masked=frozenset(str(call["id"]) for call in calls if call["masked"]),
    )


def _completion(entry: Entry) -> Completion:
    calls = tuple(ToolCall(call["id"], call["name"], call["args"]) for call in entry["calls"])
    texts = [entry["said"], *(text for call in calls for text in (call.id, call.name))]
    counts = entry["usage"].values()
    if not all(isinstance(text, str) for text in texts) or not all(type(count) is int for count in counts):
        raise TypeError("An answer of a model is malformed.")
    if not all(isinstance(call.args, str | dict) for call in calls):
        raise TypeError("The arguments of a call are malformed.")
    return Completion(entry["said"], calls, entry["usage"])


def _is_outcome(entry: Entry) -> bool:
    """Return whether a line holds the result of a call, with its part of the books, if any."""
    books = entry.get("books")
    return (
        {"result", "error"} <= entry.keys()
        and isinstance(books, dict)
        and (not books or all(isinstance(books.get(key), list) for key in ("calls", "operations", "policy")))
        and (not books or ("plan" in books and isinstance(books.get("taint", []), list)))
    )


def _call_data(call: ToolCall, masked: Callable[[Any], Any]) -> dict[str, JSON]:
    args = call.args if isinstance(call.args, str) else dict(call.args)
    return {"id": call.id, "name": call.name, "args": args, "masked": masked(args) != args}


# The fate of a turn that was cut off, once its session continues.

EXCERPT = 60
"""Characters shown of the words that opened it."""


class Resumed(NamedTuple):
    """The fate of a turn that was cut off."""

    turn: OpenTurn
    reply: AgentResponse | None = None
    """None if the turn does not continue and was set aside."""
    is_kept: bool = True
    """False if even now its end could not be written to disk."""
    remark: str = ""
    """A further remark on the reply."""

    def to_data(self) -> dict[str, JSON]:
        """Return it as data of a conversation."""
        at = self.turn.opened_at.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
        told: dict[str, JSON] = {"turn": self.turn.turn_id, "at": at, "text": self.turn.text}
        if self.reply is None:
            return {**told, "message": None, "tool_calls": [], "memory_operations": [], "set_aside": True}
        done = {key: self.reply.data[key] for key in ("message", "tool_calls", "memory_operations")}
        return {**told, **done, "set_aside": False}

    @property
    def line(self) -> str:
        """Return it as a line for a person."""
        said = f" (“{_short(self.turn.text)}”)" if self.turn.text else ""
        when = f"{self.turn.opened_at:%Y-%m-%d %H:%M} UTC"
        if self.reply is not None and self.turn.answers and not self.turn.answers[-1].tool_calls:
            now = "It is saved now." if self.is_kept else "It still cannot be saved."
            return f"The turn of {when}{said} was interrupted before it was saved. {now} {self.remark}".rstrip()
        if self.reply is not None:
            now = "It is finished now." if self.is_kept else "It is finished now, but cannot be saved yet."
            return f"The turn of {when}{said} was interrupted. {now} {self.remark}".rstrip()
        return f"An unfinished turn of {when}{said} is set aside. {done_in(self.turn)}"


def done_in(turn: OpenTurn) -> str:
    """Return which calls of a turn were carried out, and which may have been."""
    calls = [call for answer in turn.answers for call in answer.tool_calls]
    done = [call.name for call in calls if call.id in turn.finished]
    unknown = [call.name for call in calls if call.id in turn.started and call.id not in turn.finished]
    told = f"Done in it: {', '.join(done)}." if done else "Nothing was done in it."
    return f"{told} Of unknown outcome: {', '.join(unknown)}." if unknown else told


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= EXCERPT else f"{line[: EXCERPT - 1]}…"


# The calls of a turn as its journal sees them: what is stored of each, and how interrupted ones are resolved.

DONE, RUN, LEAVE = "done", "run", "leave"
"""A person's answers about a call of unknown outcome."""

UNKNOWN = (
    "Outcome unknown: this call had begun when the program was cut off, and it is not run again. "
    "Say so; do not call it again before the user has looked."
)
TOLD_DONE = "Done: the user has looked, and it was carried out before the program was cut off. Its result is not here."
LEFT = "Outcome unknown: the program was cut off in this call, and the user wants it left as it is. Do not repeat it."
SECRET = "Not run: its arguments held something secret, which is not kept when the program is cut off."


class JournalledCalls:
    """Stores the calls of a turn in its journal, and resolves those that an earlier process made."""

    def __init__(self, journal: TurnJournal, toolbox: Tools, settle: Settle | None) -> None:
        self._journal = journal
        self._toolbox = toolbox
        self._settle = settle
        self._place = toolbox.books.ledger.place()

    def recorded(self, call: ToolCall) -> tuple[str, bool] | None:
        """Return a call's result from before the turn was cut off, and enter it into the books; None if it has none."""
        self._place = self._toolbox.books.ledger.place()
        found = self._journal.recorded_outcome(call.id)
        if found is None:
            return None
        if found["books"]:
            self._toolbox.books.take_over(found["books"])
        if not found["error"]:
            self._toolbox.play_again(call.name, call.args)
        return str(found["result"]), bool(found["error"])

    def objection(self, call: ToolCall) -> str | None:
        """Return, for the model, why a call of an interrupted turn is not run, or None if it may run."""
        if self._journal.is_in_doubt(call.id) and not self._toolbox.may_repeat(call.name):
            answer = self._settle(call) if self._settle is not None else None
            if answer != RUN:
                return {DONE: TOLD_DONE, LEAVE: LEFT}.get(answer or "", UNKNOWN)
        # Masked arguments are not the ones that were meant.
        return SECRET if self._journal.is_masked(call.id) else None

    def started(self, call: CallData) -> None:
        """Store that a call begins."""
        self._journal.started(call, may_repeat=self._toolbox.may_repeat(call["name"]))

    def finished(self, call: ToolCall, text: str, error: bool) -> None:
        """Store the result of a call, with its part of the books."""
        books, may_repeat = self._toolbox.books.ledger.since(self._place), self._toolbox.may_repeat(call.name)
        self._journal.finished(call.id, text, error, may_repeat=may_repeat, books=books)
