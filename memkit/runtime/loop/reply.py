"""Values that pass between the steps of a turn, and the events announced along the way."""

from __future__ import annotations

import contextvars
import re
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

from .interface import JSON, Approval, Settle


@dataclass(frozen=True)
class Event:
    """One thing that happened in a turn.

    >>> told = []
    >>> agent = MemGPTAgent(llm_client=lambda messages: "It is noon.", host=Host(listen=told.append))
    >>> _ = agent.step("What time is it?")
    >>> told[0].kind, told[0].data["text"]
    ('turn_opened', 'What time is it?')
    """

    kind: str
    """turn_opened | recalled | model_asked | text | model_answered | call_started | call_finished | paged_out |
    paged_in | noted | chore | turn_closed"""
    data: Mapping[str, JSON]
    """Plain JSON, by kind:

    - turn_opened: ``{turn, text, intent}``; the text is None if no user speaks
    - recalled: ``{blocks: [{tier, ids}]}``
    - model_asked: ``{request, messages, tools}``, three numbers
    - text: ``{delta}``, in order; ``model_answered`` later holds the authoritative text
    - model_answered: ``{text, tool_calls: [{id, name, args}], usage: {input, output}}``
    - call_started: ``{id, name, args}``; call_finished: ``{id, name, text, error}``
    - paged_out: ``{messages, tokens, summary}``
    - paged_in, chore, noted: the memory operation as in the report of the turn
    - turn_closed: ``{message, citations, ended}``, or ``{error}`` if the turn failed
    """


Listener = Callable[[Event], None]
"""Is sent every event and returns nothing; it may be called from the thread that a tool runs in."""


class Announcements:
    """Notifies listeners; their own errors interrupt nothing: the first is raised when the turn is over."""

    def __init__(self, listen: Listener | None = None, watch: Listener | None = None) -> None:
        self._listen = listen
        self._watch = watch
        self._fault: Exception | None = None

    @property
    def has_listener(self) -> bool:
        """Return whether there is a listener."""
        return self._listen is not None

    @contextmanager
    def heard_by(self, listen: Listener) -> Iterator[None]:
        """Notify another listener for the duration of the block."""
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
        """Notify the listener, unless it has failed in this turn."""
        if self._watch is not None:
            self._watch(Event(kind, data))
        if self._listen is not None and self._fault is None:
            try:
                self._listen(Event(kind, data))
            except Exception as fault:  # noqa: BLE001 - it is the listener's own, and told when the turn is over
                self._fault = fault

    def tell_operation(self, operation: Mapping[str, JSON]) -> None:
        """Announce a memory operation; paged-out messages are announced by the code that knows their summary."""
        if operation["op"] != "page_out":
            kind = "paged_in" if operation.get("paged_in") else "chore" if operation["op"] == "chore" else "noted"
            self.tell(kind, **operation)

    def begin_turn(self) -> None:
        """Discard a listener error from a turn that itself failed."""
        self._fault = None

    def end_turn(self) -> None:
        """Raise the error that a listener caused."""
        fault, self._fault = self._fault, None
        if fault is not None:
            raise fault


QUESTION = re.compile(
    r"\?\s*$|^\s*(who|what|where|when|why|which|how|do|does|did|is|are|am|can|could|tell me)\b", re.IGNORECASE
)
SMALL_TALK = re.compile(
    r"^\s*(hi|hello|hey|thanks|thank you|bye|good (morning|evening|night)|ok(ay)?)\b", re.IGNORECASE
)


IDLE = "idle"
"""The kind of a heartbeat that has nothing for the model to do."""


