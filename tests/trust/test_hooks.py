"""Git's hooks run for what people write, in a store that they trust as it is, and nowhere else."""

from __future__ import annotations

from pathlib import Path

import pytest
from foreign_store import Ask, git

from memkit.cli.main import run

SKILL = "skills/write-a-decision-record.yaml"


@pytest.fixture
def hooked(store: Path, mark: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a store with a hook that leaves a mark and refuses what holds the word ``forbidden``."""
    hook(
        store, f"echo ran >> '{mark}'\nif grep -rq forbidden skills; then echo 'No forbidden words.' >&2; exit 1; fi\n"
    )
    monkeypatch.chdir(store)
    return store


def hook(store: Path, script: str, name: str = "pre-commit", folder: str = ".git/hooks") -> Path:
    """Write a hook."""
    path = store / folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{script}")
    path.chmod(0o755)
    return path


def edited(store: Path, word: str) -> bytes:
    """Put a comment into a skill, and return its text."""
    path = store / SKILL
    path.write_text(f"{path.read_text()}# {word}\n")
    return path.read_bytes()


def test_a_hook_refuses_in_a_trusted_store_and_the_file_stays_as_it_was(hooked: Path, mark: Path, ask: Ask) -> None:
    """With git's own words in one line; once the hook is content the same command commits."""
    ask("trust", "--yes")
    text, head = edited(hooked, "forbidden"), git(hooked, "rev-parse", "HEAD")

    refused = ask("skill", "commit", "write-a-decision-record", code=3)["diagnostics"][0]["message"]

    assert refused.endswith("No forbidden words.")
    assert "\n" not in refused
    assert ((hooked / SKILL).read_bytes(), git(hooked, "rev-parse", "HEAD")) == (text, head)
    assert git(hooked, "diff", "--cached", "--name-only") == ""
    (hooked / SKILL).write_bytes(text.replace(b"forbidden", b"allowed"))
    assert ask("skill", "commit", "write-a-decision-record")["diagnostics"] == []
    assert mark.read_text() == "ran\nran\n"


def test_a_new_file_that_a_hook_refuses_is_in_no_commit(hooked: Path, ask: Ask) -> None:
    """The person's file stays as they wrote it, and git's index forgets it."""
    ask("trust", "--yes")
    (hooked / "skills/old.yaml").write_text("# forbidden\n")
    ask("policy", "new", "careful")

    ask("policy", "commit", "careful", code=3)

    assert git(hooked, "status", "--porcelain", "policies") == "?? policies/careful.yaml\n"


def test_without_trust_a_commit_is_made_without_hooks_and_says_so(hooked: Path, mark: Path, ask: Ask) -> None:
    """Nobody is asked, and nothing else needs a word because of a hook."""
    edited(hooked, "forbidden")

    told = ask("skill", "commit", "write-a-decision-record")

    assert [each["code"] for each in told["diagnostics"]] == ["hooks_not_run"]
    assert "pre-commit" in told["diagnostics"][0]["message"]
    assert not mark.exists()
    assert git(hooked, "status", "--porcelain", "skills") == ""
    ask("chat", "--user", "ada", "-p", "hello")


def test_memory_is_committed_without_hooks(hooked: Path, mark: Path, ask: Ask) -> None:
    """Also in a trusted store: what a program keeps is nobody's to refuse."""
    ask("trust", "--yes")

    ask("memory", "add", "Ada drinks tea", "--user", "ada")
    ask("commit")

    assert not mark.exists()


def test_a_changed_hook_voids_the_trust(hooked: Path, mark: Path, ask: Ask) -> None:
    """As does one that was added beside."""
    ask("trust", "--yes")
    script = hooked / ".git/hooks/pre-commit"
    before = script.read_text()
    script.write_text(f"{before}# more\n")

    assert ask("trust", "--show", code=1)["data"]["allows"][0]["kind"] == "hook"
    edited(hooked, "fine")
    ask("skill", "commit", "write-a-decision-record")
    assert not mark.exists()
    script.write_text(before)
    hook(hooked, "true\n", "post-commit")
    ask("trust", "--show", code=1)


@pytest.mark.parametrize("name", ["pre-commit.sample", "pre-push"])
def test_hooks_that_no_commit_runs_demand_nothing(store: Path, ask: Ask, name: str) -> None:
    """Git's samples lie in most repositories."""
    hook(store, "false\n", name)

    assert ask("trust", "--show", "--store", str(store))["data"]["allows"] == []


def test_a_folder_of_hooks_that_the_repository_names_counts(store: Path, mark: Path, ask: Ask) -> None:
    """The hooks of a person's own configuration do not: they are for every repository, and run in none of memkit's."""
    hook(store, f"echo ran >> '{mark}'\n", folder="hooks")
    git(store, "config", "core.hooksPath", "hooks")
    at = ("--store", str(store))
    assert ask("trust", "--show", *at, code=1)["data"]["allows"][0]["kind"] == "hook"
    ask("trust", "--yes", *at)
    ask("skill", "new", "walk", *at)
    ask("skill", "commit", "walk", *at)
    assert mark.read_text() == "ran\n"
    git(store, "config", "--unset", "core.hooksPath")
    git(store, "config", "--global", "core.hooksPath", str(store / "hooks"))
    try:
        assert ask("trust", "--show", *at)["data"]["allows"] == []
        ask("skill", "new", "run", *at)
        ask("skill", "commit", "run", *at)
    finally:
        git(store, "config", "--global", "--unset", "core.hooksPath")
    assert mark.read_text() == "ran\n"


def test_the_note_is_printed_once(hooked: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """On standard error."""
    edited(hooked, "fine")
    capsys.readouterr()

    assert run(["skill", "commit", "write-a-decision-record"]) == 0

    assert capsys.readouterr().err.count("hooks") == 1
