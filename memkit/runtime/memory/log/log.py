"""The append-only log: shards, positions of lines, the links between lines, and a log in memory.

A line's ``link`` names the writer's previous line about the same user, and a digest of that and of itself. So an edited
line no longer fits its link, and a removed one is still named by its successor. If the order in a file differs, the
links tell the original order; two lines after the same one belong to two branches.

Anyone can compute a digest. A clone recognises its own lines by ``salt``: to everyone else it looks random, but it is
derived from the line with this machine's key. What a clone itself knows of the chains (``Witness``) is stored
next to the user's keys and not in the store, so that restoring an older copy of everything is noticed.
"""

import fcntl
import json
import os
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import cached_property, lru_cache
from pathlib import Path
from threading import get_ident
from types import MappingProxyType
from typing import Any, NamedTuple, Protocol

from ..record.lines import EMPTY, JSON, InvalidRecord, NothingOfItsOwn, decode_line, encode_data
from ..record.record import unplaced
from .clone import keys_home, machine_key, state_folder, whole_file

try:  # importing hashlib costs more time than a search
    from _blake2 import blake2b
except ImportError:
    from hashlib import blake2b

# How the lines of one writer about one user are linked, so that a forged line is told from the others.

DIGEST, SALT = 16, 12
"""Lengths in bytes."""
FIRST = "0"
"""Stands in a link for the predecessor of the first line."""


class Link(NamedTuple):
    """The place of a line in its chain."""

    own: bytes
    """The digest by which the next line names it."""
    parent: bytes
    """The same for the previous line; empty for the first one."""
    body: bytes
    """The digest of its content, independent of its place."""


class Forged(InvalidRecord):
    """Report that a line does not fit its link: one of them was changed after writing."""


def linked(
    data: Mapping[str, JSON], parent: bytes, *, key: bytes | None = None, by: str = ""
) -> tuple[dict[str, JSON], Link]:
    """Return a line placed after ``parent``, and its link.

    Args:
        data: The content, sealed or not.
        parent: The previous line; empty for the first one.
        key: The key by which this clone recognises the line; without one the salt is random.
        by: The part of memkit that rewrites an already placed line, such as ``erase``.
    """
    content = unplaced(data)
    text = encode_data(content).encode("utf-8", "surrogatepass")
    salt = _own_salt(text, parent, by, key) if key else os.urandom(SALT).hex()
    own = _digest(text, parent, salt, by)
    place = {"link": _link_text(parent, own), "salt": salt} | ({"relinked": by} if by else {})
    return content | place, Link(own, parent, _body(text))


def link_of(data: Mapping[str, JSON]) -> Link | None:
    """Return the link of a line, or None if it has none; raise ``Forged`` like ``read_link``."""
    found = read_link(data)
    return found and found[0]


def read_link(data: Mapping[str, JSON]) -> tuple[Link, bytes] | None:
    """Return the link of a line and its content as bytes, or None if it has no link.

    Raises:
        Forged: It does not fit its link.
    """
    if "link" not in data:
        return None
    before, _, own = str(data["link"]).partition(".")
    salt, by = data.get("salt"), data.get("relinked", "")
    try:
        parent, claimed = b"" if before == FIRST else bytes.fromhex(before), bytes.fromhex(own)
    except ValueError:
        raise Forged("Its link is malformed.") from None
    text = encode_data(unplaced(data)).encode("utf-8", "surrogatepass")
    if not isinstance(salt, str) or not isinstance(by, str) or _digest(text, parent, salt, by) != claimed:
        raise Forged("It does not match its link: it was changed after it was written.")
    return Link(claimed, parent, _body(text)), text


