"""``memkit init --adopt`` in a project with a history: what is there stays, what a store needs is added and said."""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from memkit.cli.main import run
from memkit.store.adoption import with_hook

HOOKS = {
    "none": None,
    "empty": "repos: []\n",
    "flow": "repos: [{repo: meta, hooks: [{id: identity}]}]  # ours\n",
    "flush": "# ours\nrepos:\n-   repo: meta\n    hooks:\n    -   id: identity   # keep\n\n# end\nci:\n    skip: []\n",
    "indented": "default_stages: [pre-commit]\nrepos:\n  - repo: meta\n    hooks:\n      - id: 'identity'\n",
    "broken": "repos: [\n",
    "conflict": "<<<<<<< ours\nrepos: []\n=======\nrepos: []\n>>>>>>> theirs\n",
}
IGNORED = [
    "*.pyc",
    "*",
    "/*",
    ".memkit",
    "!.memkit",
    "/skills/",
    "archive",
    "# why",
    "",
    "outputs/",
    ".github",
    "*.jsonl",
]


def git(root: Path, *words: str) -> str:
    """Run plain git."""
    return subprocess.run(["git", *words], cwd=root, capture_output=True, text=True, check=True).stdout


def tree(root: Path) -> dict[str, bytes]:
    """Return every file below ``root`` by relative path, git's own excepted."""
    return {
        path.relative_to(root).as_posix(): path.read_bytes()
        for path in root.rglob("*")
        if path.is_file() and ".git" not in path.relative_to(root).parts
    }


def adopted(root: Path, capsys: pytest.CaptureFixture[str], *words: str, code: int = 0) -> dict[str, Any]:
    """Adopt a folder and return what was said; no advice of git's is among it."""
    capsys.readouterr()
    assert run(["init", str(root), "--adopt", "--json", *words]) == code
    said = capsys.readouterr()
    assert "hint:" not in said.out + said.err
    return dict(json.loads(said.out))


def is_among(lines: list[bytes], others: list[bytes]) -> bool:
    """Return whether ``lines`` stand in ``others`` in their order."""
    rest = iter(others)
    return all(line in rest for line in lines)


@pytest.mark.usefixtures("capsys")
@given(
    ignored=st.lists(st.sampled_from(IGNORED), max_size=4),
    attributes=st.sampled_from([None, b"", b"* text=auto", b"*.png binary\r\n", b"archive/**/*.jsonl -merge\n"]),
    hooks=st.sampled_from(sorted(HOOKS)),
    ends=st.sampled_from(["\n", "\r\n"]),
    branch=st.sampled_from(["main", "trunk", "feature/x", None]),
    place=st.sampled_from([".", "packages/agent"]),
    last=st.booleans(),
)
@example(ignored=["*"], attributes=None, hooks="flush", ends="\r\n", branch="trunk", place=".", last=True)
@example(
    ignored=["/*", ".memkit", "!.memkit"], attributes=b"", hooks="empty", ends="\n", branch="a", place=".", last=False
)
@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_a_project_keeps_what_it_has_and_gains_what_is_said(
    capsys: pytest.CaptureFixture[str],
    ignored: list[str],
    attributes: bytes | None,
    hooks: str,
    ends: str,
    branch: str | None,
    place: str,
    last: bool,
) -> None:
    """A dry run names it all and does nothing; then every line stands there, in its order, ended as it was."""
    with tempfile.TemporaryDirectory() as scratch:
        top = Path(scratch)
        root = top / place
        root.mkdir(parents=True, exist_ok=True)
        (top / "code.py").write_text("print()\n")
        (root / ".gitignore").write_bytes((ends.join(ignored) + (ends if last else "")).encode())
        if attributes is not None:
            (root / ".gitattributes").write_bytes(attributes)
        if (text := HOOKS[hooks]) is not None:
            (top / ".pre-commit-config.yaml").write_bytes(text.replace("\n", ends).encode())
        if branch is not None or place != ".":
            git(top, "init", "-q", "-b", branch or "main")
            git(top, "add", "-f", ".")
            git(top, "commit", "-qm", "Ours")
        before = tree(top)

        dry = adopted(root, capsys, "--dry-run")["data"]
        assert tree(top) == before
        data = adopted(root, capsys)["data"]

        assert (data["changed"], data["added"]) == (dry["changed"], dry["added"])
        after = tree(top)
        for path, content in before.items():
            lines = [line for line in content.splitlines() if b"repos: [" not in line]  # to which nothing can be added
            assert is_among(lines, after[path].splitlines()), path
            assert b"\n" not in content or (b"\r\n" in content) == (b"\r\n" in after[path]), path
            if content != after[path]:
                assert os.path.normpath(f"{place}/{path}").endswith(path)
                assert path.rpartition("/")[2] in {Path(change["path"]).name for change in data["changed"]}
        assert git(top, "symbolic-ref", "--short", "HEAD").strip() == (branch or "main")
        assert subprocess.run(
            ["git", "check-ignore", "-q", "archive/2026-01/w.jsonl"], cwd=root, check=False
        ).returncode
        assert git(root, "check-ignore", ".memkit/state/x")
        assert "memkit.yaml" in git(root, "ls-files", "memkit.yaml")
        assert "union" in git(root, "check-attr", "merge", "archive/2026-01/w.jsonl") or b"-merge" in (
            attributes or b""
        )
        assert run(["lint", "--store", str(root)]) in (0, 1)
        assert run(["init", str(root), "--adopt"]) == 2


