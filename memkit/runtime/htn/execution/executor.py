"""Carries out a plan like GTPyhop's ``run_lazy_lookahead``: act until something differs, then plan from there."""

from __future__ import annotations

import copy
import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

from ..compiling.state import StateView
from ..interface import Node, Reason, Result, Step
from ..language.conditions import Check, Compare, Condition, Some
from ..language.domain import Domain, Problem
from ..language.methods import Ordering, all_predecessors, order_as_done
from ..language.operators import Operator
from ..language.terms import Term, counted, ground
from .course import FORMAT, Belief, Changes, Course, Failure, Journal, PlanJournalError, Snapshot
from .interface import (
    DENIED,
    DONE,
    FAILED,
    UNKNOWN,
    Act,
    Action,
    Answer,
    Answered,
    Execution,
    Objection,
    Observe,
    Planner,
    Settle,
    StepRecord,
    Tell,
    call_function,
    read_observation,
)

EXCERPT = 2000
"""The most characters of a tool's result that the account of a run keeps."""


class Executor:
    """Plans a problem, carries out the steps one by one, and replans when the world differs from the plan.

    The journal records each step before it begins, and its outcome afterwards, so that a killed run continues without
    repeating completed steps. A step that had begun and whose outcome is unknown is never simply repeated: either its
    operator is ``idempotent``, or ``settle`` is asked.

    >>> def act(action: Action) -> Answer:
    ...     return Answer("it jams", error=True) if action.step.args == ("window",) else Answer("done")
    >>> ways = [Method("by_window", "air", [], ["open window"]), Method("by_door", "air", [], ["open door"])]
    >>> planner = HTNPlanner(ways, [Operator("open ?what", [], ["open ?what"])])
    >>> done = Executor(planner, act).run(planner.problem("air", []))
    >>> done.outcome, done.replans, [(str(each.step), each.status) for each in done.steps]
    ('done', 1, [('open window', 'failed'), ('open door', 'done')])
    """

    def __init__(
        self,
        planner: Planner,
        act: Act = call_function,
        *,
        objection: Objection | None = None,
        observe: Observe | None = None,
        settle: Settle | None = None,
        journal: Journal | None = None,
        max_replans: int = 5,
        tell: Tell = lambda entry: None,
    ) -> None:
        self._planner = planner
        self._act = act
        self._objection = objection or (lambda action: None)
        self._observe = observe
        self._settle = settle or (lambda action: None)
        self._journal = journal
        self._name = "run" if journal is None else journal.run
        self._max_replans = max_replans
        self._tell = tell
        self._obstacles: tuple[Reason, ...] = ()
        """Why no other plan was found, the last time that one was searched for."""
        self._operators = planner.domain.steps

    def run(self, problem: Problem, result: Result | None = None) -> Execution:
        """Carry out the tasks of a problem, or continue the run that the journal holds.

        A plan that was already found for the problem may be passed as ``result``.

        Raises:
            PlanJournalError: The journal is of another problem, or cannot be written.
        """
        self._course = Course(self._planner.domain, problem, self._name)
        if self._journal is not None and self._journal.entries:
            return self._go_on(problem)
        return self._begin(problem, result)

    def _begin(self, problem: Problem, result: Result | None = None) -> Execution:
        result = result or self._planner.solve_problem(problem)
        if not result.found:
            return Execution(self._name, result.outcome, result, state=problem.state, reasons=result.reasons)
        if self._journal is None or not self._journal.entries:
            self._note("begin", format=FORMAT, run=self._name, problem=_digest(problem))
        self._follow(result, problem, because="")
        return self._carry_on()

    def _go_on(self, problem: Problem) -> Execution:
        assert self._journal is not None
        if self._journal.entries[0].get("problem") != _digest(problem):
            raise PlanJournalError(f"{self._journal.path} is the journal of a different problem.")
        self._course.follow(self._journal.entries, self._journal.path)
        if self._course.outcome == DONE:
            return self._course.execution()
        self._note("resumed", afresh=self._course.outcome is not None)
        if not self._course.has_plan:  # it was killed before its first plan was written
            return self._begin(problem)
        last, trouble = self._course.last, None
        if last is not None and last.status == UNKNOWN:
            action = self._action_of(last)
            if action.operator.idempotent:
                trouble = self._do(action)
            elif not self._settled(action):
                return self._course.execution(UNKNOWN, (_unknown(action),))
        elif last is not None and last.status == DONE and not last.observed:
            trouble = self._look(self._action_of(last), Answer(last.result))
        if trouble is None and not self._rest_serves():
            trouble = "the run was resumed, and the rest of its plan is no longer valid"
        if trouble is not None and not self._replan(trouble):
            return self._end(FAILED, trouble)
        return self._carry_on()

    def _carry_on(self) -> Execution:
        """Take one step after the other; a failure leads to another plan, as often as that is allowed."""
        while (step := self._course.next_step) is not None:
            trouble = self._take(step)
            if trouble and not self._replan(trouble):
                last = self._course.last
                denied = last is not None and last.status == DENIED
                return self._end(DENIED if denied else FAILED, trouble)
        return self._end(DONE)

    def _take(self, step: Step) -> str | None:
        fault = self._course.world.fault(step) or self._course.failed_here(step)
        if fault is not None:
            return f"{step}: {fault}"
        number = len(self._course.records) + 1
        action = Action(step, self._operators[step.name], number, f"{self._name}:{number}")
        objection = self._objection(action)
        if objection is not None:
            self._note("denied", **_told(action), reason=objection)
            return f"{step}: {objection}"
        return self._do(action)

    def _do(self, action: Action) -> str | None:
        predicted = self._course.world.predict(action.step)
        self._note("started", **_told(action))
        answer = self._act(action)
        if answer.error:
            reason = _excerpt(answer.text)
            self._note("failed", number=action.number, reason=reason)
            self._look(action, answer)
            return f"{action.step}: {reason}"
        self._note("done", number=action.number, result=_excerpt(answer.text), **predicted.to_data())
        return self._look(action, answer)

    def _look(self, action: Action, answer: Answered) -> str | None:
        """Compare observations with the belief; return why the plan is no longer valid, or None."""
        seen = read_observation(self._observe and self._observe(action, answer), self._planner.domain)
        if seen is None:
            return None
        found = self._course.world.compare(seen, self._course.taken)
        missed = f"was done, but then was observed: {', '.join(found.missed)}" if found.missed else ""
        self._note(
            "observed",
            number=action.number,
            missed=bool(missed),
            reason=missed,
            unexpected=list(found.unexpected),
            **found.changes.to_data(),
        )
        if missed:
            return f"{action.step} {missed}"
        if found.unexpected and not self._still_serves():
            return f"after {action.step} was observed: {', '.join(found.unexpected)}"
        return None

    def _rest_serves(self) -> bool:
        last = self._course.last
        if last is not None and last.unexpected:
            return self._still_serves()
        return self._course.world.rest_holds(self._course.rest)

    def _still_serves(self) -> bool:
        """Return whether planning from here gives exactly the remaining steps."""
        result = self._solve(next(self._remaining()))
        return result.plan == self._course.rest

    def _replan(self, trouble: str) -> bool:
        """Find another plan from the current state; return whether there is one and it may be followed."""
        if self._course.replans >= self._max_replans:
            times = counted(self._max_replans, "time")
            self._obstacles = (Reason("replans", f"it was already replanned {times}"),)
            return False
        found: list[Result] = []
        for problem in self._remaining():
            found.append(self._solve(problem))
            if found[-1].found:
                self._follow(found[-1], problem, because=trouble)
                return True
        self._obstacles = tuple(dict.fromkeys(_worded(reason) for result in found for reason in result.reasons))
        return False

    def _remaining(self) -> Iterator[Problem]:
        """Yield ways to finish what was begun, as problems that start here."""
        course = self._course
        for tasks, ordering in remaining_tasks(course.tree, course.position, course.order, self._planner.domain):
            yield course.world.problem(tasks, ordering)

    def _solve(self, problem: Problem) -> Result:
        planner = self._planner
        if self._course.failures:
            planner = planner.over(without_failures(planner.domain, self._course.failures))
        return planner.solve_problem(problem)

    def _follow(self, result: Result, problem: Problem, *, because: str) -> None:
        steps = [[step.name, *step.args] for step in result.plan or ()]
        roots = [_task(node) for node in result.tree if node["parent"] is None]
        order = order_as_done(roots, problem.tasks, problem.ordering)
        told = {} if order is None else {"order": order}
        self._note("plan", steps=steps, tree=[dict(node) for node in result.tree], because=because, **told)

    def _settled(self, action: Action) -> bool:
        """Ask about a step that was started before a kill; return whether its outcome is known now."""
        said = self._settle(action)
        if said == DONE:
            predicted = self._course.world.predict(action.step)
            self._note("done", number=action.number, result="taken as done", **predicted.to_data())
        elif said == FAILED:
            self._note("undone", number=action.number, reason="interrupted, and declared not to have happened")
        return said in (DONE, FAILED)

    def _action_of(self, record: StepRecord) -> Action:
        return Action(record.step, self._operators[record.step.name], record.number, record.key)

    def _end(self, outcome: str, trouble: str = "") -> Execution:
        reasons = (Reason("step", trouble), *self._obstacles) if trouble else ()
        self._note("end", outcome=outcome, reasons=[reason.to_data() for reason in reasons])
        return self._course.execution()

    def _note(self, event: str, **values: Any) -> None:
        """Write an entry to the journal, then apply it, then report it."""
        entry = {"event": event, **values}
        if self._journal is not None:
            self._journal.append(entry)
        self._course.take(entry)
        self._tell(entry)


