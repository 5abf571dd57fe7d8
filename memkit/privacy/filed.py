"""What an erasure holds of a long memory: some of it lately, much of it in files without a name."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable, Iterable, Iterator
from hashlib import blake2b
from itertools import chain
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, Generic, TypeVar

MOST_HELD = 1 << 15
"""More texts than this lie in a file."""
MOST_ANSWERS = 1 << 17
"""More answers than this are not kept."""

_EMPTY, _GONE = 0, 1
_BITS = (1 << 64) - 1
_FEWEST_PLACES = 1 << 9
_WIDTH, _ROW, _MANY_ROWS = 8, 64, 1 << 16
"""Bytes of a number, and of what is read at once."""

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
            if len(self._answers) >= MOST_ANSWERS:
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
    """A set of numbers of 64 bits in a file without a name: nothing of it is held.

    It is a hash table with open addressing and linear probing, at most two thirds full. It is read place by place and
    not mapped: of a mapped file the system counts every page around one that was asked for as held.
    """

    def __init__(self, marks: Iterable[int] = (), folder: Path | None = None, *, most: int = 0) -> None:
        """Take numbers to begin with.

        Args:
            marks: The numbers.
            folder: Of the file; default: where temporary files lie.
            most: How many there may be, where that is known: then it is made as large as that at once.
        """
        self._folder = folder
        self._open(max(_FEWEST_PLACES, 3 * most // 2 + 1))
        for mark in marks:
            self.add(mark)

    def __len__(self) -> int:
        """Return how many there are."""
        return self._length

    def __contains__(self, mark: int) -> bool:
        """Return whether a number is one of them."""
        return self._find(mark)[1]

    def __iter__(self) -> Iterator[int]:
        """Yield them, in no order; nothing may be added meanwhile."""
        return (mark for mark in _taken(self._file) if mark > _GONE)

    def add(self, mark: int) -> None:
        """Take a number in."""
        place, is_in = self._find(mark)
        if not is_in:
            self._write(place, max(mark, _GONE + 1))
            self._length += 1
            self._used += 1
            if 3 * self._used > 2 * self._size:
                self._grow()

    def discard(self, mark: int) -> None:
        """Take a number out, where it is in."""
        place, is_in = self._find(mark)
        if is_in:
            self._write(place, _GONE)
            self._length -= 1

    def save(self, path: Path) -> None:
        """Write them to a file that ``read`` reads."""
        with open(path, "wb", opener=lambda name, flags: os.open(name, flags, 0o600)) as file:
            self._file.seek(0)
            shutil.copyfileobj(self._file, file)
            file.flush()
            os.fsync(file.fileno())

    @classmethod
    def read(cls, path: Path, folder: Path | None = None) -> FiledMarks:
        """Return what was saved; raises ``ValueError`` for a file that ``save`` did not write."""
        marks = cls(folder=folder)
        with path.open("rb") as file:
            size, odd = divmod(os.fstat(file.fileno()).st_size, _WIDTH)
            if odd or size < _FEWEST_PLACES:
                raise ValueError(f"{path} holds no table of marks")
            marks._open(size)
            shutil.copyfileobj(file, marks._file)
        for mark in _taken(marks._file):
            marks._used += 1
            marks._length += mark > _GONE
        if marks._used >= size:
            raise ValueError(f"{path} holds no table of marks")
        return marks

    def _find(self, mark: int) -> tuple[int, bool]:
        """Return the place where a number is or would be, and whether it is there."""
        if mark <= _GONE:
            mark = _GONE + 1
        place = mark % self._size
        while True:
            row = os.pread(self._file.fileno(), _ROW, place * _WIDTH)
            for start in range(0, len(row), _WIDTH):
                held = int.from_bytes(row[start : start + _WIDTH], "little")
                if held in (mark, _EMPTY):
                    return place, held == mark
                place += 1
            if place >= self._size:
                place = 0

    def _write(self, place: int, mark: int) -> None:
        os.pwrite(self._file.fileno(), mark.to_bytes(_WIDTH, "little"), place * _WIDTH)

    def _grow(self) -> None:
        old = self._file
        self._open(3 * self._length + _FEWEST_PLACES)
        for mark in _taken(old):
            if mark > _GONE:
                self.add(mark)

    def _open(self, size: int) -> None:
        self._file = TemporaryFile(dir=self._folder, buffering=0)  # noqa: SIM115 - it lives as long as this
        self._file.truncate(_WIDTH * size)
        self._size, self._length, self._used = size, 0, 0


def _taken(file: IO[bytes]) -> Iterator[int]:
    """Yield what stands in the places of a table that are not empty."""
    place = 0
    while rows := os.pread(file.fileno(), _MANY_ROWS, place):
        place += len(rows)
        starts = range(0, len(rows), _WIDTH)
        marks = (int.from_bytes(rows[start : start + _WIDTH], "little") for start in starts)
        yield from (mark for mark in marks if mark != _EMPTY)


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
