"""Asks a model for subtasks where no method applies, and accepts only valid ones.

A proposal is checked for shape, names, arguments and types, and then carried out on a copy of the state down to
primitive steps, after which the task's declared effects must hold. A failure is counted and its reason kept for the
next attempt; it changes nothing else.
"""

from __future__ import annotations

import hashlib
import inspect
import json
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, cast

from ..compiling.compiled import compile_method
from ..compiling.functions import Expansion
from ..compiling.state import StateView
from ..interface import FOUND, Decomposer, Reason, Result
from ..language.domain import Domain, Problem, declared_effects, is_goal
from ..language.methods import Method, spelled_out
from ..language.objects import fault_of
from ..language.terms import ROOT_TYPE, HtnError, Members, Term, counted, is_variable, parse_term, term_text
from ..search.search import Search
from ..verification.evaluation import StepState, holds
from .gaps import (
    LONGEST_SUBTASK,
    MOST_SUBTASKS,
    AskedWhole,
    Gap,
    GapQuestion,
    Gaps,
    RefusedProposal,
    RememberedGaps,
    with_goal,
)

NOT_ASKED = (
    "no model was asked: a method applied to every task that was met, and a step failed further down. "
    "A model is asked only for a task that no method applies to"
)

Attempt = Callable[[Sequence[Term], Mapping[Term, None], Mapping[Term, Any]], Result]
"""Solves tasks from facts and numbers by known methods alone, within its own limits."""
Why = Callable[[Sequence[Term], Mapping[Term, None], Mapping[Term, Any]], list[str]]
"""Returns in words what keeps known methods from doing tasks from facts and numbers."""
Objection = Callable[[Term, Sequence[Term]], str | None]
"""Returns why subtasks of a task are unwanted, whatever they would do, or None."""


class TaskText(str):
    """A task as text, which also has its name and arguments."""

    name: str
    args: Term

    def __new__(cls, task: Term) -> TaskText:
        """Return the text of ``task``."""
        text = super().__new__(cls, term_text(task))
        text.name, text.args = task[0], task[1:]
        return text


class Rejected(Exception):
    """Report why a proposal is not used."""


@dataclass(frozen=True)
class Accepted:
    """A valid proposal, as a method of the one task for which it was made."""

    method: Method
    gap: Gap
    proposal: str
    """A digest of the model's answer."""
    text: str
    """That answer, truncated if it is long."""
    verified: bool
    """Whether effects of the task are declared, and were observed to hold."""


@dataclass(frozen=True)
class Consultation:
    """Which model to ask, how often, what to remember of its answers, and who stores what is learned.

    >>> def model(task, state):
    ...     return ["open window"]
    >>> asked = Consultation(model, questions=1, objection=lambda task, subtasks: "nobody opens windows here")
    >>> planner = HTNPlanner(operators=[Operator("open ?what")], llm_decompose=asked)
    >>> planner.generate("air kitchen", ["closed window"])
    >>> planner.reasons[-1]
    'air kitchen: proposal rejected: nobody opens windows here'
    """

    decompose: Decomposer | AskedWhole
    questions: int = 8
    """Limit per search."""
    rounds: int = 3
    """Limit per gap, including the attempts of earlier searches."""
    gaps: Gaps = field(default_factory=RememberedGaps)
    objection: Objection = field(default=lambda task, subtasks: None)
    keep: Callable[[Problem, Sequence[Any]], None] = field(default=lambda problem, learned: None)
    """Called with what was learned with the plan for a problem."""

    @property
    def whole(self) -> Callable[[GapQuestion], Any] | None:
        """Return the function that takes the whole question, if the model has one."""
        ask: Callable[[GapQuestion], Any] | None = getattr(self.decompose, "ask", None)
        return ask

    @property
    def takes_reasons(self) -> bool:
        """Return whether the model is told what was wrong with earlier proposals, so that asking again makes sense."""
        if self.whole is not None:
            return True
        try:
            signature = inspect.signature(cast(Decomposer, self.decompose))
            signature.bind("task", "state", [])
        except (TypeError, ValueError):
            return False
        third = [*signature.parameters.values()][2:3]  # an option with a default is not a place for them
        return all(one.default is one.empty or one.name == "reasons" for one in third)


class PausableClock:
    """A clock that stops while a model is asked: a slow model does not use up the time of the search."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._paused = 0.0

    def __call__(self) -> float:
        """Return the time without the pauses."""
        return self._clock() - self._paused

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Stop for the duration of the block."""
        start = self._clock()
        try:
            yield
        finally:
            self._paused += self._clock() - start


