"""The places of files in a store and its repository, how to find and read them, and a cache of their parsed content.

A repository is trusted if it is in the folder that it is a repository of, or knows that folder. One that a link
or a pointer leads to and that does not know the folder is somebody else's: memkit's commits would end there.
"""

from __future__ import annotations

import json
import os
import re
import stat
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

from memkit import __version__
from memkit.errors import EnvironmentFault, StoreFault, StoreNotFound, UsageError
from memkit.runtime.host.terminal import shell_word
from memkit.runtime.memory.log import clone
from memkit.runtime.memory.log.clone import cache_folder, make_private, require_private
from memkit.runtime.memory.log.clone import require_inside as leads_inside
from memkit.runtime.memory.record.lines import ArchiveError, LeadsOut

MANIFEST = "memkit.yaml"
NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,63}")


def find_store(given: Path | None = None) -> Path:
    """Return the root of the store: ``given``, else ``MEMKIT_STORE``, else the nearest parent with ``memkit.yaml``.

    Raises:
        StoreNotFound: There is none; the message says where it was expected and what to run.
        StoreFault: The files that memkit keeps beside it would end up elsewhere.
    """
    named = given or _from_environment()
    if named is not None:
        root = named.expanduser().resolve()
        if root.exists() and not root.is_dir():
            raise StoreNotFound(f"{named} is a file. Name the store's folder, the one that contains {MANIFEST}.")
        if not (root / MANIFEST).is_file():
            raise StoreNotFound(
                f"{named} is not a store: it has no {MANIFEST}. Create one with: memkit init {shell_word(str(named))}"
            )
        return _looked_at(root)
    here = Path.cwd().resolve()
    for folder in (here, *here.parents):
        if (folder / MANIFEST).is_file():
            return _looked_at(folder)
    raise StoreNotFound(
        f"No store in {here} or above: no {MANIFEST}. Create one with 'memkit init DIR', or name one with --store DIR."
    )


def manifest_state(root: Path) -> tuple[int, ...]:
    """Return numbers that change when somebody changes ``memkit.yaml``; empty if it does not exist."""
    try:
        found = (root / MANIFEST).stat()
    except OSError:
        return ()
    return found.st_mtime_ns, found.st_size, found.st_ino


def checked_name(name: str, kind: str) -> str:
    """Return ``name`` if it is a valid name of a skill, policy or domain and hides no path; raise ``UsageError``."""
    if not NAME.fullmatch(name):
        raise UsageError(
            f"{name!r} cannot name a {kind}: use lower-case letters, digits, '-' and '_' (at most 64, no path)."
        )
    return name


def require_inside(root: Path, path: Path, shown: str) -> None:
    """Raise ``UsageError`` if a link leads out of the store on the way to a file: no history covers its content."""
    try:
        leads_inside(root, path)
    except LeadsOut as error:
        what = "The file is a link" if path.is_symlink() else f"{shown.rpartition('/')[0]}/ is a link"
        raise UsageError(
            f"{shown}:1:1: {what} out of the store, so git does not track its content.", path=shown
        ) from error


def entries_of(folder: Path) -> list[Path]:
    """Return what is in a folder, by name; ``UsageError`` if it cannot be read, which is not the same as empty."""
    try:
        return sorted(folder.iterdir())
    except FileNotFoundError:
        return []
    except OSError as error:
        raise UsageError(f"{folder} cannot be read: {error.strerror or error}.", path=str(folder)) from error


def require_writable_inside(root: Path, path: Path) -> None:
    """Raise ``StoreFault`` if a file to be written below ``root`` would end up outside it, through a link.

    A person may name a path elsewhere.
    """
    if not Path(os.path.normpath(path.absolute())).is_relative_to(os.path.normpath(root.absolute())):
        return
    try:
        leads_inside(root, path)
    except LeadsOut as error:
        raise StoreFault(str(error)) from error


