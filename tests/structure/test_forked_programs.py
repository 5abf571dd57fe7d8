"""A program that is forked is the program: what tests see of it is what a new process would show."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from memkit.cli.main import run
from tests.forked import program


@pytest.mark.parametrize("words", ["--version", "memory list --user ada", "no-such-command", "lint ."])
def test_it_prints_and_ends_as_a_new_process_does(words: str, store: Path) -> None:
    """With its own arguments, folder and environment, on its own streams, and with its exit code."""
    assert run(["memory", "add", "Ada likes tea", "--user", "ada", "--store", str(store)]) == 0
    environment = os.environ | {"MEMKIT_STORE": str(store), "PYTHONPATH": str(Path(__file__).parents[2])}

    forked, new = (
        subprocess.run(
            [*command, *words.split()], cwd=store, env=environment, capture_output=True, text=True, check=False
        )
        for command in ([program()], [sys.executable, "-m", "memkit"])
    )

    assert (forked.returncode, forked.stdout, forked.stderr) == (new.returncode, new.stdout, new.stderr)
    assert forked.stdout or forked.stderr


@pytest.mark.parametrize(("told", "code"), [(signal.SIGINT, 130), (signal.SIGKILL, -signal.SIGKILL)])
def test_who_ends_what_was_started_ends_the_program(store: Path, told: signal.Signals, code: int) -> None:
    """A signal reaches it, and one that cannot be passed on leaves no server behind."""
    pytest.importorskip("starlette")
    words = [program(), "serve", "--http", "127.0.0.1:0", "--user", "ada", "--store", store]
    with subprocess.Popen(words, stderr=subprocess.PIPE, text=True) as server:
        assert server.stderr is not None
        place = urlsplit(server.stderr.readline().split()[1])
        server.send_signal(told)

        assert server.wait() == code
        server.stderr.read()  # until the last of those that hold it is gone

    with pytest.raises(ConnectionRefusedError):
        socket.create_connection((place.hostname or "", place.port or 0)).close()
