"""An afternoon of two people with a clone each, branches, merges by a forge, and what they could not agree on."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from memkit.cli.main import run

Ask = Callable[..., dict[str, Any]]
POLICY, SKILL, DOMAIN = "policies/launch.yaml", "skills/brew.yaml", "domains/kitchen.yaml"


def git(root: Path, *words: str, code: int = 0) -> str:
    """Run plain git and return all that it said."""
    done = subprocess.run(["git", *words], cwd=root, capture_output=True, text=True, check=False)
    assert done.returncode == code, done.stdout + done.stderr
    return done.stdout + done.stderr


@pytest.fixture
def ask(capsys: pytest.CaptureFixture[str]) -> Ask:
    """Return what runs a command on a store and gives back its envelope."""

    def asked(root: Path, *words: str, code: int = 0) -> dict[str, Any]:
        capsys.readouterr()
        assert run([*words, "--json", "--store", str(root)]) == code, capsys.readouterr().out
        return dict(json.loads(capsys.readouterr().out))

    return asked


def edit(root: Path, path: str, old: str, new: str) -> None:
    """Change a file as a person would."""
    text = (root / path).read_text()
    assert old in text, path
    (root / path).write_text(text.replace(old, new, 1))


@pytest.fixture
def team(store: Path, tmp_path: Path, ask: Ask) -> tuple[Path, Path, Path]:
    """Return a forge and two clones of one store with a policy, a skill and a domain that somebody began."""
    for words in (("policy", "new", "launch"), ("skill", "new", "brew"), ("domain", "new", "kitchen")):
        ask(store, *words)
        ask(store, words[0], "commit", words[2])
    forge = tmp_path / "forge.git"
    git(tmp_path, "clone", "-q", "--bare", str(store), str(forge))
    for name in ("ada", "bob"):
        git(tmp_path, "clone", "-q", str(forge), name)
    return forge, tmp_path / "ada", tmp_path / "bob"


def merge_on_forge(forge: Path, branch: str, tmp_path: Path, *, code: int = 0) -> str:
    """Merge a branch as a forge's button does: in a clone of its own, which knows no driver."""
    runner = tmp_path / f"runner-{branch}"
    git(tmp_path, "clone", "-q", str(forge), str(runner))
    said = git(runner, "merge", "--no-ff", "--no-edit", f"origin/{branch}", code=code)
    if code == 0:
        git(runner, "push", "-q", "origin", "HEAD")
    return said


def test_changes_in_different_places_merge_without_a_person(
    team: tuple[Path, Path, Path], tmp_path: Path, ask: Ask
) -> None:
    """A policy, a skill, a domain and memory of both are there, and a fresh clone passes what the workflow asks."""
    forge, ada, bob = team
    git(ada, "checkout", "-qb", "sharper")
    edit(ada, POLICY, "Say in one sentence what this policy is for.", "Ask before rockets start.")
    edit(ada, SKILL, "Say what to do first.", "Boil water.")
    edit(ada, DOMAIN, "Say in one sentence what can be planned", "Plans what is cooked")
    (ada / "policies" / "tests" / "launch.csv").write_text("policy,tool,args.command,expect\nlaunch,bash,ls,allow\n")
    git(bob, "checkout", "-qb", "wider")
    edit(bob, POLICY, "Write here, for people and for the prompt, what", "Say what")
    edit(bob, POLICY, "enforcement: soft\neffect: warn", "enforcement: hard\neffect: ask")
    edit(bob, POLICY, "--all}}, expect: warn}", "--all}}, expect: ask}")
    edit(bob, SKILL, "How the skill handles it.", "Pours slowly.")
    edit(bob, DOMAIN, "# tool: bash ", "tool: outbox ")
    for root, user, text, branch in (
        (ada, "ada", "Ada prefers espresso", "sharper"), (bob, "bob", "Bob prefers mate", "wider"),
    ):  # fmt: skip
        for kind, name in (("policy", "launch"), ("skill", "brew"), ("domain", "kitchen")):
            assert ask(root, kind, "commit", name)["data"]["version"] == "0.2.0"
        ask(root, "memory", "add", text, "--user", user)
        ask(root, "commit")
        git(root, "push", "-q", "origin", branch)

    merge_on_forge(forge, "sharper", tmp_path)
    merge_on_forge(forge, "wider", tmp_path)

    git(tmp_path, "clone", "-q", str(forge), "fresh")
    fresh = tmp_path / "fresh"
    for words in (("lint",), ("policy", "test"), ("domain", "test"), ("fsck",)):
        ask(fresh, *words)
    assert (
        ask(fresh, "policy", "check", "--tool", "bash", "--arg", "command=example-program", code=1)["data"]["decision"]
        == "ask"
    )
    for kind, name in (("policy", "launch"), ("skill", "brew"), ("domain", "kitchen")):
        history = ask(fresh, kind, "history", name)["data"]["history"]
        assert [history[0]["version"], history[-1]["version"]] == ["0.3.0", "0.1.0"], history
    found = {
        record["text"]
        for user in ("ada", "bob")
        for record in ask(fresh, "memory", "list", "--user", user)["data"]["records"]
    }
    assert found == {"Ada prefers espresso", "Bob prefers mate"}


