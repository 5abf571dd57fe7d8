"""What an erasure holds of a long memory: some of it lately, much of it in files without a name."""

from __future__ import annotations

import json
import mmap
import os
import shutil
from collections.abc import Callable, Iterable, Iterator
from hashlib import blake2b
from itertools import chain
from pathlib import Path
from tempfile import TemporaryFile
from typing import BinaryIO, Generic, TypeVar

MOST_HELD = 1 << 17
"""More texts than this lie in a file; more answers are not kept."""

_EMPTY, _GONE = 0, 1
_BITS = (1 << 64) - 1
_FEWEST_PLACES = 1 << 9
_LET_GO = 1 << 13
"""After so many questions to a table the pages that they touched, 32 MB at most, are the system's again."""

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


class FiledTexts:
    """Texts in a file without a name, one behind the other, to be gone through as often as wanted."""

    def __init__(self, texts: Iterable[str] = (), folder: Path | None = None) -> None:
        """Take texts to begin with, and the folder of the file; default: where temporary files lie."""
        self.folder = folder
        self._file = TemporaryFile(dir=folder)  # noqa: SIM115 - it lives as long as this
        self.extend(texts)

    def extend(self, texts: Iterable[str]) -> None:
        """Keep more."""
        self._file.seek(0, os.SEEK_END)
        self._file.writelines(json.dumps(text).encode() + b"\n" for text in texts)

    def __iter__(self) -> Iterator[str]:
        """Yield them; nothing may be added meanwhile."""
        self._file.flush()
        place = 0
        while line := self._line_at(place):
            place += len(line)
            yield json.loads(line)

    def _line_at(self, place: int) -> bytes:
        if self._file.tell() != place:  # somebody else goes through them as well
            self._file.seek(place)
        return self._file.readline()


class FiledLines:
    """Lines in a file without a name, each once or, where that was long ago, once more."""

    def __init__(self, folder: Path | None = None) -> None:
        """Make the file in ``folder``; default: where temporary files lie."""
        self.folder = folder
        self._file = TemporaryFile(dir=folder)  # noqa: SIM115 - it lives as long as this
        self._written = Lately(self._write)

    def add(self, line: bytes) -> None:
        """Keep a line."""
        self._written(line)

    def __iter__(self) -> Iterator[bytes]:
        """Yield the lines; nothing may be added meanwhile."""
        self._written.forget()
        self._file.seek(0)
        yield from (line[:-1] for line in self._file)

    def close(self) -> None:
        """Let the file go."""
        self._written.forget()
        self._file.close()

    def _write(self, line: bytes, flag: bool) -> None:
        self._file.write(line + b"\n")


