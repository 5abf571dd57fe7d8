"""Vectors that the host program's own embedding made of items, in a file beside the index and as disposable as it."""

from __future__ import annotations

import array
import math
import sqlite3
import weakref
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

numpy: Any
try:
    import numpy
except ImportError:
    numpy = None

SCHEMA = "CREATE TABLE IF NOT EXISTS vectors(id TEXT, path TEXT, vector BLOB, PRIMARY KEY(id, path))"


class HostedVectors:
    """The vectors of one user's items, each under the version that it was made from."""

    def __init__(self, path: Path | None) -> None:
        self._sql = sqlite3.connect(path or ":memory:", isolation_level=None, check_same_thread=False)
        weakref.finalize(self, self._sql.close).atexit = False
        if path is not None:
            path.chmod(0o600)
        self._sql.execute(SCHEMA)
        self._seen = 0
        self._ids: list[str] = []
        self._rows: list[array.array[float]] = []
        self._matrix: Any = None

    def known(self) -> set[str]:
        """Return the versions that have vectors."""
        return {row[0] for row in self._sql.execute("SELECT DISTINCT id FROM vectors")}

    def add(self, vectors: Iterable[tuple[str, str, Sequence[float]]]) -> None:
        """Store vectors of versions, each with the path of the text that it was made from."""
        rows = [(id, path, array.array("f", vector).tobytes()) for id, path, vector in vectors]
        self._sql.execute("BEGIN IMMEDIATE")
        self._sql.executemany("INSERT OR REPLACE INTO vectors VALUES(?,?,?)", rows)
        self._sql.execute("COMMIT")

    def ranked(self, asked: Sequence[float]) -> Iterator[tuple[str, float]]:
        """Yield versions by their vectors' cosine with ``asked``, nearest first; a version may occur several times."""
        self._follow()
        fitting = [place for place, row in enumerate(self._rows) if len(row) == len(asked)]
        if len(fitting) < len(self._rows):  # another embedding was used before
            self._rows = [self._rows[place] for place in fitting]
            self._ids, self._matrix = [self._ids[place] for place in fitting], None
        if not self._rows:
            return
        scores = self._cosines(asked)
        places = range(len(scores))
        order = sorted(places, key=scores.__getitem__, reverse=True) if numpy is None else numpy.argsort(-scores)
        for place in order:
            yield self._ids[place], float(scores[place])

    def _follow(self) -> None:
        """Read what was added since, also by other processes."""
        rows = self._sql.execute("SELECT rowid, id, vector FROM vectors WHERE rowid>? ORDER BY rowid", (self._seen,))
        for rowid, id, vector in rows.fetchall():
            row = array.array("f")
            row.frombytes(vector)
            self._ids.append(id)
            self._rows.append(row)
            self._seen, self._matrix = rowid, None

    def _cosines(self, asked: Sequence[float]) -> Any:
        if numpy is None:
            return [_cosine(asked, row) for row in self._rows]
        if self._matrix is None:
            matrix = numpy.asarray(self._rows, dtype=numpy.float32)
            lengths = numpy.linalg.norm(matrix, axis=1, keepdims=True)
            self._matrix = matrix / numpy.where(lengths == 0, 1, lengths)
        other = numpy.asarray(asked, dtype=numpy.float32)
        length = float(numpy.linalg.norm(other)) or 1.0
        return self._matrix @ (other / length)

    def close(self) -> None:
        """Close the file."""
        self._sql.close()


def _cosine(one: Sequence[float], other: Sequence[float]) -> float:
    lengths = math.sqrt(sum(x * x for x in one)) * math.sqrt(sum(x * x for x in other))
    return sum(x * y for x, y in zip(one, other, strict=True)) / lengths if lengths else 0.0
