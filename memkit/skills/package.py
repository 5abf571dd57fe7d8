"""A skill as it is distributed: a folder, a checkout or an archive, read completely and never unpacked or run.

Nothing in it is trusted. Paths that leave the package, links out of it, nested archives, deceptive sizes:
each is reported as a fault of the package, and unreadable files are listed.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import stat
import tarfile
import zipfile
import zlib
from base64 import b64decode
from binascii import Error as Base64Error
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from lzma import LZMAError
from pathlib import Path, PurePosixPath
from typing import Any

from memkit.errors import EnvironmentFault, UsageError
from memkit.runtime.host.terminal import is_unsafe
from memkit.store.layout import require_inside

MOST_FILES = 20_000
MOST_BYTES = 6_000_000
"""The most bytes of one file that are read."""
MOST_IN_ALL = 200_000_000
_DEEPEST = 2
"""How deep nested archives are opened."""
_SKIPPED = frozenset({".git", ".hg", ".svn"})
ARCHIVES = (".zip", ".skill", ".tar", ".tgz", ".tar.gz", ".tar.bz2", ".tar.xz", ".whl", ".jar", ".mcpb", ".dxt")
_OTHER_ARCHIVES = (".7z", ".rar", ".gz", ".bz2", ".xz", ".zst", ".dmg", ".iso", ".msi", ".pkg", ".cab")


@dataclass(frozen=True)
class PackageFault:
    """A fault of the package itself, not of a file's content."""

    path: str
    message: str
    hostile: bool
    """Whether it is a trick; otherwise it only prevents something from being read."""


@dataclass(frozen=True)
class PackageFile:
    """One file of a package."""

    path: str
    content: bytes
    executable: bool = False
    inner: bool = False
    """Whether it is inside an archive that is a file of the package."""

    @property
    def text(self) -> str | None:
        """Return its text, or ``None`` for a binary file."""
        if b"\0" in self.content[:8192] and not self.content.startswith((b"\xff\xfe", b"\xfe\xff")):
            return None
        try:
            marked = self.content.startswith((b"\xff\xfe", b"\xfe\xff"))
            return self.content.decode("utf-16" if marked else "utf-8-sig")
        except UnicodeDecodeError:
            text = self.content.decode("utf-8", "replace")
            return text if text.count("\ufffd") <= len(text) // 20 else None


@dataclass
class Package:
    """The form in which a skill came."""

    name: str
    files: list[PackageFile] = field(default_factory=list)
    faults: list[PackageFault] = field(default_factory=list)
    left: int = MOST_IN_ALL
    is_archive: bool = False

    @property
    def own(self) -> dict[str, PackageFile]:
        """Return its own files by path, without the single folder that an archive may put around all."""
        files = {file.path: file for file in self.files if not file.inner}
        tops = {path.partition("/")[0] for path in files}
        if len(tops) == 1 and all("/" in path for path in files) and self.is_archive:
            return {path.partition("/")[2]: file for path, file in files.items()}
        return files

    @property
    def shows_itself(self) -> bool:
        """Return whether it has a skill's sheet, or a trick that must be reported anyway."""
        sheet = any(PurePosixPath(file.path).name.lower() == "skill.md" for file in self.files)
        return sheet or any(fault.hostile for fault in self.faults)

    def fault(self, path: str, message: str, *, hostile: bool = False) -> None:
        """Record a fault."""
        shown = "".join("?" if is_unsafe(char) else char for char in path)
        self.faults.append(PackageFault(shown[:300], message, hostile))


def open_package(place: Path) -> Package:
    """Return the package at ``place``: a folder, an archive, or a ``SKILL.md`` alone.

    Raises:
        UsageError: There is nothing, it cannot be read, or it is an archive that holds no skill: a scan must not seem
            to clear what it did not read.
    """
    package = Package(place.name or place.resolve().name)
    try:
        if place.is_dir():
            _read_folder(package, place)
        elif place.is_symlink() or not place.exists():
            what = "is a link, and links are not followed" if place.is_symlink() else "does not exist"
            raise UsageError(f"{place} {what}. Give a folder, an archive or a SKILL.md.")
        elif place.name.lower().endswith(ARCHIVES):
            if place.stat().st_size > MOST_IN_ALL:
                raise UsageError(f"{place} is larger than {MOST_IN_ALL:,} bytes.")
            package.is_archive = True
            _read_archive(package, place.name, place.read_bytes(), "", 0)
        else:
            with place.open("rb") as file:
                _add(package, place.name, file.read(MOST_BYTES + 1), executable=False, depth=0)
    except OSError as error:
        raise UsageError(f"{place} cannot be read: {error.strerror or error}.") from error
    if not package.files and not package.faults:
        raise UsageError(f"{place} contains no file. Give a folder, an archive or a SKILL.md.")
    if package.is_archive and not package.shows_itself:
        raise UsageError(f"{place} contains no readable SKILL.md. Give the package of a skill.")
    return package