class FiledMarks:
    """A set of numbers of 64 bits, in a mapped file without a name whose pages are the system's.

    It is a hash table with open addressing and linear probing, a third to two thirds full.
    """

    _asked: int
    _size: int
    _slots: memoryview[int]
    _mapped: mmap.mmap

    def __init__(self, marks: Iterable[int] = (), folder: Path | None = None, *, most: int = 0) -> None:
        """Take numbers to begin with.

        Args:
            marks: The numbers.
            folder: Of the file; default: where temporary files lie.
            most: How many there may be, where that is known: then it is made as large as that at once.
        """
        self._folder = folder
        self._length = self._used = 0
        self._map(max(_FEWEST_PLACES, 3 * most // 2 + 1))
        for mark in marks:
            self.add(mark)

    def __len__(self) -> int:
        """Return how many there are."""
        return self._length

    def __contains__(self, mark: int) -> bool:
        """Return whether a number is one of them."""
        return self._slots[self._place(mark)] != _EMPTY

    def __iter__(self) -> Iterator[int]:
        """Yield them, in no order; nothing may be added meanwhile."""
        return (mark for mark in _taken(self._mapped) if mark > _GONE)

    def add(self, mark: int) -> None:
        """Take a number in."""
        place = self._place(mark)
        if self._slots[place] == _EMPTY:
            self._slots[place] = mark if mark > _GONE else _GONE + 1
            self._length += 1
            self._used += 1
            if 3 * self._used > 2 * self._size:
                self._grow()

    def discard(self, mark: int) -> None:
        """Take a number out, where it is in."""
        place = self._place(mark)
        if self._slots[place] != _EMPTY:
            self._slots[place] = _GONE
            self._length -= 1

    def save(self, path: Path) -> None:
        """Write them to a file that ``read`` reads."""
        with open(path, "wb", opener=lambda name, flags: os.open(name, flags, 0o600)) as file:
            for start in range(0, self._size, _LET_GO):
                file.write(self._slots[start : start + _LET_GO])
                _let_go(self._mapped)
            file.flush()
            os.fsync(file.fileno())

    @classmethod
    def read(cls, path: Path, folder: Path | None = None) -> FiledMarks:
        """Return what was saved; raises ``ValueError`` for a file that ``save`` did not write."""
        marks = cls(folder=folder)
        with path.open("rb") as file:
            size, odd = divmod(os.fstat(file.fileno()).st_size, 8)
            if odd or size < _FEWEST_PLACES:
                raise ValueError(f"{path} holds no table of marks.")
            marks._map(size, file)
        marks._used = sum(1 for _ in _taken(marks._mapped))
        marks._length = sum(1 for _ in marks)
        if marks._used >= size:
            raise ValueError(f"{path} holds no table of marks.")
        return marks

    def _place(self, mark: int) -> int:
        """Return the place where a number is or would be."""
        self._asked += 1
        if self._asked > _LET_GO:
            self._asked = 0
            _let_go(self._mapped)
        slots, size = self._slots, self._size
        if mark <= _GONE:
            mark = _GONE + 1
        place = mark % size
        while (held := slots[place]) != mark and held != _EMPTY:
            place = place + 1 if place + 1 < size else 0
        return place

    def _grow(self) -> None:
        old = _taken(self._mapped)
        self._map(3 * self._length + _FEWEST_PLACES)
        self._length = self._used = 0
        for mark in old:
            if mark > _GONE:
                self.add(mark)

    def _map(self, size: int, content: BinaryIO | None = None) -> None:
        with TemporaryFile(dir=self._folder) as file:
            if hasattr(os, "posix_fallocate"):  # a full disk says so now, and not by a signal when a page is written
                os.posix_fallocate(file.fileno(), 0, 8 * size)
            file.truncate(8 * size)
            if content is not None:
                shutil.copyfileobj(content, file)
                file.flush()
            self._mapped = mmap.mmap(file.fileno(), 8 * size)
        self._slots = memoryview(self._mapped).cast("Q")
        self._size, self._asked = size, 0


def _taken(mapped: mmap.mmap) -> Iterator[int]:
    """Yield what stands in the places of a table that are not empty."""
    slots = memoryview(mapped).cast("Q")
    for start in range(0, len(slots), _LET_GO):
        yield from (mark for mark in slots[start : start + _LET_GO] if mark != _EMPTY)
        _let_go(mapped)


def _let_go(mapped: mmap.mmap) -> None:
    """Let the system have the pages: they are in the file, and no part of what this process holds."""
    if hasattr(mmap, "MADV_DONTNEED"):
        mapped.madvise(mmap.MADV_DONTNEED)


class FiledSet:
    """A set of texts by 64 bits of each; two are the same by chance once in 10^11 questions to 100 million of them."""

    def __init__(self, texts: Iterable[str] = (), folder: Path | None = None, *, most: int = 0) -> None:
        """Take texts to begin with; ``FiledMarks`` says what the others are."""
        self._marks = FiledMarks(folder=folder, most=most)
        self.update(texts)

    def __len__(self) -> int:
        """Return how many there are."""
        return len(self._marks)

    def __contains__(self, text: object) -> bool:
        """Return whether ``text`` is one of them."""
        return hash(text) & _BITS in self._marks

    def isdisjoint(self, texts: Iterable[str]) -> bool:
        """Return whether none of ``texts`` is one of them."""
        return not any(text in self for text in texts)

    def update(self, texts: Iterable[str]) -> None:
        """Take ``texts`` in."""
        for text in texts:
            self._marks.add(hash(text) & _BITS)

    def difference_update(self, texts: Iterable[str]) -> None:
        """Take ``texts`` out."""
        for text in texts:
            self._marks.discard(hash(text) & _BITS)


Texts = set[str] | FiledSet
"""Whichever of the two ``set_of`` chose."""


def set_of(texts: Iterable[str], folder: Path | None = None, *, most: int = 0) -> Texts:
    """Return the set of ``texts``, ``most`` of them, in memory or, where they are many, in a file in ``folder``."""
    held: set[str] = set()
    coming = iter(texts)
    for text in coming:
        held.add(text)
        if len(held) > MOST_HELD:
            return FiledSet(chain(held, coming), folder, most=most)
    return held
