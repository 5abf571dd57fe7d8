"""Python functions generated for operators and methods: each method becomes loops inside loops.

For the method ``m_via`` of ``get_to ?v ?to`` with the condition ``road ?x ?to`` and two subtasks the text is::

    def link(facts, held, numbers, members, view, tick, counted, source):
        index0 = facts.index(('road', 3), (2,))
        def expand(task):
            if len(task) != 3:
                return
            _, v0, v1 = task
            found = index0.get(v1, NONE)
            for _, v2, _ in found:
                yield source, (v0, v1, v2), (('get_to', v0, v2), ('drive', v0, v2, v1)), 2
        return expand

``link`` is called once per problem, ``expand`` once per task.

Most of the cost of a new domain is Python's parser, so the text is short: consecutive tests are on one line, and
there are no unnecessary brackets.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Sequence
from dataclasses import dataclass
from enum import Enum
from functools import lru_cache
from types import CodeType
from typing import Any

from ..language.conditions import condition_variables, conjuncts
from ..language.methods import Method, computed_subtasks, done_before
from ..language.operators import RECKONED, Change, Effect, Operator
from ..language.terms import LARGEST, Term, is_variable, variables_of
from .joins import (
    Copy,
    Each,
    LoopNames,
    Match,
    Move,
    Test,
    Types,
    every_way,
    failing,
    loop_of,
    misses,
    new_variables,
    number,
    state_function,
    tuple_of,
    type_tests,
)
from .state import World

NO_VALUE = float("nan")


def reckon(operator: str, left: float, right: float) -> float:
    """Return the result of an operation on two numbers; NaN for a division by zero or a result that is too large."""
    if operator == "+":
        found = left + right
    elif operator == "-":
        found = left - right
    elif operator == "*":
        found = left * right
    else:
        found = left / right if right else NO_VALUE
    return found if -LARGEST <= found <= LARGEST else NO_VALUE


def differ(left: float, right: float) -> bool:
    """Return whether two numbers both have a value, and differ."""
    return left < right or left > right


def are_possible(changes: Sequence[tuple[Any, float]]) -> bool:
    """Return whether every fluent gets a value, and none gets two."""
    return all(value == value for _, value in changes) and len({fluent for fluent, _ in changes}) == len(changes)


class Own(Enum):
    """Tasks of the search itself, which no domain can name."""

    UNORDERED = 1
    """Performs tasks in an order yet to be chosen: their terms, what each waits for, and which are done, as bits."""
    GOAL = 2
    """Checks that the goal is reached."""


_TOOLS = {
    "NONE": {},
    "ONCE": (0,),
    "NO_VALUE": NO_VALUE,
    "reckon": reckon,
    "differ": differ,
    "are_possible": are_possible,
}
"""The globals of generated functions."""
_DEEPEST_LOOP = 12
"""CPython rejects more than 20 nested blocks; deeper joins continue in another function."""


class Function:
    """The text of one generated function, growing line by line."""

    def __init__(self, name: str, names: LoopNames) -> None:
        self.name = name
        self.names = names
        self._bound: list[str] = []
        self._lines = [f"def {name}(task):"]
        self._loops = 0
        """The number of open loops."""
        self._leaving: list[str] = []
        """Expressions for leaving that are not written yet: consecutive ones form one test."""
        self._parts: list[str] = []

    def line(self, text: str, deeper: int = 0) -> None:
        """Add a line at the current depth."""
        if self._leaving:
            tests, self._leaving = " or ".join(self._leaving), []
            self.line(f"if {tests}:")
            self.line("continue" if self._loops else "return", 1)
        self._lines.append("    " * (self._loops + 1 + deeper) + text)

    def leave_if(self, failing: str) -> None:
        """Skip to the next candidate if an expression is true."""
        self._leaving.append(failing)

    def head(self, args: Sequence[Any] | None, types: Types) -> None:
        """Unpack the task's arguments, and leave if they do not fit; None stands for any arguments."""
        if args is None:
            return
        self.leave_if(f"len(task) != {len(args) + 1}")
        if not args:
            return
        first = [is_variable(arg) and args.index(arg) == at for at, arg in enumerate(args)]
        parts = [self.names.variable(arg) if first[at] else f"a{at}" for at, arg in enumerate(args)]
        self.line(f"_, {', '.join(parts)} = task")
        self._bound += [arg for at, arg in enumerate(args) if first[at]]
        for at, arg in enumerate(args):
            same = (parts[at], "==", self.names.value(arg))
            for test in type_tests(parts[at], types.get(arg, ()), self.names) if first[at] else (same,):
                self.leave_if(misses(test))

    def move(self, move: Move, types: Types, changing: Container[str] = ()) -> None:
        """Test a condition, or bind variables and test their types."""
        if isinstance(move, Test):
            self.leave_if(failing(move.condition, self.names))
            return
        if self._loops == _DEEPEST_LOOP:
            self._go_on_elsewhere()
        self._open_loop(move, types, changing)
        self._bound.extend(new_variables(move))

    def text(self) -> str:
        """Return the finished function and its continuations."""
        return "\n".join([*self._parts, *self._lines])

    def _open_loop(self, move: Copy | Match | Each, types: Types, changing: Container[str]) -> None:
        loop = loop_of(move, types, self.names)
        candidates = loop.candidates
        if isinstance(move, Match):
            self.line(f"found = {candidates}")
            # Steps may change such facts before the next candidate is requested.
            candidates = "list(found)" if move.condition.atom[0] in changing else "found"
            self._tick("found")
        elif isinstance(move, Each):
            self._tick(candidates)
        self.line(f"for {loop.targets} in {candidates}:")
        self._loops += 1
        for test in loop.tests:
            self.leave_if(misses(test))

    def _tick(self, candidates: str) -> None:
        """Check the clock now and then in a nested loop; each pass of an outermost one is a node."""
        if self._loops:
            self.line(f"tick(len({candidates}))")

    def _go_on_elsewhere(self) -> None:
        """Continue in another function, which receives what is bound so far."""
        arguments = ", ".join(["task", *(self.names.variable(name) for name in self._bound)])
        name = f"part{len(self._parts)}"
        self.line(f"yield from {name}({arguments})")
        self._parts.append("\n".join(self._lines))
        self._lines, self._loops = [f"def {name}({arguments}):"], 0


