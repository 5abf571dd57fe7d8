"""Puts every case to every system, keeps each answer when it is there, and goes on where an earlier run was cut off."""

from __future__ import annotations

import hashlib
import json
import shlex
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from closure import environments
from closure.interface import CannotError
from closure.servers import running
from closure.subject import Subject, SystemFailedError
from closure.systems import System
from closure.trial import Case, Suite, Trial, Verdict
from tests.proof.enclosure import is_possible

ROOT = Path(__file__).resolve().parents[1]
PASS, FAIL, SKIPPED = "pass", "fail", "skipped"


@dataclass(frozen=True)
class Cell:
    """One answer of the report, a row of ``report.json``."""

    system: str
    suite: str
    case: str
    id: str
    result: str
    """``pass``, ``fail``, or ``skipped`` where the system cannot be asked that."""
    reason: str
    command: str
    """What repeats this answer alone."""


@dataclass(frozen=True)
class Plan:
    """Which questions are put to whom, and how much of them."""

    systems: Sequence[System]
    suites: Sequence[Suite]
    seed: int = 1
    share: float = 1.0
    jobs: int = 2
    cases: frozenset[str] = frozenset()
    """Only the cells of these ids, where there are any."""

    def command_of(self, cell: str) -> str:
        """Return the command that repeats one cell."""
        more = "" if self.seed == 1 and self.share == 1.0 else f" --seed {self.seed} --share {self.share:g}"
        return f"{Path(sys.prefix).name}/bin/python -m closure --cell {shlex.quote(cell)}{more}"


class Kept:
    """The cells of a run that is not finished, in a file; another run on the same sources goes on with them."""

    def __init__(self, plan: Plan, fresh: bool) -> None:
        self._path = environments.folder() / f"run-{_digest_of_sources()}-{plan.seed}-{plan.share:g}.jsonl"
        self._path.parent.mkdir(parents=True, exist_ok=True)
        if fresh:
            self._path.unlink(missing_ok=True)
        self._lock = threading.Lock()

    def cells(self) -> dict[str, Cell]:
        """Return what an earlier run answered; a line that was cut off is asked again."""
        found = {}
        if self._path.exists():
            for line in self._path.read_text(encoding="utf-8").splitlines():
                try:
                    cell = Cell(**json.loads(line))
                except (json.JSONDecodeError, TypeError):
                    continue
                found[cell.id] = cell
        return found

    def add(self, cell: Cell) -> None:
        """Keep an answer."""
        with self._lock, self._path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(asdict(cell)) + "\n")

    def finish(self) -> None:
        """Forget them: the run is whole, and the next one begins anew."""
        self._path.unlink(missing_ok=True)


def _digest_of_sources() -> str:
    """Return what changes with memkit or the questions, so that no old answer stands for new code."""
    found = hashlib.sha256()
    for folder in ("closure", "memkit"):
        for path in sorted((ROOT / folder).rglob("*")):
            if path.suffix in (".py", ".yaml") and "__pycache__" not in path.parts:
                found.update(str(path.relative_to(ROOT)).encode() + path.read_bytes())
    return found.hexdigest()[:16]


def run(plan: Plan, kept: Kept | None, tell: Callable[[str], None]) -> list[Cell]:
    """Return every cell of the plan, systems side by side and the cases of a system one after another."""
    known = kept.cells() if kept else {}
    done: dict[str, list[Cell]] = {}

    def ask_system(system: System) -> None:
        cells = []
        for cell in _cells_of(system, plan, known):
            if kept and cell.id not in known:
                kept.add(cell)
            cells.append(cell)
            tell(f"{cell.result:8}{cell.id}: {cell.reason}")
        done[system.name] = cells

    with ThreadPoolExecutor(max(1, plan.jobs)) as pool:
        for asked in [pool.submit(ask_system, system) for system in plan.systems]:
            asked.result()
    cells = [cell for system in plan.systems for cell in done[system.name]]
    if kept and not plan.cases:
        kept.finish()
    return cells