def is_writable(path: Path) -> bool:
    """Return whether a file or folder can be written, or made where it would be; nothing is tried."""
    there = next(place for place in (path, *path.parents) if place.exists())
    wanted = os.W_OK | (os.X_OK if there.is_dir() else 0)
    return os.access(there, wanted, effective_ids=os.access in os.supports_effective_ids)


def _looked_at(root: Path) -> Path:
    """Return ``root`` after checking that the machine's folder is inside it."""
    try:
        require_private(root)
    except ArchiveError as error:
        raise StoreFault(str(error)) from error
    return root


def keys_home() -> Path:
    """Return the folder of this user's data about stores, outside of them: keys, and which stores are trusted.

    Raises:
        UsageError: ``MEMKIT_KEYS`` is a relative path.
        EnvironmentFault: This user's home directory is unknown.
    """
    try:
        return clone.keys_home()
    except ValueError as error:
        raise UsageError(str(error)) from None
    except RuntimeError:
        raise EnvironmentFault(
            "The home directory of this user is unknown, and keys and trust are kept there. Set HOME, or MEMKIT_KEYS "
            "to an absolute path."
        ) from None


def _from_environment() -> Path | None:
    value = os.environ.get("MEMKIT_STORE")
    return Path(value) if value else None


class Kind(NamedTuple):
    """One kind, such as skill."""

    noun: str
    folder: str
    """The folder of the files, relative to the store."""
    findings: Callable[[Any, str], list[Any]]
    """The faults that keep a ``Document`` from being the one its file's stem names, each a ``SchemaFinding``."""

    def path(self, name: str) -> str:
        """Return the path of ``name``'s file, relative to the store; raise ``UsageError`` for an invalid name."""
        return f"{self.folder}/{checked_name(name, self.noun)}.yaml"


MAX_BYTES = 1_000_000


def file_bytes(path: Path) -> bytes:
    """Return a file's content, at most one byte more than a file of a store may have.

    Raises:
        OSError: It cannot be read, or is a pipe, a device or a folder.
        ValueError: The path cannot name a file.
    """
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    with os.fdopen(descriptor, "rb") as file:
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            raise OSError(0, NO_FILE)
        return file.read(MAX_BYTES + 1)


NO_FILE = "This is not a regular file."


def why_not(error: OSError | ValueError) -> str:
    """Return a sentence that says why a file cannot be read."""
    reason = getattr(error, "strerror", None) or str(error)
    return reason if reason == NO_FILE else f"The file cannot be read: {reason}."


SCHEMA_FILES: Mapping[str, str] = {
    "memkit": ".memkit.schema.json",
    "skill": "skills/.schema.json",
    "policy": "policies/.schema.json",
    "domain": "domains/.schema.json",
}
"""Kind of file → the place of its schema in a store: beside the files, so that all of them refer to it alike."""


_DATA = Path(__file__).resolve().parents[1] / "data"


def schema_path(kind: str) -> Path:
    """Return the path of this version's schema: with the starters, or in the package if no store carries it."""
    name = SCHEMA_FILES.get(kind, f"schemas/{kind}.schema.json")
    return _DATA / name if (_DATA / name).exists() else _DATA.parents[1] / name  # as ``resource``, without its import


def schema_files() -> dict[str, bytes]:
    """Return the content of each schema by its path in a store."""
    return {path: schema_path(kind).read_bytes() for kind, path in SCHEMA_FILES.items()}


def schema_comment(root: Path, kind: str) -> str:
    """Return the first line of a new file, which tells editors its schema; empty in a store that carries none."""
    place = root / SCHEMA_FILES[kind]
    return f"# yaml-language-server: $schema={place.name}\n" if place.is_file() else ""


SETTLED = 50_000_000
"""Nanoseconds after which a further change of a file surely has another time: file system clocks are coarse."""


