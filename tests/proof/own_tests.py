"""A project's own tests in its own environment, and the versions that they are run with."""

from __future__ import annotations

import os

from environments import BEYOND, NEWEST
from ownership import Owned
from rendered import commands_of

NEWEST_EDITION = BEYOND if os.environ.get("MEMKIT_PROVE") == BEYOND else NEWEST
"""What the scheduled run tries is newer than what the projects allow."""


def passes_its_tests(owned: Owned, *chosen: str) -> None:
    """Follow the README's first line; memkit is nowhere, nothing is skipped, and nobody outside is asked."""
    install, test = commands_of(owned.project)[0].split(" && ")
    owned.run("sh", "-c", install)
    packages = owned.run("python", "-m", "pip", "list", "--format=freeze")
    assert "memkit-runtime==" in packages and "memkit-agent" not in packages

    printed = owned.run_offline(*test.split(), "-q", "-p", "no:cacheprovider", *chosen)

    assert " passed" in printed and "skipped" not in printed, printed[-2000:]
