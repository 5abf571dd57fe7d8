"""A file of a store, as it was checked by itself."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

from memkit.lint.interface import Edit, Finding, Source
from memkit.lint.suppressions import Suppression

if TYPE_CHECKING:
    from memkit.store.yaml import Document, KeyPath


@dataclass
class Checked:
    """One YAML file: what it holds, what was found in it, and which findings its comments switch off."""

    source: Source
    content: bytes
    data: Any = None
    """What it holds, where it is what its folder says it is."""
    findings: list[Finding] = field(default_factory=list)
    """Before suppressions, and without what only the whole store shows."""
    comments: tuple[Suppression, ...] = ()

    @property
    def name(self) -> str:
        """Return what the skill, policy or domain is called."""
        return self.source.path.stem

    @property
    def is_usable(self) -> bool:
        """Return whether the file is what its folder says it is."""
        return isinstance(self.data, Mapping)

    @cached_property
    def document(self) -> Document:
        """Return the document; a file that was taken from the cache is read only when something is found in it."""
        from memkit.store.yaml import load_yaml

        return load_yaml(self.content, name=str(self.source.path))

    def found(
        self,
        code: str,
        message: str,
        path: KeyPath = (),
        *,
        at_key: bool = False,
        part: tuple[int, int] | None = None,
        edit: Edit | None = None,
    ) -> Finding:
        """Return a finding about the value (or the key) at ``path``, or about some characters of the text there."""
        document = self.document
        if path in document.spans and not at_key:
            offsets = document.offsets(path) if part else []
            begin, end = (offsets[part[0]], offsets[part[1]]) if part else document.spans[path]
            return self.between(code, message, begin, end, path, edit)
        line, column = document.key_position(path) if at_key else document.position(path)
        return Finding(code, message, self.source.path, line, column, edit, anchor=line)

    def between(
        self, code: str, message: str, begin: int, end: int, path: KeyPath = (), edit: Edit | None = None
    ) -> Finding:
        """Return a finding about what stands between two offsets of the file's text, in the value at ``path``."""
        document = self.document
        line, column = document.place(begin)
        anchor = document.position(path)[0] if path else line
        return Finding(code, message, self.source.path, line, column, edit, document.place(end), anchor)
