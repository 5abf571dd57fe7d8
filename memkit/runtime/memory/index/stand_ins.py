"""Stand-ins for lines that are withheld or gone, so that nothing they took away comes back.

If the history has an event in its original form, that one counts. Of any other line only its targets are known, or
less: the targets are held back, and consent is not given until it is given again.
"""

import json
import sqlite3
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from ..log.log import Link, Span, Witness, is_own, read_link, shard_writer
from ..record.lines import JSON, InvalidRecord, encode_data
from ..record.record import CONSENT, corpus_of, unplaced, user_corpus

_WRONG = """SELECT shard, number, id, owner, type, claimed, names FROM flaws
            UNION ALL SELECT shard, number, id, owner, type, link, '' FROM gone WHERE code IN ('missing', 'edited')"""


class StandIn(NamedTuple):
    """One stand-in, for one corpus."""

    span: Span
    """The position at which it counts."""
    line: str
    """The event that counts; empty if there is none."""
    held: str
    """The id of what is held back instead, or ``consent``."""
    bars: bool
    """Whether its value is barred, too: the line may have rejected it."""


class _Written(NamedTuple):
    """A line found in the history."""

    shard: str
    data: Mapping[str, JSON]
    link: Link

    @property
    def id(self) -> str:
        return str(self.data.get("id", ""))


def names_in(data: Mapping[str, JSON]) -> dict[str, bool]:
    """Return the ids that a line replaces or is about, each with whether the line may bar its value."""
    if data.get("op") == CONSENT:
        return {CONSENT: True}
    said = {key: data.get(key) for key in ("supersedes", "merges", "summarises", "target")}
    several = [(key, one) for key, many in said.items() for one in (many if isinstance(many, list | tuple) else [many])]
    return {one: key == "target" for key, one in several if isinstance(one, str)}


