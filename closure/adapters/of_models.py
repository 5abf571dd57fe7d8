"""Memories that call a model for every text. They are set up as documented and asked once; their reply is the row."""

from __future__ import annotations

import asyncio
import datetime
import os
import subprocess
import sys
from pathlib import Path

from closure.interface import Memory


class Graphiti(Memory):
    """``Graphiti`` on Kuzu, its graph in a file."""

    def remember(self, user: str, text: str, via: str = "user") -> str:
        """Add an episode."""
        return asyncio.run(self._added(user, text))

    async def _added(self, user: str, text: str) -> str:
        from graphiti_core import Graphiti as Library
        from graphiti_core.driver.kuzu_driver import KuzuDriver

        graph = Library(graph_driver=KuzuDriver(db=str(self.folder / "graph.kuzu")))
        now = datetime.datetime.now(datetime.UTC)
        await graph.add_episode(
            name="told", episode_body=text, source_description="chat", reference_time=now, group_id=user
        )
        return text


class Cognee(Memory):
    """``cognee.remember`` with its own local stores."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        os.environ |= {"SYSTEM_ROOT_DIRECTORY": str(folder / "system"), "DATA_ROOT_DIRECTORY": str(folder / "data"),
                       "TELEMETRY_DISABLED": "1", "COGNEE_LOGS_DIR": str(folder / "logs")}  # fmt: skip

    def remember(self, user: str, text: str, via: str = "user") -> str:
        """Remember it in the user's data set."""
        import cognee

        return str(asyncio.run(cognee.remember(text, dataset_name=user)))


class LettaCode(Memory):
    """``letta -p`` with its local back end, in a folder of its own."""

    def remember(self, user: str, text: str, via: str = "user") -> str:
        """Tell an agent to remember it."""
        program = Path(sys.executable).with_name("letta")
        command = [program, "-p", f"Remember: {text}", "--backend", "local", "--new-agent"]
        done = subprocess.run(command, cwd=self.folder, capture_output=True, text=True, timeout=60, check=False,
                              stdin=subprocess.DEVNULL)  # fmt: skip
        if done.returncode:
            raise RuntimeError(" ".join((done.stderr or done.stdout).split())[-240:])
        return done.stdout
