"""What a user of the search can act on; each kind knows its exit code."""

from __future__ import annotations


class EvolveError(Exception):
    """Say what the search cannot do, and what would let it."""

    exit_code = 2


class RefusedProgram(EvolveError):
    """Report source text that does not run in process, and which part of it is not allowed."""


class DoesNotApply(EvolveError):
    """Report a proposed change that cannot be made to its program, and why."""


class BadCheckpoint(EvolveError):
    """Report saved data that no run can go on from: of a newer version, of another run, damaged or cut short."""


class BrokenMarkers(EvolveError):
    """Report a program whose EVOLVE-BLOCK markers say nothing clear, and on which line."""


class UndefinedValue(EvolveError):
    """Report that a program has no finite number as its value for the given arguments."""

    exit_code = 1


class NothingScored(EvolveError):
    """Report a run in which no program ever got a score that counts."""

    exit_code = 1
