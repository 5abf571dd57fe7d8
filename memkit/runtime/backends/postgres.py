"""An archive in PostgreSQL: the lines of each writer about each user form a separate shard.

A write is acknowledged by its commit. Until then a change holds an advisory lock for each of its users, so that changes
about different users never wait for each other. If a connection is lost during a commit, it is unknown whether that
succeeded; the attempt is repeated under the same locks, and a line already in its place is not written again.

A query costs one round trip, to ask how often anything about its user, or what is shared, changed. If that is
unchanged, this instance's index is still current.
"""

from __future__ import annotations

import os
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext, suppress
from functools import cached_property, lru_cache
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar
from urllib.parse import quote, unquote

import psycopg
from psycopg import errors, generators
from psycopg.pq import Escaping, ExecStatus

from ..memory.log.clone import lock_file, state_folder
from ..memory.log.log import (
    KeyOf,
    NewestLine,
    ShardStat,
    Span,
    Tip,
    Users,
    WriterHead,
    Written,
    claimed_link,
    linked,
    parent_of,
)
from ..memory.log.shards import checked_writer, clone_name, locked
from ..memory.record.lines import EMPTY, JSON, ArchiveError, InvalidRecord, decode_line, encode_line
from ..memory.record.record import SHARED, SHARING, corpus_of
from .interface import BackendAway, BackendUnfit, Instance
from .postgres_server import LOCK_SECONDS, MEANWHILE, PostgresServer, unusable
from .schema import LISTING, SCHEMA, SETTING, has_vectors, rights_missing, served_by

if TYPE_CHECKING:
    from .postgres_vectors import PostgresVectors

Answer = TypeVar("Answer")
OF_ALL = "shared@"
"""Prefix of the names of shards with what somebody shared."""
FETCHED_BYTES = 1 << 20
"""Bytes of lines fetched at once when all of a user's lines are read."""
CLEARED_AT_ONCE = 100
"""Users whose lines are deleted in one transaction."""
KNOWN_USERS = 10_000
"""The number of users whose shard names are cached."""


@lru_cache(maxsize=1024)
def folder_of(user_id: str) -> str:
    """Return the prefix of the names of the shards about a user."""
    return quote(user_id, safe="", errors="surrogatepass") + "/"


def shard_of(writer: str, user_id: str, *, shared: bool) -> str:
    """Return the name of a writer's shard about a user."""
    return f"{OF_ALL if shared else ''}{folder_of(user_id)}{writer}.jsonl"


def owner_of(shard: str) -> tuple[str, str]:
    """Return the user of a shard, and its writer."""
    folder, _, name = shard.partition("/")
    return unquote(folder.removeprefix(OF_ALL)), name.removesuffix(".jsonl")


class _Listed(NamedTuple):
    version: int
    shards: Mapping[str, ShardStat]


