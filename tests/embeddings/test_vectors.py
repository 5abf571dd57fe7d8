"""Search by meaning: fused with words, filtered like them, following the archive, and bound to one model."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memkit.cli.main import run
from memkit.runtime.memory.index.search import reciprocal_ranks
from memkit.runtime.memory.log.clone import cache_folder

Ask = Callable[..., Any]

MEANINGS = {"car": 0, "automobile": 0, "vehicle": 0, "tea": 1, "infusion": 1, "dog": 2, "hound": 2, "boat": 3}


def make_model(folder: Path, dimension: int = 4) -> Path:
    """Write a model that knows a handful of words, those of one meaning with nearly the same vector."""
    pytest.importorskip("usearch")
    pytest.importorskip("model2vec")
    import numpy
    from model2vec import StaticModel
    from tokenizers import Tokenizer
    from tokenizers.models import WordLevel
    from tokenizers.normalizers import Lowercase
    from tokenizers.pre_tokenizers import Whitespace

    words = {"[UNK]": 0, **{word: number for number, word in enumerate(MEANINGS, 1)}}
    tokenizer = Tokenizer(WordLevel(words, unk_token="[UNK]"))
    tokenizer.normalizer, tokenizer.pre_tokenizer = Lowercase(), Whitespace()
    vectors = numpy.zeros((len(words), dimension), dtype=numpy.float32)
    for number, (word, meaning) in enumerate(MEANINGS.items(), 1):
        vectors[number, meaning] = 1.0
        vectors[number, (meaning + 1) % dimension] = 0.05 * len(word)
    StaticModel(vectors, tokenizer, normalize=True).save_pretrained(folder)
    return folder


@pytest.fixture
def ask(store: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Ask:
    """Return a function that runs one command in a store that searches by meaning, and returns its envelope."""
    monkeypatch.setenv("MEMKIT_STORE", str(store))

    def answer(*arguments: str, code: int = 0) -> Any:
        assert run([*arguments, "--json"]) == code
        return json.loads(capsys.readouterr().out)

    answer("config", "set", "retrieval.vectors", str(make_model(tmp_path / "tiny")))
    return answer


def add(ask: Ask, text: str, user: str = "ada", *options: str) -> str:
    """Store a fact and return its id."""
    return str(ask("memory", "add", text, "--user", user, *options)["data"]["id"])


def found(ask: Ask, query: str, *options: str, user: str = "ada") -> list[str]:
    """Return the texts that a search finds."""
    return [hit["text"] for hit in ask("memory", "search", query, "--user", user, *options)["data"]["results"]]


def test_another_word_for_it_is_found(ask: Ask) -> None:
    """A record that shares no word with the question is found by its meaning, and not when vectors are off."""
    add(ask, "The automobile is red")
    add(ask, "The hound sleeps")

    assert found(ask, "which car") == ["The automobile is red"]
    ask("config", "set", "retrieval.vectors", "off")
    assert found(ask, "which car") == []


def test_what_only_words_find_and_what_only_meaning_finds_both_come(ask: Ask) -> None:
    """The union of both arms is ranked, each hit saying what each arm made of it."""
    by_words, by_meaning = add(ask, "Zanzibar car number"), add(ask, "My vehicle")
    unknown = add(ask, "Zanzibar in spring")

    hits = ask("memory", "search", "car in Zanzibar", "--user", "ada", "--explain")["data"]["results"]

    parts = {hit["id"]: hit["parts"] for hit in hits}
    assert set(parts) == {by_words, by_meaning, unknown}
    assert hits[0]["id"] == by_words
    assert parts[by_meaning]["coverage"] == 0.0 < parts[by_meaning]["similarity"]
    assert parts[unknown]["similarity"] == 0.0 < parts[unknown]["coverage"]


def test_filters_and_users_hold_for_meaning_too(ask: Ask) -> None:
    """Type, tags and validity drop a near record with the reason; another user's is not even a loser."""
    expired = add(ask, "The automobile was sold", "ada", "--valid-until", "2020-01-01")
    add(ask, "Somebody's vehicle", "bob")
    add(ask, "A vehicle for all", "bob", "--scope", "shared")

    data = ask("memory", "search", "car", "--user", "ada", "--explain")["data"]

    assert [hit["text"] for hit in data["results"]] == ["A vehicle for all"]
    assert data["losers"] == [{"id": expired, "reason": "expired"}]
    assert found(ask, "car", "--type", "goal") == []


def test_what_is_not_near_enough_is_no_answer(ask: Ask) -> None:
    """Below the floor for vectors nothing is relevant; words that no model knows change nothing."""
    add(ask, "The automobile is red")

    assert found(ask, "dog") == []
    assert found(ask, "quantum") == []
    ask("config", "set", "retrieval.vector_floor", "0.999")
    assert found(ask, "car") == []


def test_vectors_follow_the_archive(ask: Ask, store: Path) -> None:
    """What is added, superseded, forgotten or written by another process is so in the next search."""
    first = add(ask, "The automobile is red")
    assert found(ask, "car") == ["The automobile is red"]
    second = ask("memory", "supersede", first, "The vehicle is blue", "--user", "ada")["data"]["id"]
    assert found(ask, "car") == ["The vehicle is blue"]
    ask("memory", "forget", second)
    assert found(ask, "car") == []
    done = subprocess.run(
        [sys.executable, "-m", "memkit", "memory", "add", "An automobile again", "--user", "ada"], check=True,
        capture_output=True, env=os.environ | {"MEMKIT_STORE": str(store)},
    )  # fmt: skip
    assert done.returncode == 0
    assert found(ask, "car") == ["An automobile again"]


