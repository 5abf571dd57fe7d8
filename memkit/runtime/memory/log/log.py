"""The append-only log: what a shard is, where a line lies, how lines hang together, and the log that lives in memory.

A line says in ``link`` which line of its writer about its user came before it, and a digest of that and of itself. So a
line that was edited fits its link no more, and one that is gone is still named by the one after it. Where the order in
a file differs, the links say what the order was; two lines after one are the two branches that they were written on.

Anybody can reckon a digest. What this clone writes it knows again by ``salt``: to everybody else it is random, and here
it is made of the line with the key of this machine. What a clone knows of the chains by itself (``Witness``) lies
beside the user's keys and not in the store, so that putting back an older copy of everything is seen.
"""

import json
import os
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import cached_property, lru_cache
from pathlib import Path
from threading import get_ident
from typing import Any, NamedTuple, Protocol

from ..record.lines import EMPTY, JSON, InvalidRecord, NothingOfItsOwn, decode_line, encode_data
from ..record.record import unplaced
from .clone import keys_home, machine_key, state_folder, whole_file

try:  # what hashlib brings along costs more time than a search
    from _blake2 import blake2b
except ImportError:
    from hashlib import blake2b

# How the lines of one writer about one user hang together, so that a line that nobody wrote is told from the others.

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
    place = {"link": _link_text(parent, own), "salt": salt} | ({"relinked": by} if by else {})
    return content | place, Link(own, parent, _body(text))


def link_of(data: Mapping[str, JSON]) -> Link | None:
    """Return where a line stands, or None for one that does not say; raises ``Forged`` as ``read_link``."""
    found = read_link(data)
    return found and found[0]


