"""Kill memkit, and the gits it starts, at every writing system call, or let the call fail: nothing is lost.

``strace`` injects the faults, so they affect SQLite and git as well as memkit. A point is a process (memkit is number
0, the gits follow in order of their start), a call, and its ordinal number; one run without a fault lists them all.
After each fault the store is checked as a person would: every acknowledged record is present, and no half record;
the next write, commit and ``fsck`` work; git finds its objects whole.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from table import print_rows

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from memkit.cli.main import run
from tests.privacy.traces import BOB, TEXT, leaking

FAULTS = {"SIGKILL": "signal=SIGKILL", "EIO": "error=EIO", "ENOSPC": "error=ENOSPC"}
TAKING_ROOM = {"write", "pwrite64", "writev", "pwritev", "openat", "mkdir", "mkdirat", "link", "linkat", "symlink",
               "symlinkat", "fsync", "fdatasync", "ftruncate", "fallocate", "copy_file_range", "sendfile"}  # fmt: skip
WRITING = TAKING_ROOM | {"rename", "renameat", "renameat2", "unlink", "unlinkat", "rmdir", "truncate", "chmod",
                         "fchmod"}  # fmt: skip
MAKING = re.compile(r"O_CREAT|O_WRONLY|O_RDWR|O_TRUNC")
PIPE = re.compile(r"^[^(]*\(\d+<(pipe|socket):")
CALL = re.compile(r"(?P<whose>\d* *)(?P<call>\w+)\(")
MOVED, NEW, LATER = "Alice moved it to quokka street 99812", "Alice has a kite now", "Alice goes on"
GIT = """#!/bin/sh
printf . >> "$FAULTS/gits"
number=$(wc -c < "$FAULTS/gits")
test "$FAULTS_IN" = all || test "$FAULTS_IN" -eq "$number" || exec {git} "$@"
exec strace -f -qq -o "$FAULTS/$number" $FAULTS_ASKED {git} "$@"
"""


class Point(NamedTuple):
    """Where a fault strikes."""

    process: int
    call: str
    number: int
    to_pipe: bool = False
    """Whether it writes to another process, which only a kill can disturb."""


class Ended(NamedTuple):
    """The result of a command."""

    code: int
    said: str


class Trial:
    """A store, and its machine's keys, restored to their place before each fault."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.store, self._kept = folder / "now" / "store", folder / "kept"
        (folder / "bin").mkdir(parents=True)
        (folder / "now").mkdir()
        git = folder / "bin" / "git"
        git.write_text(GIT.format(git=shutil.which("git")))
        git.chmod(0o755)
        identity = {f"GIT_{who}_{what}": "trial@example.org" for who in ("AUTHOR", "COMMITTER")
                    for what in ("NAME", "EMAIL")}  # fmt: skip
        os.environ.update(identity | {"XDG_CONFIG_HOME": str(folder / "now" / "config"), "HOME": str(folder),
                                       "GIT_CONFIG_NOSYSTEM": "1", "MEMKIT_INSTALL": "memkit-agent"})  # fmt: skip
        for name in ("MEMKIT_STORE", "MEMKIT_USER", "MEMKIT_KEYS"):
            os.environ.pop(name, None)
        self.done("init", str(self.store))
        self.known = self.asked("memory", "add", TEXT, "--user", "alice", "--tag", "hiding")["id"]
        self.done("memory", "add", BOB, "--user", "bob")
        self.done("commit")
        self.done("memory", "add", MOVED, "--user", "alice")
        shutil.copytree(folder / "now", self._kept, symlinks=True)

    def put_back(self) -> None:
        """Restore everything; the folder is the same, so it is the same clone."""
        shutil.rmtree(self.folder / "now" / "config", ignore_errors=True)
        for path in self.store.iterdir():
            shutil.rmtree(path) if path.is_dir() else path.unlink()
        shutil.copytree(self._kept, self.folder / "now", symlinks=True, dirs_exist_ok=True)

    def ended(self, *words: str) -> Ended:
        """Run a command in this process, without faults."""
        said = io.StringIO()
        at = [] if words[0] == "init" else ["--store", str(self.store)]
        with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
            code = run([*words, *at])
        return Ended(code, said.getvalue())

    def done(self, *words: str) -> None:
        """Run a command that must succeed."""
        ended = self.ended(*words)
        assert ended.code == 0, ended

    def asked(self, *words: str) -> dict[str, str]:
        """Run a command that must succeed and return its data."""
        ended = self.ended(*words, "--json")
        data: dict[str, str] = json.loads(ended.said.splitlines()[0] if "\n{" not in ended.said else ended.said)["data"]
        return data

    def texts(self, user: str) -> list[str] | None:
        """Return a user's live texts, or None if the store cannot say."""
        with contextlib.redirect_stderr(io.StringIO()), contextlib.redirect_stdout(io.StringIO()) as said:
            if run(["memory", "list", "--user", user, "--json", "--store", str(self.store)]) != 0:
                return None
        return sorted(record["text"] for record in json.loads(said.getvalue())["data"]["records"])

    def struck(self, words: Sequence[str], process: str, asked: str) -> tuple[Ended, dict[int, list[str]]]:
        """Run a command in a process of its own, of which ``strace`` follows one or ``all``, and return what it saw."""
        with tempfile.TemporaryDirectory(dir=self.folder) as scratch:
            environment = {**os.environ, "FAULTS": scratch, "FAULTS_IN": process, "FAULTS_ASKED": asked,
                           "PYTHONDONTWRITEBYTECODE": "1",  # a truncated file would break every later run
                           "PATH": f"{self.folder / 'bin'}:{os.environ['PATH']}",
                           "PYTHONPATH": str(Path(__file__).resolve().parent.parent)}  # fmt: skip
            follow = ["strace", "-qq", "-o", f"{scratch}/0", *asked.split()] if process in ("0", "all") else []
            command = [*follow, sys.executable, "-m", "memkit", *words, "--store", str(self.store)]
            done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=120)
            traces = {int(path.name): path for path in Path(scratch).iterdir() if path.name.isdigit()}
            seen = {number: path.read_text(errors="replace").splitlines() for number, path in sorted(traces.items())}
        return Ended(done.returncode, done.stdout[-300:] + done.stderr[-600:]), seen

    def points(self, words: Sequence[str]) -> list[Point]:
        """Return every writing call in a run of a command without faults."""
        self.put_back()
        found = set()
        for process, lines in self.struck(words, "all", f"-y -e trace={','.join(sorted(WRITING))}")[1].items():
            seen: Counter[tuple[str, str]] = Counter()  # each process that a git starts is counted separately
            for match in filter(None, map(CALL.match, lines)):
                seen[match["whose"], match["call"]] += 1
                is_making = MAKING.search(match.string) and "/dev/null" not in match.string
                if match["call"] != "openat" or is_making:
                    to_pipe = PIPE.search(match.string) is not None
                    found.add(Point(process, match["call"], seen[match["whose"], match["call"]], to_pipe))
        return sorted(found)


