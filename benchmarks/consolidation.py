# ruff: noqa: SIM905 (lists of words read better as text)
"""What a consolidation of 1,000 records keeps, by a checklist of the facts in them, and the length of the result.

The records are agents' notes on 48 sessions: each fact in a sentence of its own wording, about a third of them
repeated in other words around the same ones, some two in a sentence, and courtesies without content. A fact counts
as kept if one live line contains all of its significant words.
"""

from __future__ import annotations

import argparse
import random
from datetime import UTC, datetime, timedelta

from table import print_rows

from memkit.runtime.memory.main import ArchivalStore, Draft, Origin
from memkit.runtime.memory.words.wording import content_words

SESSIONS, A_SESSION = 48, 25
NAMES = "Lena Omar Priya Jonas Mei Tomas Aisha Felix Noor Greta Ivan Yuki Carla Bruno Dalia Emil".split()
PLACES = "Lisbon Oslo Naples Porto Ghent Turin Cork Basel Lyon Graz Vigo Bari Delft Riga Split Kyoto".split()
THINGS = "kayak violin bicycle lantern telescope loom kettle saddle easel drone compass hammock ukulele".split()
PROJECTS = "Atlas Beacon Cobalt Dune Ember Fjord Garnet Harbor Indigo Juniper Keystone Lattice".split()
DID = (
    "visited {place} with {name}", "bought a {thing} from {name}", "repaired the {thing} in {place}",
    "sold the old {thing} for {number} euros", "met {name} about {project}", "sent {name} the plan of {project}",
    "moved the release of {project} to day {number}", "lost the {thing} near {place}",
    "booked {number} nights in {place}", "lent {name} the {thing}",
)  # fmt: skip
OTHERS = (
    "{name} joined {project} as reviewer", "{name} prefers the {thing} in blue", "The build of {project} took {number} "
    "minutes", "{name} never answers on weekends", "The shop in {place} closes at {number}",
    "{project} depends on the service in {place}",
)  # fmt: skip
FRAMES = (
    "The user mentioned that they {did}.", "The user said that they {did}.", "In this session the user reported that "
    "they {did}.", "By the way, the user added that they {did}.", "The user {did}.", "Later, the user told me that "
    "they {did}.", "It was noted that the user {did}.", "For the record, the user {did}.",
)  # fmt: skip
AROUND = ("{told}.", "It turned out that {told}.", "By the way, {told}.", "As discussed, {told}.", "Also, {told}.")
COURTESIES = (
    "The conversation ended.", "Thanks, that's all.", "The user thanked the assistant and said goodbye.",
    "Sounds good.", "The session started with a greeting.",
)  # fmt: skip


def told(chance: random.Random) -> tuple[str, str]:
    """Return a fact, and its subject: a predicate of the user, or a complete sentence."""
    words = {
        "name": chance.choice(NAMES), "place": chance.choice(PLACES), "thing": chance.choice(THINGS),
        "project": chance.choice(PROJECTS), "number": str(chance.randrange(2, 60)),
    }  # fmt: skip
    own = chance.random() < 0.6
    return chance.choice(DID if own else OTHERS).format(**words), "user" if own else ""


def worded(fact: str, who: str, chance: random.Random) -> str:
    """Return a fact as an agent would note it."""
    if who:
        return chance.choice(FRAMES).format(did=fact)
    return (text := chance.choice(AROUND).format(told=fact))[:1].upper() + text[1:]


def session(chance: random.Random) -> tuple[list[str], list[str]]:
    """Return the notes of a session, and the facts in them."""
    facts = list(dict.fromkeys(told(chance) for _ in range(15)))
    notes = [worded(*fact, chance) for fact in facts]
    both = [did for did, who in facts if who]
    if len(both) > 1:
        notes.append(f"The user said that they {both[0]} and {both[1]}.")
    while len(notes) < A_SESSION - 2:
        notes.append(worded(*chance.choice(facts), chance))
    notes += chance.sample(COURTESIES, A_SESSION - len(notes))
    chance.shuffle(notes)
    return notes, [fact for fact, _ in facts]


def measured(seed: int) -> tuple[int, int, float, float]:
    """Return the former and present number of records, the share of facts kept, and that of the text."""
    chance, facts = random.Random(seed), list[str]()
    now = [datetime(2026, 1, 1, 9, tzinfo=UTC)]
    with ArchivalStore(clock=lambda: now[0]) as archive:
        for number in range(SESSIONS):
            notes, known = session(chance)
            facts += known
            origin = Origin("person", "ada", session_id=f"s{number}")
            for note in notes:
                now[0] += timedelta(minutes=3)
                archive.offer(Draft(note, type="event"), origin)
            now[0] += timedelta(days=1)
        before = archive.records(user_id="ada")
        now[0] += timedelta(days=90)
        archive.consolidate(archive.consolidation())
        after = archive.records(user_id="ada")
    lines = [set(content_words(line)) for record in after for line in record.text.splitlines()]
    kept = sum(any(set(content_words(fact)) <= line for line in lines) for fact in facts)
    size = sum(len(one.text) for one in after) / sum(len(one.text) for one in before)
    return len(before), len(after), kept / len(facts), size


def main() -> None:
    """Print the figures."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--json", action="store_true")
    options.add_argument("--seed", type=int, default=7)
    given = options.parse_args()
    before, after, kept, size = measured(given.seed)
    found = {f"facts kept of {before} records": (kept, 0.98), f"share of the text in {after} records": (size, 0.5)}
    rows = [
        {"case": case, "ours": round(ours, 4), "peer": peer, "ratio": round(ours / peer, 3)}
        for case, (ours, peer) in found.items()
    ]
    print_rows(rows, as_json=given.json)


if __name__ == "__main__":
    main()
