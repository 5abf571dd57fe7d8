"""Data that an erasure collects about a large memory: some of it in a cache, much of it in unnamed files."""

from __future__ import annotations

import json
import os
from array import array
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator
from hashlib import blake2b
from itertools import chain, groupby, islice
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, Generic, TypeVar

MOST_HELD = 1 << 15
"""With more texts than this, they are kept in a file."""
MOST_ANSWERS = 1 << 17
"""The most answers that are cached."""

_EMPTY, _GONE = 0, 1
_BITS = (1 << 64) - 1
_FEWEST_PLACES = 1 << 9
_WIDTH, _ROW = 8, 64
"""Bytes of a number, and bytes read at once for a question."""
_MANY = 1 << 13
"""Numbers that are read or written at once."""
_PIECE, _PART_BITS = 1 << 17, 9
"""Numbers that are sorted at once; and the base-2 logarithm of the number of parts of each piece."""
_MOST_BITS = 26
"""A filter has at most 2 to the power of this bytes, 64 MB; with 100 million numbers, one question in six reads on."""
_SAVED = b"memkit-1"
_BEGINS = len(_SAVED) + _WIDTH

Answer = TypeVar("Answer")


class Lately(Generic[Answer]):
    """A cache of answers about lines by digest: a git object repeats most lines of the one before it."""

    def __init__(self, find: Callable[[bytes, bool], Answer]) -> None:
        """Take the function that computes an answer; a line has two answers, by a flag."""
        self._find = find
        self._answers: dict[bytes, Answer] = {}

    def __call__(self, line: bytes, flag: bool = False) -> Answer:
        """Return the answer about a line, recomputed if it has left the cache."""
        key = blake2b(line, digest_size=16, salt=b"1" if flag else b"0").digest()
        if key not in self._answers:
            if len(self._answers) >= MOST_ANSWERS:
                self._answers.clear()
            self._answers[key] = self._find(line, flag)
        return self._answers[key]

    def forget(self) -> None:
        """Empty the cache."""
        self._answers.clear()


class FiledTexts:
    """Texts in an unnamed file, one after another, for repeated iteration."""

    def __init__(self, texts: Iterable[str] = (), folder: Path | None = None) -> None:
        """Take initial texts, and the folder of the file; by default that for temporary files."""
        self.folder = folder
        self._file = TemporaryFile(dir=folder)  # noqa: SIM115 - it lives as long as this
        self.extend(texts)

    def extend(self, texts: Iterable[str]) -> None:
        """Add more texts."""
        self._file.seek(0, os.SEEK_END)
        self._file.writelines(json.dumps(text).encode() + b"\n" for text in texts)

    def __iter__(self) -> Iterator[str]:
        """Yield the texts; nothing may be added meanwhile."""
        self._file.flush()
        place = 0
        while line := self._line_at(place):
            place += len(line)
            yield json.loads(line)

    def _line_at(self, place: int) -> bytes:
        if self._file.tell() != place:  # another iteration has moved the position
            self._file.seek(place)
        return self._file.readline()


class FiledLines:
    """Lines in an unnamed file, mostly once each; a line repeated after a long time is stored again."""

    def __init__(self, folder: Path | None = None) -> None:
        """Create the file in ``folder``; by default that for temporary files."""
        self.folder = folder
        self._file = TemporaryFile(dir=folder)  # noqa: SIM115 - it lives as long as this
        self._written = Lately(self._write)

    def add(self, line: bytes) -> None:
        """Add a line."""
        self._written(line)

    def __iter__(self) -> Iterator[bytes]:
        """Yield the lines; nothing may be added meanwhile."""
        self._written.forget()
        self._file.seek(0)
        yield from (line[:-1] for line in self._file)

    def close(self) -> None:
        """Close the file."""
        self._written.forget()
        self._file.close()

    def _write(self, line: bytes, flag: bool) -> None:
        self._file.write(line + b"\n")


