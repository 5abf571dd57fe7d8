"""Conversation benchmarks from local files, and the recall and reciprocal rank of each search mode on them."""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections import defaultdict
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from itertools import count
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

from memkit.errors import UsageError
from memkit.runtime.embeddings.interface import Embedder
from memkit.runtime.embeddings.nearest import NearestIndex, Similarity
from memkit.runtime.memory.archive.archive import ArchivalStore
from memkit.runtime.memory.record.record import Draft, Origin
from memkit.runtime.memory.tiers.conversation import ConversationIndex as Conversation
from memkit.runtime.memory.tiers.conversation import Recipe, Utterance
from memkit.runtime.memory.words.text import STOP_WORDS, folded, words

# Load a conversation benchmark from a local file: LoCoMo, LongMemEval, or memkit's own JSON lines.


@dataclass(frozen=True)
class BenchQuestion:
    """A question about a dialogue, with the places of its evidence."""

    text: str
    kind: str
    """The benchmark's own type of question."""
    turns: frozenset[int] = frozenset()
    """Positions of the turns that hold the answer."""
    sessions: frozenset[str] = frozenset()
    """Names of the sessions that hold it."""
    today: date | None = None
    """The day on which the question is asked."""


@dataclass(frozen=True)
class Dialogue:
    """Turns in the order they were said, and the questions about them."""

    name: str
    turns: tuple[Utterance, ...]
    questions: tuple[BenchQuestion, ...]


@dataclass(frozen=True)
class Dataset:
    """A benchmark file; its dialogues are read one at a time, because one file may hold many large ones."""

    format: str
    """locomo | longmemeval | jsonl"""
    sha256: str
    dialogues: Iterator[Dialogue]


DAY_FORMATS = ("%I:%M %p on %d %B, %Y", "%d %B, %Y", "%d %B %Y")


@dataclass(frozen=True)
class FilePlace:
    """The position of a value in a file: the line of its dialogue or entry, and the path to it from there."""

    path: Path
    line: int
    way: str = ""

    def __truediv__(self, step: str | int) -> FilePlace:
        return FilePlace(self.path, self.line, f"{self.way}[{step}]" if isinstance(step, int) else f"{self.way}.{step}")

    def wrong(self, message: str) -> UsageError:
        """Return an error that reports ``message`` for this place."""
        where = f" {self.way.lstrip('.')}:" if self.way else ""
        return UsageError(f"{self.path}:{self.line}:{where} {message}", path=str(self.path), line=self.line)


def mapping(value: Any, place: FilePlace) -> Mapping[str, Any]:
    """Return ``value``, which must be an object."""
    if not isinstance(value, dict):
        raise place.wrong(f"expected an object, not {value!r:.40}.")
    return value


def items(value: Any, place: FilePlace) -> Iterator[tuple[Any, FilePlace]]:
    """Yield the elements of ``value``, which must be a list, with their places."""
    if not isinstance(value, list):
        raise place.wrong(f"expected a list, not {value!r:.40}.")
    yield from ((element, place / number) for number, element in enumerate(value))


def text(data: Mapping[str, Any], key: str, place: FilePlace, default: str | None = None) -> str:
    """Return the text under ``key``; without a default it must be present."""
    value = data.get(key, default)
    if value is None and default is not None:
        return default
    if not isinstance(value, str):
        raise (place / key).wrong("expected a string." if key in data else "it is missing.")
    return value


def day_of(value: Any, place: FilePlace) -> date | None:
    """Return the day that a benchmark's date names, None for none."""
    if value in (None, ""):
        return None
    if not isinstance(value, str):
        raise place.wrong(f"expected a date, not {value!r:.40}.")
    stated = re.match(r"(\d{4})[-/](\d{2})[-/](\d{2})(?!\d)", value)
    try:
        if stated:
            return date(*map(int, stated.groups()))
    except ValueError:
        raise place.wrong(f"{value!r:.40} is not a valid date.") from None
    for form in DAY_FORMATS:
        try:
            return datetime.strptime(value.strip(), form).date()
        except ValueError:
            continue
    raise place.wrong(f"{value!r:.40} is not a known date format. Write 2026-11-21.")


