# ruff: noqa: SIM905 (lists of words read better as text)
"""How often the record that a user's words need is in the prompt without a tool call, with 5, 50 and 500 records.

Each dialogue is a memory of facts about people, places, work and tastes, and questions and remarks that need one of
them. A remark never repeats the fact: it shares a name, a thing or another form of a word, and with many records the
same name or thing is in many. The figure is the share of remarks whose record the model was shown. The second
figure is for remarks that need nothing: the share for which nothing was shown.
"""

from __future__ import annotations

import argparse
import random
from collections.abc import Sequence
from itertools import product
from pathlib import Path
from typing import NamedTuple

from table import print_rows

from memkit.runtime.embeddings.local import LocalEmbedder
from memkit.runtime.embeddings.nearest import NearestIndex
from memkit.runtime.loop.core import AgentConfig, AgentLoop, Tools, VirtualContextMemory
from memkit.runtime.loop.interface import Completion, Message, ToolSpec
from memkit.runtime.memory.main import ArchivalStore, Draft, MainContext, MemoryTools, Origin

SIZES = {5: 0.95, 50: 0.90, 500: 0.85}
"""Number of records, and the share to be reached."""
NAMES = (
    "Lena Omar Priya Jonas Mei Tomas Aisha Felix Noor Greta Ivan Yuki Carla Bruno Dalia Emil Farah Hugo Ines Karim "
    "Luis Marta Nils Olga Pablo Rosa Samir Tilda Viktor Wanda"
).split()  # fmt: skip
PLACES = (
    "Lisbon Oslo Naples Porto Ghent Turin Cork Basel Lyon Graz Vigo Bari Delft Riga Split Kyoto Quito Perth".split()
)
FOODS = "peanuts shellfish mushrooms celery lentils sesame almonds oysters mango cheese aubergine garlic".split()
THINGS = "kayak violin bicycle lantern telescope loom kettle saddle easel drone compass hammock ukulele tent".split()
PROJECTS = "Atlas Beacon Cobalt Dune Ember Fjord Garnet Harbor Indigo Juniper Keystone Lattice".split()
DAYS = "Monday Tuesday Wednesday Thursday Friday Saturday".split()
KINDS: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("{name} is allergic to {food}", ("Which allergies does {name} have?", "Does {name} have an allergy to {food}?")),
    ("{name} moved to {place} last year", ("Where did {name} move?", "Who do I know that moved to {place}?")),
    ("I lent my {thing} to {name}", ("Whom did I lend the {thing}, who was lent it?", "What did {name} get lent?")),
    ("The deadline of project {project} is the {number}th", ("When is {project} due, what is its deadline?",)),
    ("{name} leads project {project}", ("Who is the lead of {project}?", "Which project is {name} leading?")),
    ("I meet {name} each {day} for tennis", ("What day is tennis with {name}?", "Whom do I meet for tennis on {day}?")),
    ("The {thing} needs a repair, the shop in {place} does it", ("Which shop repairs the {thing}?",)),
    ("{name} prefers trains to planes when travelling to {place}", ("How would {name} rather travel to {place}?",)),
    ("My flight to {place} leaves from gate {number}", ("What is the gate of my {place} flight?",)),
    ("{name}'s birthday gift was a {thing}", ("What gift did {name} get for the birthday?",)),
    ("The wifi of the flat in {place} is called {thing}{number}", ("How is the wifi called in the {place} flat?",)),
    ("{name} teaches {thing} lessons on {day}", ("When does {name} give {thing} lessons, who is the teacher?",)),
)  # fmt: skip
WRITTEN = ("remarks", "remarks_later")
"""Files of people's notes, and what they say when they need them; at most half of a memory comes from one of these.

The later one was written when recall was finished.
"""
IDLE = (
    "Thanks, that was all.", "Write me a limerick with seagulls in it.", "What is seventeen times twelve?",
    "Translate 'good evening' into Finnish.", "Explain photosynthesis in one sentence.",
)  # fmt: skip


class Remark(NamedTuple):
    """The user's words, and the fact that they need."""

    text: str
    fact: str


class Shown:
    """A model that only records what it was shown, and calls no tool."""

    def __init__(self) -> None:
        self.prompt = ""

    def complete(self, messages: Sequence[Message], tools: Sequence[ToolSpec]) -> Completion:
        """Return an answer after recording the prompt."""
        self.prompt = "\n".join(str(message.get("content")) for message in messages)
        return Completion("Noted.")


