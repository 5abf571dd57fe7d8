"""Editors complete every file that memkit writes, and continuous integration lints it."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from memkit.cli.main import run
from memkit.store.layout import SCHEMA_FILES, schema_path
from memkit.store.schema import load_schema
from memkit.use_cases.lint import lint_store
from memkit.use_cases.store import make_store

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def fresh(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Make a store as `memkit init` does."""
    for role in ("AUTHOR", "COMMITTER"):
        monkeypatch.setenv(f"GIT_{role}_NAME", "Ada")
        monkeypatch.setenv(f"GIT_{role}_EMAIL", "ada@example.org")
    return make_store(tmp_path / "store").root


def named_schema(path: Path) -> dict[str, object]:
    """Return the schema that the first line of a file names."""
    first = path.read_text(encoding="utf-8").split("\n")[0]
    name = re.fullmatch(r"# yaml-language-server: \$schema=(\S+)", first)
    assert name, first
    schema: dict[str, object] = json.loads((path.parent / name[1]).read_text(encoding="utf-8"))
    return schema


def test_every_file_of_a_new_store_names_its_schema(fresh: Path) -> None:
    """Starters, memkit.yaml and what `new` starts; the schema lies in the store and is the right one."""
    assert run(["skill", "new", "walk", "--store", str(fresh)]) == 0
    assert run(["policy", "new", "no_walks", "--store", str(fresh)]) == 0
    kinds = {"skills": "skill", "policies": "policy", "domains": "domain"}
    files = [path for folder in kinds for path in (fresh / folder).glob("*.yaml")]

    assert {path.name for path in files} >= {"walk.yaml", "no_walks.yaml", "errands.yaml"}
    for path in files:
        assert named_schema(path) == load_schema(kinds[path.parent.name])
    assert named_schema(fresh / "memkit.yaml") == load_schema("memkit")
    tracked = subprocess.run(["git", "-C", str(fresh), "ls-files"], capture_output=True, text=True, check=True).stdout
    assert set(SCHEMA_FILES.values()) <= set(tracked.split("\n"))
    assert [each for each in lint_store(fresh).findings if each.path.name != "walk.yaml"] == []


def test_a_store_without_schemas_gets_no_name_of_one(fresh: Path) -> None:
    """An editor would complain about a schema that is not there."""
    (fresh / "skills" / ".schema.json").unlink()
    run(["skill", "new", "walk", "--store", str(fresh)])

    assert (fresh / "skills" / "walk.yaml").read_text().startswith("name: walk\n")


def test_schemas_are_brought_up_to_date(fresh: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """`lint --schemas` writes what is absent or of another version, and says what."""
    (fresh / "skills" / ".schema.json").unlink()
    (fresh / ".memkit.schema.json").write_text("{}")

    assert run(["lint", "--schemas", "--store", str(fresh)]) == 0
    assert capsys.readouterr().out == "Wrote .memkit.schema.json.\nWrote skills/.schema.json.\n"
    assert run(["lint", "--schemas", "--json", "--store", str(fresh)]) == 0
    assert json.loads(capsys.readouterr().out)["data"]["schemas"] == []


def test_the_projects_own_store_is_clean_and_current() -> None:
    """The root passes its own lint, and its schemas are the ones that memkit ships."""
    assert lint_store(ROOT).findings == ()
    for kind, path in SCHEMA_FILES.items():
        assert schema_path(kind) == ROOT / path


@pytest.mark.parametrize(
    ("text", "since", "status", "said"),
    [
        ("name: walk\n", "", 1, "::error file=skills/walk.yaml,line=1"),
        (None, "HEAD", 0, ""),
        (None, "0000000000000000000000000000000000000000", 0, ""),
    ],
)
def test_the_action_lints(fresh: Path, text: str | None, since: str, status: int, said: str) -> None:
    """Its own shell script runs here: findings are annotations, and a base that a shallow clone lacks is left out."""
    if text:
        (fresh / "skills" / "walk.yaml").write_text(text)
    action = yaml.safe_load((ROOT / ".github" / "actions" / "lint" / "action.yml").read_text())
    assert all("${{" not in step.get("run", "") for step in action["runs"]["steps"]), "inputs reach it as variables"
    script = action["runs"]["steps"][-1]["run"]
    programs = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    settings = {**os.environ, "PATH": programs, "STORE": ".", "SINCE": since, "BASELINE": ""}

    done = subprocess.run(
        ["bash", "-e", "-c", script], cwd=fresh, env=settings, capture_output=True, text=True, check=False
    )

    assert done.returncode == status, done.stderr
    assert done.stdout.startswith(said)


@pytest.mark.parametrize("name", ["memkit.yaml", "skills/walk.yaml", "policies/p.yml", "archive/2026-11/a.jsonl"])
def test_the_hooks_run_for_what_has_rules(fresh: Path, name: str) -> None:
    """Both hooks start for the same files, and leave a README and the schemas alone."""
    own = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text())[0]
    stores = yaml.safe_load((fresh / ".pre-commit-config.yaml").read_text())["repos"][0]["hooks"][0]

    for hook in (own, stores):
        assert re.search(hook["files"], name)
        assert not re.search(hook["files"], "skills/README.md")
        assert not re.search(hook["files"], "skills/.schema.json")
        assert hook["pass_filenames"] is False
