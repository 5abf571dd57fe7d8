"""Skill files read into values, search by content, and a store's skills as an agent's procedural memory."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from memkit.errors import NotFound, UsageError
from memkit.runtime.host.terminal import harmless
from memkit.store.layout import NAME, Kind, checked_name, entries_of, parsed, require_inside
from memkit.store.word_search import ranked

if TYPE_CHECKING:
    from memkit.runtime.loop.planner import Procedure
    from memkit.store.schema import SchemaFinding
    from memkit.store.yaml import Document

FOLDER = "skills"


class Example(NamedTuple):
    """A request and how the skill handles it."""

    input: str
    approach: str


class VersionChange(NamedTuple):
    """What one version changed."""

    version: str
    changes: tuple[str, ...]
    date: str | None = None


class SkillCheck(NamedTuple):
    """Something that must hold before a new version is committed: a command succeeds, or a call is decided so."""

    name: str
    run: tuple[str, ...] = ()
    """The command; empty if a call is judged."""
    call: Mapping[str, Any] | None = None
    """``{tool, args?, context?}``, as the policies see it."""
    expect: str | None = None
    """The expected decision of the policies."""


class GeneratedSkill(NamedTuple):
    """What ``memkit gen`` renders from a skill."""

    skill: str
    wires: tuple[str, ...]
    trial: str | None = None
    """A command for the generated project that shows the skill at work."""


@dataclass(frozen=True)
class Skill:
    """One skill, as described by its file."""

    name: str
    description: str
    steps: tuple[str, ...]
    when_to_use: tuple[str, ...] = ()
    required_tools: tuple[str, ...] = ()
    safety_checks: tuple[str, ...] = ()
    examples: tuple[Example, ...] = ()
    version: str | None = None
    changelog: tuple[VersionChange, ...] = ()
    deprecated: bool | str = False
    """``True``, or the reason not to use it any more."""
    superseded_by: str | None = None
    checks: tuple[SkillCheck, ...] = ()
    generates: GeneratedSkill | None = None
    front_matter: Mapping[str, Any] = field(default_factory=dict)
    """Fields of ``SKILL.md`` for other tools; memkit carries them and does not act on them."""

    def to_data(self) -> dict[str, Any]:
        """Return it as JSON data."""
        return vars(self) | {
            "examples": [one._asdict() for one in self.examples],
            "changelog": [one._asdict() for one in self.changelog],
            "checks": [one._asdict() for one in self.checks],
            "generates": self.generates and self.generates._asdict(),
        }


def load_skill(path: Path, *, name: str | None = None) -> Skill:
    """Return the skill in a file; raise ``UsageError`` with line and column for the first error."""
    return read_skill(_data(path, name))


def _data(path: Path, name: str | None) -> Any:
    from memkit.store.yaml import load_yaml

    document = load_yaml(path, name=name)
    for finding in skill_findings(document, path.stem):
        line, column = finding.position(document)
        raise UsageError(f"{document.path}:{line}:{column}: {finding.message}", path=document.path, line=line)
    return document.data


def load_skills(root: Path) -> dict[str, Skill]:
    """Return every skill of the store at ``root`` by name, or raise for the first broken file."""
    paths = {path.stem: path for path in entries_of(root / FOLDER) if path.suffix == ".yaml"}
    for path in paths.values():
        require_inside(root, path, f"{FOLDER}/{path.name}")
    found = parsed(root, FOLDER, paths, lambda name: _data(paths[name], f"{FOLDER}/{paths[name].name}"))
    return {name: read_skill(data) for name, data in found.items()}


def load_named_skill(root: Path, name: str) -> Skill:
    """Return one skill of the store at ``root``, whatever the state of the others.

    Raises:
        NotFound: There is no such skill; the message has the nearest name.
        UsageError: ``name`` is not a valid name of a skill, or the file is broken.
    """
    path = root / FOLDER / f"{checked_name(name, 'skill')}.yaml"
    if not os.path.lexists(path):
        known = [other.stem for other in entries_of(root / FOLDER) if other.suffix == ".yaml"]
        from memkit.store.schema import suggestion

        near = suggestion(name, known) or " 'memkit skill list' lists all."
        raise NotFound(f"There is no skill {name!r}.{near}")
    return _load_of_store(root, path)


def _load_of_store(root: Path, path: Path) -> Skill:
    shown = f"{FOLDER}/{path.name}"
    require_inside(root, path, shown)
    return load_skill(path, name=shown)


def skill_findings(document: Document, stem: str) -> list[SchemaFinding]:
    """Return the faults that keep a document from being the skill ``stem``: its shape, and a name unlike the file's."""
    from memkit.store.schema import SchemaFinding, check, load_schema

    findings = check(document.data, load_schema("skill"))
    name = document.data.get("name") if isinstance(document.data, dict) else None
    if isinstance(name, str) and name != stem and NAME.fullmatch(name):
        message = f"The skill is named {name!r}, but its file {stem!r}. Give both the same name."
        findings.append(SchemaFinding("name", ("name",), message))
    return findings


