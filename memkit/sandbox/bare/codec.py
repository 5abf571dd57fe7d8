"""Plain data between processes that do not trust each other: values as bytes, and messages as frames of them."""

from __future__ import annotations

import os
import socket
import struct
import sys
import time
from array import array
from collections.abc import Callable
from typing import Any

DEEPEST = 64
MOST_ITEMS = 2_000_000
"""The most unpacked items; each costs its reader far more memory than the byte it may be sent in."""
LARGEST_INT = 1_024
"""Bytes of an integer, about 2,460 digits."""
LARGEST_KEY = 1 << 60
"""Integer keys stay below the modulus of Python's hash, so that no two collide and a dict cannot be made slow."""
DTYPES = frozenset(["?1", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8", "c8", "c16"])

_SIZE, _INT, _FLOAT = struct.Struct("<I"), struct.Struct("<q"), struct.Struct("<d")


class NotPlain(TypeError):
    """Name the value that cannot be forwarded."""


class Malformed(ValueError):
    """Report bytes that this codec did not write."""


def encode(value: Any) -> bytes:
    """Return ``value`` as bytes.

    Raises:
        NotPlain: If something in it is not plain data; the message names it and its place.
    """
    out = bytearray()
    _write(out, value, 0)
    return bytes(out)


def decode(data: bytes) -> Any:
    """Return the value in ``data``.

    Raises:
        Malformed: If the bytes are not one value, or claim more than there is.
    """
    reader = _Reader(data)
    try:
        value = reader.read(0)
    except (struct.error, UnicodeDecodeError, IndexError) as error:
        raise Malformed(str(error)) from error
    if reader.place != len(data):
        raise Malformed("bytes after the value")
    return value


def _write(out: bytearray, value: Any, depth: int) -> None:
    kind = type(value)
    writer = _WRITERS.get(kind)
    if writer is None:
        writer = _writer_for(value)
    if depth > DEEPEST:
        raise NotPlain(f"data nested deeper than {DEEPEST} levels cannot be forwarded")
    writer(out, value, depth)


def _writer_for(value: Any) -> Callable[[bytearray, Any, int], None]:
    """Return the writer for instances of a class that is not plain itself."""
    numpy = sys.modules.get("numpy")
    if numpy is not None:
        if type(value) is numpy.ndarray:
            return _write_array
        if isinstance(value, numpy.generic) and value.dtype.kind in "biuf" and value.dtype.itemsize <= 8:
            return lambda out, number, depth: _write(out, number.item(), depth)
    for base in (dict, list, tuple, str, int, float):
        if issubclass(type(value), base):  # an object's claim about its class need not be true
            return _WRITERS[base]
    raise NotPlain(f"{named(value)} cannot be forwarded; plain data can")


def named(value: Any) -> str:
    """Return a description of ``value``."""
    if isinstance(value, type):
        return f"the class {value.__name__}"
    if callable(value) and hasattr(value, "__name__"):
        return f"the function {value.__name__}"
    name = type(value).__name__
    return f"{'an' if name[:1].lower() in 'aeiou' else 'a'} {name}"


def _write_int(out: bytearray, value: Any, _depth: int) -> None:
    value = int.__index__(value)
    if -(1 << 63) <= value < 1 << 63:
        out += b"i" + _INT.pack(value)
        return
    size = value.bit_length() // 8 + 1
    if size > LARGEST_INT:
        raise NotPlain(f"an integer of {size} bytes cannot be forwarded; the limit is {LARGEST_INT}")
    out += b"I" + _SIZE.pack(size) + value.to_bytes(size, "little", signed=True)


def _write_text(out: bytearray, value: Any, _depth: int) -> None:
    try:
        data = str.encode(value, "utf-8")
    except UnicodeEncodeError:
        raise NotPlain("text with half of a surrogate pair cannot be forwarded") from None
    out += b"s" + _SIZE.pack(len(data)) + data


def _write_items(out: bytearray, items: list[Any], depth: int, tags: bytes) -> None:
    """Write items packed if all are floats or all are small integers, else one by one."""
    kinds = set(map(type, items))
    packed = b""
    if kinds == {float}:
        tag, packed = tags[1:2], array("d", items).tobytes()
    elif kinds == {int}:
        try:
            tag, packed = tags[2:3], array("q", items).tobytes()
        except OverflowError:
            tag = tags[:1]
    else:
        tag = tags[:1]
    out += tag + _SIZE.pack(len(items)) + packed
    if not packed:
        for item in items:
            _write(out, item, depth + 1)


def _write_dict(out: bytearray, value: Any, depth: int) -> None:
    items = list(dict.items(value))
    out += b"m" + _SIZE.pack(len(items))
    for key, item in items:
        if type(key) is not str and not (type(key) is int and abs(key) < LARGEST_KEY):
            raise NotPlain(f"a dictionary with {named(key)} as a key cannot be forwarded; text and small integers can")
        _write(out, key, depth + 1)
        _write(out, item, depth + 1)


def _write_array(out: bytearray, value: Any, _depth: int) -> None:
    dtype = value.dtype.newbyteorder("<")
    name = dtype.str[1:].replace("b", "?")
    if name not in DTYPES:
        raise NotPlain(f"an array of {value.dtype} cannot be forwarded; numbers can")
    data = value.astype(dtype, copy=False).tobytes()
    out += b"a" + bytes([len(name)]) + name.encode() + bytes([value.ndim])
    for length in value.shape:
        out += _SIZE.pack(length)
    out += _SIZE.pack(len(data)) + data


_WRITERS: dict[type, Callable[[bytearray, Any, int], None]] = {
    type(None): lambda out, _value, _depth: out.extend(b"N"),
    bool: lambda out, value, _depth: out.extend(b"T" if value else b"F"),
    int: _write_int,
    float: lambda out, value, _depth: out.extend(b"d" + _FLOAT.pack(value)),
    str: _write_text,
    bytes: lambda out, value, _depth: out.extend(b"b" + _SIZE.pack(len(value)) + value),
    list: lambda out, value, depth: _write_items(out, list(list.__iter__(value)), depth, b"lDQ"),
    tuple: lambda out, value, depth: _write_items(out, list(tuple.__iter__(value)), depth, b"tER"),
    dict: _write_dict,
}


class _Reader:
    """Reads one value; every length is checked against the remaining bytes before anything that large is allocated."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._items = 0
        self.place = 0

    def read(self, depth: int) -> Any:
        if depth > DEEPEST:
            raise Malformed(f"nested deeper than {DEEPEST} levels")
        self._items += 1
        if self._items > MOST_ITEMS:
            raise Malformed(f"more than {MOST_ITEMS} items")
        tag = self._take(1)
        if tag in _CONSTANTS:
            return _CONSTANTS[tag]
        if tag == b"i":
            return _INT.unpack(self._take(8))[0]
        if tag == b"d":
            return _FLOAT.unpack(self._take(8))[0]
        if tag == b"a":
            return self._array()
        if tag == b"m":
            return self._dict(depth)
        size = self._size()
        if tag == b"s":
            return self._take(size).decode("utf-8")
        if tag == b"b":
            return self._take(size)
        if tag == b"I":
            return self._integer(size)
        if tag in b"DQER":
            items = array("d" if tag in b"DE" else "q", self._take(size * 8)).tolist()
            return items if tag in b"DQ" else tuple(items)
        if tag in b"lt":
            return self._items_of(size, depth) if tag == b"l" else tuple(self._items_of(size, depth))
        raise Malformed(f"the tag {tag!r}")

    def _take(self, size: int) -> bytes:
        end = self.place + size
        if end > len(self._data):
            raise Malformed("shorter than it says")
        taken = self._data[self.place : end]
        self.place = end
        return taken

    def _size(self) -> int:
        size: int = _SIZE.unpack(self._take(4))[0]
        return size

    def _integer(self, size: int) -> int:
        if size > LARGEST_INT:
            raise Malformed("an integer that is too large")
        return int.from_bytes(self._take(size), "little", signed=True)

    def _items_of(self, size: int, depth: int) -> list[Any]:
        if size > len(self._data) - self.place:
            raise Malformed("shorter than it says")
        return [self.read(depth + 1) for _ in range(size)]

    def _dict(self, depth: int) -> dict[str | int, Any]:
        size, read = self._size(), {}
        for _ in range(size):
            key = self.read(depth + 1)
            if type(key) is not str and not (type(key) is int and abs(key) < LARGEST_KEY):
                raise Malformed("a key that is neither text nor a small integer")
            read[key] = self.read(depth + 1)
        if len(read) != size:
            raise Malformed("a duplicate key")
        return read

    def _array(self) -> Any:
        name = self._take(self._take(1)[0]).decode("ascii")
        if name not in DTYPES:
            raise Malformed(f"an array of {name!r}")
        shape = tuple(self._size() for _ in range(self._take(1)[0]))
        data = self._take(self._size())
        try:
            import numpy
        except ImportError:
            raise Malformed("an array, and numpy is not installed here") from None
        try:
            if name == "?1":  # a byte other than 0 and 1 would make an invalid truth value
                return (numpy.frombuffer(data, "u1") != 0).reshape(shape)
            return numpy.frombuffer(data, "<" + name).reshape(shape).copy()
        except ValueError as error:
            raise Malformed(str(error)) from error


_CONSTANTS = {b"N": None, b"T": True, b"F": False}


_HEAD = struct.Struct("<Q")


class TooLarge(Exception):
    """Report a frame that is larger than its reader accepts."""


class Late(Exception):
    """Report that a frame was not received, or not accepted, in time."""


class Ended(Exception):
    """Report that the other side has closed the stream."""


def framed(value: Any) -> bytes:
    """Return ``value`` as a frame, ready to be written."""
    data = encode(value)
    return _HEAD.pack(len(data)) + data


def send(stream: socket.socket, frame: bytes, deadline: float) -> None:
    """Send a frame before ``deadline`` (of the monotonic clock)."""
    stream.settimeout(_left(deadline))
    try:
        stream.sendall(frame)
    except TimeoutError:
        raise Late from None
    except OSError:
        raise Ended from None


def receive(stream: socket.socket, deadline: float, most: int) -> Any:
    """Return the value of the next frame, which must be whole before ``deadline``.

    Raises:
        Malformed: If the frame holds no value.
    """
    (size,) = _HEAD.unpack(_exactly(stream, _HEAD.size, deadline))
    if size > most:
        raise TooLarge(f"{size} bytes; the limit is {most}")
    return decode(bytes(_exactly(stream, size, deadline)))


def _exactly(stream: socket.socket, size: int, deadline: float) -> bytearray:
    data = bytearray(size)
    view, place = memoryview(data), 0
    while place < size:
        stream.settimeout(_left(deadline))
        try:
            read = stream.recv_into(view[place:])
        except TimeoutError:
            raise Late from None
        except OSError:
            raise Ended from None
        if not read:
            raise Ended
        place += read
    return data


def _left(deadline: float) -> float:
    left = deadline - time.monotonic()
    if left <= 0:
        raise Late
    return left


def write_frame(descriptor: int, frame: bytes) -> None:
    """Write a frame without socket system calls, which the confined side may not make."""
    view = memoryview(frame)
    while view:
        view = view[os.write(descriptor, view) :]


def read_frame(descriptor: int) -> Any:
    """Return the value of the next frame, read without socket system calls.

    Raises:
        Ended: If the other side has closed the stream.
    """
    (size,) = _HEAD.unpack(_read_exactly(descriptor, _HEAD.size))
    return decode(_read_exactly(descriptor, size))


def _read_exactly(descriptor: int, size: int) -> bytes:
    data = bytearray()
    while len(data) < size:
        read = os.read(descriptor, min(size - len(data), 1 << 20))
        if not read:
            raise Ended
        data += read
    return bytes(data)
