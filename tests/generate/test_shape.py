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
from projects import KINDS, TARGETS, project, unpacked_runtime, write_store

from memkit.cli.main import run
from memkit.generate.runtime_wheel import installed_runtime
from memkit.runtime import host
from memkit.runtime.loop.core import MemGPTAgent

READ = re.compile(r"""(?:variables|environment|environ)(?:\.get\(|\[)["']([A-Z][A-Z_]+)["']""")
"""How the code of a project reads a variable of its environment."""
HOST = Path(str(host.__file__)).parent
TERMINAL = {"ACCESSIBLE", "FORCE_COLOR", "NO_COLOR", "TERM"}
"""What a terminal and who sits at it say to every program by convention, and no project sets."""
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
    files = ["README.md", "AGENTS.md", "pyproject.toml", "requirements.txt", "Dockerfile", ".env.example", ".gitignore"]
    files += [".gitattributes", "memkit.yaml", ".memkit-gen.json", "archive/.gitkeep", "agent/__main__.py"]
    files += ["tests/conftest.py", "skills/virtual-memory/SKILL.md", f"vendor/{installed_runtime().filename}"]
    files += [f"agent/compiled/{name}.json" for name in ("policies", "domains", "settings")]

    assert [name for name in files if not (made / name).is_file()] == []


def test_the_readme_names_what_an_answer_holds(made: Path) -> None:
    """What scripts may rely on, all of it, and nothing that no answer holds."""
    stated = re.search(r"where `data` is\n`\{(.*?)\}`", text(made, "README.md"))

    answer = MemGPTAgent(llm_client=lambda _: "Hello!").step("Hi!").data

    assert stated and {"sources", "trust", "left_out"} < set(stated[1].split(", ")) <= set(answer)


def test_an_owner_can_read_all_of_it(made: Path) -> None:
    """Some thirty files, and no more code than somebody reads in an afternoon."""
    files = [path for path in made.rglob("*") if path.is_file()]
    lines = {path: len(path.read_text(encoding="utf-8").splitlines()) for path in files if path.suffix == ".py"}

    assert len(files) <= 40
    assert sum(lines.values()) <= 2500
    assert sum(count for path, count in lines.items() if made / "agent" in path.parents) <= 1000


def test_no_code_is_the_same_in_two_targets(tmp_path: Path) -> None:
    """What all share is in the runtime; what a project holds is its own."""
    store = write_store(tmp_path / "store")
    homes: dict[bytes, set[str]] = {}
    for target in TARGETS:
        for path in project(store, target, tmp_path / target).rglob("*.py"):
            homes.setdefault(path.read_bytes(), set()).add(f"{target}/{path.relative_to(tmp_path / target)}")

    assert [sorted(places) for places in homes.values() if len(places) > 1] == []


def test_each_requirement_has_both_bounds(made: Path) -> None:
    """A major that nobody ran is not installed, and neither is a version that is too old."""
    described = tomllib.loads(text(made, "pyproject.toml"))
    extras = described["project"]["optional-dependencies"].values()
    listed = [*described["project"]["dependencies"], *(name for extra in extras for name in extra)]

    runtime, *others = map(Requirement, [*listed, *described["build-system"]["requires"]])
    assert str(runtime) == f"memkit-runtime=={installed_runtime().version}"
    for requirement in others:
        assert sorted(bound.operator for bound in requirement.specifier) == ["<", ">="], requirement


def test_the_variables_that_are_read_are_those_that_are_told(made: Path) -> None:
    """Each stands in .env.example, with words about it, and in the README; none is told that nothing reads."""
    read = [*(made / "agent").rglob("*.py"), *HOST.glob("*.py")]
    code = "\n".join(path.read_text(encoding="utf-8") for path in read)
    example, readme = text(made, ".env.example"), text(made, "README.md")
    told = set(re.findall(r"^#?([A-Z][A-Z_]+)=", example, re.M))

    assert set(READ.findall(code)) - TERMINAL <= told
    assert [name for name in told if f'"{name}"' not in code] == []
    assert [name for name in told if f"`{name}`" not in readme] == []
    assert ".env" in text(made, ".gitignore").split() and ".env" in text(made, ".dockerignore").split()


