"""What a back end is named by, what can go wrong with one, and how it is opened."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import parse_qsl, quote, unquote, urlencode, urlsplit, urlunsplit

from ..memory.record.lines import ArchiveError

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..memory.log.log import Observe

FILES = "files"
SHARING = "-shared"
"""Ends the name by which what is shared is written: a chain that not everybody may read whole tells nobody much."""
ARCHIVES = {"postgresql": "postgres:PostgresLog", "postgres": "postgres:PostgresLog"}
"""Schemes of an archive, and what keeps it; imported where it is used."""
WORKING = {"redis": "redis_state:RedisState", "rediss": "redis_state:RedisState"}
"""The same of the tiers that live for a while."""
LIBRARIES = {"postgres": ("'psycopg[binary,pool]'", "postgres"), "redis_state": ("redis", "redis")}
"""What a module needs, as pip takes it, and the extra of memkit's that installs it."""
_VARIABLE = re.compile(r"\$([A-Za-z_][A-Za-z0-9_]*)")
_SECRET = re.compile(r"(?i)(password|passwd|token|secret|sslkey|sslpassword)")


class BackendAway(ArchiveError):
    """Say that a server cannot be reached, or will not serve us."""

    code = "backend_away"


class BackendUnfit(ArchiveError):
    """Say that what lies on a server is not what this version reads and writes."""

    code = "backend_unfit"


class WrongAddress(ArchiveError):
    """Say that something is no address of a back end."""

    exit_code = 2
    code = "invalid"


class BackendAddress(NamedTuple):
    """A back end by its address."""

    kind: str
    """``files``, or the scheme of its URL as ``postgresql`` and ``redis``."""
    url: str = ""

    @property
    def shown(self) -> str:
        """Return the address as anybody may see it.

        >>> address("postgresql://ann:secret@db/memory?sslpassword=x&sslmode=require", ARCHIVES).shown
        'postgresql://ann@db/memory?sslmode=require'
        """
        return without_secrets(self.url) if self.url else self.kind


def address(given: str, schemes: Mapping[str, str], environment: Mapping[str, str] | None = None) -> BackendAddress:
    """Return the back end that a setting names: ``files``, a URL, or ``$NAME`` for a variable that holds either.

    Raises:
        WrongAddress: It is none of those; what is said never repeats what may hold a password.
        BackendAway: The variable is not set.
    """
    known = f"Write {FILES}, a URL that begins with {next(iter(schemes))}://, or $NAME."
    text = given.strip()
    if text.startswith("$"):
        if not (match := _VARIABLE.fullmatch(text)):
            raise WrongAddress("Exactly $NAME reads an address from the environment, without anything around it.")
        text = (os.environ if environment is None else environment).get(match[1], "").strip()
        if not text:
            raise BackendAway(f"The variable {match[1]} is not set, and it holds the address of a back end.")
    if text == FILES:
        return BackendAddress(FILES)
    scheme, found, _ = text.partition("://")
    if not found or scheme.lower() not in schemes:
        what = f"{scheme.lower()}://…" if found and scheme.isalnum() and len(scheme) < 20 else "That"
        raise WrongAddress(f"{what} is no back end for this. {known}")
    try:
        parts = urlsplit(text)
        _ = parts.port
        if parts.netloc.count("@") > 1 or "@" in parts.path + parts.query.partition("=")[0] + parts.fragment:
            raise WrongAddress("In a password write %40 for @, %2F for /, %3F for ? and %23 for #.")
    except ValueError:
        raise WrongAddress(f"The address has a port or a host that cannot be. {known}") from None
    if "\0" in text or any(letter.isspace() for letter in text):
        raise WrongAddress(f"An address holds no blanks. {known}")
    return BackendAddress({"postgres": "postgresql", "rediss": "redis"}.get(scheme.lower(), scheme.lower()), text)


def without_secrets(url: str) -> str:
    """Return a URL without its password, wherever it stands."""
    parts = urlsplit(url)
    account, at, host = parts.netloc.rpartition("@")
    told = [pair for pair in parse_qsl(parts.query) if not _SECRET.search(pair[0])]
    query = urlencode(told, quote_via=quote, safe="/")
    return urlunsplit((parts.scheme, account.partition(":")[0] + at + host, parts.path, query, ""))


def masked(text: str, url: str) -> str:
    """Return what a driver said about ``url`` in one line that repeats none of its secrets."""
    parts = urlsplit(url)
    held = [parts.netloc.rpartition("@")[0].partition(":")[2]]
    held += [value for key, value in parse_qsl(parts.query) if _SECRET.search(key)]
    for secret in sorted({form for one in held for form in (one, unquote(one))} - {""}, key=len, reverse=True):
        text = text.replace(secret, "***")
    return " ".join(text.split())


class Instance(NamedTuple):
    """The store that a back end serves, on this machine."""

    root: Path
    clock: Callable[[], datetime]
    observe: Observe
    name: str = ""
    """What the store is called; a server that holds another store's memory refuses."""
