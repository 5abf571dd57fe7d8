"""Generated dialogues: people state things among many similar ones, and are asked later. Found or not, no judge."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial

from closure.subject import Subject
from closure.systems import EVERYTHING, NOTHING
from closure.trial import Case, Suite, Trial, Verdict

FIRST = 5
"""How many of the memory's results count."""
FACTS, TALK = 48, 96


@dataclass(frozen=True)
class Topic:
    """Statements about one thing, questions about it, and similar texts that do not answer."""

    told: str
    asked: str
    """In the words of the statement."""
    reworded: str
    """In the words of somebody who remembers the person and not the wording."""
    meant: str
    """With none of its words."""
    beside: tuple[str, str]
    """Texts that contain more of the question's words than the answering one."""


def _topic(*lines: str) -> Topic:
    return Topic(*lines[:4], beside=(lines[4], lines[5]))


TOPICS = (
    _topic("My sister {name} moved to {city} in {month}", "Where did my sister {name} move in {month}?",
           "Which place does {name} live in these days?", "What is the hometown of our sibling at present?",
           "My sister {other} asked where {name} wants to move next", "{name} says no place is best to live in"),
    _topic("We named the new puppy {name}, he is a {breed}", "What breed is our new puppy {name}?",
           "What kind of dog is {name}?", "Of which race is that young hound?",
           "The puppy of {other} is a new breed that nobody knows", "{name} barked at a dog of some kind all morning"),
    _topic("The code of the {room} door at work is kept by {name}", "Who keeps the code of the {room} door?",
           "Whom do I ask to get into the {room}?", "Which colleague can unlock it for us?",
           "The {room} door code was changed, who knows why", "Whom did {other} ask about getting the {room} cleaned?"),
    _topic("I booked the {month} trip to {city} with {name}", "With whom did I book the trip to {city}?",
           "Who travels along to {city}?", "Which companion joins our holiday?",
           "{other} wants to book a trip to {city} as well", "Who travels to {city} in winter, said {other}"),
    _topic("{name} from accounting is allergic to {food}", "What is {name} from accounting allergic to?",
           "Which dish makes {name} ill?", "What must our bookkeeper not eat?",
           "{other} from accounting asked what {name} is allergic to", "{name} cooked a dish and was ill with a cold"),
    _topic("The {room} of the cabin gets painted {colour} by {name}", "Which colour does the {room} of the cabin get?",
           "What will the {room} walls look like?", "Which shade did we choose for the hut?",
           "Nobody likes the colour of the {room} of the cabin", "The walls of the {room} look wet, said {other}"),
    _topic("In {month} I start piano lessons with {name}", "When do my piano lessons with {name} begin?",
           "From when on does {name} teach me?", "At what time of year will the music classes commence?",
           "{other} asked when piano lessons begin for children", "{name} wants to teach me patience, said {other}"),
    _topic("{name} lent me a book about growing {food}", "Who lent me a book about growing {food}?",
           "To whom do I owe the one on {food} in the garden?", "Whose volume must be given back?",
           "{other} is looking for a book about growing {food}", "{food} in the garden, to whom do I owe that?"),
    _topic("My appointment with doctor {name} is at {hour}", "At what hour is my appointment with doctor {name}?",
           "How late do I have to be at {name}'s practice?", "What time must we reach the clinic?",
           "The hour of {other} at doctor {name}'s was moved", "{name} was late at the practice of the choir"),
    _topic("The spare {thing} lies behind the {room} shelf", "Where does the spare {thing} lie?",
           "In which spot can a second {thing} be found?", "What hiding place did we pick for the reserve?",
           "{other} lost a spare {thing} and cannot say where", "A second {thing} was found and sold on the spot"),
    _topic("{name} pays {sum} a month for the flat in {city}", "How much does {name} pay for the flat in {city}?",
           "What is the rent of {name}'s apartment?", "What does that tenant spend on housing?",
           "The flat of {other} in {city} costs much more a month", "{name}'s apartment has bicycles for rent below"),
    _topic("Our contract with {firm} ends in {month}", "When does our contract with {firm} end?",
           "Until when are we bound to {firm}?", "What is the expiry of that agreement?",
           "A contract with {firm} never ends well, said {other}", "{firm} is bound to answer us until tomorrow"),
    _topic("{name} plays the {instrument} in the band of {other}", "Which instrument does {name} play in the band?",
           "What does {name} make music on?", "By what does the artist produce tunes?",
           "The band in which {name} plays lost an instrument", "{name} does not make music at home"),
    _topic("The {thing} was bought at {firm} for {sum}", "What did the {thing} from {firm} cost?",
           "How much money went into the {thing}?", "What was spent on that purchase?",
           "{firm} says that a {thing} must cost something", "Money went into {firm}, not into the {thing}"),
    _topic("{name} grew up in {city} and speaks {tongue} at home", "Which language does {name} speak at home?",
           "What is the mother tongue of {name}?", "In which idiom was that child raised?",
           "{other} speaks of home, and {name} of {city}", "The mother of {name} bit her tongue"),
    _topic("Please send the {month} invoice to {name} by {carrier}", "How is the {month} invoice sent to {name}?",
           "By which way does {name} get the bill?", "Through what channel should that statement travel?",
           "{name} sent an invoice of {month} back to {other}", "{name} went out of the way to pay the bill"),
)  # fmt: skip
CHATTER = ("The weather in {city} was awful in {month}", "I watched a film about {food} with {name} yesterday",
           "The {room} light flickers again", "Somebody painted a bench {colour} near the station",
           "{name} says hello from {city}", "Lunch was {food}, nothing special",
           "{firm} opened a shop near the {thing} market", "{name} hummed a tune on the {instrument}")  # fmt: skip
