"""The journal of runs: what is written comes back, and nothing in the file keeps it from being read."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from memkit.skills.runs import SUCCEEDED, RunLog, statistics
from memkit.skills.skill import Skill

SKILL = Skill("tea", "Makes tea.", ("Boil", "Pour", "Wait"), version="1.0.0")
NOW = datetime(2026, 3, 1, tzinfo=UTC)
scalars = st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=5), st.just([]))
keys = st.sampled_from(["run", "event", "at", "version", "digest", "user_id", "session_id", "first", "step", "outcome"])
events = st.fixed_dictionaries({"event": st.sampled_from(["begin", "step", "undone", "end", "?"])})
entries = st.builds(lambda event, values: {**values, **event}, events, st.dictionaries(keys, scalars))


def log_in(folder: Path) -> RunLog:
    """Return a journal with a clock that stands still."""
    return RunLog(folder, lambda: NOW)


@settings(deadline=None)  # every line is synced
@given(st.lists(st.tuples(st.integers(0, 3), st.sampled_from([None, SUCCEEDED, "failed", "denied"])), max_size=6))
def test_what_is_written_comes_back(wanted: list[tuple[int, str | None]]) -> None:
    """Each run with the steps it completed and how it ended; the counts add up."""
    with TemporaryDirectory() as folder:
        log = log_in(Path(folder))
        for done, outcome in wanted:
            run = log.begin(SKILL, user="ada", session="s", first=1)
            for step in range(1, done + 1):
                run.step_passed(step, is_done=True)
            if outcome:
                run.end(outcome)
        runs = log.runs("tea")

    assert [(len(run.done), run.outcome) for run in runs] == wanted
    assert [run.next_step for run in runs] == [done + 1 for done, _ in wanted]
    counted = statistics("tea", runs)
    assert counted.succeeded + counted.failed + counted.unfinished == counted.runs == len(wanted)
    assert (counted.success_rate is None) == (counted.runs == counted.unfinished)
    assert sum(counted.stopped_at.values()) == counted.failed


@settings(deadline=None)
@given(st.lists(st.one_of(entries.map(json.dumps).map(str.encode), st.binary(max_size=40)), max_size=8))
def test_no_line_keeps_the_others_from_being_read(lines: list[bytes]) -> None:
    """Torn, foreign and hostile lines are passed over, and a new run can be added after them."""
    with TemporaryDirectory() as folder:
        log = log_in(Path(folder))
        (Path(folder) / "tea.jsonl").write_bytes(b"\n".join(lines))
        log.begin(SKILL, user=None, session="mine", first=2).end(SUCCEEDED)
        runs = log.runs("tea")
        counted: Any = statistics("tea", runs)

    assert [run.outcome for run in runs if run.session_id == "mine" and run.first == 2] == [SUCCEEDED]
    assert counted.runs == len(runs)


def test_runs_go_by_themselves_in_files_that_only_their_owner_reads(tmp_path: Path) -> None:
    """Who ran what is nobody else's business."""
    log = log_in(tmp_path / "skills")
    log.begin(SKILL, user="ada", session="s", first=1)

    assert log.names() == ["tea"]
    assert (tmp_path / "skills").stat().st_mode & 0o777 == 0o700
    assert (tmp_path / "skills" / "tea.jsonl").stat().st_mode & 0o777 == 0o600
