"""Vectors beside the lines in PostgreSQL: made once for all instances, of one model, gone with their user."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import psycopg
import pytest

from memkit.runtime.backends import schema
from memkit.runtime.backends.interface import ARCHIVES, Instance, address
from memkit.runtime.backends.opening import open_archive
from memkit.runtime.backends.schema import migrate
from memkit.runtime.embeddings import nearest
from memkit.runtime.embeddings.interface import identity
from memkit.runtime.embeddings.nearest import NearestIndex
from memkit.runtime.memory.archive.archive import ArchivalStore
from memkit.runtime.memory.interface import MemorySettings
from memkit.runtime.memory.record.lines import utc_now
from memkit.runtime.memory.record.record import Draft, Origin

pytest.importorskip("numpy")

WORDS = ("car", "tea", "dog", "boat", "rain", "song", "lamp", "rose")
ALIKE = {"automobile": "car", "infusion": "tea", "hound": "dog", "vessel": "boat"}
ANN = Origin("person", "ann")


class Counting:
    """A model that knows a few words and what they are alike, and counts the texts that it was asked for."""

    name, dimension = "counting", len(WORDS)

    def __init__(self, digest: str = "one") -> None:
        self.digest = digest
        self.asked: list[str] = []

    def embed_batch(self, texts: Sequence[str]) -> list[list[float]]:
        """Return which words each text holds, a little of the next one for each letter."""
        self.asked += texts
        return [[float(self._weight(text.lower().split(), word)) for word in WORDS] for text in texts]

    @staticmethod
    def _weight(held: list[str], word: str) -> float:
        return sum(ALIKE.get(one, one) == word for one in held) + sum(len(one) for one in held) % (3 + len(word)) / 100


Open = Callable[..., ArchivalStore]


@pytest.fixture
def open_with(url: str, tmp_path: Path) -> Iterator[Open]:
    """Return a function that opens an instance by its name, which searches by a model."""
    opened: list[ArchivalStore] = []

    def open_instance(name: str, model: Counting) -> ArchivalStore:
        root = tmp_path / name
        root.mkdir(exist_ok=True)
        log = open_archive(address(url, ARCHIVES), Instance(root, utc_now, lambda event: None))
        vectors = NearestIndex(model, log.vectors)
        settings = MemorySettings.from_mapping({"retrieval": {"vector_floor": 0.5}})
        opened.append(ArchivalStore(root, log=log, vectors=lambda: vectors, settings=settings))
        return opened[-1]

    yield open_instance
    for archive in opened:
        archive.close()


def rows(owner: str, columns: str = "user_id, shared") -> list[tuple[Any, ...]]:
    """Return what lies in the table, for its owner."""
    with psycopg.connect(owner) as connection:
        return sorted(connection.execute(f"SELECT {columns} FROM memkit.vectors").fetchall())


def test_what_one_instance_embedded_no_other_one_does(open_with: Open, owner: str) -> None:
    """A cold instance asks the model for the question alone, and finds the same with the same scores."""
    first, second = Counting(), Counting()
    one, two = open_with("one", first), open_with("two", second)
    for text in ("The automobile is red", "The hound sleeps", "A vessel sails"):
        one.offer(Draft(text), ANN)
    one.offer(Draft("The office serves an infusion", scope="shared"), Origin("person", "bob"))

    here, there = (archive.search("which car", user_id="ann") for archive in (one, two))

    assert [hit.text for hit in here.hits] == ["The automobile is red"]
    assert [hit.parts["similarity"] for hit in here.hits] == pytest.approx(
        [hit.parts["similarity"] for hit in there.hits], abs=1e-3
    )
    assert second.asked == ["which car"]
    assert here.vectors == "exact"
    assert rows(owner) == [("ann", False)] * 3 + [("bob", True)]
    assert {model for (model,) in rows(owner, "model")} == {identity(first)}


def test_another_model_has_vectors_of_its_own(open_with: Open, owner: str) -> None:
    """Each vector says by the digest of which model it was made, and no other one is compared with it."""
    one, two = open_with("one", Counting("one")), open_with("two", other := Counting("two"))
    one.offer(Draft("The automobile is red"), ANN)
    one.search("car", user_id="ann")

    two.search("car", user_id="ann")

    assert other.asked == ["The automobile is red", "car"]
    assert len({model for (model,) in rows(owner, "model")}) == 2


def test_nobody_sees_the_vectors_of_another_one(open_with: Open, url: str) -> None:
    """By raw SQL as the role that serves: one user's and what is shared, and none without a user."""
    one = open_with("one", Counting())
    for user in ("ann", "bob"):
        one.offer(Draft(f"The automobile of {user}"), Origin("person", user))
        one.search("car", user_id=user)

    with psycopg.connect(url) as connection:
        assert connection.execute("SELECT count(*) FROM memkit.vectors").fetchone() == (0,)
        connection.execute("SELECT set_config('memkit.user_id', 'ann', true)")
        assert connection.execute("SELECT user_id FROM memkit.vectors").fetchall() == [("ann",)]
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            connection.execute("INSERT INTO memkit.vectors VALUES('bob', 'm', 'id', false, '[1]')")


