"""Keep what was found, until a file, the program or the last commit changes.

What is kept lies in the clone's own cache, which can be deleted, and where no stranger can put anything.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from memkit import __version__
from memkit.errors import MemkitError
from memkit.lint.interface import Edit, Finding
from memkit.lint.suppressions import Suppression
from memkit.runtime.memory.log.clone import cache_folder
from memkit.store.files import whole_file

_PACKAGE = Path(__file__).resolve().parents[1]
_DECIDING = (
    ".", "lint", "lint/planning", "lint/security", "store", "runtime/guard", "policies", "skills", "runtime/memory",
    "runtime/htn", "runtime/htn/language", "runtime/htn/compiling", "runtime/htn/search", "runtime/htn/verification",
    "runtime/htn/learning", "hddl", "domains", "data/schemas",
)  # fmt: skip
"""The folders whose code decides what is found."""


class LintCache:
    """What earlier runs found in one store."""

    def __init__(self, root: Path) -> None:
        self._folder = cache_folder(root) / "lint"

    def load(self, name: str) -> Any:
        """Return what was kept under a name, or None when there is nothing."""
        try:
            return json.loads((self._folder / f"{name}.json").read_bytes())
        except (OSError, ValueError):
            return None

    def keep(self, name: str, content: Any) -> None:
        """Keep ``content`` under a name; where it cannot be written, the next run works again."""
        body = json.dumps(content, separators=(",", ":")).encode()
        with suppress(OSError, MemkitError), whole_file(self._folder / f"{name}.json") as file:
            file.write(body)


def digest(content: bytes) -> str:
    """Return a short name for a content."""
    return hashlib.blake2b(content, digest_size=20).hexdigest()


def program_key() -> str:
    """Return what changes with every release and every edit of the code that decides."""
    parts = [__version__]
    for folder in _DECIDING:
        with os.scandir(_PACKAGE / folder) as entries:
            for entry in sorted(entries, key=lambda entry: entry.name):
                if entry.name.endswith((".py", ".json")):
                    about = entry.stat()
                    parts.append(f"{folder}/{entry.name}:{about.st_size}:{about.st_mtime_ns}")
    return digest("\n".join(parts).encode())


def packed_finding(finding: Finding) -> list[Any]:
    """Return a finding without its path, as JSON holds it."""
    edit = finding.edit
    packed_edit = [edit.start, edit.end, edit.text, edit.is_safe] if edit else None
    place = [finding.line, finding.column, *finding.end, finding.anchor]
    return [finding.code, finding.message, place, packed_edit]


def unpacked_finding(data: list[Any], path: Path) -> Finding:
    """Return the finding in the file at ``path``."""
    code, message, (line, column, end_line, end_column, anchor), edit = data
    return Finding(code, message, path, line, column, Edit(*edit) if edit else None, (end_line, end_column), anchor)


def packed_comment(comment: Suppression) -> list[Any]:
    """Return a suppression as JSON holds it."""
    place = [comment.line, comment.column, comment.covers, comment.start, comment.end]
    return [list(comment.codes), comment.reason, *place]


def unpacked_comment(data: list[Any]) -> Suppression:
    """Return the suppression."""
    codes, reason, *place = data
    return Suppression(tuple(codes), reason, *place)


def packed(found: Mapping[Path, Iterable[Finding]], root: Path) -> dict[str, list[Any]]:
    """Return findings by the path of their file in the store."""
    return {
        str(path.relative_to(root)): [packed_finding(each) for each in findings] for path, findings in found.items()
    }


def unpacked(data: Mapping[str, list[Any]], root: Path) -> dict[Path, list[Finding]]:
    """Return the findings by file."""
    return {root / path: [unpacked_finding(each, root / path) for each in found] for path, found in data.items()}
