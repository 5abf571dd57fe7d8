"""Keep what was found, until a file, the program or the last commit changes.

What is kept lies in the clone's own cache, which can be deleted and which nobody else can name.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from memkit import __version__
from memkit.errors import MemkitError
from memkit.lint.interface import Checked, FileFindings, Finding, Suppression, TextEdit
from memkit.runtime.memory.log.clone import cache_folder
from memkit.store.files import whole_file

_PACKAGE = Path(__file__).resolve().parents[1]
_UNDECIDING = frozenset(
    """__pycache__ cli drawing embeddings equivalence evolution evolve generate interchange llm loop pytest_plugin
    review sandbox templates testing use_cases""".split()  # noqa: SIM905
)
"""Folders of whose code lint runs nothing; any other one may decide what is found, wherever it moves."""


class LintCache:
    """What earlier runs found in one store."""

    def __init__(self, root: Path | None) -> None:
        """Open what is kept in the store at ``root``; without one nothing is kept."""
        self._folder = None if root is None else cache_folder(root) / "lint"

    def load(self, name: str) -> Any:
        """Return what was kept under a name, or None when there is nothing."""
        if self._folder is None:
            return None
        try:
            return json.loads((self._folder / f"{name}.json").read_bytes())
        except (OSError, ValueError):
            return None

    def keep(self, name: str, content: Any) -> None:
        """Keep ``content`` under a name; where it cannot be written, the next run works again."""
        if self._folder is None:
            return
        body = json.dumps(content, separators=(",", ":")).encode()
        with suppress(OSError, MemkitError), whole_file(self._folder / f"{name}.json") as file:
            file.write(body)


def digest(content: bytes) -> str:
    """Return a short name for a content."""
    return hashlib.blake2b(content, digest_size=20).hexdigest()


def program_key() -> str:
    """Return what changes with every release and every edit of the code that may decide what is found."""
    parts = [__version__]
    folders = [_PACKAGE]
    for folder in folders:
        with os.scandir(folder) as entries:
            for entry in sorted(entries, key=lambda entry: entry.name):
                if entry.name.endswith((".py", ".json")):
                    about = entry.stat()
                    parts.append(f"{entry.path}:{about.st_size}:{about.st_mtime_ns}")
                elif entry.name not in _UNDECIDING and entry.is_dir():
                    folders.append(Path(entry.path))
    return digest("\n".join(parts).encode())


def packed_file(file: FileFindings | Checked) -> list[Any]:
    """Return what was found in one file, and its comments, as JSON holds them."""
    return [list(map(_packed_finding, file.findings)), list(map(_packed_comment, file.comments))]


def unpacked_file(data: list[Any], path: Path) -> FileFindings:
    """Return what was found in the file at ``path``."""
    findings, comments = data
    return FileFindings(
        [_unpacked_finding(each, path) for each in findings],
        tuple(Suppression(tuple(codes), *rest) for codes, *rest in comments),
    )


def packed(found: Mapping[Path, FileFindings], root: Path) -> dict[str, list[Any]]:
    """Return what was found by the path of its file in the store, without files in which nothing was."""
    return {
        str(path.relative_to(root)): packed_file(file) for path, file in found.items() if file.findings or file.comments
    }


def unpacked(data: Mapping[str, list[Any]], root: Path) -> dict[Path, FileFindings]:
    """Return what was found, by file."""
    return {root / name: unpacked_file(file, root / name) for name, file in data.items()}


def _packed_finding(finding: Finding) -> list[Any]:
    edit = finding.edit
    packed_edit = [edit.start, edit.end, edit.text, edit.is_safe] if edit else None
    place = [finding.line, finding.column, *finding.end, finding.anchor]
    return [finding.code, finding.message, place, packed_edit]


def _unpacked_finding(data: list[Any], path: Path) -> Finding:
    code, message, (line, column, end_line, end_column, anchor), edit = data
    return Finding(code, message, path, line, column, TextEdit(*edit) if edit else None, (end_line, end_column), anchor)


def _packed_comment(comment: Suppression) -> list[Any]:
    place = [comment.line, comment.column, comment.covers, comment.start, comment.end]
    return [list(comment.codes), comment.reason, *place]
