"""The intent of an erasure on disk, without content, so that a kill at any point leaves the old store or the new one.

Everything is built aside first. Until the journal says ``changing``, the old store stands and the new files are
discarded; from then on every step is a repeatable rename or removal, and the next process finishes them.

The journal names files by their path from the root of the work tree, and each is checked again when its turn comes: it
must be inside, outside git's folder and behind no link. A journal that names anything else is set aside.
"""

from __future__ import annotations

import json
import os
import stat
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

from memkit.errors import EnvironmentFault
from memkit.runtime.memory.log.clone import MACHINE, cache_folder, lock_file, state_folder
from memkit.runtime.memory.log.log import Witness
from memkit.runtime.memory.log.shards import locked, sync_folder
from memkit.runtime.memory.record.lines import StoreLocked
from memkit.store.files import make_user_only, write_whole

if TYPE_CHECKING:
    from memkit.privacy.filed import FiledMarks

_FILE = "journal.json"
_NEW, _OLD, _FILES, _NEEDLES = "git", "old", "files", "needles"
NOTHING_FOUND = "nothing_found"
"""The key that says whether only others, such as a server's operator, can have something left."""
UNPROVEN = "An erasure was carried out but not proven. Run 'memkit memory erase' for the same user again."
_MARK = "memkit-erasure"
"""In the new repository, to tell it from the old one after the exchange."""
_LOCK, _OURS = "index.lock", b"memkit memory erase"
_RENAME_EXCHANGE, _AT_FDCWD = 2, -100


class JournalRefused(EnvironmentFault):
    """Report why an interrupted erasure is not carried out."""

    code = "journal-refused"


class ReplacedFile(NamedTuple):
    """A file whose content is replaced by a staged one, or that is removed."""

    path: str
    """From the root of the work tree, with slashes."""
    staged: str | None
    """The name of the new content; None to remove."""


class ErasureIntent(NamedTuple):
    """What an erasure is about to change; nothing in it repeats a text or names the person."""

    above: int | None = None
    """How many folders above the store the root of the work tree, with its ``.git``, is; None without a repository."""
    replacements: tuple[ReplacedFile, ...] = ()
    owed: Mapping[str, Any] = MappingProxyType({})
    """What remains to be proven when the files are changed, for ``Unproven``."""


