"""What a benchmark of retrieval is made of, whatever format its file has."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date

from memkit.runtime.memory.tiers.conversation import Utterance


@dataclass(frozen=True)
class Question:
    """Something asked about a dialogue, with where the answer stands."""

    text: str
    kind: str
    """The benchmark's own type of question."""
    turns: frozenset[int] = frozenset()
    """Places of the turns that hold the answer."""
    sessions: frozenset[str] = frozenset()
    """Names of the sessions that hold it."""
    today: date | None = None
    """The day on which it is asked."""


@dataclass(frozen=True)
class Dialogue:
    """Turns in the order they were said, and what is asked about them."""

    name: str
    turns: tuple[Utterance, ...]
    questions: tuple[Question, ...]


@dataclass(frozen=True)
class Dataset:
    """A benchmark file; its dialogues are read one at a time, because one file may hold many large ones."""

    format: str
    """locomo | longmemeval | jsonl"""
    sha256: str
    dialogues: Iterator[Dialogue]
