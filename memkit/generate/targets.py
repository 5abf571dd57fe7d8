"""Render targets, and their sources: the present templates, and those of releases.

A release is a folder named after its version of memkit, which holds the templates as they were then, and is
never written again. It is identified by the digest of its files, so no two changes can conflict in an index.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from memkit.errors import EnvironmentFault, UsageError
from memkit.resources import resource

if TYPE_CHECKING:
    from memkit.skills.sheet import SheetTarget
    from memkit.skills.skill import Skill

UNRELEASED = "+unreleased"
"""Ends the version of templates that are in no release."""


class Release(NamedTuple):
    """One released version of templates."""

    version: str
    folder: Path

    @property
    def digest(self) -> str:
        """Return a digest that identifies its files."""
        return digest_of({path: place.read_bytes() for path, place in files_of(self.folder)})


class Releases(NamedTuple):
    """The releases in one folder."""

    folder: Path

    def all(self) -> Iterator[Release]:
        """Yield every release."""
        folders = sorted(self.folder.iterdir()) if self.folder.is_dir() else ()
        return (Release(folder.name, folder) for folder in folders if folder.is_dir())

    def find(self, digest: str) -> Release | None:
        """Return the release whose files have this digest."""
        return next((release for release in self.all() if release.digest == digest), None)

    def version(self, digest: str, newest: str) -> str:
        """Return the version of files: that of their release, or ``newest`` with ``+unreleased`` appended."""
        known = self.find(digest)
        return known.version if known else f"{newest}{UNRELEASED}"

    def add(self, version: str, files: Mapping[str, bytes]) -> Release:
        """Write a release; raise ``UsageError`` if that version was released with other files."""
        known = self.find(digest_of(files))
        if known is not None:
            return known
        release = Release(version, self.folder / version)
        if release.folder.exists():
            raise UsageError(f"{version} was released with different files: {release.folder}. Raise the version first.")
        for path, content in files.items():
            place = release.folder / path
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(content)
        return release


def installed_releases() -> Releases:
    """Return the releases of memkit's own templates."""
    return Releases(installed_source().templates / RELEASES)


RELEASES = "_releases"
"""The folder in the templates that holds their releases."""


@dataclass(frozen=True)
class Source:
    """A folder of targets and layers."""

    templates: Path

    @cached_property
    def files(self) -> Mapping[str, Path]:
        """All its files that any project is made from, by path."""
        return {path: place for path, place in files_of(self.templates) if not path.startswith(f"{RELEASES}/")}

    @cached_property
    def digest(self) -> str:
        """A digest that identifies these files."""
        return digest_of({path: place.read_bytes() for path, place in self.files.items()})


def installed_source() -> Source:
    """Return the installed source, or that of the checkout."""
    return Source(resource("templates"))


def files_of(folder: Path) -> Iterator[tuple[str, Path]]:
    """Yield every file in ``folder`` by its relative path, except those that only an installation needs."""
    for path in sorted(folder.rglob("*")):
        if path.is_file() and "__pycache__" not in path.parts and path.suffix != ".pyc":
            yield path.relative_to(folder).as_posix(), path


def is_inside(path: str) -> bool:
    """Return whether a relative path, with slashes, stays below its base folder."""
    return not {"", ".", ".."} & set(path.split("/"))


def digest_of(files: Mapping[str, bytes]) -> str:
    """Return the SHA-256 of files, covering both paths and contents."""
    lines = (f"{hashlib.sha256(content).hexdigest()}  {path}\n" for path, content in sorted(files.items()))
    return "sha256:" + hashlib.sha256("".join(lines).encode()).hexdigest()


SHARED = "_shared"
"""The folder of files common to all targets' projects."""
RECORD = "target.yaml"
QUESTIONS = "copier.yml"
_VALUE = r"[^\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]{1,2000}"


class Variable(NamedTuple):
    """An environment variable that a generated project reads."""

    name: str
    about: str
    example: str = ""


class TargetOrigin(NamedTuple):
    """The distribution that provides a target, if it is not memkit's own."""

    distribution: str
    version: str


class Variant(NamedTuple):
    """What an answer adds to a target."""

    when: Mapping[str, str]
    """The answers that it applies to."""
    environment: tuple[Variable, ...] = ()
    protocols: tuple[str, ...] = ()
    readme: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