class FiledMarks:
    """A set of 64-bit numbers in an unnamed file, with a filter in memory that answers most negative questions.

    It is a hash table with open addressing and linear probing, at most two thirds full. It is read place by place and
    not mapped: for a mapped file the system counts every page around a requested one as used. A number's place
    grows with the number, and many at once are sorted first: so a table of gigabytes is written from its front to its
    back. A filter (Bloom, 1970, with one hash) answers for most absent numbers without the file.
    """

    def __init__(self, marks: Iterable[int] = (), folder: Path | None = None) -> None:
        """Take initial numbers, and the folder of the file; by default that for temporary files."""
        self._folder = folder
        self._fill(marks)

    def __len__(self) -> int:
        """Return the number of elements."""
        return self._length

    def __contains__(self, mark: int) -> bool:
        """Return whether a number is in the set."""
        mark = max(mark, _GONE + 1)
        return bool(self._bits[(mark & self._mask) >> 3] >> (mark & 7) & 1) and self._find(mark)[1]

    def __iter__(self) -> Iterator[int]:
        """Yield the numbers in no particular order; nothing may be added meanwhile."""
        return (mark for mark in _numbers(self._file) if mark > _GONE)

    def add(self, mark: int) -> None:
        """Add a number."""
        mark = max(mark, _GONE + 1)
        place, is_in = self._find(mark)
        if not is_in:
            self._write(place, mark)
            self._note(mark)
            self._length += 1
            self._used += 1
            if 3 * self._used > 2 * self._size:
                self._fill(self, room=self._length)

    def update(self, marks: Iterable[int]) -> None:
        """Add numbers: a few one by one, many by rebuilding the table."""
        coming = iter(marks)
        few = list(islice(coming, MOST_HELD))
        if len(few) == MOST_HELD:
            self._fill(chain(self, few, coming))
        else:
            for mark in few:
                self.add(mark)

    def discard(self, mark: int) -> None:
        """Remove a number, if present."""
        if mark in self:
            self._write(self._find(max(mark, _GONE + 1))[0], _GONE)
            self._length -= 1

    def save(self, path: Path) -> None:
        """Write the numbers to a file that ``read`` reads."""
        with open(path, "wb", opener=lambda name, flags: os.open(name, flags, 0o600)) as file:
            file.write(_SAVED + array("Q", [self._length]).tobytes())
            marks = iter(self)
            while some := array("Q", islice(marks, _MANY)):
                some.tofile(file)
            file.flush()
            os.fsync(file.fileno())

    @classmethod
    def read(cls, path: Path, folder: Path | None = None) -> FiledMarks:
        """Return a saved set; raise ``ValueError`` for a file that ``save`` did not write completely."""
        with path.open("rb") as file:
            begins = file.read(_BEGINS)
            size = os.fstat(file.fileno()).st_size - _BEGINS
            if size < 0 or size % _WIDTH or begins != _SAVED + array("Q", [size // _WIDTH]).tobytes():
                raise ValueError(f"{path} holds no marks")
            return cls(_numbers(file, _BEGINS), folder)

    def _fill(self, marks: Iterable[int], room: int = 0) -> None:
        """Build the table from numbers that may be repeated, with room for so many more."""
        most, ascending = _sorted(marks, self._folder)
        most += room
        self._size = 3 * most // 2 + _FEWEST_PLACES
        self._bits = bytearray(1 << min(most.bit_length(), _MOST_BITS))
        self._mask = 8 * len(self._bits) - 1
        file = TemporaryFile(dir=self._folder, buffering=0)  # noqa: SIM115 - it lives as long as this
        size, bits, mask = self._size, self._bits, self._mask  # a hundred million numbers pass through this loop
        row, end, self._length = array("Q"), 0, 0
        for mark in ascending:
            gap = (mark * size >> 64) - end
            if gap > 0:
                row.frombytes(bytes(_WIDTH * gap))
                end += gap
            row.append(mark)
            end += 1
            bits[(mark & mask) >> 3] |= 1 << (mark & 7)
            if len(row) >= _MANY:
                self._length += len(row) - row.count(_EMPTY)
                _write_whole(file, row)
                row = array("Q")
        self._length += len(row) - row.count(_EMPTY)
        _write_whole(file, row)
        self._file, self._used = file, self._length

    def _note(self, mark: int) -> None:
        self._bits[(mark & self._mask) >> 3] |= 1 << (mark & 7)

    def _find(self, mark: int) -> tuple[int, bool]:
        """Return the place where a number is or would be, and whether it is there."""
        place = mark * self._size >> 64
        while row := os.pread(self._file.fileno(), _ROW, place * _WIDTH):
            for held in memoryview(row).cast("Q"):
                if held in (mark, _EMPTY):
                    return place, held == mark
                place += 1
        return place, False

    def _write(self, place: int, mark: int) -> None:
        os.pwrite(self._file.fileno(), array("Q", [mark]).tobytes(), place * _WIDTH)


def _numbers(file: IO[bytes], place: int = 0) -> Iterator[int]:
    """Yield the numbers in a file from a place on, without empty places."""
    while row := os.pread(file.fileno(), _WIDTH * _MANY, place):
        place += len(row)
        yield from filter(None, memoryview(row).cast("Q"))


def _write_whole(file: IO[bytes], numbers: array[int]) -> None:
    rest = memoryview(numbers.tobytes())
    while rest:
        rest = rest[file.write(rest) :]


def _sorted(marks: Iterable[int], folder: Path | None) -> tuple[int, Iterator[int]]:
    """Return the greatest possible number of distinct numbers, and yield each once in ascending order.

    Many are sorted piece by piece into a file; then one part of all pieces at a time is held, by their leading bits.
    """
    coming = (max(mark, _GONE + 1) for mark in marks)
    piece = array("Q", islice(coming, _PIECE))
    if len(piece) < _PIECE:
        return len(piece), iter(sorted(set(piece)))
    file = TemporaryFile(dir=folder, buffering=0)  # noqa: SIM115 - it lives as long as what is yielded
    cuts: list[array[int]] = []
    count = 0
    while piece:
        ordered = sorted(set(piece))  # a value repeated in a million records would fill a part alone
        firsts = (part << 64 - _PART_BITS for part in range(1 << _PART_BITS))
        cuts.append(array("Q", [*(count + bisect_left(ordered, first) for first in firsts), count + len(ordered)]))
        _write_whole(file, array("Q", ordered))
        count += len(ordered)
        piece = array("Q", islice(coming, _PIECE))
    return count, (mark for mark, _ in groupby(_merged(file, cuts)))


def _merged(file: IO[bytes], cuts: list[array[int]]) -> Iterator[int]:
    """Yield the numbers of a file of sorted pieces in ascending order, given where in each piece each part begins."""
    for part in range(1 << _PART_BITS):
        held = array("Q")
        for cut in cuts:
            held.frombytes(os.pread(file.fileno(), _WIDTH * (cut[part + 1] - cut[part]), _WIDTH * cut[part]))
        yield from sorted(held)


class FiledSet:
    """A set of texts by 64 bits of each; two collide by chance once in 10^11 questions to 100 million of them."""

    def __init__(self, texts: Iterable[str] = (), folder: Path | None = None) -> None:
        """Take initial texts, and the folder of the file; by default that for temporary files."""
        self._marks = FiledMarks((hash(text) & _BITS for text in texts), folder)

    def __len__(self) -> int:
        """Return the number of elements."""
        return len(self._marks)

    def __contains__(self, text: object) -> bool:
        """Return whether ``text`` is in the set."""
        return hash(text) & _BITS in self._marks

    def isdisjoint(self, texts: Iterable[str]) -> bool:
        """Return whether none of ``texts`` is in the set."""
        is_in = self._marks.__contains__
        return not any(is_in(hash(text) & _BITS) for text in texts)

    def update(self, texts: Iterable[str]) -> None:
        """Add ``texts``."""
        self._marks.update(hash(text) & _BITS for text in texts)

    def difference_update(self, texts: Iterable[str]) -> None:
        """Remove ``texts``."""
        for text in texts:
            self._marks.discard(hash(text) & _BITS)


Texts = set[str] | FiledSet
"""Either type, as chosen by ``set_of``."""


def set_of(texts: Iterable[str], folder: Path | None = None) -> Texts:
    """Return the set of ``texts``, in memory or, if they are many, in a file in ``folder``."""
    held: set[str] = set()
    coming = iter(texts)
    for text in coming:
        held.add(text)
        if len(held) > MOST_HELD:
            return FiledSet(chain(held, coming), folder)
    return held
