"""Made dialogues: people tell things among small talk, and are asked in other words. Found or not, no judge."""

from __future__ import annotations

import random

from closure.subject import Subject
from closure.systems import EVERYTHING, NOTHING
from closure.trial import Case, Suite, Trial, Verdict

FIRST = 5
"""Of what the memory gives, so many count."""
TOLD = (
    ("My sister {name} moved to {city} in {month}", "Where does my sister {name} live since {month}?", "city"),
    ("We named the new puppy {name}, he is a {breed}", "What breed is our puppy {name}?", "breed"),
    ("The code of the {room} door at work is kept by {name}", "Who keeps the code of the {room} door?", "name"),
    ("I booked the {month} trip to {city} with {name}", "With whom did I book the trip to {city}?", "name"),
    ("{name} from accounting is allergic to {food}", "What is {name} from accounting allergic to?", "food"),
    (
        "The {room} of the cabin gets painted {colour} by {name}",
        "Which colour does the {room} of the cabin get?",
        "colour",
    ),
    ("In {month} I start piano lessons with {name}", "When do my piano lessons with {name} begin?", "month"),
    ("{name} lent me a book about {food} growing", "Who lent me the book about growing {food}?", "name"),
)
TALK = ("The weather in {city} was awful in {month}", "I watched a film about {food} with {name} yesterday",
        "The {room} light flickers again", "Somebody painted a bench {colour} near the station",
        "{name} says hello from {city}", "Lunch was {food}, nothing special")  # fmt: skip
NAMES = (
    """Anneke Bilal Chidi Dorota Emre Farah Gustav Hana Ines Jonas Kofi Leila Mateo Nadia Oskar Priya Quentin Rosa"""
)
FILL = {
    key: values.split()
    for key, values in {
        "name": NAMES,
        "city": "Lisbon Graz Oslo Turin Ghent Malmo Porto Bergen Lyon Krakow Sofia Riga Cork Basel",
        "month": "January February March April May June July August September October November",
        "breed": "beagle poodle whippet terrier spaniel collie mastiff corgi",
        "room": "kitchen attic cellar garage hallway pantry library laundry",
        "food": "walnuts celery mustard lupins shrimp sesame tomatoes mushrooms",
        "colour": "green yellow purple orange turquoise white grey",
    }.items()
}


def dialogue(chance: random.Random, facts: int, talk: int) -> tuple[list[str], list[tuple[str, str]]]:
    """Return what a user tells, and (question, the telling text) for each fact; no question holds its answer."""

    def filled(shape: str) -> dict[str, str]:
        return {key: chance.choice(values) for key, values in FILL.items() if "{" + key + "}" in shape}

    told, asked, seen = [], [], set[str]()
    while len(asked) < facts:
        shape, question, answer = chance.choice(TOLD)
        values = filled(shape + question)
        words = question.format(**values)
        if words in seen or values[answer] in words:
            continue
        seen.add(words)
        text = shape.format(**values)
        told.append(text)
        asked.append((words, text))
    told += [
        f"{shape.format(**filled(shape))} ({number})"
        for number, shape in ((n, chance.choice(TALK)) for n in range(talk))
    ]
    chance.shuffle(told)
    return told, asked


def tell(subject: Subject, trial: Trial, facts: int, talk: int) -> list[tuple[str, str]]:
    """Let one user tell a dialogue and return the questions."""
    told, asked = dialogue(trial.chance("dialogue"), facts, talk)
    subject.call("remember_all", user="ada", texts=told, within=600)
    return asked


def found_among_first(trial: Trial) -> Verdict:
    """Ask each question and count those whose text is among the first five."""
    with trial.open() as subject:
        asked = tell(subject, trial, 60, 240)
        found = sum(
            text in subject.call("recall", user="ada", query=question, k=FIRST)[:FIRST] for question, text in asked
        )
    share = 100 * found / len(asked)
    return Verdict(
        share >= 50, f"{share:.0f} % of {len(asked)} questions have their text among the first {FIRST} of 300"
    )


SUITE = Suite(
    "recall",
    "A dialogue made from the seed, 60 facts among 240 pieces of talk of the same words; no question holds its answer. "
    "Who gives the telling text among the first five for half of them passes, and the figure is the share.",
    (Case("made-dialogue", "The text that answers is among the first five.", found_among_first,
          frozenset({NOTHING, EVERYTHING})),),
)  # fmt: skip
