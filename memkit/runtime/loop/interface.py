"""What the loop promises, and what it expects of the rooms and the model that it is given.

The loop imports no other room. It sees memory, guard and planner through the protocols below; messages, tools and
completions are plain values, so that any model and any agent framework can be used.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, TypedDict, runtime_checkable


class LoopError(Exception):
    """An error that names what cannot be used and what to do instead."""

    exit_code = 2
    code = "loop"


class ToolDeclarationError(LoopError):
    """Report a declared tool that is malformed."""

    code = "tool_declaration"


class PromptTooLarge(LoopError):
    """Report a budget too small for what every prompt needs."""

    code = "prompt_too_large"


class ModelFault(LoopError):
    """Report a model that cannot serve: out of answers, unreachable, or answering in another shape."""

    exit_code = 3
    code = "model"


JSON = Any
"""A value of JSON: None, bool, int, float, str, list or dict."""

TokenCounter = Callable[[str], int]
Approval = Callable[[str, Mapping[str, JSON], "Verdict"], bool]
"""Asks a person about a tool call that a policy wants confirmed; True lets it run."""


Settle = Callable[["ToolCall"], str]
"""Asks a person about a call that had begun when its turn was cut off: done, run (it once more) or leave."""


class CallData(TypedDict):
    """A tool call as it appears in a message."""

    id: str
    name: str
    args: dict[str, JSON]


class Message(TypedDict, total=False):
    """One entry of the conversation: ``role`` is system, user, assistant or tool."""

    role: str
    content: str
    tool_calls: list[CallData]
    tool_call_id: str
    name: str
    taint: list[str]
    """Origins that may have steered it; never shown to a model."""


@dataclass(frozen=True)
class ToolCall:
    """A tool call that a model requests.

    >>> def model(messages, tools):
    ...     if messages[-1]["role"] == "tool":
    ...         return "Noted."
    ...     return Completion(tool_calls=(ToolCall("1", "archival_memory_insert", {"text": messages[-1]["content"]}),))
    >>> MemGPTAgent(llm_client=model).step("My dog is called Rex").tool_calls[0]["name"]
    'archival_memory_insert'
    """

    id: str
    name: str
    args: Mapping[str, JSON] | str
    """Arguments; text if the model sent something other than a JSON object."""


@dataclass(frozen=True)
class Completion:
    """A model's answer: text, tool calls, or both.

    >>> def model(messages, tools):
    ...     return Completion("It is noon.", usage={"input_tokens": 12, "output_tokens": 4})
    >>> MemGPTAgent(llm_client=model).step("What time is it?").message
    'It is noon.'
    """

    text: str = ""
    tool_calls: tuple[ToolCall, ...] = ()
    usage: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class ToolSpec:
    """A tool as a model sees it.

    >>> def model(messages, tools):
    ...     spec: ToolSpec = next(tool for tool in tools if tool.name == "clock")
    ...     return f"{spec.name}: {spec.description}"
    >>> clock = DeclaredTool("clock", "Tell the time.", run=lambda: "noon")
    >>> MemGPTAgent(llm_client=model, declared=[clock]).step("What can you do?").message
    'clock: Tell the time.'
    """

    name: str
    description: str
    parameters: Mapping[str, JSON] = field(default_factory=lambda: {"type": "object", "properties": {}})
    """JSON Schema of the arguments."""


@dataclass(frozen=True)
class DeclaredTool:
    """A tool of the host: a program that reads JSON arguments from its standard input, or a Python function.

    >>> def model(messages, tools):
    ...     if messages[-1]["role"] == "tool":
    ...         return "Take an umbrella." if "rain" in messages[-1]["content"] else "Have a look."
    ...     return Completion(tool_calls=(ToolCall("1", "weather", {"city": "Bergen"}),))
    >>> city = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
    >>> look = DeclaredTool("weather", "Tell the weather of a city.", city, run=lambda city: "rain", idempotent=True)
    >>> MemGPTAgent(llm_client=model, declared=[look]).step("Do I need an umbrella?").message
    'Take an umbrella.'
    """

    name: str
    description: str
    parameters: Mapping[str, JSON] = field(default_factory=lambda: {"type": "object", "properties": {}})
    run: Sequence[str] | str | Callable[..., JSON] = ()
    """An argument list, ``"module:function"``, or the function itself."""
    dangerous: bool = False
    open_world: bool = True
    """Whether its results may hold text of strangers; those of a tool that only reports its own action do not."""
    timeout: float = 30.0
    """Seconds before the program is killed."""
    idempotent: bool = False
    """Whether doing it twice equals doing it once, so that a call of unknown outcome may simply be repeated."""
    writes: Sequence[str] = ()
    """The files that it writes, so that an erasure searches them."""


@dataclass(frozen=True)
class CallKey:
    """Identifies a call within a turn, so that repeating it does not do its work twice."""

    name: str
    """``session/turn/call``: the same whenever the turn is replayed."""
    moment: int
    """When the turn was opened, in milliseconds since 1970."""
    number: int
    """The number of the call in its turn."""


@dataclass(frozen=True)
class ToolOutcome:
    """The outcome of one tool call."""

    text: str
    """The text that the model is given."""
    error: bool
    verdict: Verdict


class Model(Protocol):
    """A language model, or anything that stands in for one."""

    def complete(self, messages: Sequence[Message], tools: Sequence[ToolSpec]) -> Completion:
        """Return the next text or tool calls for this conversation."""


@runtime_checkable
class StreamingModel(Model, Protocol):
    """A model that can stream its answer."""

    def stream(self, messages: Sequence[Message], tools: Sequence[ToolSpec], say: Callable[[str], None]) -> Completion:
        """Return the same as ``complete``, after passing its text to ``say`` piece by piece, in order."""


class TurnJournal:
    """Makes the steps of a turn durable, so that a later process repeats no completed step.

    This base class stores nothing: a turn that is killed leaves no trace. A journal overrides the methods it needs.
    """

    def opened(self, turn_id: int, text: str | None, *, by_user: bool) -> None:
        """Store the words that open a turn, the user's or the program's, before the model is asked."""

    def answered(self, completion: Completion) -> None:
        """Store the model's answer; its calls carry the ids used in the session."""

    def started(self, call: CallData, *, may_repeat: bool) -> None:
        """Store that a call begins, before it does; it is on disk on return unless the call may simply be repeated."""

    def finished(
        self, call_id: str, text: str, error: bool, *, may_repeat: bool, books: Mapping[str, JSON] | None = None
    ) -> None:
        """Store the result of a call, even one that never began, and its entries in the books of the turn."""

    def closed(self) -> None:
        """Store the session as it stands; the turn is over and its reply is included."""

    def key_of(self, call_id: str) -> CallKey | None:
        """Return the key under which a call is made, None if the turn is not kept."""
        return None

    def recorded_answer(self) -> Completion | None:
        """Return the next answer that the model gave before the turn was cut off, None if the model has to be asked."""
        return None

    def recorded_outcome(self, call_id: str) -> Mapping[str, JSON] | None:
        """Return ``{result, error, books}`` of a call that ended before the turn was cut off, None for any other."""
        return None

    def is_in_doubt(self, call_id: str) -> bool:
        """Return whether a call had begun when the turn was cut off, so that its outcome is unknown."""
        return False

    def is_masked(self, call_id: str) -> bool:
        """Return whether the arguments of such a turn's call differ from those the model gave, as they were masked."""
        return False


