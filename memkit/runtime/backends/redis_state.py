"""Sessions, turns, checkpoints and counts that several instances share through Redis, using basic commands only.

What an instance keeps in its state folder stays there, and is copied to Redis as it is written, each item with its
lifetime; opening a session takes over what is there. Nothing long-term is stored here, so a flushed server is refilled
by whoever continues, and an absent one is reported once, while the turn continues.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from hashlib import blake2b
from pathlib import Path
from typing import Any, TypeVar

import redis
from redis.backoff import NoBackoff
from redis.retry import Retry

from ..loop.journal_file import SessionInUse
from ..memory.index.catalogue import AccessCounts, Use
from ..memory.log.clone import make_private, whole_file
from ..memory.record.lines import to_text
from ..memory.tiers.sessions import session_digest
from .interface import BackendAway, BackendUnfit, masked, without_secrets

Answer = TypeVar("Answer")
SECONDS = 2.0
"""Seconds to wait for an answer: a turn is not delayed by something that it can do without."""
QUIET = 15.0
"""Seconds during which an unresponsive server is not retried: every step of a turn would wait for it."""
LEASE = 120
"""Seconds for which a session belongs to the instance that last wrote to it."""
CHECKPOINTS = "checkpoints"
DAY = 86_400
LASTS = {"checkpoint": 3600, "recall": 7 * DAY, "counts": 365 * DAY}
"""Default lifetime of each kind, in seconds."""


class RedisState:
    """One Redis server, for one store."""

    def __init__(
        self,
        url: str,
        *,
        root: Path | None = None,
        name: str = "",
        ttl: Mapping[str, float] | None = None,
        note: Callable[[str], None] = lambda message: None,
    ) -> None:
        """Name the server, which is not contacted yet.

        Args:
            url: The server's URL.
            root: The state folder, whose files are shared by name.
            name: The store's name: stores on one server do not see each other's data.
            ttl: Seconds that each kind in ``LASTS`` is kept.
            note: Called once when the server is unreachable.
        """
        self.shown = without_secrets(url)
        self._url = url
        self._root = root or Path()
        self._prefix = f"memkit:{name}:"
        self._ttl = {**LASTS, **(ttl or {})}
        self._note = note
        self._reported: set[bool] = set()
        """Whether the server is away, and whether it refuses what it is sent, as far as that was reported."""
        self._quiet_until = 0.0
        self._tokens: dict[str, bytes] = {}
        """The values of this instance's locks, by the digests of their sessions."""
        self._unsent: dict[Path, str] = {}
        """Files that could not be sent, with their users."""
        again = Retry(NoBackoff(), 1, supported_errors=(redis.ConnectionError,))  # for a connection closed meanwhile
        try:
            self._redis = redis.Redis.from_url(url, socket_timeout=SECONDS, socket_connect_timeout=SECONDS, retry=again)
        except ValueError as error:
            raise BackendAway(f"The address of Redis cannot be used: {masked(str(error), url)}.") from None

    def ping(self) -> None:
        """Raise ``BackendAway`` if the server does not answer, and ``BackendUnfit`` if it belongs to a cluster."""
        self._required(self._redis.ping)
        self._required(self._require_fit)

    def require_rights(self) -> None:
        """Raise ``BackendUnfit`` if the server's rules do not allow this user the writes that sessions take."""
        key = self._key("probe", os.urandom(8).hex())
        with self._redis.pipeline(transaction=True) as commands:
            commands.set(key, b"", nx=True, ex=1)
            commands.delete(key)
            commands.sadd(key, b"")
            commands.expire(key, 1)
            commands.delete(key)
            commands.hincrby(key, "uses", 1)
            commands.delete(key)
            try:
                commands.execute()
            except redis.exceptions.OutOfMemoryError:
                return  # a full server lets this user write when it has room
            except redis.RedisError as error:
                raise BackendUnfit(
                    f"Redis at {self.shown} does not let this user write: {masked(str(error), self._url).rstrip('.')}."
                ) from None

    def remark(self) -> str:
        """Return which of the server's settings let data expire early; empty if none do."""
        found: dict[str, Any] = self._asked(self._told) or {}
        policy = str(found.get("maxmemory_policy", "noeviction"))
        if policy == "noeviction" or not found.get("maxmemory"):
            return ""
        return (
            f"Redis at {self.shown} evicts keys when full ({policy}): sessions may end early on other instances. With "
            "'maxmemory-policy noeviction' it reports an error instead."
        )

    def _told(self) -> dict[str, Any]:
        """Return the server's information about itself; empty if that is not permitted."""
        with suppress(redis.ResponseError):
            return dict(self._redis.info())
        return {}

    def _require_fit(self) -> bool:
        if self._told().get("cluster_enabled"):
            raise BackendUnfit(
                f"Redis at {self.shown} is part of a cluster, but memkit needs a single server. Name one without "
                "'cluster-enabled'; add a replica for redundancy."
            )
        return True

    # ---------------------------------------------------------------- files of sessions

    def push(self, path: Path, user_id: str) -> None:
        """Send the current state of a user's file; a deleted file is deleted there, too."""
        self._unsent[path] = user_id
        while self._unsent:
            waiting = next(iter(self._unsent))
            owner = self._unsent.pop(waiting)
            if self._asked(lambda waiting=waiting, owner=owner: self._sent(waiting, owner)) is None:  # type: ignore[misc]
                self._unsent[waiting] = owner
                return

    def _sent(self, path: Path, user_id: str) -> bool:
        name = path.relative_to(self._root).as_posix()
        key, held = self._key("file", name), self._key("of", user_id)
        seconds = max(1, int(self._ttl["checkpoint" if name.startswith(CHECKPOINTS) else "recall"]))
        ours = self._still_ours(path.stem)
        with self._redis.pipeline(transaction=True) as commands:
            if path.is_file():
                commands.set(key, whole_file(path), ex=seconds)
                commands.sadd(held, name)
                commands.expire(held, max(seconds, *(int(self._ttl[kind]) for kind in ("recall", "checkpoint"))))
            else:
                commands.delete(key)
                commands.srem(held, name)
            for lock in ours:
                commands.expire(lock, LEASE)
            commands.execute()
        return True

    def _still_ours(self, session: str) -> list[str]:
        """Return the locks of this instance, retaken where the server lost one.

        Raises:
            SessionInUse: It lost the lock of ``session``, and another instance took it.
        """
        if not self._tokens:
            return []
        locks = {one: f"{self._prefix}lock:{one}" for one in self._tokens}
        with self._redis.pipeline(transaction=True) as commands:
            for one, lock in locks.items():
                commands.set(lock, self._tokens[one], nx=True, ex=LEASE)
                commands.get(lock)
            standing = dict(zip(locks, commands.execute()[1::2], strict=True))
        if standing.get(session, b"") not in (b"", self._tokens.get(session)):
            raise SessionInUse(
                "Another instance has continued this session meanwhile. Continue there, or start another."
            )
        return [lock for one, lock in locks.items() if standing[one] == self._tokens[one]]

    def pull(self, user_id: str) -> None:
        """Take over a user's files from the server; files missing there, as after a flush, are sent."""
        names = self._names(user_id)
        for name in names:
            path = self._root / name
            if ".." in Path(name).parts or Path(name).is_absolute():
                continue
            content: Any = self._asked(lambda name=name: self._redis.get(self._key("file", name)))  # type: ignore[misc]
            if content is None:
                if path.is_file():
                    self.push(path, user_id)
            elif not path.is_file() or whole_file(path) != content:
                make_private(path.parent)
                beside = path.with_name(f"{path.name}.{os.getpid()}.new")
                beside.touch(mode=0o600)
                beside.write_bytes(content)
                beside.replace(path)

    def enter(self, user_id: str, session: str) -> None:
        """Acquire a session for this instance, together with its user's data on the server.

        Raises:
            SessionInUse: Another instance wrote to it less than ``LEASE`` seconds ago.
            BackendUnfit: The server belongs to a cluster.
        """
        self._asked(self._require_fit)
        digest = session_digest(user_id, session)
        is_new = digest not in self._tokens
        self._tokens.setdefault(digest, os.urandom(8).hex().encode())
        try:
            self._asked(lambda: self._still_ours(digest))
        except SessionInUse:
            if is_new:
                del self._tokens[digest]
            raise SessionInUse(
                "This session is open on another instance. Wait until it ends there, or start another."
            ) from None
        self.pull(user_id)

    def leave(self, user_id: str, session: str) -> None:
        """Release the session for other instances."""
        digest = session_digest(user_id, session)
        lock, token = f"{self._prefix}lock:{digest}", self._tokens.pop(digest, None)
        if token is not None and self._asked(lambda: self._redis.get(lock)) == token:
            self._asked(lambda: self._redis.delete(lock))

    def drop(self, user_id: str) -> int:
        """Delete everything about a user, and return the number of keys; raise ``BackendAway`` if that is unknown."""
        names: Any = self._required(lambda: self._redis.smembers(self._key("of", user_id)))
        keys = [self._key("file", name.decode()) for name in names]
        keys += [self._key(kind, user_id) for kind in ("of", "uses", "last")]
        self._required(lambda: self._redis.srem(self._prefix + "counted", self._digest(user_id)))
        return int(self._required(lambda: self._redis.delete(*keys)))

    def held(self, user_id: str) -> int:
        """Return the number of keys about a user; raise ``BackendAway`` if that is unknown."""
        keys = [self._key(kind, user_id) for kind in ("of", "uses", "last")]
        return int(self._required(lambda: self._redis.exists(*keys)))

    # ---------------------------------------------------------------- counts

    def count(self, user_id: str, uses: Mapping[str, int], moment: str) -> bool | None:
        """Add to the counts of a user's recalls; return None if counting is unavailable."""
        uses_key, last_key, all_keys = self._key("uses", user_id), self._key("last", user_id), self._prefix + "counted"

        def counted() -> bool:
            with self._redis.pipeline(transaction=True) as commands:
                for id, more in uses.items():
                    commands.hincrby(uses_key, id, more)
                    commands.hset(last_key, id, moment)
                commands.sadd(all_keys, self._digest(user_id))
                for key in (uses_key, last_key, all_keys):
                    commands.expire(key, int(self._ttl["counts"]))
                commands.execute()
            return True

        return self._asked(counted) if uses else True

    def uses(self, user_id: str, ids: Sequence[str]) -> dict[str, int]:
        """Return how often a user recalled each of ``ids``, as far as counted here."""
        found: Any = self._asked(lambda: self._redis.hmget(self._key("uses", user_id), list(ids))) if ids else None
        return {id: int(count) for id, count in zip(ids, found or (), strict=False) if count}

    def counts(self, user_id: str | None) -> dict[str, Use]:
        """Return the count and time of recalls of each record by a user or by anyone, as far as counted here."""
        if user_id is not None:
            users = [self._digest(user_id)]
        else:
            held: Any = self._asked(lambda: self._redis.smembers(self._prefix + "counted"))
            users = sorted(user.decode() for user in held or ())
        totals: dict[str, Use] = {}
        for user in users:
            uses, last = self._hash("uses", user), self._hash("last", user)
            for id, count in uses.items():
                before = totals.get(id, Use(0, ""))
                totals[id] = Use(before.uses + int(count), max(before.last, last.get(id, "")))
        return totals

    def _names(self, user_id: str) -> list[str]:
        found: Any = self._asked(lambda: self._redis.smembers(self._key("of", user_id)))
        return sorted(name.decode() for name in found or ())

    def _hash(self, kind: str, user: str) -> dict[str, str]:
        found: Any = self._asked(lambda: self._redis.hgetall(f"{self._prefix}{kind}:{user}"))
        return {field.decode(): value.decode() for field, value in (found or {}).items()}

    # ---------------------------------------------------------------- inside

    def _key(self, kind: str, name: str) -> str:
        """Return a key that identifies nobody."""
        return f"{self._prefix}{kind}:{name if kind == 'file' else self._digest(name)}"

    @staticmethod
    def _digest(user_id: str) -> str:
        return blake2b(user_id.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()

    def _required(self, ask: Callable[[], Answer]) -> Answer:
        """Return the server's answer; raise ``BackendAway`` without one."""
        try:
            return ask()
        except redis.RedisError as error:
            said = masked(str(error), self._url).rstrip(".")
            raise BackendAway(f"Redis at {self.shown} cannot be reached: {said}.") from None

    def _asked(self, ask: Callable[[], Answer]) -> Answer | None:
        """Return the server's answer; None if it does not respond, which is reported once."""
        if time.monotonic() < self._quiet_until:
            return None
        try:
            answer = ask()
        except redis.RedisError as error:
            is_away = isinstance(error, redis.ConnectionError | redis.TimeoutError)
            if is_away:
                self._quiet_until = time.monotonic() + QUIET
            if is_away not in self._reported:
                said = masked(str(error), self._url).rstrip(".")
                self._note(f"Redis at {self.shown} is not available: {said}. Continuing on this machine alone.")
            self._reported.add(is_away)
            return None
        self._reported.discard(True)  # a server that is full still answers reads
        return answer


class SharedCounts(AccessCounts):
    """Uses of records, counted over all instances; this machine's count applies if the server lost more."""

    def __init__(self, folder: Path | None, shared: RedisState) -> None:
        super().__init__(folder)
        self._shared = shared

    def uses(self, user_id: str, ids: Iterable[str]) -> dict[str, int]:
        """Return how often this user recalled each of ``ids``, without those never recalled."""
        wanted = list(ids)
        here, there = super().uses(user_id, wanted), self._shared.uses(user_id, wanted)
        return {id: most for id in wanted if (most := max(here.get(id, 0), there.get(id, 0)))}

    def count(self, user_id: str, ids: Iterable[str], moment: datetime) -> None:
        """Count one more use of each of ``ids``, locally and on the server."""
        named = list(ids)
        super().count(user_id, named, moment)
        self._shared.count(user_id, dict.fromkeys(named, 1), to_text(moment))

    def carry_over(self, user_id: str, sources: Iterable[str], target: str) -> None:
        """Count every use of ``sources`` as one of ``target``."""
        named: Sequence[str] = list(sources)
        super().carry_over(user_id, named, target)
        known = self._shared.counts(user_id)
        moved = [known[id] for id in named if id in known]
        if moved:
            self._shared.count(user_id, {target: sum(use.uses for use in moved)}, max(use.last for use in moved))

    def totals(self, user_id: str | None = None) -> dict[str, Use]:
        """Return how often and when last each record was recalled by a user, or by anyone."""
        totals = super().totals(user_id)
        for id, use in self._shared.counts(user_id).items():
            here = totals.get(id, use)
            totals[id] = Use(max(here.uses, use.uses), max(here.last, use.last))
        return totals
