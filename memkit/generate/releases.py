"""Released templates: every version that projects were rendered from, as git bundles that travel with the package.

A release is numbered 1, 2, 3 … and never written again. Its bundle holds what changed since the one before, so that
many of them stay small; the index beside them names the commit and a digest of the tree of each.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path

from memkit.errors import EnvironmentFault
from memkit.generate.quoting import as_json
from memkit.generate.source import RELEASES, digest_of, installed_source, is_inside
from memkit.store.files import write_whole
from memkit.store.git_process import require_git
from memkit.store.plumbing import Plumbing

INDEX = "index.json"
SPECIMEN = "specimen.json"
"""The file in the tree of a release that says what to render it with, to see that it still renders the same."""
UNRELEASED = "+unreleased"
"""Ends the version of templates that were changed since the release before it."""
_AUTHOR = "memkit <memkit@example.org>"
_DAY = 86_400


@dataclass(frozen=True)
class Release:
    """One released version of the templates."""

    number: int
    commit: str
    digest: str
    """Of its files."""
    renders: Mapping[str, str] = field(default_factory=dict)
    """Target → the digest of what it makes of the specimen, so that nobody changes how an old release renders."""


class Releases:
    """The releases in one folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def all(self) -> list[Release]:
        """Return every release, the oldest first; raises ``EnvironmentFault`` where the index is broken."""
        path = self.folder / INDEX
        if not path.is_file():
            return []
        try:
            found = [Release(**entry) for entry in json.loads(path.read_text("utf-8"))["releases"]]
        except (OSError, ValueError, TypeError, KeyError) as error:
            raise _incomplete(path, f"cannot be read ({error})") from error
        if [release.number for release in found] != list(range(1, len(found) + 1)):
            raise _incomplete(path, "does not count its releases from 1")
        return found

    def find(self, digest: str) -> Release | None:
        """Return the newest release that consists of the files with this digest."""
        return next((release for release in reversed(self.all()) if release.digest == digest), None)

    def version(self, digest: str) -> str:
        """Return what to call files: the number of their release, or of the last one with ``+unreleased`` behind."""
        known = self.find(digest)
        return str(known.number) if known else f"{len(self.all())}{UNRELEASED}"

    @contextmanager
    def unpacked(self, release: Release) -> Iterator[Path]:
        """Give a folder with the files of a release and its specimen, for the time of the block.

        Raises:
            EnvironmentFault: The bundle is missing or damaged, or is not the release that the index names.
            MissingExtra: There is no git.
        """
        with tempfile.TemporaryDirectory(prefix="memkit-release-") as scratch, self._repository() as git:
            self._read(git, release.number)
            files = _files_of(git, release.commit)
            if digest_of({path: content for path, content in files.items() if path != SPECIMEN}) != release.digest:
                raise _incomplete(self.folder, f"holds other files than release {release.number} had")
            if not all(map(is_inside, files)):  # git takes any name out of a bundle
                raise _incomplete(self.folder, f"holds a path that leads out of release {release.number}")
            for path, content in files.items():
                place = Path(scratch, path)
                place.parent.mkdir(parents=True, exist_ok=True)
                place.write_bytes(content)
            yield Path(scratch)

    def add(
        self, files: Mapping[str, bytes], *, specimen: bytes = b"", renders: Mapping[str, str] | None = None
    ) -> Release:
        """Write the next release; what was released before stays byte for byte.

        Args:
            files: What the release consists of, by path.
            specimen: A manifest to render by, kept with the files.
            renders: The digest of what each target makes of the specimen.
        """
        before = self.all()
        number = len(before) + 1
        last = before[-1].commit if before else None
        with self._repository() as git:
            if before:
                self._read(git, before[-1].number)
            commit = _commit(git, {**files, **({SPECIMEN: specimen} if specimen else {})}, number, last)
            bundle = git.folder / "release.bundle"
            known = [f"^{last}"] if last else []
            git.run("-c", "pack.threads=1", "bundle", "create", "--quiet", str(bundle), _ref(number), *known)
            write_whole(self._bundle(number), bundle.read_bytes())
        release = Release(number, commit, digest_of(files), dict(renders or {}))
        data = {"releases": [asdict(each) for each in (*before, release)]}
        write_whole(self.folder / INDEX, f"{as_json(data)}\n".encode())
        return release

    @contextmanager
    def _repository(self) -> Iterator[Plumbing]:
        """Give an empty repository that knows nothing of anybody's configuration."""
        with tempfile.TemporaryDirectory(prefix="memkit-templates-") as folder:
            yield new_repository(Path(folder))

    def _read(self, git: Plumbing, number: int) -> None:
        """Put every object of the releases up to ``number`` into a repository."""
        for each in range(1, number + 1):
            bundle = self._bundle(each)
            if not bundle.is_file():
                raise _incomplete(bundle, "is not there")
            git.run("bundle", "unbundle", str(bundle.absolute()))

    def _bundle(self, number: int) -> Path:
        return self.folder / f"{number}.bundle"


def installed_releases() -> Releases:
    """Return what was released of memkit's own templates."""
    return Releases(installed_source().templates / RELEASES)


def new_repository(folder: Path) -> Plumbing:
    """Make a bare repository in an empty folder; raises ``MissingExtra`` where there is no git."""
    require_git()
    git = Plumbing(folder)
    git.run("init", "--quiet", "--bare", "--template=", "--object-format=sha1")
    return git


def _commit(git: Plumbing, files: Mapping[str, bytes], number: int, last: str | None) -> str:
    """Put files into a commit whose id depends on them, the number and the release before, and on nothing else."""
    message = f"Templates {number}".encode()
    parts = [
        f"commit {_ref(number)}\ncommitter {_AUTHOR} {number * _DAY} +0000\ndata {len(message)}\n".encode() + message,
        b"\n" if last is None else f"\nfrom {last}\ndeleteall\n".encode(),
    ]
    for path, content in sorted(files.items()):
        parts.append(f"M 100644 inline {path}\ndata {len(content)}\n".encode() + content + b"\n")
    git.run("fast-import", "--quiet", given=b"".join(parts))
    return git.run("rev-parse", "--verify", _ref(number)).decode().strip()


def _files_of(git: Plumbing, commit: str) -> dict[str, bytes]:
    files = {}
    listed = git.run("ls-tree", "-r", "-z", commit).split(b"\0")
    with git.reader() as reader:
        for line in filter(None, listed):
            about, _, path = line.partition(b"\t")
            found = reader.read(about.split()[2].decode())
            files[path.decode()] = found.data if found else b""
    return files


def _ref(number: int) -> str:
    return f"refs/tags/{number}"


def _incomplete(path: Path, what: str) -> EnvironmentFault:
    return EnvironmentFault(f"{path} {what}. This installation is incomplete: install memkit-agent again.")
