"""Take whole parts of another program: a function or a block, as they are written there."""

from __future__ import annotations

import ast
from random import Random

from .parsed import Spot
from .reading import Read


def with_function(read: Read, partner: Read, random: Random) -> str | None:
    """Return the program with one function as the partner has written it."""
    mine, theirs = _functions(read), _functions(partner)
    shared = [name for name in mine if name in theirs and _lines(read, mine[name]) != _lines(partner, theirs[name])]
    if not shared:
        return None
    name = random.choice(shared)
    start, end = read.parsed.line_span(mine[name])
    return read.parsed.text[:start] + _lines(partner, theirs[name]) + read.parsed.text[end:]


def with_block(read: Read, partner: Read, random: Random) -> str | None:
    """Return the program with one of several blocks of the partner."""
    mine, theirs = read.parsed.blocks, partner.parsed.blocks
    differing = [index for index, pair in enumerate(zip(mine.open, theirs.open, strict=True)) if pair[0] != pair[1]]
    if len(mine.open) < 2 or not differing:
        return None
    chosen = random.choice(differing)
    return mine.with_open([theirs.open[at] if at == chosen else part for at, part in enumerate(mine.open)]).text


def _functions(read: Read) -> dict[str, ast.stmt]:
    """Return the functions in the blocks that are not within others, by name and indentation."""
    return {
        f"{read.parsed.indent(spot.node)}{spot.node.name}": spot.node
        for spot in read.parsed.spots
        if isinstance(spot.node, ast.FunctionDef | ast.AsyncFunctionDef) and isinstance(spot.function, ast.Module)
    }


def _lines(read: Read, node: ast.stmt) -> str:
    start, end = read.parsed.line_span(node)
    return read.parsed.text[start:end]


def same_function(one: Spot, other: Spot) -> bool:
    """Tell whether two statements stand in functions of one name, or both in none."""
    return getattr(one.function, "name", None) == getattr(other.function, "name", None)
