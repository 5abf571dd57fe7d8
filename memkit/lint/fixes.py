"""Apply the safe edits of findings, and show them as a diff."""

from __future__ import annotations

import difflib
import os
from collections.abc import Iterable, Sequence
from pathlib import Path

from memkit.errors import EnvironmentFault
from memkit.lint.interface import Edit, LintReport
from memkit.store.yaml import YamlError, load_yaml

_MARK = "\ufeff"


def fixed_texts(report: LintReport) -> dict[Path, tuple[str, str]]:
    """Return each file that has safe edits, with its text before and after.

    An edit counts only if the file then loads as the same data: whatever else is in it, comments included, stays.
    """
    found: dict[Path, tuple[str, str]] = {}
    for path in dict.fromkeys(finding.path for finding in report.findings if finding.edit):
        if path.is_symlink():
            continue
        before = path.read_bytes().decode("utf-8")
        after = edited(before, [finding.edit for finding in report.findings if finding.path == path and finding.edit])
        if after != before and _same_data(before, after):
            found[path] = (before, after)
    return found


def edited(text: str, edits: Iterable[Edit]) -> str:
    """Return ``text`` after ``edits``, whose offsets do not count a byte order mark."""
    shift = 1 if text.startswith(_MARK) else 0
    for edit in sorted(edits, key=lambda edit: -edit.start):
        text = text[: edit.start + shift] + edit.text + text[edit.end + shift :]
    return text


def write_texts(texts: dict[Path, tuple[str, str]]) -> None:
    """Replace each file by its fixed text, whole or not at all."""
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
    """Return what would change, in the form that ``git apply`` reads."""
    parts: list[str] = []
    for path, (before, after) in texts.items():
        name = report.shown(path)
        parts += difflib.unified_diff(_lines(before), _lines(after), f"a/{name}", f"b/{name}")
    return "".join(parts)


def _lines(text: str) -> Sequence[str]:
    return [line + "\n" for line in text.removesuffix("\n").split("\n")]


def _same_data(before: str, after: str) -> bool:
    try:
        return bool(load_yaml(before).data == load_yaml(after).data)
    except YamlError:
        return False
