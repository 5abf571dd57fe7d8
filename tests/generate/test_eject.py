"""The runtime in a project: a wheel that is known by its digest, or, ejected, its owner's own sources."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from projects import project as rendered_project
from test_update_command import files, message, ran

from memkit.generate.manifest import MANIFEST
from memkit.generate.runtime_wheel import PACKAGE, installed_runtime, runtime_files

WHEEL = f"vendor/{installed_runtime().filename}"


@pytest.fixture
def project(starters: Path, tmp_path: Path) -> Path:
    """Render a project."""
    return rendered_project(starters, "react", tmp_path / "project")


def test_eject_gives_the_sources_and_changes_what_names_the_wheel(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The same files under the same name; four things change, the owner's edits stay, and undo takes it back."""
    (project / "pyproject.toml").write_text((project / "pyproject.toml").read_text() + "# mine\n")
    before = files(project)

    code, envelope = ran("eject", project, capsys=capsys)

    after = files(project)
    sources = {path: after.pop(path)[0] for path in list(after) if path.startswith(f"{PACKAGE}/")}
    assert code == 0 and envelope["schema"] == "memkit.eject/1"
    assert sources == {f"{PACKAGE}/{path}": content for path, content in runtime_files().items()}
    changed = {path for path in before.keys() | after.keys() if before.get(path) != after.get(path)}
    assert changed == {"pyproject.toml", "requirements.txt", WHEEL, MANIFEST} and WHEEL not in after
    assert b"# mine" in after["pyproject.toml"][0] and b"memkit-runtime" not in after["pyproject.toml"][0]
    assert after["requirements.txt"][0] == b"-e .[test]\n"
    assert ran("update", project, "--undo", capsys=capsys)[0] == 0 and files(project) == before


