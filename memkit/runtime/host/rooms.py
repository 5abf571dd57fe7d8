"""The rooms of one user and session, assembled: archive, recall, context, guard, planner and tools."""

from __future__ import annotations

import json
import sys
import threading
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..guard.core import Guard
from ..guard.interface import PolicySetError
from ..loop.bound import declared_tools
from ..loop.consent import retraction_tool
from ..loop.core import (
    Acts,
    AgentConfig,
    AgentLoop,
    DeclaredTool,
    Host,
    HybridPlanner,
    Persona,
    Proposals,
    Tools,
    VirtualContextMemory,
)
from ..loop.interface import CallKey, Completion, Settle, ToolCall, TurnJournal
from ..loop.journal import DONE, LEAVE, LEFT, RUN, TOLD_DONE, UNKNOWN, OpenTurn, Resumed
from ..loop.plan_run import PlanningTools
from ..loop.reply import NO_HOST
from ..loop.taint import excerpt
from ..loop.tools import working_memory_tool
from ..memory.archive.reader import unobserved
from ..memory.log.clone import cache_folder
from ..memory.main import ArchivalStore, MainContext, MemoryTools, Origin, RecallMemory
from .endpoints import OPENAI, Vendor
from .sessions import Session, SessionTerms
from .settings import ProjectSettings
from .terminal import speaker

if TYPE_CHECKING:
    from ..backends.redis_state import RedisState
    from ..embeddings.interface import Embedder
    from ..memory.index.search import VectorIndex
    from ..memory.tiers.conversation import Similar
    from .side_model import SideModel

PLANNING = "plan_task"
PROPOSING = "propose_subtasks"
EVOLVING = "evolve_expression"
STORING = "archival_memory_insert"
VALUE = "memory_value"
"""The tool for exact values; offered together with the one that stores."""
SEARCHING = "conversation_search"
"""The only memory tool when nothing may be stored long-term, whatever the user says."""
SEED = 0
"""Seed of evolutionary search: the same question gets the same answer."""
NOT_AGREED = (
    "Nothing is stored long-term, because this user has not agreed to it. "
    "The user can say 'you may remember what I tell you', or the host can add --consent."
)
SWITCHED_OFF = "Nothing is stored long-term: privacy.long_term is off in this project's settings."
NOBODY = "Nothing is stored or recalled long-term, because no user was named. Add --user NAME."


class UserConsent:
    """Whether one user agreed to long-term memory, in words or through the host; stored as an event in the archive."""

    def __init__(self, settings: ProjectSettings, archive: ArchivalStore, user: str | None, session: str) -> None:
        self.archive = archive
        self._settings = settings
        self._user = user
        self._session = session
        self._switched_off = settings.values["privacy"]["long_term"] == "off"
        self._answer = archive.consent(user) if user is not None else None

    def granted(self) -> bool:
        """Return whether something may be stored long-term now."""
        return self._answer is True and not self._switched_off

    def is_possible(self) -> bool:
        """Return whether anything could be stored long-term if the user agreed."""
        return self._user is not None and not self._switched_off

    def unasked(self) -> bool:
        """Return whether the user could decide but never did."""
        return self._answer is None and self.is_possible()

    def record(self, granted: bool, actor: str = "user") -> None:
        """Store the decision of the user, or of the person who starts the agent."""
        if self._user is None or granted is self._answer:
            return
        self.archive.set_consent(self._user, granted, Origin(actor=actor, user_id=self._user, session_id=self._session))
        self._answer = granted
        if self.granted():
            self._settings.make_store()

    def missing(self) -> str | None:
        """Return why nothing is stored, or None if something may be."""
        if self._user is None:
            return NOBODY
        if self._switched_off:
            return SWITCHED_OFF
        return None if self._answer else NOT_AGREED


class OfferedTools(MemoryTools):
    """Memory tools restricted to those that the project's skills chose; a model sees and can call no others."""

    def __init__(self, *parts: Any, names: Collection[str], **more: Any) -> None:
        super().__init__(*parts, **more)
        self.names = frozenset([*names, *([VALUE] if STORING in names else [])])

    def specs(self) -> list[dict[str, Any]]:
        """Return the tools that are offered; the toolbox runs no others."""
        return [spec for spec in super().specs() if spec["name"] in self.names]


