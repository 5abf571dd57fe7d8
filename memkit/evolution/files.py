"""Files of a run: JSON with the version of its format and a digest, the texts of the judged programs, their journal.

Errors in them are a ``RunError``.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field, fields
from hashlib import sha256
from pathlib import Path
from typing import Any, TypeVar

from memkit.errors import EnvironmentFault, UsageError
from memkit.runtime.memory.log.shards import sync_folder
from memkit.store.files import write_whole


class RunFault(EnvironmentFault):
    """Report a run that cannot be read or written, and name the file."""

    code = "run"


class RunBusy(RunFault):
    """Report that another process is working on the run."""

    code = "locked"


class RunChanged(UsageError):
    """Report that the program or the evaluator changed since the run began."""

    code = "changed"


FORMAT = 1
_FORMAT, _DIGEST, _BODY = "format", "digest", "content"


class Damaged(RunFault):
    """Report a file that is truncated or was changed from outside."""

    code = "damaged"


def write_data(path: Path, content: Any) -> None:
    """Write ``content`` to the disk atomically; if that fails, the former file stays.

    Raises:
        RunFault: The disk write failed.
    """
    body = _canonical(content)
    head = json.dumps({_FORMAT: FORMAT, _DIGEST: sha256(body.encode()).hexdigest()})
    try:
        write_whole(path, f'{head[:-1]}, "{_BODY}": {body}}}\n'.encode(), mode=0o600)
    except EnvironmentFault as fault:
        raise RunFault(f"{fault} The run is as it was after the previous generation; make room and resume.") from None


def read_data(path: Path) -> Any:
    """Return the content of a file.

    Raises:
        Damaged: It is truncated, or not what was written.
        RunFault: A newer memkit wrote it, or it cannot be read.
        FileNotFoundError: It does not exist.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise
    except (OSError, UnicodeDecodeError) as error:
        raise Damaged(f"{path} cannot be read: {error}.", path=str(path)) from None
    try:
        data = json.loads(text)
    except (ValueError, RecursionError):
        raise Damaged(f"{path} is truncated or not JSON.", path=str(path)) from None
    version = data.get(_FORMAT) if isinstance(data, dict) else None
    if isinstance(version, int) and version > FORMAT:
        raise RunFault(
            f"{path} has format {version}; this memkit knows {FORMAT}. Use the memkit that wrote it, or a newer one.",
            path=str(path),
        )
    if version != FORMAT or _BODY not in data:
        raise Damaged(f"{path} is not a file of a run.", path=str(path))
    if not _is_written(data[_BODY], data.get(_DIGEST)):
        raise Damaged(f"{path} was changed after it was written: its digest differs.", path=str(path))
    return data[_BODY]


def _is_written(content: Any, digest: object) -> bool:
    try:
        return sha256(_canonical(content).encode()).hexdigest() == digest
    except ValueError:  # a number that is never written, such as 1e999, which is read as infinity
        return False


def _canonical(content: Any) -> str:
    return json.dumps(content, sort_keys=True, separators=(",", ":"), allow_nan=False)


_Entry = TypeVar("_Entry")


def lines_of(path: Path, read: Callable[[Any], _Entry], *, size: int | None = None) -> Iterator[tuple[_Entry, int]]:
    """Yield the content of each whole line of the first ``size`` bytes, with its end; a torn last line is left out.

    Raises:
        RunFault: A line is invalid.
    """
    try:
        content = path.read_bytes()[:size]
    except FileNotFoundError:
        return
    end = 0
    for number, line in enumerate(content[: content.rfind(b"\n") + 1].split(b"\n")[:-1], 1):
        end += len(line) + 1
        try:
            entry = read(json.loads(line))
        except (ValueError, TypeError, KeyError):
            raise RunFault(f"{path}:{number}: The line is damaged.", path=str(path), line=number) from None
        yield entry, end


def write_at(path: Path, data: bytes, at: int, advice: str) -> int:
    """Write from byte ``at`` on, wait until it is on the disk, and return the new length; later content is dropped.

    Raises:
        RunFault: The disk write failed, with ``advice``; the file has the length up to ``at``.
    """
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    try:
        os.ftruncate(descriptor, at)
        view, end = memoryview(data), at
        while view:  # a full disk accepts a part first and reports the error for the rest
            written = os.pwrite(descriptor, view, end)
            view, end = view[written:], end + written
        os.fsync(descriptor)
    except OSError as error:
        os.ftruncate(descriptor, at)
        raise RunFault(f"{path} cannot be written: {error.strerror}. {advice}", path=str(path)) from None
    finally:
        os.close(descriptor)
    return end


FOLDER = "programs"