def read_own_link(data: Mapping[str, JSON], line: bytes, key: bytes) -> tuple[Link, bytes] | None:
    """Return the same for a line stored exactly as the holder of ``key`` wrote it, without reserialising; else None.

    Its content is cut out of the stored bytes, in half the time. For others' lines this would be unsafe: anyone can
    compute a digest, even of bytes that are not JSON once a salt, which may occur twice, is cut out. The salt of an own
    line is derived from what was written here, and nobody else can derive one for other bytes.
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
    """Return whether the holder of ``key`` wrote a line with content ``text`` at this place."""
    return data.get("salt") == _own_salt(text, link.parent, str(data.get("relinked", "")), key)


def claimed_link(data: Mapping[str, JSON]) -> bytes:
    """Return what a line claims as its own digest, true or not; empty if it has none."""
    return digits(str(data.get("link", "")).partition(".")[2])


def parent_of(data: Mapping[str, JSON]) -> bytes:
    """Return what a line claims as its predecessor, true or not; empty for the first one."""
    before = str(data.get("link", "")).partition(".")[0]
    return b"" if before == FIRST else digits(before)


def digits(text: str) -> bytes:
    """Return the bytes that hexadecimal digits stand for; none if it is no such text."""
    try:
        return bytes.fromhex(text)
    except ValueError:
        return b""


def _link_text(parent: bytes, own: bytes) -> str:
    return f"{parent.hex() or FIRST}.{own.hex()}"


def _own_salt(text: bytes, parent: bytes, by: str, key: bytes) -> str:
    """Return the salt by which the holder of ``key`` recognises a line."""
    keyed = blake2b(b"memkit: salt\n", digest_size=SALT, key=key)
    keyed.update(b"%s\n%s\n%s" % (parent, by.encode(), text))
    return keyed.hexdigest()


def _digest(text: bytes, parent: bytes, salt: str, by: str) -> bytes:
    head = f"{parent.hex()}\n{salt}\n{by}\n".encode("utf-8", "surrogatepass")
    return blake2b(head + text, digest_size=DIGEST).digest()


def body_of(data: Mapping[str, JSON]) -> bytes:
    """Return the digest of what a line says, wherever it stands."""
    return _body(encode_data(unplaced(data)).encode())


def _body(text: bytes) -> bytes:
    return blake2b(text, digest_size=DIGEST).digest()


def grown(checksum: bytes, data: bytes) -> bytes:
    """Return the checksum of a shard with ``checksum`` after adding the whole lines of ``data``.

    It is computed line by line, so that it continues from any point, however much was read at once.
    """
    *lines, rest = data.split(b"\n")
    for line in lines:
        checksum = blake2b(checksum + line, digest_size=DIGEST).digest()
    return blake2b(checksum + rest, digest_size=DIGEST, person=b"open end").digest() if rest else checksum


Earlier = Callable[[str, bytes | None, Sequence[str]], bool]
"""Returns whether the history had this shard, or none, before it had lines with these links."""

LinesEver = Callable[[str], Iterable[Mapping[str, JSON]]]
"""Yields every line that a shard has or had in the history and that fits its link, oldest state first."""


KeyOf = Callable[[Mapping[str, JSON]], bytes | None]
"""Returns the key by which a line is recognised."""


class WriterHead(NamedTuple):
    """A writer's progress when this clone last looked."""

    last: str
    """The link of the newest line."""
    lines: int
    """The number of lines; for the newest line in a database, the byte offset at which it begins in its shard."""
    shard: str
    """The shard with that line."""


