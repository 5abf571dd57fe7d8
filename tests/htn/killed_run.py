"""Carries a plan out and kills itself at the point that its first argument counts to; started by test_killed_runs."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

from memkit.runtime.htn.core import Action, Answer, Domain, Executor, HTNPlanner, Journal, Method, Operator, Problem

PLANNER = HTNPlanner(
    domain=Domain(
        operators=(Operator("put ?x", ["not there ?x"], ["there ?x"], tool="put"),),
        methods=(
            Method("two", "fill ?x ?y", [], ["put ?x", "put ?y"]),
            Method("all", "fill_all", [], ["fill a b", "fill c d"]),
        ),
    )
)
PROBLEM = Problem(tasks=(("fill_all",),))


def main(limit: int, folder: Path) -> None:
    """Carry the plan out, with a point before and after every write of the journal and every effect of the tool."""
    effects, passed = folder / "effects", iter(range(1_000_000))

    def point() -> None:
        if next(passed) == limit:
            os.kill(os.getpid(), signal.SIGKILL)

    class Journaled(Journal):
        def append(self, entry: dict[str, object]) -> None:  # type: ignore[override]
            point()
            super().append(entry)
            point()

    def act(action: Action) -> Answer:
        point()
        with effects.open("a") as file:
            file.write(f"{action.step}\n")
            file.flush()
            os.fsync(file.fileno())
        point()
        return Answer("done")

    def settle(action: Action) -> str:
        """Look, as a person would."""
        return "done" if effects.exists() and str(action.step) in effects.read_text().splitlines() else "failed"

    with Journaled(folder / "journal.jsonl") as journal:
        run = Executor(PLANNER, act, journal=journal, settle=settle).run(PROBLEM)
    sys.stdout.write(",".join([run.outcome, *map(str, run.completed)]))


if __name__ == "__main__":
    main(int(sys.argv[1]), Path(sys.argv[2]))
