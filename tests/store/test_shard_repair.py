"""``fsck --fix`` repairs what a merge, an editor or a crash broke, and no line that can be parsed is lost by it."""

from __future__ import annotations

import json
import subprocess
import sys
from itertools import chain
from pathlib import Path
from typing import Any

import pytest
from growth import steps
from hypothesis import given, settings
from hypothesis import strategies as st
from shards import SHARD, commit, event, git, record, write

from memkit.cli.main import run
from memkit.runtime.memory.log.check import pieces
from memkit.runtime.memory.log.clone import state_folder
from memkit.store import repair
from memkit.workspace import open_workspace

A, B, C = record(1, "tea"), record(2, "coffee"), record(3, "cocoa")


class Fsck:
    """Runs ``memkit fsck`` and reads what it says."""

    def __init__(self, store: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.store = store
        self.capsys = capsys

    def __call__(self, *options: str) -> tuple[int, list[tuple[str, str, int, bool]], dict[str, Any]]:
        """Return the exit code, the problems, and the whole envelope."""
        self.capsys.readouterr()
        code = run(["fsck", *options, "--json", "--store", str(self.store)])
        envelope = json.loads(self.capsys.readouterr().out)
        problems = [(one["code"], one["path"], one["line"], one["fixed"]) for one in envelope["data"]["problems"]]
        return code, problems, envelope


@pytest.fixture
def fsck(store: Path, capsys: pytest.CaptureFixture[str]) -> Fsck:
    """Give the command for the store."""
    return Fsck(store, capsys)


def repaired(store: Path, fsck: Fsck) -> bytes:
    """Repair, see that nothing is left to do, and return the shard."""
    code, problems, _ = fsck("--fix")
    assert code == 0, problems
    assert all(fixed for *_, fixed in problems)
    assert fsck("--fix")[:2] == (0, [])
    return (store / SHARD).read_bytes()


BROKEN = {
    "conflict": ([A, b"<<<<<<< HEAD\n", B, b"=======\n", C, b">>>>>>> other\n"], [A, B, C], "conflict-marker", 2),
    "conflict with its base": (
        [b"<<<<<<< HEAD\n", A, b"||||||| 3f2a\n", C, b"=======\n", B, b">>>>>>> x y {z\n"],
        [A, C, B],
        "conflict-marker",
        1,
    ),
    "conflict in a conflict": (
        [b"<<<<<<< x\n", A, b"<<<<<<<<< y\n", B, b"=========\n", C, b">>>>>>>>> z\n", b"=======\n", A, b">>>>>>> v\n"],
        [A, B, C],
        "conflict-marker",
        1,
    ),
    "conflict in an editor of Windows": (
        [A, b"<<<<<<< HEAD\r\n", b"=======\r\n", b">>>>>>> x\r\n"],
        [A],
        "conflict-marker",
        2,
    ),
    "marker behind a line": ([A.rstrip() + b"<<<<<<< HEAD\n", B, b">>>>>>> x\n"], [A, B], "glued-line", 1),
    "line behind a marker": ([A, b">>>>>>> x" + B], [A, B], "glued-line", 2),
    "the same line twice": ([A, B, A], [A, B], "duplicate-line", 3),
    "the same line spaced otherwise": ([A, json.dumps(json.loads(A)).encode() + b"\n"], [A], "duplicate-line", 2),
    "two lines on one": ([A.rstrip() + B, C], [A, B, C], "glued-line", 1),
    "three lines on one": ([A.rstrip() + b" " + B.rstrip() + C], [A, B, C], "glued-line", 1),
    "a torn line before a whole one": ([A, B[:40] + C], [A, C], "glued-line", 2),
    "a torn line in its text": ([A, B[: B.index(b'"coffee') + 4] + C], [A, C], "glued-line", 2),
    "a torn line at the end": ([A, B[:-9]], [A], "torn", 2),
    "a whole line and a torn one at the end": ([A.rstrip() + B[:-9]], [A], "glued-line", 1),
    "Windows line ends": ([A.replace(b"\n", b"\r\n"), B.replace(b"\n", b"\r\n")], [A, B], "crlf", 1),
    "byte order mark": ([b"\xef\xbb\xbf" + A, B], [A, B], "bom", 1),
    "byte order mark of a second file": ([A, b"\xef\xbb\xbf" + B], [A, B], "bom", 2),
    "prose": ([A, b"remember the milk\n", B], [A, B], "not-json", 2),
    "bytes that are no text": ([A, b"\xff\xfe\x00\n", B], [A, B], "not-json", 2),
    "a list": ([A, b"[1]\n", B], [A, B], "not-json", 2),
    "a record without text": ([A, b'{"id":"x","user_id":"ada"}\n'], [A], "bad-record", 2),
    "an event without target": ([A, b'{"op":"confirm","user_id":"ada"}\n'], [A], "bad-event", 2),
    "a mark of deep nesting": ([A, b'{"a":' * 5000 + b"\n", B], [A, B], "not-json", 2),
}


@pytest.mark.parametrize("name", BROKEN)
def test_what_is_broken_is_named_and_repaired(name: str, store: Path, fsck: Fsck) -> None:
    """Each kind of damage is named by file and line, exits 1, and is gone after one repair."""
    lines, expected, code, number = BROKEN[name]
    before = b"".join(lines)
    write(store, before)

    status, problems, _ = fsck()

    assert status == 1
    assert (code, SHARD, number, False) in problems
    assert (store / SHARD).read_bytes() == before
    assert repaired(store, fsck) == b"".join(expected)
    (kept,) = (state_folder(store) / "repaired").iterdir()
    assert kept.read_bytes() == before
    assert kept.stat().st_mode & 0o777 == 0o600


def test_a_shard_without_line_ends_is_taken_apart(store: Path, fsck: Fsck) -> None:
    """A tool that joined hundreds of lines loses none of them; each is read once, and not once for each before it."""
    lines = [record(number) for number in range(800)]
    joined = [line.rstrip() for line in lines]
    write(store, b"".join(joined), b"\n")

    assert repaired(store, fsck) == b"".join(lines)
    few = steps(lambda: list(pieces(b"".join(joined[:200]))))
    assert steps(lambda: list(pieces(b"".join(joined)))) < 6 * few


@pytest.mark.parametrize("part", [b'{"', b'{"a":', b'{"a":"', b"[", b'{"a":[{"b":1},'])
def test_a_hostile_line_costs_little(part: bytes) -> None:
    """A megabyte that looks like the start of lines is one broken line, found out without trying each of them."""
    line = part * (1_000_000 // len(part)) + b"\n"

    found = list(pieces(A + line + B))

    assert [piece.id for piece in found if piece.data] == [json.loads(A)["id"], json.loads(B)["id"]]
    assert steps(lambda: list(pieces(A + line + B))) < 100_000


def test_what_is_no_line_is_kept_by_itself(store: Path, fsck: Fsck) -> None:
    """The torn half of a line lies aside under the shard's name and line, and nothing else does."""
    write(store, A, B[:40] + C)

    repaired(store, fsck)

    (aside,) = (state_folder(store) / "torn").iterdir()
    assert aside.name.startswith("2026-11-w.jsonl-line-2-")
    assert aside.read_bytes() == B[:40]


def test_lines_of_several_writers_and_another_spacing_are_no_problem(store: Path, fsck: Fsck) -> None:
    """A shard may hold anybody's lines, a line may stand in two shards, and a last line may lack its end."""
    write(store, json.dumps(json.loads(A)).encode() + b"\n", B.rstrip())
    write(store, C, A, event(1, 2), shard="archive/2026-12/other.jsonl")

    assert fsck()[:2] == (0, [])
    assert fsck("--fix")[:2] == (0, [])
    assert not (state_folder(store) / "repaired").exists()


def test_one_id_with_two_contents_needs_a_person(store: Path, fsck: Fsck) -> None:
    """It is named with both places and what to do, and repaired by nobody else."""
    write(store, A, B)
    write(store, C, record(1, "espresso"), shard="archive/2026-12/other.jsonl")

    code, problems, envelope = fsck("--fix")

    assert (code, problems) == (1, [("id-conflict", "archive/2026-12/other.jsonl", 2, False)])
    message = envelope["data"]["problems"][0]["message"]
    assert f"{SHARD}:1" in message and "delete" in message
    assert fsck("--fix")[1] == problems


def test_what_a_newer_memkit_wrote_stays(store: Path, fsck: Fsck) -> None:
    """An event that this version does not know remains a problem, and remains in the shard."""
    newer = event(1, 1).replace(b'"confirm"', b'"bless"')
    write(store, A, newer, b"rubbish\n")

    code, problems, _ = fsck("--fix")

    assert code == 1
    assert sorted(problems) == [("bad-event", SHARD, 2, False), ("not-json", SHARD, 3, True)]
    assert (store / SHARD).read_bytes() == A + newer


def test_an_event_about_nothing_is_a_warning(store: Path, fsck: Fsck) -> None:
    """A pull may bring it before its record, so it is said and is no failure."""
    write(store, event(1, 77), A)

    code, problems, envelope = fsck()

    assert (code, problems) == (0, [])
    (warning,) = (one for one in envelope["diagnostics"] if one["severity"] != "info")
    assert (warning["code"], warning["severity"], warning["line"]) == ("dangling-event", "warning", 1)


def test_a_verdict_on_an_edit_that_waited_for_a_person_is_about_something(
    store: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path, fsck: Fsck
) -> None:
    """An agent's edit of a section that is people's is an event, which a person approves as they do a record."""
    script = tmp_path / "script.yaml"
    edit = {"tool": "core_memory_append", "args": {"section": "persona", "content": "You are brief."}}
    script.write_text(json.dumps([edit, {"text": "Done."}]), encoding="utf-8")
    words = ["--user", "ada", "--store", str(store)]
    chat = ["chat", "-p", "Hello!", "--consent", "--provider", f"scripted:{script}", "--json", *words]
    capsys.readouterr()
    assert run(chat) == 0
    said = json.loads(capsys.readouterr().out)["data"]["memory_operations"]
    (held,) = [one["id"] for one in said if one.get("decision") == "quarantined"]
    assert run(["memory", "approve", held, *words]) == 0

    _, _, envelope = fsck()

    assert [one for one in envelope["diagnostics"] if one["code"] == "dangling-event"] == []


def test_files_that_look_like_shards_are_named(store: Path, fsck: Fsck, tmp_path: Path) -> None:
    """Links, strays and names that differ by case alone; leftovers that hold nothing new are cleared away."""
    write(store, A)
    write(store, A, shard="archive/2026-11/w.jsonl~HEAD")
    write(store, A, shard="archive/2026-11/W.jsonl")
    write(store, B, shard="archive/notes.jsonl")
    (store / "archive" / "2026-10").symlink_to(tmp_path)
    (store / "archive" / "2026-11" / "link.jsonl").symlink_to(tmp_path / "x")
    (store / "archive" / "README.md").write_text("Ours.\n")

    code, problems, _ = fsck("--fix")

    assert code == 1
    assert sorted(problems) == [
        ("misplaced-shard", "archive/2026-11/w.jsonl~HEAD", 0, True),
        ("misplaced-shard", "archive/notes.jsonl", 0, False),
        ("name-twin", SHARD, 0, False),
        ("symlink", "archive/2026-10", 0, False),
        ("symlink", "archive/2026-11/link.jsonl", 0, False),
    ]
    assert not (store / "archive/2026-11/w.jsonl~HEAD").exists()
    assert (store / "archive/notes.jsonl").read_bytes() == B


def test_a_repair_writes_through_no_link(store: Path, fsck: Fsck, tmp_path: Path) -> None:
    """Where a folder of the archive was replaced by a link, its shards are named and nothing is written there."""
    write(store, A)
    commit(store)
    outside = tmp_path / "outside"
    (store / "archive/2026-11").rename(outside)
    (outside / "w.jsonl").unlink()
    (store / "archive/2026-11").symlink_to(outside)

    code, problems, _ = fsck("--fix")

    assert code == 1
    assert {problem[0] for problem in problems} == {"symlink", "missing"}
    assert list(outside.iterdir()) == []


def test_lines_that_git_has_come_back(store: Path, fsck: Fsck) -> None:
    """A shard that was deleted, shortened or edited is named against the last commit and restored from it."""
    write(store, A, B, C)
    write(store, record(7), event(7, 7), shard="archive/2026-10/old.jsonl")
    commit(store)
    later = record(9)
    write(store, A, C.replace(b"cocoa", b"cacao"), later)
    (store / "archive/2026-10/old.jsonl").unlink()

    code, problems, _ = fsck()

    assert code == 1
    assert sorted(problems) == [
        ("missing", "archive/2026-10/old.jsonl", 0, False),
        ("missing", SHARD, 2, False),
        ("tampered", SHARD, 2, False),
    ]
    assert repaired(store, fsck) == A + B + C + later
    assert (store / "archive/2026-10/old.jsonl").read_bytes() == record(7) + event(7, 7)
    (aside,) = (state_folder(store) / "torn").iterdir()
    assert b"cacao" in aside.read_bytes()


def test_a_renamed_shard_has_lost_nothing(store: Path, fsck: Fsck) -> None:
    """Lines count wherever they stand, and what was no line when it was committed does not come back."""
    write(store, A, B, b"rubbish\n")
    commit(store)
    (store / SHARD).unlink()
    write(store, B, A, shard="archive/2026-11/renamed.jsonl")

    assert fsck()[:2] == (0, [])


def test_a_merge_that_took_one_side_gets_the_other_back(store: Path, fsck: Fsck) -> None:
    """Where a merge driver died, git leaves one side in the file; the other is still in git's index."""
    write(store, A)
    base = commit(store)
    write(store, A, B)
    commit(store)
    git(store, "checkout", "-q", "-b", "other", base)
    write(store, A, C)
    commit(store)
    git(store, "config", "merge.memkit.driver", "kill -9 $$")
    (store / ".git/info").mkdir(exist_ok=True)
    (store / ".git/info/attributes").write_text("archive/**/*.jsonl merge=memkit\n")
    git(store, "merge", "main", ok=False)
    assert (store / SHARD).read_bytes() == A + C

    assert fsck()[0] == 1
    assert sorted(repaired(store, fsck).splitlines()) == sorted((A + B + C).splitlines())


def test_a_store_without_git_is_checked_all_the_same(store: Path, fsck: Fsck) -> None:
    """No repository, no comparison, no error."""
    (store / ".git").rename(store / "elsewhere")
    write(store, A, b"rubbish\n")

    assert fsck("--fix")[0] == 0


def test_the_text_says_what_was_fixed_and_what_remains(store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A person reads place, code and sentence, and the count of both kinds; hostile bytes are escaped."""
    write(store, A, b"\x1b[31mred\n", A, record(1, "milk"))

    assert run(["fsck", "--fix", "--store", str(store)]) == 1

    said = capsys.readouterr().out
    assert f"{SHARD}:2: fixed not-json: " in said
    assert f"{SHARD}:2: id-conflict: " in said
    assert "1 record, 2 problems fixed, 1 remains." in said
    assert "\x1b" not in said


def test_a_full_disk_leaves_every_shard_as_it_was(store: Path, fsck: Fsck, monkeypatch: pytest.MonkeyPatch) -> None:
    """When a copy cannot be kept, nothing is rewritten, and the command exits 3 in one line."""
    before = A + b"rubbish\n"
    write(store, before)

    def full(*_: object) -> Path:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(repair, "set_aside", full)
        assert run(["fsck", "--fix", "--store", str(store)]) == 3

    assert (store / SHARD).read_bytes() == before
    assert repaired(store, fsck) == A


KILLED = """
import os, sys
from memkit.cli.main import run
from memkit.store import repair
real = getattr(repair, sys.argv[2])
def die(*arguments, **options):
    real(*arguments, **options) if sys.argv[3] == "after" else None
    os.kill(os.getpid(), 9)
setattr(repair, sys.argv[2], die)
run(["fsck", "--fix", "--store", sys.argv[1]])
"""


@pytest.mark.parametrize("moment", ["before", "after"])
@pytest.mark.parametrize("step", ["set_aside", "write_whole", "sync_folder"])
def test_a_killed_repair_is_done_again(step: str, moment: str, store: Path, fsck: Fsck) -> None:
    """Killed at any step, the shard is the old or the new one, and the next repair finishes."""
    before = A + B[:40] + C
    write(store, before)

    done = subprocess.run([sys.executable, "-c", KILLED, str(store), step, moment], cwd=Path.cwd())

    assert done.returncode == -9
    assert (store / SHARD).read_bytes() in (before, A + C)
    fsck("--fix")
    assert fsck("--fix")[:2] == (0, [])
    assert (store / SHARD).read_bytes() == A + C


def test_a_repair_waits_for_the_lock(store: Path, fsck: Fsck, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody rewrites a shard under a writer's hands."""
    monkeypatch.setattr(repair, "LOCK_SECONDS", 0.05)
    write(store, A, b"rubbish\n")
    with open_workspace(store) as workspace, workspace.archive.log.batch():
        assert run(["fsck", "--fix", "--store", str(store)]) == 3
    assert repaired(store, fsck) == A


numbers = st.lists(st.integers(0, 12), max_size=6, unique=True)
sides = st.tuples(numbers, numbers, numbers, st.lists(st.tuples(st.integers(20, 30), st.integers(0, 12)), max_size=4))


@st.composite
def merges(draw: st.DrawFn) -> tuple[bytes, set[bytes]]:
    """Give two valid shards mixed as a merge might leave them, and every line of both."""
    base, ours, theirs, about = draw(sides)
    left = [record(number) for number in (*base, *ours)] + [event(number, target) for number, target in about[::2]]
    right = [record(number) for number in (*base, *theirs)] + [event(number, target) for number, target in about[1::2]]
    common = [record(number) for number in base]
    if draw(st.booleans()):
        mixed = [*common, b"<<<<<<< HEAD\n", *left]
        mixed += [b"||||||| base\n", *common] if draw(st.booleans()) else []
        mixed += [b"=======\n", *right, b">>>>>>> other\n"]
    else:
        mixed = list(draw(st.permutations(left + right)))
    glue = draw(st.sets(st.integers(0, len(mixed))))
    ends = draw(st.sampled_from([b"\n", b"\r\n"]))
    joined = [line.rstrip() if number in glue else line.rstrip() + ends for number, line in enumerate(mixed)]
    torn = draw(st.sampled_from([b"", A[:30], A[:-2], b"\xef\xbb\xbf", b"\x00"]))
    place = draw(st.integers(0, len(joined)))
    return b"".join([*joined[:place], torn, *joined[place:]]), set(chain(left, right))


@settings(max_examples=150, deadline=None)
@given(merges())
def test_any_mixture_of_two_shards_keeps_every_line_of_both(merge: tuple[bytes, set[bytes]]) -> None:
    """However two shards were joined, marked, glued and torn, the valid lines of both are found, each whole."""
    mixed, expected = merge

    found = {piece.content + b"\n" for piece in pieces(mixed) if piece.data is not None}

    assert expected <= found | {A}
    assert all(piece.stays for piece in pieces(mixed) if piece.data is not None)


@settings(max_examples=200, deadline=None)
@given(st.lists(st.one_of(st.binary(max_size=30), st.sampled_from([A, B, event(1, 1), b"<<<<<<< x\n", b"\n"]))))
def test_what_stays_is_what_a_second_look_finds(parts: list[bytes]) -> None:
    """Written anew, a shard of any bytes has the same valid lines and nothing broken."""
    first = [piece.content for piece in pieces(b"".join(parts)) if piece.stays]

    again = list(pieces(b"".join(line + b"\n" for line in first)))

    assert [piece.content for piece in again] == first
    assert all(piece.data is not None or piece.stays for piece in again)
