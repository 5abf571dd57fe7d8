"""The planner for callers: a domain, a budget, and what it has learned; and asking a model about a single task."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cache, partial
from typing import Any, NamedTuple

from .compiling.compiled import CompiledDomain, compile_domain, compile_goal, split
from .execution.executor import Executor
from .execution.interface import Act, call_function
from .explanation import explain_failure, with_obstacles
from .interface import (
    CHEAPEST,
    DEPTH,
    FOUND,
    GAVE_UP,
    LENGTH,
    NO_PLAN,
    TURNS,
    Budget,
    Decomposer,
    Plan,
    RankedStrategy,
    Reason,
    Result,
)
from .language.data import Start, parse_state
from .language.domain import Domain, Problem, left_out
from .language.methods import Method, methods_from, operators_from
from .language.objects import typed_objects
from .language.operators import Operator
from .language.terms import DomainError, HtnError, Members, ProblemError, Term, is_variable, parse_term, term_text
from .learning.gaps import INSTRUCTIONS, AskedWhole, GapQuestion, goal_methods, read_answer, tested, without_goals
from .learning.learned import LearnedMethod, learn
from .learning.proposals import Attempt, Consultation, GapProposals, PausableClock
from .search.search import SearchSetting, Tree, joined, plan_of, tree_of
from .search.solver import (
    Meter,
    SearchOutcome,
    all_declared,
    by_rank,
    make_world,
    network_of,
    search,
    without_dead_ends,
)
from .verification.verify import verify

_TRY = Budget(nodes=20_000, depth=20_000, seconds=5.0)
"""The budget for carrying out one proposal on a copy of the state."""
_EXPLAINED = 1.0
"""Seconds for explaining a failure."""


class _Ready(NamedTuple):
    """A domain compiled once for many problems."""

    able: CompiledDomain
    """Without methods that lead nowhere."""
    parted: CompiledDomain
    """The same, with methods split into parts."""


class HTNPlanner:
    """Decomposes tasks by methods into operators; if no method applies it may ask a model.

    >>> planner = HTNPlanner(
    ...     operators=[Operator("go ?to", ["not at ?to"], ["at ?to"])],
    ...     methods=[Method("walk", "visit ?place", [], ["go ?place"])],
    ... )
    >>> [str(step) for step in planner.generate("visit shop", set())]
    ['go shop']
    """

    def __init__(
        self,
        methods: object = None,
        operators: object = None,
        *,
        domain: Domain | Mapping[str, Any] | None = None,
        llm_decompose: Decomposer | AskedWhole | Consultation | None = None,
        learned: Sequence[Method] = (),
        promoted_only: bool = False,
        budget: Budget | None = None,
        strategy: str | RankedStrategy = TURNS,
    ) -> None:
        """Plan over a domain; ``strategy`` is ``turns``, ``depth``, ``length`` or ``cheapest``, optionally ranked."""
        rank, strategy = (
            (strategy.rank, strategy.strategy) if isinstance(strategy, RankedStrategy) else (None, strategy)
        )
        if strategy not in (TURNS, DEPTH, LENGTH, CHEAPEST):
            raise HtnError(f"{strategy!r} is not a strategy. Use {TURNS}, {DEPTH}, {LENGTH} or {CHEAPEST}.")
        given = Domain.from_data(domain) if isinstance(domain, Mapping) else domain or Domain()
        if not isinstance(given, Domain):
            raise DomainError(f"{domain!r:.60} is not a domain. Pass a Domain, or the data of a domain's file.")
        self.domain = _with(given, methods_from(methods), operators_from(operators))
        self.learned: list[Method] = list(learned)
        """Methods that came from accepted proposals."""
        self.learned_here: list[LearnedMethod] = []
        """Those of them that this planner itself learned, with their origins."""
        self.last_result: Result | None = None
        self._promoted_only = promoted_only
        self._budget = budget or Budget()
        asked = llm_decompose
        self._asking = asked if asked is None or isinstance(asked, Consultation) else Consultation(asked)
        self._strategy = strategy
        self._reorder = None if rank is None else by_rank(rank)
        self._ready: dict[bool, _Ready] = {}

    @property
    def reasons(self) -> list[str]:
        """Return in words what prevented the last plan."""
        return [] if self.last_result is None else [str(reason) for reason in self.last_result.reasons]

    def generate(self, task: object, state: object = None, *, objects: Mapping[str, str] | None = None) -> Plan | None:
        """Return the steps that do the task from the state, or None; ``reasons`` then explains why."""
        return self.solve(task, state, objects=objects).plan

    def solve(self, task: object, state: object = None, *, objects: Mapping[str, str] | None = None) -> Result:
        """Return the plan with its decomposition tree, or what prevented it."""
        return self.solve_problem(self.problem(task, state, objects=objects))

    def problem(self, task: object, state: object = None, *, objects: Mapping[str, str] | None = None) -> Problem:
        """Return the problem that ``solve`` would solve: tasks, facts and objects parsed from the caller's notation."""
        try:
            start = self._start(state)
            tasks = self._tasks(task)
        except HtnError as error:
            raise ProblemError(error.message) from None
        known = {**self.domain.objects, **(objects or {})}
        return Problem(tasks=tasks, state=start.facts, numbers=start.numbers, objects=known, spelled=start.spelled)

    def _start(self, state: object) -> Start:
        if state is None:
            return replace(parse_state(self.domain.state or ()), numbers=self.domain.numbers)
        return parse_state(state, self.domain.functions)

    def solve_problem(self, problem: Problem, *, explained: bool = True) -> Result:
        """Return the plan for a problem with its decomposition tree, or what prevented it.

        If there is no plan, or the search gave up, ``explained`` computes how far each method gets.
        """
        result = self._searched(problem)
        if result.outcome == NO_PLAN and (words := left_out(problem, self.domain, self.usable)):
            result = replace(result, reasons=(*result.reasons, Reason("order", words)))
        if explained and not result.found:
            gave_up, clock = result.outcome == GAVE_UP, self._budget.clock
            obstacles = explain_failure(self, problem, gave_up=gave_up, seconds=_EXPLAINED, clock=clock)
            result = with_obstacles(result, obstacles)
        self.last_result = result
        return result

    def _searched(self, problem: Problem) -> Result:
        clock = PausableClock(self._budget.clock)
        meter = Meter(self._budget, clock)
        find_members = cache(lambda: typed_objects(self.domain, problem))
        ready = self._compiled(all_declared(self.domain, problem, find_members))
        setting = SearchSetting(
            compiled=ready.able,
            tasks=network_of(problem),
            goal=compile_goal(problem.goal, self.domain) if problem.goal else None,
            new_world=lambda: make_world(problem, find_members, meter.tick),
            depth=self._budget.depth,
            reorder=self._reorder,
        )
        # A ranking needs whole choices.
        parted = setting if self._reorder is not None else replace(setting, compiled=ready.parted)
        found = search(parted, meter, self._strategy)
        if found.outcome != NO_PLAN or self._asking is None:
            return self._result(found, meter, None)
        attempt = self._attempt(ready.able, problem, find_members, meter)
        why = partial(self._why, problem)
        proposals = GapProposals(self._asking, problem, self.domain, self.usable, attempt, why, clock)
        as_written = compile_domain(self.domain, _further(self.domain, self.usable), as_written=True)
        found = search(replace(setting, compiled=as_written, propose=proposals), meter)
        if found.outcome == NO_PLAN:
            proposals.say_if_unasked()
        result = self._result(found, meter, proposals)
        self._learn(problem, result, find_members(), proposals, self._asking)
        return result

    @property
    def asks_model(self) -> bool:
        """Return whether a model is asked if no method applies."""
        return self._asking is not None

    def executor(self, act: Act = call_function, **more: Any) -> Executor:
        """Return an executor for the plans of this planner; ``more`` is as in :class:`execution.Executor`."""
        return Executor(self, act, **more)

    def known_only(self, budget: Budget) -> HTNPlanner:
        """Return a planner with the same methods that asks no model and spends at most ``budget``."""
        other = copy.copy(self)
        other._asking, other._budget = None, budget
        return other

    def over(self, domain: Domain) -> HTNPlanner:
        """Return a planner like this one over another domain; they share what either learns."""
        other = copy.copy(self)
        other.domain, other._ready = domain, {}
        return other

    def _attempt(
        self, compiled: CompiledDomain, problem: Problem, find_members: Callable[[], Members], meter: Meter
    ) -> Attempt:
        """Return a function that solves tasks from a state by known methods alone, within its own limits."""

        def attempt(tasks: Sequence[Term], facts: Mapping[Term, None], numbers: Mapping[Term, Any]) -> Result:
            part = meter.part(_TRY)
            start = replace(problem, state=tuple(facts), numbers=dict(numbers))
            setting = SearchSetting(
                compiled=compiled,
                tasks=tasks,
                new_world=lambda: make_world(start, find_members, part.tick),
                depth=_TRY.depth,
            )
            found = search(setting, part)
            bound = () if found.bound is None else (found.bound,)
            return Result(found.outcome, plan_of(found.decisions), (), bound, part.nodes)

        return attempt

    def _why(
        self, problem: Problem, tasks: Sequence[Term], facts: Mapping[Term, None], numbers: Mapping[Term, Any]
    ) -> list[str]:
        """Return in words what keeps known methods from doing tasks from a state."""
        here = replace(problem, tasks=tuple(tasks), ordering=None, goal=(), state=tuple(facts), numbers=dict(numbers))
        found = explain_failure(self, here, seconds=_EXPLAINED, clock=self._budget.clock)
        return [str(reason) for each in found for reason in each.reasons()]

    def _result(self, found: SearchOutcome, meter: Meter, proposals: GapProposals | None) -> Result:
        counts = proposals.counts if proposals else {"asked": 0, "accepted": 0, "rejected": 0}
        told = tuple(proposals.reasons.values()) if proposals else ()
        bound = () if found.bound is None else (found.bound,)
        if found.outcome == FOUND:
            tree = Tree(lambda: without_goals(tree_of(joined(found.decisions)), self.domain))
            return Result(FOUND, plan_of(found.decisions), tree, (*told, *bound), meter.nodes, counts, found.cost)
        return Result(found.outcome, None, (), (*bound, *told), meter.nodes, proposals=counts)

    def _learn(
        self, problem: Problem, result: Result, members: Members, proposals: GapProposals, asking: Consultation
    ) -> None:
        """Keep the proposals that a complete plan uses; the others were no help here."""
        used = {str(node.get("method")) for node in result.tree}
        if result.outcome != GAVE_UP:
            proposals.set_aside(used)
        ground = [each.method for name, each in proposals.accepted.items() if name in used]
        if not ground or result.plan is None:
            return
        if verify(self.domain, problem, result.plan, extra=[*self.usable, *ground]):
            return
        found = learn(result.tree, proposals.accepted, self.domain, problem, members, self.learned)
        self.learned_here += found
        self.learned += [each.method for each in found]
        self._ready.clear()
        if found:
            asking.keep(problem, found)

    @property
    def usable(self) -> Sequence[Method]:
        """Return the learned methods that plans may use."""
        return () if self._promoted_only else self.learned

    def _compiled(self, typed: bool) -> _Ready:
        """Return the domain as compiled before any search; without learned methods, all its planners share it."""
        if not self.usable:
            return self.domain.kept(("compiled", typed), lambda: _made_ready(self.domain, (), typed))
        if typed not in self._ready:
            self._ready[typed] = _made_ready(self.domain, self.usable, typed)
        return self._ready[typed]

    def _tasks(self, task: object) -> tuple[Term, ...]:
        """Parse one task or a list of them; a list of words of which only the first is a known task is one task."""
        if (
            isinstance(task, list)
            and task
            and (not all(isinstance(each, str) for each in task) or self._names_tasks(task))
        ):
            tasks = tuple(parse_term(each) for each in task)
        else:
            tasks = (parse_term(task),)
        for each in tasks:
            if any(is_variable(part) for part in each):
                raise ProblemError(f"The task '{term_text(each)}' has a variable. Name an object.")
        return tasks

    def _names_tasks(self, words: Sequence[str]) -> bool:
        return len(words) == 1 or self.domain.is_known(parse_term(words[1])[0]) or not self.domain.is_known(words[0])


