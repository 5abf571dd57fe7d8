"""Erasures in long memories: what others said is not held, and what is looked for may be very much."""

from __future__ import annotations

import json
import tracemalloc
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memkit.privacy import filed
from memkit.privacy.belonging import Subject
from memkit.privacy.filed import FiledTexts, Lately
from memkit.privacy.needles import Census, KeptNeedles, Needles, Shipped, needles_of
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
        needles_of(census, census.close(), (), (), Shipped())
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_what_others_said_is_not_held(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of four times as many lines of others no more is held, once there are more than answers are kept."""
    monkeypatch.setattr(filed, "MOST_HELD", 500)
    survey_peak(100)  # what is compiled and imported once

    assert survey_peak(8_000) < 1.3 * survey_peak(2_000)


@pytest.mark.parametrize("most", [1 << 18, 3], ids=["in memory", "in files"])
def test_a_memory_of_any_length_goes_and_is_proven_to_be_gone(
    most: int, peopled: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """What lies in files is found and taken out as what lies in memory is."""
    monkeypatch.setattr(filed, "MOST_HELD", most)
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
    words = ("ada", "bad", "cab", "dad", "fad", "fee", "add", "bee", "fab", "ace")
    shard.write_text("".join(line(n, "alice", f"{words[n % 10]} {words[n // 7 % 10]} no {n}") for n in range(1_500)))
    commit(peopled)

    code, answer = erase(peopled, capsys)

    assert code == 0, answer["diagnostics"]


@given(st.lists(letters), st.lists(letters), st.lists(letters))
def test_texts_in_a_file_are_a_set(texts: list[str], gone: list[str], asked: list[str]) -> None:
    """Each text is there once, until it is taken out."""
    plain, kept = set(texts), FiledTexts(texts, len(texts))
    plain.difference_update(gone)
    kept.difference_update(gone)

    assert len(kept) == len(plain)
    assert [text in kept for text in asked] == [text in plain for text in asked]
    assert kept.isdisjoint(asked) == plain.isdisjoint(asked)


def test_an_answer_is_found_again_when_it_is_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    """How many answers are kept changes no answer."""
    monkeypatch.setattr(filed, "MOST_HELD", 2)
    asked: list[bytes] = []
    find: Callable[[bytes, bool], int] = lambda one, flag: asked.append(one) or len(one) + 10 * flag  # noqa: E731
    lately = Lately(find)

    answers = [lately(one, flag) for one in (b"a", b"bb", b"a", b"ccc", b"a") for flag in (False, True)]

    assert answers == [1, 11, 2, 12, 1, 11, 3, 13, 1, 11]
    assert len(asked) > 6


@given(st.lists(st.text(max_size=60), max_size=5), st.text(max_size=60))
def test_what_is_kept_as_one_text_is_read_as_it_was(texts: list[str], asked: str) -> None:
    """Digests in a row say what a list of them said, which an older memkit kept."""
    kept = Needles("alice", texts).to_keep(b"k" * 32)
    listed = {name: [row[at : at + 16] for at in range(0, len(row), 16)] for name, row in kept.items()}

    spans = [list(KeptNeedles(b"k" * 32, data).spans(asked, words=True)) for data in (kept, listed)]

    assert spans[0] == spans[1]
    assert all(row == sorted(set(row)) for row in listed.values())
