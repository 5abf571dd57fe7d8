"""Skills and policies in whatever state a person's repository is: nothing is lost, and what cannot be done is said."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from memkit.cli.main import run

FILES = {
    "skill": ("skills", "name: x\ndescription: {about}.\nsteps: [a]\nversion: '{version}'\n"),
    "policy": (
        "policies",
        "name: x\ndescription: {about}.\nrule: r\nenforcement: hard\nrationale: r\neffect: deny\n"
        "match: {{tool: rocket}}\ntests: [{{name: t, call: {{tool: rocket}}, expect: deny}}]\nversion: '{version}'\n",
    ),
}
kinds = pytest.mark.parametrize("kind", FILES)


def git(root: Path, *arguments: str, check: bool = True) -> str:
    """Run git in the store."""
    return subprocess.run(["git", *arguments], cwd=root, check=check, capture_output=True, text=True).stdout


def file_of(root: Path, kind: str) -> Path:
    """Return the file of the skill or policy x."""
    return root / FILES[kind][0] / "x.yaml"


@pytest.fixture
def repository(store: Path) -> Path:
    """Return a store with a skill and a policy x, both in the versions 1.0.0 and 2.0.0."""
    for version in ("1.0.0", "2.0.0"):
        for kind, (_, text) in FILES.items():
            file_of(store, kind).write_text(text.format(about=f"Version {version}", version=version))
        git(store, "add", "-A")
        git(store, "commit", "-qm", f"Version {version}")
    return store


def rollback(root: Path, kind: str, version: str = "1.0.0") -> int:
    """Roll x back and return the exit code."""
    return run([kind, "rollback", "x", version, "--json", "--store", str(root)])


def version_of(root: Path, kind: str) -> str:
    """Return the version that stands in the file."""
    return file_of(root, kind).read_text().rpartition("version: ")[2].strip(" '\n")


@kinds
def test_history_and_rollback_are_alike(kind: str, repository: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A rollback is one commit that names what it did, and stands in the history."""
    assert rollback(repository, kind) == 0
    assert json.loads(capsys.readouterr().out)["data"]["commit"] == git(repository, "rev-parse", "HEAD").strip()
    assert git(repository, "log", "-1", "--format=%s").strip() == f"Roll the {kind} x back to 1.0.0"
    assert git(repository, "show", "--name-only", "--format=", "HEAD").split() == [f"{FILES[kind][0]}/x.yaml"]

    assert run([kind, "history", "x", "--json", "--store", str(repository)]) == 0
    data = json.loads(capsys.readouterr().out)["data"]
    assert [row["version"] for row in data["history"]] == ["1.0.0", "2.0.0", "1.0.0"]
    assert set(data["history"][0]) == {"commit", "at", "author", "subject", "version"}


@kinds
def test_other_work_stays_as_it_is(kind: str, repository: Path) -> None:
    """What a person has staged or changed elsewhere is neither committed nor undone."""
    (repository / "staged.txt").write_text("staged")
    git(repository, "add", "staged.txt")
    (repository / "memkit.yaml").write_text((repository / "memkit.yaml").read_text() + "# mine\n")

    assert rollback(repository, kind) == 0
    assert git(repository, "status", "--porcelain").splitlines() == [" M memkit.yaml", "A  staged.txt"]


@kinds
@pytest.mark.parametrize("staged", [False, True])
def test_a_changed_file_is_not_rolled_back(kind: str, staged: bool, repository: Path) -> None:
    """What is in no commit would be lost."""
    path = file_of(repository, kind)
    path.write_text(path.read_text() + "# mine\n")
    if staged:
        git(repository, "add", "-A")

    assert rollback(repository, kind) == 1
    assert path.read_text().endswith("# mine\n")


