"""Skills in git: new ones, their history, and the way back."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memkit.cli.main import run
from memkit.errors import NegativeAnswer, NotFound, StoreFault, UsageError
from memkit.skills.skill import SKILL, load_skill
from memkit.store.file_history import FileHistory, present_version, present_versions
from memkit.store.git import Git
from memkit.use_cases.files import commit_file, draft_file, trace_file
from memkit.use_cases.lint import lint_store
from memkit.use_cases.skills import roll_back_skill
from memkit.use_cases.store import make_store

TEXT = 'name: tea\ndescription: Makes tea.\nsteps: [{step}]\nversion: "{version}"\n'


def git(root: Path, *arguments: str) -> str:
    """Run git in the store."""
    return subprocess.run(["git", *arguments], cwd=root, check=True, capture_output=True, text=True).stdout


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Make a store whose skill tea has the versions 1.0.0 and 2.0.0."""
    for role in ("AUTHOR", "COMMITTER"):
        monkeypatch.setenv(f"GIT_{role}_NAME", "Ada")
        monkeypatch.setenv(f"GIT_{role}_EMAIL", "ada@example.org")
        monkeypatch.setenv(f"GIT_{role}_DATE", "2026-11-22T09:00:00+0530")
    root = make_store(tmp_path / "store").root
    for version, step in (("1.0.0", "Boil"), ("2.0.0", "Boil twice")):
        (root / "skills" / "tea.yaml").write_text(TEXT.format(version=version, step=step))
        git(root, "add", "-A")
        git(root, "commit", "-qm", f"Tea {version}")
    return root


def test_a_new_skill_is_valid_and_waits_for_a_commit(store: Path) -> None:
    """The example loads and has no findings; what a person made of it is committed when they say so."""
    path = draft_file(store, SKILL, "coffee")

    assert load_skill(path).version is None
    assert lint_store(None, [path]).findings == ()
    assert git(store, "status", "--porcelain", "-z") == "?? skills/coffee.yaml\0"
    assert commit_file(store, SKILL, "coffee").version == "0.1.0"
    assert git(store, "log", "-1", "--format=%s", "--name-only").split("\n") == [
        "Add the skill coffee",
        "",
        "skills/coffee.yaml",
        "",
    ]
    assert git(store, "status", "--porcelain") == ""


def tea(store: Path, *steps: str, name: str = "green") -> None:
    """Write the skill without a version."""
    text = f"name: {name}\n\ndescription: Makes tea.\n\nsteps:\n" + "".join(f"  - {step}\n" for step in steps)
    (store / "skills" / f"{name}.yaml").write_text(text)


def versions(store: Path, name: str = "green") -> list[str | None]:
    """Return the versions of a skill, newest first."""
    return [revision.version for revision in trace_file(store, SKILL, name).revisions]


