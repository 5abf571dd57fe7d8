"""The memories of a session: working memory, the conversation with its summary, and general knowledge."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from typing import Any

from .interface import JSON, LoopError, Message
from .taint import check_words, excerpt, joined, words
from .virtual_context import Found, estimate_tokens, overlap, ranked_messages

# Working memory: the current task, what is done, and what is still to do.


@dataclass
class Goal:
    """Something to reach, with its subgoals."""

    text: str
    subgoals: list[Goal] = field(default_factory=list)
    status: str = "open"
    """open | done | dropped"""


@dataclass(frozen=True)
class DecisionMade:
    """A question that came up in the task, and how it was settled."""

    question: str
    answer: str
    rationale: str = ""


@dataclass(frozen=True)
class StepDone:
    """A step that was carried out, and its result."""

    action: str
    result: str = ""
    succeeded: bool = True


@dataclass
class WorkingMemory:
    """The task, its phase, goals, steps, decisions and notes; the oldest steps are dropped when there are too many.

    >>> working = WorkingMemory()
    >>> working.start("deliver the book")
    >>> _ = working.push_goal("find the shop")
    >>> working.record_step("ask for the way", "second street left")
    >>> working.decide("by bus?", "no", "it is near")
    >>> working.done_lines(), working.goals[0].text, working.decisions[0].answer
    (['ask for the way: second street left'], 'find the shop', 'no')
    """

    task: str | None = None
    current_phase: str = "idle"
    goals: list[Goal] = field(default_factory=list)
    completed_steps: list[StepDone] = field(default_factory=list)
    pending_actions: list[str] = field(default_factory=list)
    constraints: list[str] = field(default_factory=list)
    decisions: list[DecisionMade] = field(default_factory=list)
    results: dict[str, JSON] = field(default_factory=dict)
    scratchpad: str = ""
    variables: dict[str, JSON] = field(default_factory=dict)
    passing: dict[str, str] = field(default_factory=dict)
    """Facts true only for a while, independent of any task, with the time they were noted; empty until one is said."""
    taint: list[str] = field(default_factory=list)
    """Origins that may have steered what is noted here."""
    max_items: int = 20

    def start(self, task: str) -> None:
        """Begin ``task`` with nothing done; notes and variables of the previous task are dropped."""
        fresh = WorkingMemory(task=task, current_phase="started", passing=self.passing, max_items=self.max_items)
        fresh.taint = self.taint if self.passing else []
        self.__dict__.update(fresh.__dict__)

    def push_goal(self, text: str) -> Goal:
        """Add a goal below the innermost open one and return it."""
        goal = Goal(text)
        self._innermost()[0].append(goal)
        return goal

    def pop_goal(self) -> Goal | None:
        """Remove and return the innermost open goal, or return None if there is none."""
        _, siblings, goal = self._innermost()
        siblings[:] = [one for one in siblings if one is not goal]
        return goal

    def _innermost(self) -> tuple[list[Goal], list[Goal], Goal | None]:
        """Return where a new goal goes, and the innermost open goal among its siblings."""
        below, siblings, goal = self.goals, self.goals, None
        while inner := next((one for one in reversed(below) if one.status == "open"), None):
            below, siblings, goal = inner.subgoals, below, inner
        return below, siblings, goal

    def mark_goal(self, text: str, status: str) -> None:
        """Set the status of a goal; an unknown goal is added at the outermost level."""
        goal = next((goal for goal in _all_goals(self.goals) if goal.text == text), None)
        if goal is None:
            self.goals.append(goal := Goal(text))
        goal.status = status

    def record_step(self, action: str, result: str = "", *, succeeded: bool = True) -> None:
        """Note that a step was carried out; it is no longer pending."""
        self.completed_steps.append(StepDone(action, result, succeeded))
        self.trim()
        if action in self.pending_actions:
            self.pending_actions.remove(action)

    def decide(self, question: str, answer: str, rationale: str = "") -> None:
        """Keep a decision of the task."""
        self.decisions.append(DecisionMade(question, answer, rationale))
        self.trim()

    def end_turn(self, passing: Sequence[str], taint: Sequence[str]) -> None:
        """Keep facts the user called temporary, and the turn's taint if anything is noted here."""
        self.passing |= dict.fromkeys([" ".join(text.split()) for text in passing], "")
        if passing:
            self.trim()
        if self.task is not None or passing:
            self.taint = list(joined(self.taint, taint))

    def trim(self) -> None:
        """Drop the oldest steps, decisions, goals, results and variables when there are too many."""
        entries: list[list[Any]] = [self.completed_steps, self.decisions, self.goals, self.pending_actions]
        for kept in entries:
            del kept[: max(0, len(kept) - self.max_items)]
        for named in (self.results, self.variables, self.passing):
            for name in list(named)[: max(0, len(named) - self.max_items)]:
                del named[name]

    def done_lines(self) -> list[str]:
        """Return one line per completed step, for the prompt."""
        return [_step_line(step) for step in self.completed_steps] if self.task else []

    def to_data(self) -> dict[str, JSON]:
        """Return everything as JSON types."""
        return asdict(self)

    @classmethod
    def from_data(cls, data: Mapping[str, JSON]) -> WorkingMemory:
        """Restore working memory from the result of ``to_data``."""
        values = dict(data)
        values["goals"] = [_goal(goal) for goal in values.get("goals", ())]
        values["completed_steps"] = [StepDone(**step) for step in values.get("completed_steps", ())]
        values["decisions"] = [DecisionMade(**decision) for decision in values.get("decisions", ())]
        return cls(**values)


