"""What somebody does who got a rendered project: set it up in an environment without memkit, and run it."""

from __future__ import annotations

import os
import subprocess
from dataclasses import dataclass
from pathlib import Path

import enclosure

SECONDS = 600.0
ENCLOSED = enclosure.is_possible()
_OURS = ("PYTHON", "PYTEST", "VIRTUAL_ENV", "MEMKIT_", "OPENAI_", "ANTHROPIC_", "CLAUDE", "LANGSMITH_", "LANGCHAIN_")
OUTSIDE = {name: value for name, value in os.environ.items() if not name.startswith(_OURS)}
"""The environment that the tests were started in: unlike that of a single test it has the caches of installers."""


@dataclass(frozen=True)
class Owned:
    """A project, and the programs of the environment that it is set up in."""

    project: Path
    programs: Path

    def run(self, *command: str | Path, **variables: str) -> str:
        """Run a command in the project and return what it printed; it has to succeed."""
        environment = {**OUTSIDE, "PATH": f"{self.programs}{os.pathsep}{OUTSIDE['PATH']}", **variables}
        words = [str(word) for word in command]
        done = subprocess.run(
            words, cwd=self.project, env=environment, capture_output=True, text=True, timeout=SECONDS, check=False
        )
        assert done.returncode == 0, f"{' '.join(words)}\n{done.stdout[-8000:]}{done.stderr[-4000:]}"
        return done.stdout

    def run_offline(self, *command: str | Path, **variables: str) -> str:
        """Run a command where only this machine can be reached; it has to succeed without asking for more."""
        home = self.project.with_name(f"{self.project.name}-home")
        home.mkdir(exist_ok=True)
        if not ENCLOSED:
            return self.run(*command, HOME=str(home), **variables)
        report = home / "asked-for.json"
        printed = self.run(*enclosure.enclosed(command, report), HOME=str(home), **variables)
        assert enclosure.asked_for(report) == [], "The project wanted to leave this machine."
        return printed
