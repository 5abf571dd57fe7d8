"""The vectors of each corpus, next to its index of words, compared exhaustively: exact, and needing no library."""

from __future__ import annotations

import hashlib
import os
import sqlite3
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, Protocol
from weakref import WeakKeyDictionary

from .interface import Embedder, MissingLibrary, identity

AT_ONCE = 500
"""How many texts are embedded, or read, at once."""
MANY = 50_000
"""A larger corpus is not held in memory if a server has an index of its vectors."""
UNRELATED = (
    "The kettle is on the second shelf", "Our train leaves at half past six", "Maria teaches chemistry in Prague",
    "I sold my bicycle last spring", "The invoice has to be paid by Friday", "He prefers tea without sugar",
    "The server restarts every night", "We planted beans behind the shed", "My uncle collects old stamps",
    "The meeting moved to the large hall", "She broke her wrist while skating", "Their cat sleeps in the bathtub",
    "The paint in the corridor is still wet", "I owe Peter forty euros", "The museum is closed on Mondays",
    "Our password policy changes in June", "The baby was born in a hospital in Leeds",
    "Rain is expected over the weekend", "My brother plays chess in a club", "The contract names two suppliers",
    "I cannot eat anything with nuts", "The bridge was built before the war", "Anna wants a puppy for her birthday",
    "The release was postponed by a week", "We watch a film every Sunday", "The boiler makes a strange noise",
    "His novel is set in Iceland", "The keys are with the neighbour", "I am learning to speak Spanish",
    "The lease ends after three years", "Prices rose by five percent", "The choir sings in the old church",
)  # fmt: skip
"""Statements that have nothing in common: their similarities are what a model calls similar without a reason."""
STANDS_OUT = 3.0
"""How many standard deviations above the background a similarity is that has a reason."""
ALL_ALIKE = 0.01
UNMEASURED = 0.6
"""The floor of a model for which these statements are all alike, such as one that knows none of their words."""
SCHEMA = (
    "CREATE TABLE IF NOT EXISTS vectors(document INTEGER PRIMARY KEY, vector BLOB)",
    "CREATE TABLE IF NOT EXISTS state(model TEXT, generation INT, keys TEXT)",
)


class CorpusState(Protocol):
    """The state of a corpus; under other keys, sealed lines read differently, and documents then have other numbers."""

    @property
    def generation(self) -> int:
        """Return the generation of the corpus, which counts its rebuilds."""

    @property
    def seq(self) -> int:
        """Return the number of the last line taken in."""

    @property
    def keys(self) -> str:
        """Return the keys with which sealed lines were read."""


class Corpus(Protocol):
    """The texts of one corpus, by document number."""

    @property
    def vectors_path(self) -> Path | None:
        """Return where their vectors may be stored; None for a corpus in memory."""

    def position(self) -> CorpusState:
        """Return its state."""

    def live_documents(self) -> set[int]:
        """Return every document that can be found."""

    def found(self, documents: Sequence[int]) -> Sequence[Any]:
        """Return some documents in the given order, each with its ``record``."""

    def with_ids(self, ids: Sequence[str]) -> Sequence[Any]:
        """Return the live records among these ids that are here, each with its number as ``document``."""

    def statistics(self, terms: Sequence[str]) -> Any:
        """Return the number of live records, as ``documents``."""


class SharedVectors(Protocol):
    """Vectors that several instances share, each with its model."""

    def serves(self, corpus: Corpus) -> bool:
        """Return whether a corpus's vectors may be stored there, and whether there is storage at all."""

    def kept(self, model: str, records: Sequence[Any]) -> Mapping[str, Any]:
        """Return the existing vectors of some records, by id."""

    def keep(self, model: str, records: Sequence[Any], rows: Sequence[Any]) -> bool:
        """Store vectors of records; return whether they were stored, which fails if the records changed."""

    def has_index(self, model: str) -> bool:
        """Return whether it finds neighbours without scanning every vector."""

    def nearest(self, model: str, record: Any, vector: Any, limit: int, beside: Sequence[str]) -> Mapping[str, float]:
        """Return the cosines of the nearest records in one record's corpus, by an index, and of those in ``beside``."""


class Background(NamedTuple):
    """How similar to a question texts are that have nothing to do with it."""

    mean: float
    floor: float
    """The similarity from which a text stands out."""


class Held(NamedTuple):
    """The vectors of a corpus in memory."""

    place: tuple[object, ...]
    """What they belong to: model, generation, keys, and the last line."""
    documents: Any
    """In ascending order."""
    rows: Any
    """One vector per document, of length one or all zeros."""


