"""The MemGPT agent: a persona, a memory in tiers, and a model that reaches for it through tools."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any

from .agent_loop import AgentLoop
from .chores import Chores
from .errors import LoopError
from .events import Listener
from .fencing import check_words
from .interface import JSON, Approval, DeclaredTool, Settle, TurnJournal
from .planner import Proposals, as_hybrid
from .prompt import Persona
from .reply import AgentResponse
from .session_context import SessionTools
from .tiers import WorkingMemory
from .tools import Toolbox
from .virtual_context import VirtualContextMemory


class MemGPTAgent:
    """An agent that is ready to talk: ``step`` answers a user, ``heartbeat`` works without one."""

    def __init__(
        self,
        persona: Persona | None = None,
        archival_store: Any = None,
        llm_client: Any = None,
        *,
        tools: Any = None,
        guard: Any = None,
        planner: Any = None,
        proposals: Proposals | None = None,
        declared: Sequence[DeclaredTool] = (),
        context: Mapping[str, JSON] | None = None,
        approve: Approval | None = None,
        toolbox: Toolbox | None = None,
        memory: VirtualContextMemory | None = None,
        durable: Callable[[], bool] = lambda: True,
        user_id: str = "local",
        session_id: str | None = None,
        max_tokens: int = 8000,
        max_tool_calls: int = 8,
        max_seconds: float | None = None,
        listen: Listener | None = None,
        journal: TurnJournal | None = None,
        settle: Settle | None = None,
        chores: Chores | None = None,
        working: WorkingMemory | None = None,
        root: Any = ".",
        loop: Callable[..., AgentLoop] = AgentLoop,
    ) -> None:
        self.tools = tools or _memory_tools(archival_store, max_tokens, user_id, session_id)
        self.memory = memory or VirtualContextMemory(
            max_tokens,
            main=self.tools.main,
            archive=archival_store,
            recall=getattr(self.tools, "recall", None),
            user_id=user_id,
            session_id=session_id,
            durable=durable,
        )
        self.memory.on_unkept = getattr(self.tools, "hold", None)
        hybrid = None if planner is None else as_hybrid(planner, proposals)
        self.toolbox = toolbox or Toolbox(
            self.tools,
            guard,
            planner=hybrid,
            proposals=proposals,
            tools=declared,
            context=context,
            root=root,
            approve=approve,
        )
        self.loop = loop(
            self.memory,
            hybrid,
            model=llm_client,
            toolbox=self.toolbox,
            persona=persona,
            working=working,
            remember=self._remember_outcome,
            learn=getattr(self.tools, "learn", None),
            max_tool_calls=max_tool_calls,
            max_seconds=max_seconds,
            listen=listen,
            journal=journal,
            settle=settle,
            chores=chores,
        )
        if memory is None:
            self.loop.turn_id = self.memory.restore()

    def _remember_outcome(self, text: str, tags: Sequence[str]) -> str:
        insert = getattr(self.tools, "archival_memory_insert", None)
        return "" if insert is None else str(insert(text, type="outcome", tags=list(tags)))

    @property
    def core_memory(self) -> Mapping[str, str]:
        """Return the core sections as every prompt shows them: the persona's begins with who the agent is."""
        core = self.memory.main.core
        return {**core, "persona": "\n".join(filter(None, [self.persona.render(), core.get("persona")]))}

    @property
    def persona(self) -> Persona:
        """Return who the agent is."""
        return self.loop.persona

    def step(self, text: str) -> AgentResponse:
        """Answer one message of the user."""
        check_words(text, "what the user says")
        return self.loop.respond(text)

    def interrupt(self) -> None:
        """End the running turn as soon as that leaves the session whole; may be called from any thread."""
        self.loop.interrupt()

    def heard_by(self, listen: Listener) -> AbstractContextManager[None]:
        """Tell ``listen`` of what happens in turns, as long as the block lasts."""
        return self.loop.told.heard_by(listen)

    def heartbeat(self) -> AgentResponse:
        """Act without user input; bounded like any turn."""
        return self.loop.heartbeat()


def _memory_tools(archive: Any, max_tokens: int, user_id: str, session_id: str | None) -> Any:
    if archive is not None and not hasattr(archive, "tools"):
        raise LoopError(f"archival_store is a {type(archive).__name__}. Hand in ArchivalStore(path).")
    if archive is None:
        return SessionTools(VirtualContextMemory(max_tokens, user_id=user_id, session_id=session_id))
    return archive.tools(max_tokens=max_tokens, user_id=user_id, session_id=session_id)
