"""Template releases: plain files, never written again, known by what they hold."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from projects import TARGETS
from releases import copy_of, rewrite
from written.template_release import is_released, release_templates

from memkit.errors import UsageError
from memkit.generate.composition import Order
from memkit.generate.content import content_of
from memkit.generate.manifest import Runtime
from memkit.generate.plugins import find_target
from memkit.generate.rendering import rendered
from memkit.generate.targets import (
    RELEASES,
    Releases,
    Source,
    files_of,
    installed_releases,
    installed_source,
    load_targets,
)


def files(folder: Path) -> dict[str, bytes]:
    """Return the content of every file in ``folder`` by its relative path."""
    return {path: place.read_bytes() for path, place in files_of(folder)}


def test_a_release_is_the_templates_as_they_were(tmp_path: Path) -> None:
    """File by file, found by their digest, and named after the memkit that they came with."""
    source = copy_of(installed_source(), tmp_path)
    before = {path: place.read_bytes() for path, place in source.files.items()}

    made = release_templates(source, "7.0.0")
    rewrite("README.md.jinja", "## Policies", "## Rules")(source)

    assert files(made.folder) == before
    releases = Releases(source.templates / RELEASES)
    found = releases.find(made.digest)
    assert found == made and releases.version(made.digest, "8.0.0") == "7.0.0"
    assert releases.version(Source(source.templates).digest, "8.0.0") == "8.0.0+unreleased"


def test_what_was_released_is_never_written_again(tmp_path: Path) -> None:
    """The same templates are the same release; others under the same version are refused, and nothing changes."""
    source = copy_of(installed_source(), tmp_path)
    made = release_templates(source, "7.0.0")
    held = files(made.folder)
    assert release_templates(Source(source.templates), "7.0.0") == made and is_released(Source(source.templates))

    rewrite("README.md.jinja", "## Policies", "## Rules")(source)

    assert not is_released(Source(source.templates))
    with pytest.raises(UsageError, match="Raise the version"):
        release_templates(Source(source.templates), "7.0.0")
    assert files(made.folder) == held


def test_a_release_is_rendered_like_what_is_installed(tmp_path: Path, starters: Path) -> None:
    """It is a folder of templates like any other, and gives every target that it had."""
    source = copy_of(installed_source(), tmp_path)
    released = Source(release_templates(source, "7.0.0").folder)
    content, runtime = content_of(starters), Runtime("1.0", "")

    assert set(TARGETS) <= load_targets(released).keys()
    for target in TARGETS:
        then = rendered(Order(find_target(target, released), content, {}, runtime))
        assert then == rendered(Order(find_target(target, source), content, {}, runtime))


def test_every_release_that_travels_can_be_rendered(starters: Path) -> None:
    """An update begins with the old render, so no later change of what templates see may break it."""
    for release in installed_releases().all():
        source = Source(release.folder)
        for target in load_targets(source):
            order = Order(find_target(target, source), content_of(starters), {}, Runtime("1.0", ""))
            assert rendered(order), (release, target)


def test_without_the_folder_of_releases_nothing_was_released(tmp_path: Path) -> None:
    """A checkout before its first release has none, and renders all the same."""
    source = copy_of(installed_source(), tmp_path)
    shutil.rmtree(source.templates / RELEASES, ignore_errors=True)

    assert list(Releases(source.templates / RELEASES).all()) == [] and not is_released(source)
