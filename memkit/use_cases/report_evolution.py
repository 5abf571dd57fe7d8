"""Write a run of evolution as a page."""

from __future__ import annotations

from pathlib import Path

from memkit.evolution.account import account_of
from memkit.evolution.folder import find_run
from memkit.store.files import write_whole


def report_evolution(run: str, out: Path | None = None, *, root: Path | None = None) -> Path:
    """Write a run's page, into its own folder where ``out`` is not given, and return where it lies.

    Raises:
        NotFound: There is no such run.
        EnvironmentFault: The run is damaged, or the file cannot be written.
    """
    from memkit.evolution.report import page

    folder = find_run(run, root)
    path = out if out is not None else folder.path / "report.html"
    write_whole(path, page(account_of(folder)).encode("utf-8", "backslashreplace"))
    return path
