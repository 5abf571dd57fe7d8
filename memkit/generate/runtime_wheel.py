"""The runtime as a wheel: ``memkit/runtime/`` of the installed package, under the name that projects import.

It contains nothing about the machine. Members are sorted, stored uncompressed and dated 1980, so that the same sources
give the same bytes in every process, from a checkout as from an installed wheel. The version ends in a digest of the
content: a project's requirement can then be satisfied only by what memkit made.

An installer records beside a package where it came from (PEP 610). An index, a repository and a wheel at an address are
named as they are; a folder or a file of this machine is of no use to others, so the wheel itself is built from the
installed files, to accompany the requirements.
"""

from __future__ import annotations

import base64
import hashlib
import importlib.metadata
import io
import json
import zipfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit, urlunsplit

import memkit
import memkit.runtime
from memkit.errors import UsageError
from memkit.resources import travelling
from memkit.runtime.host.terminal import one_line

PACKAGE = "memkit_runtime"
DISTRIBUTION = "memkit-runtime"
_SOURCES = Path(memkit.runtime.__file__).resolve().parent
_BEGINNING = (1980, 1, 1, 0, 0, 0)
"""The oldest date that an archive can hold."""
_FILE = 0o100644 << 16
_UNIX = 3


@dataclass(frozen=True)
class RuntimeWheel:
    """One version of the runtime, ready for a project's ``vendor/``."""

    version: str
    content: bytes
    digest: str
    """The SHA-256 of the content, prefixed with the name of the algorithm."""

    @property
    def filename(self) -> str:
        """Return the file name that an installer requires."""
        return wheel_name(self.version)


def wheel_name(version: str) -> str:
    """Return the file name of the runtime's wheel of a version.

    >>> wheel_name("0.1.0+0a1b2c3d")
    'memkit_runtime-0.1.0+0a1b2c3d-py3-none-any.whl'
    """
    return f"{PACKAGE}-{version}-py3-none-any.whl"


@cache
def installed_runtime() -> RuntimeWheel:
    """Return the wheel of the runtime that this memkit uses."""
    return runtime_wheel(runtime_files())


def runtime_files() -> dict[str, bytes]:
    """Return the sources of the installed runtime by their path below ``memkit_runtime/``."""
    return dict(_sources(_SOURCES))


def runtime_wheel(files: Mapping[str, bytes]) -> RuntimeWheel:
    """Return the wheel that installs ``files`` as the package ``memkit_runtime``."""
    members = {f"{PACKAGE}/{path}": content for path, content in files.items()}
    version = f"{memkit.__version__}+{_content_digest(members)}"
    content = wheel_archive(members, f"{PACKAGE}-{version}.dist-info", {"METADATA": _metadata(version)})
    return RuntimeWheel(version, content, digest_of_wheel(content))


def wheel_archive(
    members: Mapping[str, bytes], folder: str, described: Mapping[str, str], *, packed: bool = False
) -> bytes:
    """Return a wheel of pure Python: its files, and in ``folder`` its metadata with their digests."""
    described = {**described, "WHEEL": _headers(_WHEEL)}
    whole = {**members, **{f"{folder}/{name}": text.encode() for name, text in described.items()}}
    record = f"{folder}/RECORD"
    lines = [f"{path},{_record_digest(content)},{len(content)}" for path, content in sorted(whole.items())]
    whole[record] = "".join(f"{line}\n" for line in [*lines, f"{record},,"]).encode()
    return _archive(whole, zipfile.ZIP_DEFLATED if packed else zipfile.ZIP_STORED)


def digest_of_wheel(content: bytes) -> str:
    """Return the digest that identifies the wheel in a project's manifest."""
    return "sha256:" + hashlib.sha256(content).hexdigest()


def _sources(folder: Path) -> Iterator[tuple[str, bytes]]:
    for path in folder.rglob("*"):
        if path.is_file() and (path.suffix == ".py" or path.name == "py.typed"):
            yield path.relative_to(folder).as_posix(), path.read_bytes()


def _content_digest(members: Mapping[str, bytes]) -> str:
    """Return eight hexadecimal digits that identify these files."""
    whole = hashlib.sha256()
    for path, content in sorted(members.items()):
        whole.update(f"{hashlib.sha256(content).hexdigest()}  {path}\n".encode())
    return whole.hexdigest()[:8]


_WHEEL = {"Wheel-Version": "1.0", "Generator": "memkit", "Root-Is-Purelib": "true", "Tag": "py3-none-any"}


