"""Database access through one connection pool per process, reconnecting after a lost connection.

psycopg's pool opens connections in its own thread and tells a waiting caller only that there is none. The server's
reason for refusing is kept here for such callers, and nobody runs into the same refusal twice.
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
from psycopg.conninfo import conninfo_to_dict
from psycopg_pool import ConnectionPool, PoolClosed, PoolTimeout

from ..memory.record.lines import InvalidRecord, StoreFull, StoreLocked
from .interface import BackendAway, BackendUnfit, masked, without_secrets
from .schema import require_version, version_of

Answer = TypeVar("Answer")
WAITS = {
    "connect_timeout": 10, "tcp_user_timeout": 10_000, "keepalives_idle": 5, "keepalives_interval": 2,
    "keepalives_count": 3,
}  # fmt: skip
"""Seconds, and milliseconds, after which a silent machine counts as gone, unless the URL says otherwise.

Left to itself the kernel waits a quarter of an hour, or hours if nothing was sent. A slow server still acknowledges.
"""
PATIENCE = 15.0
"""Seconds within which an absent or starting server may come up, and a connection may become free."""
LOCK_SECONDS = 30
MOST_CONNECTIONS = 10
"""The most queries of a process that a server handles at once; further ones wait."""
IDLE_SECONDS = 600.0
LOOK_SECONDS, REFUSED_SECONDS = 0.05, 1.0
"""How often a waiting caller checks whether the server refused a connection, and for how long that is recent."""
ADVICE = re.compile(r"\n(?:HINT|Multiple|\s+Is the server running)")
"""Where a driver's message goes on to what its own user should look at."""
SILENT = "it does not answer"
MEANWHILE = "The connection was lost, and another writer wrote meanwhile. Nothing was stored; try again."
_COMING = re.compile("too many|connection slots|starting up|shutting down|recovery mode|are in use|were closed")
"""Messages that mean a later attempt may succeed; a refused connection has no error code."""

logging.getLogger("psycopg").addHandler(logging.NullHandler())  # the caller reports what went wrong


class ConnectionLost(Exception):
    """The connection is gone, or the whole request was rolled back."""

    def __init__(self, told: str, *, may_come: bool) -> None:
        super().__init__(told)
        self.told = told
        self.may_come = may_come


class PostgresServer:
    """A database, accessed through one connection at a time, opened on demand and reopened after a loss.

    Between two queries the connection is in this process's pool, shared by all its open archives.
    """

    def __init__(self, url: str, *, serves: bool = True) -> None:
        """Name a server; one that does not serve memory yet may have no tables."""
        self.shown = without_secrets(url)
        self._url = url
        self._serves = serves
        self._pool: _ServerPool | None = None
        """The pool of the current or last connection."""
        self._connection: _PooledConnection | None = None
        """Set while a transaction is open on it."""
        self._served = False
        self._process = 0

    def asked(self, ask: Callable[[psycopg.Connection[Any]], Answer]) -> Answer:
        """Return the result of ``ask`` on a connection; if it is lost, on a new one.

        Raises:
            BackendAway: The server stays unreachable, or refuses access.
            BackendUnfit: The tables are not ours, or the role may not use them.
        """
        deadline, pause, was_lost, told = time.monotonic() + PATIENCE, 0.05, False, ""
        while True:
            try:
                answer = self._translated(ask, deadline)
                self._leave()
                return answer
            except ConnectionLost as lost:
                self._renew()
                told = told if told and lost.told.startswith(SILENT) else lost.told  # a cause says more than silence
                if self._served and not was_lost:  # a machine that is gone is noticed late
                    deadline, was_lost = time.monotonic() + PATIENCE, True
                if time.monotonic() > deadline or not (self._served or lost.may_come):
                    raise BackendAway(
                        f"PostgreSQL at {self.shown} cannot be reached: {told} Nothing is lost; try again."
                    ) from None
            time.sleep(pause)
            pause = min(1.0, pause * 2)

    def drop(self) -> None:
        """Close the connection, and with it its open transaction."""
        connection, self._connection = self._connection, None
        if connection is None or self._process != os.getpid():
            return  # a child must neither use nor close its parent's socket
        with suppress(Exception):
            connection.close()
        if self._pool is not None:
            self._pool.give_back(connection)

    def close(self) -> None:
        """Leave the pool, which closes when nobody in this process uses it."""
        self.drop()
        if self._pool is not None and self._process == os.getpid():
            self._pool.leave(self)
        self._pool = None

    def _renew(self) -> None:
        """Close every connection of the pool: the others lead to the same server."""
        self.drop()
        if self._pool is not None and self._process == os.getpid():
            self._pool.close()
        self._pool = None

    def _leave(self) -> None:
        """Return a connection without a transaction to the pool."""
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

    def _translated(self, ask: Callable[[psycopg.Connection[Any]], Answer], deadline: float) -> Answer:
        """Return the result of ``ask``; the server's errors become errors that somebody can act on."""
        try:
            return ask(self._open(deadline))
        except psycopg.Error as error:
            self.drop()  # this also ends the transaction that failed
            raise self._explained(error) from None
        except UnicodeEncodeError as error:
            self.drop()
            raise InvalidRecord(f"PostgreSQL cannot store this: {error.reason}.") from None

    def _explained(self, error: psycopg.Error) -> Exception:
        said = masked(ADVICE.split(str(error))[0], self._url).rstrip(".") + "."
        match error:
            case errors.SerializationFailure() | errors.DeadlockDetected():
                return ConnectionLost(said, may_come=True)
            case errors.ReadOnlySqlTransaction():
                return ConnectionLost("it is read-only now: another server is the primary.", may_come=True)
            case errors.UniqueViolation():
                return BackendAway(MEANWHILE)
            case errors.LockNotAvailable():
                return StoreLocked(
                    f"Another writer has held the lock in {self.shown} for more than {LOCK_SECONDS} seconds. Try again."
                )
            case errors.DiskFull() | errors.OutOfMemory():
                return StoreFull(f"The server at {self.shown} has no room: {said} Nothing was stored.")
            case errors.InsufficientPrivilege():
                return BackendUnfit(unusable(self.shown, said))
            case psycopg.OperationalError() | psycopg.InterfaceError():
                return ConnectionLost(
                    said, may_come=isinstance(error, errors.AdminShutdown) or bool(_COMING.search(said))
                )
            case psycopg.DataError():
                return InvalidRecord(f"PostgreSQL cannot store this: {said}")
        return BackendUnfit(f"The database at {self.shown} is not usable: {said}")


