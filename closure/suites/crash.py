"""Kills at any moment, and failing system calls: acknowledged texts are present, and the memory still works."""

from __future__ import annotations

import contextlib
import json
import os
import random
import re
import shutil
import signal
import subprocess
import time
from collections import Counter
from pathlib import Path
from typing import Any

from closure.environments import NotHereError
from closure.interface import CannotError
from closure.subject import HUNG, Subject, SystemFailedError
from closure.trial import Trial, Verdict

KILLS = 2_000
TOGETHER = 25
"""Kills of one memory, before a new one is begun: reading all of it after each kill would become ever slower."""
FAULTS = {"kill": "signal=SIGKILL", "EIO": "error=EIO", "ENOSPC": "error=ENOSPC"}
CALLS = "write,pwrite64,writev,fsync,fdatasync,ftruncate,rename,renameat,unlink,unlinkat,mkdir,mkdirat"
POINTS = 120
"""The number of points for each fault, spread over the calls that write."""


def killed_at_random(trial: Trial) -> Verdict:
    """Kill a writer after a random moment, repeatedly; after each kill read what was acknowledged."""
    chance = trial.chance("kills")
    kills = trial.count(KILLS, max(4, round(200 * trial.system.part)))
    lost = acknowledged = broken = 0
    first = ""
    for begun in range(0, kills, TOGETHER):
        with trial.open() as subject:
            told: list[str] = []
            for number in range(begun, min(begun + TOGETHER, kills)):
                told += _killed_once(subject, f"k{number}", chance)
                try:
                    held = set(subject.call("read_apart", user="ada"))
                except SystemFailedError as failed:
                    broken += 1
                    first = first or f"after kill {number} it does not open: {failed}"
                    break
                missing = [text for text in told if text not in held]
                half = [text for text in held if not re.fullmatch(r"Shelf k(\d+)x\d+ holds crate k\1y\d+", text)]
                lost += len(missing)
                if missing or half:
                    first = (
                        first
                        or f"after kill {number}: {(missing or half)[0][:60]!r} is {'gone' if missing else 'half'}"
                    )
                    break
            acknowledged += len(told)
    if not acknowledged:
        return Verdict(False, "it acknowledged nothing")
    said = f"{lost} of {acknowledged} acknowledged texts lost, {broken} memories that do not open"
    said += f", in {kills} kills (seed {trial.seed})"
    return Verdict(not lost and not broken and not first, said + (f"; {first}" if first else ""))


def _killed_once(subject: Subject, tag: str, chance: random.Random) -> list[str]:
    """Let it write in a child, kill that after a moment, and return what it acknowledged.

    One kill in five occurs while the memory is being opened, the others after the first acknowledgement.
    """
    moment, is_early = chance.uniform(0.0, 0.05), chance.random() < 0.2
    subject.send("write_until_killed", user="ada", tag=tag)
    child = _heard(subject)["child"]
    told = [] if is_early else [_heard(subject)["acknowledged"]]
    time.sleep(moment)
    for process in [child, *_below(child)]:
        with contextlib.suppress(ProcessLookupError):
            os.kill(process, signal.SIGKILL)
    while "value" not in (said := _heard(subject)):
        told.append(said["acknowledged"])
    return told


def _below(process: int) -> list[int]:
    """Return the descendants of a process: a server of its own, a git."""
    try:
        started = [int(one) for one in Path(f"/proc/{process}/task/{process}/children").read_text().split()]
    except FileNotFoundError:
        return []
    return [each for one in started for each in (one, *_below(one))]


def _heard(subject: Subject) -> dict[str, Any]:
    said = subject.line(60)
    if "error" in said:
        raise SystemFailedError(said["error"])
    return said


def failing_calls(trial: Trial) -> Verdict:
    """Inject each fault at random writing calls: acknowledged texts are present, and it still works."""
    if not shutil.which("strace"):
        raise NotHereError("strace is not installed (apt-get install strace)")
    chance = trial.chance("faults")
    wrong: list[str] = []
    count = 0
    points = trial.count(POINTS, 2)
    with trial.open() as subject:
        subject.call("remember", user="ada", text="Ada keeps a base in the barn")
        subject.restart()
        base = subject.top / "base"
        shutil.copytree(subject.folder, base, symlinks=True)
        calls = _calls_of(subject)
        if not calls:
            raise CannotError("it makes no call that writes to the disk")
        for fault in FAULTS:
            before = count
            for _ in range(points):
                name = chance.choice(sorted(calls))
                when = chance.randrange(calls[name]) + 1
                shutil.rmtree(subject.folder)
                shutil.copytree(base, subject.folder, symlinks=True)
                injected = f"{name}:{FAULTS[fault]}:when={when}{'+' if fault == 'ENOSPC' else ''}"
                found = _struck(subject, injected)
                count += found is not None  # a run may make fewer calls than the one that was counted
                if found:
                    wrong.append(f"{fault} at {name} {when}: {found}")
            if count == before:
                raise RuntimeError(f"strace injected no {fault} into {points} runs")
    said = f"{len(wrong)} of {count} faults lost or broke something (seed {trial.seed})"
    return Verdict(not wrong, said + (f"; {wrong[0][:200]}" if wrong else ""))


