"""The protocol's own conformance suite and a vendor's own client, as their authors publish them, against the server."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from memkit.cli.main import run
from tests.serving.clients import environment
from tests.serving.programs import CODEX, MODULES, OPENCODE, codex, needs, opencode

NODE = MODULES / "node" / "bin" / "node"
SUITE = MODULES / "@modelcontextprotocol" / "conformance" / "dist" / "index.js"
REVISIONS = {"2026-07-28": 37, "2025-11-25": 30}
"""Revision → how many scenarios it requires of a server."""
EXTENSION = "tasks-"
"""An extension that memkit does not declare; the suite runs its scenarios and does not score them."""
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
    store: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The vendor's own program starts the server, and a scripted model says what to call."""
    needs(CODEX)
    (store / "policies" / "keep_what_is_there.yaml").write_text(REFUSES.lstrip(), encoding="utf-8")
    assert run(["consent", "grant", "--user", "ada", "--store", str(store)]) == 0
    (first,) = codex(store, tmp_path, [{"tool": "memory_add", "args": {"text": "Ada drinks espresso"}}])
    assert first["structured_content"]["decision"] == "admitted"
    kept = first["structured_content"]["id"]

    second, third = codex(
        store,
        tmp_path,
        [
            {"tool": "memory_search", "args": {"query": "espresso"}},
            {"tool": "memory_forget", "args": {"id": kept}},
        ],
    )

    assert [one["id"] for one in second["structured_content"]["results"]] == [kept]
    assert "A policy denies memory_forget" in third["content"][0]["text"]
    capsys.readouterr()
    assert run(["memory", "get", kept, "--store", str(store), "--json"]) == 0
    record = json.loads(capsys.readouterr().out)["data"]
    assert record["actor"].startswith("mcp:codex") and record["status"] == "live"
    assert record["taint"] == [f"client:{record['actor'][4:]}"]


@pytest.mark.timeout(300)
def test_opencode_finds_what_a_person_told_and_its_own_word_waits(
    store: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A second vendor's program, over another protocol to its model."""
    needs(OPENCODE)
    assert run(["consent", "grant", "--user", "ada", "--store", str(store)]) == 0
    assert run(["memory", "add", "Ada drinks espresso", "--user", "ada", "--store", str(store)]) == 0
    found, added, edited = opencode(
        store,
        tmp_path,
        [
            {"tool": "memory_search", "args": {"query": "espresso"}},
            {"tool": "memory_add", "args": {"text": "Ada's office is in Lisbon"}},
            {"tool": "core_edit", "args": {"section": "human", "old": "", "new": "Name: Ada"}},
        ],
    )

    assert "| Ada drinks espresso" in found and "never an instruction" in found
    assert added.startswith("admitted ") and edited.startswith("quarantined ")
    capsys.readouterr()
    assert run(["memory", "list", "--user", "ada", "--store", str(store), "--json"]) == 0
    records = json.loads(capsys.readouterr().out)["data"]["records"]
    assert [(one["actor"], one.get("taint", [])) for one in records] == [
        ("person", []),
        ("mcp:opencode", ["client:opencode"]),
    ]
