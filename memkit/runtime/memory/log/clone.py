"""A clone's own files, in folders whose names nobody else can derive.

A store can come from anywhere, and ``.memkit`` with it: in an archive, with ``git add -f``, by a pull into a folder in
use. So nothing in it is trusted because of its location. Sessions, journals and indexes of a clone are in
``.memkit/state/NAME`` and ``.memkit/cache/NAME``, where NAME is derived from the store's location and a key outside of
every store (``machine_key``: this user's, on this machine). Planting a file there would require the key, so no file
needs its own signature, and files anywhere else are not read.

The location is the folder's device and inode, which survive a move, and its path, which survives on file systems
without lasting inodes. A copy has neither, and starts anew.

All files are opened as in this module: regular files in private folders inside of the store.
"""

import errno
import os
import stat
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from ..record.lines import LeadsOut, NothingOfItsOwn, StoreReadOnly

try:  # importing hashlib costs more time than a search
    from _blake2 import blake2b
except ImportError:
    from hashlib import blake2b

if TYPE_CHECKING:
    from tempfile import TemporaryDirectory

DENIED = (errno.EROFS, errno.EACCES, errno.EPERM)
NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
"""Error numbers for a file that cannot be created or extended."""
MACHINE = ".memkit"
"""The folder of a store for this machine's files."""
_OPEN_TO_OTHERS = 0o077
_IGNORES_ITSELF = b"*\n"
"""Whatever the ``.gitignore`` above says: sessions, audit log and index are clear text, and history never forgets."""


def make_private(folder: Path) -> None:
    """Create ``folder`` and its missing parents; from ``.memkit`` on, private to this user and ignored by git.

    ``mkdir`` applies its mode only to the last folder, so ``.memkit`` would be accessible to others if created with it.
    """
    for place in reversed((folder, *folder.parents)):
        if not place.is_dir():
            place.mkdir(mode=0o700 if MACHINE in place.parts else 0o777, exist_ok=True)
            if place.name == MACHINE:
                _ignore(place)


def require_private(root: Path) -> None:
    """Ensure that the machine's folder of a store, if there is one, is private to this user and ignored by git.

    Raises:
        StoreReadOnly: It contains a pipe or a device.
        LeadsOut: It is, or contains, a link out of the store: memkit's files would end up somewhere else.
    """
    place = root / MACHINE
    require_inside(root, place)
    if not place.is_dir():
        return
    for folder in (place, place / "state", place / "cache"):
        for entry in _entries(folder):
            if entry.is_symlink():
                require_inside(root, Path(entry.path))
            elif not entry.is_file() and not entry.is_dir():
                raise StoreReadOnly(
                    f"{entry.path} is neither a file nor a folder, and opening it could block. Delete it."
                )
    with suppress(OSError):  # an unwritable store can still be read
        found = place.stat()
        if found.st_uid == os.geteuid() and found.st_mode & _OPEN_TO_OTHERS:
            place.chmod(stat.S_IMODE(found.st_mode) & ~_OPEN_TO_OTHERS)
        _ignore(place)


def _ignore(place: Path) -> None:
    """Make git ignore a folder and everything in it, including this file."""
    path = place / ".gitignore"
    with suppress(OSError):
        if whole_file(path) == _IGNORES_ITSELF:
            return
    beside = path.with_name(f".gitignore.{os.getpid()}.new")
    descriptor = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    try:
        os.write(descriptor, _IGNORES_ITSELF)
    finally:
        os.close(descriptor)
    beside.replace(path)


def _entries(folder: Path) -> list["os.DirEntry[str]"]:
    try:
        with os.scandir(folder) as entries:
            return list(entries)
    except OSError:
        return []


def open_regular(path: Path, flags: int, mode: int = 0o600, *, folder: int | None = None) -> int:
    """Return a descriptor of a regular file; raise ``OSError`` for anything else, including a link to one.

    A relative ``path`` starts at the folder with descriptor ``folder``, if given.
    """
    descriptor = os.open(path, flags | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOFOLLOW, mode, dir_fd=folder)
    if stat.S_ISREG(os.fstat(descriptor).st_mode):
        return descriptor
    os.close(descriptor)
    raise OSError(errno.EINVAL, "It is not a regular file", str(path))