def _read_folder(package: Package, root: Path) -> None:
    top = root.resolve()
    for place, folders, names in os.walk(root):
        if ".git" in folders:
            _read_hooks(package, root, Path(place) / ".git" / "hooks")
        links = [name for name in folders if (Path(place) / name).is_symlink()]
        folders[:] = sorted(name for name in folders if name not in _SKIPPED and name not in links)
        for name in sorted([*names, *links]):
            path = Path(place) / name
            shown = path.relative_to(root).as_posix()
            if len(package.files) >= MOST_FILES:
                package.fault(shown, f"More than {MOST_FILES:,} files; the rest was not read.")
                return
            if path.is_symlink():
                leads = path.resolve()
                if not leads.is_relative_to(top):
                    package.fault(
                        shown, f"This link leaves the skill: it leads to {str(path.readlink())!r}.", hostile=True
                    )
                continue
            mode = path.stat().st_mode
            if not stat.S_ISREG(mode):
                package.fault(shown, "This is not a file but a device, pipe or socket.", hostile=True)
                continue
            with path.open("rb") as file:
                content = file.read(MOST_BYTES + 1)
            _add(package, shown, content, executable=bool(mode & 0o111), depth=0)


def _read_hooks(package: Package, root: Path, hooks: Path) -> None:
    """Record what git would run by itself in a checkout from elsewhere; samples do not count."""
    for path in sorted(hooks.glob("*")):
        if path.suffix != ".sample" and path.is_file():
            package.fault(path.relative_to(root).as_posix(), "Git runs this hook.", hostile=True)


def _add(package: Package, path: str, content: bytes, *, executable: bool, depth: int) -> None:
    package.left -= len(content)
    if package.left < 0:
        package.fault(path, "The package is too large; this and what follows was not read.")
        return
    if len(content) > MOST_BYTES:
        package.fault(path, f"Only the first {MOST_BYTES:,} bytes were read.")
        content = content[:MOST_BYTES]
    lowered = path.lower()
    if depth and any(is_unsafe(char) for char in path):
        package.fault(path, "The file name has invisible characters.", hostile=True)
    package.files.append(PackageFile(path, content, executable, depth > 0))
    named = lowered.endswith(ARCHIVES) and content[:2] in (b"PK", b"\x1f\x8b", b"BZ", b"\xfd7")
    if named or content.startswith(b"PK\x03\x04"):  # office documents are archives, too
        if depth >= _DEEPEST:
            package.fault(path, "Archives nested three deep are not opened.", hostile=True)
        else:
            _read_archive(package, path, content, f"{path}!", depth + 1)
    elif lowered.endswith(_OTHER_ARCHIVES):
        package.fault(path, "This archive cannot be opened here, and was not read.")


_DAMAGE = (
    zipfile.BadZipFile, tarfile.TarError, zlib.error, LZMAError, EOFError, ValueError, OSError, RuntimeError,
)  # fmt: skip
"""What reading a damaged archive raises."""


