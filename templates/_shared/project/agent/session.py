"""Let a session go on in a later process: what its prompt held and which records it may cite."""

from __future__ import annotations

from agent.assembly import Rooms
from loop.core import AgentResponse, MemGPTAgent
from memory.session_file import Kept, SessionFile


class KeptSession:
    """An agent whose session is written down after each turn, as long as its user agrees to that."""

    def __init__(self, agent: MemGPTAgent, rooms: Rooms, *, messages: bool = True) -> None:
        """Put the session back; ``messages=False`` where something else keeps what the prompt held."""
        self._agent = agent
        self._rooms = rooms
        self._main = rooms.main if messages else None
        self._file = SessionFile(rooms.settings.state_folder / "context", rooms.user_id, rooms.session_id)
        kept = self._file.load(self._main)
        if kept is not None:
            agent.loop.turn_id = kept.turns
            rooms.toolbox.known_ids.update(kept.known)

    def step(self, text: str) -> AgentResponse:
        """Answer one message of the user and write the session down."""
        reply = self._agent.step(text)
        self.keep()
        return reply

    def keep(self) -> None:
        """Write the session down as it stands now, or take it off the disk where its user does not agree."""
        if self._rooms.consent.granted():
            self._rooms.settings.make_store()
            known = tuple(self._rooms.toolbox.known_ids)
            self._file.save(self._main, Kept(self._agent.loop.turn_id, known))
        else:
            self._file.forget()