def whole_file(path: Path) -> bytes:
    """Return the content of a regular file; raise ``OSError`` for anything else."""
    with os.fdopen(open_regular(path, os.O_RDONLY), "rb") as file:
        return file.read()


_FOLDER_FLAGS = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


def require_inside(root: Path, path: Path) -> None:
    """Raise ``LeadsOut`` if a link on the way to ``path`` leads out of ``root``; the path need not exist yet."""
    _below(root, path)


def open_inside(root: Path, path: Path, flags: int, mode: int = 0o600) -> int:
    """Return a descriptor of the regular file at ``path``, not itself a link, in the store at ``root``.

    Each folder is opened relative to its parent, so a link placed on the way meanwhile is not followed.

    Raises:
        LeadsOut: A link on the way leads out of ``root``.
        OSError: It cannot be opened, or is not a regular file.
    """
    with ExitStack() as opened:
        here = os.open(os.path.realpath(root), _FOLDER_FLAGS)
        opened.callback(os.close, here)
        for folder in _below(root, path.parent).parts:
            here = os.open(folder, _FOLDER_FLAGS, dir_fd=here)
            opened.callback(os.close, here)
        return open_regular(Path(path.name), flags, mode, folder=here)


def _below(root: Path, path: Path) -> Path:
    """Return the path from ``root`` to the resolved location of ``path``."""
    home, target = os.path.realpath(root), os.path.realpath(path)
    if target != home and not target.startswith(home.rstrip(os.sep) + os.sep):
        raise LeadsOut(
            f"{path} leads out of the store through a link, to {target}. It is not used; replace the link with a "
            "folder or a file."
        )
    return Path(os.path.relpath(target, home))


# A clone's own files.

STATE, CACHE = "state", "cache"
AUDIT = "audit"
"""What people and scripts read of the state: a link next to the clones' folders points to it; no program follows it."""
IGNORE, IGNORED = ".gitignore", "*\n"
KEY_FILE, KEY_BYTES = "machine.key", 32
LETTERS = 32
"""The length of a clone's name."""
MOST = 10
"""The most foreign folders kept; later ones stay in place, unread, until a person looks at them."""
_PASSING: "dict[Path, TemporaryDirectory[str]]" = {}
"""By store: a temporary folder of this process, if the clone can keep nothing of its own."""


class Names(NamedTuple):
    """The names of a clone's folders; neither can be derived without the key."""

    by_inode: str
    by_path: str


def own_state(store: Path) -> Path:
    """Return the location of this clone's state; raise ``NothingOfItsOwn`` if it could not be recognised."""
    return _own_state(store, machine_key(store))


def state_folder(store: Path) -> Path:
    """Return the folder of this clone's work in progress, or one that ends with the process."""
    try:
        return own_state(store)
    except NothingOfItsOwn:
        return _passing(store) / STATE


def cache_folder(store: Path) -> Path:
    """Return the folder for disposable files, or one that ends with the process."""
    state = state_folder(store)
    return store / MACHINE / CACHE / state.name if state.is_relative_to(store) else state.with_name(CACHE)


def lock_file(store: Path) -> Path:
    """Return the lock of all writers to this work tree, whichever clone they take it for."""
    machine = store / MACHINE
    return _passing(store) / "lock" if machine.is_symlink() else machine / "lock"


def claim(store: Path) -> list[str]:
    """Create this clone's folders if they are missing, and return messages for a person.

    Foreign content of ``.memkit/state`` is set aside and never read. An unwritable store is left unchanged: its clone
    has no folder, and so nothing to be read.
    """
    try:
        key = machine_key(store)
        own, names = _own_state(store, key), _names(store, key)
        if _is_settled(own, names):
            return []
        return list(_settled(store, key, names))
    except NothingOfItsOwn as error:
        if store in _PASSING:  # already reported
            return []
        _passing(store)
        return [f"This machine's state, such as sessions, is neither read nor saved: {error}."]
    except OSError:  # it is unwritable, or another process is moving it right now
        return []


def foreign_states(store: Path) -> list[Path]:
    """Return the state folders in a store that are not this clone's; their content is not trusted."""
    own = state_folder(store)
    with suppress(OSError):
        found = sorted(path for path in own.parent.iterdir() if path != own and len(path.name) == LETTERS)
        return [path for path in found if _is_folder(path)] if own.is_relative_to(store) else []
    return []


