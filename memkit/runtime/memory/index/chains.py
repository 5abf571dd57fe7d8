"""Verifies a catalogue's lines by their chains of links: which lines were forged, and which are gone.

A line is judged once, when it is entered. A line that does not fit is a flaw and is not entered, so no query on the
index ever sees it. An entered line that is no longer there is kept in ``gone`` by its digests, so that a changed line
that comes back is told from an unchanged one.
"""

import json
import sqlite3
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

from ..interface import ShardProblem
from ..log.log import (
    Forged,
    Link,
    Log,
    Tip,
    Witness,
    WriterHead,
    body_of,
    claimed_link,
    digits,
    is_own,
    link_of,
    read_link,
    read_own_link,
    shard_writer,
)
from ..record.lines import JSON
from ..record.record import CONSENT, user_corpus

if TYPE_CHECKING:
    from .stand_ins import StandIns

try:  # importing hashlib costs more time than a search
    from _blake2 import blake2b
except ImportError:
    from hashlib import blake2b

SCHEMA = """
CREATE TABLE chains(num INTEGER PRIMARY KEY, writer TEXT, owner TEXT, tail BLOB, count INT, UNIQUE(writer, owner));
CREATE TABLE writers(
    name TEXT PRIMARY KEY, linked INT, unlinked INT, last BLOB, shard TEXT, is_new INT, reordered INT);
CREATE TABLE gone(
    link BLOB PRIMARY KEY, id TEXT, body BLOB, writer TEXT, owner TEXT, type TEXT, shard TEXT, number INT, code TEXT,
    many INT, said INT);
CREATE INDEX gone_by_id ON gone(id);
CREATE TABLE flaws(
    shard TEXT, number INT, code TEXT, id TEXT, owner TEXT, type TEXT, claimed BLOB, message TEXT,
    names TEXT);
CREATE TABLE witness(kept BLOB);
CREATE TABLE stand_ins(corpus TEXT, shard TEXT, place TEXT, line TEXT, held TEXT, bars INT, id TEXT, link BLOB);
CREATE TABLE wrong(state TEXT);
"""
TAMPERED, MISSING, MOVED_BACK = "tampered", "missing", "moved_back"
TORN, HEADS_DAMAGED = "torn", "heads-damaged"
ASKED_AT_ONCE = 500
"""Values in one query; old builds of SQLite allow only some hundred."""
ENTERED_TOGETHER = 32
"""Rows of one statement; with their columns they stay below the same limit."""
EDITED = "edited"
"""Why a line is gone: another line is in its place, and that one is reported."""
CONSTRAINT = "constraint"
_UNLINKED = "It has no link, but other lines of this writer do."
_OTHERWISE = "Id {} was different when this clone last read it."
_NOT_WRITTEN = "It is among the lines of this clone, but this clone did not write it."
_OTHERWISE_IN_GIT = "Id {} was different when it was first committed."
_COUNTS = " The version in git counts."
_HELD = " What it removed is withheld until 'memkit fsck' finds no problem."
_UNKNOWN = " What it retired, if anything, may be served again."
_ORPHANS = """
SELECT l.shard, l.number, l.chain, l.parent FROM lines AS l
WHERE l.seq > ? AND length(l.parent) > 0 AND NOT EXISTS(SELECT 1 FROM lines AS p WHERE p.link = l.parent)
AND NOT EXISTS(SELECT 1 FROM gone WHERE gone.link = l.parent)
AND NOT EXISTS(SELECT 1 FROM flaws WHERE flaws.claimed = l.parent)"""
_REORDERED = """
SELECT DISTINCT l.chain FROM lines AS l JOIN lines AS p ON p.link = l.parent
WHERE l.seq > ? AND length(l.parent) > 0 AND p.shard = l.shard AND p.offset > l.offset"""


class ChainedLine(NamedTuple):
    """A line that may be entered."""

    id: str
    owner: str
    type: str | None
    """Set only for a constraint or a consent."""
    link: Link | None


class TamperedLine(NamedTuple):
    """The position of a withheld line, and what it claims to be."""

    shard: str
    number: int
    id: str
    claimed: bytes
    """The link that the line had, or claims to have."""


class Withheld(NamedTuple):
    """A user's line that is not served, or gone."""

    id: str
    type: str | None
    code: str