class PostgresLog:
    """The lines of many users in one database."""

    def __init__(self, url: str, instance: Instance) -> None:
        self._url = url
        self.server = PostgresServer(url)
        self.witness = NewestLine(instance.root)
        self._name = instance.name
        self._root = instance.root
        self._writer = ""
        self._listed: OrderedDict[str, _Listed] = OrderedDict()
        """The shards about each user as of the last query; the shared ones are under an empty name."""
        self._is_ours = False
        """Whether the database was seen not to be another store's."""
        self.open_batch: PostgresBatch | None = None

    @property
    def cache(self) -> str:
        """Return a name for the cached index of this database."""
        return "postgresql-" + blake2b(self.server.shown.encode(), digest_size=8).hexdigest()

    @property
    def writer(self) -> str:
        """Return the name under which this clone writes."""
        if not self._writer:
            state = state_folder(self._root)
            is_new = not (state / "writer").exists()  # the holder of the lock may request an existing name
            with locked(lock_file(self._root), timeout=LOCK_SECONDS) if is_new else nullcontext():
                self._writer = clone_name(state, checked_writer)
        return self._writer

    def shards(self, users: Users = None) -> dict[str, ShardStat]:
        """Return the shards of ``users`` and the shared ones."""
        if not self._is_ours:
            self._require_served()
        if users is None:
            query = f"SELECT user_id, writer, shared, bytes, epoch FROM {SCHEMA}.chains"
            return _named(self.asked(lambda one: in_one(one, LISTING, "on", query)))
        wanted = tuple(dict.fromkeys(("", *users)))
        held = self.open_batch.versions if self.open_batch is not None else {}
        versions = held if held.keys() >= set(wanted) else self.asked(lambda one: _versions(one, wanted))
        if self._version_known("") != versions.get("", 0):
            self._listed.clear()  # an erasure deletes its user's version, and what comes later counts from 1 again
        stale = [user for user in wanted if self._version_known(user) != versions.get(user, 0)]
        for user in stale:
            found = self.asked(lambda one, user=user: _shards(one, user))  # type: ignore[misc]
            self._listed[user] = _Listed(versions.get(user, 0), found)
        shards: dict[str, ShardStat] = {}
        for user in wanted:
            self._listed.move_to_end(user)
            shards |= self._listed[user].shards
        while len(self._listed) > max(KNOWN_USERS, len(wanted)):
            self._listed.popitem(last=False)
        return shards

    def glance(self) -> None:
        """Return None: only the server can tell."""

    def folders(self, users: Users) -> Sequence[str] | None:
        """Return the prefixes of those shards' names."""
        return None if users is None else (OF_ALL, *map(folder_of, users))

    def only_grew(self, before: ShardStat, after: ShardStat) -> bool:
        """Return whether a shard is still the same one: its lines are never changed."""
        return before.inode == after.inode and before.size <= after.size

    def users(self) -> list[str]:
        """Return all users with lines of their own."""
        query = f"SELECT DISTINCT user_id FROM {SCHEMA}.chains WHERE NOT shared"
        return [str(row[0]) for row in self.asked(lambda one: in_one(one, LISTING, "on", query))]

    def tips(self) -> list[Tip]:
        """Return the end of every chain."""
        query = f"SELECT writer, user_id, lines, tip FROM {SCHEMA}.chains WHERE tip <> ''"
        return [Tip(*row) for row in self.asked(lambda one: in_one(one, LISTING, "on", query))]

    def lost(self) -> dict[str, WriterHead]:
        """Return this clone's newest line, if the database was reset to a state before it."""
        head = self.witness.newest()
        if head is None or head.last.encode() in self.read(head.shard, head.lines):
            return {}
        return {owner_of(head.shard)[1]: head._replace(lines=1)}

    def note_newest(self, staged: Staged) -> None:
        """Record the position of this clone's newest line outside of the store."""
        shard = shard_of(staged.writer, staged.user, shared=staged.shared)
        link, start = claimed_link(staged.placed[-1]).hex(), staged.end - len(staged.lines[-1])
        self.witness.note(WriterHead(link, start, shard))

    def read(self, shard: str, offset: int = 0, size: int = -1) -> bytes:
        """Return bytes of a shard; empty if the shard is gone."""
        user, writer = owner_of(shard)
        key = (user, writer)
        query, values = f"SELECT position, line FROM {SCHEMA}.lines WHERE user_id=%s AND writer=%s", [*key]
        if offset:
            query += f""" AND position >= (SELECT coalesce(max(position), 0) FROM {SCHEMA}.lines
                          WHERE user_id=%s AND writer=%s AND position <= %s)"""
            values += [*key, offset]  # type: ignore[list-item]
        if size >= 0:
            query, values = f"{query} AND position < %s", [*values, offset + size]  # type: ignore[list-item]
        rows = self.asked(lambda one: in_one(one, SETTING, user, f"{query} ORDER BY position", values))
        start = min(offset, rows[0][0]) if rows else 0
        first = offset - start
        return _laid_out(rows, start)[first : None if size < 0 else first + size]

    @staticmethod
    def owner(url: str) -> PostgresServer:
        """Return the server for the owner of its tables, who may have to create them."""
        return PostgresServer(url, serves=False)

    @property
    def shown(self) -> str:
        """Return its address in publishable form."""
        return self.server.shown

    @contextmanager
    def batch(self, users: Users = None) -> Iterator[PostgresBatch]:
        """Hold the locks of ``users``, or that of the whole archive, and yield a batch."""
        with _mine(self, PostgresBatch(self, users)) as batch:
            yield batch

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Block every writer, even if the memory has already moved elsewhere."""
        with _mine(self, PostgresBatch(self, None, is_asked=False)):
            yield

    def count(self) -> int:
        """Return the number of records in any state."""
        query = f"SELECT coalesce(sum(records), 0) FROM {SCHEMA}.chains"
        return int(self.asked(lambda one: in_one(one, LISTING, "on", query))[0][0])

    def remark(self) -> str:
        """Return what a person may want to change about the serving role."""
        return self.asked(served_by)

    def require_rights(self) -> None:
        """Raise ``BackendUnfit`` if the serving role may not do all that serving takes."""
        if missing := self.asked(rights_missing):
            raise BackendUnfit(unusable(self.shown, f"it lacks {', '.join(missing)}."))

    def extent(self) -> list[tuple[str, str, int, int]]:
        """Return user, writer, size and epoch of every chain."""
        query = f"SELECT user_id, writer, bytes, epoch FROM {SCHEMA}.chains"
        return [tuple(row) for row in self.asked(lambda one: in_one(one, LISTING, "on", query))]

    def load(self, insert: Callable[[psycopg.Connection[Any]], None]) -> None:
        """Let ``insert`` write in one transaction while nobody else does."""

        def loaded(connection: psycopg.Connection[Any]) -> None:
            with connection.transaction():
                connection.execute("SELECT pg_advisory_xact_lock(%s)", (lock_of(""),))
                with connection.pipeline():
                    insert(connection)

        self.asked(loaded)

    def claim(self, moved_to: str = "") -> None:
        """Record that the database holds this store's memory, or where it moved; then nobody is served.

        It is committed at once, on another connection: what ``paused`` holds open ends without a commit.
        """
        query = f"UPDATE {SCHEMA}.store SET name = %s, moved_to = %s"
        beside = PostgresServer(self._url)
        try:
            beside.asked(lambda one: one.execute(query, (self._name, moved_to)))
        finally:
            beside.close()

    def is_left(self) -> bool:
        """Return whether its memory was moved elsewhere, so that what is here serves nobody."""
        return bool(self._whose()[1])

    def require_free(self) -> None:
        """Raise ``BackendUnfit`` if another store's memory is here; one that moved away left its place free."""
        name, moved_to = self._whose()
        self.require_own("" if moved_to else name, "")
        self._is_ours = True

    def _require_served(self) -> None:
        """Raise ``BackendUnfit`` too if the memory moved away and left nothing that could still be read."""
        query = f"SELECT 1 FROM {SCHEMA}.chains LIMIT 1"
        name, moved_to = self._whose()
        is_left = bool(moved_to) and not self.asked(lambda one: in_one(one, LISTING, "on", query))
        self.require_own(name, moved_to if is_left else "")
        self._is_ours = True

    def _whose(self) -> tuple[str, str]:
        """Return the name of the store whose memory is here, and where that was moved."""
        return self.asked(lambda one: one.execute(f"SELECT name, moved_to FROM {SCHEMA}.store").fetchone()) or ("", "")

    def clear(self) -> None:
        """Delete every line, after they were moved elsewhere and verified there."""
        users = list(dict.fromkeys(user for user, *_ in self.extent()))
        for start in range(0, len(users), CLEARED_AT_ONCE):
            self.asked(lambda one, some=users[start : start + CLEARED_AT_ONCE]: _cleared(one, some))  # type: ignore[misc]

    def held(self, user_id: str) -> Iterator[bytes]:
        """Yield the lines about a user, and all shared ones, fetched in portions."""
        for shard, stat in self.shards([user_id]).items():
            rest = b""
            for start in range(0, stat.size, FETCHED_BYTES):
                *lines, rest = (rest + self.read(shard, start, FETCHED_BYTES)).split(b"\n")
                yield from lines

    def erase(self, user_id: str, owns: Callable[[Mapping[str, JSON]], bool], key_of: KeyOf) -> None:
        """Delete every line about a user, and what others said about what the user shared; those chains close up."""

        def erased(connection: psycopg.Connection[Any]) -> None:
            with connection.transaction():
                _cleared(connection, [user_id])
                for shard in _shards(connection, ""):
                    _close_up(connection, *owner_of(shard), owns, key_of)

        self.asked(erased)
        self.forget([user_id])

    def note_written(self, user: str, version: int, own: Mapping[str, ShardStat], *, has_shared: bool) -> None:
        """Record how a change under the lock of ``user`` left the user's shards, so that nobody has to ask.

        Shared lines may be written by others at the same time, so those are queried. If others held the lock meanwhile,
        because the connection was lost, the next query finds another version, and asks again.
        """
        before = self._listed.get(user)
        self.forget([user] if own else [], is_shared=has_shared)
        if own and before is not None and before.version == version:
            self._listed[user] = _Listed(version + 1, {**before.shards, **own})

    def forget(self, users: Sequence[str], *, is_shared: bool = True) -> None:
        """Drop the cached shards about ``users``, and the shared ones."""
        for user in [*users, *([""] if is_shared else [])]:
            self._listed.pop(user, None)

    def close(self) -> None:
        """Close the connection; another archive of this process opens a new one."""
        self.server.close()

    def require_own(self, name: str, moved_to: str) -> None:
        """Raise ``BackendUnfit`` if the database is another store's, or its memory moved elsewhere."""
        if moved_to:
            raise BackendUnfit(
                f"The memory at {self.server.shown} was moved to {moved_to}: get the store's newer memkit.yaml, "
                "or repeat the move if it was interrupted."
            )
        if name and self._name and name != self._name:
            raise BackendUnfit(
                f"The database at {self.server.shown} contains the memory of {name!r:.60}, another store."
            )

    def asked(self, ask: Callable[[psycopg.Connection[Any]], Answer]) -> Answer:
        """Return the result of ``ask`` on the connection, within the current change if there is one."""
        return self.open_batch.asked(ask) if self.open_batch is not None else self.server.asked(ask)

    @cached_property
    def vectors(self) -> PostgresVectors:
        """Return the vectors that instances share."""
        from .postgres_vectors import PostgresVectors

        return PostgresVectors(self)

    @staticmethod
    def rows(connection: psycopg.Connection[Any], user: str, query: str, values: Sequence[Any]) -> list[Any]:
        """Return the rows of a query that sees one user and what is shared."""
        return in_one(connection, SETTING, user, query, values)

    def stays(self, connection: psycopg.Connection[Any], user: str) -> bool:
        """Return whether nothing about a user changed since the last query; nothing is erased until the commit."""
        connection.execute("SELECT pg_advisory_xact_lock_shared(%s)", (lock_of(""),))
        versions = _versions(connection, ("", user))
        return all(versions.get(one, 0) == self._version_known(one) for one in ("", user))

    def _version_known(self, user: str) -> int:
        known = self._listed.get(user)
        return known.version if known else -1