LOCOMO_KINDS = {1: "multi-hop", 2: "temporal", 3: "inference", 4: "single-hop", 5: "adversarial"}
SESSION = re.compile(r"session_(\d+)")
TURN_ID = re.compile(r"D(\d+):(\d+)")


def load_dataset(path: Path) -> Dataset:
    """Return the benchmark in ``path``; its dialogues are checked as they are read.

    Raises:
        UsageError: The file cannot be read, is malformed, or has none of the three formats; the message names the line.
    """
    try:
        data = path.read_bytes()
        content = data.decode("utf-8-sig")
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}.", path=str(path)) from error
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise UsageError(f"{path}:{line}: not UTF-8 at byte {error.start}.", path=str(path), line=line) from error
    digest = hashlib.sha256(data).hexdigest()
    if not content.lstrip().startswith("["):
        return Dataset("jsonl", digest, _read_lines(path, content))
    first, place = next(_elements(path, content), (None, FilePlace(path, 1)))
    if first is None:
        raise place.wrong("the list is empty.")
    data_of_first = mapping(first, place)
    for name, (key, read) in FORMATS.items():
        if key in data_of_first:
            return Dataset(name, digest, (read(element, place) for element, place in _elements(path, content)))
    raise place.wrong("not a known benchmark: LoCoMo has 'conversation' here, LongMemEval 'haystack_sessions'.")


def _elements(path: Path, content: str) -> Iterator[tuple[Any, FilePlace]]:
    """Yield the elements of a file that is one list, one at a time, with the lines they begin on."""
    decoder, position, line, counted = json.JSONDecoder(), content.index("[") + 1, 1, 0
    blank = re.compile(r"[\s,]*")
    while True:
        start = blank.match(content, position).end()  # type: ignore[union-attr] # it matches anywhere
        line, counted = line + content.count("\n", counted, start), start
        if content[start : start + 1] == "]":
            return
        try:
            element, position = decoder.raw_decode(content, start)
        except (json.JSONDecodeError, RecursionError) as error:
            at = error.lineno if isinstance(error, json.JSONDecodeError) else line
            why = error.msg if isinstance(error, json.JSONDecodeError) else "it is nested too deeply"
            raise UsageError(f"{path}:{at}: not JSON: {why}.", path=str(path), line=at) from None
        yield element, FilePlace(path, line)


def _locomo(element: Any, place: FilePlace) -> Dialogue:
    sample = mapping(element, place)
    spoken = mapping(sample.get("conversation"), place / "conversation")
    turns: list[Utterance] = []
    numbers: dict[tuple[int, int], int] = {}
    sessions = sorted((int(match[1]), name) for name in spoken if (match := SESSION.fullmatch(name)))
    for _, name in sessions:
        day = day_of(spoken.get(f"{name}_date_time"), place / "conversation" / f"{name}_date_time")
        for entry, where in items(spoken[name] or [], place / "conversation" / name):
            turn = mapping(entry, where)
            stated = TURN_ID.fullmatch(text(turn, "dia_id", where))
            if stated:
                numbers[int(stated[1]), int(stated[2])] = len(turns)
            speakers = frozenset(words(text(turn, "speaker", where)))
            caption = text(turn, "blip_caption", where, "")
            turns.append(Utterance(text(turn, "text", where, ""), name, day, speakers, caption))
    last = turns[-1].day if turns else None
    questions = []
    for entry, where in items(sample.get("qa"), place / "qa"):
        asked = mapping(entry, where)
        # Some ids in the published file are joined by semicolons or lead nowhere; whatever can be read counts.
        named = [TURN_ID.findall(str(one)) for one in asked.get("evidence") or ()]
        places = frozenset(numbers[a, b] for pairs in named for a, b in _pairs(pairs) if (a, b) in numbers)
        kind = LOCOMO_KINDS.get(asked.get("category", 0), "other")
        questions.append(BenchQuestion(text(asked, "question", where), kind, places, _sessions(turns, places), last))
    return Dialogue(str(sample.get("sample_id", "")), tuple(turns), tuple(questions))


