"""Released templates: every version that projects were rendered from, as plain files in ``templates/_releases/``.

A release is a folder named after the version of memkit that it came with, holds the templates as they were then, and is
never written again. It is known by the digest of its files, so there is no index that two changes could fight over.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from memkit.errors import UsageError
from memkit.generate.source import RELEASES, digest_of, files_of, installed_source

UNRELEASED = "+unreleased"
"""Ends the version of templates that no release holds."""


@dataclass(frozen=True)
class Release:
    """One released version of templates."""

    version: str
    folder: Path

    @property
    def digest(self) -> str:
        """Return what tells its files from any others."""
        return digest_of({path: place.read_bytes() for path, place in files_of(self.folder)})


@dataclass(frozen=True)
class Releases:
    """The releases in one folder."""

    folder: Path

    def all(self) -> Iterator[Release]:
        """Yield every release."""
        folders = sorted(self.folder.iterdir()) if self.folder.is_dir() else ()
        return (Release(folder.name, folder) for folder in folders if folder.is_dir())

    def find(self, digest: str) -> Release | None:
        """Return the release that consists of the files with this digest."""
        return next((release for release in self.all() if release.digest == digest), None)

    def version(self, digest: str, newest: str) -> str:
        """Return what to call files: the version of their release, or the one to come with ``+unreleased`` behind."""
        known = self.find(digest)
        return known.version if known else f"{newest}{UNRELEASED}"

    def add(self, version: str, files: Mapping[str, bytes]) -> Release:
        """Write a release; raises ``UsageError`` where that version was released with other files."""
        known = self.find(digest_of(files))
        if known is not None:
            return known
        release = Release(version, self.folder / version)
        if release.folder.exists():
            raise UsageError(f"{version} was released with other files: {release.folder}. Raise the version first.")
        for path, content in files.items():
            place = release.folder / path
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(content)
        return release


def installed_releases() -> Releases:
    """Return what was released of memkit's own templates."""
    return Releases(installed_source().templates / RELEASES)
