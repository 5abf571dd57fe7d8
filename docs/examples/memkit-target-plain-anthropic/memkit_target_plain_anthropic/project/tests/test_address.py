"""Whom the agent asks where no address is given."""

from __future__ import annotations

import socket

import pytest

from tests import wire
from tests.conftest import Talk


def test_without_an_address_anthropic_is_asked(talk: Talk, monkeypatch: pytest.MonkeyPatch) -> None:
    """An empty variable is none."""
    looked_up: list[str | bytes] = []

    def look_up(host: str | bytes, *parts: object, **more: object) -> None:
        looked_up.append(host)
        raise socket.gaierror("There is no network here.")

    monkeypatch.setattr(socket, "getaddrinfo", look_up)
    monkeypatch.setenv(wire.URL_VARIABLE, "")

    reply = talk("Hello!", [], **{wire.URL_VARIABLE: ""})

    assert reply.code == 3
    assert set(looked_up) == {"api.anthropic.com"}
