"""Puts every case to every system, stores each answer immediately, and resumes where an earlier run was cut off.

A suite of a system is one piece of work, or one case of it if it takes long; pieces run in parallel, the cases of a
piece one after another.
"""

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
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from closure import environments, servers
from closure.interface import CannotError
from closure.subject import Subject, SystemFailedError, on_this_machine
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
    """``pass``, ``fail``, or ``skipped`` if the system cannot be asked that."""
    reason: str
    command: str
    """The command that repeats this answer alone."""


@dataclass(frozen=True)
class Plan:
    """Which questions are put to which systems, and how much of them."""

    systems: Sequence[System]
    suites: Sequence[Suite]
    seed: int = 1
    share: float = 1.0
    jobs: int = 2
    cases: frozenset[str] = frozenset()
    """Only the cells with these ids, if there are any."""
    data: Path | None = None
    """The folder of data sets that the user has downloaded."""
    until: float = float("inf")
    """The moment, by ``time.monotonic``, after which nothing more is asked."""

    def command_of(self, cell: str) -> str:
        """Return the command that repeats one cell."""
        more = "" if self.seed == 1 and self.share == 1.0 else f" --seed {self.seed} --share {self.share:g}"
        return f"{Path(sys.prefix).name}/bin/python -m closure --cell {shlex.quote(cell)}{more}"


class Kept:
    """The cells of an unfinished run, in a file; another run reuses those whose sources are the same."""

    def __init__(self, plan: Plan, fresh: bool) -> None:
        self._path = environments.folder() / f"run-{plan.seed}-{plan.share:g}.jsonl"
        self._path.parent.mkdir(parents=True, exist_ok=True)
        if fresh:
            self._path.unlink(missing_ok=True)
        self._lock = threading.Lock()
        self._note({"begins": now()})
        self._sources = {
            (system.name, suite.name): _digest_of_sources(system, suite.name)
            for system in plan.systems for suite in plan.suites
        }  # fmt: skip

    def cells(self, manners: Mapping[str, Manners]) -> dict[str, Cell]:
        """Return the answers of an earlier run, and note its observations; a truncated line is asked again."""
        found = {}
        if self._path.exists():
            for line in self._path.read_text(encoding="utf-8").splitlines():
                try:
                    fields = json.loads(line)
                    fields.pop("seconds", None)  # an earlier version stored none
                    sources, seen = fields.pop("sources"), fields.pop("seen")
                    cell = Cell(**fields)
                except (json.JSONDecodeError, TypeError, KeyError):
                    continue
                if self._sources.get((cell.system, cell.suite)) == sources:
                    found[cell.id] = cell
                    manners[cell.system].note(*seen)
        return found

    def add(self, cell: Cell, manners: Manners, seconds: float) -> None:
        """Store an answer, its wall time, and the places that the system wanted to reach until then."""
        more = {"seen": [manners.asked, manners.outside], "seconds": round(seconds, 1)}
        self._note({**asdict(cell), "sources": self._sources[cell.system, cell.suite], **more})

    def _note(self, row: Mapping[str, Any]) -> None:
        with self._lock, self._path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(row) + "\n")

    def begins(self) -> list[str]:
        """Return when the run was begun and resumed."""
        lines = self._path.read_text(encoding="utf-8").splitlines()
        return [json.loads(line)["begins"] for line in lines if line.startswith('{"begins"')]

    def finish(self) -> None:
        """Delete them: the run is complete, and the next one starts afresh."""
        self._path.unlink(missing_ok=True)


PARTS = {
    "governance": ("suites/steps.py", "suites/governance.yaml"),
    "deletion": ("suites/steps.py", "suites/deletion.yaml", "traces.py"),
    "integrity": ("suites/integrity.py", "adapters/*at_rest.py", "adapters/memkit_front_door.py"),
    "crash": ("suites/crash.py", "suites/outages.py", "power.py"),
    "known-bugs": ("suites/known_bugs.py",),
    "cost": ("suites/cost.py", "suites/recall.py"),
}
"""The files of a suite, if it is not a single one of its name."""
EVERYWHERE = ("interface.py", "subject.py", "trial.py", "worker.py", "nursery.py", "environments.py", "runner.py")