def foresee(domain: Domain, problem: Problem, plan: Sequence[Step]) -> Iterator[tuple[Action, Changes]]:
    """Yield each step of a plan with its action and predicted changes, without carrying anything out."""
    world = Belief(domain, problem)
    operators = domain.steps
    for number, step in enumerate(plan, 1):
        changes = world.predict(step)
        world.apply(changes)
        yield Action(step, operators[step.name], number, f"dry:{number}"), changes


def _worded(reason: Reason) -> Reason:
    """Return a reason of the search, reworded if it is the guard against repeating a failure."""
    if GUARD in (reason.condition or ""):
        return Reason(
            "failed_before", f"{reason.task}: it was already tried here, and nothing has changed", reason.task
        )
    return reason


def _told(action: Action) -> dict[str, Any]:
    about = {"number": action.number, "key": action.key, **action.step.to_data()}
    return {**about, "by": action.kind, "tool": action.operator.tool}


def _unknown(action: Action) -> Reason:
    words = (
        f"step {action.number}, {action.step}, was running when the run was interrupted, and it is unknown whether it "
        "was done"
    )
    return Reason("unknown_outcome", words, str(action.step))


def _excerpt(text: str) -> str:
    return text if len(text) <= EXCERPT else text[: EXCERPT - 1] + "…"


