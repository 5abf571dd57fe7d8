"""What stays of a file, a message and a name when a person is taken out."""

from __future__ import annotations

from dataclasses import dataclass

from memkit.privacy.belonging import ARCHIVE, SUFFIX, Belonging, objects_in
from memkit.privacy.needles import REDACTED, Needles
from memkit.privacy.views import readings


@dataclass(frozen=True)
class Remainder:
    """One rule for the history, the index and the work tree, so that git finds as much changed afterwards as before."""

    belonging: Belonging
    needles: Needles
    redact_files: bool = False
    """Whether files that people wrote lose what they quote as well."""
    of_tools: frozenset[str] = frozenset()
    """The files that tools write, whose lines name no user, by their paths from the top."""

    def reads(self, path: str) -> bool:
        """Return whether the content of a file at ``path`` can change."""
        *folders, name = path.split("/")
        return self.redact_files or ARCHIVE in folders or name.endswith(SUFFIX) or path in self.of_tools

    def kind(self, path: str) -> str:
        """Return a path that stands for all whose content is treated alike."""
        if path in self.of_tools:
            return path
        *folders, name = path.split("/")
        return f"{ARCHIVE if ARCHIVE in folders else '.'}/{SUFFIX if name.endswith(SUFFIX) else 'file'}"

    def content(self, data: bytes, path: str) -> bytes:
        """Return what stays of the file at ``path``, of which its ``kind`` tells enough."""
        *folders, name = path.split("/")
        in_archive, lines = ARCHIVE in folders, name.endswith(SUFFIX)
        if in_archive or lines:
            data = self.belonging.rest(data, torn=in_archive and lines)
        if in_archive and lines:
            return data
        if path in self.of_tools:
            return self._of_tool(data)
        return self._redacted(data, words=False) if self.redact_files else data

    def message(self, text: str, *, name: bool = True, words: bool = True) -> str:
        """Return a message without the person's texts and name."""
        return self.needles.redacted(text, name=name, words=words)

    def name(self, name: str, *, words: bool = False) -> str:
        """Return the name of a branch, a tag or a file without the person in it."""
        return self.needles.redacted(name, words=words).replace(REDACTED, REDACTED.strip("[]"))

    def path(self, path: str) -> str:
        """Return a path without the person in it."""
        return "/".join(map(self.name, path.split("/")))

    def _of_tool(self, data: bytes) -> bytes:
        """Return what a tool wrote without the lines that say something of the person's; without the words in prose.

        What is no text stays as it is, and is named afterwards.
        """
        if b"\0" in data:
            return data
        kept = []
        for line in data.splitlines(keepends=True):
            said = any(self.needles.found_in(text, words=True) for text in readings(line))
            if not said:
                kept.append(line)
            elif not objects_in(line):
                kept.append(self._redacted(line, words=True))
        return b"".join(kept)

    def _redacted(self, data: bytes, *, words: bool) -> bytes:
        text = data.decode("utf-8", "surrogateescape")
        return self.message(text, name=False, words=words).encode("utf-8", "surrogateescape")
