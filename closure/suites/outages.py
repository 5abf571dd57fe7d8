"""Power failure, a full disk, a clock that jumps: acknowledged texts are present, and the memory still works."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

from closure.environments import NotHereError
from closure.interface import CannotError
from closure.power import Answered, Recording, Wrote, put, record
from closure.subject import Subject, SystemFailedError
from closure.suites import crash
from closure.systems import EVERYTHING, NOTHING
from closure.trial import Case, Suite, Trial, Verdict

STATES = 200
"""States of the disk after a power failure; some are the worst: just after an answer, everything unsynced is gone."""
BASE = "Ada keeps a base in the barn"
TOLD = [f"Shelf p{number} holds crate q{number}" for number in range(4)]
WHOLE = re.compile(
    r"Ada (?:keeps a base in the barn|goes on in the garden)|Shelf p(\d+) holds crate q\1(?: and a lamp)*"
)


def power_fails(trial: Trial) -> Verdict:
    """Reconstruct random states that a disk may have after a power failure, and open the memory on each."""
    if not shutil.which("strace"):
        raise NotHereError("strace is not installed (apt-get install strace)")
    with trial.open() as subject:
        if subject.server:
            raise CannotError("what it keeps is written by the server, whose durability is not asked here")
        subject.call("remember", user="ada", text=BASE)
        subject.restart()
        asked, trace = crash.lines_of(TOLD), subject.top / "trace"
        try:
            recording = record(subject.command(), asked, subject.folder, subject.environment(), trace)
        except subprocess.TimeoutExpired:
            raise CannotError("below strace it does not come to an end in two minutes") from None
        if recording.unseen:
            raise CannotError(f"its writes cannot be followed: {', '.join(recording.unseen[:2])} is mapped into memory")
        wrong: list[str] = []
        states = _states(trial, recording)
        for until, worst in states:
            chance = None if worst else trial.chance(f"state {until} {len(wrong)}")
            put(subject.folder, *recording.state(until, chance))
            if found := _after_power(subject, recording, until):
                wrong.append(f"after {until} of {len(recording.events)} events: {found}")
    said = f"{len(wrong)} of {len(states)} states of the disk lost or broke something (seed {trial.seed})"
    return Verdict(not wrong, said + (f"; {wrong[0][:200]}" if wrong else ""))


def _states(trial: Trial, recording: Recording) -> list[tuple[int, bool]]:
    """Return after which event the power fails, and whether everything unsynced is gone then."""
    answers = [place + 1 for place, event in enumerate(recording.events) if isinstance(event, Answered)]
    if not answers:
        raise SystemFailedError("it acknowledged nothing")
    if not any(isinstance(event, Wrote) for event in recording.events):
        # Nothing was written, and all was acknowledged: one state shows it.
        return [(answers[-1], True)]
    chance = trial.chance("power")
    count = trial.count(STATES, 2 * len(answers))
    drawn = [(chance.randint(1, len(recording.events)), False) for _ in range(count - len(answers))]
    return [(place, True) for place in answers] + drawn


def _after_power(subject: Subject, recording: Recording, until: int) -> str:
    """Return what is wrong with the present memory; empty if nothing is."""
    answered = sum(isinstance(event, Answered) for event in recording.events[:until])
    try:
        held = subject.call("read_apart", user="ada")
        missing = [text for text in [BASE, *TOLD[:answered]] if text not in held]
        half = [text for text in held if not WHOLE.fullmatch(text)]
        if missing or half:
            return f"{(missing or half)[0][:60]!r} is {'gone' if missing else 'half'}"
        subject.call("remember", user="ada", text="Ada goes on in the garden")
        goes_on = "Ada goes on in the garden" in subject.call("export", user="ada")
        subject.restart()
    except SystemFailedError as failed:
        subject.kill()
        return f"it says {str(failed)[:140]}"
    return "" if goes_on else "it does not go on"


DISK, ROUNDS, MOST = 64, 20, 60
"""Megabytes of the disk, how often it is filled, and the most texts until one has to be refused."""
ROOM, LENGTH = 24 * 1024, 40
"""The most bytes left free, and how often the words are repeated so that a text is long enough to fill them."""


def disk_full(trial: Trial) -> Verdict:
    """Fill a small disk except for a random rest, write until a text is refused, make room, and continue."""
    if not shutil.which("unshare") or os.uname().sysname != "Linux":
        raise NotHereError("this machine gives no disk of its own (apt-get install util-linux)")
    chance = trial.chance("disk")
    rounds = trial.count(ROUNDS, 2)
    kept, refused = [BASE], 0
    with trial.open() as subject:
        if subject.server:
            raise CannotError("what it keeps lies on the server's disk, which is not filled here")
        subject.disk = DISK
        subject.call("remember", user="ada", text=BASE)
        for one in range(rounds):
            subject.call("fill", leave=chance.randrange(ROOM))
            told, said_no = _until_refused(subject, one)
            kept, refused = kept + told, refused + said_no
            subject.call("fill", leave=-1)
            after = _long(f"{one}999")
            subject.call("remember", user="ada", text=after)
            kept.append(after)
            held = subject.call("read_apart", user="ada")
            missing = [text for text in kept if text not in held]
            half = [text for text in held if not WHOLE.fullmatch(text)]
            if missing or half:
                what = f"{(missing or half)[0][:60]!r} is {'gone' if missing else 'half'}"
                return Verdict(False, f"after filling it {one + 1} times {what} (seed {trial.seed})")
    if not refused:
        raise CannotError("it writes nothing that fills a disk")
    said = f"0 of {len(kept)} acknowledged texts lost, {refused} of {rounds} times it said that the disk is full"
    return Verdict(True, f"{said}, and it went on each time (seed {trial.seed})")


def _until_refused(subject: Subject, one: int) -> tuple[list[str], int]:
    """Return what was acknowledged on a disk that fills up, and whether a text was refused in the end."""
    told: list[str] = []
    for number in range(MOST):
        text = _long(f"{one}{number:03}")
        try:
            subject.call("remember", user="ada", text=text)
        except SystemFailedError:
            if not subject.is_running:
                # It crashed or hung, and its disk was lost with it.
                raise
            return told, 1
        told.append(text)
    return told, 0


def _long(number: str) -> str:
    return f"Shelf p{number} holds crate q{number}" + " and a lamp" * LENGTH


JUMPS = ("-400d", "+400d", "-20y", "+10y")


def clock_jumps(trial: Trial) -> Verdict:
    """Let the clock be wrong while something is stated and corrected, and right again when it is asked."""
    fake = next(Path("/usr/lib").glob("*/faketime/libfaketimeMT.so.1"), None)
    if fake is None:
        raise NotHereError("libfaketime is not installed (apt-get install faketime)")
    for jump in JUMPS:
        try:
            wrong = _with_jump(trial, fake, jump)
        except SystemFailedError as failed:
            if "Invalid argument" not in str(failed):
                raise
            # libfaketime 0.9.10 refuses the absolute clock_nanosleep(2) by which Python sleeps; no system did that.
            raise NotHereError("the library that turns the clock breaks sleeping, so nothing is known") from None
        if wrong:
            return Verdict(False, f"clock {jump}, {wrong}")
    return Verdict(True, f"told, corrected and asked with the clock at {', '.join(JUMPS)}, and right again")


def _with_jump(trial: Trial, fake: Path, jump: str) -> str:
    """Return what is wrong with a memory whose clock jumped; empty if nothing is."""
    with trial.open() as subject:
        subject.call("remember", user="ada", text="Ada lives in Rome")
        name = subject.call("remember", user="ada", text="Ada owns a boat called Wanda")
        subject.restart()
        right = dict(subject.variables)
        subject.variables |= {"LD_PRELOAD": str(fake), "FAKETIME": jump, "FAKETIME_DONT_FAKE_MONOTONIC": "1"}
        subject.call("correct", user="ada", name=name, text="Ada owns a boat called Perla")
        subject.call("remember", user="ada", text="Ada rents a flat in Basel")
        for then in (jump, "then"):
            found = subject.call("export", user="ada")
            asked = subject.call("recall", user="ada", query="Ada owns a boat called")
            if wrong := _wrong_values(found, asked):
                return f"asked at {then}: {wrong}"
            subject.restart()
            subject.variables = right
    return ""


def _wrong_values(found: list[str], asked: list[str]) -> str:
    for value in ("Rome", "Perla", "Basel"):
        if not any(value in text for text in found):
            return f"{value!r} is gone"
    if any("Wanda" in text for text in [*found, *asked]):
        return "the old value is back"
    return "" if any("Perla" in text for text in asked) else "the new value is not found"


SUITE = Suite(
    "crash",
    "The writer is killed, calls of the disk fail, several write at once, the power fails, the disk is full, the clock "
    "jumps. A text counts as acknowledged when the call that remembers it came back. The seed is in the answer, so the "
    "same kills can be drawn; where a kill strikes depends on the machine, and a failure says at which kill.",
    (
        Case("kills", "What was acknowledged before a kill -9 is there, whole, and the memory opens.",
             crash.killed_at_random, frozenset({NOTHING})),
        Case("failing-calls", "When a call that writes is killed, or fails with EIO or ENOSPC, nothing acknowledged is "
             "lost, and the memory goes on.", crash.failing_calls),
        Case("many-writers", "What four processes wrote at once and saw acknowledged is there.", crash.many_writers,
             frozenset({NOTHING})),
        # The control that forgets nothing never syncs what it wrote, nor checks it.
        Case("power-loss", "Whatever of the writes the disk may hold when the power fails, nothing acknowledged is "
             "lost, and the memory opens and goes on.", power_fails, frozenset({NOTHING, EVERYTHING})),
        Case("full-disk", "On a full disk a text is refused and nothing else is lost; with room again it goes on.",
             disk_full, frozenset({NOTHING, EVERYTHING})),
        Case("clock", "With a clock that is years off nothing told is lost, and a correction holds.", clock_jumps,
             frozenset({NOTHING, EVERYTHING})),
    ),
)  # fmt: skip
