"""Find texts by the words they share with a query."""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Sequence


def ranked(texts: Sequence[str], query: str) -> list[tuple[int, float]]:
    """Return the indices of the texts that share words with ``query`` and their scores, best first by BM25.

    ``rank_bm25`` divides by zero without documents, and its term weights are zero or negative for two; so it is
    not called then, and the weights are Lucene's, which are positive for every size.

    >>> [place for place, _ in ranked(["pour tea", "walk the dog"], "the dog")]
    [1]
    """
    documents, asked = [words(text) for text in texts], words(query)
    if not asked or not any(documents):
        return []
    found = [(place, round(score, 6)) for place, score in enumerate(_scores(documents, asked)) if score > 0]
    return sorted(found, key=lambda hit: (-hit[1], hit[0]))


def words(text: str) -> list[str]:
    """Return the words of ``text`` in the form used for comparison."""
    return re.findall(r"[^\W_]+", unicodedata.normalize("NFKC", text).casefold())


def _scores(documents: Sequence[list[str]], asked: list[str]) -> list[float]:
    from rank_bm25 import BM25Okapi

    index = BM25Okapi(documents)
    total = len(documents)
    counts = {word: sum(word in document for document in index.doc_freqs) for word in index.idf}
    index.idf = {word: math.log(1 + (total - count + 0.5) / (count + 0.5)) for word, count in counts.items()}
    return [float(score) for score in index.get_scores(asked)]
