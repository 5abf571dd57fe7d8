"""A project appears complete or not at all, and the same store gives the same project."""

from __future__ import annotations

import ast
import fcntl
import json
import os
import tomllib
from pathlib import Path

import pytest
from projects import CHOICES, TARGETS, project, write_store

from memkit.errors import EnvironmentFault, UsageError
from memkit.generate import rendering
from memkit.store.yaml import load_yaml

MEMORY = {"archival_memory_insert", "archival_memory_search", "core_memory_append", "core_memory_replace"}


def tree(folder: Path) -> dict[str, bytes]:
    """Return the content of every file in ``folder`` by its relative path."""
    files = (path for path in sorted(folder.rglob("*")) if path.is_file())
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in files}


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("choice", CHOICES)
def test_every_file_of_a_project_parses(target: str, choice: str, starters: Path, tmp_path: Path) -> None:
    """Python compiles, TOML, JSON and YAML parse, nothing of the template is left, and no test is missing."""
    files = tree(project(starters, target, tmp_path / "out", choice))

    for path, content in files.items():
        if path.endswith(".whl"):
            continue
        text = content.decode()
        if path.endswith(".py"):
            ast.parse(text)
        elif path.endswith(".toml"):
            tomllib.loads(text)
        elif path.endswith(".json"):
            json.loads(text)
        elif path.endswith((".yaml", ".yml")):
            load_yaml(text)
        assert "{%" not in path and not path.endswith(".jinja")
        assert not path.endswith(".md") or "{{" not in text
    assert (b"class TestMemory" in files["tests/test_promises.py"]) is (choice != "hybrid-planner")
    assert (b"class TestPlanning" in files["tests/test_promises.py"]) is (choice != "virtual-memory")


def test_the_skill_chooses_the_tools(starters: Path, tmp_path: Path) -> None:
    """The tools are those that the wired skills require, and the store's declared tools are always there."""

    def compiled(choice: str) -> dict[str, object]:
        out = project(starters, "react", tmp_path / choice, choice)
        settings: dict[str, object] = json.loads((out / "agent/compiled/settings.json").read_text())
        return settings

    memory, planning, both = (
        set(compiled(name)["agent"]["tools"]) for name in ("virtual-memory", "hybrid-planner", "both")
    )

    assert memory >= MEMORY and "plan_task" not in memory
    assert planning >= {"plan_task", "propose_subtasks"} and not planning & MEMORY
    assert both == memory | planning


def test_the_same_store_gives_the_same_project(starters: Path, tmp_path: Path) -> None:
    """A render holds no date, no path but the way to its store, and no account of this machine."""
    first = tree(project(starters, "langgraph", tmp_path / "one"))
    other = write_store(tmp_path / "elsewhere" / "starters")

    second = tree(project(other, "langgraph", tmp_path / "elsewhere" / "two"))

    assert first == second
    assert not [path for path, content in first.items() if str(tmp_path).encode() in content]


def test_a_project_is_a_store(starters: Path, tmp_path: Path) -> None:
    """The rendered memkit.yaml holds the store's settings, under the project's name."""
    from memkit.store.config import load_settings

    out = project(starters, "react", tmp_path / "out", project_name="My: 'project'")

    settings = load_settings(out, {})
    assert settings["name"] == "My: 'project'"
    assert settings["tools"] == load_settings(starters, {})["tools"]


