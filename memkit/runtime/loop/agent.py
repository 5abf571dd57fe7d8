"""The MemGPT agent: a persona, a tiered memory, and a model that reaches that memory through tools.

Packer et al., "MemGPT: Towards LLMs as Operating Systems", 2023.
"""

from __future__ import annotations

import asyncio
import contextvars
import threading
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractContextManager
from typing import Any, Protocol

from .agent_loop import AgentLoop
from .bound import declared_tools
from .interface import DeclaredTool, LoopError
from .plan_run import PlanningTools
from .planner import as_hybrid
from .prompt import Persona
from .reply import DEFAULTS, NO_HOST, AgentConfig, AgentResponse, Event, Host, Listener
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
        """Build an agent from a store and a model.

        Args:
            persona: Who the agent is.
            archival_store: An ``ArchivalStore``, or memory tools over one; without it nothing outlasts the session.
            llm_client: A function from messages to an answer, or a client.
            guard: Judges tool calls by policy.
            planner: One planner, a mapping with one planner per domain, or a ``HybridPlanner``.
            declared: The host's own tools.
            config: Whom the agent talks to, and its limits.
            host: Whom the agent asks, and who is told of events.

        Raises:
            LoopError: One of the arguments cannot be used.
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
        """Return the memory tools, callable the way a model calls them."""
        return self.toolbox.memory

    @property
    def core_memory(self) -> Mapping[str, str]:
        """Return the core sections as every prompt shows them; the persona section begins with who the agent is."""
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
        raise LoopError(f"archival_store is a {type(given).__name__}. Pass ArchivalStore(path).")
    return given.tools(max_tokens=config.max_tokens, user_id=config.user_id, session_id=config.session_id)


# An agent for asynchronous code: the same synchronous core, one turn at a time, on a separate thread.


class Agent(Protocol):
    """What the asynchronous wrapper and the front doors need of an agent; ``MemGPTAgent`` is one."""

    def step(self, text: str) -> AgentResponse:
        """Answer one message."""

    def heartbeat(self) -> AgentResponse:
        """Act without user input."""

    def interrupt(self) -> None:
        """End the running turn as soon as the session can be left consistent; called from another thread."""

    def heard_by(self, listen: Listener) -> AbstractContextManager[None]:
        """Send events to ``listen`` for the duration of the block."""


class AsyncAgent:
    """Awaits an agent's turns.

    Turns requested at the same time run one after another, in the order of the requests. A turn that is cancelled
    ends as if its user had interrupted it: everything said and done up to then stays in the session, and the next turn
    begins only after that.

    >>> import asyncio
    >>> async def talk():
    ...     async with AsyncAgent(MemGPTAgent(llm_client=lambda messages: "It is noon.")) as agent:
    ...         return [event.kind async for event in agent.stream("What time is it?")]
    >>> asyncio.run(talk())
    ['turn_opened', 'recalled', 'model_asked', 'text', 'model_answered', 'turn_closed']
    """

    def __init__(self, agent: Agent) -> None:
        self._agent = agent
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="agent")

    async def step(self, text: str) -> AgentResponse:
        """Answer one message of the user."""
        return await self._turn(lambda: self._agent.step(text))

    async def heartbeat(self) -> AgentResponse:
        """Act without user input; bounded like any turn."""
        return await self._turn(self._agent.heartbeat)

    async def stream(self, text: str) -> AsyncIterator[Event]:
        """Yield the events of the turn that answers ``text``, from ``turn_opened`` to ``turn_closed``.

        Closing the iterator cancels the turn. An error in the turn is raised after its last event.
        """
        here = asyncio.get_running_loop()
        events: asyncio.Queue[Event | None] = asyncio.Queue()

        def tell(event: Event) -> None:
            here.call_soon_threadsafe(events.put_nowait, event)

        turn = asyncio.ensure_future(self._turn(lambda: self._agent.step(text), tell))
        turn.add_done_callback(lambda _: events.put_nowait(None))
        try:
            while (event := await events.get()) is not None:
                yield event
            await turn
        finally:
            turn.cancel()
            await asyncio.wait([turn])  # until the thread has been told; not until it is done

    async def aclose(self) -> None:
        """Wait until no turn is running; the agent accepts no more turns."""
        await asyncio.to_thread(self._thread.shutdown)

    async def __aenter__(self) -> AsyncAgent:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    async def _turn(self, work: Callable[[], AgentResponse], tell: Listener | None = None) -> AgentResponse:
        cancelled = threading.Event()

        def heard(event: Event) -> None:
            if cancelled.is_set():
                self._agent.interrupt()
            elif tell is not None:
                tell(event)

        def turn() -> AgentResponse:
            with self._agent.heard_by(heard):
                return work()

        context = contextvars.copy_context()
        running: Future[Any] = self._thread.submit(context.run, turn)
        waiting = asyncio.wrap_future(running)
        waiting.add_done_callback(_look_at)
        try:
            return await asyncio.shield(waiting)
        except asyncio.CancelledError:
            if not running.cancel():
                cancelled.set()
                self._agent.interrupt()
            raise


def _look_at(turn: asyncio.Future[Any]) -> None:
    """Retrieve an error that nobody is waiting for any more."""
    if not turn.cancelled():
        turn.exception()