class GapProposals:
    """Asks a model about the gaps of one search, a limited number of times, and about none of them twice."""

    def __init__(
        self,
        asking: Consultation,
        problem: Problem,
        domain: Domain,
        learned: Sequence[Method],
        attempt: Attempt,
        why: Why,
        clock: PausableClock,
    ) -> None:
        self.counts = {"asked": 0, "accepted": 0, "rejected": 0}
        self.reasons: dict[str, Reason] = {}
        """The results of asking, by their text."""
        self.accepted: dict[str, Accepted] = {}
        """The accepted proposals, by the name of their method."""
        self._asking = asking
        self._problem = problem
        self._domain = domain
        self._learned = tuple(learned)
        self._attempt, self._why = attempt, why
        self._clock = clock
        self._left = asking.questions
        self._answers: dict[tuple[Term, Any], Method | None] = {}

    def __call__(self, task: Term, search: Search) -> Iterator[Expansion]:
        """Yield the model's decomposition of a task if it is valid."""
        if is_goal(task):
            return
        key = (task, search.world.facts.key)
        if key not in self._answers:
            facts, ancestors = search.world.facts, tuple(search.ancestors())
            now = _Moment(task, facts.facts, facts.numbers, search.world.members, ancestors)
            self._answers[key] = self._ask(now)
        method = self._answers[key]
        if method is not None:
            yield compile_method(method, search.compiled.domain), (), method.steps, len(method.steps)

    def say_if_unasked(self) -> None:
        """Record why the model was not asked, for callers who supplied one and wonder."""
        if not self._answers:
            self.reasons[NOT_ASKED] = Reason("proposal", NOT_ASKED)

    def set_aside(self, used: Container[str]) -> None:
        """Remember that valid proposals were no help, except for those with names in ``used``."""
        for name, each in self.accepted.items():
            if name not in used and self._asking.takes_reasons:
                self._asking.gaps.refuse(
                    each.gap, RefusedProposal(each.text, "it can be carried out, but led to no plan")
                )

    def _ask(self, now: _Moment) -> Method | None:
        gap = Gap.of(now.task, now.facts, now.numbers)
        repeats = self._asking.takes_reasons
        refused = list(self._asking.gaps.refused(gap)) if repeats else []
        while len(refused) < (self._asking.rounds if repeats else 1):
            if self._left == 0:
                self._note(now.task, "the model was asked often enough")
                return None
            self._left -= 1
            self.counts["asked"] += 1
            with self._clock.paused():
                answer = self._answer(now, refused)
            try:
                return self._accept(answer, now, gap, refused)
            except Rejected as rejected:
                self.counts["rejected"] += 1
                self._note(now.task, f"proposal rejected: {rejected}")
                refused.append(RefusedProposal(_short(answer), str(rejected)))
                if answer is None:
                    return None  # it has no answer this time
                if repeats:
                    self._asking.gaps.refuse(gap, refused[-1])
        if refused and not self.counts["asked"]:
            tries = counted(len(refused), "time")
            self._note(now.task, f"the model was already asked {tries} in this state: {refused[-1].reason}")
        return None

    def _note(self, task: Term, words: str) -> None:
        told = f"{term_text(task)}: {words}"
        self.reasons.setdefault(told, Reason("proposal", told, term_text(task)))

    def _answer(self, now: _Moment, refused: Sequence[RefusedProposal]) -> Any:
        why = self._why([now.task], now.facts, now.numbers)
        if (ask := self._asking.whole) is not None:
            return ask(self._question(now, tuple(why), refused))
        decompose: Any = self._asking.decompose
        task, view = TaskText(now.task), StateView(dict(now.facts), "text")
        if not self._asking.takes_reasons:
            return decompose(task, view)
        told = [*why, *(f"{task}: proposal rejected: {each.reason}" for each in refused)]
        return decompose(task, view, told)

    def _question(self, now: _Moment, why: tuple[str, ...], refused: Sequence[RefusedProposal]) -> GapQuestion:
        declared = {**self._domain.objects, **self._problem.objects}
        objects = {name: declared.get(name, ROOT_TYPE) for name in now.members.get(ROOT_TYPE, {})}
        return GapQuestion(
            now.task,
            declared_effects(self._domain, now.task),
            tuple(now.facts),
            dict(now.numbers),
            objects,
            self._domain,
            self._learned,
            why,
            tuple(refused),
        )

    def _accept(self, answer: Any, now: _Moment, gap: Gap, refused: Sequence[RefusedProposal]) -> Method:
        """Return the proposal as a method, or raise Rejected."""
        if answer is not None and any(each.proposal == _short(answer) for each in refused):
            raise Rejected("it was already proposed and refused")
        subtasks = self._checked(answer, now)
        effects = declared_effects(self._domain, now.task)
        self._carry_out(subtasks, now)
        self.counts["accepted"] += 1
        method = Method(f"proposed_{now.task[0]}_{len(self.accepted) + 1}", now.task, (), subtasks, learned=True)
        self.accepted[method.name] = Accepted(method, gap, digest_of(answer), _short(answer), bool(effects))
        to_goal = with_goal(self._domain, now.task, subtasks)
        return Method(method.name, now.task, (), spelled_out(to_goal), learned=True)

    def _checked(self, answer: Any, now: _Moment) -> list[Term]:
        subtasks = [_read(item) for item in _items(answer)]
        for subtask in subtasks:
            fault = fault_of(subtask, self._domain, self._learned, now.members)
            if fault is not None:
                raise Rejected(fault)
            if subtask == now.task or subtask in now.ancestors:
                raise Rejected(f"'{term_text(subtask)}' leads back to a task in progress")
        objection = self._asking.objection(now.task, subtasks)
        if objection is not None:
            raise Rejected(objection)
        return subtasks

    def _carry_out(self, subtasks: Sequence[Term], now: _Moment) -> None:
        """Try the subtasks on a copy of the state, down to primitive steps and to the task's declared effects."""
        wanted = with_goal(self._domain, now.task, subtasks)
        found = self._attempt(wanted, now.facts, now.numbers)
        if found.outcome == FOUND:
            return
        if len(wanted) > len(subtasks):
            plain = self._attempt(subtasks, now.facts, now.numbers)
            if plain.outcome == FOUND:
                raise Rejected(self._missing(plain, now))
            found = plain
        why = [str(found.reasons[0])] if found.reasons else self._why(subtasks, now.facts, now.numbers)
        raise Rejected(why[0] if why else "carrying it out never ends in steps")

    def _missing(self, result: Result, now: _Moment) -> str:
        """Return the declared effect that a plan does not bring about."""
        start = Problem(tasks=(), state=tuple(now.facts), numbers=dict(now.numbers), spelled=self._problem.spelled)
        state = StepState(start, now.members)
        state.follow(result.plan or (), self._domain.steps)
        for effect in declared_effects(self._domain, now.task):
            if not holds(effect, {}, state, ()):
                return f"'{effect}' should hold afterwards but does not"
        return "its effects hold only for some ways of carrying it out"


