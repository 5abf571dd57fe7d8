"""The ways to search that a benchmark compares, and what they reach: recall and reciprocal rank."""

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Callable, Collection, Hashable, Iterable, Sequence
from dataclasses import dataclass
from datetime import date
from itertools import count
from statistics import median
from typing import Any, Protocol

from memkit.bench.datasets import Dialogue
from memkit.errors import UsageError
from memkit.runtime.embeddings.interface import Embedder
from memkit.runtime.embeddings.nearest import Similarity
from memkit.runtime.memory.archive.archive import ArchivalStore
from memkit.runtime.memory.record.record import Draft, Origin
from memkit.runtime.memory.tiers.conversation import ConversationIndex as Conversation
from memkit.runtime.memory.tiers.conversation import Recipe, Utterance
from memkit.runtime.memory.words.text import STOP_WORDS, folded

PEER = "rank_bm25"
PLAIN = Recipe(dates=False, near=(), speaker=1.0, relative=False, captions=False, session=0.0, bridge=0.0)


class Ranker(Protocol):
    """One dialogue, ready to be searched in one way."""

    def turns(self, query: str, today: date | None) -> list[int]:
        """Return the places of the turns found, best first."""
        ...

    def sessions(self, query: str, today: date | None) -> list[str]:
        """Return the sessions found, best first."""
        ...


class RecipeRanker:
    """memkit's own search with some of its ingredients."""

    def __init__(self, dialogue: Dialogue, recipe: Recipe, embedder: Embedder | None = None) -> None:
        self._conversation = Conversation(dialogue.turns, recipe, Similarity(embedder) if embedder else None)

    def turns(self, query: str, today: date | None) -> list[int]:
        """Return the turns as ``conversation_search`` ranks them."""
        return [place for _, place in self._conversation.rank(query, today)]

    def sessions(self, query: str, today: date | None) -> list[str]:
        """Return the sessions by their own score."""
        return [session for _, session in self._conversation.rank_sessions(query, today)]


class PeerRanker:
    """``rank_bm25`` as its own documentation uses it: text split at blanks, BM25Okapi as it comes."""

    def __init__(self, dialogue: Dialogue) -> None:
        self._names = list(dict.fromkeys(turn.session for turn in dialogue.turns))
        whole = {name: [turn.text for turn in dialogue.turns if turn.session == name] for name in self._names}
        self._turns = _okapi([turn.text.split() for turn in dialogue.turns])
        self._sessions = _okapi([" ".join(whole[name]).split() for name in self._names])

    def turns(self, query: str, today: date | None) -> list[int]:
        """Return the turns with a score above nothing."""
        return self._turns(query)

    def sessions(self, query: str, today: date | None) -> list[str]:
        """Return the sessions with a score above nothing."""
        return [self._names[place] for place in self._sessions(query)]


def _okapi(documents: Sequence[Sequence[str]]) -> Callable[[str], list[int]]:
    from rank_bm25 import BM25Okapi  # and numpy with it: only a benchmark needs them

    if not any(documents):
        return lambda query: []  # the library divides by the number of words
    index = BM25Okapi(documents)

    def ask(query: str) -> list[int]:
        scores = index.get_scores(query.split()).tolist()
        return sorted((place for place, score in enumerate(scores) if score > 0), key=lambda place: -scores[place])

    return ask


def plain_words(text: str) -> list[str]:
    """Return the words of ``text`` in lower case."""
    return re.findall(r"\w+", folded(text))


def content_words(text: str) -> list[str]:
    """Return the words of ``text`` in lower case, stop words left out."""
    return [word for word in plain_words(text) if word not in STOP_WORDS]


