"""Recall of single turns in talk that was written, among talk that was made: by stems, default, records, meaning.

``talk.txt`` and ``talk_later.txt`` have what two people write over two years and questions about it, most of which
need several turns or a name that another turn brings up. Each of their sessions is spread over one of forty made ones
(``tests/bench/conversations``). The peer of a row is what plain stems find. ``--vectors FOLDER`` adds a model as
``memkit bench retrieval`` takes it.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from table import print_rows

from memkit.bench.datasets import load_dataset
from memkit.bench.measure import Measurement, measure, ranker
from memkit.runtime.embeddings.local import LocalEmbedder

ROOT = Path(__file__).resolve().parents[1]
TALKS = {"talk": ("Dana", "Piet"), "talk_later": ("Nora", "Ellen")}
"""Files of written talk with who talks: the first was there when searches were tuned, the later one to report on."""
MADE = ("Ann", "Bob")
ALL, HOPS = "all", "several turns"
K = 10


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


def lines(seed: int, talk: str) -> Iterator[dict[str, Any]]:
    """Yield turns and questions: what was written stands among what is made by rule."""
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
        gap = len(turns) // (len(told) + 1)
        for at, turn in enumerate(turns):
            yield turn
            if told and at % gap == gap - 1 and at // gap < len(told):
                yield told[at // gap] | {"session": name}
    yield from questions


def measured(talk: str, seeds: int, modes: list[str], vectors: Path | None) -> Measurement:
    """Return what each way to search finds in the talk, with so many different ones around it."""
    embedder = LocalEmbedder(vectors) if vectors else None
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "talk.jsonl")
        told = (line | {"dialogue": str(seed)} for seed in range(seeds) for line in lines(seed, talk))
        path.write_text("\n".join(map(json.dumps, told)), encoding="utf-8")
        dialogues = load_dataset(path).dialogues
        return measure(dialogues, modes, [K], lambda mode, dialogue: ranker(mode, dialogue, embedder))


def main() -> None:
    """Print a row for each way to search and kind of question."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--vectors", type=Path, help="folder of an embedding model")
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    modes = ["stems", "default", "records", *(["hybrid"] if given.vectors else [])]
    rows = []
    for talk in TALKS:
        done = measured(talk, given.seeds, modes, given.vectors)
        found = {(row.mode, row.kind): row.recall[K] for row in done.rows if row.granularity == "turn"}
        rows += [
            {"case": f"{talk}: {mode}, {kind}", "ours": ours, "peer": peer, "ratio": ours / peer}
            for mode in modes
            for kind in (ALL, HOPS, "one turn")
            for ours, peer in [(found[mode, kind], found["stems", kind])]
        ]
    print_rows(rows, as_json=given.json)


if __name__ == "__main__":
    main()
