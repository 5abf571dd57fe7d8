"""An index of vectors beside the word index of each corpus: approximate nearest neighbours, by usearch."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple
from weakref import WeakKeyDictionary

from memkit.embeddings.local import EXTRA
from memkit.errors import MissingExtra
from memkit.runtime.memory.index.corpus import CorpusIndex
from memkit.runtime.memory.index.database import VECTORS, Database
from memkit.runtime.memory.index.search import Embedder

if TYPE_CHECKING:
    from usearch.index import Index

EMBEDDED_AT_ONCE = 1000
SAME_DOCUMENTS = 3
"""While so many of the first parts of a state are the same, a document's number means the same record."""


class VectorState(NamedTuple):
    """Which lines of a corpus a file of vectors has taken in, and which file that is."""

    model: str
    generation: int
    keys: str
    """Under which key sealed lines were read: with another one the documents have other numbers."""
    seq: int
    file: list[int]
    """Size, time and inode, so that one process does not vouch for a file that another wrote."""


class NearestIndex:
    """Keeps the vectors of every corpus in a file beside its database, readable by this user only."""

    def __init__(self, embedder: Embedder) -> None:
        try:
            import usearch.index  # noqa: F401 - said here in one line and not in the middle of a search
        except ImportError:
            raise MissingExtra(EXTRA) from None
        self._embedder = embedder
        self._model = f"{embedder.name} {embedder.dimension}"
        self._open: WeakKeyDictionary[Database, tuple[VectorState, Index]] = WeakKeyDictionary()

    def nearest(self, corpus: CorpusIndex, query: str, limit: int) -> list[tuple[int, float]]:
        """Return documents of live records and the cosine of their angle to ``query``, nearest first."""
        index = self._caught_up(corpus)
        (vector,) = self._embedder.embed([query])
        if not len(index) or not any(vector):
            return []
        found = index.search(_array([vector])[0], min(limit, len(index)))
        pairs = [(int(key), 1.0 - float(distance)) for key, distance in zip(found.keys, found.distances, strict=True)]
        return sorted(pairs, key=lambda pair: (-pair[1], pair[0]))

    def _caught_up(self, corpus: CorpusIndex) -> Index:
        position, path = corpus.position(), _beside(corpus.database.path, VECTORS[0])
        wanted = VectorState(self._model, position.generation, position.keys, position.seq, _stamp(path))
        state, index = self._open.get(corpus.database) or (None, None)
        if index is None or state is None or state.file != wanted.file:
            state, index = self._loaded(corpus)
        if state != wanted:
            if state is None or state[:SAME_DOCUMENTS] != wanted[:SAME_DOCUMENTS]:
                index = self._new()
            self._follow(index, corpus)
            state = wanted._replace(file=_saved(index, path, corpus.database.path, wanted))
        self._open[corpus.database] = state, index
        return index

    def _loaded(self, corpus: CorpusIndex) -> tuple[VectorState | None, Index]:
        """Return what the files beside a corpus hold; what is damaged or torn apart counts as not there."""
        path = _beside(corpus.database.path, VECTORS[0])
        note = _beside(corpus.database.path, VECTORS[1])
        if path is None or note is None:
            return None, self._new()
        try:
            state = VectorState(**json.loads(note.read_text(encoding="utf-8")))
            index = self._new()
            if state.model == self._model and state.file == _stamp(path):
                index.load(str(path))
                return state, index
        except (OSError, ValueError, TypeError, RuntimeError):
            pass
        return None, self._new()

    def _follow(self, index: Index, corpus: CorpusIndex) -> None:
        """Bring ``index`` in line with the live records: new ones enter, those no longer live leave."""
        live, held = corpus.live_documents(), {int(key) for key in index.keys}
        for document in held - live:
            index.remove(document)
        missing = sorted(live - held)
        for start in range(0, len(missing), EMBEDDED_AT_ONCE):
            some = missing[start : start + EMBEDDED_AT_ONCE]
            vectors = self._embedder.embed([found.record.text for found in corpus.found(some)])
            # The angle to a vector of zeros is none: such a text has no place here, and stays found by its words.
            told = [(document, vector) for document, vector in zip(some, vectors, strict=True) if any(vector)]
            if told:
                index.add(_keys([document for document, _ in told]), _array([vector for _, vector in told]))

    def _new(self) -> Index:
        from usearch.index import Index

        return Index(ndim=self._embedder.dimension, metric="cos", dtype="f16")


def _saved(index: Index, path: Path | None, database: Path | None, state: VectorState) -> list[int]:
    """Write the vectors, then what they are, and return the file's stamp; where nothing can be written, go on."""
    note = _beside(database, VECTORS[1])
    if path is None or note is None:
        return []
    scratch = path.with_name(f"{path.name}.{os.getpid()}.new")
    with suppress(OSError, RuntimeError):
        os.close(os.open(scratch, os.O_CREAT | os.O_WRONLY, 0o600))
        index.save(str(scratch))
        scratch.chmod(0o600)
        scratch.replace(path)
        content = json.dumps(state._replace(file=_stamp(path))._asdict())
        os.close(os.open(scratch, os.O_CREAT | os.O_WRONLY, 0o600))
        scratch.write_text(content, encoding="utf-8")
        scratch.replace(note)
    scratch.unlink(missing_ok=True)
    return _stamp(path)


def _beside(database: Path | None, suffix: str) -> Path | None:
    return database.with_name(database.name + suffix) if database is not None else None


def _stamp(path: Path | None) -> list[int]:
    if path is None:
        return []
    try:
        stat = path.stat()
    except OSError:
        return []
    return [stat.st_size, stat.st_mtime_ns, stat.st_ino]


def _array(vectors: Sequence[Sequence[float]]) -> Any:
    import numpy

    return numpy.asarray(vectors, dtype=numpy.float32)


def _keys(documents: Sequence[int]) -> Any:
    import numpy

    return numpy.asarray(documents, dtype=numpy.uint64)