def parsed(root: Path, kind: str, files: Mapping[str, Path], read: Callable[[str], Any]) -> dict[str, Any]:
    """Return the result of ``read`` for each of ``files`` by name, from a cache while the file is unchanged.

    A file is unchanged while its size, its times and its inode are; nobody can set the time of its last change
    (``ctime``). Nothing is cached about a file so young that it may still change and keep its time. The cache is
    trusted as the index is: only this clone can have written it (``runtime/memory/log/clone``).

    Each kind of files, such as ``skills``, has a cache file of its own; ``read`` returns the data of a file.
    """
    if not (root / MANIFEST).is_file():  # a folder that is not a store has no cache
        return {name: read(name) for name in files}
    place = cache_folder(root) / f"{kind}.json"
    known, entries, keeps = _known(place), {}, {}
    for name, path in files.items():
        stamp = _stamp(path)
        if stamp is not None and known.get(name, (None,))[0] == stamp:
            entries[name] = keeps[name] = known[name]
        else:
            entries[name] = [stamp, read(name)]
            if stamp is not None and stamp[1] < time.time_ns() - SETTLED:
                keeps[name] = entries[name]
    if keeps != known:
        _keep(place, keeps)
    return {name: data for name, (_, data) in entries.items()}


def _stamp(path: Path) -> list[int] | None:
    """Return what distinguishes a file's state from former ones; None if there is none, which reading reports."""
    with suppress(OSError):
        stat = path.stat()
        return [stat.st_size, max(stat.st_mtime_ns, stat.st_ctime_ns), stat.st_mtime_ns, stat.st_ino]
    return None


def _known(place: Path) -> dict[str, Any]:
    """Return the cached entries, a stamp and the data by name; empty if missing or from another version of memkit."""
    with suppress(OSError, ValueError, RecursionError):
        kept = json.loads(place.read_text(encoding="utf-8"))
        if isinstance(kept, dict) and kept.get("memkit") == __version__:
            return dict(kept["files"])
    return {}


def _keep(place: Path, entries: Mapping[str, Any]) -> None:
    scratch = place.with_suffix(f".{os.getpid()}.tmp")
    with suppress(TypeError, ValueError, RecursionError):  # data that is not JSON is read again each time
        text = json.dumps({"memkit": __version__, "files": entries})
        if json.loads(text)["files"] != entries:
            return
        try:
            make_private(place.parent)
            scratch.write_text(text, encoding="utf-8")
            scratch.replace(place)
        except OSError:  # a read-only store can still be read
            with suppress(OSError):
                scratch.unlink()


_ID = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")
_WORK_TREE = re.compile(r'^\s*worktree\s*=\s*"?(?P<path>[^"\n]+)', re.MULTILINE | re.IGNORECASE)
_WRITTEN = (
    "HEAD", "index", "config", "packed-refs", "COMMIT_EDITMSG", "ORIG_HEAD", "info", "info/attributes", "objects",
    "refs", "logs",
)  # fmt: skip
"""What git writes in its folder when memkit commits."""
_ASKED = (".gitignore", ".gitattributes", ".gitmodules")
"""What git always reads in the working tree."""
_NEVER_READ = "It was not read. Remove it, or open the store that it belongs to."


