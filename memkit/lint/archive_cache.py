"""Check the archive, unless no line of it changed since it was checked."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence
from pathlib import Path

from memkit.errors import StoreFault
from memkit.lint import cache
from memkit.lint.interface import Finding, Source

_NAME = "archive"


def archive_findings(sources: Sequence[Source], *, cached: bool) -> list[Finding]:
    """Return what is wrong in the given shards of one store; an id may conflict with a line of any other shard."""
    root = sources[0].root
    paths = sorted({source.path for source in sources} | _shards(root))
    key = cache.digest(repr((cache.program_key(), [(str(path), _digest(path)) for path in paths])).encode())
    kept = cache.LintCache(root) if cached else None
    known = (kept.load(_NAME) if kept else None) or {}
    if known.get("key") == key:
        found = cache.unpacked(known["found"], root)
    else:
        from memkit.lint.archive_files import check_archive

        found = {path: [] for path in paths}
        for finding in check_archive([Source(path, "archive", root) for path in paths]):
            found[finding.path].append(finding)
        if kept:
            kept.keep(_NAME, {"key": key, "found": cache.packed({p: f for p, f in found.items() if f}, root)})
    return [finding for source in sources for finding in found.get(source.path, ())]


def _shards(root: Path) -> set[Path]:
    return {path for path in (root / "archive").glob("*/*.jsonl") if path.is_file()}


def _digest(path: Path) -> str:
    """Return what names the content of a shard, and whether it is a link; read in pieces, because it may be large."""
    sum = hashlib.blake2b(path.is_symlink().to_bytes(), digest_size=20)
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOFOLLOW)
        with os.fdopen(descriptor, "rb") as file:
            while piece := file.read(1 << 20):
                sum.update(piece)
    except OSError as error:
        if path.is_symlink():
            return sum.hexdigest()
        raise StoreFault(f"{path} cannot be read: {error.strerror}.") from error
    return sum.hexdigest()