@dataclass(frozen=True)
class Intent:
    """How the loop classifies the user's words before it consults memory.

    >>> class Curt(Turn):
    ...     def act(self, intent):
    ...         return Reply(f"That is {intent.kind}.")
    >>> class CurtAgent(MemGPTAgent):
    ...     turn_class = Curt
    >>> agent = CurtAgent()
    >>> [agent.step(words).message for words in ("Thanks!", "What is my dog called?")]
    ['That is small_talk.', 'That is question.']
    """

    kind: str
    """question | statement | small_talk | heartbeat | idle"""
    recall: bool
    """Whether standing constraints and warnings are looked up for it."""
    query: str = ""

    @property
    def is_idle(self) -> bool:
        """Return whether there is nothing for the model to do."""
        return self.kind == IDLE


@dataclass(frozen=True)
class Reply:
    """The result of the model and its tools in a turn.

    >>> class Polite(Turn):
    ...     def act(self, intent):
    ...         return Reply("You are welcome.") if intent.kind == "small_talk" else super().act(intent)
    >>> class PoliteAgent(MemGPTAgent):
    ...     turn_class = Polite
    >>> PoliteAgent(llm_client=lambda messages: "It is noon.").step("Thanks!").message
    'You are welcome.'
    """

    text: str
    calls: int = 0
    limited: bool = False
    """Whether the turn ended because it reached the limit on tool calls."""
    late: bool = False
    """Whether the turn ended because it reached its time limit."""
    interrupted: bool = False
    """Whether the user interrupted the turn; the text is what had arrived by then."""
    broken_off: str = ""
    """Why the model stopped in the middle of its answer; the text is what had arrived by then."""

    @property
    def ended(self) -> str:
        """Return how the turn ended: answered, limited, late, interrupted or broken_off."""
        return next((way for way in ("interrupted", "broken_off", "late", "limited") if getattr(self, way)), "answered")

    def remark(self, max_seconds: float | None) -> str:
        """Return a remark on how the turn ended, empty if the model simply answered."""
        if self.interrupted:
            return "(interrupted)"
        if self.broken_off:
            return f"(The answer broke off: {self.broken_off})"
        if self.late:
            return f"(I stopped after {max_seconds or 0:g} seconds; one turn may take no longer.)"
        if self.limited:
            return f"(I stopped after {self.calls} tool calls in one turn; that is the most I may make.)"
        return ""


@dataclass(frozen=True)
class AgentResponse:
    """The answer of a turn, with what was done for it.

    >>> reply = MemGPTAgent(llm_client=lambda messages: "It is noon.").step("What time is it?")
    >>> reply.message, reply.citations, reply.data["ended"], reply.data["usage"]["requests"]
    ('It is noon.', [], 'answered', 1)
    """

    message: str
    tool_calls: list[dict[str, JSON]] = field(default_factory=list)
    memory_operations: list[dict[str, JSON]] = field(default_factory=list)
    context_usage: int = 0
    """Tokens of the main context in use after the turn."""
    citations: list[str] = field(default_factory=list)
    policy: list[dict[str, JSON]] = field(default_factory=list)
    plan: dict[str, JSON] | None = None
    data: Mapping[str, JSON] = field(default_factory=dict)
    """The full report of the turn."""


def read_intent(text: str | None) -> Intent:
    """Return what kind of turn ``text`` opens.

    >>> read_intent("Where do I live?").kind, read_intent("Hello!").recall, read_intent(None).kind
    ('question', False, 'heartbeat')
    """
    if text is None:
        return Intent("heartbeat", recall=True)
    if SMALL_TALK.match(text) and len(text.split()) <= 4:
        return Intent("small_talk", recall=False)
    kind = "question" if QUESTION.search(text) else "statement"
    return Intent(kind, recall=True, query=text)


def response_of(report: Mapping[str, JSON]) -> AgentResponse:
    """Convert the report of a turn to a response."""
    return AgentResponse(
        message=report["message"],
        tool_calls=report["tool_calls"],
        memory_operations=report["memory_operations"],
        context_usage=int(report["context_usage"]["used"]),
        citations=report["citations"],
        policy=report["policy"],
        plan=report["plan"],
        data=report,
    )


# Configuration of an agent: whom it talks to, its limits, and whom its host lets it ask.

