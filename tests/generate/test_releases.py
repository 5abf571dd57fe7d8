"""Template releases: small, never written again, and rendering today as they did when they were made."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path

import pytest
from projects import TARGETS, project
from releases import Line, copy_of, release, rewrite

from memkit.errors import EnvironmentFault, MissingExtra
from memkit.generate.manifest import read_manifest
from memkit.generate.releases import INDEX, SPECIMEN, Releases, installed_releases
from memkit.generate.source import RELEASES, digest_of, files_of, installed_source, unpacked_source
from memkit.use_cases.release_templates import release_templates, renders_of

RELEASED = [release.number for release in installed_releases().all()]


def files(folder: Path) -> dict[str, bytes]:
    """Return the content of every file in ``folder`` by its relative path."""
    return {path: place.read_bytes() for path, place in files_of(folder)}


@pytest.mark.parametrize("number", RELEASED)
def test_a_release_renders_as_it_did_when_it_was_made(number: int) -> None:
    """No later change of the context of the templates, or of a quoting function, changes what an update starts from."""
    known = installed_releases().all()[number - 1]

    with installed_releases().unpacked(known) as folder:
        renders = renders_of(unpacked_source(folder), (folder / SPECIMEN).read_bytes())

    assert renders == known.renders and set(TARGETS) & set(renders)


def test_a_release_holds_what_was_released(tmp_path: Path) -> None:
    """Each comes back file by file, from bundles of which a later one holds only what changed."""
    releases = Releases(tmp_path / RELEASES)
    first = {f"templates/{number}.txt": b"%d\n" % number * 500 for number in range(200)} | {
        "memkit/a b's {% if x %}": b"\0"
    }
    second = {**first, "templates/1.txt": b"changed\n", "templates/new.txt": b""}
    del second["templates/2.txt"]

    made = [releases.add(first, renders={"react": "r"}), releases.add(second, specimen=b"{}")]

    assert releases.all() == made and [each.number for each in made] == [1, 2]
    for each, expected in zip(made, (first, {**second, SPECIMEN: b"{}"}), strict=True):
        with releases.unpacked(each) as folder:
            assert files(folder) == expected
    sizes = [(releases.folder / f"{number}.bundle").stat().st_size for number in (1, 2)]
    assert sizes[1] < sizes[0] / 3


def test_a_release_is_the_same_wherever_it_is_made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No date, no account and no configuration of git is in it."""
    content = {"templates/a.txt": b"a\r\n", "templates/.gitattributes": b"* text=auto eol=lf\n"}
    one = Releases(tmp_path / "one").add(content)
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / ".gitconfig").write_text(
        "[user]\nname = x\n[core]\nautocrlf = true\nhooksPath = /nowhere\n[init]\ndefaultObjectFormat = sha256\n"
    )
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("GIT_DEFAULT_HASH", "sha256")
    monkeypatch.setenv("GIT_DIR", str(tmp_path / "elsewhere"))

    other = Releases(tmp_path / "other").add(content)

    assert one == other
    assert files(tmp_path / "one") == files(tmp_path / "other")


def test_files_are_named_by_the_release_that_they_are(tmp_path: Path) -> None:
    """The number alone for what was released, and a mark behind the last one for what was changed since."""
    releases = Releases(tmp_path)
    assert releases.version("sha256:x") == "0+unreleased"
    made = releases.add({"a": b"1"})

    assert releases.version(made.digest) == "1"
    assert releases.version(digest_of({"a": b"2"})) == "1+unreleased"


@pytest.mark.parametrize(
    "damage",
    [
        lambda folder: (folder / "1.bundle").unlink(),
        lambda folder: (folder / "1.bundle").write_bytes((folder / "1.bundle").read_bytes()[:-20]),
        lambda folder: (folder / "2.bundle").write_bytes(b"no bundle"),
        lambda folder: shutil.copyfile(folder / "1.bundle", folder / "2.bundle"),
        lambda folder: (folder / INDEX).write_text("{"),
        lambda folder: (folder / INDEX).write_text('{"releases": [{"number": 1}]}'),
        lambda folder: (folder / INDEX).write_text((folder / INDEX).read_text().replace("sha256:", "sha256:0")),
        lambda folder: (folder / INDEX).write_text((folder / INDEX).read_text().replace('"number": 1', '"number": 3')),
    ],
)
def test_a_damaged_installation_is_said(damage: object, tmp_path: Path) -> None:
    """A bundle that is missing, torn or another one, and a broken index, are exit code 3."""
    releases = Releases(tmp_path)
    releases.add({"a": b"1"})
    last = releases.add({"a": b"2"})
    damage(tmp_path)  # type: ignore[operator]

    with pytest.raises(EnvironmentFault), releases.unpacked(releases.all()[-1] if releases.all() else last):
        pytest.fail("the damage was not seen")


def test_a_path_out_of_a_release_is_damage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Git unpacks a bundle whose trees name anything, and the digest beside it comes from the same hand."""
    releases = Releases(tmp_path / "releases")
    hostile = {"../outside": b"theirs"}
    made = replace(releases.add({"a": b"1"}), digest=digest_of(hostile))
    monkeypatch.setattr("memkit.generate.releases._files_of", lambda git, commit: hostile)

    with pytest.raises(EnvironmentFault, match="leads out"), releases.unpacked(made):
        pytest.fail("the path was followed")


def test_without_git_the_line_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Releases are bundles, and reading one needs git."""
    monkeypatch.setenv("PATH", str(tmp_path))

    with pytest.raises(MissingExtra, match="Install git"):
        Releases(tmp_path / "r").add({"a": b""})


def test_making_a_release_twice_makes_one(tmp_path: Path) -> None:
    """The next is made when a file differs, and not before; checking makes none."""
    source = copy_of(installed_source(), tmp_path / "checkout")
    shutil.rmtree(source.templates / RELEASES)

    assert release_templates(source, check=True).release is None
    first = release_templates(source)
    again = release_templates(source)
    rewrite("AGENTS.md.jinja", "# ", "#  ")(source)
    changed = unpacked_source(tmp_path / "checkout")
    due = release_templates(changed, check=True)
    second = release_templates(changed)

    assert first.made and not again.made and first.release == again.release
    assert due.release is None
    assert second.made and second.release is not None and second.release.number == 2
    index = json.loads((source.templates / RELEASES / INDEX).read_text())
    assert index["releases"][0]["renders"].keys() == index["releases"][1]["renders"].keys() >= set(TARGETS)


def test_a_project_names_the_release_that_it_was_rendered_from(
    starters: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Installed releases give a number; templates that were changed since give the number and a mark."""
    line = Line(tmp_path / "line", monkeypatch)
    line.next(rewrite("AGENTS.md.jinja", "# ", "#  "), released=False)

    first = read_manifest(project(starters, "react", tmp_path / "first"))
    line.install(2)
    second = read_manifest(project(starters, "react", tmp_path / "second"))

    assert (first.templates.version, second.templates.version) == ("1", "1+unreleased")
    assert first.templates.digest != second.templates.digest


def test_what_python_leaves_behind_is_no_part_of_a_release(tmp_path: Path) -> None:
    """Bytecode and the releases themselves do not count."""
    source = copy_of(installed_source(), tmp_path)
    before = source.digest
    (source.packages / "runtime" / "memory" / "__pycache__").mkdir()
    (source.packages / "runtime" / "memory" / "__pycache__" / "x.pyc").write_bytes(b"x")

    after = release(unpacked_source(tmp_path))

    assert after.digest == before
    assert not [path for path in after.files if RELEASES in path or "__pycache__" in path]
