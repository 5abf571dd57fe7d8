"""The progress of a run: its journal, a fold over it, and the believed state, corrected by observations."""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from ..interface import FOUND, Reason, Result, Step
from ..language.data import value_text
from ..language.domain import Domain, Problem
from ..language.methods import Ordering
from ..language.objects import typed_objects
from ..language.terms import HtnError, Term, ground, term_text
from ..verification.evaluation import Impossible, StepState, arguments
from ..verification.verify import step_fault, verify
from .interface import DENIED, DONE, FAILED, PENDING, UNKNOWN, Execution, Observation, StepRecord

FORMAT = 1
SPOKEN = ("result", "reason", "because", "reasons")
"""Keys for a tool's own words, which may contain something that nobody should read later."""
Entry = Mapping[str, Any]


class PlanJournalError(HtnError):
    """Report why a run's journal cannot be used."""

    exit_code = 3
    code = "plan_journal"


class Journal(AbstractContextManager["Journal"]):
    """Appends durable entries, and keeps every other process out of the run while it is open.

    A line counts once it is on disk with its line end. One truncated by a kill was never acknowledged: if it announced
    a step, nothing has happened yet, and a step whose end was not written has an unknown outcome.

    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> planner = HTNPlanner(operators=[Operator("ring ?bell")])
    >>> problem = planner.problem("ring door", [])
    >>> with TemporaryDirectory() as folder:
    ...     for _ in range(2):  # the second run finds that all is done, and rings nobody
    ...         with Journal(Path(folder) / "run.jsonl") as journal:
    ...             print([entry["event"] for entry in journal.entries])
    ...             planner.executor(journal=journal).run(problem).outcome
    []
    'done'
    ['begin', 'plan', 'started', 'done', 'end']
    'done'
    """

    def __init__(
        self,
        path: Path,
        *,
        run: str = "run",
        stamp: Mapping[str, Any] | None = None,
        mask: Callable[[str], str] = lambda text: text,
    ) -> None:
        self.path = path
        self.run = run
        """The name of the run, with which the keys of its steps begin."""
        self._stamp = dict(stamp or {})
        self._mask = mask
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        try:
            self._handle = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        except OSError as error:
            raise PlanJournalError(f"{path} cannot be opened: {error.strerror or error}.") from None
        try:
            fcntl.flock(self._handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(self._handle)
            raise PlanJournalError(f"Another process is carrying out this run: {path} is locked.") from None
        try:
            self.entries: list[Entry] = self._read()
        except BaseException:
            self.close()
            raise
        handle = os.open(path.parent, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)

    def append(self, entry: Entry) -> None:
        """Write an entry, and return when it is on disk."""
        told = {key: self._masked(value) if key in SPOKEN else value for key, value in entry.items()}
        line = json.dumps(self._stamp | told, ensure_ascii=False, default=str)
        try:
            data = line.encode("utf-8", "backslashreplace") + b"\n"
            while data:
                data = data[os.write(self._handle, data) :]
            os.fsync(self._handle)
        except OSError as error:
            raise PlanJournalError(
                f"{self.path} cannot be written: {error.strerror or error}. The run stops."
            ) from None

    def _masked(self, value: Any) -> Any:
        if isinstance(value, str):
            return self._mask(value)
        if isinstance(value, Mapping):
            return {key: self._masked(item) for key, item in value.items()}
        return [self._masked(item) for item in value] if isinstance(value, list | tuple) else value

    def close(self) -> None:
        """Release the run for other processes."""
        if self._handle >= 0:
            os.close(self._handle)
            self._handle = -1

    def __exit__(self, *_: object) -> None:
        self.close()

    def _read(self) -> list[Entry]:
        """Return the entries, and cut off a line that a kill left without its end."""
        entries = read_entries(self.path)
        content = self.path.read_bytes()
        whole = content.rfind(b"\n") + 1
        if whole < len(content):
            os.ftruncate(self._handle, whole)
            os.fsync(self._handle)
        return entries


def read_entries(path: Path) -> list[Entry]:
    """Return the complete entries of a journal; raise JournalError if it is damaged or of a newer memkit."""
    lines = path.read_bytes().split(b"\n")
    entries: list[Entry] = []
    for number, line in enumerate(lines[:-1], 1):  # what follows the last line end is truncated or empty
        try:
            entry = json.loads(line)
        except (ValueError, RecursionError):
            entry = None
        if not isinstance(entry, dict) or not isinstance(entry.get("event"), str):
            raise PlanJournalError(f"{path}:{number} is damaged, so it is unknown which steps were done.")
        entries.append(entry)
    if entries and (entries[0]["event"] != "begin" or not isinstance(entries[0].get("format"), int)):
        raise PlanJournalError(f"{path} is not the journal of a run.")
    if entries and entries[0]["format"] > FORMAT:
        raise PlanJournalError(f"{path} was written by a newer version. Update memkit to continue this run.")
    return entries


@dataclass(frozen=True)
class Changes:
    """Facts that become true or false, and numbers that change."""

    added: tuple[Term, ...] = ()
    removed: tuple[Term, ...] = ()
    numbers: Mapping[Term, int | float] = field(default_factory=dict)

    def to_data(self) -> dict[str, Any]:
        """Return the changes as JSON types, which ``from_data`` restores exactly."""
        return {
            "added": [list(fact) for fact in self.added],
            "removed": [list(fact) for fact in self.removed],
            "numbers": [[list(fluent), value] for fluent, value in self.numbers.items()],
        }

    def then(self, later: Changes) -> Changes:
        """Return the combination of these changes and later ones."""
        added = tuple(fact for fact in self.added if fact not in later.removed)
        removed = tuple(fact for fact in self.removed if fact not in later.added)
        return Changes(
            (*added, *(fact for fact in later.added if fact not in self.removed)),
            (*removed, *(fact for fact in later.removed if fact not in self.added)),
            {**self.numbers, **later.numbers},
        )

    @staticmethod
    def from_data(data: Mapping[str, Any]) -> Changes:
        """Return the changes in an entry of the journal."""
        return Changes(
            tuple(tuple(fact) for fact in data["added"]),
            tuple(tuple(fact) for fact in data["removed"]),
            {tuple(fluent): value for fluent, value in data["numbers"]},
        )


Snapshot = tuple[frozenset[Term], frozenset[tuple[Term, int | float]]]


@dataclass(frozen=True)
class Taken:
    """A step that was taken."""

    step: Step
    changes: Changes
    """Its changes, as predicted."""
    numbers: frozenset[tuple[Term, int | float]]
    """The numbers before it."""


@dataclass(frozen=True)
class ObservedDifference:
    """The difference between an observation and the believed state."""

    changes: Changes
    """The correction of the belief."""
    missed: tuple[str, ...]
    """Effects of the step that were observed not to have happened."""
    unexpected: tuple[str, ...]
    """Everything that differs from the belief, including missed effects."""


class Belief:
    """The current facts and numbers of a run.

    Steps are evaluated as in ``verify``, independently of the code that searched for the plan.
    """

    def __init__(self, domain: Domain, problem: Problem) -> None:
        self._domain = domain
        self._problem = problem
        self._operators = domain.steps
        self._objects = typed_objects(domain, problem)
        self.facts: dict[Term, None] = dict.fromkeys(problem.state)
        self.numbers: dict[Term, int | float] = dict(problem.numbers)
        self._evaluated: StepState | None = None
        self._ahead: tuple[Step, Changes, StepState] | None = None

    def problem(self, tasks: Sequence[Term], ordering: Ordering | None = None) -> Problem:
        """Return the problem of doing ``tasks``, by default as listed, from this state."""
        return replace(
            self._problem, tasks=tuple(tasks), ordering=ordering, state=tuple(self.facts), numbers=dict(self.numbers)
        )

    def knows(self, step: Step) -> bool:
        """Return whether the domain has an operator with a step's name."""
        return step.name in self._operators

    def fault(self, step: Step) -> str | None:
        """Return why a step cannot be taken here, or None."""
        wrong = step_fault(self._operators.get(step.name), step, self._here(), self._objects)
        if wrong is None:
            try:
                self.predict(step)
            except Impossible as error:
                return str(error)
        return wrong

    def predict(self, step: Step) -> Changes:
        """Return the changes of a step that does what its operator says."""
        if self._ahead is None or self._ahead[0] != step:
            state = self._here()
            state.advance(self._operators[step.name], step)
            changes = Changes(
                _sorted(state.facts.keys() - self.facts.keys()),
                _sorted(self.facts.keys() - state.facts.keys()),
                {fluent: value for fluent, value in state.numbers.items() if self.numbers.get(fluent) != value},
            )
            self._evaluated, self._ahead = None, (step, changes, state)
        return self._ahead[1]

    def apply(self, changes: Changes) -> None:
        """Apply changes that have happened."""
        for fact in changes.removed:
            self.facts.pop(fact, None)
        self.facts.update(dict.fromkeys(changes.added))
        self.numbers.update(changes.numbers)
        ahead, self._ahead = self._ahead, None
        self._evaluated = ahead[2] if ahead is not None and ahead[1] == changes else None

    def rest_holds(self, steps: Sequence[Step]) -> bool:
        """Return whether the steps can be taken one after the other from here."""
        return not verify(self._domain, self.problem(()), steps, decomposition=False)

    def compare(self, seen: Observation, taken: Taken | None) -> ObservedDifference:
        """Compare an observation with the state here, which already includes a step that was ``taken``."""
        gone = tuple(fact for fact in self.facts if seen.truth(fact) is False)
        come = tuple(fact for fact in seen.holds if fact not in self.facts)
        other = {fluent: value for fluent, value in seen.numbers.items() if self.numbers.get(fluent) != value}
        missed: list[str] = []
        if taken is not None:
            added, removed = self._intended(taken.step)
            missed += [f"not {term_text(fact)}" for fact in gone if fact in (*taken.changes.added, *added)]
            missed += [term_text(fact) for fact in come if fact in (*taken.changes.removed, *removed)]
            # A differing number may be a measurement; one that has not moved shows that nothing happened.
            still = (each for each in other.items() if each[0] in taken.changes.numbers and each in taken.numbers)
            missed += [value_text(*each) for each in still]
        unexpected = [f"not {term_text(fact)}" for fact in gone] + [term_text(fact) for fact in come]
        unexpected += [value_text(*each) for each in other.items()]
        return ObservedDifference(Changes(come, gone, other), tuple(missed), tuple(unexpected))

    def _intended(self, step: Step) -> tuple[tuple[Term, ...], tuple[Term, ...]]:
        """Return the facts that a step is meant to make true, and to make false."""
        operator = self._operators[step.name]
        binding = arguments(operator, step)
        added = tuple(ground(fact, binding) for fact in operator.effects_add)
        return added, tuple(fact for each in operator.effects_remove if (fact := ground(each, binding)) not in added)

    def snapshot(self) -> Snapshot:
        """Return the state as a comparable value."""
        return frozenset(self.facts), frozenset(self.numbers.items())

    def snapshot_before(self, taken: Taken) -> Snapshot:
        """Return the state before a step that led to this one."""
        return frozenset((self.facts.keys() - set(taken.changes.added)) | set(taken.changes.removed)), taken.numbers

    def _here(self) -> StepState:
        if self._evaluated is None:
            self._evaluated = StepState(self.problem(()), self._objects)
        return self._evaluated


def _sorted(facts: Iterable[Term]) -> tuple[Term, ...]:
    """Return facts in an order that is the same in every process."""
    return tuple(sorted(facts, key=repr))


Failure = tuple[Step, Snapshot | None]
"""A step with the state it failed in; None means it was denied, which no other state changes."""


class Course:
    """The plan being followed, the number of its steps that are done, and everything that was tried."""

    def __init__(self, domain: Domain, problem: Problem, run: str) -> None:
        self.run = run
        self.world = Belief(domain, problem)
        self.plan: list[Step] = []
        self.tree: tuple[Mapping[str, Any], ...] = ()
        self.order: Ordering | None = None
        """Which of the tree's roots must come before which; None: they are done as listed."""
        self.position = 0
        """How many steps of ``plan`` are done."""
        self.records: list[StepRecord] = []
        self.failures: list[Failure] = []
        self.replans = 0
        self.outcome: str | None = None
        self.reasons: tuple[Reason, ...] = ()
        self._first: Result | None = None
        self._changes = Changes()
        """The changes since the last step began."""
        self._numbers: frozenset[tuple[Term, int | float]] = frozenset()
        """The numbers when the last step began."""

    @property
    def next_step(self) -> Step | None:
        """Return the next step of the plan."""
        return self.plan[self.position] if self.position < len(self.plan) else None

    @property
    def rest(self) -> list[Step]:
        """Return the remaining steps of the plan."""
        return self.plan[self.position :]

    @property
    def last(self) -> StepRecord | None:
        """Return the most recently attempted step."""
        return self.records[-1] if self.records else None

    @property
    def taken(self) -> Taken | None:
        """Return the last step with its changes; None if it was not done."""
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
        return "it was already tried here, and nothing has changed" if unchanged else None

    @property
    def result(self) -> Result:
        """Return the plan that was found first."""
        assert self._first is not None, "a run must begin with a plan"
        return self._first

    def follow(self, entries: Iterable[Entry], path: Path) -> None:
        """Apply every entry of the journal at ``path``.

        Raises:
            PlanJournalError: An entry is not one that this run could have written.
        """
        for number, entry in enumerate(entries, 1):
            try:
                self.take(entry)
            except (KeyError, TypeError, ValueError, IndexError, AttributeError) as error:
                raise PlanJournalError(
                    f"{path}:{number} does not follow from the lines before it, so it is unknown which steps were "
                    f"done ({type(error).__name__}: {error})."
                ) from None

    def take(self, entry: Entry) -> None:
        """Apply an entry."""
        fold = getattr(self, f"_take_{entry['event']}", None)
        if fold is not None:  # an event without consequence, such as the beginning
            fold(entry)

    def execution(self, outcome: str | None = None, reasons: tuple[Reason, ...] = ()) -> Execution:
        """Return the account of the run so far."""
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
        self.order = None if entry.get("order") is None else tuple((one, other) for one, other in entry["order"])
        self.position = 0
        self.replans += bool(entry["because"])
        self._first = self._first or Result(FOUND, list(self.plan), self.tree)

    def _take_started(self, entry: Entry) -> None:
        record = _record(entry, UNKNOWN)
        if record.step != self.next_step:
            raise ValueError(f"{record.step} is not the step that comes next")
        if self.last is not None and self.last.key == record.key:
            self.records.pop()  # an idempotent step that is repeated
        elif self.last is not None and self.last.status == UNKNOWN:
            raise ValueError(f"the outcome of {self.last.step} is missing")
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
        """Record that a step with unknown outcome had no effect; it may be tried again."""
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
        """Correct the state; a step whose effects were observed to be missing has failed after all."""
        record = self.records[-1]
        record.observed, record.unexpected = True, tuple(entry["unexpected"])
        if entry["missed"] and self.taken is not None:
            self.failures.append((record.step, self.world.snapshot_before(self.taken)))
            record.status, record.reason = FAILED, str(entry["reason"])
            self.position -= 1
        self._happened(record, Changes.from_data(entry))

    def _take_resumed(self, entry: Entry) -> None:
        if entry["afresh"]:
            # A person resumed a run that had ended: what failed then, or was denied, may be tried once more.
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