def _goal(data: Mapping[str, JSON]) -> Goal:
    return Goal(data["text"], [_goal(subgoal) for subgoal in data["subgoals"]], str(data.get("status", "open")))


def _all_goals(goals: Sequence[Goal]) -> Iterator[Goal]:
    """Yield goals and their subgoals."""
    for goal in goals:
        yield goal
        yield from _all_goals(goal.subgoals)


def _step_line(step: StepDone) -> str:
    mark = "" if step.succeeded else " (failed)"
    return f"{step.action}{mark}" + (f": {step.result}" if step.result else "")


# Working memory as lines for the prompt: the task, its goals, what is done, and what was found.

LINE = 240
"""The most characters of one entry that the prompt shows."""
NOTES = 800
"""The most characters of the scratchpad that the prompt shows."""


def working_lines(working: WorkingMemory) -> list[str]:
    """Return the lines of working memory, the most needed first; empty without a task."""
    for_now = [excerpt(f"for now: {text}", LINE) for text in working.passing]
    if working.task is None:
        return for_now
    lines = [
        f"task: {working.task} ({working.current_phase})",
        *(f"done: {line}" for line in working.done_lines()),
        *_goals(working.goals),
        *(f"next: {action}" for action in working.pending_actions[-working.max_items :]),
        *(f"must hold: {text}" for text in working.constraints[-working.max_items :]),
        *(f"decided: {made.question} {made.answer}" for made in working.decisions),
        *_named("result", working.results, working.max_items),
        *_named("variable", working.variables, working.max_items),
    ]
    shown = [*(excerpt(" ".join(line.split()), LINE) for line in lines), *for_now]
    return [*shown, f"notes: {excerpt(working.scratchpad, NOTES)}"] if working.scratchpad else shown


def _goals(goals: Sequence[Goal], depth: int = 0) -> Iterator[str]:
    for goal in goals:
        status = "" if goal.status == "open" else f" ({goal.status})"
        yield f"goal: {'> ' * depth}{goal.text}{status}"
        yield from _goals(goal.subgoals, depth + 1)


def _named(kind: str, values: dict[str, JSON], most: int) -> Iterable[str]:
    return (f"{kind}: {name} = {value}" for name, value in [*values.items()][-most:])


# Conversation memory: the messages of a session, the summary of older ones, and a search over both.

Summarise = Callable[[Sequence[Message]], str]


def first_lines(messages: Sequence[Message]) -> str:
    """Return one line per message with its beginning: a summary that needs no model."""
    return "\n".join(f"{message['role']}: {' '.join(message['content'].split())[:120]}" for message in messages)


SUMMARY = "Summary of the conversation so far:"


