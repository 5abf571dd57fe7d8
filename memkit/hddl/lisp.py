"""Lists as text: conditions, effects and networks, as HDDL spells them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from memkit.errors import UsageError
from memkit.runtime.htn.core import (
    Arithmetic,
    Change,
    Compare,
    Condition,
    Equal,
    Every,
    Exists,
    ForAll,
    Literal,
    Number,
    Parameter,
    Some,
    Term,
    When,
)
from memkit.runtime.htn.language.conditions import ALWAYS
from memkit.runtime.htn.language.methods import Ordering

from .effects import CHANGES
from .types import ROOT

_NAME = re.compile(r"[^\s();:\"\x00-\x1f\x7f?-][^\s();\"\x00-\x1f\x7f]*")
_RESERVED = {
    "and", "or", "not", "imply", "forall", "exists", "when", "either", "preference", "=", "<", "<=", ">",
    ">=", "+", "-", "*", "/", "total-cost", *CHANGES,
}  # fmt: skip


def name_text(name: object) -> str:
    """Return a name; raises ``UsageError`` for one that HDDL cannot spell."""
    if isinstance(name, str) and _NAME.fullmatch(name) and name.lower() not in _RESERVED:
        return name
    raise UsageError(
        f"{name!r:.60} is not a name in HDDL: one word, not one of HDDL's own, without brackets, quotes and ';'."
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
    """Return a condition as a list; raises ``UsageError`` for a Python function."""
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
