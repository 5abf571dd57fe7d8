"""Run programs that nobody has read: confined by the kernel, called with plain data, judged from outside."""

from .bare.client import Candidate
from .bare.failure import Failure
from .evaluator import Evaluator, evaluate_in_sandbox
from .interface import Evaluation, Grants, Layer, Limits, Report, SandboxUnavailable, Scratch
from .sandbox import Sandbox, available

__all__ = [
    "Candidate",
    "Evaluation",
    "Evaluator",
    "Failure",
    "Grants",
    "Layer",
    "Limits",
    "Report",
    "Sandbox",
    "SandboxUnavailable",
    "Scratch",
    "available",
    "evaluate_in_sandbox",
]
