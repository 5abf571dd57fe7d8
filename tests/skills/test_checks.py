"""Checks of a skill gate every new version that a command commits."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from memkit.cli.main import run
from memkit.skills.skill import load_skill
from memkit.store.yaml_edit import bumped, next_version

TEXT = """\
# How we greet.
name: greet   # never rename
description: >-
  Greets a guest,
  warmly.
steps:
  - Say 'hello'.    # in their language
required_tools: [outbox]
version: "1.0.0"
changelog:
  - version: "1.0.0"
    changes: First version.
checks:
  - name: the outbox is free
    call: {tool: outbox, args: {message: hello}}
    expect: allow
  - name: the greeting is there
    run: [test, -e, greeting.txt]
"""


def git(root: Path, *arguments: str) -> str:
    """Run git in the store."""
    return subprocess.run(["git", *arguments], cwd=root, check=True, capture_output=True, text=True).stdout


def call(store: Path, capsys: pytest.CaptureFixture[str], *words: str, code: int = 0) -> dict[str, Any]:
    """Run a skill command in a store that is trusted as it is now, expect an exit code and return the envelope."""
    assert run(["trust", "--yes", "--store", str(store)]) == 0
    capsys.readouterr()
    assert run(["skill", *words, "--json", "--store", str(store)]) == code
    body: dict[str, Any] = json.loads(capsys.readouterr().out)
    return body


@pytest.fixture
def greeting(store: Path) -> Path:
    """Return a store with the skill greet, whose checks pass."""
    (store / "skills" / "greet.yaml").write_text(TEXT)
    (store / "greeting.txt").write_text("hello")
    git(store, "add", "-A")
    git(store, "commit", "-qm", "Greet")
    return store


def change(store: Path, old: str, new: str) -> None:
    """Edit the skill as a person would."""
    path = store / "skills" / "greet.yaml"
    assert old in path.read_text()
    path.write_text(path.read_text().replace(old, new))


def test_checks_are_commands_and_expectations(greeting: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Each says what it came to; one that fails makes the answer negative."""
    [skill] = call(greeting, capsys, "check", "greet")["data"]["skills"]
    assert [(one["name"], one["passed"]) for one in skill["checks"]] == [
        ("the outbox is free", True),
        ("the greeting is there", True),
    ]

    (greeting / "greeting.txt").unlink()
    change(greeting, "expect: allow", "expect: deny")
    body = call(greeting, capsys, "check", code=1)
    assert [one["message"] for one in body["diagnostics"]] == [
        "the outbox is free: the policies decide allow, expected deny",
        "the greeting is there: the check 'the greeting is there' failed with exit code 1: no output",
    ]


