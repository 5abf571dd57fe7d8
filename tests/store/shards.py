"""Shards to break: lines as the archive writes them, and a real repository to merge them in."""

from __future__ import annotations

import subprocess
from pathlib import Path

from memkit.runtime.memory.record.events import Event
from memkit.runtime.memory.record.lines import encode_line
from memkit.runtime.memory.record.record import Record

SHARD = "archive/2026-11/w.jsonl"


def record(number: int, text: str = "", user: str = "ada") -> bytes:
    """Return the line of a record; the same number gives the same id."""
    moment = f"2026-11-21T09:{number // 60 % 60:02d}:{number % 60:02d}.000000Z"
    return encode_line(
        Record(
            f"01KAJ3Q{number:019d}", text or f"fact {number}", user, moment, actor="person", trust="verified"
        ).to_data()
    )


def event(number: int, target: int, op: str = "confirm", user: str = "ada") -> bytes:
    """Return the line of an event about a record."""
    made = Event(
        id=f"01KAJ3R{number:019d}", op=op, target=f"01KAJ3Q{target:019d}", user_id=user,
        at="2026-11-21T10:00:00.000000Z", actor="person",
    )  # fmt: skip
    return encode_line(made.to_data())


def write(root: Path, *lines: bytes, shard: str = SHARD) -> Path:
    """Put lines into a shard and return its path."""
    path = root / shard
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"".join(lines))
    return path


def git(root: Path, *arguments: str, ok: bool = True) -> str:
    """Run plain git, as a person does, and return what it printed."""
    done = subprocess.run(["git", *arguments], cwd=root, capture_output=True, text=True, timeout=900)
    assert done.returncode == 0 or not ok, done.stderr + done.stdout
    return done.stdout


def commit(root: Path, message: str = "Change") -> str:
    """Commit everything and return the commit's id."""
    git(root, "add", "--all")
    git(root, "commit", "--quiet", "--allow-empty", "-m", message)
    return git(root, "rev-parse", "HEAD").strip()
