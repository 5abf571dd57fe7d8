"""Stores of any size for benchmarks: records as people write them, the same for the same seed.

Run by itself, it creates stores and prints the processor time and memory of each command over all their records.
"""

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from itertools import accumulate
from pathlib import Path

from table import print_rows

USER = "ada"
WORDS = 30_000
STOP = ["the", "of", "to", "and", "in", "for", "with", "on", "is", "was", "that", "at", "from", "by"]
QUERY_STOP = ["what", "did", "i", "say", "about", "the"]
SHARD_BYTES = 2 * 1024 * 1024
COMMANDS = {
    "index rebuild": (),
    "review": (),
    "commit": (),
    "memory list": ("--user", USER),
    "memory export": ("--user", USER),
    "fsck": (),
    "memory sweep": ("--dry-run",),
    "memory consolidate": ("--dry-run",),
    "memory import": ("--user", USER, "-"),
    "memory erase": ("--user", USER, "--yes"),
}
"""Each with its options; an import takes as many texts, all unknown, into a separate store."""


class Vocabulary:
    """Made-up words with the frequency distribution of a language."""

    def __init__(self, seed: int = 7) -> None:
        self._random = random.Random(seed)
        syllables = [a + b for a in "bdfgklmnprstvz" for b in ("a", "e", "i", "o", "u", "an", "er", "il", "on")]
        made = {"".join(self._random.choices(syllables, k=self._random.choice((2, 3, 3, 4)))) for _ in range(2 * WORDS)}
        self.words = sorted(made)[:WORDS]
        self._random.shuffle(self.words)
        self._weights = list(accumulate(1 / (rank + 10) for rank in range(len(self.words))))

    def text(self) -> str:
        """Return a record's text of about 130 characters."""
        content = self._random.choices(self.words, cum_weights=self._weights, k=12)
        return " ".join(word for pair in zip(content, self._random.choices(STOP, k=12), strict=True) for word in pair)

    def content_query(self) -> str:
        """Return two to four content words, distributed as in the records."""
        return " ".join(self._random.choices(self.words, cum_weights=self._weights, k=self._random.randint(2, 4)))

    def natural_query(self) -> str:
        """Return a question: content words and stop words."""
        return f"{' '.join(self._random.sample(QUERY_STOP, 3))} {self.content_query()}"


def write_store(root: Path, count: int, seed: int = 7, users: int = 1) -> Vocabulary:
    """Write ``count`` records of so many users into shards under ``root`` and return their vocabulary."""
    vocabulary = Vocabulary(seed)
    folder = root / "archive" / "2026-01"
    folder.mkdir(parents=True)
    part, size, lines = 1, 0, []
    for line in _lines(vocabulary, count, users):
        if size + len(line) > SHARD_BYTES:
            (folder / _name(part)).write_text("".join(lines), encoding="utf-8")
            part, size, lines = part + 1, 0, []
        lines.append(line)
        size += len(line)
    (folder / _name(part)).write_text("".join(lines), encoding="utf-8")
    return vocabulary


def _lines(vocabulary: Vocabulary, count: int, users: int) -> Iterator[str]:
    for number in range(count):
        user = USER if users == 1 else f"{USER}-{number % users}"
        data = {
            "actor": "person", "confidence": 1.0, "created_at": "2026-01-01T00:00:00.000000Z",
            "id": f"01KDVM0000{number:016d}", "text": vocabulary.text(), "type": "fact", "user_id": user,
        }  # fmt: skip
        yield json.dumps(data, sort_keys=True, separators=(",", ":")) + "\n"


def _name(part: int) -> str:
    return "bench.jsonl" if part == 1 else f"bench-{part}.jsonl"


def taken(command: Sequence[str], given: Path | None = None) -> tuple[float, float, int]:
    """Run memkit; return processor seconds of all its processes, megabytes of the largest, and the exit code."""
    memkit = [sys.executable, "-c", "from memkit.cli.main import main; main()"]
    with (given or Path(os.devnull)).open("rb") as stream:
        process = subprocess.Popen([*memkit, *command], stdin=stream, stdout=subprocess.DEVNULL)
        _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024, process.returncode


def rows_of(root: Path, count: int, names: Sequence[str]) -> Iterator[dict[str, object]]:
    """Yield a row for each command over a store of ``count`` records of one user."""
    store, other, texts = root / "store", root / "other", root / "texts.jsonl"
    for folder in (store, other):
        taken(["init", str(folder)])
    vocabulary = write_store(store, count)
    with texts.open("w", encoding="utf-8") as out:
        out.writelines(json.dumps({"text": vocabulary.text()}) + "\n" for _ in range(count))
    for name in names:
        place = other if name == "memory import" else store
        seconds, megabytes, code = taken(["--store", str(place), *name.split(), *COMMANDS[name]], texts)
        case = f"{name}, {count:,} records, s of the processor; the peer: MB; the ratio: µs a record; exit {code}"
        row = {"case": case, "ours": round(seconds, 1), "peer": round(megabytes)}
        yield row | {"ratio": round(seconds / count * 1e6, 1)}


def main() -> None:
    """Print one row a command and size."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--records", type=int, nargs="+", default=[250_000, 1_000_000])
    parser.add_argument("--commands", nargs="+", choices=list(COMMANDS), default=list(COMMANDS))
    options = parser.parse_args()
    rows = []
    for count in options.records:
        with tempfile.TemporaryDirectory() as folder:
            for row in rows_of(Path(folder), count, options.commands):
                print(*row.values(), file=sys.stderr, flush=True)  # a run takes long
                rows.append(row)
    print_rows(rows, as_json=options.json)


if __name__ == "__main__":
    main()
