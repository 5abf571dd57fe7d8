"""Carry a plan out step by step: under a gate, with a journal that survives a kill, planning anew where need be."""

from __future__ import annotations

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
    StepRecord,
    call_function,
)
from .journal import Journal
from .observation import Observation, read_observation

__all__ = [
    "DENIED",
    "DONE",
    "FAILED",
    "MANUAL",
    "PENDING",
    "UNKNOWN",
    "Action",
    "Answer",
    "Execution",
    "Executor",
    "Journal",
    "Observation",
    "StepRecord",
    "call_function",
    "foresee",
    "read_observation",
]
