"""Kinds of files that people write in a store, and what files of one say, checked and as plain data.

That is kept as JSON beside the index, since reading YAML is most of a start.

A file stays as it was while its size, its times and its inode do; nobody sets when a file was last changed (``ctime``).
Nothing is kept of a file so young that it may still change and keep its time. What lies there is believed as the index
is: only this clone can have put it there (``runtime/memory/log/clone``).
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from memkit import __version__
from memkit.runtime.memory.log.clone import cache_folder
from memkit.runtime.memory.log.files import make_private
from memkit.store.layout import MANIFEST, checked_name

if TYPE_CHECKING:
    from memkit.store.schema import SchemaFinding
    from memkit.store.yaml import Document

SETTLED = 50_000_000
"""Nanoseconds after which a further change of a file surely has another time: clocks of file systems are coarse."""


class Kind(NamedTuple):
    """One kind, such as skill."""

    noun: str
    folder: str
    """Where the files lie, relative to the store."""
    findings: Callable[[Document, str], list[SchemaFinding]]
    """What keeps a document from being the one that its file's stem names."""

    def path(self, name: str) -> str:
        """Return the file of ``name``, relative to the store; raises ``UsageError`` where no such name can be."""
        return f"{self.folder}/{checked_name(name, self.noun)}.yaml"


def parsed(root: Path, kind: str, files: Mapping[str, Path], read: Callable[[str], Any]) -> dict[str, Any]:
    """Return by name what ``read`` makes of each of ``files``, or made of it before while the file stays as it was.

    Args:
        root: The store.
        kind: What the files are, such as ``skills``; each kind has a file of its own.
        files: Where each lies.
        read: Returns the plain data of the file of this name, or raises what is wrong with it.
    """
    if not (root / MANIFEST).is_file():  # a folder that is no store has no cache
        return {name: read(name) for name in files}
    place = cache_folder(root) / f"{kind}.json"
    known, entries, keeps = _known(place), {}, {}
    for name, path in files.items():
        stamp = _stamp(path)
        if stamp is not None and known.get(name, (None,))[0] == stamp:
            entries[name] = keeps[name] = known[name]
        else:
            entries[name] = [stamp, read(name)]
            if stamp is not None and stamp[1] < time.time_ns() - SETTLED:
                keeps[name] = entries[name]
    if keeps != known:
        _keep(place, keeps)
    return {name: data for name, (_, data) in entries.items()}


def _stamp(path: Path) -> list[int] | None:
    """Return what tells a file from what it was; None where there is none, which reading it will say."""
    with suppress(OSError):
        stat = path.stat()
        return [stat.st_size, max(stat.st_mtime_ns, stat.st_ctime_ns), stat.st_mtime_ns, stat.st_ino]
    return None


def _known(place: Path) -> dict[str, Any]:
    """Return the entries, a stamp and the data by name; none where another version of memkit, or nobody, kept them."""
    with suppress(OSError, ValueError, RecursionError):
        kept = json.loads(place.read_text(encoding="utf-8"))
        if isinstance(kept, dict) and kept.get("memkit") == __version__:
            return dict(kept["files"])
    return {}


def _keep(place: Path, entries: Mapping[str, Any]) -> None:
    scratch = place.with_suffix(f".{os.getpid()}.tmp")
    with suppress(TypeError, ValueError, RecursionError):  # what is no JSON is read again each time
        text = json.dumps({"memkit": __version__, "files": entries})
        if json.loads(text)["files"] != entries:
            return
        try:
            make_private(place.parent)
            scratch.write_text(text, encoding="utf-8")
            scratch.replace(place)
        except OSError:  # a store that cannot be written can still be read
            with suppress(OSError):
                scratch.unlink()