class GitFolder(NamedTuple):
    """The folders of a repository."""

    top: Path
    """The root of the working tree."""
    own: Path
    """The folder of this working tree's own files: HEAD, index."""
    shared: Path
    """The folder that all working trees of the repository share: branches, objects, settings. Usually the same."""

    @property
    def branch(self) -> str | None:
        """Return the checked-out branch; None when detached."""
        head = _line(self.own / "HEAD")
        return head.removeprefix("ref: refs/heads/") if head.startswith("ref: refs/heads/") else None

    @property
    def head_id(self) -> str | None:
        """Return the id of the commit that HEAD names, or None if there is none or only git can resolve it."""
        head = _line(self.own / "HEAD")
        name = head.removeprefix("ref: ")
        found = head if name == head else self._resolved(name)
        return found if _ID.fullmatch(found) else None

    def require_inside(self) -> None:
        """Raise ``StoreFault`` if a path that git writes is a link out of the store, or not a file."""
        homes = [os.path.realpath(folder) for folder in (self.top, self.shared)]
        for path in self._written():
            if path.is_symlink():
                target = os.path.realpath(path)
                if not any(target == home or target.startswith(home + os.sep) for home in homes):
                    raise StoreFault(f"{path} is a link out of the repository, to {target}. {_NEVER_READ}")
            elif not path.is_file() and not path.is_dir():
                raise StoreFault(f"{path} is neither a file nor a folder. {_NEVER_READ}")
        for path in (self.top / name for name in _ASKED):
            if os.path.lexists(path) and not path.is_file() and not path.is_symlink():
                raise StoreFault(f"{path} is not a file, so git would block on it. Replace it with a file.")

    def _written(self) -> Iterator[Path]:
        for folder in dict.fromkeys((self.own, self.shared)):
            yield from (folder / name for name in _WRITTEN if os.path.lexists(folder / name))
            for parent, folders, files in os.walk(folder / "refs"):
                yield from (Path(parent, name) for name in (*folders, *files))
            for parent, folders, files in os.walk(folder / "logs"):
                yield from (Path(parent, name) for name in (*folders, *files))
        if (self.shared / "objects").is_dir():
            yield from (self.shared / "objects").iterdir()

    def _resolved(self, name: str) -> str:
        """Return the id that a reference holds, loose or packed; empty for one without commits."""
        if not re.fullmatch(r"refs/[^\0]+", name) or ".." in name:
            return ""
        for folder in (self.own, self.shared):
            if (folder / name).is_file():
                return _line(folder / name)
        for line in _text(self.shared / "packed-refs").splitlines():
            if line.endswith(f" {name}"):
                return line.partition(" ")[0]
        return ""


def git_folder(root: Path) -> GitFolder | None:
    """Return the repository that contains ``root``, or None outside one.

    Raises:
        StoreFault: The path leads to a repository that does not know of it.
    """
    root = root.absolute()
    for top in (root, *root.parents):
        mark = top / ".git"
        if mark.is_symlink():
            raise StoreFault(f"{mark} is a link, to {os.path.realpath(mark)}. {_NEVER_READ}")
        if mark.is_dir() and os.path.lexists(mark / "HEAD"):
            if os.path.lexists(mark / "commondir"):
                raise StoreFault(f"{mark / 'commondir'} puts the branches in another repository. {_NEVER_READ}")
            return GitFolder(top, mark, mark)
        if mark.is_file():
            return _pointed_at(mark)
    return None


def known_git_folder(root: Path) -> GitFolder | None:
    """Return the repository that contains ``root``, or None, also for one that is not trusted."""
    try:
        return git_folder(root)
    except StoreFault:
        return None


def _pointed_at(mark: Path) -> GitFolder:
    """Return the folders of a linked working tree or of a submodule, whose ``.git`` is a file that names the place."""
    top = mark.parent
    own = top / _line(mark).removeprefix("gitdir:").strip()
    shared = own / (_line(own / "commondir") or ".")
    is_linked = _is_same(_line(own / "gitdir"), mark) and _is_same(own.parent.parent, shared)
    named = _WORK_TREE.search(_text(own / "config"))
    is_submodule = _is_same(own, shared) and named is not None and _is_same(own / named["path"].strip(), top)
    is_inside = _is_same(own, shared) and own.resolve().is_relative_to(top.resolve())
    if is_linked or is_submodule or is_inside:
        return GitFolder(top, own, shared)
    raise StoreFault(
        f"{mark} names the repository {own}, which does not know {top}. {_NEVER_READ} If it is yours: git --git-dir "
        f"{own} config core.worktree {top}"
    )


def _is_same(one: Path | str, other: Path) -> bool:
    return bool(str(one)) and os.path.realpath(one) == os.path.realpath(other)


def _line(path: Path) -> str:
    return _text(path).strip()


def _text(path: Path) -> str:
    """Return a file's content; empty if it cannot be read or is not a file, such as a pipe."""
    try:
        return file_bytes(path).decode("utf-8")
    except (OSError, UnicodeDecodeError):
        return ""


def head_branch(root: Path) -> str | None:
    """Return the checked-out branch, read from ``.git/HEAD`` without git; None when detached or no repository."""
    folder = known_git_folder(root)
    return folder.branch if folder else None