class ConversationMemory:
    """Keeps at most ``max_messages``; past ``summarize_at`` all but the newest ``keep`` go into the summary.

    >>> talk = ConversationMemory(summarize_at=3, keep=1)
    >>> for said in ("My dog is called Rex.", "He is old.", "It rains.", "Good night."):
    ...     talk.add_message("user", said)
    >>> len(talk.messages), [found.text for found in talk.search("What is my dog called?", limit=1)]
    (1, ['My dog is called Rex.'])
    >>> print(talk.get_context_string())
    Summary of the conversation so far:
    user: My dog is called Rex.
    user: He is old.
    user: It rains.
    user: Good night.
    """

    def __init__(
        self,
        max_messages: int = 50,
        summarize_at: int = 30,
        keep: int = 10,
        summarise: Summarise = first_lines,
        count: Callable[[str], int] = estimate_tokens,
    ) -> None:
        self._count = count
        self.messages: list[Message] = []
        self.older: list[Message] = []
        """Messages replaced by the summary; they are still searched."""
        self.summary = ""
        self._max_messages = max_messages
        self._summarize_at = min(summarize_at, max_messages)
        self._keep = min(keep, self._summarize_at)
        self._summarise = summarise

    def add_message(self, role: str, content: str) -> None:
        """Add a message, and compress when there are too many; raise LoopError if it is not text."""
        check_words(role, "the role of a message")
        check_words(content, "a message")
        self.messages.append({"role": role, "content": content})
        self._compress()

    add = add_message

    def clear(self) -> None:
        """Forget every message and the summary."""
        self.messages, self.older, self.summary = [], [], ""

    def _compress(self) -> None:
        if len(self.messages) <= self._summarize_at:
            return
        place = len(self.messages) - self._keep
        old, self.messages = self.messages[:place], self.messages[place:]
        self.older = [*self.older, *old][-self._max_messages * 20 :]
        self.summary = "\n".join(f"{self.summary}\n{self._summarise(old)}".strip().splitlines()[-self._max_messages :])

    def get_last_n(self, n: int) -> list[Message]:
        """Return the newest ``n`` messages, oldest first."""
        return self.messages[-n:] if n > 0 else []

    def get_messages_for_llm(self, max_tokens: int | None = None) -> list[Message]:
        """Return the messages for a model: the summary, if there is one, and the messages.

        Within ``max_tokens`` the newest messages come first, then as many of the summary's newest lines as fit.
        """
        kept: list[Message] = []
        left = max_tokens
        for message in reversed(self.messages):
            cost = self._count(message["content"])
            if left is not None and cost > left:
                break
            left = None if left is None else left - cost
            kept.insert(0, message)
        lines = [SUMMARY]
        for line in reversed(self.summary.splitlines()):
            if left is not None and self._count("\n".join([*lines, line])) > left:
                break
            lines.insert(1, line)
        opening: Message = {"role": "system", "content": "\n".join(lines)}
        return [opening, *kept] if len(lines) > 1 else kept

    def get_context_string(self, max_tokens: int | None = None) -> str:
        """Return the same as one text, one line per message."""
        seen = self.get_messages_for_llm(max_tokens)
        return "\n".join(
            message["content"] if message["role"] == "system" else f"{message['role']}: {message['content']}"
            for message in seen
        )

    def search(self, text: str, limit: int = 5, *, top_k: int | None = None) -> list[Found]:
        """Return the messages that share words with ``text``, best first, including summarised ones."""
        limit = limit if top_k is None else top_k
        return ranked_messages(text, "messages", [*self.older, *self.messages])[:limit]

    def export(self) -> dict[str, Any]:
        """Return everything as JSON types."""
        return {"messages": list(self.messages), "older": list(self.older), "summary": self.summary}

    def import_from(self, data: dict[str, Any] | str) -> None:
        """Load what ``export`` returned, or its JSON text, within this conversation's own limits."""
        try:
            given = json.loads(data) if isinstance(data, str) else data
        except (ValueError, RecursionError) as error:
            raise LoopError(f"This is not an exported conversation: it is not JSON ({error}).") from error
        if not isinstance(given, dict) or "messages" not in given:
            raise LoopError("This is not an exported conversation: it has no list 'messages'.")
        messages, older = _messages(given, "messages"), _messages(given, "older")
        self.messages, self.older, self.summary = messages, older, str(given.get("summary") or "")
        self._compress()


def _messages(given: dict[str, Any], key: str) -> list[Message]:
    """Return the messages under ``key`` of an export; raise LoopError if it is not a list of messages."""
    found = given.get(key) or []
    if not isinstance(found, list) or not all(map(_is_message, found)):
        raise LoopError(
            f"This is not an exported conversation: {key!r} must be a list of messages with role and content."
        )
    return list(found)


def _is_message(one: Any) -> bool:
    return isinstance(one, dict) and isinstance(one.get("role"), str) and isinstance(one.get("content"), str)


# Semantic memory: general knowledge, each statement with its importance.


@dataclass(frozen=True)
class Statement:
    """A known statement."""

    text: str
    importance: float = 0.5
    times: int = 1
    """How often it was stated."""


