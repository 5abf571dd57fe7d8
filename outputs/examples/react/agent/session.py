"""Let a session go on in a later process: what its prompt held and which records it may cite."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from typing import Any

from agent.assembly import Rooms
from loop.core import AgentResponse, MemGPTAgent
from memory.secrets import mask

KNOWN = 500
"""Ids of records that a session may still cite; the newest ones."""


class KeptSession:
    """An agent whose session is written down after each turn, as long as its user agrees to that."""

    def __init__(self, agent: MemGPTAgent, rooms: Rooms, *, messages: bool = True) -> None:
        """Put the session back; ``messages=False`` where something else keeps what the prompt held."""
        self._agent = agent
        self._rooms = rooms
        self._messages = messages
        # Names of people and sessions are no file names: they may hold slashes.
        digest = hashlib.sha256(f"{rooms.user_id}\n{rooms.session_id}".encode(errors="replace")).hexdigest()[:32]
        self._path = rooms.settings.state_folder / "context" / f"{digest}.json"
        self._load()

    def step(self, text: str) -> AgentResponse:
        """Answer one message of the user and write the session down."""
        reply = self._agent.step(text)
        if self._rooms.consent.granted():
            self._save()
        else:
            self._path.unlink(missing_ok=True)
        return reply

    def _load(self) -> None:
        try:
            data = json.loads(self._path.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            # Nothing was kept, or somebody damaged the file: recall memory still has the turns.
            return
        self._agent.loop.turn_id = int(data["turns"])
        self._rooms.toolbox.known_ids.update(data["known"])
        if self._messages:
            self._rooms.main.restore(data["messages"], data["summary"])

    def _save(self) -> None:
        main = self._rooms.main
        data: dict[str, Any] = {"turns": self._agent.loop.turn_id, "known": sorted(self._rooms.toolbox.known_ids)[-KNOWN:]}
        if self._messages:
            data |= {"messages": masked(main.messages), "summary": mask(main.summary)}
        self._path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        beside = self._path.with_suffix(f".{os.getpid()}.new")
        handle = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(handle, "w", encoding="utf-8", errors="backslashreplace") as file:
            json.dump(data, file, ensure_ascii=False)
            file.flush()
            os.fsync(file.fileno())
        beside.replace(self._path)


def masked(value: Any) -> Any:
    """Return ``value`` with the secrets in its texts masked.

    >>> masked({"role": "user", "content": ["hello"]})
    {'role': 'user', 'content': ['hello']}
    """
    if isinstance(value, str):
        return mask(value)
    if isinstance(value, Mapping):
        return {key: masked(item) for key, item in value.items()}
    return [masked(item) for item in value] if isinstance(value, list | tuple) else value
