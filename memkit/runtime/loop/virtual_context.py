"""The loop's view over all memory tiers: core, messages, recall and archive."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any

from .interface import MainContext, Message, TokenCounter
from .planner import Procedures
from .reply import DEFAULTS, AgentConfig
from .taint import check_words, fence, left_open, marked, names, new_marker, words

WARNINGS = 3
"""The most outcomes of earlier failures that are shown."""
TURNS = 1000
"""The most turns, kept nowhere else, that can be searched."""
EXCERPT = 400
"""The most characters of a turn that a search shows."""

OPEN_GOALS = "goals that are still open"
INSTRUCTION = "instruction"
"""Name of a message under the user's role that carries an instruction of the host program."""


@dataclass(frozen=True)
class Found:
    """A search result from one of the tiers."""

    tier: str
    """core | messages | working | recall | archive | procedural"""
    text: str
    score: float = 0.0
    id: str | None = None
    taint: tuple[str, ...] = ()
    """Origins that may have steered it; the loop shows unasked only what is clean."""
    parents: tuple[str, ...] = ()
    """Records that stood in the prompt under which a turn was said."""

    @property
    def line(self) -> str:
        """Return it as a line of a block."""
        return f"- [{self.id}] {self.text}" if self.id else f"- {self.text}"


@dataclass(frozen=True)
class PageOut:
    """What left the prompt at one time."""

    messages: int
    tokens: int
    summary: str
    """The summary afterwards."""


@dataclass(frozen=True)
class Block:
    """What one tier knows about a query, labelled with the tier."""

    tier: str
    found: tuple[Found, ...]

    @property
    def ids(self) -> list[str]:
        """Return the ids of the records in the block."""
        return [item.id for item in self.found if item.id]

    def render(self, marker: str) -> str:
        """Return the block inside a fence."""
        return fence("\n".join(item.line for item in self.found), self.tier, marker)


