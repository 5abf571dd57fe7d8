"""memkit as other programs meet it: ``memkit serve --stdio``, spoken to by the official client, a server a user."""

from __future__ import annotations

import asyncio
import contextlib
import sys
from pathlib import Path
from typing import Any

from closure.adapters.memkit_files import MemkitFiles
from closure.interface import CannotError


class MemkitMcp(MemkitFiles):
    """What the protocol's tools can, by them; what is a person's (erase, reject, export), by the command line."""

    entries = ("client",)

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self._loop = asyncio.new_event_loop()
        self._sessions: dict[tuple[str, bool], tuple[contextlib.AsyncExitStack, Any]] = {}

    async def _session(self, user: str, vouched: bool) -> Any:
        """Return a session with the server of a user; ``vouched`` where the operator says that no stranger writes."""
        from mcp import ClientSession, StdioServerParameters
        from mcp.client.stdio import stdio_client

        if (user, vouched) not in self._sessions:
            words = ["-m", "memkit", "serve", "--stdio", "--user", user, "--store", str(self._place)]
            words += ["--client-taint", "clean"] if vouched else []
            import os

            server = StdioServerParameters(command=sys.executable, args=words, env=dict(os.environ))
            stack = contextlib.AsyncExitStack()
            streams = await stack.enter_async_context(stdio_client(server))
            session = await stack.enter_async_context(ClientSession(*streams[:2]))
            await session.initialize()
            self._sessions[user, vouched] = (stack, session)
        return self._sessions[user, vouched][1]

    def _tool(self, user: str, tool: str, vouched: bool = True, **given: Any) -> Any:
        async def called() -> Any:
            session = await self._session(user, vouched)
            return await session.call_tool(tool, given)

        said = self._loop.run_until_complete(called())
        failed = getattr(said, "isError", None) or getattr(said, "is_error", None)
        if failed:
            raise RuntimeError(" ".join(getattr(piece, "text", "") for piece in said.content)[:200])
        return getattr(said, "structuredContent", None) or getattr(said, "structured_content", None)

    def remember(self, user: str, text: str, via: str = "user") -> str:
        """Add it as a client that the operator vouches for, or as any client; the user agreed when first asked."""
        if user not in self._agreed:
            self.consent(user, True)
        return str(self._tool(user, "memory_add", via != "client", text=text)["id"])

    def remember_all(self, user: str, texts: list[str], via: str = "user") -> None:
        """Add one after another."""
        for text in texts:
            self.remember(user, text, via)

    def recall(self, user: str, query: str, k: int = 5) -> list[str]:
        """Search by the tool."""
        return [one["text"] for one in self._tool(user, "memory_search", query=query, k=k)["results"]]

    def scores(self, user: str, query: str) -> list[float]:
        """Return the scores of that search."""
        return [one["score"] for one in self._tool(user, "memory_search", query=query)["results"]]

    def get(self, user: str, name: str) -> str:
        """Read it by the tool."""
        return str(self._tool(user, "memory_get", id=name)["text"])

    def correct(self, user: str, name: str, text: str) -> str:
        """Supersede it by the tool."""
        return str(self._tool(user, "memory_supersede", id=name, text=text)["id"])

    def forget(self, user: str, name: str) -> None:
        """Retire it by the tool."""
        self._tool(user, "memory_forget", id=name, reason="the user said so")

    def as_of(self, user: str, query: str, day: str) -> list[str]:
        """The tools have no day."""
        raise CannotError("the tools of the protocol take no day; the command line does")

    def infer(self, user: str, texts: list[str]) -> int:
        """The client's model is not memkit's."""
        raise CannotError("what a client's model infers, memkit does not see")

    def at_rest(self, number: int) -> str:
        """Leave it: behind the server lies the same store."""
        raise CannotError("behind the server lies the store of memkit-files")

    def front_door(self, attack: str) -> dict[str, list[bool | None]]:
        """Leave it: what a client's model is shown is the client's to say."""
        raise CannotError("what enters the prompt of a client's model is not memkit's to see")

    def close(self) -> None:
        """End the servers."""
        super().close()
        for stack, _ in getattr(self, "_sessions", {}).values():
            with contextlib.suppress(Exception):  # a server that ended already cannot be ended again
                self._loop.run_until_complete(stack.aclose())
        self._sessions = {}
