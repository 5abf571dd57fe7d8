"""A database and how it is asked: through the connections of one pool a process, anew after one that was lost.

The pool of psycopg opens connections in a thread of its own and tells who waits for one no more than that there is
none. Why the server refused is kept here for them, and nobody is asked twice for the same refusal.
"""

from __future__ import annotations

import atexit
import logging
import os
import re
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any, TypeVar
from weakref import WeakSet

import psycopg
from psycopg import errors
from psycopg_pool import ConnectionPool, PoolClosed, PoolTimeout

from ..memory.record.lines import InvalidRecord, StoreFull, StoreLocked
from .interface import BackendAway, BackendUnfit, masked, without_secrets
from .schema import require_version, version_of

Answer = TypeVar("Answer")
PATIENCE = 15.0
"""Seconds in which a server that was there, or is starting, may come back, and a connection may become free."""
CONNECT_SECONDS, LOCK_SECONDS = 10, 30
MOST_CONNECTIONS = 10
"""A process asks no more questions of a server at a time; the next one waits for one of them."""
IDLE_SECONDS = 600.0
LOOK_SECONDS, REFUSED_SECONDS = 0.05, 1.0
"""How often who waits for a connection looks whether the server refused one, and for how long that is news."""
MEANWHILE = "The connection was lost, and somebody else wrote meanwhile. Nothing was stored; try again."
_COMING = re.compile("too many|connection slots|starting up|shutting down|recovery mode|are in use|were closed")
"""What is said to who may come later; who is refused a connection is given no code."""

logging.getLogger("psycopg").addHandler(logging.NullHandler())  # what went wrong is said by who asked


class ConnectionLost(Exception):
    """The connection is gone, or what was asked was undone as a whole."""

    def __init__(self, told: str, *, may_come: bool) -> None:
        super().__init__(told)
        self.told = told
        self.may_come = may_come


class PostgresServer:
    """A database, asked through one connection at a time, which is opened when it is needed and anew when it was lost.

    Between two questions the connection is in the pool of this process, for every archive that is open in it.
    """

    def __init__(self, url: str, *, serves: bool = True) -> None:
        """Name a server; one that does not serve memory yet may have no tables."""
        self.shown = without_secrets(url)
        self._url = url
        self._serves = serves
        self._pool: _ServerPool | None = None
        """Of which the connection is, or was last."""
        self._connection: _PooledConnection | None = None
        """While a transaction is open on it."""
        self._served = False
        self._process = 0

    def asked(self, ask: Callable[[psycopg.Connection[Any]], Answer]) -> Answer:
        """Return what ``ask`` makes of a connection; after one that was lost, of a new one.

        Raises:
            BackendAway: The server stays away, or lets nobody in.
            BackendUnfit: The tables are not ours, or the role may not use them.
        """
        deadline, pause = time.monotonic() + PATIENCE, 0.05
        while True:
            try:
                answer = self._translated(lambda: ask(self._open(deadline)))
                self._leave()
                return answer
            except ConnectionLost as lost:
                self._renew()
                if time.monotonic() > deadline or not (self._served or lost.may_come):
                    raise BackendAway(
                        f"PostgreSQL at {self.shown} cannot be reached: {lost.told} Nothing is lost; try again."
                    ) from None
            time.sleep(pause)
            pause = min(1.0, pause * 2)

    def drop(self) -> None:
        """Let go of the connection, and with it of the transaction that is open on it."""
        connection, self._connection = self._connection, None
        if connection is None or self._process != os.getpid():
            return  # a child must not speak on its parent's socket, nor close it
        with suppress(Exception):
            connection.close()
        if self._pool is not None:
            self._pool.give_back(connection)

    def close(self) -> None:
        """Let go of the pool, which closes when nobody in this process uses it."""
        self.drop()
        if self._pool is not None and self._process == os.getpid():
            self._pool.leave(self)
        self._pool = None

    def _renew(self) -> None:
        """Close every connection of the pool: what the others left is of the same server."""
        self.drop()
        if self._pool is not None and self._process == os.getpid():
            self._pool.close()
        self._pool = None

    def _leave(self) -> None:
        """Give a connection without a transaction back."""
        connection = self._connection
        if connection is not None and connection.info.transaction_status == psycopg.pq.TransactionStatus.IDLE:
            self._connection = None
            assert self._pool is not None
            self._pool.give_back(connection)

    def _open(self, deadline: float) -> _PooledConnection:
        if self._process != os.getpid():
            self._connection = self._pool = None
        if self._connection is not None and not self._connection.closed:
            return self._connection
        self.drop()
        self._process = os.getpid()
        if self._pool is None or self._pool.is_closed:
            self._pool = _ServerPool.of(self._url, self._serves)
        self._pool.join(self)
        self._connection = self._pool.taken(deadline)
        self._served = True
        return self._connection

    def _translated(self, ask: Callable[[], Answer]) -> Answer:
        """Return what ``ask`` does; what the server says becomes an error that somebody can act on."""
        try:
            return ask()
        except psycopg.Error as error:
            self.drop()  # with it goes the transaction that failed
            raise self._explained(error) from None
        except UnicodeEncodeError as error:
            self.drop()
            raise InvalidRecord(f"PostgreSQL cannot keep this: {error.reason}.") from None

    def _explained(self, error: psycopg.Error) -> Exception:
        said = masked(str(error).split("\nHINT")[0].split("\nMultiple")[0], self._url).rstrip(".")
        said += "" if said.endswith("?") else "."
        match error:
            case errors.SerializationFailure() | errors.DeadlockDetected():
                return ConnectionLost(said, may_come=True)
            case errors.ReadOnlySqlTransaction():
                return ConnectionLost("it only reads now: another server is the primary.", may_come=True)
            case errors.UniqueViolation():
                return BackendAway(MEANWHILE)
            case errors.LockNotAvailable():
                return StoreLocked(
                    f"Another writer held the lock in {self.shown} for more than {LOCK_SECONDS} seconds. Try again."
                )
            case errors.DiskFull() | errors.OutOfMemory():
                return StoreFull(f"The server at {self.shown} has no room: {said} Nothing was stored.")
            case errors.InsufficientPrivilege():
                return BackendUnfit(
                    f"The role may not use the tables at {self.shown}: {said} "
                    "Their owner grants that: memkit backend migrate --url OWNER_URL --role ROLE."
                )
            case psycopg.OperationalError() | psycopg.InterfaceError():
                return ConnectionLost(
                    said, may_come=isinstance(error, errors.AdminShutdown) or bool(_COMING.search(said))
                )
            case psycopg.DataError():
                return InvalidRecord(f"PostgreSQL cannot keep this: {said}")
        return BackendUnfit(f"The database at {self.shown} does not fit: {said}")


