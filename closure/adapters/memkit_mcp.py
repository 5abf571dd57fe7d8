"""memkit as other programs use it: ``memkit serve --http``, one token per user, by plain JSON-RPC."""

from __future__ import annotations

import contextlib
import ctypes
import gc
import json
import os
import re
import select
import signal
from http import HTTPStatus
from http.client import HTTPConnection
from pathlib import Path
from typing import Any, NoReturn
from urllib.parse import urlsplit

from closure.adapters.memkit_files import MemkitFiles
from closure.interface import CannotError
from memkit.cli.main import run

REVISION = "2026-07-28"
"""The protocol's revision: each request stands by itself, without a session."""
READY = re.compile(r"ready \S+\n")
MOST_FILES = 4096
META = {
    "io.modelcontextprotocol/protocolVersion": REVISION,
    "io.modelcontextprotocol/clientInfo": {"name": "closure", "version": "1"},
    "io.modelcontextprotocol/clientCapabilities": {},
}


ENDS_WITH_ITS_PARENT = 1
"""Linux's ``prctl``: sends a process a signal when its parent ends, even by a kill."""


def _serve(words: list[str], log: Path) -> NoReturn:
    """Run as the server, with this command line, and record its address in ``log``."""
    try:
        ctypes.CDLL(None).prctl(ENDS_WITH_ITS_PARENT, signal.SIGTERM)
        os.dup2(os.open(os.devnull, os.O_RDWR), 0)
        os.dup2(os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600), 2)
        os.closerange(3, MOST_FILES)
        os._exit(run(words))
    finally:
        os._exit(1)


class MemkitMcp(MemkitFiles):
    """What the protocol's tools can, by them; what is a person's (erase, reject, export), by the command line."""

    entries = ("client",)

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self._servers: dict[bool, tuple[int, str]] = {}
        self._tokens: dict[str, str] = {}

    @classmethod
    def load(cls) -> None:
        """Load the server: a forked child has what this process loaded, and need not load it again."""
        import memkit.serving.http
        import memkit.serving.server  # noqa: F401

    def _address(self, vouched: bool) -> str:
        """Return the server's address, starting it if necessary.

        ``vouched`` selects the one for whose clients the operator states that no stranger writes.
        """
        if vouched not in self._servers:
            words = ["serve", "--http", "127.0.0.1:0", "--rate", "100000", "--store", str(self._place)]
            self.load()
            log = self._place.parent / f"serve-{len(list(self._place.parent.glob('serve-*')))}.log"
            log.touch()
            gc.collect()  # or the child would close what a failed command left open, by numbers that are others' there
            if (server := os.fork()) == 0:
                _serve([*words, *(["--client-taint", "clean"] if vouched else [])], log)
            while not (said := next((line for line in log.read_text().splitlines(True) if READY.match(line)), "")):
                if os.waitpid(server, os.WNOHANG)[0]:
                    raise RuntimeError(f"memkit serve ended: {log.read_text()[-200:]}")
                # Not time.sleep, which a library that changes the clock breaks.
                select.select([], [], [], 0.02)
            self._servers[vouched] = server, said.split()[1]
        return self._servers[vouched][1]

    def _tool(self, user: str, tool: str, vouched: bool = True, **given: Any) -> Any:
        """Return a tool's answer for the user; raise RuntimeError with its words if it fails."""
        if user not in self._tokens:
            self._tokens[user] = self.command("token", "new", "--user", user, "--scope", "write")["token"]
        asked = {"name": tool, "arguments": given, "_meta": META}
        sent = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": asked})
        place = urlsplit(self._address(vouched))
        head = {
            "Authorization": f"Bearer {self._tokens[user]}", "Content-Type": "application/json",
            "Accept": "application/json, text/event-stream", "MCP-Protocol-Version": REVISION,
            "Mcp-Method": "tools/call", "Mcp-Name": tool,
        }  # fmt: skip
        with contextlib.closing(HTTPConnection(place.hostname or "", place.port, timeout=120)) as connection:
            connection.request("POST", place.path, sent, head)
            response = connection.getresponse()
            text = response.read().decode()
        if response.status != HTTPStatus.OK:
            raise RuntimeError(f"{response.status}: {text[:200]}")
        # One object, by itself or as the only event of a stream.
        answer = json.loads(text[text.index("{") : text.rindex("}") + 1])
        done = answer.get("result", {"isError": True, "content": [{"text": json.dumps(answer.get("error"))}]})
        if done.get("isError"):
            raise RuntimeError(" ".join(piece.get("text", "") for piece in done["content"])[:200])
        return done["structuredContent"]

    def remember(self, user: str, text: str, via: str = "user") -> str:
        """Add it as a client that the operator vouches for, or as any client; the user agreed when first asked."""
        if user not in self._agreed:
            self.consent(user, True)
        vouched = via != "client"
        done = self._tool(user, "memory_add", vouched, text=text)
        if vouched and any(reason["code"] == "transient" for reason in done["reasons"]):
            # A short-lived fact is refused with advice that the tool's description gives for its type: it is an event.
            done = self._tool(user, "memory_add", vouched, text=text, type="event")
        return str(done["id"])

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

    def erase(self, user: str) -> None:
        """Erase with the servers stopped, as the person who operates them does."""
        self.close()
        super().erase(user)
        # Nothing is left of the user: no token, and no consent.
        self._tokens.pop(user, None)
        self._agreed.pop(user, None)

    def infer(self, user: str, texts: list[str]) -> int:
        """The client's model is not memkit's."""
        raise CannotError("what a client's model infers, memkit does not see")

    def at_rest(self, number: int) -> str:
        """Not asked: behind the server is the same store."""
        raise CannotError("behind the server lies the store of memkit-files")

    def front_door(self, attack: str) -> dict[str, list[bool | None]]:
        """Not asked: the client decides what its model is shown."""
        raise CannotError("what enters the prompt of a client's model is not memkit's to see")

    def close(self) -> None:
        """Stop the servers, which commit."""
        super().close()
        for server, _ in self._servers.values():
            with contextlib.suppress(ProcessLookupError):
                os.kill(server, signal.SIGTERM)
            os.waitpid(server, 0)
        self._servers = {}
