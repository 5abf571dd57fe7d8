"""Each drop-in shows an example where it is described, and the example runs as it stands."""

from __future__ import annotations

import ast
import re
import shutil
import textwrap
from pathlib import Path

import pytest

FOLDER = Path(__file__).resolve().parents[2] / "memkit" / "integrations"
PLACES = {
    "MemkitStore": ("langgraph.py", "langgraph"),
    "MemkitSaver": ("langgraph_saver.py", "langgraph"),
    "MemkitSession": ("openai_agents.py", "agents"),
    "MemkitMemoryTool": ("anthropic.py", "anthropic"),
    "MemkitAsyncMemoryTool": ("anthropic.py", "anthropic"),
    "agent_sdk_tool": ("anthropic.py", "claude_agent_sdk"),
    "MemkitMemoryStore": ("strands.py", "strands"),
    "MemkitMemoryService": ("adk.py", "google.adk"),
}
"""The file of each, and what has to be installed for its example."""
APART = ("strands", "google.adk")
"""What ``tests/proof`` installs in an environment of its own."""


def example(name: str) -> str:
    """Return the program in a drop-in's docstring, which is read so that no framework is needed for it."""
    tree = ast.parse((FOLDER / PLACES[name][0]).read_text(encoding="utf-8"))
    (node,) = (one for one in tree.body if getattr(one, "name", "") == name)
    assert isinstance(node, ast.ClassDef | ast.FunctionDef)
    (program,) = re.findall(r"^ *```python\n(.*?)^ *```$", ast.get_docstring(node) or "", re.M | re.S)
    return textwrap.dedent(program)


def test_every_drop_in_shows_an_example_that_checks_something() -> None:
    """A class that is made for a framework's interface is named here, and so is each function beside it."""
    public = {
        node.name
        for path in FOLDER.glob("*.py")
        for node in ast.parse(path.read_text(encoding="utf-8")).body
        if isinstance(node, ast.ClassDef | ast.FunctionDef) and ("Memkit" in node.name or node.name == "agent_sdk_tool")
    }

    assert public == set(PLACES)
    assert all("assert " in example(name) and "import" in example(name) for name in PLACES)


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.prove] * (needed in APART)) for name, (_, needed) in PLACES.items()]
)
def test_an_example_runs(name: str, store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In a folder with a store; with the framework that it is for."""
    needed = PLACES[name][1]
    pytest.importorskip(needed)
    shutil.move(store, tmp_path / "my-memory")
    monkeypatch.chdir(tmp_path)

    exec(compile(example(name), f"the example of {name}", "exec"), {"__name__": "example"})