def _metadata(version: str) -> str:
    described = {
        "Metadata-Version": "2.1",
        "Name": DISTRIBUTION,
        "Version": version,
        "Summary": "What runs an agent of memkit: memory, guard, planning, the loop, and what every project shares.",
        "License": "Apache-2.0",
        "Requires-Python": ">=3.11",
    }
    return _headers(described)


def _headers(fields: Mapping[str, str]) -> str:
    return "".join(f"{name}: {value}\n" for name, value in fields.items())


def _record_digest(content: bytes) -> str:
    digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
    return f"sha256={digest}"


def _archive(members: Mapping[str, bytes], compression: int) -> bytes:
    """Return the archive, of the same bytes wherever it is made."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", compression) as archive:
        for path in sorted(members):
            member = zipfile.ZipInfo(path, _BEGINNING)
            member.external_attr, member.create_system = _FILE, _UNIX
            archive.writestr(member, members[path], compression)
    return buffer.getvalue()


OWN_DISTRIBUTION = "memkit-agent"
_HERE = frozenset({"localhost", "127.0.0.1", "::1", ""})
_DESCRIBED = ("METADATA", "entry_points.txt")


@dataclass(frozen=True)
class Installation:
    """How to install memkit elsewhere."""

    requirement: str
    """A line of a requirements file; for an accompanying wheel, its name."""
    files: Mapping[str, bytes] = field(default_factory=dict)
    """Files that must be beside the requirements: the wheel, if only this machine has it."""
    note: str = ""
    """What a person has to know: why it may not work."""

    @property
    def is_named(self) -> bool:
        """Return whether the requirement alone suffices for an installer on another machine."""
        return not self.files and not self.note


def installation(named: str | None = None) -> Installation:
    """Return how to install this memkit on other machines; ``named`` is a requirement given by a person."""
    if named:
        if named != one_line(named):
            raise UsageError("The requirement must be one line, such as memkit-agent==1.2.3.")
        return Installation(named)
    try:
        distribution = importlib.metadata.distribution(OWN_DISTRIBUTION)
    except importlib.metadata.PackageNotFoundError:
        note = "memkit runs from its sources here, so this names a release that may not exist"
        return Installation(f"{OWN_DISTRIBUTION}=={memkit.__version__}", note=note)
    origin = json.loads(distribution.read_text("direct_url.json") or "null")
    requirement = requirement_of(origin, distribution.version)
    return Installation(requirement) if requirement else _carried(distribution.version)


def requirement_of(origin: Mapping[str, Any] | None, version: str) -> str | None:
    """Return the requirement for an installer's record, None for something that only this machine has.

    >>> requirement_of({"url": "https://git.example.org/memkit", "vcs_info": {"vcs": "git", "commit_id": "a1"}}, "1.0")
    'memkit-agent @ git+https://git.example.org/memkit@a1'
    >>> requirement_of({"url": "file:///home/ada/memkit", "dir_info": {}}, "1.0")
    """
    if origin is None:
        return f"{OWN_DISTRIBUTION}=={version}"
    parts = urlsplit(origin["url"])
    if parts.scheme == "file" or "dir_info" in origin or (parts.hostname or "") in _HERE:
        return None
    user = f"{parts.username}@" if parts.username and parts.password is None and parts.scheme == "ssh" else ""
    place = parts.hostname + (f":{parts.port}" if parts.port else "")
    url = urlunsplit(parts._replace(netloc=user + place))  # a password must not be passed on
    if "vcs_info" in origin:
        url = f"{origin['vcs_info']['vcs']}+{url}@{origin['vcs_info']['commit_id']}"
    folder = origin.get("subdirectory")
    return f"{OWN_DISTRIBUTION} @ {url}" + (f"#subdirectory={folder}" if folder else "")


@cache
def _carried(version: str) -> Installation:
    folder = f"{OWN_DISTRIBUTION.replace('-', '_')}-{version}"
    name = f"{folder}-py3-none-any.whl"
    members = {path: content for path, content in _members() if "__pycache__" not in path}
    distribution = importlib.metadata.distribution(OWN_DISTRIBUTION)
    described = {name: distribution.read_text(name) or "" for name in _DESCRIBED}
    return Installation(name, {name: wheel_archive(members, f"{folder}.dist-info", described, packed=True)})


def _members() -> Iterator[tuple[str, bytes]]:
    """Yield every file of the package by its path in a wheel; a checkout keeps some beside it."""
    package = Path(memkit.__file__).resolve().parent
    for path in package.rglob("*"):
        if path.is_file():
            yield f"memkit/{path.relative_to(package).as_posix()}", path.read_bytes()
    for name, path in travelling():
        yield f"memkit/data/{name}", path.read_bytes()