def test_a_real_conflict_is_told_as_one(team: tuple[Path, Path, Path], tmp_path: Path, ask: Ask) -> None:
    """By clause where git knows memkit; by its marks everywhere else; and what is settled goes on from there."""
    forge, ada, bob = team
    for root, branch, effect in ((ada, "sharper", "deny"), (bob, "softer", "ask")):
        git(root, "checkout", "-qb", branch)
        edit(root, POLICY, "enforcement: soft\neffect: warn", f"enforcement: hard\neffect: {effect}")
        edit(root, POLICY, "--all}}, expect: warn}", f"--all}}}}, expect: {effect}}}")
        edit(root, SKILL, "Say what to do first.", f"Boil {branch}.")
        ask(root, "policy", "commit", "launch")
        ask(root, "skill", "commit", "brew")
        git(root, "push", "-q", "origin", branch)
    merge_on_forge(forge, "sharper", tmp_path)
    merge_on_forge(forge, "softer", tmp_path, code=1)
    runner = tmp_path / "runner-softer"

    findings = ask(runner, "lint", code=1)["data"]["findings"]
    assert {(one["code"], one["path"]) for one in findings} == {("MKY019", POLICY), ("MKY019", SKILL)}
    denied = ask(runner, "policy", "check", "--tool", "kite", code=1)["data"]
    assert denied["decision"] == "deny" and "conflict marker" in json.dumps(denied["policies"])
    assert "conflict marker" in ask(runner, "skill", "list", code=2)["diagnostics"][0]["message"]

    ask(bob, "git", "setup")
    git(bob, "fetch", "-q")
    said = git(bob, "merge", "--no-edit", "origin/main", code=1)
    assert f'{POLICY}: both sides changed effect: here "ask", there "deny".' in said
    assert f'{POLICY}: both sides changed tests[warns].expect: here "ask", there "deny".' in said
    assert f"{SKILL}: both sides changed steps" in said
    assert "<<<<<<< ours" in (bob / POLICY).read_text()
    git(bob, "checkout", "--theirs", POLICY, SKILL)
    git(bob, "add", POLICY, SKILL)
    git(bob, "commit", "-q", "--no-edit")
    ask(bob, "lint")
    assert ask(bob, "policy", "history", "launch")["data"]["history"][0]["version"] is not None


def test_with_the_driver_neighbours_merge_too(team: tuple[Path, Path, Path], ask: Ask) -> None:
    """Two tests at the end of one policy are one conflict of lines and none of meaning."""
    _, ada, bob = team
    for root, name in ((ada, "first"), (bob, "second")):
        git(root, "checkout", "-qb", name)
        with (root / POLICY).open("a") as file:
            file.write(f"  - {{name: {name}, call: {{tool: {name}}}, expect: allow}}\n")
        ask(root, "policy", "commit", "launch")
    git(bob, "fetch", "-q", str(ada), "first")
    git(bob, "merge", "--no-edit", "FETCH_HEAD", code=1)
    git(bob, "merge", "--abort")
    ask(bob, "git", "setup")

    git(bob, "merge", "--no-edit", "FETCH_HEAD")

    text = (bob / POLICY).read_text()
    assert "name: first" in text and "name: second" in text and "# Soft warns and logs." in text
    ask(bob, "policy", "test", "launch")
    assert os.access(bob / POLICY, os.R_OK)


def test_tables_of_two_branches_merge_without_a_driver(team: tuple[Path, Path, Path], ask: Ask) -> None:
    """Each policy has a table of its own, and rows that both put at the end of one are both there."""
    _, ada, bob = team
    table = "policies/tests/shared.csv"
    for root in (ada, bob):
        (root / table).write_text("policy,tool,args.command,expect\nlaunch,bash,ls,allow\n")
        git(root, "add", table)
        git(
            root, "-c", "user.name=x", "-c", "user.email=x@y", "commit", "-qm", "A table", "--date=2026-01-01T00:00:00Z"
        )
    git(bob, "fetch", "-q", str(ada), "main")
    git(bob, "merge", "-q", "--no-edit", "FETCH_HEAD")
    git(ada, "fetch", "-q", str(bob), "main")
    git(ada, "merge", "-q", "FETCH_HEAD")
    for root, name in ((ada, "first"), (bob, "second")):
        git(root, "checkout", "-qb", name)
        ask(root, "policy", "new", name)
        (root / f"policies/tests/{name}.csv").write_text(f"policy,tool,args.command,expect\n{name},bash,ls,allow\n")
        with (root / table).open("a") as file:
            file.write(f"{name},bash,example-program,warn\nlaunch,bash,{name},allow\n")
        for policy in (name, "launch"):
            ask(root, "policy", "commit", policy)
        assert not git(root, "status", "--short")
    git(bob, "fetch", "-q", str(ada), "first")

    git(bob, "merge", "--no-edit", "FETCH_HEAD")

    ask(bob, "policy", "test")
    assert len((bob / table).read_text().splitlines()) == 6
    assert {one["name"]: one["version"] for one in ask(bob, "policy", "list")["data"]["policies"]}["second"] == "0.1.0"


def test_lists_say_the_versions_that_follow_from_the_commits(store: Path, ask: Ask) -> None:
    """Of skills, policies and domains; what is in no commit as it lies there has none, and a stated one holds."""
    shown = {"skill": "skills", "policy": "policies", "domain": "domains"}
    for kind, folder in shown.items():
        ask(store, kind, "new", "first")
        ask(store, kind, "commit", "first")
        ask(store, kind, "new", "second")
        versions = {one["name"]: one["version"] for one in ask(store, kind, "list")["data"][folder]}
        assert (versions["first"], versions["second"]) == ("0.1.0", None)
    with (store / "domains/second.yaml").open("a") as file:
        file.write('version: "2.0.0"\nchangelog: [{version: "2.0.0", changes: Anew.}]\ndeprecated: Too small.\n')
    ask(store, "domain", "commit", "second")
    told = ask(store, "domain", "show", "second")["data"]
    assert (told["version"], told["deprecated"]) == ("2.0.0", True)
    assert run(["domain", "list", "--store", str(store)]) == 0