class PolicyFinding(Protocol):
    """One policy that matched a call."""

    @property
    def name(self) -> str:
        """Return the policy's name."""

    @property
    def effect(self) -> str:
        """Return deny, ask, warn or allow."""

    @property
    def decides(self) -> bool:
        """Return whether this policy's effect became the decision."""

    @property
    def reason(self) -> str:
        """Return why the policy matched, in words."""


class Verdict(Protocol):
    """The policies' verdict on one call."""

    @property
    def decision(self) -> str:
        """Return deny, ask, warn or allow."""

    @property
    def policies(self) -> Sequence[PolicyFinding]:
        """Return every policy that matched."""

    @property
    def deciding(self) -> PolicyFinding | None:
        """Return the policy that decided, if any did."""


class Advice(Protocol):
    """A policy in prose, for the prompt."""

    @property
    def name(self) -> str:
        """Return the policy's name."""

    @property
    def rule(self) -> str:
        """Return the rule in words."""


class Guard(Protocol):
    """Judges tool calls by policy."""

    def decide(self, tool: str, args: Mapping[str, JSON], context: Mapping[str, JSON]) -> Verdict:
        """Return the verdict on one call."""

    def advice(self) -> Sequence[Advice]:
        """Return the rule of every active policy."""


@runtime_checkable
class FollowsTurns(Protocol):
    """A guard whose policies may change between turns, but never within one."""

    def begin_turn(self) -> None:
        """Load policy changes made since the last turn."""


