"""Possible disk contents after a power failure: the writes of processes, as strace saw them, and legal states of them.

A write is certain to persist only after ``fsync`` of its file, a name only after ``fsync`` of its directory (fsync(2)).
Everything later may be present or not, with two guarantees of journalling file systems: names persist in the order in
which they were made, and a rename is atomic. What was written to a file since its last ``fsync`` may be
present, missing, truncated in the middle, or have holes (Pillai et al., "All File Systems Are Not Created Equal",
OSDI 2014). Writes to mapped memory are not seen; ``Recording.unseen`` names the files that show it.
"""

from __future__ import annotations

import os
import random
import re
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

CALLS = (
    "open,openat,creat,write,pwrite64,writev,pwritev,ftruncate,truncate,fallocate,lseek,sendfile,copy_file_range,"
    "rename,renameat,renameat2,link,linkat,symlink,symlinkat,unlink,unlinkat,mkdir,mkdirat,rmdir,"
    "fsync,fdatasync,sync_file_range,newfstatat"
)
ANSWER = b'{"value"'
TRACED = 120.0
"""Time limit in seconds of the traced process."""
SECTOR = 512
"""Bytes that a disk writes atomically; a truncated write ends at a multiple of it."""
_CALL = re.compile(r"(\d+) +(\w+)\((.*)\) += (-?\d+)(?:<((?:\\x..)*)>)?")
_UNFINISHED = re.compile(r"(\d+) +(\w+\(.*) <unfinished \.\.\.>$")
_RESUMED = re.compile(r"(\d+) +<\.\.\. \w+ resumed>(.*)$")
_TEXT = re.compile(r'"((?:\\x..)*)"')
_PLACE = re.compile(r"(AT_FDCWD|\d+)<((?:\\x..)*)>")


@dataclass(frozen=True)
class Made:
    """A name that was created, moved or removed."""

    path: str
    what: str | tuple[str, str] | None
    """The content by its number, ``("dir", "")``, ``("link", TARGET)``, or None if the name was removed."""
    gone: str = ""
    """The name that a rename removed."""

    def parents(self) -> set[str]:
        """Return the directories whose ``fsync`` makes it persistent."""
        return {str(Path(path).parent) for path in (self.path, self.gone) if path}


@dataclass(frozen=True)
class Wrote:
    """Bytes of a file, or its new length if there are none."""

    file: str
    offset: int
    data: bytes | None


@dataclass(frozen=True)
class Synced:
    """What was made persistent: a file by its number, or a directory by its path."""

    what: str


@dataclass(frozen=True)
class Answered:
    """The program reported that it had done what it was asked."""


Event = Made | Wrote | Synced | Answered
Names = dict[str, str | tuple[str, str]]


@dataclass
class Recording:
    """A folder's initial state, and what processes did to it afterwards, in order."""

    folder: Path
    names: Names
    contents: dict[str, bytes]
    events: list[Event] = field(default_factory=list)
    unseen: list[str] = field(default_factory=list)
    """Files with contents other than what was seen being written."""

    def state(self, until: int, chance: random.Random | None) -> tuple[Names, dict[str, bytes]]:
        """Return names and contents after a power failure following ``until`` events.

        Without ``chance`` it is the worst one: everything that was not made persistent is gone.
        """
        before = self.events[:until]
        made = [place for place, event in enumerate(before) if isinstance(event, Made)]
        sure = self._names_that_last(before)
        last = sure if chance is None else chance.choice([sure, until, chance.randint(sure, until)])
        names = dict(self.names)
        for place in made:
            if place < last:
                event = before[place]
                assert isinstance(event, Made)
                _name(names, event)
        return names, dict(self._contents_left(before, chance))

    def _names_that_last(self, before: Sequence[Event]) -> int:
        """Return how many events must have passed for every name whose directory was made persistent."""
        synced: set[str] = set()
        for place in range(len(before) - 1, -1, -1):
            event = before[place]
            if isinstance(event, Synced):
                synced.add(event.what)
            elif isinstance(event, Made) and event.parents() & synced:
                return place + 1
        return 0

    def _contents_left(self, before: Sequence[Event], chance: random.Random | None) -> Iterator[tuple[str, bytes]]:
        writes: dict[str, list[Wrote]] = {}
        sure: dict[str, int] = {}
        for event in before:
            if isinstance(event, Wrote):
                writes.setdefault(event.file, []).append(event)
            elif isinstance(event, Synced):
                sure[event.what] = len(writes.get(event.what, ()))
        for file in {*self.contents, *writes}:
            of, lasts = writes.get(file, []), sure.get(file, 0)
            kept = [*of[:lasts], *_survivors(of[lasts:], chance)]
            content = bytearray(self.contents.get(file, b""))
            for write in kept:
                _apply(content, write)
            yield file, bytes(content)


