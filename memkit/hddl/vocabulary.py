"""The names of a domain: compared without regard to case, and kept as they were spelled where they were declared."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from memkit.runtime.htn.core import Parameter, Term

from .forms import Form, Part, Word, word
from .source import Source, hint
from .types import ROOT, Types

Variables = Mapping[str, str]
"""The variables that are bound, by their spelling in lower case."""


@dataclass
class Vocabulary:
    """What has been declared so far."""

    source: Source
    types: Types
    predicates: dict[str, tuple[str, int]] = field(default_factory=dict)
    """Spelling and number of arguments by the name in lower case, as in all that follow."""
    functions: dict[str, tuple[str, int]] = field(default_factory=dict)
    tasks: dict[str, tuple[str, int]] = field(default_factory=dict)
    """Tasks and actions, which share their names."""
    objects: dict[str, str] = field(default_factory=dict)

    def declare(self, table: dict[str, tuple[str, int]], name: Word, width: int, what: str) -> str:
        """Add a name to one of the tables, each once."""
        if name.key in table:
            raise self.source.error(name.at, f"the {what} {name} is declared for the second time.")
        table[name.key] = (str(name), width)
        return str(name)

    def term(self, given: Form, table: Mapping[str, tuple[str, int]], what: str, variables: Variables) -> Term:
        """Return a declared name with as many arguments as it takes."""
        if not given:
            raise self.source.error(given.at, f"here stands () where a {what} is expected.")
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

    def typed(self, parts: Sequence[Part], *, loose: bool = False) -> Iterator[tuple[Word, str]]:
        """Yield the names of a typed list with their types."""
        for names, kind in typed_groups(self.source, parts):
            resolved = ROOT if kind is None else self.types.resolve(kind, loose=loose)
            yield from ((name, resolved) for name in names)

    def add_objects(self, given: Form, objects: dict[str, str]) -> None:
        """Add the objects of a typed list; one that is declared again must have the same type."""
        for name, kind in self.typed(given[1:]):
            if name.startswith("?"):
                raise self.source.error(name.at, f"{name} is a variable, and an object is expected here.")
            spelled = self.objects.setdefault(name.key, str(name))
            if objects.setdefault(spelled, kind) != kind:
                raise self.source.error(name.at, f"the object {name} has two types: {objects[spelled]} and {kind}.")


def bound(parameters: Sequence[Parameter]) -> dict[str, str]:
    """Return the variables that parameters bind."""
    return {parameter.name.lower(): parameter.name for parameter in parameters}


def typed_groups(source: Source, parts: Sequence[Part]) -> Iterator[tuple[list[Word], Part | None]]:
    """Yield names with what stands behind their ``-``; None where nothing does."""
    names: list[Word] = []
    rest = iter(parts)
    for part in rest:
        if isinstance(part, Form) or part != "-":
            names.append(word(source, part, "a name"))
            continue
        kind = next(rest, None)
        if kind is None or not names:
            raise source.error(part.at, "a '-' stands between names and their type: ?from ?to - place.")
        yield names, kind
        names = []
    if names:
        yield names, None