@kinds
def test_on_a_detached_head_the_commit_is_made_and_the_danger_said(
    kind: str, repository: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Git would forget the commit, so the person learns how to keep it."""
    git(repository, "checkout", "-q", "--detach")

    assert rollback(repository, kind) == 0
    assert [one["code"] for one in json.loads(capsys.readouterr().out)["diagnostics"]] == ["detached"]
    assert version_of(repository, kind) == "1.0.0"
    assert run([kind, "new", "other", "--store", str(repository)]) == 0
    capsys.readouterr()
    assert run([kind, "commit", "other", "--json", "--store", str(repository)]) == 0
    assert [one["code"] for one in json.loads(capsys.readouterr().out)["diagnostics"]] == ["detached"]


def test_what_is_remembered_on_a_detached_head_is_said_to_be_in_danger(
    repository: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Records go the way of their commit when a person checks out a branch."""
    git(repository, "checkout", "-q", "--detach")

    assert run(["chat", "--user", "ada", "--consent", "-p", "My dog is called Rex", "--store", str(repository)]) == 0
    assert "Keep it: git branch NAME" in capsys.readouterr().err
    assert git(repository, "status", "--porcelain") == ""


@kinds
def test_a_shallow_clone_says_that_its_history_is_cut(
    kind: str, repository: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The oldest commit here is not the first one, and a version that is not here may be elsewhere."""
    clone = tmp_path / "clone"
    subprocess.run(["git", "clone", "-q", "--depth", "1", repository.as_uri(), str(clone)], check=True)

    assert run([kind, "history", "x", "--json", "--store", str(clone)]) == 0
    body = json.loads(capsys.readouterr().out)
    assert len(body["data"]["history"]) == 1
    assert [one["code"] for one in body["diagnostics"]] == ["shallow"]
    assert rollback(clone, kind) == 1
    assert "git fetch --unshallow" in capsys.readouterr().out
    assert version_of(clone, kind) == "2.0.0"


def conflict(root: Path) -> None:
    """Make two branches that change the manifest in different ways, and check the first out."""
    for branch in ("one", "two"):
        git(root, "checkout", "-q", "-b", branch, "main")
        (root / "memkit.yaml").write_text((root / "memkit.yaml").read_text() + f"# {branch}\n")
        git(root, "commit", "-qam", branch)
    git(root, "checkout", "-q", "one")


@kinds
@pytest.mark.parametrize("work", ["merge", "rebase", "cherry-pick", "revert"])
def test_in_the_middle_of_something_nothing_is_changed(
    kind: str, work: str, repository: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A commit would become part of what the person is in the middle of."""
    conflict(repository)
    if work == "revert":
        (repository / "memkit.yaml").write_text("name: x\n")
        git(repository, "commit", "-qam", "three")
    git(repository, work, "HEAD~1" if work == "revert" else "two", check=False)
    before = git(repository, "rev-parse", "HEAD")

    assert rollback(repository, kind) == 3
    assert f"A {work} is in progress" in capsys.readouterr().out
    assert run([kind, "new", "other", "--store", str(repository)]) == 3
    assert version_of(repository, kind) == "2.0.0"
    assert not file_of(repository, kind).with_name("other.yaml").exists()
    assert git(repository, "rev-parse", "HEAD") == before


@kinds
@pytest.mark.parametrize("name", ["../x", "x/../x", "X", "", ".", "x.yaml", "x\n", "ｘ", "a" * 65, "--", "-x"])
@pytest.mark.parametrize("command", [["new"], ["history"], ["rollback"], ["diff"]])
def test_a_hostile_name_is_bad_usage(kind: str, name: str, command: list[str], repository: Path) -> None:
    """No path and no option hides in a name."""
    if (kind, command) == ("policy", ["diff"]):
        return  # compares whole sets and takes no name
    before = git(repository, "rev-parse", "HEAD")
    version = ["1.0.0"] if command == ["rollback"] else []

    assert run([kind, *command, "--store", str(repository), "--", name, *version]) == 2
    assert git(repository, "rev-parse", "HEAD") == before and git(repository, "status", "--porcelain") == ""


@kinds
@pytest.mark.parametrize("version", ["-1", "--all", "HEAD", "main", "..", "", "1.0.0\n", "$(touch x)"])
def test_a_hostile_version_is_none_that_there_was(
    kind: str, version: str, repository: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Nothing of it reaches git."""
    assert run([kind, "rollback", "--json", "--store", str(repository), "--", "x", version]) == 1
    assert "It had: 2.0.0, 1.0.0." in json.loads(capsys.readouterr().out)["diagnostics"][0]["message"]


@kinds
def test_a_version_that_no_longer_validates_is_refused_with_the_reason(
    kind: str, repository: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Today's schema holds, and a text that does not even load has no version but still a commit."""
    path = file_of(repository, kind)
    good = path.read_text()
    path.write_text(good.replace("description", "descripton").replace("2.0.0", "2.1.0"))
    git(repository, "commit", "-qam", "Misspelt")
    path.write_text("name: [\n")
    git(repository, "commit", "-qam", "Broken")
    broken = git(repository, "rev-parse", "HEAD").strip()
    path.write_text(good)
    git(repository, "commit", "-qam", "Mended")

    assert rollback(repository, kind, "2.1.0") == 1
    assert f"is no longer a valid {kind}" in capsys.readouterr().out
    assert rollback(repository, kind, broken) == 1
    assert "no longer loads" in capsys.readouterr().out
    assert path.read_text() == good and git(repository, "status", "--porcelain") == ""


def test_a_policy_that_fails_its_own_tests_is_not_brought_back(
    repository: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The tests say what it was meant to decide."""
    path = file_of(repository, "policy")
    good = path.read_text()
    path.write_text(good.replace("expect: deny", "expect: allow").replace("2.0.0", "1.5.0"))
    git(repository, "commit", "-qam", "Untrue")
    path.write_text(good)
    git(repository, "commit", "-qam", "True")

    assert rollback(repository, "policy", "1.5.0") == 1
    assert "fails its own test 't' today: expected allow, decided deny" in capsys.readouterr().out
    assert path.read_text() == good and git(repository, "status", "--porcelain") == ""


@kinds
def test_a_folder_that_is_a_link_out_of_the_store_is_not_written_to(
    kind: str, repository: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """What lies outside stays as it is."""
    outside, folder = tmp_path / "outside", repository / FILES[kind][0]
    folder.rename(outside)
    folder.symlink_to(outside)
    before = sorted(path.name for path in outside.iterdir())

    assert run([kind, "new", "other", "--store", str(repository)]) == 2
    assert "leads out of the store" in capsys.readouterr().err
    assert sorted(path.name for path in outside.iterdir()) == before


@kinds
def test_a_file_that_is_a_link_is_replaced_and_not_followed(kind: str, repository: Path, tmp_path: Path) -> None:
    """Even a committed link leads nobody's hand to another file."""
    victim, path = tmp_path / "victim", file_of(repository, kind)
    victim.write_text("precious")
    path.unlink()
    path.symlink_to(victim)
    git(repository, "commit", "-qam", "Link")

    assert rollback(repository, kind) == 0
    assert victim.read_text() == "precious" and not path.is_symlink()


@kinds
def test_programs_that_the_repository_names_never_run(kind: str, repository: Path, tmp_path: Path) -> None:
    """Hooks, monitors, filters, text converters and diff programs of a foreign store stay silent in every command."""
    trap, mark = tmp_path / "trap", tmp_path / "ran"
    trap.write_text(f"#!/bin/sh\ntouch {mark}\ncat\n")
    trap.chmod(0o755)
    hooks = tmp_path / "hooks"
    hooks.mkdir()
    for hook in ("pre-commit", "commit-msg", "post-commit", "post-index-change", "reference-transaction"):
        (hooks / hook).symlink_to(trap)
    settings = {
        "core.fsmonitor": str(trap),
        "core.hooksPath": str(hooks),
        "filter.evil.clean": str(trap),
        "filter.evil.smudge": str(trap),
        "diff.evil.textconv": str(trap),
        "diff.evil.command": str(trap),
        "diff.external": str(trap),
        "gpg.program": str(trap),
        "commit.gpgSign": "true",
        "core.pager": str(trap),
        "core.editor": str(trap),
        "core.sshCommand": str(trap),
        "log.showSignature": "true",
    }
    for key, value in settings.items():
        git(repository, "config", key, value)
    (repository / ".git" / "info").mkdir(exist_ok=True)
    (repository / ".git" / "info" / "attributes").write_text("*.yaml filter=evil diff=evil\n")

    for command in (["new", "other"], ["list"], ["show", "x"], ["history", "x"], ["rollback", "x", "1.0.0"]):
        assert run([kind, *command, "--store", str(repository)]) == 0, command
    if kind == "skill":
        assert run([kind, "diff", "x", "1.0.0..2.0.0", "--store", str(repository)]) == 0
    assert not mark.exists()


@kinds
def test_a_repository_without_a_commit_has_no_history(kind: str, store: Path) -> None:
    """The first commands of a new repository answer as well."""
    subprocess.run(["rm", "-rf", str(store / ".git")], check=True)
    git(store, "init", "-q", "-b", "main")

    assert run([kind, "history", "x", "--store", str(store)]) == 1
    assert run([kind, "rollback", "x", "1.0.0", "--store", str(store)]) == 1
    assert run([kind, "new", "x", "--store", str(store)]) == 0
    assert run([kind, "commit", "x", "--store", str(store)]) == 0
    assert run([kind, "history", "x", "--store", str(store)]) == 0


def test_a_long_history_is_read_with_few_processes(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The number of git's processes does not grow with the number of commits."""
    path = file_of(repository, "skill")
    for number in range(30):
        path.write_text(FILES["skill"][1].format(about="Many", version=f"3.0.{number}"))
        git(repository, "commit", "-qam", f"Number {number}")
    counting, log = repository / "bin" / "git", repository / "calls"
    counting.parent.mkdir()
    counting.write_text(f'#!/bin/sh\necho "$1" >> {log}\nexec {shutil.which("git")} "$@"\n')
    counting.chmod(0o755)
    monkeypatch.setenv("PATH", os.pathsep.join((str(counting.parent), os.environ["PATH"])))

    assert run(["skill", "history", "x", "--store", str(repository)]) == 0
    assert len(log.read_text().splitlines()) < 10