RECIPES = {
    "words": PLAIN._replace(tokens=plain_words, terms=plain_words),
    "stop-words": PLAIN._replace(tokens=plain_words, terms=content_words),
    "stems": PLAIN,
    "dates": PLAIN._replace(dates=True),
    "neighbours": PLAIN._replace(dates=True, near=Recipe().near),
    "speaker": PLAIN._replace(dates=True, near=Recipe().near, speaker=Recipe().speaker),
    "captions": Recipe(session=0.0, bridge=0.0),
    "sessions": Recipe(bridge=0.0),
    "default": Recipe(),
}
"""Each has the ingredients of the one before and one more; captions brings relative dates with it."""
RECORDS = "records"
"""The turns imported as records, each by itself, and searched as ``memory search`` does."""
MEANING = ("vectors", "hybrid")
"""By an embedding model alone, and its scores fused with those of the default."""
MODES = (PEER, *RECIPES, RECORDS, *MEANING)


class RecordRanker:
    """Long-term memory that a conversation was imported into."""

    def __init__(self, dialogue: Dialogue) -> None:
        self._archive = ArchivalStore(None)
        self._sessions = [turn.session for turn in dialogue.turns]
        decisions = self._archive.import_many(map(_offered, dialogue.turns, count()))
        self._places: defaultdict[str | None, list[int]] = defaultdict(list)
        """Of what was laid together in one record there are several."""
        for place, decision in enumerate(decisions):
            self._places[decision.id].append(place)
        self._archive.leaves_traces = False  # one question must not move the answers to the next

    def turns(self, query: str, today: date | None) -> list[int]:
        """Return the turns whose records are found."""
        hits = self._archive.search(query, user_id=IMPORTER, k=MOST_RECORDS).hits
        return [place for hit in hits for place in self._places[hit.id]]

    def sessions(self, query: str, today: date | None) -> list[str]:
        """Return the sessions of the turns found, the best first."""
        return list(dict.fromkeys(self._sessions[place] for place in self.turns(query, today)))


IMPORTER = "bench"
MOST_RECORDS = 100


def _offered(turn: Utterance, number: int) -> tuple[Draft, Origin]:
    """Return a turn as an import of one's own offers it: who spoke and what was shown stand in its text."""
    said = f"{' '.join(sorted(turn.speakers))}: {turn.text}" if turn.speakers else turn.text
    extra: dict[str, Any] = {"session_id": turn.session or "conversation", "turn_id": number}
    if turn.day is not None:
        extra["created_at"] = f"{turn.day}T12:00:00Z"
    return Draft(text=f"{said} {turn.caption}".strip(), extra=extra), Origin(actor="import", user_id=IMPORTER, taint=())


class MeaningRanker:
    """The nearest vectors, compared with every one, so that no approximate index stands between."""

    def __init__(self, dialogue: Dialogue, embedder: Embedder) -> None:
        self._embedder = embedder
        self._names = list(dict.fromkeys(turn.session for turn in dialogue.turns))
        whole = {name: [turn.text for turn in dialogue.turns if turn.session == name] for name in self._names}
        self._turns = embedder.embed_batch([turn.text for turn in dialogue.turns])
        self._sessions = embedder.embed_batch([" ".join(whole[name]) for name in self._names])

    def turns(self, query: str, today: date | None) -> list[int]:
        """Return the turns by the angle of their vectors."""
        return self._nearest(query, self._turns)

    def sessions(self, query: str, today: date | None) -> list[str]:
        """Return the sessions by the angle of their vectors."""
        return [self._names[place] for place in self._nearest(query, self._sessions)]

    def _nearest(self, query: str, vectors: Sequence[Sequence[float]]) -> list[int]:
        import numpy  # comes with the peer

        (asked,) = self._embedder.embed_batch([query])
        angles = (numpy.asarray(vectors) @ numpy.asarray(asked)).tolist() if vectors else []
        return sorted((place for place, angle in enumerate(angles) if angle > 0), key=lambda place: -angles[place])


