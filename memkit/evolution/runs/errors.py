"""What can be wrong with a run on disk.

EnvironmentFault (3)
└── RunFault      damaged, of a newer memkit, or on a disk that takes nothing
    └── RunBusy   another process is at work on it
UsageError (2)
└── RunChanged    the task is not what it was when the run began
"""

from __future__ import annotations

from memkit.errors import EnvironmentFault, UsageError


class RunFault(EnvironmentFault):
    """Report a run that cannot be read or written, and name the file."""

    code = "run"


class RunBusy(RunFault):
    """Report that another process is at work on the run."""

    code = "locked"


class RunChanged(UsageError):
    """Report that the program or the evaluator changed since the run began."""

    code = "changed"
