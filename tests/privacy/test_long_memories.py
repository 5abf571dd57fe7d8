"""Erasures in long memories: what others said is not held, and what is looked for may be very much."""

from __future__ import annotations

import json
import subprocess
import sys
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memkit.privacy import filed, local_state, needles, scan
from memkit.privacy.belonging import Subject
from memkit.privacy.filed import FiledMarks, FiledSet, FiledTexts, Lately
from memkit.privacy.journal import ErasureJournal, Unproven
from memkit.privacy.local_state import LocalState, StateChange
from memkit.privacy.needles import Census, KeptNeedles, Shipped, needles_of
from memkit.privacy.scan import Place, Scanner, WordTraces
from memkit.runtime.memory.log.clone import state_folder
from tests.privacy.traces import CANARIES, TEXT, commit, erase, leaking

letters = st.text("abc", max_size=3)


def line(number: int, user: str, text: str) -> str:
    """Return a line of an archive."""
    data = {"id": f"01KDVM0000{number * 7919:016X}", "text": text, "user_id": user, "type": "fact", "actor": "person"}
    return json.dumps(data | {"created_at": "2026-01-01T00:00:00.000000Z", "confidence": 1.0}) + "\n"


def survey_peak(lines: int) -> int:
    """Return how many bytes of Python a look at so many lines of others held at most."""
    content = [line(number, f"user{number % 9}", f"fact {number} of somebody").encode() for number in range(lines)]
    tracemalloc.start()
    try:
        census = Census(Subject("alice"))
        census.take(line(lines, "alice", TEXT).encode())
        for one in content:
            census.take(one)
        needles_of(census, census.close(lambda line: None), (), (), Shipped())
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_what_others_said_is_not_held(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of four times as many lines of others no more is held, once there are more than answers are kept."""
    monkeypatch.setattr(filed, "MOST_HELD", 500)
    monkeypatch.setattr(filed, "MOST_ANSWERS", 500)
    survey_peak(100)  # what is compiled and imported once

    assert survey_peak(8_000) < 1.3 * survey_peak(2_000)


@pytest.mark.parametrize("most", [1 << 15, 3], ids=["in memory", "in files"])
def test_a_memory_of_any_length_goes_and_is_proven_to_be_gone(
    most: int, peopled: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """What lies in files is found and taken out as what lies in memory is."""
    monkeypatch.setattr(filed, "MOST_HELD", most)
    monkeypatch.setattr(filed, "MOST_ANSWERS", most)
    (peopled / "notes.jsonl").write_text(line(1, "bob", TEXT) + line(2, "alice", TEXT) + line(3, "bob", "tea"))
    commit(peopled)

    code, answer = erase(peopled, capsys)

    assert code == 0, answer["diagnostics"]
    assert leaking(peopled, CANARIES[1:]) == ["notes.jsonl"]
    left = [json.loads(one)["user_id"] for one in (peopled / "notes.jsonl").read_text().splitlines()]
    assert left == ["bob", "bob"]  # what others said, in the same words, is theirs


def test_words_that_digests_are_spelled_with_are_no_traces(peopled: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Of what goes tombstones and what is owed hold digests: of many values any short word stands there by chance."""
    shard = next((peopled / "archive").rglob("*.jsonl")).with_name("long.jsonl")
    words = ("ada", "bad", "cab", "dad", "fad", "fee", "bare", "bee", "fab", "ace")
    shard.write_text("".join(line(n, "alice", f"{words[n % 10]} {words[n // 7 % 10]} no {n}") for n in range(1_500)))
    commit(peopled)

    code, answer = erase(peopled, capsys)

    assert code == 0, answer["diagnostics"]


def test_words_in_files_of_gits_own_are_no_traces(peopled: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Settings, samples and the digests of an index hold any word by chance; a run of letters there is a trace."""
    shard = next((peopled / "archive").rglob("*.jsonl")).with_name("long.jsonl")
    shard.write_text(line(1, "alice", "bare rogue") + line(2, "alice", "an awkward filemode for the rogue whitespace"))
    commit(peopled)
    sample = peopled / ".git" / "hooks" / "rogue.sample"
    sample.parent.mkdir(exist_ok=True)
    sample.write_text("# a rogue hook: whitespace is awkward\n")

    assert erase(peopled, capsys)[0] == 0
    sample.write_text("# an awkward filemode for the rogue\n")
    with (peopled / "notes.jsonl").open("a") as notes:
        notes.write(line(3, "alice", "an awkward filemode for the rogue whitespace"))

    assert erase(peopled, capsys)[0] == 1


@given(st.lists(letters), st.lists(letters), st.lists(letters))
def test_texts_in_a_file_are_a_set(texts: list[str], gone: list[str], asked: list[str]) -> None:
    """Each text is there once, until it is taken out."""
    plain, kept = set(texts), FiledSet(texts)
    plain.difference_update(gone)
    kept.difference_update(gone)

    assert len(kept) == len(plain)
    assert [text in kept for text in asked] == [text in plain for text in asked]
    assert kept.isdisjoint(asked) == plain.isdisjoint(asked)


def test_an_answer_is_found_again_when_it_is_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    """How many answers are kept changes no answer."""
    monkeypatch.setattr(filed, "MOST_ANSWERS", 2)
    asked: list[bytes] = []
    find: Callable[[bytes, bool], int] = lambda one, flag: asked.append(one) or len(one) + 10 * flag  # noqa: E731
    lately = Lately(find)

    answers = [lately(one, flag) for one in (b"a", b"bb", b"a", b"ccc", b"a") for flag in (False, True)]

    assert answers == [1, 11, 2, 12, 1, 11, 3, 13, 1, 11]
    assert len(asked) > 6


@given(st.lists(st.tuples(st.booleans(), st.integers(0, 1 << 64) | st.integers(0, 9))), st.integers(0, 3))
def test_marks_are_a_set_however_often_their_file_grows(steps: list[tuple[bool, int]], fewest: int) -> None:
    """Numbers are taken in and out, gone through, saved and read as those of a set are."""
    plain: set[int] = set()
    with pytest.MonkeyPatch.context() as patched, TemporaryDirectory() as folder:
        patched.setattr(filed, "_FEWEST_PLACES", 2 + fewest)
        kept = FiledMarks()
        for comes, number in steps:
            mark = max(min(number, (1 << 64) - 1), 2)
            (plain.add if comes else plain.discard)(mark)
            (kept.add if comes else kept.discard)(mark)
        kept.save(Path(folder) / "marks")
        again = FiledMarks.read(Path(folder) / "marks")

    assert sorted(kept) == sorted(again) == sorted(plain)
    assert len(kept) == len(again) == len(plain)


@given(st.lists(st.text()), st.lists(st.text()))
def test_texts_in_a_file_come_back_as_they_were(texts: list[str], more: list[str]) -> None:
    """Each time, in their order, also while somebody else goes through them."""
    kept = FiledTexts(texts)
    assert list(kept) == texts
    kept.extend(more)

    assert list(zip(kept, kept, strict=True)) == [(text, text) for text in texts + more]


HELD = """
import resource
from itertools import chain, repeat
from pathlib import Path
from memkit.privacy.filed import FiledMarks

def spread(count):
    return (number * 0x9E3779B97F4A7C15 % (1 << 64) for number in range(1, count + 1))

def resident():
    return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()

tables = [FiledMarks(spread(200_000))]  # what sorting takes is free again
before = resident()
tables.append(FiledMarks(chain(spread(800_000), repeat(7, 800_000))))
assert sum(1 for _ in tables[1]) == len(tables[1]) == 800_001
assert all(mark in tables[1] for mark in spread(1_000)) and 1 << 63 not in tables[1]
print(resident() - before)
"""


def test_of_a_table_a_filter_is_held() -> None:
    """Whatever is asked, taken in and gone through: of a table of 20 MB three are, mapped files included."""
    held = subprocess.run([sys.executable, "-c", HELD], capture_output=True, text=True, check=True)

    assert int(held.stdout) < 4_000_000


pieces = st.lists(st.text("abc1", min_size=1, max_size=20), max_size=4)


@given(pieces, pieces, pieces, st.text("abc1 -", max_size=60))
def test_what_an_older_memkit_kept_is_read_as_it_was(
    whole: list[str], words: list[str], begun: list[str], asked: str
) -> None:
    """It spelled its digests one behind the other, or in a list."""
    key = b"k" * 32
    kept = KeptNeedles(key, FiledMarks())
    kept.keep(whole, words, begun)
    listed = {
        name: [f"{needles._digest(key, piece):016x}" for piece in found]
        for name, found in zip(("pieces", "words", "beginnings"), (whole, words, begun), strict=True)
    }
    for older in (listed, {name: "".join(row) for name, row in listed.items()}):
        with TemporaryDirectory() as store:
            (unproven := Unproven(Path(store))).folder.mkdir(parents=True)
            read = KeptNeedles(key, unproven.marks_of({"digest": "d", "needles": older}))
        for one in (asked, *whole, *words):
            assert list(read.spans(one, words=True)) == list(kept.spans(one, words=True))


def test_what_is_owed_and_cannot_be_read_is_no_proof(peopled: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Without the digests of what was removed nothing could be found; so nothing is called proven."""
    (peopled / "notes.md").write_text(f"As was said: {TEXT}.\n")
    assert erase(peopled, capsys)[0] == 1
    kept = next((state_folder(peopled) / "unproven").glob("*.needles"))
    whole = kept.read_bytes()
    for content in (b"", b"odd", bytes(8 * 600 + 1), b"\xff" * 8 * 600, whole[:-8], whole[:-1], whole + bytes(8)):
        kept.write_bytes(content)

        code, answer = erase(peopled, capsys)

        assert code == 3, answer
        assert str(kept) in json.dumps(answer)


def changes_of(folder: Path, audit: bytes) -> tuple[StateChange, ...]:
    """Return what an erasure of alice changes in the state of a store whose audit log of a month says ``audit``."""
    (log := state_folder(folder) / "audit" / "2026-11.jsonl").parent.mkdir(parents=True, exist_ok=True)
    log.write_bytes(audit)
    census = Census(Subject("alice"))
    census.take(line(1, "alice", TEXT).encode())
    belonging = census.close(lambda line: None)
    scanner = Scanner(needles_of(census, belonging, (), (), Shipped()))
    return tuple(LocalState(folder, Subject("alice")).changes(belonging, scanner, set()))


def test_an_audit_log_is_not_held(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is as long as its month: it is read, changed and looked through line by line."""
    monkeypatch.setattr(filed, "MOST_ANSWERS", 100)
    monkeypatch.setattr(scan, "_LONG", 4_096)
    monkeypatch.setattr(local_state, "_LONG", 4_096)

    def peak(lines: int) -> int:
        said = b"".join(line(n, "alice" if n % 2 else "bob", f"tea of day {n}").encode() for n in range(2, lines))
        tracemalloc.start()
        try:
            (change,) = changes_of(tmp_path, said)
            assert callable(change.content)
            (folder := ErasureJournal(tmp_path).folder / "files").mkdir(parents=True, exist_ok=True)
            staged = folder / ErasureJournal(tmp_path).stage(0, change.content(), like=change.path)
            found = scan_of_alice(tmp_path).files(Place("state"), tmp_path, [change.path])
            held = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
        assert found.where == [str(change.path.relative_to(tmp_path))]
        left = staged.read_bytes()
        assert left.count(b'"bob"') == said.count(b'"bob"') and b'"alice"' not in left
        return held

    peak(2_000)  # what is kept of words lately is full then
    assert peak(8_000) < peak(2_000) + 500_000, "the log is a megabyte longer, and its lines as many objects more"


def scan_of_alice(folder: Path) -> Scanner:
    """Return what looks for a text of alice's and her name."""
    census = Census(Subject("alice"))
    census.take(line(1, "alice", TEXT).encode())
    return Scanner(needles_of(census, census.close(lambda line: None), (), (), Shipped()))


entries = st.one_of(
    st.builds(lambda n: line(n, "alice", "tea").encode(), st.integers(2, 9)),
    st.builds(lambda n: line(n, "bob", "tea").encode(), st.integers(2, 9)),
    st.builds(lambda n: line(n, "bob", f"She said: {TEXT}").encode(), st.integers(2, 9)),
    st.sampled_from([b"\n", b'{"user_id": "ali', b'{"user_id": "bob", "te\n', b'"alice"\n', b"tea for two\n"]),
)


@given(st.lists(entries, max_size=6))
def test_a_log_in_lines_is_what_it_is_as_a_whole(said: list[bytes]) -> None:
    """Whatever stands in it, nothing of the person's is left, and each line of somebody else that quotes nothing is."""
    said = [line(1, "bob", "coffee").encode(), *said]
    with TemporaryDirectory() as folder:
        changes = changes_of(Path(folder), b"".join(said))
        content = changes[0].content if changes else b"".join(said)
    left = b"".join(content()) if callable(content) else content or b""

    assert not scan_of_alice(Path("x")).finds(left, words=WordTraces.OWN)
    stay = [one for one in b"".join(said).splitlines(keepends=True) if b'"bob"' in one and b'"text": "tea"' in one]
    assert [one for one in left.splitlines(keepends=True) if one in stay] == stay


@pytest.mark.parametrize("said", [f"Notes\n{TEXT[:20]}\n{TEXT[20:]}\n", f"{TEXT}\n", '"alice"\n'])
def test_what_is_no_log_of_json_goes_as_a_whole(said: str) -> None:
    """What is looked for may stand across its lines."""
    with TemporaryDirectory() as folder:
        (change,) = changes_of(Path(folder), said.encode())

    assert change.content is None
