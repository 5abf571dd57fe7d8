"""Carry a plan out step by step: under a gate, with a journal that survives a kill, planning anew where need be."""

from __future__ import annotations

from .course import Journal
from .executor import Executor, foresee
from .interface import (
    DENIED,
    DONE,
    FAILED,
    MANUAL,
    PENDING,
    UNKNOWN,
    Action,
    Answer,
    Execution,
    Observation,
    StepRecord,
    call_function,
    read_observation,
)

__all__ = [
    "DENIED", "DONE", "FAILED", "MANUAL", "PENDING", "UNKNOWN", "Action", "Answer", "Execution", "Executor",
    "Journal", "Observation", "StepRecord", "call_function", "foresee", "read_observation",
]  # fmt: skip