def _read_archive(package: Package, name: str, content: bytes, above: str, depth: int) -> None:
    files, folders = set[PurePosixPath](), set[PurePosixPath]()
    try:
        members = _zipped if zipfile.is_zipfile(io.BytesIO(content)) else _tarred
        for member, body, mode in members(package, content, above):
            place = PurePosixPath(member)  # without "./" and "//"
            path = place.as_posix()
            if place in folders or not files.isdisjoint((place, *place.parents)):
                why = "Another file of the archive is in this place: which of them counts depends on who unpacks it."
                package.fault(above + path, why, hostile=True)
            files.add(place)
            folders.update(place.parents)
            if len(package.files) >= MOST_FILES:
                package.fault(above + path, f"More than {MOST_FILES:,} files; the rest was not read.")
                return
            _add(package, above + path, body, executable=bool(mode & 0o111), depth=depth)
    except _DAMAGE as error:
        why = str(error).partition("\n")[0].rstrip(".: ") or type(error).__name__
        if not depth:
            told = f"{name} is damaged or not an archive, and cannot be read: {why}."
            raise UsageError(f"{told} Give a folder, an archive or a SKILL.md.") from error
        package.fault(name, f"The archive is damaged or of an unknown kind, and was not read: {why}.")


def _leaves(path: str) -> bool:
    """Return whether a path in an archive would be unpacked outside the destination folder."""
    plain = path.replace("\\", "/")
    return plain.startswith("/") or plain[1:2] == ":" or ".." in PurePosixPath(plain).parts


def _zipped(package: Package, content: bytes, above: str) -> Iterator[tuple[str, bytes, int]]:
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        for member in archive.infolist()[: MOST_FILES + 1]:
            mode, path = member.external_attr >> 16, member.filename
            if _leaves(member.orig_filename) or _leaves(path):
                package.fault(above + path, "This path leaves the archive when it is unpacked.", hostile=True)
            elif stat.S_ISLNK(mode):
                target = archive.read(member)[:1000].decode("utf-8", "replace")
                inside = (PurePosixPath(path).parent / target).as_posix()
                if _leaves(target) and (target.startswith("/") or os.path.normpath(inside).startswith("..")):
                    package.fault(above + path, f"This link leaves the archive: it leads to {target!r}.", hostile=True)
            elif member.flag_bits & 1:
                package.fault(above + path, "This file is encrypted, and was not read.")
            elif not member.is_dir():
                with archive.open(member) as file:
                    yield path, file.read(MOST_BYTES + 1), mode


def _tarred(package: Package, content: bytes, above: str) -> Iterator[tuple[str, bytes, int]]:
    with tarfile.open(fileobj=io.BytesIO(content), mode="r:*") as archive:
        for count, member in enumerate(archive):
            if count > MOST_FILES:
                break
            target = member.linkname if member.issym() or member.islnk() else ""
            if _leaves(member.name):
                package.fault(above + member.name, "This path leaves the archive when it is unpacked.", hostile=True)
            elif target and (
                target.startswith("/")
                or os.path.normpath(f"{PurePosixPath(member.name).parent}/{target}").startswith("..")
            ):
                package.fault(
                    above + member.name, f"This link leaves the archive: it leads to {target!r}.", hostile=True
                )
            elif member.isfile() and (file := archive.extractfile(member)) is not None:
                yield member.name, file.read(MOST_BYTES + 1), member.mode


MOST_KEPT, MOST_KEPT_BYTES = 1_000, 20_000_000
"""The most files, and the most bytes of them, that are kept beside a skill of a store."""
_NOT_KEPT = frozenset({"memkit.yaml", ".memkit", ".git", "git~1", ".gitattributes", ".gitmodules", ".gitignore"})
"""Names with a meaning to memkit or to git at that place, on any file system."""


def files_to_keep(package: Package) -> dict[str, PackageFile]:
    """Return the files that may be kept in a store beside the skill; none if they are too many or too large."""
    kept = {
        path: file
        for path, file in package.own.items()
        if not _NOT_KEPT.intersection(PurePosixPath(path.lower()).parts) and not any(map(is_unsafe, path))
    }
    whole = all(len(file.content) < MOST_BYTES for file in kept.values())
    size = sum(len(file.content) for file in kept.values())
    return kept if whole and len(kept) <= MOST_KEPT and size <= MOST_KEPT_BYTES else {}


def files_beside(root: Path, folder: str) -> dict[str, PackageFile]:
    """Return the files in a store's folder that belongs to a skill, by path in it; links are left out.

    Raises:
        UsageError: The folder is a link, or cannot be read.
    """
    place = root / folder
    if not os.path.lexists(place):
        return {}
    require_inside(root, place, folder)
    return open_package(place).own if any(place.iterdir()) else {}