class MainContext(Protocol):
    """The part of memory that is always in the prompt."""

    @property
    def core(self) -> Mapping[str, str]:
        """Return the named sections."""

    @property
    def messages(self) -> Sequence[Any]:
        """Return the conversation that is still in the prompt, oldest first."""

    @property
    def summary(self) -> str:
        """Return the summary of what was paged out, or an empty text."""

    @property
    def max_tokens(self) -> int:
        """Return the budget."""

    @property
    def reserved(self) -> int:
        """Return how many tokens of the budget are reserved for the rest of the prompt."""

    @property
    def count(self) -> TokenCounter:
        """Return the function that counts the tokens of a text."""

    def reserve(self, tokens: int) -> object:
        """Reserve this many tokens of the budget for the rest of the prompt, and page out what no longer fits."""

    def message_tokens(self, message: Any) -> int:
        """Return the tokens of a message including its formatting."""

    def shortened(self, text: str, tokens: int) -> str:
        """Return ``text``, or as much of its beginning as fits together with a visible mark."""

    def append(self, message: Any) -> object:
        """Add a message and page out the oldest ones if the budget is exceeded."""

    def restore(self, messages: Sequence[Any], summary: str = "") -> object:
        """Restore the conversation of an earlier process without reporting it as new."""

    def used(self) -> int:
        """Return the tokens in use."""

    def usage(self) -> Mapping[str, int]:
        """Return the tokens in use per tier."""

    def render_core(self) -> str:
        """Return the core sections as they appear in the prompt."""


class MemoryTools(Protocol):
    """The memory tools of one user and session."""

    @property
    def main(self) -> MainContext:
        """Return the context these tools edit."""

    @property
    def events(self) -> list[dict[str, JSON]]:
        """Return the memory operations of the running turn; the reader empties the list."""

    def begin_turn(
        self,
        user_text: str | None,
        turn_id: int | None,
        *,
        taint: Sequence[str] = (),
        parents: Sequence[str] = (),
        task_tags: Sequence[str] = (),
    ) -> None:
        """Set the user's words, turn, prompt content and task that later operations are stamped with."""

    def note_taint(self, origins: Iterable[str]) -> None:
        """Note that text of these origins entered the prompt."""

    def note_recalled(self, ids: Iterable[str]) -> None:
        """Note that the host itself showed these records to the model."""

    def masked(self, value: JSON) -> JSON:
        """Return ``value`` in publishable form, with every secret in it hidden."""

    def specs(self) -> Sequence[Mapping[str, JSON]]:
        """Return name, description and parameters of every memory tool."""

    def call(self, name: str, args: Mapping[str, JSON]) -> str:
        """Run one memory tool and return the text for the model."""
