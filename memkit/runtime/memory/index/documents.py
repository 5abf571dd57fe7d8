"""Documents: items that programs keep whole besides records, such as an item of a store, a transcript or a note.

A document has a kind, a space and a name. Every time it is stored creates a version; the highest number counts, and a
version without a value deletes the document. A version may name the record derived from its text: when a person
corrects, forgets or rejects that record, the same happens to the document.
"""

import json
from collections.abc import Iterator, Sequence
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from ..record.events import EXACT
from ..record.lines import to_text
from ..record.record import encodable
from .catalogue import VECTORS

if TYPE_CHECKING:
    from .corpus import CorpusIndex

PIECE = 24_000
"""The most characters of a value per line: even sealed and all escaped, they fit in a line."""
END = "\U0010ffff"
COLUMNS = "kind, space, name, number, id, at, until, record, value, more"
IN_SPACE = "space>=:space AND space<:above AND (space=:space OR space>=:below)"
ANYWHERE = ":space=:space AND :below=:below AND :above=:above"
VERSIONS = f"SELECT {COLUMNS} FROM documents WHERE kind=? AND space=? AND name=? ORDER BY strange, number DESC, id DESC"
"""Our versions come first: a stranger's take no place of theirs."""
FEW = 2000
"""Up to this many documents are sorted; of more, the newest are read in order until there are enough."""
BY_SPACE = "documents INDEXED BY documents_by_space"
BY_TIME = "documents INDEXED BY documents_by_time"
COUNT = f"SELECT count(*) FROM (SELECT 1 FROM {BY_SPACE} WHERE kind=:kind AND latest=1 AND {IN_SPACE} LIMIT {FEW + 1})"
SPACES = """WITH RECURSIVE found(space) AS (
              SELECT min(space) FROM documents WHERE kind=:kind UNION ALL
              SELECT (SELECT min(space) FROM documents WHERE kind=:kind AND space>found.space)
              FROM found WHERE found.space IS NOT NULL)
            SELECT space FROM found WHERE space IS NOT NULL"""
"""Jumps from one space to the next, skipping the documents in between."""
COMPARED = {"$gt": ">", "$gte": ">=", "$lt": "<", "$lte": "<="}
"""Numeric comparisons that exclude documents before they are read."""
SHOWING = f"""SELECT 1 FROM {BY_SPACE} LEFT JOIN records ON records.id=record
              WHERE kind=? AND space=? AND latest=1 AND value IS NOT NULL AND (until IS NULL OR until>?)
              AND (record IS NULL OR status='live') LIMIT 1"""


class Prefilter(NamedTuple):
    """Necessary conditions on a value: documents that fail them need not be read."""

    texts: tuple[str, ...] = ()
    """Strings that it contains."""
    numbers: tuple[tuple[str, str, float], ...] = ()
    """``(key, comparison of COMPARED, number)`` at its top level."""
    has_no_record: bool = False
    """Whether no record is derived from it."""

    def as_sql(self) -> tuple[str, dict[str, object]]:
        """Return a condition and its parameters; a value that is not plain JSON satisfies any comparison."""
        given: dict[str, object] = {}
        parts = ["record IS NULL"] if self.has_no_record else []
        for place, text in enumerate(self.texts):
            forms = {f"text{place}{plain}": json.dumps(text, ensure_ascii=plain) for plain in (True, False)}
            held = {name: form for name, form in forms.items() if encodable(form)}
            parts.append("(" + " OR ".join(f"instr(value, :{name})" for name in held) + ")")
            given |= held
        for place, (key, comparison, number) in enumerate(self.numbers):
            if abs(number) <= EXACT and '"' not in key and "\\" not in key:
                given |= {f"key{place}": f'$."{key}"', f"number{place}": number}
                asked = f"json_extract(value, :key{place}) {COMPARED[comparison]} :number{place}"
                parts.append(f"CASE WHEN json_valid(value) THEN {asked} ELSE 1 END")
        return " AND ".join(parts) or "1", given


EVERYTHING = Prefilter()


class StoredDocument(NamedTuple):
    """The current state of a document."""

    kind: str
    space: str
    name: str
    number: int
    """How often it was stored."""
    id: str
    """The id of this version."""
    at: str
    until: str | None
    """When it expires."""
    record: str | None
    """The record derived from it, or the one with which a person replaced that."""
    value: str
    """The stored value, as JSON."""
    more: str
    """Additional data of the program, as JSON."""
    corrected: str | None = None
    """The text with which a person replaced the derived one."""