class VirtualContextMemory:
    """Core, messages, recall and archive as one memory; parts that are not given live as long as the session.

    >>> from memkit.runtime.memory.main import ArchivalStore, Draft, Origin
    >>> archive = ArchivalStore()
    >>> _ = archive.offer(Draft("My dog is called Rex"), Origin("user", "ada"))
    >>> memory = VirtualContextMemory(archive=archive, config=AgentConfig(user_id="ada"))
    >>> [found.text for found in memory.search("What is my dog called?")]
    ['My dog is called Rex']
    """

    def __init__(
        self,
        max_main_tokens: int = 2000,
        *,
        main: MainContext | None = None,
        archive: Any = None,
        recall: Any = None,
        config: AgentConfig = DEFAULTS,
        procedures: Procedures | None = None,
        durable: Callable[[], bool] = lambda: True,
    ) -> None:
        """Build the view over the given parts.

        Args:
            max_main_tokens: Budget of the main context, if it is created here.
            main: The part of memory that is always in the prompt; by default the archive's, or one of the session.
            archive: Long-term memory.
            recall: The turns of earlier sessions.
            config: Whose memory it is.
            procedures: The skills, policies and learned methods.
            durable: Returns whether turns may be stored now.
        """
        self.own_tools: Any = None
        """The memory tools that came with the main context, where an archive was given and none of these."""
        if main is None and hasattr(archive, "tools"):
            whose = {"user_id": config.user_id, "session_id": config.session_id, "agent_id": config.agent_id}
            self.own_tools = archive.tools(max_tokens=max_main_tokens, **whose)
            if recall is not None:
                self.own_tools.recall = recall
            main, recall = self.own_tools.main, self.own_tools.recall
        self.main: MainContext = SessionContext(max_main_tokens) if main is None else main
        self.archive = archive
        self.recall_memory = recall
        self.user_id = config.user_id
        self.session_id = config.session_id
        self.agent_id = config.agent_id
        self.task = ""
        """The current task, in its original words."""
        self.procedures = procedures
        self.turns: list[Message] = []
        """The newest turns of this process that no recall memory keeps."""
        self.on_unkept: Callable[[Message], None] | None = None
        """Called with each of them, so that the memory tools find them as well."""
        self.is_durable = durable
        self._passed_on = False
        """Whether recall memory keeps the message that was added last."""
        self._gone: list[PageOut] = []
        self._gate_recall()
        self._follow_page_outs()

    def _gate_recall(self) -> None:
        """Let the main context pass on to recall only what was said or done, and only while turns may be stored."""
        context: Any = self.main
        keep = getattr(context, "on_append", None)
        if keep is None:
            return

        def pass_on(message: Message) -> None:
            if not is_data(message) and self.is_durable():
                self._passed_on = True
                keep(message)

        context.on_append = pass_on

    def _follow_page_outs(self) -> None:
        """Subscribe to everything that leaves the prompt, whatever the reason."""
        context: Any = self.main  # each kind of context reports it differently
        tell = getattr(context, "on_page_out", None)

        def note(gone: Any) -> None:
            messages = getattr(gone, "messages", gone)
            tokens = sum(map(self.main.message_tokens, messages))
            self._gone.append(PageOut(len(messages), tokens, self.main.summary))
            if tell is not None:
                tell(gone)

        context.on_page_out = note

    def add(self, message: Message) -> None:
        """Append a message; older ones may be paged out for it."""
        self._passed_on = False
        self.main.append(message)
        if not self._passed_on:
            self._keep(message)

    def paged_out(self) -> list[PageOut]:
        """Return what left the prompt since the last call."""
        gone, self._gone = self._gone, []
        return gone

    def _keep(self, message: Message) -> None:
        if message.get("role") in {"user", "assistant"} and message.get("content") and not is_data(message):
            self.turns.append(message)
            del self.turns[:-TURNS]
            if self.on_unkept is not None:
                self.on_unkept(message)

    def restore(self, limit: int = 10, before: int | None = None) -> int:
        """Put the last turns of this session back into the prompt and return the highest turn number.

        Turns from number ``before`` on are left out.
        """
        if self.recall_memory is None or self.session_id is None:
            return 0
        kept = self.recall_memory.turns(self.session_id, self.user_id)
        turns = [turn for turn in kept if before is None or (turn.turn_id or 0) < before]
        told = [turn for turn in turns if turn.role in {"user", "assistant"} and _spoken(turn.text)]
        messages: list[Message] = [{"role": turn.role, "content": _spoken(turn.text)} for turn in told]
        self.main.restore([marked(one, turn.taint) for one, turn in zip(messages, told, strict=True)][-limit:])
        self._gone.clear()
        return max((turn.turn_id or 0 for turn in turns), default=0)

    def search(self, text: str, k: int = 5, *, top_k: int | None = None, limit: int | None = None) -> list[Found]:
        """Return what any tier knows about ``text``, best first."""
        k = next((size for size in (top_k, limit) if size is not None), k)
        found = [item for block in self.recall(text, k) for item in block.found]
        return sorted(found, key=lambda item: -item.score)[:k]

    def recall(self, query: str, k: int = 5) -> list[Block]:
        """Return one block per tier that knows something about ``query``."""
        check_words(query, "what is searched for")
        tiers = {
            "core": ranked(query, "core", (f"{name}: {text}" for name, text in self.main.core.items() if text)),
            "messages": ranked_messages(query, "messages", self.main.messages),
            "recall": self._in_recall(query, k),
            "archive": [] if self.archive is None else self._searched(query, k),
            "procedural": self._in_procedures(query, k),
        }
        return [Block(tier, tuple(found[:k])) for tier, found in tiers.items() if found]

    def asked_about(self) -> AbstractContextManager[None]:
        """Hold the archive while a turn asks it several questions, so that the disk is checked only once."""
        hold = getattr(self.archive, "asked_about", None)
        return nullcontext() if hold is None or not self.user_id else hold(self.user_id)

    @property
    def task_tags(self) -> Sequence[str]:
        """Return the tags that records of the current task may carry: its words."""
        return tuple(sorted(words(self.task)))

    def constraints(self, query: str) -> list[Found]:
        """Return the user's live constraints that apply generally or whose tags ``query`` or the task names."""
        if self.archive is None:
            return []
        limit = self.archive.settings.retrieval.constraints_limit
        fitting = [
            record
            for record in self.archive.constraints(self.user_id, session_id=self.session_id, agent_id=self.agent_id)
            if not record.tags or any(names(self.task, tag) or names(query, tag) for tag in record.tags)
        ]
        left_out = len(fitting) - limit
        shown = fitting[:limit]
        found = [Found("archive", record.text, 1.0, record.id, self._taint_of(record)) for record in shown]
        told = []  # before the constraints, whose end may be cut off
        if withheld := self.withheld():
            told.append(Found("archive", f"({len(withheld)} constraints were changed or removed and are not shown)"))
        if left_out > 0:
            told.append(Found("archive", f"({left_out} more constraints are not shown)"))
        return [*told, *found]

    def withheld(self) -> list[str]:
        """Return the constraints that no longer apply because somebody changed, forged or removed their lines."""
        find = getattr(self.archive, "withheld", None)
        found = find(self.user_id) if find is not None else ()
        return [one.id or "without an id" for one in found if one.type == "constraint"]

    def warnings(self, query: str) -> list[Found]:
        """Return the outcomes of earlier failures that resemble ``query``."""
        if self.archive is None or not query:
            return []
        return self._searched(query, WARNINGS, types=("outcome",), tags=("failed",))

    def opening(self) -> list[Block]:
        """Return the blocks that open a new session: goals and commitments that are still open."""
        find = getattr(self.archive, "opening", None)
        if find is None:
            return []
        found = find(self.user_id, session_id=self.session_id, agent_id=self.agent_id)
        goals = [_offered(record, self._taint_of(record)) for record in found.goals]
        more = [Found("archive", f"({found.left_out} more goals are not shown)")] if found.left_out else []
        return [Block(OPEN_GOALS, (*goals, *more))] if goals else []

    def fitting(self, found: Sequence[Found], tokens: int) -> list[Found]:
        """Return as many leading items of ``found`` as fit in ``tokens``, and note how many do not."""
        left = tokens
        for place, item in enumerate(found):
            left -= self.main.count(item.line)
            if left < 0:
                return [*found[:place], Found(item.tier, f"({len(found) - place} more are not shown)")]
        return list(found)

    def render(self, blocks: Iterable[Block]) -> str:
        """Return blocks as fenced data."""
        return "\n".join(block.render(new_marker()) for block in blocks)

    def _in_procedures(self, query: str, k: int) -> list[Found]:
        """Return the skills, policies and learned methods that fit; people maintain them, so they are trusted."""
        found = self.procedures.search(query, k) if self.procedures is not None else ()
        return [Found("procedural", f"{one.kind} {one.name}: {one.about}", one.score) for one in found]

    def _in_recall(self, query: str, k: int) -> list[Found]:
        live = {_text(message) for message in self.main.messages}
        kept = ranked_messages(query, "recall", (turn for turn in self.turns if _text(turn) not in live))
        if self.recall_memory is None:
            return kept
        turns = self.recall_memory.search(query, self.user_id, k)
        told = ({"content": turn.text, "taint": turn.taint} for turn in turns if turn.text not in live)
        stored = ranked_messages(query, "recall", told)
        return sorted([*kept, *stored], key=lambda item: -item.score)

    def _searched(self, query: str, k: int, **only: tuple[str, ...]) -> list[Found]:
        """Return what the archive finds with enough confidence to enter a prompt."""
        least = self.archive.settings.retrieval.min_confidence
        hits = self.archive.search(query, user_id=self.user_id, k=k, min_confidence=least, where=self, **only).hits
        return [Found("archive", hit.text, hit.score, hit.id, self._taint_of(hit.record)) for hit in hits]

    def _taint_of(self, record: Any) -> tuple[str, ...]:
        """Return the taint of a prompt that this record enters."""
        asked = getattr(self.archive, "taint_of", None)
        return tuple(getattr(record, "taint", ()) if asked is None else asked(record, self.user_id))