class Lacking(NamedTuple):
    """How the lines of a writer fall short of a head that was kept elsewhere."""

    code: str
    message: str
    tips: Sequence[str] = ()
    """The links of the lines that are not here."""


class Chains:
    """The chains of a catalogue's lines, in its database."""

    def __init__(self, sql: sqlite3.Connection, witness: Witness | None, is_current: Callable[[], bool]) -> None:
        """Keep the chains in ``sql``, whose file ``is_current`` unless it was removed meanwhile."""
        self._sql = sql
        self._is_current = is_current
        self._witness = witness
        self._compared: bytes | None = None
        """The heads that this process compared the lines with."""

    @cached_property
    def stand_ins(self) -> "StandIns":
        """Return the stand-ins for lines that are withheld or gone; mostly there are no such lines."""
        from .stand_ins import StandIns

        return StandIns(self._sql, self._witness)

    def reckon(self) -> None:
        """Recompute the stand-ins if any lines are, or were, withheld or gone."""
        if self.has_something_to_say() or self._sql.execute("SELECT 1 FROM wrong WHERE state!=''").fetchone():
            self.stand_ins.reckon()

    @property
    def is_compared(self) -> bool:
        """Return whether this process compared the lines with the heads kept outside the store."""
        return self._witness is None or self._compared is not None

    def tail(self, writer: str, owner: str) -> bytes:
        """Return the line that a writer's next one about a user follows; empty if it is the first."""
        row = self._sql.execute("SELECT tail FROM chains WHERE writer=? AND owner=?", (writer, owner)).fetchone()
        return bytes(row[0]) if row and row[0] else b""

    def reading_order(self) -> Callable[[str], tuple[object, ...]]:
        """Return the sort key of shards to be read: first what this clone wrote, whose ids no other line can take."""
        witness = self._witness
        if witness is None:
            return shard_order
        known = witness.heads(witness.kept())

        def order(path: str) -> tuple[object, ...]:
            writer = shard_writer(path)[0]
            return (not witness.is_own(writer), writer not in known, *shard_order(path))

        return order

    def key_for(self, writer: str) -> bytes | None:
        """Return the key by which this clone recognises a writer's lines as its own; None for other writers."""
        return self._witness.key_for(writer) if self._witness else None

    def holds_unlinked(self, writer: str) -> bool:
        """Return whether a writer has lines without links, to which no linked ones are added."""
        row = self._sql.execute("SELECT unlinked FROM writers WHERE name=?", (writer,)).fetchone()
        return bool(row and row[0])

    def joined(self, shard: str, entries: Sequence[ChainedLine], seen: set[bytes] | None = None) -> dict[str, int]:
        """Register lines of a shard, each at the end of its chain; return the chains' numbers by owner.

        A line already registered elsewhere is counted once.

        The links ``seen`` are those counted so far, to which theirs are added; by default those of all lines.
        """
        writer, links = shard_writer(shard)[0], [entry.link.own for entry in entries if entry.link]
        counted = self._standing(links) if seen is None else seen
        tails: dict[str, bytes | None] = {}
        counts: Counter[str] = Counter()
        for entry in entries:
            own = entry.link.own if entry.link else None
            tails[entry.owner] = own or tails.get(entry.owner)
            if own is not None and own not in counted:
                counts[entry.owner] += 1
                counted.add(own)
        upsert = """INSERT INTO chains(writer, owner, tail, count) VALUES(?,?,?,?)
               ON CONFLICT(writer, owner) DO UPDATE SET tail=coalesce(excluded.tail, tail), count=count+excluded.count
               RETURNING num"""
        numbers = {
            owner: int(self._sql.execute(upsert, (writer, owner, tail, counts[owner])).fetchone()[0])
            for owner, tail in tails.items()
        }
        many, plain, last = counts.total(), len(entries) - len(links), links[-1] if links else None
        counted_in = """UPDATE writers SET linked=linked+?, unlinked=unlinked+?, last=coalesce(?, last), shard=?
                     WHERE name=?"""
        if entries and not self._sql.execute(counted_in, (many, plain, last, shard, writer)).rowcount:
            is_own = self._witness is None or self._witness.is_own(writer)
            is_new = not is_own and self._sql.execute("SELECT 1 FROM witness").fetchone() is not None
            stands = (writer, many, plain, last, shard, int(is_new), 0)
            self._sql.execute("INSERT INTO writers VALUES(?,?,?,?,?,?,?)", stands)
        return numbers

    def _standing(self, links: Sequence[bytes]) -> set[bytes]:
        """Return the links among these that belong to existing lines."""
        rows = asked_in(self._sql, "SELECT link FROM lines WHERE link IN ({0})", links)
        return {bytes(link) for (link,) in rows}

    def judged(
        self,
        data: Mapping[str, JSON],
        said: Mapping[str, set[bytes]],
        *,
        ours: Collection[str],
        mixed: Callable[[], bool],
        key: bytes | None,
        line: bytes = b"",
    ) -> tuple[ChainedLine, bytes] | str:
        """Return a line ready to be entered, with the content bytes of a linked one, or the reason for withholding it.

        Args:
            data: The parsed line.
            said: What lines with its id said, as ``said`` returns it.
            ours: The ids of lines with links that this clone wrote, as ``ours`` returns them.
            mixed: Whether its writer has lines with links.
            key: The key by which this clone recognises the writer's lines as its own; None for other writers.
            line: The stored line, if at hand.
        """
        if key and line and (found := read_own_link(data, line, key)):
            link, text = found
            return entry_of(data, link), text
        try:
            found = read_link(data)
        except Forged as error:
            return str(error)
        entry = entry_of(data, found and found[0])
        known = said.get(entry.id) if entry.id else None
        if found is None:
            if mixed():
                return _UNLINKED
            return _OTHERWISE.format(entry.id) if known and known != {body_of(data)} else (entry, b"")
        link, text = found
        again = self._witness.relinking_key if self._witness and "relinked" in data else None
        if (key and is_own(data, link, text, key)) or (again and is_own(data, link, text, again)):
            return entry, text
        if known and known != {link.body}:
            return _OTHERWISE.format(entry.id)
        # A line of this clone that memkit relinked elsewhere is recognised by its content.
        if key is not None and not ("relinked" in data and known and entry.id in ours):
            return _NOT_WRITTEN
        return entry, text

    def is_genuine(self, shard: str, data: Mapping[str, JSON]) -> bool:
        """Return whether a line fits its link, and nothing known says that it was forged."""
        writer, ids = shard_writer(shard)[0], [entry_of(data).id]
        judged = self.judged(
            data, self.said(ids), ours=self.ours(ids), mixed=lambda: self.has_links(writer), key=self.key_for(writer)
        )
        return not isinstance(judged, str)

    def has_links(self, writer: str) -> bool:
        """Return whether lines of a writer have links."""
        row = self._sql.execute("SELECT linked FROM writers WHERE name=?", (writer,)).fetchone()
        return bool(row and row[0])

    def unlinked_among_linked(self) -> list[str]:
        """Return the shards of unlinked lines whose writers have linked lines elsewhere."""
        mixed = {name for (name,) in self._sql.execute("SELECT name FROM writers WHERE linked AND unlinked")}
        query = "SELECT DISTINCT path FROM lines JOIN shards ON num=shard WHERE link IS NULL ORDER BY path"
        return [path for (path,) in self._sql.execute(query) if shard_writer(path)[0] in mixed] if mixed else []

    def has_lost_links(self, shard: str, data: bytes) -> bool:
        """Return whether a shard's lines had links when this clone read them, and somebody removed all of them."""
        return self._witness is not None and self._witness.has_lost_links(shard_writer(shard)[0], shard, data)

    def flaw(self, problem: ShardProblem, data: Mapping[str, JSON]) -> None:
        """Record the fault of a line that is not entered."""
        from .stand_ins import names_in

        entry = entry_of(data)
        row = (problem.path, problem.line, problem.code, entry.id, entry.owner, entry.type, claimed_link(data))
        self._sql.execute(
            "INSERT INTO flaws VALUES(?,?,?,?,?,?,?,?,?)", (*row, problem.message, json.dumps(names_in(data)))
        )

    def damaged(self, shard: str, number: int, line: bytes, reason: str) -> None:
        """Record a line that does not belong to the archive."""
        from ..log.check import flawed

        code, told = flawed(line, reason)
        self.flaw(ShardProblem(code, shard, number, told), {})

    def note_end(self, shard: str, number: int, rest: bytes) -> None:
        """Record what follows the last complete line of a shard: nothing, or a torn line."""
        self._sql.execute("DELETE FROM flaws WHERE shard=? AND code=?", (shard, TORN))
        if rest.strip():
            self.flaw(
                ShardProblem(TORN, shard, number, f"The last line is torn: {len(rest)} bytes without a line end."), {}
            )

    def said(self, ids: Sequence[str]) -> defaultdict[str, set[bytes]]:
        """Return for each id the digests of what lines with it said, including lines that are gone."""
        found: defaultdict[str, set[bytes]] = defaultdict(set)
        for table in ("gone", "lines"):
            if not self._sql.execute(f"SELECT 1 FROM {table} LIMIT 1").fetchone():
                continue
            for id, body in asked_in(self._sql, f"SELECT id, body FROM {table} WHERE id IN ({{0}})", ids):
                if body is not None:
                    found[id].add(bytes(body))
        return found

    def ours(self, ids: Sequence[str]) -> set[str]:
        """Return those of some ids whose lines, here or gone, have links and are this clone's."""
        query = """SELECT id, writer FROM lines JOIN chains ON num=chain WHERE link IS NOT NULL AND id IN ({0})
                   UNION SELECT id, writer FROM gone WHERE id IN ({0})"""
        found = asked_in(self._sql, query, ids) if self._witness else ()
        return {id for id, writer in found if self._witness and self._witness.is_own(writer)}

    def forget_flaws(self, shard: str) -> None:
        """Forget the faults of a shard before it is read again."""
        self._sql.execute("DELETE FROM flaws WHERE shard=?", (shard,))

    def leaving(self, number: int, shard: str) -> None:
        """Note the lines of a shard that is dropped, or about to be reread."""
        self._sql.execute(
            """INSERT OR REPLACE INTO gone
               SELECT link, id, body, writer, owner, type, ?, number, '', 1, 0
               FROM lines JOIN chains ON num = chain WHERE shard=? AND link IS NOT NULL""",
            (shard, number),
        )

    def recount(self, writer: str) -> None:
        """Recompute the state of a writer whose lines were dropped."""
        self._sql.execute("UPDATE chains SET tail=NULL, count=0 WHERE writer=?", (writer,))
        self._sql.execute("UPDATE writers SET linked=0, unlinked=0, last=NULL, reordered=0 WHERE name=?", (writer,))
        shards, seen = self._sql.execute("SELECT num, path FROM shards").fetchall(), set[bytes]()
        for num, path in sorted(shards, key=lambda one: shard_order(one[1])):
            if shard_writer(path)[0] != writer:
                continue
            query = "SELECT owner, link FROM lines JOIN chains ON num = chain WHERE shard=? ORDER BY offset"
            rows = self._sql.execute(query, (num,)).fetchall()
            links = ((owner, Link(bytes(link), b"", b"") if link else None) for owner, link in rows)
            self.joined(path, [ChainedLine("", owner, None, link) for owner, link in links], seen)

    def settle(self, log: Log, since: int, *, dropped: bool) -> None:
        """Determine what the lines entered after number ``since``, and dropped ones, mean for the chains."""
        if dropped:
            self._sql.execute("DELETE FROM gone WHERE link IN (SELECT link FROM lines)")
            again = "EXISTS(SELECT 1 FROM lines WHERE lines.id=gone.id AND lines.body=gone.body)"
            self._sql.execute(f"DELETE FROM gone WHERE id!='' AND {again}")
            nameless = "DELETE FROM gone WHERE id='' AND number>0 AND link NOT IN (SELECT parent FROM lines)"
            self._sql.execute(nameless)
        self._sql.execute("DELETE FROM gone WHERE link IN (SELECT link FROM lines WHERE seq>?)", (since,))
        for orphan in self._sql.execute(_ORPHANS, (since,)).fetchall():
            self._note_gap(*orphan)
        for (chain,) in self._sql.execute(_REORDERED, (0 if dropped else since,)).fetchall():
            self._put_in_order(chain)
        self._name_gone(log)

    def compare_heads(self, log: Log) -> None:
        """Compare the lines with the heads that this clone keeps outside the store, if not yet done."""
        if self._witness is None:
            return
        kept = self._witness.kept()
        if kept == self._compared:
            return
        row = self._sql.execute("SELECT kept FROM witness").fetchone()
        lost = log.lost()
        if lost or row is None or bytes(row[0]) != kept:
            heads = self._witness.heads(kept)
            for writer, head in [*heads.items(), *lost.items()]:
                self._compare(writer, head)
            if heads:
                names = ",".join("?" * len(heads))
                others = f"UPDATE writers SET is_new=1 WHERE name NOT IN ({names})"
                self._sql.execute(others, tuple(heads))
            self._name_gone(log)
            kept = self.keep_heads() or kept
        self._compared = kept

    def keep_heads(self) -> bytes:
        """Save each writer's head, except where a line is missing: that remains to be reported."""
        if self._witness is None:
            return b""
        before = self._witness.heads(self._witness.kept())
        missed = {row[0] for row in self._sql.execute("SELECT DISTINCT writer FROM gone WHERE code=?", (MISSING,))}
        query = "SELECT name, last, linked, shard FROM writers WHERE last IS NOT NULL"
        heads = {
            name: WriterHead(bytes(last).hex(), count, shard) for name, last, count, shard in self._sql.execute(query)
        }
        heads |= {writer: before[writer] for writer in missed if writer in before}
        kept = self._witness.keep(heads, self._is_current)
        self._sql.execute("DELETE FROM witness")
        self._sql.execute("INSERT INTO witness VALUES(?)", (kept,))
        self._compared = kept
        return kept

    def _compare(self, writer: str, head: WriterHead) -> None:
        """Note what a writer had and has no more, if nothing else knows of it."""
        last, lacking = bytes.fromhex(head.last), b"lines of " + writer.encode()
        query = """SELECT 1 FROM lines WHERE link=? UNION ALL SELECT 1 FROM gone WHERE link=?
                   UNION ALL SELECT 1 FROM flaws WHERE claimed=?"""
        is_known = self._sql.execute(query, (last, last, last)).fetchone() is not None
        query = """SELECT (SELECT linked FROM writers WHERE name=?),
                   (SELECT sum(many) FROM gone WHERE writer=? AND link!=?),
                   (SELECT count(*) FROM flaws WHERE code=? AND length(claimed)>0 AND shard LIKE ?)"""
        asked = (writer, writer, lacking, TAMPERED, f"%/{writer}%")
        here = sum(filter(None, self._sql.execute(query, asked).fetchone()))
        self._sql.execute("DELETE FROM gone WHERE link=?", (lacking,))
        if not is_known:  # it was truncated, or everything after a line was recomputed
            shards = self._sql.execute("SELECT path FROM shards").fetchall()
            for shard in (path for (path,) in shards if shard_writer(path)[0] == writer):
                first = {one.id: one.link.body for one in reversed([*self._in_git(shard)]) if one.link}
                for id, body in first.items():
                    self._withhold_others(id, body)
        if not is_known or here < head.lines:
            link, missing = lacking if is_known else last, max(1, head.lines - here)
            row = (link, "", None, writer, "", None, head.shard, 0, "", missing, 0)
            self._sql.execute("INSERT OR IGNORE INTO gone VALUES(?,?,?,?,?,?,?,?,?,?,?)", row)

    def _note_gap(self, shard: int, number: int, chain: int, parent: bytes) -> None:
        """Note that a line's predecessor is gone, or replaced by another."""
        path = self._sql.execute("SELECT path FROM shards WHERE num=?", (shard,)).fetchone()[0]
        writer, owner = self._sql.execute("SELECT writer, owner FROM chains WHERE num=?", (chain,)).fetchone()
        found = next(
            (one for one in self._in_git(path) if one.link and one.link.own == parent), ChainedLine("", "", None, None)
        )
        entry, link = found, found.link
        row = (parent, entry.id, link.body if link else None, writer, owner, entry.type, path, number, "", 1, 0)
        self._sql.execute("INSERT OR IGNORE INTO gone VALUES(?,?,?,?,?,?,?,?,?,?,?)", row)
        self._withhold_others(entry.id, link.body if link else b"")

    def _in_git(self, shard: str) -> Iterator[ChainedLine]:
        """Yield the lines that a shard has and had in git, the oldest state first."""
        for data in self._witness.written(shard) if self._witness and self._witness.written else ():
            yield entry_of(data, link_of(data))

    def _withhold_others(self, id: str, body: bytes) -> None:
        """Withhold the lines of an id whose content differs from this."""
        query = """SELECT seq, path, number, id, owner, type, link, corpus FROM lines JOIN shards ON shards.num=shard
                   JOIN chains ON chains.num=chain WHERE id=? AND id!='' AND body IS NOT NULL AND body!=?"""
        for seq, where, line, _, whose, kind, own, corpus in self._sql.execute(query, (id, body)).fetchall():
            self._sql.execute("DELETE FROM lines WHERE seq=?", (seq,))
            self._sql.execute("UPDATE corpora SET generation = abs(random()) WHERE num=?", (corpus,))
            row = (where, line, TAMPERED, id, whose, kind, own, _OTHERWISE_IN_GIT.format(id), "")
            self._sql.execute("INSERT INTO flaws VALUES(?,?,?,?,?,?,?,?,?)", row)

    def _name_gone(self, log: Log) -> None:
        """Classify each newly gone line: changed, moved back in history, or missing."""
        # A changed line may since have been removed, or changed further beyond recognition.
        self._sql.execute(
            """UPDATE gone SET code='' WHERE code=?
               AND link NOT IN (SELECT claimed FROM flaws WHERE claimed IS NOT NULL)
               AND (id='' OR id NOT IN (SELECT id FROM flaws WHERE id IS NOT NULL))""",
            (EDITED,),
        )
        self._sql.execute(
            """UPDATE gone SET code=? WHERE code='' AND EXISTS(
               SELECT 1 FROM flaws WHERE claimed=gone.link OR (gone.id!='' AND flaws.id=gone.id))""",
            (EDITED,),
        )
        # A changed line may have become another type.
        self._sql.execute(
            """UPDATE flaws SET type=? WHERE type IS NULL AND EXISTS(
               SELECT 1 FROM gone WHERE gone.type=? AND (gone.link=flaws.claimed OR gone.id=flaws.id))""",
            (CONSTRAINT, CONSTRAINT),
        )
        shards = self._sql.execute("SELECT DISTINCT shard FROM gone WHERE code=''").fetchall()
        earlier = self._witness.earlier if self._witness else None
        present = log.shards() if shards and earlier is not None else {}
        for (shard,) in shards:
            links = [
                bytes(row[0]).hex()
                for row in self._sql.execute("SELECT link FROM gone WHERE shard=? AND code=''", (shard,))
            ]
            data = log.read(shard) if shard in present else None
            code = MOVED_BACK if earlier is not None and earlier(shard, data, links) else MISSING
            self._sql.execute("UPDATE gone SET code=? WHERE shard=? AND code=''", (code, shard))

    def _put_in_order(self, chain: int) -> None:
        """Order the lines of a chain by their links, wherever they are in their files."""
        from ..log.log import Span

        query = "SELECT seq, path, offset, lines.size, link, parent FROM lines JOIN shards ON num=shard WHERE chain=?"
        lines = sorted(
            ((Span(path, offset, size).place, seq, link, parent) for seq, path, offset, size, link, parent
             in self._sql.execute(query, (chain,))),
        )  # fmt: skip
        known, order = {line[2] for line in lines}, []
        waiting: dict[bytes, list[tuple[str, int, bytes, bytes]]] = {}
        placed: set[bytes] = set()
        for line in lines:
            if line[3] and line[3] in known and line[3] not in placed:
                waiting.setdefault(line[3], []).append(line)
                continue
            ready = [line]
            while ready:
                one = ready.pop(0)
                order.append(one)
                placed.add(one[2])
                ready += waiting.pop(one[2], [])
        order += [line for lines in waiting.values() for line in lines]
        for line, (place, *_) in zip(order, lines, strict=True):
            self._sql.execute("UPDATE lines SET place=? WHERE seq=?", (place, line[1]))
        writer = self._sql.execute("SELECT writer FROM chains WHERE num=?", (chain,)).fetchone()[0]
        self._sql.execute("UPDATE writers SET reordered=1 WHERE name=?", (writer,))
        self._sql.execute(
            "UPDATE corpora SET generation=abs(random()) WHERE num IN (SELECT corpus FROM lines WHERE chain=?)",
            (chain,),
        )

    def problems(self) -> list[ShardProblem]:
        """Return the faults: lines that are withheld, damaged or missing."""
        found = [
            ShardProblem(code, f"archive/{shard}", number, _told(code, id, message) + self._stand_in_told(id, claimed))
            for shard, number, code, id, message, claimed in self._sql.execute(
                "SELECT shard, number, code, id, message, claimed FROM flaws ORDER BY shard, number"
            ).fetchall()
        ]
        return found + list(self._gone(MISSING))

    def notes(self) -> list[ShardProblem]:
        """Return what is worth a look but no fault: lines moved back or reordered, unlinked, or of a new writer."""
        found = list(self._gone(MOVED_BACK))
        query = "SELECT name, unlinked, is_new, reordered, shard FROM writers WHERE unlinked OR is_new OR reordered"
        for writer, unlinked, is_new, reordered, shard in self._sql.execute(f"{query} ORDER BY name"):
            path = f"archive/{shard}"
            if unlinked:
                told = f"Lines of {writer} have no links ({unlinked}), so changes to them cannot be detected."
                found.append(ShardProblem("unlinked", path, 0, f"{told} 'memkit migrate' links them."))
            if reordered:
                told = (
                    f"The lines of {writer} are not in the order in which they were written; their links give the "
                    "order."
                )
                found.append(ShardProblem("reordered", path, 0, told))
            if is_new:
                found.append(ShardProblem("new_writer", path, 0, f"The writer {writer} was not seen here before."))
        return found

    def moved_back_since(self) -> list[ShardProblem]:
        """Return what was moved back and not reported yet; afterwards it becomes one of the notes."""
        found = list(self._gone(MOVED_BACK, unsaid=True))
        if found:
            self._sql.execute("UPDATE gone SET said=1 WHERE code=?", (MOVED_BACK,))
        return found

    def seen(self) -> None:
        """Mark the writers as reported."""
        self._sql.execute("UPDATE writers SET is_new=0")

    def withheld(self, owner: str) -> list[Withheld]:
        """Return the lines of a user that are withheld or missing."""
        query = """SELECT id, type, code FROM flaws WHERE owner=? AND code=?
                   UNION ALL SELECT id, type, code FROM gone WHERE owner=? AND code=?
                   UNION ALL SELECT id, type, ? FROM lines WHERE type=? AND id IN (
                       SELECT held FROM stand_ins WHERE corpus=?)"""
        asked = (owner, TAMPERED, owner, MISSING, TAMPERED, CONSTRAINT, user_corpus(owner))
        return [Withheld(*row) for row in self._sql.execute(query, asked)]

    def has_something_to_say(self) -> bool:
        """Return whether any line is withheld, damaged or gone; every query asks this."""
        query = "SELECT EXISTS(SELECT 1 FROM flaws) OR EXISTS(SELECT 1 FROM gone)"
        return bool(self._sql.execute(query).fetchone()[0])

    def tampered(self) -> list[TamperedLine]:
        """Return the lines that are withheld."""
        query = "SELECT shard, number, id, claimed FROM flaws WHERE code=? ORDER BY shard, number"
        return [TamperedLine(*row) for row in self._sql.execute(query, (TAMPERED,))]

    def torn(self) -> list[str]:
        """Return the shards whose last line was torn."""
        return [shard for (shard,) in self._sql.execute("SELECT shard FROM flaws WHERE code=?", (TORN,))]

    def own_heads(self, tips: Iterable[Tip] | None = None) -> dict[str, dict[str, JSON]]:
        """Return this clone's position as a writer, to be kept in git: a count, a root, and its chains by user.

        The users can only be identified with this machine's key.

        Args:
            tips: The ends of the chains, if not all of their lines were entered here.
        """
        found: dict[str, dict[str, JSON]] = {}
        witness = self._witness
        if witness is None:
            return found
        query = "SELECT writer, owner, count, lower(hex(tail)) FROM chains WHERE tail IS NOT NULL"
        chains = [Tip(*row) for row in self._sql.execute(query)] if tips is None else tips
        chains = sorted(chain for chain in chains if witness.is_own(chain.writer))
        for writer in sorted({chain.writer for chain in chains}):
            own = [(witness.digest(owner), count, tip) for name, owner, count, tip in chains if name == writer]
            users: dict[str, JSON] = {mark: {"count": count, "tip": tip} for mark, count, tip in sorted(own)}
            total = sum(count for _, count, _ in own)
            found[writer] = {"count": total, "root": root_of(tip for _, _, tip in own), "users": users}
        return found

    def lacking(self, writer: str, head: Mapping[str, JSON]) -> Lacking | None:
        """Return how a writer's lines fall short of a head kept elsewhere; None if they match it."""
        users = head.get("users")
        tips = (
            [str(one.get("tip")) for one in users.values() if isinstance(one, Mapping)]
            if isinstance(users, Mapping)
            else []
        )
        if head.get("root") != root_of(tips):
            return Lacking(HEADS_DAMAGED, "The head does not match its own digest: it was changed.")
        row = self._sql.execute("SELECT linked FROM writers WHERE name=?", (writer,)).fetchone()
        here, said = int(row[0]) if row else 0, head.get("count")
        known = "SELECT 1 FROM lines WHERE link=? UNION ALL SELECT 1 FROM flaws WHERE claimed=?"
        gone = [tip for tip in tips if not self._sql.execute(known, [digits(tip)] * 2).fetchone()]
        if not gone:
            return None
        told = f"{len(gone)} of the {len(tips)} chains of {writer} lack the line at which they ended"
        if isinstance(said, int) and here < said:
            return Lacking(MISSING, f"{told}: there were {said} lines, now {here}.", gone)
        return Lacking(TAMPERED, f"{told}: what {writer} wrote was rewritten.", gone)

    def accept(self) -> None:
        """Accept what is gone as gone."""
        self._sql.execute("DELETE FROM gone WHERE code IN (?, ?)", (MISSING, EDITED))
        if self._witness is not None:
            self._witness.forget()
            self.keep_heads()

    def _stand_in_told(self, id: str, link: bytes | None) -> str:
        """Return the message about a line's stand-in."""
        counts = self.stand_ins.stands_for(id, link)
        return "" if counts is None else _COUNTS if counts else _HELD

    def _gone(self, code: str, *, unsaid: bool = False) -> Iterator[ShardProblem]:
        query = """SELECT shard, number, id, writer, many, link FROM gone WHERE code=? AND said<=?
                   ORDER BY shard, number"""
        for shard, number, id, writer, many, link in self._sql.execute(query, (code, int(not unsaid))).fetchall():
            what = f"{many} lines of {writer}" if many > 1 else f"Line {id}" if id else f"A line of {writer}"
            verb = "were" if many > 1 else "was"
            if code == MOVED_BACK:
                told = f"{what} {verb} here before the history was moved back to an earlier state."
            else:
                told = f"{what} that {verb} here before {'are' if many > 1 else 'is'} gone."
                told += self._stand_in_told(id, link) or _UNKNOWN
            yield ShardProblem(code, f"archive/{shard}", number, told)


