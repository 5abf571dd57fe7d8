"""``memkit update`` at the command line: what it says, what it refuses, and what it leaves alone."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from edits import text_of
from plugins import plug_in
from releases import Line, rewrite

import memkit
from memkit.cli.main import run
from memkit.errors import UsageError
from memkit.generate.manifest import MANIFEST
from memkit.runtime.memory.log.clone import state_folder
from memkit.use_cases.generate_project import release_target

FIRST = {
    "agent/tool.py": text_of(1, ".py").encode(),
    "agent/notes.md": text_of(2, ".md").encode(),
    "agent/gone.md": text_of(3, ".md").encode(),
    "run.sh": b"#!/bin/sh\necho 1\n",
    ".gitignore": b".memkit/\n.env\nprivate.txt\n",
}
SECOND = {
    **{path: content for path, content in FIRST.items() if path != "agent/gone.md"},
    "agent/notes.md": FIRST["agent/notes.md"].replace(b"words of 2 and 3'", b"theirs'"),
    "agent/added.md": b"added\n",
}


def ran(*arguments: object, capsys: pytest.CaptureFixture[str]) -> tuple[int, dict[str, Any]]:
    """Run one command with --json and return its exit code and envelope."""
    capsys.readouterr()
    code = run([*map(str, arguments), "--json"])
    return code, json.loads(capsys.readouterr().out)


def message(envelope: dict[str, Any]) -> str:
    """Return the one line that a failed command prints."""
    (found,) = envelope["diagnostics"]
    assert "\n" not in found["message"]
    return str(found["message"])


def files(folder: Path) -> dict[str, tuple[bytes, int]]:
    """Return content and mode of every file of a project, what memkit keeps for itself left out."""
    found = (path for path in sorted(folder.rglob("*")) if path.is_file() and ".git" not in path.parts)
    named = {path.relative_to(folder).as_posix(): path for path in found}
    return {
        name: (path.read_bytes(), path.stat().st_mode)
        for name, path in named.items()
        if not name.startswith(".memkit/")
    }


@pytest.fixture
def line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Line:
    """Install a small template."""
    return Line(tmp_path / "line", monkeypatch, FIRST)


@pytest.fixture
def project(line: Line, starters: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Path:
    """Render a project from it."""
    out = tmp_path / "project"
    assert run(["gen", "--target", "tiny", "--out", str(out), "--store", str(starters)]) == 0
    capsys.readouterr()
    return out


def test_the_data_names_versions_files_and_conflicts(
    line: Line, project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The shape that scripts rely on, for a check, a dry run and an update; only the update changes anything."""
    line.publish(SECOND)
    before = files(project)
    expected = {
        "from": "1",
        "to": "2",
        "files": [
            {"path": "VERSION", "action": "add"},
            {"path": "agent/added.md", "action": "add"},
            {"path": "agent/gone.md", "action": "delete"},
            {"path": "agent/notes.md", "action": "update"},
            {"path": MANIFEST, "action": "update"},
        ],
        "conflicts": [],
        "behind": ["templates 1 → 2"],
    }

    checked = ran("update", project, "--check", capsys=capsys)
    planned = ran("update", project, "--dry-run", capsys=capsys)
    assert files(project) == before and not (project / ".memkit").exists()
    done = ran("update", project, capsys=capsys)
    again = ran("update", project, capsys=capsys)
    rechecked = ran("update", project, "--check", capsys=capsys)

    assert checked == (1, {"schema": "memkit.update/1", "ok": False, "data": expected, "diagnostics": []})
    assert planned == done == (0, checked[1] | {"ok": True})
    nothing = {"from": "2", "to": "2", "files": [], "conflicts": [], "behind": []}
    assert again == rechecked == (0, done[1] | {"data": nothing})
    assert (project / "agent/added.md").read_bytes() == b"added\n" and not (project / "agent/gone.md").exists()


