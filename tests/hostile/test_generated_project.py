"""A generated project with a memory that somebody else made runs nothing of it and writes nothing outside of it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from functools import reduce
from operator import getitem
from pathlib import Path

import pytest
from git_attacks import hooks, settings
from link_attacks import LINKS
from traps import Trap, World

from memkit.cli.main import run
from memkit.generate.content import digest
from memkit.generate.manifest import MANIFEST
from memkit.runtime.testing import FakeServer
from tests.generate.projects import unpacked_runtime

TOOLS = """
tools:
  - {{name: mark, description: Leave a mark., run: [sh, -c, "touch {mark}"]}}
  - {{name: note, description: Leave a note., run: "tools:note"}}
provider: scripted:answers.yaml
"""
AS_A_STORE = (
    ("memory", "list", "--user", "ada"),
    ("memory", "add", "Ada has a cat", "--user", "ada"),
    ("fsck",),
    ("doctor",),
    ("commit",),
    ("chat", "--user", "ada", "-p", "Call mark"),
    ("update", ".", "--check"),
    ("update", "."),
    ("eject", "."),
    ("memory", "erase", "--user", "ada", "--yes"),
)


def beside(store: Path, outside: Path, trap: Trap) -> None:
    """Python files of many names, tools and a provider that memkit.yaml gained, and a session that was planted."""
    for name in ("json", "sitecustomize", "usercustomize", "openai", "memkit", "agent", "tools", "__init__"):
        trap.module(store / f"{name}.py", name)
    manifest = store / "memkit.yaml"
    kept = [line for line in manifest.read_text().splitlines() if not line.startswith(("tools:", "provider:", "  - {"))]
    manifest.write_text("\n".join(kept) + TOOLS.format(mark=trap.folder / "tool"))
    (store / "answers.yaml").write_text("- {tool: mark, args: {}}\n- {tool: note, args: {}}\n- {text: done}\n")
    (store / ".memkit/state/erase").mkdir(parents=True, exist_ok=True)
    (store / ".memkit/state/erase/journal.json").write_text(
        f'{{"phase": "changing", "files": [{{"path": "{outside}/.bashrc", "content": ""}}], "remove": ["{outside}"]}}'
    )


NAMED = {
    "runtime.version": "../../mine/notes/1.0.0+00000000",
    "store.skills.0.name": "../../../mine/notes/walk",
    "store.policies.0.name": "../../../mine/notes/policy",
    "store.domains.0.name": "MINE/notes/domain",
    "store.path": "MINE",
    "store.name": "../../mine",
    "target": "../../mine",
}
"""What a manifest could name → a place outside."""


ATTACKS = LINKS | {"beside": beside, "hooks": hooks, "settings": settings}
THOROUGH = os.environ.get("MEMKIT_HOSTILE") == "all"
TRIED = ATTACKS if THOROUGH else ("beside", "link archive", "link .memkit", "link files")
"""Each one takes an agent in a process of its own."""


@pytest.fixture
def project(honest: World, tmp_path: Path) -> Path:
    """Return a project of the honest store, and the runtime beside it."""
    out = tmp_path / "project"
    assert run(["gen", "--target", "react", "--out", str(out), "--store", str(honest.store)]) == 0
    unpacked_runtime(tmp_path / "runtime")
    return out


def said(project: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    """Say hello to the project's agent, whose model is a server of this machine."""
    pytest.importorskip("openai")
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "MEMKIT"))}
    environment |= {"PYTHONPATH": str(project.parent / "runtime"), "PYTHONDONTWRITEBYTECODE": "1"}
    with FakeServer("chat", ["Hello."]) as server:
        return subprocess.run(
            [sys.executable, "-m", "agent", "-p", "hello", "--user", "ada"], cwd=project,
            env=environment | dict(server.environment) | variables, capture_output=True, text=True, check=False,
        )  # fmt: skip


def test_it_answers_with_an_honest_memory(honest: World, project: Path) -> None:
    """Else the other tests would show nothing."""
    done = said(project, MEMORY_DIR=str(honest.store))

    assert (done.returncode, done.stdout.strip()) == (0, "Hello."), done.stderr


@pytest.mark.parametrize("attack", TRIED)
def test_its_memory_is_a_hostile_store(attack: str, honest: World, project: Path) -> None:
    """``MEMORY_DIR`` names it; the project itself is outside of that, too."""
    honest.trap.folder.mkdir(exist_ok=True)
    ATTACKS[attack](honest.store, honest.outside, honest.trap)
    for mark in honest.trap.folder.iterdir():  # what fired while the attacker's own git made this
        mark.unlink()
    ours = World(project)
    before, code = honest.seen(), ours.seen()

    done = said(project, MEMORY_DIR=str(honest.store))

    assert honest.trap.fired() == []
    assert honest.seen() == before
    assert ours.seen() == code
    assert done.returncode in (0, 1, 2, 3), done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("attack", ATTACKS if THOROUGH else ("beside", "settings", "link month"))
def test_memkits_commands_on_a_hostile_project(
    attack: str, honest: World, project: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A project is a store, and somebody else's project is read as somebody else's store is."""
    subprocess.run(["rm", "-rf", str(honest.store)], check=True)
    subprocess.run(["cp", "-a", str(project), str(honest.store)], check=True)
    assert run(["memory", "add", "Ada drinks tea", "--user", "ada", "--store", str(honest.store)]) == 0
    for words in (["init", "-q", "-b", "main"], ["add", "-A"], ["commit", "-q", "-m", "The project"]):
        subprocess.run(["git", "-C", str(honest.store), *words], check=True)
    ATTACKS[attack](honest.store, honest.outside, honest.trap)
    for mark in honest.trap.folder.iterdir():
        mark.unlink()
    before = honest.seen()
    monkeypatch.chdir(honest.store)
    wrong = {}

    for words in AS_A_STORE:
        code = run([*words, "--no-input"])
        if honest.seen() != before or code not in (0, 1, 2, 3):
            wrong[words] = code, honest.trap.fired(), capsys.readouterr().err[-300:]

    assert wrong == {}


def test_a_manifest_that_names_places_outside(
    honest: World, project: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A checksum that fits makes it no truer: nothing outside of the project is written, read into it or removed."""
    before, made = honest.seen(), (project / MANIFEST).read_text()
    monkeypatch.chdir(project)
    wrong = {}

    for place, value in NAMED.items():
        told = json.loads(made)
        *above, last = [int(key) if key.isdigit() else key for key in place.split(".")]
        reduce(getitem, above, told)[last] = value.replace("MINE", str(honest.outside))
        told["checksum"] = digest({key: one for key, one in told.items() if key != "checksum"})
        for words in (["update", ".", "--check"], ["update", "."], ["eject", "."]):
            (project / MANIFEST).write_text(json.dumps(told))
            code = run([*words, "--no-input"])
            if honest.seen() != before or code not in (0, 1, 2, 3):
                wrong[place, *words] = code, capsys.readouterr()

    assert wrong == {}
