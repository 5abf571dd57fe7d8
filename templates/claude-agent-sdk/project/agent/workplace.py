"""Where the Claude command line works: a folder of its own, and an environment in which it finds only the model."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from memkit_runtime.host.endpoints import ANTHROPIC, Endpoint

FOREIGN = ("ANTHROPIC_", "CLAUDE", "OTEL_")
"""Prefixes of variables that could redirect the command line to another server or account, or have it traced."""


class Workplace:
    """A temporary folder for this account only; the project, and a user's files for other agents, are elsewhere."""

    def __init__(self, folder: Path) -> None:
        self.settings = folder / "settings"
        """What the command line takes for its user's configuration."""
        self.empty = folder / "empty"
        """Its working directory, free of other instructions and skills."""
        self.temporary = folder / "tmp"
        """Where it puts files that it fails to remove."""
        self._prompt = folder / "prompt"
        for place in (self.settings, self.empty, self.temporary):
            place.mkdir(mode=0o700)

    @contextmanager
    def holding(self, prompt: str) -> Iterator[Path]:
        """Return a file with ``prompt``, kept at most for the length of a run; its reader may remove it."""
        handle = os.open(self._prompt, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(handle, "w", encoding="utf-8", errors="replace") as file:
            file.write(prompt)
        try:
            yield self._prompt
        finally:
            self._prompt.unlink(missing_ok=True)


@contextmanager
def open_workplace() -> Iterator[Workplace]:
    """Return a workplace that is removed afterwards."""
    with tempfile.TemporaryDirectory(prefix="agent-", ignore_cleanup_errors=True) as folder:
        yield Workplace(Path(folder))


def environment_of(endpoint: Endpoint, workplace: Workplace) -> dict[str, str]:
    """Return the command line's environment: where the model is, how long to wait, and to do nothing on its own."""
    others = [name for name in os.environ if name.startswith(FOREIGN)]
    return {
        **dict.fromkeys(others, ""),
        ANTHROPIC.key: endpoint.api_key,
        **({ANTHROPIC.url: endpoint.base_url} if endpoint.base_url is not None else {}),
        # The user's own configuration is neither read nor written.
        "CLAUDE_CONFIG_DIR": str(workplace.settings),
        "CLAUDE_CODE_TMPDIR": str(workplace.temporary),
        "TMPDIR": str(workplace.temporary),
        # Telemetry, updates, and a call that sends the user's words to find a name for the session.
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        # The rooms handle memory, and what leaves the prompt.
        "CLAUDE_CODE_DISABLE_AUTO_MEMORY": "1",
        "DISABLE_COMPACT": "1",
        "CLAUDE_CODE_DISABLE_BUNDLED_SKILLS": "1",
        # A model forgets a tool that it would have to search for.
        "ENABLE_TOOL_SEARCH": "false",
        "CLAUDE_CODE_MAX_RETRIES": str(endpoint.retries),
        "API_TIMEOUT_MS": str(max(1, round(endpoint.timeout * 1000))),
    }
