"""``memkit policy diff`` as people and scripts use it, in repositories of every state."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from memkit.cli.main import run
from memkit.runtime.memory.log.clone import state_folder


@pytest.fixture(autouse=True)
def in_store(store: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Work inside a fresh store."""
    monkeypatch.chdir(store)
    return store


def git(*arguments: str, cwd: Path | None = None) -> str:
    """Run git and return what it printed."""
    done = subprocess.run(["git", *arguments], capture_output=True, text=True, check=False, cwd=cwd)
    return done.stdout.strip()


def ask(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, dict[str, Any]]:
    """Run ``policy diff`` with ``--json`` and return its exit code and envelope."""
    capsys.readouterr()
    code = run(["policy", "diff", *arguments, "--json"])
    return code, json.loads(capsys.readouterr().out)


def weaken(store: Path) -> None:
    """Let a destructive command pass."""
    path = store / "policies" / "destructive_command_approval.yaml"
    path.write_text(
        path.read_text().replace("program: [rm, rmdir", "program: [rmdir").replace("[test, ci]", "[test, ci, stage]")
    )


def test_nothing_changed_is_exit_0(capsys: pytest.CaptureFixture[str]) -> None:
    """The last commit and the work tree agree."""
    code, envelope = ask(capsys)

    assert (code, envelope["ok"], envelope["schema"]) == (0, True, "memkit.policy.diff/1")
    assert (envelope["data"]["changes"], envelope["data"]["unknown"], envelope["data"]["replay"]) == ([], [], None)
    assert envelope["data"]["after"] == {"name": "work tree", "commit": None, "policies": 4}


