"""``--at COMMIT`` shows what was believed then: read only, no use, and whatever the working tree says now."""

from __future__ import annotations

import json
import os
import shutil
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from shards import commit, git, record, write

from memkit.cli.main import run
from memkit.errors import UsageError
from memkit.runtime.memory.archive.archive import ArchivalStore
from memkit.runtime.memory.index.catalogue import AccessCounts
from memkit.runtime.memory.log.clone import cache_folder, state_folder
from memkit.runtime.memory.record.record import Draft
from memkit.store.chain_history import KEPT
from memkit.workspace import open_workspace

USER = ["--user", "ada"]


class Memkit:
    """Runs commands on one store."""

    def __init__(self, store: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.store = store
        self.capsys = capsys

    def __call__(self, *arguments: str, code: int = 0) -> Any:
        """Run a command, check its exit code and return its data."""
        self.capsys.readouterr()
        assert run([*arguments, "--json", "--store", str(self.store)]) == code
        return json.loads(self.capsys.readouterr().out)["data"]

    def texts(self, *arguments: str) -> list[str]:
        """Return the texts that a search or a list gives."""
        data = self(*arguments, *USER)
        return [one["text"] for one in data.get("results", data.get("records"))]


@pytest.fixture
def memkit(store: Path, capsys: pytest.CaptureFixture[str]) -> Memkit:
    """Give commands on the store."""
    return Memkit(store, capsys)


@pytest.fixture
def life(memkit: Memkit) -> tuple[str, str, str]:
    """Tell a fact, correct it, and return its id with the commits before and after the correction."""
    told = memkit("memory", "add", "Ada drinks tea", *USER, "--type", "preference")["id"]
    memkit("core", "set", "human", "Drinks tea.", *USER)
    before = commit(memkit.store)
    memkit("memory", "supersede", told, "Ada drinks coffee", *USER)
    memkit("core", "set", "human", "Drinks coffee.", *USER)
    return told, before, commit(memkit.store)


def test_every_reading_command_looks_back(memkit: Memkit, life: tuple[str, str, str]) -> None:
    """Search, get, list and core show give what stood at a commit; without it, what stands now."""
    told, before, after = life
    search, listing = ("memory", "search", "what does Ada drink"), ("memory", "list")

    assert memkit.texts(*search, "--at", before) == memkit.texts(*listing, "--at", before) == ["Ada drinks tea"]
    assert memkit.texts(*search) == memkit.texts(*search, "--at", after) == ["Ada drinks coffee"]
    assert memkit("memory", "get", told, "--at", before[:8])["status"] == "live"
    assert memkit("memory", "get", told)["status"] == "superseded"
    assert memkit("core", "show", *USER, "--at", "HEAD~1")["sections"]["human"] == "Drinks tea."
    assert memkit("core", "show", *USER, "--at", "main")["sections"]["human"] == "Drinks coffee."
    memkit("memory", "get", told, "--at", git(memkit.store, "rev-list", "--max-parents=0", "HEAD").strip(), code=1)


def test_the_working_tree_has_no_say(memkit: Memkit, life: tuple[str, str, str]) -> None:
    """Edited, deleted or on another branch: the commit is read as it is, with and without its cached index."""
    _, before, _ = life
    shutil.rmtree(memkit.store / "archive")

    for _ in range(2):
        assert memkit.texts("memory", "search", "Ada drinks", "--at", before) == ["Ada drinks tea"]
    shutil.rmtree(memkit.store / ".memkit")
    assert memkit.texts("memory", "search", "Ada drinks", "--at", before) == ["Ada drinks tea"]


def test_a_look_back_is_no_use(memkit: Memkit, life: tuple[str, str, str]) -> None:
    """Nothing is counted and no recall is told of; the audit log names it as what it is."""
    told, before, _ = life

    memkit.texts("memory", "search", "Ada drinks", "--at", before)

    assert AccessCounts(state_folder(memkit.store) / "access").uses("ada", [told]) == {}
    assert memkit("memory", "why", told, *USER)["retrieved"] == []
    assert [event["event"] for event in memkit("audit", *USER)["events"]][-1] == "looked back"


def test_the_past_cannot_be_written(memkit: Memkit, life: tuple[str, str, str]) -> None:
    """A commit is opened for reading, and a store that is made on its log all the same refuses to write."""
    _, before, _ = life
    with open_workspace(memkit.store) as workspace:
        past = workspace.archive_at(before)
        with pytest.raises(UsageError, match="history"):
            ArchivalStore(log=past.log).offer(Draft("Ada drinks water"), workspace.person("ada"))
        assert [one.text for one in past.records(user_id="ada")] == ["Ada drinks tea"]
    assert git(memkit.store, "status", "--porcelain") == ""


@pytest.mark.parametrize("name", ["nowhere", "--all", "HEAD:memkit.yaml", "", "-n1", "main;ls", "0" * 40])
def test_an_unknown_commit_is_bad_usage(name: str, memkit: Memkit, capsys: pytest.CaptureFixture[str]) -> None:
    """It is one clear line and exit 2, also when it looks like an option."""
    for command in (["memory", "search", "tea", *USER], ["memory", "list"], ["core", "show", *USER]):
        assert run([*command, f"--at={name}", "--store", str(memkit.store)]) == 2
        said = capsys.readouterr().err
        assert "does not name a commit" in said and said.count("\n") == 1


def test_without_a_repository_nobody_can_look_back(memkit: Memkit) -> None:
    """The environment cannot serve: exit 3."""
    (memkit.store / ".git").rename(memkit.store / "elsewhere")

    memkit("memory", "list", "--at", "HEAD", code=3)


def test_both_kinds_of_past_hold_together(memkit: Memkit) -> None:
    """What was believed at a commit about what was true at a date: neither a later belief nor another time."""
    memkit("memory", "add", "Ada lives in Linz", *USER, "--valid-from", "2020-01-01", "--valid-until", "2022-12-31")
    memkit("memory", "add", "Ada lives in Graz", *USER, "--valid-from", "2023-01-01")
    first = commit(memkit.store)
    memkit("memory", "add", "Ada lives in Wien", *USER, "--valid-from", "2024-01-01")
    commit(memkit.store)
    where = ("memory", "search", "where Ada lives")

    assert memkit.texts(*where, "--at", first, "--as-of", "2021-06-01") == ["Ada lives in Linz"]
    assert memkit.texts(*where, "--at", first, "--as-of", "2025-06-01") == ["Ada lives in Graz"]
    assert set(memkit.texts(*where, "--as-of", "2025-06-01")) == {"Ada lives in Graz", "Ada lives in Wien"}


def test_what_has_expired_since_was_believed_then(memkit: Memkit, monkeypatch: pytest.MonkeyPatch) -> None:
    """The time of a look back is that of the commit."""
    write(memkit.store, record(1, "Ada is on holiday").replace(b'"user_id"', b'"valid_until":"2026-11-30","user_id"'))
    monkeypatch.setenv("GIT_COMMITTER_DATE", "2026-11-25T12:00:00+01:00")
    then = commit(memkit.store)
    later = datetime(2027, 3, 1, tzinfo=UTC)

    with open_workspace(memkit.store, clock=lambda: later) as workspace:
        assert workspace.archive.search("holiday", user_id="ada").abstained
        assert workspace.archive_at(then).search("holiday", user_id="ada").hits[0].text == "Ada is on holiday"


def test_few_commits_keep_their_index(memkit: Memkit) -> None:
    """The cache is bounded: what was looked at last stays."""
    commits = []
    for number in range(KEPT + 3):
        write(memkit.store, *(record(one) for one in range(number + 1)))
        commits.append(commit(memkit.store))
        memkit("memory", "list", "--at", "HEAD")
        os.utime(cache_folder(memkit.store) / "at" / commits[-1], (number, number))

    memkit("memory", "list", "--at", commits[0])

    kept = {path.name for path in (cache_folder(memkit.store) / "at").iterdir()}
    assert len(kept) == KEPT
    assert {commits[0], commits[-1]} <= kept


def test_a_store_inside_a_project_looks_back_too(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Paths are those of the store, wherever in the repository it lies, and links in a commit are not followed."""
    project = tmp_path / "project"
    project.mkdir()
    git(project, "init", "-q")
    assert run(["init", str(project / "inner"), "--adopt"]) == 0
    memkit = Memkit(project / "inner", capsys)
    memkit("memory", "add", "Ada drinks tea", *USER)
    (shard,) = (project / "inner/archive").rglob("*.jsonl")
    (shard.parent / "link.jsonl").symlink_to("/etc/passwd")
    then = commit(project)
    memkit("memory", "add", "Ada wears hats", *USER)

    assert memkit.texts("memory", "list", "--at", then) == ["Ada drinks tea"]


def test_branches_tags_and_parents_of_a_merge_each_hold_what_they_held(memkit: Memkit) -> None:
    """After a merge both sides are believed; each parent, by whatever name, still has its own alone."""
    memkit("memory", "add", "Ada drinks tea", *USER)
    commit(memkit.store)
    git(memkit.store, "tag", "-a", "v1", "-m", "v1")
    git(memkit.store, "checkout", "-q", "-b", "side")
    ridden = memkit("memory", "add", "Ada rides horses", *USER)["id"]
    commit(memkit.store)
    git(memkit.store, "checkout", "-q", "main")
    memkit("memory", "add", "Ada sails boats", *USER)
    commit(memkit.store)
    git(memkit.store, "merge", "-q", "side", "-m", "both")

    held = {name: set(memkit.texts("memory", "list", "--at", name)) for name in ("HEAD", "HEAD^1", "side", "v1")}

    assert held["HEAD"] == held["HEAD^1"] | held["side"]
    assert (held["HEAD^1"] - held["v1"], held["side"] - held["v1"]) == ({"Ada sails boats"}, {"Ada rides horses"})
    assert memkit.texts("memory", "search", "horses", "--at", "HEAD^1") == []
    assert memkit.texts("memory", "search", "horses") == ["Ada rides horses"]
    assert len(memkit("memory", "why", ridden, *USER)["retrieved"]) == 1


def test_a_commit_before_the_store_says_that_there_was_none(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Nothing was believed there, which is not the same as a store that held nothing."""
    git(tmp_path, "init", "-q")
    first = commit(tmp_path)
    assert run(["init", str(tmp_path), "--adopt"]) == 0
    memkit = Memkit(tmp_path, capsys)
    memkit("memory", "add", "Ada drinks tea", *USER)
    capsys.readouterr()

    assert run(["memory", "list", *USER, "--at", first, "--store", str(tmp_path)]) == 0
    assert "there was no store yet" in capsys.readouterr().err
    assert run(["memory", "list", *USER, "--at", "HEAD", "--store", str(tmp_path)]) == 0
    assert "no store" not in capsys.readouterr().err