@dataclass(frozen=True)
class GeneratedFunction:
    """A generated function, compiled."""

    make: Callable[..., Callable[[Term], Any]]
    text: str

    def link(self, world: World, source: object) -> Callable[[Term], Any]:
        """Return the function bound to a state and its indexes."""
        facts = world.facts
        parts = facts, facts.facts, facts.numbers, world.objects_of, world.view, world.tick, world.counted
        return self.make(*parts, source)


def program(function: Function, title: str) -> GeneratedFunction:
    """Return a function compiled together with what it refers to."""
    body = [*function.names.setup, *function.text().split("\n"), f"return {function.name}"]
    whole = "\n    ".join(["def link(facts, held, numbers, members, view, tick, counted, source):", *body])
    scope: dict[str, Any] = {**function.names.constants, **_TOOLS}
    exec(_code(whole, title), scope)
    return GeneratedFunction(scope["link"], whole)


@lru_cache(maxsize=2048)
def _code(text: str, title: str) -> CodeType:
    """Return the compiled text, cached for new planners of a known domain, of which each request may make one."""
    return compile(text, f"<{title!r}>", "exec")


def method_program(method: Method, moves: Sequence[Move], types: Types, changing: Container[str]) -> GeneratedFunction:
    """Return the generator of a method: source, values of its variables and subtasks, for each way to apply it."""
    names = LoopNames()
    function = Function("expand", names)
    function.head(None if method.any_arguments else method.head.args, types)
    for move in moves:
        function.move(move, types, changing)
    if callable(method.subtasks):
        function.line(f"subtasks = {names.constant(computed(method.subtasks, method.name))}(view, task[1:])")
        function.leave_if("subtasks is None")
        subtasks, width = "subtasks", "len(subtasks)"
    else:
        subtasks, width = _subtasks(method, names), str(len(method.subtasks))
    function.line(f"yield source, {names.values(method_variables(method))}, {subtasks}, {width}")
    return program(function, method.name)