def test_vectors_go_with_their_user(open_with: Open, owner: str) -> None:
    """An erasure takes them, and an instance that has not heard of it brings none back."""
    one, late = open_with("one", Counting()), open_with("late", Counting())
    one.offer(Draft("The automobile is red"), ANN)
    late.records(user_id="ann")
    held = late.log.vectors, late.records(user_id="ann")
    one.search("car", user_id="ann")

    one.log.erase("ann", lambda data: data.get("user_id") == "ann", lambda data: None)  # type: ignore[attr-defined]

    assert rows(owner) == []
    assert not held[0].keep("model", held[1], [_Row()])
    assert rows(owner) == []


class _Row:
    """A vector."""

    def tolist(self) -> list[float]:
        """Return its numbers."""
        return [1.0]


def test_vectors_of_sealed_text_stay_on_the_machine_that_has_the_key(
    store: Path, url: str, owner: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A vector tells what a text is about, so the server gets none where it may not see the text; search goes on."""
    pytest.importorskip("cryptography")
    from memkit.cli.main import run
    from memkit.workspace import Workspace

    monkeypatch.setenv("MEMKIT_PERSON", "1")
    monkeypatch.setenv("MEMKIT_BACKENDS_ARCHIVE", url)
    monkeypatch.setattr(Workspace, "embedder", Counting())
    (store / "tiny").mkdir()
    (store / "tiny" / "model.safetensors").touch()  # what lies there is never read
    for words in (["config", "set", "privacy.seal", "user"], ["config", "set", "retrieval.vectors", "tiny"]):
        assert run([*words, "--store", str(store)]) == 0
    assert run(["memory", "add", "The automobile is red", "--user", "ann", "--store", str(store)]) == 0
    capsys.readouterr()

    assert run(["memory", "search", "which car", "--user", "ann", "--json", "--explain", "--store", str(store)]) == 0
    data = json.loads(capsys.readouterr().out)["data"]

    assert ([hit["text"] for hit in data["results"]], data["vectors"]) == (["The automobile is red"], "exact")
    assert rows(owner) == []


def test_who_has_many_is_looked_up_by_an_index(open_with: Open, owner: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The owner's next migration makes it; it finds what comparing finds, and the report says that it was asked."""
    monkeypatch.setattr(schema, "MANY", 40)
    monkeypatch.setattr(nearest, "MANY", 40)
    one = open_with("one", Counting())
    for number in range(60):
        words = f"{WORDS[number % 8]} {WORDS[number // 8]} {'x' * (number % 5)} {number}"
        one.offer(Draft(f"Note {number} on {words}"), ANN)
        one.offer(Draft(f"Bob keeps {words} {number}"), Origin("person", "bob"))
    asked = ("automobile", "infusion with a hound", "a vessel in the rain", "song and lamp")
    exact = [one.search(query, user_id="ann", k=20) for query in asked]

    with psycopg.connect(owner, autocommit=True) as connection:
        assert any("hnsw" in statement for statement in migrate(connection, "app", dry_run=True))
        migrate(connection, "app")
        assert not any("hnsw" in statement for statement in migrate(connection, "app"))
    two = open_with("two", Counting())
    near = [two.search(query, user_id="ann", k=20) for query in asked]

    assert {report.vectors for report in exact} == {"exact"}
    assert {report.vectors for report in near} == {"approximate"}
    for found, wanted in zip(near, exact, strict=True):
        scores = {hit.text: hit.score for hit in found.hits}
        clear = [hit for hit in wanted.hits if hit.score > wanted.hits[-1].score + 1e-6]  # ties fall either way
        assert scores.keys() >= {hit.text for hit in clear}
        assert [scores[hit.text] for hit in clear] == pytest.approx([hit.score for hit in clear], abs=1e-4)
    ann_only = [record.id for record in two.records(user_id="ann")]
    assert all(hit.id in ann_only for report in near for hit in report.hits)


def test_without_pgvector_each_instance_makes_its_own(plain: str, tmp_path: Path) -> None:
    """There is no table, and search goes on."""
    log = open_archive(
        address(plain.replace("postgres:@", "app@"), ARCHIVES), Instance(tmp_path, utc_now, lambda event: None)
    )
    index = NearestIndex(Counting(), log.vectors)
    with ArchivalStore(tmp_path, log=log, vectors=lambda: index) as archive:
        archive.offer(Draft("The automobile is red"), ANN)
        report = archive.search("which car", user_id="ann")

    assert ([hit.text for hit in report.hits], report.vectors) == (["The automobile is red"], "exact")
    with psycopg.connect(plain) as connection:
        assert connection.execute("SELECT to_regclass('memkit.vectors')").fetchone() == (None,)
