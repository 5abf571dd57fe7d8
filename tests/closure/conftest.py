"""The runner of the report, on systems that are small enough to see through."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))  # closure/ is a package of the repository, and no distribution installs it

from closure.runner import Cell, Plan, run  # noqa: E402
from closure.suites import load_suites  # noqa: E402
from closure.systems import System, load_systems  # noqa: E402


@pytest.fixture
def answers(monkeypatch: pytest.MonkeyPatch) -> Callable[..., dict[str, Cell]]:
    """Return what asks systems some cells and gives them by suite and case."""

    def asked(system: System | str, *cases: str, share: float = 0.02) -> dict[str, Cell]:
        one = load_systems()[system] if isinstance(system, str) else system
        wanted = frozenset(f"{one.name}/{case}" for case in cases)
        plan = Plan([one], list(load_suites().values()), share=share, jobs=1, cases=wanted)
        return {f"{cell.suite}/{cell.case}": cell for cell in run(plan, None, lambda line: None)}

    return asked
