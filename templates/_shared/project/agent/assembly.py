"""Put the rooms together for one user and session: archive, recall, context, guard, planner and tools."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial
from typing import Any

from agent.consent import Consent
from agent.interface import Host
from agent.journalled_toolbox import JournalledToolbox
from agent.offered import OfferedTools
from agent.settings import Settings
from evolve.core import EvolutionarySearcher, fitness_mean_squared_error
from guard.core import Guard, PolicySetError
from htn.core import HTNPlanner
from loop.core import DeclaredTool, MemGPTAgent, Persona, Proposals
from memory.archive import ArchivalStore
from memory.context import MainContext
from memory.recall import RecallMemory
from memory.record import Origin
from memory.settings import MemorySettings

PLANNING = "plan_task"
PROPOSING = "propose_subtasks"
EVOLVING = "evolve_expression"
STORING = "archival_memory_insert"
SEARCHING = "conversation_search"
"""The only memory tool where nothing may be stored long-term, whatever the user says."""
NO_HOST = Host()
SEED = 0
"""Of evolutionary search: the same question has the same answer."""


@dataclass(frozen=True)
class Rooms:
    """The rooms of one user and session, ready for a model."""

    settings: Settings
    archive: ArchivalStore
    main: MainContext
    memory: OfferedTools
    toolbox: JournalledToolbox
    consent: Consent
    persona: Persona
    user_id: str
    session_id: str
    host: Host

    def agent(self, **parts: Any) -> MemGPTAgent:
        """Return the loop room's agent over these rooms; ``parts`` name the model or another loop."""
        return MemGPTAgent(
            self.persona,
            self.archive,
            tools=self.memory,
            toolbox=self.toolbox,
            durable=self.consent.granted,
            user_id=self.user_id,
            session_id=self.session_id,
            listen=self.host.listen,
            **parts,
        )

    def close(self) -> None:
        """Release the archive."""
        self.archive.close()


def open_rooms(settings: Settings, user: str | None, session: str, host: Host = NO_HOST) -> Rooms:
    """Open everything that a turn needs; without a user nothing is stored or recalled long-term."""
    limits = settings.limits
    user_id = user if user is not None else "nobody"
    switched_off = settings.values["privacy"]["long_term"] == "off"
    archive = ArchivalStore(settings.memory_folder if user is not None else None, settings=limits)
    consent = Consent(archive, user, session, switched_off=switched_off)
    main = MainContext.configured(limits)
    memory = OfferedTools(
        main,
        archive,
        recall=_recall(settings, limits, user),
        user_id=user_id,
        session_id=session,
        consented=consent.granted,
        names=settings.tools if user is not None and not switched_off else settings.tools & {SEARCHING},
    )
    toolbox = _toolbox(settings, memory, archive, consent, host)
    persona = Persona(name=str(settings.values["name"]), description=str(settings.values["persona"]))
    return Rooms(settings, archive, main, memory, toolbox, consent, persona, user_id, session, host)


def guard_of(policies: Iterable[Any]) -> Guard:
    """Return the compiled policies; a set that does not load denies everything."""
    try:
        return Guard(list(policies))
    except PolicySetError as error:
        return Guard.broken(str(error))


def planners_of(settings: Settings, proposals: Proposals) -> dict[str, HTNPlanner]:
    """Return a planner for every domain, none where no skill of the project plans."""
    domains = settings.domains if PLANNING in settings.tools else ()
    return {str(domain["name"]): HTNPlanner(domain=domain, llm_decompose=proposals) for domain in domains}


def searcher(pairs: list[tuple[float, float]], seed_program: str | None = None) -> EvolutionarySearcher:
    """Return an evolutionary search for an expression through ``pairs`` of x and wanted y."""
    fitness = partial(fitness_mean_squared_error, target=pairs)
    return EvolutionarySearcher(seed_program=seed_program or "lambda x: x", fitness_fn=fitness, seed=SEED)


def _toolbox(
    settings: Settings, memory: OfferedTools, archive: ArchivalStore, consent: Consent, host: Host
) -> JournalledToolbox:
    proposals = Proposals()

    def retire(record_id: str, reason: str) -> str:
        stored = archive.get(record_id, user_id=memory.user_id)
        origin = Origin(actor="user", user_id=memory.user_id, session_id=memory.session_id)
        if stored is None or stored.status != "rejected":  # in a turn that goes on it may be done already
            archive.mark("reject", record_id, origin, reason=reason)
        return stored.record.text if stored is not None else ""

    return JournalledToolbox(
        memory,
        guard_of(settings.policies),
        planner=planners_of(settings, proposals),
        proposals=proposals if PROPOSING in settings.tools else None,
        searcher=searcher if EVOLVING in settings.tools else None,
        tools=[DeclaredTool(**tool) for tool in settings.values["tools"]],
        context=settings.context,
        root=settings.memory_folder,
        approve=host.approve,
        consent=consent,
        retire=retire if STORING in memory.names else None,
    )


def _recall(settings: Settings, limits: MemorySettings, user: str | None) -> RecallMemory:
    folder = settings.state_folder / "sessions" if user is not None else None
    return RecallMemory(folder, ttl=limits.recall.ttl, max_items=limits.recall.max_items)
