"""Find skills by what they say."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from memkit.skills.skill import Skill
from memkit.store.word_search import ranked


@dataclass(frozen=True)
class Found:
    """A skill that fits a query, with its score."""

    skill: Skill
    score: float


def search_skills(skills: Iterable[Skill], query: str, limit: int = 5) -> list[Found]:
    """Return the skills that share words with ``query``, best first by BM25, equals by name."""
    ordered = sorted(skills, key=lambda skill: skill.name)
    hits = ranked([_searchable(skill) for skill in ordered], query)
    return [Found(ordered[place], score) for place, score in hits[:limit]]


def _searchable(skill: Skill) -> str:
    """Return the text that a skill is found by; its name counts twice."""
    examples = [example.input for example in skill.examples]
    return " ".join([skill.name, skill.name, skill.description, *skill.when_to_use, *examples, *skill.steps])
