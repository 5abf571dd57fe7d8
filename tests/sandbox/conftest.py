"""One sandbox for many programs: starting it is the expensive part, and programs do not meet in it."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from memkit.sandbox import Sandbox, SandboxLimits, SandboxUnavailable

BRIEF = SandboxLimits(wall=1.5, cpu=2, memory=128 << 20, output=1 << 20)


@pytest.fixture(scope="session")
def sandbox() -> Iterator[Sandbox]:
    """Yield a sandbox with limits that hostile programs reach soon."""
    try:
        opened = Sandbox(BRIEF)
    except SandboxUnavailable as error:
        if os.environ.get("MEMKIT_REQUIRE") == "all":
            raise
        pytest.skip(str(error))
    with opened:
        yield opened