@dataclass(frozen=True)
class Rooms:
    """The rooms of one user and session, ready for a model."""

    settings: ProjectSettings
    archive: ArchivalStore
    memory: OfferedTools
    toolbox: JournalledTools
    consent: UserConsent
    config: AgentConfig
    host: Host
    shared: RedisState | None = None

    @property
    def main(self) -> MainContext:
        """Return the main context, which the memory tools edit."""
        return self.memory.main

    @property
    def persona(self) -> Persona:
        """Return the persona, as the store defines it."""
        values = self.settings.values
        return Persona(name=str(values["name"]), description=str(values["persona"]))

    def agent(self, model: Any, vendor: Vendor | None = OPENAI) -> AgentLoop:
        """Return the agent over these rooms, for a model, or for an SDK that runs model and tools itself.

        Telemetry names ``vendor`` as who answers; None stands for a server that speaks a protocol of OpenAI's.
        """
        host = self.host
        if "opentelemetry" in sys.modules:
            from .telemetry import traced

            host = traced(host, (vendor or OPENAI).name.lower(), self.settings.model)
        memory = VirtualContextMemory(
            main=self.main,
            archive=self.archive,
            recall=self.memory.recall,
            config=self.config,
            durable=self.consent.granted,
        )
        agent = AgentLoop(
            memory, model=model, toolbox=self.toolbox, persona=self.persona, config=self.config, host=host
        )
        agent.working.max_items = self.settings.limits.working.max_items
        return agent

    def session(self, model: Any, *, messages: bool = True, vendor: Vendor | None = OPENAI) -> Session:
        """Return the restored session of an agent for ``model``; ``messages=False`` if an SDK keeps the messages.

        A model of ``vendor`` draws lasting facts from turns and, if ``context.summary_model`` says so, summarises what
        leaves the prompt. None stands for a server that answers nothing besides a conversation.

        Raises:
            SessionInUse: Another process has the session open.
            JournalError: Its journal is damaged.
        """
        granted, agent = self.consent.granted, self.agent(model, vendor)
        limits = self.settings.limits
        sums_up, draws = limits.context.summary_model != "off", limits.write.extract == "auto"
        side = self._side_model(agent, vendor) if sums_up or draws else None
        self.main.summarise = side.summarise if side and sums_up else None
        terms = SessionTerms(
            self.user_id,
            self.session_id,
            self.settings.state_folder / "context",
            granted,
            keeps_messages=messages,
            forgets=True,
            extract=side.extract if side and draws else None,
            waits=not sums_up,
            account=lambda turn: account_of(turn, self.host.settle),
            shared=self.shared,
        )
        session = Session(agent, terms, settings=self.settings.limits)
        # The loop of the rooms journals its own calls; with an SDK, the SDK decides when a tool runs.
        self.toolbox.journal = session.journal if isinstance(model, Acts) else None
        if granted():
            self.settings.make_store()
        session.open(may_read=granted())
        return session

    def _side_model(self, agent: AgentLoop, vendor: Vendor | None) -> SideModel | None:
        from .plain_model import plain_model
        from .side_model import SideModel

        model = plain_model(self.settings, vendor)
        tell = partial(print, file=sys.stderr)
        return SideModel(lambda: model, agent.spent, tell) if model else None

    def reload_core(self) -> None:
        """Reload the core sections from the archive."""
        self.main.core.update(dict.fromkeys(self.main.core, ""))
        self.memory.reload_core()

    @property
    def user_id(self) -> str:
        """Return whose memory it is."""
        return self.config.user_id

    @property
    def session_id(self) -> str:
        """Return the session's name."""
        return str(self.config.session_id)

    def close(self) -> None:
        """Release the archive."""
        self.archive.close()


