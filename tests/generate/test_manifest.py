"""The manifest holds all that a render was made of, and says what is wrong with it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from projects import CHOICES, TARGETS, project

import memkit
from memkit.generate.composition import Order
from memkit.generate.content import digest
from memkit.generate.manifest import MANIFEST, ProjectFault, Runtime, manifest_text, parsed_manifest, read_manifest
from memkit.generate.plugins import find_target
from memkit.generate.rendering import render
from memkit.generate.runtime_wheel import installed_runtime


def tree(folder: Path) -> dict[str, bytes]:
    """Return the content of every file in ``folder`` by its relative path."""
    files = (path for path in sorted(folder.rglob("*")) if path.is_file())
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in files}


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("choice", CHOICES)
def test_a_render_can_be_made_again_without_the_store(target: str, choice: str, starters: Path, tmp_path: Path) -> None:
    """From the manifest alone the same files come out, byte for byte, the manifest too."""
    first = project(starters, target, tmp_path / "first", choice, project_name="Ada's: 'é☃' {{ 7 * 7 }}")

    manifest = read_manifest(first)
    order = Order(
        find_target(manifest.target),
        manifest.content,
        manifest.answers,
        manifest.runtime,
        installed_runtime(),
        manifest.store,
    )
    render(order, tmp_path / "second")

    assert tree(tmp_path / "second") == tree(first)


def test_the_manifest_reads_back_as_it_was_written(starters: Path, tmp_path: Path) -> None:
    """Text and value are the same thing; the version is memkit's, alone or with what was changed since."""
    folder = project(starters, "react", tmp_path / "out")

    manifest = read_manifest(folder)

    assert manifest_text(manifest) == (folder / MANIFEST).read_text(encoding="utf-8")
    assert manifest.templates.version.removesuffix("+unreleased") == memkit.__version__
    assert manifest.runtime == Runtime.of(installed_runtime()) and manifest.store == "../starters"
    assert str(tmp_path) not in manifest_text(manifest)


def _without(key: str) -> Callable[[dict[str, Any]], Any]:
    return lambda data: {name: value for name, value in data.items() if name != key}


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda data: data | {"format": 99}, "newer memkit"),
        (lambda data: data | {"format": "1"}, "has no format"),
        (lambda data: data | {"format": 1}, "copy archive/, .env and your edits over"),
        (lambda data: data | {"answers": {"model": "mine"}}, "edited by hand"),
        (lambda data: data | {"answers": ["model"]}, "has missing or malformed fields"),
        (lambda data: data | {"store": data["store"] | {"policies": [{}]}}, "has missing or malformed fields"),
        (lambda data: [data], "not a manifest"),
        (lambda data: "{", "not JSON"),
        (lambda data: "[" * 100_000, "not JSON"),
        (_without("store"), "has missing or malformed fields"),
        (_without("runtime"), "has missing or malformed fields"),
        (
            lambda data: data | {"runtime": data["runtime"] | {"version": "../../outside"}},
            "has missing or malformed fields",
        ),
        (_without("checksum"), "edited by hand"),
        (_without("target"), "has missing or malformed fields"),
    ],
)
def test_a_manifest_that_cannot_be_relied_on_is_named(
    change: Callable[[dict[str, Any]], Any], words: str, starters: Path, tmp_path: Path
) -> None:
    """Newer, broken and edited ones are exit code 3, each with its own line."""
    folder = project(starters, "react", tmp_path / "out")
    changed = change(json.loads((folder / MANIFEST).read_text()))
    (folder / MANIFEST).write_text(changed if isinstance(changed, str) else json.dumps(changed))

    with pytest.raises(ProjectFault, match=words) as raised:
        read_manifest(folder)

    assert raised.value.exit_code == 3 and MANIFEST in str(raised.value)


def _forged(data: dict[str, Any], **skill: Any) -> bytes:
    """Return a manifest with another first skill and the right checksum."""
    first, *others = data["store"]["skills"]
    body = {key: value for key, value in data.items() if key != "checksum"}
    body["store"] = data["store"] | {"skills": [first | skill, *others]}
    return json.dumps(body | {"checksum": digest(body)}).encode()


@pytest.mark.parametrize(
    "skill",
    [
        {"name": "../../outside"},
        {"name": "/outside"},
        {"name": ""},
        {"name": None},
        {"sheets": {"../outside": "x"}},
        {"sheets": ["agentskills"]},
        {"sheets": {"agentskills": ["x"]}},
        {"sheets": {"agentskills": "\ud800"}},
        {"description": float("nan")},
        {"required_tools": [1]},
    ],
)
def test_a_strangers_manifest_names_no_path(skill: dict[str, Any], starters: Path, tmp_path: Path) -> None:
    """A checksum is no proof of good will: what becomes a part of a path, and what is no text, is refused."""
    folder = project(starters, "react", tmp_path / "out")
    forged = _forged(json.loads((folder / MANIFEST).read_text()), **skill)

    with pytest.raises(ProjectFault):
        parsed_manifest(forged, MANIFEST)
    assert parsed_manifest(_forged(json.loads((folder / MANIFEST).read_text())), MANIFEST).target == "react"


def test_a_strangers_manifest_wires_no_skill_from_elsewhere(starters: Path, tmp_path: Path) -> None:
    """The names of wired skills are looked up as files, with those of a store, at an update."""
    data = json.loads((project(starters, "react", tmp_path / "out") / MANIFEST).read_text())
    del data["checksum"]
    data["skills"] = ["../../outside"]

    with pytest.raises(ProjectFault, match="has missing or malformed fields"):
        parsed_manifest(json.dumps(data | {"checksum": digest(data)}).encode(), MANIFEST)


def test_a_folder_without_a_manifest_is_no_project(tmp_path: Path) -> None:
    """The line says what is missing and what makes a project."""
    with pytest.raises(ProjectFault, match="memkit gen"):
        read_manifest(tmp_path)
