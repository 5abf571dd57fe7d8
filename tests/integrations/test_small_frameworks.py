"""Strands' memory store and ADK's memory service on a memkit store.

Their packages want older ones than memkit's own tests, so ``tests/proof`` runs this in an environment of its own.
"""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from memkit import MemkitError, Refused, open_store

pytestmark = pytest.mark.prove


def test_strands_finds_and_adds(store: Path) -> None:
    """Its manager takes the store as writable; the same text twice is one record, and a refusal is an error."""
    from strands.memory import MemoryManager

    from memkit.integrations.strands import MemkitMemoryStore

    async def talk() -> None:
        memory = MemkitMemoryStore(store, user="ada", consent=True, taint="clean")
        manager = MemoryManager(stores=[memory], add_tool_config=True)
        await memory.add("Ada prefers espresso", {"tags": ["prefs"]})
        await memory.add("Ada prefers espresso")
        (found,) = await manager.search("espresso")
        assert (found.content, found.store_name) == ("Ada prefers espresso", "memkit")
        assert found.metadata is not None
        assert found.metadata["trust"] == "candidate"
        with pytest.raises(Refused, match="personal_data"):
            await memory.add("card 4111 1111 1111 1111")
        with pytest.raises(Refused, match="memkit consent grant --user bob"):
            await MemkitMemoryStore(store, user="bob").add("Bob rows")

    asyncio.run(talk())


def test_adk_keeps_a_session_once(store: Path) -> None:
    """However often a session is added its events are one document each; a memory is deleted by its id alone."""
    from google.adk.events import Event
    from google.adk.memory.memory_entry import MemoryEntry
    from google.adk.sessions import Session
    from google.genai import types

    from memkit.integrations.adk import MemkitMemoryService

    def content(text: str) -> types.Content:
        return types.Content(parts=[types.Part(text=text)], role="user")

    async def talk() -> None:
        service = MemkitMemoryService(store, consent=True, taint="clean")
        event = Event(id="e1", author="user", content=content("Ada keeps a lynx"))
        session = Session(id="s", app_name="zoo", user_id="ada", events=[event])
        await service.add_session_to_memory(session)
        await service.add_session_to_memory(session)
        await service.add_memory(app_name="zoo", user_id="ada", memories=[MemoryEntry(content=content("Ada sails"))])
        (found,) = (await service.search_memory(app_name="zoo", user_id="ada", query="lynx")).memories
        assert found.content.parts is not None
        assert found.content.parts[0].text == "Ada keeps a lynx"
        assert (await service.search_memory(app_name="zoo", user_id="bob", query="lynx")).memories == []
        assert (await service.search_memory(app_name="fleet", user_id="ada", query="lynx")).memories == []
        with pytest.raises(MemkitError, match="memory erase"):
            await service.delete_memory(app_name="zoo", user_id="ada")
        await service.delete_memory(app_name="zoo", user_id="ada", memory_id=found.id)
        assert (await service.search_memory(app_name="zoo", user_id="ada", query="lynx")).memories == []

    asyncio.run(talk())
    with open_store(store) as memory:
        assert [one.text for one in memory.workspace.archive.records(user_id="ada")] == ["Ada sails"]


def test_an_app_of_adk_finds_its_own_however_much_another_kept(store: Path) -> None:
    """What a person told memkit itself is every app's; what one app kept of a user is not another app's."""
    from google.adk.memory.memory_entry import MemoryEntry
    from google.genai import types

    from memkit.integrations.adk import MemkitMemoryService

    def entries(*texts: str) -> list[MemoryEntry]:
        return [MemoryEntry(content=types.Content(parts=[types.Part(text=text)], role="user")) for text in texts]

    async def talk() -> list[str]:
        service = MemkitMemoryService(store, consent=True, taint="clean")
        harbours = ("Lisbon", "Porto", "Faro", "Lagos", "Sado", "Aveiro", "Sines", "Olhao", "Tavira", "Viana", "Ovar")
        berths = entries(*(f"Boat {number} of Ada is moored in {name}" for number, name in enumerate(harbours)))
        await service.add_memory(app_name="fleet", user_id="ada", memories=berths)
        await service.add_memory(app_name="zoo", user_id="ada", memories=entries("Ada keeps a lynx on her boat"))
        found = (await service.search_memory(app_name="zoo", user_id="ada", query="Ada boat moored")).memories
        return sorted(part.text or "" for entry in found for part in entry.content.parts or ())

    with open_store(store) as memory:
        memory.add("The boat of Ada is red", user="ada")
    assert asyncio.run(talk()) == ["Ada keeps a lynx on her boat", "The boat of Ada is red"]