def _digest_of_sources(system: System, suite: str) -> str:
    """Return a digest of an answer's sources: memkit, the runner, the adapter, the suite."""
    names = [*EVERYWHERE, *PARTS.get(suite, (f"suites/{suite}.py",))]
    names += [f"adapters/{system.adapter.partition(':')[0].rpartition('.')[2]}.py"]
    names += ["adapters/memkit_files.py", "../memkit/**/*.py"] if system.is_ours else []
    names += ["servers.py"] if system.server else []
    found = hashlib.sha256(repr(system).encode())
    for path in sorted({path for name in names for path in (ROOT / "closure").glob(name)}):
        found.update(str(path.relative_to(ROOT / "closure")).encode() + path.read_bytes())
    return found.hexdigest()[:16]


ENVIRONMENT = ("set-up", "no-network", "own-folder")
LONG = ("poisoning", "crash", "cost")
UNASKED = "not asked: the time of the run was over; the command asks it"


def now() -> str:
    """Return the time, in minutes."""
    return datetime.now(UTC).strftime("%Y-%m-%d %H:%M")


def run(plan: Plan, kept: Kept | None, tell: Callable[[str], None]) -> list[Cell]:
    """Return every cell of the plan, in the order of systems and suites."""
    environments.compile_sources()
    manners = {system.name: Manners() for system in plan.systems}
    known = kept.cells(manners) if kept else {}

    stopped = threading.Event()

    def ask(system: System, suite: Suite) -> list[Cell]:
        cells: list[Cell] = []
        began = time.monotonic()
        for cell in _cells_of(system, suite, plan, known, manners[system.name]):
            if stopped.is_set():
                break  # what ended the run may have ended the system, so this is no answer
            if kept and cell.id not in known and cell.reason != UNASKED:
                kept.add(cell, manners[system.name], time.monotonic() - began)
            cells.append(cell)
            tell(f"{cell.result:8}{time.monotonic() - began:5.0f} s  {cell.id}: {cell.reason}")
            began = time.monotonic()
        return cells

    done: dict[str, list[Cell]] = {system.name: [] for system in plan.systems}
    with ThreadPoolExecutor(max(1, plan.jobs)) as pool:
        # A run whose time is over has asked every system what is asked first.
        suites = sorted(plan.suites, key=lambda suite: suite.name in LONG)
        pieces = [(one, piece) for suite in suites for one in plan.systems for piece in _pieces(suite)]
        asked = [(one, piece, pool.submit(ask, one, piece)) for one, piece in pieces]
        order = [suite.name for suite in plan.suites]
        try:
            for system, _, cells in sorted(asked, key=lambda piece: order.index(piece[1].name)):
                done[system.name] += cells.result()
        except BaseException:
            stopped.set()
            pool.shutdown(wait=False, cancel_futures=True)
            raise
    for system in plan.systems:
        done[system.name] += _environment(system, plan, manners[system.name])
    return [cell for system in plan.systems for cell in done[system.name]]


def _pieces(suite: Suite) -> list[Suite]:
    """Return a suite in pieces of work: one per case if a case takes long, so that no piece is left over at the end."""
    return [replace(suite, cases=(case,)) for case in suite.cases] if suite.name in LONG else [suite]


def _cells_of(system: System, suite: Suite, plan: Plan, known: Mapping[str, Cell], manners: Manners) -> Iterator[Cell]:
    """Yield the cells of one system and one suite; none if the system is not run here."""
    wanted = [
        case for case in suite.cases
        if (not case.only or system.name in case.only)
        and (not system.suites or suite.name in system.suites)
        and (not plan.cases or f"{system.name}/{suite.name}/{case.id}" in plan.cases)
    ]  # fmt: skip
    for case in wanted:
        cell = _cell(plan, system, suite.name, case.id)
        if cell.id in known:
            yield known[cell.id]
        elif time.monotonic() > plan.until:
            yield replace(cell, reason=UNASKED)
        elif manners.absence(system):
            return
        else:
            yield _asked(cell, case, system, plan, manners)


