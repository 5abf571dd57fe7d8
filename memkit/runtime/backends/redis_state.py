"""Sessions, turns, checkpoints and counts that several instances share through Redis, by plain commands alone.

What an instance keeps in its state folder stays there, and goes to Redis as it is written, each thing with the time
that it lasts; who opens a session takes over what stands there. Nothing long-term lies here, so a server that was
flushed is filled again by whoever goes on, and one that is gone is said once, while the turn goes on.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from hashlib import blake2b
from pathlib import Path
from typing import Any, TypeVar

import redis

from ..loop.journal_file import SessionInUse
from ..memory.index.catalogue import AccessCounts, Use
from ..memory.log.files import make_private, whole_file
from ..memory.record.lines import to_text
from .interface import BackendAway, masked, without_secrets

Answer = TypeVar("Answer")
SECONDS = 2.0
"""How long an answer is waited for: a turn is not held up by what it can do without."""
LEASE = 120
"""Seconds for which a session belongs to the instance that wrote in it last."""
CHECKPOINTS = "checkpoints"
DAY = 86_400


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
        """Name the server; nothing is asked of it yet.

        Args:
            url: Where it is.
            root: The state folder, of which files are shared by their names.
            name: What the store is called: stores on one server do not see each other's.
            ttl: Seconds that ``checkpoints``, and everything else as ``recall``, stay.
            note: Told once when the server stays away.
        """
        self.shown = without_secrets(url)
        self._url = url
        self._root = root or Path()
        self._prefix = f"memkit:{name}:"
        self._ttl = dict(ttl or {})
        self._note = note
        self._is_told = False
        self._tokens: dict[str, str] = {}
        self._unsent: dict[Path, str] = {}
        """Files that could not be sent, and whose they are."""
        try:
            self._redis = redis.Redis.from_url(url, socket_timeout=SECONDS, socket_connect_timeout=SECONDS)
        except ValueError as error:
            raise BackendAway(f"The address of Redis cannot be used: {masked(str(error), url)}.") from None

    def ping(self) -> None:
        """Raise ``BackendAway`` where the server does not answer."""
        try:
            self._redis.ping()
        except redis.RedisError as error:
            raise BackendAway(f"Redis at {self.shown} cannot be reached: {masked(str(error), self._url)}.") from None

    # ---------------------------------------------------------------- files of sessions

    def push(self, path: Path, user_id: str) -> None:
        """Send a file of a user as it is now; one that is gone goes there too."""
        self._unsent[path] = user_id
        while self._unsent:
            waiting = next(iter(self._unsent))
            if self._asked(lambda waiting=waiting: self._sent(waiting, self._unsent[waiting])) is None:  # type: ignore[misc]
                return
            del self._unsent[waiting]

    def _sent(self, path: Path, user_id: str) -> bool:
        name = path.relative_to(self._root).as_posix()
        key, held = self._key("file", name), self._key("of", user_id)
        seconds = self._lasts(name)
        with self._redis.pipeline(transaction=True) as commands:
            if path.is_file():
                commands.set(key, whole_file(path), ex=seconds)
                commands.sadd(held, name)
                commands.expire(held, max(seconds, self._lasts("")))
            else:
                commands.delete(key)
                commands.srem(held, name)
            for lock, token in self._tokens.items():
                commands.set(lock, token, ex=LEASE)
            commands.execute()
        return True

    def pull(self, user_id: str) -> None:
        """Take over a user's files as they stand there; what is not there, such as after a flush, is sent."""
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
        """Take a session for this instance, with what stands there of its user.

        Raises:
            SessionInUse: Another instance wrote in it less than ``LEASE`` seconds ago.
        """
        lock = self._key("lock", f"{user_id}\n{session}")
        token = self._tokens.get(lock) or os.urandom(8).hex()
        taken = self._asked(lambda: bool(self._redis.set(lock, token, nx=True, ex=LEASE)))
        if taken is False and self._asked(lambda: self._redis.get(lock)) not in (token.encode(), None):
            raise SessionInUse("This session is open on another instance. Wait until it ends there, or begin another.")
        self._tokens[lock] = token
        self.pull(user_id)

    def leave(self, user_id: str, session: str) -> None:
        """Let other instances have the session."""
        lock = self._key("lock", f"{user_id}\n{session}")
        token = self._tokens.pop(lock, None)
        if token is not None and self._asked(lambda: self._redis.get(lock)) == token.encode():
            self._asked(lambda: self._redis.delete(lock))

    def drop(self, user_id: str) -> int:
        """Delete everything about a user, and return how many keys that were."""
        keys = [self._key("file", name) for name in self._names(user_id)]
        keys += [self._key(kind, user_id) for kind in ("of", "uses", "last")]
        return int(self._asked(lambda: self._redis.delete(*keys)) or 0)

    def held(self, user_id: str) -> int:
        """Return how many keys there are about a user."""
        keys = [self._key(kind, user_id) for kind in ("of", "uses", "last")]
        return int(self._asked(lambda: self._redis.exists(*keys)) or 0)

    # ---------------------------------------------------------------- counts

    def count(self, user_id: str, uses: Mapping[str, int], moment: str) -> bool | None:
        """Add to how often a user recalled records; None where nobody counts."""
        uses_key, last_key = self._key("uses", user_id), self._key("last", user_id)

        def counted() -> bool:
            with self._redis.pipeline(transaction=True) as commands:
                for id, more in uses.items():
                    commands.hincrby(uses_key, id, more)
                    commands.hset(last_key, id, moment)
                commands.execute()
            return True

        return self._asked(counted)

    def counts(self, user_id: str) -> dict[str, Use] | None:
        """Return how often, and when last, a user recalled each record; None where nobody knows."""
        found = self._asked(lambda: (self._hash("uses", user_id), self._hash("last", user_id)))
        if found is None:
            return None
        uses, last = found
        return {id: Use(int(count), last.get(id, "")) for id, count in uses.items()}

    def _names(self, user_id: str) -> list[str]:
        found: Any = self._asked(lambda: self._redis.smembers(self._key("of", user_id)))
        return sorted(name.decode() for name in found or ())

    def _hash(self, kind: str, user_id: str) -> dict[str, str]:
        found: Any = self._redis.hgetall(self._key(kind, user_id))
        return {field.decode(): value.decode() for field, value in found.items()}

    # ---------------------------------------------------------------- inside

    def _key(self, kind: str, name: str) -> str:
        """Return a key, which names nobody."""
        told = name if kind == "file" else blake2b(name.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()
        return f"{self._prefix}{kind}:{told}"

    def _lasts(self, name: str) -> int:
        kind = "checkpoint" if name.startswith(CHECKPOINTS) else "recall"
        return max(1, int(self._ttl.get(kind, 7 * DAY)))

    def _asked(self, ask: Callable[[], Answer]) -> Answer | None:
        """Return what the server says; None where it does not answer, which is told once."""
        try:
            answer = ask()
        except redis.RedisError as error:
            if not self._is_told:
                said = masked(str(error), self._url).rstrip(".")
                self._note(f"Redis at {self.shown} does not serve: {said}. This goes on, on this machine alone.")
            self._is_told = True
            return None
        self._is_told = False
        return answer


class SharedCounts(AccessCounts):
    """Uses of records, counted over all instances; by this machine alone while the server is away."""

    def __init__(self, folder: Path | None, shared: RedisState) -> None:
        super().__init__(folder)
        self._shared = shared

    def uses(self, user_id: str, ids: Iterable[str]) -> dict[str, int]:
        """Return how often this user recalled each of ``ids``, without those never recalled."""
        wanted = set(ids)
        known = self._shared.counts(user_id)
        if known is None:
            return super().uses(user_id, wanted)
        return {id: use.uses for id, use in known.items() if id in wanted}

    def count(self, user_id: str, ids: Iterable[str], moment: datetime) -> None:
        """Count one more use of each of ``ids``, here and there."""
        named = list(ids)
        super().count(user_id, named, moment)
        self._shared.count(user_id, dict.fromkeys(named, 1), to_text(moment))

    def carry_over(self, user_id: str, sources: Iterable[str], target: str) -> None:
        """Count every use of ``sources`` as one of ``target``."""
        named: Sequence[str] = list(sources)
        super().carry_over(user_id, named, target)
        known = self._shared.counts(user_id) or {}
        moved = [known[id] for id in named if id in known]
        if moved:
            self._shared.count(user_id, {target: sum(use.uses for use in moved)}, max(use.last for use in moved))

    def totals(self, user_id: str | None = None) -> dict[str, Use]:
        """Return how often and when last each record was recalled by a user; by anybody, what this machine knows."""
        known = self._shared.counts(user_id) if user_id is not None else None
        return super().totals(user_id) if known is None else known
