"""A rendered project as a side: its own code in processes of its own, against a local server that plays the script."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Self

from memkit.equivalence.interface import Seen, TranscriptTurn
from memkit.equivalence.probing import probed
from memkit.generate.composition import VENDOR
from memkit.generate.manifest import read_manifest
from memkit.generate.update.origin import target_now
from memkit.generate.vendored import unpack
from memkit.runtime.testing import FakeServer
from memkit.runtime.testing.trial.processes import Processes

_KEPT = ("PATH", "LANG", "LC_ALL", "TMPDIR", "SSL_CERT_FILE", "SSL_CERT_DIR")
"""What of this process's environment a run needs; keys, proxies and homes stay out."""


class ProjectSide:
    """Answers each turn in a new process of the project, with the packages of this environment and no network."""

    def __init__(self, project: Path, store: Path) -> None:
        """Take the rendered ``project``, whose memory lies in the folder ``store``."""
        self._project = project
        self._store = store
        self._protocol = _protocol_of(project)
        self._home = tempfile.TemporaryDirectory(prefix="memkit-home-")
        # The project's own tests start it in this way: loaded once, and forked for each run.
        runtime = Path(self._home.name, "runtime")
        (wheel,) = (project / VENDOR).glob("*.whl")
        unpack(wheel.read_bytes(), runtime)
        self._processes = Processes(project, {**self._environment(), "PYTHONPATH": str(runtime)})

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._processes.close()
        self._home.cleanup()

    def _environment(self) -> dict[str, str]:
        kept = {name: os.environ[name] for name in _KEPT if name in os.environ}
        return {**kept, "HOME": self._home.name}

    def answer(self, turn: TranscriptTurn, session: str) -> Seen:
        """Answer one turn; a run that fails shows its exit code and what it said."""
        with FakeServer(self._protocol, turn.script) as server:
            environment = {
                **self._environment(),
                **server.environment,
                "MODEL": "local",
                "MEMORY_DIR": str(self._store),
                "AGENT_CONTEXT": json.dumps(dict(turn.context)),
            }
            compiled = self._project / "agent" / "compiled"
            code, printed, told = self._processes.run(
                _line(turn, session), Path(self._home.name), compiled, environment
            )
        refused = [request.error for request in server.requests if request.status in (400, 404, 405, 411, 413)]
        if code or refused:
            return {"failed": {"exit code": code, "told": told[-2000:] or printed[-2000:], "refused": refused}}
        data: Mapping[str, Any] = json.loads(printed)["data"]
        asked = [request.conversation for request in server.requests if request.conversation is not None]
        return {**data, "seen": probed(turn.probes, asked)}


def _line(turn: TranscriptTurn, session: str) -> list[str]:
    user = ["--user", turn.user] if turn.user is not None else []
    consent = ["--consent"] if turn.consents else []
    return ["-p", turn.text, "--json", "--session", session, *user, *consent]


def _protocol_of(project: Path) -> str:
    """Return what the project speaks to its model, as its own manifest has it."""
    manifest = read_manifest(project)
    return target_now(manifest).answered(manifest.answers).protocols[0]
