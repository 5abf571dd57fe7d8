"""What memkit can render for: every folder of ``templates/`` that has a ``target.yaml``, and what plug-ins add."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from memkit.errors import EnvironmentFault, UsageError
from memkit.generate.source import RELEASES, Source, files_of, installed_source
from memkit.skills.sheet import SheetTarget
from memkit.skills.skill import Skill
from memkit.store.yaml import load_yaml

SHARED = "_shared"
"""The folder of what every target's project has."""
RECORD = "target.yaml"
QUESTIONS = "copier.yml"
_VALUE = re.compile(r"[^\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]{1,2000}")


@dataclass(frozen=True)
class Variable:
    """An environment variable that a generated project reads."""

    name: str
    about: str
    example: str = ""


@dataclass(frozen=True)
class TargetOrigin:
    """The distribution that a target came with, where that is not memkit's own."""

    distribution: str
    version: str


@dataclass(frozen=True)
class Variant:
    """What an answer adds to a target."""

    when: Mapping[str, str]
    """The answers that it belongs to."""
    environment: tuple[Variable, ...] = ()
    protocols: tuple[str, ...] = ()
    readme: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Limit:
    """What an SDK makes impossible, so that a project cannot do it as the reference agent does."""

    part: str
    """Name of the part of the transcript in ``memkit.equivalence`` that shows it."""
    why: str
    wire: str = ""
    """The wire that it holds for; every one where none is named."""


@dataclass(frozen=True)
class Target:
    """One kind of project that memkit renders."""

    name: str
    folder: Path
    title: str
    description: str
    requires: tuple[str, ...]
    """Requirements of the project, each with bounds."""
    environment: tuple[Variable, ...]
    wires: tuple[str, ...]
    """Protocols that the project can speak to its model, as people call them."""
    protocols: tuple[str, ...]
    """What the scripted model of a project's tests speaks, by ``memkit.runtime.testing``; the first one counts."""
    skills: tuple[str, ...]
    """Skills that it can wire."""
    layers: tuple[Path, ...]
    """The folders whose files make up a project; a later one wins over an earlier one."""
    questions: Mapping[str, Any]
    """What ``--data`` can answer: name → its default, help and choices."""
    source: Source
    """Where the rooms and memkit's own layers come from."""
    limits: tuple[Limit, ...] = ()
    origin: TargetOrigin | None = None
    """The plug-in that brought it; None for a target of memkit's own."""
    readme: tuple[str, ...] = ()
    """Paragraphs in Markdown for the project's README."""
    variants: tuple[Variant, ...] = ()
    notes: tuple[str, ...] = ()
    """What whoever renders the project has to know; the README says it too."""

    def answered(self, answers: Mapping[str, str]) -> Target:
        """Return the target as ``answers`` make it; a question without one has its default."""
        defaults = {key: str(question.get("default", "")) for key, question in self.questions.items()}
        given = defaults | dict(answers)
        fitting = [variant for variant in self.variants if variant.when.items() <= given.items()]
        parts: list[Target | Variant] = [self, *fitting]
        variables = {variable.name: variable for part in parts for variable in part.environment}
        return replace(
            self,
            environment=tuple(variables.values()),
            protocols=tuple(protocol for part in parts for protocol in part.protocols),
            readme=tuple(paragraph for part in parts for paragraph in part.readme),
            notes=tuple(note for part in parts for note in part.notes),
        )

    @property
    def own_files(self) -> Mapping[str, Path]:
        """What a plug-in brought: the files of its layers, by layer and path."""
        own = [layer for layer in self.layers if not layer.is_relative_to(self.source.templates)]
        return {
            f"{layer.name}/{path}": place
            for layer in own
            for path, place in files_of(layer)
            if not path.startswith(f"{RELEASES}/")
        }