class SemanticMemory:
    """Statements to search by words or by meaning; repeating one makes it more important.

    >>> known = SemanticMemory()
    >>> _ = known.learn("Bergen is a town. It rains there often.")
    >>> _ = known.add("Bergen is a town", importance=0.9)  # told again, so it matters more
    >>> [(one.text, one.importance, one.times) for one in known.search("town of Bergen", limit=1)]
    [('Bergen is a town.', 0.9, 2)]
    """

    def __init__(self, embed: Callable[[str], Sequence[float]] | None = None, max_items: int = 1000) -> None:
        """Keep at most ``max_items`` statements; ``embed`` returns a vector, and search then uses cosine similarity.

        When there are too many, the least important and least often told goes first, among equals the oldest.
        """
        self.statements: list[Statement] = []
        self._max_items = max_items
        self._embed = embed
        self._vectors: dict[str, Sequence[float]] = {}

    def add(self, text: str = "", importance: float = 0.5, *, content: str = "") -> Statement:
        """Keep a statement and return it as stored; a known one is counted once more."""
        text = text or content
        if not isinstance(text, str) or not text.strip():
            raise LoopError("There is no statement to keep. Pass its text.")
        _check_importance(importance)
        for place, known in enumerate(self.statements):
            if same_wording(known.text, text):
                kept = replace(known, importance=max(known.importance, importance), times=known.times + 1)
                self.statements[place] = kept
                return kept
        kept = Statement(text, importance)
        self.statements.append(kept)
        while len(self.statements) > self._max_items:
            gone = min(self.statements[:-1] or self.statements, key=lambda known: (known.importance, known.times))
            self.statements.remove(gone)
            self._vectors.pop(gone.text, None)
        return kept

    def learn(self, text: str, importance: float = 0.5) -> list[Statement]:
        """Keep every sentence of a text as a separate statement, and return them as stored."""
        return [self.add(one, importance) for one in re.split(r"(?<=[.!?])\s+|\n+", text.strip()) if one.strip()]

    def forget(self, text: str | Statement) -> list[Statement]:
        """Drop and return the statements that say the same as ``text`` or as a statement returned earlier."""
        said = _wording(text)
        dropped = [known for known in self.statements if same_wording(known.text, said)]
        self.statements = [known for known in self.statements if known not in dropped]
        self._vectors = {
            known.text: self._vectors[known.text] for known in self.statements if known.text in self._vectors
        }
        return dropped

    def update_importance(self, text: str | Statement, importance: float) -> Statement:
        """Set the importance of a statement and return it; raise LoopError if none says the same.

        It is identified by its words, or by an object that ``add``, ``learn`` or ``search`` returned.
        """
        _check_importance(importance)
        said = _wording(text)
        for place, known in enumerate(self.statements):
            if same_wording(known.text, said):
                self.statements[place] = replace(known, importance=importance)
                return self.statements[place]
        raise LoopError(f"There is no statement {said!r:.60}. Add it first.")

    def search(
        self, query: str, limit: int = 5, threshold: float = 0.0, *, top_k: int | None = None
    ) -> list[Statement]:
        """Return the statements that share words with ``query``, or mean the same; among equals important ones first.

        Results scoring ``threshold`` or less are left out; the score is the share of the query's words, or the cosine.
        """
        limit = limit if top_k is None else top_k
        score = partial(overlap, words(query)) if self._embed is None else self._meant(query, self._embed)
        scored = [(score(known.text), known) for known in self.statements]
        found = sorted(scored, key=lambda pair: (-pair[0], -pair[1].importance, -pair[1].times))
        return [known for score, known in found if score > threshold][:limit]

    def _meant(self, query: str, embed: Callable[[str], Sequence[float]]) -> Callable[[str], float]:
        asked = tuple(embed(query))

        def cosine(text: str) -> float:
            if text not in self._vectors:
                self._vectors[text] = tuple(embed(text))
            other = self._vectors[text]
            size = math.sqrt(math.fsum(x * x for x in asked) * math.fsum(x * x for x in other))
            return math.fsum(x * y for x, y in zip(asked, other, strict=True)) / size if size else 0.0

        return cosine

    def consolidate(self, min_importance: float = 0.3) -> list[Statement]:
        """Drop and return unimportant statements that were told only once."""
        dropped = [known for known in self.statements if known.importance < min_importance and known.times < 2]
        self.statements = [known for known in self.statements if known not in dropped]
        return dropped


def _wording(said: str | Statement) -> str:
    text = said.text if isinstance(said, Statement) else said
    if not isinstance(text, str):
        raise LoopError(f"{said!r:.60} is not a statement. Name one by its words, or by what was returned for it.")
    return text


def _check_importance(importance: float) -> None:
    if not isinstance(importance, int | float) or not 0 <= importance <= 1:
        raise LoopError(f"importance {importance!r:.60} is not a number from 0 to 1.")


def same_wording(one: str, other: str) -> bool:
    """Return whether two statements say the same words in the same order; case and a full stop are ignored.

    >>> same_wording("Bob likes  Ada.", "bob likes Ada"), same_wording("Bob likes Ada", "Ada likes Bob")
    (True, False)
    """
    flat, against = (" ".join(text.casefold().split()).rstrip(".! ") for text in (one, other))
    return flat == against
