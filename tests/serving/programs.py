"""Vendors' own clients, as npm has them: each starts memkit's server itself and does what a scripted model says."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from memkit.runtime.testing import FakeServer
from tests.forked import program
from tests.serving.clients import environment

MODULES = Path(__file__).parent / "others" / "node_modules"
CODEX = MODULES / ".bin" / "codex"
OPENCODE = MODULES / ".bin" / "opencode"
CODEX_SETTINGS = """
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
args = {args}
env = {{ PYTHONPATH = {path}, HOME = {home} }}
required = true
startup_timeout_sec = 120
default_tools_approval_mode = "approve"
[analytics]
enabled = false
"""
Call = Mapping[str, Any]
"""What the model calls: ``{tool, args}``, the tool by the server's own name."""


def needs(program: Path) -> None:
    """Skip the test where ``program`` is not installed."""
    if not program.exists():
        pytest.skip("not installed: npm install --prefix tests/serving/others --no-package-lock")


def codex(store: Path, folder: Path, calls: Sequence[Call], *options: str) -> list[dict[str, Any]]:
    """Let Codex run once in ``folder`` and return what each tool answered, as the protocol has it."""
    home, work = _folders(folder, "codex")
    with FakeServer("responses", [*calls, {"text": "done"}]) as server:
        words = {
            "command": str(program()), "args": _serving(store, *options),
            "path": environment()["PYTHONPATH"], "home": os.environ["HOME"],
        }  # fmt: skip
        quoted = {name: json.dumps(word) for name, word in words.items()}
        (home / "config.toml").write_text(CODEX_SETTINGS.format(url=server.base_url, **quoted), encoding="utf-8")
        command = [str(CODEX), "exec", "--skip-git-repo-check", "--json", "go on"]
        events, told = _run(command, work, CODEX_HOME=str(home), LOCAL_KEY="any")
    items = [event["item"] for event in events if event["type"] == "item.completed"]
    answers = [dict(item["result"]) for item in items if item["type"] == "mcp_tool_call"]
    assert len(answers) == len(calls), told
    return answers


def opencode(store: Path, folder: Path, calls: Sequence[Call], *options: str) -> list[str]:
    """Let opencode run once in ``folder`` and return what each tool answered, as its model was told."""
    home, work = _folders(folder, "opencode")
    named = [{**call, "tool": f"memkit_{call['tool']}"} for call in calls]
    with FakeServer("chat", [*named, {"text": "done"}]) as server:
        model = {"npm": "@ai-sdk/openai-compatible", "name": "local", "models": {"any": {"name": "any"}}}
        serving = {"PYTHONPATH": environment()["PYTHONPATH"], "HOME": os.environ["HOME"]}
        settings = {
            "autoupdate": False,
            "share": "disabled",
            "model": "local/any",
            "agent": {"title": {"disable": True}},
            "provider": {"local": {**model, "options": {"baseURL": server.base_url, "apiKey": "any"}}},
            "mcp": {
                "memkit": {
                    "type": "local",
                    "command": [str(program()), *_serving(store, *options)],
                    "environment": serving,
                    "timeout": 120_000,
                }
            },
        }
        (home / "opencode.json").write_text(json.dumps(settings), encoding="utf-8")
        offline = dict.fromkeys(("MODELS_FETCH", "AUTOUPDATE", "LSP_DOWNLOAD", "DEFAULT_PLUGINS"), "1")
        quiet = {f"OPENCODE_DISABLE_{name}": value for name, value in offline.items()}
        command = [str(OPENCODE), "run", "--format", "json", "go on"]
        where = {"HOME": str(home), "XDG_CONFIG_HOME": str(home), "OPENCODE_CONFIG": str(home / "opencode.json")}
        events, told = _run(command, work, **where, **quiet)
    states = [event["part"]["state"] for event in events if event["type"] == "tool_use"]
    assert len(states) == len(calls), told
    return [state.get("output") or state["error"] for state in states]


def _serving(store: Path, *options: str) -> list[str]:
    return ["serve", "--stdio", "--user", "ada", "--store", str(store), *options]


def _folders(folder: Path, name: str) -> Iterator[Path]:
    for part in (folder / name, folder / "work"):
        part.mkdir(exist_ok=True, parents=True)
        yield part


def _run(command: Sequence[str], work: Path, **variables: str) -> tuple[list[dict[str, Any]], str]:
    found = subprocess.run(
        command,
        cwd=work,
        env=environment(PWD=str(work), **variables),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    return [json.loads(line) for line in found.stdout.splitlines() if line.startswith("{")], found.stdout + found.stderr
