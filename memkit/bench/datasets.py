"""Load a conversation benchmark from a local file: LoCoMo, LongMemEval, or memkit's own JSON lines.

LoCoMo (Maharana et al. 2024) is a list of dialogues with turns ``D1:3`` and questions that name them. LongMemEval
(Wu et al. 2025) is a list of questions, each with sessions of its own. JSON lines hold one turn or question each::

    {"turn": "I adopted two cats", "id": "t1", "session": "s1", "speaker": "Ann", "at": "2026-03-14"}
    {"question": "What did Ann adopt in March?", "evidence": ["t1"], "type": "date", "at": "2026-11-21"}

Further keys of a turn: ``caption`` (what its picture shows); of either: ``dialogue``, where a file holds several.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import date, datetime
from pathlib import Path
from typing import Any

from memkit.errors import UsageError
from memkit.runtime.memory.tiers.conversation import Utterance
from memkit.runtime.memory.words.text import words


@dataclass(frozen=True)
class BenchQuestion:
    """Something asked about a dialogue, with where the answer stands."""

    text: str
    kind: str
    """The benchmark's own type of question."""
    turns: frozenset[int] = frozenset()
    """Places of the turns that hold the answer."""
    sessions: frozenset[str] = frozenset()
    """Names of the sessions that hold it."""
    today: date | None = None
    """The day on which it is asked."""


@dataclass(frozen=True)
class Dialogue:
    """Turns in the order they were said, and what is asked about them."""

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
    """Where in a file a value stands: the line of its dialogue or entry, and the way to it from there."""

    path: Path
    line: int
    way: str = ""

    def __truediv__(self, step: str | int) -> FilePlace:
        return FilePlace(self.path, self.line, f"{self.way}[{step}]" if isinstance(step, int) else f"{self.way}.{step}")

    def wrong(self, message: str) -> UsageError:
        """Return the error that says what is wrong here."""
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
    """Return the text under ``key``; without a default it must be there."""
    value = data.get(key, default)
    if value is None and default is not None:
        return default
    if not isinstance(value, str):
        raise (place / key).wrong("expected a text." if key in data else "it is missing.")
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
        raise place.wrong(f"{value!r:.40} is no day of the calendar.") from None
    for form in DAY_FORMATS:
        try:
            return datetime.strptime(value.strip(), form).date()
        except ValueError:
            continue
    raise place.wrong(f"{value!r:.40} is no date that memkit can read. Write 2026-11-21.")


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
    raise place.wrong("no known benchmark: LoCoMo has 'conversation' here, LongMemEval 'haystack_sessions'.")


def _elements(path: Path, content: str) -> Iterator[tuple[Any, FilePlace]]:
    """Yield the elements of the list that is the whole file, one at a time, with the lines they begin on."""
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
        # Some ids in the published file are joined by semicolons or lead nowhere; what can be read counts.
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
                raise place.wrong(f"the id {id!r:.40} was used before.")
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