def _offered(record: Any, taint: tuple[str, ...]) -> Found:
    """Return a record as a result shown unasked, with what is known about it."""
    facts = [record.type, f"{record.confidence:.2f}", record.source, record.created_at[:10]]
    facts += [f"due {due}"] if (due := record.extra.get("due")) else []
    return Found("archive", f"{record.text} ({', '.join(facts)})", 1.0, record.id, taint)


def _spoken(text: str) -> str:
    """Return a kept turn without the lines that only list the tools called."""
    return "\n".join(line for line in text.splitlines() if not line.startswith("[called "))


def is_data(message: Mapping[str, Any]) -> bool:
    """Return whether a message under the user's role holds data or a program's text instead of the user's words."""
    return message.get("name") in {"memory", "heartbeat", INSTRUCTION}


def _text(message: Mapping[str, Any]) -> str:
    return str(message.get("content") or "")


def ranked(query: str, tier: str, texts: Iterable[str]) -> list[Found]:
    """Return the texts that share words with ``query``; the score is the share of its words they contain."""
    return ranked_messages(query, tier, ({"role": tier, "content": text} for text in texts))


def ranked_messages(query: str, tier: str, messages: Iterable[Mapping[str, Any]]) -> list[Found]:
    """Return the same for messages, each with its taint."""
    wanted = words(query)
    scored = [
        Found(tier, _text(one)[:EXCERPT], overlap(wanted, _text(one)), taint=tuple(one.get("taint") or ()))
        for one in messages
    ]
    return sorted((item for item in scored if item.score > 0), key=lambda item: -item.score)


def overlap(wanted: set[str], text: str) -> float:
    """Return the share of the words in ``wanted`` that occur in ``text``."""
    return len(wanted & words(text)) / len(wanted) if wanted else 0.0


# The main context of a loop that was given none: it lives as long as the session.


SUMMARY_LINE = 120
"""The most characters that a paged-out turn leaves in the summary."""
SUMMARY_LINES = 12
SUMMARY_SHARE, CORE_SHARE = 0.15, 0.6
"""Shares of the budget."""
MESSAGE_OVERHEAD = 7
"""Tokens that a chat format adds to each message besides its text."""
SHORTENED = "[… shortened …]"