class Witness:
    """What this clone knows of the store at ``root``."""

    def __init__(self, root: Path, *, has_heads: bool = True) -> None:
        """Keep knowledge of the store at ``root``; a past commit being read has no heads of its own."""
        self._root = root
        self._has_heads = has_heads
        self._name = ""
        self.earlier: Earlier | None = None
        self.written: LinesEver | None = None

    @cached_property
    def key(self) -> bytes | None:
        """Return this machine's key; None if there is no place for one outside of the store."""
        with suppress(NothingOfItsOwn):
            return machine_key(self._root)
        return None

    def is_own(self, writer: str) -> bool:
        """Return whether a writer is this clone, on any branch."""
        name = self._clone()
        return bool(name) and (writer == name or writer.startswith(f"{name}-"))

    @property
    def relinking_key(self) -> bytes | None:
        """Return the key by which this clone recognises lines that it relinked, whoever wrote them."""
        if self.key is None:
            return None
        return blake2b(b"memkit: linked anew in " + self._clone().encode(), key=self.key, digest_size=32).digest()

    def key_for(self, writer: str) -> bytes | None:
        """Return the key by which this clone recognises a writer's lines: only its own, and only in this store."""
        if self.key is None or not self.is_own(writer):
            return None
        return blake2b(b"memkit: lines of " + writer.encode(), key=self.key, digest_size=32).digest()

    def relinking(self, writers: Iterable[str]) -> KeyOf:
        """Return a function from a line to the key for linking it anew.

        Afterwards this clone recognises a line of one of the ``writers``, which have all lines, only if it did before.
        """
        again, of_others = self.relinking_key, os.urandom(32)
        keys = [key for key in (again, *map(self.key_for, writers)) if key]

        def key_of(data: Mapping[str, JSON]) -> bytes | None:
            with suppress(Forged):
                if (found := read_link(data)) and any(is_own(data, *found, key) for key in keys):
                    return again
            return of_others

        return key_of

    def kept(self) -> bytes:
        """Return the heads as stored outside of the store; empty if this clone never wrote."""
        place = self._place()
        if place is not None:
            with suppress(OSError):
                return whole_file(place)
        return b""

    def heads(self, kept: bytes) -> dict[str, WriterHead]:
        """Return the heads in ``kept``; empty if somebody else wrote them."""
        mark, _, text = kept.partition(b"\n")
        if not text or mark.decode("latin-1") != self._mark(text):
            return {}
        return {writer: WriterHead(*head) for writer, head in json.loads(text).items()}

    def has_lost_links(self, writer: str, shard: str, data: bytes) -> bool:
        """Return whether a shard without links is one whose writer had some, and no earlier state of the history."""
        head = self.heads(self.kept()).get(writer)
        return head is not None and not (self.earlier and self.earlier(shard, data, [head.last]))

    def keep(self, heads: Mapping[str, WriterHead], is_current: Callable[[], bool]) -> bytes:
        """Save the heads where no store can reach them, and return the saved bytes.

        Nothing is saved unless the index they come from ``is_current``: an erasure removes it before it forgets them.
        """
        place = self._place()
        if place is None or self.key is None:
            return b""
        content = self._marked(heads)
        beside = place.with_name(f"{place.name}.{os.getpid()}-{get_ident()}")
        with suppress(OSError):  # without a place for them, only what the store itself shows is known
            place.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            with self._alone(place.parent):
                if not is_current():
                    return b""
                flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC
                with os.fdopen(os.open(beside, flags, 0o600), "wb") as file:
                    file.write(content)
                beside.replace(place)
            return content
        return b""

    def forget(self) -> None:
        """Forget the heads: what memkit itself removed from the store is not missed."""
        place = self._place()
        if place is not None and place.parent.is_dir():
            with self._alone(place.parent):
                place.unlink(missing_ok=True)

    @contextmanager
    def _alone(self, folder: Path) -> Iterator[None]:
        """Keep other processes from saving or forgetting heads."""
        descriptor = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            yield
        finally:
            os.close(descriptor)

    def digest(self, text: str) -> str:
        """Return letters that stand for a text, which nobody without this machine's key can link to it."""
        return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16, key=self.key or b"").hexdigest()

    def _marked(self, heads: Mapping[str, WriterHead], size: int = 0) -> bytes:
        text = json.dumps({writer: list(heads[writer]) for writer in sorted(heads)}).encode().ljust(size)
        return self._mark(text).encode() + b"\n" + text

    def _mark(self, text: bytes) -> str:
        return blake2b(b"memkit: heads\n" + text, digest_size=32, key=self.key or b"").hexdigest()

    def _clone(self) -> str:
        if not self._name:  # a clone's first write creates it
            with suppress(OSError):
                self._name = (state_folder(self._root) / "writer").read_text("utf-8", "replace").strip()
        return self._name

    def _place(self) -> Path | None:
        """Return the location of the heads: under the writer name of the clone, which a copy does not keep."""
        if not self._has_heads or self.key is None or not (name := self._clone()):
            return None
        return keys_home() / "heads" / f"{Path(name).name}.json"


NOTED = 1024
"""Bytes of one line's note, unless its user has a very long name."""


