"""Frames on a stream: a length, then as many bytes; the reader says how many are too many and how long to wait."""

from __future__ import annotations

import os
import socket
import struct
import time
from typing import Any

from .codec import decode, encode

_HEAD = struct.Struct("<Q")


class TooLarge(Exception):
    """Report a frame that is larger than its reader takes."""


class Late(Exception):
    """Report that a frame did not come, or was not taken, in time."""


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
        raise TooLarge(f"{size} bytes, where {most} is the most")
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
    """Write a frame without a system call of sockets, which the confined side may not make."""
    view = memoryview(frame)
    while view:
        view = view[os.write(descriptor, view) :]


def read_frame(descriptor: int) -> Any:
    """Return the value of the next frame, read without a system call of sockets.

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
