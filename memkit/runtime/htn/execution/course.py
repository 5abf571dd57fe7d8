"""How far a run has come: a fold over the entries of its journal, the same when it runs and when it is resumed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from ..domain import Domain, Problem
from ..interface import FOUND, Reason, Result, Step
from ..terms import Term
from .interface import DENIED, DONE, FAILED, PENDING, UNKNOWN, Execution, StepRecord
from .journal import JournalError
from .world import Changes, Snapshot, Taken, World

Entry = Mapping[str, Any]
Failure = tuple[Step, Snapshot | None]
"""A step with the state it failed in; with None it was denied, which no other state changes."""


class Course:
    """The plan that is followed, how many of its steps are done, and everything that was tried."""

    def __init__(self, domain: Domain, problem: Problem, run: str) -> None:
        self.run = run
        self.world = World(domain, problem)
        self.plan: list[Step] = []
        self.tree: tuple[Mapping[str, Any], ...] = ()
        self.position = 0
        """How many steps of ``plan`` are done."""
        self.records: list[StepRecord] = []
        self.failures: list[Failure] = []
        self.replans = 0
        self.outcome: str | None = None
        self.reasons: tuple[Reason, ...] = ()
        self._first: Result | None = None
        self._changes = Changes()
        """What has changed since the last step began."""
        self._numbers: frozenset[tuple[Term, int | float]] = frozenset()
        """The numbers when the last step began."""

    @property
    def next_step(self) -> Step | None:
        """Return the step that comes next in the plan."""
        return self.plan[self.position] if self.position < len(self.plan) else None

    @property
    def rest(self) -> list[Step]:
        """Return the steps of the plan that are not done."""
        return self.plan[self.position :]

    @property
    def last(self) -> StepRecord | None:
        """Return the step that was taken up last."""
        return self.records[-1] if self.records else None

    @property
    def taken(self) -> Taken | None:
        """Return the last step with what it changed; None where it was not done."""
        last = self.last
        return Taken(last.step, self._changes, self._numbers) if last is not None and last.status == DONE else None

    @property
    def has_plan(self) -> bool:
        """Return whether a plan was ever found."""
        return self._first is not None

    def failed_here(self, step: Step) -> str | None:
        """Return why a step is not to be tried in this state, or None."""
        tried = [seen for failed, seen in self.failures if failed == step]
        if not tried:
            return None
        here = self.world.snapshot()
        unchanged = any(seen is None or seen == here for seen in tried)
        return "it was tried here already, and nothing has changed" if unchanged else None

    @property
    def result(self) -> Result:
        """Return the plan that was found first."""
        assert self._first is not None, "a run begins with a plan"
        return self._first

    def follow(self, entries: Iterable[Entry], path: Path) -> None:
        """Take every entry of the journal at ``path``.

        Raises:
            JournalError: An entry is not what this run could have written.
        """
        for number, entry in enumerate(entries, 1):
            try:
                self.take(entry)
            except (KeyError, TypeError, ValueError, IndexError, AttributeError) as error:
                raise JournalError(
                    f"{path}:{number} does not go with what stands before it, so nobody can know which steps were done "
                    f"({type(error).__name__}: {error})."
                ) from None

    def take(self, entry: Entry) -> None:
        """Move on by what an entry tells."""
        fold = getattr(self, f"_take_{entry['event']}", None)
        if fold is not None:  # an event of no consequence, such as the beginning
            fold(entry)

    def execution(self, outcome: str | None = None, reasons: tuple[Reason, ...] = ()) -> Execution:
        """Return the account of the run as it stands."""
        return Execution(
            run=self.run,
            outcome=outcome or self.outcome or PENDING,
            result=self.result,
            steps=tuple(replace(record) for record in self.records),
            state=tuple(self.world.facts),
            numbers=dict(self.world.numbers),
            replans=self.replans,
            reasons=reasons or self.reasons,
        )

    def _take_plan(self, entry: Entry) -> None:
        self.plan = [Step(str(name), tuple(args)) for name, *args in entry["steps"]]
        unknown = [str(step) for step in self.plan if not self.world.knows(step)]
        if unknown:
            raise ValueError(f"the domain has no step {unknown[0]}")
        self.tree = tuple(entry["tree"])
        self.position = 0
        self.replans += bool(entry["because"])
        self._first = self._first or Result(FOUND, list(self.plan), self.tree)

    def _take_started(self, entry: Entry) -> None:
        record = _record(entry, UNKNOWN)
        if record.step != self.next_step:
            raise ValueError(f"{record.step} is not the step that comes next")
        if self.last is not None and self.last.key == record.key:
            self.records.pop()  # an idempotent step that is done once more
        elif self.last is not None and self.last.status == UNKNOWN:
            raise ValueError(f"what became of {self.last.step} is missing")
        self.records.append(record)
        self._changes, self._numbers = Changes(), frozenset(self.world.numbers.items())

    def _take_done(self, entry: Entry) -> None:
        record, changes = self._open_record(), Changes.from_data(entry)
        record.status, record.result = DONE, str(entry["result"])
        self._happened(record, changes)
        self.position += 1

    def _take_failed(self, entry: Entry) -> None:
        record = self._open_record()
        record.status, record.reason = FAILED, str(entry["reason"])
        self.failures.append((record.step, self.world.snapshot()))

    def _take_undone(self, entry: Entry) -> None:
        """Take in that a step whose outcome was unknown had no effect; it may be tried again."""
        record = self.records[-1]
        record.status, record.reason = FAILED, str(entry["reason"])

    def _take_denied(self, entry: Entry) -> None:
        record = _record(entry, DENIED)
        record.reason = str(entry["reason"])
        self.records.append(record)
        self.failures.append((record.step, None))

    def _open_record(self) -> StepRecord:
        if self.records[-1].status != UNKNOWN:
            raise ValueError("no step had begun")
        return self.records[-1]

    def _take_observed(self, entry: Entry) -> None:
        """Put the state right; a step whose effects were seen not to have come about has failed after all."""
        record = self.records[-1]
        record.observed, record.unexpected = True, tuple(entry["unexpected"])
        if entry["missed"] and self.taken is not None:
            self.failures.append((record.step, self.world.snapshot_before(self.taken)))
            record.status, record.reason = FAILED, str(entry["reason"])
            self.position -= 1
        self._happened(record, Changes.from_data(entry))

    def _take_resumed(self, entry: Entry) -> None:
        if entry["afresh"]:
            # A person went on with a run that had ended: what failed then, or was denied, may be tried once more.
            self.failures.clear()
            self.replans, self.outcome, self.reasons = 0, None, ()

    def _take_end(self, entry: Entry) -> None:
        self.outcome = str(entry["outcome"])
        self.reasons = tuple(Reason(**reason) for reason in entry["reasons"])

    def _happened(self, record: StepRecord, changes: Changes) -> None:
        self.world.apply(changes)
        self._changes = self._changes.then(changes)
        record.added, record.removed = self._changes.added, self._changes.removed
        record.numbers = self._changes.numbers


def _record(entry: Entry, status: str) -> StepRecord:
    step = Step(str(entry["name"]), tuple(entry["args"]))
    return StepRecord(int(entry["number"]), step, str(entry["by"]), entry["tool"], str(entry["key"]), status)