def read_link(data: Mapping[str, JSON]) -> tuple[Link, bytes] | None:
    """Return where a line stands and what it says as bytes, or None for one that does not say.

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
    return Link(claimed, parent, _body(text)), text


def read_own_link(data: Mapping[str, JSON], line: bytes, key: bytes) -> tuple[Link, bytes] | None:
    """Return the same of a line that lies as who has ``key`` wrote it, without writing it anew; None for any other.

    What it says is cut out of its bytes, in half the time. For others' lines that would not do: anybody can reckon
    a digest, also of bytes that are no JSON once a salt, which may stand twice, is cut out. The salt of an own line is
    made of what was written here, and nobody else can make one of other bytes.

    Args:
        data: The line, parsed.
        line: The same as it lies.
        key: By which this clone knows its writer's lines again.
    """
    link, salt = data.get("link"), data.get("salt")
    if not isinstance(link, str) or not isinstance(salt, str) or "relinked" in data:
        return None
    text, parent = line.strip(), parent_of(data)
    for name, value in (("link", link), ("salt", salt)):
        text = text.replace(f'"{name}":"{value}",'.encode("utf-8", "surrogatepass"), b"", 1)
    own = _digest(text, parent, salt, "")
    if link != _link_text(parent, own) or salt != _own_salt(text, parent, "", key):
        return None
    return Link(own, parent, _body(text)), text


def is_own(data: Mapping[str, JSON], link: Link, text: bytes, key: bytes) -> bool:
    """Return whether who has ``key`` wrote a line, which says ``text``, to where it stands."""
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


def _link_text(parent: bytes, own: bytes) -> str:
    return f"{parent.hex() or FIRST}.{own.hex()}"


def _own_salt(text: bytes, parent: bytes, by: str, key: bytes) -> str:
    """Return the salt by which who has ``key`` knows a line again."""
    keyed = blake2b(b"memkit: salt\n", digest_size=SALT, key=key)
    keyed.update(b"%s\n%s\n%s" % (parent, by.encode(), text))
    return keyed.hexdigest()


def _random() -> str:
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


Earlier = Callable[[str, bytes | None, Sequence[str]], bool]
"""Says whether the history had a shard like this, or none, before it had lines with these links."""

LinesEver = Callable[[str], Iterable[Mapping[str, JSON]]]
"""Yields every line that a shard has or had in the history and that fits its link, the oldest state first."""


class WriterHead(NamedTuple):
    """How far a writer was when this clone looked last."""

    last: str
    """The link of their newest line."""
    lines: int
    """How many they were; of the newest line in a database, at which byte of its shard it begins."""
    shard: str
    """Where that line stood."""


class Witness:
    """Keeps what this clone knows of the store at ``root``."""

    def __init__(self, root: Path, *, has_heads: bool = True) -> None:
        """Keep what is known of the store at ``root``; a commit that is looked back to has no heads of its own."""
        self._root = root
        self._has_heads = has_heads
        self._name = ""
        self.earlier: Earlier | None = None
        self.written: LinesEver | None = None

    @cached_property
    def key(self) -> bytes | None:
        """Return the key of this machine; None where it has no place outside of the store."""
        with suppress(NothingOfItsOwn):
            return machine_key(self._root)
        return None

    def is_own(self, writer: str) -> bool:
        """Return whether a writer is this clone, on whatever branch."""
        name = self._clone()
        return bool(name) and (writer == name or writer.startswith(f"{name}-"))

    @property
    def relinking_key(self) -> bytes | None:
        """Return the key by which this clone knows a line again that it linked anew, whoever wrote it."""
        if self.key is None:
            return None
        return blake2b(b"memkit: linked anew in " + self._clone().encode(), key=self.key, digest_size=32).digest()

    def key_for(self, writer: str) -> bytes | None:
        """Return the key by which this clone knows a writer's lines again: only its own, and only in this store."""
        if self.key is None or not self.is_own(writer):
            return None
        return blake2b(b"memkit: lines of " + writer.encode(), key=self.key, digest_size=32).digest()

    def kept(self) -> bytes:
        """Return the heads as they lie outside of the store; nothing where this clone never wrote."""
        place = self._place()
        if place is not None:
            with suppress(OSError):
                return whole_file(place)
        return b""

    def heads(self, kept: bytes) -> dict[str, WriterHead]:
        """Return the heads of ``kept``; none where somebody else wrote them."""
        mark, _, text = kept.partition(b"\n")
        if not text or mark.decode("latin-1") != self._mark(text):
            return {}
        return {writer: WriterHead(*head) for writer, head in json.loads(text).items()}

    def has_lost_links(self, writer: str, shard: str, data: bytes) -> bool:
        """Return whether a shard without links is one whose writer had some, and no earlier state of the history."""
        head = self.heads(self.kept()).get(writer)
        return head is not None and not (self.earlier and self.earlier(shard, data, [head.last]))

    def keep(self, heads: Mapping[str, WriterHead]) -> bytes:
        """Put the heads where no store can reach them, and return what lies there then."""
        place = self._place()
        if place is None or self.key is None:
            return b""
        content = self._marked(heads)
        beside = place.with_name(f"{place.name}.{os.getpid()}-{get_ident()}")
        with suppress(OSError):  # without a place only what the store itself shows is known
            place.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            with os.fdopen(os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600), "wb") as file:
                file.write(content)
            beside.replace(place)
            return content
        return b""

    def forget(self) -> None:
        """Forget the heads: what memkit itself took out of the store is not missed."""
        place = self._place()
        if place is not None:
            place.unlink(missing_ok=True)

    def digest(self, text: str) -> str:
        """Return letters that stand for a text, and that nobody without the key of this machine can tie to it."""
        return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16, key=self.key or b"").hexdigest()

    def _marked(self, heads: Mapping[str, WriterHead], size: int = 0) -> bytes:
        text = json.dumps({writer: list(heads[writer]) for writer in sorted(heads)}).encode().ljust(size)
        return self._mark(text).encode() + b"\n" + text

    def _mark(self, text: bytes) -> str:
        return blake2b(b"memkit: heads\n" + text, digest_size=32, key=self.key or b"").hexdigest()

    def _clone(self) -> str:
        if not self._name:  # the first write of a clone makes it
            with suppress(OSError):
                self._name = (state_folder(self._root) / "writer").read_text("utf-8", "replace").strip()
        return self._name

    def _place(self) -> Path | None:
        """Return where the heads lie: under the name that the clone writes by, which a copy of it does not keep."""
        if not self._has_heads or self.key is None or not (name := self._clone()):
            return None
        return keys_home() / "heads" / f"{Path(name).name}.json"


NOTED = 1024
"""Bytes of what is noted of one line, unless its user has a very long name."""


