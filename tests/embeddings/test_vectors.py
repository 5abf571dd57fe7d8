"""Search by meaning: fused with words, filtered like them, following the archive, and bound to one model."""

from __future__ import annotations

import json
import math
import os
import random
import shutil
import stat
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memkit.cli.main import run
from memkit.runtime.embeddings.interface import OtherModel
from memkit.runtime.embeddings.local import LocalEmbedder
from memkit.runtime.embeddings.nearest import NearestIndex, Similarity
from memkit.runtime.host.rooms import open_rooms
from memkit.runtime.host.settings import Project, load_settings
from memkit.runtime.memory.archive.archive import ArchivalStore
from memkit.runtime.memory.index.corpus import FoundRecord
from memkit.runtime.memory.index.search import fuse
from memkit.runtime.memory.interface import MemorySettings
from memkit.runtime.memory.log.clone import cache_folder
from memkit.runtime.memory.record.lines import InvalidRecord
from memkit.runtime.memory.record.record import Draft, Origin
from memkit.runtime.memory.tiers.recall import RecallMemory

Ask = Callable[..., Any]

MEANINGS = {"car": 0, "automobile": 0, "vehicle": 0, "tea": 1, "infusion": 1, "dog": 2, "hound": 2, "boat": 3}


def make_words(dimension: int, *more: str) -> tuple[Any, Any]:
    """Return a tokenizer that knows a handful of words, and their vectors: nearly the same for those of one meaning."""
    pytest.importorskip("model2vec")
    import numpy
    from tokenizers import Tokenizer
    from tokenizers.models import WordLevel
    from tokenizers.normalizers import Lowercase
    from tokenizers.pre_tokenizers import Whitespace

    words = {word: number for number, word in enumerate(["[UNK]", *MEANINGS, *more])}
    tokenizer = Tokenizer(WordLevel(words, unk_token="[UNK]"))
    tokenizer.normalizer, tokenizer.pre_tokenizer = Lowercase(), Whitespace()
    vectors = numpy.zeros((len(words), dimension), dtype=numpy.float32)
    for number, (word, meaning) in enumerate(MEANINGS.items(), 1):
        vectors[number, meaning] = 1.0
        vectors[number, (meaning + 1) % dimension] = 0.05 * len(word)
    return tokenizer, vectors


def make_model(folder: Path, dimension: int = 4, *more: str) -> Path:
    """Write a static model of those words."""
    tokenizer, vectors = make_words(dimension, *more)
    from model2vec import StaticModel

    StaticModel(vectors, tokenizer, normalize=True).save_pretrained(folder)
    return folder


def make_network(folder: Path) -> Path:
    """Write a model of those words as a network that looks them up, in the open format, and how to pool it."""
    pytest.importorskip("onnxruntime")
    tokenizer, vectors = make_words(4)
    (folder / "onnx").mkdir(parents=True)
    (folder / "1_Pooling").mkdir()
    tokenizer.save(str(folder / "tokenizer.json"))
    (folder / "1_Pooling/config.json").write_text('{"pooling_mode_mean_tokens": true}')

    def part(number: int, content: bytes | str | int) -> bytes:  # a field of a message, as protocol buffers write it
        if isinstance(content, int):
            return _number(number << 3) + _number(content)
        data = content.encode() if isinstance(content, str) else content
        return _number(number << 3 | 2) + _number(len(data)) + data

    def value(name: str, element: int, *shape: str) -> bytes:
        dims = b"".join(part(1, part(2, size)) for size in shape)
        return part(1, name) + part(2, part(1, part(1, element) + part(2, dims)))

    table = part(1, len(vectors)) + part(1, 4) + part(2, 1) + part(8, "table") + part(9, vectors.tobytes())
    node = part(1, "table") + part(1, "input_ids") + part(2, "last_hidden_state") + part(4, "Gather")
    graph = part(1, node) + part(2, "tiny") + part(5, table)
    graph += b"".join(part(11, value(name, 7, "batch", "length")) for name in ("input_ids", "attention_mask"))
    graph += part(12, value("last_hidden_state", 1, "batch", "length", "size"))
    model = part(1, 8) + part(7, graph) + part(8, part(2, 13))
    (folder / "onnx/model.onnx").write_bytes(model)
    return folder


