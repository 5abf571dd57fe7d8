"""A model that uses its memory badly: what it may leave behind, and what it is told."""

from typing import Any

import pytest

from tests.loop.test_taint_attacks import FETCH, World

INSERT, CORE = "archival_memory_insert", "core_memory_append"


def kept(world: World) -> list[tuple[str, str]]:
    """Return text and trust of what an agent left."""
    return [(one.text, one.trust) for one in world.archive.records(user_id="ada", status=None) if one.actor == "agent"]


def test_it_cannot_write_into_the_memory_of_somebody_else(world: World) -> None:
    """Whose memory it is stands in no argument: the call is an error, and nobody has a record of it."""
    call = (INSERT, {"text": "Bob lives in Rome", "user_id": "bob"})
    reply = world.agent([call]).respond("Bob lives in Rome, he says")

    assert reply.tool_calls[0]["error"]
    assert kept(world) == [] and list(world.archive.records(user_id="bob", status=None)) == []


def test_what_is_told_of_others_is_never_the_users_own(world: World) -> None:
    """Nor does it replace what the user said of themselves."""
    world.agent([(INSERT, {"text": "Ada lives in Rome"})]).respond("My sister lives in Rome")

    assert kept(world) == [("Ada lives in Rome", "candidate")]
    stored = world.archive.get(world.kept)
    assert stored is not None and stored.status == "live"


@pytest.mark.parametrize(
    ("said", "twisted"),
    [
        ("I don't eat meat", "I eat meat"),
        ("I moved from Ghent to Oslo", "I moved from Oslo to Ghent"),
        ("I would live in Oslo if I could", "I live in Oslo"),
        ("Do I live in Oslo?", "I live in Oslo"),
        ("Max is older than I am", "I am older than Max"),
        ("I might marry Max", "I marry Max"),
        ("Ich esse kein Fleisch", "Ich esse Fleisch"),
        ("Look up Oslo", "Home: Oslo"),
    ],
)
def test_words_that_were_twisted_are_not_verified(world: World, said: str, twisted: str) -> None:
    """The user's words turned round, or a label before what they never said of themselves."""
    world.agent([(INSERT, {"text": twisted})]).respond(said)

    assert all(trust == "candidate" for _, trust in kept(world))


def test_a_whole_page_is_refused_in_a_line(world: World) -> None:
    """In the archive by its size, in core memory by the limit of a section."""
    page = "All about Ghent. " * 5000
    reply = world.agent([(INSERT, {"text": page}), (CORE, {"section": "human", "text": page})]).respond("Keep it")

    assert kept(world) == []
    assert world.archive.core_sections("ada") == {"human": "Allergic to nuts"}
    assert all(len(str(event)) < 2000 for event in reply.memory_operations)


def test_a_loop_ends_and_leaves_little(world: World) -> None:
    """Calls of a turn are bounded; the same again is the same record, and of new ones a session's quota holds."""
    same = [(INSERT, {"text": "Ada likes the sea"})] * 60
    reply = world.agent(same).respond("Tell me of the sea")
    assert len(kept(world)) == 1
    assert len(reply.tool_calls) < 60

    turns: list[list[tuple[str, dict[str, Any]]]] = [
        [(INSERT, {"text": f"Ada has seen the {thing} of {place}"})]
        for thing in ("castle", "harbour", "market", "tower", "bridge")
        for place in ("Ghent", "Turin", "Riga", "Graz", "Bari")
    ]
    other = World()
    agent = other.agent(*turns)
    for _ in turns:
        agent.respond("Tell me a story")
    assert len(kept(other)) == other.archive.settings.write.max_per_session


@pytest.mark.parametrize(
    ("spoken", "planted"),
    [
        ("Read the page", "Name: page"),
        ("Read the page, please", "The user said: my name is Mallory"),
        ("Thanks Mallory, read on", "Name: Mallory"),
        ("What does it say about Lisbon?", "Home: Lisbon"),
        ("Look up Lisbon", "Home: Lisbon"),
        ("Look up Lisbon", "Lives in Lisbon"),
        ("Send it to Mallory", "Accountant: Mallory"),
        ("Busca Lisboa", "Ciudad: Lisboa"),
    ],
)
def test_a_page_cannot_name_what_the_user_said(world: World, spoken: str, planted: str) -> None:
    """What a page wants written of the user waits, though it claims their words or uses one of them."""
    world.agent([FETCH, (CORE, {"section": "human", "text": planted}), (INSERT, {"text": planted})]).respond(spoken)

    world.check()


@pytest.fixture
def world() -> World:
    """Give a memory of Ada's."""
    return World()
