"""Apply the edits of findings, and show them as a diff."""

from __future__ import annotations

import difflib
import os
from collections.abc import Iterable, Sequence
from pathlib import Path

from memkit.errors import EnvironmentFault
from memkit.lint.interface import LintReport, TextEdit
from memkit.store.yaml import YamlError, load_yaml

_MARK = "\ufeff"


def fixed_texts(report: LintReport) -> dict[Path, tuple[str, str]]:
    """Return each file with effective edits, with its text before and after; comments and all else stay.

    Safe edits are used only if the file then loads as the same data, unsafe ones only if it then loads at all.
    """
    found: dict[Path, tuple[str, str]] = {}
    for path in dict.fromkeys(finding.path for finding in report.findings if report.edit_of(finding)):
        if path.is_symlink():
            continue
        before = path.read_bytes().decode("utf-8")
        edits = [edit for finding in report.findings if finding.path == path and (edit := report.edit_of(finding))]
        safe = [edit for edit in edits if edit.is_safe]
        after = edited(before, safe)
        if not _loads_alike(before, after):
            after, safe = before, []
        bolder = edited(before, [*safe, *(edit for edit in edits if not edit.is_safe)])
        if len(edits) > len(safe) and _loads(bolder):
            after = bolder
        if after != before:
            found[path] = (before, after)
    return found


def edited(text: str, edits: Iterable[TextEdit]) -> str:
    """Return ``text`` after ``edits``, whose offsets ignore a byte order mark."""
    shift = 1 if text.startswith(_MARK) else 0
    untouched = len(text)
    for edit in sorted(set(edits), key=lambda edit: (-edit.start, -edit.end)):
        if edit.end + shift <= untouched:  # of two edits in one place the later one waits for the next run
            text = text[: edit.start + shift] + edit.text + text[edit.end + shift :]
            untouched = edit.start + shift
    return text


def write_texts(texts: dict[Path, tuple[str, str]]) -> None:
    """Replace each file by its fixed text, atomically."""
    for path, (_, after) in texts.items():
        scratch = path.with_name(f".{path.name}.{os.getpid()}.tmp")
        try:
            scratch.write_bytes(after.encode("utf-8"))
            scratch.chmod(path.stat().st_mode & 0o777)
            scratch.replace(path)
        except OSError as error:
            scratch.unlink(missing_ok=True)
            raise EnvironmentFault(f"{path} cannot be written: {error.strerror}.") from error


def unified_diff(texts: dict[Path, tuple[str, str]], report: LintReport) -> str:
    """Return the changes as a diff for ``git apply``."""
    parts: list[str] = []
    for path, (before, after) in texts.items():
        name = report.shown(path)
        parts += difflib.unified_diff(_with_ends(before), _with_ends(after), f"a/{name}", f"b/{name}")
    return "".join(parts)


def _with_ends(text: str) -> Sequence[str]:
    return [line + "\n" for line in text.removesuffix("\n").split("\n")]


def _loads_alike(before: str, after: str) -> bool:
    try:
        return bool(load_yaml(before).data == load_yaml(after).data)
    except YamlError:
        return False


def _loads(text: str) -> bool:
    try:
        load_yaml(text)
    except YamlError:
        return False
    return True
