"""What an erasure holds of a long memory: some of it lately, much of it in files without a name."""

from __future__ import annotations

import mmap
from collections.abc import Callable, Iterable, Iterator
from hashlib import blake2b
from pathlib import Path
from tempfile import TemporaryFile
from typing import Generic, TypeVar

MOST_HELD = 1 << 18
"""More texts than this lie in a file; more answers are not kept."""

_EMPTY, _GONE = 0, 1
_BITS = (1 << 64) - 1

Answer = TypeVar("Answer")


class Lately(Generic[Answer]):
    """Answers about lines by the digests of these: an object of git repeats most lines of the one before it."""

    def __init__(self, find: Callable[[bytes, bool], Answer]) -> None:
        """Take what finds an answer; of one line there are two, by a flag."""
        self._find = find
        self._answers: dict[bytes, Answer] = {}

    def __call__(self, line: bytes, flag: bool = False) -> Answer:
        """Return the answer about a line, found anew where that is long ago."""
        key = blake2b(line, digest_size=16, salt=b"1" if flag else b"0").digest()
        if key not in self._answers:
            if len(self._answers) >= MOST_HELD:
                self._answers.clear()
            self._answers[key] = self._find(line, flag)
        return self._answers[key]

    def forget(self) -> None:
        """Hold nothing any more."""
        self._answers.clear()


class FiledLines:
    """Lines in a file without a name, each once or, where that was long ago, once more."""

    def __init__(self, folder: Path | None = None) -> None:
        """Make the file in ``folder``; default: where temporary files lie."""
        self._file = TemporaryFile(dir=folder)  # noqa: SIM115 - it lives as long as this
        self._written = Lately(self._write)

    def add(self, line: bytes) -> None:
        """Keep a line."""
        self._written(line)

    def __iter__(self) -> Iterator[bytes]:
        """Yield the lines; nothing may be added meanwhile."""
        self._file.seek(0)
        yield from (line[:-1] for line in self._file)

    def close(self) -> None:
        """Let the file go."""
        self._written.forget()
        self._file.close()

    def _write(self, line: bytes, flag: bool) -> None:
        self._file.write(line + b"\n")


class FiledTexts:
    """A set of texts by 64 bits of each, in a mapped file without a name, which the system may put out of memory.

    It can be asked, and texts can be taken out. Two texts are the same by chance once in 10^11 questions to a set of
    100 million.
    """

    def __init__(self, texts: Iterable[str], most: int) -> None:
        """Take ``texts``, of which there are ``most`` or fewer."""
        self._size = most + most // 2 + 1
        with TemporaryFile() as file:
            file.truncate(8 * self._size)
            self._slots = memoryview(mmap.mmap(file.fileno(), 8 * self._size)).cast("Q")
        self._length = 0
        for text in texts:
            mark, place = self._find(text)
            if self._slots[place] == _EMPTY:
                self._slots[place] = mark
                self._length += 1

    def __len__(self) -> int:
        """Return how many there are."""
        return self._length

    def __contains__(self, text: object) -> bool:
        """Return whether ``text`` is one of them."""
        return self._slots[self._find(text)[1]] != _EMPTY

    def isdisjoint(self, texts: Iterable[str]) -> bool:
        """Return whether none of ``texts`` is one of them."""
        return not any(text in self for text in texts)

    def difference_update(self, texts: Iterable[str]) -> None:
        """Take ``texts`` out."""
        for text in texts:
            _, place = self._find(text)
            if self._slots[place] != _EMPTY:
                self._slots[place] = _GONE
                self._length -= 1

    def _find(self, text: object) -> tuple[int, int]:
        """Return by which bits a text is known, and the place where they are or would be."""
        slots, size = self._slots, self._size
        mark = max(hash(text) & _BITS, _GONE + 1)
        place = mark % size
        while (held := slots[place]) != mark and held != _EMPTY:
            place = place + 1 if place + 1 < size else 0
        return mark, place


def set_of(texts: Iterable[str], most: int) -> set[str] | FiledTexts:
    """Return the set of ``texts``, of which there are ``most`` or fewer, in memory or in a file."""
    return set(texts) if most <= MOST_HELD else FiledTexts(texts, most)