# Vouching for it: an OpenSSF model signature (``skill.oms.sig``), verified offline by public keys.
#
# The signature is a Sigstore bundle with a DSSE envelope, whose payload names every file with its SHA-256. Files that
# are not named in it, or differ, are not vouched for; git's own files are not part of a skill.

SIGNATURE = "skill.oms.sig"
_END = b"-----END PUBLIC KEY-----"


def read_keys(path: Path) -> list[bytes]:
    """Return the public keys in a file, each as PEM; raise ``UsageError`` if there is none."""
    try:
        content = path.read_bytes()
    except OSError as error:
        raise UsageError(f"skills.keys: {path} cannot be read: {error.strerror or error}.") from error
    keys = [part + _END + b"\n" for part in content.split(_END)[:-1]]
    if not keys:
        raise UsageError(f"skills.keys: {path} has no public key. Put PEM blocks of 'PUBLIC KEY' there.")
    return keys


def why_not_signed(package: Package, keys: Sequence[bytes]) -> str:
    """Return why a package is not vouched for by one of the keys, as a sentence; empty if it is."""
    files = {path: file.content for path, file in package.own.items()}
    found = files.pop(SIGNATURE, None)
    if found is None:
        return f"It has no {SIGNATURE}."
    try:
        bundle = json.loads(found)
        envelope = bundle.get("dsseEnvelope") or bundle["dsse_envelope"]
        payload = b64decode(envelope["payload"], validate=True)
        kind = str(envelope.get("payloadType") or envelope["payload_type"])
        signatures = [b64decode(one["sig"], validate=True) for one in envelope["signatures"]]
        statement = json.loads(payload)
        named = _named(statement)
    except (ValueError, KeyError, TypeError, AttributeError, Base64Error, RecursionError):
        return f"{SIGNATURE} is not an OpenSSF model signature."
    if not any(_verifies(key, _encoded(kind, payload), one) for key in keys for one in signatures):
        return f"{SIGNATURE} was not made by any key in skills.keys."
    return _differs(named, {path: hashlib.sha256(content).hexdigest() for path, content in files.items()})


def _named(statement: dict[str, Any]) -> dict[str, str]:
    resources = statement["predicate"]["resources"]
    named = {str(one["name"]): str(one["digest"]) for one in resources}
    if any(one.get("algorithm", "sha256") != "sha256" for one in resources) or len(named) != len(resources):
        raise ValueError("an unknown digest, or a file named twice")
    together = hashlib.sha256(b"".join(bytes.fromhex(str(one["digest"])) for one in resources)).hexdigest()
    if statement["subject"][0]["digest"]["sha256"] != together:
        raise ValueError("the overall digest differs")
    return named


def _differs(named: dict[str, str], there: dict[str, str]) -> str:
    changed = sorted(path for path in named.keys() & there.keys() if named[path] != there[path])
    for paths, what in (
        (changed, "differs from"),
        (sorted(there.keys() - named.keys()), "is not in"),
        (sorted(named.keys() - there.keys()), "is missing, and in"),
    ):
        if paths:
            return f"{paths[0]} {what} what was signed" + (
                f", and so are {len(paths) - 1} others." if len(paths) > 1 else "."
            )
    return ""


def _encoded(kind: str, payload: bytes) -> bytes:
    """Return the bytes that a DSSE signature covers."""
    return b"DSSEv1 %d %s %d %s" % (len(kind.encode()), kind.encode(), len(payload), payload)


def _verifies(key: bytes, message: bytes, signature: bytes) -> bool:
    try:
        from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
        from cryptography.hazmat.primitives import hashes, serialization
        from cryptography.hazmat.primitives.asymmetric import ec, ed25519
    except ImportError as error:
        message_text = "Signatures need the extra 'sealing': pip install 'memkit-agent[sealing]'."
        raise EnvironmentFault(message_text) from error
    try:
        public = serialization.load_pem_public_key(key)
        if isinstance(public, ec.EllipticCurvePublicKey):
            bits = public.curve.key_size
            digest = hashes.SHA256() if bits <= 256 else hashes.SHA384() if bits <= 384 else hashes.SHA512()
            public.verify(signature, message, ec.ECDSA(digest))
        elif isinstance(public, ed25519.Ed25519PublicKey):
            public.verify(signature, message)
        else:
            return False
    except (InvalidSignature, UnsupportedAlgorithm, ValueError):
        return False
    return True