def root_of(tips: Iterable[str]) -> str:
    """Return a digest of the last lines of all chains of a writer."""
    return blake2b("\n".join(sorted(tips)).encode(), digest_size=32).hexdigest()


def _told(code: str, id: str, message: str) -> str:
    if code != TAMPERED:
        return message
    return f"Line {id or '(without an id)'} is withheld. {message}"


def asked_in(sql: sqlite3.Connection, query: str, values: Sequence[Any]) -> Iterator[tuple[Any, ...]]:
    """Yield the results of a query for many values, which replace each ``{0}`` in it, some at a time."""
    for start in range(0, len(values), ASKED_AT_ONCE):
        some = values[start : start + ASKED_AT_ONCE]
        marks = ",".join("?" * len(some))
        yield from sql.execute(query.format(marks), [*some] * query.count("{0}"))


def enter_many(sql: sqlite3.Connection, statement: str, rows: Sequence[Sequence[object]]) -> None:
    """Run a statement ending with one row's values for many rows; together they take three quarters of the time."""
    values = statement[statement.rindex("VALUES") + len("VALUES") :]
    whole = len(rows) - len(rows) % ENTERED_TOGETHER
    some = (rows[start : start + ENTERED_TOGETHER] for start in range(0, whole, ENTERED_TOGETHER))
    several = statement + f",{values}" * (ENTERED_TOGETHER - 1)
    sql.executemany(several, ([value for row in each for value in row] for each in some))
    sql.executemany(statement, rows[whole:])


def entry_of(data: Mapping[str, JSON], link: Link | None = None) -> ChainedLine:
    """Return what the chains need to know of a line, including its position."""
    id, owner = data.get("id"), data.get("user_id")
    kind = CONSTRAINT if data.get("type") == CONSTRAINT and "op" not in data else None
    kind = CONSENT if data.get("op") == CONSENT else kind
    return ChainedLine(id if isinstance(id, str) else "", owner if isinstance(owner, str) else "", kind, link)


def shard_order(path: str) -> tuple[str, str, int]:
    """Return the sort key in which shards are read, so that a writer's lines come in the order written."""
    return (path.partition("/")[0], *shard_writer(path))
