"""Run programs that nobody has read: confined by the kernel, called with plain data, judged from outside."""

from .bare.client import Candidate, Failure
from .container import RUNTIMES, Runtime
from .evaluator import Evaluator, evaluate_in_sandbox
from .interface import Evaluation, Grants, Layer, Limits, Report, SandboxUnavailable, Scratch
from .sandbox import Sandbox, available, usable_runtime

__all__ = [
    "RUNTIMES",
    "Candidate",
    "Evaluation",
    "Evaluator",
    "Failure",
    "Grants",
    "Layer",
    "Limits",
    "Report",
    "Runtime",
    "Sandbox",
    "SandboxUnavailable",
    "Scratch",
    "available",
    "evaluate_in_sandbox",
    "usable_runtime",
]
