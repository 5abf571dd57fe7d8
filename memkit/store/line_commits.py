"""Which commit brought a line of a file, asked of ``git blame``."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from memkit.runtime.memory.record.stamps import to_text
from memkit.store.git import Git

_HEADER = re.compile(r"(?P<commit>[0-9a-f]{40,64}) \d+ (?P<line>\d+)(?: \d+)?")
MOST_RANGES = 200
"""More lines than this are not named one by one: git is asked about the whole file."""


@dataclass(frozen=True)
class LineCommit:
    """A commit as somebody reads it who asks where a line comes from."""

    commit: str
    author: str
    committed_at: str
    subject: str


def line_commits(git: Git, path: str, numbers: Sequence[int]) -> dict[int, LineCommit]:
    """Return the commit that brought each of these lines; one that is not committed yet has none.

    Lines are followed through merges, renames and moves from shard to shard.
    """
    ranges = [word for number in sorted(set(numbers)) for word in ("-L", f"{number},{number}")]
    chosen = ranges if len(ranges) <= 2 * MOST_RANGES else []
    printed = git.run("blame", "--porcelain", "--no-textconv", "-M", "-C", *chosen, "--", path, check=False)
    lines: dict[int, str] = {}
    facts: dict[str, dict[str, str]] = {}
    commit = ""
    for line in printed.split("\n"):
        if header := _HEADER.fullmatch(line):
            commit = header["commit"]
            lines[int(header["line"])] = commit
        elif commit and not line.startswith("\t"):
            key, _, value = line.partition(" ")
            facts.setdefault(commit, {})[key] = value
    known = {id: _read(id, about) for id, about in facts.items() if id.strip("0")}
    return {number: known[id] for number, id in lines.items() if id in known and number in numbers}


def _read(commit: str, about: dict[str, str]) -> LineCommit:
    moment = datetime.fromtimestamp(int(about["committer-time"]), UTC)
    author = f"{about['author']} {about['author-mail']}"
    return LineCommit(commit, author, to_text(moment), about["summary"])