def _subtasks(method: Method, names: LoopNames) -> str:
    written = tuple_of(names.fact(step) for step in method.steps)
    if method.ordering is None or len(method.steps) < 2:
        return written
    before = names.constant(done_before(method.ordering, method.steps))
    return f"(({names.constant(Own.UNORDERED)}, {written}, {before}, 0),)"


def operator_program(operator: Operator) -> GeneratedFunction:
    """Return the function of an operator: it changes the state and returns the values, or None if it cannot."""
    names = LoopNames()
    function = Function("apply", names)
    parameters = [parameter.name for parameter in operator.parameters]
    types = {parameter.name: (parameter.type,) for parameter in operator.parameters}
    function.head(None if operator.any_arguments else parameters, types)
    for condition in conjuncts(operator.preconditions):
        function.move(Test(condition), types)
    removed = tuple_of(map(names.fact, operator.effects_remove))
    added = tuple_of(map(names.fact, operator.effects_add))
    if operator.effects_more:
        function.line(f"removed, added, changes = [*{removed}], [*{added}], []")
        for effect in operator.effects_more:
            _write_effect(effect, function)
        function.leave_if("not are_possible(changes)")
        function.line("facts.change(removed, added, changes)")
    else:
        function.line(f"facts.change({removed}, {added})")
    function.line(f"return {names.values(parameters)}")
    return program(function, operator.name)


def _write_effect(effect: Effect, function: Function) -> None:
    """Collect what an effect does; its conditions and numbers refer to the state before the step."""
    if isinstance(effect, Change):
        function.line(f"changes.append({_change(effect, function.names)})")
        return
    names = function.names.inner(effect.parameters)
    objects = names.values([parameter.name for parameter in effect.parameters])
    ways = every_way(effect.parameters, effect.condition, names)
    function.line(f"for {objects} in [{objects} {ways}]:" if effect.parameters else f"for _ in [0 {ways}]:")
    function.line(f"removed += {tuple_of(map(names.fact, effect.remove))}", 1)
    function.line(f"added += {tuple_of(map(names.fact, effect.add))}", 1)
    function.line(f"changes += {tuple_of(_change(change, names) for change in effect.changes)}", 1)


def _change(change: Change, names: LoopNames) -> str:
    value = number(change.value, names)
    if change.operator != "assign":
        value = f"reckon({RECKONED[change.operator]!r}, {number(change.fluent, names)}, {value})"
    return f"({names.fact(change.fluent)}, {value})"


def cost_program(operator: Operator) -> GeneratedFunction:
    """Return the function for the cost of a step in the state before it, NaN if that has no value."""
    names = LoopNames()
    function = Function("cost", names)
    types: Types = {}
    function.head(None if operator.any_arguments else [p.name for p in operator.parameters], types)
    function.line(f"return {number(operator.cost, names)}")
    return program(function, operator.name)


def method_variables(method: Method) -> tuple[str, ...]:
    """Return the variables of a method: those of its task, then the others in order of occurrence."""
    found = [arg for arg in method.head.args if is_variable(arg)]
    found += [name for condition in method.preconditions for name in condition_variables(condition)]
    found += [name for step in method.steps for name in variables_of(step)]
    return tuple(dict.fromkeys(found))


def computed(function: Callable[..., Any], method: str) -> Callable[[Any, Term], Sequence[Term] | None]:
    """Return the function for a method's subtasks, in the form of one of the state and the arguments."""
    call = state_function(function)
    return lambda view, args: computed_subtasks(call(view, args), method)
