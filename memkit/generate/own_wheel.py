"""Where this memkit was installed from, as a line of a requirements file that works on other machines.

An installer notes beside a package what it took it from (PEP 610). An index, a repository and a wheel at an address are
named as they are; a folder or a file of this machine can be named to nobody, so the wheel itself is made from what is
installed, to lie beside what installs it.
"""

from __future__ import annotations

import importlib.metadata
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit, urlunsplit

import memkit
from memkit.errors import UsageError
from memkit.generate.runtime_wheel import wheel_archive
from memkit.resources import TRAVELLING, resource
from memkit.terminal import one_line

DISTRIBUTION = "memkit-agent"
_HERE = frozenset({"localhost", "127.0.0.1", "::1", ""})
_DESCRIBED = ("METADATA", "entry_points.txt")


@dataclass(frozen=True)
class Installation:
    """What installs memkit elsewhere."""

    requirement: str
    """A line of a requirements file; of a wheel that travels along, its name."""
    files: Mapping[str, bytes] = field(default_factory=dict)
    """What has to lie beside the requirements: the wheel, where only this machine has it."""
    note: str = ""
    """What a person has to know: why it may not work."""

    @property
    def is_named(self) -> bool:
        """Return whether an installer on another machine finds it by the requirement alone."""
        return not self.files and not self.note


def installation(named: str | None = None) -> Installation:
    """Return what installs this memkit on other machines; ``named`` is a requirement that a person gave."""
    if named:
        if named != one_line(named):
            raise UsageError("What installs memkit is one line, such as memkit-agent==1.2.3.")
        return Installation(named)
    try:
        distribution = importlib.metadata.distribution(DISTRIBUTION)
    except importlib.metadata.PackageNotFoundError:
        note = "memkit was not installed here but started from its sources, so this names a release that may not exist"
        return Installation(f"{DISTRIBUTION}=={memkit.__version__}", note=note)
    origin = json.loads(distribution.read_text("direct_url.json") or "null")
    requirement = requirement_of(origin, distribution.version)
    return Installation(requirement) if requirement else _carried(distribution.version)


def requirement_of(origin: Mapping[str, Any] | None, version: str) -> str | None:
    """Return the requirement for what an installer noted, None for what only this machine has.

    >>> requirement_of({"url": "https://git.example.org/memkit", "vcs_info": {"vcs": "git", "commit_id": "a1"}}, "1.0")
    'memkit-agent @ git+https://git.example.org/memkit@a1'
    >>> requirement_of({"url": "file:///home/ada/memkit", "dir_info": {}}, "1.0")
    """
    if origin is None:
        return f"{DISTRIBUTION}=={version}"
    parts = urlsplit(origin["url"])
    if parts.scheme == "file" or "dir_info" in origin or (parts.hostname or "") in _HERE:
        return None
    user = f"{parts.username}@" if parts.username and parts.password is None and parts.scheme == "ssh" else ""
    place = parts.hostname + (f":{parts.port}" if parts.port else "")
    url = urlunsplit(parts._replace(netloc=user + place))  # a password is nobody else's
    if "vcs_info" in origin:
        url = f"{origin['vcs_info']['vcs']}+{url}@{origin['vcs_info']['commit_id']}"
    folder = origin.get("subdirectory")
    return f"{DISTRIBUTION} @ {url}" + (f"#subdirectory={folder}" if folder else "")


@cache
def _carried(version: str) -> Installation:
    folder = f"{DISTRIBUTION.replace('-', '_')}-{version}"
    name = f"{folder}-py3-none-any.whl"
    members = {path: content for path, content in _members() if "__pycache__" not in path}
    distribution = importlib.metadata.distribution(DISTRIBUTION)
    described = {name: distribution.read_text(name) or "" for name in _DESCRIBED}
    return Installation(name, {name: wheel_archive(members, f"{folder}.dist-info", described, packed=True)})


def _members() -> Iterator[tuple[str, bytes]]:
    """Yield every file of the package by its path in a wheel; a checkout keeps some beside it."""
    package = Path(memkit.__file__).resolve().parent
    for path in package.rglob("*"):
        if path.is_file():
            yield f"memkit/{path.relative_to(package).as_posix()}", path.read_bytes()
    for name in TRAVELLING:
        for path in resource(name).rglob("*"):
            if path.is_file():
                yield f"memkit/data/{name}/{path.relative_to(resource(name)).as_posix()}", path.read_bytes()
