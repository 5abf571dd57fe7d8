"""The usable names and their forms: types, predicates, functions, tasks and objects of a domain being read."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches

from memkit.runtime.htn.core import Parameter, Term

from .forms import HddlList, HddlText, HddlWord, Part, hint, word

ROOT = "object"
_NEARLY = 0.75
"""The similarity of two names of which one may be the other misspelt: one letter of five, or two swapped ones."""


class Types:
    """Types by name, ignoring case."""

    def __init__(self, source: HddlText) -> None:
        self._source = source
        self.above: dict[str, str] = {}
        """Each type with the one above it."""
        self._spelled: dict[str, str] = {ROOT: ROOT}
        self._implied: list[HddlWord] = []
        """Types that occur only to the right of others, which declares them as well."""
        self._unions: dict[frozenset[str], str] = {}
        self._taken = False
        """Whether they are those of a domain read earlier, to which a problem can add none."""

    def declare(self, groups: Sequence[tuple[list[HddlWord], Part | None]]) -> None:
        """Add the types of ``(:types truck - vehicle …)``, in whatever order they are listed."""
        for names, _ in groups:
            for name in names:
                self._spelled.setdefault(name.key, str(name))
        for names, kind in groups:
            above = self._above(kind)
            for name in names:
                self._put(name, above)

    def refuse_misspelt(self, used: Iterable[HddlWord]) -> None:
        """Raise ``UsageError`` for a type used only as a supertype whose name is nearly that of another.

        Competition domains declare types by putting others below them; such types are then used elsewhere.
        """
        if not self._implied:
            return
        known = {each.key for each in used}
        for name in self._implied:
            spelled = str(name)
            others = [other for other in self.above if other != spelled and spelled not in self._chain(other)]
            near = [] if name.key in known else get_close_matches(spelled, others, n=1, cutoff=_NEARLY)
            if near:
                message = (
                    f"the type {name} is declared and used nowhere else. Did you mean {near[0]}? Otherwise declare it."
                )
                raise self._source.error(name.at, message)

    def take(self, above: Mapping[str, str]) -> None:
        """Add the types of a domain read earlier."""
        self.above, self._taken = dict(above), True
        self._spelled |= {name.lower(): name for pair in above.items() for name in pair}

    def _above(self, kind: Part | None) -> str:
        if kind is None:
            return ROOT
        if isinstance(kind, HddlList):
            raise self._source.error(kind.at, "a type below several others ('either') is not supported.")
        if kind.key not in self._spelled:
            self._implied.append(kind)
            self._spelled[kind.key] = str(kind)
            self.above[str(kind)] = ROOT
        return self._spelled[kind.key]

    def _put(self, name: HddlWord, above: str) -> None:
        own = self._spelled[name.key]
        if own == ROOT:
            return
        if self.above.get(own, ROOT) not in (ROOT, above) or above == own:
            raise self._source.error(name.at, f"the type {name} is below {self.above.get(own, own)} and {above}.")
        if above != ROOT or own not in self.above:
            self.above[own] = above

    def resolve(self, kind: Part, *, loose: bool = False) -> str:
        """Return the declared type that a word or ``(either a b)`` stands for.

        If a name is only declared (``loose``), as in predicates, the nearest type above all of them suffices.
        """
        if isinstance(kind, HddlWord):
            found = self._spelled.get(kind.key)
            if found is None:
                raise self._source.error(
                    kind.at, f"the type {kind} is not declared.{hint(kind, self._spelled.values())}"
                )
            return found
        if kind.head != "either" or len(kind) < 2:
            raise self._source.error(kind.at, "a type is a name, or (either NAME NAME).")
        members = self._members([self.resolve(part) for part in kind[1:]])
        if len(members) == 1:
            return members[0]
        return self._common(members) if loose else self._union(members, kind)

    def _chain(self, name: str) -> list[str]:
        found = [name]
        while found[-1] != ROOT and len(found) <= len(self.above) + 1:
            found.append(self.above.get(found[-1], ROOT))
        return found

    def _members(self, names: list[str]) -> list[str]:
        """Leave out what another of the names already covers."""
        return [name for name in dict.fromkeys(names) if not set(self._chain(name)[1:]) & set(names)]

    def _common(self, members: list[str]) -> str:
        chains = [self._chain(name) for name in members]
        return next(name for name in chains[0] if all(name in chain for chain in chains))

    def _union(self, members: list[str], kind: HddlList) -> str:
        """Return the type directly above the members and below their former common supertype."""
        key = frozenset(members)
        if key not in self._unions:
            parents = {self.above.get(name, ROOT) for name in members}
            name = "either_" + "_".join(sorted(members))
            if parents == {name}:  # the domain, which was read before this problem, has it already
                return name
            if self._taken:
                raise self._source.error(
                    kind.at,
                    f"no type of the domain is exactly {' or '.join(members)}. Declare one above them there, and use "
                    "it here.",
                )
            if len(parents) != 1 or name.lower() in self._spelled:
                raise self._source.error(
                    kind.at,
                    f"{' and '.join(members)} do not have the same direct supertype, so no type is exactly both. "
                    "Declare a type above them, and use it here.",
                )
            self.above[name] = parents.pop()
            self.above.update(dict.fromkeys(members, name))
            self._spelled[name.lower()] = name
            self._unions[key] = name
        return self._unions[key]


Variables = Mapping[str, str]
"""The bound variables, in lower case."""


@dataclass
class HddlNames:
    """The declarations so far."""

    source: HddlText
    types: Types
    predicates: dict[str, tuple[str, int]] = field(default_factory=dict)
    """Spelling and number of arguments by the name in lower case, as in all that follow."""
    functions: dict[str, tuple[str, int]] = field(default_factory=dict)
    tasks: dict[str, tuple[str, int]] = field(default_factory=dict)
    """Tasks and actions, which share their names."""
    objects: dict[str, str] = field(default_factory=dict)

    def declare(self, table: dict[str, tuple[str, int]], name: HddlWord, width: int, what: str) -> str:
        """Add a name to one of the tables, each once."""
        if name.key in table:
            raise self.source.error(name.at, f"the {what} {name} is declared twice.")
        table[name.key] = (str(name), width)
        return str(name)

    def term(self, given: HddlList, table: Mapping[str, tuple[str, int]], what: str, variables: Variables) -> Term:
        """Return a declared name with the right number of arguments."""
        if not given:
            raise self.source.error(given.at, f"found () where a {what} is expected.")
        name = word(self.source, given[0], f"a {what}")
        known = table.get(name.key)
        if known is None:
            names = [spelled for spelled, _ in table.values()]
            raise self.source.error(name.at, f"the {what} {name} is not declared.{hint(name, names)}")
        if len(given) - 1 != known[1]:
            raise self.source.error(name.at, f"{name} takes {known[1]} arguments, not {len(given) - 1}.")
        return (known[0], *(self.argument(part, variables) for part in given[1:]))

    def argument(self, part: Part, variables: Variables) -> str:
        """Return a bound variable or a declared object."""
        name = word(self.source, part, "a variable or an object")
        if name.startswith("?"):
            found = variables.get(name.key)
            if found is None:
                raise self.source.error(
                    name.at, f"the variable {name} is not declared.{hint(name, variables.values())}"
                )
            return found
        found = self.objects.get(name.key)
        if found is None:
            raise self.source.error(name.at, f"the object {name} is not declared.{hint(name, self.objects.values())}")
        return found

    def parameters(self, parts: Sequence[Part], *, loose: bool = False) -> tuple[Parameter, ...]:
        """Return the variables of a typed list; ``loose`` ones are only declared, never bound."""
        found: dict[str, Parameter] = {}
        for name, kind in self.typed(parts, loose=loose):
            if not name.startswith("?") or len(name) == 1:
                raise self.source.error(name.at, f"the parameter {name} needs a name with a question mark: ?{name}.")
            if name.key in found:
                raise self.source.error(name.at, f"the parameter {name} is named twice.")
            found[name.key] = Parameter(str(name), kind)
        return tuple(found.values())

    def typed(self, parts: Sequence[Part], *, loose: bool = False) -> Iterator[tuple[HddlWord, str]]:
        """Yield the names of a typed list with their types."""
        for names, kind in typed_groups(self.source, parts):
            resolved = ROOT if kind is None else self.types.resolve(kind, loose=loose)
            yield from ((name, resolved) for name in names)

    def add_objects(self, given: HddlList, objects: dict[str, str]) -> None:
        """Add the objects of a typed list; a repeated declaration must have the same type."""
        for name, kind in self.typed(given[1:]):
            if name.startswith("?"):
                raise self.source.error(name.at, f"{name} is a variable, but an object is expected here.")
            spelled = self.objects.setdefault(name.key, str(name))
            if objects.setdefault(spelled, kind) != kind:
                raise self.source.error(name.at, f"the object {name} has two types: {objects[spelled]} and {kind}.")


def bound(parameters: Sequence[Parameter]) -> dict[str, str]:
    """Return the variables bound by parameters."""
    return {parameter.name.lower(): parameter.name for parameter in parameters}


def typed_groups(source: HddlText, parts: Sequence[Part]) -> Iterator[tuple[list[HddlWord], Part | None]]:
    """Yield names with the type after their ``-``; None if there is none."""
    names: list[HddlWord] = []
    rest = iter(parts)
    for part in rest:
        if isinstance(part, HddlList) or part != "-":
            names.append(word(source, part, "a name"))
            continue
        kind = next(rest, None)
        if kind is None or not names:
            raise source.error(part.at, "a '-' must be between names and their type: ?from ?to - place.")
        yield names, kind
        names = []
    if names:
        yield names, None
