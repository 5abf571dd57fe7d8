"""Fitness functions that can be sent to other processes."""

from __future__ import annotations

import os
from dataclasses import fields
from typing import Any

from memkit.runtime.evolve.core import EvolutionarySearcher, SearchSettings, read_program

POINTS = [index / 2 for index in range(-6, 7)]


def roughness(program: str) -> float:
    """Return the largest error against a function that no polynomial meets, so that a search goes on."""
    function = read_program(program)
    return max(abs(function(x) - abs(x) ** 0.7) for x in POINTS)


def deadly(program: str) -> float:
    """Kill the worker for every program that multiplies by three."""
    if "3 * x" in program or "x * 3" in program:
        os._exit(9)
    return roughness(program)


def searcher(*given: Any, **options: Any) -> EvolutionarySearcher:
    """Return a searcher; what belongs to its settings may stand among the other options."""
    names = {each.name for each in fields(SearchSettings)}
    settings = SearchSettings(**{name: value for name, value in options.items() if name in names})
    others = {name: value for name, value in options.items() if name not in names}
    return EvolutionarySearcher(*given, **others, settings=settings)
