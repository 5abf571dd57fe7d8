"""Keep what was found, until a file, the program or the last commit changes.

What is kept lies in the store's cache, which can be deleted. A store can come from a stranger together with such a file
in it, so it counts only with a signature by a key of this machine that no store holds.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from memkit import __version__
from memkit.errors import MemkitError
from memkit.lint.interface import Checked, FileFindings, Finding, Suppression, TextEdit
from memkit.store.files import whole_file
from memkit.store.layout import cache_folder

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
        self._folder = cache_folder(root or Path()) / "lint"
        self._signer = None if root is None or _leads_elsewhere(self._folder, root) else _machine_key()

    def load(self, name: str) -> Any:
        """Return what was kept under a name, or None when there is nothing that this machine wrote."""
        if self._signer is None:
            return None
        try:
            signature, _, body = (self._folder / f"{name}.json").read_bytes().partition(b"\n")
        except OSError:
            return None
        if not hmac.compare_digest(signature, self._signature(name, body)):
            return None
        return json.loads(body)

    def keep(self, name: str, content: Any) -> None:
        """Keep ``content`` under a name; where it cannot be written, the next run works again."""
        if self._signer is None:
            return
        body = json.dumps(content, separators=(",", ":")).encode()
        try:
            with whole_file(self._folder / f"{name}.json") as file:
                file.write(self._signature(name, body) + b"\n" + body)
        except (OSError, MemkitError):
            return

    def _signature(self, name: str, body: bytes) -> bytes:
        assert self._signer is not None
        return hmac.new(self._signer, name.encode() + b"\0" + body, hashlib.sha256).hexdigest().encode()


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


def _leads_elsewhere(folder: Path, root: Path) -> bool:
    return any(path.is_symlink() for path in (folder, *folder.parents) if path != root and root in path.parents)


def _machine_key() -> bytes | None:
    """Return the key that signs what this machine keeps, made when there is none; None where it cannot be kept."""
    home = os.environ.get("XDG_CACHE_HOME")
    path = (Path(home) if home else Path.home() / ".cache") / "memkit" / "lint-key"
    try:
        if not path.is_file():
            path.parent.mkdir(parents=True, exist_ok=True)
            scratch = path.with_name(f".{path.name}.{os.getpid()}")
            handle = os.open(scratch, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
            with os.fdopen(handle, "wb") as file:
                file.write(os.urandom(32))
            try:
                os.link(scratch, path)  # of two runs that start together the first one's key stands
            except FileExistsError:
                pass
            finally:
                scratch.unlink()
        key = path.read_bytes()
    except (OSError, RuntimeError):  # RuntimeError: there is no home
        return None
    return key if len(key) == 32 else None
