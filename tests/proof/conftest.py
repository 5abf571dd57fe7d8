"""What the proofs share: environments that are kept between runs."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from environments import Environments
from ownership import OUTSIDE, Owned
from rendered import Case

collect_ignore: list[str] = [] if os.environ.get("MEMKIT_PROVE") else ["test_skills_alone.py", "test_newest_sdk.py"]
"""What only the scheduled run does."""


@pytest.fixture(scope="session")
def environments() -> Environments:
    """Return the environments beside the one that the tests run in; cleaning that up removes them."""
    return Environments(Path(sys.prefix) / "proof", OUTSIDE)


@pytest.fixture
def own(environments: Environments, tmp_path: Path) -> Callable[[Case, str], Owned]:
    """Return what renders a project and gives it an environment of its own."""

    def own(case: Case, edition: str) -> Owned:
        folder = tmp_path / str(case)
        project = case.render(folder / "project")
        return Owned(project, environments.copy(project, edition, folder / "environment"))

    return own


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Leave what takes minutes and an installer to 'make prove'."""
    here = f"{Path(__file__).parent}{os.sep}"
    for item in items:  # all that there are
        if str(item.path).startswith(here):
            item.add_marker("prove")