def open_rooms(settings: ProjectSettings, user: str | None, session: str, host: Host = NO_HOST) -> Rooms:
    """Open everything that a turn needs; without a user nothing is stored or recalled long-term."""
    limits, told = settings.limits, None
    if "opentelemetry" in sys.modules:  # the program uses OpenTelemetry; others do not pay for loading it
        from .telemetry import accounted, telemetry

        host, told = accounted(host), telemetry()
    if user is not None:
        with suppress(OSError):  # the code that writes there reports why it cannot
            settings.memory_folder.mkdir(parents=True, exist_ok=True)  # a clone is identified by its folder
    user_id = user if user is not None else "nobody"
    meaning = _ByMeaning(settings) if limits.retrieval.vectors != "off" else None
    archive = settings.open_archive(
        user, vectors=(lambda: meaning.index) if meaning else None, observe=told.account if told else unobserved
    )
    if meaning is not None:
        meaning.shared = archive.log.vectors
    consent = UserConsent(settings, archive, user, session)
    memory = OfferedTools(
        MainContext.configured(limits),
        archive,
        recall=RecallMemory(
            settings.state_folder / "sessions" if user is not None else None,
            ttl=limits.recall.ttl,
            max_items=limits.recall.max_items,
            similar=meaning.similar if meaning else None,
        ),
        user_id=user_id,
        session_id=session,
        consented=consent.granted,
        speaker=speaker(),
        names=settings.tools if consent.is_possible() else settings.tools & {SEARCHING},
    )
    config = AgentConfig(
        user_id,
        session,
        max_tokens=memory.main.max_tokens,
        max_seconds=settings.turn_seconds,
        context=settings.context,
        root=settings.memory_folder,
    )
    toolbox = _toolbox(settings, memory, consent, config, host)
    shared = settings.shared_state() if user is not None else None
    if shared is not None:
        from ..backends.redis_state import SharedCounts

        memory.recall.share = shared.push
        archive.count_in(SharedCounts(settings.state_folder / "access", shared))
    return Rooms(settings, archive, memory, toolbox, consent, config, host, shared)


class _ByMeaning:
    """The embedding model that the store's settings name, loaded by the first question that needs it."""

    def __init__(self, settings: ProjectSettings) -> None:
        self._settings = settings
        self.shared: Any = None
        """The vectors shared with other instances, if any."""

    @cached_property
    def index(self) -> VectorIndex:
        """Return the index of records; raise ``OtherModel`` if the store settled on another model."""
        from ..embeddings.nearest import NearestIndex

        return NearestIndex(self._embedder, self.shared)

    def similar(self, query: str, texts: Sequence[str]) -> Sequence[float]:
        """Return how close turns are in meaning to a question."""
        return self._similarity(query, texts)

    @cached_property
    def _similarity(self) -> Similar:
        from ..embeddings.nearest import TURNS, Similarity

        return Similarity(self._embedder, cache_folder(self._settings.memory_folder) / TURNS)

    @cached_property
    def _embedder(self) -> Embedder:
        from ..embeddings.interface import hold_to
        from ..embeddings.local import LocalEmbedder

        retrieval = self._settings.limits.retrieval
        embedder = LocalEmbedder(self._settings.memory_folder / Path(retrieval.vectors).expanduser())
        hold_to(retrieval.vector_model, embedder)
        return embedder


def guard_of(policies: Iterable[Any]) -> Guard:
    """Return the compiled policies; a set that fails to load denies everything."""
    try:
        return Guard(list(policies))
    except PolicySetError as error:
        return Guard.broken(str(error))


def _toolbox(
    settings: ProjectSettings, memory: OfferedTools, consent: UserConsent, config: AgentConfig, host: Host
) -> JournalledTools:
    archive, proposals = consent.archive, Proposals()

    def retire(record_id: str, reason: str, taint: Sequence[str]) -> tuple[str, str | None]:
        stored = archive.get(record_id, user_id=memory.user_id)
        actor = memory.speaker if taint or memory.speaker != "agent" else "user"
        origin = Origin(actor, memory.user_id, session_id=memory.session_id, taint=tuple(taint))
        waiting = None
        if stored is None or stored.status != "rejected":  # a resumed turn may have done it already
            waiting = archive.mark("reject", record_id, origin, reason=reason)
        return (stored.record.text if stored is not None else ""), waiting

    tools = JournalledTools(memory, guard_of(settings.policies), config=config, host=host, consent=consent)
    if STORING in memory.names:
        tools.add([retraction_tool(retire, tools.books)])
    planner = HybridPlanner(
        htn=_planners(settings, proposals), proposals=proposals if PROPOSING in settings.tools else None
    )
    searcher = _searcher if EVOLVING in settings.tools else None
    tools.add(PlanningTools(planner, searcher=searcher, books=tools.books).tools())
    declared = [DeclaredTool(**tool) for tool in settings.values["tools"]]
    tools.add(declared_tools(declared, settings.memory_folder, lambda: tools.deadline.left))
    tools.add([working_memory_tool(tools)])
    return tools


