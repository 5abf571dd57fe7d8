"""Programs as sums of weighted terms, and their plainer forms."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache

from .operations import NUMBER, OPERATIONS
from .tree import Node, constant, name, number_of, operation
from .values import column

ONE = constant(1)
_LEAST, _MOST = 1e-100, 1e100
"""Weights beyond these are left as they are written, so that no product of them is infinite or zero."""
_MOST_TERMS = 24

Terms = Mapping[Node, float]
"""Term → weight; the term ``ONE`` carries the constant part."""


@lru_cache(maxsize=20_000)
def terms_of(node: Node) -> Terms:
    """Return ``node`` as a weighted sum, equal terms put together, in the order in which they are written."""
    found: dict[Node, float] = {}
    stack: list[tuple[Node, float]] = [(node, 1)]
    while stack:
        part, weight = stack.pop()
        if part.kind in ("add", "subtract"):
            left, right = part.parts
            stack += [(right, weight if part.kind == "add" else -weight), (left, weight)]
            continue
        base, factor = _factored(part)
        if factor == 0:
            continue
        if factor != 1 and _LEAST < abs(weight * factor) < _MOST:
            stack.append((base, weight * factor))
        else:
            found[part] = found.get(part, 0) + weight
    return found


def _factored(node: Node) -> tuple[Node, float]:
    """Return ``node`` as something times a number."""
    if node.kind == "constant":
        return ONE, number_of(node)
    if node.kind == "negative":
        return node.parts[0], -1
    if node.kind == "multiply" and "constant" in (node.parts[0].kind, node.parts[1].kind):
        factor, base = node.parts if node.parts[0].kind == "constant" else reversed(node.parts)
        return base, number_of(factor)
    if node.kind == "divide" and node.parts[1].kind == "constant" and number_of(node.parts[1]) != 0:
        return node.parts[0], 1 / number_of(node.parts[1])
    return node, 1


def sum_of(terms: Terms) -> Node:
    """Return the program that adds up ``terms``."""
    result: Node | None = None
    for base, weight in sorted(terms.items(), key=lambda item: item[1] < 0):  # a positive term reads best in front
        if weight == 0:
            continue
        if result is None:
            result = _weighted(base, weight)
        else:
            result = operation("subtract" if weight < 0 else "add", result, _weighted(base, abs(weight)))
    return constant(0) if result is None else result


def _least_size(terms: Terms) -> int:
    """Return a lower bound of the size of ``sum_of(terms)``."""
    sizes = [base.size + (0 if base == ONE or abs(weight) == 1 else 2) for base, weight in terms.items() if weight != 0]
    return sum(sizes) + max(0, len(sizes) - 1)


def _weighted(base: Node, weight: float) -> Node:
    """Return ``weight * base`` in its shortest form."""
    if base == ONE:
        return constant(weight)
    if weight == 1:
        return base
    return operation("negative", base) if weight == -1 else operation("multiply", constant(weight), base)


@lru_cache(maxsize=20_000)
def simplified(node: Node) -> Node:
    """Return a program that is no larger, and equal wherever ``node`` has a value.

    >>> from .reading import read_program
    >>> str(simplified(read_program("x * 1 + 0 + x - 2 * (1 + 2)").body))
    'x + x - 6'
    """
    if not node.parts:
        return node
    whole = operation(node.kind, *(simplified(part) for part in node.parts))
    whole = _reduced(_folded(whole))
    if whole.kind in ("add", "subtract", "multiply", "negative"):
        terms = terms_of(whole)
        if _least_size(terms) < whole.size:
            whole = min(whole, sum_of(terms), key=lambda tree: tree.size)
    return whole if whole.size <= node.size else node


def _folded(node: Node) -> Node:
    """Return a constant in place of an operation on constants."""
    if node.gives != NUMBER or not node.parts or any(part.kind != "constant" for part in node.parts):
        return node
    value = column(node, {}, {}, 1)[0]
    if value != value or abs(value) > 1e300 or (isinstance(value, int) and value.bit_length() > 53):
        return node
    return constant(value)


def _reduced(node: Node) -> Node:
    """Return a shorter program by the laws of one operation, where one fits."""
    if len(node.parts) == 1:
        inner = node.parts[0]
        return inner.parts[0] if node.kind in ("negative", "not") and inner.kind == node.kind else node
    if len(node.parts) != 2 or node.gives != NUMBER or node.kind not in OPERATIONS:
        return node
    left, right = node.parts
    values = [number_of(part) if part.kind == "constant" else None for part in (left, right)]
    if node.kind == "multiply" and 1 in values:
        return left if values[1] == 1 else right
    if node.kind == "add" and 0 in values:
        return left if values[1] == 0 else right
    if (node.kind == "subtract" and values[1] == 0) or (node.kind in ("divide", "power") and values[1] == 1):
        return left
    return node


Monomials = dict[tuple[Node, ...], float]
"""Factors, in a fixed order → weight."""


def expanded(node: Node) -> Node | None:
    """Return ``node`` multiplied out, higher products first; None where that gives too many terms.

    >>> from .reading import read_program
    >>> str(expanded(read_program("(x + 1) * (x / 2 - 1) * 2").body))
    'x * x - x - 2'
    """
    monomials = _monomials(node)
    if monomials is None:
        return None
    ordered = sorted(monomials.items(), key=lambda item: (-len(item[0]), [str(factor) for factor in item[0]]))
    return sum_of({_product(factors): weight for factors, weight in ordered})


def _monomials(node: Node) -> Monomials | None:
    """Return ``node`` as a sum of products of what cannot be multiplied out."""
    total: Monomials = {}
    for term, weight in terms_of(node).items():
        parts: Monomials | None = {(term,): 1.0}
        if term == ONE:
            parts = {(): 1.0}
        elif term.kind == "multiply":
            parts = _multiplied(_monomials(term.parts[0]), _monomials(term.parts[1]))
        if parts is None or len(total) + len(parts) > _MOST_TERMS:
            return None
        for factors, part_weight in parts.items():
            total[factors] = total.get(factors, 0) + weight * part_weight
    return total if all(abs(weight) < _MOST for weight in total.values()) else None


def _multiplied(left: Monomials | None, right: Monomials | None) -> Monomials | None:
    """Return the product of two sums, None where it is too long."""
    if left is None or right is None or len(left) * len(right) > _MOST_TERMS:
        return None
    product: Monomials = {}
    for factors, weight in left.items():
        for others, other_weight in right.items():
            key = tuple(sorted((*factors, *others), key=str))
            product[key] = product.get(key, 0) + weight * other_weight
    return product


def _product(factors: Sequence[Node]) -> Node:
    """Return the product of ``factors``, 1 where there are none."""
    result = ONE
    for factor in factors:
        result = factor if result is ONE else operation("multiply", result, factor)
    return result


def rounded(node: Node, digits: int) -> Node:
    """Return ``node`` with every constant rounded, and simplified."""
    if node.kind == "constant":
        return constant(round(float(number_of(node)), digits))
    if not node.parts:
        return node
    parts = [rounded(part, digits) for part in node.parts]
    return simplified(operation(node.kind, *parts))


def product_of(names: Sequence[str]) -> Node:
    """Return the product of parameters."""
    return _product([name(text) for text in names])
