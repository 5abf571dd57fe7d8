"""The key of this user on this machine, which no store holds: by it a clone knows what it wrote itself."""

import os
import stat
from contextlib import suppress
from pathlib import Path

from ..record.errors import NothingOfItsOwn

SIZE = 32
"""Bytes of a key."""
NAME = "machine.key"


def keys_home() -> Path:
    """Return the folder of this user's keys.

    Raises:
        ValueError: ``MEMKIT_KEYS`` is a relative path.
        RuntimeError: Nobody knows where this user is at home.
    """
    named = os.environ.get("MEMKIT_KEYS")
    if named:
        if not Path(named).is_absolute():
            raise ValueError(f"MEMKIT_KEYS={named!r} must be an absolute path: keys are looked for from any folder.")
        return Path(named)
    config = Path(os.environ.get("XDG_CONFIG_HOME", ""))
    # A relative XDG_CONFIG_HOME is invalid and has to be passed over (XDG Base Directory Specification).
    base = config if config.is_absolute() else Path("~/.config").expanduser()
    return base / "memkit" / "keys"


def machine_key(store: Path) -> bytes:
    """Return the key, made on first use; raises ``NothingOfItsOwn`` where there can be none outside of ``store``."""
    try:
        home = keys_home()
    except (ValueError, RuntimeError) as error:
        raise NothingOfItsOwn(str(error).rstrip(".")) from None
    try:
        if Path(os.path.realpath(home)).is_relative_to(os.path.realpath(store)):
            raise NothingOfItsOwn(f"the keys of this user would lie in the store itself ({home})")
        with suppress(FileNotFoundError):
            return _read(home / NAME)
        _make(home)
        return _read(home / NAME)
    except OSError as error:
        raise NothingOfItsOwn(f"{error.filename or home} cannot be read or made: {error.strerror or error}") from None


def _read(path: Path) -> bytes:
    with os.fdopen(os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK), "rb") as file:
        key = file.read(SIZE + 1) if stat.S_ISREG(os.fstat(file.fileno()).st_mode) else b""
    if len(key) != SIZE:
        raise NothingOfItsOwn(f"{path} is damaged: a key has {SIZE} bytes; delete it for a new one")
    return key


def _make(home: Path) -> None:
    """Make the key; of two processes that start together the first one's stands."""
    for folder in reversed((home, *home.parents)):
        if not folder.is_dir():
            folder.mkdir(mode=0o700, exist_ok=True)
    scratch = home / f".{NAME}.{os.getpid()}.{os.urandom(4).hex()}"
    with os.fdopen(os.open(scratch, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600), "wb") as file:
        file.write(os.urandom(SIZE))
        file.flush()
        os.fsync(file.fileno())
    try:
        with suppress(FileExistsError):
            os.link(scratch, home / NAME)
    finally:
        scratch.unlink()
