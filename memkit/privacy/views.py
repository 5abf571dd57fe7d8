"""The readings of some bytes in which a text could hide: encodings, escapes and compressed members."""

from __future__ import annotations

import base64
import binascii
import hashlib
import io
import re
import zipfile
import zlib
from collections.abc import Iterator
from functools import cache
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from urllib.parse import unquote_to_bytes

from memkit.resources import resource

DEEPEST = 3
"""So many wrappings one in another are opened: base64 of gzip of UTF-16 is."""
LARGEST = 64 * 1024 * 1024
"""Bytes that a compressed member is opened to."""

_BASE64 = re.compile(rb"[A-Za-z0-9+/_-]{16,}")
_HEX = re.compile(rb"(?:[0-9a-fA-F]{2}){8,}")
_PERCENT = re.compile(rb"%[0-9a-fA-F]{2}")
_ESCAPE = re.compile(rb'\\(?:u([0-9a-fA-F]{4})|(["\\/bfnrt]))')
_MEMBER = re.compile(rb"\x1f\x8b\x08|\x78[\x01\x5e\x9c\xda]")
_URL_SAFE = bytes.maketrans(b"-_", b"+/")
_PLAIN = {b"b": b"\b", b"f": b"\f", b"n": b"\n", b"r": b"\r", b"t": b"\t"}


def readings(data: bytes, depth: int = 0) -> Iterator[str]:
    """Yield ``data`` as text in every way it could be meant."""
    members = _members(data) if depth < DEEPEST and data.startswith(b"PK\x03\x04") else None
    if members is not None:  # the bytes around the members say nothing
        for member in members:
            yield from readings(member, depth + 1)
        return
    yield from _texts(data)
    if depth < DEEPEST:
        for inner in _unwrapped(data):
            yield from readings(inner, depth + 1)


def _members(data: bytes) -> list[bytes] | None:
    """Return names, comments and contents of a zip archive, such as a wheel; None where it cannot be opened.

    What is byte for byte memkit's own says nothing of anybody: a store's checks and a project may hold it as a wheel.
    """
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            found = archive.infolist()
            if sum(member.file_size for member in found) > LARGEST:
                return None
            said = [part for member in found for part in (member.filename.encode(), member.comment, member.extra)]
            contents = (content for content in map(archive.read, found) if _digest(content) not in _of_memkit())
            return [b"\n".join([archive.comment, *said]), *contents]
    except (zipfile.BadZipFile, zlib.error, NotImplementedError, RuntimeError, OSError, ValueError, EOFError):
        return None


@cache
def _of_memkit() -> frozenset[bytes]:
    """Return the digests of the files that this memkit was installed with."""
    folders = [Path(__file__).parents[1], *map(resource, ("templates", "skills", "policies", "domains"))]
    files = [path for folder in folders for path in folder.rglob("*") if path.is_file() and path.suffix != ".pyc"]
    try:
        about = distribution("memkit-agent").read_text("METADATA") or ""
    except PackageNotFoundError:
        about = ""
    return frozenset([_digest(about.encode()), *(_digest(path.read_bytes()) for path in files)])


def _digest(content: bytes) -> bytes:
    return hashlib.sha256(content).digest()


def _texts(data: bytes) -> Iterator[str]:
    try:
        yield data.decode()
        wide = b"\0" in data
    except UnicodeDecodeError:
        yield data.decode(errors="replace")
        yield data.decode("latin-1")
        wide = True
    if wide:
        for start in (0, 1):
            yield data[start:].decode("utf-16-le", "replace")
            yield data[start:].decode("utf-16-be", "replace")


def _unwrapped(data: bytes) -> Iterator[bytes]:
    if b"\\" in data and _ESCAPE.search(data):
        yield _unescaped(data)
    if b"%" in data and _PERCENT.search(data):
        yield unquote_to_bytes(data.replace(b"+", b" "))
    for match in _HEX.finditer(data):
        yield from filter(_says_something, [binascii.unhexlify(match[0])])
    for match in _BASE64.finditer(data):
        letters = match[0].translate(_URL_SAFE)
        # What was encoded may begin anywhere in a run of such letters.
        yield from filter(_says_something, (_decoded(letters[start:]) for start in range(4)))
    for match in _MEMBER.finditer(data):
        yield from _inflated(data[match.start() :])


def _decoded(letters: bytes) -> bytes:
    """Return what letters of base64 stand for, also where their padding is missing."""
    if len(letters) % 4 == 1:  # no encoder leaves one letter over
        letters = letters[:-1]
    return base64.b64decode(letters + b"=" * (-len(letters) % 4))


def _unescaped(data: bytes) -> bytes:
    """Return ``data`` with JSON's escapes resolved; halves of surrogate pairs come together again."""

    def meant(match: re.Match[bytes]) -> bytes:
        if match[1]:
            return chr(int(match[1], 16)).encode("utf-8", "surrogatepass")
        return _PLAIN.get(match[2], match[2])

    joined = _ESCAPE.sub(meant, data)
    if b"\xed" not in joined:
        return joined
    paired = joined.decode("utf-8", "surrogatepass" if _is_surrogate_utf8(joined) else "replace")
    return paired.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace").encode()


def _is_surrogate_utf8(data: bytes) -> bool:
    try:
        data.decode("utf-8", "surrogatepass")
    except UnicodeDecodeError:
        return False
    return True


def _says_something(data: bytes) -> bool:
    """Return whether decoded bytes can be text or a compressed member; digests and ids decode to noise."""
    if b"\0" in data or _MEMBER.search(data):
        return True
    for cut in range(4):  # a character may be cut at either end
        try:
            return data[cut:].decode().strip().isprintable()
        except UnicodeDecodeError as error:
            whole = data[cut : cut + error.start]
            if error.start >= len(data) - cut - 3 and whole.decode().strip().isprintable():
                return True
    return False


def _inflated(data: bytes) -> Iterator[bytes]:
    machine = zlib.decompressobj(31 if data.startswith(b"\x1f\x8b") else 15)
    try:
        inner = machine.decompress(data, LARGEST)
    except zlib.error:
        return
    if inner:
        yield inner
