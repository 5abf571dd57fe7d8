"""The runs of skills on this machine: a journal that survives a kill, and statistics from it.

One file per skill, one JSON object per line: a run begins, each completed step follows, the run ends. It records
which steps were done, but not what was said in them.
"""

from __future__ import annotations

import hashlib
import json
import os
import secrets
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path
from typing import Any

from memkit.skills.skill import Skill

SUCCEEDED = "succeeded"


@dataclass(frozen=True)
class JournalledRun:
    """One run, as far as it came."""

    id: str
    at: str
    version: str | None
    digest: str
    """The digest of the skill's steps: a changed text has other steps to continue with."""
    user_id: str | None
    session_id: str
    first: int
    """The first step of the run, from 1."""
    done: tuple[int, ...] = ()
    """The steps that were completed."""
    undone: tuple[int, ...] = ()
    """The steps that were passed over, because nothing was done for them."""
    outcome: str | None = None
    """succeeded | incomplete | failed | denied; None for a run that was killed or is still running."""

    @property
    def next_step(self) -> int:
        """Return the first step that was not reached."""
        return max((*self.done, *self.undone), default=self.first - 1) + 1

    @property
    def stopped_at(self) -> int:
        """Return the first step that was not completed."""
        return min(self.undone, default=self.next_step)


@dataclass(frozen=True)
class RunStatistics:
    """The statistics of one skill's runs."""

    name: str
    runs: int = 0
    succeeded: int = 0
    failed: int = 0
    """Runs that stopped at a failed or denied step, or passed over a step for which nothing was done."""
    unfinished: int = 0
    success_rate: float | None = None
    """The share of completed runs; None before the first one ended."""
    last_used: str | None = None
    stopped_at: dict[int, int] = field(default_factory=dict)
    """Step → how many runs stopped there."""
    versions: dict[str, dict[str, int]] = field(default_factory=dict)
    """Version → its runs, and how many of them succeeded."""


class RunLog:
    """The journal of all skills, in one folder."""

    def __init__(self, folder: Path, clock: Callable[[], datetime]) -> None:
        self._folder = folder
        self._clock = clock

    def begin(self, skill: Skill, *, user: str | None, session: str, first: int) -> OpenRun:
        """Record that a run begins, and return the object that records its steps."""
        run_id, at = secrets.token_hex(6), self._clock().isoformat().replace("+00:00", "Z")
        opened = OpenRun(self._folder / f"{skill.name}.jsonl", run_id, user)
        opened.write(
            "begin", at=at, version=skill.version, digest=steps_digest(skill.steps), session_id=session, first=first
        )
        return opened

    def runs(self, name: str) -> list[JournalledRun]:
        """Return the runs of a skill, oldest first."""
        found: dict[str, JournalledRun] = {}
        for entry in _entries(self._folder / f"{name}.jsonl"):
            run = _continued(found.get(str(entry.get("run"))), entry)
            if run is not None:
                found[run.id] = run
        return list(found.values())

    def names(self) -> list[str]:
        """Return the skills that were ever run here."""
        return sorted(path.stem for path in self._folder.glob("*.jsonl"))


class OpenRun:
    """A run in progress."""

    def __init__(self, path: Path, run_id: str, user: str | None) -> None:
        self.id = run_id
        self._path = path
        self._user = user

    def step_passed(self, number: int, *, is_done: bool) -> None:
        """Record that a step was completed or passed over, before the next one begins; a kill repeats neither."""
        self.write("step" if is_done else "undone", step=number)

    def end(self, outcome: str) -> None:
        """Record the outcome of the run."""
        self.write("end", outcome=outcome)

    def write(self, event: str, **values: Any) -> None:
        """Append one line and wait until it is on the disk."""
        line = {"run": self.id, "event": event, "user_id": self._user, **values}
        _append(self._path, json.dumps(line, ensure_ascii=False, sort_keys=True))


def statistics(name: str, runs: Sequence[JournalledRun]) -> RunStatistics:
    """Return the statistics of a skill's runs."""
    ended = [run for run in runs if run.outcome is not None]
    succeeded = [run for run in ended if run.outcome == SUCCEEDED]
    stopped = Counter(run.stopped_at for run in ended if run.outcome != SUCCEEDED)
    return RunStatistics(
        name,
        runs=len(runs),
        succeeded=len(succeeded),
        failed=len(ended) - len(succeeded),
        unfinished=len(runs) - len(ended),
        success_rate=round(len(succeeded) / len(ended), 4) if ended else None,
        last_used=max((run.at for run in runs), default=None),
        stopped_at=dict(sorted(stopped.items())),
        versions=_by_version(runs),
    )


def steps_digest(steps: Iterable[str]) -> str:
    """Return a digest that identifies a list of steps."""
    return hashlib.sha256(json.dumps(list(steps)).encode()).hexdigest()[:16]


def _by_version(runs: Sequence[JournalledRun]) -> dict[str, dict[str, int]]:
    counts: dict[str, dict[str, int]] = {}
    for run in runs:
        of = counts.setdefault(run.version or "-", {"runs": 0, "succeeded": 0})
        of["runs"] += 1
        of["succeeded"] += run.outcome == SUCCEEDED
    return counts


def _continued(run: JournalledRun | None, entry: dict[str, Any]) -> JournalledRun | None:
    """Return a run with one more line of the journal applied; a line that does not fit changes nothing."""
    try:
        match entry.get("event"):
            case "begin":
                return JournalledRun(
                    str(entry["run"]), str(entry["at"]), _text(entry["version"]), str(entry["digest"]),
                    _text(entry["user_id"]), str(entry["session_id"]), int(entry["first"]),
                )  # fmt: skip
            case "step" if run is not None:
                return replace(run, done=(*run.done, int(entry["step"])))
            case "undone" if run is not None:
                return replace(run, undone=(*run.undone, int(entry["step"])))
            case "end" if run is not None:
                return replace(run, outcome=str(entry["outcome"]))
    except (KeyError, TypeError, ValueError, OverflowError):
        return run
    return run


def _text(value: Any) -> str | None:
    return None if value is None else str(value)


def _entries(path: Path) -> Iterator[dict[str, Any]]:
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        return
    for line in content.split(b"\n"):
        try:
            entry = json.loads(line)
        except ValueError:
            continue  # the torn last line of a killed process
        if isinstance(entry, dict):
            yield entry


def _append(path: Path, line: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    handle = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        size = os.fstat(handle).st_size
        torn = size > 0 and os.pread(handle, 1, size - 1) != b"\n"
        os.write(handle, ("\n" * torn + line + "\n").encode("utf-8", "backslashreplace"))
        os.fsync(handle)
    finally:
        os.close(handle)
