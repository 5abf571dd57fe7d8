"""Measure relations: two-step questions with and without them, contradictions, facts drawn from talk, a large graph.

The questions, the contradicting pairs and the turns are in the text files beside this one. The peer of a
question is the same search by words alone; that of a time is its limit.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from datetime import date, timedelta
from pathlib import Path
from typing import Any
from unittest.mock import patch

from corpus import USER
from table import print_rows

from memkit.bench import BenchQuestion, Dialogue, measure, ranker
from memkit.runtime.memory.archive.archive import ArchivalStore
from memkit.runtime.memory.gate.contradictions import contradict
from memkit.runtime.memory.index.corpus import CorpusIndex
from memkit.runtime.memory.lifecycle.pieces import SaidTurn, by_rules, checked_pieces
from memkit.runtime.memory.record.record import Draft, Origin
from memkit.runtime.memory.tiers.conversation import Utterance
from memkit.runtime.memory.words.wording import content_words

FOLDER = Path(__file__).parent
World = tuple[list[str], list[tuple[str, str]]]
FIRST = ["Oskar", "Lena", "Bruna", "Timo", "Vera", "Hugo", "Ilse", "Nils", "Petra", "Quinn", "Rosa", "Sven", "Tilda"]
PLACES = ["Malmo", "Turin", "Brno", "Split", "Lille", "Cadiz", "Varna", "Tartu", "Aarhus", "Nantes"]
OPENINGS = ("", "", "Hey! ", "By the way, ", "You know what? ", "Oh, ")
SMALL_TALK = ("That is so good to hear.", "I know what you mean.", "We should do this again.", "What a week it was!")
FIRMS = ["Nordwind", "Veltex", "Orbis", "Kantor", "Pluvia", "Maxima", "Stellar", "Ondo"]


def worlds() -> list[World]:
    """Return the statements of each world in ``two_steps.txt``, and the questions with their answering statements."""
    found: list[World] = []
    for line in (FOLDER / "two_steps.txt").read_text(encoding="utf-8").splitlines():
        if line.startswith("= "):
            found.append(([], []))
        elif line.startswith("? "):
            asked, _, answer = line[2:].partition(" => ")
            found[-1][1].append((asked, answer))
        elif line and not line.startswith("#"):
            found[-1][0].append(line)
    return found


def neighbour(number: int) -> str:
    """Return one of many statements about strangers in the words that the questions use too."""
    who = f"{FIRST[number % len(FIRST)]} {chr(65 + number % 26)}erk{number}"
    return (
        f"{who} lives in {PLACES[number % len(PLACES)]}",
        f"{who} works for {FIRMS[number % len(FIRMS)]}",
        f"{who} is married to {FIRST[number * 7 % len(FIRST)]} Pell{number}",
        f"{who} studied at {PLACES[number * 3 % len(PLACES)]}",
    )[number % 4]


def answered(told: Sequence[str], asked: Sequence[tuple[str, str]]) -> int:
    """Return how many questions find their answer among the first five."""
    with ArchivalStore() as archive:
        for text in told:
            archive.offer(Draft(text), Origin("person", USER))
        found = ([hit.text for hit in archive.search(question, user_id=USER).hits] for question, _ in asked)
        return sum(answer in texts for texts, (_, answer) in zip(found, asked, strict=True))


def two_steps() -> Iterator[dict[str, Any]]:
    """Yield the share of two-step questions that are answered, with relations and by words alone."""
    told = [text for said, _ in worlds() for text in said]
    asked = [one for _, questions in worlds() for one in questions]
    strangers = [*map(neighbour, range(400))]
    cases: dict[str, Callable[[], int]] = {
        "each world by itself": lambda: sum(answered(*world) for world in worlds()),
        "all worlds told to one memory": lambda: answered(told, asked),
        "each among 400 strangers": lambda: sum(answered([*said, *strangers], some) for said, some in worlds()),
    }
    for case, count in cases.items():
        ours = count()
        with patch.object(CorpusIndex, "has_relations", lambda self: False):
            peer = count()
        shares = [round(100 * number / len(asked), 1) for number in (ours, peer)]
        yield _row(f"two-step questions answered, {len(asked)}, {case}, %", *shares)


def multi_hop() -> Iterator[dict[str, Any]]:
    """Yield how the same questions fare where Ada tells it in talk with Bob, among 150 strangers and small talk."""
    draws = random.Random(5)
    dialogues = []
    for said, asked in worlds():
        told = [*said, *(neighbour(draws.randrange(9999)) for _ in range(150))]
        draws.shuffle(told)
        turns: list[Utterance] = []
        for number, text in enumerate(told):
            day = date(2026, 1, 1) + timedelta(days=number // 8)
            words = (draws.choice(OPENINGS) + text + ".", draws.choice(SMALL_TALK))
            for who, spoken in zip(("ada", "bob"), words, strict=True):
                turns.append(Utterance(spoken, f"s{number // 8}", day, frozenset((who,))))
        questions = [
            BenchQuestion(re.sub(r"\b(?:did )?I\b", "Ada", re.sub(r"\b(?:my|our)\b", "Ada's", question)), "multi-hop",
                          frozenset((2 * told.index(answer),)), frozenset(), None)
            for question, answer in asked
        ]  # fmt: skip
        dialogues.append(Dialogue("", tuple(turns), tuple(questions)))
    rows = {row.mode: row for row in measure(dialogues, ("stems", "default", "records"), (5, 10), ranker).rows}
    for mode, name in (("default", "as turns"), ("records", "imported as records")):
        for k in (5, 10):
            ours, peer = (round(100 * rows[one].recall[k], 1) for one in (mode, "stems"))
            yield _row(f"the same told in talk, {name}, R@{k}, %", ours, peer)


def pairs() -> dict[str, list[tuple[str, str, str]]]:
    """Return, by set, the group, statement and contradiction of each line of ``contradictions.txt``."""
    found: dict[str, list[tuple[str, str, str]]] = {}
    for line in (FOLDER / "contradictions.txt").read_text(encoding="utf-8").splitlines():
        if line.startswith("= "):
            found[line[2:]] = []
        elif match := re.fullmatch(r"(\w+): (.+) \| (.+)", line):
            found[[*found][-1]].append((match[1], match[2], match[3]))
    return found


def contradictions() -> Iterator[dict[str, Any]]:
    """Yield how many contradicting pairs the wording reveals, and how many false ones it accuses."""
    sets = pairs()
    near = sets.pop("peace")
    for name, known in sets.items():
        seen = sum(contradict(one, other) for _, one, other in known)
        share = round(100 * seen / len(known), 1)
        yield _row(f"contradicting pairs found by rules, {name} set of {len(known)}, %", share, 80)
    beside = []
    for known in sets.values():
        said = [(group, text) for group, one, other in known for text in (one, other)]
        beside += [
            (text, other)
            for place, (group, text) in enumerate(said)
            for its_group, other in said[place + 1 :]
            if group != its_group and text.split()[0] == other.split()[0]
        ]
    alarms = sum(contradict(*pair) for pair in beside)
    yield _row(f"false alarms on {len(beside):,} neighbours, per 1,000", round(1000 * alarms / len(beside), 2), 1)
    yield _row(f"false alarms on {len(near)} that look alike", sum(contradict(*one[1:]) for one in near), None)


def natural_turns(name: str) -> list[tuple[str, list[str]]]:
    """Return the text of each line of a file, and the lasting facts in it."""
    lines = (FOLDER / name).read_text(encoding="utf-8").splitlines()
    parts = [line.partition(" =>") for line in lines if not line.startswith("#")]
    return [(said, [fact.strip() for fact in told.split(";") if fact.strip()]) for said, _, told in parts]


def by_model(said: str, told: Sequence[str]) -> list[str]:
    """Return the accepted facts of those that a model states in its own words, including some from other turns."""
    worded = [re.sub(r"^(?:I'm|I am|We're)\b", "The user is", one) for one in told]
    worded = [re.sub(r"^(?:My|Our)\b", "The user's", re.sub(r"^(?:I|We)\b", "The user", one)) for one in worded]
    answer = json.dumps({"pieces": [{"text": one, "turns": [1]} for one in worded]})
    return [piece.text for piece in checked_pieces(answer, [SaidTurn(1, said)]).pieces]


def drawn_facts() -> Iterator[dict[str, Any]]:
    """Yield the share of facts drawn from natural turns, by rules and by a model, and the wrong ones."""
    for path in sorted(FOLDER.glob("natural_turns*.txt")):
        name = path.name
        turns = natural_turns(name)
        count = sum(len(told) for _, told in turns)
        found = wrong = taken = lies = 0
        for place, (said, told) in enumerate(turns):
            wanted = [set(content_words(fact)) for fact in told]
            drawn = [set(content_words(piece.text)) for piece in by_rules([SaidTurn(1, said)]).pieces]
            found += sum(any(fact <= piece for piece in drawn) for fact in wanted)
            wrong += sum(not any(fact <= piece for fact in wanted) for piece in drawn)
            taken += len(by_model(said, told))
            lies += len(by_model(said, turns[(place + 7) % len(turns)][1]))
        case = f"{name}, {count} facts"
        yield _row(f"{case}: drawn of {len(turns)} turns by rules, %", round(100 * found / count, 1), 90)
        yield _row(f"{case}: wrong ones among them", wrong, 0)
        yield _row(f"{case}: taken of a faithful model, %", round(100 * taken / count, 1), 90)
        yield _row(f"{case}: taken of a lying model, of another's turn, %", round(100 * lies / count, 1), 0)


def large_graph(count: int) -> Iterator[dict[str, Any]]:
    """Yield the time of a step, a path and a rebuild in a graph of ``count`` relations."""
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        _write(root, count)
        with ArchivalStore(root) as archive:
            started = time.process_time()
            archive.rebuild()
            rebuilt = time.process_time() - started
            draws = random.Random(3)
            some = [f"Person{draws.randrange(count // 3)}" for _ in range(60)]
            steps = _times(lambda name: archive.relation_graph(USER, around=name), some)
            way = _times(lambda name: archive.relation_graph(USER, between=(name, "Person5")), some[:20])
            asked = _times(lambda name: archive.search(f"where does {name}'s boss live?", user_id=USER), some)
    yield _row(f"graph of {count:,} relations: one step, ms", steps, 5)
    yield _row(f"graph of {count:,} relations: the way between two, ms", way, 100)
    yield _row(f"graph of {count:,} relations: a search with relations, ms", asked, None)
    yield _row(f"graph of {count:,} relations: rebuild of the index, s", round(rebuilt, 1), 30)


def many_names(count: int) -> Iterator[dict[str, Any]]:
    """Yield the time of a step, a path and a question around one person with ``count`` other names."""
    told = [("Maria", "is also called", f"Alias{number}") for number in range(count)]
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        _write_told(root, [*told, ("Maria", "works for", "Galp"), ("Galp", "makes", "fuel")])
        with ArchivalStore(root) as archive:
            archive.rebuild()
            some = [f"Alias{number}" for number in range(0, count, count // 20)]
            steps = _times(lambda name: archive.relation_graph(USER, around=name), ["Maria", *some])
            way = _times(lambda name: archive.relation_graph(USER, between=(name, "fuel")), some)
            asked = _times(lambda name: archive.search(f"what does {name}'s employer make?", user_id=USER), some)
    yield _row(f"one person of {count:,} other names: one step, ms", steps, 5)
    yield _row(f"one person of {count:,} other names: the way to what her employer makes, ms", way, 100)
    yield _row(f"one person of {count:,} other names: a question that needs both, ms", asked, None)


def _times(ask: Callable[[str], object], names: Sequence[str]) -> float:
    ask(names[0])
    taken = []
    for name in names:
        started = time.process_time()
        ask(name)
        taken.append(time.process_time() - started)
    return round(statistics.median(taken) * 1e3, 2)


def _write(root: Path, count: int) -> None:
    """Write ``count`` relations between people, firms and places as a shard of records."""
    draws = random.Random(7)
    people = count // 3
    told = []
    for number in range(count):
        verb, other = (
            ("reports to", f"Person{draws.randrange(people)}"),
            ("works for", f"Firm{draws.randrange(people // 20 + 1)}"),
            ("lives in", f"Place{draws.randrange(people // 20 + 1)}"),
        )[number // people % 3]
        told.append((f"Person{number % people}", verb, other))
    _write_told(root, told)


def _write_told(root: Path, told: Sequence[tuple[str, str, str]]) -> None:
    """Write relations as a shard of records."""
    folder = root / "archive" / "2026-01"
    folder.mkdir(parents=True)
    with (folder / "bench.jsonl").open("w", encoding="utf-8") as shard:
        for number, (who, verb, other) in enumerate(told):
            data = {
                "about": [who, other], "actor": "person", "created_at": "2026-01-01T00:00:00.000000Z",
                "id": f"01KDVM0000{number:016d}", "relation": {"object": other, "predicate": verb, "subject": who},
                "text": f"{who} {verb} {other}", "trust": "verified", "user_id": USER,
            }  # fmt: skip
            shard.write(json.dumps(data, sort_keys=True, separators=(",", ":")) + "\n")


def _row(case: str, ours: float, peer: float | None) -> dict[str, Any]:
    ratio = round(ours / peer, 2) if peer else None
    return {"case": case, "ours": ours, "peer": peer, "ratio": ratio}


def main() -> None:
    """Print one row per case."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--relations", type=int, default=100_000)
    options = parser.parse_args()
    rows = [*two_steps(), *multi_hop(), *contradictions(), *drawn_facts(), *large_graph(options.relations)]
    rows += many_names(options.relations // 10)
    print_rows(rows, as_json=options.json)


if __name__ == "__main__":
    main()
