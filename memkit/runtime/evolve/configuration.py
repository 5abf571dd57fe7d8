"""The species of configurations: named numbers and choices within bounds, or a vector of them."""

from __future__ import annotations

import json
import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any

from .interface import DoesNotApply, EvolveError, NumberOpening, is_score

Space = Mapping[str, Sequence[Any]]
"""Name → a pair of numbers (bounds; integral if both are) or a list of values to choose from."""

Vector = Sequence[Sequence[Any]]
"""The same for each position of a list."""

Values = tuple[Any, ...]


@dataclass(frozen=True)
class NumberRange:
    """A number between two others, inclusive."""

    low: float
    high: float

    @property
    def whole(self) -> bool:
        """Return whether only whole numbers are allowed."""
        return isinstance(self.low, int) and isinstance(self.high, int)

    def inside(self, value: float) -> float:
        """Return the allowed number that is nearest to ``value``."""
        clipped = min(max(value, self.low), self.high)
        return round(clipped) if self.whole else float(clipped)

    def drawn(self, random: Random) -> float:
        """Return a random number."""
        return self.inside(random.uniform(self.low, self.high))

    def varied(self, value: float, random: Random) -> float:
        """Return a number near ``value``, or occasionally any."""
        if random.random() < 0.15:
            return self.drawn(random)
        width = (self.high - self.low) * 10 ** random.uniform(-3, -0.5)
        moved = self.inside(value + random.gauss(0, width))
        return self.inside(value + random.choice((-1, 1))) if self.whole and moved == value else moved


@dataclass(frozen=True)
class OneOf:
    """One of several values."""

    options: tuple[Any, ...]

    def drawn(self, random: Random) -> Any:
        """Return a random option."""
        return random.choice(self.options)

    def varied(self, value: Any, random: Random) -> Any:
        """Return another option, if there is one."""
        others = [option for option in self.options if self.place(option) != self.place(value)]
        return random.choice(others) if others else value

    def place(self, value: Any) -> int:
        """Return the index of an option; of equal ones, such as ``1`` and ``True``, that of the value's own type."""
        equal = [index for index, option in enumerate(self.options) if option is value or option == value]
        return min(equal, key=lambda index: type(self.options[index]) is not type(value))

    def inside(self, value: Any) -> Any:
        """Return an option as the space writes it."""
        return self.options[self.place(value)]


_WIDEST = 1e300
"""The limit for bounds, whose distance must be a number too."""


def read_space(space: Space) -> dict[str, NumberRange | OneOf]:
    """Return the allowed values of each name in ``space``: a tuple of two numbers is a range, a list a choice."""
    if not space:
        raise EvolveError("A space needs at least one name.")
    return {label: _allowed(label, given) for label, given in space.items()}


def _allowed(label: str, given: Any) -> NumberRange | OneOf:
    if isinstance(given, tuple):
        if len(given) != 2 or not all(map(is_score, given)) or not given[0] < given[1]:
            raise EvolveError(f"The bounds of {label!r} are {given!r:.60}; they must be two numbers, the lower first.")
        if not -_WIDEST <= given[0] < given[1] <= _WIDEST:
            raise EvolveError(f"The bounds of {label!r} are {given!r:.60}; they must lie within {_WIDEST:g} of zero.")
        return NumberRange(*given)
    if not isinstance(given, list) or not given:
        raise EvolveError(f"{label!r} allows {given!r:.60}; give a tuple of two bounds or a list of values.")
    for value in given:
        if not isinstance(value, Hashable):
            raise EvolveError(f"{label!r} offers {value!r:.60}; values to choose from must be hashable.")
    return OneOf(tuple(given))


