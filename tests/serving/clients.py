"""The real client, speaking with a server in a process of its own."""

from __future__ import annotations

import os
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest

from tests.forked import program

mcp = pytest.importorskip("mcp")
ROOT = Path(__file__).parents[2]
ERAS = ("legacy", "auto")
"""The two revisions: 2025-11-25 with its handshake, and 2026-07-28."""


def environment(**more: str) -> dict[str, str]:
    """Return what a server's process needs to find this memkit."""
    beside = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    return {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), *filter(None, beside)]), **more}


class Asked:
    """A person behind a client, who answers every question alike; without an answer nobody can be asked."""

    def __init__(self, answer: bool | None) -> None:
        self.answer = answer
        self.questions: list[str] = []

    async def __call__(self, context: Any, params: Any) -> Any:
        """Answer one question."""
        import mcp_types

        self.questions.append(params.message)
        return mcp_types.ElicitResult(action="accept", content={"yes": self.answer})


@asynccontextmanager
async def stdio_client(store: Path, *options: str, era: str = "auto", asked: Asked | None = None, user: str = "ada"):  # noqa: ANN201
    """Start a server for ``user`` and yield a client that speaks with it over its standard streams."""
    import mcp_types
    from mcp.client.stdio import StdioServerParameters

    words = ["serve", "--user", user, "--store", str(store), *options]
    server = StdioServerParameters(command=str(program()), args=words, env=environment())
    callback = asked if asked is not None and asked.answer is not None else None
    info = mcp_types.Implementation(name="Test Client", version="1")
    async with mcp.Client(server, mode=era, elicitation_callback=callback, client_info=info) as client:
        yield client


def call(
    url: str, token: str, calls: list[tuple[str, dict[str, Any]]], era: str, asked: Asked | None = None
) -> list[Any]:
    """Return what each of ``calls`` came to, made with a token."""
    import httpx2
    from mcp.client.streamable_http import streamable_http_client

    async def talk() -> list[Any]:
        async with httpx2.AsyncClient(headers={"Authorization": f"Bearer {token}"}, timeout=120) as http:
            way = streamable_http_client(url, http_client=http)
            async with mcp.Client(way, mode=era, elicitation_callback=asked) as client:
                return [await client.call_tool(name, arguments) for name, arguments in calls]

    return anyio.run(talk)
