"""Stores with a person in them, and a search for bytes that shares nothing with memkit's own scan."""

from __future__ import annotations

import io
import json
import os
import subprocess
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from memkit.cli.main import run

TEXT = "Alice hides her quokka-7731 in the zanzibar cupboard"
CANARIES = (b"quokka", b"zanzibar")
BOB = "Bob likes green tea in the morning"


def git(root: Path, *arguments: str, given: bytes | None = None) -> str:
    """Run git as a person would and return what it printed."""
    done = subprocess.run(["git", *arguments], cwd=root, input=given, capture_output=True, check=True)
    return done.stdout.decode(errors="replace").strip()


def remember(root: Path, text: str, user: str, *more: str) -> None:
    """Store a fact at the command line."""
    assert run(["memory", "add", text, "--user", user, "--store", str(root), *more]) == 0


def commit(root: Path) -> None:
    """Commit what is remembered."""
    assert run(["commit", "--store", str(root)]) == 0


def erase(
    root: Path, capsys: pytest.CaptureFixture[str], *more: str, user: str = "alice"
) -> tuple[int, dict[str, Any]]:
    """Erase a user and return the exit code and the envelope."""
    capsys.readouterr()
    code = run(["memory", "erase", "--user", user, "--yes", "--json", "--store", str(root), *more])
    return code, json.loads(capsys.readouterr().out)


def leaking(root: Path, quokkas: tuple[bytes, ...] = CANARIES) -> list[str]:
    """Return every file and every git object in which one of the quokkas is to be read."""
    found = []
    for folder, _, names in os.walk(root):
        for name in names:
            path = Path(folder) / name
            content = path.read_bytes() if not path.is_symlink() else b""
            if _holds(content + str(path.relative_to(root)).encode(), quokkas):
                found.append(str(path.relative_to(root)))
    return found + [f"object {id}" for id, data in objects(root) if _holds(data, quokkas)]


def objects(root: Path) -> Iterator[tuple[str, bytes]]:
    """Yield every object of the repository, unreachable ones included."""
    if not (root / ".git").exists():
        return
    listing = ["git", "cat-file", "--batch-all-objects", "--batch"]
    shown = io.BytesIO(subprocess.run(listing, cwd=root, capture_output=True, check=True).stdout)
    while header := shown.readline():
        id, _, size = header.decode().split()
        yield id, shown.read(int(size))
        assert shown.read(1) == b"\n"


def _holds(data: bytes, quokkas: tuple[bytes, ...]) -> bool:
    low = data.lower()
    return any(quokka in low or quokka.decode().encode("utf-16-le") in low for quokka in quokkas)


def packed(text: str) -> bytes:
    """Return a text compressed, as another program might keep it."""
    return zlib.compress(text.encode())
