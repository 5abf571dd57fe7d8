"""Ask a model for subtasks where no method applies, and let in only what holds up.

A proposal is checked for shape, names, arguments and types, and then carried out on a copy of the state down to
primitive steps. What fails is counted and its reason kept; it changes nothing else.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from .compiled import CompiledMethod, compile_method
from .conditions import Literal, condition_variables
from .domain import Method, Task
from .errors import HtnError
from .interface import FOUND, Budget, Decomposer, Reason
from .joins import World
from .notes import Notes
from .search import Expansion, Search
from .solver import Meter
from .solver import search as solve_tasks
from .state import Facts, StateView
from .terms import ROOT_TYPE, Term, is_variable, parse_term, term_text

MOST_SUBTASKS = 50
LONGEST_SUBTASK = 1_000
_CHECK = Budget(nodes=20_000, depth=20_000, seconds=5.0)


class TaskText(str):
    """A task as text, which also knows its name and arguments."""

    name: str
    args: Term

    def __new__(cls, task: Term) -> TaskText:
        """Return the text of ``task``."""
        text = super().__new__(cls, term_text(task))
        text.name, text.args = task[0], task[1:]
        return text


class Rejected(Exception):
    """Say why a proposal is not used."""


class Proposals:
    """Puts the gaps of one search to a model, a bounded number of times, and none of them twice."""

    def __init__(self, decompose: Decomposer, notes: Notes, meter: Meter, *, questions: int, rounds: int) -> None:
        self.counts = {"accepted": 0, "rejected": 0}
        self._decompose = decompose
        self._notes = notes
        self._meter = meter
        self._questions = questions
        self._rounds = rounds if _takes_reasons(decompose) else 1
        self._answers: dict[tuple[Term, int], CompiledMethod | None] = {}

    def __call__(self, task: Term, search: Search) -> Iterator[Expansion]:
        """Yield the model's decomposition of a task if it holds up."""
        gap = (task, search.world.facts.key)
        if gap not in self._answers:
            self._answers[gap] = self._ask(task, search)
        method = self._answers[gap]
        if method is not None:
            slots = method.slots(task[1:])
            yield method, slots, method.subtasks(slots, search.world) or ()

    def _ask(self, task: Term, search: Search) -> CompiledMethod | None:
        why = [str(reason) for reason in self._notes.reasons()]
        for _ in range(self._rounds):
            if self._questions == 0:
                self._notes.add(Reason("proposal", "the model was asked often enough", term_text(task)))
                return None
            self._questions -= 1
            try:
                subtasks = self._checked(self._answer(task, search.world, why), task, search)
            except Rejected as rejected:
                self.counts["rejected"] += 1
                words = f"{term_text(task)}: proposal rejected: {rejected}"
                self._notes.add(Reason("proposal", words, term_text(task)))
                why.append(words)
                continue
            self.counts["accepted"] += 1
            method = Method(f"proposed_{task[0]}", task, (), subtasks, learned=True)
            return compile_method(method, search.compiled.domain, ())
        return None

    def _answer(self, task: Term, world: World, why: Sequence[str]) -> Any:
        view = StateView(dict(world.facts.facts), "text")
        question = TaskText(task)
        if _takes_reasons(self._decompose):
            return self._decompose(question, view, why)  # type: ignore[call-arg]
        return self._decompose(question, view)

    def _checked(self, answer: Any, task: Term, search: Search) -> list[Term]:
        subtasks = [_read(item) for item in _items(answer)]
        for subtask in subtasks:
            _check_call(subtask, search)
            if subtask == task or subtask in search.ancestors():
                raise Rejected(f"'{term_text(subtask)}' leads back to a task that is being done")
        self._simulate(subtasks, task, search)
        return subtasks

    def _simulate(self, subtasks: Sequence[Term], task: Term, search: Search) -> None:
        """Carry the subtasks out on a copy of the state, down to primitive steps."""
        facts = Facts(search.world.facts.facts)
        meter, notes = self._meter.part(_CHECK), Notes()
        world = World(facts, search.world.members, StateView(facts.facts), meter.tick)
        outcome = solve_tasks(search.compiled, subtasks, world, notes, meter, _CHECK).outcome
        if outcome != FOUND:
            reasons = notes.reasons()
            raise Rejected(str(reasons[-1]) if reasons else "it could not be carried out")
        declared = search.compiled.domain.tasks.get(task[0])
        missing = None if declared is None else _missing_effect(declared, task, facts.facts)
        if missing is not None:
            raise Rejected(f"'{missing}' should be so afterwards and is not")


def _takes_reasons(decompose: Decomposer) -> bool:
    try:
        inspect.signature(decompose).bind("task", "state", [])
    except (TypeError, ValueError):
        return False
    return True


def _items(answer: Any) -> Sequence[Any]:
    if isinstance(answer, Mapping):
        answer = answer.get("subtasks")
    if not isinstance(answer, list | tuple):
        raise Rejected(f"it is {type(answer).__name__}, not a list of subtasks")
    if not answer:
        raise Rejected("it has no subtasks")
    if len(answer) > MOST_SUBTASKS:
        raise Rejected(f"it has {len(answer)} subtasks; {MOST_SUBTASKS} is the most")
    return answer


def _read(item: Any) -> Term:
    if isinstance(item, str) and len(item) > LONGEST_SUBTASK:
        raise Rejected(f"a subtask is {len(item)} characters long")
    if not isinstance(item, str | tuple | list | Mapping):
        raise Rejected(f"a subtask is {type(item).__name__}, not a text or a tuple")
    try:
        term = parse_term(item)
    except HtnError as error:
        raise Rejected(error.message) from None
    if any(is_variable(part) for part in term):
        raise Rejected(f"'{term_text(term)}' has a variable; subtasks name objects")
    return term


def _check_call(subtask: Term, search: Search) -> None:
    """Reject a subtask that nobody defined, or that is called with the wrong arguments."""
    name, args = subtask[0], subtask[1:]
    operator = search.compiled.operators.get(name)
    heads = [operator.head] if operator else [method.head for method in search.compiled.methods.get(name, ())]
    if not heads:
        raise Rejected(f"no operator and no method is called {name}")
    misfits = [head.misfit(args, search.world) for head in heads]
    if None not in misfits:
        words = next(misfit[1] for misfit in misfits if misfit)
        raise Rejected(f"'{term_text(subtask)}': {name} {words}")
    if any(head.width is not None for head in heads):
        for arg in args:
            if arg not in search.world.members[ROOT_TYPE]:
                raise Rejected(f"'{term_text(subtask)}': {arg} is not an object of this problem")


def _missing_effect(declared: Task, task: Term, facts: Mapping[Term, None]) -> str | None:
    values = dict(zip((p.name for p in declared.parameters), task[1:], strict=False))
    for effect in declared.effects:
        if isinstance(effect, Literal) and values.keys() >= set(condition_variables(effect)):
            fact = tuple(values.get(part, part) for part in effect.atom)
            if (fact in facts) is not effect.positive:
                return str(Literal(fact, effect.positive))
    return None
