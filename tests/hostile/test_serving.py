"""A store that nobody trusted is served, and nothing of it runs, whatever a client asks for."""

from __future__ import annotations

import json
import subprocess
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from git_attacks import GIT
from link_attacks import LINKS
from store_attacks import STORES
from traps import World

from tests.forked import program

ATTACKS = GIT | LINKS | STORES
INITIALIZED = '{"jsonrpc": "2.0", "method": "notifications/initialized"}\n'
HELLO = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "raw", "version": "1"}}
CALLS = {
    "memory_search": {"query": "tea"},
    "memory_add": {"text": "Ada plays the cello"},
    "core_edit": {"section": "human", "old": "", "new": "Ada is a nurse"},
    "core_get": {},
    "policy_check": {"tool": "bash", "args": {"command": "rm -rf /srv"}},
    "plan": {"task": "deliver book shop", "domain": "errands"},
}


REQUESTS = [
    ("initialize", HELLO), ("prompts/list", {}), ("resources/list", {}), ("tools/list", {}),
    ("prompts/get", {"name": "hybrid-planner"}), ("resources/read", {"uri": "memkit://skill/hybrid-planner"}),
    *(("tools/call", {"name": name, "arguments": arguments}) for name, arguments in CALLS.items()),
]  # fmt: skip


def served(store: Path) -> tuple[list[Any], int, str]:
    """Return what a server answered to everything that a client can ask for, its exit code and its standard error."""
    command = [program(), "serve", "--user", "ada"]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    answers = []
    with subprocess.Popen(command, bufsize=0, cwd=store, **pipes) as server:
        assert server.stdin and server.stdout and server.stderr
        with suppress(BrokenPipeError):  # it may refuse the store
            for id, (method, params) in enumerate(REQUESTS):
                line = json.dumps({"jsonrpc": "2.0", "id": id, "method": method, "params": params})
                server.stdin.write(f"{line}\n{INITIALIZED * (id == 0)}".encode())
                answers += [json.loads(answer)] if (answer := server.stdout.readline()) else []
            server.stdin.close()
        told = server.stderr.read().decode()
    return answers, server.returncode, told


def test_an_honest_store_answers_everything(honest: World) -> None:
    """Silence there would say nothing about the stores below."""
    answers, code, _ = served(honest.store)

    assert code == 0 and len(answers) == len(REQUESTS)
    assert [answer for answer in answers if "result" not in answer or answer["result"].get("isError")] == []


@pytest.mark.parametrize("attack", ATTACKS)
def test_a_store_of_others_is_served_and_starts_nothing(attack: str, honest: World, tmp_path: Path) -> None:
    """The traps stay quiet, nothing outside changes, and the server answers or says in one line why it does not."""
    ATTACKS[attack](honest.store, honest.outside, honest.trap)
    for mark in honest.trap.folder.iterdir():  # what fired while the attacker's own git made this
        mark.unlink()
    before = honest.seen()

    answers, code, told = served(honest.store)

    after = honest.seen()
    assert sorted(name for name in before.keys() | after.keys() if before.get(name) != after.get(name)) == []
    assert code in (0, 2, 3) and "Traceback" not in told and "bug in memkit" not in told
    assert code != 0 or len(answers) == len(REQUESTS)
