"""Projects of memkit's own templates, edited as people edit, come to the next release of them."""

from __future__ import annotations

import ast
import hashlib
import random
from collections.abc import Callable
from pathlib import Path

import pytest
from projects import TARGETS
from projects import project as fresh_project
from releases import Line, add, rename, rewrite

from memkit.generate.manifest import MANIFEST
from memkit.use_cases.update_project import update_project

CHANGES = (
    rewrite("README.md.jinja", "## Policies", "## Rules of the house"),
    rewrite("agent/__main__.py.jinja", "Run one command line", "Run a command line"),
    rename("AGENTS.md.jinja", "FOR-AGENTS.md.jinja"),
    add("tests/test_more.py", "def test_more() -> None:\n    assert True\n"),
)
"""What the next release of the templates brings."""


@pytest.fixture
def line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Line:
    """Install a copy of memkit's own templates as a release, and make the next one."""
    releases = Line(tmp_path / "line", monkeypatch)
    releases.next(*CHANGES)
    releases.install(1)
    return releases


def files(folder: Path) -> dict[str, bytes]:
    """Return the content of every file of a project, what memkit keeps for itself left out."""
    found = {path.relative_to(folder).as_posix(): path for path in sorted(folder.rglob("*")) if path.is_file()}
    return {name: path.read_bytes() for name, path in found.items() if not name.startswith(".memkit/")}


@pytest.mark.parametrize("target", TARGETS)
def test_a_project_without_edits_becomes_a_fresh_one(target: str, line: Line, starters: Path, tmp_path: Path) -> None:
    """An update gives, byte for byte, what a render of the same store gives today."""
    old = fresh_project(starters, target, tmp_path / "old")
    line.install(2)

    done = update_project(old)

    assert done.conflicts == [] and done.behind == ("templates 1 → 2",)
    assert files(old) == files(fresh_project(starters, target, tmp_path / "fresh"))


def _append(file: Path, word: str) -> Path:
    comment = {".py": "# ", ".toml": "# ", ".yml": "# ", ".md": ""}.get(file.suffix, "")
    file.write_bytes(file.read_bytes() + f"\n{comment}{word}\n".encode())
    return file


def _prepend(file: Path, word: str) -> Path:
    file.write_bytes(f"# {word}\n".encode() + file.read_bytes())
    return file


def _insert(file: Path, word: str) -> Path:
    lines = file.read_bytes().split(b"\n")
    empty = [number for number, line in enumerate(lines) if not line] or [0]
    lines.insert(empty[len(empty) // 2], f"# {word}".encode())
    file.write_bytes(b"\n".join(lines))
    return file


def _crlf(file: Path, word: str) -> Path:
    _append(file, word)
    file.write_bytes(file.read_bytes().replace(b"\n", b"\r\n"))
    return file


def _move(file: Path, word: str) -> Path:
    _append(file, word)
    return file.rename(file.with_name(f"my_{file.name}"))


def _mode(file: Path, word: str) -> Path:
    _append(file, word).chmod(0o711)
    return file


EDITS: list[Callable[[Path, str], Path]] = [_append, _prepend, _insert, _crlf, _move, _mode]


def _says_something(content: bytes) -> bool:
    """Return whether a file can be read as Python and holds a statement."""
    try:
        return bool(ast.parse(content.decode()).body)
    except (SyntaxError, ValueError):
        return False


@pytest.mark.parametrize("target", TARGETS)
def test_no_edit_of_a_real_project_is_lost(target: str, line: Line, starters: Path, tmp_path: Path) -> None:
    """Every other file is edited, moved or deleted: each word of the owner's is there, and what parsed parses."""
    folder = fresh_project(starters, target, tmp_path / "project")
    line.install(2)
    chance = random.Random(target)
    edited: dict[str, bytes] = {}
    deleted = []
    for path in sorted(path for path in files(folder) if path != MANIFEST and not path.endswith(".whl")):
        word = f"mine-{hashlib.sha256(path.encode()).hexdigest()[:12]}"
        choice = chance.random()
        if choice < 0.05:
            (folder / path).unlink()
            deleted.append(path)
        elif choice < 0.5:
            place = chance.choice(EDITS)(folder / path, word)
            edited[word] = place.relative_to(folder).as_posix().encode()
    own = {f"agent/own{each}.py": b"OWN = %d\n" % each for each in range(20)}
    for path, content in own.items():
        (folder / path).write_bytes(content)
    before = files(folder)

    done = update_project(folder)

    after = files(folder)
    everything = b"\n".join(after.values())
    assert [word for word in edited if everything.count(word.encode()) != 1] == []
    assert own.items() <= after.items()
    assert not set(deleted) & after.keys()
    conflicts = {action.path for action in done.conflicts}
    parsed = [path for path in after if path.endswith(".py") and path not in conflicts and path in before]
    assert [path for path in parsed if _says_something(before[path]) and not _says_something(after[path])] == []
    assert len(conflicts) <= len(CHANGES)