class NewestLine(Witness):
    """Keeps of a database the newest line of this clone alone: nobody enters the lines of all of its users."""

    def kept(self) -> bytes:
        """Return nothing: what is entered here is never all that a writer wrote."""
        return b""

    def keep(self, heads: Mapping[str, WriterHead]) -> bytes:
        """Keep nothing of what is entered here."""
        return b""

    def note(self, head: WriterHead) -> None:
        """Keep where the newest line stands, which is in the database now.

        It is written over the one before, in one call and mostly of one size. A file put in its place would be written
        to the disk at once, as ext4 does to keep one of the two in a power cut, and each write would wait for that.
        """
        place = self._place()
        if place is None:
            return
        with suppress(OSError):  # without a place nothing is known
            place.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            with os.fdopen(os.open(place, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o600), "wb") as file:
                if file.write(self._marked({self._clone(): head}, NOTED)) < os.fstat(file.fileno()).st_size:
                    file.truncate()

    def newest(self) -> WriterHead | None:
        """Return what was noted last; None where nothing was, or somebody else wrote it."""
        return self.heads(super().kept()).get(self._clone())


# Where they lie.

SHARD_NAME = r"(?P<writer>.+?)(?:-(?P<part>[2-9]|[1-9]\d+))?\.jsonl"

Observe = Callable[[dict[str, object]], None]
Users = Collection[str] | None
"""Whom a question or a change is about, beside what is shared; None stands for everybody."""


class Span(NamedTuple):  # like the other small values in here: a dataclass takes longer to define than a search to run
    """Where a line lies."""

    shard: str
    """``<YYYY-MM>/<writer>.jsonl``"""
    offset: int
    size: int
    """In bytes, the line's end included."""
    order: str = ""
    """Its place where that is not the one in its file."""

    @property
    def writer(self) -> str:
        """Return who wrote it."""
        return shard_writer(self.shard)[0]

    @property
    def place(self) -> str:
        """Return a text that sorts as this writer's lines were written."""
        return self.order or f"{self.shard.partition('/')[0]}/{shard_writer(self.shard)[1]:06d}/{self.offset:012d}"


class ShardStat(NamedTuple):
    """What the file system says about a shard; equal values mean an untouched file."""

    size: int
    mtime_ns: int
    inode: int


class Written(NamedTuple):
    """What a flush added to a shard."""

    offset: int
    data: bytes
    stat: ShardStat
    """Of the shard with what was added."""


class Tip(NamedTuple):
    """How far a writer is about a user."""

    writer: str
    owner: str
    lines: int
    link: str
    """Of the newest line."""


class Batch(Protocol):
    """Lines on their way to the log."""

    writer: str
    """By whose name they are written."""

    def writer_in(self, corpus: str) -> str:
        """Return by whose name lines of this corpus are written."""

    def stage(self, line: bytes, data: Mapping[str, JSON] = EMPTY) -> Span:
        """Return where ``line``, which says ``data``, will lie once the batch is flushed."""

    def flush(self) -> Mapping[str, Written]:
        """Write and sync what was staged; return what each shard was given."""


class Log(Protocol):
    """Lines in the order they were appended."""

    @property
    def witness(self) -> Witness | None:
        """Return what this clone knows of the lines by itself; None where no clone does."""

    @property
    def cache(self) -> str:
        """Return a name for what an index of this log is kept under; empty for the store's own files."""

    @property
    def vectors(self) -> Any:
        """Return vectors that several instances share, for whoever searches by meaning; None where each has its own."""

    def shards(self, users: Users = None) -> dict[str, ShardStat]:
        """Return every shard that may hold lines about ``users``, or shared ones."""

    def glance(self) -> object:
        """Return what stays equal while no shard is other than ``shards`` last said; None where only that tells."""

    def folders(self, users: Users) -> Sequence[str] | None:
        """Return what the names of those shards begin with; None where any shard may hold lines about anybody."""

    def only_grew(self, before: ShardStat, after: ShardStat) -> bool:
        """Return whether what stood in a shard is known to stand there still, without reading it."""

    def users(self) -> list[str] | None:
        """Return everybody of whom there are lines; None where only the lines themselves can tell."""

    def tips(self) -> "Iterable[Tip] | None":
        """Return how far every chain is; None where only the lines themselves can tell."""

    def lost(self) -> Mapping[str, WriterHead]:
        """Return by writer the newest line that this clone had written and that the log itself has no more."""

    def close(self) -> None:
        """Let go of what the log holds open."""

    def read(self, shard: str, offset: int = 0, size: int = -1) -> bytes:
        """Return bytes of a shard."""

    @contextmanager
    def batch(self, users: Users = None) -> Iterator[Batch]:
        """Give a batch of lines about ``users`` that are written by ``flush`` or not at all.

        While it is open nobody else writes about them.
        """


