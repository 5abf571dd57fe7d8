"""Selects the policies that a call can meet by looking up its values instead of evaluating each policy.

For each policy the most selective clause is chosen, and what that clause needs of a value goes into tables: texts by
hash, starts and ends of texts in sorted lists, literals by one of their trigrams, ranges in a tree of their bounds,
programs and statements by name. The result is a superset, in the order of the set; the conditions themselves decide, so
that a verdict and its reasons are the same as when evaluating every policy.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence

from .checks import EQUAL, INSIDE, PREFIX, PROGRAM, RANGE, STATEMENT, SUFFIX, Need, Predicate, folded, telling, text_of
from .interface import JSON, Call
from .match import Alternative, Clause, is_searching, number_of, values_under

Places = set[int]
"""Positions of policies in their set."""


class PolicySelection:
    """The policies of one set that can apply to one tool, by their needs."""

    def __init__(self, alternatives: Sequence[Sequence[Alternative]]) -> None:
        """Take the alternatives of each policy, in the order of the set."""
        self._always: Places = set()
        self._tables: dict[str, tuple[Clause, _Table]] = {}
        chosen: dict[str, list[tuple[int, Clause]]] = defaultdict(list)
        for place, parts in enumerate(alternatives):
            clauses = [_most_telling(part) for part in parts]
            known = [clause for clause in clauses if clause]
            if len(known) < len(clauses):
                self._always.add(place)
                continue
            for clause in known:
                chosen[f"{clause.key} of its kind" if clause.of_kind else clause.key].append((place, clause))
        for key, entries in chosen.items():
            self._tables[key] = entries[0][1], _Table([(place, clause.check) for place, clause in entries])

    def meeting(self, call: Call) -> list[int] | None:
        """Return the places of all policies that may answer anything but no; ``None`` if every one has to be evaluated.

        That is so if a value is of a kind on which conditions may fail: a policy whose condition fails denies, and
        would be missed here.
        """
        if not all(map(_is_plain, (*call.args.values(), *call.context.values()))):
            return None
        found = set(self._always)
        for clause, table in self._tables.values():
            for value in values_under(clause, call):
                if not _is_plain(value):
                    return None
                table.meet(value, found)
        return sorted(found)


def _most_telling(alternative: Alternative) -> Clause | None:
    """Return the clause by which to look up an alternative; ``None`` if no clause states its needs.

    A clause after a reader of shell or SQL does not qualify: if the reader failed, the policy would deny.
    """
    found: Clause | None = None
    for clause in alternative.clauses:
        if clause.check.needs and (found is None or telling(clause.check.needs) > telling(found.check.needs)):
            found = clause
        if clause.check.whole or clause.of_kind or is_searching(clause.key):
            break
    return found


_SCALARS = frozenset({str, float, bool, type(None)})
_WHOLE_NUMBERS = 1 << 63


def _is_plain(value: JSON) -> bool:
    """Return whether no condition on a one-part key fails on a value."""
    kind = type(value)
    if kind in (list, tuple):
        return all(map(_is_scalar, value))
    return kind is dict or _is_scalar(value)


def _is_scalar(value: JSON) -> bool:
    return type(value) in _SCALARS or (type(value) is int and -_WHOLE_NUMBERS < value < _WHOLE_NUMBERS)


class _Table:
    """The policies' needs for the values under one key."""

    def __init__(self, entries: Iterable[tuple[int, Predicate]]) -> None:
        self._whole: Places = set()
        by_kind: dict[str, dict[Need, Places]] = defaultdict(lambda: defaultdict(set))
        for place, check in entries:
            for need in check.needs:
                by_kind[need.kind][need].add(place)
                if check.whole and need.kind not in (PROGRAM, STATEMENT):
                    self._whole.add(place)  # it reads a list as the command line that it would be
        texts = {kind: {need.text: places for need, places in needs.items()} for kind, needs in by_kind.items()}
        self._equal = texts.get(EQUAL, {})
        self._prefixes = _Prefixes(texts.get(PREFIX, {}))
        self._suffixes = _Prefixes({text[::-1]: places for text, places in texts.get(SUFFIX, {}).items()})
        self._literals = _Literals(texts.get(INSIDE, {}))
        self._ranges = _Ranges(by_kind.get(RANGE, {}))
        self._programs = texts.get(PROGRAM, {})
        self._statements = texts.get(STATEMENT, {})

    def meet(self, value: JSON, found: Places) -> None:
        """Add the policies whose needs a plain value meets."""
        if value is None:
            return
        if self._programs:
            found.update(*_named(self._programs, _programs_of(value)))
        if self._statements:
            found.update(*_named(self._statements, _statements_of(value)))
        if not isinstance(value, (list, tuple)):
            self._meet_alone(value, found)
            return
        found |= self._whole
        for element in value:
            if element is not None:
                self._meet_alone(element, found)

    def _meet_alone(self, value: JSON, found: Places) -> None:
        self._ranges.meet(value, found)
        text = value if isinstance(value, str) else text_of(value)
        if text is None:
            return
        if text in self._equal:
            found |= self._equal[text]
        self._prefixes.meet(text, found)
        if self._suffixes:
            self._suffixes.meet(text[::-1], found)
        if self._literals:
            self._literals.meet(folded(text), found)


