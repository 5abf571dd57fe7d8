"""Skills found by what they say, and a store's skills, policies and learned methods as an agent's procedural memory."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from memkit.runtime.loop.procedures import FOUND, Procedure
from memkit.skills.skill import Skill
from memkit.store.word_search import ranked
from memkit.terminal import harmless


@dataclass(frozen=True)
class FoundSkill:
    """A skill that fits a query, with its score."""

    skill: Skill
    score: float


def search_skills(skills: Iterable[Skill], query: str, limit: int = 5) -> list[FoundSkill]:
    """Return the skills that share words with ``query``, best first by BM25, equals by name."""
    ordered = sorted(skills, key=lambda skill: skill.name)
    hits = ranked([_searchable(skill) for skill in ordered], query)
    return [FoundSkill(ordered[place], score) for place, score in hits[:limit]]


def _searchable(skill: Skill) -> str:
    """Return the text that a skill is found by; its name counts twice."""
    examples = [example.input for example in skill.examples]
    return " ".join([skill.name, skill.name, skill.description, *skill.when_to_use, *examples, *skill.steps])


SHORT = 60
"""Characters of a description where many skills are listed; when to use one matters more there."""


class StoreProcedures:
    """Reads the skills anew for each question, so that an edited skill is the edited one from the next turn on."""

    def __init__(
        self, skills: Callable[[], Mapping[str, Skill]], others: Callable[[], Iterable[Procedure]] = tuple
    ) -> None:
        self._skills = skills
        self._others = others

    def skills(self) -> Sequence[Procedure]:
        """Return every skill that is not deprecated, by name."""
        return [_procedure(skill) for _, skill in sorted(self._skills().items()) if not skill.deprecated]

    def search(self, query: str, k: int = FOUND) -> Sequence[Procedure]:
        """Return the skills, policies and methods that share words with ``query``, best first by BM25."""
        known = [*self.skills(), *self._others()]
        hits = ranked([self._searchable(one) for one in known], query)
        return [replace(known[place], score=score) for place, score in hits[:k]]

    def show(self, name: str) -> str | None:
        """Return a skill as text: what it is for, its steps by number, what it needs, and its safety checks."""
        skill = self._skills().get(name)
        return "\n".join(_told(skill)) if skill is not None else None

    def _searchable(self, one: Procedure) -> str:
        skill = self._skills().get(one.name) if one.kind == "skill" else None
        more = [skill.description, *(example.input for example in skill.examples)] if skill else []
        return " ".join([one.name.replace("-", " ").replace("_", " "), one.about, *more])


def _procedure(skill: Skill) -> Procedure:
    when = f" Use when: {' '.join(skill.when_to_use)}" if skill.when_to_use else ""
    about = skill.description if len(skill.description) <= SHORT else f"{skill.description[: SHORT - 1]}…"
    return Procedure("skill", skill.name, harmless(f"{about}{when}"))


def _told(skill: Skill) -> Iterator[str]:
    yield harmless(f"{skill.name}: {skill.description}")
    if skill.deprecated:
        reason = f": {skill.deprecated}" if isinstance(skill.deprecated, str) else ""
        instead = f" Use {skill.superseded_by}." if skill.superseded_by else ""
        yield harmless(f"Deprecated{reason}.{instead}")
    for title, lines in (("Use when", skill.when_to_use), ("Safety checks", skill.safety_checks)):
        if lines:
            yield f"{title}:"
            yield from (f"- {_line(line)}" for line in lines)
    if skill.required_tools:
        yield f"Tools: {', '.join(skill.required_tools)}"
    yield "Steps:"
    yield from (f"{number}. {_line(step)}" for number, step in enumerate(skill.steps, start=1))


def _line(text: str) -> str:
    return harmless(" ".join(text.split()))
