"""Whole apps, made from the vendors' own tutorials, that change one import line and nothing else."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from memkit.cli.main import run
from memkit.runtime.testing import FakeServer

APPS = Path(__file__).parent / "apps"
NOTE = "/memories/sweets.md"


class App(NamedTuple):
    """An app, the line that it changes, and what a model does in it."""

    file: str
    before: str
    after: str
    needs: str
    writes_as: str
    """The actor of its records."""
    protocol: str
    learns: Sequence[Mapping[str, Any]]
    """What the model does when it is told something."""
    recalls: Sequence[Mapping[str, Any]]
    """What it does in another run to see what it knows; nothing where the app does not look."""
    told: str = "I prefer liquorice"
    kept: str = "Ada prefers liquorice"


LANGMEM = App(
    "langmem_agent.py",
    "from langgraph.store.memory import InMemoryStore",
    "from memkit.integrations.langgraph import MemkitStore as InMemoryStore",
    "langmem",
    "tool:langgraph",
    "chat",
    [{"tool": "manage_memory", "args": {"action": "create", "content": "Ada prefers liquorice"}}, {"text": "Noted."}],
    [{"tool": "search_memory", "args": {"query": "what does Ada prefer"}}, {"text": "You told me."}],
)
CLAUDE = App(
    "claude_memory.py",
    "from anthropic.tools import BetaLocalFilesystemMemoryTool",
    "from memkit.integrations.anthropic import MemkitMemoryTool as BetaLocalFilesystemMemoryTool",
    "anthropic.tools",
    "tool:anthropic-memory",
    "anthropic",
    [
        {"tool": "memory", "args": {"command": "view", "path": "/memories"}},
        {"tool": "memory", "args": {"command": "create", "path": NOTE, "file_text": "Ada prefers liquorice"}},
        {"text": "Noted."},
    ],
    [{"tool": "memory", "args": {"command": "view", "path": NOTE}}, {"text": "You told me."}],
)
OPENAI = App(
    "agents_session.py",
    "from agents import Agent, Runner, SQLiteSession",
    "from agents import Agent, Runner\nfrom memkit.integrations.openai_agents import MemkitSession as SQLiteSession",
    "agents",
    "tool:openai-agents",
    "responses",
    [{"text": "Noted."}],
    [],
    told="I live in Zwolle.",
    kept="I live in Zwolle",
)


@pytest.fixture
def memkit(store: Path, capsys: pytest.CaptureFixture[str]) -> Callable[..., Any]:
    """Return a function that runs a command on the store and returns its data."""

    def ran(*words: str) -> Any:
        capsys.readouterr()
        code = run(["--store", str(store), "--json", *words])
        said = capsys.readouterr()
        assert code == 0, said.out + said.err
        return json.loads(said.out)["data"]

    return ran


def with_memkit(vendors: str, app: App) -> str:
    """Return the source of an app with its one import line changed."""
    assert vendors.count(f"{app.before}\n") == 1
    return vendors.replace(f"{app.before}\n", f"{app.after}\n")


def started(source: str, folder: Path, store: Path, said: str) -> str:
    """Run an app in a folder of its own, and return what it prints."""
    folder.mkdir(exist_ok=True)
    (folder / "app.py").write_text(source, encoding="utf-8")
    variables = {
        **os.environ, "MEMKIT_STORE": str(store), "MEMKIT_USER": "ada", "OPENAI_AGENTS_DISABLE_TRACING": "1",
        "PYTHONPATH": str(Path(__file__).parents[2]), "LANGSMITH_TRACING": "false",
    }  # fmt: skip
    done = subprocess.run(
        [sys.executable, "app.py"], cwd=folder, env=variables, input=said, capture_output=True, text=True, check=False,
        timeout=120,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("app", [LANGMEM, OPENAI, CLAUDE], ids=lambda app: app.file)
def test_an_app_changes_one_import_line(
    app: App, store: Path, tmp_path: Path, model_server: Callable[..., FakeServer], memkit: Callable[..., Any]
) -> None:
    """It prints what it printed before, and what it remembers is reviewed, corrected, explained and erased."""
    pytest.importorskip(app.needs)
    vendors = (APPS / app.file).read_text(encoding="utf-8")
    changed = with_memkit(vendors, app)
    memkit("consent", "grant", "--user", "ada")

    model_server(app.protocol, app.learns)
    before = started(vendors, tmp_path / "before", store, app.told)
    model_server(app.protocol, app.learns)
    assert started(changed, tmp_path / "after", store, app.told) == before == "Noted.\n"

    (record,) = memkit("memory", "list", "--user", "ada")["records"]  # reviewed, and let in
    assert (record["text"], record["trust"]) == (app.kept, "candidate")
    assert memkit("memory", "get", record["id"], "--user", "ada")["actor"] == record["actor"] == app.writes_as
    memkit("memory", "approve", record["id"], "--user", "ada")

    memkit("memory", "supersede", record["id"], f"{app.kept} no more", "--user", "ada")  # corrected
    (corrected,) = memkit("memory", "list", "--user", "ada")["records"]
    if app.recalls:
        server = model_server(app.protocol, app.recalls)
        assert started(changed, tmp_path / "after", store, "What do I prefer?") == "You told me.\n"
        assert f"{app.kept} no more" in str(server.asked[-1])

    account = memkit("memory", "why", corrected["id"], "--user", "ada")  # explained
    assert bool(account["injected"] or account["retrieved"]) == bool(app.recalls)

    gone = memkit("memory", "erase", "--user", "ada", "--yes", "--out", str(tmp_path / "certificate.json"))  # erased
    assert gone["removed"]
    held = subprocess.run(["grep", "-rli", "liquorice\\|zwolle", store], capture_output=True, text=True, check=False)
    assert held.stdout == ""


def test_the_vendors_own_example_changes_one_import_line(
    sdist: Callable[[str], Path], store: Path, tmp_path: Path, model_server: Callable[..., FakeServer],
    memkit: Callable[..., Any],
) -> None:  # fmt: skip
    """As it stands in the source distribution of the Agents SDK; what is said in it lies in the store."""
    pytest.importorskip("agents")
    vendors = (sdist("openai-agents==0.24.0") / "examples/memory/sqlite_session_example.py").read_text("utf-8")
    memkit("consent", "grant", "--user", "ada")
    model_server("responses", [{"text": "Noted."}] * 3)
    assert "Total items in session: 6" in started(with_memkit(vendors, OPENAI), tmp_path / "app", store, "")
    entries = memkit("memory", "export", "--user", "ada")["entries"]
    assert sum(entry.get("op") == "document" for entry in entries) == 6
