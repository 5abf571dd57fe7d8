"""What stays of a file, a message and a name when a person is taken out."""

from __future__ import annotations

from dataclasses import dataclass

from memkit.privacy.belonging import ARCHIVE, SUFFIX, Belonging
from memkit.privacy.needles import REDACTED, Needles


@dataclass(frozen=True)
class Remainder:
    """One rule for the history, the index and the work tree, so that git finds as much changed afterwards as before."""

    belonging: Belonging
    needles: Needles
    redact_files: bool = False
    """Whether files that people wrote lose what they quote as well."""

    def reads(self, path: str) -> bool:
        """Return whether the content of a file at ``path`` can change."""
        *folders, name = path.split("/")
        return self.redact_files or ARCHIVE in folders or name.endswith(SUFFIX)

    def content(self, data: bytes, path: str) -> bytes:
        """Return what stays of the file at ``path``; of a path only the archive above it and its ending matter."""
        *folders, name = path.split("/")
        in_archive, lines = ARCHIVE in folders, name.endswith(SUFFIX)
        if in_archive or lines:
            data = self.belonging.rest(data, torn=in_archive and lines)
        if not self.redact_files or (in_archive and lines):
            return data
        return self.message(data.decode("utf-8", "surrogateescape"), name=False).encode("utf-8", "surrogateescape")

    def message(self, text: str, *, name: bool = True) -> str:
        """Return a message without the person's texts and name."""
        return self.needles.redacted(text, name=name)

    def name(self, name: str) -> str:
        """Return the name of a branch, a tag or a file without the person in it."""
        return self.needles.redacted(name).replace(REDACTED, REDACTED.strip("[]"))

    def path(self, path: str) -> str:
        """Return a path without the person in it."""
        return "/".join(map(self.name, path.split("/")))