def _digest(problem: Problem) -> str:
    """Return a digest that identifies a problem."""
    facts = sorted(map(repr, problem.state))
    told = [problem.tasks, facts, sorted(problem.objects.items()), sorted(problem.numbers.items()), problem.goal]
    if problem.ordering is not None:
        told.append(problem.ordering)
    return hashlib.sha256(repr(tuple(told)).encode()).hexdigest()[:16]


INNERMOST = 8
"""How many methods are given up one after the other before all of them are."""


Network = tuple[tuple[Term, ...], Ordering | None]
"""Tasks, and which of them must come before which; None: they are done as listed."""


def remaining_tasks(
    tree: Sequence[Node], done: int, order: Ordering | None = None, domain: Domain | None = None
) -> Iterator[Network]:
    """Yield ways to finish a decomposition whose first ``done`` steps were carried out, each a network of tasks.

    The first one keeps every method that was begun and continues after its last step. Each further one gives up the
    innermost method that is still kept, and does its task anew; the last one does all unfinished tasks anew, as
    GTPyhop's ``run_lazy_lookahead`` does at once. Going outwards gradually repeats no more than necessary. A recursive
    method may have been begun at a thousand levels; after the innermost few only the last way remains.

    What the ``order`` of the tree's roots, or of a method of the ``domain``, leaves open stays open.
    """
    outline = _Outline(tree, done, order, domain or Domain())
    begun = outline.begun()
    levels = [*range(len(begun), max(len(begun) - INNERMOST, 0), -1), 0]
    yield from dict.fromkeys(outline.network(set(begun[:kept])) for kept in levels)


