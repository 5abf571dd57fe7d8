"""An erasure removes a person from everywhere, proves it, and leaves everybody else as they were."""

from __future__ import annotations

import json
import stat
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest

from memkit import open_store
from memkit.cli.main import run
from memkit.privacy import local_state
from memkit.privacy.journal import ErasureJournal
from memkit.runtime.memory.log.clone import state_folder
from memkit.use_cases import erase_user
from tests.privacy.traces import BOB, TEXT, erase, git, leaking, remember


def test_nothing_is_left_and_the_answer_says_so(peopled: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """After an erasure no byte of the texts is in any file or object, and the scan counted every place."""
    assert leaking(peopled)

    code, answer = erase(peopled, capsys)

    assert leaking(peopled) == []
    data = answer["data"]
    assert (code, answer["ok"], data["user_id"], data["removed"]["records"]) == (0, True, "alice", 2)
    assert {place["place"] for place in data["scanned"]} >= {"working tree", "git objects", "git refs", "state"}
    assert sum(place["traces"] for place in data["scanned"]) == 0
    assert data["unprovable"] == []
    assert git(peopled, "fsck") == ""


def test_others_keep_their_records(peopled: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What Bob has is there afterwards, in the file and in every commit."""
    erase(peopled, capsys)

    run(["memory", "list", "--user", "bob", "--json", "--store", str(peopled)])
    assert [record["text"] for record in json.loads(capsys.readouterr().out)["data"]["records"]] == [BOB]
    assert BOB in git(peopled, "show", "HEAD~1:archive", "--") or BOB in git(peopled, "log", "-p", "--all")
    assert run(["fsck", "--store", str(peopled)]) == 0


def test_the_certificate_names_nobody(peopled: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """It lies where it was asked for, for its owner alone, and holds counts and a keyed digest."""
    out = tmp_path / "certificate.json"

    _, answer = erase(peopled, capsys, "--out", str(out))

    text = out.read_text()
    assert answer["data"]["certificate"] == str(out)
    assert stat.S_IMODE(out.stat().st_mode) == 0o600
    assert "alice" not in text.lower() and "quokka" not in text
    assert json.loads(text)["result"] == "nothing found"
    assert len(json.loads(text)["user"]) == 64


def test_the_map_of_commits_is_given(peopled: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Every commit that changed is named with the one in its place, also beside the certificate."""
    before = git(peopled, "rev-parse", "HEAD")

    _, answer = erase(peopled, capsys, "--out", str(tmp_path / "c"))

    new = answer["data"]["commits"][before]
    git(peopled, "cat-file", "-e", new)
    assert f"{before} {new}\n" in (tmp_path / "c.commits").read_text()


def test_an_erased_value_cannot_come_back(peopled: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A keyed tombstone bars the value for this user, however it is spelled, and for nobody else."""
    erase(peopled, capsys)

    assert run(["memory", "add", TEXT.upper(), "--user", "alice", "--store", str(peopled)]) == 1
    assert "tombstone" in capsys.readouterr().out
    assert run(["memory", "add", TEXT, "--user", "carol", "--store", str(peopled)]) == 0


def test_doctor_says_that_another_clone_brought_an_erased_value_back(
    peopled: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A merge passes no gate, so what a clone kept is there again, and nobody else would notice."""
    shard = peopled / "archive" / _shard(peopled)
    kept = [line for line in shard.read_bytes().splitlines(keepends=True) if b'"alice"' in line]
    erase(peopled, capsys)

    def told() -> list[str]:
        run(["doctor", "--json", "--store", str(peopled)])
        checks = json.loads(capsys.readouterr().out)["data"]["checks"]
        return [one["detail"] for one in checks if one["name"] == "erased values" and not one["ok"]]

    assert told() == []
    shard.write_bytes(shard.read_bytes() + b"".join(kept))
    (said,) = told()
    assert "not replaced" in said and "memkit memory erase --user alice" in said


def test_the_commit_of_the_tombstones_says_what_it_is(peopled: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Whoever reads the history sees that values were barred, and not whose or which."""
    erase(peopled, capsys)

    assert git(peopled, "log", "-1", "--format=%s").strip() == "Bar 2 erased values"


def test_nobody_is_erased_twice(peopled: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Of whom nothing is held, nothing is changed: exit 1, and the commits stay."""
    head = git(peopled, "rev-parse", "HEAD")

    code, answer = erase(peopled, capsys, user="mallory")

    assert (code, answer["ok"]) == (1, False)
    assert "Nothing is stored" in answer["diagnostics"][0]["message"]
    assert git(peopled, "rev-parse", "HEAD") == head


def test_a_dry_run_changes_nothing(peopled: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """It counts what would go."""
    before = {path: path.read_bytes() for path in peopled.rglob("*") if path.is_file()}

    code, answer = erase(peopled, capsys, "--dry-run")

    assert code == 0 and answer["data"]["removed"]["records"] == 2
    after = {path: path.read_bytes() for path in peopled.rglob("*") if path.is_file()}
    assert {path for path in before if before[path] != after.get(path)} == set()


def test_without_a_terminal_nothing_is_erased(peopled: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Somebody has to agree: exit 2, and the question names refs and counts."""
    assert run(["memory", "erase", "--user", "alice", "--store", str(peopled)]) == 2

    said = capsys.readouterr().err
    assert "To be removed of alice: 2 records, 1 file of the work tree" in said
    assert "refs/heads/main" in said and "--yes" in said
    assert leaking(peopled)


def test_tombstones_are_committed(peopled: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A checkout or a clone has them at once, so that no old export brings the values back there."""
    erase(peopled, capsys)

    assert git(peopled, "status", "--short", "archive") == ""
    assert '"op":"tombstone"' in git(peopled, "show", "HEAD:archive/" + _shard(peopled))


def _shard(root: Path) -> str:
    return next((root / "archive").rglob("*.jsonl")).relative_to(root / "archive").as_posix()


def test_a_second_run_goes_on_where_one_was_incomplete(
    peopled: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """What the first run named and left is taken out by the second, which knows the texts by keyed digests alone."""
    (peopled / "notes.md").write_text(f"As was said: {TEXT}.\n")
    git(peopled, "add", "notes.md")
    git(peopled, "commit", "-qm", "notes")
    out = tmp_path / "alice.jsonl"
    assert run(["memory", "export", "--user", "alice", "--out", str(out), "--store", str(peopled)]) == 0
    code, answer = erase(peopled, capsys)
    assert (code, answer["data"]["unprovable"][0]["place"]) == (1, f"{out}, which memkit exported")
    assert run(["doctor", "--store", str(peopled)]) == 1
    git(peopled, "tag", "-a", "late", "-m", f"still there: {TEXT}")

    out.unlink()
    code, answer = erase(peopled, capsys, "--redact")

    assert (code, leaking(peopled)) == (0, []), answer["diagnostics"]
    assert answer["data"]["removed"]["records"] == 2
    assert git(peopled, "cat-file", "tag", "late").endswith("still there: [erased]")
    assert erase(peopled, capsys)[0] == 1  # nothing is held any more, and nothing is owed


def test_what_is_kept_for_a_second_run_tells_nothing(peopled: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """It is made of digests under a key that lies outside of the store."""
    (peopled / "notes.md").write_text(f"As was said: {TEXT}.\n")
    assert erase(peopled, capsys)[0] == 1

    kept = list((state_folder(peopled) / "unproven").iterdir())

    assert leaking(peopled) == ["notes.md"]
    assert [stat.S_IMODE(path.stat().st_mode) for path in kept] == [0o600, 0o600]
    assert not any(b"alice" in path.read_bytes() for path in kept)


def test_projects_elsewhere_are_erased_with_the_store(
    peopled: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A project without a history goes along; one with a history of its own is left to its owner, and checked again."""
    for name in ("loose", "own"):
        assert run(["gen", "--target", "react", "--store", str(peopled), "--out", str(tmp_path / name)]) == 0
        remember(tmp_path / name, TEXT, "alice")
    git(tmp_path / "own", "init", "-q")

    code, answer = erase(peopled, capsys)

    assert (code, leaking(tmp_path / "loose")) == (1, [])
    left = [item["place"] for item in answer["data"]["unprovable"]]
    assert left == [f"the project {tmp_path / 'own'}, which has its own history"]
    assert erase(tmp_path / "own", capsys)[0] == 0
    assert erase(peopled, capsys)[0] == 0


def test_what_a_tool_writes_is_known_by_its_path(peopled: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A file of the same name elsewhere is somebody's own: it stays as it is, in the history too, and is named."""
    config = peopled / "memkit.yaml"
    config.write_text(config.read_text().replace("writes: [outbox.jsonl]", "writes: [logs/sent.txt]"))
    for folder in ("logs", "mine"):
        (peopled / folder).mkdir()
        (peopled / folder / "sent.txt").write_text("the zanzibar letter\nsent: green tea\n")
    git(peopled, "add", "-f", "logs", "mine", "memkit.yaml")
    git(peopled, "commit", "-qm", "What was sent")

    _, answer = erase(peopled, capsys)

    told = json.dumps([answer["diagnostics"], answer["data"]["unprovable"], answer["data"]["scanned"]])
    assert "zanzibar" not in git(peopled, "show", "HEAD:logs/sent.txt")
    assert "zanzibar" in git(peopled, "show", "HEAD:mine/sent.txt")
    assert "mine/sent.txt" in told


def test_who_reads_while_the_archive_is_rewritten_makes_nothing_missing(
    peopled: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """An index that still has the erased lines is no witness of them: fsck finds nothing, and memory is committed."""
    replace = ErasureJournal._replace

    def read_first(self: ErasureJournal, *given: Any) -> None:
        with open_store(peopled) as reader:
            assert [hit.text for hit in reader.search("green tea", user="bob")] == [BOB]
        replace(self, *given)

    with monkeypatch.context() as patched:
        patched.setattr(ErasureJournal, "_replace", read_first)
        code, envelope = erase(peopled, capsys)

    assert (code, envelope["diagnostics"]) == (0, []), envelope
    assert run(["fsck", "--store", str(peopled)]) == 0
    assert "missing" not in "".join(capsys.readouterr())


def test_a_file_that_is_gone_before_it_is_read_holds_nothing(
    peopled: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Whoever closes a database removes the two files beside it, also between the list of files and their turn."""
    beside = state_folder(peopled) / "access" / "somebody.sqlite-shm"

    def listed(files: Callable[..., Iterable[Path]]) -> Callable[..., list[Path]]:
        return lambda root, **more: [*files(root, **more), *([beside] if beside.is_relative_to(root) else [])]

    with monkeypatch.context() as patched:
        patched.setattr(local_state, "_files", listed(local_state._files))
        patched.setattr(erase_user, "files_below", listed(erase_user.files_below))
        code, envelope = erase(peopled, capsys)

    assert (code, leaking(peopled)) == (0, []), envelope