def _number(value: int) -> bytes:
    """Return a number as protocol buffers write it, seven bits a byte."""
    return bytes([value & 0x7F | 0x80]) + _number(value >> 7) if value > 0x7F else bytes([value])


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


def imported(ask: Ask, tmp_path: Path, *said: str) -> None:
    """Import what somebody said in one session, in that order."""
    turns = [{"text": text, "session_id": "talk", "turn_id": number} for number, text in enumerate(said)]
    (tmp_path / "talk.jsonl").write_text("\n".join(map(json.dumps, turns)), "utf-8")
    assert ask("memory", "import", str(tmp_path / "talk.jsonl"), "--user", "ada")["data"]["counts"]["admitted"] == len(
        said
    )


def test_an_imported_turn_also_means_what_its_neighbours_mean(ask: Ask, tmp_path: Path) -> None:
    """As in conversation: a turn is as near as it is with its neighbours, a note only as near as it is by itself."""
    imported(ask, tmp_path, "The hound slept", "Zanzibar dog, boat", "A dog again")
    add(ask, "Zanzibar hound, boat")

    hits = ask("memory", "search", "which dog in Zanzibar", "--user", "ada", "--explain")["data"]["results"]

    near = {hit["text"]: hit["parts"]["similarity"] for hit in hits}
    assert near["Zanzibar dog, boat"] > near["Zanzibar hound, boat"] + 0.05


def test_names_in_what_meaning_found_lead_on(ask: Ask, tmp_path: Path) -> None:
    """A turn that only meaning finds names somebody, and what else was said of that name is found as well."""
    strangers = (f"Number {number} of the list was read out" for number in range(9))
    imported(ask, tmp_path, "We met the hound of Tove", *strangers, "I hear Tove grew up near Uppsala")

    assert "I hear Tove grew up near Uppsala" in found(ask, "who has a dog")


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

    files = sorted(cache_folder(store).rglob("*-vectors*"))
    assert len(files) == 1
    assert {stat.S_IMODE(path.stat().st_mode) for path in files} == {0o600}
    for damage in (b"", b"\0" * 100, b"{}"):
        for path in files:
            path.write_bytes(damage)
            assert found(ask, "car") == ["The automobile is red"]
    ask("index", "rebuild")
    assert not any(path.exists() for path in files)
    assert found(ask, "car") == ["The automobile is red"]


def test_the_model_is_frozen_in_the_store(ask: Ask, store: Path, tmp_path: Path) -> None:
    """The first search writes name, size and digest down; another model, or another of that name, is exit 3."""
    add(ask, "The automobile is red")
    found(ask, "car")
    assert "vector_model: tiny 4 " in (store / "memkit.yaml").read_text("utf-8")

    for folder, dimension in (("wide", 8), ("elsewhere/tiny", 4)):
        other = make_model(tmp_path / folder, dimension, "a further word")
        ask("config", "set", "retrieval.vectors", str(other))
        (finding,) = ask("memory", "search", "car", "--user", "ada", code=3)["diagnostics"]
        assert "'tiny 4 " in finding["message"] and "memkit index rebuild --vectors" in finding["message"]

    ask("index", "rebuild", "--vectors")
    assert found(ask, "car") == ["The automobile is red"]
    ask("config", "set", "retrieval.vectors", str(tmp_path / "tiny"))
    assert ask("memory", "search", "car", "--user", "ada", code=3)


def test_a_network_in_the_open_format_is_a_model_too(ask: Ask, tmp_path: Path) -> None:
    """A folder as sentence-transformers lays it out: tokenizer, network, pooling; padding changes no vector."""
    folder = make_network(tmp_path / "net")
    model = LocalEmbedder(folder)
    alone, padded = model.embed_batch(["car"]), model.embed_batch(["car", "the hound and the dog and the vehicle"])
    assert alone[0] == pytest.approx(padded[0], abs=1e-6)
    assert math.hypot(*alone[0]) == pytest.approx(1.0)

    ask("config", "set", "retrieval.vectors", str(folder))
    add(ask, "The automobile is red")
    add(ask, "The hound sleeps")
    assert found(ask, "which car") == ["The automobile is red"]


