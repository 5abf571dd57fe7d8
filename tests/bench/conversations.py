# ruff: noqa: SIM905 (lists of words read better as text)
"""Conversations made by rule, the same ones for the same seed: two people over two years, with what makes search hard.

Every kind of question needs one thing that plain words do not give: another form of a word, the date of a session, the
turn before the answer, who spoke, a picture's caption, "yesterday", or what the whole session was about.
"""

from __future__ import annotations

import random
from datetime import date, timedelta
from typing import Any

PEOPLE = ("Ann", "Bob")
CITIES = "Lisbon Oslo Kraków Naples Porto Ghent Turin Malmö Split Cork Basel Lyon Graz Vigo Bari Delft".split()
ACTS = ("adopt", "repair", "paint", "borrow", "polish", "collect", "order", "return", "wash", "pack")
THINGS = "kayak violin bicycle lantern telescope loom kettle saddle easel drone compass hammock ukulele tent".split()
HOBBIES = {
    "garden": "compost tulips hedge seedlings mulch pruning beds watering".split(),
    "baking": "dough oven sourdough crust flour yeast rolls kneading".split(),
    "sailing": "keel harbour tiller mast regatta knots anchor mooring".split(),
    "film": "camera scene actors script lens editing premiere screening".split(),
    "chess": "opening gambit rook endgame tournament clock board castling".split(),
    "choir": "alto rehearsal harmony concert conductor hymn score solo".split(),
}
CHAT = (
    "That is so good to hear, and how is the rest of it going for you?",
    "I know what you mean, it was the same with me the other day.",
    "What did you do about it in the end, if I may ask?",
    "Well, it is what it is. I will tell you more about it when I know.",
    "Oh, did you see what they did there? I could not believe it.",
    "We should do this again soon, it has been far too long.",
    "The weather was not on our side, but we did what we could.",
    "When was the last time that you had a day to yourself?",
)


class Maker:
    """Writes turns and questions as it goes."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.turns: list[dict[str, Any]] = []
        self.questions: list[dict[str, Any]] = []
        self.session, self.day = "", date(2024, 1, 1)

    def say(self, speaker: str, text: str, **more: str) -> str:
        """Add a turn and return its id."""
        id = f"t{len(self.turns)}"
        given = {"turn": text, "id": id, "session": self.session, "speaker": speaker, "at": self.day.isoformat()}
        self.turns.append(given | more)
        return id

    def ask(self, kind: str, text: str, evidence: str) -> None:
        """Add a question."""
        self.questions.append({"question": text, "evidence": [evidence], "type": kind, "at": "2026-01-10"})

    def chat(self, count: int) -> None:
        """Add turns that say nothing."""
        for text in self.random.sample(CHAT, count):
            self.say(self.random.choice(PEOPLE), text)

    def open(self, number: int) -> None:
        """Begin a session some weeks after the last one."""
        self.session, self.day = f"s{number}", self.day + timedelta(days=self.random.randint(16, 30))


def conversations(seed: int = 7, sessions: int = 40) -> list[dict[str, Any]]:
    """Return the lines of a benchmark file."""
    made = Maker(seed)
    for number in range(sessions):
        made.open(number)
        made.chat(3)
        for part in made.random.sample(PARTS, 4):
            part(made)
            made.chat(1)
    return [*made.turns, *made.questions]


def _other_form(made: Maker) -> None:
    act, thing, city = (made.random.choice(words) for words in (ACTS, THINGS, CITIES))
    past = act[:-1] + "ied" if act.endswith("y") else act.removesuffix("e") + "ed"
    id = made.say("Ann", f"Guess what: I {past} two {thing}s, {city}-style!")
    made.ask("form", f"What was it that Ann said about the {thing} and about {city} when {act}ing was the subject?", id)


def _on_a_day(made: Maker) -> None:
    thing = made.random.choice(THINGS)
    id = made.say("Bob", f"The {thing} club met again, and we had a fine evening together.")
    made.say("Ann", "Lovely.")
    made.ask("date", f"What did the club do with Bob in {made.day:%B %Y}?", id)


def _the_day_before(made: Maker) -> None:
    person = made.random.choice(("Uncle Joe", "Aunt May", "cousin Lea", "the neighbour"))
    id = made.say("Bob", f"Yesterday {person} came round for supper, quite unexpectedly.")
    yesterday = made.day - timedelta(days=1)
    made.ask("relative", f"Who came round for supper on {yesterday.day} {yesterday:%B %Y}?", id)


def _an_answer(made: Maker) -> None:
    thing, city = made.random.choice(THINGS), made.random.choice(CITIES)
    made.say("Bob", f"Where will you take the {thing} this summer, for the {city} trip?")
    id = made.say(
        "Ann", made.random.choice(("Up north, to the lakes.", "To my sister.", "Over the pass, if it holds."))
    )
    made.say("Bob", "Sounds like a plan.")
    made.ask("answer", f"Where does Ann take the {thing} on the {city} trip?", id)


def _who(made: Maker) -> None:
    thing, year = made.random.choice(THINGS), made.random.choice(("spring", "autumn", "winter"))
    ids = {name: made.say(name, f"My own {thing} lesson went well this {year}, thanks.") for name in PEOPLE}
    name = made.random.choice(PEOPLE)
    made.ask("speaker", f"How was the {thing} lesson of {name} in {made.day:%B %Y}?", ids[name])


def _picture(made: Maker) -> None:
    thing, city = made.random.choice(THINGS), made.random.choice(CITIES)
    id = made.say("Ann", "Look at this one!", caption=f"a photo of a {thing} on a table in {city}")
    made.ask("picture", f"What did the picture of the {thing} in {city} show?", id)


def _about(made: Maker) -> None:
    hobby = made.random.choice(list(HOBBIES))
    topic = made.random.sample(HOBBIES[hobby], 5)
    for place, word in enumerate(topic):
        made.say(PEOPLE[place % 2], f"And the {word}? It takes a while.")
    made.chat(2)
    id = made.say("Ann", made.random.choice(("I found a new teacher for it, by luck.", "A new teacher helps a lot.")))
    made.ask("session", f"Which new teacher does Ann have for {hobby}, {topic[0]}, {topic[1]} and {topic[2]}?", id)


def _by_name(made: Maker) -> None:
    name = "".join(made.random.choice(part) for part in (("Im", "Tor", "Sel", "Vin"), ("ke", "ben", "da", "nik", "ra")))
    thing, job = made.random.choice(THINGS), made.random.choice(("a paramedic", "a baker", "a judge", "a roofer"))
    made.say("Ann", f"I met a woman called {name}{made.session} at the {thing} evening, we got on at once.")
    made.chat(5)
    id = made.say("Ann", f"It turns out that {name}{made.session} is {job}, and has such stories.")
    made.ask("name", f"What does the woman do whom Ann met at the {thing} evening in {made.day:%B %Y}?", id)


PARTS = (_other_form, _on_a_day, _the_day_before, _an_answer, _who, _picture, _about, _by_name)
