"""``memkit skill diff`` says what changed between any two texts of a skill."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from memkit.cli.main import run
from memkit.errors import NegativeAnswer, NotFound, StoreFault, UsageError
from memkit.use_cases.compare_skill import WORK_TREE, compare_skill

TEXT = 'name: tea\ndescription: Makes tea.\nsteps: [{steps}]\nversion: "{version}"\n'


def git(root: Path, *arguments: str) -> str:
    """Run git in the store."""
    return subprocess.run(["git", *arguments], cwd=root, check=True, capture_output=True, text=True).stdout


def write(root: Path, steps: str, version: str) -> None:
    """Write the skill tea."""
    (root / "skills" / "tea.yaml").write_text(TEXT.format(steps=steps, version=version))


@pytest.fixture
def tea(store: Path) -> Path:
    """Return a store whose skill tea has the versions 1.0.0 and 1.1.0."""
    for steps, version in (("Boil", "1.0.0"), ("Boil, Pour", "1.1.0")):
        write(store, steps, version)
        git(store, "add", "-A")
        git(store, "commit", "-qm", f"Tea {version}")
    return store


def messages(root: Path, span: str | None = None) -> list[str]:
    """Return what the comparison says."""
    return [change.message for change in compare_skill(root, "tea", span).changes]


GROWN = ["version raised from 1.0.0 to 1.1.0", "step 2 inserted: “Pour”"]


@pytest.mark.parametrize("span", ["1.0.0..1.1.0", "HEAD~1..HEAD", "1.0.0", "1.0.0..", "..1.1.0", "..", "HEAD~1..1.1.0"])
def test_versions_and_commits_name_the_sides(tea: Path, span: str) -> None:
    """Either way of naming works on either side, and a side left out is the obvious one."""
    if span == "..":
        with pytest.raises(UsageError, match=r"V1\.\.V2"):
            messages(tea, span)
    else:
        assert messages(tea, span) == GROWN


def test_backwards_is_told_backwards(tea: Path) -> None:
    """The order of the span counts."""
    assert messages(tea, "1.1.0..1.0.0") == ["version lowered from 1.1.0 to 1.0.0", "step 2 removed: “Pour”"]


def test_without_a_span_it_is_what_is_in_no_commit_or_else_the_last_change(tea: Path) -> None:
    """What a person is working on comes first."""
    assert messages(tea) == GROWN

    write(tea, "Boil, Pour, Wait", "1.1.0")
    found = compare_skill(tea, "tea")
    assert [change.message for change in found.changes] == ["step 3 inserted: “Wait”"]
    assert (found.before.version, found.after.name) == ("1.1.0", WORK_TREE)


def test_a_comment_is_no_change_of_meaning(tea: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """That the text differs is said all the same."""
    path = tea / "skills" / "tea.yaml"
    path.write_text("# how we like it\n" + path.read_text())

    assert run(["skill", "diff", "tea", "--store", str(tea)]) == 0
    assert "no change of meaning" in capsys.readouterr().out


def test_a_new_and_a_removed_skill_are_told_as_a_whole(tea: Path) -> None:
    """The commit before the first one, and the work tree after a deletion, hold no such skill."""
    assert messages(tea, "HEAD~2..HEAD~1") == ["skill tea added: “Makes tea.”"]
    (tea / "skills" / "tea.yaml").unlink()
    assert messages(tea) == ["skill tea removed: “Makes tea.”"]
    (tea / "skills" / "new.yaml").write_text("name: new\ndescription: d\nsteps: [a]\n")
    assert [change.kind for change in compare_skill(tea, "new").changes] == ["added"]


@pytest.mark.parametrize("span", ["9.9.9..1.0.0", "--output=x..HEAD", "nowhere", "1.0.0..\x00"])
def test_a_side_that_never_was_is_answered_with_what_there_was(tea: Path, span: str) -> None:
    """The versions are named, and nothing reaches git as an option."""
    with pytest.raises(NotFound, match=r"It had: 1\.1\.0, 1\.0\.0"):
        compare_skill(tea, "tea", span)
    assert not (tea / "x..HEAD").exists() and not (tea / "x").exists()


def test_a_text_that_is_no_skill_cannot_be_compared(tea: Path) -> None:
    """The place and the reason are said."""
    (tea / "skills" / "tea.yaml").write_text("name: tea\nsteps: [\n")
    with pytest.raises(NegativeAnswer, match=r"skills/tea\.yaml in work tree does not load"):
        compare_skill(tea, "tea")
    (tea / "skills" / "tea.yaml").write_bytes(b"name: tea\ndescription: \xff\n")
    with pytest.raises(NegativeAnswer, match="not UTF-8"):
        compare_skill(tea, "tea")
    (tea / "skills" / "tea.yaml").write_text("name: tea\nstepz: [a]\n")
    with pytest.raises(NegativeAnswer, match="not a valid skill"):
        compare_skill(tea, "tea")


def test_what_is_not_there_is_named(tea: Path, tmp_path: Path) -> None:
    """No such skill, no such name, no repository."""
    with pytest.raises(NotFound, match="no skill 'cocoa'"):
        compare_skill(tea, "cocoa")
    with pytest.raises(UsageError, match="cannot name a skill"):
        compare_skill(tea, "../tea")
    bare = tmp_path / "bare"
    (bare / "skills").mkdir(parents=True)
    with pytest.raises(StoreFault, match="not in a git repository"):
        compare_skill(bare, "tea")


def test_a_store_in_a_folder_of_a_repository_has_its_own_paths(tea: Path, tmp_path: Path) -> None:
    """What git calls a path starts at the top, what a store calls one at the store."""
    top = tmp_path / "top"
    (top / "inner").mkdir(parents=True)
    for name in ("memkit.yaml", "skills"):
        (tea / name).rename(top / "inner" / name)
    git(top, "init", "-q")
    git(top, "add", "-A")
    git(top, "commit", "-qm", "All")
    write(top / "inner", "Boil, Pour, Wait", "1.1.0")

    assert messages(top / "inner") == ["step 3 inserted: “Wait”"]


def test_the_command_prints_both_sides_and_every_change(tea: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The data names commits and versions, and what needs a second look is marked."""
    assert run(["skill", "diff", "tea", "1.1.0..1.0.0", "--json", "--store", str(tea)]) == 0
    body: dict[str, Any] = json.loads(capsys.readouterr().out)

    assert body["schema"] == "memkit.skill.diff/1"
    assert (body["data"]["from"]["version"], body["data"]["to"]["version"]) == ("1.1.0", "1.0.0")
    assert body["data"]["from"]["commit"] == git(tea, "rev-parse", "HEAD").strip()
    assert [(one["field"], one["kind"], one["attention"]) for one in body["data"]["changes"]] == [
        ("version", "lowered", True),
        ("steps", "removed", False),
    ]
    assert run(["skill", "diff", "tea", "1.1.0..1.0.0", "--store", str(tea)]) == 0
    assert " ! version lowered" in capsys.readouterr().out