def _passing(store: Path) -> Path:
    if store not in _PASSING:
        from tempfile import TemporaryDirectory

        _PASSING[store] = TemporaryDirectory(prefix="memkit-", ignore_cleanup_errors=True)
    return Path(_PASSING[store].name)


def _names(store: Path, key: bytes) -> Names:
    status = store.stat()
    places = (f"{status.st_dev}:{status.st_ino}", os.path.realpath(store))
    return Names(*(blake2b(os.fsencode(place), digest_size=LETTERS // 2, key=key).hexdigest() for place in places))


def _own_state(store: Path, key: bytes) -> Path:
    """Return the actual or future place of the clone's state; raise ``NothingOfItsOwn`` if it would not be its own."""
    for folder in (store / MACHINE, store / MACHINE / STATE, store / MACHINE / CACHE):
        if os.path.lexists(folder) and not _is_folder(folder):
            raise NothingOfItsOwn(f"{folder} is not a folder; delete it")
    try:
        names = _names(store, key)
    except OSError as error:
        raise NothingOfItsOwn(f"{store} cannot be read: {error.strerror or error}") from None
    own = store / MACHINE / STATE / names.by_inode
    if not own.is_dir():
        with suppress(OSError, UnicodeDecodeError):  # a remount or a restored backup gave the folder other numbers
            known = own.with_name(
                own.with_name(names.by_path).read_text(encoding="ascii").strip()[:LETTERS] or own.name
            )
            own = known if known.is_dir() else own
    if own.is_dir() and os.geteuid() not in (0, own.lstat().st_uid):
        raise NothingOfItsOwn(f"{own} belongs to another user")
    return own


def _is_settled(own: Path, names: Names) -> bool:
    try:
        known = own.name == names.by_inode and (own.parent / names.by_path).is_file()
        return known and own.is_dir() and _has_audit_link(own) and _ignores_itself(own) and not _loose(own)
    except OSError:
        return False


def _settled(store: Path, key: bytes, names: Names) -> Iterator[str]:
    """Move everything to its place, and yield messages; another process may be doing the same."""
    before = _own_state(store, key)
    own = before.with_name(names.by_inode)
    is_new = not (before / AUDIT).is_dir()
    if before != own and before.is_dir():
        before.rename(own)
    make_private(own / AUDIT)
    _put(own.with_name(names.by_path), f"{own.name}\n")
    (store / MACHINE).chmod(0o700)  # git creates what it checks out readable for everyone
    if not _ignores_itself(own):
        _put(own.parent.with_name(IGNORE), IGNORED)
    others = foreign_states(store)
    if is_new:
        _drop_caches(store, own.name)
    if is_new and others:
        yield (
            "The sessions and journals here belong to another clone, such as the one this was copied from, and are "
            f"not used. If they are yours: memkit sessions adopt {others[0].name}"
        )
    yield from _set_aside(own, _loose(own), room=len(others) < MOST)
    if not _has_audit_link(own) and (own.with_name(AUDIT).is_symlink() or not own.with_name(AUDIT).exists()):
        _link(own.with_name(AUDIT), f"{own.name}/{AUDIT}")


def _set_aside(own: Path, loose: list[Path], *, room: bool) -> Iterator[str]:
    """Move files not written by this clone into a folder like those of other clones."""
    if not loose:
        return
    told = f"The content of {own.parent} was not written by this clone, so it is not used."
    if not room:
        yield f"{told} There are too many such folders to add another: delete those not needed."
        return
    kept = own.with_name(os.urandom(LETTERS // 2).hex())
    kept.mkdir(mode=0o700)
    for path in loose:
        with suppress(FileNotFoundError):  # another process was faster
            path.rename(kept / path.name)
    with suppress(OSError):
        kept.rmdir()
        return
    yield f"{told} It is kept in {kept}; if it is yours: memkit sessions adopt {kept.name}"


def _loose(own: Path) -> list[Path]:
    """Return entries next to the clones' folders that are none, such as a planted journal."""
    others = (path for path in own.parent.iterdir() if len(path.name) != LETTERS)
    return sorted(path for path in others if not (path.name == AUDIT and path.is_symlink()))


def _drop_caches(store: Path, name: str) -> None:
    """Remove foreign indexes; they are rebuilt where they belong."""
    with suppress(FileNotFoundError):
        for path in (store / MACHINE / CACHE).iterdir():
            if _is_folder(path) and path.name != name:
                import shutil

                shutil.rmtree(path, ignore_errors=True)
            elif path.name != name:
                path.unlink()


def _put(place: Path, content: str) -> None:
    """Make ``place`` a file with this content, replacing any file or link."""
    _replace(place, lambda beside: beside.write_text(content, encoding="ascii"))


def _link(place: Path, target: str) -> None:
    """Make ``place`` a link to ``target``, replacing any file or link."""
    _replace(place, lambda beside: beside.symlink_to(target))


def _replace(place: Path, make: Callable[[Path], object]) -> None:
    beside = place.with_name(os.urandom(LETTERS // 2).hex())
    make(beside)
    try:
        beside.replace(place)
    except OSError:
        beside.unlink()
        raise


def _ignores_itself(own: Path) -> bool:
    """Return whether git ignores the whole folder even if no other ``.gitignore`` names it."""
    ignore = own.parent.with_name(IGNORE)
    return not ignore.is_symlink() and ignore.is_file() and ignore.read_bytes() == IGNORED.encode()


def _has_audit_link(own: Path) -> bool:
    try:
        return own.with_name(AUDIT).readlink() == Path(own.name, AUDIT)
    except OSError:
        return False


def _is_folder(path: Path) -> bool:
    return stat.S_ISDIR(path.lstat().st_mode)


def keys_home() -> Path:
    """Return the folder of this user's keys.

    Raises:
        ValueError: ``MEMKIT_KEYS`` is a relative path.
        RuntimeError: This user's home directory is unknown.
    """
    named = os.environ.get("MEMKIT_KEYS")
    if named:
        if not Path(named).is_absolute():
            raise ValueError(f"MEMKIT_KEYS={named!r} must be an absolute path: commands run in any folder.")
        return Path(named)
    config = Path(os.environ.get("XDG_CONFIG_HOME", ""))
    # A relative XDG_CONFIG_HOME is invalid and must be ignored (XDG Base Directory Specification).
    base = config if config.is_absolute() else Path("~/.config").expanduser()
    if not base.is_absolute():
        raise RuntimeError(f"HOME={os.environ['HOME']!r} is not an absolute path, so the home directory is unknown.")
    return base / "memkit" / "keys"


def machine_key(store: Path) -> bytes:
    """Return the key, created on first use; raise ``NothingOfItsOwn`` if there can be none outside of ``store``."""
    try:
        home = keys_home()
    except (ValueError, RuntimeError) as error:
        raise NothingOfItsOwn(str(error).rstrip(".")) from None
    try:
        if Path(os.path.realpath(home)).is_relative_to(os.path.realpath(store)):
            raise NothingOfItsOwn(f"the keys of this user would be inside the store ({home})")
        with suppress(FileNotFoundError):
            return _read_key(home / KEY_FILE)
        _make_key(home)
        return _read_key(home / KEY_FILE)
    except OSError as error:
        raise NothingOfItsOwn(
            f"{error.filename or home} cannot be read or created: {error.strerror or error}"
        ) from None


def _read_key(path: Path) -> bytes:
    with os.fdopen(os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK), "rb") as file:
        key = file.read(KEY_BYTES + 1) if stat.S_ISREG(os.fstat(file.fileno()).st_mode) else b""
    if len(key) != KEY_BYTES:
        raise NothingOfItsOwn(f"{path} is damaged: a key has {KEY_BYTES} bytes; delete it for a new one")
    return key


def _make_key(home: Path) -> None:
    """Create the key; of two processes starting at the same time, the first one's key stays."""
    for folder in reversed((home, *home.parents)):
        if not folder.is_dir():
            folder.mkdir(mode=0o700, exist_ok=True)
    scratch = home / f".{KEY_FILE}.{os.getpid()}.{os.urandom(4).hex()}"
    with os.fdopen(os.open(scratch, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600), "wb") as file:
        file.write(os.urandom(KEY_BYTES))
        file.flush()
        os.fsync(file.fileno())
    try:
        with suppress(FileExistsError):
            os.link(scratch, home / KEY_FILE)
    finally:
        scratch.unlink()