class NearestIndex:
    """Keeps the vectors of every corpus in a file next to its database, readable by this user only."""

    def __init__(self, embedder: Embedder, shared: SharedVectors | None = None) -> None:
        """Keep vectors of ``embedder``, shared if several instances read one log."""
        try:
            import numpy  # noqa: F401 - said here in one line and not in the middle of a search
        except ImportError:
            raise MissingLibrary from None
        self._embedder = embedder
        self._model = identity(embedder)
        self._open: WeakKeyDictionary[Corpus, Held] = WeakKeyDictionary()
        self._asked: tuple[str, Any] = ("", None)
        self._shared = shared
        self._unrelated: tuple[Any, float] | None = None
        """The mean of their vectors, and how far above the mean similarity one stands out."""
        self.is_exact = True
        """Whether the last question was compared with every vector."""

    def nearest(self, corpus: Corpus, query: str, limit: int, beside: Collection[int] = ()) -> dict[int, float]:
        """Return the cosines with ``query`` of the nearest live documents, and of those in ``beside``."""
        import numpy

        shared = self._shared if self._shared is not None and self._shared.serves(corpus) else None
        is_many = shared is not None and corpus.statistics(()).documents > MANY and shared.has_index(self._model)
        held = self._caught_up(corpus, shared, is_many=is_many)
        vector = self._vector(query)
        if not len(held.documents) or not vector.any():
            return {}
        self.is_exact = not is_many
        if shared is not None and is_many:
            first, *others = (one.record for one in corpus.found([int(held.documents[0]), *beside]))
            near = shared.nearest(self._model, first, vector, limit, [record.id for record in others])
            return {one.document: near[one.record.id] for one in corpus.with_ids(list(near))}
        wanted = numpy.isin(held.documents, list(beside)) if beside else numpy.zeros(len(held.documents), dtype=bool)
        if limit:
            angles = held.rows @ vector
            wanted[numpy.argpartition(-angles, limit)[:limit] if limit < len(angles) else slice(None)] = True
            cosines = angles[wanted]
        else:
            cosines = held.rows[wanted] @ vector
        return dict(zip(held.documents[wanted].tolist(), cosines.tolist(), strict=True))

    def background(self, query: str) -> Background:
        """Return how similar to ``query`` unrelated texts are."""
        if self._unrelated is None:
            self._unrelated = _centre(_units(self._embedder.embed_batch(UNRELATED)))
        centre, margin = self._unrelated
        mean = float(centre @ self._vector(query))
        return Background(mean, mean + margin if margin > ALL_ALIKE else UNMEASURED)

    def _vector(self, query: str) -> Any:
        """Return the vector of a question, cached while each corpus is searched in turn."""
        if self._asked[1] is None or self._asked[0] != query:
            self._asked = query, _units(self._embedder.embed_batch([query]))[0]
        return self._asked[1]

    def _caught_up(self, corpus: Corpus, shared: SharedVectors | None, *, is_many: bool) -> Held:
        """Return the up-to-date vectors of the live records, or none if there are too many to hold."""
        import numpy

        at = corpus.position()
        width = 0 if is_many else self._embedder.dimension
        place = (self._model, width, at.generation, at.keys, at.seq)
        held = self._open.get(corpus)
        if held is not None and held.place == place:
            return held
        if held is None or held.place[:-1] != place[:-1]:
            held = Held(place, numpy.empty(0, numpy.int64), numpy.empty((0, width), numpy.float32))
        live = numpy.array(sorted(corpus.live_documents()), dtype=numpy.int64)
        stays = numpy.isin(held.documents, live)
        missing = live[~numpy.isin(live, held.documents)].tolist()
        state = (self._model, at.generation, at.keys)
        made = partial(self._made, corpus, shared)
        fresh = stored(corpus.vectors_path, state, missing, made, self._embedder.dimension, width) if missing else {}
        documents = numpy.concatenate([held.documents[stays], numpy.array(list(fresh), dtype=numpy.int64)])
        rows = numpy.concatenate([held.rows[stays], *([numpy.stack(list(fresh.values()))] if fresh else [])])
        order = numpy.argsort(documents)
        self._open[corpus] = Held(place, documents[order], rows[order])
        return self._open[corpus]

    def _made(
        self, corpus: Corpus, shared: SharedVectors | None, documents: Sequence[int]
    ) -> tuple[dict[int, Any], bool]:
        """Return missing vectors, from other instances or the model, and whether they may be stored."""
        records = [one.record for one in corpus.found(documents)]
        theirs = shared.kept(self._model, records) if shared is not None else {}
        rows = {number: theirs[one.id] for number, one in zip(documents, records, strict=True) if one.id in theirs}
        left = [(number, one) for number, one in zip(documents, records, strict=True) if one.id not in theirs]
        if not left:
            return rows, True
        made = _units(self._embedder.embed_batch([record.text for _, record in left]))
        rows |= {number: row for (number, _), row in zip(left, made, strict=True)}
        return rows, shared is None or shared.keep(self._model, [record for _, record in left], made)


