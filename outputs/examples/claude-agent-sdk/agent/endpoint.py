"""Where the model is, and the environment in which the Claude command line finds it and nothing else."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import urlsplit

from agent.errors import EnvironmentFault
from agent.settings import Settings
from agent.workplace import Workplace

KEY = "ANTHROPIC_API_KEY"
URL = "ANTHROPIC_BASE_URL"
FOREIGN = ("ANTHROPIC_", "CLAUDE", "OTEL_")
"""Beginnings of variables that could send the command line to another server, under another name, or have it traced."""
RETRIES = 1
"""A busy server gets one more chance; a dead one is reported soon."""


@dataclass(frozen=True)
class Endpoint:
    """A server that speaks the Messages protocol, and the model to ask there."""

    api_key: str
    base_url: str | None
    """None stands for Anthropic itself."""
    model: str
    timeout: float

    @property
    def name(self) -> str:
        """Return how a message calls the server."""
        return self.base_url or "Anthropic"

    def environment(self, workplace: Workplace) -> dict[str, str]:
        """Return what the command line is told: where to ask, how patiently, and to do nothing on its own."""
        others = [name for name in os.environ if name.startswith(FOREIGN)]
        return {
            **dict.fromkeys(others, ""),
            KEY: self.api_key,
            **({URL: self.base_url} if self.base_url is not None else {}),
            # The user's own configuration is neither read nor written.
            "CLAUDE_CONFIG_DIR": str(workplace.settings),
            "CLAUDE_CODE_TMPDIR": str(workplace.temporary),
            "TMPDIR": str(workplace.temporary),
            # Telemetry, updates, and a call that sends the user's words to find a name for the session.
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            # Memory, and what leaves the prompt, are the rooms' business.
            "CLAUDE_CODE_DISABLE_AUTO_MEMORY": "1",
            "DISABLE_COMPACT": "1",
            "CLAUDE_CODE_DISABLE_BUNDLED_SKILLS": "1",
            # A tool that has to be searched for is one that the model forgets.
            "ENABLE_TOOL_SEARCH": "false",
            "CLAUDE_CODE_MAX_RETRIES": str(RETRIES),
            "API_TIMEOUT_MS": str(max(1, round(self.timeout * 1000))),
        }


def endpoint_of(settings: Settings) -> Endpoint:
    """Return the endpoint that the environment names; raises ``EnvironmentFault`` without a key."""
    environment: Mapping[str, str] = settings.environment
    key = environment.get(KEY, "").strip()
    if not key:
        raise EnvironmentFault(
            f"{KEY} is not set. Put the vendor's key into the environment or into .env "
            "(any text where a local server asks for none)."
        )
    if not (key.isascii() and key.isprintable()):
        raise EnvironmentFault(f"{KEY} holds characters that no key has. Copy it again.")
    return Endpoint(key, _base_url(environment.get(URL, "").strip()), settings.model, settings.timeout)


def _base_url(text: str) -> str | None:
    """Return the address of the server, or None for Anthropic; raises ``EnvironmentFault`` where it is none."""
    try:
        parts = urlsplit(text)
        usable = parts.scheme in {"http", "https"} and bool(parts.hostname) and parts.port != 0
    except ValueError:
        usable = False
    if text and not usable:
        raise EnvironmentFault(f"{URL}={text!r} is no address. Write one like http://127.0.0.1:8080.")
    # The command line adds /v1 itself, and others' documents write it.
    return text.rstrip("/").removesuffix("/v1") or None
