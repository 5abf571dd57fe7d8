"""Lists as text: conditions, effects and networks, in HDDL's syntax."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from memkit.errors import UsageError
from memkit.runtime.htn.compiling.needs import facts_changed
from memkit.runtime.htn.core import (
    Arithmetic,
    Change,
    Compare,
    Condition,
    Domain,
    Equal,
    Every,
    Exists,
    ForAll,
    Literal,
    Method,
    Number,
    Operator,
    Parameter,
    Problem,
    Some,
    Task,
    Term,
    When,
)
from memkit.runtime.htn.language.conditions import ALWAYS, condition_variables, walk
from memkit.runtime.htn.language.data import state_texts
from memkit.runtime.htn.language.methods import Ordering
from memkit.runtime.htn.language.terms import variables_of

from .clauses import CHANGES
from .forms import write_note
from .vocabulary import ROOT

_NAME = re.compile(r"[^\s();:\"\x00-\x1f\x7f?-][^\s();\"\x00-\x1f\x7f]*")
_RESERVED = {
    "and", "or", "not", "imply", "forall", "exists", "when", "either", "preference", "=", "<", "<=", ">",
    ">=", "+", "-", "*", "/", "total-cost", *CHANGES,
}  # fmt: skip


def name_text(name: object) -> str:
    """Return a name; raise ``UsageError`` for one that HDDL cannot spell."""
    if isinstance(name, str) and _NAME.fullmatch(name) and name.lower() not in _RESERVED:
        return name
    raise UsageError(
        f"{name!r:.60} is not a name in HDDL: one word, not a keyword of HDDL, without parentheses, quotes or ';'."
    )


def _argument(part: object) -> str:
    if isinstance(part, str) and part.startswith("?"):
        return f"?{name_text(part[1:])}"
    return name_text(part)


def term_list(term: Term) -> str:
    """Return a name with its arguments as a list."""
    return f"({' '.join([name_text(term[0]), *map(_argument, term[1:])])})"


def joined(parts: Iterable[str]) -> str:
    """Return lists under one ``and``."""
    return f"({' '.join(['and', *parts])})"


def parameters_list(parameters: Sequence[Parameter]) -> str:
    """Return parameters as a typed list in brackets."""
    return f"({' '.join(f'{_argument(p.name)} - {type_text(p.type)}' for p in parameters)})"


def type_text(kind: str) -> str:
    """Return the name of a type."""
    return kind if kind == ROOT else name_text(kind)


def condition_list(condition: Condition) -> str:
    """Return a condition as a list; raise ``UsageError`` for a Python function."""
    if isinstance(condition, Literal | Equal | Compare):
        positive = _plain(condition)
        return positive if condition.positive else f"(not {positive})"
    if isinstance(condition, Every):
        return joined(map(condition_list, condition.conditions))
    if isinstance(condition, Some):
        return f"({' '.join(['or', *map(condition_list, condition.conditions)])})"
    if isinstance(condition, ForAll | Exists):
        word = "forall" if isinstance(condition, ForAll) else "exists"
        return f"({word} {parameters_list(condition.parameters)} {condition_list(condition.condition)})"
    raise UsageError(f"The condition {condition} is a Python function, which cannot be written down.")


def _plain(condition: Literal | Equal | Compare) -> str:
    if isinstance(condition, Literal):
        return term_list(condition.atom)
    if isinstance(condition, Equal):
        return f"(= {_argument(condition.left)} {_argument(condition.right)})"
    sides = [number_list(condition.left), number_list(condition.right)]
    if condition.operator == "=" and not any(side.startswith("(") for side in sides):
        sides[0] = f"(+ {sides[0]} 0)"  # two plain words would be compared as objects
    return f"({condition.operator} {' '.join(sides)})"


def number_list(number: Number) -> str:
    """Return a number: a numeral, a fluent or a sum."""
    if isinstance(number, tuple):
        return term_list(number)
    if isinstance(number, Arithmetic):
        return f"({number.operator} {number_list(number.left)} {number_list(number.right)})"
    return str(number)


def effect_list(effect: When | Change) -> str:
    """Return an effect under a condition or for all objects, or a change of a number."""
    if isinstance(effect, Change):
        word = effect.operator.replace("_", "-")
        return f"({word} {term_list(effect.fluent)} {number_list(effect.value)})"
    facts = [term_list(fact) for fact in effect.add] + [f"(not {term_list(fact)})" for fact in effect.remove]
    text = joined([*facts, *map(effect_list, effect.changes)])
    if effect.condition != ALWAYS or not effect.parameters:
        text = f"(when {_alone(effect.condition)} {text})"
    return f"(forall {parameters_list(effect.parameters)} {text})" if effect.parameters else text


def _alone(condition: Condition) -> str:
    """Return a condition so that an outermost ``and`` of one condition is not taken for the condition itself."""
    if isinstance(condition, Every) and len(condition.conditions) != 1:
        return condition_list(condition)
    return joined([condition_list(condition)])


def network_lines(tasks: Sequence[Term], ordering: Ordering | None, *, indent: str) -> list[str]:
    """Return subtasks with their order as lines of a method or problem."""
    if ordering is None:
        return [f"{indent}:ordered-subtasks {joined(map(term_list, tasks))}"]
    labelled = joined(f"(t{number} {term_list(task)})" for number, task in enumerate(tasks, 1))
    lines = [f"{indent}:subtasks {labelled}"]
    if ordering:
        lines.append(f"{indent}:ordering {joined(f'(< t{one + 1} t{other + 1})' for one, other in ordering)}")
    return lines


def domain_text(domain: Domain) -> str:
    """Return a domain as HDDL; raise ``UsageError`` if a part of it cannot be expressed there.

    What HDDL cannot express (descriptions, tools, learned methods, a state of the domain's own) is written as notes.
    """
    _refuse_alike(domain)
    costs = any(operator.cost != 1 for operator in domain.operators)
    lines = [f"(define (domain {name_text(domain.name)})", *_notes(_domain_notes(domain), "  ")]
    lines += [f"  (:requirements {' '.join(_requirements(domain, costs))})"]
    lines += _section(":types", _typed(domain.types))
    lines += _section(":constants", _typed(domain.objects))
    lines += _section(":predicates", _signatures(domain.predicates))
    functions = [f"{each} - number" for each in (*_signatures(domain.functions), *(["(total-cost)"] if costs else []))]
    lines += _section(":functions", functions)
    for task, declared in _tasks(domain):
        lines += ["", *_task(task, declared)]
    for method in domain.methods:
        lines += ["", *_method(method, domain)]
    for operator in domain.operators:
        lines += ["", *_action(operator, costs)]
    _refuse_undeclared(domain)
    return "\n".join([*lines, ")", ""])


def problem_text(problem: Problem, domain: Domain) -> str:
    """Return a problem as HDDL, without the objects that are constants of its domain."""
    own = {name: kind for name, kind in problem.objects.items() if domain.objects.get(name) != kind}
    _refuse_twins([*own, *domain.objects], "objects")
    lines = [f"(define (problem {name_text(problem.name)})", f"  (:domain {name_text(domain.name)})"]
    lines += _section(":objects", _typed(own))
    lines += ["  (:htn", "    :parameters ()", *network_lines(problem.tasks, problem.ordering, indent="    "), "  )"]
    facts = [term_list(fact) for fact in problem.state]
    facts += [f"(= {term_list(fluent)} {value})" for fluent, value in problem.numbers.items()]
    costs = any(operator.cost != 1 for operator in domain.operators)
    lines += _section(":init", [*facts, *(["(= (total-cost) 0)"] if costs else [])], always=True)
    if problem.goal:
        lines.append(f"  (:goal {joined(map(condition_list, problem.goal))})")
    if costs:
        lines.append("  (:metric minimize (total-cost))")
    return "\n".join([*lines, ")", ""])


def _section(key: str, entries: Iterable[str], *, always: bool = False) -> list[str]:
    listed = list(entries)
    return [f"  ({key}", *(f"    {entry}" for entry in listed), "  )"] if listed or always else []


def _typed(above: Mapping[str, str]) -> Iterator[str]:
    return (f"{name_text(name)} - {type_text(kind)}" for name, kind in above.items())


def _signatures(given: Mapping[str, Sequence[str]]) -> Iterator[str]:
    for name, kinds in given.items():
        yield f"({' '.join([name_text(name), *(f'?x{n} - {type_text(kind)}' for n, kind in enumerate(kinds, 1))])})"


def _tasks(domain: Domain) -> Iterator[tuple[Task, bool]]:
    """Yield every task that is declared, accomplished or called, and whether it is declared in the domain."""
    yield from ((task, True) for task in domain.tasks.values())
    known = {*domain.tasks, *(operator.name for operator in domain.operators)}
    called = [task for method in domain.methods if not callable(method.subtasks) for task in method.subtasks]
    for term in (*((method.task, *method.head.args) for method in domain.methods), *called):
        if term[0] not in known:
            known.add(str(term[0]))
            kinds = (_common(domain, str(term[0]), position) for position in range(len(term) - 1))
            yield Task(str(term[0]), tuple(Parameter(f"?x{n}", kind) for n, kind in enumerate(kinds, 1))), False


def _common(domain: Domain, task: str, position: int) -> str:
    """Return the nearest type that one argument of a task has in every method for it."""
    heads = [method.head for method in domain.methods if method.task == task and len(method.head.args) > position]
    kinds = [{**domain.objects, **(head.types or {})}.get(head.args[position], ROOT) for head in heads]
    chains = [domain.types_above(kind) for kind in kinds]
    return next((kind for kind in chains[0] if all(kind in chain for chain in chains)), ROOT) if chains else ROOT


def _task(task: Task, declared: bool) -> Iterator[str]:
    yield f"  (:task {name_text(task.name)}"
    effects = {"effects": [str(effect) for effect in task.effects]}  # few planners know effects of tasks
    yield from _notes(effects if declared else {"declared": False}, "    ")
    yield f"    :parameters {parameters_list(task.parameters)}"
    yield "  )"


def _method(method: Method, domain: Domain) -> Iterator[str]:
    if callable(method.subtasks):
        raise UsageError(f"The subtasks of {method.name} are a Python function, which cannot be written down.")
    yield f"  (:method {name_text(method.name)}"
    free = list(_undeclared(method))
    notes = {"description": method.description, "learned": method.learned, "undeclared": free}
    yield from _notes(notes, "    ")
    narrow = (Parameter(name, _narrowest(domain, method, name)) for name in free)
    parameters = (*method.head.parameters, *method.variables, *narrow)
    yield f"    :parameters {parameters_list(parameters)}"
    yield f"    :task {term_list((method.task, *method.head.args))}"
    if method.preconditions:
        yield f"    :precondition {joined(map(condition_list, method.preconditions))}"
    yield from network_lines(method.subtasks, method.ordering, indent="    ")
    yield "  )"


def _undeclared(method: Method) -> Iterator[str]:
    """Yield the variables declared by neither task nor method, which HDDL requires to be declared."""
    known = {parameter.name for parameter in (*method.head.parameters, *method.variables)}
    used = [name for condition in method.preconditions for name in condition_variables(condition)]
    used += [name for task in method.steps for name in variables_of(task)]
    yield from (name for name in dict.fromkeys(used) if name not in known)


def _narrowest(domain: Domain, method: Method, name: str) -> str:
    """Return the narrowest type that a method's facts and steps require of a variable: other planners check it."""
    facts = [each.atom for each in method.preconditions if isinstance(each, Literal) and each.positive]
    uses = [(fact, domain.predicates.get(str(fact[0]), ())) for fact in facts]
    steps = {operator.name: tuple(p.type for p in operator.parameters) for operator in domain.operators}
    uses += [(task, steps.get(str(task[0]), ())) for task in method.steps]
    kinds = [kind for term, types in uses for part, kind in zip(term[1:], types, strict=False) if part == name]
    return max(kinds, key=lambda kind: len(domain.types_above(kind)), default=ROOT)


def _action(operator: Operator, costs: bool) -> Iterator[str]:
    if operator.any_arguments:
        raise UsageError(f"The operator {operator.name} takes any arguments. Declare its parameters.")
    yield f"  (:action {name_text(operator.name)}"
    notes = {"description": operator.description, "tool": operator.tool, "arguments": dict(operator.arguments)}
    yield from _notes({**notes, "idempotent": operator.idempotent}, "    ")
    yield f"    :parameters {parameters_list(operator.parameters)}"
    if operator.preconditions:
        yield f"    :precondition {joined(map(condition_list, operator.preconditions))}"
    effects = [term_list(fact) for fact in operator.effects_add]
    effects += [f"(not {term_list(fact)})" for fact in operator.effects_remove]
    effects += map(effect_list, operator.effects_more)
    effects += [f"(increase (total-cost) {number_list(operator.cost)})"] if costs and operator.cost != 0 else []
    yield f"    :effect {joined(effects)}"
    yield "  )"


def _domain_notes(domain: Domain) -> dict[str, Any]:
    notes: dict[str, Any] = {"description": domain.description}
    if domain.state is not None:
        notes["state"] = state_texts(domain.state, domain.numbers)
    return notes


def _notes(notes: Mapping[str, Any], indent: str) -> list[str]:
    said = {key: value for key, value in notes.items() if key in ("state", "declared") or value}
    return [indent + write_note(key, value) for key, value in said.items()]


_FEATURES: Sequence[tuple[str, Callable[[Condition], bool]]] = (
    (":negative-preconditions", lambda each: isinstance(each, Literal) and not each.positive),
    (":equality", lambda each: isinstance(each, Equal)),
    (":disjunctive-preconditions", lambda each: isinstance(each, Some)),
    (":universal-preconditions", lambda each: isinstance(each, ForAll)),
    (":existential-preconditions", lambda each: isinstance(each, Exists)),
    (":numeric-fluents", lambda each: isinstance(each, Compare)),
)


def _conditions(domain: Domain) -> list[Condition]:
    """Return every condition of operators, methods and effects, and the conditions inside them."""
    given = [each for operator in domain.operators for each in operator.preconditions]
    given += [each for method in domain.methods for each in method.preconditions]
    effects = [effect for operator in domain.operators for effect in operator.effects_more]
    return list(walk([*given, *(effect.condition for effect in effects if isinstance(effect, When))]))


def _requirements(domain: Domain, costs: bool) -> Iterator[str]:
    yield from (":hierarchy", ":typing")
    if any(method.preconditions for method in domain.methods):
        yield ":method-preconditions"
    effects = [effect for operator in domain.operators for effect in operator.effects_more]
    conditions = _conditions(domain)
    changes = domain.functions or any(isinstance(effect, Change) for effect in effects)
    for name, present in _FEATURES:
        if any(map(present, conditions)) or (name == ":numeric-fluents" and changes):
            yield name
    if any(isinstance(effect, When) for effect in effects):
        yield ":conditional-effects"
    if costs:
        yield ":action-costs"


def _refuse_undeclared(domain: Domain) -> None:
    """Refuse facts that are declared nowhere, which a YAML domain may leave out but HDDL must have."""
    if domain.predicates:
        return
    facts = [fact for operator in domain.operators for _, fact, _ in facts_changed(operator)]
    facts += [each.atom for each in _conditions(domain) if isinstance(each, Literal)]
    kinds = {str(fact[0]): f"{fact[0]}: [{', '.join([ROOT] * (len(fact) - 1))}]" for fact in facts}
    if kinds:
        raise UsageError(f"HDDL requires predicates to be declared. Add predicates: {{{', '.join(kinds.values())}}}.")


def _refuse_alike(domain: Domain) -> None:
    """Refuse names that differ only in case, which HDDL considers equal."""
    tasks = [*domain.tasks, *(operator.name for operator in domain.operators)]
    tasks += [method.task for method in domain.methods if method.task not in domain.tasks]
    _refuse_twins([*domain.types, *domain.types.values()], "types")
    _refuse_twins([*domain.predicates], "predicates")
    _refuse_twins([*domain.functions], "functions")
    _refuse_twins([*domain.objects], "objects")
    _refuse_twins(tasks, "tasks")
    for operator in domain.operators:
        _refuse_twins([parameter.name for parameter in operator.parameters], f"variables of {operator.name}")
    for method in domain.methods:
        variables = [*method.head.parameters, *method.variables, *map(Parameter, _undeclared(method))]
        _refuse_twins([parameter.name for parameter in variables], f"variables of {method.name}")


def _refuse_twins(names: Sequence[str], what: str) -> None:
    seen: dict[str, str] = {}
    for name in names:
        if seen.setdefault(name.lower(), name) != name:
            raise UsageError(
                f"HDDL ignores case, so {seen[name.lower()]} and {name} among the {what} are the same. Rename one."
            )