class NewestLine(Witness):
    """For a database, keeps only this clone's newest line: nobody enters the lines of all of its users."""

    def kept(self) -> bytes:
        """Return nothing: what is entered here is never all that a writer wrote."""
        return b""

    def keep(self, heads: Mapping[str, WriterHead], is_current: Callable[[], bool]) -> bytes:
        """Save nothing of what is entered here."""
        return b""

    def note(self, head: WriterHead) -> None:
        """Save the position of the newest line, which is in the database by now.

        It overwrites the previous one in place, in one call and mostly with the same size. A file put in its place is
        written to disk at once, as ext4 does to keep one of the two in a power cut, and each write would wait for it.
        """
        place = self._place()
        if place is None:
            return
        with suppress(OSError):  # without a place for it, nothing is known
            place.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            with os.fdopen(os.open(place, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o600), "wb") as file:
                if file.write(self._marked({self._clone(): head}, NOTED)) < os.fstat(file.fileno()).st_size:
                    file.truncate()

    def newest(self) -> WriterHead | None:
        """Return the last note; None if there is none, or somebody else wrote it."""
        return self.heads(super().kept()).get(self._clone())


# Positions.

SHARD_LIMIT = 2 * 1024 * 1024
SHARD_NAME = r"(?P<writer>.+?)(?:-(?P<part>[2-9]|[1-9]\d+))?\.jsonl"

Observe = Callable[[dict[str, object]], None]
Users = Collection[str] | None
"""The users that a query or a change concerns, besides what is shared; None stands for everyone."""


class Span(NamedTuple):  # like the other small values in here: a dataclass takes longer to define than a search to run
    """The position of a line."""

    shard: str
    """``<YYYY-MM>/<writer>.jsonl``"""
    offset: int
    size: int
    """In bytes, including the line end."""
    order: str = ""
    """Its place in the order, if that differs from the file."""

    @property
    def writer(self) -> str:
        """Return its writer."""
        return shard_writer(self.shard)[0]

    @property
    def place(self) -> str:
        """Return a text that sorts in the order in which this writer's lines were written."""
        return self.order or f"{self.shard.partition('/')[0]}/{shard_writer(self.shard)[1]:06d}/{self.offset:012d}"


class ShardStat(NamedTuple):
    """File-system information on a shard; equal values mean an unchanged file."""

    size: int
    mtime_ns: int
    inode: int


class Written(NamedTuple):
    """What a flush added to a shard."""

    offset: int
    data: bytes
    stat: ShardStat
    """Information on the shard after the addition."""


class Tip(NamedTuple):
    """The end of a writer's chain about a user."""

    writer: str
    owner: str
    lines: int
    link: str
    """The link of the newest line."""


class Batch(Protocol):
    """Lines on their way to the log."""

    writer: str
    """The writer name of the lines."""

    def writer_in(self, corpus: str) -> str:
        """Return the writer name for lines of this corpus."""
        return self.writer

    def stage(self, line: bytes, data: Mapping[str, JSON] = EMPTY) -> Span:
        """Return the future position of ``line``, whose content is ``data``, once the batch is flushed."""

    def flush(self) -> Mapping[str, Written]:
        """Write and sync the staged lines; return what was added to each shard."""


class Log(Protocol):
    """Lines in the order they were appended.

    The defaults are those of logs whose shards have lines about anyone, and may be edited by people and git.
    """

    @property
    def witness(self) -> Witness | None:
        """Return this clone's own knowledge of the lines; None if no clone has any."""
        return None

    @property
    def cache(self) -> str:
        """Return a name for the cached index of this log; empty for the store's own files."""
        return ""

    @property
    def vectors(self) -> Any:
        """Return vectors shared by several instances, for search by meaning; None if each has its own."""
        return None

    def shards(self, users: Users = None) -> dict[str, ShardStat]:
        """Return every shard that may contain lines about ``users``, or shared ones."""

    def glance(self) -> object:
        """Return a value that stays equal while the shards are as ``shards`` last saw them; None if only that tells."""
        return None

    def folders(self, users: Users) -> Sequence[str] | None:
        """Return prefixes of the names of those shards; None if any shard may contain lines about anyone."""
        return None

    def only_grew(self, before: ShardStat, after: ShardStat) -> bool:
        """Return whether the old content of a shard is known to be still there, without reading it."""
        return False

    def users(self) -> list[str] | None:
        """Return all users with lines; None if only the lines themselves can tell."""
        return None

    def tips(self) -> "Iterable[Tip] | None":
        """Return the end of every chain; None if only the lines themselves can tell."""
        return None

    def lost(self) -> Mapping[str, WriterHead]:
        """Return, by writer, the newest line that this clone had written and the log itself no longer has.

        Nothing, where all lines are entered: then the catalogue compares them with the heads.
        """
        return {}

    def close(self) -> None:
        """Release what the log holds open."""
        return

    def read(self, shard: str, offset: int = 0, size: int = -1) -> bytes:
        """Return bytes of a shard."""

    @contextmanager
    def batch(self, users: Users = None) -> Iterator[Batch]:
        """Yield a batch of lines about ``users`` that are written by ``flush`` or not at all.

        While it is open nobody else writes about them.
        """


