"""A git pack written object by object, for git's own ``index-pack`` to check and enter.

Format: Documentation/gitformat-pack.txt of git; no deltas, which ``git repack`` adds.
"""

from __future__ import annotations

import hashlib
import struct
import zlib
from pathlib import Path
from types import TracebackType

_KINDS = {"commit": 1, "tree": 2, "blob": 3, "tag": 4}
_HEADER = struct.Struct(">4sII")


class PackWriter:
    """Objects on their way into a new repository; the same object is written once."""

    def __init__(self, path: Path, algorithm: str) -> None:
        self._file = path.open("w+b")
        self._algorithm = algorithm
        self._written: set[str] = set()
        self._file.write(_HEADER.pack(b"PACK", 2, 0))

    def __len__(self) -> int:
        """Return how many objects were written."""
        return len(self._written)

    def add(self, kind: str, data: bytes) -> str:
        """Write an object and return its id."""
        id = hashlib.new(self._algorithm, f"{kind} {len(data)}\0".encode() + data).hexdigest()
        if id not in self._written:
            self._written.add(id)
            self._file.write(_entry_header(_KINDS[kind], len(data)))
            self._file.write(zlib.compress(data, 1))
        return id

    def __enter__(self) -> PackWriter:
        """Return the writer."""
        return self

    def __exit__(self, kind: type[BaseException] | None, value: object, trace: TracebackType | None) -> None:
        """Enter the number of objects and the digest of everything before it."""
        self._file.seek(0)
        self._file.write(_HEADER.pack(b"PACK", 2, len(self._written)))
        self._file.seek(0)
        digest = hashlib.new(self._algorithm)
        while chunk := self._file.read(1 << 20):
            digest.update(chunk)
        self._file.write(digest.digest())
        self._file.close()


def _entry_header(kind: int, size: int) -> bytes:
    """Return type and size: four bits of the size in the first byte, seven in each that follows."""
    first, size = kind << 4 | size & 0x0F, size >> 4
    found = bytearray()
    while size:
        found.append(first | 0x80)
        first, size = size & 0x7F, size >> 7
    found.append(first)
    return bytes(found)