class _PooledConnection(psycopg.Connection[Any]):
    """A connection that a pool opens in a thread of its own, and why it could not."""

    _refusals: dict[str, tuple[float, psycopg.Error]] = {}  # noqa: RUF012 - one a process
    """When and why one was refused, by what it leads to, until somebody who waits took it."""

    @classmethod
    def connect(cls, conninfo: str = "", **more: Any) -> _PooledConnection:
        """Open one; what nobody was told of yet is not asked again, as a pool does at once after a first refusal."""
        if refusal := cls.refusal(conninfo):
            raise refusal
        try:
            connection = super().connect(conninfo, **more)
        except psycopg.Error as error:
            cls._refusals[conninfo] = time.monotonic(), error
            raise
        connection.isolation_level = psycopg.IsolationLevel.READ_COMMITTED
        return connection

    @classmethod
    def refusal(cls, conninfo: str) -> psycopg.Error | None:
        """Return why one was refused just now."""
        when, error = cls._refusals.get(conninfo, (0.0, None))
        return error if time.monotonic() - when < REFUSED_SECONDS else None

    @classmethod
    def take_refusal(cls, conninfo: str) -> psycopg.Error | None:
        """Return the same, and ask again next time."""
        refusal = cls.refusal(conninfo)
        cls._refusals.pop(conninfo, None)
        return refusal


class _ServerPool:
    """The connections of this process to one server."""

    _known: dict[tuple[int, str, bool], _ServerPool] = {}  # noqa: RUF012 - one a process
    _lock = threading.Lock()

    def __init__(self, url: str, serves: bool) -> None:
        self._url = url
        self._users: WeakSet[PostgresServer] = WeakSet()
        self._is_checked = not serves
        """Whether the tables are known to be of this version."""
        more = {
            "autocommit": True, "connect_timeout": CONNECT_SECONDS, "application_name": "memkit",
            "client_encoding": "utf8", "prepare_threshold": None, "options": f"-c lock_timeout={LOCK_SECONDS}s",
        }  # fmt: skip
        self._pool = ConnectionPool(
            url, connection_class=_PooledConnection, kwargs=more, min_size=0, max_size=MOST_CONNECTIONS, open=True,
            max_idle=IDLE_SECONDS, reconnect_timeout=0, num_workers=1,
        )  # fmt: skip

    @classmethod
    def of(cls, url: str, serves: bool) -> _ServerPool:
        """Return the pool of this process for a server; a child has its own, and never its parent's sockets."""
        key = (os.getpid(), url, serves)
        with cls._lock:
            known = cls._known.get(key)
            if known is None or known.is_closed:
                known = cls._known[key] = cls(url, serves)
            return known

    @classmethod
    def close_all(cls) -> None:
        """Close what is open at the end of the process."""
        for (process, *_), pool in list(cls._known.items()):
            if process == os.getpid():
                pool.close()

    @property
    def is_closed(self) -> bool:
        """Return whether it is of no use any more."""
        return self._pool.closed

    def join(self, server: PostgresServer) -> None:
        """Note that an archive uses it."""
        self._users.add(server)

    def leave(self, server: PostgresServer) -> None:
        """Note that an archive uses it no more, and close it after the last one."""
        self._users.discard(server)
        if not self._users:
            self.close()

    def close(self) -> None:
        """Close the connections that wait, and every other one when it is given back."""
        self._pool.close(timeout=0)

    def taken(self, deadline: float) -> _PooledConnection:
        """Return a connection; raises psycopg's error where the server refuses one or none becomes free in time."""
        while True:
            with suppress(PoolTimeout):
                try:
                    connection = self._pool.getconn(timeout=LOOK_SECONDS)
                except PoolClosed:
                    raise psycopg.OperationalError("the connections of this process were closed") from None
                return self._checked(connection)
            if refusal := _PooledConnection.take_refusal(self._url):
                raise refusal
            if time.monotonic() > deadline:
                raise psycopg.OperationalError(f"all {MOST_CONNECTIONS} connections of this process are in use")

    def give_back(self, connection: _PooledConnection) -> None:
        """Let somebody else of this process have a connection."""
        self._pool.putconn(connection)

    def _checked(self, connection: _PooledConnection) -> _PooledConnection:
        if not self._is_checked:
            try:
                require_version(version_of(connection))
            except BaseException:
                connection.close()
                self.give_back(connection)
                raise
            self._is_checked = True
        return connection


atexit.register(_ServerPool.close_all)
