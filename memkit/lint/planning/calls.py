"""What methods speak of: tasks that nothing does, and variables that nothing binds."""

from __future__ import annotations

from collections.abc import Iterator

from memkit.lint.tool_names import nearest
from memkit.runtime.htn.core import Domain, Equal, Literal, Method
from memkit.runtime.htn.errors import Path
from memkit.runtime.htn.language.conditions import condition_variables, conjuncts, walk
from memkit.runtime.htn.language.terms import is_variable, variables_of

from .faults import FREE_VARIABLE, UNKNOWN_TASK, Fault


def call_faults(domain: Domain) -> Iterator[Fault]:
    """Yield each subtask that nothing does, and each variable for which every object is tried."""
    known = {operator.name for operator in domain.operators} | {method.task for method in domain.methods}
    known |= set(domain.tasks)  # what is declared may be done by a method that is learned
    for number, method in enumerate(domain.methods):
        if callable(method.subtasks):
            continue
        for place, step in enumerate(method.subtasks):
            if step[0] not in known:
                near = nearest(str(step[0]), map(str, known))
                hint = f" Did you mean {near!r}?" if near else ""
                message = f"No operator and no method does the task {step[0]!r}.{hint}"
                slip = (str(step[0]), near) if near else None
                yield Fault(UNKNOWN_TASK, message, ("methods", number, "subtasks", place), slip=slip)
        yield from _free_variables(method, ("methods", number))


def _free_variables(method: Method, path: Path) -> Iterator[Fault]:
    """Yield the variables that are no argument of the task, of no declared type, and in no fact that must hold."""
    bound = {arg for arg in method.head.args if is_variable(arg)} | {each.name for each in method.variables}
    for condition in walk(method.preconditions):
        if isinstance(condition, Literal) and condition.positive:
            bound.update(variables_of(condition.atom))
    for condition in conjuncts(method.preconditions):
        if isinstance(condition, Equal) and condition.positive:
            bound.update(condition_variables(condition))
    for name, place in _uses(method).items():
        if name not in bound:
            message = (
                f"Nothing binds {name}, so every object is tried in its place. Name it in a condition, or say that "
                f'this is meant: variables: "{name} - object".'
            )
            yield Fault(FREE_VARIABLE, message, (*path, *place))


def _uses(method: Method) -> dict[str, Path]:
    """Return each variable with the first place that uses it."""
    found: dict[str, Path] = {}
    for place, step in enumerate(() if callable(method.subtasks) else method.subtasks):
        for name in variables_of(step):
            found.setdefault(name, ("subtasks", place))
    for place, condition in enumerate(method.preconditions):
        for name in condition_variables(condition):
            found.setdefault(name, ("preconditions", place))
    return found
