"""Run programs that nobody has read: confined by the kernel, called with plain data, judged from outside."""

from .bare.client import Failure, SandboxedProgram
from .container import RUNTIMES, ContainerRuntime
from .evaluator import Evaluator
from .interface import Evaluation, Grants, Layer, Report, SandboxLimits, SandboxUnavailable, Scratch
from .sandbox import Sandbox, available, usable_runtime

__all__ = [
    "RUNTIMES", "ContainerRuntime", "Evaluation", "Evaluator", "Failure", "Grants", "Layer", "Report", "Sandbox",
    "SandboxLimits", "SandboxUnavailable", "SandboxedProgram", "Scratch", "available",
    "usable_runtime",
]  # fmt: skip