def load_targets(source: Source | None = None) -> dict[str, Target]:
    """Return every target of memkit's own by name, in alphabetical order: what is installed, or those of ``source``."""
    chosen = source or installed_source()
    folders = sorted(path.parent for path in chosen.templates.glob(f"*/{RECORD}"))
    if not folders:
        raise EnvironmentFault(
            f"No target in {chosen.templates}. This installation is incomplete: install memkit-agent again."
        )
    return {folder.name: load_target(folder, chosen) for folder in folders}


def sheet_targets(skill: Skill) -> list[SheetTarget]:
    """Return what a sheet of ``skill`` says about each target that can wire what it generates."""
    if skill.generates is None:
        return []
    fitting = [target for target in load_targets().values() if skill.generates.skill in target.skills]
    return [SheetTarget(one.name, one.description, tuple(each.name for each in one.environment)) for one in fitting]


def checked_answers(target: Target, given: Mapping[str, str]) -> dict[str, str]:
    """Return ``given`` if ``target`` asks for every key of it; raises ``UsageError`` with the nearest key otherwise."""
    for key, value in given.items():
        if key not in target.questions:
            hint = f"{near_word(key, target.questions)} Keys: {', '.join(target.questions)}."
            raise UsageError(f"The target {target.name} has no data key {key!r}.{hint}")
        choices = target.questions[key].get("choices")
        if choices and value not in choices:
            raise UsageError(
                f"{key}={value!r} is not possible.{near_word(value, choices)} Choices: {', '.join(choices)}."
            )
        if not value.strip() or not _VALUE.fullmatch(value):
            raise UsageError(f"{key}={value!r} is not possible: give it 1 to 2000 printable characters.")
    return dict(given)


def questions_of(folder: Path) -> dict[str, Any]:
    """Return the copier configuration of ``folder``, an empty one where there is none."""
    path = folder / QUESTIONS
    data = load_yaml(path).data if path.is_file() else None
    return data if isinstance(data, dict) else {}


def load_target(folder: Path, source: Source, *, name: str = "", origin: TargetOrigin | None = None) -> Target:
    """Return the target in ``folder``; layers are looked up in the templates of ``source``, then beside the folder."""
    data = load_yaml(folder / RECORD).data
    named = [layer_folder(layer, folder, source.templates) for layer in (SHARED, *data.get("layers", ()))]
    layers = (*named, folder)
    asked: dict[str, Any] = {}
    for layer in layers:
        asked |= questions_of(layer)
    return Target(
        name=name or folder.name,
        folder=folder,
        title=data["title"],
        description=data["description"],
        requires=tuple(data["requires"]),
        environment=_variables(data["environment"]),
        wires=tuple(data["wires"]),
        protocols=tuple(data["protocols"]),
        skills=tuple(data["skills"]),
        layers=layers,
        questions={key: question for key, question in asked.items() if not key.startswith("_")},
        source=source,
        limits=tuple(Limit(**limit) for limit in data.get("limits", ())),
        origin=origin,
        readme=tuple(data.get("readme", ())),
        variants=tuple(_variant(data) for data in data.get("variants", ())),
    )


def _variant(data: Mapping[str, Any]) -> Variant:
    protocols, readme, notes = (tuple(data.get(key, ())) for key in ("protocols", "readme", "notes"))
    return Variant(data["when"], _variables(data.get("environment", ())), protocols, readme, notes)


def _variables(listed: Iterable[Mapping[str, str]]) -> tuple[Variable, ...]:
    return tuple(Variable(**variable) for variable in listed)


def layer_folder(layer: str, folder: Path, templates: Path) -> Path:
    """Return the folder of ``layer``: memkit's own, or one beside the target's folder."""
    place = next((root / layer for root in (templates, folder.parent) if (root / layer).is_dir()), None)
    if place is None:
        raise UsageError(f"The target in {folder} names the layer {layer!r}, which memkit and the plug-in do not have.")
    return place


def near_word(word: str, known: Iterable[str]) -> str:
    """Return a question for the nearest of the words that are known, with a space before it; nothing without one."""
    near = difflib.get_close_matches(word, list(known), n=1, cutoff=0.5)
    return f" Did you mean {near[0]!r}?" if near else ""