def _pairs(found: list[tuple[str, str]]) -> Iterator[tuple[int, int]]:
    return ((int(session), int(turn)) for session, turn in found)


def _longmemeval(element: Any, place: FilePlace) -> Dialogue:
    asked = mapping(element, place)
    names = [str(name) for name, _ in items(asked.get("haystack_session_ids"), place / "haystack_session_ids")]
    dates = [given for given, _ in items(asked.get("haystack_dates"), place / "haystack_dates")]
    turns: list[Utterance] = []
    evidence: set[int] = set()
    sessions = list(items(asked.get("haystack_sessions"), place / "haystack_sessions"))
    if not len(sessions) == len(names) == len(dates):
        raise place.wrong("haystack_sessions, haystack_session_ids and haystack_dates differ in length.")
    for (session, where), name, given in zip(sessions, names, dates, strict=True):
        day = day_of(given, place / "haystack_dates")
        for entry, spot in items(session, where):
            turn = mapping(entry, spot)
            if turn.get("has_answer") is True:
                evidence.add(len(turns))
            role = text(turn, "role", spot)
            speakers = frozenset({"i", "me", "my", "user"} if role == "user" else {"you", "your", role})
            turns.append(Utterance(text(turn, "content", spot), name, day, speakers))
    question = BenchQuestion(
        text(asked, "question", place),
        text(asked, "question_type", place, "other"),
        frozenset(evidence),
        frozenset(map(str, asked.get("answer_session_ids") or ())) & set(names),
        day_of(asked.get("question_date"), place / "question_date"),
    )
    return Dialogue(text(asked, "question_id", place, ""), tuple(turns), (question,))


def _read_lines(path: Path, content: str) -> Iterator[Dialogue]:
    turns: dict[str, list[Utterance]] = {}
    numbers: dict[str, dict[str, int]] = {}
    asked: list[tuple[str, Mapping[str, Any], FilePlace]] = []
    for number, line in enumerate(content.split("\n"), 1):
        if not line.strip():
            continue
        place = FilePlace(path, number)
        try:
            entry = mapping(json.loads(line), place)
        except (json.JSONDecodeError, RecursionError) as error:
            raise place.wrong(f"not JSON: {getattr(error, 'msg', 'nested too deeply')}.") from None
        dialogue = text(entry, "dialogue", place, "")
        if "question" in entry:
            asked.append((dialogue, entry, place))
        elif "turn" in entry:
            known = numbers.setdefault(dialogue, {})
            if (id := text(entry, "id", place)) in known:
                raise place.wrong(f"duplicate id {id!r:.40}.")
            known[id] = len(turns.setdefault(dialogue, []))
            turns[dialogue].append(_turn(entry, place))
        else:
            raise place.wrong("neither a 'turn' nor a 'question'.")
    for dialogue, said in turns.items():
        questions = [_question(one, place, said, numbers[dialogue]) for name, one, place in asked if name == dialogue]
        yield Dialogue(dialogue, tuple(said), tuple(questions))
    for dialogue, _, place in asked:
        if dialogue not in turns:
            raise place.wrong(f"the dialogue {dialogue!r:.40} has no turns.")


def _turn(entry: Mapping[str, Any], place: FilePlace) -> Utterance:
    return Utterance(
        text(entry, "turn", place),
        text(entry, "session", place, ""),
        day_of(entry.get("at"), place / "at"),
        frozenset(words(text(entry, "speaker", place, ""))),
        text(entry, "caption", place, ""),
    )


