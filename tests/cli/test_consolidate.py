"""``memkit memory consolidate``: a branch to review, whose merge makes the live set what was promised."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from memkit.cli.main import run


class Answers:
    """Run commands on one store and return their envelopes."""

    def __init__(self, root: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.root = root
        self._capsys = capsys

    def __call__(self, *arguments: str, code: int = 0) -> dict[str, Any]:
        """Return the envelope of ``memkit ARGUMENTS``, which must exit with ``code``."""
        exit_code = run([*arguments, "--json", "--store", str(self.root)])
        printed = self._capsys.readouterr()
        assert exit_code == code, printed
        answer: dict[str, Any] = json.loads(printed.out)
        return answer

    def git(self, *arguments: str) -> str:
        """Return what git prints."""
        return subprocess.run(["git", *arguments], cwd=self.root, capture_output=True, text=True, check=True).stdout

    def live(self, user: str = "ada") -> dict[str, str]:
        """Return the texts of a user's live records by id."""
        records = self("memory", "list", "--user", user)["data"]["records"]
        return {record["id"]: record["text"] for record in records}

    def pull(self, *records: dict[str, Any], shard: str = "2026-01/other.jsonl") -> None:
        """Append records to another writer's shard, as a merge of another clone does."""
        path = self.root / "archive" / shard
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("a", encoding="utf-8") as file:
            file.writelines(json.dumps(record, sort_keys=True, separators=(",", ":")) + "\n" for record in records)


def fact(id: str, text: str, **fields: Any) -> dict[str, Any]:
    """Return a record as another clone wrote it."""
    made = {"id": id, "text": text, "user_id": "ada", "created_at": "2026-01-02T00:00:00.000000Z"}
    return {**made, "actor": "person", "trust": "verified", **fields}


@pytest.fixture
def memkit(store: Path, capsys: pytest.CaptureFixture[str]) -> Answers:
    """Return a runner of commands on a store with a repetition, an episode and something expired."""
    answers = Answers(store, capsys)
    answers.pull(
        fact("01A", "Ada prefers espresso"),
        fact("01B", "Ada  prefers ESPRESSO.", session_id="s"),
        *(
            fact(f"02{place}", text, type="event", session_id="s")
            for place, text in enumerate(("Ada saw a heron", "The train was late", "Bob brought cake"))
        ),
        fact("03A", "Ada stays in Rome", valid_until="2026-02-01"),
        fact("04A", "Ada lives in Paris"),
    )
    return answers


def test_the_merge_makes_the_live_set_what_was_promised(memkit: Answers) -> None:
    """Before it nothing changes here; after it repetitions are one, events a summary, and the expired is gone."""
    before = memkit.live()

    answer = memkit("memory", "consolidate", "--branch", "tidy")["data"]

    assert (answer["branch"], len(answer["merged"]), len(answer["summarised"])) == ("tidy", 1, 1)
    assert set(answer["superseded"]) == {"01A", "01B", "020", "021", "022"}
    assert [drop["id"] for drop in answer["dropped"]] == ["03A"]
    assert memkit.live() == before
    memkit.git("merge", "--quiet", "tidy")
    assert set(memkit.live()) == {"04A", *answer["added"]}
    record = memkit("memory", "get", answer["summarised"][0]["id"])["data"]
    assert (record["type"], record["actor"], record["summarises"]) == ("summary", "program", ["020", "021", "022"])
    assert memkit("memory", "get", "020")["data"]["status"] == "superseded"
    assert memkit("fsck")["ok"] is True


def test_a_second_run_after_the_merge_finds_nothing(memkit: Answers) -> None:
    """Nothing to consolidate is exit 0 and no branch."""
    memkit.git("merge", "--quiet", memkit("memory", "consolidate")["data"]["branch"])

    again = memkit("memory", "consolidate", "--branch", "more")["data"]

    assert (again["branch"], again["commit"], again["added"], again["dropped"]) == (None, None, [], [])
    assert "more" not in memkit.git("branch", "--list", "more")


