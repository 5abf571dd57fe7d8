"""Run a command beside the model server of a project's own tests: ``python answering.py PROJECT COMMAND …``.

The model stores a fact and answers. It speaks what the project's own tests speak, so nothing here is about a target.
"""

from __future__ import annotations

import importlib
import os
import subprocess
import sys

FACT = "The user prefers green tea"
ANSWER = "I will remember that."
SCRIPT = [{"tool": "archival_memory_insert", "args": {"text": FACT}}, ANSWER]


def main(project: str, *command: str) -> int:
    """Serve the script while ``command`` runs, and return its exit code."""
    sys.path.insert(0, project)
    wire, servers = importlib.import_module("tests.wire"), importlib.import_module("tests.model_server")
    with servers.FakeServer(wire.PROTOCOL, SCRIPT) as server:
        variables = {**os.environ, **wire.variables(server.base_url), "MODEL": "local"}
        return subprocess.run(command, env=variables, check=False).returncode


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
