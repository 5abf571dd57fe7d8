"""What happens in a turn, told to a listener while it happens."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from types import TracebackType

from .interface import JSON


@dataclass(frozen=True)
class Event:
    """One thing that happened."""

    kind: str
    """turn_opened | recalled | model_asked | text | model_answered | call_started | call_finished | paged_out |
    paged_in | noted | chore | turn_closed"""
    data: Mapping[str, JSON]
    """Plain JSON, by kind:

    - turn_opened: ``{turn, text, intent}``; the text is None where no user speaks
    - recalled: ``{blocks: [{tier, ids}]}``
    - model_asked: ``{request, messages, tools}``, three numbers
    - text: ``{delta}``, in order; what ``model_answered`` says afterwards is the truth
    - model_answered: ``{text, tool_calls: [{id, name, args}], usage: {input, output}}``
    - call_started: ``{id, name, args}``; call_finished: ``{id, name, text, error}``
    - paged_out: ``{messages, tokens, summary}``
    - paged_in, chore, noted: the memory operation as the report of the turn has it
    - turn_closed: ``{message, citations, ended}``, or ``{error}`` where the turn failed
    """


Listener = Callable[[Event], None]
"""Is told of every event and never asked; it may be called from the thread that a tool runs in."""


class Announcements:
    """Tells a listener, whose own errors end nothing: the first is raised when the turn is over."""

    def __init__(self, listen: Listener | None = None) -> None:
        self._listen = listen
        self._fault: Exception | None = None

    @property
    def has_listener(self) -> bool:
        """Return whether anybody listens."""
        return self._listen is not None

    @contextmanager
    def heard_by(self, listen: Listener) -> Iterator[None]:
        """Tell another one too, as long as the block lasts."""
        before = self._listen

        def both(event: Event) -> None:
            if before is not None:
                before(event)
            listen(event)

        self._listen = both
        try:
            yield
        finally:
            self._listen = before

    def tell(self, kind: str, **data: JSON) -> None:
        """Tell the listener, unless it failed before in this turn."""
        if self._listen is not None and self._fault is None:
            with self:
                self._listen(Event(kind, data))

    def tell_operation(self, operation: Mapping[str, JSON]) -> None:
        """Tell a memory operation; what was paged out is told by whoever knows what it left behind."""
        if operation["op"] != "page_out":
            kind = "paged_in" if operation.get("paged_in") else "chore" if operation["op"] == "chore" else "noted"
            self.tell(kind, **operation)

    def begin_turn(self) -> None:
        """Forget an error of a turn that failed itself."""
        self._fault = None

    def end_turn(self) -> None:
        """Raise the error that the listener made."""
        fault, self._fault = self._fault, None
        if fault is not None:
            raise fault

    def __enter__(self) -> Announcements:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool:
        if not isinstance(error, Exception):
            return False
        self._fault = error
        return True
