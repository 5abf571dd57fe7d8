"""Whatever a template and an owner did, nothing that the owner did is lost."""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from edits import KINDS, MINE, OWNER, PYTHON, TEMPLATE, THEIRS, Case, reformatted
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from projects import EJECTED, write_store
from releases import Line

from memkit.generate.composition import Order
from memkit.generate.content import Content, content_of
from memkit.generate.plugins import find_target
from memkit.generate.rendering import render
from memkit.use_cases.update_project import Update, undo_update, update_project

BOM = b"\xef\xbb\xbf"


@pytest.fixture(scope="module")
def content(tmp_path_factory: pytest.TempPathFactory) -> Content:
    """Return what a fresh store holds."""
    return content_of(write_store(tmp_path_factory.mktemp("store")))


@pytest.fixture
def patched() -> Iterator[pytest.MonkeyPatch]:
    """Give a patch that several examples of one test share."""
    with pytest.MonkeyPatch.context() as patch:
        yield patch


def snapshot(folder: Path) -> dict[str, tuple[bytes, int]]:
    """Return content and mode of everything in a project but what memkit keeps for itself; a link as its target."""
    found = {}
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder).as_posix()
        if path.is_symlink():
            found[name] = (os.fsencode(path.readlink()), -1)
        elif path.is_file() and not name.startswith(".memkit/"):
            found[name] = (path.read_bytes(), path.stat().st_mode)
    return found


class Project:
    """A project with one file a case, and the template's next release installed."""

    def __init__(self, folder: Path, content: Content, patch: pytest.MonkeyPatch, cases: list[Case]) -> None:
        self.cases = cases
        line = Line(folder / "line", patch, {case.path: case.first.encode() for case in cases})
        self.out = folder / "project"
        render(Order(find_target("tiny"), content, {}, EJECTED), self.out)
        for case in cases:
            case.edit(self.out)
            (self.out / case.folder).mkdir(exist_ok=True)
            (self.out / case.folder / "mine.txt").write_text(f"my own file {case.number}\n")
        line.publish({case.new_path: case.second.encode() for case in cases if case.new_path and case.second})
        self.before = snapshot(self.out)

    def check(self, done: Update) -> None:
        """Check every file after the update."""
        actions = {action.path: action.action for action in done.actions}
        for case in self.cases:
            try:
                self.check_case(case, actions)
            except AssertionError as error:
                raise AssertionError(f"{case}: {error}") from error
            assert (self.out / case.folder / "mine.txt").read_text() == f"my own file {case.number}\n"

    def check_case(self, case: Case, actions: dict[str, str]) -> None:
        """Check that the owner's work on a file is there, the template's as well, and that nothing else happened."""
        places = [case.path, case.new_path, case.own_path]
        there = [place for place in dict.fromkeys(places) if place and os.path.lexists(self.out / place)]
        said = {actions[place] for place in dict.fromkeys(places) if place in actions}
        if case.mine == "delete":
            assert there == [] and said <= {"keep"}
            return
        if case.mine == "link":
            assert there == [case.path] and (self.out / case.path).is_symlink()
            assert ("conflict" in said) is (case.theirs != "nothing")
            return
        if case.theirs == "delete" and case.mine in ("nothing", "mode", "crlf", "format", "mark", "no last end"):
            assert there == [] and said == {"delete"}
            return
        assert len(there) == 1
        self.check_file(case, self.out / there[0], "conflict" in said)
        if case.theirs == "nothing":
            assert said == set() and self.before[there[0]] == snapshot(self.out)[there[0]]

    def check_file(self, case: Case, file: Path, conflict: bool) -> None:
        """Check a file that both have."""
        data = file.read_bytes()
        text = data.decode("utf-8-sig", "replace")
        if case.mine == "binary":
            assert data == b"\0\1\2" * 999 and conflict is (case.theirs not in ("nothing", "rename", "rename folder"))
            return
        assert conflict is expects_conflict(case), text
        assert (f"{MINE}_{case.number}" in text) is ("edit" in case.mine or case.mine == "same line")
        assert (f"{THEIRS}_{case.number}" in text) is case.theirs.endswith("edit")
        assert (b"\r\n" in data) is ("crlf" in case.mine) and data.replace(b"\r\n", b"").count(b"\n") * data.count(
            b"\r\n"
        ) == 0
        assert data.startswith(BOM) is (case.mine == "mark")
        assert data.endswith(b"\n") is (case.mine != "no last end")
        assert file.stat().st_mode & 0o777 == (0o750 if case.mine == "mode" else 0o644)
        if "format" in case.mine and case.kind == PYTHON:
            unformatted = [line for line in text.split("\n") if '"text ' in line]
            assert unformatted == [], text
        if case.mine.startswith("rename"):
            assert file == self.out / str(case.own_path)
        elif not conflict:
            assert file == self.out / str(case.new_path)


def expects_conflict(case: Case) -> bool:
    """Return whether a person has to decide."""
    if case.theirs == "delete":
        return True
    if case.mine.startswith("rename") and case.theirs.startswith("rename"):
        return True
    return case.mine == "same line" and case.theirs.endswith("edit")


def test_every_pair_of_changes_of_every_kind_of_file(
    content: Content, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All that a template does, by all that an owner does; a dry run touches nothing, and undo restores all."""
    pairs = itertools.product(TEMPLATE, OWNER, KINDS)
    cases = [Case(number, kind, theirs, mine) for number, (theirs, mine, kind) in enumerate(pairs)]
    project = Project(tmp_path, content, monkeypatch, cases)

    planned = update_project(project.out, write=False)
    assert snapshot(project.out) == project.before and not (project.out / ".memkit").exists()
    done = update_project(project.out)

    assert done.actions == planned.actions
    project.check(done)
    undo_update(project.out)
    assert snapshot(project.out) == project.before


cases = st.lists(
    st.tuples(st.sampled_from(KINDS), st.sampled_from(TEMPLATE), st.sampled_from(list(OWNER))), min_size=1, max_size=6
)


@settings(max_examples=10, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(cases, st.integers(0, 10_000))
def test_no_edit_is_lost(
    content: Content,
    tmp_path: Path,
    patched: pytest.MonkeyPatch,
    drawn: list[tuple[str, str, str]],
    start: int,
) -> None:
    """In projects of any such files, few enough that what is alike could be mistaken for renamed."""
    folder = tmp_path / f"example{len(list(tmp_path.iterdir()))}"
    named = [Case(start + number, *case) for number, case in enumerate(drawn)]
    project = Project(folder, content, patched, named)

    done = update_project(project.out)

    project.check(done)
    undo_update(project.out)
    assert snapshot(project.out) == project.before


def test_the_check_can_fail(content: Content, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An edit that is gone, and a format that is gone, are seen."""
    lost = [Case(1, PYTHON, "edit", "edit"), Case(2, PYTHON, "edit", "format")]
    for number, case in enumerate(lost):
        project = Project(tmp_path / str(number), content, monkeypatch, [case])
        done = update_project(project.out)
        (project.out / case.path).write_text(str(case.second))

        with pytest.raises(AssertionError):
            project.check(done)


def test_the_reformatted_file_is_another_text() -> None:
    """What these tests call formatting changes most statements."""
    text = Case(1, PYTHON, "edit", "format").first

    assert sum(line not in text for line in reformatted(text).split("\n")) > 40