def test_a_terminal_gets_a_table_and_the_way_back(
    line: Line, project: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """One line a path, and at the end the command that takes all back, which does."""
    before = files(project)
    (project / "agent/gone.md").unlink()
    (project / "agent/tool.py").chmod(0o775)
    (project / "agent/notes.md").rename(project / "mine.md")
    edited = files(project)
    line.publish({path.replace("tool", "tools"): content for path, content in SECOND.items()})

    assert run(["update", str(project)]) == 0
    said = capsys.readouterr().out
    assert "templates 1 → 2\n" in said and "  rename    agent/tool.py → agent/tools.py\n" in said
    assert "  merge     mine.md\n" in said or "  update    mine.md\n" in said

    assert (project / "agent/tools.py").stat().st_mode & 0o777 == 0o775

    *_, undo = said.rstrip("\n").splitlines()
    assert undo == f"Undo: memkit update {project} --undo"
    monkeypatch.chdir("/")
    assert run(undo.removeprefix("Undo: memkit ").split()) == 0
    assert files(project) == edited != before


def test_a_conflict_is_marked_and_named(line: Line, project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Both sides and what was there stand in the file under labels that say whose they are; the exit code is 1."""
    notes = project / "agent/notes.md"
    notes.write_bytes(FIRST["agent/notes.md"].replace(b"words of 2 and 3'", b"mine'"))
    (project / "agent/gone.md").write_bytes(b"mine\n")
    line.publish(SECOND)

    dry = ran("update", project, "--dry-run", capsys=capsys)
    code, envelope = ran("update", project, capsys=capsys)

    assert dry == (code, envelope) and code == 1 and not envelope["ok"]
    assert envelope["data"]["conflicts"] == ["agent/gone.md", "agent/notes.md"]
    actions = {entry["path"]: entry["action"] for entry in envelope["data"]["files"]}
    assert actions["agent/gone.md"] == actions["agent/notes.md"] == "conflict"
    assert {(found["code"], found["path"]) for found in envelope["diagnostics"]} == {
        ("conflict", "agent/gone.md"),
        ("conflict", "agent/notes.md"),
    }
    marked = (
        "<<<<<<< yours\nline3-2 = 'mine'\n||||||| template 1\nline3-2 = 'words of 2 and 3'\n=======\n"
        "line3-2 = 'theirs'\n>>>>>>> template 2\n"
    )
    assert marked in notes.read_text() and notes.read_text().count("<<<<<<<") == 1
    assert (project / "agent/gone.md").read_bytes() == b"mine\n"


@pytest.mark.parametrize("removed", [False, True])
def test_the_folder_of_what_has_no_marks_is_named_where_there_is_one(
    line: Line, project: Path, capsys: pytest.CaptureFixture[str], removed: bool
) -> None:
    """A line about files that nobody set aside sends people looking for them."""
    notes = project / "agent/notes.md"
    if removed:
        notes.unlink()
        notes.mkdir()
    else:
        notes.write_bytes(FIRST["agent/notes.md"].replace(b"words of 2 and 3'", b"mine'"))
    line.publish(SECOND)

    assert run(["update", str(project)]) == 1
    said = capsys.readouterr().out
    aside = state_folder(project) / "updates/0001/theirs"
    assert "Conflicts: 1." in said
    assert (str(aside) in said) is aside.is_dir() is removed


def test_marks_that_are_left_stop_the_next_update(
    line: Line, project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Neither the same nor a newer release is merged over them; once they are gone the update goes on."""
    notes = project / "agent/notes.md"
    notes.write_bytes(FIRST["agent/notes.md"].replace(b"words of 2 and 3'", b"mine'"))
    line.publish(SECOND)
    assert ran("update", project, capsys=capsys)[0] == 1
    left = files(project)

    for _ in range(2):
        code, envelope = ran("update", project, capsys=capsys)
        assert code == 1 and "agent/notes.md" in message(envelope) and "not resolved" in message(envelope)
        assert ran("update", project, "--check", capsys=capsys) == (code, envelope), "marks are not up to date"
        line.publish({**SECOND, "agent/new.md": b"new\n"})
    assert files(project) == left

    notes.write_bytes(SECOND["agent/notes.md"])
    assert ran("update", project, capsys=capsys)[0] == 0
    assert (project / "agent/new.md").exists()


def test_both_added_a_file(line: Line, project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The same text is no conflict; others are marked; what git ignores, a link and a binary file are not touched."""
    added = {
        "same.md": b"1\n2\n",
        "formatted.py": b'value = call(\n    "text",\n)\n',
        "other.md": b"1\n2\n3\n",
        "private.txt": b"theirs\n",
        "link.md": b"theirs\n",
        "image.png": b"\0theirs",
        "folder": b"theirs\n",
        "file/inner.md": b"theirs\n",
    }
    own: dict[str, bytes] = added | {
        "formatted.py": b"value = call('text')\n",
        "other.md": b"1\nmine\n3\n",
        "private.txt": b"mine\n",
        "image.png": b"\0mine",
    }
    for path in ("same.md", "formatted.py", "other.md", "private.txt", "image.png"):
        (project / path).write_bytes(own[path])
    (project / "link.md").symlink_to("agent/tool.py")
    (project / "folder").mkdir()
    (project / "file").write_bytes(b"mine\n")
    line.publish({**FIRST, **added})

    code, envelope = ran("update", project, capsys=capsys)

    assert code == 1
    assert envelope["data"]["conflicts"] == [
        "file/inner.md", "folder", "image.png", "link.md", "other.md", "private.txt",
    ]  # fmt: skip
    assert (project / "formatted.py").read_bytes() == own["formatted.py"]
    assert (project / "other.md").read_text() == "1\n<<<<<<< yours\nmine\n=======\n2\n>>>>>>> template 2\n3\n"
    assert (project / "private.txt").read_bytes() == b"mine\n" and (project / "image.png").read_bytes() == b"\0mine"
    assert (project / "link.md").is_symlink() and (project / "folder").is_dir()
    theirs = state_folder(project) / "updates/0001/theirs"
    assert {path.relative_to(theirs).as_posix() for path in theirs.rglob("*") if path.is_file()} == {
        "file/inner.md", "folder", "image.png", "link.md", "private.txt",
    }  # fmt: skip


def test_nothing_is_followed_out_of_the_project(
    line: Line, project: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A folder that became a link keeps its target as it is, and memkit's own folder may not be one."""
    outside = tmp_path / "outside"
    shutil.move(project / "agent", outside)
    (project / "agent").symlink_to(outside)
    before = files(outside)
    line.publish(SECOND)

    code, envelope = ran("update", project, capsys=capsys)

    assert code == 1 and set(envelope["data"]["conflicts"]) >= {"agent/notes.md"}
    assert files(outside) == before

    (project / "agent").unlink()
    shutil.move(outside, project / "agent")
    run(["update", str(project), "--undo"])
    shutil.rmtree(project / ".memkit")
    (project / ".memkit").symlink_to(tmp_path)
    code, envelope = ran("update", project, capsys=capsys)
    assert code == 3 and "link" in message(envelope) and not (tmp_path / "state").exists()


def test_an_edit_after_the_update_is_not_undone(line: Line, project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Undo names what was edited and changes nothing; updates are taken back one by one."""
    first = files(project)
    line.publish(SECOND)
    assert run(["update", str(project)]) == 0
    second = files(project)
    line.publish({**SECOND, "agent/notes.md": b"other\n"})
    assert run(["update", str(project)]) == 0
    (project / "agent/notes.md").write_bytes(b"mine\n")
    third = files(project)

    code, envelope = ran("update", project, "--undo", capsys=capsys)
    assert code == 1 and "agent/notes.md" in message(envelope) and files(project) == third
    (project / "agent/notes.md").write_bytes(b"other\n")
    code, envelope = ran("update", project, "--undo", capsys=capsys)
    assert code == 0 and files(project) == second
    restored = [{"path": "VERSION", "action": "restore"}, {"path": "agent/notes.md", "action": "restore"}]
    restored.append({"path": MANIFEST, "action": "restore"})
    assert envelope["data"] == {"from": "3", "to": "2", "files": restored, "conflicts": []}
    assert ran("update", project, "--undo", capsys=capsys)[0] == 0 and files(project) == first
    code, envelope = ran("update", project, "--undo", capsys=capsys)
    assert code == 1 and "no update" in message(envelope)


def test_a_store_brings_its_changes(
    line: Line, project: Path, starters: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """They come from where the manifest says, policies first; without the store nobody calls that up to date."""
    policy, skill = (
        starters / "policies/staging_first_deployment.yaml",
        starters / "skills/write-a-decision-record.yaml",
    )
    policy.write_text(policy.read_text().replace("Staging finds what tests cannot", "It pays"))
    skill.unlink()
    monkeypatch.setenv("MEMKIT_STORE", str(starters))
    monkeypatch.chdir(project / "agent")
    before = files(project)

    code, envelope = ran("update", "--check", capsys=capsys)
    assert code == 1 and envelope["data"]["behind"] == [
        "policy staging_first_deployment changed",
        "skill write-a-decision-record is gone",
    ]
    starters.rename(starters.with_name("moved"))
    assert run(["update", "--check"]) == 1
    said = capsys.readouterr()
    assert "--store" in said.err and "up to date" not in said.out
    starters.with_name("moved").rename(starters)
    code, envelope = ran("update", capsys=capsys)

    assert code == 0 and envelope["data"]["from"] == envelope["data"]["to"] == "1"
    assert {entry["path"]: entry["action"] for entry in envelope["data"]["files"]} == {
        "skills/write-a-decision-record/SKILL.md": "delete",
        "agent/compiled/policies.json": "update",
        MANIFEST: "update",
    }
    assert "It pays" in (project / "agent/compiled/policies.json").read_text()
    assert ran("update", "--store", starters, "--check", capsys=capsys)[0] == 0
    line.publish(FIRST)
    assert ran("update", capsys=capsys)[0] == 0
    assert "It pays" in (project / "agent/compiled/policies.json").read_text()
    for _ in range(2):
        assert ran("update", project, "--undo", capsys=capsys)[0] == 0
    assert files(project) == before


def test_a_store_must_be_one_that_can_be_rendered(
    project: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The project itself is a store of memory and has no skills; a folder without memkit.yaml is none."""
    (project / "memkit.yaml").write_text("name: x\nformat: 1\n")
    before = files(project)

    code, envelope = ran("update", project, "--store", project, capsys=capsys)
    assert code == 2 and "project itself" in message(envelope)
    assert ran("update", project, "--store", tmp_path, capsys=capsys)[0] == 3
    assert files(project) == before


@pytest.mark.parametrize("options", [("--check", "--undo"), ("--dry-run", "--undo"), ("--check", "--dry-run")])
def test_options_that_exclude_each_other(
    options: tuple[str, str], project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Two of them are bad usage."""
    code, envelope = ran("update", project, *options, capsys=capsys)
    assert code == 2 and "exclude" in message(envelope)


def test_a_project_that_memkit_cannot_know(
    line: Line, project: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """No manifest, one of a newer release, and one of templates that were never released: exit code 3, each said."""
    monkeypatch.chdir(tmp_path)
    code, envelope = ran("update", capsys=capsys)
    assert code == 3 and MANIFEST in message(envelope) and "memkit gen" in message(envelope)
    assert ran("update", tmp_path / "nowhere", capsys=capsys)[0] == 3

    line.publish(SECOND)
    assert ran("update", project, capsys=capsys)[0] == 0
    line.install(1)
    code, envelope = ran("update", project, capsys=capsys)
    assert code == 3 and "templates 2" in message(envelope) and "Upgrade it" in message(envelope)


def test_unreleased_templates(line: Line, starters: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A project of a changed checkout is updated where the same files are at hand, or were released since."""
    out = tmp_path / "project"
    line.next(rewrite("run.sh", "echo 1", "echo 2"), released=False)
    line.install(2)
    assert run(["gen", "--target", "tiny", "--out", str(out), "--store", str(starters)]) == 0
    code, envelope = ran("update", out, "--check", capsys=capsys)
    assert code == 0 and envelope["data"]["from"] == f"{memkit.__version__}+unreleased"
    policy = starters / "policies/staging_first_deployment.yaml"
    policy.write_text(policy.read_text().replace("Staging finds what tests cannot", "It pays"))
    assert ran("update", out, "--store", starters, capsys=capsys)[0] == 0

    line.install(1)
    code, envelope = ran("update", out, capsys=capsys)
    assert code == 3 and "a release that this" in message(envelope) and "+unreleased" in message(envelope)
    assert "Render the project again beside this one with 'memkit gen'" in message(envelope)


def test_a_target_that_is_gone(line: Line, project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What is installed no longer has the target: the line names it and those that there are."""
    line.publish(FIRST)
    templates = line.versions[-1].templates
    (templates / "tiny").rename(templates / "small")

    code, envelope = ran("update", project, capsys=capsys)

    assert code == 3 and "'tiny'" in message(envelope) and "small" in message(envelope)


def test_a_question_that_is_no_longer_asked(
    line: Line, starters: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Its answer is dropped, and a setting that the new templates know is there at its default."""
    out = tmp_path / "project"
    made = ["gen", "--target", "tiny", "--out", str(out), "--store", str(starters), "--data", "model=mine"]
    assert run(made) == 0
    number = line.publish({**FIRST, "new.md.jinja": b"{{ store.settings.context.max_tokens }}\n"})
    questions = line.versions[number - 1].templates / "_shared/copier.yml"
    questions.write_text(questions.read_text().replace("model: {type: str, default: m}\n", ""))

    code, envelope = ran("update", out, capsys=capsys)

    assert code == 0, envelope
    assert json.loads((out / MANIFEST).read_text())["answers"] == {}
    assert (out / "new.md").read_text() == "8000\n"


HOSTILE = """
[core]
    fsmonitor = {script}
    hooksPath = {hooks}
    autocrlf = true
[filter "x"]
    clean = {script}
    smudge = {script}
    process = {script}
    required = true
[merge "x"]
    driver = {script} %A
[diff "x"]
    textconv = {script}
    command = {script}
"""


def test_nothing_of_the_owners_git_runs(
    line: Line, project: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Hooks, filters, drivers and attributes of repository and person are not asked, and index and refs stay."""
    witness, script = tmp_path / "witness", tmp_path / "script"
    script.write_text(f"#!/bin/sh\necho ran >> {witness}\ncat\n")
    script.chmod(0o755)
    hooks = tmp_path / "hooks"
    hooks.mkdir()
    for name in ("post-index-change", "pre-commit", "post-checkout", "reference-transaction"):
        (hooks / name).symlink_to(script)
    subprocess.run(["git", "init", "-q", project], check=True)
    subprocess.run(["git", "add", "-A"], cwd=project, check=True)
    subprocess.run(["git", "commit", "-qm", "mine"], cwd=project, check=True)
    subprocess.run(["git", "checkout", "-q", "--detach"], cwd=project, check=True)
    settings = HOSTILE.format(script=script, hooks=hooks)
    with (project / ".git/config").open("a") as file:
        file.write(settings)
    home = tmp_path / "home"
    home.mkdir()
    (home / ".gitconfig").write_text(settings)
    monkeypatch.setenv("HOME", str(home))
    for name in ("GIT_DIR", "GIT_INDEX_FILE", "GIT_WORK_TREE"):
        monkeypatch.setenv(name, str(tmp_path / "elsewhere"))
    (project / ".gitattributes").write_text("* filter=x merge=x diff=x\n*.md merge=union\n")
    notes = project / "agent/notes.md"
    notes.write_bytes(FIRST["agent/notes.md"].replace(b"words of 2 and 3'", b"mine'"))
    repository = {path: path.read_bytes() for path in sorted((project / ".git").rglob("*")) if path.is_file()}
    line.publish(SECOND)

    code, envelope = ran("update", project, capsys=capsys)

    assert code == 1 and envelope["data"]["conflicts"] == ["agent/notes.md"]
    assert not witness.exists()
    assert repository == {path: path.read_bytes() for path in sorted((project / ".git").rglob("*")) if path.is_file()}


def test_a_project_that_moved_or_was_cloned_is_updated(
    line: Line, project: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Only what is committed is needed; inside another repository as well."""
    outer = tmp_path / "outer"
    subprocess.run(["git", "init", "-q", outer], check=True)
    subprocess.run(["git", "init", "-q", project], check=True)
    subprocess.run(["git", "add", "-A"], cwd=project, check=True)
    subprocess.run(["git", "commit", "-qm", "mine"], cwd=project, check=True)
    subprocess.run(["git", "clone", "-q", project, tmp_path / "a clone"], check=True)
    shutil.copytree(project, outer / "inner", ignore=shutil.ignore_patterns(".git"))
    project.rename(tmp_path / "moved")
    line.publish(SECOND)

    for place in (tmp_path / "a clone", outer / "inner", tmp_path / "moved"):
        code, envelope = ran("update", place, capsys=capsys)
        assert code == 0 and len(envelope["data"]["files"]) == 5
        assert (place / "agent/added.md").exists()


def test_without_git_the_line_says_so(
    line: Line, project: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """An update needs git to merge; asking whether there is one does not."""
    monkeypatch.setenv("PATH", str(tmp_path))

    assert ran("update", project, "--check", capsys=capsys)[0] == 0
    line_before = files(project)
    code, envelope = ran("update", project, capsys=capsys)
    assert code == 3 and "Install git" in message(envelope) and files(project) == line_before


def test_a_file_of_hostile_name_is_only_a_name(line: Line, project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Options, quotes, line feeds and bytes that are no text, in names of the owner's files, do no harm."""
    (project / "agent/tool.py").rename(project / '-rf "it\'s"\n{{ x }}.py')
    odd = os.fsdecode(b"\xff\xfe.md")
    (project / odd).write_bytes(b"mine\n")
    line.publish({**SECOND, "agent/tool.py": FIRST["agent/tool.py"].replace(b"* 2\n", b"* 222\n")})

    code, envelope = ran("update", project, capsys=capsys)

    assert code == 0, envelope
    assert b"* 222\n" in (project / '-rf "it\'s"\n{{ x }}.py').read_bytes()
    assert (project / odd).read_bytes() == b"mine\n" and not (project / "agent/tool.py").exists()


def test_among_many_files_a_renamed_one_is_looked_for_by_its_name(
    line: Line, project: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A folder full of data is not read; what lies elsewhere under its own name is still found."""
    monkeypatch.setattr("memkit.generate.update.merging._MOST_CANDIDATES", 3)
    (project / "data").mkdir()
    for number in range(10):
        (project / f"data/{number}.py").write_bytes(FIRST["agent/tool.py"] + b"%d\n" % number)
    (project / "own").mkdir()
    (project / "agent/tool.py").rename(project / "own/tool.py")
    line.publish({**SECOND, "agent/tool.py": FIRST["agent/tool.py"].replace(b"* 2\n", b"* 222\n")})

    assert ran("update", project, capsys=capsys)[0] == 0

    assert b"* 222\n" in (project / "own/tool.py").read_bytes()
    assert not [path for path in (project / "data").iterdir() if b"* 222\n" in path.read_bytes()]


def test_both_moved_a_file_and_the_template_wrote_it_anew(
    line: Line, project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The owner's stays where it is and is named once; the template's lies beside."""
    (project / "agent/notes.md").rename(project / "agent/words.md")
    without = {path: content for path, content in FIRST.items() if path != "agent/notes.md"}
    line.publish({**without, "agent/words.md": text_of(9, ".md").encode()})

    code, envelope = ran("update", project, capsys=capsys)

    assert code == 1 and envelope["data"]["conflicts"] == ["agent/words.md"]
    assert (project / "agent/words.md").read_bytes() == FIRST["agent/notes.md"]
    theirs = state_folder(project) / "updates/0001/theirs/agent/words.md"
    assert theirs.read_bytes() == text_of(9, ".md").encode()


def test_two_templates_apart(line: Line, project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A project that was not updated for long is brought over all releases in one step."""
    for number in range(3):
        line.publish({**SECOND, "agent/added.md": b"%d\n" % number})

    code, envelope = ran("update", project, capsys=capsys)

    assert code == 0 and (envelope["data"]["from"], envelope["data"]["to"]) == ("1", "4")
    assert (project / "agent/added.md").read_bytes() == b"2\n"


def test_a_plug_ins_target_has_releases_of_its_own(
    line: Line, starters: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Shared layers come from memkit's release, the plug-in's folder from its own; without one the line says so."""
    site, out = tmp_path / "site", tmp_path / "project"
    monkeypatch.syspath_prepend(str(site))
    package = plug_in(site, **{"ours.md": "one\n"})
    assert release_target("mine").version == release_target("mine").version == "1.0"
    assert run(["gen", "--target", "mine", "--out", str(out), "--store", str(starters)]) == 0
    (package / "project/ours.md").write_text("two\n")
    line.publish(SECOND)

    code, envelope = ran("update", out, capsys=capsys)

    assert code == 0 and envelope["data"]["to"] == "2"
    assert (out / "ours.md").read_text() == "two\n" and (out / "agent/added.md").exists()
    assert ran("update", out, "--check", capsys=capsys)[0] == 0
    (package / "project/ours.md").write_text("three\n")
    code, envelope = ran("update", out, capsys=capsys)
    assert code == 3 and "a release that this memkit-mine does not include" in message(envelope)
    shutil.rmtree(site)
    code, envelope = ran("update", out, capsys=capsys)
    assert code == 3 and "It came with memkit-mine" in message(envelope)


def test_only_a_plug_ins_target_is_released_by_itself() -> None:
    """Memkit's own come with its templates."""
    with pytest.raises(UsageError, match="make template-release"):
        release_target("react")