def _named(known: Mapping[str, Places], names: Iterable[str] | None) -> Iterator[Places]:
    """Yield the policies that need one of the names; all of them if the names are unknown."""
    if names is None:
        yield from known.values()
    else:
        yield from (known[name] for name in names if name in known)


def _programs_of(value: JSON) -> frozenset[str] | None:
    from .shell import view_of

    view = view_of(value)
    return view.names if view else None


def _statements_of(value: JSON) -> set[str] | None:
    from .shell import sql_views

    views = list(sql_views(value))
    if any(view.doubts for view in views):
        return None
    return {statement.words[0] for view in views for statement in view.statements if statement.words}


class _Prefixes:
    """Sorted texts that others may start with; each knows the longest other one that it starts with itself."""

    def __init__(self, places: Mapping[str, Places]) -> None:
        self._texts = sorted(places)
        self._places = [places[text] for text in self._texts]
        self._shorter: list[int] = []
        for number, text in enumerate(self._texts):
            before = number - 1
            while before >= 0 and not text.startswith(self._texts[before]):
                before = self._shorter[before]
            self._shorter.append(before)

    def __bool__(self) -> bool:
        return bool(self._texts)

    def meet(self, text: str, found: Places) -> None:
        """Add the policies that need a prefix of the text: all are reachable from the last one that sorts before it."""
        number = bisect_right(self._texts, text) - 1
        while number >= 0:
            if text.startswith(self._texts[number]):
                found |= self._places[number]
            number = self._shorter[number]


_GRAM = 3


class _Literals:
    """Texts that may occur anywhere in others, each filed under the rarest of its trigrams."""

    def __init__(self, places: Mapping[str, Places]) -> None:
        self._places = places
        seen = Counter(gram for text in places for gram in _grams(text, min(len(text), _GRAM)))
        self._by_gram: dict[str, list[str]] = defaultdict(list)
        for text in places:
            grams = _grams(text, min(len(text), _GRAM))
            self._by_gram[min(grams, key=lambda gram: (seen[gram], gram))].append(text)
        self._sizes = sorted({len(gram) for gram in self._by_gram})

    def __bool__(self) -> bool:
        return bool(self._places)

    def meet(self, text: str, found: Places) -> None:
        """Add the policies that need a part of the text; for a long text, searching each literal is cheaper."""
        if len(self._places) < len(text) // 4:
            asked: Iterable[str] = self._places
        else:
            grams = self._by_gram.keys() & {gram for size in self._sizes for gram in _grams(text, size)}
            asked = (literal for gram in grams for literal in self._by_gram[gram])
        for literal in asked:
            if literal in text:
                found |= self._places[literal]


def _grams(text: str, size: int) -> set[str]:
    return {text[start : start + size] for start in range(len(text) - size + 1)}


class _Ranges:
    """Ranges over the intervals between their bounds: each is stored at the few tree nodes that cover it."""

    def __init__(self, places: Mapping[Need, Places]) -> None:
        self._all: Places = set().union(*places.values())
        self._bounds = sorted({bound for need in places for bound in (need.low, need.high)})
        self._leaves = 2 * len(self._bounds) + 1  # each bound, and the interval between two
        self._knots: dict[int, Places] = defaultdict(set)
        for need, owners in places.items():
            if need.low <= need.high:
                for knot in self._covering(self._leaf(need.low), self._leaf(need.high)):
                    self._knots[knot] |= owners

    def meet(self, value: JSON, found: Places) -> None:
        """Add the policies whose range contains a number; all of them if the value is not a number."""
        if not self._all:
            return
        number = number_of(value)
        if number is None:
            found |= self._all
            return
        knot = self._leaf(number) + self._leaves
        while knot:
            if knot in self._knots:
                found |= self._knots[knot]
            knot //= 2

    def _leaf(self, number: float) -> int:
        below = bisect_right(self._bounds, number)
        return 2 * below - (below > 0 and self._bounds[below - 1] == number)

    def _covering(self, first: int, last: int) -> Iterator[int]:
        low, high = first + self._leaves, last + self._leaves + 1
        while low < high:
            if low % 2:
                yield low
                low += 1
            if high % 2:
                high -= 1
                yield high
            low, high = low // 2, high // 2