def stored(
    path: Path | None,
    state: tuple[object, ...],
    documents: Sequence[int],
    make: Callable[[Sequence[int]], tuple[dict[int, Any], bool]],
    dimension: int,
    width: int | None = None,
) -> dict[int, Any]:
    """Return the vectors of documents, from a file or from ``make``, which also tells whether they may be stored.

    Args:
        path: The file; without one nothing is stored.
        state: What the stored vectors must belong to: model, generation, keys.
        documents: Document numbers.
        make: Returns the vectors of some documents, and whether they may be stored.
        dimension: The length of each vector.
        width: How much of each vector is returned; all of it by default.
    """
    import numpy

    found: dict[int, Any] = {}
    sql = _opened(path, state)
    try:
        for start in range(0, len(documents), AT_ONCE):
            some = documents[start : start + AT_ONCE]
            rows: dict[int, Any] = {}
            if sql:
                asked = f"SELECT document, vector FROM vectors WHERE document IN ({','.join('?' * len(some))})"
                kept = ((number, numpy.frombuffer(data, "<f2")) for number, data in sql.execute(asked, some))
                rows = {number: row.astype("f4") for number, row in kept if len(row) == dimension}
            if new := [document for document in some if document not in rows]:
                made, may_stay = make(new)
                rows |= made
                if sql and may_stay:
                    with suppress(sqlite3.OperationalError):  # a full disk, or an unwritable place
                        packed = [(document, row.astype("<f2").tobytes()) for document, row in made.items()]
                        sql.executemany("INSERT OR REPLACE INTO vectors VALUES(?,?)", packed)
            found |= {document: row[:width] for document, row in rows.items()}
    finally:
        if sql:
            sql.close()
    return found


def _opened(path: Path | None, state: tuple[object, ...]) -> sqlite3.Connection | None:
    """Return the vector file, emptied if it belongs to another ``state``; None if there is no place for it."""
    if path is None:
        return None
    for _ in range(2):
        try:
            if not path.exists():
                os.close(os.open(path, os.O_CREAT | os.O_WRONLY | os.O_CLOEXEC, 0o600))
            sql = sqlite3.connect(path, timeout=30, isolation_level=None)
            # Rebuilt if a power cut tears it, so there is no need to wait for the disk.
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


def _centre(rows: Any) -> tuple[Any, float]:
    """Return the mean of vectors that have nothing in common, and the margin above their mean similarity."""
    import numpy

    alike = (rows @ rows.T)[numpy.triu_indices(len(rows), 1)]
    return rows.mean(axis=0), STANDS_OUT * float(alike.std())


def _units(vectors: Any) -> Any:
    """Return vectors as rows of length one; zero vectors stay zero."""
    import numpy

    rows = numpy.asarray(vectors, dtype=numpy.float32)
    sizes = numpy.linalg.norm(rows, axis=1, keepdims=True)
    return rows / numpy.where(sizes > 0, sizes, 1.0)


MOST_KEPT = 4096
"""The number of cached text vectors."""
TURNS = "turn-vectors"
"""The file that stores them, in the cache folder."""


class Similarity:
    """The similarity of texts to a question; nothing is embedded twice, given a file not even by another process."""

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
        if missing and len(self._kept) + len(missing) > MOST_KEPT:
            self._kept, missing = {}, list(numbers)
            if self._path is not None:
                self._path.unlink(missing_ok=True)
        if missing:
            state = (identity(self._embedder), 1, "")

            def made(new: Sequence[int]) -> tuple[dict[int, Any], bool]:
                rows = _units(self._embedder.embed_batch([numbers[number] for number in new]))
                return dict(zip(new, rows, strict=True)), True

            self._kept |= stored(self._path, state, missing, made, self._embedder.dimension)
        if self._asked[1] is None or self._asked[0] != query:
            self._asked = query, _units(self._embedder.embed_batch([query]))[0]
        rows = numpy.stack([self._kept[_number(text)] for text in texts])
        angles: list[float] = (rows @ self._asked[1]).tolist()
        return angles


def _number(text: str) -> int:
    return int.from_bytes(hashlib.sha256(text.encode(errors="replace")).digest()[:7])
