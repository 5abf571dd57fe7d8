"""Read what a run of evolution has come to."""

from __future__ import annotations

from pathlib import Path

from memkit.evolution.account import EvolutionAccount, account_of
from memkit.evolution.folder import find_run


def read_evolution(run: str, *, root: Path | None = None) -> EvolutionAccount:
    """Return what can be told of a run, by its name, its path or ``latest``; a run at work is not disturbed.

    Raises:
        NotFound: There is no such run.
        RunFault: It is damaged, or of a newer memkit.
    """
    return account_of(find_run(run, root))
