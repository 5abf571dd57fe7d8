"""A generated project as its owner finds it: every file says what is true and does what it is for."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
from packaging.requirements import Requirement
from projects import KINDS, project, write_store

from memkit.cli.main import run
from memkit.generate.source import ROOMS
from memkit.store.yaml import load_yaml

READ = re.compile(r"""(?:variables|environment|environ)(?:\.get\(|\[)["']([A-Z][A-Z_]+)["']""")
"""How the code of a project reads a variable of its environment."""
SHELL = re.compile(r"^```sh\n(.*?)^```$", re.M | re.S)
FOLDER = re.compile(r"^\| ((?:`[\w/.]+/`(?:, )?)+) \|", re.M)


@pytest.fixture(scope="module", params=KINDS, ids=lambda kind: "-".join([kind[0], *kind[1].values()]))
def made(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a project of each target and wire."""
    target, answers = request.param
    folder = tmp_path_factory.mktemp("made")
    return project(write_store(folder / "store"), target, folder / "project", **answers)


def text(made: Path, name: str) -> str:
    """Return the text of one file."""
    return (made / name).read_text(encoding="utf-8")


def test_everything_that_spec_names_is_there(made: Path) -> None:
    """A store, the rooms, the agent, its tests, and what an owner, a machine and another agent read first."""
    files = ["README.md", "AGENTS.md", "pyproject.toml", "Dockerfile", ".dockerignore", ".env.example", ".gitignore"]
    files += ["memkit.yaml", ".memkit-gen.json", ".github/workflows/ci.yml", "archive/.gitkeep", "agent/__main__.py"]
    files += [f"{room}/__init__.py" for room in ROOMS] + ["tests/conftest.py", "tests/model_server/__init__.py"]
    files += [f"agent/compiled/{name}.json" for name in ("policies", "domains", "settings")]

    assert [name for name in files if not (made / name).is_file()] == []


def test_each_requirement_has_both_bounds(made: Path) -> None:
    """A major that nobody ran is not installed, and neither is a version that is too old."""
    described = tomllib.loads(text(made, "pyproject.toml"))
    extras = described["project"]["optional-dependencies"].values()
    listed = [*described["project"]["dependencies"], *(name for extra in extras for name in extra)]

    for requirement in map(Requirement, [*listed, *described["build-system"]["requires"]]):
        assert sorted(bound.operator for bound in requirement.specifier) == ["<", ">="], requirement


def test_the_variables_that_are_read_are_those_that_are_told(made: Path) -> None:
    """Each stands in .env.example, with words about it, and in the README; none is told that nothing reads."""
    code = "\n".join(path.read_text(encoding="utf-8") for path in (made / "agent").rglob("*.py"))
    example, readme = text(made, ".env.example"), text(made, "README.md")
    told = set(re.findall(r"^#?([A-Z][A-Z_]+)=", example, re.M))

    assert set(READ.findall(code)) <= told
    assert [name for name in told if f'"{name}"' not in code] == []
    assert [name for name in told if f"`{name}`" not in readme] == []
    assert ".env" in text(made, ".gitignore").split() and ".env" in text(made, ".dockerignore").split()


def test_the_readme_sets_it_up_and_runs_it_in_two_commands(made: Path) -> None:
    """The first example is all that somebody needs; CI and the page for agents say the same."""
    shown = SHELL.search(text(made, "README.md"))
    assert shown
    first, second = (line.partition("  #")[0].strip() for line in shown[1].splitlines())

    assert first == 'pip install -e ".[test]" && pytest' and second.startswith("python -m agent")
    assert f"`{first}`" in text(made, "AGENTS.md")
    steps = [step.get("run") for job in workflow(made)["jobs"].values() for step in job["steps"]]
    assert first.split(" && ") == [step for step in steps if step]


def test_the_folders_that_the_readme_describes_are_there(made: Path) -> None:
    """The page is about this project and not about another."""
    named = [name for row in FOLDER.findall(text(made, "README.md")) for name in re.findall(r"`([\w/.]+)/`", row)]

    assert len(named) > 5 and [name for name in named if not (made / name).is_dir()] == []
    for row in re.findall(r"^\| .+ \| `(test_\w+\.py)` \|$", text(made, "README.md"), re.M):
        assert (made / "tests" / row).is_file()


def workflow(made: Path) -> dict[str, Any]:
    """Return the project's workflow as data."""
    data: dict[str, Any] = load_yaml(text(made, ".github/workflows/ci.yml")).data
    return data


def test_the_workflow_may_only_read(made: Path) -> None:
    """Least permissions, no token left on disk, pinned actions of GitHub's own, and an end for what hangs."""
    described = workflow(made)

    assert described["permissions"] == {"contents": "read"}
    for job in described["jobs"].values():
        assert job["timeout-minutes"] <= 30 and "permissions" not in job
        used = [step for step in job["steps"] if "uses" in step]
        assert all(re.fullmatch(r"actions/[\w-]+@v\d+", step["uses"]) for step in used)
        assert all(step["with"]["persist-credentials"] is False for step in used if "checkout" in step["uses"])
        assert not any("${{" in step.get("run", "") for step in job["steps"])
    assert "pull_request_target" not in text(made, ".github/workflows/ci.yml")


def test_the_image_runs_as_somebody_without_rights(made: Path) -> None:
    """From a pinned base, without what is fetched and run unseen, with memory on a volume of its own."""
    steps = re.findall(r"^([A-Z]+) (.+)$", re.sub(r"\\\n", "", text(made, "Dockerfile")), re.M)
    verbs = [verb for verb, _ in steps]

    assert re.fullmatch(r"python:3\.\d+-slim", dict(steps)["FROM"])
    assert not {"ADD", "ONBUILD"} & set(verbs)
    assert "curl" not in text(made, "Dockerfile") and "wget" not in text(made, "Dockerfile")
    user = dict(steps)["USER"]
    assert f"useradd --create-home --uid 10001 {user}" in text(made, "Dockerfile")
    assert verbs.index("USER") > max(place for place, verb in enumerate(verbs) if verb in ("RUN", "COPY"))
    assert f"MEMORY_DIR={dict(steps)['VOLUME']}" in dict(steps)["ENV"]
    copied = {name for verb, words in steps if verb == "COPY" for name in words.split()[:-1]}
    assert {*ROOMS, "agent", "pyproject.toml", "memkit.yaml"} <= copied


def test_the_skills_pass_the_public_validator(made: Path) -> None:
    """What the authors of the format publish accepts each sheet; Claude Code's copy has one field of its own more."""
    pytest.importorskip("skills_ref")
    folders = sorted((made / ".agents" / "skills").iterdir())
    assert len(folders) > 2

    for folder in folders:
        command = [Path(sys.executable).parent / "agentskills", "validate", folder]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        sheets = [text(made, f"{place}/skills/{folder.name}/SKILL.md") for place in (".agents", ".claude")]
        assert sheets[1].replace('"\nwhen_to_use: "', " Use when: ", 1) == sheets[0]


def test_without_its_sdk_a_project_says_what_to_install(made: Path) -> None:
    """One line and exit code 3; help needs no SDK."""
    bare = [sys.executable, "-S", "-m", "agent"]
    home = {"PATH": os.environ["PATH"], "HOME": str(made), "MEMORY_DIR": str(made.parent / "memory")}

    done = subprocess.run([*bare, "-p", "hi"], cwd=made, env=home, capture_output=True, text=True, check=False)

    assert done.returncode == 3 and done.stderr.count("\n") == 1, done.stderr
    assert "pip install" in done.stderr
    assert subprocess.run([*bare, "--help"], cwd=made, env=home, capture_output=True, check=False).returncode == 0


def test_memkits_commands_work_on_a_project(tmp_path: Path, store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """It is a store: its memory is added to, listed, checked, compared and erased like that of any other."""
    out = tmp_path / "project"
    assert run(["gen", "--target", "react", "--out", str(out), "--store", str(store)]) == 0
    for command in (["init", "-q"], ["add", "."], ["commit", "-qm", "The project"]):
        subprocess.run(["git", "-C", out, *command], check=True)

    def answered(*arguments: str) -> dict[str, Any]:
        capsys.readouterr()
        code = run([*arguments, "--store", str(out), "--json"])
        envelope: dict[str, Any] = json.loads(capsys.readouterr().out)
        assert code == 0, envelope
        data: dict[str, Any] = envelope["data"]
        return data

    answered("memory", "add", "Ada prefers green tea", "--user", "ada")
    assert [record["text"] for record in answered("memory", "list", "--user", "ada")["records"]] == [
        "Ada prefers green tea"
    ]
    checked = answered("fsck")
    assert (checked["records"], checked["problems"]) == (1, [])
    answered("lint")
    answered("diff")
    answered("commit")
    assert answered("memory", "erase", "--user", "ada", "--yes")["removed"]
    assert answered("memory", "list", "--user", "ada")["records"] == []
    assert b"green tea" not in b"".join(path.read_bytes() for path in out.rglob("*") if path.is_file())
