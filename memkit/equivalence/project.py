"""A rendered project as a side: its own code in processes of its own, against a local server that plays the script."""

from __future__ import annotations

import importlib.util
import json
import os
import tempfile
from collections.abc import Mapping
from pathlib import Path
from types import ModuleType
from typing import Any, Self

from memkit.equivalence.interface import Seen, Turn
from memkit.equivalence.probing import probed
from memkit.runtime.testing import FakeServer

_KEPT = ("PATH", "LANG", "LC_ALL", "TMPDIR", "SSL_CERT_FILE", "SSL_CERT_DIR")
"""What of this process's environment a run needs; keys, proxies and homes stay out."""


class ProjectSide:
    """Answers each turn in a new process of the project, with the packages of this environment and no network."""

    def __init__(self, project: Path, store: Path) -> None:
        """Take the rendered ``project``, whose memory lies in the folder ``store``."""
        self._project = project
        self._store = store
        self._wire = _module(project / "tests" / "wire.py")
        # The project's own tests start it in this way: loaded once, and forked for each run.
        self._processes = _module(project / "tests" / "processes.py").Processes()
        self._home = tempfile.TemporaryDirectory(prefix="memkit-home-")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._processes.close()
        self._home.cleanup()

    def answer(self, turn: Turn, session: str) -> Seen:
        """Answer one turn; a run that fails shows its exit code and what it said."""
        with FakeServer(self._wire.PROTOCOL, turn.script) as server:
            environment = {
                **{name: os.environ[name] for name in _KEPT if name in os.environ},
                **self._wire.variables(server.base_url),
                "MODEL": "local",
                "MEMORY_DIR": str(self._store),
                "HOME": self._home.name,
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


def _line(turn: Turn, session: str) -> list[str]:
    user = ["--user", turn.user] if turn.user is not None else []
    consent = ["--consent"] if turn.consents else []
    return ["-p", turn.text, "--json", "--session", session, *user, *consent]


def _module(path: Path) -> ModuleType:
    """Return a file of the project as a module that nothing else can import by name."""
    spec = importlib.util.spec_from_file_location(f"_rendered_{path.stem}", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