@dataclass(frozen=True)
class _Moment:
    """A task that the search has reached, and the state there."""

    task: Term
    facts: Mapping[Term, None]
    numbers: Mapping[Term, Any]
    members: Members
    ancestors: Sequence[Term]


def digest_of(answer: Any) -> str:
    """Return a digest of a model's answer, the same in every process."""
    return hashlib.sha256(_canonical(answer).encode("utf-8", "surrogatepass")).hexdigest()


def _canonical(answer: Any) -> str:
    try:
        return json.dumps(answer, ensure_ascii=False, sort_keys=True, default=repr)
    except (TypeError, ValueError, RecursionError):
        return f"{type(answer).__name__}, not to be written down"


def _short(answer: Any) -> str:
    """Return an answer as text for the next question, truncated with a distinguishing digest if it is long."""
    text = _canonical(answer)
    return text if len(text) <= LONGEST_SUBTASK else f"{text[:200]}… ({len(text)} characters, {digest_of(answer)[:12]})"


def _items(answer: Any) -> Sequence[Any]:
    if isinstance(answer, Mapping):
        strange = [str(key) for key in answer if key != "subtasks"]
        if strange:
            raise Rejected(f"it has the key {strange[0][:80]!r}; give a list of subtasks, or one under 'subtasks'")
        answer = answer.get("subtasks")
    if answer is None:
        raise Rejected("nothing was proposed")
    if not isinstance(answer, list | tuple):
        raise Rejected(f"it is {_kind(answer)}, not a list of subtasks")
    if not answer:
        raise Rejected("it has no subtasks")
    if len(answer) > MOST_SUBTASKS:
        raise Rejected(f"it has {len(answer)} subtasks; the limit is {MOST_SUBTASKS}")
    return answer


def _kind(value: Any) -> str:
    """Return what a part of an answer is, in the words of JSON."""
    words = {type(None): "null", bool: "true or false", str: "text", int: "a number", float: "a number", list: "a list"}
    return words.get(type(value), "an object")


def _read(item: Any) -> Term:
    if isinstance(item, str) and len(item) > LONGEST_SUBTASK:
        raise Rejected(f"a subtask is {len(item)} characters long")
    if not isinstance(item, str | tuple | list | Mapping):
        raise Rejected(f"a subtask is {_kind(item)}, not a text or a tuple")
    if isinstance(item, Mapping) and set(item) - {"name", "args"}:
        raise Rejected("a subtask that is a map must have the keys name and args only")
    try:
        term = parse_term(item)
    except (HtnError, RecursionError) as error:
        raise Rejected(getattr(error, "message", "a subtask is nested too deeply")) from None
    length = sum(len(str(part)) + 1 for part in term) - 1
    if length > LONGEST_SUBTASK:
        raise Rejected(f"a subtask is {length} characters long")
    if any(is_variable(part) for part in term):
        raise Rejected(f"'{term_text(term)}' has a variable; subtasks name objects")
    return term
