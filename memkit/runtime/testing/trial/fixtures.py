"""Fixtures for a project's tests, as a pytest plugin: list this module in ``pytest_plugins`` of its conftest.

The developer's own environment variables are kept out, and any connection that leaves this machine fails the test
that made it, even in the agent's processes. This is the only module of the runtime that needs pytest.
"""

from __future__ import annotations

import importlib
import json
import os
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from ...host.settings import Project, project_of
from . import material
from .processes import Processes, stay_offline
from .talking import OWN_VARIABLES, ModelWire, Talk, Terminal

pytest.register_assert_rewrite(f"{__package__}.promises")
stay_offline()


def pytest_configure(config: pytest.Config) -> None:
    """Register the mark used by some promises."""
    config.addinivalue_line("markers", "process: starts the agent in a process of its own, which is slow")


@pytest.fixture(autouse=True)
def clean_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Keep the developer's own variables, proxies, home and .env file out of a test."""
    for name in list(os.environ):
        if name.startswith(OWN_VARIABLES) or name.lower().endswith("_proxy"):
            monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)


@pytest.fixture(scope="session")
def own_project() -> Project:
    """Return the project under test, as compiled from its store."""
    return project_of(importlib.import_module("agent"))


@pytest.fixture
def project(own_project: Project, tmp_path: Path) -> Project:
    """Return the project with policies, domains and tools made for the tests, since the store's own may change."""
    folder = tmp_path / "compiled"
    folder.mkdir()
    offered = json.loads((own_project.compiled / "settings.json").read_text(encoding="utf-8"))["agent"]
    for name, content in material.files(folder, offered).items():
        (folder / name).write_text(json.dumps(content), encoding="utf-8")
    return replace(own_project, compiled=folder)


@pytest.fixture(scope="session")
def processes(own_project: Project) -> Iterator[Processes]:
    """Return the runner for agents in separate processes."""
    started = Processes(own_project.folder)
    yield started
    started.close()


@pytest.fixture
def talk(
    tmp_path: Path, project: Project, wire: ModelWire, capsys: pytest.CaptureFixture[str], processes: Processes
) -> Talk:
    """Return the agent, with its memory in a scratch folder; ``wire`` is a fixture of the project."""

    def capture() -> tuple[str, str]:
        printed = capsys.readouterr()
        return printed.out, printed.err

    return Talk(project, wire, tmp_path, capture, processes)


@pytest.fixture
def type_in(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Return a function that simulates a terminal at which a person types the given lines."""

    def typed(*lines: str) -> None:
        monkeypatch.setattr(sys, "stdin", Terminal("".join(f"{line}\n" for line in lines)))
        monkeypatch.setattr(sys, "stderr", Terminal())

    return typed