class StandIns:
    """The stand-ins for withheld or gone lines of a catalogue, in its database."""

    def __init__(self, sql: sqlite3.Connection, witness: Witness | None) -> None:
        self._sql = sql
        self._witness = witness

    def of(self, corpus: str) -> list[StandIn]:
        """Return the stand-ins in a corpus."""
        query = "SELECT shard, place, line, held, bars FROM stand_ins WHERE corpus=? ORDER BY shard, place"
        rows = self._sql.execute(query, (corpus,))
        return [StandIn(Span(shard, 0, 0, place), line, held, bool(bars)) for shard, place, line, held, bars in rows]

    def reckon(self) -> None:
        """Recompute the stand-ins if other lines are withheld or gone than before; only then is git consulted."""
        wrong = self._sql.execute(f"{_WRONG} ORDER BY 1, 2, 3, 6").fetchall()
        state = repr(wrong) if wrong else ""
        row = self._sql.execute("SELECT state FROM wrong").fetchone()
        if state == (row[0] if row else ""):
            return
        before = set(self._sql.execute("SELECT * FROM stand_ins"))
        self._sql.execute("DELETE FROM wrong")
        self._sql.execute("DELETE FROM stand_ins")
        self._sql.execute("INSERT INTO wrong VALUES(?)", (state,))
        known: dict[str, set[str | bytes]] = {}
        for writer in {shard_writer(shard)[0] for shard, *_ in wrong}:
            known[writer] = self._from_history(writer)
        for shard, number, id, owner, kind, link, names in wrong:
            if known[shard_writer(shard)[0]] & ({id, link} - {"", b""}):
                continue
            place = self._after(shard, number)
            for name, bars in json.loads(names or "{}").items():
                self._hold(name, shard, place, user_corpus(owner), id, link, bars=bars)
            if kind == CONSENT or (not names and not id):  # nobody knows what it was
                query = "SELECT owner FROM chains WHERE writer=?"
                owners = [(owner,)] if owner else self._sql.execute(query, (shard_writer(shard)[0],)).fetchall()
                for one in (one for (one,) in owners if one):
                    self._hold(CONSENT, shard, place, user_corpus(one), id, link, bars=True)
        after = set(self._sql.execute("SELECT * FROM stand_ins"))
        for name, *_ in before ^ after:
            self._sql.execute("INSERT OR IGNORE INTO corpora(name, generation) VALUES(?, 0)", (name,))
            self._sql.execute("UPDATE corpora SET generation=abs(random()), settled=NULL WHERE name=?", (name,))

    def stands_for(self, id: str, link: bytes | None) -> bool | None:
        """Return whether a line from git stands in for one (True), or its targets are held back (False); else None."""
        query = "SELECT max(line!='') FROM stand_ins WHERE (id!='' AND id=?) OR link=?"
        (found,) = self._sql.execute(query, (id, link or b"-")).fetchone()
        return None if found is None else bool(found)

    def _from_history(self, writer: str) -> set[str | bytes]:
        """Let a writer's events stand in where the history has their original form; return what it has."""
        lost, known = self._lost(writer)
        for one in lost:
            place = self._place(one, {each.link.own: each for each in lost})
            try:
                if "op" in one.data:
                    line = encode_data(unplaced(one.data))
                    row = (corpus_of(one.data), one.shard, place, line, "", 0, one.id, one.link.own)
                    self._sql.execute("INSERT INTO stand_ins VALUES(?,?,?,?,?,?,?,?)", row)
                    continue
            except InvalidRecord:
                continue
            for name, bars in names_in(one.data).items():
                self._hold(name, one.shard, place, "", one.id, one.link.own, bars=bars)
        return known

    def _lost(self, writer: str) -> tuple[list[_Written], set[str | bytes]]:
        """Return a writer's lines that the history has and that are missing here, and everything that it has."""
        had = list(self._written(writer))
        query = "SELECT l.link, l.parent, l.id, l.body FROM lines AS l JOIN chains ON num=chain WHERE writer=?"
        present = self._sql.execute(query, (writer,)).fetchall()
        links = {bytes(link) for link, *_ in present if link}
        said = {(id, bytes(body)) for _, _, id, body in present if body}
        moved = {bytes(link) for (link,) in self._sql.execute("SELECT link FROM gone WHERE code='moved_back'")}
        lost = [
            one for one in had
            if one.link.own not in links | moved and (one.id, one.link.body) not in said
        ]  # fmt: skip
        wrong = self._sql.execute(f"SELECT id, claimed FROM ({_WRONG})").fetchall()
        ids = {id for id, _ in wrong if id}
        named = {bytes(link) for _, link in wrong if link} | {bytes(parent) for _, parent, *_ in present if parent}
        near: dict[bytes, list[_Written]] = {}
        for one in lost:
            near.setdefault(one.link.own, []).append(one)
            if one.link.parent:
                near.setdefault(one.link.parent, []).append(one)
        waiting = [one for one in lost if one.id in ids or one.link.own in named or one.link.parent in links | named]
        found: dict[bytes, _Written] = {}
        while waiting:
            one = waiting.pop()
            if one.link.own not in found:
                found[one.link.own] = one
                waiting += [*near[one.link.own], *near.get(one.link.parent, ())]
        return list(found.values()), {name for one in had for name in (one.id, one.link.own)}

    def _written(self, writer: str) -> Iterator[_Written]:
        """Yield a writer's lines in the history, each id in its original form, and of this clone only its own lines."""
        if self._witness is None or self._witness.written is None:
            return
        key, again, first = self._witness.key_for(writer), self._witness.relinking_key, dict[str, bytes]()
        query = "SELECT path AS shard FROM shards UNION SELECT shard FROM gone UNION SELECT shard FROM flaws"
        shards = [shard for (shard,) in self._sql.execute(query) if shard_writer(shard)[0] == writer]
        for shard in sorted(shards):
            for data in self._witness.written(shard):
                if not (found := read_link(data)):
                    continue
                link, text = found
                keys = [one for one in (key, again if "relinked" in data else None) if one]
                if key and not any(is_own(data, link, text, one) for one in keys):
                    continue
                one = _Written(shard, data, link)
                if first.setdefault(one.id, link.body) == link.body:
                    yield one

    def _place(self, one: _Written, lost: Mapping[bytes, _Written]) -> str:
        """Return where a line counts: after the line that it was written after."""
        steps, parent = 0, one.link.parent
        while parent in lost and steps < len(lost):
            steps, parent = steps + 1, lost[parent].link.parent
        query = "SELECT path, offset, lines.size, coalesce(place, '') FROM lines JOIN shards ON num=shard WHERE link=?"
        row = self._sql.execute(query, (parent,)).fetchone() if parent else None
        return f"{Span(*row).place if row else _start(one.shard)}~{steps:06d}"

    def _after(self, shard: str, number: int) -> str:
        query = """SELECT path, offset, lines.size, coalesce(place, '') FROM lines JOIN shards ON num=shard
                   WHERE path=? AND (number<? OR ?=0) ORDER BY number DESC LIMIT 1"""
        row = self._sql.execute(query, (shard, number, number)).fetchone()
        return f"{Span(*row).place if row else _start(shard)}~"

    def _hold(self, name: str, shard: str, place: str, corpus: str, id: str, link: bytes | None, *, bars: bool) -> None:
        """Hold back a record, the target of an event, or a user's consent."""
        query = "SELECT DISTINCT corpora.name FROM lines JOIN corpora ON corpora.num=corpus WHERE id=?"
        where = {row[0] for row in self._sql.execute(query, (name,))} if name != CONSENT else {corpus}
        for each in where - {""}:
            row = (each, shard, place, "", name, int(bars), id, link)
            self._sql.execute("INSERT INTO stand_ins VALUES(?,?,?,?,?,?,?,?)", row)


def _start(shard: str) -> str:
    """Return a value that sorts before every position in a shard."""
    return Span(shard, 0, 0).place.rpartition("/")[0] + "/!"
