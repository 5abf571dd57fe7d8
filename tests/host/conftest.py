"""A project in a scratch folder, and somebody who talks to it."""

from __future__ import annotations

import io
import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import scripted_target

from memkit.runtime.host.command import run
from memkit.runtime.host.settings import Project
from memkit.runtime.testing.trial import material
from memkit.runtime.testing.trial.talking import ProjectReply, Terminal, read_reply

OFFERED = {"tools": ["archival_memory_insert", "archival_memory_search", "conversation_search", "core_memory_append"]}


class Host:
    """Runs the command line of a project in this process."""

    def __init__(self, project: Project, capture: Callable[[], tuple[str, str]]) -> None:
        self.project = project
        self.store = project.folder / "store"
        self._capture = capture

    @property
    def notes(self) -> str:
        """What the tool ``note`` wrote."""
        path = self.project.compiled / "notes"
        return path.read_text(encoding="utf-8") if path.exists() else ""

    def run(self, *arguments: str, script: list[Any] | None = None, **variables: str) -> int:
        """Run one command line and return its exit code."""
        scripted_target.asked.clear()
        given = {"MEMORY_DIR": str(self.store), scripted_target.SCRIPT: json.dumps(script or ["Hello."]), **variables}
        return run(self.project, arguments, given)

    def __call__(self, text: str, *arguments: str, script: list[Any] | None = None, **variables: str) -> ProjectReply:
        """Answer one turn of Ada's and return what was printed."""
        self._capture()
        code = self.run("-p", text, "--json", "--user", "ada", *arguments, script=script, **variables)
        return read_reply(code, *self._capture())

    def elsewhere(self, text: str, *arguments: str, script: list[Any] | None = None) -> int:
        """Answer one turn in a process of its own; return its exit code, or minus the signal that ended it."""
        child = os.fork()
        if child == 0:
            code = 70
            try:
                code = self.run("-p", text, "--json", "--user", "ada", *arguments, script=script)
            finally:
                os._exit(code)
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Project:
    """Return a project whose policies, domains and tools are made for the tests."""
    monkeypatch.chdir(tmp_path)
    compiled = tmp_path / "compiled"
    compiled.mkdir()
    for name, content in material.files(compiled, OFFERED).items():
        (compiled / name).write_text(json.dumps(content), encoding="utf-8")
    (tmp_path / "memkit.yaml").write_text("name: tester\nformat: 1\n", encoding="utf-8")
    return Project("tester", "small", tmp_path, compiled, "scripted_target")


@pytest.fixture
def host(project: Project, capsys: pytest.CaptureFixture[str]) -> Host:
    """Return what runs its command line."""

    def capture() -> tuple[str, str]:
        printed = capsys.readouterr()
        return printed.out, printed.err

    return Host(project, capture)


@pytest.fixture
def type_in(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Return a function that puts a terminal in place, at which a person types the given lines."""

    def typed(*lines: str) -> None:
        monkeypatch.setattr(sys, "stdin", Terminal("".join(f"{line}\n" for line in lines)))
        monkeypatch.setattr(sys, "stderr", Terminal())

    return typed


@pytest.fixture
def pipe_in(monkeypatch: pytest.MonkeyPatch) -> Callable[[bytes], None]:
    """Return a function that lets bytes come through standard input."""

    def piped(content: bytes) -> None:
        stream = io.TextIOWrapper(io.BytesIO(content), encoding="ascii", errors="surrogateescape")
        monkeypatch.setattr(sys, "stdin", stream)

    return piped
