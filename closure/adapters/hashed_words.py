"""An embedding without a model: word counts as a vector. It finds texts that share words, and nothing else."""

from __future__ import annotations

import math
import zlib

from closure.adapters.plain import words

DIMENSIONS = 256


def embed(text: str) -> list[float]:
    """Return a vector of length one (zero only for a text without words), the same in each run."""
    vector = [0.0] * DIMENSIONS
    for word in words(text):
        vector[zlib.crc32(word.encode()) % DIMENSIONS] += 1.0
    length = math.sqrt(sum(value * value for value in vector)) or 1.0
    return [value / length for value in vector]


def embed_all(texts: list[str]) -> list[list[float]]:
    """Return the vectors of texts."""
    return [embed(text) for text in texts]