def test_working_tree_index_and_head_stay_as_they_are(memkit: Answers) -> None:
    """What is staged stays staged, what is edited stays edited, and the commit on the branch holds one new shard."""
    memkit("commit")
    (memkit.root / "README.md").write_text("edited\n", encoding="utf-8")
    (memkit.root / "staged.txt").write_text("staged\n", encoding="utf-8")
    memkit.git("add", "staged.txt")
    before = memkit.git("status", "--porcelain"), memkit.git("rev-parse", "HEAD")

    answer = memkit("memory", "consolidate", "--branch", "tidy")["data"]

    assert (memkit.git("status", "--porcelain"), memkit.git("rev-parse", "HEAD")) == before
    changed = memkit.git("diff", "--name-status", "HEAD...tidy").split()
    assert changed[0] == "A" and changed[1].startswith("archive/") and len(changed) == 2
    assert memkit.git("rev-list", "--count", "HEAD..tidy").strip() == "1"
    assert memkit.git("rev-parse", "tidy").strip() == answer["commit"]


def test_the_commit_message_holds_ids_and_no_texts(memkit: Answers) -> None:
    """A message outlives an erasure less easily than a line."""
    answer = memkit("memory", "consolidate", "--branch", "tidy")["data"]

    message = memkit.git("log", "-1", "--format=%B", "tidy")

    assert all(id in message for id in (*answer["added"], "01A", "03A"))
    assert not any(word in message for word in ("espresso", "heron", "Rome", "Ada"))
    assert "heron" in answer["summary"]


def test_what_waits_for_a_commit_is_committed_first(memkit: Answers) -> None:
    """The branch stands on it."""
    memkit("memory", "add", "Ada reads at night", "--user", "ada")

    memkit("memory", "consolidate", "--branch", "tidy")

    assert memkit.git("status", "--porcelain") == ""
    assert "Ada reads at night" in memkit.git("grep", "Ada reads", "tidy", "--", "archive")


def test_a_dry_run_makes_no_branch_and_no_commit(memkit: Answers) -> None:
    """It says what the branch would hold of the last commit."""
    memkit("commit")
    head = memkit.git("rev-parse", "HEAD")

    answer = memkit("memory", "consolidate", "--branch", "tidy", "--dry-run")["data"]

    assert (answer["branch"], len(answer["merged"]), answer["dry_run"]) == (None, 1, True)
    assert memkit.git("branch", "--list", "tidy") == "" and memkit.git("rev-parse", "HEAD") == head


def test_a_branch_that_is_there_is_bad_usage(memkit: Answers) -> None:
    """It is somebody's work in progress."""
    memkit("commit")
    memkit.git("branch", "tidy")

    assert "tidy" in memkit("memory", "consolidate", "--branch", "tidy", code=2)["diagnostics"][0]["message"]
    memkit("memory", "consolidate", "--branch", "-x..", code=2)


def test_a_folder_without_a_repository_cannot_serve(memkit: Answers) -> None:
    """Exit 3, and nothing is written."""
    (memkit.root / ".git").rename(memkit.root / ".git.away")

    memkit("memory", "consolidate", code=3)


def test_only_the_user_who_is_named_is_consolidated(memkit: Answers) -> None:
    """The others' records stay."""
    assert memkit("memory", "consolidate", "--user", "bob")["data"]["branch"] is None


def test_main_may_go_on_meanwhile(memkit: Answers) -> None:
    """New records and the branch's come together without a conflict."""
    answer = memkit("memory", "consolidate", "--branch", "tidy")["data"]
    added = memkit("memory", "add", "Ada reads at night", "--user", "ada")["data"]["id"]
    memkit("commit")

    memkit.git("merge", "--quiet", "--no-edit", "tidy")

    assert set(memkit.live()) == {"04A", added, *answer["added"]}


@pytest.mark.parametrize(
    "change",
    [
        ["memory", "reject", "01A"],
        ["memory", "forget", "01A"],
        ["memory", "supersede", "01A", "Ada prefers filter coffee"],
    ],
)
def test_what_was_corrected_meanwhile_does_not_come_back(memkit: Answers, change: list[str]) -> None:
    """The replacement of a parent that somebody closed is void, and the other parents stand as they did before."""
    answer = memkit("memory", "consolidate", "--branch", "tidy")["data"]
    memkit(*change)
    memkit("commit")
    before = memkit.live()

    memkit.git("merge", "--quiet", "--no-edit", "tidy")

    merged = answer["merged"][0]["id"]
    assert merged not in memkit.live() and "01A" not in memkit.live()
    assert memkit("memory", "get", merged)["data"]["status"] == "quarantined"
    assert set(memkit.live()) == (set(before) - {"020", "021", "022", "03A"}) | {answer["summarised"][0]["id"]}
    live = memkit.live()
    memkit("index", "rebuild")
    assert memkit.live() == live