def test_a_network_reports_to_nobody(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The runtime of networks tells its maker of each session unless this says otherwise before it is loaded."""
    monkeypatch.setenv("ORT_DISABLE_TELEMETRY", "0")

    LocalEmbedder(make_network(tmp_path / "net"))

    assert os.environ["ORT_DISABLE_TELEMETRY"] == "1"


class HostedModel:
    """Stands for a service: counts the requests, and its vectors are not of length one."""

    name, dimension = "hosted", 4
    requests = 0

    def embed_batch(self, texts: Sequence[str]) -> list[list[float]]:
        """Return a vector for the meaning of the first known word of each text."""
        self.requests += 1
        words = [[MEANINGS[word] for word in text.lower().split() if word in MEANINGS] for text in texts]
        return [[3.0 if meant[:1] == [place] else 0.0 for place in range(4)] for meant in words]


def test_a_hosted_model_is_handed_in_and_asked_for_many_texts_at_once() -> None:
    """An ``Embedder`` of one's own finds by meaning; a question asks once for itself, and once for what is new."""
    model = HostedModel()
    index = NearestIndex(model)
    with ArchivalStore(None, vectors=lambda: index) as archive:
        for text in ("the automobile is red", "a hound sleeps", "an infusion is hot"):
            archive.offer(Draft(text=text), Origin(actor="user", user_id="ada"))

        assert [hit.text for hit in archive.search("which dog", user_id="ada").hits] == ["a hound sleeps"]
        assert model.requests == 2


class Crowded:
    """Stands for a network: two texts have ``background`` in common, more of one meaning, and the rest is chance."""

    name, dimension = "crowded", 257

    def __init__(self, background: float) -> None:
        self._background = background

    def embed_batch(self, texts: Sequence[str]) -> list[list[float]]:
        """Return for each text what all share, what its meaning shares, and its own."""
        return [self._vector(text.lower()) for text in texts]

    def _vector(self, text: str) -> list[float]:
        meant = {MEANINGS[word] for word in text.split() if word in MEANINGS}
        about = _drawn(f"meaning {meant or text}")
        own = [math.sqrt(0.4) * one + math.sqrt(0.6) * two for one, two in zip(about, _drawn(text), strict=True)]
        return [math.sqrt(self._background), *(math.sqrt(1 - self._background) * part for part in own)]


def _drawn(seed: str) -> list[float]:
    """Return 256 numbers of length one."""
    chance = random.Random(seed)
    parts = [chance.gauss() for _ in range(256)]
    return [part / math.hypot(*parts) for part in parts]


@pytest.mark.parametrize("background", [0.0, 0.8])
def test_what_is_near_is_measured_by_what_is_not(background: float) -> None:
    """Whether a network finds little alike or everything, what stands out is found, and nothing else."""
    index = NearestIndex(Crowded(background))
    settings = MemorySettings.from_mapping({"retrieval": {"vector_floor": "auto"}})
    with ArchivalStore(None, settings=settings, vectors=lambda: index) as archive:
        for text in ("the automobile is red", "a hound sleeps", "an infusion is hot"):
            archive.offer(Draft(text=text), Origin(actor="user", user_id="ada"))

        assert [hit.text for hit in archive.search("which dog", user_id="ada").hits] == ["a hound sleeps"]
        assert archive.search("where is Zanzibar", user_id="ada").abstained


def test_a_floor_that_a_store_names_holds(ask: Ask, tmp_path: Path) -> None:
    """A number, by default 0.6, is the similarity itself; ``auto``, and no other word, leaves it to the model."""
    assert MemorySettings().retrieval.vector_floor == 0.6
    settings = MemorySettings.from_mapping({"retrieval": {"vector_floor": 0}})
    assert settings.retrieval.vector_floor == 0.0
    index = NearestIndex(Crowded(0.8))
    with ArchivalStore(None, settings=settings, vectors=lambda: index) as archive:
        archive.offer(Draft(text="the automobile is red"), Origin(actor="user", user_id="ada"))
        assert not archive.search("which dog", user_id="ada").abstained
    ask("config", "set", "retrieval.vector_floor", "0.4")
    ask("config", "set", "retrieval.vector_floor", "auto")
    assert ask("config", "set", "retrieval.vector_floor", "high", code=2)
    with pytest.raises(InvalidRecord, match="vector_floor must be a float, not 'high'"):
        MemorySettings.from_mapping({"retrieval": {"vector_floor": "high"}})


def test_a_generated_project_searches_by_meaning_too(ask: Ask, tmp_path: Path) -> None:
    """The store's setting holds there, asks for the libraries, and another model under the name is refused."""
    add(ask, "The automobile is red")
    found(ask, "car")  # agrees on the model
    out = tmp_path / "project"
    ask("gen", "--target", "react", "--out", str(out))
    assert "onnxruntime" in (out / "pyproject.toml").read_text("utf-8")
    project = Project("one", "none", out, out / "agent" / "compiled")

    rooms = open_rooms(load_settings(project, {}), "ada", "s1")
    rooms.archive.offer(Draft(text="The automobile is red"), Origin(actor="user", user_id="ada"))
    assert [hit.text for hit in rooms.archive.search("which car", user_id="ada").hits] == ["The automobile is red"]
    rooms.close()

    make_model(tmp_path / "tiny", 4, "a further word")
    rooms = open_rooms(load_settings(project, {}), "ada", "s1")
    with pytest.raises(OtherModel, match="index rebuild"):
        rooms.archive.search("which car", user_id="ada")
    rooms.close()


def test_turns_are_found_by_meaning_too(tmp_path: Path) -> None:
    """``conversation_search`` fuses words and meaning of a turn and of those beside it; nothing is embedded twice."""
    model = HostedModel()
    recall = RecallMemory(None, similar=Similarity(model))
    for number, text in enumerate(["nothing of note", "the hound ran", "well well"]):
        recall.append("ada", "s1", number, "user", text)

    assert [turn.text for turn in recall.search("dog", "ada", 1)] == ["the hound ran"]
    asked = model.requests
    recall.search("dog", "ada", 1)
    assert model.requests == asked


def test_the_vectors_of_turns_outlast_the_process(tmp_path: Path) -> None:
    """A later one embeds its question and what is new; a damaged file, or another model, begins anew."""
    path = tmp_path / "turns"

    def embedded(*texts: str, name: str = "hosted") -> int:
        model = HostedModel()
        model.name = name
        Similarity(model, path)("dog", texts)
        return model.requests

    assert [embedded("the hound ran"), embedded("the hound ran"), embedded("the hound ran", "well")] == [2, 1, 2]
    assert path.stat().st_mode & 0o077 == 0
    assert embedded("the hound ran", name="another") == 2
    path.write_bytes(b"not a database at all" * 100)
    assert [embedded("the hound ran"), embedded("the hound ran")] == [2, 1]


@pytest.mark.parametrize("content", [None, b"{}", b"not json"])
def test_a_model_that_cannot_be_read_is_one_clear_line(ask: Ask, tmp_path: Path, content: bytes | None) -> None:
    """Its folder is gone since it was set, or what lies there is no model: exit 3 and what to do."""
    folder = tmp_path / "broken"
    folder.mkdir()
    (folder / "config.json").write_bytes(content or b"")
    (folder / "model.safetensors").write_bytes(content or b"")
    ask("config", "set", "retrieval.vectors", str(folder))
    if content is None:
        shutil.rmtree(folder)
    add(ask, "The automobile is red")

    (finding,) = ask("memory", "search", "car", "--user", "ada", code=3)["diagnostics"]
    assert str(folder) in finding["message"]


@pytest.mark.parametrize("library", ["model2vec", "numpy"])
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


def test_a_folder_that_is_no_model_is_refused_when_it_is_set(ask: Ask, tmp_path: Path) -> None:
    """Not by the next search; what stood there stays."""
    before = ask("config", "show")["data"]

    for folder in (tmp_path / "nowhere", tmp_path):
        (finding,) = ask("config", "set", "retrieval.vectors", str(folder), code=2)["diagnostics"]
        assert f"no embedding model in {folder}" in finding["message"]

    assert ask("config", "show")["data"] == before


def test_doctor_looks_at_the_model(ask: Ask, tmp_path: Path) -> None:
    """It names the model that searches by meaning, and says where it is another than the store's vectors are of."""

    def found(code: int = 0) -> dict[str, Any]:
        (check,) = (one for one in ask("doctor", code=code)["data"]["checks"] if one["name"] == "vectors")
        return dict(check)

    ask("memory", "search", "car", "--user", "ada")  # the store agrees on its model
    assert found()["ok"]

    ask("config", "set", "retrieval.vectors", str(make_model(tmp_path / "other", 5)))
    assert "index rebuild --vectors" in found(1)["detail"]


def test_without_vectors_nothing_of_them_is_imported(store: Path) -> None:
    """A search by words alone loads neither model nor index library, nor numpy."""
    search = ["memory", "search", "x", "--user", "ada", "--store", str(store)]
    program = f"import sys; from memkit.cli.main import run; run({search!r}); print(*sys.modules, file=sys.stderr)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)

    loaded = set(done.stderr.split())
    assert "memkit.runtime.memory.index.search" in loaded
    assert not loaded & {"model2vec", "numpy", "onnxruntime", "memkit.runtime.embeddings"}


figures = st.tuples(*[st.floats(0, 1)] * 3)


@given(st.lists(figures, min_size=1, max_size=8), st.none() | st.floats(-0.2, 1))
def test_fusion_keeps_every_record_and_prefers_what_both_arms_prefer(
    given_to: list[tuple[float, float, float]], background: float | None
) -> None:
    """Every record comes back, none more relevant than the best answers; better in both arms is not less relevant."""
    found = [
        (
            FoundRecord(str(number), "live", (), number, pytest.fail, is_turn=False),
            {"relevance": words, "bm25": words, "coverage": share},
        )
        for number, (words, share, _) in enumerate(given_to)
    ]
    near = {number: similarity for number, (*_, similarity) in enumerate(given_to)}

    fused = {one.document: parts["relevance"] for one, parts in fuse(found, near, background)}

    assert set(fused) == set(near)
    assert max(fused.values()) <= max(max(share, similarity) for _, share, similarity in given_to) + 1e-9
    for one, (words, _, similarity) in enumerate(given_to):
        for other, (fewer, _, farther) in enumerate(given_to):
            if words >= fewer and similarity >= farther:
                assert fused[one] >= fused[other] - 1e-9


def test_the_benchmark_measures_vectors_and_both_together(ask: Ask, tmp_path: Path) -> None:
    """With a model three modes more: by meaning alone, and fused with words for turns and for records."""
    lines: list[dict[str, Any]] = [{"turn": f"nothing of note {number}", "id": str(number)} for number in range(10)]
    lines.append({"turn": "the hound ran", "id": "answer"})
    lines.append({"question": "where is the dog", "evidence": ["answer"]})
    path = tmp_path / "lines"
    path.write_text("\n".join(map(json.dumps, lines)), "utf-8")

    data = ask("bench", "retrieval", str(path), "--k", "1", "--vectors", str(tmp_path / "tiny"))["data"]

    reached = {row["mode"]: row["mrr"] for row in data["rows"] if (row["granularity"], row["type"]) == ("turn", "all")}
    assert (reached["default"], reached["vectors"], reached["hybrid"]) == (0.0, 1.0, 1.0)
    assert (reached["records"], reached["records-hybrid"]) == (0.0, 1.0)
    assert "--vectors" in ask("bench", "retrieval", str(path), "--mode", "hybrid", code=2)["diagnostics"][0]["message"]