def _cells_of(system: System, plan: Plan, known: Mapping[str, Cell]) -> Iterator[Cell]:
    """Yield the cells of one system; where it cannot be set up, one that says why."""
    wanted = [
        (suite, case) for suite in plan.suites for case in suite.cases
        if (not case.only or system.name in case.only)
        and (not plan.cases or f"{system.name}/{suite.name}/{case.id}" in plan.cases)
    ]  # fmt: skip
    here = _cell(plan, system, "environment", "set-up")
    if not wanted and here.id not in plan.cases:
        return
    try:
        python = environments.python_of(list(system.packages), system.python)
        beside = ExitStack()
        variables = beside.enter_context(running(system.server))
    except environments.NotHereError as reason:
        yield replace(here, result=SKIPPED, reason=f"not run here: {reason}")
        return
    with beside:
        manners = Manners()
        if system.asks_model and (refused := _without_model(system, python, manners)):
            yield replace(here, result=SKIPPED, reason=f"not run here: it asks a model for every text; {refused}")
            return
        for suite, case in wanted:
            cell = _cell(plan, system, suite.name, case.id)
            yield known[cell.id] if cell.id in known else _asked(cell, case, system, plan, python, variables, manners)
        yield replace(here, result=PASS, reason=", ".join(system.packages) or "of this checkout")
        if not plan.cases:
            yield from manners.cells(plan, system)


def _without_model(system: System, python: Path, manners: Manners) -> str:
    """Return what a system says to its first text where it has no model; nothing where it takes it."""
    with Subject(system.adapter, python) as subject:
        try:
            subject.call("remember", user="ada", text="Ada lives in Rome")
        except SystemFailedError as failed:
            return f"set up as documented, without one and without a key, it says: {str(failed)[:200]}"
        finally:
            manners.note(subject)
    return ""


class Manners:
    """Where a system wanted to go during a run: other machines, and files outside of its folder."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.outside: list[str] = []

    def note(self, subject: Subject) -> None:
        """Keep what a subject did."""
        self.asked += [place for place in subject.asked if place not in self.asked]
        self.outside += [path for path in subject.outside if path not in self.outside]

    def cells(self, plan: Plan, system: System) -> Iterable[Cell]:
        """Return the two cells about it."""
        network = _cell(plan, system, "environment", "no-network")
        if not is_possible():
            yield replace(network, result=SKIPPED, reason="not shut off: this machine gives no network namespace")
        elif self.asked:
            yield replace(
                network, result=FAIL, reason=f"shut off, and it asked for {', '.join(sorted(self.asked)[:4])}"
            )
        else:
            yield replace(network, result=PASS, reason="shut off, and it asked for nothing")
        files = _cell(plan, system, "environment", "own-folder")
        if self.outside:
            yield replace(files, result=FAIL, reason=f"it wrote {', '.join(sorted(self.outside)[:3])}")
        else:
            yield replace(files, result=PASS, reason="it wrote nothing outside of its folder")


def _cell(plan: Plan, system: System, suite: str, case: str) -> Cell:
    name = f"{system.name}/{suite}/{case}"
    return Cell(system.name, suite, case, name, SKIPPED, "", plan.command_of(name))


def _asked(
    cell: Cell, case: Case, system: System, plan: Plan, python: Path, variables: Mapping[str, str], manners: Manners
) -> Cell:
    """Return the cell with what came of it: an answer, what the system cannot, or a fault of the case itself."""

    @contextmanager
    def opened() -> Iterator[Subject]:
        with Subject(system.adapter, python, dict(variables)) as subject:
            yield subject
        manners.note(subject)

    began = time.monotonic()
    try:
        verdict = case.ask(Trial(system, opened, plan.seed, plan.share))
    except CannotError as cannot:
        verdict, cell = None, replace(cell, result=SKIPPED, reason=f"cannot: {cannot}")
    except SystemFailedError as failed:
        verdict = Verdict(False, str(failed))
    except Exception:  # noqa: BLE001 - whatever else is raised, no system raised it: the case is at fault
        last = traceback.format_exc().strip().splitlines()[-1]
        return replace(cell, result=SKIPPED, reason=f"{AT_FAULT}: {last[:200]} after {time.monotonic() - began:.0f} s")
    if verdict is not None:
        cell = replace(cell, result=PASS if verdict.passed else FAIL, reason=verdict.said)
    if system.is_control and (cell.result == FAIL) != (system.name in case.failed_by):
        should = "has to fail it" if system.name in case.failed_by else "must not fail it"
        return replace(cell, result=SKIPPED, reason=f"{AT_FAULT}: this control {should}; {cell.result}: {cell.reason}")
    return cell


AT_FAULT = "the suite is at fault"


def faults(cells: Iterable[Cell]) -> list[Cell]:
    """Return the cells in which the question was wrong, and not the system."""
    return [cell for cell in cells if cell.reason.startswith(AT_FAULT)]