NAMES = (
    """Anneke Bilal Chidi Dorota Emre Farah Gustav Hana Ines Jonas Kofi Leila Mateo Nadia Oskar Priya Quentin Rosa"""
)
FILL = {
    key: values.split()
    for key, values in {
        "name": NAMES,
        "other": "Selma Tariq Ulla Viktor Wanda Xenia Yusuf Zora",
        "city": "Lisbon Graz Oslo Turin Ghent Malmo Porto Bergen Lyon Krakow Sofia Riga Cork Basel",
        "month": "January February March April May June July August September October November",
        "breed": "beagle poodle whippet terrier spaniel collie mastiff corgi",
        "room": "kitchen attic cellar garage hallway pantry library laundry",
        "food": "walnuts celery mustard lupins shrimp sesame tomatoes mushrooms",
        "colour": "green yellow purple orange turquoise white grey",
        "hour": "seven eight nine ten eleven noon",
        "thing": "lantern kettle ladder drill tent suitcase camera stove",
        "sum": "410 525 640 730 880 915",
        "firm": "Halden Brixo Nordlys Quarto Veltri Osmund",
        "instrument": "cello oboe banjo harp trumpet accordion",
        "tongue": "Basque Welsh Sami Frisian Maltese Ladin",
        "carrier": "courier fax pigeon tram bicycle",
    }.items()
}
KINDS = {
    "same-words": "in the words in which it was told",
    "reworded": "in other words, with the name of the person or the thing",
    "in-long-texts": "in the words in which it was told, each text in the middle of a long one",
    "no-word-shared": "with none of the words in which it was told",
}


def dialogue(chance: random.Random, kind: str, facts: int, talk: int) -> tuple[list[str], list[tuple[str, str]]]:
    """Return a user's statements, and (question, answering text) for each fact.

    ``kind`` is one of ``KINDS``. With each fact come two texts that resemble its question and do not answer it.
    """
    told: list[str] = []
    asked: dict[str, str] = {}
    while len(asked) < facts:
        topic = TOPICS[len(asked) % len(TOPICS)]
        values = {key: chance.choice(its) for key, its in FILL.items()}
        text = _said(topic.told, values, kind, chance)
        question = {"reworded": topic.reworded, "no-word-shared": topic.meant}.get(kind, topic.asked).format(**values)
        # If all facts of a topic share the question, each of them answers it; one is enough then.
        if question in asked:
            if kind != "no-word-shared":
                continue
            question += " " * (len(asked) // len(TOPICS))
        asked[question] = text
        told += [text, *(_said(shape, values, kind, chance) for shape in topic.beside)]
    for number in range(talk):
        values = {key: chance.choice(its) for key, its in FILL.items()}
        told.append(f"{_said(chance.choice(CHATTER), values, kind, chance)} ({number})")
    chance.shuffle(told)
    return told, list(asked.items())


def _said(shape: str, values: Mapping[str, str], kind: str, chance: random.Random) -> str:
    """Return the text, alone or with talk before and after it."""
    text = shape.format(**values)
    if kind != "in-long-texts":
        return text
    around = [one.format(**{key: chance.choice(its) for key, its in FILL.items()}) for one in chance.sample(CHATTER, 6)]
    return ". ".join([*around[:3], text, *around[3:]])


def tell(subject: Subject, trial: Trial, kind: str, facts: int, talk: int) -> list[tuple[str, str]]:
    """Let one user state a dialogue and return the questions."""
    told, asked = dialogue(trial.chance(f"dialogue {kind}"), kind, facts, talk)
    subject.call("remember_all", user="ada", texts=told, within=600)
    return asked


def found_among_first(kind: str, trial: Trial) -> Verdict:
    """Ask each question and count those whose text is among the first five."""
    with trial.open() as subject:
        asked = tell(subject, trial, kind, FACTS, TALK)
        found = sum(
            text in subject.call("recall", user="ada", query=question.strip(), k=FIRST)[:FIRST]
            for question, text in asked
        )
    share = 100 * found / len(asked)
    of = 3 * FACTS + TALK
    return Verdict(
        share >= 50, f"{share:.0f} % of {len(asked)} questions have their text among the first {FIRST} of {of}"
    )


SUITE = Suite(
    "recall",
    f"Dialogues made from the seed: {FACTS} facts of {len(TOPICS)} topics, beside each two texts that sound like the "
    f"question and do not answer it, and {TALK} pieces of talk of the same words. Who gives the telling text among the "
    "first five for half of them passes, and the figure is the share. Nobody but memkit-files-vectors uses a model.",
    tuple(
        Case(kind, f"The text that answers is among the first five when it is asked {how}.",
             partial(found_among_first, kind), frozenset({NOTHING, EVERYTHING}))
        for kind, how in KINDS.items()
    ),
)  # fmt: skip
