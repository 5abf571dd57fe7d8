"""Fitness functions that can be sent to other processes."""

from __future__ import annotations

import os

from memkit.runtime.evolve.core import read_program

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
