"""The errors of the loop room that somebody can act on.

LoopError            2   something handed in cannot be used
├── ToolDeclarationError 2   a declared tool is malformed
├── PromptTooLarge       2   what every prompt needs is more than its budget
└── ModelFault       3   the model cannot serve
"""

from __future__ import annotations


class LoopError(Exception):
    """Say what cannot be used and what to do instead."""

    exit_code = 2


class ToolDeclarationError(LoopError):
    """Report a declared tool that is malformed."""


class PromptTooLarge(LoopError):
    """Report a budget that does not hold what every prompt needs."""


class ModelFault(LoopError):
    """Report a model that cannot serve: out of answers, unreachable, or speaking another shape."""

    exit_code = 3