def dialogue(seed: int, records: int, file: str = WRITTEN[0]) -> tuple[list[str], list[Remark]]:
    """Return the facts of a memory, with distinct answers, and a remark for each; the written ones first."""
    written = Path(__file__).with_name(f"{file}.txt").read_text(encoding="utf-8").splitlines()
    made = random.Random(seed)
    facts: dict[str, Remark] = {}
    answers: set[str] = set()
    for line in made.sample(written, min(records // 2, len(written))):
        fact, _, text = line.partition(" | ")
        facts[fact] = Remark(text, fact)
    while len(facts) < records:
        form, remarks = made.choice(KINDS)
        drawn = {
            "name": made.choice(NAMES), "place": made.choice(PLACES), "food": made.choice(FOODS),
            "thing": made.choice(THINGS), "project": made.choice(PROJECTS), "day": made.choice(DAYS),
            "number": made.randint(4, 28),
        }  # fmt: skip
        fact, text = form.format(**drawn), made.choice(remarks).format(**drawn)
        # If one remark asks for two facts, either would be right: only one of them is in a memory.
        if fact not in facts and text not in answers:
            facts[fact] = Remark(text, fact)
            answers |= {one.format(**drawn) for one in remarks}
    return list(facts), list(facts.values())


def measured(
    seed: int, records: int, most: int = 60, file: str = WRITTEN[0], vectors: NearestIndex | None = None
) -> tuple[int, int, int, int]:
    """Return for a dialogue: remarks, those whose record was shown, idle remarks, those for which nothing was."""
    facts, remarks = dialogue(seed, records, file)
    if file == WRITTEN[0]:
        random.Random(seed).shuffle(remarks)  # of the later ones those that people wrote are asked, and first
    with ArchivalStore(None, vectors=(lambda: vectors) if vectors else None) as archive:
        user = Origin(actor="user", user_id="ada")
        # No fact supersedes or contradicts another, whatever the gate makes of them; it is asked all the same.
        held = {fact: archive.offer(Draft(text=fact), user).id for fact in facts}
        shown = sum(_is_shown(archive, one.text, str(held[one.fact])) for one in remarks[:most])
        still = sum(not _prompted(archive, text).count("\n- [") for text in IDLE)
    return len(remarks[:most]), shown, len(IDLE), still


def _is_shown(archive: ArchivalStore, text: str, record_id: str) -> bool:
    return f"[{record_id}]" in _prompted(archive, text)


def _prompted(archive: ArchivalStore, text: str) -> str:
    """Return the model's prompt for ``text`` in a session that has begun."""
    main, model = MainContext(8000), Shown()
    memory = MemoryTools(main, archive, user_id="ada", session_id="bench")
    config = AgentConfig("ada", "bench", max_tokens=8000)
    view = VirtualContextMemory(main=main, archive=archive, recall=memory.recall, config=config)
    agent = AgentLoop(view, model=model, toolbox=Tools(memory), config=config)
    agent.respond("Hello!")  # a session's first turn is offered what matters most, asked or not
    agent.respond(text)
    return model.prompt


def main() -> None:
    """Print a row for each size."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--vectors", type=Path, help="folder of an embedding model")
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    vectors = NearestIndex(LocalEmbedder(given.vectors)) if given.vectors else None
    rows = []
    for file, (size, wanted) in product(WRITTEN, SIZES.items()):
        seeds = range(given.seeds * (10 if size == 5 else 1))
        most = 60 if file == WRITTEN[0] else min(size // 2, 40)
        found = [measured(seed, size, most, file, vectors) for seed in seeds]
        asked, shown, idle, still = (sum(column) for column in zip(*found, strict=True))
        rows.append(
            {
                "case": f"{file}: {size} records, {asked} remarks",
                "ours": shown / asked,
                "peer": wanted,
                "ratio": shown / asked / wanted,
            }
        )
        rows.append(
            {
                "case": f"{file}: {size} records, nothing needed",
                "ours": still / idle,
                "peer": 1.0,
                "ratio": still / idle,
            }
        )
    print_rows(rows, as_json=given.json)


if __name__ == "__main__":
    main()