@contextmanager
def _mine(log: PostgresLog, batch: PostgresBatch) -> Iterator[PostgresBatch]:
    if log.open_batch is not None:
        raise ArchiveError("A change of this archive is already open.")
    try:
        batch.begin()
        log.open_batch = batch
        yield batch
    finally:
        log.open_batch = None
        batch.end()


class Staged(NamedTuple):
    """Lines of one chain, in order."""

    user: str
    writer: str
    shared: bool
    epoch: int
    start: int
    lines: list[bytes]
    placed: list[Mapping[str, JSON]]
    """Their content."""

    @property
    def end(self) -> int:
        """Return the offset at which the next line begins."""
        return self.start + sum(map(len, self.lines))


class PostgresBatch:
    """Lines on their way to the database; the locks of their users are held."""

    def __init__(self, log: PostgresLog, users: Users, *, is_asked: bool = True) -> None:
        self.writer = log.writer
        self._log = log
        self._users = users
        self._staged: dict[str, Staged] = {}
        self.versions: dict[str, int] = {}
        """The change counts of each user's shards, and of what is shared, when the locks were taken."""
        self._is_held = False
        self._is_asked = is_asked
        """Whether the database has to be the one that serves the store."""

    def begin(self) -> None:
        """Take the locks."""
        self.versions = self._log.server.asked(self._locked)

    def end(self) -> None:
        """Release the locks, if still held; what was not flushed is not written."""
        if self._is_held:
            self._is_held = False
            try:
                self._log.server.asked(lambda one: one.execute("ROLLBACK"))
            except ArchiveError:
                self._log.server.drop()

    def asked(self, ask: Callable[[psycopg.Connection[Any]], Answer]) -> Answer:
        """Return the result of ``ask`` on the connection that holds the locks."""
        if not self._is_held:
            return self._log.server.asked(ask)

        def held(connection: psycopg.Connection[Any]) -> Answer:
            is_new = connection.info.transaction_status == psycopg.pq.TransactionStatus.IDLE
            if is_new and self._locked(connection) != self.versions:
                raise BackendAway(MEANWHILE)
            return ask(connection)

        return self._log.server.asked(held)

    def writer_in(self, corpus: str) -> str:
        """Return the writer name for lines of this corpus."""
        return self.writer + SHARING if corpus == SHARED else self.writer

    def stage(self, line: bytes, data: Mapping[str, JSON] = EMPTY) -> Span:
        """Return the future position of ``line``, whose content is ``data``."""
        user, corpus = str(data.get("user_id", "")), corpus_of(data)
        if "\0" in user:
            raise InvalidRecord("The name of a user contains a NUL, which PostgreSQL cannot store.")
        shard = shard_of(self.writer_in(corpus), user, shared=corpus == SHARED)
        staged = self._staged.get(shard)
        if staged is None:
            known = self._log.shards([user]).get(shard)
            epoch, start = (known.inode, known.size) if known else (new_epoch(), 0)
            staged = Staged(user, self.writer_in(corpus), corpus == SHARED, epoch, start, [], [])
            self._staged[shard] = staged
        offset = staged.end
        staged.lines.append(line)
        staged.placed.append(decode_line(line))
        return Span(shard, offset, len(line))

    def flush(self) -> Mapping[str, Written]:
        """Write the staged lines and commit; on return they are in the database, exactly once."""
        if not self._staged:
            return {}
        self._log.server.asked(self._written)
        self._is_held = False
        stats = {shard: ShardStat(staged.end, 0, staged.epoch) for shard, staged in self._staged.items()}
        written = {
            shard: Written(staged.start, b"".join(staged.lines), stats[shard]) for shard, staged in self._staged.items()
        }
        for user in {staged.user for staged in self._staged.values()}:
            own = {shard: stat for shard, stat in stats.items() if shard.startswith(folder_of(user))}
            self._log.note_written(user, self.versions.get(user, 0), own, has_shared=len(own) < len(stats))
        # An erasure by another instance relinks shared lines.
        if own_lines := [staged for staged in self._staged.values() if not staged.shared]:
            self._log.note_newest(own_lines[-1])
        self._staged = {}
        return written

    def _locked(self, connection: psycopg.Connection[Any]) -> dict[str, int]:
        """Begin, take the locks in a fixed order, and return the change counts at that time, in one round trip.

        This works at any default isolation: a snapshot from before the wait for a lock lacks what its holder wrote.
        """
        if connection.info.transaction_status != psycopg.pq.TransactionStatus.IDLE:
            connection.execute("ROLLBACK")
        how = "pg_advisory_xact_lock_shared" if self._users is not None else "pg_advisory_xact_lock"
        own = sorted({lock_of(user) for user in self._users or ()})
        wanted = None if self._users is None else ["", *self._users]
        cursor = psycopg.ClientCursor(connection)
        cursor.execute(
            f"""BEGIN ISOLATION LEVEL READ COMMITTED;
                SELECT {how}({lock_of("")}); {"".join(f"SELECT pg_advisory_xact_lock({lock});" for lock in own)}
                SELECT set_config('{LISTING}', 'on', true); SELECT name, moved_to FROM {SCHEMA}.store;
                SELECT user_id, version FROM {SCHEMA}.changes {"" if wanted is None else "WHERE user_id = ANY(%s)"};
                SELECT set_config('{LISTING}', '', true)""",
            None if wanted is None else (wanted,),
        )
        self._is_held = True
        for _ in range(len(own) + 3):
            cursor.nextset()
        if self._is_asked:
            self._log.require_own(*(cursor.fetchone() or ("", "")))
        cursor.nextset()
        return dict.fromkeys(wanted or (), 0) | dict(cursor.fetchall())

    def _written(self, connection: psycopg.Connection[Any]) -> None:
        """Write everything and commit, unless an attempt whose answer was lost already did."""
        if connection.info.transaction_status != psycopg.pq.TransactionStatus.INTRANS:
            versions = self._locked(connection)
            if self._stands(connection):
                connection.execute("ROLLBACK")
                return
            if versions != self.versions:
                raise BackendAway(MEANWHILE)
        with connection.pipeline():
            insert_all(connection, self._staged.values())
            connection.execute("COMMIT")

    def _stands(self, connection: psycopg.Connection[Any]) -> bool:
        """Return whether the lines are there already."""
        for staged in self._staged.values():
            query = f"SELECT line FROM {SCHEMA}.lines WHERE user_id=%s AND writer=%s AND position=%s"
            connection.execute("SELECT set_config(%s, %s, true)", (SETTING, staged.user))
            row = connection.execute(query, (staged.user, staged.writer, staged.start)).fetchone()
            if row is not None and row[0].encode() + b"\n" == staged.lines[0]:
                return True
        return False


