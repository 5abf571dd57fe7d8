"""Effects: facts made true and false, those under conditions or for all objects, and changes of numbers."""

from __future__ import annotations

from dataclasses import dataclass, field

from memkit.runtime.htn.core import Change, Condition, Every, Number, Parameter, Term, When

from .conditions import read_conditions, read_number
from .forms import Form, Part, form
from .vocabulary import Variables, Vocabulary, bound

CHANGES = ("assign", "increase", "decrease", "scale-up", "scale-down")
TOTAL_COST = "total-cost"


@dataclass
class Effects:
    """What an action does, taken together from its list of effects."""

    add: list[Term] = field(default_factory=list)
    remove: list[Term] = field(default_factory=list)
    more: list[When | Change] = field(default_factory=list)
    cost: Number | None = None
    """What it adds to the total cost, where it says so."""


_CONDITIONS = ("or", "imply", "exists", "=", "<", ">", "<=", ">=")


@dataclass(frozen=True)
class _Context:
    """What stands around an effect: the objects it is for, and the conditions it is under."""

    parameters: tuple[Parameter, ...] = ()
    conditions: tuple[Condition, ...] = ()
    inside: bool = False


def read_effects(words: Vocabulary, given: Form, variables: Variables) -> Effects:
    """Return the effects of an action; raises ``UsageError`` with the place of what is none."""
    found = Effects()
    _collect(words, given, variables, _Context(), found)
    return found


def _collect(words: Vocabulary, given: Form, variables: Variables, around: _Context, found: Effects) -> None:
    """Take in one list of effects; what stands in it side by side becomes one conditional effect."""
    plain = Effects()
    parts = given[1:] if given.head == "and" else [given] if given else []
    for part in parts:
        each = form(words.source, part, "an effect")
        if each.head in ("when", "forall", "and"):
            _flush(around, plain, found)
            plain = Effects()
            _inner(words, each, variables, around, found)
        elif each.head in CHANGES:
            _change(words, each, variables, around, plain, found)
        elif each.head == "not":
            plain.remove.append(_fact(words, each[1] if len(each) == 2 else each, variables))
        elif each:
            plain.add.append(_fact(words, each, variables))
    _flush(around, plain, found)


def _inner(words: Vocabulary, given: Form, variables: Variables, around: _Context, found: Effects) -> None:
    if given.head == "and":
        _collect(words, given, variables, around, found)
        return
    if len(given) != 3:
        raise words.source.error(given.at, f"'{given[0]}' takes two lists, not {len(given) - 1}.")
    first, effect = (form(words.source, part, "a list") for part in given[1:])
    if given.head == "when":
        conditions = read_conditions(words, first, variables)
        _collect(words, effect, variables, _Context(around.parameters, around.conditions + conditions, True), found)
        return
    parameters = words.parameters(first)
    for parameter in parameters:
        if parameter.name.lower() in variables:
            raise words.source.error(first.at, f"{parameter.name} has a meaning around this 'forall'; rename it here.")
    if around.conditions:
        raise words.source.error(given.at, "'forall' inside 'when' is not supported. Put the 'when' inside.")
    inner = _Context(around.parameters + parameters, (), True)
    _collect(words, effect, {**variables, **bound(parameters)}, inner, found)


def _change(
    words: Vocabulary, given: Form, variables: Variables, around: _Context, plain: Effects, found: Effects
) -> None:
    if len(given) != 3:
        raise words.source.error(given.at, f"'{given[0]}' takes a function and a number, not {len(given) - 1} parts.")
    target = form(words.source, given[1], "a function")
    if target.head == TOTAL_COST and len(target) == 1:
        if given.head != "increase" or around.inside or found.cost is not None:
            raise words.source.error(given.at, "the total cost is increased, once an action and without a condition.")
        found.cost = read_number(words, given[2], variables)
        return
    fluent = words.term(target, words.functions, "function", variables)
    plain.more.append(Change(given.head.replace("-", "_"), fluent, read_number(words, given[2], variables)))


def _fact(words: Vocabulary, part: Part, variables: Variables) -> Term:
    given = form(words.source, part, "a fact")
    if given.head in _CONDITIONS and given.head not in words.predicates:
        message = f"({given[0]} …) is a condition and no effect: what an action does is certain. Effects are facts,"
        raise words.source.error(given.at, f"{message} (not FACT), 'and', 'when', 'forall' and changes of numbers.")
    if given.head in ("probabilistic", "oneof", "at"):
        kind = {"probabilistic": "probabilistic", "oneof": "non-deterministic", "at": "durative"}[given.head]
        if given.head not in words.predicates:
            raise words.source.error(given.at, f"{kind} effects ({given.head}) are not supported.")
    return words.term(given, words.predicates, "predicate", variables)


def _flush(around: _Context, plain: Effects, found: Effects) -> None:
    if not around.inside:
        found.add += plain.add
        found.remove += plain.remove
        found.more += plain.more
        return
    changes = tuple(each for each in plain.more if isinstance(each, Change))
    if plain.add or plain.remove or changes:
        conditions = around.conditions
        condition = conditions[0] if len(conditions) == 1 else Every(conditions)
        found.more.append(When(around.parameters, condition, tuple(plain.add), tuple(plain.remove), changes))
