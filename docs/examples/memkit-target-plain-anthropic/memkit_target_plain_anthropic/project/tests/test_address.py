"""Whom the agent asks where no address is given."""

from __future__ import annotations

import socket

import pytest
from memkit_runtime.testing.trial.talking import Talk


def test_without_an_address_anthropic_is_asked(talk: Talk, monkeypatch: pytest.MonkeyPatch) -> None:
    """An empty variable is none."""
    looked_up: list[str | bytes] = []

    def look_up(host: str | bytes, *parts: object, **more: object) -> None:
        looked_up.append(host)
        raise socket.gaierror("There is no network here.")

    monkeypatch.setattr(socket, "getaddrinfo", look_up)
    monkeypatch.setenv(talk.wire.vendor.url, "")

    reply = talk("Hello!", [], **{talk.wire.vendor.url: ""})

    assert reply.code == 3
    assert set(looked_up) == {"api.anthropic.com"}
