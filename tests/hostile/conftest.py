"""An honest store with something of everything in it, from which the hostile ones are made."""

from __future__ import annotations

from pathlib import Path

import pytest
from git_attacks import git
from hostile_commands import answered
from traps import World

OFFER = '{"text": "Ada has a dog", "user_id": "ada"}\n'
TURNS = '{"turn": "I adopted two cats", "id": "t1"}\n{"question": "What did I adopt?", "evidence": ["t1"]}\n'
PROBLEM = 'domain: errands\ntasks: ["deliver book shop"]\n'
SHEET = "---\nname: fold-paper\ndescription: Fold paper. Use when asked to fold.\n---\n\n# Fold\n\n1. Fold it.\n"


@pytest.fixture
def honest(tmp_path: Path, tmp_path_factory: pytest.TempPathFactory) -> World:
    """Return a world with an honest store: told, talked to, changed twice, once without a commit."""
    made = World(tmp_path_factory.getbasetemp() / "honest")
    if not made.folder.exists():
        _make(made)
    return made.copied_to(tmp_path / "here")


def _make(world: World) -> None:
    store, mine = world.store, world.outside
    for folder in (store.parent, mine / "notes", world.trap.folder, world.folder / "given", world.folder / "out"):
        folder.mkdir(parents=True)
    (mine / ".bashrc").write_text("export EDITOR=vi\n")
    (mine / "notes" / "key.txt").write_text("mine alone\n")
    (mine / "project").mkdir()
    git(mine / "project", "init", "-q", "-b", "main")
    git(mine / "project", "commit", "-q", "--allow-empty", "-m", "Mine")
    for name, text in (
        ("offers", OFFER),
        ("problem", PROBLEM),
        ("turns", TURNS),
        ("SKILL.md", SHEET),
        ("base", ""),
        ("ours", ""),
        ("theirs", ""),
    ):
        (world.folder / "given" / name).write_text(text)
    answered("init", str(store))
    at = ("--store", str(store))
    names = {"id": answered("memory", "add", "Ada drinks tea", "--user", "ada", *at)["id"]}
    names["other"] = answered("memory", "add", "Ada lives in Graz", "--user", "ada", *at)["id"]
    answered("core", "set", "human", "Ada is a baker", "--user", "ada", *at)
    answered("consent", "grant", "--user", "ada", *at)
    names["session"] = answered("chat", "--user", "ada", "-p", "I like green tea", *at)["session"]
    answered("commit", *at)
    for kind in ("skills/hybrid-planner", "policies/destructive_command_approval", "domains/errands"):
        path = store / f"{kind}.yaml"
        path.write_text(f"{path.read_text()}# Changed by hand.\n")
    git(store, "commit", "-q", "-a", "-m", "Change by hand")
    (store / "skills" / "write-a-decision-record.yaml").open("a").write("# seen\n")
    (store / "archive" / "2026-01").mkdir()
    world.note(names)


@pytest.fixture(autouse=True)
def nobody_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let nobody be asked."""
    monkeypatch.setenv("MEMKIT_PASSPHRASE", "a long one for the tests")
