"""A server of raw pages for the vendors' SDKs, and models that do not wait between their requests."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from memkit.llm import inquiry
from tests.llm.raw_pages import Page, RawServe, RawServer

VARIABLES = {"anthropic": "ANTHROPIC", "openai": "OPENAI"}
KEY = "local-key-1234567"


@pytest.fixture
def raw_server(monkeypatch: pytest.MonkeyPatch) -> Iterator[RawServe]:
    """Return a function that serves pages to one provider's SDK, which finds them by the environment."""
    servers: list[RawServer] = []

    def started(provider: str, *pages: Page) -> RawServer:
        server = RawServer(pages)
        servers.append(server)
        name = VARIABLES[provider]
        monkeypatch.setenv(f"{name}_BASE_URL", server.address + ("/v1" if provider == "openai" else ""))
        monkeypatch.setenv(f"{name}_API_KEY", KEY)
        monkeypatch.setenv("NO_PROXY", "127.0.0.1")
        return server

    yield started
    for server in servers:
        server.stop()


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let no test wait between two requests, unless a server asks for it."""
    monkeypatch.setattr(inquiry, "FIRST_PAUSE", 0.0)
