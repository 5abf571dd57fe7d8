"""Find skills by what they say."""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from memkit.skills.skill import Skill


@dataclass(frozen=True)
class Found:
    """A skill that fits a query, with its score."""

    skill: Skill
    score: float


def search_skills(skills: Iterable[Skill], query: str, limit: int = 5) -> list[Found]:
    """Return the skills that share words with ``query``, best first by BM25, equals by name.

    ``rank_bm25`` divides by zero without documents, and its term weights are zero or negative in a store of two
    skills; so nothing is asked of it then, and the weights are Lucene's, which are positive for every size.
    """
    ordered = sorted(skills, key=lambda skill: skill.name)
    texts = [words(_searchable(skill)) for skill in ordered]
    asked = words(query)
    if not asked or not any(texts):
        return []
    found = [
        Found(skill, round(score, 6)) for skill, score in zip(ordered, _scores(texts, asked), strict=True) if score > 0
    ]
    return sorted(found, key=lambda hit: (-hit.score, hit.skill.name))[:limit]


def words(text: str) -> list[str]:
    """Return the words of ``text`` in the form in which they are compared."""
    return re.findall(r"[^\W_]+", unicodedata.normalize("NFKC", text).casefold())


def _scores(texts: Sequence[list[str]], asked: list[str]) -> list[float]:
    from rank_bm25 import BM25Okapi

    index = BM25Okapi(texts)
    total = len(texts)
    counts = {word: sum(word in document for document in index.doc_freqs) for word in index.idf}
    index.idf = {word: math.log(1 + (total - count + 0.5) / (count + 0.5)) for word, count in counts.items()}
    return [float(score) for score in index.get_scores(asked)]


def _searchable(skill: Skill) -> str:
    """Return the text that a skill is found by; its name counts twice."""
    examples = [example.input for example in skill.examples]
    return " ".join([skill.name, skill.name, skill.description, *skill.when_to_use, *examples, *skill.steps])
