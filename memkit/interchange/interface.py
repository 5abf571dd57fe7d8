"""What a reader of a format promises: memories to offer, what it must refuse, and what it did not understand."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO, Protocol

from memkit.errors import UsageError
from memkit.runtime.memory.record.errors import Reason
from memkit.runtime.memory.record.record import Draft


@dataclass(frozen=True)
class Found:
    """A memory that a file holds, ready to be offered."""

    line: int
    """Where it begins; in a format without lines, its place among the memories, counted from 1."""
    user_id: str
    draft: Draft
    """Its ``extra`` also holds what only an import may bring: id, created_at, session_id, turn_id, agent_id."""
    replaces: bool = False
    """Whether its ``source_url`` names one memory of another system, so that a new text takes the old one's place."""


@dataclass(frozen=True)
class Unfit:
    """A memory that cannot be offered."""

    line: int
    reasons: tuple[Reason, ...]


@dataclass(frozen=True)
class Passed:
    """Something in a file that is no memory of a user, or is not understood."""

    what: str
    why: str
    line: int | None = None
    count: int = 1


Item = Found | Unfit | Passed


@dataclass(frozen=True)
class Wishes:
    """What the person who imports says about a file."""

    user: str | None = None
    """Whose memories they are; None where the file says so."""
    fallback: str | None = None
    """Whose memories those are that name nobody."""
    importance: float = 0.5
    """Of memories that say nothing about it."""
    kind: str = "fact"
    """The type of memories that say nothing about it."""
    names: Mapping[str, str] = field(default_factory=dict)
    """Our field → what the file calls it."""
    user_label: int | None = None
    """Which label of a namespace is the user, counted from 1."""


@dataclass(frozen=True)
class Source:
    """What is imported: a file or a folder, or standard input kept in a file without a name."""

    name: str
    path: Path | None
    spooled: BinaryIO | None = None

    @contextmanager
    def opened(self) -> Iterator[BinaryIO]:
        """Give the bytes from their beginning; raises ``UsageError`` where they cannot be read."""
        if self.spooled is not None:
            self.spooled.seek(0)
            yield self.spooled
            return
        try:
            file = Path(self.name).open("rb")  # noqa: SIM115 - closed below
        except OSError as error:
            raise UsageError(f"{self.name} cannot be read: {error.strerror or error}.") from error
        with file:
            yield file


class Reader(Protocol):
    """Reads one format."""

    def read(self, source: Source, wishes: Wishes) -> Iterator[Item]:
        """Yield what ``source`` holds, in its order.

        Raises:
            UsageError: The file as a whole is not in this format, or a wish is missing.
        """
