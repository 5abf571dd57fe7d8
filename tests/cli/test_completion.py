"""What shells offer: names, ids, users, targets, settings and sessions, asked of bash, zsh and fish themselves."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pexpect
import pytest

from memkit.cli.main import run

ROOT = Path(__file__).resolve().parents[2]
SHELLS = ("bash", "zsh", "fish")
ODD = "Ada L; $(touch hacked)"
"""A user whose name no shell may take apart, or carry out."""


@pytest.fixture
def known(store: Path, capsys: pytest.CaptureFixture[str]) -> Path:
    """Return a store in which a user with an odd name is remembered, and one with a plain name."""
    for user in (ODD, "bob"):
        assert run(["memory", "add", f"{user[:3]} likes tea", "--user", user, "--store", str(store)]) == 0
    capsys.readouterr()
    return store


@pytest.fixture
def programs(tmp_path: Path) -> Path:
    """Return a folder with a program ``memkit`` that is this one."""
    folder = tmp_path / "programs"
    folder.mkdir()
    program = folder / "memkit"
    program.write_text(f'#!/bin/sh\nPYTHONPATH="{ROOT}" exec "{sys.executable}" -m memkit "$@"\n', encoding="utf-8")
    program.chmod(0o755)
    return folder


def completed(shell: str, line: str, store: Path, programs: Path) -> str:
    """Type a line and a Tab into an interactive shell, and return the words that the program then got, a line each."""
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not installed")
    script = subprocess.run(
        [programs / "memkit", "completion", shell], capture_output=True, text=True, check=True, cwd=store
    ).stdout
    start = programs / f"completion.{shell}"
    start.write_text(script, encoding="utf-8")
    echo = programs / "echo-words"
    echo.write_text('#!/bin/sh\nprintf "<%s>" "$@" > words\n', encoding="utf-8")
    echo.chmod(0o755)
    options = {"bash": ["--norc", "--noprofile", "-i"], "zsh": ["-f", "-i"], "fish": ["--no-config", "-i"]}[shell]
    environment = {
        **os.environ, "PATH": f"{programs}:{os.environ['PATH']}", "TERM": "dumb", "PS1": "$ ", "LC_ALL": "C.UTF-8",
        "INPUTRC": os.devnull,
    }  # fmt: skip
    child = pexpect.spawn(shell, options, cwd=str(store), env=environment, encoding="utf-8", timeout=300)
    load = {"zsh": f"autoload -Uz compinit; compinit -u -D; source {start}"}.get(shell, f"source {start}")
    child.sendline(f"{load}; echo lo''aded")
    child.expect("loaded")
    child.send(f"memkit {line}\t")
    # Where the line is then run, "memkit" is a program that says what it was given.
    child.send("\x01")  # to the beginning of the line
    child.send("echo-words \x05\n")
    child.sendline("echo do''ne")
    child.expect("done")
    child.close(force=True)
    return (store / "words").read_text(encoding="utf-8")


@pytest.mark.parametrize("shell", SHELLS)
@pytest.mark.parametrize(
    ("line", "wanted"),
    [
        ("skill show write-a", "<memkit><skill><show><write-a-decision-record>"),
        ("policy show destr", "<memkit><policy><show><destructive_command_approval>"),
        ("memory list --user bo", "<memkit><memory><list><--user><bob>"),
        ("config show retrieval.min_c", "<memkit><config><show><retrieval.min_confidence>"),
        ("gen --target langg", "<memkit><gen><--target><langgraph>"),
    ],
)
def test_a_shell_completes_what_is_there(shell: str, line: str, wanted: str, known: Path, programs: Path) -> None:
    """Names of files, users, settings and targets, at a Tab."""
    assert completed(shell, line, known, programs) == wanted


@pytest.mark.parametrize("shell", SHELLS)
@pytest.mark.parametrize("begun", ["Ad", "Ada\\ L", "'Ada ", '"Ada L'])
def test_a_name_that_needs_quoting_is_one_word_and_is_not_carried_out(
    shell: str, begun: str, known: Path, programs: Path
) -> None:
    """However it was begun; a name comes from whoever wrote the store."""
    assert completed(shell, f"memory list --user {begun}", known, programs) == f"<memkit><memory><list><--user><{ODD}>"
    assert not (known / "hacked").exists()