class Configurations:
    """Varies configurations."""

    def __init__(self, space: Space, seed: Mapping[str, Any] | None = None) -> None:
        self._allowed = read_space(space)
        self._names = tuple(self._allowed)
        self._seed = None if seed is None else self._read_seed(seed)

    def _read_seed(self, seed: Mapping[str, Any]) -> Values:
        """Return the configuration to start from, which must lie within the space."""
        if set(seed) != set(self._names):
            raise EvolveError(f"The seed names {', '.join(map(str, seed))}; the space names {', '.join(self._names)}.")
        for label, allowed in self._allowed.items():
            value = seed[label]
            fits = value in allowed.options if isinstance(allowed, OneOf) else is_score(value)
            if not fits or (isinstance(allowed, NumberRange) and allowed.inside(value) != value):
                raise EvolveError(f"The seed's {label!r} is {value!r:.60}, which the space does not allow.")
        # As the space writes it: a model may answer 3.0 where whole numbers are allowed.
        return tuple(allowed.inside(seed[label]) for label, allowed in self._allowed.items())

    def first(self, random: Random, count: int) -> list[Values]:
        """Return the seed, if there is one, and random configurations."""
        drawn = [tuple(allowed.drawn(random) for allowed in self._allowed.values()) for _ in range(count)]
        return drawn if self._seed is None else [self._seed, *drawn[1:]]

    def mutate(self, genome: Values, random: Random) -> Values:
        """Return ``genome`` with one value varied."""
        index = random.randrange(len(self._names))
        varied = self._allowed[self._names[index]].varied(genome[index], random)
        return (*genome[:index], varied, *genome[index + 1 :])

    def cross(self, genome: Values, other: Values, random: Random) -> Values:
        """Return a value for each name from either parent."""
        return tuple(random.choice(pair) for pair in zip(genome, other, strict=True))

    def directions(self, _genome: Values, _random: Random) -> NumberOpening | None:
        """Return None: a configuration has nothing to add to."""
        return None

    def openings(self, genome: Values, random: Random, most: int) -> list[NumberOpening]:
        """Return numbers that are not integral."""
        free = [index for index, label in enumerate(self._names) if self._is_free(label)]
        if len(free) > most:
            free = random.sample(free, most)
        if not free:
            return []
        allowed = [self._allowed[self._names[index]] for index in free]

        def build(values: Sequence[float]) -> Values:
            moved = list(genome)
            for index, bounds, value in zip(free, allowed, values, strict=True):
                moved[index] = bounds.inside(value) if isinstance(bounds, NumberRange) else value
            return tuple(moved)

        steps = tuple((item.high - item.low) * 0.02 if isinstance(item, NumberRange) else 0.0 for item in allowed)
        return [NumberOpening(tuple(float(genome[index]) for index in free), steps, build)]

    def _is_free(self, label: str) -> bool:
        allowed = self._allowed[label]
        return isinstance(allowed, NumberRange) and not allowed.whole

    def tidied(self, genome: Values) -> list[Values]:
        """Return ``genome`` with its numbers rounded to few digits."""
        forms = []
        for digits in (0, 2, 6):
            pairs = zip(genome, self._allowed.values(), strict=True)
            forms.append(tuple(_rounded(value, allowed, digits) for value, allowed in pairs))
        return list(dict.fromkeys(forms))

    def size(self, genome: Values) -> int:
        """Return the number of digits needed to write ``genome``."""
        return sum(len(repr(value)) for value in genome if isinstance(value, float))

    def behaviour(self, genome: Values) -> Hashable:
        """Return the values: only equal configurations behave the same."""
        return tuple(self.encoded(genome))

    def program(self, genome: Values) -> Any:
        """Return the configuration as a dictionary."""
        return dict(zip(self._names, genome, strict=True))

    def applied(self, genome: Values, text: str) -> Values:
        """Return ``genome`` with the values in ``text``, a JSON object."""
        named = _parsed(text)
        if not isinstance(named, dict):
            raise DoesNotApply("The answer is not a JSON object of names and values.")
        return self._proposed({**dict(zip(self._names, genome, strict=True)), **named})

    def _proposed(self, values: Mapping[str, Any]) -> Values:
        """Return a model's answer, which must lie within the space."""
        try:
            return self._read_seed(values)
        except EvolveError as problem:
            raise DoesNotApply(str(problem)) from problem

    def features(self, genome: Values) -> dict[str, float]:
        """Return the position of ``genome``: a number itself, a choice as its index in the list."""
        return {label: float(value) for label, value in zip(self._names, self.encoded(genome), strict=True)}

    def grid(self) -> dict[str, float]:
        """Return the first two names, divided into eight cells if they are ranges."""
        chosen = list(self._allowed.items())[:2]
        return {label: (item.high - item.low) / 8 if isinstance(item, NumberRange) else 1.0 for label, item in chosen}

    def encoded(self, genome: Values) -> list[float]:
        """Return a number for each name; a choice is its index in the list."""
        pairs = zip(genome, self._allowed.values(), strict=True)
        return [item.place(value) if isinstance(item, OneOf) else value for value, item in pairs]

    def decoded(self, data: Any) -> Values:
        """Return the values of ``data``."""
        if not isinstance(data, list) or len(data) != len(self._names):
            raise ValueError(f"{data!r:.40} is not a configuration of {len(self._names)} values")
        pairs = zip(data, self._allowed.values(), strict=True)
        return tuple(item.options[int(value)] if isinstance(item, OneOf) else value for value, item in pairs)


class Vectors(Configurations):
    """Varies lists, which are configurations identified by position."""

    def __init__(self, space: Vector, seed: Sequence[Any] | None = None) -> None:
        super().__init__(_by_place(space), None if seed is None else _by_place(seed))

    def program(self, genome: Values) -> list[Any]:
        """Return the values as a list."""
        return list(genome)

    def applied(self, genome: Values, text: str) -> Values:
        """Return the values of ``text``, a JSON list."""
        values = _parsed(text)
        if not isinstance(values, list):
            raise DoesNotApply("The answer is not a JSON list of values.")
        return self._proposed(_by_place(values))


def _by_place(values: Sequence[Any]) -> dict[str, Any]:
    return {str(place): value for place, value in enumerate(values)}


def _parsed(text: str) -> Any:
    """Return a model's answer, parsed as JSON."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as problem:
        raise DoesNotApply(f"The answer is not JSON: {problem}.") from problem


def _rounded(value: Any, allowed: NumberRange | OneOf, digits: int) -> Any:
    if isinstance(allowed, OneOf) or allowed.whole or not math.isfinite(value):
        return value
    return allowed.inside(round(value, digits))
