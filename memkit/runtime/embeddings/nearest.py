"""The vectors of each corpus beside its index of words, compared one by one: exact, and no library to build for it."""

from __future__ import annotations

import hashlib
import os
import sqlite3
from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple, Protocol
from weakref import WeakKeyDictionary

from .interface import Embedder, MissingLibrary, identity

AT_ONCE = 500
"""So many texts are embedded, or read, at once."""
SCHEMA = (
    "CREATE TABLE IF NOT EXISTS vectors(document INTEGER PRIMARY KEY, vector BLOB)",
    "CREATE TABLE IF NOT EXISTS state(model TEXT, generation INT, keys TEXT)",
)


class CorpusState(Protocol):
    """How far a corpus is; what was sealed reads otherwise under other keys, and then documents have other numbers."""

    @property
    def generation(self) -> int:
        """Return which filling of the corpus this is."""
        ...

    @property
    def seq(self) -> int:
        """Return the last line that was taken in."""
        ...

    @property
    def keys(self) -> str:
        """Return under which keys sealed lines were read."""
        ...


class Corpus(Protocol):
    """The texts of one corpus, by the numbers of their documents."""

    @property
    def vectors_path(self) -> Path | None:
        """Return where their vectors may lie; None for a corpus in memory."""
        ...

    def position(self) -> CorpusState:
        """Return how far it is."""
        ...

    def live_documents(self) -> set[int]:
        """Return every document that can be found."""
        ...

    def texts(self, documents: Sequence[int]) -> list[str]:
        """Return the texts of documents, in their order."""
        ...


class Held(NamedTuple):
    """The vectors of a corpus in memory."""

    place: tuple[object, ...]
    """What they are of: model, filling, keys, and the last line."""
    documents: Any
    """In ascending order."""
    rows: Any
    """One vector a document, of length one or zeros."""


class NearestIndex:
    """Keeps the vectors of every corpus in a file beside its database, readable by this user only."""

    def __init__(self, embedder: Embedder) -> None:
        try:
            import numpy  # noqa: F401 - said here in one line and not in the middle of a search
        except ImportError:
            raise MissingLibrary from None
        self._embedder = embedder
        self._model = identity(embedder)
        self._open: WeakKeyDictionary[Corpus, Held] = WeakKeyDictionary()
        self._asked: tuple[str, Any] = ("", None)

    def nearest(self, corpus: Corpus, query: str, limit: int, beside: Collection[int] = ()) -> dict[int, float]:
        """Return the cosine of the angle to ``query`` of the nearest live documents, and of those ``beside`` them."""
        import numpy

        held = self._caught_up(corpus)
        vector = self._vector(query)
        if not len(held.documents) or not vector.any():
            return {}
        angles = held.rows @ vector
        places = numpy.arange(len(angles))
        if limit < len(angles):
            places = numpy.argpartition(-angles, limit)[:limit]
        wanted = numpy.isin(held.documents, list(beside)) if beside else numpy.zeros(len(angles), dtype=bool)
        wanted[places] = True
        return dict(zip(held.documents[wanted].tolist(), angles[wanted].tolist(), strict=True))

    def _vector(self, query: str) -> Any:
        """Return the vector of a question, which is asked of every corpus in turn."""
        if self._asked[1] is None or self._asked[0] != query:
            self._asked = query, _units(self._embedder.embed_batch([query]))[0]
        return self._asked[1]

    def _caught_up(self, corpus: Corpus) -> Held:
        """Return the vectors of the live records: new ones enter, those no longer live leave."""
        import numpy

        at = corpus.position()
        place = (self._model, at.generation, at.keys, at.seq)
        held = self._open.get(corpus)
        if held is not None and held.place == place:
            return held
        if held is None or held.place[:-1] != place[:-1]:
            held = Held(place, numpy.empty(0, numpy.int64), numpy.empty((0, self._embedder.dimension), numpy.float32))
        live = numpy.array(sorted(corpus.live_documents()), dtype=numpy.int64)
        stays = numpy.isin(held.documents, live)
        missing = live[~numpy.isin(live, held.documents)].tolist()
        fresh = {}
        if missing:
            fresh = stored(self._embedder, corpus.vectors_path, place[:-1], missing, corpus.texts)
        documents = numpy.concatenate([held.documents[stays], numpy.array(list(fresh), dtype=numpy.int64)])
        rows = numpy.concatenate([held.rows[stays], *([numpy.stack(list(fresh.values()))] if fresh else [])])
        order = numpy.argsort(documents)
        self._open[corpus] = Held(place, documents[order], rows[order])
        return self._open[corpus]