class Documents:
    """The documents of one user."""

    def __init__(self, corpus: "CorpusIndex", now: datetime) -> None:
        self._corpus = corpus
        self._sql = corpus.sql
        self._now = to_text(now)

    def get(self, kind: str, space: str, name: str, as_of: str | None = None) -> StoredDocument | None:
        """Return a document as it is, or as it was at a moment; None if there is none."""
        for row in self._sql.execute(VERSIONS, (kind, space, name)).fetchall():
            if as_of is not None and row[5] > as_of:
                continue
            settled, document = self._standing(row, as_of)
            if settled:
                return document
        return None

    def version(self, id: str) -> StoredDocument | None:
        """Return the current document if this is its latest version."""
        row = self._sql.execute("SELECT kind, space, name FROM documents WHERE id=? AND latest=1", (id,)).fetchone()
        return self.get(*row) if row else None

    def beside(self) -> Path | None:
        """Return a file for vectors of documents, which is deleted with this user's index."""
        path = self._corpus.path
        return path.with_name(path.name + VECTORS[2]) if path else None

    def made_at(self, kind: str, space: str, name: str) -> str | None:
        """Return when a document was first stored."""
        query = "SELECT min(at) FROM documents WHERE kind=? AND space=? AND name=?"
        found = self._sql.execute(query, (kind, space, name)).fetchone()[0]
        return str(found) if found else None

    def head(self, kind: str, space: str, name: str) -> tuple[int, str | None]:
        """Return the number of the last stored version, 0 for none, and the record that represents it."""
        row = self._sql.execute(VERSIONS, (kind, space, name)).fetchone()
        if row is None:
            return 0, None
        standing = self.get(kind, space, name)
        query = "SELECT max(number) FROM documents WHERE kind=? AND space=? AND name=?"
        (number,) = self._sql.execute(query, (kind, space, name)).fetchone()
        return int(number), standing.record if standing else self._living(row[7])

    def newest(
        self, kind: str, within: str = "", *, wanted: Prefilter = EVERYTHING,
        as_of: str | None = None,
    ) -> Iterator[StoredDocument]:  # fmt: skip
        """Yield the documents in a space and its subspaces, newest first, reading no more than is consumed.

        Documents that certainly do not contain what is ``wanted`` are skipped.
        """
        asked = {"kind": kind, "space": within, "below": f"{within}.", "above": f"{within}.{END}"}
        if as_of is not None:
            yield from self._at(asked, as_of)
            return
        held, given = wanted.as_sql()
        # A few documents are found by their space, many by their time.
        few = within and int(self._sql.execute(COUNT, asked).fetchone()[0]) <= FEW
        table, order = (BY_SPACE, "+at") if few else (BY_TIME, "at")
        where = IN_SPACE if within else ANYWHERE
        status = "(SELECT status FROM records WHERE records.id=record)"
        # A text with which a person replaced a record's is stored elsewhere.
        changed = f"record IS NOT NULL AND {status} IS NOT 'live'"
        query = f"""SELECT {COLUMNS}, {status} FROM {table} WHERE kind=:kind AND latest=1 AND {where}
                    AND ({held} OR {changed}) ORDER BY {order} DESC, id DESC"""
        for row in self._sql.execute(query, asked | given):
            if row[10] in (None, "live"):
                if row[8] is not None and (row[6] is None or row[6] > self._now):
                    yield StoredDocument._make((*row[:10], None))
            elif (document := self.get(kind, row[1], row[2])) is not None:
                yield document

    def named(self, kind: str, space: str) -> Iterator[StoredDocument]:
        """Yield the documents in one space, last name first, reading no more than is consumed."""
        query = f"SELECT {COLUMNS} FROM documents WHERE kind=? AND space=? AND +latest=1 ORDER BY name DESC"
        for row in self._sql.execute(query, (kind, space)):
            settled, document = self._standing(row, None)
            document = document if settled else self.get(kind, space, row[2])
            if document is not None:
                yield document

    def last_name(self, kind: str, space: str) -> str | None:
        """Return the last name that any document of a space ever had."""
        query = "SELECT max(name) FROM documents WHERE kind=? AND space=?"
        found = self._sql.execute(query, (kind, space)).fetchone()[0]
        return str(found) if found else None

    def _at(self, asked: dict[str, str], as_of: str) -> Iterator[StoredDocument]:
        where = IN_SPACE if asked["space"] else ANYWHERE
        query = f"SELECT DISTINCT space, name FROM documents WHERE kind=:kind AND at<=:at AND {where}"
        places = self._sql.execute(query, {**asked, "at": as_of}).fetchall()
        stood = (self.get(asked["kind"], space, name, as_of) for space, name in places)
        yield from sorted(filter(None, stood), key=lambda one: (one.at, one.id), reverse=True)

    def spaces(self, kind: str) -> list[str]:
        """Return the spaces that contain a document, in order."""
        spaces = [row[0] for row in self._sql.execute(SPACES, {"kind": kind}).fetchall()]
        return [space for space in spaces if self._holds(kind, space)]

    def _holds(self, kind: str, space: str) -> bool:
        # Most spaces are confirmed by a single document without further queries.
        if self._sql.execute(SHOWING, (kind, space, self._now)).fetchone():
            return True
        names = self._sql.execute("SELECT DISTINCT name FROM documents WHERE kind=? AND space=?", (kind, space))
        return any(self.get(kind, space, name) for (name,) in names.fetchall())

    def _standing(self, row: Sequence[Any], as_of: str | None) -> tuple[bool, StoredDocument | None]:
        """Return whether a version determines the current state, and that state."""
        document = StoredDocument._make((*row[:10], None))
        is_gone = row[8] is None or (document.until is not None and document.until <= (as_of or self._now))
        status = self._status(document.record)
        if status in ("rejected", "quarantined", "sealed"):
            return False, None
        if is_gone:
            return True, None
        if as_of is not None or status in (None, "live"):
            return True, document
        living = self._living(document.record)
        if living is None:
            return True, None
        text = self._corpus.live(living)
        return True, document._replace(record=living, corrected=text.text if text else None)

    def _status(self, id: str | None) -> str | None:
        row = self._sql.execute("SELECT status FROM records WHERE id=?", (id,)).fetchone() if id else None
        return str(row[0]) if row else None

    def _living(self, id: str | None) -> str | None:
        """Return the live record that replaces the given one, or that record itself if live; None if there is none."""
        seen: set[str] = set()
        while id is not None and id not in seen:
            if self._status(id) == "live":
                return id
            seen.add(id)
            folded = self._corpus.folded(id)
            id = folded.superseded_by if folded else None
        return None