def _environment(system: System, plan: Plan, manners: Manners) -> Iterator[Cell]:
    """Yield how a system was set up and what it reached for, or why it is not run here."""
    here = _cell(plan, system, "environment", "set-up")
    if plan.cases and not any(cell.startswith(f"{system.name}/") for cell in plan.cases):
        return
    if time.monotonic() > plan.until and not manners.is_looked_at:
        yield from (replace(_cell(plan, system, "environment", case), reason=UNASKED) for case in ENVIRONMENT)
        return
    if reason := manners.absence(system):
        yield replace(here, result=SKIPPED, reason=f"not run here: {reason}")
        return
    yield replace(here, result=PASS, reason=", ".join((*system.packages, *system.model)) or "of this checkout")
    if not plan.cases:
        yield from manners.cells(plan, system)


class Manners:
    """Whether a system runs here, and what it wanted to reach: other machines, and files outside its folder."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.outside: list[str] = []
        self._absence: str | None = None
        self._lock = threading.Lock()

    @property
    def is_looked_at(self) -> bool:
        """Return whether it is already known if it runs here."""
        return self._absence is not None

    def absence(self, system: System) -> str:
        """Return why a system is not run here, empty if it is; checked once."""
        with self._lock:
            if self._absence is None:
                self._absence = self._looked(system)
            return self._absence

    def _looked(self, system: System) -> str:
        try:
            python = environments.python_of(list(system.packages), system.python)
            servers.require(system.server)
            if system.model:
                environments.model_of(system.model)
        except environments.NotHereError as reason:
            return str(reason)
        if not system.asks_model:
            return ""
        with Subject(system.adapter, python) as subject:
            try:
                subject.call("remember", user="ada", text="Ada lives in Rome")
            except SystemFailedError as failed:
                said = f"set up as documented, without one and without a key, it says: {str(failed)[:200]}"
                return f"it asks a model for every text; {said}"
        return ""

    def note(self, asked: Sequence[str], outside: Sequence[str]) -> None:
        """Record what a subject did."""
        with self._lock:
            self.asked += [place for place in asked if place not in self.asked]
            self.outside += [path for path in outside if path not in self.outside]

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


PATIENCE = 300.0
"""Time limit in seconds of one cell of another system; memkit's own are completed."""


def _asked(cell: Cell, case: Case, system: System, plan: Plan, manners: Manners) -> Cell:
    """Return the cell with its result: an answer, what the system cannot do, or a fault of the case itself."""
    python = environments.python_of(list(system.packages), system.python)
    began = time.monotonic()

    @contextmanager
    def opened() -> Iterator[Subject]:
        with Subject(system.adapter, python, dict(variables)) as subject:
            subject.patience = float("inf") if system.is_ours else began + on_this_machine(PATIENCE) - time.monotonic()
            yield subject
        manners.note(subject.asked, subject.outside)

    try:
        # A separate server for each case: another one's log must not affect this one.
        with servers.running(system.server) as beside:
            variables = {**beside, **({"CLOSURE_STORE": str(servers.new_store())} if system.is_ours else {})}
            if system.model:
                variables["CLOSURE_MODEL"] = str(environments.model_of(system.model))
            verdict = case.ask(Trial(system, opened, plan.seed, plan.share, plan.data))
    except CannotError as cannot:
        verdict, cell = None, replace(cell, result=SKIPPED, reason=f"cannot: {cannot}")
    except environments.NotHereError as missing:  # for a control too: a machine without a tool is no wrong question
        return replace(cell, result=SKIPPED, reason=f"not run here: {missing}")
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
