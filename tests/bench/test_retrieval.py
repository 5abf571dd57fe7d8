"""``memkit bench retrieval``: figures that can be checked by hand, on files that people have."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from datetime import date
from pathlib import Path
from random import Random
from typing import Any

import pytest
from conversations import conversations

from memkit.bench import (
    MEANING,
    MODES,
    RECIPES,
    RECORDS,
    BenchQuestion,
    Dialogue,
    load_dataset,
    measure,
    ranker,
)
from memkit.cli import bench as command
from memkit.cli.main import run
from memkit.runtime.memory.tiers.conversation import Recipe, Utterance

Bench = Callable[..., dict[str, Any]]
WORDED = [mode for mode in MODES if mode not in (RECORDS, *MEANING)]

LOCOMO = [
    {
        "sample_id": "conv-1",
        "conversation": {
            "speaker_a": "Ann",
            "speaker_b": "Bob",
            "session_1_date_time": "1:56 pm on 8 May, 2023",
            "session_1": [
                {"speaker": "Ann", "dia_id": "D1:1", "text": "I adopted two cats"},
                {"speaker": "Bob", "dia_id": "D1:2", "text": "Look!", "img_url": ["x"], "blip_caption": "a red kayak"},
            ],
            "session_2_date_time": "9:05 am on 1 June, 2023",
            "session_2": [{"speaker": "Bob", "dia_id": "D2:1", "text": "Yesterday I sold the boat"}],
            "session_3_date_time": "9:05 am on 2 June, 2023",
        },
        "qa": [
            {"question": "What did Ann adopt?", "answer": "cats", "evidence": ["D1:1"], "category": 4},
            {"question": "What happened on 31 May 2023?", "answer": "x", "evidence": ["D2:1; D9:9"], "category": 2},
            {"question": "Which kayak?", "answer": 1, "evidence": ["D1:02", "D"], "category": 3},
            {"question": "Nothing?", "evidence": [], "adversarial_answer": "no", "category": 5},
        ],
    }
]
LONGMEMEVAL = [
    {
        "question_id": "q1",
        "question_type": "single-session-user",
        "question": "Which instrument do I play?",
        "answer": "guitar",
        "question_date": "2023/06/01 (Thu) 10:00",
        "haystack_dates": ["2023/05/20 (Sat) 02:36", "2023/05/21 (Sun) 02:36"],
        "haystack_session_ids": ["a", "b"],
        "haystack_sessions": [
            [{"role": "user", "content": "I play an instrument, the guitar", "has_answer": True}],
            [{"role": "assistant", "content": "The weather is fine"}],
        ],
        "answer_session_ids": ["a"],
    }
]
LINES = [
    {"turn": "I adopted two cats", "id": "t1", "session": "s1", "speaker": "Ann", "at": "2026-03-14"},
    {"turn": "The boat is sold", "id": "t2", "session": "s2"},
    {"question": "Who adopts cats?", "evidence": ["t1", "t2"], "type": "both"},
    {"question": "And the boat?", "evidence": ["t2"]},
]


@pytest.fixture
def bench(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Bench:
    """Return a function that writes a file, measures on it and returns the envelope."""

    def measured(content: Any, *options: str, code: int = 0) -> dict[str, Any]:
        path = tmp_path / "conversations"
        path.write_bytes(content if isinstance(content, bytes) else as_file(content))
        assert run(["bench", "retrieval", str(path), "--json", *options]) == code
        envelope: dict[str, Any] = json.loads(capsys.readouterr().out)
        return envelope

    return measured


def as_file(content: Any) -> bytes:
    """Return lines as JSON lines, and a list with nested parts as one JSON document."""
    if any("turn" in entry for entry in content):
        return "\n".join(json.dumps(line) for line in content).encode()
    return json.dumps(content, indent=1).encode()


def overall(envelope: dict[str, Any], mode: str, granularity: str = "turn", kind: str = "all") -> dict[str, Any]:
    """Return one row."""
    rows = envelope["data"]["rows"]
    return next(row for row in rows if (row["mode"], row["granularity"], row["type"]) == (mode, granularity, kind))


def test_long_talk_of_many_topics_is_searched_no_worse_than_by_stems(bench: Bench) -> None:
    """What a long turn, or a long session, is about besides the question counts little beside it."""
    random = Random(7)
    things = [
        f"{a}{b}" for a in ("kal", "mor", "tin", "sel", "dor", "vek") for b in ("una", "ipo", "esk", "ard", "olm")
    ]
    lines: list[dict[str, Any]] = []
    for number, thing in enumerate(things):
        # Each answer speaks of its own thing at length, and of others in passing, as long answers do.
        said = [thing, "works", "like", "this"] * 3 + random.choices(things, k=60)
        lines.append({"turn": "And the next one?", "id": f"a{number}", "session": "one", "speaker": "user"})
        lines.append({"turn": " ".join(said), "id": f"b{number}", "session": "one", "speaker": "assistant"})
    lines += [{"question": f"How does {thing} work?", "evidence": [f"b{n}"]} for n, thing in enumerate(things)]

    envelope = bench(lines, "--k", "1,5")

    for k in ("1", "5"):
        assert overall(envelope, "default")["recall"][k] >= overall(envelope, "stems")["recall"][k]


def test_imported_turns_are_found_by_what_was_said_beside_them(bench: Bench) -> None:
    """As records too an answer that shares no word with the question is found beside what does."""
    lines = [
        {"turn": "Where will you take the kayak?", "id": "q", "session": "s1", "speaker": "Bob"},
        {"turn": "Up north, over the pass", "id": "a", "session": "s1", "speaker": "Ann"},
        {"turn": "Lunch was good today", "id": "x", "session": "s2", "speaker": "Bob"},
        {"question": "Where does the kayak go?", "evidence": ["a"]},
    ]

    envelope = bench(lines, "--mode", "records", "--k", "2")

    assert overall(envelope, "records")["recall"]["2"] == 1.0


def test_imported_talk_is_walked_by_what_its_speakers_say_of_themselves(bench: Bench) -> None:
    """Ann's "my sister" is Ann's, and what her employer makes shares no word with the question."""
    idle = ("The weather is no help.", "Did you see the match?", "We should cook again.", "My head hurts a little.")
    lines = [
        {"turn": f"{text} So much for {session}.", "id": f"{session}{n}", "session": session, "speaker": who}
        for session in ("s1", "s2", "s3")
        for n, (text, who) in enumerate(zip(idle, ("Bob", "Ann") * 2, strict=True))
    ]
    lines += [
        {"turn": "Hey! My sister Ines works for Orbis.", "id": "a", "session": "s1", "speaker": "Ann"},
        {"turn": "My sister Vera works for Kantor.", "id": "b", "session": "s1", "speaker": "Bob"},
    ]
    lines.append({"turn": "By the way, Orbis makes kites.", "id": "c", "session": "s3", "speaker": "Bob"})
    lines.append({"turn": "Kantor makes clocks.", "id": "d", "session": "s2", "speaker": "Ann"})
    lines.append({"question": "What does the employer of Ann's sister produce?", "evidence": ["c"]})

    assert overall(bench(lines, "--mode", "records", "--k", "3"), "records")["recall"]["3"] == 1.0


@pytest.mark.parametrize("mode", ["default", "records"])
def test_what_is_told_of_a_name_is_found_through_what_brings_the_name(bench: Bench, mode: str) -> None:
    """A question that knows a person by their part in one session finds what another session says of them."""
    idle = ("The weather is no help.", "Did you see the match?", "We should cook again.", "My head hurts a little.")
    lines = [
        {"turn": f"{text} So much for {session}.", "id": f"{session}{n}", "session": session, "speaker": "Bob"}
        for session in ("s1", "s2", "s3")
        for n, text in enumerate(idle)
    ]
    for place, text in ((2, "I met a woman called Imke at the pottery class"), (10, "Today Imke drove the ambulance")):
        lines[place] |= {"turn": text, "speaker": "Ann"}
    lines.append({"question": "What does the woman from the pottery class drive for a living?", "evidence": ["s32"]})
    lines.append({"question": "Who was at the pottery class, and what else of her?", "evidence": ["s12", "s32"]})

    envelope = bench(lines, "--mode", mode, "--k", "5")

    assert overall(envelope, mode)["recall"]["5"] == 1.0


@pytest.mark.parametrize("seed", [7, 8, 9])
def test_every_ingredient_helps_and_the_default_is_best(bench: Bench, seed: int) -> None:
    """On conversations that need them, each ingredient finds its kind of answer better, and nothing beats them all."""
    envelope = bench(conversations(seed))
    score = {mode: overall(envelope, mode)["mrr"] for mode in WORDED}
    recall = {mode: overall(envelope, mode)["recall"]["5"] for mode in WORDED}

    assert list(score.values()) == sorted(score.values())
    assert recall["default"] == max(recall.values())
    assert recall["rank_bm25"] == min(recall.values())
    for mode, before, kind in [
        ("words", "rank_bm25", "form"), ("stop-words", "words", "date"), ("stems", "stop-words", "form"),
        ("dates", "stems", "date"), ("neighbours", "dates", "answer"), ("speaker", "neighbours", "speaker"),
        ("captions", "speaker", "picture"), ("captions", "speaker", "relative"), ("sessions", "captions", "session"),
        ("default", "sessions", "name"),
    ]:  # fmt: skip
        better, worse = (overall(envelope, name, kind=kind)["mrr"] for name in (mode, before))
        assert better > worse, f"{mode} does not help with {kind}: {better} after {worse}"


def test_the_default_mode_is_what_conversation_search_does() -> None:
    """What is measured as the default is the recipe that memory uses."""
    assert RECIPES["default"] == Recipe()
    assert command.MODES == MODES


def test_recall_and_rank_are_what_they_say(bench: Bench) -> None:
    """Recall is the share of a question's evidence in the first k, MRR the mean of one over the first one's rank."""
    turns = tuple(Utterance(f"turn {number}", f"s{number // 2}") for number in range(6))
    asked = (
        BenchQuestion("a", "one", frozenset({0, 3}), frozenset({"s0", "s1"})),
        BenchQuestion("b", "two", frozenset({5})),
        BenchQuestion("c", "two"),
    )  # fmt: skip

    class Fixed:
        def turns(self, query: str, today: date | None) -> list[int]:
            return {"a": [4, 0, 1, 2, 3], "b": [0, 1]}[query]

        def sessions(self, query: str, today: date | None) -> list[str]:
            return ["s1", "s2"]

    done = measure([Dialogue("d", turns, asked)], ["m"], [2, 5], lambda mode, dialogue: Fixed())
    rows = {(row.granularity, row.kind): row for row in done.rows}

    assert (done.questions, done.skipped, done.candidates) == (2, 1, {"turn": 6, "session": 3})
    assert (rows["turn", "one"].recall, rows["turn", "one"].mrr) == ({2: 0.5, 5: 1.0}, 0.5)
    assert (rows["turn", "two"].recall, rows["turn", "two"].mrr) == ({2: 0.0, 5: 0.0}, 0.0)
    assert (rows["turn", "all"].recall, rows["turn", "all"].mrr) == ({2: 0.25, 5: 0.5}, 0.25)
    assert (rows["session", "all"].recall, rows["session", "all"].mrr) == ({2: 0.5, 5: 0.5}, 1.0)


def test_locomo_is_read_as_published(bench: Bench) -> None:
    """Dates, captions and speakers are taken over; evidence that leads nowhere, or is not there, is passed over."""
    envelope = bench(LOCOMO, "--k", "1")
    data = envelope["data"]

    assert (data["format"], data["dialogues"], data["questions"], data["skipped"]) == ("locomo", 1, 3, 1)
    assert {row["type"] for row in data["rows"]} == {"all", "single-hop", "temporal", "inference"}
    assert overall(envelope, "default")["recall"] == {"1": 1.0}
    assert overall(envelope, "stems")["recall"]["1"] < 1.0
    assert data["sha256"] == hashlib.sha256(as_file(LOCOMO)).hexdigest()
    assert [finding["code"] for finding in envelope["diagnostics"]] == ["few_candidates"] * 2


def test_longmemeval_is_read_as_published(bench: Bench) -> None:
    """Each question has its own sessions; what holds the answer is marked turn by turn and by session."""
    envelope = bench(LONGMEMEVAL, "--mode", "default")

    assert (envelope["data"]["format"], envelope["data"]["candidates"]) == ("longmemeval", {"turn": 2, "session": 2})
    assert overall(envelope, "default", kind="single-session-user")["mrr"] == 1.0
    assert overall(envelope, "default", "session")["mrr"] == 1.0


def test_own_lines_are_read(bench: Bench) -> None:
    """One turn or question a line, in any order, with as much as people have."""
    envelope = bench(LINES[::-1], "--k", "1,2")

    assert envelope["data"]["k"] == [1, 2]
    assert overall(envelope, "stems", kind="both")["recall"] == {"1": 0.5, "2": 0.5}
    assert overall(envelope, "default", kind="other")["recall"]["1"] == 1.0


def broken(lines: list[dict[str, Any]], number: int, **changed: Any) -> bytes:
    """Return lines with one of them changed; None takes a key away."""
    line = {key: value for key, value in (lines[number] | changed).items() if value is not None}
    return as_file([*lines[:number], line, *lines[number + 1 :]])


@pytest.mark.parametrize(
    ("content", "line", "said"),
    [
        (b"", None, "nothing to recall"),
        (b"[]", 1, "empty"),
        (b"[1]", 1, "expected an object"),
        (b'[{"conversation":\n {}, "qa":\n [}]}]', 3, "not JSON"),
        (b"[" * 100_000, 1, "nested"),
        (b'\n\n[\n{"other": 1}]', 4, "not a known benchmark"),
        (b"\n\xff", 2, "not UTF-8"),
        (b'{"turn": "a", "id": "x"}\n{"turn"', 2, "not JSON"),
        (b'{"turn": "a", "id": "x"}\n[]', 2, "expected an object"),
        (b'{"neither": 1}', 1, "neither a 'turn' nor a 'question'"),
        (broken(LINES, 1, id="t1"), 2, "duplicate id"),
        (broken(LINES, 1, id=None), 2, "id: it is missing"),
        (broken(LINES, 0, at="2026-02-30"), 1, "not a valid date"),
        (broken(LINES, 0, at="soon"), 1, "not a known date format"),
        (broken(LINES, 3, evidence=["t9"]), 4, "no turn 't9'"),
        (broken(LINES, 3, evidence="t1"), 4, "expected a list"),
        (broken(LINES, 3, dialogue="elsewhere"), 4, "has no turns"),
        (json.dumps([LOCOMO[0] | {"qa": [{"question": 3}]}]).encode(), 1, "qa[0].question: expected a string"),
        (json.dumps([LONGMEMEVAL[0] | {"haystack_dates": []}]).encode(), 1, "differ in length"),
        (as_file(LINES[:2]), None, "nothing to recall"),
    ],
)  # fmt: skip
def test_a_malformed_file_is_bad_input_with_its_line(bench: Bench, content: bytes, line: int | None, said: str) -> None:
    """Exit 2, the line, and what is wrong there."""
    (finding,) = bench(content, code=2)["diagnostics"]

    assert said in finding["message"]
    assert finding["line"] == line


@pytest.mark.parametrize("option", [("--k", "0"), ("--k", "5,x"), ("--k", ""), ("--mode", "stem")])
def test_bad_options_are_bad_usage(bench: Bench, option: tuple[str, str]) -> None:
    """A misspelt mode is answered with the nearest."""
    (finding,) = bench(LINES, *option, code=2)["diagnostics"]

    assert "--k" in finding["message"] or "Did you mean 'stems'" in finding["message"]


def test_a_person_reads_a_table(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Without --json: the file and its digest, what there was to choose from, one row a mode and type."""
    path = tmp_path / "lines"
    path.write_bytes(as_file(LINES))
    assert run(["bench", "retrieval", str(path)]) == 0

    shown = capsys.readouterr().out
    assert hashlib.sha256(as_file(LINES)).hexdigest() in shown
    assert "candidates per question: 2 turns, 2 sessions" in shown
    assert "warning: k=5 of 2 candidate turns" in shown
    assert shown.splitlines()[3].split() == ["by", "mode", "type", "questions", "R@5", "R@10", "MRR"]


def test_a_dialogue_without_words_is_searched(tmp_path: Path) -> None:
    """Turns without any word are no error, in any mode."""
    path = tmp_path / "lines"
    path.write_bytes(as_file([{"turn": "", "id": "a"}, {"question": "x", "evidence": ["a"]}]))
    (dialogue,) = load_dataset(path).dialogues

    assert all(ranker(mode, dialogue).turns("x", None) == [] for mode in WORDED)
    assert all(ranker(mode, dialogue).sessions("x", None) == [] for mode in WORDED)