def _made_ready(domain: Domain, learned: Sequence[Method], typed: bool) -> _Ready:
    able = without_dead_ends(compile_domain(domain, _further(domain, learned), typed=typed))
    return _Ready(able, split(able))


def _further(domain: Domain, learned: Sequence[Method]) -> list[Method]:
    """Return the methods of a search in addition to those of the domain."""
    return [*goal_methods(domain), *(tested(method, domain) for method in learned)]


def _with(domain: Domain, methods: Sequence[Method], operators: Sequence[Operator]) -> Domain:
    if not methods and not operators:
        return domain
    return replace(domain, methods=(*domain.methods, *methods), operators=(*domain.operators, *operators))


def llm_decompose(
    task: Any,
    state: Any = None,
    *,
    ask: Callable[[str], str] | None = None,
    domains: Iterable[Domain | Mapping[str, Any]] = (),
) -> list[str] | None:
    """Return a model's subtasks for a task, or None if none of its answers is valid.

    The model is asked once per domain, with what that domain can do, and again with the faults of its answer.
    Subtasks are valid in a domain if its operators can carry them out from ``state``, including every precondition,
    and the task's declared effects hold afterwards. After Chat-HTN (arXiv 2505.11814).

    Args:
        task: A term, as in ``"deliver book shop"``.
        state: The current facts; None for the initial ones of a domain.
        ask: The model: takes a text, returns its answer. Without one nobody is asked.
        domains: Planning domains, as ``Domain`` or as the data of a domain's file. Without any nothing is valid.

    Raises:
        HtnError: A domain, the task or the state is invalid.

    >>> domain = {"name": "house", "operators": [{"name": "open", "parameters": "?what", "add": ["open ?what"]}]}
    >>> llm_decompose("air window", [], ask=lambda question: '{"subtasks": ["open window"]}', domains=[domain])
    ['open window']
    """
    if ask is None:
        return None
    for domain in domains:
        planner = HTNPlanner(domain=domain, llm_decompose=Consultation(_Asked(ask)))
        result = planner.solve(task, state)
        if result.found:
            root = result.tree[0]["id"]
            return [term_text((node["name"], *node["args"])) for node in result.tree if node["parent"] == root]
    return None


class _Asked:
    """A model that takes text."""

    def __init__(self, answer: Callable[[str], str]) -> None:
        self._answer = answer

    def ask(self, question: GapQuestion) -> Any:
        return read_answer(self._answer(f"{INSTRUCTIONS}\n\n{question.text()}"))