NEW = "Ada keeps a kite in the cellar"


def _once(subject: Subject, follow: list[str]) -> str:
    """Let a new process, traced by strace from before it opens the memory, remember one text and end.

    Return its message if it does not acknowledge the text.
    """
    subject.start()
    strace = ["strace", "-f", "-qq", *follow, "-p", str(subject.pid)]
    said = ""
    with subprocess.Popen(strace, stderr=subprocess.PIPE, text=True, start_new_session=True) as following:
        assert following.stderr
        status = Path(f"/proc/{subject.pid}/status")
        while re.search(r"^TracerPid:\t0$", status.read_text(), re.M):
            if following.poll() is not None:
                raise NotHereError(f"strace may not follow a process: {following.stderr.read()[:120]}")
            time.sleep(0.005)
        try:
            subject.call("remember", user="ada", text=NEW)
        except SystemFailedError as failed:
            said = str(failed)
        try:
            subject.restart()
        except SystemFailedError:
            pass  # what failed before may fail once more; what counts is what is stored afterwards
        finally:
            subject.kill()
    return said


def lines_of(texts: list[str]) -> str:
    """Return a worker's input for remembering texts and ending."""
    calls = [{"call": "remember", "given": {"user": "ada", "text": text}} for text in texts]
    return "".join(json.dumps(call) + "\n" for call in [*calls, {"call": "close", "given": {}}])


def _calls_of(subject: Subject) -> Counter[str]:
    """Return how often one process makes each file-writing call while one text is remembered."""
    trace = subject.top / "trace"
    _once(subject, ["-y", "-o", str(trace), "-e", f"trace={CALLS}"])
    found: dict[str, Counter[str]] = {}
    for line in trace.read_text(errors="replace").splitlines():
        match = re.match(r"(\d+) +(\w+)\((?!\d+<(?:pipe|socket))", line)
        if match and str(subject.folder) in line:
            found.setdefault(match[1], Counter())[match[2]] += 1
    most: Counter[str] = Counter()
    for each in found.values():
        most |= each
    return most


def _struck(subject: Subject, injected: str) -> str | None:
    """Return what is wrong after a fault, empty if nothing is, and None if the fault did not occur."""
    call, trace = injected.partition(":")[0], subject.top / "injected"
    said = _once(subject, ["-o", str(trace), "-e", f"trace={call}", "-e", f"inject={injected}"])
    if not re.search(r"\(INJECTED\)|killed by SIGKILL", trace.read_text(errors="replace")):
        return None
    if said.startswith(HUNG):
        return said
    try:
        held = subject.call("export", user="ada")
        missing = [text for text in ("Ada keeps a base in the barn", *([] if said else [NEW])) if text not in held]
        subject.call("remember", user="ada", text="Ada goes on in the garden")
        goes_on = "Ada goes on in the garden" in subject.call("export", user="ada")
    except SystemFailedError as failed:
        return f"afterwards it says {str(failed)[:120]}"
    finally:
        subject.kill()
    return f"{missing[0]!r} is gone" if missing else "" if goes_on else "it does not go on"


def many_writers(trial: Trial) -> Verdict:
    """Let four processes write to one memory at once: each acknowledged text is present."""
    writers, each = 4, 25
    with trial.open() as subject:
        subject.call("remember", user="ada", text="Ada keeps a base in the barn")
        subject.restart()
        texts = [
            [f"Shelf w{one}x{number} holds crate w{one}y{number}" for number in range(each)] for one in range(writers)
        ]
        running = [subject.process() for _ in texts]
        for process, told_by_one in zip(running, texts, strict=True):
            assert process.stdin
            process.stdin.write(lines_of(told_by_one).encode())
            process.stdin.close()
        told, refused = [], 0
        for one, process in enumerate(running):
            assert process.stdout
            lines = process.stdout.read().decode().splitlines()[1:]
            process.wait(120)
            for number, line in enumerate(lines[:each]):
                if '"value"' in line:
                    told.append(f"Shelf w{one}x{number} holds crate w{one}y{number}")
                else:
                    refused += 1
        held = set(subject.call("export", user="ada"))
    lost = [text for text in told if text not in held]
    said = f"{len(lost)} of {len(told)} acknowledged texts of {writers} writers lost, {refused} refused"
    return Verdict(bool(told) and not lost, said)
