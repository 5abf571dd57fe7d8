"""Typed chance: random trees, one-step mutations and crossover that always give valid programs."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from random import Random

from .tree import NUMBER, OPERATIONS, ExpressionNode, constant, name, number_of, operation

_UNFOLDED_EXPONENTS = 4


@dataclass(frozen=True)
class PrimitiveSet:
    """What random programs are made of."""

    parameters: tuple[str, ...]
    kinds: tuple[str, ...]
    """Names of operations."""

    def giving(self, wanted: str) -> list[str]:
        """Return the operations whose value is of the ``wanted`` type."""
        return [kind for kind in self.kinds if OPERATIONS[kind].gives == wanted]

    def alike(self, kind: str) -> list[str]:
        """Return the other operations with the types of ``kind``."""
        model = OPERATIONS[kind]
        return [
            other
            for other in self.kinds
            if other != kind and (OPERATIONS[other].takes, OPERATIONS[other].gives) == (model.takes, model.gives)
        ]


def random_leaf(vocabulary: PrimitiveSet, random: Random) -> ExpressionNode:
    """Return a parameter or a constant, whole and small more often than not."""
    if vocabulary.parameters and random.random() < 0.65:
        return name(random.choice(vocabulary.parameters))
    if random.random() < 0.75:
        return constant(random.randint(-5, 5))
    return constant(round(random.uniform(-5, 5), 2))


def random_tree(vocabulary: PrimitiveSet, random: Random, depth: int, wanted: str = NUMBER) -> ExpressionNode:
    """Return a random program of at most ``depth`` levels (a test needs two) that gives what is ``wanted``."""
    kinds = vocabulary.giving(wanted)
    if wanted == NUMBER and (depth <= 1 or not kinds or random.random() < 0.2):
        return random_leaf(vocabulary, random)
    if wanted != NUMBER and depth <= 2:  # tests of tests have to end somewhere
        kinds = [kind for kind in kinds if set(OPERATIONS[kind].takes) == {NUMBER}] or kinds
    kind = random.choice(kinds)
    return made(kind, vocabulary, random, [None] * len(OPERATIONS[kind].takes), depth - 1)


def made(
    kind: str, vocabulary: PrimitiveSet, random: Random, given: list[ExpressionNode | None], depth: int
) -> ExpressionNode:
    """Return an operation whose operands are ``given``, random where they are None."""
    parts = [
        part or random_tree(vocabulary, random, depth, wanted)
        for part, wanted in zip(given, OPERATIONS[kind].takes, strict=True)
    ]
    if kind == "power" and given[1] is None:  # other exponents are rarely defined
        parts[1] = constant(random.randint(2, _UNFOLDED_EXPONENTS))
    return operation(kind, *parts)


def mutated(tree: ExpressionNode, vocabulary: PrimitiveSet, random: Random) -> ExpressionNode:
    """Return ``tree`` with one random change."""
    path, node = tree.nth(random.randrange(tree.size))
    change = random.choice(_CHANGES if node.parts or node.kind == "name" else _CONSTANT_CHANGES)
    return tree.replaced(path, change(node, vocabulary, random))


def crossed(tree: ExpressionNode, other: ExpressionNode, random: Random) -> ExpressionNode:
    """Return ``tree`` with a random part of ``other`` in place of a part of the same type."""
    path, node = tree.nth(random.randrange(tree.size))
    parts = [part for _, part in other.walk() if part.gives == node.gives]
    return tree.replaced(path, random.choice(parts)) if parts else tree


def _replaced(node: ExpressionNode, vocabulary: PrimitiveSet, random: Random) -> ExpressionNode:
    return random_tree(vocabulary, random, 3, node.gives)


def _exchanged(node: ExpressionNode, vocabulary: PrimitiveSet, random: Random) -> ExpressionNode:
    """Return another operation on the same operands, or another leaf."""
    if not node.parts:
        return random_leaf(vocabulary, random)
    kinds = vocabulary.alike(node.kind)
    return operation(random.choice(kinds), *node.parts) if kinds else _turned(node, vocabulary, random)


def _turned(node: ExpressionNode, _vocabulary: PrimitiveSet, _random: Random) -> ExpressionNode:
    """Return ``node`` with its first and last operand exchanged where their types are the same."""
    if len(node.parts) < 2 or node.parts[0].gives != node.parts[-1].gives:
        return node
    first, *middle, last = node.parts
    return operation(node.kind, last, *middle, first)


def _lifted(node: ExpressionNode, vocabulary: PrimitiveSet, random: Random) -> ExpressionNode:
    parts = [part for part in node.parts if part.gives == node.gives]
    return random.choice(parts) if parts else _replaced(node, vocabulary, random)


def _wrapped(node: ExpressionNode, vocabulary: PrimitiveSet, random: Random) -> ExpressionNode:
    kinds = [kind for kind in vocabulary.giving(node.gives) if node.gives in OPERATIONS[kind].takes]
    if not kinds:
        return node
    kind = random.choice(kinds)
    places = [index for index, wanted in enumerate(OPERATIONS[kind].takes) if wanted == node.gives]
    given: list[ExpressionNode | None] = [None] * len(OPERATIONS[kind].takes)
    given[random.choice(places)] = node
    return made(kind, vocabulary, random, given, 2)


def _nudged(node: ExpressionNode, _vocabulary: PrimitiveSet, random: Random) -> ExpressionNode:
    value = number_of(node)
    if random.random() < 0.5:
        return constant(value + random.choice((-1, 1)))
    moved = value + random.gauss(0, 0.1 + abs(value) / 4)
    return constant(moved) if math.isfinite(moved) else node


Change = Callable[[ExpressionNode, PrimitiveSet, Random], ExpressionNode]

_CHANGES: tuple[Change, ...] = (_replaced, _exchanged, _lifted, _wrapped, _turned)
_CONSTANT_CHANGES: tuple[Change, ...] = (_nudged, _nudged, _replaced, _wrapped)
