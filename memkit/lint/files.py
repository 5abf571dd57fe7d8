"""Find what there is to check, apply the edits of findings, and show them as a diff."""

from __future__ import annotations

import difflib
import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache
from io import BufferedReader
from pathlib import Path, PurePosixPath

from memkit.errors import EnvironmentFault, StoreFault, UsageError
from memkit.lint.interface import LintReport, SourceFile, TextEdit
from memkit.store.layout import MANIFEST
from memkit.store.yaml import YamlError, load_yaml

_KINDS = {"skills": "skill", "policies": "policy", "domains": "domain"}
_UNREAD = frozenset({".gitkeep", ".gitignore", ".gitattributes"})


def sources_of_store(root: Path) -> Iterator[SourceFile]:
    """Yield every file of the store at ``root`` that has rules, in the order of their paths."""
    yield SourceFile(root / MANIFEST, "manifest", root)
    for folder in ("archive", "domains", "policies", "skills"):
        for path in sorted((root / folder).rglob("*")):
            source = source_at(path, root)
            if source is not None:
                yield source


def sources_of_paths(paths: Iterable[Path]) -> list[SourceFile]:
    """Return the sources that files and folders name, each once. Files without rules, such as a README, are left out.

    Raises:
        UsageError: A path does not exist.
        StoreFault: A path lies in no store.
    """
    found: dict[Path, SourceFile] = {}
    for given in paths:
        path = given.expanduser().absolute()
        if not path.exists() and not path.is_symlink():
            raise UsageError(f"{given} does not exist.")
        root = store_above(path)
        inside = sources_of_store(root) if path == root else _below(path, root)
        found |= {source.path: source for source in inside}
    return list(found.values())


def store_above(path: Path) -> Path:
    """Return the nearest folder, from ``path`` upwards, that is a store; raises ``StoreFault`` when none is."""
    for folder in (path, *path.parents):
        if (folder / MANIFEST).is_file():
            return folder
    raise StoreFault(f"{path} lies in no store: no {MANIFEST} there or above.")


def source_at(path: Path, root: Path) -> SourceFile | None:
    """Return ``path`` as a source of the store at ``root``; ``None`` when there are no rules for it."""
    if (path.is_dir() and not path.is_symlink()) or path.name in _UNREAD:
        return None
    name = path.relative_to(root)
    kind = kind_of(name.as_posix())
    if len(name.parts) > 2 and name.parts[0] == "skills" and (root / "skills" / f"{name.parts[1]}.yaml").is_file():
        kind = "package"
    return SourceFile(path, kind, root) if kind else None


def kind_of(name: str) -> str:
    """Return the kind of the file that has this path in its store, or nothing where there are no rules for it."""
    if name == MANIFEST:
        return "manifest"
    folder, *folders, _ = PurePosixPath(name).parts if "/" in name else ("", name)
    suffix = PurePosixPath(name).suffix
    if folder == "archive":
        return "archive"
    if (folder, *folders) == ("policies", "tests") and suffix in (".yaml", ".csv"):
        return "table"
    if folder == "domains" and not folders and suffix == ".hddl":
        return "hddl"
    if folder not in _KINDS or suffix not in (".yaml", ".yml"):
        return ""
    if suffix == ".yaml" and not folders:
        return _KINDS[folder]
    if folder == "policies" and folders[:1] == ["tests"]:  # tables of tests, which `policy test` reads
        return ""
    if suffix == ".yaml" and (folder, *folders) == ("domains", "learned"):
        return "learned"
    if suffix == ".yaml" and folder == "domains" and folders[:1] == ["problems"] and len(folders) == 2:
        return "problem"
    return "other"


def lies_inside(source: SourceFile) -> bool:
    """Return whether a source's content is in its store, and not behind a link to somewhere else."""
    root = _real(source.root)
    return os.path.realpath(source.path).startswith(root if root.endswith(os.sep) else root + os.sep)


@lru_cache(maxsize=16)
def _real(root: Path) -> str:
    return os.path.realpath(root)


def _below(path: Path, root: Path) -> Iterator[SourceFile]:
    inside = sorted(path.rglob("*")) if path.is_dir() else [path]
    for each in inside:
        source = source_at(each, root)
        if source is not None:
            yield source


@contextmanager
def opened_shard(path: Path) -> Iterator[BufferedReader]:
    """Give a shard to read; raises ``StoreFault`` where that fails, as for a link."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOFOLLOW)
        with os.fdopen(descriptor, "rb") as file:
            yield file
    except OSError as error:
        raise StoreFault(f"{path} cannot be read: {error.strerror}.") from error


def shards_of(root: Path) -> set[Path]:
    """Return every shard of a store."""
    return {path for path in (root / "archive").glob("*/*.jsonl") if path.is_file()}


_MARK = "\ufeff"


def fixed_texts(report: LintReport) -> dict[Path, tuple[str, str]]:
    """Return each file that has edits which count, with its text before and after; comments and all else stay.

    Safe edits count only if the file then loads as the same data, unsafe ones only if it then loads at all.
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
    """Return ``text`` after ``edits``, whose offsets do not count a byte order mark."""
    shift = 1 if text.startswith(_MARK) else 0
    untouched = len(text)
    for edit in sorted(set(edits), key=lambda edit: (-edit.start, -edit.end)):
        if edit.end + shift <= untouched:  # of two edits in one place the later one waits for the next run
            text = text[: edit.start + shift] + edit.text + text[edit.end + shift :]
            untouched = edit.start + shift
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