class SharedShards:
    """What holds for a log whose shards have lines about anybody, and may be edited by people and git."""

    cache = ""
    vectors = None

    def glance(self) -> object:
        """Return that each shard has to be asked."""
        return None

    def folders(self, users: Users) -> Sequence[str] | None:
        """Return that any shard may hold lines about anybody."""
        return None

    def only_grew(self, before: ShardStat, after: ShardStat) -> bool:
        """Return that only reading a shard tells."""
        return False

    def users(self) -> list[str] | None:
        """Return that only the lines tell."""
        return None

    def tips(self) -> "Iterable[Tip] | None":
        """Return that only the lines tell."""
        return None

    def lost(self) -> Mapping[str, WriterHead]:
        """Return nothing: all lines are entered, and the catalogue compares them with the heads."""
        return {}

    def close(self) -> None:
        """Do nothing: no file stays open."""


class OneWriter:
    """What holds for a batch whose lines go by one name, whomever they are for."""

    writer: str

    def writer_in(self, corpus: str) -> str:
        """Return that name."""
        return self.writer


@lru_cache(maxsize=256)  # every line that is read asks this of its shard
def shard_writer(shard: str) -> tuple[str, int]:
    """Return the writer of a shard and which of its files this is, counted from 1."""
    match = re.fullmatch(SHARD_NAME, shard.rpartition("/")[2])
    return (match["writer"], int(match["part"] or 1)) if match else (shard, 1)


def split_lines(data: bytes) -> tuple[list[tuple[int, bytes]], int]:
    """Return the lines of ``data`` with their offsets, and how many bytes they take.

    What follows the last LF is a line too if it is a whole object: an editor dropped the line's end. Otherwise a
    process is still writing it, or died while it did, and it is left alone.
    """
    found, offset = [], 0
    while (end := data.find(b"\n", offset)) >= 0:
        found.append((offset, data[offset : end + 1]))
        offset = end + 1
    if is_whole(tail := data[offset:]):
        found.append((offset, tail))
        offset = len(data)
    return [(start, line) for start, line in found if line.strip()], offset


def is_whole(tail: bytes) -> bool:
    """Return whether a last line without an end is complete all the same."""
    if not tail.rstrip().endswith(b"}"):
        return False
    try:
        decode_line(tail)
    except InvalidRecord:
        return False
    return True


class MemoryLog(SharedShards):
    """A log without a disk: one shard that dies with the process."""

    SHARD = "memory/memory.jsonl"
    witness = None

    def __init__(self) -> None:
        self._data = bytearray()

    def shards(self, users: Users = None) -> dict[str, ShardStat]:
        """Return the one shard."""
        return {self.SHARD: ShardStat(len(self._data), 0, 0)}

    def read(self, shard: str, offset: int = 0, size: int = -1) -> bytes:
        """Return bytes of the one shard."""
        return bytes(self._data[offset : None if size < 0 else offset + size])

    @contextmanager
    def batch(self, users: Users = None) -> Iterator["MemoryBatch"]:
        """Give a batch."""
        yield MemoryBatch(self._data)


class MemoryBatch(OneWriter):
    """Lines on their way to a log in memory."""

    writer = "memory"

    def __init__(self, data: bytearray) -> None:
        self._data = data
        self._staged = bytearray()

    def stage(self, line: bytes, data: Mapping[str, JSON] = EMPTY) -> Span:
        """Return where ``line`` will lie."""
        span = Span(MemoryLog.SHARD, len(self._data) + len(self._staged), len(line))
        self._staged += line
        return span

    def flush(self) -> Mapping[str, Written]:
        """Append what was staged."""
        offset, data = len(self._data), bytes(self._staged)
        self._data += self._staged
        self._staged.clear()
        return {MemoryLog.SHARD: Written(offset, data, ShardStat(len(self._data), 0, 0))}
