"""Check many files at once: this process forks after checking one of them, and each child takes a part."""

from __future__ import annotations

import json
import os
import signal
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from typing import Any, TypeVar

T = TypeVar("T")
PART_BYTES = 100_000
"""The least number of bytes that make a child worth its start."""
MOST_PARTS = 16


def in_parts(work: Sequence[T], sizes: Sequence[int], do: Callable[[T], Any]) -> Iterator[Any]:
    """Yield the result of ``do`` for each piece of work, in order; results are JSON.

    Work that a child did not do, because it raised or was killed, is done here, so an error is raised as if there were
    no child. A process with threads does everything itself: a lock held by one of them would stay locked in a child.

    Args:
        work: The pieces of work.
        sizes: The size of each piece, in bytes.
        do: Does one piece.
    """
    parts = _parts(sizes)
    done: dict[int, Any] = {at: do(work[at]) for at in parts[0][:1]}  # children inherit what this loads and compiles
    children: list[_Child] = []
    try:
        with suppress(OSError):  # no more processes: this one does what is left
            children.extend(_Child([work[at] for at in part], do) for part in parts[1:])
        done |= {at: do(work[at]) for at in parts[0][1:]}
        for part, child in zip(parts[1:], children, strict=False):
            done |= zip(part, child.results(), strict=False)
    finally:
        for child in children:
            child.end()
    yield from (done[at] if at in done else do(one) for at, one in enumerate(work))


def _parts(sizes: Sequence[int]) -> list[list[int]]:
    """Return the pieces for each process, the first part for this one; all of about the same size."""
    count = min(sum(sizes) // PART_BYTES, _processors(), MOST_PARTS)
    if count < 2 or threading.active_count() > 1 or not hasattr(os, "fork"):
        return [list(range(len(sizes)))]
    parts: list[list[int]] = [[] for _ in range(count)]
    taken = [0] * count
    for at in sorted(range(len(sizes)), key=lambda at: -sizes[at]):
        least = taken.index(min(taken))
        parts[least].append(at)
        taken[least] += sizes[at]
    return parts


def _processors() -> int:
    asked = getattr(os, "sched_getaffinity", None)
    return len(asked(0)) if asked else os.cpu_count() or 1


class _Child:
    """A fork of this process that does a part and writes its results."""

    def __init__(self, work: Iterable[Any], do: Callable[[Any], Any]) -> None:
        self._read, write = os.pipe()
        try:
            self._id = os.fork()
        except OSError:
            os.close(self._read)
            raise
        else:
            if self._id == 0:
                self._work(work, do, write)
        finally:
            os.close(write)

    def _work(self, work: Iterable[Any], do: Callable[[Any], Any], write: int) -> None:
        """Do the work and exit; whatever happens, the copy must not continue."""
        done: list[Any] = []
        with suppress(BaseException):
            done += map(do, work)
        with suppress(BaseException), os.fdopen(write, "w", encoding="utf-8") as out:
            json.dump(done, out)  # at the end, because nobody reads before and a pipe holds little
        os._exit(0)

    def results(self) -> list[Any]:
        """Return the results, for as many pieces as were done."""
        with os.fdopen(self._read, encoding="utf-8") as out:
            self._read = -1
            text = out.read()
        try:
            return list(json.loads(text))
        except ValueError:
            return []  # it was killed

    def end(self) -> None:
        """Wait for the process, or end it if its results are no longer needed."""
        if self._read >= 0:
            os.close(self._read)
            os.kill(self._id, signal.SIGKILL)
        os.waitpid(self._id, 0)
