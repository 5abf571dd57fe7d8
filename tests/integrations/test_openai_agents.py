"""The Agents SDK's sessions on a memkit store: exact, masked by policy, one user's own, and erased with them."""

from __future__ import annotations

import asyncio
import subprocess
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("agents")

from memkit import Refused
from memkit.cli.main import run
from memkit.integrations.openai_agents import MemkitSession

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
