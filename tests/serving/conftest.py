"""Servers of a store in processes of their own, and the data of the commands to compare their answers with."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from memkit.cli.main import run
from tests.forked import program
from tests.serving.clients import environment

if TYPE_CHECKING:
    from tests.serving.pages import Served


@pytest.fixture
def http_server() -> Iterator[Callable[..., str]]:
    """Return a function that starts a server with some options and returns its address."""
    with ExitStack() as running:

        def start(store: Path, *options: str, address: str = "127.0.0.1:0") -> str:
            words = [program(), "serve", "--http", address, "--store", store, *options]
            server = running.enter_context(
                subprocess.Popen(words, env=environment(), stderr=subprocess.PIPE, text=True, cwd=store.parent)
            )
            running.callback(server.terminate)
            assert server.stderr is not None
            ready = server.stderr.readline()
            assert ready.startswith("ready http://"), ready
            return ready.split()[1]

        yield start


@pytest.fixture
def served(store: Path) -> Iterator[Served]:
    """Return a page for ada, whom the link that is printed lets in as who started the server."""
    pytest.importorskip("starlette")
    from tests.serving.pages import page_of

    with page_of(store) as page:
        yield page


@pytest.fixture
def data(store: Path, capsys: pytest.CaptureFixture[str]) -> Callable[..., Any]:
    """Return a function that runs a command on the store and returns the data of its envelope."""

    def answered(*words: str) -> Any:
        run([*words, "--store", str(store), "--json"])
        return json.loads(capsys.readouterr().out)["data"]

    return answered