@pytest.mark.parametrize("name", sorted(HOOKS))
def test_a_hook_is_added_where_pre_commit_finds_it(name: str) -> None:
    """Behind those that are there; once; and nowhere where nobody can tell where it belongs."""
    ours = (
        "repos:\n  - repo: local\n    hooks:\n      - id: memkit-lint\n        name: lint\n        language: system\n"
    )
    text = HOOKS[name] or ""

    made = with_hook(text.encode(), ours)

    if name in ("broken", "conflict"):
        assert made is None
        return
    assert made is not None
    assert yaml.safe_load(made)["repos"] == [
        *(yaml.safe_load(text or "{}").get("repos") or []),
        *yaml.safe_load(ours)["repos"],
    ]
    assert is_among([line for line in text.encode().splitlines() if b"repos: [" not in line], made.splitlines())
    assert with_hook(made, ours) == made


def test_what_cannot_be_a_store_is_refused_and_untouched(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A bare repository, an ignored folder, a submodule and a file in the place of a folder, each in one line."""
    bare, top, other = tmp_path / "bare.git", tmp_path / "top", tmp_path / "other"
    git(tmp_path, "init", "-q", "--bare", str(bare))
    for root in (top, other):
        git(tmp_path, "init", "-q", str(root))
        (root / "code.py").write_text("\n")
        git(root, "add", ".")
        git(root, "commit", "-qm", "Ours")
    (top / ".gitignore").write_text("build/\n")
    (top / "build").mkdir()
    git(top, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(other), "skills")
    (other / "policies").write_text("ours\n")
    before = tree(tmp_path)

    for root, said in (
        (bare, "git's own folder"), (bare / "refs", "git's own folder"), (top / "build", "Git ignores"),
        (top, "skills is another repository"), (other, "policies is a file"),
    ):  # fmt: skip
        [found] = adopted(root, capsys, code=2)["diagnostics"]
        assert said in found["message"] and "\n" not in found["message"]
    assert tree(tmp_path) == before


def test_a_linked_working_tree_and_a_submodule_are_projects_too(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The commit is on the branch that is checked out there, and the others are not touched."""
    top, module = tmp_path / "top", tmp_path / "module"
    for root in (top, module):
        git(tmp_path, "init", "-q", "-b", "main", str(root))
        (root / "code.py").write_text("\n")
        git(root, "add", ".")
        git(root, "commit", "-qm", "Ours")
    git(top, "worktree", "add", "-q", "-b", "side", str(tmp_path / "side"))
    git(top, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(module), "vendor/module")
    git(top, "commit", "-qm", "Module")
    head = git(top, "rev-parse", "HEAD")

    for root in (tmp_path / "side", top / "vendor" / "module"):
        assert adopted(root, capsys)["data"]["commit"] == git(root, "rev-parse", "HEAD").strip()
        assert git(root, "status", "--porcelain") == ""
    assert git(top, "rev-parse", "HEAD") == head


def test_what_a_person_was_changing_is_theirs_to_commit(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The lines are added and named, staged work stays staged, and a merge in progress is not disturbed."""
    git(tmp_path, "init", "-q")
    (tmp_path / ".gitignore").write_text("*.pyc\n")
    (tmp_path / "code.py").write_text("\n")
    git(tmp_path, "add", "code.py")

    data = adopted(tmp_path, capsys)["data"]

    assert data["uncommitted"] == [".gitignore"] and data["changed"][0]["lines"] == ["/.memkit/", "/outbox.jsonl"]
    assert git(tmp_path, "status", "--porcelain").splitlines() == ["A  code.py", "?? .gitignore"]


def test_files_of_another_tool_are_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A policy that does not load denies everything, so whoever adopts hears of it at once."""
    (tmp_path / "policies").mkdir()
    (tmp_path / "policies" / "network.yaml").write_text("kind: NetworkPolicy\n")

    [note] = adopted(tmp_path, capsys)["diagnostics"]

    assert "policies/ contains files that are not a policy: network.yaml" in note["message"]


def test_a_git_that_takes_no_settings_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Nobody could keep it from starting what a repository names: one line, exit 3, nothing written."""
    import shutil

    programs = tmp_path / "bin"
    programs.mkdir()
    (programs / "git").write_text(f'#!/bin/sh\nunset GIT_CONFIG_COUNT\nexec {shutil.which("git")} "$@"\n')
    (programs / "git").chmod(0o755)
    monkeypatch.setenv("PATH", f"{programs}{os.pathsep}{os.environ['PATH']}")

    assert run(["init", str(tmp_path / "new")]) == 3
    assert "older than 2.31" in capsys.readouterr().err
    assert not (tmp_path / "new").exists()