def test_the_environment_of_whoever_renders_stays_out(
    starters: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A MEMKIT_ variable of the moment is no part of a project that others run."""
    monkeypatch.setenv("MEMKIT_USER", "somebody-here")

    files = tree(project(starters, "react", tmp_path / "out"))

    assert not [path for path, content in files.items() if b"somebody-here" in content]


@pytest.mark.timeout(300)  # of a hang, which had no end
def test_the_settings_of_the_repository_around_are_not_read(starters: Path, tmp_path: Path) -> None:
    """Copier asks git about each file; a pipe among the settings of a foreign store's repository would stop it."""
    (tmp_path / ".git").mkdir()
    for folder in ("objects", "refs"):
        (tmp_path / ".git" / folder).mkdir()
    (tmp_path / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
    (tmp_path / ".git" / "config").write_text("[include]\n\tpath = pipe\n")
    os.mkfifo(tmp_path / ".git" / "pipe")

    assert (project(starters, "react", tmp_path / "out") / "agent").is_dir()


def test_the_manifest_records_what_came_from_the_store(starters: Path, tmp_path: Path) -> None:
    """A change of a skill changes its digest and no other."""
    before = json.loads((project(starters, "react", tmp_path / "one") / ".memkit-gen.json").read_text())
    skill = starters / "skills" / "write-a-decision-record.yaml"
    skill.write_text(skill.read_text().replace("Records one technical decision", "Records a technical decision"))

    after = json.loads((project(starters, "react", tmp_path / "two") / ".memkit-gen.json").read_text())

    old, new = before["from_store"]["skills"], after["from_store"]["skills"]
    assert {name for name in old if old[name] != new[name]} == {"write-a-decision-record"}
    assert {**before["from_store"], "skills": new} == after["from_store"]
    assert before["answers"] == {} and before["target"] == "react"


def test_a_taken_place_is_refused_and_left_alone(starters: Path, tmp_path: Path) -> None:
    """A folder that is not empty, a file, and a dangling link stay as they were."""
    full, file, link = tmp_path / "full", tmp_path / "file", tmp_path / "link"
    full.mkdir()
    (full / "mine.txt").write_text("mine")
    file.write_text("mine")
    link.symlink_to(tmp_path / "nowhere")

    for place in (full, file, link):
        with pytest.raises(UsageError, match="Nothing was changed"):
            project(starters, "react", place)

    assert tree(full) == {"mine.txt": b"mine"} and file.read_text() == "mine" and link.is_symlink()


def test_a_project_is_to_be_updated_not_removed(starters: Path, tmp_path: Path) -> None:
    """The message names the command that somebody who renders a project a second time looks for."""
    place = tmp_path / "my agent"
    project(starters, "react", place)

    with pytest.raises(UsageError, match=r"already a project\. To bring it up to date: memkit update '\S+my agent'\."):
        project(starters, "react", place)


def test_an_empty_folder_is_used(starters: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also when it is the one that the caller stands in, which stays the same folder."""
    here = tmp_path / "here"
    here.mkdir()
    monkeypatch.chdir(here)
    inode = here.stat().st_ino

    project(starters, "react", Path())

    assert here.stat().st_ino == inode and (here / "README.md").is_file()


def test_a_place_below_a_file_is_a_clear_error(starters: Path, tmp_path: Path) -> None:
    """A parent that is no folder is said in one line."""
    (tmp_path / "file").write_text("mine")

    with pytest.raises(EnvironmentFault, match="cannot be written"):
        project(starters, "react", tmp_path / "file" / "out")


@pytest.mark.parametrize(
    "failure", [OSError(28, "No space left"), PermissionError(13, "Permission denied"), KeyboardInterrupt()]
)
def test_an_interrupted_render_leaves_nothing(
    failure: BaseException, starters: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever ends a render before its last step, neither the project nor the folders made for it remain."""

    def fail(*_: object) -> None:
        raise failure

    monkeypatch.setattr(rendering, "_put_in_place", fail)

    with pytest.raises((EnvironmentFault, KeyboardInterrupt)):
        project(starters, "react", tmp_path / "new" / "deep" / "out")

    assert not (tmp_path / "new").exists()


def test_a_run_beside_this_one_does_not_end_it(starters: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What clears up after killed runs may come between the making of a folder and its lock, or find one just gone."""
    (tmp_path / f".memkit-gen-{'0' * 16}").symlink_to(tmp_path / "gone")
    lock, times = fcntl.flock, 0

    def locked(descriptor: int, how: int) -> None:
        nonlocal times
        times += how == fcntl.LOCK_EX
        if times == 1 and how == fcntl.LOCK_EX:
            rendering._remove_abandoned(tmp_path)
        lock(descriptor, how)

    monkeypatch.setattr(fcntl, "flock", locked)

    assert (project(starters, "react", tmp_path / "out") / "README.md").is_file()
    assert times == 2 and sorted(path.name for path in tmp_path.glob(".memkit-gen-*")) == [f".memkit-gen-{'0' * 16}"]


def test_a_broken_file_is_refused_with_its_place(starters: Path, tmp_path: Path) -> None:
    """Gen refuses what cannot be loaded, with file, line and column."""
    (starters / "policies" / "broken.yaml").write_text("name: broken\nrule: [\n")

    with pytest.raises(UsageError, match=r"policies/broken\.yaml:\d+:\d+"):
        project(starters, "react", tmp_path / "out")


def test_an_answer_reaches_the_project(starters: Path, tmp_path: Path) -> None:
    """What --data names stands in the project and in its manifest."""
    out = project(starters, "react", tmp_path / "out", model="gpt-6-luna")

    assert "gpt-6-luna" in (out / "agent" / "__init__.py").read_text()
    assert json.loads((out / ".memkit-gen.json").read_text())["answers"] == {"model": "gpt-6-luna"}
