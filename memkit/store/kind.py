"""The kinds of files that people write: where those of a kind lie, what they are called, and when one is valid."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from memkit.store.layout import checked_name
from memkit.store.schema import SchemaFinding
from memkit.store.yaml import Document


@dataclass(frozen=True)
class Kind:
    """One kind, such as skill."""

    noun: str
    folder: str
    """Where the files lie, relative to the store."""
    findings: Callable[[Document, str], list[SchemaFinding]]
    """What keeps a document from being the one that its file's stem names."""

    def path(self, name: str) -> str:
        """Return the file of ``name``, relative to the store; raises ``UsageError`` where no such name can be."""
        return f"{self.folder}/{checked_name(name, self.noun)}.yaml"
