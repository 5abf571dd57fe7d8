"""A small line of template releases for the tests of updates, each a folder like an installation."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from memkit.generate.targets import RELEASES, Releases, Source, installed_source

Edit = Callable[[Source], None]


def copy_of(source: Source, place: Path) -> Source:
    """Return a copy of ``source`` below ``place``, what was released of it included."""
    shutil.copytree(source.templates, place / "templates")
    return Source(place / "templates")


def release(source: Source, number: int) -> Source:
    """Make a release of ``source`` and return it as it is read from the disk."""
    files = {path: file.read_bytes() for path, file in source.files.items()}
    Releases(source.templates / RELEASES).add(str(number), files)
    return Source(source.templates)


def tiny(place: Path, files: Mapping[str, bytes]) -> Source:
    """Write templates with one target, ``tiny``, whose project consists of ``files``."""
    templates = place / "templates"
    for path, content in {**files, "ABOUT.md.jinja": b"{{ store.name }}\n"}.items():
        file = templates / "_shared" / "project" / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content)
    (templates / "_shared" / "copier.yml").write_text(
        "_subdirectory: project\n_templates_suffix: .jinja\nmodel: {type: str, default: m}\n"
    )
    (templates / "tiny").mkdir()
    (templates / "tiny" / "target.yaml").write_text(
        "title: Tiny\ndescription: Tiny.\nrequires: []\nenvironment: []\nwires: []\nprotocols: []\n"
        "skills: [virtual-memory, hybrid-planner]\n"
    )
    return Source(templates)


class Line:
    """Releases of templates, of which one is installed: those that start as ``files``, or as memkit's own."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch, files: Mapping[str, bytes] | None = None) -> None:
        self._folder = folder
        self._monkeypatch = monkeypatch
        shutil.rmtree(folder, ignore_errors=True)
        first = copy_of(installed_source(), folder / "1") if files is None else tiny(folder / "1", files)
        shutil.rmtree(first.templates / RELEASES, ignore_errors=True)
        self.versions = [release(first, 1)]
        self.install(1)

    def publish(self, files: Mapping[str, bytes]) -> int:
        """Release other files of the tiny target, install them, and return their number."""
        number = len(self.versions) + 1
        source = tiny(self._folder / str(number), {**files, "VERSION": b"%d\n" % number})
        shutil.copytree(self.versions[-1].templates / RELEASES, source.templates / RELEASES)
        self.versions.append(release(source, number))
        self.install(number)
        return number

    def next(self, *edits: Edit, released: bool = True) -> int:
        """Make the next version of the last one's files, changed by ``edits``, and return its number."""
        number = len(self.versions) + 1
        source = copy_of(self.versions[-1], self._folder / str(number))
        for edit in edits:
            edit(source)
        fresh = Source(source.templates)
        self.versions.append(release(fresh, number) if released else fresh)
        return number

    def install(self, number: int) -> None:
        """Let memkit find version ``number`` as what is installed."""
        chosen = self.versions[number - 1]
        self._monkeypatch.setattr("memkit.generate.targets.resource", lambda name: chosen.templates)


def template(source: Source, path: str, layer: str = "_shared") -> Path:
    """Return a file of the templates by its path in a project."""
    return source.templates / layer / "project" / path


def rewrite(path: str, old: str, new: str, layer: str = "_shared") -> Edit:
    """Return the edit that puts ``new`` where a template says ``old``."""

    def edit(source: Source) -> None:
        file = template(source, path, layer)
        text = file.read_text(encoding="utf-8")
        assert text.count(old) == 1, (path, old, text.count(old))
        file.write_text(text.replace(old, new), encoding="utf-8")

    return edit


def rename(path: str, new: str, layer: str = "_shared") -> Edit:
    """Return the edit that moves a file or a folder of a template."""

    def edit(source: Source) -> None:
        target = template(source, new, layer)
        target.parent.mkdir(parents=True, exist_ok=True)
        template(source, path, layer).rename(target)

    return edit


def delete(path: str, layer: str = "_shared") -> Edit:
    """Return the edit that deletes a file of a template."""
    return lambda source: template(source, path, layer).unlink()


def add(path: str, text: str, layer: str = "_shared") -> Edit:
    """Return the edit that adds a file to a template."""

    def edit(source: Source) -> None:
        file = template(source, path, layer)
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")

    return edit
