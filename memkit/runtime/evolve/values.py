"""What a tree is worth at many points at once; subtrees that were worked out before are looked up."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from .operations import NUMBER, OPERATIONS
from .tree import Node

Column = Sequence[Any]
"""One value a point: a number (NaN where undefined), or True, False or None (undefined) for a test."""

_UNDEFINED = (ArithmeticError, ValueError)


def column(node: Node, columns: Mapping[str, Column], memory: dict[Node, Column], length: int) -> Column:
    """Return the value of ``node`` at each of ``length`` points, and keep it in ``memory``."""
    known = memory.get(node)
    if known is not None:
        return known
    if node.kind == "constant":
        values: Column = [node.value] * length
    elif node.kind == "name":
        values = columns[str(node.value)]
    else:
        values = _applied(node, [column(part, columns, memory, length) for part in node.parts])
    memory[node] = values
    return values


def _applied(node: Node, operands: Sequence[Column]) -> Column:
    """Return the operation of ``node`` on whole columns."""
    item = OPERATIONS[node.kind]
    try:
        return list(map(item.apply, *operands))
    except _UNDEFINED:
        undefined = math.nan if item.gives == NUMBER else None
        return [_point(item.apply, values, undefined) for values in zip(*operands, strict=True)]


def _point(apply: Any, values: Sequence[Any], undefined: Any) -> Any:
    """Return one value, ``undefined`` where there is none."""
    try:
        return apply(*values)
    except _UNDEFINED:
        return undefined


def why_undefined(node: Node, columns: Mapping[str, Column], length: int) -> str:
    """Return in words where and why ``node`` has no finite value, as for ``division by zero in 1 / x where x = 0``."""
    for index in range(length):
        point = {parameter: [values[index]] for parameter, values in columns.items()}
        if _finite(column(node, point, {}, 1)[0]):
            continue
        where = ", ".join(f"{parameter} = {values[0]!r:.24}" for parameter, values in point.items())
        return f"{_cause(node, point)}{f' where {where}' if where else ''}"
    return "it has a value everywhere"


def _cause(node: Node, point: Mapping[str, Column]) -> str:
    """Return what goes wrong first in ``node`` at one point."""
    for part in node.parts:
        if not _finite(column(part, point, {}, 1)[0]) and not (node.kind == "if" and part is not _taken(node, point)):
            return _cause(part, point)
    operands = [column(part, point, {}, 1)[0] for part in node.parts]
    try:
        OPERATIONS[node.kind].apply(*operands)
    except _UNDEFINED as problem:
        return f"{problem} in {node}"
    return f"{node} is not finite"


def _taken(node: Node, point: Mapping[str, Column]) -> Node:
    """Return the part of a choice that decides its value at one point."""
    then, test, otherwise = node.parts
    value = column(test, point, {}, 1)[0]
    return test if value is None else (then if value else otherwise)


def _finite(value: Any) -> bool:
    """Tell whether ``value`` is a truth value or a finite number."""
    return value is not None and (not isinstance(value, float) or math.isfinite(value))
