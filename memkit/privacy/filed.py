"""What an erasure holds of a long memory: some of it lately, much of it in files without a name."""

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
"""More texts than this lie in a file."""
MOST_ANSWERS = 1 << 17
"""More answers than this are not kept."""

_EMPTY, _GONE = 0, 1
_BITS = (1 << 64) - 1
_FEWEST_PLACES = 1 << 9
_WIDTH, _ROW = 8, 64
"""Bytes of a number, and of what a question reads at once."""
_MANY = 1 << 13
"""Numbers that are read or written at once."""
_PIECE, _PART_BITS = 1 << 17, 9
"""Numbers that are sorted at once; and two to the power of how many parts their pieces have."""
_MOST_BITS = 26
"""A filter holds at most two to the power of this bytes, 64 MB; of 100 million numbers one in six is asked for."""
_SAVED = b"memkit-1"
_BEGINS = len(_SAVED) + _WIDTH

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
    """A set of numbers of 64 bits in a file without a name; of all of them some bits are held that tell most others.

    It is a hash table with open addressing and linear probing, at most two thirds full. It is read place by place and
    not mapped: of a mapped file the system counts every page around one that was asked for as held. A number's place
    grows with the number, and many at once are sorted first: so a table of gigabytes is written from its front to its
    back. A filter (Bloom, 1970, with one hash) answers for most of what is not in it without the file.
    """

    def __init__(self, marks: Iterable[int] = (), folder: Path | None = None) -> None:
        """Take numbers to begin with, and the folder of the file; default: where temporary files lie."""
        self._folder = folder
        self._fill(marks)

    def __len__(self) -> int:
        """Return how many there are."""
        return self._length

    def __contains__(self, mark: int) -> bool:
        """Return whether a number is one of them."""
        mark = max(mark, _GONE + 1)
        return bool(self._bits[(mark & self._mask) >> 3] >> (mark & 7) & 1) and self._find(mark)[1]

    def __iter__(self) -> Iterator[int]:
        """Yield them, in no order; nothing may be added meanwhile."""
        return (mark for mark in _numbers(self._file) if mark > _GONE)

    def add(self, mark: int) -> None:
        """Take a number in."""
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
        """Take numbers in: few of them one by one, many by making the table anew."""
        coming = iter(marks)
        few = list(islice(coming, MOST_HELD))
        if len(few) == MOST_HELD:
            self._fill(chain(self, few, coming))
        else:
            for mark in few:
                self.add(mark)

    def discard(self, mark: int) -> None:
        """Take a number out, where it is in."""
        if mark in self:
            self._write(self._find(max(mark, _GONE + 1))[0], _GONE)
            self._length -= 1

    def save(self, path: Path) -> None:
        """Write them to a file that ``read`` reads."""
        with open(path, "wb", opener=lambda name, flags: os.open(name, flags, 0o600)) as file:
            file.write(_SAVED + array("Q", [self._length]).tobytes())
            marks = iter(self)
            while some := array("Q", islice(marks, _MANY)):
                some.tofile(file)
            file.flush()
            os.fsync(file.fileno())

    @classmethod
    def read(cls, path: Path, folder: Path | None = None) -> FiledMarks:
        """Return what was saved; raises ``ValueError`` for a file that ``save`` did not write whole."""
        with path.open("rb") as file:
            begins = file.read(_BEGINS)
            size = os.fstat(file.fileno()).st_size - _BEGINS
            if size < 0 or size % _WIDTH or begins != _SAVED + array("Q", [size // _WIDTH]).tobytes():
                raise ValueError(f"{path} holds no marks")
            return cls(_numbers(file, _BEGINS), folder)

    def _fill(self, marks: Iterable[int], room: int = 0) -> None:
        """Make the table of numbers that may come more than once, with room for so many more."""
        most, ascending = _sorted(marks, self._folder)
        most += room
        self._size = 3 * most // 2 + _FEWEST_PLACES
        self._bits = bytearray(1 << min(most.bit_length(), _MOST_BITS))
        self._mask = 8 * len(self._bits) - 1
        file = TemporaryFile(dir=self._folder, buffering=0)  # noqa: SIM115 - it lives as long as this
        size, bits, mask = self._size, self._bits, self._mask  # a hundred million go through these lines
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
    """Yield what stands in a file of numbers from a place on, but for what is empty."""
    while row := os.pread(file.fileno(), _WIDTH * _MANY, place):
        place += len(row)
        yield from filter(None, memoryview(row).cast("Q"))


def _write_whole(file: IO[bytes], numbers: array[int]) -> None:
    rest = memoryview(numbers.tobytes())
    while rest:
        rest = rest[file.write(rest) :]


def _sorted(marks: Iterable[int], folder: Path | None) -> tuple[int, Iterator[int]]:
    """Return how many numbers there are at most, and yield each once in ascending order.

    Many are sorted piece by piece into a file; then one part of all pieces after the other is held, by how they begin.
    """
    coming = (max(mark, _GONE + 1) for mark in marks)
    piece = array("Q", islice(coming, _PIECE))
    if len(piece) < _PIECE:
        return len(piece), iter(sorted(set(piece)))
    file = TemporaryFile(dir=folder, buffering=0)  # noqa: SIM115 - it lives as long as what is yielded
    cuts: list[array[int]] = []
    count = 0
    while piece:
        ordered = sorted(set(piece))  # what a million records all say would be a part by itself
        firsts = (part << 64 - _PART_BITS for part in range(1 << _PART_BITS))
        cuts.append(array("Q", [*(count + bisect_left(ordered, first) for first in firsts), count + len(ordered)]))
        _write_whole(file, array("Q", ordered))
        count += len(ordered)
        piece = array("Q", islice(coming, _PIECE))
    return count, _each_once(_merged(file, cuts))


def _merged(file: IO[bytes], cuts: list[array[int]]) -> Iterator[int]:
    """Yield the numbers of a file of sorted pieces in ascending order, given where in each piece each part begins."""
    for part in range(1 << _PART_BITS):
        held = array("Q")
        for cut in cuts:
            held.frombytes(os.pread(file.fileno(), _WIDTH * (cut[part + 1] - cut[part]), _WIDTH * cut[part]))
        yield from sorted(held)


def _each_once(ascending: Iterable[int]) -> Iterator[int]:
    return (mark for mark, _ in groupby(ascending))


class FiledSet:
    """A set of texts by 64 bits of each; two are the same by chance once in 10^11 questions to 100 million of them."""

    def __init__(self, texts: Iterable[str] = (), folder: Path | None = None) -> None:
        """Take texts to begin with, and the folder of the file; default: where temporary files lie."""
        self._marks = FiledMarks((hash(text) & _BITS for text in texts), folder)

    def __len__(self) -> int:
        """Return how many there are."""
        return len(self._marks)

    def __contains__(self, text: object) -> bool:
        """Return whether ``text`` is one of them."""
        return hash(text) & _BITS in self._marks

    def isdisjoint(self, texts: Iterable[str]) -> bool:
        """Return whether none of ``texts`` is one of them."""
        is_in = self._marks.__contains__
        return not any(is_in(hash(text) & _BITS) for text in texts)

    def update(self, texts: Iterable[str]) -> None:
        """Take ``texts`` in."""
        self._marks.update(hash(text) & _BITS for text in texts)

    def difference_update(self, texts: Iterable[str]) -> None:
        """Take ``texts`` out."""
        for text in texts:
            self._marks.discard(hash(text) & _BITS)


Texts = set[str] | FiledSet
"""Whichever of the two ``set_of`` chose."""


def set_of(texts: Iterable[str], folder: Path | None = None) -> Texts:
    """Return the set of ``texts``, in memory or, where they are many, in a file in ``folder``."""
    held: set[str] = set()
    coming = iter(texts)
    for text in coming:
        held.add(text)
        if len(held) > MOST_HELD:
            return FiledSet(chain(held, coming), folder)
    return held
