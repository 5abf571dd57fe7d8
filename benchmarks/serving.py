"""Time searches through a running MCP server: over its standard streams against the same search in process, and many
clients at once over HTTP against a server of the same SDK that only echoes.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import anyio
import mcp
from corpus import USER, write_store
from mcp.client.stdio import StdioServerParameters
from table import print_rows

from memkit.runtime.memory.archive.archive import ArchivalStore
from memkit.use_cases.store import make_store

QUERY = "what does Ada drink in the morning"
ECHO = """
import socket, sys, uvicorn
from mcp.server.mcpserver import MCPServer
server = MCPServer("echo")
@server.tool()
def memory_search(query: str) -> str:
    return query
with socket.create_server(("127.0.0.1", 0)) as listener:
    print(f"ready http://127.0.0.1:{listener.getsockname()[1]}/mcp", file=sys.stderr, flush=True)
    config = uvicorn.Config(server.streamable_http_app(), log_config=None, ws="none")
    uvicorn.Server(config).run(sockets=[listener])
"""


@contextmanager
def http_server(words: list[str]) -> Iterator[str]:
    """Start a server and yield the address that it prints."""
    with subprocess.Popen(words, stderr=subprocess.PIPE, text=True) as server:
        assert server.stderr is not None
        try:
            url = next(line for line in server.stderr if line.startswith("ready ")).split()[1]
            # Its log has to be read, or it blocks.
            threading.Thread(target=server.stderr.read, daemon=True).start()
            yield url
        finally:
            server.terminate()


@asynccontextmanager
async def over_stdio(store: Path) -> AsyncIterator[Any]:
    """Yield a client of a server that it started."""
    words = ["-m", "memkit", "serve", "--user", USER, "--store", str(store)]
    async with mcp.Client(StdioServerParameters(command=sys.executable, args=words, env=dict(os.environ))) as client:
        yield client


async def one_by_one(store: Path, calls: int) -> tuple[float, float]:
    """Return the median milliseconds of a search over standard streams, and of the same one in this process."""
    archive = ArchivalStore(store)
    over, within = [], []
    async with over_stdio(store) as client:
        for _ in range(calls):
            started = time.perf_counter()
            await client.call_tool("memory_search", {"query": QUERY})
            between = time.perf_counter()
            archive.search(QUERY, user_id=USER)
            over.append(between - started)
            within.append(time.perf_counter() - between)
    archive.close()
    return statistics.median(over) * 1e3, statistics.median(within) * 1e3


async def at_once(url: str, clients: int, calls: int) -> tuple[float, int]:
    """Return the 95th percentile of a call's milliseconds with ``clients`` clients, and the number of failed calls."""
    took: list[float] = []
    failed = 0

    async def client() -> None:
        nonlocal failed
        async with mcp.Client(url) as session:
            for _ in range(calls):
                started = time.perf_counter()
                answer = await session.call_tool("memory_search", {"query": QUERY})
                took.append(time.perf_counter() - started)
                failed += bool(answer.is_error)

    async with anyio.create_task_group() as tasks:
        for _ in range(clients):
            tasks.start_soon(client)
    return statistics.quantiles(took, n=20)[-1] * 1e3, failed


def main() -> None:
    """Print the rows as a table, or with --json as JSON."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--records", type=int, default=1_000)
    parser.add_argument("--clients", type=int, default=50)
    parser.add_argument("--calls", type=int, default=200)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        store = Path(scratch) / "store"
        make_store(store)
        write_store(store, options.records)
        over, within = anyio.run(one_by_one, store, options.calls)
        rows = [
            row(f"a search over standard streams against in process, {options.records:,} records, ms", over, within)
        ]
        serve = [
            sys.executable,
            "-m",
            "memkit",
            "serve",
            "--http",
            "127.0.0.1:0",
            "--user",
            USER,
            "--store",
            str(store),
        ]
        with http_server(serve) as ours, http_server([sys.executable, "-c", ECHO]) as echo:
            slow, failed = anyio.run(at_once, ours, options.clients, options.calls)
            bare, _ = anyio.run(at_once, echo, options.clients, options.calls)
        many = f"{options.clients} clients with {options.calls} searches each over HTTP against an echo"
        rows += [row(f"{many}, 95th percentile, ms", slow, bare), row(f"{many}, failed calls", failed, 0)]
    print_rows(rows, as_json=options.json)


def row(case: str, ours: float, peer: float) -> dict[str, Any]:
    """Return one row."""
    return {
        "case": case,
        "ours": round(ours, 2),
        "peer": round(peer, 2),
        "ratio": round(ours / peer, 2) if peer else None,
    }


if __name__ == "__main__":
    main()