T = TypeVar("T")


class TimeIsUp(Exception):
    """Ends the wait for a model or a tool whose turn is over; the loop answers in its place."""


class Deadline:
    """A moment the given number of seconds after its creation; without a number it never comes."""

    def __init__(self, seconds: float | None = None) -> None:
        self._end = None if seconds is None else time.monotonic() + seconds
        self._interrupted = threading.Event()

    @property
    def left(self) -> float | None:
        """Return the seconds left, or None if there is no deadline."""
        return None if self._end is None else max(0.0, self._end - time.monotonic())

    @property
    def has_passed(self) -> bool:
        """Return whether the deadline has passed or somebody requested the end."""
        return self._interrupted.is_set() or self.left == 0.0

    def interrupt(self) -> None:
        """Request the end; may be called from any thread."""
        self._interrupted.set()

    def check(self) -> None:
        """Raise ``KeyboardInterrupt`` if somebody requested the end, and ``TimeIsUp`` if the time is over."""
        if self._interrupted.is_set():
            raise KeyboardInterrupt
        if self.has_passed:
            raise TimeIsUp


def within(seconds: float | None, work: Callable[[], T]) -> T:
    """Return the result of ``work``, or raise ``TimeIsUp`` after ``seconds``; None waits indefinitely.

    Work that is not done in time continues unobserved in its own thread: Python cannot stop a thread.
    """
    if seconds is None:
        return work()
    returned: list[T] = []
    raised: list[BaseException] = []
    ended, context = threading.Event(), contextvars.copy_context()

    def deliver() -> None:
        try:
            returned.append(work())
        except BaseException as error:  # noqa: BLE001 - raised where it is waited for
            raised.append(error)
        finally:
            ended.set()

    threading.Thread(target=lambda: context.run(deliver), daemon=True).start()
    if not ended.wait(seconds):
        raise TimeIsUp
    if raised:
        raise raised[0]
    return returned[0]


@dataclass(frozen=True)
class AgentConfig:
    """Whom an agent talks to, and its limits.

    >>> config = AgentConfig(user_id="ada", session_id="monday", max_tool_calls=3, max_seconds=20)
    >>> agent = MemGPTAgent(llm_client=lambda messages: "It is noon.", config=config)
    >>> agent.config.user_id, agent.step("What time is it?").data["session"]
    ('ada', 'monday')
    """

    user_id: str = "local"
    session_id: str | None = None
    agent_id: str | None = None
    """Which of the user's agents this is: no other agent sees its core memory or its private records."""
    max_tokens: int = 8000
    """Budget of the prompt."""
    max_tool_calls: int = 8
    """Limit per turn."""
    max_seconds: float | None = None
    """Time limit of a turn; None for no limit."""
    context: Mapping[str, JSON] = field(default_factory=dict)
    """What the host program says about its environment; the policies read it."""
    root: Path | str = "."
    """The working directory of declared tools."""


@dataclass(frozen=True)
class Host:
    """Callbacks that ask or notify a person; each is optional.

    >>> heard = []
    >>> host = Host(listen=lambda event: heard.append(event.kind))
    >>> agent = MemGPTAgent(llm_client=lambda messages: "It is noon.", host=host)
    >>> _ = agent.step("What time is it?")
    >>> heard[0], heard[-1]
    ('turn_opened', 'turn_closed')
    """

    approve: Approval | None = None
    """Asks about a call that a policy holds back."""
    settle: Settle | None = None
    """Asks what became of a call that had begun when its turn was cut off."""
    listen: Listener | None = None
    """Is sent the events of a turn as they happen."""
    observe: Callable[[dict[str, JSON]], None] | None = None
    """Receives the account of reads, verdicts and plans: ``{event, turn_id, …}``."""
    watch: Listener | None = None
    """Is sent the same events as ``listen``, but does not cause an answer to be streamed."""


DEFAULTS = AgentConfig()
NO_HOST = Host()
