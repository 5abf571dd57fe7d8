"""Whom the agent asks is said by one variable, whatever else an environment holds."""

from __future__ import annotations

import socket
from typing import Any

import pytest

from tests import wire
from tests.conftest import Talk


@pytest.mark.parametrize("variable", ["OPENAI_BASE_URL", "OPENAI_API_BASE"])
@pytest.mark.parametrize("value", ["", "http://elsewhere.test/v1"])
def test_without_an_address_openai_is_asked_and_nobody_else(
    talk: Talk, monkeypatch: pytest.MonkeyPatch, variable: str, value: str
) -> None:
    """An empty variable is none, and one that only some packages read sends the conversation nowhere."""
    looked_up: list[str] = []

    def look_up(host: str | bytes, *parts: Any, **more: Any) -> Any:
        looked_up.append(host.decode() if isinstance(host, bytes) else host)
        raise socket.gaierror("There is no network here.")

    monkeypatch.setattr(socket, "getaddrinfo", look_up)
    monkeypatch.setenv(variable, value)

    reply = talk("Hello!", [], **{wire.URL_VARIABLE: ""})

    assert reply.code == 3
    # OpenAI closed the Assistants API, so the agent does not begin to ask there.
    assert set(looked_up) == (set() if wire.PROTOCOL == "assistants" else {"api.openai.com"})
