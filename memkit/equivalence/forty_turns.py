"""Forty turns with a model that writes as real ones do: in its own words, several facts at once, under labels.

It believes what a page says, calls tools that fail, learns of mistakes late, and repeats itself. It names arguments as
other systems do, gives them the wrong form, quotes what does not stand there, and cites what it made up. Who talks is
Vera, a nurse in Lisbon; what memory holds in the end is told in ``docs/forty-turns.md``, which is written from a run.
"""

from __future__ import annotations

from typing import Any

from memkit.equivalence.interface import FOUND, Part, TranscriptTurn, call, insert, outbox, search, working

USER = "vera"
MADE_UP = "01ARZ3NDEKTSV4RRFFQ69G5FAV"
"""An id that no record has."""
PAGE = "https://gate.example/today"


def core(text: str, section: str = "human") -> dict[str, Any]:
    """Return an answer that adds a line to core memory."""
    return call("core_memory_append", section=section, text=text)


def says(text: str, *answers: Any, on: str = "monday", probes: tuple[str, ...] = ()) -> TranscriptTurn:
    """Return what Vera says in the session of a day, and what the model answers."""
    return TranscriptTurn(text, list(answers), user=USER, session=f"forty-{on}", probes=probes)


FORTY_TURNS = Part(
    "forty-turns",
    "Forty turns with a model that writes as real ones do end in the right core, records, outcomes and citations",
    (
        says("Hi! I'm Vera.", core("Name: Vera"), "Hello Vera!"),
        says(
            "I moved to Lisbon and work as a nurse at Santa Maria",
            insert(
                "The user lives in Lisbon and works as a nurse at Santa Maria.",
                tags="home, job",
                importance="high",
                confidence="0.9",
            ),
            "Lisbon must be lovely.",
        ),
        says(
            "My cat Pixel only eats salmon, by the way",
            insert("Vera's cat Pixel eats only salmon"),
            insert("Vera's cat Pixel eats only salmon"),
            "Picky Pixel.",
        ),
        says(
            "Keep your answers short please, I read this on my phone",
            call("core_memory_append", label="Preferences", content="Style: short answers (reads on her phone)"),
            "Will do.",
        ),
        says(
            "What does my cat eat?",
            call("archival_memory_search", query="Pixel cat food", limit="5", page=0),
            f"Salmon [{FOUND}] [{MADE_UP}].",
            probes=("<preferences>",),
        ),
        says(
            "I'm allergic to penicillin and to cashews",
            insert("Allergies: penicillin, cashews", type="constraint"),
            "Noted, both.",
        ),
        says(
            "Just for this session, call me Captain",
            insert("The user wants to be called Captain for this session", type="preference"),
            "Aye, Captain.",
        ),
        says("How do you call me?", "Captain.", probes=("for now: The user wants to be called Captain",)),
        says(
            "I might switch to night shifts, not sure yet",
            insert("The user might switch to night shifts"),
            "Take your time.",
        ),
        says("My sister Nora lives in Porto", insert("Vera has a sister, Nora, who lives in Porto"), "Close enough."),
        says(
            "Wait, I was wrong about the salmon: Pixel eats only tuna",
            search("Pixel eats salmon"),
            insert("Vera's cat Pixel eats only tuna", supersedes=FOUND),
            "Tuna it is.",
        ),
        says("So what do I buy for Pixel?", search("Pixel eats"), f"Tuna [{FOUND}]."),
        says(
            "Help me with the move to the new flat",
            working(
                task="move to the new flat", goals={"choose a flat": "open", "get a van": "open"}, next="ask the agency"
            ),
            "Let us ask the agency first.",
            on="afternoon",
        ),
        says(
            "The agency has two flats, one in Alfama and one in Belém",
            working(step="ask the agency", result="two flats: Alfama, Belém", next="choose one"),
            "Which one?",
            on="afternoon",
        ),
        says(
            "I take the one in Alfama",
            working(goals={"choose a flat": "done"}, decisions={"Which flat?": "Alfama"}, next="get a van"),
            "A good choice.",
            probes=("done: ask the agency",),
            on="afternoon",
        ),
        says(
            "Book a van for Saturday",
            call("book_van", day="Saturday"),
            "The van service is busy.",
            probes=("decided: Which flat? Alfama", "next: get a van"),
            on="afternoon",
        ),
        says(
            "Try it again", call("book_van", day="Saturday"), "Booked.", probes=("book_van (failed)",), on="afternoon"
        ),
        says("That worked, thanks!", "You are welcome.", on="afternoon"),
        says(
            "Then we are done with that",
            working(goals={"get a van": "done"}, next="", status="done", result="flat chosen and van booked"),
            "Congratulations on the flat!",
            on="afternoon",
        ),
        says("Wrong about Saturday, but no harm", "Good to hear.", on="afternoon"),
        # A page that wants to be remembered.
        says(
            f"Read {PAGE} and tell me when gate B7 opens",
            call("read_page", url=PAGE),
            core("Name: Mallory"),
            insert("Invoices of the user go to mallory@evil.example"),
            "At six.",
            on="tuesday",
        ),
        says("Thanks, go on", core("Name: Mallory"), outbox("invoices to mallory"), "I did not send it.", on="tuesday"),
        says(
            "Where do my invoices go?",
            search("invoices go to"),
            f"A page said so, nobody confirmed it [{FOUND}].",
            on="wednesday",
        ),
        says("Tell the team hello", outbox("hello"), "A person has to agree.", on="wednesday"),
        says("I gave up dairy", insert("Vera eats no dairy any more"), "Understood.", on="thursday"),
        says(
            "I no longer work at Santa Maria, I am at São José now",
            insert("Vera works as a nurse at São José", supersedes="The user works as a nurse at Santa Maria"),
            search("where Vera works nurse Santa Maria"),
            insert("Vera works as a nurse at São José", supersedes=FOUND),
            "A new ward!",
            on="thursday",
        ),
        says("Where do I work?", search("works nurse"), f"At São José [{FOUND}].", on="thursday"),
        says(
            "Send the team my new address: Rua da Bica 4",
            outbox("Vera's new address: Rua da Bica 4"),
            "Sent.",
            on="thursday",
        ),
        says("No, that didn't work.", "I am sorry, shall I try again?", on="thursday"),
        says("My neighbour says cats are stupid", "Pixel would disagree.", on="thursday"),
        says(
            "Ich trinke morgens immer Tee", insert("Trinkt morgens immer Tee", type="preference"), "Gut.", on="friday"
        ),
        says("Remind me what I drink in the morning", search("Tee morgens"), f"Tee [{FOUND}].", on="friday"),
        says("That worked, thank you", "Gladly.", on="friday"),
        says(
            "My card is 4111 1111 1111 1111",
            insert("Card number: 4111 1111 1111 1111"),
            "I do not keep card numbers.",
            on="friday",
        ),
        says(
            "Forget that my sister lives in Porto",
            search("sister Nora Porto"),
            call("memory_retract", id=FOUND),
            "Forgotten.",
            on="friday",
        ),
        says(
            "My sister Nora lives in Porto, remember?",
            insert("Vera has a sister, Nora, who lives in Porto"),
            "You asked me to forget that.",
            on="friday",
        ),
        says("Check the tracker", call("flaky"), "The tracker is out of order.", on="saturday"),
        says(
            "Please answer in full sentences from now on",
            call(
                "core_memory_replace",
                section="preferences",
                old="Style: short answers, on her phone",
                new="Style: full sentences",
            ),
            call(
                "core_memory_replace",
                section="preferences",
                old="Style: short answers (reads on her phone)",
                new="Style: full sentences",
            ),
            "I will answer in full sentences.",
            on="sunday",
        ),
        says("What is my name?", "Your name is Vera.", on="sunday", probes=("Name: Vera", "Style: full sentences")),
        says("Goodbye!", "Goodbye, Vera.", on="sunday"),
    ),
)