_CHANGED = f"""INSERT INTO {SCHEMA}.changes AS before VALUES(%s, 1)
               ON CONFLICT(user_id) DO UPDATE SET version = before.version + 1"""


def insert_all(connection: psycopg.Connection[Any], many: Iterable[Staged]) -> None:
    """Write lines, the resulting ends of their chains, and a note that something changed."""
    touched: dict[str, str] = {}
    for staged in many:
        connection.execute("SELECT set_config(%s, %s, true)", (SETTING, staged.user))
        _insert(connection, staged)
        touched |= {staged.user: staged.user} | ({"": staged.user} if staged.shared else {})
    for user, owner in touched.items():
        connection.execute("SELECT set_config(%s, %s, true)", (SETTING, owner))
        connection.execute(_CHANGED, (user,))


def _insert(connection: psycopg.Connection[Any], staged: Staged) -> None:
    positions, place = [], staged.start
    for line in staged.lines:
        positions.append(place)
        place += len(line)
    texts = [line[:-1].decode() for line in staged.lines]
    ids = [str(one.get("id", "")) for one in staged.placed]
    chain, records = (staged.user, staged.writer, staged.shared), sum("op" not in one for one in staged.placed)
    # As fast as COPY, which row-level security refuses; arrays passed as text take four times as long.
    connection.execute(
        f"""INSERT INTO {SCHEMA}.lines(user_id, writer, shared, position, id, line)
            SELECT %s, %s, %s, * FROM unnest(%b::bigint[], %b::text[], %b::text[])""",
        (*chain, positions, ids, texts),
    )
    connection.execute(
        f"""INSERT INTO {SCHEMA}.chains AS before VALUES(%s, %s, %s, %s, %s, %s, %s, %s)
            ON CONFLICT(user_id, writer) DO UPDATE SET bytes = excluded.bytes, lines = before.lines + excluded.lines,
            records = before.records + excluded.records, tip = excluded.tip""",
        (*chain, place, len(texts), records, claimed_link(staged.placed[-1]).hex(), staged.epoch),
    )


