"""Find what there is to check."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from functools import lru_cache
from pathlib import Path

from memkit.errors import StoreFault, UsageError
from memkit.lint.interface import SourceFile
from memkit.store.layout import MANIFEST

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
    parts = path.relative_to(root).parts
    if path.is_dir() or path.name in _UNREAD:
        return None
    if parts == (MANIFEST,):
        return SourceFile(path, "manifest", root)
    if parts[0] == "archive":
        return SourceFile(path, "archive", root)
    if parts[:2] == ("policies", "tests") and len(parts) == 3 and path.suffix in (".yaml", ".csv"):
        return SourceFile(path, "table", root)
    if parts[0] == "domains" and len(parts) == 2 and path.suffix == ".hddl":
        return SourceFile(path, "hddl", root)
    if parts[0] not in _KINDS or path.suffix not in (".yaml", ".yml"):
        return None
    if path.suffix == ".yaml" and len(parts) == 2:
        return SourceFile(path, _KINDS[parts[0]], root)
    if parts[:2] == ("policies", "tests"):  # tables of tests, which `policy test` reads
        return None
    if path.suffix == ".yaml" and parts[:-1] == ("domains", "learned"):
        return SourceFile(path, "learned", root)
    if path.suffix == ".yaml" and parts[:2] == ("domains", "problems") and len(parts) == 4:
        return SourceFile(path, "problem", root)
    return SourceFile(path, "other", root)


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


def shards_of(root: Path) -> set[Path]:
    """Return every shard of a store."""
    return {path for path in (root / "archive").glob("*/*.jsonl") if path.is_file()}
