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
from pathlib import Path
from typing import Any

from memkit.bench import checking
from memkit.bench.checking import Place
from memkit.bench.interface import Dataset, Dialogue, Question
from memkit.errors import UsageError
from memkit.runtime.memory.tiers.conversation import Utterance
from memkit.runtime.memory.words.text import words

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
    first, place = next(_elements(path, content), (None, Place(path, 1)))
    if first is None:
        raise place.wrong("the list is empty.")
    data_of_first = checking.mapping(first, place)
    for name, (key, read) in FORMATS.items():
        if key in data_of_first:
            return Dataset(name, digest, (read(element, place) for element, place in _elements(path, content)))
    raise place.wrong("no known benchmark: LoCoMo has 'conversation' here, LongMemEval 'haystack_sessions'.")


def _elements(path: Path, content: str) -> Iterator[tuple[Any, Place]]:
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
        yield element, Place(path, line)


def _locomo(element: Any, place: Place) -> Dialogue:
    sample = checking.mapping(element, place)
    spoken = checking.mapping(sample.get("conversation"), place / "conversation")
    turns: list[Utterance] = []
    numbers: dict[tuple[int, int], int] = {}
    sessions = sorted((int(match[1]), name) for name in spoken if (match := SESSION.fullmatch(name)))
    for _, name in sessions:
        day = checking.day(spoken.get(f"{name}_date_time"), place / "conversation" / f"{name}_date_time")
        for entry, where in checking.items(spoken[name] or [], place / "conversation" / name):
            turn = checking.mapping(entry, where)
            stated = TURN_ID.fullmatch(checking.text(turn, "dia_id", where))
            if stated:
                numbers[int(stated[1]), int(stated[2])] = len(turns)
            speakers = frozenset(words(checking.text(turn, "speaker", where)))
            caption = checking.text(turn, "blip_caption", where, "")
            turns.append(Utterance(checking.text(turn, "text", where, ""), name, day, speakers, caption))
    last = turns[-1].day if turns else None
    questions = []
    for entry, where in checking.items(sample.get("qa"), place / "qa"):
        asked = checking.mapping(entry, where)
        # Some ids in the published file are joined by semicolons or lead nowhere; what can be read counts.
        named = [TURN_ID.findall(str(one)) for one in asked.get("evidence") or ()]
        places = frozenset(numbers[a, b] for pairs in named for a, b in _pairs(pairs) if (a, b) in numbers)
        kind = LOCOMO_KINDS.get(asked.get("category", 0), "other")
        questions.append(
            Question(checking.text(asked, "question", where), kind, places, _sessions(turns, places), last)
        )
    return Dialogue(str(sample.get("sample_id", "")), tuple(turns), tuple(questions))


def _pairs(found: list[tuple[str, str]]) -> Iterator[tuple[int, int]]:
    return ((int(session), int(turn)) for session, turn in found)


def _longmemeval(element: Any, place: Place) -> Dialogue:
    asked = checking.mapping(element, place)
    names = [str(name) for name, _ in checking.items(asked.get("haystack_session_ids"), place / "haystack_session_ids")]
    dates = [given for given, _ in checking.items(asked.get("haystack_dates"), place / "haystack_dates")]
    turns: list[Utterance] = []
    evidence: set[int] = set()
    sessions = list(checking.items(asked.get("haystack_sessions"), place / "haystack_sessions"))
    if not len(sessions) == len(names) == len(dates):
        raise place.wrong("haystack_sessions, haystack_session_ids and haystack_dates differ in length.")
    for (session, where), name, given in zip(sessions, names, dates, strict=True):
        day = checking.day(given, place / "haystack_dates")
        for entry, spot in checking.items(session, where):
            turn = checking.mapping(entry, spot)
            if turn.get("has_answer") is True:
                evidence.add(len(turns))
            role = checking.text(turn, "role", spot)
            speakers = frozenset({"i", "me", "my", "user"} if role == "user" else {"you", "your", role})
            turns.append(Utterance(checking.text(turn, "content", spot), name, day, speakers))
    question = Question(
        checking.text(asked, "question", place),
        checking.text(asked, "question_type", place, "other"),
        frozenset(evidence),
        frozenset(map(str, asked.get("answer_session_ids") or ())) & set(names),
        checking.day(asked.get("question_date"), place / "question_date"),
    )
    return Dialogue(checking.text(asked, "question_id", place, ""), tuple(turns), (question,))


def _read_lines(path: Path, content: str) -> Iterator[Dialogue]:
    turns: dict[str, list[Utterance]] = {}
    numbers: dict[str, dict[str, int]] = {}
    asked: list[tuple[str, Mapping[str, Any], Place]] = []
    for number, line in enumerate(content.split("\n"), 1):
        if not line.strip():
            continue
        place = Place(path, number)
        try:
            entry = checking.mapping(json.loads(line), place)
        except (json.JSONDecodeError, RecursionError) as error:
            raise place.wrong(f"not JSON: {getattr(error, 'msg', 'nested too deeply')}.") from None
        dialogue = checking.text(entry, "dialogue", place, "")
        if "question" in entry:
            asked.append((dialogue, entry, place))
        elif "turn" in entry:
            known = numbers.setdefault(dialogue, {})
            if (id := checking.text(entry, "id", place)) in known:
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


def _turn(entry: Mapping[str, Any], place: Place) -> Utterance:
    return Utterance(
        checking.text(entry, "turn", place),
        checking.text(entry, "session", place, ""),
        checking.day(entry.get("at"), place / "at"),
        frozenset(words(checking.text(entry, "speaker", place, ""))),
        checking.text(entry, "caption", place, ""),
    )


def _question(entry: Mapping[str, Any], place: Place, turns: list[Utterance], numbers: Mapping[str, int]) -> Question:
    ids = [str(id) for id, _ in checking.items(entry.get("evidence"), place / "evidence")]
    lost = next((id for id in ids if id not in numbers), None)
    if lost is not None:
        raise (place / "evidence").wrong(f"there is no turn {lost!r:.40} in this dialogue.")
    places = frozenset(numbers[id] for id in ids)
    kind, asked_on = checking.text(entry, "type", place, "other"), checking.day(entry.get("at"), place / "at")
    return Question(checking.text(entry, "question", place), kind, places, _sessions(turns, places), asked_on)


def _sessions(turns: list[Utterance], places: frozenset[int]) -> frozenset[str]:
    return frozenset(turns[place].session for place in places)


FORMATS = {"locomo": ("conversation", _locomo), "longmemeval": ("haystack_sessions", _longmemeval)}
