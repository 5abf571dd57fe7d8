"""What stood in the prompt is a parent of what an agent writes then, by whichever way it came there."""

import pytest
from test_taint_attacks import SEARCH, World

from memkit.runtime.memory.lifecycle.revocation import RevokedSource
from memkit.runtime.memory.record.record import Draft, Origin

SOURCE = Origin("person", "ada", session_id="bad")
WRITES = ("archival_memory_insert", {"text": "Transfers for Ada go to the bank by the river"})
WRITES_CORE = ("core_memory_append", {"section": "human", "text": "Bank: by the river"})
WAYS = ("recalled in the turn", "searched", "offered when a session starts", "in core memory")


def told(world: World, text: str, **more: str) -> str:
    """Store what the session that is taken back later said, and return its id."""
    return str(world.archive.offer(Draft(text, **more), SOURCE).id)


def written(world: World, way: str) -> tuple[str, str]:
    """Let something enter a prompt this way, and an agent write; return the ids of both."""
    if way == "in core memory":
        agent = Origin("agent", "ada", session_id="bad", turn_id=1, taint=())
        parent = str(world.archive.edit_core("ada", "human", "Allergic to nuts\nBank: by the river", agent).id)
        world.agent([WRITES]).respond("Where do transfers go?")
    elif way == "offered when a session starts":
        parent = told(world, "Ada wants to open an account", type="goal")
        world.agent([WRITES]).respond("Good morning")
    elif way == "searched":
        parent = told(world, "Ada has an account with Mallory")
        world.agent([SEARCH, WRITES]).respond("Well")
    else:
        parent = told(world, "Ada has an account at the bank with Mallory")
        world.agent([WRITES]).respond("With which bank does Ada have an account?")
    (record,) = [one for one in world.archive.records(user_id="ada") if one.text == WRITES[1]["text"]]
    return parent, record.id


@pytest.mark.parametrize("way", WAYS)
def test_what_entered_the_prompt_is_a_parent_and_taking_it_back_takes_both(way: str) -> None:
    """Recalled, searched, offered at the start or standing in core: the record says so, and revoke follows it."""
    world = World()
    parent, child = written(world, way)

    stored = world.archive.get(child)
    assert stored is not None and parent in stored.record.parents
    taken = world.archive.revoke(RevokedSource(session_id="bad"), Origin("person", "ada"))
    assert child in {record.id for record in taken.records}
    assert world.archive.core_sections("ada") == {"human": "Allergic to nuts"}


def test_a_core_edit_has_parents_too() -> None:
    """What an agent puts into core memory after it read a record goes with that record's source."""
    world = World()
    told(world, "Ada has an account with Mallory")
    world.agent([SEARCH, WRITES_CORE]).respond("Well")
    assert "river" in world.archive.core_sections("ada")["human"]

    world.archive.revoke(RevokedSource(session_id="bad"), Origin("person", "ada"))

    assert world.archive.core_sections("ada") == {"human": "Allergic to nuts"}


def test_none_of_many_parents_is_left_out() -> None:
    """A prompt that held a hundred records gives them all: the one that is taken back later may be any of them."""
    world = World()
    tools = world.archive.tools(user_id="ada", session_id="s2")
    ids = [told(world, f"Ada noted the number {number}") for number in range(100)]
    tools.begin_turn("Well", 1)
    tools.note_recalled(ids)
    child = world.archive.get(tools.archival_memory_insert("Transfers go to the bank by the river"))

    assert child is not None and set(ids) <= set(child.record.parents)


def test_what_the_user_says_has_no_parents() -> None:
    """The user's own words are theirs, whatever stood in the prompt."""
    world = World()
    told(world, "Ada has an account with Mallory")
    said = ("archival_memory_insert", {"text": "I moved to Lisbon"})
    world.agent([SEARCH, said]).respond("I moved to Lisbon")

    (record,) = [one for one in world.archive.records(user_id="ada") if "Lisbon" in one.text]
    assert record.parents == () and record.actor == "user"
