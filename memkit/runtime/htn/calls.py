"""Check that a subtask calls something that exists, with as many arguments as it takes, of the right types."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from .domain import Domain, Method
from .terms import ROOT_TYPE, Parameter, Term, is_variable, term_text
from .wording import counted

Members = Mapping[str, Mapping[Any, None]]


def fault_of(call: Term, domain: Domain, learned: Sequence[Method], members: Members) -> str | None:
    """Return in words why ``call`` is none that can be made, or None where it can."""
    name, args = call[0], call[1:]
    heads = list(_heads(name, domain, learned))
    if not heads:
        return _unknown(name, domain, learned)
    faults = [_misfit(head, args, members) for head in heads]
    if None not in faults:
        return f"'{term_text(call)}': {name} {faults[0]}"
    if not all(head is None for head in heads):
        for arg in args:
            if arg not in members.get(ROOT_TYPE, {}):
                return f"'{term_text(call)}': {arg} is not an object of this problem"
    return None


def _unknown(name: Any, domain: Domain, learned: Sequence[Method]) -> str:
    method = next((each for each in (*domain.methods, *learned) if each.name == name), None)
    hint = "" if method is None else f"; {name} is a method, and what it does is the task {method.task}"
    return f"no operator and no method is called {name}{hint}"


def _heads(name: Any, domain: Domain, learned: Sequence[Method]) -> Iterator[Sequence[Any] | None]:
    """Yield the parameters of everything of that name; None stands for any arguments at all."""
    for operator in domain.operators:
        if operator.name == name:
            yield None if operator.any_arguments else operator.parameters
    for method in (*domain.methods, *learned):
        if method.task == name:
            types = method.head.types or {}
            yield (
                None
                if method.any_arguments
                else [
                    Parameter(arg, types.get(arg, ROOT_TYPE)) if is_variable(arg) else arg for arg in method.head.args
                ]
            )


def _misfit(head: Sequence[Any] | None, args: Term, members: Members) -> str | None:
    if head is None:
        return None
    if len(args) != len(head):
        return f"takes {counted(len(head), 'argument')}, not {len(args)}"
    for wanted, arg in zip(head, args, strict=True):
        if not isinstance(wanted, Parameter):
            if wanted != arg:
                return f"is for {wanted} only, not {arg}"
        elif wanted.type != ROOT_TYPE and arg not in members.get(wanted.type, {}):
            return f"wants a {wanted.type}; {arg} is {_kind(arg, members)}"
    return None


def _kind(value: Any, members: Members) -> str:
    kinds = [kind for kind, objects in members.items() if value in objects and kind != ROOT_TYPE]
    if kinds:
        return f"a {min(kinds, key=lambda kind: (len(members[kind]), kind))}"
    return "of no such type" if value in members.get(ROOT_TYPE, {}) else "not an object of this problem"