def test_updates_leave_ejected_sources_alone(project: Path, starters: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Edited or not; what the store brings still comes."""
    assert ran("eject", project, capsys=capsys)[0] == 0
    (project / PACKAGE / "__init__.py").write_text('"""Mine."""\n')
    (project / PACKAGE / "guard" / "match.py").unlink()
    policy = starters / "policies/staging_first_deployment.yaml"
    policy.write_text(policy.read_text().replace("Staging finds what tests cannot", "It pays"))
    own = {path: found for path, found in files(project).items() if path.startswith(PACKAGE)}

    assert ran("update", project, "--check", capsys=capsys)[0] == 1
    code, envelope = ran("update", project, capsys=capsys)

    assert code == 0 and envelope["data"]["behind"] == ["policy staging_first_deployment changed"]
    assert {path: found for path, found in files(project).items() if path.startswith(PACKAGE)} == own
    assert not (project / "vendor").exists()


def test_an_ejected_project_runs_on_its_own_sources(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """With no wheel installed, from its folder."""
    assert ran("eject", project, capsys=capsys)[0] == 0
    asked = "import agent, memkit_runtime.host.command as host; print(host.__file__)"

    done = subprocess.run([sys.executable, "-c", asked], cwd=project, capture_output=True, text=True, check=True)

    assert Path(done.stdout.strip()).is_relative_to(project)


def test_eject_is_refused_where_it_would_lose_something(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A folder in the way, no wheel, a changed wheel, an edited line that names it, sources already: one line each."""

    def refused(code: int, words: str) -> None:
        before = files(project)
        found, envelope = ran("eject", project, capsys=capsys)
        assert (found, files(project)) == (code, before) and words in message(envelope)

    wheel = project / WHEEL
    (project / PACKAGE).mkdir()
    refused(2, "already exists")
    (project / PACKAGE).rmdir()
    content = wheel.read_bytes()
    wheel.write_bytes(content + b"x")
    refused(3, "was modified")
    wheel.unlink()
    refused(3, "'memkit update' restores it")
    wheel.write_bytes(content)
    requirements = (project / "requirements.txt").read_text()
    (project / "requirements.txt").write_text(requirements.replace("./vendor", "./elsewhere"))
    refused(1, "requirements.txt was edited")
    (project / "requirements.txt").write_text(requirements)
    assert ran("eject", project, capsys=capsys)[0] == 0
    refused(2, "already")


def test_a_wheel_that_was_changed_by_hand_stops_an_update(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The line names it and the ways on, and nothing is changed."""
    wheel = project / WHEEL
    wheel.write_bytes(wheel.read_bytes()[:-1] + b"x")
    before = files(project)

    for option in ((), ("--check",)):
        code, envelope = ran("update", project, *option, capsys=capsys)
        assert code == 3 and WHEEL in message(envelope) and "memkit eject" in message(envelope)
    assert files(project) == before


def test_a_missing_wheel_is_put_back(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """With its folder; the check finds it missing."""
    before = files(project)
    (project / WHEEL).unlink()
    (project / "vendor").rmdir()

    assert ran("update", project, "--check", capsys=capsys)[0] == 1
    code, envelope = ran("update", project, capsys=capsys)

    assert code == 0 and "missing" in envelope["data"]["behind"][0]
    assert envelope["data"]["files"] == [{"path": WHEEL, "action": "add"}]
    assert {path: content for path, (content, _) in files(project).items()} == {
        path: content for path, (content, _) in before.items()
    }


def test_another_runtime_takes_the_place_of_the_wheel(
    project: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """What names the version is merged with the owner's edits; the old wheel goes."""
    from memkit.generate.runtime_wheel import runtime_wheel

    newer = runtime_wheel({**runtime_files(), "newer.py": b""})
    monkeypatch.setattr("memkit.use_cases.update_project.installed_runtime", lambda: newer)
    (project / "pyproject.toml").write_text("# mine\n" + (project / "pyproject.toml").read_text())

    code, envelope = ran("update", project, capsys=capsys)

    assert code == 0, envelope
    assert envelope["data"]["behind"] == [f"runtime {installed_runtime().version} → {newer.version}"]
    assert [path.name for path in (project / "vendor").iterdir()] == [newer.filename]
    assert newer.filename in (project / "requirements.txt").read_text()
    text = (project / "pyproject.toml").read_text()
    assert text.startswith("# mine\n") and f'"memkit-runtime=={newer.version}"' in text
    manifest: dict[str, Any] = json.loads((project / MANIFEST).read_text())
    assert manifest["runtime"] == {"version": newer.version, "digest": newer.digest, "ejected": False}


def test_a_project_of_the_former_layout_is_told_what_to_do(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """One line, and nothing is changed."""
    data = json.loads((project / MANIFEST).read_text())
    (project / MANIFEST).write_text(json.dumps(data | {"format": 1}))
    before = files(project)

    for command in (("update",), ("update", "--check"), ("eject",)):
        code, envelope = ran(command[0], project, *command[1:], capsys=capsys)
        assert code == 3 and "memkit gen" in message(envelope) and "archive/" in message(envelope)
    assert files(project) == before


@pytest.mark.parametrize(("pattern", "lost"), [("vendor/", WHEEL), ("skills", "skills/virtual-memory/SKILL.md")])
def test_gen_says_what_a_gitignore_above_would_leave_out(
    pattern: str, lost: str, starters: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The project is there, the exit code is 1, and the files are named; without such a pattern nothing is said."""
    outer = tmp_path / "outer"
    subprocess.run(["git", "init", "-q", outer], check=True)
    (outer / ".gitignore").write_text(f"{pattern}\n")

    code, envelope = ran(
        "gen", "--target", "react", "--store", starters, "--out", outer / "agents" / "one", capsys=capsys
    )

    (finding,) = envelope["diagnostics"]
    assert code == 1 and finding["code"] == "ignored" and ".gitignore" in finding["message"]
    assert lost in finding["message"]
    assert (outer / "agents" / "one" / WHEEL).is_file()
    (outer / ".gitignore").write_text("*.whl\n")  # the project's own file takes that back
    assert ran("gen", "--target", "react", "--store", starters, "--out", outer / "two", capsys=capsys)[0] == 0
