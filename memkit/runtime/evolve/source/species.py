"""The species of programs as text: functions and whole files, parsed once each, changed within their blocks only."""

from __future__ import annotations

import ast
import math
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from random import Random
from typing import Any

from ..expressions.reading import require_python
from ..interface import DoesNotApply, EvolveError, NumberOpening
from .answers import changed_program
from .expressions import Context, changes_for, copied, iterated, number
from .kinds import NUMBER, Kinds
from .parsed import EvolveBlocks, ExpressionPlace, Parsed, read_blocks, require_same_outside
from .statements import CHANGES, Work, same_function, taken, with_block, with_function

_BRANCHES = (ast.If, ast.For, ast.While, ast.Try, ast.Match, ast.IfExp, ast.BoolOp, ast.ListComp, ast.GeneratorExp)


@dataclass(frozen=True)
class ProgramText:
    """A program as text: what is varied, selected and judged."""

    text: str


@dataclass
class Read:
    """What is known about one program."""

    parsed: Parsed
    kinds: Kinds

    @cached_property
    def behaviour(self) -> str:
        """Return the program without comments, layout and docstrings: equal results mean equal behaviour."""
        return ast.dump(_without_docstrings(self.parsed.tree))

    @cached_property
    def branches(self) -> int:
        """Return the number of decisions and loops in the blocks."""
        nodes = (node for node in ast.walk(self.parsed.tree) if isinstance(node, _BRANCHES))
        return sum(1 for node in nodes if self.parsed.is_open(node))


class Library:
    """A cache of the most recently parsed programs."""

    def __init__(self, blocks: EvolveBlocks) -> None:
        self._blocks = blocks
        self._read: dict[str, Read | None] = {}

    def read(self, text: str) -> Read | None:
        """Return what is known about ``text``; None if it is not a program, or differs outside of the blocks."""
        if text not in self._read:
            if len(self._read) >= _REMEMBERED:
                del self._read[next(iter(self._read))]
            self._read[text] = self._reading(text)
        return self._read[text]

    def _reading(self, text: str) -> Read | None:
        try:
            tree = require_python(text)
            return Read(Parsed(require_same_outside(self._blocks, text), tree), Kinds(tree))
        except DoesNotApply:
            return None


def _without_docstrings(tree: ast.Module) -> ast.Module:
    """Return ``tree`` without docstrings; a body that was nothing else becomes ``pass``."""
    holders = (ast.Module, ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
    described = [node for node in ast.walk(tree) if isinstance(node, holders) and _has_docstring(node.body)]
    if not described:
        return tree
    kept = ast.parse(ast.unparse(tree))
    for node in ast.walk(kept):
        if isinstance(node, holders) and _has_docstring(node.body):
            node.body = node.body[1:] or [ast.Pass()]
    return kept


def _has_docstring(body: list[ast.stmt]) -> bool:
    first = body[0] if body else None
    return isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant) and isinstance(first.value.value, str)


_TRIES = 12
_STATEMENTS = 0.3
"""How often a mutation changes statements instead of an expression."""
_FUNCTIONS = 0.35
"""How often a crossover takes a whole function or block instead of a statement or an expression."""
_LARGEST_PART = 40
_LONGEST = 200_000
_REMEMBERED = 4096
_ROUNDED = (2, 4)


