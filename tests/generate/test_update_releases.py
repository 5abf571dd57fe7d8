"""Projects of the templates that were really released, edited as people edit, come to what is installed."""

from __future__ import annotations

import ast
import hashlib
import random
from collections.abc import Callable
from pathlib import Path

import pytest
from projects import project as fresh_project

from memkit.generate.composition import Order
from memkit.generate.manifest import MANIFEST
from memkit.generate.reading import content_of
from memkit.generate.releases import installed_releases
from memkit.generate.rendering import render
from memkit.generate.source import unpacked_source
from memkit.generate.targets import find_target, load_targets
from memkit.use_cases.update_project import update_project

KNOWN = installed_releases().all()
CHOSEN = {release.number: release for release in [*KNOWN[:1], *KNOWN[-2:]]}
CASES = [(number, target) for number, release in CHOSEN.items() for target in sorted(release.renders)]
EDITED = CASES[::2]
"""What a random edit meets is the same in every pair; of these, every release and every target is in one at least."""


def from_release(number: int, target: str, store: Path, out: Path) -> Path:
    """Render a project as the memkit of that time did."""
    with installed_releases().unpacked(CHOSEN[number]) as folder:
        render(Order(find_target(target, unpacked_source(folder)), content_of(store), {}), out)
    return out


def files(folder: Path) -> dict[str, bytes]:
    """Return the content of every file of a project, what memkit keeps for itself left out."""
    found = {path.relative_to(folder).as_posix(): path for path in sorted(folder.rglob("*")) if path.is_file()}
    return {name: path.read_bytes() for name, path in found.items() if not name.startswith(".memkit/")}


@pytest.mark.parametrize(("number", "target"), CASES)
def test_a_project_without_edits_becomes_a_fresh_one(number: int, target: str, starters: Path, tmp_path: Path) -> None:
    """An update gives, byte for byte, what a render of the same store gives today."""
    assert target in load_targets()
    old = from_release(number, target, starters, tmp_path / "old")

    done = update_project(old)

    assert done.conflicts == []
    expected = files(fresh_project(starters, target, tmp_path / "fresh"))
    assert files(old) == expected | ({} if done.due else {MANIFEST: files(old)[MANIFEST]})


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


def test_the_edited_cases_leave_out_no_release_and_no_target() -> None:
    """Which pairs are edited may not come to depend on how many targets there are."""
    assert [set(side) for side in zip(*EDITED, strict=True)] == [set(side) for side in zip(*CASES, strict=True)]


def _says_something(content: bytes) -> bool:
    """Return whether a file can be read as Python and holds a statement."""
    try:
        return bool(ast.parse(content.decode()).body)
    except (SyntaxError, ValueError):
        return False


@pytest.mark.parametrize(("number", "target"), EDITED)
def test_no_edit_of_a_real_project_is_lost(number: int, target: str, starters: Path, tmp_path: Path) -> None:
    """Every other file is edited, moved or deleted: each word of the owner's is there, and what parsed parses."""
    folder = from_release(number, target, starters, tmp_path / "project")
    chance = random.Random(f"{number} {target}")
    edited: dict[str, bytes] = {}
    deleted = []
    for path in sorted(files(folder).keys() - {MANIFEST}):
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
    assert len(conflicts) < len(edited) / 5
