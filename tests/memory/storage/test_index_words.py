"""The index of words: whatever is entered, folded, merged and taken out, it answers as a list of documents would."""

import sqlite3
import weakref
from array import array
from collections.abc import Iterator
from unittest.mock import patch

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memkit.runtime.memory.index import words as word_index
from memkit.runtime.memory.index.words import (
    SCHEMA,
    CorpusStatistics,
    Runs,
    WordIndex,
    idf,
    joined,
    packed,
    saturation,
    unpacked,
)

words = st.sampled_from("abcdef")
documents = st.lists(words, max_size=6)
changes = st.lists(st.one_of(documents, st.integers(0, 60)), max_size=60)
"""A document to enter, or the place of one to take out, or to enter again when it is out."""


def fresh_index() -> WordIndex:
    """Return an empty index in memory."""
    sql = sqlite3.connect(":memory:", isolation_level=None)
    for statement in SCHEMA:
        sql.execute(statement)
    index = WordIndex(sql)
    weakref.finalize(index, sql.close)
    return index


@pytest.fixture(autouse=True)
def small_segments() -> Iterator[None]:
    """Fold and merge after a few documents, so that short histories see every level."""
    with patch.multiple(word_index, FOLDED_AT_ONCE=3, FAN=2):
        yield


def changed(history: list[list[str] | int], asking: str = "") -> tuple[WordIndex, dict[int, list[str]]]:
    """Return the index after a history, and the documents that should be in it; between changes it may be asked."""
    index, known, held = fresh_index(), list[list[str]](), dict[int, list[str]]()
    for change in history:
        if asking:
            index.sharing(asking, (), 1)
        if isinstance(change, list):
            known.append(change)
            index.add({len(known): change})
            held[len(known)] = change
        elif known:
            number = change % len(known) + 1
            if number in held:
                index.remove(number, held.pop(number))
            else:
                index.add({number: known[number - 1]})
                held[number] = known[number - 1]
    return index, held


@given(changes, st.lists(words, min_size=1, max_size=4, unique=True), st.integers(1, 5))
@settings(max_examples=300, deadline=None)
def test_it_answers_as_a_list_of_all_documents_would(
    history: list[list[str] | int], terms: list[str], limit: int
) -> None:
    """Counts, the best by BM25 with the oldest of equals first, and the newest that hold all words are exact."""
    index, held = changed(history)
    counts = {term: sum(term in tokens for tokens in held.values()) for term in "abcdef"}
    average = sum(map(len, held.values())) / len(held) if held else 0.0
    statistics = CorpusStatistics(len(held), average, counts)

    def score(tokens: list[str]) -> float:
        return sum(
            max(idf(statistics, term), word_index.LEAST) * saturation(tokens.count(term), len(tokens), average)
            for term in terms
            if term in tokens
        )

    fitting = [number for number, tokens in held.items() if set(terms) & set(tokens)]
    best = sorted(fitting, key=lambda number: (-round(score(held[number]), 9), number))[:limit]
    found = index.candidates(terms, statistics, limit)

    assert index.frequencies("abcdef") == {term: count for term, count in counts.items() if count}
    assert [round(score(held[number]), 9) for number in found] == [round(score(held[number]), 9) for number in best]
    assert (
        index.newest_holding(terms, limit)
        == sorted((number for number, tokens in held.items() if set(terms) <= set(tokens)), reverse=True)[:limit]
    )


@given(changes, st.integers(0, 2), st.sampled_from((1, 100, 1000)))
@settings(max_examples=200, deadline=None)
def test_what_was_asked_before_makes_no_other_answer(history: list[list[str] | int], lacking: int, room: int) -> None:
    """Lists that are kept for the next question follow what is entered and taken out, with room for few or many."""
    with patch.object(word_index, "MOST_KEPT", room):
        asked, held = changed(history, asking="abc")
        for terms in ("abc", "cd"):
            found = asked.sharing(terms, (), lacking)
            asked.forget_asked()
            assert found == asked.sharing(terms, (), lacking)
            wanted = {number for number, tokens in held.items() if len(set(terms) - set(tokens)) <= lacking}
            assert lacking >= len(terms) or wanted <= set(found)


def test_equal_documents_come_by_age() -> None:
    """Of documents that fit alike the oldest come first, whichever segment they lie in."""
    index, _ = changed([["a", "b"]] * 20)

    assert index.candidates(["a"], CorpusStatistics(100, 2.0, {"a": 20}), 4) == [1, 2, 3, 4]
    assert index.candidates(["a", "b"], CorpusStatistics(100, 2.0, {"a": 20, "b": 20}), 4) == [1, 2, 3, 4]


def test_many_documents_lie_in_few_segments() -> None:
    """Segments of one level become one of the next, up to the highest; what is emptied leaves no row."""
    index, held = changed([["a"]] * 100)
    count = "SELECT count(*) FROM {}"
    levels = [level for (level,) in index._sql.execute("SELECT level FROM segments")]

    assert max(levels) == word_index.HIGHEST
    assert all(levels.count(level) < 2 for level in range(word_index.HIGHEST))
    for number in held:
        index.remove(number, ["a"])
    assert [index._sql.execute(count.format(table)).fetchone()[0] for table in ("fresh", "words")] == [0, 0]


kinds = st.tuples(st.integers(1, 9), st.integers(1, 99))


@given(st.dictionaries(kinds, st.sets(st.integers(1, 2**32 - 1), min_size=1).map(sorted)))
def test_lists_are_read_as_they_were_written(lists: dict[tuple[int, int], list[int]]) -> None:
    """Packing loses nothing."""
    runs: Runs = {kind: array("I", held) for kind, held in lists.items()}

    assert unpacked(packed(runs)) == runs


@given(st.lists(st.lists(st.integers(1, 500), max_size=20, unique=True), max_size=4))
def test_joined_lists_ascend(parts: list[list[int]]) -> None:
    """However documents are spread over segments, each run of the whole is in order."""
    seen: set[int] = set()
    lists: list[Runs] = []
    for part in parts:
        new = sorted(set(part) - seen)
        seen.update(new)
        lists.append({(1, 5): array("I", new)} if new else {})

    assert joined(lists) == ({(1, 5): array("I", sorted(seen))} if seen else {})