def _planners(settings: ProjectSettings, proposals: Proposals) -> dict[str, Any]:
    """Return a planner for every domain, or none if no skill of the project plans."""
    if PLANNING not in settings.tools or not settings.domains:
        return {}
    from ..htn.core import HTNPlanner  # a project loads only what it uses

    return {str(domain["name"]): HTNPlanner(domain=domain, llm_decompose=proposals) for domain in settings.domains}


def _searcher(pairs: list[tuple[float, float]], seed_program: str | None = None) -> Any:
    """Return an evolutionary search for an expression through ``pairs`` of x and wanted y."""
    from ..evolve.core import EvolutionarySearcher, fitness_mean_squared_error

    fitness = partial(fitness_mean_squared_error, target=pairs)
    return EvolutionarySearcher(seed_program=seed_program or "lambda x: x", fitness_fn=fitness, seed=SEED)


# What the journal keeps when an SDK decides when a tool runs, and the account of a turn that was cut off.


RESULT = 1000
"""The most characters of a call's result that are reported."""
WANTED = "Outcome unknown: the program was cut off in this call. The user wants it run once more."


class JournalledTools(Tools):
    """For a loop whose SDK decides when a tool runs; the loop of the rooms journals its calls itself."""

    journal: TurnJournal | None = None
    """None if the calls are kept elsewhere."""
    _number = 0
    """The number of calls begun in this turn."""

    def __init__(self, *parts: Any, **more: Any) -> None:
        super().__init__(*parts, **more)
        self._keeping = threading.Lock()

    def begin_turn(self, user_text: str | None, turn_id: int | None, *, all_said: bool = False) -> None:
        """Open the books of a new turn."""
        self._number = 0
        super().begin_turn(user_text, turn_id, all_said=all_said)

    def carry_out(
        self, name: str, args: Mapping[str, Any] | str, decision: str, key: CallKey | None = None
    ) -> tuple[str, bool]:
        """Run a call between two journal lines; it does not begin before the first is on disk."""
        if self.journal is None:
            return super().carry_out(name, args, decision, key)
        may_repeat = self.may_repeat(name)
        with self._keeping:  # an SDK may run several calls at a time
            self._number += 1
            call = ToolCall(f"call-{self.books.turn_id}-{self._number}", name, args)
            self.journal.answered(Completion("", (call,)))
            given = {} if isinstance(args, str) else dict(args)
            self.journal.started({"id": call.id, "name": name, "args": given}, may_repeat=may_repeat)
        text, error = super().carry_out(name, args, decision, key)
        with self._keeping:
            self.journal.finished(call.id, text, error, may_repeat=may_repeat)
        return text, error


def account_of(turn: OpenTurn, settle: Settle | None) -> str:
    """Return what is known of a turn and each of its calls; a person, if present, is asked about the unknown ones."""
    lines = [Resumed(turn).line, f"It began with: {turn.text or '(nobody spoke)'}"]
    for call in (call for answer in turn.answers for call in answer.tool_calls):
        given = call.args if isinstance(call.args, str) else json.dumps(dict(call.args), ensure_ascii=False)
        lines.append(f"- {call.name} {given}: {_outcome(turn, call, settle)}")
    return "\n".join(lines)


def _outcome(turn: OpenTurn, call: ToolCall, settle: Settle | None) -> str:
    if call.id in turn.finished:
        return excerpt(str(turn.finished[call.id]["result"]), RESULT)
    answer = settle(call) if settle is not None else None
    return {DONE: TOLD_DONE, LEAVE: LEFT, RUN: WANTED}.get(answer or "", UNKNOWN)