def stored(
    embedder: Embedder,
    path: Path | None,
    state: tuple[object, ...],
    documents: Sequence[int],
    texts: Callable[[Sequence[int]], Sequence[str]],
) -> dict[int, Any]:
    """Return the vectors of documents: those that were kept before, and the others embedded and kept."""
    found: dict[int, Any] = {}
    sql = _opened(path, state)
    try:
        for start in range(0, len(documents), AT_ONCE):
            some = documents[start : start + AT_ONCE]
            found |= _kept(sql, some, embedder.dimension) if sql else {}
            new = [document for document in some if document not in found]
            if not new:
                continue
            rows = _units(embedder.embed_batch(texts(new)))
            found |= dict(zip(new, rows, strict=True))
            if sql:
                with suppress(sqlite3.OperationalError):  # a full disk, or a place that nobody may write
                    kept = [(document, row.astype("<f2").tobytes()) for document, row in zip(new, rows, strict=True)]
                    sql.executemany("INSERT OR REPLACE INTO vectors VALUES(?,?)", kept)
    finally:
        if sql:
            sql.close()
    return found


def _kept(sql: sqlite3.Connection, documents: Sequence[int], dimension: int) -> dict[int, Any]:
    import numpy

    query = f"SELECT document, vector FROM vectors WHERE document IN ({','.join('?' * len(documents))})"
    rows = ((document, numpy.frombuffer(data, "<f2")) for document, data in sql.execute(query, documents))
    return {document: row.astype("f4") for document, row in rows if len(row) == dimension}


def _opened(path: Path | None, state: tuple[object, ...]) -> sqlite3.Connection | None:
    """Return the file of vectors, emptied where it holds others than ``state`` says; None where there is no place."""
    if path is None:
        return None
    for _ in range(2):
        try:
            if not path.exists():
                os.close(os.open(path, os.O_CREAT | os.O_WRONLY | os.O_CLOEXEC, 0o600))
            sql = sqlite3.connect(path, timeout=30, isolation_level=None)
            # Made anew where a power cut tears it, so it need not be waited for.
            sql.execute("PRAGMA synchronous=OFF")
            sql.execute("PRAGMA secure_delete=ON")
            for statement in SCHEMA:
                sql.execute(statement)
            if sql.execute("SELECT * FROM state").fetchall() != [state]:
                for statement in ("DELETE FROM vectors", "DELETE FROM state"):
                    sql.execute(statement)
                sql.execute("INSERT INTO state VALUES(?,?,?)", state)
        except sqlite3.OperationalError:
            return None
        except (sqlite3.DatabaseError, OSError):
            with suppress(OSError):  # damaged: a new one helps
                path.unlink()
        else:
            return sql
    return None


def _units(vectors: Any) -> Any:
    """Return vectors as rows of length one; those of zeros stay what they are."""
    import numpy

    rows = numpy.asarray(vectors, dtype=numpy.float32)
    sizes = numpy.linalg.norm(rows, axis=1, keepdims=True)
    return rows / numpy.where(sizes > 0, sizes, 1.0)


MOST_KEPT = 4096
"""So many texts' vectors stay at hand."""
TURNS = "turn-vectors"
"""The file in which they lie, among what can be deleted."""


class Similarity:
    """How near texts are to a question; what was embedded once is not embedded again, with a file in no process."""

    def __init__(self, embedder: Embedder, path: Path | None = None) -> None:
        self._embedder = embedder
        self._path = path
        self._kept: dict[int, Any] = {}
        self._asked: tuple[str, Any] = ("", None)

    def __call__(self, query: str, texts: Sequence[str]) -> list[float]:
        """Return for each text the cosine of its angle to ``query``."""
        import numpy

        if not texts:
            return []
        numbers = {_number(text): text for text in texts}
        missing = [number for number in numbers if number not in self._kept]
        if missing:
            if len(self._kept) + len(missing) > MOST_KEPT:
                self._kept, missing = {}, list(numbers)
                if self._path is not None:
                    self._path.unlink(missing_ok=True)
            state = (identity(self._embedder), 1, "")
            self._kept |= stored(
                self._embedder, self._path, state, missing, lambda some: [numbers[number] for number in some]
            )
        if self._asked[1] is None or self._asked[0] != query:
            self._asked = query, _units(self._embedder.embed_batch([query]))[0]
        rows = numpy.stack([self._kept[_number(text)] for text in texts])
        angles: list[float] = (rows @ self._asked[1]).tolist()
        return angles


def _number(text: str) -> int:
    return int.from_bytes(hashlib.sha256(text.encode(errors="replace")).digest()[:7])