def _survivors(writes: list[Wrote], chance: random.Random | None) -> list[Wrote]:
    """Return what remains of writes that were not made persistent: none, all, the first ones, or some of them."""
    if chance is None or not writes:
        return []
    how = chance.choice(["none", "all", "first", "some"])
    if how == "some":
        return [write for write in writes if chance.random() < 0.5]
    kept = {"none": 0, "all": len(writes), "first": chance.randrange(len(writes))}[how]
    torn = writes[kept : kept + 1] if how == "first" else []
    return writes[:kept] + [
        Wrote(write.file, write.offset, write.data[: chance.randrange(len(write.data)) // SECTOR * SECTOR])
        for write in torn
        if write.data
    ]


def _apply(content: bytearray, write: Wrote) -> None:
    if write.data is None:
        del content[write.offset :]
    content.extend(bytes(max(0, write.offset - len(content))))
    if write.data is not None:
        content[write.offset : write.offset + len(write.data)] = write.data


def _name(names: Names, event: Made) -> None:
    """Add or remove a name; everything below a renamed directory moves with it."""
    if event.gone:
        below = f"{event.gone}/"
        for path in [path for path in names if path == event.gone or path.startswith(below)]:
            names[event.path + path[len(event.gone) :]] = names.pop(path)
    elif event.what is None:
        names.pop(event.path, None)
    else:
        names[event.path] = event.what


def put(folder: Path, names: Names, contents: dict[str, bytes]) -> None:
    """Make the folder contain exactly this."""
    for entry in folder.iterdir():
        shutil.rmtree(entry) if entry.is_dir() and not entry.is_symlink() else entry.unlink()
    for path, what in sorted(names.items()):
        place = Path(path)
        # A name may persist while that of its directory does not; then it is unreachable.
        if not place.parent.is_dir():
            continue
        if isinstance(what, str):
            place.write_bytes(contents.get(what, b""))
            place.chmod(0o755 if "/hooks/" in path else 0o644)
        elif what[0] == "dir":
            place.mkdir(exist_ok=True)
        else:
            place.symlink_to(what[1])


def held(folder: Path) -> tuple[Names, dict[str, bytes]]:
    """Return the contents of a folder; a file's number is its path."""
    names: Names = {}
    contents = {}
    for path in folder.rglob("*"):
        if path.is_symlink():
            names[str(path)] = ("link", str(path.readlink()))
        elif path.is_dir():
            names[str(path)] = ("dir", "")
        elif path.is_file():
            names[str(path)], contents[str(path)] = str(path), path.read_bytes()
    return names, contents


def record(command: Sequence[str], asked: str, folder: Path, variables: dict[str, str], log: Path) -> Recording:
    """Run a command under strace, with ``asked`` as its input, and return what it did in ``folder``."""
    names, contents = held(folder)
    strace = ["strace", "-f", "--seccomp-bpf", "-qq", "-y", "-xx", "-e", "signal=none", "-s", str(1 << 24)]
    strace += ["-e", f"trace={CALLS}"]
    subprocess.run(
        [*strace, "-o", str(log), *command], input=asked, text=True, capture_output=True, check=False,
        env=variables, cwd=folder, timeout=TRACED, start_new_session=True,
    )  # fmt: skip
    recording = Recording(folder, names, contents)
    reader = _Reader(recording)
    with log.open(encoding="ascii", errors="replace") as lines:
        for line in lines:
            reader.take(line.rstrip("\n"))
    names, contents = held(folder)
    seen = {path: bytes(reader.content[what]) for path, what in reader.names.items() if isinstance(what, str)}
    recording.unseen = sorted(
        os.path.relpath(path, folder) for path in {*seen, *contents}
        # SQLite rebuilds the index of a log after a failure.
        if seen.get(path) != contents.get(path) and not path.endswith("-shm")
    )  # fmt: skip
    return recording


class _Reader:
    """Follows the calls of a trace: which name refers to which content, and the write position of each open file."""

    def __init__(self, recording: Recording) -> None:
        self._recording = recording
        self._top = str(recording.folder)
        self.names = dict(recording.names)
        self.content = {file: bytearray(data) for file, data in recording.contents.items()}
        self._began: dict[str, str] = {}
        self._folders: dict[str, str] = {}
        self._at: dict[str, int | None] = {}
        """The write position of an open file; None for its end."""

    def take(self, line: str) -> None:
        """Process one line; a call counts when it returns."""
        if unfinished := _UNFINISHED.match(line):
            self._began[unfinished[1]] = unfinished[2]
            return
        if resumed := _RESUMED.match(line):
            line = f"{resumed[1]} {self._began.pop(resumed[1], '')}{resumed[2]}"
        found = _CALL.match(line)
        if not found:
            return
        pid, call, given, result = found[1], found[2], found[3], int(found[4])
        places = [(which, _hex(path)) for which, path in _PLACE.findall(given)]
        for which, path in places:
            if which == "AT_FDCWD":
                self._folders[pid] = path
        if result < 0 or call == "newfstatat":
            return
        texts = [bytes.fromhex(text.replace("\\x", "")) for text in _TEXT.findall(given)]
        what = _KINDS.get(call)
        if what is not None:
            what(self, pid, given, result, places, texts)

    def _path(self, pid: str, text: bytes, folder: str = "") -> str:
        return os.path.normpath(Path(folder or self._folders.get(pid, self._top), os.fsdecode(text)))

    def _is_inside(self, path: str) -> bool:
        return path.startswith(self._top + "/")

    def _note(self, event: Event) -> None:
        self._recording.events.append(event)
        if isinstance(event, Made):
            _name(self.names, event)
        elif isinstance(event, Wrote):
            _apply(self.content.setdefault(event.file, bytearray()), event)

    def _file(self, places: list[tuple[str, str]]) -> str | None:
        """Return the content that the first open file of a call refers to."""
        what = self.names.get(places[0][1]) if places else None
        return what if isinstance(what, str) else None

    def _opened(self, pid: str, given: str, result: int, places: list[tuple[str, str]], texts: list[bytes]) -> None:
        path = self._path(pid, texts[0], places[0][1] if places else "")
        if not self._is_inside(path) or "O_DIRECTORY" in given:
            return
        if path not in self.names and "O_CREAT" in given:
            number = f"new {len(self.content)}"
            self.content[number] = bytearray()
            self._note(Made(path, number))
        file = self.names.get(path)
        if isinstance(file, str) and re.search(r"O_WRONLY|O_RDWR", given):
            if "O_TRUNC" in given and self.content[file]:
                self._note(Wrote(file, 0, None))
            self._at[file] = None if "O_APPEND" in given else 0

    def _wrote(self, pid: str, given: str, result: int, places: list[tuple[str, str]], texts: list[bytes]) -> None:
        data = b"".join(texts)[:result]
        file = self._file(places)
        if file is None:
            if data.startswith(ANSWER) and places and places[0][1].startswith("pipe:"):
                self._recording.events.append(Answered())
            return
        at = self._at.get(file)
        offset = len(self.content[file]) if at is None else at
        self._note(Wrote(file, offset, data))
        if at is not None:
            self._at[file] = offset + result

    def _wrote_at(self, pid: str, given: str, result: int, places: list[tuple[str, str]], texts: list[bytes]) -> None:
        if (file := self._file(places)) is not None:
            self._note(Wrote(file, int(given.rpartition(",")[2]), b"".join(texts)[:result]))

    def _sent(self, pid: str, given: str, result: int, places: list[tuple[str, str]], texts: list[bytes]) -> None:
        self._copied(places[1][1], places[0][1], result)

    def _ranged(self, pid: str, given: str, result: int, places: list[tuple[str, str]], texts: list[bytes]) -> None:
        self._copied(places[0][1], places[1][1], result)

    def _copied(self, source: str, path: str, result: int) -> None:
        """Copy as ``shutil`` does: from the beginning, each call where the last one ended."""
        file, read = self.names.get(path), self.names.get(source)
        if not isinstance(file, str) or not result:
            return
        whole = bytes(self.content[read]) if isinstance(read, str) else Path(source).read_bytes()
        offset = self._at.get(file) or 0
        self._note(Wrote(file, offset, whole[offset : offset + result]))
        self._at[file] = offset + result

    def _cut(self, pid: str, given: str, result: int, places: list[tuple[str, str]], texts: list[bytes]) -> None:
        what = self._file(places) if places else self.names.get(self._path(pid, texts[0]))
        if isinstance(what, str):
            self._note(Wrote(what, int(given.rpartition(",")[2]), None))

    def _sought(self, pid: str, given: str, result: int, places: list[tuple[str, str]], texts: list[bytes]) -> None:
        file = self._file(places)
        if file is not None and self._at.get(file) is not None:
            self._at[file] = result

    def _synced(self, pid: str, given: str, result: int, places: list[tuple[str, str]], texts: list[bytes]) -> None:
        path = places[0][1]
        what = self.names.get(path)
        if isinstance(what, str):
            self._note(Synced(what))
        elif self._is_inside(path) or path == self._top:
            self._note(Synced(path))

    def _two(self, pid: str, places: list[tuple[str, str]], texts: list[bytes]) -> tuple[str, str]:
        folders = [path for _, path in places] or ["", ""]
        return self._path(pid, texts[0], folders[0]), self._path(pid, texts[1], folders[-1])

    def _renamed(self, pid: str, given: str, result: int, places: list[tuple[str, str]], texts: list[bytes]) -> None:
        old, new = self._two(pid, places, texts)
        if self._is_inside(new) and old in self.names:
            self._note(Made(new, self.names[old], gone=old))

    def _linked(self, pid: str, given: str, result: int, places: list[tuple[str, str]], texts: list[bytes]) -> None:
        old, new = self._two(pid, places, texts)
        if self._is_inside(new) and old in self.names:
            self._note(Made(new, self.names[old]))

    def _pointed(self, pid: str, given: str, result: int, places: list[tuple[str, str]], texts: list[bytes]) -> None:
        new = self._path(pid, texts[1], places[0][1] if places else "")
        if self._is_inside(new):
            self._note(Made(new, ("link", os.fsdecode(texts[0]))))

    def _folder(self, pid: str, given: str, result: int, places: list[tuple[str, str]], texts: list[bytes]) -> None:
        path = self._path(pid, texts[0], places[0][1] if places else "")
        if self._is_inside(path):
            self._note(Made(path, ("dir", "")))

    def _gone(self, pid: str, given: str, result: int, places: list[tuple[str, str]], texts: list[bytes]) -> None:
        path = self._path(pid, texts[0], places[0][1] if places else "")
        if path in self.names:
            self._note(Made(path, None))


_KINDS = {
    **dict.fromkeys(("open", "openat", "creat"), _Reader._opened),
    **dict.fromkeys(("write", "writev"), _Reader._wrote),
    **dict.fromkeys(("pwrite64", "pwritev"), _Reader._wrote_at),
    **dict.fromkeys(("ftruncate", "truncate"), _Reader._cut),
    "sendfile": _Reader._sent,
    "copy_file_range": _Reader._ranged,
    **dict.fromkeys(("fsync", "fdatasync"), _Reader._synced),
    **dict.fromkeys(("rename", "renameat", "renameat2"), _Reader._renamed),
    **dict.fromkeys(("link", "linkat"), _Reader._linked),
    **dict.fromkeys(("symlink", "symlinkat"), _Reader._pointed),
    **dict.fromkeys(("mkdir", "mkdirat"), _Reader._folder),
    **dict.fromkeys(("unlink", "unlinkat", "rmdir"), _Reader._gone),
    "lseek": _Reader._sought,
}


def _hex(text: str) -> str:
    return os.fsdecode(bytes.fromhex(text.replace("\\x", "")))