def unusable(shown: str, why: str) -> str:
    """Return what to say of a role that may not use the tables, or not all of them."""
    return (
        f"The role may not use the tables at {shown}: {why} "
        "Their owner grants that: memkit backend migrate --url OWNER_URL --role ROLE."
    )


class _PooledConnection(psycopg.Connection[Any]):
    """A connection opened by a pool's own thread, with the reason if that failed."""

    _refusals: dict[str, tuple[float, psycopg.Error]] = {}  # noqa: RUF012 - one a process
    """Time and reason of refusals, by connection string, until a waiting caller took them."""

    @classmethod
    def connect(cls, conninfo: str = "", **more: Any) -> _PooledConnection:
        """Open a connection; an unreported refusal is not retried, as a pool does immediately after the first."""
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
        """Return why a connection was just refused."""
        when, error = cls._refusals.get(conninfo, (0.0, None))
        return error if time.monotonic() - when < REFUSED_SECONDS else None

    @classmethod
    def take_refusal(cls, conninfo: str) -> psycopg.Error | None:
        """Return the same, and retry next time."""
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
            "autocommit": True, "application_name": "memkit", "client_encoding": "utf8", "prepare_threshold": None,
            "options": f"-c lock_timeout={LOCK_SECONDS}s",
            **{name: wait for name, wait in WAITS.items() if name not in conninfo_to_dict(url)},
        }  # fmt: skip
        self._pool = ConnectionPool(
            url, connection_class=_PooledConnection, kwargs=more, min_size=0, max_size=MOST_CONNECTIONS, open=True,
            max_idle=IDLE_SECONDS, reconnect_timeout=0, num_workers=1,
        )  # fmt: skip

    @classmethod
    def of(cls, url: str, serves: bool) -> _ServerPool:
        """Return this process's pool for a server; a child has its own, and never its parent's sockets."""
        key = (os.getpid(), url, serves)
        with cls._lock:
            known = cls._known.get(key)
            if known is None or known.is_closed:
                known = cls._known[key] = cls(url, serves)
            return known

    @classmethod
    def close_all(cls) -> None:
        """Close everything open at the end of the process."""
        for (process, *_), pool in list(cls._known.items()):
            if process == os.getpid():
                pool.close()

    @property
    def is_closed(self) -> bool:
        """Return whether it can no longer be used."""
        return self._pool.closed

    def join(self, server: PostgresServer) -> None:
        """Register an archive that uses it."""
        self._users.add(server)

    def leave(self, server: PostgresServer) -> None:
        """Unregister an archive that used it, and close it after the last one."""
        self._users.discard(server)
        if not self._users:
            self.close()

    def close(self) -> None:
        """Close the idle connections, and every other one when it is returned."""
        self._pool.close(timeout=0)

    def taken(self, deadline: float) -> _PooledConnection:
        """Return a connection; raise psycopg's error if the server refuses or none becomes free in time."""
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
                if self._pool.get_stats()["pool_size"] < MOST_CONNECTIONS:
                    raise psycopg.OperationalError(SILENT)
                raise psycopg.OperationalError(f"all {MOST_CONNECTIONS} connections of this process are in use")

    def give_back(self, connection: _PooledConnection) -> None:
        """Return a connection for use by others in this process."""
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