class Texts:
    """The texts of one run. A file for each program would cost a disk sync each."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder / FOLDER

    def write(self, generation: int, texts: Mapping[str, str]) -> None:
        """Store the texts created by a generation; repeating a generation writes the same again.

        Raises:
            RunFault: The disk write failed.
        """
        lines = [json.dumps({"id": id, "text": text}) for id, text in texts.items()]
        try:
            write_whole(self._file(generation), "".join(f"{line}\n" for line in lines).encode(), mode=0o600)
        except EnvironmentFault as fault:
            raise RunFault(f"{fault} Make room and resume.", path=str(self._file(generation))) from None

    def all(self, *, last: int) -> dict[str, str]:
        """Return the texts of the generations up to ``last`` by the id of their program.

        Raises:
            RunFault: A file of them is damaged.
        """
        found: dict[str, str] = {}
        for path in map(self._file, range(1, last + 1)):
            if not path.exists():
                continue
            for number, line in enumerate(path.read_bytes().splitlines(), 1):
                try:
                    entry = json.loads(line)
                    found[entry["id"]] = entry["text"]
                except (ValueError, TypeError, KeyError):
                    raise RunFault(f"{path}:{number}: The line is damaged.", path=str(path), line=number) from None
        return found

    def _file(self, generation: int) -> Path:
        return self._folder / f"{generation:06}.jsonl"


NAME = "individuals.jsonl"


@dataclass(frozen=True)
class JudgedProgram:
    """A judged program, with its origin; nothing in it differs when a run is repeated."""

    id: str
    parents: tuple[str, ...]
    operation: str
    """seed, random, mutate, cross, tune, tidy, migrate, or model:NAME"""
    island: int | None
    generation: int
    score: float | None
    """None if it is not valid; then ``reason`` says why."""
    reason: str = ""
    metrics: Mapping[str, Any] = field(default_factory=dict)


_FIELDS = tuple(each.name for each in fields(JudgedProgram))


class Individuals:
    """The lines of one run, appended a generation at a time."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / NAME

    @property
    def size(self) -> int:
        """Return the length of the journal in bytes."""
        try:
            return self._path.stat().st_size
        except FileNotFoundError:
            return 0

    def append(self, judged: Iterable[JudgedProgram], *, at: int) -> int:
        """Write lines from byte ``at`` on, wait until they are on the disk, and return the new length.

        Content after ``at`` belongs to an unfinished generation that is being repeated.

        Raises:
            RunFault: The disk write failed; the journal is unchanged.
        """
        data = "".join(json.dumps(asdict(each), allow_nan=False) + "\n" for each in judged).encode()
        is_new = not self._path.exists()
        stands = "The run is as it was after the previous generation; make room and resume."
        end = write_at(self._path, data, at, stands)
        if is_new:
            sync_folder(self._path.parent)
        return end

    def require_whole(self, *, size: int) -> None:
        """Raise ``RunFault`` if a line is invalid: reported before more is spent on an unreadable run."""
        for _ in self.read(size=size):
            pass

    def read(self, *, size: int | None = None) -> Iterator[JudgedProgram]:
        """Yield the lines of the first ``size`` bytes, or all whole lines.

        Raises:
            RunFault: A line other than the last one is invalid.
        """
        for judged, _ in lines_of(self._path, _read, size=size):
            yield judged


def _read(data: Any) -> JudgedProgram:
    known = {name: data[name] for name in _FIELDS if name in data}
    return JudgedProgram(**{**known, "parents": tuple(data["parents"])})


@dataclass(frozen=True)
class LineageStep:
    """One ancestor."""

    judged: JudgedProgram
    change: float | None
    """The score relative to that of its best parent; None for a seed, and if one of them is not valid."""


def by_id(judged: Iterable[JudgedProgram]) -> dict[str, JudgedProgram]:
    """Return the journal by id; a program that came to another island later is the one judged first."""
    found: dict[str, JudgedProgram] = {}
    for each in judged:
        found.setdefault(each.id, each)
    return found


def ancestry(id: str, known: Mapping[str, JudgedProgram], *, minimize: bool) -> list[LineageStep]:
    """Return the program and all of its ancestors, oldest first."""
    found: dict[str, JudgedProgram] = {}
    waiting = [id]
    while waiting:
        judged = known.get(waiting.pop())
        if judged is not None and judged.id not in found:
            found[judged.id] = judged
            waiting += judged.parents
    order = {id: place for place, id in enumerate(known)}
    return [
        LineageStep(each, _change(each, known, minimize))
        for each in sorted(found.values(), key=lambda each: (each.generation, order[each.id]))
    ]


def _change(judged: JudgedProgram, known: Mapping[str, JudgedProgram], minimize: bool) -> float | None:
    scores = [known[parent].score for parent in judged.parents if parent in known]
    counted = [score for score in scores if score is not None]
    if judged.score is None or not counted:
        return None
    return judged.score - (min(counted) if minimize else max(counted))