COMMANDS = ("add", "supersede", "commit", "erase")


def words_of(command: str, trial: Trial) -> list[str]:
    """Return the command line of a command."""
    return {
        "add": ["memory", "add", NEW, "--user", "alice"],
        "supersede": ["memory", "supersede", trial.known, NEW, "--user", "alice"],
        "commit": ["commit"],
        "erase": ["memory", "erase", "--user", "alice", "--yes"],
    }[command]


def wrongs(trial: Trial, command: str, fault: str, point: Point) -> list[str]:
    """Return what is wrong after a fault; each begins with ``lost``, ``torn``, ``half`` or ``stuck``."""
    before = sorted([TEXT, MOVED])
    trial.put_back()
    ended, _ = trial.struck(words_of(command, trial), str(point.process), injected(fault, point))
    done = {"add": sorted([*before, NEW]), "supersede": sorted({*before, NEW} - {TEXT}), "commit": before, "erase": []}
    found = []
    is_killed = ended.code in (-signal.SIGKILL, 128 + signal.SIGKILL)
    if not is_killed and (ended.code not in (0, 1, 3) or "Traceback" in ended.said):
        found.append(f"half: it ended with {ended}")
    if trial.texts("bob") != [BOB]:
        found.append(f"lost: Bob has {trial.texts('bob')}")
    has = trial.texts("alice")
    if has == before and command != "commit" and ended.code == 0:
        found.append("lost: what was acknowledged is not there")
    elif has not in (before, done[command]):
        found.append(f"{'half' if has is not None else 'lost'}: Alice has {has}")
    if command == "erase":
        if ended.code == 0 and leaking(trial.store):
            found.append(f"half: it said that it was done, and left {leaking(trial.store)[:3]}")
        again = trial.ended(*words_of("erase", trial))
        if again.code not in (0, 1) or leaking(trial.store):
            found.append(f"stuck: erasing again ends with {again} and leaves {leaking(trial.store)[:3]}")
    else:
        for words in (["memory", "add", LATER, "--user", "alice"], ["commit"]):
            if (later := trial.ended(*words)).code != 0:
                found.append(f"stuck: {' '.join(words[:2])} ends with {later}")
    checked = trial.ended("fsck")
    if checked.code != 0:
        found.append(f"torn: fsck says {checked.said}")
    git = ["git", "-C", str(trial.store)]
    objects = subprocess.run([*git, "fsck", "--no-dangling"], capture_output=True, text=True, check=False)
    if objects.returncode or objects.stdout:
        found.append(f"half: git fsck says {objects.stdout}{objects.stderr}")
    status = subprocess.run([*git, "status", "--short", "archive"], capture_output=True, text=True, check=False)
    if status.stdout and command != "erase":
        found.append(f"half: not committed: {status.stdout}")
    return found


