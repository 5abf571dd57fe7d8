"""Moves lines into PostgreSQL in large transactions, resuming an interrupted attempt."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from .moving import WRITTEN_AT_ONCE, ChainLine, Digests
from .postgres import PostgresLog, Staged, insert_all, new_epoch, shard_of


class PostgresSink:
    """Moves lines into a database; after an interrupted attempt, it continues with what is missing."""

    def __init__(self, log: PostgresLog) -> None:
        self._log = log
        self._known = {(writer, user): (size, epoch) for user, writer, size, epoch in log.extent()}
        self._reached: dict[tuple[str, str], int] = {}
        self._waiting: dict[tuple[str, str], Staged] = {}
        self._count = 0
        self._digests = Digests()

    def holds_other_than(self, lines: Iterable[ChainLine]) -> bool:
        """Return whether the database holds more than some of ``lines``, which are read only if it holds any."""
        reached: Counter[tuple[str, str]] = Counter()
        for one in lines if self._known else ():
            reached[one.chain] += len(one.line)
        return any(size > reached[chain] for chain, (size, _) in self._known.items())

    @property
    def holds_more(self) -> bool:
        """Return whether the database holds lines that were not among those taken."""
        return any(size > self._reached.get(chain, 0) for chain, (size, _) in self._known.items())

    def take(self, one: ChainLine) -> None:
        """Add a line, unless it is there."""
        chain = one.chain
        at = self._reached.get(chain, 0)
        self._reached[chain] = at + len(one.line)
        self._digests.note(shard_of(*chain, shared=one.shared), one.line)
        size, epoch = self._known.get(chain, (0, 0))
        if at < size:
            return
        staged = self._waiting.get(chain)
        if staged is None:
            fresh = Staged(one.user, one.writer, one.shared, epoch or new_epoch(), at, [], [])
            staged = self._waiting[chain] = fresh
            self._known[chain] = (size, fresh.epoch)
        staged.lines.append(one.line)
        staged.placed.append(one.data)
        self._count += 1
        if self._count >= WRITTEN_AT_ONCE:
            self.flush()

    def stands(self) -> bool:
        """Read every chain, and return whether it equals what was taken."""
        return self._digests.are_of(self._log)

    def flush(self) -> None:
        """Commit what was taken."""
        if self._waiting:
            self._log.load(lambda connection: insert_all(connection, self._waiting.values()))
        self._known |= {chain: (staged.end, staged.epoch) for chain, staged in self._waiting.items()}
        self._waiting, self._count = {}, 0