class ErasureJournal:
    """The working folder of one erasure in this clone's state."""

    def __init__(self, store: Path) -> None:
        self._store = store
        self.folder = state_folder(store) / "erase"
        self._path = self.folder / _FILE

    @property
    def phase(self) -> str | None:
        """Return ``building``, ``changing``, or None if no erasure is in progress."""
        entry = self._read()
        return entry["phase"] if entry else None

    @property
    def intent(self) -> ErasureIntent:
        """Return what is to be changed; raise ``JournalRefused`` if that cannot be determined."""
        try:
            data = (self._read() or {}).get("intent", {})
            replacements = tuple(ReplacedFile(**item) for item in data.get("replacements", ()))
            return ErasureIntent(data.get("above"), replacements, data.get("owed", {}))
        except (TypeError, AttributeError):
            raise JournalRefused(f"{self._path} is not a valid journal.") from None

    @property
    def new_repository(self) -> Path:
        """Return the folder in which the new repository is built."""
        return self.folder / _NEW

    @contextmanager
    def preparing(self, top: Path | None) -> Iterator[None]:
        """Record that an erasure is being prepared; unless the block commits it, everything stays as it was."""
        if not self.folder.is_relative_to(self._store):
            raise EnvironmentFault(
                "This user's keys cannot be used, so an erasure that was interrupted could not be finished. "
                "'memkit doctor' says why. Nothing was changed."
            )
        self.discard()
        (self.folder / _FILES).mkdir(parents=True, mode=0o700)
        self._write("building", self.meant(top, ()))
        try:
            if top:
                _hold(top / ".git")
            yield
        except BaseException:
            if self.phase == "building":
                self.discard()
            raise

    def meant(
        self, top: Path | None, replacements: Sequence[tuple[Path, str | None]], owed: Mapping[str, Any] | None = None
    ) -> ErasureIntent:
        """Return the intent to replace files below ``top`` by their staged contents."""
        above = None if top is None else len(self._store.relative_to(top).parts)
        files = ((path.relative_to(top or self._store).as_posix(), staged) for path, staged in replacements)
        return ErasureIntent(above, tuple(ReplacedFile(*each) for each in files), owed or {})

    def stage(self, number: int, content: bytes | Iterable[bytes], like: Path) -> str:
        """Stage the new content of the file ``like``, whole or in pieces, with its mode, and return the staged name."""
        path = self.folder / _FILES / str(number)
        with path.open("wb") as file:
            file.writelines([content] if isinstance(content, bytes) else content)
        with suppress(FileNotFoundError):
            path.chmod(stat.S_IMODE(like.stat().st_mode))
        return path.name

    def commit(self, intent: ErasureIntent, marks: FiledMarks | None = None) -> None:
        """Record that everything is built; from here on this process or the next finishes the change."""
        if marks is not None:
            marks.save(self.folder / _NEEDLES)
        if intent.above is not None:
            (self.new_repository / _MARK).touch()
        os.sync()  # the built files are many; the next line must not reach the disk before them
        self._write("changing", intent)

    def change(self) -> None:
        """Carry out the intent; every step can be repeated. Raise ``JournalRefused`` before doing anything."""
        intent = self.intent
        top = self._top(intent)
        for replacement in intent.replacements:
            self._place(top, replacement)
        if intent.above is not None:
            self._exchange(top / ".git")
        for replacement in intent.replacements:
            self._replace(top, replacement)
        _clear(cache_folder(self._store))
        # Last: an index that still has the removed lines would save them again as what is missed.
        Witness(self._store).forget()
        Unproven(self._store).keep(intent.owed, self.folder / _NEEDLES)
        self.discard()

    def discard(self) -> None:
        """Discard the erasure and what was built for it."""
        if self.phase == "building":
            with suppress(JournalRefused, OSError):
                _release(self._top(self.intent) / ".git")
        self._path.unlink(missing_ok=True)
        _clear(self.folder)

    def set_aside(self) -> Path:
        """Move the erasure to where nobody finishes it, and return that place."""
        return self.folder.rename(self.folder.with_name(f"refused-{os.urandom(4).hex()}"))

    def _top(self, intent: ErasureIntent) -> Path:
        """Return the root of the work tree; raise ``JournalRefused`` if the store's repository is not there."""
        if intent.above is None:
            return self._store
        folders = (self._store, *self._store.parents)
        if type(intent.above) is not int or not 0 <= intent.above < len(folders):
            raise JournalRefused(f"There is no repository {intent.above!r} folders above the store.")
        top = folders[intent.above]
        nearer = any(os.path.lexists(folder / ".git") for folder in folders[: intent.above])
        was_killed_between_two_renames = not os.path.lexists(top / ".git") and (self.folder / _OLD).is_dir()
        if nearer or not (_is_folder(top / ".git") or was_killed_between_two_renames):
            raise JournalRefused(f"{top} is not the root of the store's repository.")
        return top

    def _exchange(self, current: Path) -> None:
        """Replace the old repository by the new one."""
        if (self.new_repository / _MARK).exists():
            if current.exists():
                _swap(self.new_repository, current, aside=self.folder / _OLD)
            else:  # killed between two renames
                self.new_repository.rename(current)
            sync_folder(current.parent)
        # The old one goes before the mark, which tells the two apart.
        for name in (_NEW, _OLD):
            _clear(self.folder / name)
        (current / _MARK).unlink(missing_ok=True)

    def _replace(self, top: Path, replacement: ReplacedFile) -> None:
        path = self._place(top, replacement)
        if replacement.staged is not None:
            staged = self.folder / _FILES / replacement.staged
            if staged.exists():
                path.parent.mkdir(parents=True, exist_ok=True)
                staged.replace(path)
        elif _is_folder(path):
            _clear(path, whatever=False)
        else:
            path.unlink(missing_ok=True)

    def _place(self, top: Path, replacement: ReplacedFile) -> Path:
        """Return the file of a replacement; raise ``JournalRefused`` for one that no erasure of ours means."""
        named, staged = replacement.path, replacement.staged
        if not isinstance(named, str) or not (staged is None or (isinstance(staged, str) and staged.isdecimal())):
            raise JournalRefused(f"{replacement} is malformed.")
        parts = named.split("/")
        if {"", ".", ".."} & set(parts) or ".git" in map(str.casefold, parts):
            raise JournalRefused(f"{named!r} is not a path in the work tree.")
        path = top.joinpath(*parts)
        behind = next((place for place in path.parents if top in place.parents and _bars(place)), None)
        if behind is not None:
            raise JournalRefused(f"{named!r} is below {behind}, which is not a folder.")
        if staged is None and _is_folder(path) and MACHINE not in parts:
            raise JournalRefused(f"{named!r} is a folder.")
        return path

    def _read(self) -> dict[str, Any] | None:
        try:
            entry = json.loads(self._path.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return None
        return entry if isinstance(entry, dict) and "phase" in entry else None

    def _write(self, phase: str, intent: ErasureIntent) -> None:
        data = {"above": intent.above, "replacements": [item._asdict() for item in intent.replacements],
                "owed": dict(intent.owed)}  # fmt: skip
        beside = self._path.with_suffix(".new")
        with beside.open("w", encoding="utf-8") as file:
            json.dump({"phase": phase, "intent": data}, file)
            file.flush()
            os.fsync(file.fileno())
        beside.replace(self._path)
        sync_folder(self.folder)


def _clear(folder: Path, *, whatever: bool = True) -> None:
    """Remove a folder with its contents, except ``whatever`` cannot be removed."""
    import shutil  # loads every archive format, and an erasure is hardly ever in progress

    shutil.rmtree(folder, ignore_errors=whatever)


class Unproven:
    """What this clone removed about persons and could not prove to be gone everywhere: counts and keyed digests.

    It stays until an erasure of the same person finds nothing any more.
    """

    def __init__(self, store: Path) -> None:
        self.folder = state_folder(store) / "unproven"

    def of(self, digest: str) -> Mapping[str, Any] | None:
        """Return what remains to be proven about the person of a keyed digest, or None."""
        owed = self._read(self._file(digest))
        return owed if owed is not None and owed.get("digest") == digest else None

    def is_left_to_others(self) -> bool:
        """Return whether nothing was found here for anyone with unproven erasures: another look would find no more."""
        owed = [self._read(path) for path in self.folder.glob("*.json")]
        return all(one is not None and one.get(NOTHING_FOUND) is True for one in owed)

    def marks_of(self, owed: Mapping[str, Any]) -> FiledMarks:
        """Return the digests of what to look for.

        Raises:
            EnvironmentFault: They cannot be read, so that nothing could be proven.
        """
        from memkit.privacy.filed import FiledMarks

        if "needles" in owed:  # the format of an older memkit
            return FiledMarks(_marks_of_older(owed["needles"]), self.folder)
        path = self._needles(owed["digest"])
        try:
            return FiledMarks.read(path, self.folder)
        except (OSError, ValueError) as error:
            raise EnvironmentFault(
                f"The list of what an earlier erasure still has to check cannot be read: {error}. Restore {path} from "
                f"a backup; or delete {path.with_suffix('.*')}, and what was removed before is no longer checked."
            ) from None

    def keep(self, owed: Mapping[str, Any], marks: FiledMarks | Path) -> None:
        """Store what remains to be proven, and the digests of what to look for, or the file that holds them."""
        if not owed:
            return
        make_user_only(self.folder)
        needles = self._needles(owed["digest"])
        if not isinstance(marks, Path):
            beside = needles.with_suffix(".new")
            marks.save(beside)
            beside.replace(needles)
        elif marks.exists():  # else a kill came after it had been moved
            marks.replace(needles)
        write_whole(self._file(owed["digest"]), json.dumps(dict(owed)).encode(), mode=0o600)

    def settle(self, digest: str) -> None:
        """Forget what has been proven."""
        for path in self.places(digest):
            path.unlink(missing_ok=True)
        with suppress(OSError):
            self.folder.rmdir()

    def places(self, digest: str) -> tuple[Path, ...]:
        """Return the files about one person's unproven erasure."""
        return self._file(digest), self._needles(digest)

    @staticmethod
    def _read(path: Path) -> dict[str, Any] | None:
        try:
            owed = json.loads(path.read_bytes())
        except (OSError, ValueError):
            return None
        return owed if isinstance(owed, dict) else None

    def _file(self, digest: str) -> Path:
        return self.folder / f"{digest[:32]}.json"

    def _needles(self, digest: str) -> Path:
        return self.folder / f"{digest[:32]}.needles"


def _marks_of_older(data: Mapping[str, str | list[str]]) -> Iterator[int]:
    """Yield digests written one after another, or in a list."""
    for kind, name in enumerate(("pieces", "words", "beginnings")):
        row = data[name]
        digests = (row[at : at + 16] for at in range(0, len(row), 16)) if isinstance(row, str) else row
        yield from (int(digest, 16) ^ kind for digest in digests)


def resume(store: Path) -> str | None:
    """Finish or undo an interrupted erasure, and return a message; None if there is none.

    A running one holds the store's lock and is left alone.
    """
    journal = ErasureJournal(store)
    if journal.phase is None:
        return None
    try:
        with locked(lock_file(store), timeout=0.0):
            if journal.phase == "building":
                journal.discard()
                return "An erasure was interrupted before it changed anything. Start it again."
            if journal.phase == "changing":
                journal.change()
                return UNPROVEN
    except StoreLocked:
        return None
    except JournalRefused as error:
        return (
            f"An interrupted erasure was not finished. {error} It was moved to {journal.set_aside()}. Start it again."
        )
    return None


def _is_folder(path: Path) -> bool:
    return path.is_dir() and not path.is_symlink()


def _bars(path: Path) -> bool:
    """Return whether the path exists and is not a folder, for example a link to one."""
    return os.path.lexists(path) and not _is_folder(path)


def _hold(git_folder: Path) -> None:
    """Keep other gits from writing while the history is read: their additions would be lost."""
    try:
        descriptor = os.open(git_folder / _LOCK, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o644)
    except FileExistsError:
        raise EnvironmentFault(
            f"Another git process is running in {git_folder}. Try again. Nothing was changed."
        ) from None
    os.write(descriptor, _OURS)
    os.close(descriptor)


def _release(git_folder: Path) -> None:
    """Remove the lock of ``_hold``, and no other."""
    with suppress(FileNotFoundError):
        if (git_folder / _LOCK).read_bytes() == _OURS:
            (git_folder / _LOCK).unlink()


def _swap(new: Path, current: Path, *, aside: Path) -> None:
    """Exchange two folders, atomically if the kernel can."""
    if not _exchanged(new, current):
        current.rename(aside)
        new.rename(current)


def _exchanged(first: Path, second: Path) -> bool:
    """Exchange two names atomically (renameat2 of Linux); return False if that is not available."""
    if not sys.platform.startswith("linux"):
        return False
    import ctypes

    libc = ctypes.CDLL(None, use_errno=True)
    if not hasattr(libc, "renameat2"):
        return False
    names = [os.fsencode(path) for path in (first, second)]
    return bool(libc.renameat2(_AT_FDCWD, names[0], _AT_FDCWD, names[1], _RENAME_EXCHANGE) == 0)