def test_the_readme_sets_it_up_and_runs_it_in_two_commands(made: Path) -> None:
    """The first example is all that somebody needs; the page for agents says the same."""
    shown = SHELL.search(text(made, "README.md"))
    assert shown
    first, second = (line.partition("  #")[0].strip() for line in shown[1].splitlines())

    assert first == "pip install -r requirements.txt && pytest" and second.startswith("python -m agent")
    assert f"`{first}`" in text(made, "AGENTS.md")


def test_the_folders_and_files_that_the_readme_describes_are_there(made: Path) -> None:
    """The page is about this project and not about another."""
    named = [name for row in FOLDER.findall(text(made, "README.md")) for name in re.findall(r"`([\w/.]+)/`", row)]

    files = re.findall(r"`((?:agent|tests)/[\w/]+\.\w+)`", text(made, "README.md"))
    assert len(named) >= 5 and [name for name in named if not (made / name).is_dir()] == []
    assert files and [name for name in files if not (made / name).is_file()] == []
    promises = re.findall(r"^\| .+ \| `(Test\w+)` \|$", text(made, "README.md"), re.M)
    assert promises and all(f"class {name}(" in text(made, "tests/test_promises.py") for name in promises)


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
    assert copied == {"."} and {".env", ".git", "archive"} <= set(text(made, ".dockerignore").split())


def test_the_skills_pass_the_public_validator(made: Path) -> None:
    """What the authors of the format publish accepts each sheet."""
    pytest.importorskip("skills_ref")
    folders = sorted((made / "skills").iterdir())
    assert len(folders) > 2

    for folder in folders:
        command = [Path(sys.executable).parent / "agentskills", "validate", folder]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr


def test_without_its_sdk_a_project_says_what_to_install(made: Path) -> None:
    """One line and exit code 3, without the runtime too; help needs no SDK."""
    bare = [sys.executable, "-S", "-m", "agent"]
    home = {"PATH": os.environ["PATH"], "HOME": str(made), "MEMORY_DIR": str(made.parent / "memory")}

    for _ in range(2):
        done = subprocess.run([*bare, "-p", "hi"], cwd=made, env=home, capture_output=True, text=True, check=False)
        assert done.returncode == 3 and done.stderr.count("\n") == 1, done.stderr
        assert "pip install -r requirements.txt" in done.stderr
        home["PYTHONPATH"] = str(unpacked_runtime(made.parent / "runtime"))
    assert subprocess.run([*bare, "--help"], cwd=made, env=home, capture_output=True, check=False).returncode == 0


def test_another_runtime_than_the_required_one_is_named(made: Path, tmp_path: Path) -> None:
    """One line and exit code 3, as after an update that nobody installed; the required one is not complained of."""
    runtime = unpacked_runtime(tmp_path / "runtime")
    bare = [sys.executable, "-S", "-m", "agent", "-p", "hi"]
    home = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "PYTHONPATH": str(runtime), "MEMORY_DIR": str(tmp_path)}
    installed = runtime / "memkit_runtime-0.0.9+01234567.dist-info"
    installed.mkdir()

    other = subprocess.run(bare, cwd=made, env=home, capture_output=True, text=True, check=False)
    installed.rename(runtime / f"memkit_runtime-{installed_runtime().version}.dist-info")
    same = subprocess.run(bare, cwd=made, env=home, capture_output=True, text=True, check=False)

    assert other.returncode == 3 and other.stderr.count("\n") == 1, other.stderr
    assert installed_runtime().version in other.stderr and "0.0.9+01234567 is installed" in other.stderr
    assert "pip install -r requirements.txt" in other.stderr
    assert "0.0.9" not in same.stderr and "requires the runtime" not in same.stderr


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
