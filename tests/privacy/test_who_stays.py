"""What is not the person's stays: other users, other files, the state of git; and what cannot be proven is said."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from memkit.cli.main import run
from tests.privacy.traces import BOB, TEXT, commit, erase, git, leaking, remember


def test_two_who_say_the_same_are_told_apart(peopled: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Bob's record of the same text stays, and the scan does not call it a trace."""
    remember(peopled, TEXT, "bob")
    commit(peopled)

    code, answer = erase(peopled, capsys)

    assert code == 0, answer["diagnostics"]
    assert [found["severity"] for found in answer["diagnostics"] if found["code"] == "quote"] == ["info"]
    run(["memory", "list", "--user", "bob", "--store", str(peopled)])
    assert TEXT in capsys.readouterr().out


def test_signatures_are_dropped_and_counted(peopled: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A signature says that somebody saw these very bytes; of a history made anew it would be a lie."""
    signed = git(peopled, "cat-file", "tag", _annotated(peopled)) + "\n-----BEGIN PGP SIGNATURE-----\n\nx\n"
    id = git(peopled, "hash-object", "-t", "tag", "-w", "--stdin", given=signed.encode())
    git(peopled, "update-ref", "refs/tags/v1", id)

    code, answer = erase(peopled, capsys)

    assert (code, answer["data"]["removed"]["signatures"]) == (0, 1)
    assert "PGP" not in git(peopled, "cat-file", "tag", "v1")


def _annotated(root: Path) -> str:
    git(root, "tag", "-a", "v1", "-m", "first")
    return git(root, "rev-parse", "v1")


def test_the_work_of_people_survives(peopled: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Staged, changed, deleted, executable and untracked files, branches, hooks and settings are as they were."""
    (peopled / "run.sh").write_text("#!/bin/sh\n")
    (peopled / "run.sh").chmod(0o755)
    git(peopled, "add", "run.sh")
    (peopled / "README.md").write_text("half written")
    (peopled / "domains/errands.yaml").unlink()
    (peopled / "plan.txt").write_text("mine")
    git(peopled, "branch", "side")
    git(peopled, "config", "branch.side.description", "mine")
    (peopled / ".git/hooks").mkdir(exist_ok=True)
    (peopled / ".git/hooks/post-commit").write_text("#!/bin/sh\n")
    status, config = git(peopled, "status", "--short"), (peopled / ".git/config").read_bytes()

    assert erase(peopled, capsys)[0] == 0

    # What was remembered and not committed is, with the tombstones, as at the end of every batch.
    assert git(peopled, "status", "--short") == "\n".join(line for line in status.splitlines() if "archive" not in line)
    assert (peopled / ".git/config").read_bytes() == config
    assert (peopled / ".git/hooks/post-commit").exists()
    assert (peopled / "README.md").read_text() == "half written"
    assert git(peopled, "branch", "--format=%(refname:short)").split() == ["main", "side"]


def test_the_stash_survives(peopled: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What people put aside can be taken out again, the oldest entry too."""
    for name in ("first", "second"):
        (peopled / "README.md").write_text(f"{name}\n")
        git(peopled, "stash", "push", "-q", "-m", name, "README.md")

    erase(peopled, capsys)

    assert [line.split(": ")[-1] for line in git(peopled, "stash", "list").splitlines()] == ["second", "first"]
    git(peopled, "stash", "pop", "-q", "stash@{1}")
    assert (peopled / "README.md").read_text() == "first\n"


def test_a_quote_in_a_file_is_reported_and_goes_when_asked_for(
    peopled: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Files that people wrote are not changed unasked: exit 1 and the place; with --redact the quote goes."""
    (peopled / "notes.md").write_text(f"# Notes\n\nAs was said: {TEXT}.\n")
    git(peopled, "add", "notes.md")
    git(peopled, "commit", "-qm", "notes")

    code, _ = erase(peopled, capsys, "--dry-run")
    assert code == 0
    code, _ = erase(peopled, capsys, "--redact")

    assert (code, leaking(peopled)) == (0, [])
    assert (peopled / "notes.md").read_text() == "# Notes\n\nAs was said: [erased].\n"
    assert git(peopled, "status", "--short", "notes.md") == ""


def test_a_quote_is_a_trace(peopled: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Without --redact the file stays as it is, and the answer is no."""
    (peopled / "notes.md").write_text(f"As was said: {TEXT}.\n")

    code, answer = erase(peopled, capsys)

    assert code == 1
    assert "working tree: notes.md" in [found["message"] for found in answer["diagnostics"]]
    assert (peopled / "notes.md").read_text() == f"As was said: {TEXT}.\n"
    assert leaking(peopled) == ["notes.md"]


def test_a_remote_is_left_to_its_owner(peopled: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What was pushed cannot be proven gone: exit 1, the remote by name, and no password of its address."""
    git(peopled, "remote", "add", "origin", "https://me:hunter2secret@example.org/memory.git")

    code, answer = erase(peopled, capsys)

    assert (code, leaking(peopled)) == (1, [])
    assert [item["place"] for item in answer["data"]["unprovable"]] == [
        "remote origin (https://example.org/memory.git) and every clone of it"
    ]
    assert "hunter2" not in json.dumps(answer)


@pytest.mark.parametrize("user", ['o\'neil/von "x"', "naïve\nsecond line", "user.with+plus@example.org", "Ж" * 60])
def test_any_id_can_be_erased(user: str, store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Slashes, quotes, line ends and other scripts are part of a name like any letter."""
    remember(store, TEXT, user)
    remember(store, BOB, "bob")
    commit(store)

    code, answer = erase(store, capsys, user=user)

    assert (code, leaking(store)) == (0, [])
    assert answer["data"]["user_id"] == user


@pytest.mark.parametrize("user", ["main", "archive", "a", "bob", "null", "user_id"])
def test_a_name_that_is_a_word_breaks_nothing(user: str, store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Somebody called like a branch or a folder is found in the lines alone."""
    remember(store, TEXT, user)
    commit(store)

    code, answer = erase(store, capsys, user=user)

    assert (code, leaking(store)) == (0, []), answer["diagnostics"]
    assert git(store, "branch", "--show-current") == "main"
    assert (store / "archive").is_dir()


def test_shared_records_go_with_what_was_said_of_them(peopled: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A shared record that Alice wrote goes, and with it Bob's confirmation and what he was shown of it."""
    remember(peopled, f"{TEXT} for everybody", "alice", "--scope", "shared")
    run(["memory", "search", "zanzibar cupboard", "--user", "bob", "--json", "--store", str(peopled)])
    found = json.loads(capsys.readouterr().out.splitlines()[-1])["data"]["results"][0]["id"]
    run(["memory", "confirm", found, "--store", str(peopled)])

    code, answer = erase(peopled, capsys)

    assert code == 0, answer["diagnostics"]
    assert leaking(peopled, (found.lower().encode(),)) == []


def test_a_folder_without_git_is_erased_as_well(peopled: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A store that is no repository has files alone."""
    import shutil

    shutil.rmtree(peopled / ".git")

    code, answer = erase(peopled, capsys)

    assert (code, leaking(peopled)) == (0, [])
    assert answer["data"]["commits"] == {}


def test_structure_of_the_history_stays(peopled: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """As many commits as before with the same parents, authors, dates, tags and detached HEAD."""
    git(peopled, "checkout", "-qb", "side")
    remember(peopled, "Bob on the side", "bob")
    git(peopled, "commit", "-qam", "side")
    git(peopled, "checkout", "-q", "main")
    git(peopled, "commit", "-q", "--allow-empty", "-m", "main")
    git(peopled, "merge", "-q", "--no-ff", "-m", "both", "side")
    git(peopled, "tag", "-a", "v1", "-m", "first")
    git(peopled, "checkout", "-q", "--detach")
    git(peopled, "config", "user.name", "x")
    run(["memory", "key", "--store", str(peopled)])
    shape = "--format=%an %at %cn %ct %s %D"
    assert run(["memory", "add", "x y z", "--user", "bob", "--store", str(peopled)]) == 0
    capsys.readouterr()
    before = git(peopled, "log", "--topo-order", "--graph", "--all", shape)

    code, answer = erase(peopled, capsys)

    assert code == 0, answer["diagnostics"]
    assert git(peopled, "log", "--topo-order", "--graph", "--all", shape).endswith(before.split("\n", 1)[1])
    assert git(peopled, "describe", "--all") != ""


def test_a_sealed_person_is_erased_with_their_key(store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What was only ever sealed goes as lines as well, its key is destroyed, and its values cannot come back."""
    pytest.importorskip("cryptography")
    assert run(["config", "set", "privacy.seal", "user", "--store", str(store)]) == 0
    remember(store, TEXT, "alice")
    remember(store, BOB, "bob")
    commit(store)
    run(["chat", "--user", "alice", "--consent", "--session", "s", "-p", f"Remember: {TEXT}", "--store", str(store)])

    code, answer = erase(store, capsys)

    assert (code, leaking(store)) == (0, []), answer["diagnostics"]
    assert git(store, "grep", "-c", "sealed", "HEAD", "--", "archive").endswith(":1")
    assert run(["memory", "add", TEXT, "--user", "alice", "--store", str(store)]) == 1
    run(["memory", "list", "--user", "bob", "--store", str(store)])
    assert BOB in capsys.readouterr().out


def test_a_generated_project_is_a_store_like_any_other(
    store: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A rendered project, no repository of its own, is erased where it lies."""
    assert run(["gen", "--target", "react", "--store", str(store), "--out", str(tmp_path / "project")]) == 0
    remember(tmp_path / "project", TEXT, "mildred")

    code, answer = erase(tmp_path / "project", capsys, user="mildred")

    assert (code, leaking(tmp_path / "project")) == (0, []), answer["diagnostics"]


def test_a_project_inside_of_the_store_is_erased_with_it(store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What an agent remembered in a project that was generated here goes too, and its code accuses nobody."""
    remember(store, TEXT, "ada")
    assert run(["gen", "--target", "react", "--store", str(store)]) == 0
    project = store / "outputs/react"
    remember(project, "Ada keeps a quokka-7731 in the zanzibar attic", "ada")
    remember(project, BOB, "bob")
    run(["memory", "search", "zanzibar", "--user", "ada", "--store", str(project)])

    code, answer = erase(store, capsys, user="ada")

    assert (code, leaking(store)) == (0, []), answer["diagnostics"]
    assert answer["data"]["removed"]["records"] == 2
    run(["memory", "list", "--user", "bob", "--store", str(project)])
    assert BOB in capsys.readouterr().out


def test_another_repository_inside_is_named(peopled: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """It has a history of its own that is not looked into: exit 1, and whose it is."""
    (peopled / "outputs/other").mkdir(parents=True)
    git(peopled / "outputs/other", "init", "-q")

    code, answer = erase(peopled, capsys)

    assert code == 1
    assert [item["place"] for item in answer["data"]["unprovable"]] == ["the repository outputs/other"]


def test_a_quote_in_place_of_an_author_goes(peopled: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Who wrote a commit stays, unless somebody put a text there."""
    git(peopled, "commit", "-q", "--allow-empty", "-m", "x", "--author", f"{TEXT} <quokka-7731@example.org>")
    git(peopled, "commit", "-q", "--allow-empty", "-m", "y", "--author", "Alice Liddell <alice@example.org>")

    code, answer = erase(peopled, capsys)

    assert (code, leaking(peopled)) == (0, []), answer["diagnostics"]
    assert "Alice Liddell <alice@example.org>" in git(peopled, "log", "--format=%an <%ae>").splitlines()
    assert git(peopled, "fsck", "--strict") == ""


def test_files_that_git_does_not_know_are_cleaned_when_asked_for(
    peopled: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """An export and a note lie beside the store's own files; with --redact both lose what is the person's."""
    run(["memory", "export", "--user", "alice", "--out", str(peopled / "alice.jsonl"), "--store", str(peopled)])
    (peopled / "note.txt").write_text(f"She said: {TEXT}.\n")

    code, answer = erase(peopled, capsys, "--redact")

    assert (code, leaking(peopled)) == (0, []), answer["diagnostics"]
    assert (peopled / "note.txt").read_text() == "She said: [erased].\n"


@pytest.mark.parametrize("exported", [False, True])
def test_what_a_remote_only_had_sealed_went_with_the_key(
    exported: bool, store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Without the key nobody can read it there; where the key was copied, the remote is left to its owner."""
    pytest.importorskip("cryptography")
    monkeypatch.setenv("MEMKIT_PASSPHRASE", "correct horse battery staple")
    assert run(["config", "set", "privacy.seal", "user", "--store", str(store)]) == 0
    remember(store, TEXT, "alice")
    commit(store)
    git(store, "remote", "add", "origin", str(tmp_path / "origin.git"))
    if exported:
        assert run(["key", "export", str(tmp_path / "keys"), "--store", str(store)]) == 0

    code, answer = erase(store, capsys)

    assert (code, len(answer["data"]["unprovable"])) == ((1, 1) if exported else (0, 0)), answer["diagnostics"]
    assert ("sealed_copy" in [item["code"] for item in answer["diagnostics"]]) is not exported


def test_one_line_in_clear_leaves_the_remote_to_its_owner(
    store: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """What was told before the store sealed may lie at the remote for everybody to read."""
    pytest.importorskip("cryptography")
    remember(store, TEXT, "alice")
    assert run(["config", "set", "privacy.seal", "user", "--store", str(store)]) == 0
    remember(store, "Alice rides a tandem", "alice")
    git(store, "remote", "add", "origin", str(tmp_path / "origin.git"))

    code, answer = erase(store, capsys)

    assert (code, len(answer["data"]["unprovable"])) == (1, 1)


def test_the_writer_of_another_clone_is_nobodys_text(
    peopled: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A session of a clone that trusts no other says whose lines it read; heads and shards go by that name."""
    remember(peopled, "Alice drinks espresso in the morning", "alice")
    commit(peopled)
    clone = tmp_path / "clone"
    git(tmp_path, "clone", "--quiet", str(peopled), str(clone))
    git(clone, "remote", "remove", "origin")
    at = ("--store", str(clone), "--user", "alice")
    assert run(["chat", "--consent", "-p", "What do I drink?", *at]) == 0
    remember(clone, "Alice skis", "alice")
    commit(clone)
    heads = sorted(path.name for path in (clone / "archive/heads").iterdir())

    code, answer = erase(clone, capsys)

    assert code == 0, answer["diagnostics"]
    assert sorted(path.name for path in (clone / "archive/heads").iterdir()) == heads
    assert run(["fsck", "--store", str(clone)]) == 0
