"""Find the files to check."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import lru_cache
from io import BufferedReader
from pathlib import Path, PurePosixPath

from memkit.errors import StoreFault, UsageError
from memkit.lint.interface import SourceFile
from memkit.store.layout import MANIFEST

_KINDS = {"skills": "skill", "policies": "policy", "domains": "domain"}
_UNREAD = frozenset({".gitkeep", ".gitignore", ".gitattributes"})


def sources_of_store(root: Path) -> Iterator[SourceFile]:
    """Yield every file of the store at ``root`` that has rules, sorted by path."""
    yield SourceFile(root / MANIFEST, "manifest", root)
    for folder in ("archive", "domains", "policies", "skills"):
        for path in _everything_in(root / folder):
            source = source_at(path, root)
            if source is not None:
                yield source


def sources_of_paths(paths: Iterable[Path]) -> list[SourceFile]:
    """Return the sources that files and folders name, each once. Files without rules, such as a README, are left out.

    Raises:
        UsageError: A path does not exist.
        StoreFault: A path is not in a store.
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
    """Return the nearest folder, from ``path`` upwards, that is a store; raise ``StoreFault`` if there is none."""
    for folder in (path, *path.parents):
        if (folder / MANIFEST).is_file():
            return folder
    raise StoreFault(f"{path} is not in a store: no {MANIFEST} there or above.")


def source_at(path: Path, root: Path) -> SourceFile | None:
    """Return ``path`` as a source of the store at ``root``; ``None`` if there are no rules for it."""
    if (path.is_dir() and not path.is_symlink()) or path.name in _UNREAD:
        return None
    name = path.relative_to(root)
    kind = kind_of(name.as_posix())
    if len(name.parts) > 2 and name.parts[0] == "skills" and (root / "skills" / f"{name.parts[1]}.yaml").is_file():
        kind = "package"
    return SourceFile(path, kind, root) if kind else None


def kind_of(name: str) -> str:
    """Return the kind of the file with this path in its store, or an empty text if there are no rules for it."""
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
    inside = _everything_in(path) if path.is_dir() else [path]
    for each in inside:
        source = source_at(each, root)
        if source is not None:
            yield source


def _everything_in(folder: Path) -> list[Path]:
    def refuse(error: OSError) -> None:
        raise StoreFault(f"{error.filename} cannot be read: {error.strerror}.") from error

    walked = os.walk(folder, onerror=refuse) if folder.exists() else ()
    return sorted(Path(parent, name) for parent, folders, files in walked for name in (*folders, *files))


@contextmanager
def opened_shard(path: Path) -> Iterator[BufferedReader]:
    """Yield a shard opened for reading; raise ``StoreFault`` if that fails, as for a link."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOFOLLOW)
        with os.fdopen(descriptor, "rb") as file:
            yield file
    except OSError as error:
        raise StoreFault(f"{path} cannot be read: {error.strerror}.") from error


def shards_of(root: Path) -> set[Path]:
    """Return every shard of a store."""
    return {path for path in (root / "archive").glob("*/*.jsonl") if path.is_file()}
