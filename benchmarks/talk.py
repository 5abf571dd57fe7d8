"""Recall of single turns in written talk, among generated talk: by stems, default, records, meaning.

``talk.txt`` and ``talk_later.txt`` contain two people's messages over two years and questions about them, most of which
need several turns or a name that another turn brings up. Each of their sessions is spread over one of forty generated
ones (``tests/bench/conversations``), which separates answers from questions, or included whole, as it was said.
``talk_long.txt`` is one dialogue by itself. The many topics are the decisions of this project. The peer of a row is
the result of plain stems. ``--vectors FOLDER`` adds a model as ``memkit bench retrieval`` takes it.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import sys
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from table import print_rows

from memkit.bench import Measurement, load_dataset, measure, ranker
from memkit.runtime.embeddings.local import LocalEmbedder

ROOT = Path(__file__).resolve().parents[1]
TALKS = {"talk": ("Dana", "Piet"), "talk_later": ("Nora", "Ellen")}
"""Files of written talk with their speakers: the first was there when searches were tuned, the later one reports."""
MADE = ("Ann", "Bob")
ALL, HOPS = "all", "several turns"
K, EVERY = 10, 100_000
"""The first results, and all."""
TOPICS = 6
"""Decisions in one session."""
FEWEST_WORDS = 5
"""A shorter paragraph is not a turn."""


def written(talk: str) -> tuple[list[list[dict[str, Any]]], list[dict[str, Any]]]:
    """Return the sessions that people wrote, and the questions about them."""
    sessions: list[list[dict[str, Any]]] = []
    questions: list[dict[str, Any]] = []
    at = ""
    for line in Path(__file__).with_name(f"{talk}.txt").read_text(encoding="utf-8").splitlines():
        if line.startswith("= "):
            at = line[2:]
            sessions.append([])
        elif line.startswith("? "):
            asked, _, numbers = line[2:].partition(" => ")
            evidence = [f"w{number}" for number in numbers.split()]
            kind = HOPS if len(evidence) > 1 else "one turn"
            questions.append({"question": asked, "evidence": evidence, "type": kind, "at": "2026-01-10"})
        elif said := re.fullmatch(r"(\d+) (\w+): (.+)", line):
            number, speaker, text = said.groups()
            sessions[-1].append({"turn": text, "id": f"w{number}", "speaker": speaker, "at": at})
    return sessions, questions


def lines(seed: int, talk: str, *, whole: bool = False) -> Iterator[dict[str, Any]]:
    """Yield turns and questions: the written talk among talk made by rule, spread over it or ``whole``."""
    sys.path.insert(0, str(ROOT / "tests" / "bench"))
    from conversations import conversations

    names = dict(zip(MADE, TALKS[talk], strict=True))
    made: dict[str, list[dict[str, Any]]] = {}
    for line in conversations(seed):
        if "turn" in line:
            text = re.sub("|".join(names), lambda name: names[name[0]], line["turn"])
            made.setdefault(line["session"], []).append(line | {"turn": text, "speaker": names[line["speaker"]]})
    sessions, questions = written(talk)
    step = len(made) // len(sessions)
    for place, (name, turns) in enumerate(made.items()):
        number, rest = divmod(place, step)
        told = sessions[number] if rest == 0 and number < len(sessions) else []
        gap = len(turns) // (2 if whole else len(told) + 1)
        parts = [told] if whole else [[one] for one in told]
        for at, turn in enumerate(turns):
            yield turn
            if at % gap == gap - 1 and at // gap < len(parts):
                yield from (one | {"session": name} for one in parts[at // gap])
    yield from questions


def many_topics(half: int) -> Iterator[dict[str, Any]]:
    """Yield the paragraphs of every other decision of this project as turns, six decisions a session, and their titles
    as questions, each answered by the paragraph that says what was decided.
    """
    pages = sorted((ROOT / "docs" / "decisions").glob("[0-9]*.md"))[half::2]
    random.Random(half).shuffle(pages)
    for place, page in enumerate(pages):
        number, at = place // TOPICS, f"2025-{1 + place // TOPICS:02}-06"
        # A list of decisions begins with the first of them.
        whole = re.sub(r"(\*\*Decision\.\*\*)\s+", r"\1 ", page.read_text(encoding="utf-8").strip())
        head, *parts = re.split(r"\n\s*\n|\n(?=- )", whole)
        for turn, part in enumerate(part for part in parts if len(part.split()) > FEWEST_WORDS):
            id, text = f"{page.stem}-{turn}", re.sub(r"\*\*[A-Z][a-z ]+\.\*\*\s*", "", part)
            yield {"turn": text, "id": id, "session": str(number), "speaker": ("Ann", "Bob")[turn % 2], "at": at}
            if part.startswith("**Decision.**"):
                title = head.splitlines()[0].partition(". ")[2]
                yield {"question": title, "evidence": [id], "type": "one turn", "at": "2026-01-10"}


def measured(given: Iterable[dict[str, Any]], modes: list[str], vectors: Path | None) -> Measurement:
    """Return what each search mode finds in dialogues, among the first results and among all."""
    embedder = LocalEmbedder(vectors) if vectors else None
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "talk.jsonl")
        path.write_text("\n".join(map(json.dumps, given)), encoding="utf-8")
        dialogues = load_dataset(path).dialogues
        return measure(dialogues, modes, [K, EVERY], lambda mode, dialogue: ranker(mode, dialogue, embedder))


def main() -> None:
    """Print a row for each search mode and kind of question."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--vectors", type=Path, help="folder of an embedding model")
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    modes = ["stems", "default", "records", *(["hybrid", "records-hybrid"] if given.vectors else [])]
    told: dict[str, Iterable[dict[str, Any]]] = {
        f"{talk}{', as it was said' if whole else ''}": [
            line | {"dialogue": str(seed)} for seed in range(given.seeds) for line in lines(seed, talk, whole=whole)
        ]
        for talk in TALKS
        for whole in (False, True)
    }
    sessions, questions = written("talk_long")
    told["one dialogue"] = [turn | {"session": str(at)} for at, one in enumerate(sessions) for turn in one] + questions
    told |= {f"many topics, half {half + 1}": many_topics(half) for half in range(2)}
    rows = []
    for name, dialogues in told.items():
        done = measured(dialogues, modes, given.vectors)
        found = {(row.mode, row.kind): row.recall for row in done.rows if row.granularity == "turn"}
        rows += [
            {
                "case": f"{name}: {mode}, {kind}",
                "ours": recall[K],
                "peer": (peer := found["stems", kind][K]),
                "ratio": recall[K] / peer,
            }
            for (mode, kind), recall in found.items()
        ]
        most = found["default", ALL][EVERY]
        rows.append(
            {
                "case": f"{name}: evidence that shares a word, or leads on by a name",
                "ours": most,
                "peer": 1.0,
                "ratio": most,
            }
        )
    print_rows(rows, as_json=given.json)


if __name__ == "__main__":
    main()
