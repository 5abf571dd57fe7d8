"""Memories that other tools keep, written by those tools' own code in environments of their own, and imported here."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from memkit.cli.main import run

MAKERS = Path(__file__).parent / "makers"
NEWER = ("python3.12", "python3.13", "python3.14")
UV = [sys.executable, "-m", "uv"]


def made(folder: Path, maker: str, *packages: str, python: str = sys.executable) -> Path:
    """Let a tool write its files, and return their folder."""
    apart, files = folder / "apart", folder / "files"
    files.mkdir()
    subprocess.run([*UV, "venv", "--quiet", "--no-python-downloads", "--python", python, str(apart)], check=True)
    program = apart / "bin" / "python"
    subprocess.run([*UV, "pip", "install", "--quiet", "--python", str(program), *packages], check=True)
    done = subprocess.run([program, MAKERS / maker, files], capture_output=True, text=True, check=False)
    shutil.rmtree(apart)
    assert done.returncode == 0, done.stderr
    return files


def imported(store: Path, capsys: pytest.CaptureFixture[str], file: Path) -> dict[str, list[str]]:
    """Import a file of which nobody says the format, and return what is remembered then, with its tags."""
    for words in (["memory", "import", str(file), "--user", "ada"], ["memory", "list", "--user", "ada"]):
        capsys.readouterr()
        code = run(["--store", str(store), "--json", *words])
        said = capsys.readouterr()
        assert code == 0, said
    return {one["text"]: one.get("tags", []) for one in json.loads(said.out)["data"]["records"]}


@pytest.mark.prove
@pytest.mark.timeout(900)
def test_what_mem0_keeps(store: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What it returns and the history beside it tell the same: nothing that it was told to delete, and nothing twice.

    Both are there, as docs/comparison.md says: a text that was added twice, and the text of what was deleted.
    """
    files = made(tmp_path, "mem0_files.py", "mem0ai==2.2.1")
    kept = [one["memory"] for one in json.loads((files / "mem0.json").read_text("utf-8"))["results"]]
    assert sorted(kept) == ["Ada lives in Oslo", "Ada prefers espresso", "Ada prefers espresso"]
    assert b"Ada owns a boat" in (files / "history.db").read_bytes()
    assert imported(store, capsys, files / "mem0.json") == {
        "Ada prefers espresso": ["drinks"], "Ada lives in Oslo": []
    }  # fmt: skip
    again = imported(store, capsys, files / "history.db")
    assert set(again) == {"Ada prefers espresso", "Ada lives in Oslo"}


@pytest.mark.prove
@pytest.mark.rivals
@pytest.mark.timeout(900)
def test_what_letta_keeps(store: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """An agent file gives its blocks without the persona."""
    files = made(tmp_path, "letta_files.py", "letta==0.16.8", "asyncpg", "pgvector")
    assert imported(store, capsys, files / "waiter.af") == {"Is called Ada.": ["human"], "Prefers espresso": ["human"]}


@pytest.mark.prove
@pytest.mark.rivals
@pytest.mark.timeout(900)
def test_what_basic_memory_keeps(store: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Observations and relations of a project's folder; the package wants a newer Python than ours."""
    beside = sorted(Path(sys.base_prefix).parent.glob("3.1[2-9]*/bin/python3"))
    newer = [*beside, *map(Path, filter(None, map(shutil.which, NEWER)))]
    if not newer:
        pytest.skip("basic-memory needs Python 3.12 or newer: none is on the PATH, or beside the one that runs this.")
    files = made(tmp_path, "basic_memory_files.py", "basic-memory==0.23.2", python=str(newer[0]))
    assert imported(store, capsys, files) == {
        "Ada: Prefers espresso (at work)": ["preference", "drinks"],
        "Ada: Lives in Oslo": ["home"],
        "Ada works with Bob": ["relation"],
    }
