"""The errors of the loop room that somebody can act on.

LoopError            2   something handed in cannot be used
├── ToolDeclarationError 2   a declared tool is malformed
└── ModelFault       3   the model cannot serve
"""

from __future__ import annotations


class LoopError(Exception):
    """Say what cannot be used and what to do instead."""

    exit_code = 2


class ToolDeclarationError(LoopError):
    """Report a declared tool that is malformed."""


class ModelFault(LoopError):
    """Report a model that cannot serve: out of answers, unreachable, or speaking another shape."""

    exit_code = 3
