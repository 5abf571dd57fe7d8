"""How the lines of one writer about one user hang together, so that a line that nobody wrote is told from the others.

A line says in ``link`` which line of its writer about its user came before it, and a digest of that and of itself. So a
line that was edited fits its link no more, and one that is gone is still named by the one after it. Where the order in
a file differs, the links say what the order was; two lines after one are the two branches that they were written on.

Anybody can reckon a digest. What this clone writes it knows again by ``salt``: to everybody else it is random, and here
it is made of the line with the key of this machine (``witness``).
"""

from collections.abc import Mapping
from typing import NamedTuple

from ..record.errors import InvalidRecord
from ..record.lines import JSON, encode_data
from ..record.record import unplaced

try:  # what hashlib brings along costs more time than a search
    from _blake2 import blake2b
except ImportError:
    from hashlib import blake2b

DIGEST, SALT = 16, 12
"""Bytes."""
FIRST = "0"
"""What stands in a link for the line before the first one."""


class Link(NamedTuple):
    """Where a line stands."""

    own: bytes
    """What the line after it names."""
    parent: bytes
    """The same of the line before it; empty for the first one."""
    body: bytes
    """What stands for what it says, wherever it stands."""


class Forged(InvalidRecord):
    """Say that a line does not fit its link: one of them was changed after it was written."""


def linked(
    data: Mapping[str, JSON], parent: bytes, *, key: bytes | None = None, by: str = ""
) -> tuple[dict[str, JSON], Link]:
    """Return a line in its place after ``parent``, and where that is.

    Args:
        data: What it says, sealed or not.
        parent: The line before it; empty for the first one.
        key: By which this clone knows it again; without one the salt is random.
        by: Who wrote a line anew that had a place before, such as ``erase``.
    """
    content = unplaced(data)
    text = encode_data(content).encode("utf-8", "surrogatepass")
    salt = _own_salt(text, parent, by, key) if key else _random()
    own = _digest(text, parent, salt, by)
    place = {"link": f"{parent.hex() or FIRST}.{own.hex()}", "salt": salt} | ({"relinked": by} if by else {})
    return content | place, Link(own, parent, _body(text))


def link_of(data: Mapping[str, JSON]) -> Link | None:
    """Return where a line stands, or None for one that does not say.

    Raises:
        Forged: It does not fit what it says of its place.
    """
    if "link" not in data:
        return None
    before, _, own = str(data["link"]).partition(".")
    salt, by = data.get("salt"), data.get("relinked", "")
    try:
        parent, claimed = b"" if before == FIRST else bytes.fromhex(before), bytes.fromhex(own)
    except ValueError:
        raise Forged("Its link is none.") from None
    text = encode_data(unplaced(data)).encode("utf-8", "surrogatepass")
    if not isinstance(salt, str) or not isinstance(by, str) or _digest(text, parent, salt, by) != claimed:
        raise Forged("It does not fit its link: it was changed after it was written.")
    return Link(claimed, parent, _body(text))


def is_own(data: Mapping[str, JSON], link: Link, key: bytes) -> bool:
    """Return whether who has ``key`` wrote a line to where it stands."""
    text = encode_data(unplaced(data)).encode("utf-8", "surrogatepass")
    return data.get("salt") == _own_salt(text, link.parent, str(data.get("relinked", "")), key)


def claimed_link(data: Mapping[str, JSON]) -> bytes:
    """Return what a line says it is to the one after it, true or not; empty where it says nothing."""
    return _digits(str(data.get("link", "")).partition(".")[2])


def parent_of(data: Mapping[str, JSON]) -> bytes:
    """Return which line a line says is before it, true or not; empty for the first one."""
    before = str(data.get("link", "")).partition(".")[0]
    return b"" if before == FIRST else _digits(before)


def _digits(text: str) -> bytes:
    try:
        return bytes.fromhex(text)
    except ValueError:
        return b""


def _own_salt(text: bytes, parent: bytes, by: str, key: bytes) -> str:
    """Return the salt by which who has ``key`` knows a line again."""
    keyed = blake2b(b"memkit: salt\n", digest_size=SALT, key=key)
    keyed.update(b"%s\n%s\n%s" % (parent, by.encode(), text))
    return keyed.hexdigest()


def _random() -> str:
    import os

    return os.urandom(SALT).hex()


def _digest(text: bytes, parent: bytes, salt: str, by: str) -> bytes:
    head = f"{parent.hex()}\n{salt}\n{by}\n".encode("utf-8", "surrogatepass")
    return blake2b(head + text, digest_size=DIGEST).digest()


def _body(text: bytes) -> bytes:
    return blake2b(text, digest_size=DIGEST).digest()


def grown(checksum: bytes, data: bytes) -> bytes:
    """Return the checksum of a shard that had ``checksum`` and gained the whole lines of ``data``.

    Line by line, so that it goes on from where it was, whatever was read at once.
    """
    *lines, rest = data.split(b"\n")
    for line in lines:
        checksum = blake2b(checksum + line, digest_size=DIGEST).digest()
    return blake2b(checksum + rest, digest_size=DIGEST, person=b"open end").digest() if rest else checksum
