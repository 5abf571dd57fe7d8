"""The protocol's own conformance suite and a vendor's own client, as their authors publish them, against the server."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from memkit.cli.main import run
from memkit.runtime.testing import FakeServer
from tests.serving.clients import environment

MODULES = Path(__file__).parent / "others" / "node_modules"
NODE = MODULES / "node" / "bin" / "node"
SUITE = MODULES / "@modelcontextprotocol" / "conformance" / "dist" / "index.js"
CODEX = MODULES / ".bin" / "codex"
REVISIONS = {"2026-07-28": 37, "2025-11-25": 30}
"""Revision → how many scenarios it requires of a server."""
EXTENSION = "tasks-"
"""An extension that memkit does not declare; the suite runs its scenarios and does not score them."""
CONFIGURATION = """
model = "any"
model_provider = "local"
approval_policy = "never"
[model_providers.local]
name = "local"
base_url = "{url}"
env_key = "LOCAL_KEY"
wire_api = "responses"
request_max_retries = 0
stream_max_retries = 0
supports_websockets = false
[mcp_servers.memkit]
command = {command}
args = ["-m", "memkit", "serve", "--stdio", "--user", "ada", "--store", {store}]
env = {{ PYTHONPATH = {path}, HOME = {home} }}
required = true
startup_timeout_sec = 120
default_tools_approval_mode = "approve"
[analytics]
enabled = false
"""
REFUSES = """
name: keep_what_is_there
description: Nothing is forgotten by a program
rule: Do not forget anything.
enforcement: hard
rationale: A person decides what goes
effect: deny
match: {tool: memory_forget}
tests:
  - {name: denies it, call: {tool: memory_forget, args: {}}, expect: deny}
"""


def needs(program: Path) -> None:
    """Skip the test where ``program`` is not installed."""
    if not program.exists():
        pytest.skip("not installed: npm install --prefix tests/serving/others --no-package-lock")


@pytest.fixture
def fixtures_server() -> Iterator[str]:
    """Serve the suite's fixtures on memkit's server class and yield the address."""
    words = [sys.executable, "-m", "memkit.testing.conformance", "--http", "127.0.0.1:0"]
    with subprocess.Popen(words, env=environment(), stderr=subprocess.PIPE, text=True) as server:
        assert server.stderr is not None
        yield next(line for line in server.stderr if line.startswith("ready ")).split()[1]
        server.terminate()


@pytest.mark.parametrize("revision", REVISIONS)
@pytest.mark.timeout(600)
def test_the_server_does_all_that_a_revision_requires(revision: str, fixtures_server: str, tmp_path: Path) -> None:
    """No scenario is left out: what fails beside the required ones is one extension, which the server does not name."""
    needs(NODE)
    words = [str(NODE), str(SUITE), "server", "--url", fixtures_server, "--requirements", revision]
    found = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, timeout=500, check=False)
    summary = found.stdout.partition("=== SUMMARY ===")[2]
    passed = re.findall(r"^✓ (\S+): \d+ passed", summary, re.MULTILINE)
    failed = re.findall(r"^✗ (\S+): \d+ passed", summary, re.MULTILINE)
    not_scored = re.findall(r"^  [✓✗] (\S+) \(", summary, re.MULTILINE)

    assert [name for name in failed if not name.startswith(EXTENSION)] == [], found.stdout
    assert len(set(passed) - set(not_scored)) == REVISIONS[revision]
    assert found.returncode == 0


@pytest.mark.timeout(300)
def test_codex_remembers_recalls_in_a_new_run_and_is_refused_by_a_policy(
    store: Path, tmp_path: Path, model_server: Callable[..., FakeServer], capsys: pytest.CaptureFixture[str]
) -> None:
    """The vendor's own program starts the server, and a scripted model says what to call."""
    needs(CODEX)
    (store / "policies" / "keep_what_is_there.yaml").write_text(REFUSES.lstrip(), encoding="utf-8")
    assert run(["consent", "grant", "--user", "ada", "--store", str(store)]) == 0
    first = ask_codex(model_server, store, tmp_path, {"tool": "memory_add", "args": {"text": "Ada drinks espresso"}})
    assert first["structured_content"]["decision"] == "admitted"
    kept = first["structured_content"]["id"]

    second = ask_codex(model_server, store, tmp_path, {"tool": "memory_search", "args": {"query": "espresso"}})
    third = ask_codex(model_server, store, tmp_path, {"tool": "memory_forget", "args": {"id": kept}})

    assert [one["id"] for one in second["structured_content"]["results"]] == [kept]
    assert "A policy denies memory_forget" in third["content"][0]["text"]
    capsys.readouterr()
    assert run(["memory", "get", kept, "--store", str(store), "--json"]) == 0
    record = json.loads(capsys.readouterr().out)["data"]
    assert record["actor"].startswith("mcp:codex") and record["status"] == "live"
    assert record["taint"] == [f"client:{record['actor'][4:]}"]


def ask_codex(
    model_server: Callable[..., FakeServer], store: Path, tmp_path: Path, call: dict[str, Any]
) -> dict[str, Any]:
    """Let the client run once, with a model that makes ``call`` and ends, and return what the tool answered."""
    server = model_server("responses", [call, {"text": "done"}])
    home, work = tmp_path / "codex", tmp_path / "work"
    home.mkdir(exist_ok=True)
    work.mkdir(exist_ok=True)
    words = {
        "command": sys.executable, "store": str(store), "path": environment()["PYTHONPATH"], "home": os.environ["HOME"]
    }  # fmt: skip
    quoted = {name: json.dumps(word) for name, word in words.items()}
    (home / "config.toml").write_text(CONFIGURATION.format(url=server.base_url, **quoted), encoding="utf-8")
    found = subprocess.run(
        [str(CODEX), "exec", "--skip-git-repo-check", "--json", "go on"],
        cwd=work,
        env={**environment(), "CODEX_HOME": str(home), "LOCAL_KEY": "any"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    events = [json.loads(line) for line in found.stdout.splitlines() if line.startswith("{")]
    called = [event["item"] for event in events if event.get("item", {}).get("type") == "mcp_tool_call"]
    assert called, found.stdout + found.stderr
    return dict(called[-1]["result"])