def test_files_of_vectors_are_private_and_disposable(ask: Ask, store: Path) -> None:
    """They have mode 0600, go with a rebuild, and come back when deleted or damaged in any way."""
    add(ask, "The automobile is red")
    assert found(ask, "car") == ["The automobile is red"]

    files = sorted((cache_folder(store)).rglob("*-vectors*"))
    assert len(files) == 2
    assert {stat.S_IMODE(path.stat().st_mode) for path in files} == {0o600}
    for damage in (b"", b"\0" * 100, b"{}"):
        for path in files:
            path.write_bytes(damage)
            assert found(ask, "car") == ["The automobile is red"]
    ask("index", "rebuild")
    assert not any(path.exists() for path in files)
    assert found(ask, "car") == ["The automobile is red"]


def test_the_model_is_frozen_in_the_store(ask: Ask, store: Path, tmp_path: Path) -> None:
    """The first search writes name and dimension down; another model is exit 3 with the way out, which works."""
    add(ask, "The automobile is red")
    found(ask, "car")
    assert "vector_model: tiny 4" in (store / "memkit.yaml").read_text("utf-8")

    ask("config", "set", "retrieval.vectors", str(make_model(tmp_path / "wide", dimension=8)))
    envelope = ask("memory", "search", "car", "--user", "ada", code=3)
    assert "'tiny 4'" in envelope["diagnostics"][0]["message"]
    assert "memkit index rebuild --vectors" in envelope["diagnostics"][0]["message"]

    ask("index", "rebuild", "--vectors")
    assert found(ask, "car") == ["The automobile is red"]
    assert "vector_model: wide 8" in (store / "memkit.yaml").read_text("utf-8")


@pytest.mark.parametrize("content", [None, b"{}", b"not json"])
def test_a_model_that_cannot_be_read_is_one_clear_line(ask: Ask, tmp_path: Path, content: bytes | None) -> None:
    """No folder, no model in it, or a broken one: exit 3 and what to do."""
    folder = tmp_path / "broken"
    if content is not None:
        folder.mkdir()
        (folder / "config.json").write_bytes(content)
    ask("config", "set", "retrieval.vectors", str(folder))
    add(ask, "The automobile is red")

    (finding,) = ask("memory", "search", "car", "--user", "ada", code=3)["diagnostics"]
    assert str(folder) in finding["message"]


@pytest.mark.parametrize("library", ["model2vec", "usearch.index"])
def test_a_missing_extra_says_how_to_get_it(ask: Ask, monkeypatch: pytest.MonkeyPatch, library: str) -> None:
    """Without the libraries a store that wants vectors cannot serve, and says what to install."""
    add(ask, "The automobile is red")
    monkeypatch.setitem(sys.modules, library, None)

    (finding,) = ask("memory", "search", "car", "--user", "ada", code=3)["diagnostics"]
    assert (finding["code"], "memkit-agent[embeddings]" in finding["message"]) == ("missing", True)


def test_rebuilding_vectors_of_a_store_without_them_is_bad_usage(ask: Ask) -> None:
    """There is no model to take."""
    ask("config", "set", "retrieval.vectors", "off")

    assert "config set retrieval.vectors" in ask("index", "rebuild", "--vectors", code=2)["diagnostics"][0]["message"]


def test_without_vectors_nothing_of_them_is_imported(store: Path) -> None:
    """A search by words alone loads neither model nor index library, nor numpy."""
    search = ["memory", "search", "x", "--user", "ada", "--store", str(store)]
    program = f"import sys; from memkit.cli.main import run; run({search!r}); print(*sys.modules, file=sys.stderr)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)

    loaded = set(done.stderr.split())
    assert "memkit.runtime.memory.index.search" in loaded
    assert not loaded & {"model2vec", "usearch", "numpy", "memkit.embeddings"}


@given(st.lists(st.permutations("abcdef"), min_size=1, max_size=3))
def test_fusion_keeps_every_name_and_prefers_what_all_prefer(lists: list[list[str]]) -> None:
    """The union comes back; a name that stands above another in every list has the higher sum."""
    sums = reciprocal_ranks(lists)

    assert set(sums) == set("abcdef")
    for one in "abcdef":
        for other in "abcdef":
            if one != other and all(names.index(one) < names.index(other) for names in lists):
                assert sums[one] > sums[other]


def test_the_benchmark_measures_vectors_and_both_together(ask: Ask, tmp_path: Path) -> None:
    """With a model two modes more: by meaning alone and fused with words; what only meaning finds is found by both."""
    lines: list[dict[str, Any]] = [{"turn": f"nothing of note {number}", "id": str(number)} for number in range(10)]
    lines.append({"turn": "the hound ran", "id": "answer"})
    lines.append({"question": "where is the dog", "evidence": ["answer"]})
    path = tmp_path / "lines"
    path.write_text("\n".join(map(json.dumps, lines)), "utf-8")

    data = ask("bench", "retrieval", str(path), "--k", "1", "--vectors", str(tmp_path / "tiny"))["data"]

    reached = {row["mode"]: row["mrr"] for row in data["rows"] if (row["granularity"], row["type"]) == ("turn", "all")}
    assert (reached["default"], reached["vectors"], reached["hybrid"]) == (0.0, 1.0, 1.0)
    assert "--vectors" in ask("bench", "retrieval", str(path), "--mode", "hybrid", code=2)["diagnostics"][0]["message"]