_ONE = f"""SELECT user_id, version FROM {SCHEMA}.changes WHERE user_id = $1
           UNION ALL SELECT user_id, version FROM {SCHEMA}.changes WHERE user_id = ''"""
_PREPARED = f"memkit_{blake2b(_ONE.encode(), digest_size=8).hexdigest()}"
"""Named after its query: behind a pooler, a connection may have one that somebody else prepared."""


def _versions(connection: psycopg.Connection[Any], users: Sequence[str]) -> dict[str, int]:
    named = [user for user in users if user]
    one, query = "".join(named), f"SELECT user_id, version FROM {SCHEMA}.changes WHERE user_id = ANY(%s)"
    if len(named) > 1:
        return dict(in_one(connection, LISTING, "on", query, [list(users)]))
    if connection.info.transaction_status == psycopg.pq.TransactionStatus.IDLE:
        with suppress(errors.InvalidSqlStatementName):
            return _versions_of_one(connection, one)
        # The first use on this connection; a pooler may have assigned it to one that has it.
        with suppress(errors.InvalidSqlStatementName, errors.DuplicatePreparedStatement):
            return _versions_of_one(connection, one, f"PREPARE {_PREPARED}(text) AS {_ONE}; ")
    return dict(in_one(connection, SETTING, one or "nobody", query, [list(users)]))


