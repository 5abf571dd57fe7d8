"""Run a command beside the model server of a project's own tests: ``python answering.py PROJECT COMMAND …``.

The model stores a fact and answers. It speaks what the project's own tests speak, so nothing here is about a target.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

FACT = "The user prefers green tea"
ANSWER = "I will remember that."
SCRIPT = [{"tool": "archival_memory_insert", "args": {"text": FACT}}, ANSWER]


def main(project: str, *command: str) -> int:
    """Serve the script while ``command`` runs, and return its exit code."""
    from memkit_runtime.testing import FakeServer  # type: ignore[import-not-found]

    shared = Path(project, "tests", "conftest.py").read_text(encoding="utf-8")
    spoken = re.search(r'ModelWire\("(\w+)"\)', shared)
    assert spoken, shared
    with FakeServer(spoken[1], SCRIPT) as server:
        variables = {**os.environ, **server.environment, "MODEL": "local"}
        return subprocess.run(command, env=variables, check=False).returncode


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