def _question(
    entry: Mapping[str, Any], place: FilePlace, turns: list[Utterance], numbers: Mapping[str, int]
) -> BenchQuestion:
    ids = [str(id) for id, _ in items(entry.get("evidence"), place / "evidence")]
    lost = next((id for id in ids if id not in numbers), None)
    if lost is not None:
        raise (place / "evidence").wrong(f"there is no turn {lost!r:.40} in this dialogue.")
    places = frozenset(numbers[id] for id in ids)
    kind, asked_on = text(entry, "type", place, "other"), day_of(entry.get("at"), place / "at")
    return BenchQuestion(text(entry, "question", place), kind, places, _sessions(turns, places), asked_on)


def _sessions(turns: list[Utterance], places: frozenset[int]) -> frozenset[str]:
    return frozenset(turns[place].session for place in places)


FORMATS = {"locomo": ("conversation", _locomo), "longmemeval": ("haystack_sessions", _longmemeval)}


# The search modes that a benchmark compares, and what they reach.

PEER = "rank_bm25"
PLAIN = Recipe(dates=False, near=(), speaker=1.0, relative=False, captions=False, session=0.0, bridge=0.0)


class Ranker(NamedTuple):
    """One dialogue, ready to be searched in one mode, given a question and the day on which it is asked."""

    turns: Callable[[str, date | None], list[int]]
    """Returns the positions of the turns found, best first."""
    sessions: Callable[[str, date | None], list[str]]
    """Returns the sessions found, best first."""


def by_recipe(dialogue: Dialogue, recipe: Recipe, embedder: Embedder | None = None) -> Ranker:
    """Return memkit's own search with some of its ingredients; sessions have a score of their own."""
    conversation = Conversation(dialogue.turns, recipe, Similarity(embedder) if embedder else None)
    return Ranker(
        lambda query, today: [place for _, place in conversation.rank(query, today)],
        lambda query, today: [session for _, session in conversation.rank_sessions(query, today)],
    )


def by_peer(dialogue: Dialogue) -> Ranker:
    """Return ``rank_bm25`` as its documentation uses it: text split at whitespace, BM25Okapi with its defaults."""
    whole = _texts_of_sessions(dialogue)
    names = list(whole)
    turns = _okapi([turn.text.split() for turn in dialogue.turns])
    sessions = _okapi([text.split() for text in whole.values()])
    return Ranker(lambda query, today: turns(query), lambda query, today: [names[place] for place in sessions(query)])


def _texts_of_sessions(dialogue: Dialogue) -> dict[str, str]:
    texts: defaultdict[str, list[str]] = defaultdict(list)
    for turn in dialogue.turns:
        texts[turn.session].append(turn.text)
    return {name: " ".join(said) for name, said in texts.items()}


def _okapi(documents: Sequence[Sequence[str]]) -> Callable[[str], list[int]]:
    from rank_bm25 import BM25Okapi  # needs numpy: only a benchmark pays for them

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
"""Each has the ingredients of the previous one and one more; captions brings relative dates with it."""
RECORDS = "records"
"""The turns imported as records, each by itself, and searched as ``memory search`` does."""
MEANING = ("vectors", "hybrid", "records-hybrid")
"""An embedding model alone, and its scores fused with those of the default and of records."""
MODES = (PEER, *RECIPES, RECORDS, *MEANING)


IMPORTER = "bench"
MOST_RECORDS = 100


def _offered(turn: Utterance, number: int) -> tuple[Draft, Origin]:
    """Return a turn as an import offers it: the speaker and what was shown are part of its text."""
    said = f"{' '.join(sorted(turn.speakers))}: {turn.text}" if turn.speakers else turn.text
    extra: dict[str, Any] = {"session_id": turn.session or "conversation", "turn_id": number}
    if turn.day is not None:
        extra["created_at"] = f"{turn.day}T12:00:00Z"
    return Draft(text=f"{said} {turn.caption}".strip(), extra=extra), Origin(actor="import", user_id=IMPORTER, taint=())