def _versions_of_one(connection: psycopg.Connection[Any], user: str, before: str = "") -> dict[str, int]:
    """Return what every query of a user asks, by a plan cached on the server: planning takes longer than running it."""
    if "\0" in user:
        return {}
    server, encoding = connection.pgconn, connection.info.encoding
    whom, asked = (
        Escaping(server).escape_literal(one.encode(encoding)).decode(encoding) for one in (user or "nobody", user)
    )
    query = f"""{before}SELECT set_config('{SETTING}', {whom}, true),
                set_config('plan_cache_mode', 'force_generic_plan', true); EXECUTE {_PREPARED}({asked})"""
    with connection.lock:  # as a cursor does; the rest of its work took twice as long as everything else here
        server.send_query(query.encode(encoding))
        result = connection.wait(generators.execute(server))[-1]
    if result.status != ExecStatus.TUPLES_OK:
        raise errors.error_from_result(result)
    rows = ((result.get_value(row, 0) or b"", result.get_value(row, 1) or b"") for row in range(result.ntuples))
    return {name.decode(encoding): int(version) for name, version in rows}


def _shards(connection: psycopg.Connection[Any], user: str) -> dict[str, ShardStat]:
    whose = "NOT shared AND user_id = %s" if user else "shared AND %s = ''"
    query = f"SELECT user_id, writer, shared, bytes, epoch FROM {SCHEMA}.chains WHERE {whose}"
    return _named(in_one(connection, SETTING, user or "nobody", query, [user]))


