"""The chores of the reference agent: make room ahead of need, and report what is due. None writes to the store."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta

from memkit.runtime.host.terminal import shell_word
from memkit.runtime.loop.chores import Outcome
from memkit.runtime.memory.archive.archive import ArchivalStore
from memkit.runtime.memory.record.record import Record, is_for
from memkit.runtime.memory.tiers.context import MainContext, groups

AHEAD = 0.75
"""The share of the compression threshold from which a heartbeat compresses the context, while nobody waits."""
SHOWN = 5
"""The most items of one kind that are listed individually."""
A_DAY = timedelta(days=1)
WORTH_SCANNING = 5_000
"""A user with more records is consolidated by hand; planning that would hold a heartbeat up."""


@dataclass(frozen=True)
class PageOutChore:
    """Pages out old messages before a turn has to."""

    main: MainContext
    name: str = "page_out"

    def due(self) -> bool:
        """Return whether the context is close to the point of compression and has something old to give up."""
        room = AHEAD * self.main.budget
        kept = len(self.main.messages) - self.main.keep_recent
        newest: list[int] = []
        for group in reversed(groups(self.main.messages)):
            if len(newest) >= self.main.keep_recent:
                break
            newest += map(self.main.message_tokens, group)
        usage = self.main.usage()
        # The newest messages stay as they are, so they have to fit in the remaining room.
        stays = sum(newest) + usage["core"] + usage["summary"]
        return kept > 0 and self.main.used() > self.main.compress_at * room > stays

    def run(self) -> Outcome:
        """Shrink the budget for a moment, so that the context compresses."""
        before, count = self.main.reserved, len(self.main.messages)
        self.main.reserve(before + int((1 - AHEAD) * self.main.budget))
        self.main.reserve(before)
        return Outcome(f"{count - len(self.main.messages)} old messages were paged out ahead of need.")


@dataclass
class ConsolidationChore:
    """Reports once a day whether consolidating memory is worth it; a person runs it, and reviews its branch."""

    archive: ArchivalStore
    user: str
    clock: Callable[[], datetime]
    name: str = "consolidate"
    looked_at: datetime | None = None

    def due(self) -> bool:
        """Return whether the last look is more than a day ago and there is not too much to look at."""
        if self.looked_at is not None and self.clock() - self.looked_at < A_DAY:
            return False
        return len(self.archive.records(user_id=self.user, limit=WORTH_SCANNING + 1)) <= WORTH_SCANNING

    def run(self) -> Outcome:
        """Report how much there is to do."""
        self.looked_at = self.clock()
        plan = self.archive.consolidation(user_id=self.user)
        if not plan:
            return Outcome("There is nothing to consolidate.")
        counts = {
            "near-duplicates to merge": len(plan.merges),
            "old episodes to summarise": len(plan.episodes),
            "records to retire": len(plan.dropped),
            "full core sections": len(plan.compressions),
        }
        told = ", ".join(f"{count} {what}" for what, count in counts.items() if count)
        return Outcome(
            f"Memory can be consolidated ({told}): memkit memory consolidate --user {shell_word(self.user)}",
            pending=True,
        )


@dataclass(frozen=True)
class DueGoals:
    """Reports which of the user's goals have come due."""

    archive: ArchivalStore
    user: str
    session: str
    agent: str | None
    clock: Callable[[], datetime]
    name: str = "due_goals"

    def due(self) -> bool:
        """Return whether any goal has reached its due date."""
        return bool(self._found())

    def run(self) -> Outcome:
        """List the goals."""
        return Outcome(
            "\n".join(_some(f"Due {goal.extra['due']}: {goal.text} [{goal.id}]" for goal in self._found())),
            pending=True,
        )

    def _found(self) -> list[Record]:
        today = self.clock().date()
        held = self.archive.records(user_id=self.user, types=("goal",))
        goals = [goal for goal in held if not self.archive.taint_of(goal, self.user)]
        own = (goal for goal in goals if goal.user_id == self.user and is_for(goal, self.session, self.agent))
        return sorted((goal for goal in own if _has_come(goal, today)), key=lambda goal: str(goal.extra["due"]))


@dataclass(frozen=True)
class CutOffPlans:
    """Reports which plans were begun and not ended; no part of them is carried out without a user."""

    runs: Callable[[], Sequence[str]]
    """Returns, for each such run, what it was meant to do and how to continue it."""
    name: str = "cut_off_plans"

    def due(self) -> bool:
        """Return whether there is any."""
        return bool(self.runs())

    def run(self) -> Outcome:
        """List the runs."""
        return Outcome("\n".join(_some(self.runs())), pending=True)


def _has_come(goal: Record, today: date) -> bool:
    try:
        return date.fromisoformat(str(goal.extra.get("due"))) <= today
    except ValueError:
        return False  # no date, or one that a program cannot read


def _some(lines: Iterable[str]) -> list[str]:
    every = list(lines)
    return [*every[:SHOWN], *([f"and {len(every) - SHOWN} more"] if len(every) > SHOWN else [])]