def test_versions_follow_from_the_commits(store: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """What says something new counts up, what it said before has its old version; rollback and export take them."""
    for steps, bump in ((["Boil"], None), (["Boil", "Pour"], None), (["Boil"], None), (["Wait"], "major")):
        tea(store, *steps)
        assert commit_file(store, SKILL, "green", bump=bump).commit
    (store / "skills" / "green.yaml").write_text("# Slowly.\n" + (store / "skills" / "green.yaml").read_text())
    assert commit_file(store, SKILL, "green").version == "1.0.0"
    assert versions(store) == ["1.0.0", "1.0.0", "0.1.0", "0.2.0", "0.1.0"]

    assert roll_back_skill(store, "green", "0.2.0").version == "0.2.0"
    assert load_skill(store / "skills" / "green.yaml").steps == ("Boil", "Pour")
    export = ["skill", "export", "green", "--store", str(store), "--out", str(tmp_path / "out")]
    assert run(export) == 0
    assert '"version": "0.2.0"' in (tmp_path / "out" / "green" / "SKILL.md").read_text()
    capsys.readouterr()
    assert run(["skill", "show", "green", "--json", "--store", str(store)]) == 0
    assert json.loads(capsys.readouterr().out)["data"]["version"] == "0.2.0"
    tea(store, "Boil", "Pour", "Drink")
    assert present_version(store, SKILL, "green") is None
    assert commit_file(store, SKILL, "green", bump="patch").version == "1.0.1"


def test_a_merge_changes_no_version_of_the_branch_that_it_is_made_on(store: Path) -> None:
    """What it brought in counts as one, whatever was when; git merges changes in different places by itself."""
    tea(store, "Boil", "Wait", "Pour", "Drink")
    commit_file(store, SKILL, "green")
    git(store, "checkout", "-q", "-b", "side")
    for last in ("Sip", "Slurp"):
        tea(store, "Boil", "Wait", "Pour", last)
        commit_file(store, SKILL, "green")
    git(store, "checkout", "-q", "main")
    tea(store, "Cook", "Wait", "Pour", "Drink")
    commit_file(store, SKILL, "green")

    git(store, "merge", "-q", "--no-edit", "side")

    assert load_skill(store / "skills" / "green.yaml").steps == ("Cook", "Wait", "Pour", "Slurp")
    found = {
        revision.subject.split(":")[-1]: revision.version for revision in trace_file(store, SKILL, "green").revisions
    }
    assert found.pop("Merge branch 'side'") == "0.3.0"
    assert sorted(map(str, found.values())) == ["0.1.0", "0.2.0", "None", "None"]


def test_migrate_takes_versions_out_and_nothing_else(store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The version stays what it was, comments and line ends too, and the next change counts on from it."""
    path = store / "skills" / "tea.yaml"
    text = path.read_text() + 'changelog:\n  - version: "2.0.0"\n    changes: Twice.\n# The end.\n'
    path.write_bytes(text.replace("\n", "\r\n").encode())
    git(store, "commit", "-qam", "Notes")

    assert run(["migrate", "--store", str(store)]) == 0

    said = "Done: let the versions of skills/tea.yaml follow from their commits."
    assert capsys.readouterr().out.splitlines()[0] == said
    assert path.read_bytes() == text[: text.index("version")].encode().replace(b"\n", b"\r\n") + b"# The end.\r\n"
    assert versions(store, "tea")[0] == "2.0.0"
    path.write_text(path.read_text().replace("Boil twice", "Boil once"))
    assert commit_file(store, SKILL, "tea").version == "2.1.0"


def test_a_new_skill_never_takes_the_place_of_another(store: Path) -> None:
    """An existing file stays, and a path is no name."""
    before = (store / "skills" / "tea.yaml").read_bytes()

    for name in ("tea", "../tea", "Tea", "-tea"):
        with pytest.raises(UsageError):
            draft_file(store, SKILL, name)
    assert (store / "skills" / "tea.yaml").read_bytes() == before


def test_history_names_commits_and_versions_newest_first(store: Path) -> None:
    """Only commits that touched the skill are in its history."""
    draft_file(store, SKILL, "coffee")

    assert [(each.subject, each.version, each.author) for each in trace_file(store, SKILL, "tea").revisions] == [
        ("Tea 2.0.0", "2.0.0", "Ada"),
        ("Tea 1.0.0", "1.0.0", "Ada"),
    ]
    with pytest.raises(NotFound):
        trace_file(store, SKILL, "cocoa")


def test_without_git_there_is_no_history(tmp_path: Path) -> None:
    """A store that is no repository says so."""
    with pytest.raises(StoreFault, match="not in a git repository"):
        trace_file(tmp_path, SKILL, "tea")


def test_rollback_is_a_new_commit_with_the_old_text(store: Path) -> None:
    """History only grows; going back to where one is commits nothing."""
    done = roll_back_skill(store, "tea", "1.0.0")

    assert (store / "skills" / "tea.yaml").read_text() == TEXT.format(version="1.0.0", step="Boil")
    assert [each.version for each in trace_file(store, SKILL, "tea").revisions] == ["1.0.0", "2.0.0", "1.0.0"]
    assert git(store, "log", "-1", "--format=%s").strip() == "Roll the skill tea back to 1.0.0"
    assert done.commit == git(store, "rev-parse", "HEAD").strip()
    assert roll_back_skill(store, "tea", "1.0.0").commit is None


def test_rollback_brings_a_removed_skill_back(store: Path) -> None:
    """A deletion is undone as well."""
    git(store, "rm", "-q", "skills/tea.yaml")
    git(store, "commit", "-qm", "No tea")

    roll_back_skill(store, "tea", "2.0.0")

    assert load_skill(store / "skills" / "tea.yaml").version == "2.0.0"


def test_rollback_takes_a_commit_id(store: Path) -> None:
    """Where versions were not counted, a commit names the text."""
    first = trace_file(store, SKILL, "tea").revisions[1].commit

    assert roll_back_skill(store, "tea", first[:10]).source == first


def test_rollback_loses_nothing_that_is_in_no_commit(store: Path) -> None:
    """A file with changes is left alone."""
    changed = TEXT.format(version="3.0.0", step="Sing")
    (store / "skills" / "tea.yaml").write_text(changed)

    with pytest.raises(NegativeAnswer, match="uncommitted changes"):
        roll_back_skill(store, "tea", "1.0.0")
    assert (store / "skills" / "tea.yaml").read_text() == changed


@pytest.mark.parametrize("version", ["9.9.9", "", "HEAD", "--output=x", "abc"])
def test_rollback_to_a_version_that_never_was_is_answered(store: Path, version: str) -> None:
    """The versions that there were are named; nothing reaches git as an option."""
    with pytest.raises(NotFound, match=r"It had: 2\.0\.0, 1\.0\.0"):
        roll_back_skill(store, "tea", version)


def test_rollback_to_a_text_that_is_no_skill_any_more_changes_nothing(store: Path) -> None:
    """An old version has to pass today's schema."""
    good = (store / "skills" / "tea.yaml").read_text()
    (store / "skills" / "tea.yaml").write_text(good.replace("steps", "stepz").replace("2.0.0", "2.1.0"))
    git(store, "commit", "-qam", "Broken")
    (store / "skills" / "tea.yaml").write_text(good.replace("2.0.0", "2.2.0"))
    git(store, "commit", "-qam", "Mended")

    with pytest.raises(NegativeAnswer, match="no longer a valid skill"):
        roll_back_skill(store, "tea", "2.1.0")
    assert load_skill(store / "skills" / "tea.yaml").version == "2.2.0"


def test_rollback_during_a_merge_leaves_the_file_as_it_was(store: Path) -> None:
    """Git commits no single file in a merge; the text that was written is taken back."""
    git(store, "checkout", "-qb", "side")
    (store / "note.txt").write_text("side\n")
    git(store, "add", "-A")
    git(store, "commit", "-qm", "Side")
    git(store, "checkout", "-q", "main")
    git(store, "merge", "-q", "--no-ff", "--no-commit", "side")

    assert run(["skill", "rollback", "tea", "1.0.0", "--store", str(store)]) == 3
    assert load_skill(store / "skills" / "tea.yaml").version == "2.0.0"


def test_the_commands_answer(store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """New, history and rollback print one envelope each, with times in UTC wherever the author was."""
    where = ["--json", "--store", str(store)]

    assert run(["skill", "new", "coffee", *where]) == 0
    assert json.loads(capsys.readouterr().out)["data"]["name"] == "coffee"
    assert run(["skill", "history", "tea", *where]) == 0
    history = json.loads(capsys.readouterr().out)["data"]["history"]
    assert [row["version"] for row in history] == ["2.0.0", "1.0.0"]
    assert all(row["at"].endswith("Z") for row in history)
    assert run(["skill", "rollback", "tea", "1.0.0", *where]) == 0
    assert json.loads(capsys.readouterr().out)["data"]["version"] == "1.0.0"
    assert run(["skill", "rollback", "tea", "7.0.0", *where]) == 1


TALES = st.lists(
    st.tuples(
        st.integers(0, 5),  # which commit before it is the first parent
        st.none() | st.integers(0, 5),  # and the one that is merged
        st.dictionaries(st.sampled_from(["tea", "cake"]), st.none() | st.integers(0, 3), max_size=2),
        st.sampled_from(["", "major", "patch"]),
    ),
    min_size=1,
    max_size=9,
)


@settings(deadline=None)
@given(TALES)
def test_a_list_has_the_versions_that_each_history_has(
    tmp_path_factory: pytest.TempPathFactory, tale: list[tuple[int, int | None, dict[str, int | None], str]]
) -> None:
    """However branches went and met, and though git is asked once for all files."""
    root = tmp_path_factory.mktemp("tale")
    git(root, "init", "-q", "-b", "main")
    script, files = "", list[dict[str, int]]()
    for number, (first, merged, changed, part) in enumerate(tale):
        message = f"Step {number}\n\nBump: {part}\n" if part else f"Step {number}\n"
        script += f"commit refs/heads/main\nmark :{number + 1}\ncommitter A <a@b> {number} +0000\n"
        script += f"data {len(message)}\n{message}"
        parents = [number - first % number] if number else []
        parents += [number - merged % number] if number and merged is not None else []
        now = dict(files[parents[0] - 1]) if parents else {}
        for parent, word in zip(dict.fromkeys(parents), ("from", "merge"), strict=False):
            script += f"{word} :{parent}\n"
        if len(set(parents)) > 1:
            now |= {name: text for name, text in files[parents[1] - 1].items() if text > now.get(name, -1)}
        now |= {name: text for name, text in changed.items() if text is not None}
        files.append({name: text for name, text in now.items() if name not in changed or changed[name] is not None})
        script += "deleteall\n"
        for name, text in files[-1].items():
            script += f"M 100644 inline skills/{name}.yaml\ndata {len(f'name: x{text}')}\nname: x{text}\n"
    subprocess.run(["git", "fast-import", "--quiet"], input=script, cwd=root, text=True, check=True)
    git(root, "reset", "-q", "--hard")

    told = present_versions(root, SKILL, ["tea", "cake"])

    for name in ("tea", "cake"):
        newest = next(iter(FileHistory(Git(root), SKILL.path(name)).revisions()), None)
        assert told.get(name) == (newest.version if newest else None)