def ranker(mode: str, dialogue: Dialogue, embedder: Embedder | None = None) -> Ranker:
    """Return ``dialogue`` ready to be searched in the way called ``mode``; those by meaning need an embedder."""
    if mode == PEER:
        return PeerRanker(dialogue)
    if mode in RECIPES:
        return RecipeRanker(dialogue, RECIPES[mode])
    if mode == RECORDS:
        return RecordRanker(dialogue)
    if embedder is None:
        raise UsageError(f"{mode} needs a model: add --vectors FOLDER.")
    return MeaningRanker(dialogue, embedder) if mode == "vectors" else RecipeRanker(dialogue, Recipe(), embedder)


ALL = "all"
GRANULARITIES = ("turn", "session")
MakeRanker = Callable[[str, Dialogue], Ranker]


@dataclass(frozen=True)
class Row:
    """What one way to search reached on one type of question."""

    mode: str
    granularity: str
    """turn | session"""
    kind: str
    """A type of question, or ``all``."""
    questions: int
    recall: dict[int, float]
    """By k: the mean share of a question's evidence that is among the first k."""
    mrr: float
    """The mean of one over the rank of the first piece of evidence; 0 where none was found."""


@dataclass(frozen=True)
class Measurement:
    """Every row, and what the figures rest on."""

    rows: tuple[Row, ...]
    dialogues: int
    questions: int
    """Those with evidence."""
    skipped: int
    """Those without any: nothing can be recalled for them."""
    candidates: dict[str, int]
    """By granularity: how many there are to choose from, the median over the questions."""


def measure(dialogues: Iterable[Dialogue], modes: Sequence[str], ks: Sequence[int], make: MakeRanker) -> Measurement:
    """Ask every question of every dialogue in every mode and return what came back."""
    ranks: defaultdict[tuple[str, str, str], list[list[int | None]]] = defaultdict(list)
    pools: defaultdict[str, list[int]] = defaultdict(list)
    count = questions = skipped = 0
    for dialogue in dialogues:
        count += 1
        asked = [one for one in dialogue.questions if one.turns or one.sessions]
        questions, skipped = questions + len(asked), skipped + len(dialogue.questions) - len(asked)
        pools["turn"] += [len(dialogue.turns)] * len(asked)
        pools["session"] += [len({turn.session for turn in dialogue.turns})] * len(asked)
        for mode in modes if asked else ():
            ranker = make(mode, dialogue)
            for one in asked:
                for granularity, wanted, found in (
                    ("turn", one.turns, ranker.turns(one.text, one.today) if one.turns else []),
                    ("session", one.sessions, ranker.sessions(one.text, one.today) if one.sessions else []),
                ):
                    if wanted:
                        for kind in (ALL, one.kind):
                            ranks[mode, granularity, kind].append(_ranks(wanted, found))
    rows = tuple(_row(key, ranks[key], ks) for key in sorted(ranks, key=lambda key: _order(key, modes)))
    candidates = {name: int(median(pools[name])) for name in GRANULARITIES if pools[name]}
    return Measurement(rows, count, questions, skipped, candidates)


def _ranks(wanted: Collection[Hashable], found: Sequence[Hashable]) -> list[int | None]:
    """Return the rank of each piece of evidence, counted from one; None for what was not found."""
    places = {one: rank for rank, one in enumerate(found, 1)}
    return [places.get(one) for one in wanted]


def _row(key: tuple[str, str, str], ranks: list[list[int | None]], ks: Sequence[int]) -> Row:
    recall = {k: _mean(sum(rank is not None and rank <= k for rank in one) / len(one) for one in ranks) for k in ks}
    first = (min((rank for rank in one if rank is not None), default=None) for one in ranks)
    return Row(*key, len(ranks), recall, _mean(1 / rank if rank else 0.0 for rank in first))


def _mean(values: Iterable[float]) -> float:
    given = list(values)
    return math.fsum(given) / len(given)


def _order(key: tuple[str, str, str], modes: Sequence[str]) -> tuple[int, int, bool, str]:
    mode, granularity, kind = key
    return GRANULARITIES.index(granularity), modes.index(mode), kind != ALL, kind
