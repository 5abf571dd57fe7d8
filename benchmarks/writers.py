"""Eight writers of one store at once, each with commits, beside a chat and an erasure: nobody is refused or waits long.

The peer is one writer alone, who does as much as each of the eight.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import multiprocessing
import os
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from multiprocessing.queues import Queue
from pathlib import Path

from table import print_rows

from memkit.cli.main import run
from memkit.errors import MemkitError
from memkit.runtime.memory.record.lines import ArchiveError
from memkit.runtime.memory.record.record import Draft
from memkit.workspace import open_workspace

CALM = {"GIT_CONFIG_COUNT": "0", "MEMKIT_USER": "nobody"}


@dataclass
class Done:
    """The result of one process."""

    seconds: float = 0.0
    longest: float = 0.0
    refused: list[str] = field(default_factory=list)


def write(store: Path, name: str, adds: int) -> Done:
    """Add ``adds`` records as one user, each with its commit."""
    done, began = Done(), time.monotonic()
    with open_workspace(store, notice=done.refused.append) as workspace:
        for number in range(adds):
            started = time.monotonic()
            try:
                draft = Draft(text=f"{name} has read page {number} of book {number * 7 % 13}")
                workspace.archive.offer(draft, workspace.person(name))
                workspace.commit_memory()
            except (MemkitError, ArchiveError, OSError) as error:
                done.refused.append(f"{type(error).__name__}: {error}")
            done.longest = max(done.longest, time.monotonic() - started)
    done.seconds = time.monotonic() - began
    return done


def command(*commands: list[str]) -> Done:
    """Run commands one after another; none may end with a refusal."""
    done = Done()
    for words in commands:
        started, said = time.monotonic(), io.StringIO()
        with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
            code = run(words)
        if code != 0:
            done.refused.append(f"exit {code}: {words[:2]} {said.getvalue()[-200:]}")
        done.longest = max(done.longest, time.monotonic() - started)
        done.seconds += time.monotonic() - started
    return done


def at_once(jobs: list[Callable[[], Done]]) -> list[Done]:
    """Run every job in a separate process, all at the same time."""
    context = multiprocessing.get_context("fork")
    results: Queue[tuple[int, Done]] = context.Queue()
    processes = [context.Process(target=lambda i=i, job=job: results.put((i, job()))) for i, job in enumerate(jobs)]
    for process in processes:
        process.start()
    found = dict(results.get() for _ in processes)
    for process in processes:
        process.join()
    return [found[number] for number in range(len(jobs))]


def made(folder: str) -> Path:
    """Return a new store that commits each change, containing a user to erase."""
    store = Path(folder) / "store"
    command(["init", str(store)], ["config", "set", "git.commit", "each", "--store", str(store)])
    for number in range(5):
        command(["memory", "add", f"Leaver number {number} is here", "--user", "leaver", "--store", str(store)])
    return store


def main() -> None:
    """Let one writer work alone, then all at once, and print waits as shares of one writer's batch."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--writers", type=int, default=8)
    parser.add_argument("--adds", type=int, default=100)
    options = parser.parse_args()
    os.environ.update({f"GIT_{who}_{what}": "bench@example.org" for who in ("AUTHOR", "COMMITTER")
                       for what in ("NAME", "EMAIL")})  # fmt: skip
    with tempfile.TemporaryDirectory() as alone, tempfile.TemporaryDirectory() as together:
        os.environ["XDG_CONFIG_HOME"] = alone
        (one,) = at_once([lambda: write(made(alone), "writer", options.adds)])
        store = made(together)
        at = ["--store", str(store)]
        talk = ["chat", "--user", "talker", "--consent", "--session", "s", *at, "-p"]
        erase = ["memory", "erase", "--user", "leaver", "--yes", *at]
        writers = [lambda n=n: write(store, f"writer{n}", options.adds) for n in range(options.writers)]
        began = time.monotonic()
        done = at_once([
            *writers,
            lambda: command(*([*talk, f"Remember that I am at page {n}."] for n in range(5))),
            lambda: command(erase),
        ])  # fmt: skip
        whole = time.monotonic() - began
        with open_workspace(store) as workspace:
            kept = sum(1 for n in range(options.writers) for _ in workspace.archive.records(user_id=f"writer{n}"))
    refused = [why for each in done for why in each.refused]
    longest = max(each.longest for each in done)
    count, batch = f"{options.writers} writers x {options.adds}", one.seconds
    rows = [
        {"case": f"{count}, a chat, an erasure: refused", "ours": len(refused), "peer": 0, "ratio": None},
        {"case": f"{count}: records kept", "ours": kept, "peer": options.writers * options.adds,
         "ratio": round(kept / (options.writers * options.adds), 3)},
        {"case": f"{count}: longest wait against one writer's batch, s", "ours": round(longest, 2),
         "peer": round(batch, 2), "ratio": round(longest / batch, 2)},
        {"case": f"{count}: all of them against one writer's batch, s", "ours": round(whole, 2),
         "peer": round(batch, 2), "ratio": round(whole / batch, 2)},
    ]  # fmt: skip
    print_rows(rows, as_json=options.json)
    for why in refused:
        print(why)


if __name__ == "__main__":
    main()