def estimate_tokens(text: str) -> int:
    """Return a conservative token count, one token per three bytes, which errs on the high side."""
    return -(-len(text.encode("utf-8", "surrogatepass")) // 3)


KEEP_RECENT = 5
"""How many messages are shortened before one of them is paged out."""


class SessionContext:
    """Core sections and a first-in, first-out queue of messages under a token budget."""

    def __init__(self, max_tokens: int = 2000, count: TokenCounter = estimate_tokens) -> None:
        self.max_tokens = max_tokens
        self.core: dict[str, str] = {}
        self.messages: list[Message] = []
        self.summary = ""
        self.count = count
        self.reserved = 0
        """Tokens of the budget reserved for the rest of the prompt."""
        self.on_page_out: Callable[[Any], None] | None = None

    @property
    def budget(self) -> int:
        """Return the tokens that core, summary and messages may use together."""
        return max(0, self.max_tokens - self.reserved)

    def reserve(self, tokens: int) -> list[Message]:
        """Reserve this many tokens of the budget for the rest of the prompt, and return what had to be paged out."""
        self.reserved = max(0, tokens)
        return self._fit()

    def append(self, message: Message) -> list[Message]:
        """Add a message and return those that were paged out, oldest first."""
        self.messages.append(message)
        return self._fit()

    def restore(self, messages: Sequence[Message], summary: str = "") -> list[Message]:
        """Restore the conversation of an earlier process, and return the messages that did not fit."""
        self.messages, self.summary = list(messages), summary
        return self._fit()

    def _fit(self) -> list[Message]:
        evicted: list[Message] = []
        while self.used() > self.budget and self.messages:
            if len(self.messages) <= KEEP_RECENT and self._shorten():
                break
            evicted += self._pop_group()
            lines = self.summary.splitlines()
            last = evicted[-1]
            if last.get("content") and last.get("role") in {"user", "assistant"}:
                lines.append(f"{last['role']}: {' '.join(last['content'].split())[:SUMMARY_LINE]}")
            self.summary = "\n".join(lines[-SUMMARY_LINES:])
        while self.messages and self.messages[0].get("role") == "tool":
            evicted.append(self.messages.pop(0))  # every model would reject a result whose call is gone
        while self.used() > self.budget and self.summary:
            self.summary = self.summary.partition("\n")[2]
        if evicted and self.on_page_out is not None:
            self.on_page_out(evicted)
        return evicted

    def _shorten(self) -> bool:
        """Shorten long recent messages; return whether they fit afterwards."""
        others = self.used() - sum(self.count(str(message.get("content") or "")) for message in self.messages)
        share = (self.budget - others) // len(self.messages)
        if share <= self.count(SHORTENED):
            return False
        self.messages = [
            {**message, "content": self.shortened(str(message.get("content") or ""), share)}
            for message in self.messages
        ]
        return self.used() <= self.budget

    def _pop_group(self) -> list[Message]:
        """Remove the oldest message; calls and their results leave together."""
        group = [self.messages.pop(0)]
        while self.messages and self.messages[0].get("role") == "tool":
            group.append(self.messages.pop(0))
        return group

    def used(self) -> int:
        """Return the tokens in use."""
        return sum(self.usage().values())

    def usage(self) -> Mapping[str, int]:
        """Return the tokens in use per tier."""
        return {
            "core": self.count(self.render_core()),
            "messages": sum(map(self.message_tokens, self.messages)),
            "summary": self.count(self.summary),
        }

    def message_tokens(self, message: Message) -> int:
        """Return the tokens of one message, its tool calls and its formatting."""
        texts = [str(message.get(key) or "") for key in ("role", "content", "name", "tool_call_id")]
        texts += [json.dumps(call, ensure_ascii=False, default=str) for call in message.get("tool_calls") or ()]
        # Measured as sent: a control character or a quote is longer in JSON.
        return MESSAGE_OVERHEAD + sum(self.count(json.dumps(text, ensure_ascii=False)[1:-1]) for text in texts if text)

    def shortened(self, text: str, tokens: int) -> str:
        """Return ``text``, or as much of its beginning as fits in ``tokens`` together with a visible mark."""
        if self.count(text) <= tokens:
            return text
        low, high = 0, len(text)
        while low < high:
            middle = (low + high + 1) // 2
            fits = self.count(_cut(text, middle)) <= tokens
            low, high = (middle, high) if fits else (low, middle - 1)
        whole = _cut(text, low)
        return whole if self.count(whole) <= tokens else ""

    def render_core(self) -> str:
        """Return the core sections as they appear in the prompt, visibly shortened where they exceed their share."""
        whole = "\n".join(f"[{name}]\n{text}" for name, text in self.core.items() if text)
        return self.shortened(whole, int(self.budget * CORE_SHARE))


def _cut(text: str, place: int) -> str:
    return text[:place] + SHORTENED + left_open(text[:place])
