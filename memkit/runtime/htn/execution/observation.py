"""What somebody saw after a step: facts that hold or do not, or the whole state."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from ..conditions import Literal
from ..domain import Domain
from ..errors import HtnError, ProblemError
from ..forms import parse_conditions
from ..start import parse_value
from ..terms import Term, is_variable, term_text


@dataclass(frozen=True)
class Observation:
    """Facts that were looked at; what is not among them is as it was predicted, unless all of the state was seen."""

    holds: tuple[Term, ...] = ()
    not_holds: tuple[Term, ...] = ()
    complete: bool = False
    """Whether ``holds`` is everything that is true."""
    numbers: Mapping[Term, int | float] = field(default_factory=dict)
    """Values of numeric functions that were seen."""

    def truth(self, fact: Term) -> bool | None:
        """Return whether a fact was seen to hold, was seen not to hold, or was not looked at."""
        if fact in self.holds:
            return True
        return False if self.complete or fact in self.not_holds else None


def read_observation(value: Any, domain: Domain | None = None) -> Observation | None:
    """Return what was observed: a list such as ``["at shop", "not at home"]``, or ``{"facts": …}`` or ``{"state": …}``.

    Raises:
        ProblemError: It is none of that, or speaks of predicates that the domain does not have.

    >>> read_observation(["at shop", "not at home"])
    Observation(holds=(('at', 'shop'),), not_holds=(('at', 'home'),), complete=False, numbers={})
    >>> read_observation({"state": ["at shop"]}).truth(("at", "home"))
    False
    """
    if value is None or isinstance(value, Observation):
        return value
    known = {"facts", "state"}
    if isinstance(value, Mapping) and not (set(value) <= known and len(value) == 1):
        raise ProblemError('An observation is {"facts": [what was looked at]} or {"state": [everything that holds]}.')
    complete = isinstance(value, Mapping) and "state" in value
    items = next(iter(value.values())) if isinstance(value, Mapping) else value
    if isinstance(items, str) or not isinstance(items, Iterable):
        raise ProblemError(f"{str(items)!r:.60} is no list of facts, such as ['at shop', 'not at home'].")
    seen, numbers = [], {}
    for item in items:
        value_seen = _value(item)
        if value_seen is None:
            seen.append(_fact(item, domain))
        else:
            numbers[value_seen[0]] = value_seen[1]
    contradicted = [fact for fact, positive in seen if positive and (fact, False) in seen]
    if contradicted:
        raise ProblemError(f"'{term_text(contradicted[0])}' was observed to hold and not to hold.")
    if complete and not all(positive for _, positive in seen):
        raise ProblemError("A whole state names what holds. Leave out what does not.")
    return Observation(
        tuple(fact for fact, positive in seen if positive),
        tuple(fact for fact, positive in seen if not positive),
        complete,
        numbers,
    )


def _value(item: Any) -> tuple[Term, int | float] | None:
    try:
        return parse_value(item)
    except HtnError as error:
        raise ProblemError(error.message) from None


def _fact(item: Any, domain: Domain | None) -> tuple[Term, bool]:
    try:
        conditions = parse_conditions([item])
    except HtnError as error:
        raise ProblemError(error.message) from None
    if len(conditions) != 1 or not isinstance(conditions[0], Literal):
        raise ProblemError(f"{str(item)!r:.60} is no fact, such as 'at shop' or 'not at home'.")
    literal = conditions[0]
    if any(is_variable(part) for part in literal.atom):
        raise ProblemError(f"'{term_text(literal.atom)}' was observed; a fact names objects, not variables.")
    arity = domain.predicates.get(str(literal.atom[0])) if domain and domain.predicates else ()
    if domain and domain.predicates and (arity is None or len(arity) != len(literal.atom) - 1):
        raise ProblemError(f"'{term_text(literal.atom)}' was observed, which is no fact of the domain {domain.name}.")
    return literal.atom, literal.positive
