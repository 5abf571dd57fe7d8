"""``memkit init`` makes a whole store or leaves everything as it was."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from memkit.cli.main import run


def git(root: Path, *arguments: str) -> str:
    """Run git in ``root`` and return what it printed."""
    return subprocess.run(["git", *arguments], cwd=root, capture_output=True, text=True, check=True).stdout


def tree(root: Path) -> dict[str, bytes]:
    """Return every file below ``root`` by relative path, git's own excepted."""
    return {
        p.relative_to(root).as_posix(): p.read_bytes()
        for p in root.rglob("*")
        if p.is_file() and ".git/" not in p.as_posix()
    }


def test_init_makes_a_committed_store(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A new store has starters, a lint workflow and one commit that leaves nothing uncommitted."""
    root = tmp_path / "mine"

    assert run(["init", str(root), "--json"]) == 0

    data = json.loads(capsys.readouterr().out)["data"]
    assert data["root"] == str(root)
    assert {"memkit.yaml", ".gitignore", ".gitattributes", "README.md", ".github/workflows/memkit.yml"} <= set(
        data["added"]
    )
    assert any(name.startswith("skills/") for name in data["added"])
    assert any(name.startswith("policies/") for name in data["added"])
    assert git(root, "rev-list", "--count", "HEAD").strip() == "1"
    assert git(root, "status", "--porcelain") == ""


def test_a_fresh_store_is_clean(store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What init writes passes lint, the policies' own tests and fsck."""
    for command in (["lint"], ["policy", "test"], ["fsck"]):
        assert run([*command, "--store", str(store)]) == 0, capsys.readouterr()


@pytest.mark.parametrize("name", ["con: #x", 'quo"te', "emoji 🎉", "{{ 7*7 }}", "a\nb: c", "\x7f"])
def test_a_hostile_name_stays_a_name(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Whatever the store is called, memkit.yaml reads back exactly that."""
    root = tmp_path / "s"

    assert run(["init", str(root), "--name", name]) == 0
    capsys.readouterr()
    assert run(["config", "show", "--json", "--store", str(root)]) == 0

    settings = {item["key"]: item["value"] for item in json.loads(capsys.readouterr().out)["data"]["settings"]}
    assert settings["name"] == name


def test_init_twice_changes_nothing(store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A store is not made again."""
    before = tree(store)

    assert run(["init", str(store)]) == 2
    assert "already a store" in capsys.readouterr().err
    assert tree(store) == before


def test_a_full_directory_is_refused_and_untouched(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Without --adopt a directory with files stays as it is."""
    (tmp_path / "README.md").write_text("mine")

    assert run(["init", str(tmp_path)]) == 2
    assert "--adopt" in capsys.readouterr().err
    assert tree(tmp_path) == {"README.md": b"mine"}


def test_adopt_adds_only_what_is_absent(tmp_path: Path) -> None:
    """With --adopt the project's own files win."""
    (tmp_path / "README.md").write_text("mine")

    assert run(["init", str(tmp_path), "--adopt"]) == 0

    assert (tmp_path / "README.md").read_text() == "mine"
    assert (tmp_path / "memkit.yaml").is_file()
    assert git(tmp_path, "status", "--porcelain").split() == ["??", "README.md"]


def test_inside_another_repository_it_asks_for_adopt(store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A nested repository is never made by accident, and not even an empty folder is left."""
    assert run(["init", str(store / "inner")]) == 2

    assert "inside the git repository" in capsys.readouterr().err
    assert not (store / "inner").exists()


@pytest.mark.parametrize("name", ["store", "inner"])
def test_the_folder_that_it_offers_instead_is_free(
    store: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    """Typed again inside the new store, the command is not offered that store."""
    (store.parent / "inner").mkdir()
    monkeypatch.chdir(store)
    assert run(["init", name.replace("store", store.name)]) == 2

    offered = capsys.readouterr().err.strip().split("memkit init ")[1]
    assert run(["init", offered]) == 0


def test_without_an_identity_nothing_is_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Git's guess from the host name is no identity; the message says how to set one."""
    for name in [name for name in os.environ if name.startswith("GIT_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")

    assert run(["init", str(tmp_path / "s")]) == 3
    assert "user.name" in capsys.readouterr().err
    assert not (tmp_path / "s").exists()


def test_without_git_it_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """No git on the PATH is exit 3 in one line."""
    monkeypatch.setenv("PATH", str(tmp_path))

    assert run(["init", str(tmp_path / "s")]) == 3
    assert "no git on the PATH" in capsys.readouterr().err
    assert not (tmp_path / "s").exists()


@pytest.mark.skipif(
    not Path("/proc/self").exists(), reason="needs /proc, the one directory that even root cannot write"
)
def test_a_directory_that_cannot_be_written_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    """A read-only place is exit 3 in one line."""
    assert run(["init", "/proc/memkit-store"]) == 3
    assert "cannot be written" in capsys.readouterr().err


def test_a_full_disk_leaves_nothing(tmp_path: Path) -> None:
    """When writing fails half-way, what was written is taken back."""
    program = (
        "import resource, signal, sys; signal.signal(signal.SIGXFSZ, signal.SIG_IGN); "
        "resource.setrlimit(resource.RLIMIT_FSIZE, (600, 600)); "
        "from memkit.cli.main import run; sys.exit(run(['init', sys.argv[1]]))"
    )

    import sys

    done = subprocess.run(
        [sys.executable, "-B", "-c", program, str(tmp_path / "s")], capture_output=True, text=True, check=False
    )

    assert done.returncode == 3, done.stderr
    assert "cannot be written" in done.stderr
    assert not (tmp_path / "s").exists()


def test_an_interrupt_in_the_middle_leaves_nothing(tmp_path: Path) -> None:
    """Ctrl-C while git works ends the run at once, and the folder is not there, as before."""
    real, programs, reached = shutil.which("git"), tmp_path / "bin", tmp_path / "reached"
    programs.mkdir()
    slow = programs / "git"
    slow.write_text(f'#!/bin/sh\n[ "$1" = commit ] && touch {reached} && exec sleep 3600\nexec {real} "$@"\n')
    slow.chmod(0o755)
    environment = os.environ | {"PATH": f"{programs}{os.pathsep}{os.environ['PATH']}"}
    command = [sys.executable, "-m", "memkit", "init", str(tmp_path / "outer" / "new")]

    with subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, text=True) as process:
        while not reached.exists() and process.poll() is None:
            time.sleep(0.02)
        process.send_signal(signal.SIGINT)
        try:
            _, said = process.communicate()  # one that waits for git ends with the time that a test has
        finally:
            process.kill()

    assert process.returncode == 130
    assert said.strip() == "Interrupted."
    assert not (tmp_path / "outer").exists()


def test_a_store_beside_another_one_is_made_from_within_it(store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A way that leads up and down again ends beside the repository that it begins in."""
    monkeypatch.chdir(store)

    assert run(["init", "../beside"]) == 0

    assert (store.parent / "beside" / ".git").is_dir()


def test_of_two_that_make_one_store_at_once_neither_takes_anything_away(tmp_path: Path) -> None:
    """Who comes while another makes a store there is told so, and what the first one makes is whole."""
    real, programs, reached, go = shutil.which("git"), tmp_path / "bin", tmp_path / "reached", tmp_path / "go"
    programs.mkdir()
    slow = programs / "git"
    slow.write_text(
        f'#!/bin/sh\n[ "$3" = var ] && touch {reached} && while [ ! -e {go} ]; do sleep 0.02; done\nexec {real} "$@"\n'
    )
    slow.chmod(0o755)
    root = tmp_path / "one"
    command = [sys.executable, "-m", "memkit", "init", str(root)]
    environment = os.environ | {"PATH": f"{programs}{os.pathsep}{os.environ['PATH']}"}

    with subprocess.Popen(command, env=environment) as first:
        while not reached.exists() and first.poll() is None:
            time.sleep(0.02)
        second = subprocess.run(command, capture_output=True, text=True, check=False)
        go.touch()

    assert (second.returncode, first.returncode) == (3, 0)
    assert second.stderr == f"memkit: Another memkit is creating a store in {root}. Try again when it is done.\n"
    assert git(root, "status", "--porcelain") == ""
    assert git(root, "rev-list", "--count", "HEAD").strip() == "1"


def test_settings_that_git_cannot_read_are_said(tmp_path: Path) -> None:
    """Where git runs no command because of the person's own settings, its words are told in one line."""
    (tmp_path / ".gitconfig").write_text("[user\n")
    environment = os.environ | {"HOME": str(tmp_path)}
    environment.pop("GIT_CONFIG_GLOBAL", None)

    done = subprocess.run(
        [sys.executable, "-m", "memkit", "init", str(tmp_path / "s")],
        capture_output=True, text=True, check=False, env=environment,
    )  # fmt: skip

    said = f"memkit: Git does not run here: fatal: bad config line 1 in file {tmp_path}/.gitconfig\n"
    assert (done.returncode, done.stderr) == (3, said)
    assert not (tmp_path / "s").exists()


@pytest.mark.parametrize("place", [".", ""])
def test_no_program_of_the_store_is_taken_for_git(place: str, tmp_path: Path) -> None:
    """A PATH that names the current folder, or nothing between two colons, would start a file of the store's."""
    store = tmp_path / "s"
    environment = os.environ | {"HOME": str(tmp_path), "GIT_AUTHOR_NAME": "A", "GIT_AUTHOR_EMAIL": "a@example.org"}
    environment |= {"GIT_COMMITTER_NAME": "A", "GIT_COMMITTER_EMAIL": "a@example.org"}
    subprocess.run([sys.executable, "-m", "memkit", "init", str(store)], check=True, env=environment)
    (store / "git").write_text(f"#!/bin/sh\ntouch {tmp_path}/fired\n")
    (store / "git").chmod(0o755)
    environment["PATH"] = f"{place}:{os.environ['PATH']}"

    for words in (["doctor"], ["memory", "add", "Ada rows", "--user", "ada"], ["commit"], ["review", "HEAD"]):
        command = [sys.executable, "-P", "-m", "memkit", *words]
        subprocess.run(command, capture_output=True, check=False, env=environment, cwd=store)

    assert not (tmp_path / "fired").exists()
    assert (store / "archive").exists()