def _named(rows: Sequence[tuple[Any, ...]]) -> dict[str, ShardStat]:
    return {
        shard_of(writer, user, shared=shared): ShardStat(size, 0, epoch) for user, writer, shared, size, epoch in rows
    }


def in_one(
    connection: psycopg.Connection[Any], setting: str, value: str, query: str, values: Sequence[Any] = ()
) -> list[tuple[Any, ...]]:
    """Return the rows of a query that sees what a setting lets it see.

    It is a single message, which is a separate transaction unless one is open: a setting lasts until its end.
    """
    inside = connection.info.transaction_status == psycopg.pq.TransactionStatus.INTRANS
    if "\0" in value:
        return []
    cursor = psycopg.ClientCursor(connection)
    after = f"; SELECT set_config('{setting}', '', true)" if inside else ""
    cursor.execute(f"SELECT set_config('{setting}', %s, true); {query}{after}", (value, *values))
    cursor.nextset()
    return cursor.fetchall()


def _cleared(connection: psycopg.Connection[Any], users: Sequence[str]) -> None:
    """Delete every line about many users in a single round trip."""
    with connection.transaction():
        connection.execute("SELECT pg_advisory_xact_lock(%s)", (lock_of(""),))
        tables = ("lines", "chains", "changes", *(["vectors"] if has_vectors(connection) else []))
        with connection.pipeline():
            for user_id in users:
                connection.execute("SELECT set_config(%s, %s, true)", (SETTING, user_id))
                for table in tables:
                    connection.execute(f"DELETE FROM {SCHEMA}.{table} WHERE user_id=%s", (user_id,))
            connection.execute(_CHANGED, ("",))