def test_nothing_to_check_is_not_success(store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Neither for a store nor for one skill."""
    call(store, capsys, "check", code=3)
    call(store, capsys, "check", "virtual-memory", code=3)
    call(store, capsys, "check", "virtul-memory", code=1)


def test_a_command_reads_what_it_checks(greeting: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Name, version and path come as JSON, and the file is the new one."""
    program = (
        "import json, sys; about = json.load(sys.stdin); "
        "print(about['skill'], about['version'], open(about['path']).read()[:5])"
    )
    change(greeting, "[test, -e, greeting.txt]", json.dumps([sys.executable, "-c", program]))

    [skill] = call(greeting, capsys, "check", "greet")["data"]["skills"]

    assert skill["checks"][1]["detail"] == "greet 1.0.0 # How"


@pytest.mark.parametrize(
    "command", [["/no/such/program"], ["sh", "-c", "echo no >&2; exit 3"], ["sh", "-c", "kill $$"]]
)
def test_a_command_that_cannot_succeed_fails(
    command: list[str], greeting: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """In one line, whatever is wrong with it."""
    change(greeting, "[test, -e, greeting.txt]", json.dumps(command))

    [finding] = call(greeting, capsys, "check", "greet", code=1)["diagnostics"]
    assert "\n" not in finding["message"] and finding["path"] == "skills/greet.yaml"


def test_a_change_is_one_commit_that_says_what_it_is(greeting: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The version is counted up, the change log says why, and everything else in the file stays as it was."""
    change(greeting, "steps:\n", "steps:\n  - Bow.\n")
    before = (greeting / "skills" / "greet.yaml").read_text()

    data = call(greeting, capsys, "commit", "greet", "--bump", "minor")["data"]

    assert (data["version"], data["commit"]) == ("1.1.0", git(greeting, "rev-parse", "HEAD").strip())
    assert git(greeting, "log", "-1", "--format=%B").splitlines() == [
        "Change the skill greet to 1.1.0: step 1 inserted: “Bow.”",
        "",
        "step 1 inserted: “Bow.”",
        "",
    ]
    assert (greeting / "skills" / "greet.yaml").read_text() == before.replace(
        'version: "1.0.0"\nchangelog:\n',
        'version: "1.1.0"\nchangelog:\n  - version: "1.1.0"\n' + "    changes: 'step 1 inserted: “Bow.”'\n",
    )
    assert call(greeting, capsys, "commit", "greet")["data"]["commit"] is None


def test_a_change_of_meaning_needs_a_higher_version(greeting: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A comment does not; a lower version is never a change."""
    change(greeting, "# How we greet.", "# How we always greet.")
    call(greeting, capsys, "commit", "greet")
    change(greeting, "Say 'hello'.", "Say 'good morning'.")
    assert "--bump" in call(greeting, capsys, "commit", "greet", code=1)["diagnostics"][0]["message"]
    change(greeting, '\nversion: "1.0.0"', '\nversion: "0.9.0"')
    assert "Versions only go up" in call(greeting, capsys, "commit", "greet", code=1)["diagnostics"][0]["message"]
    change(greeting, '\nversion: "0.9.0"', '\nversion: "2.0.0"')
    assert call(greeting, capsys, "commit", "greet", "-m", "Be formal")["data"]["version"] == "2.0.0"
    assert git(greeting, "log", "-1", "--format=%s").strip() == "Change the skill greet to 2.0.0: Be formal"


def test_a_version_is_counted_up_once(greeting: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A new skill begins with the version it has; one that a person counted up is not counted up again."""
    (greeting / "skills" / "tea.yaml").write_text('name: tea\ndescription: d\nsteps: [a]\nversion: "1.0.0"\n')
    assert call(greeting, capsys, "commit", "tea", "--bump", "patch")["data"]["version"] == "1.0.0"
    change(greeting, '\nversion: "1.0.0"', '\nversion: "1.1.0"')
    assert (
        "Leave out --bump"
        in call(greeting, capsys, "commit", "greet", "--bump", "minor", code=2)["diagnostics"][0]["message"]
    )
    assert call(greeting, capsys, "commit", "greet")["data"]["version"] == "1.1.0"


def test_a_version_whose_checks_fail_is_not_committed(greeting: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The person's edit stays in the file, without the bump; --skip-checks is said aloud by whoever types it."""
    (greeting / "greeting.txt").unlink()
    change(greeting, "Say 'hello'.", "Say 'good morning'.")
    edited, head = (greeting / "skills" / "greet.yaml").read_text(), git(greeting, "rev-parse", "HEAD")

    body = call(greeting, capsys, "commit", "greet", "--bump", "patch", code=1)

    assert "fails its check 'the greeting is there'" in body["diagnostics"][0]["message"]
    assert (greeting / "skills" / "greet.yaml").read_text() == edited
    assert git(greeting, "rev-parse", "HEAD") == head
    assert call(greeting, capsys, "commit", "greet", "--bump", "patch", "--skip-checks")["data"]["version"] == "1.0.1"


def test_a_rollback_passes_the_checks_of_the_version_it_brings(
    greeting: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """What was right then may be wrong today."""
    change(greeting, "Say 'hello'.", "Say 'good morning'.")
    call(greeting, capsys, "commit", "greet", "--bump", "patch")
    (greeting / "greeting.txt").unlink()
    before = (greeting / "skills" / "greet.yaml").read_text()

    assert (
        "fails its check" in call(greeting, capsys, "rollback", "greet", "1.0.0", code=1)["diagnostics"][0]["message"]
    )
    assert (greeting / "skills" / "greet.yaml").read_text() == before
    assert git(greeting, "status", "--porcelain", "skills") == ""
    call(greeting, capsys, "rollback", "greet", "1.0.0", "--skip-checks")
    assert load_skill(greeting / "skills" / "greet.yaml").version == "1.0.0"


def test_a_new_file_and_a_broken_one(store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The first commit of a skill adds it; a file that is no skill is not committed."""
    path = store / "skills" / "greet.yaml"
    path.write_text("name: greet\ndescription: d\nsteps: [a]\n")
    assert call(store, capsys, "commit", "greet", "--bump", "minor")["data"]["version"] == "0.1.0"
    assert git(store, "log", "-1", "--format=%s").strip() == "Add the skill greet"
    path.write_text("name: greet\n")
    call(store, capsys, "commit", "greet", code=2)
    call(store, capsys, "commit", "gret", code=1)


@pytest.mark.parametrize(
    "check", ["{name: n}", "{name: n, run: []}", "{name: n, call: {tool: t}}", "{name: n, run: x}"]
)
def test_a_check_that_checks_nothing_is_no_skill(check: str, store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """It says where and what is missing."""
    path = store / "skills" / "greet.yaml"
    path.write_text(f"name: greet\ndescription: d\nsteps: [a]\nchecks: [{check}]\n")

    assert "skills/greet.yaml:4:" in call(store, capsys, "check", "greet", code=2)["diagnostics"][0]["message"]


@pytest.mark.parametrize("style", ["\n", "\r\n"])
@pytest.mark.parametrize("bom", ["", "\ufeff"])
@pytest.mark.parametrize("flush", [False, True])
def test_counting_up_touches_nothing_else(style: str, bom: str, flush: bool) -> None:
    """Line ends, byte order mark, comments, quotes and the indentation of lists stay."""
    text = TEXT.replace("\n  - ", "\n- ").replace("\n    ", "\n  ") if flush else TEXT
    text = (bom + text).replace("\n", style)

    lines = bumped(text, "1.0.1", ["Why."]).split(style)

    assert [line for line in lines if line not in text.split(style)] == [
        'version: "1.0.1"',
        f'{"" if flush else "  "}- version: "1.0.1"',
        f"{'' if flush else '  '}  changes: Why.",
    ]
    assert [line for line in text.split(style) if line not in lines] == ['version: "1.0.0"']


def test_versions_follow_each_other() -> None:
    """What lies behind the counted part begins anew."""
    assert [next_version("1.9.9", part) for part in ("major", "minor", "patch")] == ["2.0.0", "1.10.0", "1.9.10"]
    assert next_version(None, "major") == "0.1.0"
