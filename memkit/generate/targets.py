"""What memkit can render for: every folder of ``templates/`` that has a ``target.yaml``."""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from memkit.errors import EnvironmentFault, UsageError
from memkit.resources import resource
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
    """Local model servers that the project's tests need: packages of ``memkit.testing``."""
    skills: tuple[str, ...]
    """Skills that it can wire."""
    layers: tuple[str, ...]
    """Names of the folders whose files make up a project; a later one wins over an earlier one."""
    questions: Mapping[str, Any]
    """What ``--data`` can answer: name → its default, help and choices."""


def load_targets(templates: Path | None = None) -> dict[str, Target]:
    """Return every target by name, in alphabetical order."""
    root = templates or resource("templates")
    folders = sorted(path.parent for path in root.glob(f"*/{RECORD}"))
    if not folders:
        raise EnvironmentFault(f"No target in {root}. This installation is incomplete: install memkit-agent again.")
    return {folder.name: _load(folder) for folder in folders}


def find_target(name: str, templates: Path | None = None) -> Target:
    """Return the target ``name``; raises ``UsageError`` with the nearest name otherwise."""
    targets = load_targets(templates)
    if name not in targets:
        raise UsageError(f"There is no target {name!r}.{_near(name, targets)} Targets: {', '.join(targets)}.")
    return targets[name]


def checked_answers(target: Target, given: Mapping[str, str]) -> dict[str, str]:
    """Return ``given`` if ``target`` asks for every key of it; raises ``UsageError`` with the nearest key otherwise."""
    for key, value in given.items():
        if key not in target.questions:
            hint = f"{_near(key, target.questions)} Keys: {', '.join(target.questions)}."
            raise UsageError(f"The target {target.name} has no data key {key!r}.{hint}")
        choices = target.questions[key].get("choices")
        if choices and value not in choices:
            raise UsageError(f"{key}={value!r} is not possible.{_near(value, choices)} Choices: {', '.join(choices)}.")
        if not value.strip() or not _VALUE.fullmatch(value):
            raise UsageError(f"{key}={value!r} is not possible: give it 1 to 2000 printable characters.")
    return dict(given)


def questions_of(folder: Path) -> dict[str, Any]:
    """Return the copier configuration of ``folder``, an empty one where there is none."""
    path = folder / QUESTIONS
    data = load_yaml(path).data if path.is_file() else None
    return data if isinstance(data, dict) else {}


def _load(folder: Path) -> Target:
    data = load_yaml(folder / RECORD).data
    layers = (SHARED, *data.get("layers", ()), folder.name)
    asked: dict[str, Any] = {}
    for layer in layers:
        asked |= questions_of(folder.parent / layer)
    return Target(
        name=folder.name,
        folder=folder,
        title=data["title"],
        description=data["description"],
        requires=tuple(data["requires"]),
        environment=tuple(Variable(**variable) for variable in data["environment"]),
        wires=tuple(data["wires"]),
        protocols=tuple(data["protocols"]),
        skills=tuple(data["skills"]),
        layers=layers,
        questions={key: question for key, question in asked.items() if not key.startswith("_")},
    )


def _near(word: str, known: Mapping[str, Any] | list[str]) -> str:
    near = difflib.get_close_matches(word, list(known), n=1, cutoff=0.5)
    return f" Did you mean {near[0]!r}?" if near else ""