def _close_up(
    connection: psycopg.Connection[Any],
    user: str,
    writer: str,
    owns: Callable[[Mapping[str, JSON]], bool],
    key_of: KeyOf,
) -> None:
    """Rewrite a chain of shared lines without the removed ones; do nothing if there are none."""
    chain = (user, writer)
    query = f"SELECT line FROM {SCHEMA}.lines WHERE user_id=%s AND writer=%s ORDER BY position"
    lines = [decode_line(text.encode()) for (text,) in in_one(connection, SETTING, user, query, chain)]
    kept = Staged(user, writer, True, new_epoch(), 0, [], [])
    instead: dict[bytes, bytes] = {}
    for data in lines:
        own, parent = claimed_link(data), parent_of(data)
        place = instead.get(parent, parent)
        if owns(data):
            instead[own] = place
            continue
        if own and place != parent:
            data, link = linked(data, place, key=key_of(data), by="erase")
            instead[own] = link.own
        kept.lines.append(encode_line(data))
        kept.placed.append(data)
    if len(kept.lines) == len(lines):
        return
    connection.execute("SELECT set_config(%s, %s, true)", (SETTING, user))
    for table in ("lines", "chains"):
        connection.execute(f"DELETE FROM {SCHEMA}.{table} WHERE user_id=%s AND writer=%s", chain)
    if kept.lines:
        insert_all(connection, [kept])
    else:
        connection.execute(_CHANGED, ("",))


def lock_of(user: str) -> int:
    """Return the lock number on which writers about a user wait; the empty user is that of the whole archive."""
    mark = blake2b(user.encode("utf-8", "surrogatepass"), digest_size=8, person=b"memkit: user").digest()
    return int.from_bytes(mark, signed=True)


def _laid_out(rows: Sequence[tuple[int, str]], start: int) -> bytes:
    """Return lines, each at its position, as bytes that begin at ``start``.

    A row that somebody deleted leaves a blank, and one that became longer than its place loses all but its marks: its
    neighbours stay where the index knows them.
    """
    lines = [line.encode() + b"\n" for _, line in rows]
    content = b"".join(lines)
    if not rows or (rows[0][0] == start and rows[-1][0] - start == len(content) - len(lines[-1])):
        return content
    found = bytearray()
    for (position, text), line, after in zip(rows, lines, [*(row[0] for row in rows[1:]), None], strict=True):
        if (gap := position - start - len(found)) > 0:
            found += b" " * (gap - 1) + b"\n"
        if after is not None and len(line) > after - position:
            line = (_marks_of(text) + b"\n")[: after - position - 1] + b"\n"
        found += line
    return bytes(found)


def _marks_of(text: str) -> bytes:
    """Return a changed line with little in it but what says which one it is."""
    try:
        data = decode_line(text.encode())
    except InvalidRecord:
        return b""
    marks: dict[str, JSON] = {"text": "…"} if "text" in data else {}
    for name in ("id", "op", "target", "at", "created_at", "link", "user_id"):
        if name in data:
            marks[name] = data[name]
    return encode_line(marks).rstrip(b"\n")


def new_epoch() -> int:
    """Return a number that distinguishes successive lives of a chain."""
    return int.from_bytes(os.urandom(7))