@lru_cache(maxsize=256)  # called for every line read
def shard_writer(shard: str) -> tuple[str, int]:
    """Return the writer of a shard and the number of its file, counted from 1."""
    match = re.fullmatch(SHARD_NAME, shard.rpartition("/")[2])
    return (match["writer"], int(match["part"] or 1)) if match else (shard, 1)


def shard_name(writer: str, part: int) -> str:
    """Return the file name of a writer's shard."""
    return f"{writer}.jsonl" if part == 1 else f"{writer}-{part}.jsonl"


def split_lines(data: bytes) -> tuple[list[tuple[int, bytes]], int]:
    """Return the lines of ``data`` with their offsets, and the total number of their bytes.

    What follows the last LF counts as a line if it is a whole object: an editor dropped the line end. Otherwise a
    process is still writing it, or died while doing so, and it is ignored.
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
    """Return whether a last line without a line end is complete nevertheless."""
    if not tail.rstrip().endswith(b"}"):
        return False
    try:
        decode_line(tail)
    except InvalidRecord:
        return False
    return True


class MemoryLog(Log):
    """Shards that end with the process: those of one writer, beside those of another log, which is only read."""

    def __init__(
        self,
        base: Log | None = None,
        *,
        month: str = "memory",
        writer: str = "memory",
        held: Mapping[str, bytes | bytearray] = MappingProxyType({}),
    ) -> None:
        """Begin with the shards in ``held``, on top of those of ``base``."""
        self._base = base
        self._prefix = f"{month}/"
        self.writer = writer
        self.added = {shard: bytearray(lines) for shard, lines in held.items()}
        """The writer's shards by name, in the order in which they were begun."""

    def shards(self, users: Users = None) -> dict[str, ShardStat]:
        """Return all shards."""
        base = self._base.shards(users) if self._base is not None else {}
        return base | {shard: ShardStat(len(data), 0, 0) for shard, data in self.added.items()}

    def read(self, shard: str, offset: int = 0, size: int = -1) -> bytes:
        """Return bytes of a shard; empty for one that does not exist."""
        if shard not in self.added and self._base is not None:
            return self._base.read(shard, offset, size)
        return bytes(self.added.get(shard, b"")[offset : None if size < 0 else offset + size])

    @contextmanager
    def batch(self, users: Users = None) -> Iterator["MemoryBatch"]:
        """Yield a batch that adds to the writer's shards."""
        yield MemoryBatch(self)

    def name(self, part: int) -> str:
        """Return the name of one of the writer's shards, counted from 1."""
        return self._prefix + shard_name(self.writer, part)


class MemoryBatch(Batch):
    """Lines to be added to shards in memory."""

    def __init__(self, log: MemoryLog) -> None:
        self._log = log
        self.writer = log.writer
        self._staged: dict[str, bytearray] = {}

    def stage(self, line: bytes, data: Mapping[str, JSON] = EMPTY) -> Span:
        """Return the future position of ``line``; a full shard is followed by the next one."""
        part = max(1, len({**self._log.added, **self._staged}))
        shard = self._log.name(part)
        end = len(self._log.added.get(shard, b"")) + len(self._staged.get(shard, b""))
        if end and end + len(line) > SHARD_LIMIT:
            shard, end = self._log.name(part + 1), 0
        self._staged.setdefault(shard, bytearray()).extend(line)
        return Span(shard, end, len(line))

    def flush(self) -> Mapping[str, Written]:
        """Add the staged lines."""
        written = {}
        for shard, lines in self._staged.items():
            whole = self._log.added.setdefault(shard, bytearray())
            written[shard] = Written(len(whole), bytes(lines), ShardStat(len(whole) + len(lines), 0, 0))
            whole += lines
        self._staged = {}
        return written
