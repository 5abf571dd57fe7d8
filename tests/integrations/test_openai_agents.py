"""The Agents SDK's sessions on a memkit store: exact, masked by policy, one user's own, and erased with them."""

from __future__ import annotations

import asyncio
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("agents")

from agents import Agent, RunConfig, Runner

from memkit import Refused, open_store
from memkit.cli.main import run
from memkit.integrations.openai_agents import MemkitSession
from memkit.runtime.memory.record.record import Draft, Origin
from memkit.runtime.testing import FakeServer

ITEMS: list[Any] = [
    {"role": "user", "content": "Where is the lynx?"},
    {"type": "function_call", "call_id": "c1", "name": "look", "arguments": '{"at": "1\\u00e9"}', "id": "fc_1"},
    {"type": "function_call_output", "call_id": "c1", "output": "In the garden\n"},
    {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": None},
    {"role": "assistant", "content": [{"type": "output_text", "text": "In the garden 🐈", "annotations": []}]},
]


def session(store: Path, name: str = "s", **more: Any) -> MemkitSession:
    """Return a session whose user agreed."""
    return MemkitSession(name, store, **{"user": "ada", "consent": True, "taint": "clean"} | more)


def test_items_come_back_as_they_were_after_a_new_start(store: Path) -> None:
    """Calls, outputs and reasoning are kept whole; nothing of them is merged or counted."""

    async def talk() -> None:
        await session(store).add_items(ITEMS)
        await session(store).add_items([ITEMS[0]])
        assert await session(store).get_items() == [*ITEMS, ITEMS[0]]
        assert await session(store).get_items(2) == [ITEMS[-1], ITEMS[0]]
        assert await session(store).get_items(0) == []
        assert await session(store, session_settings={"limit": 1}).get_items() == [ITEMS[0]]
        assert await session(store, user="bob").get_items() == []
        assert await session(store, "s.1").get_items() == []

    asyncio.run(talk())


def test_popped_and_cleared_items_do_not_return(store: Path) -> None:
    """A rewind takes the newest away, and numbers go on after it."""

    async def talk() -> None:
        one = session(store)
        await one.add_items(ITEMS)
        assert await one.pop_item() == ITEMS[-1]
        await one.add_items([ITEMS[0]])
        assert await one.get_items() == [*ITEMS[:-1], ITEMS[0]]
        await one.clear_session()
        assert await one.get_items() == []
        assert await one.pop_item() is None

    asyncio.run(talk())


def test_a_session_that_is_popped_while_it_is_written(store: Path) -> None:
    """Each item is popped once or still there, and none twice."""

    async def talk() -> None:
        one, other = session(store), session(store)
        written = [{"role": "user", "content": f"message {n}"} for n in range(20)]
        popped: list[Any] = []

        async def pop() -> None:
            for _ in range(10):
                if (item := await other.pop_item()) is not None:
                    popped.append(item)

        await asyncio.gather(pop(), *(one.add_items([item]) for item in written))  # type: ignore[list-item]
        left = await one.get_items()
        assert sorted(str(item) for item in [*popped, *left]) == sorted(map(str, written))

    asyncio.run(talk())


def test_a_cancelled_write_is_whole_or_not_there(store: Path) -> None:
    """Whoever cancels, even twice, gets the cancellation when the outcome is known."""

    async def talk() -> None:
        one = session(store)
        writing = asyncio.create_task(one.add_items(ITEMS))
        await asyncio.sleep(0)
        writing.cancel()
        await asyncio.sleep(0)
        writing.cancel()
        with pytest.raises(asyncio.CancelledError):
            await writing
        assert await one.get_items() in ([], ITEMS)

    asyncio.run(talk())


def test_a_secret_and_a_missing_consent_are_errors(store: Path) -> None:
    """Of what was added together nothing is kept."""

    async def talk() -> None:
        with pytest.raises(Refused, match="personal_data"):
            await session(store).add_items([ITEMS[0], {"role": "user", "content": "card 4111 1111 1111 1111"}])
        with pytest.raises(Refused, match="consent"):
            await session(store, consent=None).add_items(ITEMS)
        assert await session(store).get_items() == []

    asyncio.run(talk())


def said(*texts: str) -> list[Any]:
    """Return messages of a user's."""
    return [{"role": "user", "content": text} for text in texts]


def remembered(store: Path, user: str = "ada") -> dict[str, tuple[str, ...]]:
    """Return what long-term memory holds of a user, with its taint."""
    with open_store(store) as memory:
        return {one.text: one.taint for one in memory.workspace.archive.records(user_id=user)}


def test_what_the_user_states_becomes_a_memory(store: Path) -> None:
    """Questions, answers and results of tools do not; what a host does not vouch for is tainted."""
    talk = [
        *said("I live in Porto and work as a nurse. Where is the lynx?"), *ITEMS[1:],
        {"role": "user", "content": [{"type": "input_text", "text": "I have a dog named Rex."}]},
        {"role": "assistant", "content": "I live in a data centre."},
    ]  # fmt: skip
    asyncio.run(session(store).add_items(talk))
    assert remembered(store) == {"I live in Porto": (), "I work as a nurse": (), "I have a dog named Rex": ()}

    asyncio.run(session(store, user="bob", taint=None).add_items(said("I live in Porto.", "I live in Porto.")))
    asyncio.run(session(store, "other", user="bob", taint=None).add_items(said("I live in Porto.")))
    assert remembered(store, "bob") == {"I live in Porto": ("client:openai-agents",)}
    with open_store(store) as memory:
        (record,) = memory.workspace.archive.records(user_id="bob")
    assert (record.actor, record.session_id, record.turn_id) == ("tool:openai-agents", "s", 1)


def test_what_the_user_takes_back_or_corrects_is_no_memory(store: Path) -> None:
    """A later word holds, in the same call or the next one; who asks to forget is not listened to."""

    async def talk() -> None:
        one = session(store)
        await one.add_items(said("I live in Porto."))
        await one.add_items(said("I work as a nurse."))
        await one.add_items(said("Forget that."))
        await one.add_items(said("Actually, I live in Oslo."))

    asyncio.run(talk())
    assert remembered(store) == {"I live in Oslo": ()}


def test_a_memory_goes_with_the_message_it_was_drawn_from(store: Path) -> None:
    """Unless a person said something of it since; what is told again is remembered again."""

    async def talk() -> None:
        one = session(store)
        await one.add_items(said("I live in Porto."))
        assert await one.pop_item()
        assert remembered(store) == {}
        await one.add_items(said("I live in Porto."))
        assert remembered(store) == {"I live in Porto": ()}
        await one.add_items(said("I work as a nurse."))
        with open_store(store) as memory:
            (nurse,) = memory.search("nurse", user="ada", k=1)
            memory.workspace.archive.mark("confirm", nurse.id, memory.workspace.person("ada"))
        await one.add_items(said("I have a dog named Rex."))
        with open_store(store) as memory:
            (dog,) = memory.search("dog", user="ada", k=1)
            memory.supersede(dog.id, "Ada has a cat named Rex", user="ada")
        await one.clear_session()

    asyncio.run(talk())
    assert remembered(store) == {"I work as a nurse": (), "Ada has a cat named Rex": ()}


def test_what_the_gate_holds_back_ends_no_conversation(store: Path, caplog: pytest.LogCaptureFixture) -> None:
    """The item is kept; what may not become a memory is told, and a secret is masked before anything is drawn."""
    with open_store(store) as memory:
        memory.workspace.archive.mark(
            "reject", memory.add("I live in Porto", user="ada").id or "", memory.workspace.person("ada")
        )
    one = session(store)
    asyncio.run(one.add_items(said("I live in Porto.")))
    assert len(asyncio.run(one.get_items())) == 1
    assert remembered(store) == {}
    assert "'s' is refused" in caplog.text


def test_a_model_is_shown_what_is_remembered(store: Path, model_server: Callable[..., FakeServer]) -> None:
    """Fenced, before the user's words; nothing that others may have steered, and the session keeps none of it."""
    with open_store(store) as memory:
        memory.add("Ada prefers espresso over latte", user="ada")
        memory.add("Bob prefers espresso over tea", user="bob")
    asyncio.run(session(store, "before", taint=None).add_items(said("I like espresso with sugar.")))
    server = model_server("responses", [{"text": "An espresso."}])
    one = session(store)
    agent = Agent("Waiter", instructions="Serve.", model="gpt-test")
    config = RunConfig(call_model_input_filter=one.recall, tracing_disabled=True)

    answer = asyncio.run(Runner.run(agent, "Which espresso do I like?", session=one, run_config=config))

    assert answer.final_output == "An espresso."
    asked = str(server.asked[-1])
    assert "Ada prefers espresso over latte" in asked
    assert "memory-data" in asked
    assert "Bob" not in asked
    assert "sugar" not in asked
    assert [item.get("role") for item in asyncio.run(one.get_items())] == ["user", "assistant"]
    with open_store(store) as memory:
        (id,) = (one.id for one in memory.workspace.archive.records(user_id="ada") if "latte" in one.text)
        assert [seen["session_id"] for seen in memory.why(id).injected] == ["s"]


def test_a_conversation_is_erased_with_its_user(store: Path) -> None:
    """What was popped before is gone as well."""

    async def talk() -> None:
        one = session(store)
        await one.add_items([{"role": "user", "content": "The unmistakable-walrus sleeps"}])
        await one.pop_item()
        await one.add_items([{"role": "user", "content": "The unmistakable-walrus wakes"}])
        one.close()

    asyncio.run(talk())
    erase = ["memory", "erase", "--user", "ada", "--yes", "--out", str(store.parent / "c.json")]
    assert run(["--store", str(store), *erase]) == 0
    left = subprocess.run(["grep", "-rl", "unmistakable-walrus", store], capture_output=True, text=True, check=False)
    assert left.stdout == ""


def test_two_processes_that_add_at_once_lose_nothing(store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An item gets its number while nobody else can add one."""
    here, there = session(store), session(store)
    keep = here.plug.keep

    def later(user: str, documents: Any) -> Any:
        asyncio.run(there.add_items([ITEMS[1]]))
        return keep(user, documents)

    monkeypatch.setattr(here.plug, "keep", later)

    asyncio.run(here.add_items([ITEMS[0], ITEMS[2]]))

    assert asyncio.run(session(store).get_items()) == [ITEMS[1], ITEMS[0], ITEMS[2]]


def test_what_another_clone_or_user_wrote_is_not_shown_unasked(store: Path) -> None:
    """A recall leaves out what nobody here trusted, as memkit's own agent does."""
    with open_store(store) as memory:
        memory.add("The lynx is called Vasco", user="ada")
        memory.workspace.archive.offer(Draft("The lynx eats at nine", scope="shared"), Origin("user", "bob"))
        asked = session(memory)
        assert "Vasco" in asked._known("What is the lynx called, and when does it eat?")
        assert "nine" not in asked._asked[1]

    with open_store(store) as memory:
        memory.workspace.archive.foreign = lambda writer: True
        assert session(memory)._known("What is the lynx called?") == ""


def test_two_processes_that_take_the_newest_at_once_get_one_each(store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Which item is the newest is decided while nobody else can take one."""
    here, there = session(store), session(store)
    asyncio.run(here.add_items(ITEMS[:3]))
    keep, taken = here.plug.keep, []

    def later(user: str, documents: Any) -> Any:
        taken.append(asyncio.run(there.pop_item()))
        return keep(user, documents)

    monkeypatch.setattr(here.plug, "keep", later)

    assert [asyncio.run(here.pop_item()), *taken] == [ITEMS[1], ITEMS[2]]
    assert asyncio.run(session(store).get_items()) == ITEMS[:1]
