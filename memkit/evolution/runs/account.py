"""A run as its folder tells it, whether or not a process is at work on it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from difflib import unified_diff
from functools import cached_property

from memkit.errors import NegativeAnswer, NotFound, UsageError
from memkit.evolution.runs.answers import Answers
from memkit.evolution.runs.checkpoints import Checkpoint
from memkit.evolution.runs.folder import RunFolder
from memkit.evolution.runs.individuals import Judged
from memkit.evolution.runs.lineage import Step, ancestry, by_id
from memkit.evolution.runs.record import RunRecord

RUNNING, FINISHED, STOPPED = "running", "finished", "stopped"
SHORT = 10
"""Characters of an id that are shown."""
_SHORTEST = 4


@dataclass(frozen=True)
class Account:
    """What can be told of a run: all of it belongs to the generation of one checkpoint."""

    folder: RunFolder
    record: RunRecord
    checkpoint: Checkpoint | None
    notes: tuple[str, ...]

    @cached_property
    def judged(self) -> tuple[Judged, ...]:
        """Return every judged program in the order of judging."""
        if self.checkpoint is None:
            return ()
        return tuple(self.folder.individuals.read(size=self.checkpoint.journal_bytes))

    @cached_property
    def known(self) -> Mapping[str, Judged]:
        """Return the judged programs by id."""
        return by_id(self.judged)

    @cached_property
    def texts(self) -> Mapping[str, str]:
        """Return the texts of the programs by id."""
        return self.folder.texts.all(last=self.checkpoint.generation if self.checkpoint else 0)

    @cached_property
    def state(self) -> str:
        """Return ``running``, ``finished`` or ``stopped`` (there is more to do, and nobody does it)."""
        if self.folder.is_busy:
            return RUNNING
        return FINISHED if self.checkpoint is not None and self.checkpoint.stopped is not None else STOPPED

    @cached_property
    def spent(self) -> dict[str, float]:
        """Return what models have used: tokens, and the cost where prices are stated."""
        return Answers(self.folder.path, price=self.record.settings.price).spent

    @property
    def best(self) -> str:
        """Return the id of the best program.

        Raises:
            NegativeAnswer: None has a score that counts.
        """
        if self.checkpoint is None or self.checkpoint.best is None:
            raise NegativeAnswer(f"No program of the run {self.record.name} has a score that counts yet.")
        return str(self.checkpoint.best["id"])

    @property
    def seed(self) -> str:
        """Return the id of the program that the run began with.

        Raises:
            NegativeAnswer: It was not judged yet.
        """
        first = next(iter(self.judged), None)
        if first is None:
            raise NegativeAnswer(f"No program of the run {self.record.name} was judged yet.")
        return first.id

    def find(self, start: str) -> Judged:
        """Return the one program whose id begins with ``start``, which may be ``best`` or ``seed``.

        Raises:
            NotFound: There is none.
            UsageError: There are several.
        """
        if start in ("best", "seed"):
            return self.known[getattr(self, start)]
        found = [id for id in self.known if id.startswith(start)] if len(start) >= _SHORTEST else []
        if not found:
            raise NotFound(
                f"The run has no program {start!r:.80}. Give the first {_SHORTEST} characters of an id or more."
            )
        if len(found) > 1:
            raise UsageError(
                f"{start!r:.80} begins {len(found)} ids, such as {found[0]} and {found[1]}. Give more of it."
            )
        return self.known[found[0]]

    def text(self, id: str) -> str:
        """Return the text of a program.

        Raises:
            NotFound: It is not in the folder any more.
        """
        if id not in self.texts:
            raise NotFound(f"The text of the program {id[:SHORT]} is not in {self.folder.path / 'programs'}.")
        return self.texts[id]

    def diff(self, before: str, after: str) -> list[str]:
        """Return the lines of the unified diff of two programs; none where they are the same."""
        first, second = self.text(before), self.text(after)
        names = (f"{before[:SHORT]}.py", f"{after[:SHORT]}.py")
        return list(unified_diff(first.splitlines(), second.splitlines(), *names, lineterm=""))

    def ancestry(self, id: str) -> list[Step]:
        """Return a program and its ancestors, the oldest first."""
        return ancestry(id, self.known, minimize=self.record.settings.minimize)


def account_of(folder: RunFolder) -> Account:
    """Return what can be told of a run.

    Raises:
        NotFound: This is no run.
        RunFault: It is damaged, or of a newer memkit.
    """
    found = folder.newest()
    return Account(folder, folder.record, found.checkpoint, found.notes)