SKILL = Kind("skill", FOLDER, skill_findings)


def read_skill(data: Mapping[str, Any]) -> Skill:
    """Return the skill in the data of a valid file."""
    generates = data.get("generates")
    return Skill(
        name=data["name"],
        description=data["description"],
        steps=tuple(data["steps"]),
        when_to_use=_texts(data.get("when_to_use", ())),
        required_tools=tuple(data.get("required_tools", ())),
        safety_checks=tuple(data.get("safety_checks", ())),
        examples=tuple(Example(item["input"], item["approach"]) for item in data.get("examples", ())),
        version=data.get("version"),
        changelog=tuple(
            VersionChange(item["version"], _texts(item["changes"]), item.get("date"))
            for item in data.get("changelog", ())
        ),
        deprecated=data.get("deprecated", False),
        superseded_by=data.get("superseded_by"),
        checks=tuple(
            SkillCheck(item["name"], tuple(item.get("run", ())), item.get("call"), item.get("expect"))
            for item in data.get("checks", ())
        ),
        generates=GeneratedSkill(generates["skill"], tuple(generates["wires"]), generates.get("try"))
        if generates
        else None,
        front_matter=data.get("front_matter", {}),
    )


def _texts(value: str | Sequence[str]) -> tuple[str, ...]:
    return (value,) if isinstance(value, str) else tuple(value)


def search_skills(skills: Iterable[Skill], query: str, limit: int = 5) -> list[tuple[Skill, float]]:
    """Return the skills that share words with ``query`` and their scores, best first by BM25, equals by name."""
    ordered = sorted(skills, key=lambda skill: skill.name)
    hits = ranked([_searchable(skill) for skill in ordered], query)
    return [(ordered[place], score) for place, score in hits[:limit]]


def _searchable(skill: Skill) -> str:
    """Return the text that a skill is found by; its name counts twice."""
    examples = [example.input for example in skill.examples]
    return " ".join([skill.name, skill.name, skill.description, *skill.when_to_use, *examples, *skill.steps])


SHORT = 50
"""Characters of a description in a list of many skills; when to use one matters more there."""


class StoreProcedures:
    """Reads the skills anew for each question, so that an edit takes effect from the next turn on."""

    def __init__(
        self, skills: Callable[[], Mapping[str, Skill]], others: Callable[[], Iterable[Procedure]] = tuple
    ) -> None:
        self._skills = skills
        self._others = others

    def skills(self) -> Sequence[Procedure]:
        """Return every skill that is not deprecated, by name."""
        return [_procedure(skill) for _, skill in sorted(self._skills().items()) if not skill.deprecated]

    def search(self, query: str, k: int = 5) -> Sequence[Procedure]:
        """Return the skills, policies and methods that share words with ``query``, best first by BM25."""
        known = [*self.skills(), *self._others()]
        hits = ranked([self._searchable(one) for one in known], query)
        return [known[place]._replace(score=score) for place, score in hits[:k]]

    def show(self, name: str) -> str | None:
        """Return a skill as text: its purpose, its numbered steps, its requirements, and its safety checks."""
        skill = self._skills().get(name)
        return "\n".join(_told(skill)) if skill is not None else None

    def _searchable(self, one: Procedure) -> str:
        skill = self._skills().get(one.name) if one.kind == "skill" else None
        more = [skill.description, *(example.input for example in skill.examples)] if skill else []
        return " ".join([one.name.replace("-", " ").replace("_", " "), one.about, *more])


def _procedure(skill: Skill) -> Procedure:
    from memkit.runtime.loop.planner import Procedure  # the loop, which merely reading skills does not need

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
