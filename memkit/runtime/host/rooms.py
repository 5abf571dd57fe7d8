"""The rooms of one user and session, put together: archive, recall, context, guard, planner and tools."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from functools import partial
from typing import Any

from ..guard.core import Guard
from ..guard.interface import PolicySetError
from ..loop.core import DeclaredTool, MemGPTAgent, Persona, Proposals
from ..loop.events import Listener
from ..loop.interface import Approval, Settle
from ..memory.main import ArchivalStore, MainContext, MemoryTools, Origin, RecallMemory
from .journal import JournalledToolbox
from .settings import ProjectSettings

PLANNING = "plan_task"
PROPOSING = "propose_subtasks"
EVOLVING = "evolve_expression"
STORING = "archival_memory_insert"
SEARCHING = "conversation_search"
"""The only memory tool where nothing may be stored long-term, whatever the user says."""
SEED = 0
"""Of evolutionary search: the same question has the same answer."""
NOT_AGREED = (
    "Nothing is stored long-term, because this user has not agreed to it. "
    "The user can say 'you may remember what I tell you', or the host can add --consent."
)
SWITCHED_OFF = "Nothing is stored long-term: privacy.long_term is off in this project's settings."
NOBODY = "Nothing is stored or recalled long-term, because no user was named. Add --user NAME."


@dataclass(frozen=True)
class Host:
    """What a person is asked and shown; without one nobody is."""

    approve: Approval | None = None
    """Asks about a call that a policy holds back."""
    settle: Settle | None = None
    """Asks what became of a call that had begun when its turn was cut off."""
    listen: Listener | None = None
    """Is told what happens in a turn while it happens."""


NO_HOST = Host()


class UserConsent:
    """Whether one user agreed to long-term memory: in words or through the host, kept as an event of the archive."""

    def __init__(self, archive: ArchivalStore, user: str | None, session: str, *, switched_off: bool = False) -> None:
        self._archive = archive
        self._user = user
        self._session = session
        self._switched_off = switched_off
        self._answer = archive.consent(user) if user is not None else None

    def granted(self) -> bool:
        """Return whether something may be stored long-term now."""
        return self._answer is True and not self._switched_off

    def unasked(self) -> bool:
        """Return whether the user could decide and never did."""
        return self._user is not None and self._answer is None and not self._switched_off

    def record(self, granted: bool, actor: str = "user") -> None:
        """Keep what the user, or the person who starts the agent, decided."""
        if self._user is None or granted is self._answer:
            return
        self._archive.set_consent(
            self._user, granted, Origin(actor=actor, user_id=self._user, session_id=self._session)
        )
        self._answer = granted

    def missing(self) -> str | None:
        """Return why nothing is stored, or None when something may be."""
        if self._user is None:
            return NOBODY
        if self._switched_off:
            return SWITCHED_OFF
        return None if self._answer else NOT_AGREED


class OfferedTools(MemoryTools):
    """Memory tools of which a model sees, and can call, only those that the project's skills chose."""

    def __init__(self, *parts: Any, names: Collection[str], **more: Any) -> None:
        super().__init__(*parts, **more)
        self.names = frozenset(names)

    def specs(self) -> list[dict[str, Any]]:
        """Return the tools that are offered; the toolbox runs no others."""
        return [spec for spec in super().specs() if spec["name"] in self.names]


@dataclass(frozen=True)
class Rooms:
    """The rooms of one user and session, ready for a model."""

    settings: ProjectSettings
    archive: ArchivalStore
    memory: OfferedTools
    toolbox: JournalledToolbox
    consent: UserConsent
    host: Host
    session_id: str

    @property
    def main(self) -> MainContext:
        """Return the main context, which the memory tools edit."""
        return self.memory.main

    @property
    def user_id(self) -> str:
        """Return whose memory it is."""
        return self.memory.user_id

    @property
    def persona(self) -> Persona:
        """Return who the agent is, as the store says."""
        values = self.settings.values
        return Persona(name=str(values["name"]), description=str(values["persona"]))

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


def open_rooms(settings: ProjectSettings, user: str | None, session: str, host: Host = NO_HOST) -> Rooms:
    """Open everything that a turn needs; without a user nothing is stored or recalled long-term."""
    limits = settings.limits
    user_id = user if user is not None else "nobody"
    switched_off = settings.values["privacy"]["long_term"] == "off"
    archive = ArchivalStore(settings.memory_folder if user is not None else None, settings=limits)
    consent = UserConsent(archive, user, session, switched_off=switched_off)
    memory = OfferedTools(
        MainContext.configured(limits),
        archive,
        recall=RecallMemory(
            settings.state_folder / "sessions" if user is not None else None,
            ttl=limits.recall.ttl,
            max_items=limits.recall.max_items,
        ),
        user_id=user_id,
        session_id=session,
        consented=consent.granted,
        names=settings.tools if user is not None and not switched_off else settings.tools & {SEARCHING},
    )
    toolbox = _toolbox(settings, memory, archive, consent, host)
    return Rooms(settings, archive, memory, toolbox, consent, host, session)


def guard_of(policies: Iterable[Any]) -> Guard:
    """Return the compiled policies; a set that does not load denies everything."""
    try:
        return Guard(list(policies))
    except PolicySetError as error:
        return Guard.broken(str(error))


def _toolbox(
    settings: ProjectSettings, memory: OfferedTools, archive: ArchivalStore, consent: UserConsent, host: Host
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
        planner=_planners(settings, proposals),
        proposals=proposals if PROPOSING in settings.tools else None,
        searcher=_searcher if EVOLVING in settings.tools else None,
        tools=[DeclaredTool(**tool) for tool in settings.values["tools"]],
        context=settings.context,
        root=settings.memory_folder,
        approve=host.approve,
        consent=consent,
        retire=retire if STORING in memory.names else None,
    )


def _planners(settings: ProjectSettings, proposals: Proposals) -> dict[str, Any]:
    """Return a planner for every domain, none where no skill of the project plans."""
    if PLANNING not in settings.tools or not settings.domains:
        return {}
    from ..htn.core import HTNPlanner  # what a project does not use, it does not load

    return {str(domain["name"]): HTNPlanner(domain=domain, llm_decompose=proposals) for domain in settings.domains}


def _searcher(pairs: list[tuple[float, float]], seed_program: str | None = None) -> Any:
    """Return an evolutionary search for an expression through ``pairs`` of x and wanted y."""
    from ..evolve.core import EvolutionarySearcher, fitness_mean_squared_error

    fitness = partial(fitness_mean_squared_error, target=pairs)
    return EvolutionarySearcher(seed_program=seed_program or "lambda x: x", fitness_fn=fitness, seed=SEED)
