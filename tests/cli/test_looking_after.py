"""The commands that look after a store answer where the store is broken, and their text says what happened."""

from __future__ import annotations

import json
import os
import re
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from memkit.cli.main import run
from memkit.errors import EnvironmentFault
from memkit.runtime.memory.log.clone import cache_folder
from memkit.use_cases.examine import examine
from memkit.use_cases.upkeep import rebuild_index
from memkit.workspace import open_workspace


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("memkit.yaml", "store"),
        ("skills/virtual-memory.yaml", "skills"),
        ("policies/staging_first_deployment.yaml", "policies"),
        ("domains/errands.yaml", "domains"),
    ],
)
def test_doctor_names_the_file_that_does_not_load(
    path: str, name: str, store: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A broken file is one failed check among the others, with its place, and a diagnostic; the exit code is 1."""
    (store / path).write_text("name: [x\n")

    assert run(["doctor", "--json", "--store", str(store)]) == 1

    answer = json.loads(capsys.readouterr().out)
    failed = {check["name"]: check["detail"] for check in answer["data"]["checks"] if not check["ok"]}
    assert list(failed) == [name]
    assert f"{path}:2:1" in failed[name]
    assert [found["message"] for found in answer["diagnostics"]] == [f"{name}: {failed[name]}"]


@pytest.fixture
def read_only(store: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Return a store of which this process may write nothing, and whose index is gone."""
    run(["memory", "add", "Ada likes tea", "--user", "ada", "--store", str(store)])
    shutil.rmtree(cache_folder(store))
    place = Path(tempfile.mkdtemp(prefix="read-only-"))  # below no folder that is its owner's alone
    shutil.copytree(store, place / "store")
    for path in (place / "store", *(place / "store").rglob("*")):
        path.chmod(0o555 if path.is_dir() else 0o444)
    place.chmod(0o555)
    monkeypatch.setenv("GIT_CONFIG_COUNT", "1")
    monkeypatch.setenv("GIT_CONFIG_KEY_0", "safe.directory")
    monkeypatch.setenv("GIT_CONFIG_VALUE_0", "*")
    os.seteuid(65534 if os.geteuid() == 0 else os.geteuid())
    try:
        yield place / "store"
    finally:
        os.seteuid(0 if os.getuid() == 0 else os.geteuid())
        for path in (place, *(path for path in place.rglob("*") if path.is_dir())):
            path.chmod(0o755)
        shutil.rmtree(place)


def test_doctor_says_what_fails_where_nothing_can_be_written(read_only: Path) -> None:
    """Each place that cannot be written, with what would fail for it; nothing is tried for it."""
    found = next(check for check in examine(read_only) if check.name == "writing")

    assert not found.ok
    for place, what in (
        ("archive", "nothing can be remembered"),
        (".git/objects", "nothing can be committed"),
        ("", "settings, skills and policies cannot be changed"),
    ):
        assert re.search(rf"{re.escape(str(read_only / place))}[^;]*: {what}", found.detail), found.detail


def test_an_index_that_can_be_kept_nowhere_is_not_rebuilt(read_only: Path) -> None:
    """It is an answer of the environment, and not ok."""
    with open_workspace(read_only) as workspace, pytest.raises(EnvironmentFault, match=r"cache.* cannot be written"):
        rebuild_index(workspace)


def test_the_audit_log_reads_well(store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A line says which record, which words were searched for, and which policy decided what."""
    at = ["--store", str(store), "--user", "ada"]
    run(["chat", *at, "--consent", "-p", "My dog is called Rex"])
    run(["chat", *at, "-p", "What is my dog called?"])
    run(["chat", *at, "-p", "Run rm -rf /srv"])
    capsys.readouterr()

    assert run(["audit", "--store", str(store)]) == 0

    said = capsys.readouterr().out
    assert re.search(r"Z write ada [0-9A-Z]{26}", said)
    assert re.search(r"Z retrieved ada [0-9A-Z]{26} “.*dog.*”", said)
    assert "policy ada bash: ask by destructive_command_approval" in re.sub(" +", " ", said)
    assert "['" not in said and "None" not in said


def test_the_audit_log_is_asked_from_a_moment_on(store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A day includes all of itself, a zone is understood, and what is no time is bad usage."""
    run(["memory", "add", "Ada likes tea", "--user", "ada", "--store", str(store)])
    run(["audit", "--json", "--store", str(store)])
    at = json.loads(capsys.readouterr().out.splitlines()[-1])["data"]["events"][0]["at"]

    def events(since: str) -> int:
        assert run(["audit", "--json", "--since", since, "--store", str(store)]) == 0
        return len(json.loads(capsys.readouterr().out)["data"]["events"])

    assert events(at[:10]) == 1
    assert events(at.replace("Z", "+00:00")) == 1
    assert events("2999-01-01T00:00:00+02:00") == 0
    assert run(["audit", "--since", "yesterday", "--store", str(store)]) == 2


def test_the_persona_is_set_as_a_setting(store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Whoever takes it for a section to write is told the command."""
    assert run(["core", "set", "persona", "I am kind.", "--user", "ada", "--store", str(store)]) == 2

    assert "memkit config set persona TEXT" in capsys.readouterr().err


def test_the_history_of_core_names_section_and_trust(store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A version that waits for approval is not shown as if it stood in the prompt."""
    run(["core", "set", "human", "Ada.\nLikes tea.", "--user", "ada", "--store", str(store)])
    run(["core", "set", "human", "Ada \u202e", "--user", "ada", "--store", str(store)])
    capsys.readouterr()

    run(["core", "history", "--user", "ada", "--store", str(store)])

    first, second = capsys.readouterr().out.splitlines()
    assert first.endswith("human  by person, verified: Ada. Likes tea.")
    assert "human  by person, quarantined: Ada" in second


def test_the_demo_says_what_it_lacks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Without git the tour ends at its first scene, and a folder that cannot be made is said in one line."""
    (tmp_path / "file").write_text("")
    assert run(["demo", "--keep", str(tmp_path / "file" / "x")]) == 3
    assert "cannot be created" in capsys.readouterr().err

    monkeypatch.setenv("PATH", "/nonexistent")
    assert run(["demo"]) == 1
    said = capsys.readouterr().out
    assert "no git on the PATH" in said
    assert "2. " not in said