def by_records(dialogue: Dialogue, embedder: Embedder | None = None) -> Ranker:
    """Return long-term memory into which a conversation was imported; sessions are those of the turns found."""
    nearest = NearestIndex(embedder) if embedder else None
    archive = ArchivalStore(None, vectors=(lambda: nearest) if nearest else None)
    places: defaultdict[str | None, list[int]] = defaultdict(list)  # a record that merged several turns has several
    for place, decision in enumerate(archive.import_many(map(_offered, dialogue.turns, count()))):
        places[decision.id].append(place)
    archive.leaves_traces = False  # one question must not change the answers to the next

    def turns(query: str, today: date | None) -> list[int]:
        hits = archive.search(query, user_id=IMPORTER, k=MOST_RECORDS).hits
        return [place for hit in hits for place in places[hit.id]]

    def sessions(query: str, today: date | None) -> list[str]:
        return list(dict.fromkeys(dialogue.turns[place].session for place in turns(query, today)))

    return Ranker(turns, sessions)


def by_meaning(dialogue: Dialogue, embedder: Embedder) -> Ranker:
    """Return the nearest vectors by exhaustive comparison, so that no approximate index affects the result."""
    import numpy  # comes with the peer

    whole = _texts_of_sessions(dialogue)
    names = list(whole)
    of_turns = embedder.embed_batch([turn.text for turn in dialogue.turns])
    of_sessions = embedder.embed_batch(list(whole.values()))

    def nearest(query: str, vectors: Sequence[Sequence[float]]) -> list[int]:
        (asked,) = embedder.embed_batch([query])
        angles = (numpy.asarray(vectors) @ numpy.asarray(asked)).tolist() if vectors else []
        return sorted((place for place, angle in enumerate(angles) if angle > 0), key=lambda place: -angles[place])

    return Ranker(
        lambda query, today: nearest(query, of_turns),
        lambda query, today: [names[place] for place in nearest(query, of_sessions)],
    )


def ranker(mode: str, dialogue: Dialogue, embedder: Embedder | None = None) -> Ranker:
    """Return ``dialogue`` ready to be searched in ``mode``; those by meaning need an embedder."""
    if mode == PEER:
        return by_peer(dialogue)
    if mode in RECIPES:
        return by_recipe(dialogue, RECIPES[mode])
    if mode == RECORDS:
        return by_records(dialogue)
    if embedder is None:
        raise UsageError(f"{mode} needs a model: add --vectors FOLDER.")
    if mode == "records-hybrid":
        return by_records(dialogue, embedder)
    return by_meaning(dialogue, embedder) if mode == "vectors" else by_recipe(dialogue, Recipe(), embedder)


ALL = "all"
GRANULARITIES = ("turn", "session")
MakeRanker = Callable[[str, Dialogue], Ranker]


@dataclass(frozen=True)
class Row:
    """The result of one search mode for one type of question."""

    mode: str
    granularity: str
    """turn | session"""
    kind: str
    """A type of question, or ``all``."""
    questions: int
    recall: dict[int, float]
    """By k: the mean share of a question's evidence among the first k results."""
    mrr: float
    """The mean reciprocal rank of the first piece of evidence; 0 if none was found."""


@dataclass(frozen=True)
class Measurement:
    """All rows, and the numbers that they are based on."""

    rows: tuple[Row, ...]
    dialogues: int
    questions: int
    """Questions with evidence."""
    skipped: int
    """Questions without evidence, for which nothing can be recalled."""
    candidates: dict[str, int]
    """By granularity: the number of candidates, as the median over the questions."""


def measure(dialogues: Iterable[Dialogue], modes: Sequence[str], ks: Sequence[int], make: MakeRanker) -> Measurement:
    """Ask every question of every dialogue in every mode and return the measured rows."""
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
