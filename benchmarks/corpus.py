"""Stores of any size for benchmarks: records as people write them, the same ones for the same seed."""

import json
import random
from collections.abc import Iterator
from itertools import accumulate
from pathlib import Path

USER = "ada"
WORDS = 30_000
STOP = ["the", "of", "to", "and", "in", "for", "with", "on", "is", "was", "that", "at", "from", "by"]
QUERY_STOP = ["what", "did", "i", "say", "about", "the"]
SHARD_BYTES = 2 * 1024 * 1024


class Vocabulary:
    """Made-up words whose frequencies fall as those of a language do."""

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
        """Return two to four content words, as they are distributed in the records."""
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