def test_a_rejected_event_comes_back_in_no_summary(memkit: Answers) -> None:
    """A summary of a rejected source is void too; a person may approve it all the same."""
    answer = memkit("memory", "consolidate", "--branch", "tidy")["data"]
    summary = answer["summarised"][0]["id"]
    memkit("memory", "reject", "020")
    memkit("commit")
    memkit.git("merge", "--quiet", "--no-edit", "tidy")
    assert {"021", "022"} <= set(memkit.live()) and summary not in memkit.live()

    memkit("memory", "approve", summary)

    assert summary in memkit.live() and not {"021", "022"} & set(memkit.live())


def test_two_branches_that_consolidate_the_same_agree_in_the_end(memkit: Answers) -> None:
    """The older replacement stands, the younger one is void, and no parent comes back."""
    one = memkit("memory", "consolidate", "--branch", "one")["data"]
    memkit("memory", "consolidate", "--branch", "two")

    memkit.git("merge", "--quiet", "--no-edit", "two")
    memkit.git("merge", "--quiet", "--no-edit", "one")

    assert set(memkit.live()) == {"04A", *one["added"]}


def test_a_killed_run_leaves_no_branch_or_a_whole_one(memkit: Answers) -> None:
    """Whenever it is killed, the working tree is clean, and the next run does the work."""
    memkit("commit")
    command = [sys.executable, "-m", "memkit", "memory", "consolidate", "--store", str(memkit.root), "--branch", "tidy"]
    for seconds in (0.2, 0.45, 0.7, 0.9):
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=dict(os.environ))
        time.sleep(seconds)
        process.send_signal(signal.SIGKILL)
        process.wait()
        assert memkit.git("status", "--porcelain") == ""
        if memkit.git("branch", "--list", "tidy"):
            assert memkit.git("rev-list", "--count", "HEAD..tidy").strip() == "1"
            memkit.git("branch", "-D", "tidy")

    assert memkit("memory", "consolidate", "--branch", "tidy")["data"]["branch"] == "tidy"


def scripted(memkit: Answers, monkeypatch: pytest.MonkeyPatch, *answers: str) -> None:
    """Let the store's provider be a script."""
    script = memkit.root.parent / "answers.json"
    script.write_text(json.dumps([{"text": answer} for answer in answers]), encoding="utf-8")
    monkeypatch.setenv("MEMKIT_PROVIDER", f"scripted:{script}")


def test_a_model_that_cites_what_it_tells_finds_the_words(memkit: Answers, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its sentences stand in the summary."""
    told = {"sentences": [{"text": "A heron, a late train and Bob's cake.", "cites": ["020", "021", "022"]}]}
    scripted(memkit, monkeypatch, json.dumps(told))

    answer = memkit("memory", "consolidate", "--branch", "tidy")

    assert "A heron, a late train and Bob's cake." in answer["data"]["summary"]
    assert answer["diagnostics"] == []


@pytest.mark.parametrize(
    "told",
    [
        "A heron.",
        '{"sentences": []}',
        '{"sentences": [{"text": "A heron.", "cites": ["020"]}]}',
        '{"sentences": [{"text": "A heron.", "cites": ["020", "021", "022", "04A"]}]}',
        '{"sentences": [{"text": "77 herons.", "cites": ["020", "021", "022"]}]}',
        "[" * 100_000,
    ],
)
def test_a_malformed_summary_is_refused_and_said(memkit: Answers, monkeypatch: pytest.MonkeyPatch, told: str) -> None:
    """What the rules make of the records is taken instead."""
    scripted(memkit, monkeypatch, told)

    answer = memkit("memory", "consolidate", "--branch", "tidy")

    assert "refused" in answer["diagnostics"][0]["message"]
    assert "- Ada saw a heron" in answer["data"]["summary"]
