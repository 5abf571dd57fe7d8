"""The MemGPT agent: a persona, a memory in tiers, and a model that reaches for it through tools.

Packer et al., "MemGPT: Towards LLMs as Operating Systems", 2023.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from .agent_loop import AgentLoop
from .bound import declared_tools
from .config import DEFAULTS, NO_HOST, AgentConfig, Host
from .interface import DeclaredTool, LoopError
from .plan_run import PlanningTools
from .planner import as_hybrid
from .prompt import Persona
from .reply import AgentResponse
from .session_tools import SessionTools
from .taint import check_words
from .tools import Tools
from .virtual_context import VirtualContextMemory


class MemGPTAgent(AgentLoop):
    """An agent that is ready to talk: ``step`` answers a user, ``heartbeat`` works without one.

    >>> def model(messages):
    ...     return f"You said: {messages[-1]['content']}"
    >>> agent = MemGPTAgent(Persona("Ann", "You know books."), llm_client=model)
    >>> reply = agent.step("Good morning")
    >>> reply.message, reply.data["ended"]
    ('You said: Good morning', 'answered')
    """

    def __init__(
        self,
        persona: Persona | None = None,
        archival_store: Any = None,
        llm_client: Any = None,
        *,
        guard: Any = None,
        planner: Any = None,
        declared: Sequence[DeclaredTool] = (),
        config: AgentConfig = DEFAULTS,
        host: Host = NO_HOST,
    ) -> None:
        """Put an agent together from a store and a model.

        Args:
            persona: Who the agent is.
            archival_store: An ``ArchivalStore``, or memory tools over one; without it nothing outlasts the session.
            llm_client: A function from messages to an answer, or a client.
            guard: Judges calls of tools by policy.
            planner: One planner, a mapping with one planner per domain, or a ``HybridPlanner``.
            declared: Tools of the host.
            config: For whom it talks, and within which bounds.
            host: Whom it asks and tells.

        Raises:
            LoopError: Something that was handed in cannot be used.
        """
        memory_tools = _memory_tools(archival_store, config)
        memory = VirtualContextMemory(
            config.max_tokens,
            main=memory_tools.main,
            archive=getattr(memory_tools, "archive", None),
            recall=getattr(memory_tools, "recall", None),
            config=config,
        )
        hybrid = None if planner is None else as_hybrid(planner)
        toolbox = Tools(memory_tools, guard, config=config, host=host)
        toolbox.add(PlanningTools(hybrid, books=toolbox.books).tools())
        toolbox.add(declared_tools(declared, config.root, lambda: toolbox.deadline.left))
        super().__init__(memory, hybrid, model=llm_client, toolbox=toolbox, persona=persona, config=config, host=host)
        self.turn_id = memory.restore()

    @property
    def tools(self) -> Any:
        """Return the memory tools, to call as a model does."""
        return self.toolbox.memory

    @property
    def core_memory(self) -> Mapping[str, str]:
        """Return the core sections as every prompt shows them: the persona's begins with who the agent is."""
        core = self.memory.main.core
        return {**core, "persona": "\n".join(filter(None, [self.persona.render(), core.get("persona")]))}

    def step(self, text: str) -> AgentResponse:
        """Answer one message of the user."""
        check_words(text, "what the user says")
        return self.respond(text)


def _memory_tools(given: Any, config: AgentConfig) -> Any:
    if given is None:
        return SessionTools(VirtualContextMemory(config.max_tokens, config=config))
    if hasattr(given, "specs"):
        return given
    if not hasattr(given, "tools"):
        raise LoopError(f"archival_store is a {type(given).__name__}. Hand in ArchivalStore(path).")
    return given.tools(max_tokens=config.max_tokens, user_id=config.user_id, session_id=config.session_id)