def test_a_weakened_hard_policy_is_exit_1_with_a_call_that_check_decides(
    in_store: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The call is decided as the change says, before and after, whether it is committed yet or not."""
    weaken(in_store)

    code, dirty = ask(capsys)
    git("commit", "-qam", "Weaken")
    again, committed = ask(capsys, "HEAD~1..HEAD")

    assert (code, again) == (1, 1)
    assert dirty["data"]["changes"] == committed["data"]["changes"]
    change = dirty["data"]["changes"][0]
    assert set(change) == {
        "before", "after", "weakens_hard", "weakened", "policy", "decided_before", "decided_after", "call",
    }  # fmt: skip
    assert (change["before"], change["after"], change["weakens_hard"]) == ("ask", "allow", True)
    assert change["policy"] == "destructive_command_approval"
    capsys.readouterr()
    call = change["call"]
    pairs = [("--arg", f"{key}:={json.dumps(value)}") for key, value in call["args"].items()]
    pairs += [("--context", f"{key}:={json.dumps(value)}") for key, value in call["context"].items()]
    assert run(["policy", "check", "--tool", call["tool"], *(word for pair in pairs for word in pair)]) == 0
    git("checkout", "-q", "HEAD~1")
    assert run(["policy", "check", "--tool", call["tool"], *(word for pair in pairs for word in pair)]) == 1


def test_what_is_stricter_now_is_exit_0(in_store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The way back from a weakened set is told, and is no reason to fail."""
    weaken(in_store)
    git("commit", "-qam", "Weaken")

    code, envelope = ask(capsys, "HEAD..HEAD~1")

    assert code == 0
    assert {(one["before"], one["after"]) for one in envelope["data"]["changes"]} == {("allow", "ask")}


def test_three_dots_compare_with_where_a_branch_parted(in_store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What happened on the other branch meanwhile is not this branch's change."""
    git("checkout", "-qb", "mine")
    git("commit", "-q", "--allow-empty", "-m", "Nothing")
    git("checkout", "-q", "main")
    weaken(in_store)
    git("commit", "-qam", "Weaken")

    assert ask(capsys, "main...mine")[1]["data"]["changes"] == []
    assert ask(capsys, "main..mine")[1]["data"]["changes"] != []
    assert ask(capsys, "mine...main")[0] == 1


def test_people_read_what_was_weakened_first(in_store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A mark, both decisions with who made them, and the line that decides the call again."""
    weaken(in_store)

    assert run(["policy", "diff"]) == 1
    lines = capsys.readouterr().out.splitlines()

    assert lines[0].startswith("HEAD → work tree: ")
    assert lines[1] == "! ask by destructive_command_approval → allow"
    assert lines[2].startswith("    memkit policy check --tool ")


def test_recorded_calls_are_replayed(in_store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What an agent was asked to do before is decided by both sets."""
    script = in_store / "script.yaml"
    script.write_text(
        "- {tool: bash, args: {command: rm -rf /srv/data}}\n- {tool: bash, args: {command: ls}}\n- {text: Done.}\n"
    )
    assert run(["chat", "--user", "ada", "--consent", "--provider", f"scripted:{script}", "-p", "Clean up"]) == 0
    weaken(in_store)

    code, envelope = ask(capsys, "--replay")

    assert code == 1
    replayed = envelope["data"]["replay"]
    assert (replayed["calls"], replayed["left_out"]) == (2, 0)
    assert [(one["before"], one["after"], one["call"]["args"]) for one in replayed["changes"]] == [
        ("ask", "allow", {"command": "rm -rf /srv/data"})
    ]
    assert run(["policy", "diff", "--replay"]) == 1
    assert "2 recorded calls: 1 call decided differently" in capsys.readouterr().out


def test_without_consent_no_call_is_recorded(in_store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The verdict is on record, and what was asked for is not."""
    script = in_store / "script.yaml"
    script.write_text("- {tool: bash, args: {command: rm -rf /srv/secret-plan}}\n- {text: Done.}\n")
    assert run(["chat", "--user", "ada", "--no-input", "--provider", f"scripted:{script}", "-p", "Clean up"]) == 0

    _, envelope = ask(capsys, "--replay")

    assert (envelope["data"]["replay"]["calls"], envelope["data"]["replay"]["left_out"]) == (0, 1)
    log = "".join(path.read_text() for path in (state_folder(in_store) / "audit").glob("*.jsonl"))
    assert "secret-plan" not in log


def test_two_folders_are_compared_without_a_store(
    in_store: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither need be in a repository."""
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    monkeypatch.chdir(elsewhere)

    code, envelope = ask(capsys, "--before", str(in_store / "policies"), "--after", str(elsewhere))

    assert (code, len(envelope["data"]["changes"]) > 2) == (1, True)
    assert ask(capsys, "--before", str(elsewhere))[0] == 2
    assert ask(capsys, "--before", str(elsewhere), "--after", str(tmp_path / "nothing"))[0] == 2
    assert ask(capsys, "HEAD", "--before", str(elsewhere), "--after", str(elsewhere))[0] == 2


@pytest.mark.parametrize("span", ["nope", "HEAD..nope", "nope...HEAD", "--", "HEAD~99", "-x..HEAD", "a\0b"])
def test_a_name_of_no_commit_is_invalid_input(span: str, capsys: pytest.CaptureFixture[str]) -> None:
    """One line says which name; no part of it is taken for an option of git."""
    capsys.readouterr()
    code = run(["policy", "diff", "--json", "--", span])
    envelope = json.loads(capsys.readouterr().out)

    assert (code, envelope["data"], len(envelope["diagnostics"])) == (2, None, 1)
    assert "\n" not in envelope["diagnostics"][0]["message"]


def test_a_broken_policy_on_either_side_is_named(in_store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The message says file, place and side; nothing is concluded from a set that does not load."""
    broken = in_store / "policies" / "broken.yaml"
    broken.write_text("name: broken\nmatch: [\n")

    code, now = ask(capsys)
    git("add", "-A")
    git("commit", "-qm", "Break")
    broken.unlink()
    other, then = ask(capsys, "HEAD")

    assert (code, other) == (2, 2)
    assert now["diagnostics"][0]["message"].startswith("policies/broken.yaml:3")
    assert then["diagnostics"][0]["message"].startswith("policies/broken.yaml at HEAD:3")


def test_a_link_in_a_commit_is_refused(in_store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A commit is read as it is, and not what lies elsewhere today."""
    (in_store / "policies" / "link.yaml").symlink_to("staging_first_deployment.yaml")
    git("add", "-A")
    git("commit", "-qm", "Link")

    code, envelope = ask(capsys, "HEAD..HEAD")

    assert (code, "is a link" in envelope["diagnostics"][0]["message"]) == (2, True)


def test_a_shallow_clone_says_why_a_commit_is_not_there(
    in_store: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """What it holds can be compared, and for the rest the message says what to fetch."""
    weaken(in_store)
    git("commit", "-qam", "Weaken")
    git("clone", "-q", "--depth", "1", in_store.as_uri(), str(tmp_path / "shallow"))
    monkeypatch.chdir(tmp_path / "shallow")

    code, envelope = ask(capsys, "HEAD~1..HEAD")

    assert (code, "git fetch --unshallow" in envelope["diagnostics"][0]["message"]) == (2, True)
    assert ask(capsys)[0] == 0


def test_a_merge_in_progress_and_a_detached_head_are_ordinary(
    in_store: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Conflict markers are a broken file with its line; commits are compared all the same."""
    path = in_store / "policies" / "staging_first_deployment.yaml"
    git("checkout", "-qb", "other")
    path.write_text(path.read_text().replace("effect: deny", "effect: ask"))
    git("commit", "-qam", "Ask")
    git("checkout", "-q", "main")
    path.write_text(path.read_text().replace("effect: deny", "effect: warn"))
    git("commit", "-qam", "Warn")
    git("merge", "other")

    code, envelope = ask(capsys)
    compared, _ = ask(capsys, "main..other")
    git("merge", "--abort")
    git("checkout", "-q", "--detach")
    detached, _ = ask(capsys, "HEAD~1..HEAD")

    assert (code, "staging_first_deployment.yaml" in envelope["diagnostics"][0]["message"]) == (2, True)
    assert (compared, detached) == (0, 1)


def test_a_store_inside_a_larger_repository_is_found(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Paths are those of the store, wherever the repository begins."""
    outer = tmp_path / "outer"
    (outer / "inner").mkdir(parents=True)
    git("init", "-q", "-b", "main", str(outer))
    assert run(["init", str(outer / "inner"), "--adopt"]) == 0
    git("add", "-A", cwd=outer)
    git("commit", "-qm", "All", cwd=outer)
    monkeypatch.chdir(outer / "inner")
    weaken(outer / "inner")

    code, envelope = ask(capsys)

    assert (code, envelope["data"]["before"]["policies"]) == (1, 4)


def test_no_repository_is_said(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """There are no commits to compare with."""
    (tmp_path / "bare").mkdir()
    (tmp_path / "bare" / "memkit.yaml").write_text("name: bare\nformat: 1\n")
    monkeypatch.chdir(tmp_path / "bare")

    assert ask(capsys)[0] == 3


def test_programs_of_a_hostile_store_do_not_run(
    in_store: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A filter or text converter that its configuration names is not started."""
    weaken(in_store)
    git("commit", "-qam", "Weaken")
    trap = tmp_path / "ran"
    (in_store / ".gitattributes").write_text("*.yaml filter=trap diff=trap\n")
    for key in ("filter.trap.clean", "filter.trap.smudge", "diff.trap.textconv", "core.fsmonitor", "diff.external"):
        git("config", key, f"touch {trap}; cat")

    assert ask(capsys, "HEAD~1..HEAD")[0] == 1
    assert not trap.exists()
