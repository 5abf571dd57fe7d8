"""A planner that tries everything, and small random problems in all of the language to try it on."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator
from typing import Any

from memkit.runtime.htn.core import (
    Arithmetic,
    Change,
    Compare,
    Domain,
    Equal,
    Every,
    Exists,
    ForAll,
    Literal,
    Method,
    Operator,
    Parameter,
    Problem,
    Some,
    Step,
    Term,
    When,
)
from memkit.runtime.htn.language.methods import predecessors
from memkit.runtime.htn.language.objects import typed_objects
from memkit.runtime.htn.verification.evaluation import Impossible, StepState, holds

Group = tuple[tuple[tuple[int, Term], ...], tuple[tuple[int, int], ...]]
"""Tasks with their positions, and which position comes before which."""
FOUND, NONE, UNKNOWN = "found", "none", "unknown"
LONGEST, MOST = 7, 400


def solve(domain: Domain, problem: Problem) -> str:
    """Return whether there is a plan, by trying every binding of every method in every order; unknown if too many."""
    objects = typed_objects(domain, problem)
    start = (_group(problem.tasks, problem.ordering),) if problem.tasks else ()
    waiting = [(start, problem.state, tuple(problem.numbers.items()))]
    met, cut = set(), False
    while waiting:
        network, facts, numbers = waiting.pop()
        key = (network, frozenset(facts), frozenset(numbers))
        if key in met:
            continue
        met.add(key)
        if len(met) > MOST or sum(len(tasks) for tasks, _ in network) > LONGEST:
            cut = True
            continue
        state = StepState(Problem(tasks=(), state=facts, numbers=dict(numbers)), objects)
        if not network:
            if all(holds(each, {}, state, ()) for each in problem.goal):
                return FOUND
            continue
        for task, rest in _first(network):
            waiting += [(group + rest, *after) for group, after in _done(domain, task, state, objects)]
    return UNKNOWN if cut else NONE


def _group(tasks: tuple[Term, ...], ordering: Any) -> Group:
    before = predecessors(ordering, len(tasks))
    return tuple(enumerate(tasks)), tuple((one, at) for at in range(len(tasks)) for one in sorted(before[at]))


def _first(network: tuple[Group, ...]) -> Iterator[tuple[Term, tuple[Group, ...]]]:
    (tasks, pairs), *others = network
    left = {at for at, _ in tasks}
    for at, task in tasks:
        if not any(one in left for one, other in pairs if other == at):
            rest = tuple(each for each in tasks if each[0] != at)
            yield task, (((rest, pairs),) if rest else ()) + tuple(others)


def _done(domain: Domain, task: Term, state: StepState, objects: Any) -> Iterator[tuple[tuple[Group, ...], Any]]:
    """Yield what is put in the place of a task, with facts and numbers afterwards."""
    for operator in domain.operators:
        if operator.name == task[0]:
            binding = dict(zip((p.name for p in operator.parameters), task[1:], strict=True))
            after = StepState(Problem(tasks=(), state=tuple(state.facts), numbers=state.numbers), objects)
            typed = all(binding[p.name] in objects[p.type] for p in operator.parameters)
            if typed and all(holds(each, binding, state, task[1:]) for each in operator.preconditions):
                try:
                    after.advance(operator, Step(task[0], task[1:]))
                except Impossible:
                    continue
                yield (), (tuple(after.facts), tuple(after.numbers.items()))
    for method in domain.methods:
        if method.task == task[0]:
            assert not callable(method.subtasks)
            for binding in _bindings(method, task, objects):
                if all(holds(each, binding, state, task[1:]) for each in method.preconditions):
                    steps = tuple(
                        (step[0], *(binding.get(part, part) for part in step[1:])) for step in method.subtasks
                    )
                    group = (_group(steps, method.ordering),) if steps else ()
                    yield group, (tuple(state.facts), tuple(state.numbers.items()))


def _bindings(method: Method, task: Term, objects: Any) -> Iterator[dict[str, Any]]:
    kinds = {**(method.head.types or {}), **{p.name: p.type for p in method.variables}}
    names = list(dict.fromkeys([*method.head.args, *kinds]))
    for values in itertools.product(*(objects[kinds.get(name, "object")] for name in names)):
        binding = dict(zip(names, values, strict=True))
        if all(binding.get(arg, arg) == value for arg, value in zip(method.head.args, task[1:], strict=True)):
            yield binding


OBJECTS = {"a": "thing", "b": "thing", "c": "other"}


class RandomProblem:
    """Draws domains with predicates p/1, q/2, functions f/0, g/1, two operators, two tasks and up to five methods."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)

    def domain(self) -> Domain:
        """Return a domain."""
        methods = [self.method(number) for number in range(self.random.randint(1, 5))]
        return Domain(
            types={"thing": "object", "other": "object"},
            predicates={"p": ("object",), "q": ("object", "object")},
            functions={"f": (), "g": ("object",)},
            objects=OBJECTS,
            operators=(self.operator("one"), self.operator("two")),
            methods=tuple(methods),
        )

    def problem(self) -> Problem:
        """Return a problem of it."""
        facts = [self.atom(()) for _ in range(self.random.randint(0, 4))]
        tasks = tuple(
            (name, *(self.word(()) for _ in range(width))) for name, width in self.some((("do", 1), ("go", 2)), 2)
        )
        ordering = None if self.random.random() < 0.5 else ()
        goal = tuple(self.condition((), 1) for _ in range(self.random.choice((0, 0, 1))))
        numbers = {("f",): self.random.randint(0, 2), ("g", "a"): self.random.randint(0, 2)}
        return Problem(
            tasks=tasks, state=tuple(sorted(set(facts))), numbers=numbers, objects=OBJECTS, ordering=ordering, goal=goal
        )

    def some(self, choices: Any, most: int) -> list[Any]:
        """Return one to ``most`` of the choices."""
        return [self.random.choice(choices) for _ in range(self.random.randint(1, most))]

    def word(self, variables: tuple[str, ...]) -> str:
        """Return a variable or an object."""
        return self.random.choice([*variables * 3, *OBJECTS])

    def atom(self, variables: tuple[str, ...]) -> Term:
        """Return a fact."""
        return self.random.choice([("p", self.word(variables)), ("q", self.word(variables), self.word(variables))])

    def number(self, variables: tuple[str, ...]) -> Any:
        """Return a literal, a fluent or a sum."""
        plain: Any = self.random.choice([self.random.randint(0, 3), ("f",), ("g", self.word(variables))])
        return (
            Arithmetic(self.random.choice("+-*/"), plain, self.random.randint(0, 2))
            if self.random.random() < 0.2
            else plain
        )

    def condition(self, variables: tuple[str, ...], depth: int) -> Any:
        """Return a condition of any kind."""
        kind = self.random.choice(
            ("fact", "fact", "fact", "equal", "compare", "every", "some", "forall", "exists")[: 9 if depth else 5]
        )
        truth = self.random.random() < 0.6
        if kind == "fact":
            return Literal(self.atom(variables), truth)
        if kind == "equal":
            return Equal(self.word(variables), self.word(variables), truth)
        if kind == "compare":
            return Compare(
                self.random.choice(("<", "<=", "=", ">=", ">")), self.number(variables), self.number(variables), truth
            )
        if kind in ("every", "some"):
            inner = tuple(self.condition(variables, depth - 1) for _ in range(self.random.randint(0, 2)))
            return Every(inner) if kind == "every" else Some(inner)
        name = self.random.choice(("?z", "?x"))
        parameters = (Parameter(name, self.random.choice(("thing", "object"))),)
        return (ForAll if kind == "forall" else Exists)(parameters, self.condition((*variables, name), depth - 1))

    def change(self, variables: tuple[str, ...]) -> Change:
        """Return a change of a number."""
        operator = self.random.choice(("assign", "increase", "decrease", "scale_up", "scale_down"))
        return Change(operator, self.random.choice([("f",), ("g", self.word(variables))]), self.number(variables))

    def operator(self, name: str) -> Operator:
        """Return an operator of two parameters."""
        head = ("?x", "?y")
        inner = (*head, "?z")
        more: list[Any] = [self.change(head)] if self.random.random() < 0.3 else []
        if self.random.random() < 0.4:
            changes = (self.change(inner),) if self.random.random() < 0.3 else ()
            add, remove = (tuple(self.atom(inner) for _ in range(self.random.randint(0, 1))) for _ in range(2))
            more.append(When((Parameter("?z", "thing"),), self.condition(inner, 1), add, remove, changes))
        return Operator(
            name,
            [self.condition(head, 2) for _ in range(self.random.randint(0, 2))],
            parameters=f"?x - {self.random.choice(('thing', 'object'))} ?y - object",
            effects_add=[self.atom(head) for _ in range(self.random.randint(0, 2))],
            effects_remove=[self.atom(head) for _ in range(self.random.randint(0, 1))],
            effects=more,
        )

    def method(self, number: int) -> Method:
        """Return a method with a variable of its own."""
        head = self.random.choice(("do ?x - object", "do ?x - thing", "go ?x ?y - object", "go ?x ?x - thing"))
        known = ("?x", "?w") if "?y" not in head else ("?x", "?y", "?w")
        calls = (("one", 2), ("two", 2), ("one", 2), ("do", 1), ("go", 2))
        steps = [(name, *(self.word(known) for _ in range(width))) for name, width in self.some(calls, 3)]
        steps = steps[: self.random.choice((0, 1, 2, 3))]
        ordering = (
            None if self.random.random() < 0.6 else [(0, 1)] if len(steps) > 1 and self.random.random() < 0.5 else []
        )
        own = [] if self.random.random() < 0.2 else [self.condition(known, 1) for _ in range(self.random.randint(0, 2))]
        return Method(
            f"m{number}",
            head,
            own,
            steps,
            variables=f"?w - {self.random.choice(('thing', 'object'))}",
            ordering=ordering,
        )
