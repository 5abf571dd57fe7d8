"""What a finding rests on: the conditions that a call meets, each with its place, and the exceptions it misses."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from .checks import Check
from .errors import Path, spell_path
from .interface import Call
from .match import Alternative, Clause, make_clause
from .policy import CompiledException, Policy


@dataclass(frozen=True)
class Ground:
    """One condition, and what it says about a call."""

    path: Path
    holds: bool | None
    """``None`` when nobody can tell, which a hard policy counts as a match."""
    text: str

    @property
    def place(self) -> str:
        """Return where the condition stands in its policy."""
        return spell_path(self.path)


def find_grounds(policy: Policy, call: Call) -> list[Ground]:
    """Return the conditions that make a policy match a call, then what its exceptions say."""
    met = [ground for alternative in policy.alternatives for ground in _of_alternative(alternative, call)]
    return [*met, *(_of_exception(exception, call) for exception in policy.exceptions if exception.alternatives)]


def _of_alternative(alternative: Alternative, call: Call) -> Iterator[Ground]:
    if alternative.test(call).state is False:
        return
    for clause in ((alternative.tool,) if alternative.tool else ()) + alternative.clauses:
        yield from _of_check(clause, clause.check, call)


def _of_check(clause: Clause, check: Check, call: Call) -> Iterator[Ground]:
    """Yield the conditions below one condition that carry what it says: for ``any`` the first that does."""
    outcome = make_clause(clause.key, check, check.path).test(call)
    if check.joint in ("any", "all"):
        carriers = [part for part in check.children if _state(clause, part, call) == outcome.state]
        for part in carriers[:1] if check.joint == "any" else check.children:
            yield from _of_check(clause, part, call)
    elif outcome.state is not False:
        yield Ground(check.path, outcome.state, outcome.reason)


def _state(clause: Clause, check: Check, call: Call) -> bool | None:
    return make_clause(clause.key, check, check.path).test(call).state


def _of_exception(exception: CompiledException, call: Call) -> Ground:
    outcome = exception.applies(call)
    if outcome.state:
        return Ground(exception.path, True, outcome.reason)
    missed = [
        f"{clause.key} is not {clause.check.says}"
        for alternative in exception.alternatives
        for clause in alternative.clauses
        if not clause.test(call).state
    ]
    return Ground(exception.path, False, f"{exception.text or 'exception'} ({'; '.join(missed)})")