class _Outline:
    """A tree in preorder with the number of steps before and after each node."""

    def __init__(self, tree: Sequence[Node], done: int, order: Ordering | None, domain: Domain) -> None:
        self._done = done
        self._of_roots = order
        self._methods = {method.name: method for method in domain.methods}
        self._nodes = {node["id"]: node for node in tree}
        self._children: dict[Any, list[Any]] = {}
        self._first: dict[Any, int] = {}
        steps = 0
        for node in tree:
            self._children.setdefault(node["parent"], []).append(node["id"])
            self._first[node["id"]] = steps
            steps += "operator" in node
        # In preorder, a node's steps end where the next node that is not below it begins.
        self._last: dict[Any, int] = {}
        for node in reversed(tree):
            inner = self._children.get(node["id"], ())
            own = self._first[node["id"]] + ("operator" in node)
            self._last[node["id"]] = max([own, *(self._last[child] for child in inner)])

    def begun(self) -> list[Any]:
        """Return the nodes with some steps done and some not, outermost first."""
        return [
            id for id, node in self._nodes.items()
            if "operator" not in node and self._first[id] < self._done < self._last[id]
        ]  # fmt: skip

    def network(self, kept: set[Any]) -> Network:
        """Return the open tasks with their order; the methods of the nodes in ``kept`` stay chosen.

        Tasks are done one by one, so those of the innermost method come first.
        """
        groups: list[tuple[list[Any], Ordering | None]] = []
        inner, waiting = None, True
        while waiting:
            children = self._children.get(inner, [])
            order = self._order(inner, children)
            begun = next((each for each in children if each in kept and not self._is_finished(each)), None)
            left = [at for at, each in enumerate(children) if each != begun and not self._is_finished(each)]
            groups.append(([children[at] for at in left], _among(left, order, len(children))))
            inner, waiting = begun, begun is not None
        groups.reverse()
        tasks = tuple(_task(self._nodes[each]) for nodes, _ in groups for each in nodes)
        return tasks, _joined(groups)

    def _is_finished(self, id: Any) -> bool:
        return self._last[id] <= self._done and self._first[id] < self._done

    def _order(self, parent: Any, children: Sequence[Any]) -> Ordering | None:
        """Return which of a node's children must come before which."""
        if parent is None:
            return self._of_roots
        node = self._nodes[parent]
        method = self._methods.get(node["method"])
        if method is None or method.ordering is None:
            return None
        steps = [ground(step, node["bindings"]) for step in method.steps]
        return order_as_done([_task(self._nodes[each]) for each in children], steps, method.ordering)


def _task(node: Node) -> Term:
    return (node["name"], *node["args"])


def _among(left: Sequence[int], order: Ordering | None, count: int) -> Ordering | None:
    """Return the order among some of the positions, which are numbered anew."""
    if order is None:
        return None
    before, places = all_predecessors(order, count), {at: place for place, at in enumerate(left)}
    return tuple((places[one], places[at]) for at in left for one in sorted(before[at]) if one in places)


def _joined(groups: Sequence[tuple[Sequence[Any], Ordering | None]]) -> Ordering | None:
    """Return the order of groups that are done one after the other; None if all of them are done as listed."""
    if all(order is None for _, order in groups):
        return None
    pairs: list[tuple[int, int]] = []
    start = 0
    for nodes, order in groups:
        pairs += ((earlier, start + at) for earlier in range(start) for at in range(len(nodes)))
        own = pairwise(range(len(nodes))) if order is None else order
        pairs += ((start + one, start + other) for one, other in own)
        start += len(nodes)
    return tuple(pairs)


GUARD = "not_failed_before(state)"
"""The text of the added condition in the reasons of a search."""


def without_failures(domain: Domain, failures: Sequence[Failure]) -> Domain:
    """Return the domain with a precondition added to each failed operator: that it is tried in another state."""
    failed = {step.name for step, _ in failures}
    operators = (_guarded(each, failures) if each.name in failed else each for each in domain.operators)
    return replace(domain, operators=tuple(operators))


def _guarded(operator: Operator, failures: Sequence[Failure]) -> Operator:
    guarded = copy.copy(operator)
    guards = tuple(_guard(*failure) for failure in failures if failure[0].name == operator.name)
    object.__setattr__(guarded, "preconditions", (*operator.preconditions, *guards))
    return guarded


def _guard(step: Step, seen: Snapshot | None) -> Condition:
    facts, numbers = seen or (None, ())

    def not_failed_before(state: StateView, *args: Any) -> bool:
        return step.args != args or (facts is not None and not _same(state, facts))

    # A function sees facts only; other values of numbers also make another state.
    others = tuple(Compare("=", fluent, value, positive=False) for fluent, value in sorted(numbers, key=str))
    return Some((Check(not_failed_before), *others)) if others else Check(not_failed_before)


def _same(state: StateView, facts: frozenset[Any]) -> bool:
    return len(state) == len(facts) and all(fact in state for fact in facts)
