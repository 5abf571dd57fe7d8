"""Back ends: their addresses, their errors, and how they are opened."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import parse_qsl, quote, unquote, urlencode, urlsplit

from ..memory.record.lines import ArchiveError

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..memory.log.log import Observe

FILES = "files"
ARCHIVES = {"postgresql": "postgres:PostgresLog", "postgres": "postgres:PostgresLog"}
"""Schemes of archives, and the classes that serve them; imported on use."""
WORKING = {"redis": "redis_state:RedisState", "rediss": "redis_state:RedisState"}
"""The same for the tiers with limited lifetime."""
LIBRARIES = {"postgres": ("'psycopg[binary,pool]'", "postgres"), "redis_state": ("redis", "redis")}
"""A module's requirement, in pip's form, and memkit's extra that installs it."""
_VARIABLE = re.compile(r"\$([A-Za-z_][A-Za-z0-9_]*)")
_SECRET = re.compile(r"(?i)(password|passwd|token|secret|sslkey|sslpassword)")


class BackendAway(ArchiveError):
    """Report that a server cannot be reached, or refuses to serve us."""

    code = "backend_away"


class BackendUnfit(ArchiveError):
    """Report that the content of a server is not in the format of this version."""

    code = "backend_unfit"


class WrongAddress(ArchiveError):
    """Report that something is not the address of a back end."""

    exit_code = 2
    code = "invalid"


class BackendAddress(NamedTuple):
    """A back end, identified by its address."""

    kind: str
    """``files``, or the scheme of its URL as ``postgresql`` and ``redis``."""
    url: str = ""

    @property
    def shown(self) -> str:
        """Return the address in publishable form.

        >>> address("postgresql://ann:secret@db/memory?sslpassword=x&sslmode=require", ARCHIVES).shown
        'postgresql://ann@db/memory?sslmode=require'
        """
        return without_secrets(self.url) if self.url else self.kind


def address(given: str, schemes: Mapping[str, str], environment: Mapping[str, str] | None = None) -> BackendAddress:
    """Return the back end named by a setting: ``files``, a URL, or ``$NAME`` for a variable with one of these.

    Raises:
        WrongAddress: It is none of those; the message never repeats what may contain a password.
        BackendAway: The variable is not set.
    """
    known = f"Give {FILES}, a URL that starts with {next(iter(schemes))}://, or $NAME."
    text = given.strip()
    if text.startswith("$"):
        if not (match := _VARIABLE.fullmatch(text)):
            raise WrongAddress("Exactly $NAME reads an address from the environment, without anything around it.")
        text = (os.environ if environment is None else environment).get(match[1], "").strip()
        if not text:
            raise BackendAway(f"The variable {match[1]}, which names the address of a back end, is not set.")
    if text == FILES:
        return BackendAddress(FILES)
    scheme, found, _ = text.partition("://")
    if not found or scheme.lower() not in schemes:
        what = f"{scheme.lower()}://…" if found and scheme.isalnum() and len(scheme) < 20 else "That"
        raise WrongAddress(f"{what} is not a valid back end here. {known}")
    try:
        parts = urlsplit(text)
        hosts = parts.netloc.rpartition("@")[2]
        for host in hosts.split(",") if scheme.lower().startswith("postgres") else [hosts]:
            _ = urlsplit(f"//{host}").port
        if parts.netloc.count("@") > 1 or "@" in parts.path + parts.query.partition("=")[0] + parts.fragment:
            raise WrongAddress("In a password write %40 for @, %2F for /, %3F for ? and %23 for #.")
    except ValueError:
        raise WrongAddress(f"The address has an invalid host or port. {known}") from None
    if "\0" in text or any(letter.isspace() for letter in text):
        raise WrongAddress(f"An address must not contain blanks. {known}")
    return BackendAddress({"postgres": "postgresql", "rediss": "redis"}.get(scheme.lower(), scheme.lower()), text)


def without_secrets(url: str) -> str:
    """Return a URL without any password in it.

    >>> without_secrets("postgresql:///memory?host=/run&user=ann&password=x")
    'postgresql:///memory?host=/run&user=ann'
    """
    parts = urlsplit(url)
    account, at, host = parts.netloc.rpartition("@")
    told = [pair for pair in parse_qsl(parts.query) if not _SECRET.search(pair[0])]
    query = urlencode(told, quote_via=quote, safe="/")
    host = account.partition(":")[0] + at + host
    return f"{parts.scheme}://{host}{parts.path}{'?' if query else ''}{query}"  # urlunsplit omits an empty host


def masked(text: str, url: str) -> str:
    """Return a driver's message about ``url`` as one line that repeats none of its secrets."""
    parts = urlsplit(url)
    held = [parts.netloc.rpartition("@")[0].partition(":")[2]]
    held += [value for key, value in parse_qsl(parts.query) if _SECRET.search(key)]
    for secret in sorted({form for one in held for form in (one, unquote(one))} - {""}, key=len, reverse=True):
        text = re.sub(rf"(?<!\w){re.escape(secret)}(?!\w)", "***", text)  # 'postgres' is no part of 'postgresql'
    return " ".join(text.split())


class Instance(NamedTuple):
    """The store that a back end serves, on this machine."""

    root: Path
    clock: Callable[[], datetime]
    observe: Observe
    name: str = ""
    """The store's name; a server that holds another store's memory refuses."""