def injected(fault: str, point: Point) -> str:
    """Return the ``strace`` option for a fault; a full disk stays full."""
    on = "+" if fault == "ENOSPC" else ""
    return f"-e trace={point.call} -e inject={point.call}:{FAULTS[fault]}:when={point.number}{on}"


def possible(fault: str, points: Sequence[Point]) -> list[Point]:
    """Return the points at which a fault can strike."""
    if fault == "SIGKILL":
        return list(points)
    return [one for one in points if not one.to_pipe and (fault != "ENOSPC" or one.call in TAKING_ROOM)]


def sampled(points: Sequence[Point], each: int, chance: random.Random) -> list[Point]:
    """Return ``each`` points of each process and call, or all if there are fewer or ``each`` is 0."""
    kinds: dict[tuple[bool, str], list[Point]] = {}
    for point in points:
        kinds.setdefault((point.process > 0, point.call), []).append(point)
    chosen = [
        point for kind in kinds.values() for point in (chance.sample(kind, min(each, len(kind))) if each else kind)
    ]
    return sorted(chosen)


def main() -> None:
    """Inject every fault at every point, or at a sample of them, and print their number and what went wrong."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--command", action="append", choices=COMMANDS)
    parser.add_argument("--fault", action="append", choices=FAULTS)
    parser.add_argument("--each", type=int, default=0, help="So many points of each call; without it all of them.")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    rows, told = [], []
    with tempfile.TemporaryDirectory() as folder:
        trial = Trial(Path(folder) / "trial")
        for command in options.command or COMMANDS:
            listed = trial.points(words_of(command, trial))
            for fault in options.fault or FAULTS:
                all_of_it = possible(fault, listed)
                chosen = sampled(all_of_it, options.each, random.Random(options.seed))
                began = time.monotonic()
                wrong = [
                    f"{command} {fault} {tuple(point[:3])}: {why}"
                    for point in chosen
                    for why in wrongs(trial, command, fault, point)
                ]
                told += wrong
                case = f"{command}, {fault} at {len(chosen)} of {len(all_of_it)} calls: lost, torn, half or stuck"
                rows.append({"case": case, "ours": len(wrong), "peer": 0, "ratio": None})
                print(f"{case}: {len(wrong)}, {time.monotonic() - began:.0f} s", file=sys.stderr)
    print_rows(rows, as_json=options.json)
    for why in told:
        print(why, file=sys.stderr)
    sys.exit(1 if told else 0)


if __name__ == "__main__":
    main()
