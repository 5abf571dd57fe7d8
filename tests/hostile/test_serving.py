"""A store that nobody trusted is served, and nothing of it runs, whatever a client asks for."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from git_attacks import GIT
from link_attacks import LINKS
from store_attacks import STORES
from traps import World

ATTACKS = GIT | LINKS | STORES
HELLO = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "raw", "version": "1"}}
CALLS = {
    "memory_search": {"query": "tea"},
    "memory_add": {"text": "Ada plays the cello"},
    "core_edit": {"section": "human", "old": "", "new": "Ada is a nurse"},
    "core_get": {},
    "policy_check": {"tool": "bash", "args": {"command": "rm -rf /srv"}},
    "plan": {"task": "deliver book shop", "domain": "errands"},
}


def requests() -> str:
    """Return everything that a client can ask for, a line each."""
    asked = [("initialize", HELLO), ("prompts/list", {}), ("resources/list", {}), ("tools/list", {})]
    asked += [("prompts/get", {"name": "hybrid-planner"}), ("resources/read", {"uri": "memkit://skill/hybrid-planner"})]
    asked += [("tools/call", {"name": name, "arguments": arguments}) for name, arguments in CALLS.items()]
    lines = [
        {"jsonrpc": "2.0", "id": id, "method": method, "params": params} for id, (method, params) in enumerate(asked)
    ]
    return "".join(
        json.dumps(line) + "\n"
        for line in [lines[0], {"jsonrpc": "2.0", "method": "notifications/initialized"}, *lines[1:]]
    )


@pytest.mark.parametrize("attack", ATTACKS)
def test_a_store_of_others_is_served_and_starts_nothing(attack: str, honest: World, tmp_path: Path) -> None:
    """The traps stay quiet, nothing outside changes, and the server answers or says in one line why it does not."""
    ATTACKS[attack](honest.store, honest.outside, honest.trap)
    for mark in honest.trap.folder.iterdir():  # what fired while the attacker's own git made this
        mark.unlink()
    before = honest.seen()

    # Memory may be refused where shards lead out; the server is ended by the end of its input.
    command = [sys.executable, "-P", "-m", "memkit", "serve", "--user", "ada"]
    done = subprocess.run(command, input=requests(), capture_output=True, text=True, cwd=honest.store, check=False)

    after = honest.seen()
    assert sorted(name for name in before.keys() | after.keys() if before.get(name) != after.get(name)) == []
    assert done.returncode in (0, 2, 3) and "Traceback" not in done.stderr and "bug in memkit" not in done.stderr
    if done.returncode == 0:
        assert {json.loads(line)["id"] for line in done.stdout.splitlines() if "id" in json.loads(line)}