class Programs:
    """Varies program text. Every program parses, and equals the seed program outside of the EVOLVE-BLOCKs."""

    def __init__(self, seed: str, *, max_length: int | None = None) -> None:
        """Parse the seed program; no program may exceed ``max_length`` characters or the seed's own length.

        Raises:
            EvolveError: It does not parse, or its markers are broken.
        """
        try:
            require_python(seed)
        except DoesNotApply as problem:
            raise EvolveError(f"Evolution cannot start here. {problem}") from None
        self._library = Library(read_blocks(seed))
        self.seed = ProgramText(seed)
        size = self._known(self.seed).parsed.size
        self._max_length = max(max_length or _LONGEST, len(seed))
        self._max_size = max(300, 3 * size)

    def first(self, _random: Random, _count: int) -> list[ProgramText]:
        """Return the seed program; all others descend from it."""
        return [self.seed]

    def mutate(self, genome: ProgramText, random: Random) -> ProgramText:
        """Return ``genome`` with one change, or ``genome`` itself if none of several attempts gives a program."""
        read = self._known(genome)
        for _ in range(_TRIES):
            change = self._changed_statement if random.random() < _STATEMENTS else self._changed_expression
            child = self._accepted(change(read, random), genome)
            if child is not None:
                return child
        return genome

    def cross(self, genome: ProgramText, other: ProgramText, random: Random) -> ProgramText:
        """Return ``genome`` with a function, block, statement or expression of ``other``."""
        read, partner = self._known(genome), self._known(other)
        for _ in range(_TRIES):
            child = self._accepted(self._crossed(read, partner, random), genome)
            if child is not None:
                return child
        return genome

    def applied(self, genome: ProgramText, text: str) -> ProgramText:
        """Return ``genome`` with the change that a model wrote as ``text``: SEARCH/REPLACE parts, or a rewrite.

        Raises:
            DoesNotApply: The change cannot be made exactly, does nothing, or makes the program too large.
        """
        changed = changed_program(genome.text, text, max_length=self._max_length)
        read = self._library.read(changed)
        if read is None:
            raise DoesNotApply("The program would differ outside its blocks.")
        if read.parsed.size > self._max_size:
            found = f"{read.parsed.size} statements and expressions"
            raise DoesNotApply(f"The program would have {found} in its blocks; {self._max_size} are allowed.")
        if read.behaviour == self._known(genome).behaviour:
            raise DoesNotApply("The answer changes nothing but comments, docstrings or layout.")
        return ProgramText(changed)

    def directions(self, genome: ProgramText, random: Random) -> NumberOpening | None:
        """Return ``genome`` with a term added to a number that a function returns or assigns."""
        read = self._known(genome)
        sums = [place for place in self._expressions(read, NUMBER) if isinstance(place.parent, ast.Return | ast.Assign)]
        if not sums:
            return None
        place = random.choice(sums)
        names = read.kinds.names(NUMBER, place.function, place.node.lineno)
        if not names:
            return None
        term: ast.expr = ast.Name(random.choice(names), ast.Load())
        if random.random() < 0.5:
            term = ast.BinOp(term, ast.Mult(), ast.Name(random.choice(names), ast.Load()))

        def build(values: Sequence[float]) -> ProgramText:
            weighted = ast.BinOp(number(_short(values[0])), ast.Mult(), copied(term))
            text = read.parsed.with_expression(place.node, ast.BinOp(copied(place.node), ast.Add(), weighted))
            return self._accepted(text, None) or genome

        return NumberOpening((0.0,), (1.0,), build) if build([1.0]) != genome else None

    def openings(self, genome: ProgramText, random: Random, most: int) -> list[NumberOpening]:
        """Return the numbers with a decimal point; integers are counts and are left to mutation."""
        read = self._known(genome)
        numbers = _decimals(read)
        if len(numbers) > most:
            numbers = sorted(random.sample(numbers, most))
        if not numbers:
            return []

        def build(values: Sequence[float]) -> ProgramText:
            return self._accepted(_with_decimals(read.parsed.text, numbers, values), None) or genome

        values = tuple(value for _, _, value in numbers)
        return [NumberOpening(values, tuple(0.05 * max(abs(value), 0.1) for value in values), build)]

    def tidied(self, genome: ProgramText) -> list[ProgramText]:
        """Return ``genome`` with its numbers rounded, to the fewest digits first."""
        read = self._known(genome)
        forms = list[ProgramText]()
        for digits in _ROUNDED:
            rounded = [float(f"{value:.{digits}g}") for _, _, value in _decimals(read)]
            form = self._accepted(_with_decimals(read.parsed.text, _decimals(read), rounded), genome)
            forms += [form] if form is not None and form not in forms else []
        return forms

    def size(self, genome: ProgramText) -> int:
        """Return the number of statements and expressions in the blocks."""
        return self._known(genome).parsed.size

    def behaviour(self, genome: ProgramText) -> Hashable:
        """Return the program without comments, layout and docstrings."""
        return self._known(genome).behaviour

    def features(self, genome: ProgramText) -> Mapping[str, float]:
        """Return the size of the blocks, and the number of paths through them."""
        read = self._known(genome)
        return {"size": read.parsed.size, "branches": read.branches}

    def grid(self) -> Mapping[str, float]:
        """Return both features; the cells of size grow with the seed program."""
        return {"size": max(5, self.size(self.seed) // 4), "branches": 2}

    def program(self, genome: ProgramText) -> str:
        """Return the text."""
        return genome.text

    def encoded(self, genome: ProgramText) -> str:
        """Return the text."""
        return genome.text

    def decoded(self, data: Any) -> ProgramText:
        """Return the program with the text ``data``; raise ``EvolveError`` if it does not belong to this species."""
        genome = ProgramText(data if isinstance(data, str) else "")
        self._known(genome)
        return genome

    def _known(self, genome: ProgramText) -> Read:
        read = self._library.read(genome.text)
        if read is None:
            raise EvolveError("The returned program is invalid: it does not parse, or differs outside its blocks.")
        return read

    def _accepted(self, text: str | None, parent: ProgramText | None) -> ProgramText | None:
        """Return ``text`` as a genome if it is a program within the limits and behaves differently from ``parent``."""
        if text is None or len(text) > self._max_length:
            return None
        read = self._library.read(text)
        if read is None or read.parsed.size > self._max_size:
            return None
        return None if parent is not None and read.behaviour == self._known(parent).behaviour else ProgramText(text)

    @staticmethod
    def _changed_statement(read: Read, random: Random) -> str | None:
        spots = read.parsed.spots
        return random.choice(CHANGES)(random.choice(spots), Work(read.parsed, read.kinds, random)) if spots else None

    def _changed_expression(self, read: Read, random: Random) -> str | None:
        places = [place for place in read.parsed.places if not _is_called(place)]
        if not places:
            return None
        place = random.choice(places)
        context = self._context(read, read, place, random)
        if isinstance(place.parent, ast.For) and place.node is place.parent.iter and random.random() < 0.5:
            new = iterated(place.node, context)
        else:
            changes = changes_for(place.node, context.kind)
            new = random.choice(changes)(copied(place.node), context)
        return read.parsed.with_expression(place.node, copied(new)) if new is not None else None

    def _context(self, read: Read, source: Read, place: ExpressionPlace, random: Random) -> Context:
        kind, line = read.kinds.of(place.node, place.function), place.node.lineno
        material = [
            item.node
            for item in self._expressions(source, kind)
            if item.node is not place.node
            and not _is_called(item)
            and read.kinds.usable(item.node, place.function, line)
        ]
        return Context(read.parsed, read.kinds, place, material, random)

    @staticmethod
    def _expressions(read: Read, kind: str) -> Iterator[ExpressionPlace]:
        for place in read.parsed.places:
            if read.kinds.of(place.node, place.function) == kind and len([*ast.walk(place.node)]) <= _LARGEST_PART:
                yield place

    def _crossed(self, read: Read, partner: Read, random: Random) -> str | None:
        if random.random() < _FUNCTIONS:
            return with_function(read.parsed, partner.parsed, random) or with_block(read.parsed, partner.parsed, random)
        if random.random() < 0.5 and read.parsed.spots:
            spot = random.choice(read.parsed.spots)
            alike = [item for item in partner.parsed.spots if same_function(item, spot)]
            return taken(spot, Work(read.parsed, read.kinds, random), partner.parsed, alike)
        places = [place for place in read.parsed.places if not _is_called(place)]
        if not places:
            return None
        place = random.choice(places)
        context = self._context(read, partner, place, random)
        if not context.material:
            return None
        return read.parsed.with_expression(place.node, copied(random.choice(context.material)))


def _is_called(place: ExpressionPlace) -> bool:
    """Return whether an expression is a call's function, or the object of an attribute: not a replaceable value."""
    parent = place.parent
    return (isinstance(parent, ast.Call) and parent.func is place.node) or isinstance(parent, ast.Attribute)


def _decimals(read: Read) -> list[tuple[int, int, float]]:
    """Return the span of each number with a decimal point in the text, and its value, in order."""
    nodes = [place.node for place in read.parsed.places]
    return sorted(
        (*read.parsed.span(node), node.value)
        for node in nodes
        if isinstance(node, ast.Constant) and isinstance(node.value, float)
    )


def _with_decimals(text: str, numbers: Sequence[tuple[int, int, float]], values: Sequence[float]) -> str | None:
    """Return the text with other numbers at the given positions; None if one is not finite."""
    pieces, since = [], 0
    for (start, end, _), value in zip(numbers, values, strict=True):
        if not math.isfinite(value):
            return None
        written = repr(_short(value))
        pieces += [text[since:start], f"({written})" if value < 0 else written]
        since = end
    return "".join([*pieces, text[since:]])


def _short(value: float) -> float:
    return float(f"{value:.9g}")
