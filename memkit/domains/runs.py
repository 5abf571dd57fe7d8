"""The runs of plans on this machine: one folder each, with the request and the journal of what was done."""

from __future__ import annotations

import json
import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Any

from memkit.errors import NotFound, StoreFault
from memkit.runtime.htn.core import Domain, HtnError, Journal, Method, Problem, term_text
from memkit.runtime.htn.execution.course import Course, PlanJournalError, read_entries
from memkit.runtime.htn.execution.interface import DONE
from memkit.runtime.memory.gate.secrets import mask
from memkit.store.files import write_whole
from memkit.store.schema import suggestion

FORMAT = 1
ASKED, JOURNAL = "run.json", "journal.jsonl"


@dataclass(frozen=True)
class RecordedPlanRun:
    """The request of one run, as it was when the run began."""

    id: str
    at: str
    domain: Domain
    """Including the learned methods known then, so that changes of files in the meantime do not matter."""
    problem: Problem
    folder: Path
    user: str | None = None

    def journal(self) -> Journal:
        """Open the journal, which keeps other processes out of the run."""
        return Journal(self.folder / JOURNAL, run=self.id, stamp={"user_id": self.user}, mask=mask)


@dataclass(frozen=True)
class RunState:
    """The progress of a run."""

    run: RecordedPlanRun
    outcome: str | None
    """None for a run that was killed or is in progress."""
    completed: int
    started: int

    def to_data(self) -> dict[str, Any]:
        """Return it as plain data."""
        tasks = [term_text(task) for task in self.run.problem.tasks]
        return {
            "run": self.run.id, "at": self.run.at, "domain": self.run.domain.name, "tasks": tasks,
            "outcome": self.outcome, "completed": self.completed, "started": self.started,
        }  # fmt: skip


class PlanRuns:
    """The runs in one folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def begin(
        self, domain: Domain, learned: list[Method], problem: Problem, *, now: datetime, user: str | None
    ) -> RecordedPlanRun:
        """Create the folder of a new run and record its request."""
        name = f"{now:%Y%m%dT%H%M%S}-{secrets.token_hex(2)}"
        known = {method.name for method in domain.methods}
        domain = replace(domain, methods=(*domain.methods, *(each for each in learned if each.name not in known)))
        at = now.isoformat(timespec="microseconds").replace("+00:00", "Z")
        run = RecordedPlanRun(name, at, domain, problem, self._folder / name, user)
        asked = {
            "format": FORMAT, "run": run.id, "at": run.at, "user_id": user,
            "domain": domain.to_data(), "problem": problem.to_data(),
        }  # fmt: skip
        run.folder.mkdir(parents=True, mode=0o700)
        write_whole(run.folder / ASKED, json.dumps(asked, ensure_ascii=False).encode(), mode=0o600)
        return run

    def find(self, name: str) -> RecordedPlanRun:
        """Return a run that began here.

        Raises:
            NotFound: There is no such run.
            StoreFault: Its request cannot be read.
        """
        names = self.names()
        if name not in names:
            known = suggestion(name, names) or (
                f" Known: {', '.join(names[-5:])}." if names else " There is none here."
            )
            raise NotFound(f"There is no run {name!r:.60}.{known}")
        return self._read(name)

    def names(self) -> list[str]:
        """Return the names of the runs, oldest first."""
        return sorted(path.parent.name for path in self._folder.glob(f"*/{ASKED}"))

    def states(self, left_out: Callable[[str], None]) -> list[RunState]:
        """Return the progress of every run, oldest first; ``left_out`` receives each that cannot be read."""
        found: list[RunState] = []
        for name in self.names():
            try:
                run = self._read(name)
                course = self.course(run)
                done = sum(record.status == DONE for record in course.records)
                found.append(RunState(run, course.outcome, done, len(course.records)))
            except (StoreFault, PlanJournalError) as error:
                left_out(str(error))
        # Names count seconds only, and runs of the same second have names in any order.
        return sorted(found, key=lambda state: state.run.at)

    def course(self, run: RecordedPlanRun) -> Course:
        """Return the plan that a run followed, and the outcome of each step that was begun."""
        course = Course(run.domain, run.problem, run.id)
        path = run.folder / JOURNAL
        course.follow(read_entries(path) if path.exists() else (), path)
        return course

    def _read(self, name: str) -> RecordedPlanRun:
        path = self._folder / name / ASKED
        try:
            asked: Mapping[str, Any] = json.loads(path.read_bytes())
            if asked["format"] > FORMAT:
                raise StoreFault(f"{path} was written by a newer memkit. Update memkit to continue this run.")
            domain = Domain.from_data(asked["domain"])
            problem = Problem.from_data(asked["problem"], domain)
            return RecordedPlanRun(asked["run"], asked["at"], domain, problem, path.parent, asked.get("user_id"))
        except (OSError, ValueError, TypeError, KeyError, HtnError) as error:
            raise StoreFault(f"{path} cannot be read, so the run cannot continue: {error}") from None