class Limit(NamedTuple):
    """What an SDK makes impossible, so that a project cannot behave as the reference agent does."""

    part: str
    """Name of the part of the transcript in ``memkit.equivalence`` that shows it."""
    why: str
    wire: str = ""
    """The wire that it holds for; empty for all."""


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
    """Protocols that the project can use with its model, by their usual names."""
    protocols: tuple[str, ...]
    """Protocols for the scripted model of a project's tests, as in ``memkit.runtime.testing``; the first one counts."""
    skills: tuple[str, ...]
    """Skills that it can wire."""
    layers: tuple[Path, ...]
    """The folders whose files make up a project; a later one overrides an earlier one."""
    questions: Mapping[str, Any]
    """The questions that ``--data`` can answer: name → its default, help and choices."""
    source: Source
    """The source of the rooms and memkit's own layers."""
    limits: tuple[Limit, ...] = ()
    origin: TargetOrigin | None = None
    """The plug-in that provides it; None for a target of memkit's own."""
    readme: tuple[str, ...] = ()
    """Paragraphs in Markdown for the project's README."""
    variants: tuple[Variant, ...] = ()
    notes: tuple[str, ...] = ()
    """What the person who renders the project has to know; the README says it too."""

    def answered(self, answers: Mapping[str, str]) -> Target:
        """Return the target adjusted to ``answers``; a question without one has its default."""
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
        """A plug-in's files: those of its layers, by layer and path."""
        own = [layer for layer in self.layers if not layer.is_relative_to(self.source.templates)]
        return {
            f"{layer.name}/{path}": place
            for layer in own
            for path, place in files_of(layer)
            if not path.startswith(f"{RELEASES}/")
        }


def load_targets(source: Source | None = None) -> dict[str, Target]:
    """Return memkit's own targets by name, in alphabetical order: the installed ones, or those of ``source``."""
    chosen = source or installed_source()
    return {name: load_target(chosen.templates / name, chosen) for name in target_names(chosen)}


def target_names(source: Source | None = None) -> list[str]:
    """Return the names of the targets that ``load_targets`` reads."""
    templates = (source or installed_source()).templates
    names = sorted(path.parent.name for path in templates.glob(f"*/{RECORD}"))
    if not names:
        raise EnvironmentFault(f"No target in {templates}. The installation is incomplete: install memkit-agent again.")
    return names


def sheet_targets(skill: Skill) -> list[SheetTarget]:
    """Return a sheet's entry for each target that can wire what ``skill`` generates."""
    from memkit.skills.sheet import SheetTarget

    if skill.generates is None:
        return []
    fitting = [target for target in load_targets().values() if skill.generates.skill in target.skills]
    return [SheetTarget(one.name, one.description, tuple(each.name for each in one.environment)) for one in fitting]


def checked_answers(target: Target, given: Mapping[str, str]) -> dict[str, str]:
    """Return ``given`` if ``target`` asks for every key of it; raise ``UsageError`` with the nearest key otherwise."""
    for key, value in given.items():
        if key not in target.questions:
            hint = f"{near_word(key, target.questions)} Keys: {', '.join(target.questions)}."
            raise UsageError(f"The target {target.name} has no data key {key!r}.{hint}")
        choices = target.questions[key].get("choices")
        if choices and value not in choices:
            raise UsageError(
                f"{key}={value!r} is not possible.{near_word(value, choices)} Choices: {', '.join(choices)}."
            )
        if not value.strip() or not re.fullmatch(_VALUE, value):
            raise UsageError(f"{key}={value!r} is not possible: give it 1 to 2000 printable characters.")
    return dict(given)


def questions_of(folder: Path) -> dict[str, Any]:
    """Return the copier configuration of ``folder``, empty if there is none."""
    from memkit.store.yaml import load_yaml

    path = folder / QUESTIONS
    data = load_yaml(path).data if path.is_file() else None
    return data if isinstance(data, dict) else {}


def load_target(folder: Path, source: Source, *, name: str = "", origin: TargetOrigin | None = None) -> Target:
    """Return the target in ``folder``; layers are looked up in the templates of ``source``, then beside the folder."""
    from memkit.store.yaml import load_yaml

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
    """Return a question about the nearest known word, with a space before it; empty without one."""
    import difflib  # needed only for an unknown word

    near = difflib.get_close_matches(word, list(known), n=1, cutoff=0.5)
    return f" Did you mean {near[0]!r}?" if near else ""
